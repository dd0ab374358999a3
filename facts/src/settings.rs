//! The attributes `#[fact(…)]`, read.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token};

/// A tag as the documents write it, and the value that stands in it.
pub struct Tag {
    pub pattern: String,
    pub value: Option<Expr>,
}

/// Settings of a kind, or of all kinds of an enum.
#[derive(Default)]
pub struct Kind {
    /// `name = "turn-ended"`: its name in the documents.
    pub name: Option<LitStr>,
    /// `tags("turn", "turn:<number>" = turn, "late?" = is_late)`: its tags in order.
    pub tags: Vec<Tag>,
    /// `source = User`, `modality = Text`: of the event; by default `Internal` and `State`.
    pub source: Option<Expr>,
    pub modality: Option<Expr>,
    /// `text = format!(…)`: what people and models read, where no field has it. `of` is the `text_of` of the struct.
    pub text: Option<Expr>,
    /// `text_of = pipeline`: what the texts of the kinds in a field are made with.
    pub text_of: Option<Expr>,
    /// `visibility = State`, `role = Aside`, `wakes = …`, `changes_thread = …`, `label = "turn"`: the plain answers.
    pub visibility: Option<Expr>,
    pub role: Option<Expr>,
    pub wakes: Option<Expr>,
    pub changes_thread: Option<Expr>,
    pub label: Option<LitStr>,
    /// `others`: the kinds of the enum in the variant's box.
    pub is_others: bool,
    /// `plain`: it has no other answers.
    pub is_plain: bool,
}

/// Settings of a member.
#[derive(Default)]
pub struct Field {
    /// `name = "approval_id"`: its name in the payload, where the field has another one.
    pub name: Option<LitStr>,
    /// `bound = merge`: its name in expressions, where the field has none.
    pub bound: Option<Ident>,
    /// `kind = "object"`: its type in the documents, where the field's type does not say it.
    pub kind: Option<LitStr>,
    /// `json`: by serde.
    pub is_json: bool,
    /// `or_default`: read leniently; `optional`: that, and left out where it is the default.
    pub or_default: bool,
    pub is_optional: bool,
    /// `missing`: an odd one that may be missing.
    pub may_miss: bool,
    /// `required`: an `Option` that always stands in the payload; `or_null`: that, and null for `None`.
    pub is_required: bool,
    pub or_null: bool,
    /// `from_tag = "tool:"`: read from a tag; `tag = "submodule:"`: it stands there alone; `flag = "late"`: the tag is there.
    pub from_tag: Option<LitStr>,
    pub tag: Option<LitStr>,
    pub flag: Option<LitStr>,
    /// `read = …`, `write = …`: odd ones, made of `raw`, and of the field into an optional value.
    pub read: Option<Expr>,
    pub write: Option<Expr>,
    /// `put = draft.slot("input", input)`: the draft with an odd one.
    pub put: Option<Expr>,
    /// `also("input_blob?", "object", "the blob")`: a further member that the field's type writes.
    pub also: Option<TokenStream>,
    /// `flat`: it has members of its own; `kinds`: an enum of kinds.
    pub is_flat: bool,
    pub is_kinds: bool,
}

fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("fact")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.require_ident()?.to_string();
            read(&name, &meta)
        })?;
    }
    Ok(())
}

fn value<T: syn::parse::Parse>(meta: &ParseNestedMeta<'_>) -> Result<Option<T>> {
    meta.value()?.parse().map(Some)
}

impl Kind {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut kind = Self::default();
        each(attributes, |name, meta| {
            match name {
                "name" => kind.name = value(meta)?,
                "tags" => kind.tags = tags(meta)?,
                "source" => kind.source = value(meta)?,
                "modality" => kind.modality = value(meta)?,
                "text" => kind.text = value(meta)?,
                "text_of" => kind.text_of = value(meta)?,
                "visibility" => kind.visibility = value(meta)?,
                "role" => kind.role = value(meta)?,
                "wakes" => kind.wakes = value(meta)?,
                "changes_thread" => kind.changes_thread = value(meta)?,
                "label" => kind.label = value(meta)?,
                "others" => kind.is_others = true,
                "plain" => kind.is_plain = true,
                _ => return Err(meta.error("no setting of a kind of fact")),
            }
            Ok(())
        })?;
        Ok(kind)
    }
}

impl Field {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut field = Self::default();
        each(attributes, |name, meta| {
            match name {
                "name" => field.name = value(meta)?,
                "bound" => field.bound = value(meta)?,
                "kind" => field.kind = value(meta)?,
                "json" => field.is_json = true,
                "or_default" => field.or_default = true,
                "optional" => field.is_optional = true,
                "missing" => field.may_miss = true,
                "required" => field.is_required = true,
                "or_null" => field.or_null = true,
                "from_tag" => field.from_tag = value(meta)?,
                "tag" => field.tag = value(meta)?,
                "flag" => field.flag = value(meta)?,
                "read" => field.read = value(meta)?,
                "write" => field.write = value(meta)?,
                "put" => field.put = value(meta)?,
                "also" => {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    field.also = Some(content.parse()?);
                }
                "flat" => field.is_flat = true,
                "kinds" => field.is_kinds = true,
                _ => return Err(meta.error("no setting of a member")),
            }
            Ok(())
        })?;
        Ok(field)
    }
}

fn tags(meta: &ParseNestedMeta<'_>) -> Result<Vec<Tag>> {
    let content;
    syn::parenthesized!(content in meta.input);
    let mut tags = Vec::new();
    while !content.is_empty() {
        let pattern = content.parse::<LitStr>()?.value();
        let value = content
            .parse::<Option<Token![=]>>()?
            .map(|_| content.parse())
            .transpose()?;
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

/// A setting that may be the bare name of a variant of this enum.
pub fn variant(of: &str, value: &Expr) -> TokenStream {
    let of = Ident::new(of, proc_macro2::Span::call_site());
    match value {
        Expr::Path(path)
            if path
                .path
                .get_ident()
                .is_some_and(|it| it.to_string().starts_with(char::is_uppercase)) =>
        {
            quote!(crate::event::envelope::#of::#path)
        }
        value => quote!(#value),
    }
}

/// A setting that has to be there.
pub fn needed<'s, T>(of: &Ident, setting: Option<&'s T>, name: &str) -> Result<&'s T> {
    setting.ok_or_else(|| Error::new(of.span(), format!("`#[fact({name} = …)]` is missing")))
}
