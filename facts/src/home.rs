//! The crate of the types in the generated code: `thinkd_event`, or the one that
//! `#[fact(crate = thinkd)]` names, which has the same in its modules `event` and `words`.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Path;

/// Returns the code with the paths of this crate.
pub fn replaced(code: TokenStream, home: &Path) -> TokenStream {
    let each = |token: TokenTree| match token {
        TokenTree::Ident(name) if name == "thinkd_event" => quote!(#home::event),
        TokenTree::Ident(name) if name == "thinkd_words" => quote!(#home::words),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replaced(group.stream(), home));
            inner.set_span(group.span());
            inner.into_token_stream()
        }
        other => other.into_token_stream(),
    };
    code.into_iter().map(each).collect()
}
