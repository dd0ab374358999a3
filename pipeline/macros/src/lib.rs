//! The attributes of the crate `unhurried`, which explains their expansion. This crate reads and
//! writes Rust.

mod naming;
mod node;
mod plain;
mod replica;
mod returned;

use proc_macro2::TokenStream;
use syn::{Error, Result};

/// See `unhurried::node`, where the examples are.
#[proc_macro_attribute]
pub fn node(
    settings: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    written(node::expand, settings.into(), item.into()).into()
}

/// See `unhurried::replica`, where the examples are.
#[proc_macro_attribute]
pub fn replica(
    settings: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    written(replica::expand, settings.into(), item.into()).into()
}

fn written(
    expand: fn(TokenStream, TokenStream) -> Result<TokenStream>,
    settings: TokenStream,
    item: TokenStream,
) -> TokenStream {
    let (settings, library) = match naming::split(settings) {
        Ok(split) => split,
        Err(error) => return error.to_compile_error(),
    };
    naming::named(
        expand(settings, item).unwrap_or_else(Error::into_compile_error),
        &library,
    )
}
