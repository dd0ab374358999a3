//! Tells whether a function returns a value or a `Result` around one. The type decides, because its name may be an alias.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{GenericParam, Generics, ReturnType, Type};

use crate::plain::PRIMITIVES;

pub struct Returned {
    ty: TokenStream,
    how: How,
}

enum How {
    /// Known not to be a `Result`.
    Plain,
    /// The compiler looks.
    ByType,
    /// The compiler cannot look, for the type is not known before the function is called with it:
    /// then the name decides.
    ByName { fallible: bool },
}

impl Returned {
    /// By the type as it is written; `generics` are all those around it.
    pub fn of(output: &ReturnType, generics: &[&Generics]) -> Self {
        let ReturnType::Type(_, ty) = output else {
            return Returned {
                ty: quote!(()),
                how: How::Plain,
            };
        };
        let how = match () {
            () if no_alias(ty) => How::Plain,
            () if generics
                .iter()
                .any(|generics| mentions(quote!(#ty), generics)) =>
            {
                How::ByName {
                    fallible: last_is(ty, "Result"),
                }
            }
            () => How::ByType,
        };
        Returned {
            ty: quote!(#ty),
            how,
        }
    }

    /// The type of the value, of a `Result` that of its `Ok`.
    pub fn value(&self) -> TokenStream {
        match &self.how {
            How::Plain | How::ByName { fallible: false } => self.ty.clone(),
            _ => {
                let returned = self.returned();
                quote!(<#returned>::Value)
            }
        }
    }

    /// The returned value as a `Result`.
    pub fn result(&self, value: TokenStream) -> TokenStream {
        let returned = self.returned();
        quote!(<#returned>::result(#value))
    }

    fn returned(&self) -> TokenStream {
        let ty = &self.ty;
        let fallible = match &self.how {
            How::Plain => quote!(false),
            How::ByName { fallible } => quote!(#fallible),
            How::ByType => quote!({
                #[allow(unused_imports)]
                use __library::support::Infallibly as _;
                __library::support::Probe::<#ty>::FALLIBLE
            }),
        };
        quote!(#ty as __library::support::Returned<#fallible>)
    }

    /// Refuses a `Result` that the name hides, in the body of the function: there the compiler
    /// knows.
    pub fn check(&self) -> Option<TokenStream> {
        let How::ByName { fallible: false } = self.how else {
            return None;
        };
        let ty = &self.ty;
        Some(quote! {
            {
                #[allow(unused_imports)]
                use __library::support::Infallibly as _;
                __library::support::written_out(&__library::support::Probe::<#ty>::new().fallible());
            }
        })
    }
}

/// Returns true for types that are never an alias: written as they are, signatures stay readable in
/// the documentation.
fn no_alias(ty: &Type) -> bool {
    const KNOWN: [&str; 9] = [
        "Self", "Vec", "Option", "Box", "Arc", "HashMap", "HashSet", "BTreeMap", "BTreeSet",
    ];
    match ty {
        Type::Path(path) => {
            path.qself.is_none()
                && path.path.segments.len() == 1
                && KNOWN
                    .iter()
                    .chain(&PRIMITIVES)
                    .any(|known| last_is(ty, known))
        }
        Type::Tuple(_) | Type::Array(_) | Type::Reference(_) => true,
        _ => false,
    }
}

fn last_is(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

fn mentions(tokens: TokenStream, generics: &Generics) -> bool {
    let named = |ident: &Ident| {
        let is = |parameter: &GenericParam| match parameter {
            GenericParam::Type(parameter) => parameter.ident == *ident,
            GenericParam::Const(parameter) => parameter.ident == *ident,
            GenericParam::Lifetime(parameter) => parameter.lifetime.ident == *ident,
        };
        *ident == "Self" && !generics.params.is_empty() || generics.params.iter().any(is)
    };
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => named(&ident),
        TokenTree::Group(group) => mentions(group.stream(), generics),
        _ => false,
    })
}
