//! The attributes `#[fact(…)]`, read.

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token, parenthesized,
    parse_quote,
};

/// The settings beside `tags("turn", "turn:<number>" = turn, "late?" = is_late)`, the tags in order.
///
/// Of a kind of fact, or of all kinds of an enum:
/// - `name = "turn-ended"`: its name in the documents.
/// - `source = User`, `modality = Text`: of its event; by default `Internal` and `State`.
/// - `text = format!(…)`: its text, where no field has one. `of` is the `text_of` of the struct.
/// - `visibility = State`, `role = Aside`, `wakes = …`, `changes_thread = …`, `label = "turn"`: the plain answers.
/// - `plain`: it has no other answers.
/// - `element = element`: of an enum: the function of a variant's first tag and members that makes the text.
/// - `tail = [ROOT]`: of a variant: members behind its own that the struct has.
/// - `when = raw.is("transient")`: of a variant that shares its tag with the one behind it; `put = …`: the draft with the member
///   that tells it; `hidden`: the documents have it there.
/// - `others`: of a variant: the kinds of the enum in its box.
///
/// Of a member:
/// - `name = "approval_id"`: its name in the payload, where the field has another one.
/// - `bound = merge`: its name in expressions, where the field has none.
/// - `kind = "object"`: its type in the documents, where the field's type does not say it.
/// - `json`: by serde.
/// - `or_default`: read leniently; `optional`: that, and left out where it is the default.
/// - `missing`: an odd one that may be missing.
/// - `required`: an `Option` that always stands in the payload; `or_null`: that, and null for `None`.
/// - `from_tag = "tool:"`: read from a tag; `tag = "submodule:"`: it stands there alone; `flag = "late"`: the tag is there.
/// - `read = …`, `write = …`: odd ones, made of `raw`, and of the field into an optional value.
/// - `put = draft.slot("input", input)`: the draft with an odd one.
/// - `also = ("input_blob?", "object", "the blob")`: a further member that the field's type writes.
/// - `flat`: it has members of its own; `kinds`: an enum of kinds.
const KNOWN: &str = " name source modality text text_of visibility role wakes changes_thread label plain others element tail hidden when bound kind json \
                     or_default optional missing required or_null from_tag tag flag read write put also flat kinds ";

/// A tag as the documents write it, and the value that stands in it.
pub struct Tag {
    pub pattern: String,
    pub value: Option<Expr>,
}

/// The settings of an item.
#[derive(Default)]
pub struct Settings {
    pub tags: Vec<Tag>,
    values: BTreeMap<String, Expr>,
}

impl Settings {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut settings = Self::default();
        let facts = attributes.iter().filter(|it| it.path().is_ident("fact"));
        for attribute in facts {
            attribute.parse_nested_meta(|meta| settings.add(&meta))?;
        }
        Ok(settings)
    }

    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.require_ident()?.to_string();
        if name == "tags" {
            self.tags = tags(meta)?;
            return Ok(());
        }
        if !KNOWN.contains(&format!(" {name} ")) {
            return Err(meta.error("no setting of a fact"));
        }
        let value = match meta.input.peek(Token![=]) {
            true => meta.value()?.parse()?,
            false => parse_quote!(true),
        };
        self.values.insert(name, value);
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub fn get(&self, name: &str) -> Option<&Expr> {
        self.values.get(name)
    }

    /// A setting that is a text.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        }
    }

    /// A setting that has to be there.
    pub fn needed(&self, of: &Ident, name: &str) -> Result<&Expr> {
        let missing = || Error::new(of.span(), format!("`#[fact({name} = …)]` is missing"));
        self.get(name).ok_or_else(missing)
    }

    /// A setting that may be the bare name of a variant of this enum; without it this one.
    pub fn variant(&self, name: &str, of: &str, default: &str) -> TokenStream {
        let (of, default) = (
            Ident::new(of, Span::call_site()),
            Ident::new(default, Span::call_site()),
        );
        let is_name = |it: &Ident| it.to_string().starts_with(char::is_uppercase);
        match self.get(name) {
            None => quote!(crate::event::envelope::#of::#default),
            Some(Expr::Path(path)) if path.path.get_ident().is_some_and(is_name) => {
                quote!(crate::event::envelope::#of::#path)
            }
            Some(value) => quote!(#value),
        }
    }
}

fn tags(meta: &ParseNestedMeta<'_>) -> Result<Vec<Tag>> {
    let content;
    parenthesized!(content in meta.input);
    let mut tags = Vec::new();
    while !content.is_empty() {
        let pattern = content.parse::<LitStr>()?.value();
        let value = content.parse::<Option<Token![=]>>()?;
        let value = value.map(|_| content.parse()).transpose()?;
        tags.push(Tag { pattern, value });
        content.parse::<Option<Token![,]>>()?;
    }
    Ok(tags)
}

/// The first paragraph of the doc comments, in one line.
pub fn about(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(line)
        .take_while(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// The words on a member as the documents have them: no sentence.
pub fn words(attributes: &[Attribute]) -> String {
    let about = about(attributes);
    let about = about.strip_suffix('.').unwrap_or(&about);
    let mut letters = about.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), second) if !second.is_some_and(|it| it.is_uppercase()) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => about.to_owned(),
    }
}
