//! The path of the library in the user's program: `crate = path`.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Path, Result, parse_quote};

/// The setting `crate = path`, or the library's own name, and the other settings.
pub fn split(settings: TokenStream) -> Result<(TokenStream, Path)> {
    let mut others = Vec::new();
    let mut library = parse_quote!(::unhurried);
    let settings = settings.into_iter().collect::<Vec<_>>();
    for setting in settings.split(|token| is(token, ',')) {
        match setting {
            [TokenTree::Ident(key), equals, path @ ..] if *key == "crate" && is(equals, '=') => {
                library = syn::parse2::<Path>(path.iter().cloned().collect())?;
            }
            [] => {}
            other => others.push(other.iter().cloned().collect::<TokenStream>()),
        }
    }
    Ok((quote!(#(#others),*), library))
}

/// Returns the output of an attribute, with the library in the place of the mark `__library`.
pub fn named(written: TokenStream, library: &Path) -> TokenStream {
    replaced(written, "__library", &|_| library.to_token_stream())
}

/// Tokens, with others in the place of each of this name.
pub fn replaced(
    tokens: TokenStream,
    name: &str,
    other: &dyn Fn(Span) -> TokenStream,
) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == name => other(ident.span()),
        TokenTree::Group(group) => {
            let mut inside = Group::new(group.delimiter(), replaced(group.stream(), name, other));
            inside.set_span(group.span());
            TokenTree::Group(inside).into()
        }
        token => token.into(),
    };
    tokens.into_iter().flat_map(replace).collect()
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
