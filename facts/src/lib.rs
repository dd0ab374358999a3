//! The derive macro of facts. A struct, or a variant of an enum, is the one declaration of a kind of fact: its doc comments become
//! the texts of the catalogue, its fields the members of the payload, and its attribute names its tags and its plain answers.
//! `server/event/spec.rs` has the types of the generated code; each attribute is explained in `settings.rs`.

mod expand;
mod home;
mod part;
mod settings;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, Result, parse_macro_input};

use settings::Settings;

/// Writes `specs`, `decode`, `encode` and the plain answers of a fact.
#[proc_macro_derive(Fact, attributes(fact))]
pub fn fact(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    finished(&item, expand(&item))
}

/// Writes the trait `Flat` of a struct whose fields are members of a payload, among others.
#[proc_macro_derive(Members, attributes(fact))]
pub fn members(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    let code = match &item.data {
        Data::Struct(data) => expand::members(&item, data),
        _ => Err(Error::new_spanned(&item, "only a struct has members")),
    };
    finished(&item, code)
}

fn expand(item: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    match &item.data {
        Data::Struct(data) => expand::of_struct(item, data),
        Data::Enum(data) => expand::of_enum(item, data),
        Data::Union(_) => Err(Error::new_spanned(item, "a union is no fact")),
    }
}

/// The code with the paths of the crate that the item names, or the error.
fn finished(item: &DeriveInput, code: Result<proc_macro2::TokenStream>) -> TokenStream {
    let moved = code.and_then(|code| {
        let home = Settings::parse(&item.attrs)?.home;
        Ok(match home {
            Some(home) => home::replaced(code, &home),
            None => code,
        })
    });
    moved.unwrap_or_else(Error::into_compile_error).into()
}
