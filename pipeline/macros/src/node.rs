//! `#[node]` turns a function over values into one over contexts.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericParam, Generics, Ident, ImplItem, ItemFn, ItemImpl, LitInt,
    LitStr, Receiver, ReceiverKind, Result, ReturnType, Signature, Type, parse_quote,
};

use crate::plain;
use crate::returned::Returned;

#[derive(Default)]
struct Settings {
    name: Option<LitStr>,
    transient: bool,
    /// Parameters that the comparison of the node's record leaves out.
    ignore: Vec<Ident>,
    version: Option<u32>,
    /// Limits of its body. 0 is a limit that was not given.
    retry: u32,
    time_ms: u64,
    at_once: usize,
}

pub fn expand(settings: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let settings = Settings::parse(settings)?;
    if let Ok(block) = syn::parse2::<ItemImpl>(item.clone()) {
        return object(&settings, block);
    }
    let function = syn::parse2::<ItemFn>(item)?;
    let name = settings.name(&function.sig.ident);
    let attrs = &function.attrs;
    let vis = &function.vis;
    let block = &function.block;
    let node = Node::of(function.sig.clone(), name, &settings, &Generics::default())?;
    let head = node.head();
    let call = node.call();
    let body = node.body_signature();
    let unused = unused(attrs);
    Ok(quote! {
        #unused #(#attrs)* #vis #head {
            #body #block
            #call
        }
    })
}

/// Returns `#[must_use]` for the node: an unused call does nothing. None: the function has one.
/// Said of the function and not of `Context`, for `context.run().await?;` is fine.
fn unused(attrs: &[Attribute]) -> Option<TokenStream> {
    let said = attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("must_use"));
    (!said)
        .then(|| quote!(#[must_use = "a node that is called does nothing until its value is read"]))
}

/// A node with settings: the one async method of an `impl` block.
fn object(settings: &Settings, mut block: ItemImpl) -> Result<TokenStream> {
    let name = settings.name(type_ident(&block.self_ty)?);
    let mut methods = block.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(method) if method.sig.asyncness.is_some() => Some(method),
        _ => None,
    });
    let (Some(method), None) = (methods.next(), methods.next()) else {
        return Err(Error::new(
            block.self_ty.span(),
            "a node object has one async method: the node",
        ));
    };
    let node = Node::of(method.sig.clone(), name, settings, &block.generics)?;
    if !node.has_self {
        return Err(Error::new(
            method.sig.span(),
            "the method of a node object takes `&self`: its settings",
        ));
    }
    let head = node.head();
    let call = node.call();
    let body = node.body_signature();
    let attrs = &method.attrs;
    let vis = &method.vis;
    let code = &method.block;
    // The body stays a method, under a hidden name, so that `self` in it means what it says.
    let unused = unused(attrs);
    let hidden = parse_quote! { #[doc(hidden)] #body #code };
    *method = parse_quote! { #unused #(#attrs)* #vis #head { #call } };
    block.items.push(hidden);
    Ok(block.into_token_stream())
}

impl Settings {
    fn parse(tokens: TokenStream) -> Result<Self> {
        let mut settings = Settings::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("name") {
                settings.name = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("transient") {
                settings.transient = true;
            } else if meta.path.is_ident("retry") {
                settings.retry = number(&meta, u32::MAX.into())? as u32;
            } else if meta.path.is_ident("time_ms") {
                settings.time_ms = number(&meta, u64::MAX)?;
            } else if meta.path.is_ident("at_once") {
                settings.at_once = number(&meta, (u32::MAX >> 3).into())? as usize;
            } else if meta.path.is_ident("ignore") {
                meta.parse_nested_meta(|parameter| {
                    settings
                        .ignore
                        .push(parameter.path.require_ident()?.clone());
                    Ok(())
                })?;
            } else if meta.path.is_ident("version") {
                settings.version = Some(number(&meta, u32::MAX.into())? as u32);
            } else {
                return Err(meta.error(
                    "a node has `name = \"…\"`, `transient`, `ignore(…)`, `version = …`, `retry = …`, `time_ms = …` and \
                     `at_once = …`",
                ));
            }
            Ok(())
        });
        syn::parse::Parser::parse2(parser, tokens)?;
        Ok(settings)
    }

    fn name(&self, ident: &Ident) -> String {
        self.name
            .as_ref()
            .map_or_else(|| ident.unraw().to_string(), LitStr::value)
    }
}

/// A setting that is a number from one.
fn number(meta: &ParseNestedMeta<'_>, most: u64) -> Result<u64> {
    let literal = meta.value()?.parse::<LitInt>()?;
    match literal.base10_parse::<u64>()? {
        n if (1..=most).contains(&n) => Ok(n),
        _ => Err(Error::new(
            literal.span(),
            format!("a number from 1 to {most}; leave it out for no limit"),
        )),
    }
}

/// A function that is to be a node.
struct Node<'s> {
    signature: Signature,
    name: String,
    settings: &'s Settings,
    has_self: bool,
    parameters: Vec<Parameter>,
    returned: Returned,
}

struct Parameter {
    /// The argument's name in the new signature, and its generic type there.
    name: Ident,
    generic: Ident,
    /// The type that is kept: `T` of `T`, the owned form of `&T`.
    value: TokenStream,
    by_reference: bool,
    /// Asks the compiler whether it is plain, if there is a doubt.
    check: Option<TokenStream>,
}

impl<'s> Node<'s> {
    /// `around` are the type parameters of the impl block, if it is in one.
    fn of(
        signature: Signature,
        name: String,
        settings: &'s Settings,
        around: &Generics,
    ) -> Result<Self> {
        if signature.asyncness.is_none() {
            return Err(Error::new(
                signature.fn_token.span,
                "a node is an `async fn`",
            ));
        }
        let why = "a node object is shared by all its calls: take `&self`";
        let has_self = check_self(&signature, why)?;
        let parameters = signature
            .inputs
            .iter()
            .filter_map(typed)
            .enumerate()
            .map(parameter);
        let parameters = parameters.collect::<Result<Vec<_>>>()?;
        if parameters.is_empty() {
            let text = "a node needs a parameter: it is called with at least one `Context`";
            return Err(Error::new(signature.ident.span(), text));
        }
        let returned = Returned::of(&signature.output, &[&signature.generics, around]);
        for ignored in &settings.ignore {
            let is_self = has_self && ignored == "self";
            if !is_self
                && parameters
                    .iter()
                    .all(|parameter| parameter.name != *ignored)
            {
                return Err(Error::new(
                    ignored.span(),
                    format!("this node has no parameter `{ignored}`"),
                ));
            }
        }
        Ok(Node {
            signature,
            name,
            settings,
            has_self,
            parameters,
            returned,
        })
    }

    /// The function as callers see it.
    fn head(&self) -> TokenStream {
        let Signature {
            ident, generics, ..
        } = &self.signature;
        let mut generics = generics.clone();
        let mut kinds = quote!(());
        for Parameter { generic, value, .. } in self.parameters.iter().rev() {
            kinds = quote!((<#generic as __library::Argument<#value>>::Kind, #kinds));
        }
        for Parameter { generic, value, .. } in &self.parameters {
            generics
                .params
                .push(parse_quote!(#generic: __library::Argument<#value>));
        }
        generics
            .make_where_clause()
            .predicates
            .push(parse_quote!(#kinds: __library::HasContext));
        let parameters = &generics.params;
        let bounds = &generics.where_clause;
        let this = self.has_self.then(|| quote!(&self,));
        let arguments = self
            .parameters
            .iter()
            .map(|Parameter { name, generic, .. }| quote!(#name: #generic));
        let value = self.returned.value();
        quote!(fn #ident<#parameters>(#this #(#arguments),*) -> __library::Context<#value> #bounds)
    }

    /// The function as it was written, under the name of [`Self::body_name`].
    fn body_signature(&self) -> TokenStream {
        let mut signature = self.signature.clone();
        signature.ident = self.body_name();
        quote!(#signature)
    }

    fn body_name(&self) -> Ident {
        format_ident!(
            "__{}_body",
            self.signature.ident.unraw(),
            span = self.signature.ident.span()
        )
    }

    /// Gathers the arguments and makes the pending context.
    fn call(&self) -> TokenStream {
        let name = &self.name;
        let value = self.returned.value();
        let body = self.body_name();
        let names = self
            .parameters
            .iter()
            .map(|parameter| &parameter.name)
            .collect::<Vec<_>>();
        let passed = self.parameters.iter().map(
            |Parameter {
                 name, by_reference, ..
             }| match by_reference {
                true => quote!(&*#name),
                false => quote!(::std::sync::Arc::unwrap_or_clone(#name)),
            },
        );
        let turbofish = turbofish(self.signature.generics.clone());
        let (keep_self, this, clone_self, body) = match self.has_self {
            true => (
                quote!(::std::clone::Clone::clone(self),),
                quote!(__this,),
                quote!(let __this = ::std::clone::Clone::clone(__this);),
                quote!(__this.#body #turbofish),
            ),
            false => (quote!(), quote!(), quote!(), quote!(#body #turbofish)),
        };
        let result = self.returned.result(quote!(#body(#(#passed),*).await));
        let checks = self
            .parameters
            .iter()
            .filter_map(|parameter| parameter.check.as_ref());
        let checks = checks
            .cloned()
            .chain(self.returned.check())
            .chain(self.check_value());
        let transient = self.settings.transient.then(|| quote!(.transient()));
        let version = self
            .settings
            .version
            .iter()
            .map(|version| quote!(.version(#version)));
        let limited = self.limited();
        let gathered = self.gathered();
        quote! {
            #[allow(unused_imports)]
            use __library::support::{Recordable as _, Unrecordable as _, Unwritten as _, Written as _};
            #(#checks)*
            let mut __call = __library::support::Call::new(#name);
            #(let #names = __library::Argument::give(#names, &mut __call);)*
            __call.pending(
                (&__library::support::Probe::<#value>::new()).kind()#transient #(#version)* #limited,
                (#keep_self #(#names,)*),
                |__given, __parents| {
                    let (#this #(#names,)*) = __given;
                    #(let #names = #names.value(__parents);)*
                    #clone_self
                    ::std::boxed::Box::pin(async move { __library::support::outcome(#result) })
                },
                #[allow(unused_variables)]
                |__given, __parents, __into| {
                    let (#this #(#names,)*) = __given;
                    #gathered
                },
            )
        }
    }

    /// Gathers each argument's name and data, and the module of the function.
    fn gathered(&self) -> TokenStream {
        let wanted = |name: &Ident| !self.settings.ignore.contains(name);
        let this = self
            .has_self
            .then(|| format_ident!("self"))
            .filter(wanted)
            .map(|_| quote!(__into.add("self", (&__library::support::Probe::<Self>::new()).data(__this));));
        let arguments = self.parameters.iter().filter(|parameter| wanted(&parameter.name)).map(|parameter| {
            let Parameter { name, value, .. } = parameter;
            let said = name.unraw().to_string();
            quote!(__into.add(#said, (&__library::support::Probe::<#value>::new()).data(&*#name.value(__parents)));)
        });
        quote!(__into.module(::std::module_path!()); #this #(#arguments)*)
    }

    /// The limits are one for all calls of the function.
    fn limited(&self) -> Option<TokenStream> {
        let Settings {
            retry,
            time_ms,
            at_once,
            ..
        } = self.settings;
        (*retry > 0 || *time_ms > 0 || *at_once > 0).then(|| {
            quote!(.limited({
                static __LIMITS: __library::support::Limits =
                    __library::support::Limits::new(#retry, #time_ms, #at_once);
                &__LIMITS
            }))
        })
    }

    fn check_value(&self) -> Option<TokenStream> {
        match &self.signature.output {
            ReturnType::Type(_, ty) if !plain::surely(ty) => {
                Some(plain::returned(ty, &self.returned.value()))
            }
            _ => None,
        }
    }
}

/// The type arguments of a function; its lifetimes are the compiler's to find.
fn turbofish(mut generics: Generics) -> TokenStream {
    let is_named = |it: &GenericParam| !matches!(it, GenericParam::Lifetime(_));
    generics.params = generics.params.into_iter().filter(is_named).collect();
    generics
        .split_for_impl()
        .1
        .as_turbofish()
        .into_token_stream()
}

/// True if it takes `self`; then it has to be `&self`, for this reason.
pub fn check_self(signature: &Signature, why: &str) -> Result<bool> {
    match signature.receiver() {
        None => Ok(false),
        Some(Receiver {
            kind: ReceiverKind::Reference(_, _, None),
            ..
        }) => Ok(true),
        Some(this) => Err(Error::new(this.span(), why)),
    }
}

pub fn typed(argument: &FnArg) -> Option<&syn::PatType> {
    match argument {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    }
}

fn parameter((i, argument): (usize, &syn::PatType)) -> Result<Parameter> {
    let name = name_of(&argument.pat, i);
    plain::check_parameter(&name, &argument.ty)?;
    let (value, by_reference) = match &*argument.ty {
        Type::Reference(reference) => (owned(&reference.elem), true),
        plain => (quote!(#plain), false),
    };
    let check =
        (!plain::surely(&argument.ty)).then(|| plain::parameter(&name, &value, argument.span()));
    Ok(Parameter {
        name,
        generic: format_ident!("Argument{i}"),
        value,
        by_reference,
        check,
    })
}

/// The parameter's name, or one for a pattern that has none.
pub fn name_of(pattern: &syn::Pat, i: usize) -> Ident {
    match pattern {
        syn::Pat::Ident(pattern) => pattern.ident.clone(),
        _ => format_ident!("argument_{i}"),
    }
}

/// Returns the owned form of a borrowed parameter. By the look of it, for the compiler does not see
/// through `<str as ToOwned>::Owned` in the bounds of a function.
pub fn owned(borrowed: &Type) -> TokenStream {
    match borrowed {
        Type::Path(path) if path.path.is_ident("str") => quote!(::std::string::String),
        Type::Slice(slice) => {
            let element = &slice.elem;
            quote!(::std::vec::Vec<#element>)
        }
        other => quote!(#other),
    }
}

pub fn type_ident(ty: &Type) -> Result<&Ident> {
    let last = match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    last.map(|last| &last.ident)
        .ok_or_else(|| Error::new(ty.span(), "a struct is expected here"))
}
