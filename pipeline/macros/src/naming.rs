//! The library under the name that its user gave it: `crate = path`.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Path, Result};

/// The setting `crate = path`, and the other settings.
pub fn split(settings: TokenStream) -> Result<(TokenStream, Option<Path>)> {
    let (mut others, mut library) = (Vec::new(), None);
    let settings = settings.into_iter().collect::<Vec<_>>();
    for setting in settings.split(|token| is(token, ',')) {
        match setting {
            [TokenTree::Ident(key), equals, path @ ..] if *key == "crate" && is(equals, '=') => {
                library = Some(syn::parse2::<Path>(path.iter().cloned().collect())?);
            }
            [] => {}
            other => others.push(other.iter().cloned().collect::<TokenStream>()),
        }
    }
    Ok((quote::quote!(#(#others),*), library))
}

/// What an attribute has written, with `library` in the place of `::pipeline`.
pub fn renamed(written: TokenStream, library: &Path) -> TokenStream {
    let (mut renamed, mut behind) = (TokenStream::new(), Vec::new());
    for token in written {
        // Two colons in front of the name, of which one before is somebody else's: `parameter: ::pipeline::…`.
        match (&token, behind.len()) {
            (TokenTree::Punct(colon), had) if colon.as_char() == ':' => {
                renamed.extend((had == 2).then(|| behind.remove(0)));
                behind.push(token);
            }
            (TokenTree::Ident(name), 2) if name == "pipeline" => {
                behind.clear();
                library.to_tokens(&mut renamed);
            }
            _ => {
                renamed.extend(behind.drain(..));
                renamed.extend([match token {
                    TokenTree::Group(group) => {
                        let mut inside = Group::new(group.delimiter(), self::renamed(group.stream(), library));
                        inside.set_span(group.span());
                        TokenTree::Group(inside)
                    }
                    token => token,
                }]);
            }
        }
    }
    renamed.extend(behind);
    renamed
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
