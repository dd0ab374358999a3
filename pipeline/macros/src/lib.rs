//! The attributes of the crate `pipeline`. This crate reads and writes Rust; what it writes is explained there.

mod node;
mod plain;
mod replica;
mod returned;

use proc_macro::TokenStream;

/// See `pipeline::node`, where the examples are.
#[proc_macro_attribute]
pub fn node(settings: TokenStream, item: TokenStream) -> TokenStream {
    node::expand(settings.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// See `pipeline::replica`, where the examples are.
#[proc_macro_attribute]
pub fn replica(settings: TokenStream, item: TokenStream) -> TokenStream {
    replica::expand(settings.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
