//! `#[replica]` turns an impl block into a declaration, a proxy and a table of methods.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, Ident, ImplItem, ImplItemFn, ItemImpl, LitInt, LitStr, Result,
    Signature, Type, Visibility,
};

use crate::naming::replaced;
use crate::node::{check_self, name_of, owned, type_ident, typed};
use crate::plain;
use crate::returned::Returned;

struct Settings {
    n: LitInt,
    manager: TokenStream,
    pick: TokenStream,
    /// The name by which clients and servers know it, if it is not its path.
    name: Option<LitStr>,
}

pub fn expand(settings: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let settings = Settings::parse(settings)?;
    let mut block = syn::parse2::<ItemImpl>(item)?;
    let service = Service::of(&mut block)?;
    let declaration = service.declaration(&settings);
    let dispatch = service.dispatch();
    let proxy = service.proxy();
    Ok(quote! {
        #[allow(clippy::new_without_default)] // its constructor is for deployments
        #block
        #declaration #dispatch #proxy
    })
}

impl Settings {
    fn parse(tokens: TokenStream) -> Result<Self> {
        let mut settings = Settings {
            n: LitInt::new("1", Span::call_site()),
            manager: quote!(__library::Manager::standard()),
            pick: quote!(RoundRobin),
            name: None,
        };
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("n") {
                settings.n = meta.value()?.parse()?;
            } else if meta.path.is_ident("manager") {
                settings.manager = meta.value()?.parse::<Expr>()?.into_token_stream();
            } else if meta.path.is_ident("name") {
                settings.name = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("least_busy") {
                settings.pick = quote!(LeastBusy);
            } else {
                return Err(
                    meta.error("a replica has `n = …`, `manager = …`, `name = …` and `least_busy`")
                );
            }
            Ok(())
        });
        syn::parse::Parser::parse2(parser, tokens)?;
        if settings.n.base10_parse::<usize>()? == 0 {
            let text = "a replica has at least one instance";
            return Err(Error::new(settings.n.span(), text));
        }
        Ok(settings)
    }
}

/// Methods that an impl block offers.
struct Service {
    name: Ident,
    constructor: Method,
    initialiser: Option<Ident>,
    methods: Vec<Method>,
}

struct Method {
    documentation: Vec<Attribute>,
    signature: Signature,
    parameters: Vec<(Ident, Type)>,
    returned: Returned,
}

impl Service {
    /// Reads the block, and takes our own marks out of it.
    fn of(block: &mut ItemImpl) -> Result<Self> {
        let name = type_ident(&block.self_ty)?.clone();
        if !block.generics.params.is_empty() {
            return Err(Error::new(
                block.generics.span(),
                "a replica has no type parameters: it is known by its name",
            ));
        }
        let mut constructor = None;
        let mut initialiser = None;
        let mut methods = Vec::new();
        for item in &mut block.items {
            let ImplItem::Fn(method) = item else { continue };
            if take_mark(method, "init") {
                initialiser = Some(method.sig.ident.clone());
            } else if method.sig.receiver().is_none() {
                constructor = if method.sig.ident == "new" {
                    Some(Method::of(method, &name)?)
                } else {
                    constructor
                };
            } else if matches!(method.vis, Visibility::Public(_)) {
                check_self(
                    &method.sig,
                    "an instance is shared by all its callers: take `&self`, and keep what changes behind a lock or an atomic",
                )?;
                methods.push(Method::of(method, &name)?);
            }
        }
        let constructor = constructor.ok_or_else(|| {
            Error::new(
                name.span(),
                "a replica needs a constructor in this block: `pub fn new(…) -> Self`",
            )
        })?;
        Ok(Service {
            name,
            constructor,
            initialiser,
            methods,
        })
    }

    fn proxy_name(&self) -> Ident {
        format_ident!("{}Proxy", self.name)
    }

    fn declaration(&self, settings: &Settings) -> TokenStream {
        let name = &self.name;
        let proxy = self.proxy_name();
        let Settings {
            n,
            manager,
            pick,
            name: known,
        } = settings;
        let path = || {
            quote!(::std::concat!(
                ::std::module_path!(),
                "::",
                ::std::stringify!(#name)
            ))
        };
        let known = known.as_ref().map_or_else(path, ToTokens::to_token_stream);
        let methods = self
            .methods
            .iter()
            .map(|method| method.signature.ident.to_string());
        let types = self.constructor.owned_types();
        let names = self.constructor.names();
        let built = self.constructor.call(quote!(<#name>::new));
        let built = self
            .constructor
            .or_failed(built, quote!(__SPEC_NAME), "new");
        let initialise = self
            .initialiser
            .as_ref()
            .map(|method| quote!(__instance.#method();));
        quote! {
            const _: () = {
                const __SPEC_NAME: &str = #known;

                fn __construct(
                    __data: __library::Data,
                ) -> __library::Eventually<::std::sync::Arc<dyn __library::Instance>> {
                    ::std::boxed::Box::pin(async move {
                        #[allow(unused_parens)]
                        let (#(#names),*): (#(#types),*) = __library::support::arguments(__SPEC_NAME, "new", &__data)?;
                        #[allow(unused_mut)]
                        let mut __instance: #name = #built;
                        #initialise
                        let __instance: ::std::sync::Arc<dyn __library::Instance> = ::std::sync::Arc::new(__instance);
                        ::std::result::Result::Ok(__instance)
                    })
                }

                static __POOL: __library::Pool = __library::Pool::new(
                    __library::Spec::of(
                        __SPEC_NAME,
                        #n,
                        __library::Pick::#pick,
                        &[#(#methods),*],
                        __construct,
                    ),
                    || #manager,
                );

                impl __library::Replica for #name {
                    #[allow(unused_parens)]
                    type Arguments = (#(#types),*);
                    type Proxy = #proxy;

                    fn pool() -> &'static __library::Pool {
                        &__POOL
                    }
                }

                __library::support::inventory::submit! { __library::support::Declared(|| &__POOL) }
            };
        }
    }

    /// Methods by name, for calls that come from elsewhere.
    fn dispatch(&self) -> TokenStream {
        let name = &self.name;
        let arms = self.methods.iter().map(|method| {
            let called = &method.signature.ident;
            let text = method.signature.ident.to_string();
            let names = method.names();
            let types = method.owned_types();
            let answer = method.call(quote!(<#name>::#called));
            let answer = method.or_failed(answer, quote!(__replica), &text);
            // Without parameters there is still a list, of nothing.
            let (pattern, shape) = match names.is_empty() {
                true => (quote!(_), quote!([(); 0])),
                false => (quote!((#(#names,)*)), quote!((#(#types,)*))),
            };
            quote! {
                #text => {
                    let #pattern: #shape = __library::support::arguments(__replica, #text, &__arguments)?;
                    let __answer = #answer;
                    __library::support::answer(__replica, #text, &__answer)
                }
            }
        });
        quote! {
            impl __library::Instance for #name {
                fn call(
                    self: ::std::sync::Arc<Self>,
                    __method: ::std::string::String,
                    __arguments: __library::Data,
                ) -> __library::Eventually<__library::Data> {
                    ::std::boxed::Box::pin(async move {
                        let __spec = <Self as __library::Replica>::pool().spec();
                        let __replica = __spec.name;
                        match __method.as_str() {
                            #(#arms)*
                            _ => ::std::result::Result::Err(__library::support::unknown_method(__spec, __method)),
                        }
                    })
                }
            }
        }
    }

    /// The same methods, wherever the instance is.
    fn proxy(&self) -> TokenStream {
        let name = &self.name;
        let proxy = self.proxy_name();
        let documentation =
            format!("What a caller of [`{name}`] holds: its methods, wherever the instance is.");
        let methods = self.methods.iter().map(|method| method.through_proxy(name));
        let local = quote! {
            /// The instance itself, if it is in this process.
            pub fn local(&self) -> ::std::option::Option<&#name> {
                self.0.local()
            }
        };
        let call = quote! {
            /// Calls a method by name; the arguments are a tuple, or a list.
            pub async fn call<__T: __library::support::DeserializeOwned>(
                &self,
                method: &str,
                arguments: &impl __library::support::Serialize,
            ) -> ::std::result::Result<__T, __library::ReplicaError> {
                self.0.call(method, arguments).await
            }
        };
        let local = self.unless_taken("local", local);
        let call = self.unless_taken("call", call);
        quote! {
            #[doc = #documentation]
            #[allow(private_interfaces, unreachable_pub)]
            pub struct #proxy(__library::Proxy<#name>);

            impl ::std::convert::From<__library::Proxy<#name>> for #proxy {
                fn from(proxy: __library::Proxy<#name>) -> Self {
                    Self(proxy)
                }
            }

            #[allow(dead_code, private_interfaces, unreachable_pub, clippy::too_many_arguments)]
            impl #proxy {
                #(#methods)*
                #local
                #call
            }
        }
    }

    /// Something of ours, unless the service has a method of this name.
    fn unless_taken(&self, name: &str, ours: TokenStream) -> Option<TokenStream> {
        self.methods
            .iter()
            .all(|method| method.signature.ident != name)
            .then_some(ours)
    }
}

impl Method {
    /// Returns the method with `replica` in the place of `Self`: in the code made of it, `Self`
    /// would mean another type. Refuses type parameters, and parameters that are no data.
    fn of(method: &ImplItemFn, replica: &Ident) -> Result<Self> {
        let named = |span| Ident::new(&replica.to_string(), span).into_token_stream();
        let signature = replaced(method.sig.to_token_stream(), "Self", &named);
        let signature = syn::parse2::<Signature>(signature)?;
        if !signature.generics.params.is_empty() {
            return Err(Error::new(
                signature.generics.span(),
                "a method of a replica has no type parameters: it is called by name",
            ));
        }
        let parameters = signature.inputs.iter().filter_map(typed).enumerate();
        let parameters = parameters.map(|(i, argument)| {
            let name = name_of(&argument.pat, i);
            plain::check_data(&name, &argument.ty)?;
            Ok((name, (*argument.ty).clone()))
        });
        let parameters = parameters.collect::<Result<_>>()?;
        let returned = Returned::of(&signature.output, &[]);
        let documentation = method
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("doc"))
            .cloned()
            .collect();
        Ok(Method {
            documentation,
            signature,
            parameters,
            returned,
        })
    }

    fn names(&self) -> Vec<&Ident> {
        self.parameters.iter().map(|(name, _)| name).collect()
    }

    /// The types as they are decoded.
    fn owned_types(&self) -> Vec<TokenStream> {
        let owned = |ty: &Type| match ty {
            Type::Reference(reference) => owned(&reference.elem),
            plain => quote!(#plain),
        };
        self.parameters.iter().map(|(_, ty)| owned(ty)).collect()
    }

    /// A call with decoded arguments.
    fn call(&self, function: TokenStream) -> TokenStream {
        let arguments = self.parameters.iter().map(|(name, ty)| match ty {
            Type::Reference(_) => quote!(&#name),
            _ => quote!(#name),
        });
        let wait = self.signature.asyncness.map(|_| quote!(.await));
        // By its path: a method `clone` or `call` is not one of the pointer that `self` is, or of a trait in scope.
        let this = self.signature.receiver().map(|_| quote!(&self,));
        quote!(#function(#this #(#arguments),*)#wait)
    }

    fn or_failed(&self, returned: TokenStream, replica: TokenStream, method: &str) -> TokenStream {
        let result = self.returned.result(returned);
        quote!(#result.map_err(|error| __library::support::failed(#replica, #method, error))?)
    }

    fn through_proxy(&self, replica: &Ident) -> TokenStream {
        let documentation = &self.documentation;
        let name = &self.signature.ident;
        let text = name.to_string();
        let names = self.names();
        let types = self.parameters.iter().map(|(_, ty)| ty);
        let value = self.returned.value();
        let wait = self.signature.asyncness.map(|_| quote!(.await));
        let here = self
            .returned
            .result(quote!(<#replica>::#name(__here, #(#names),*)#wait));
        let here = quote!(#here.map_err(|error| self.0.failed(#text, error)));
        let here = quote!(self.0.guarded(#text, async { #here }).await);
        let list = if names.is_empty() {
            quote!([(); 0])
        } else {
            quote!((#(#names,)*))
        };
        quote! {
            #(#documentation)*
            pub async fn #name(&self, #(#names: #types),*) -> ::std::result::Result<#value, __library::ReplicaError> {
                match self.0.begin(#text) {
                    ::std::option::Option::Some(__here) => #here,
                    ::std::option::Option::None => self.0.call(#text, &#list).await,
                }
            }
        }
    }
}

fn take_mark(method: &mut ImplItemFn, mark: &str) -> bool {
    let before = method.attrs.len();
    method
        .attrs
        .retain(|attribute| !attribute.path().is_ident(mark));
    method.attrs.len() < before
}
