//! The settings of `#[fact(…)]`, an example each; below them the code that reads them.
//!
//! ```ignore
//! /// A granted call starts.
//! #[derive(Fact)]
//! #[fact(name = "approval-started", tags("approval", "started", "tool:<name>" = tool),
//!        source = System, modality = Text, visibility = Heard, role = Aside, label = "approval",
//!        text = format!("{tool} starts"))]
//! pub struct Started<'a> {
//!     /// The turn.
//!     pub turn: u64,
//!     /// The tool.
//!     #[fact(from_tag = "tool:")]
//!     pub tool: &'a str,
//! }
//! ```
//!
//! This writes `specs`, `decode`, `encode` and the plain answers of a fact with the tags
//! `approval`, `started` and `tool:<its tool>`, and the members `turn`, `tool` and `text`. The doc
//! comments are the texts of the catalogue: of the struct or variant the first paragraph, of a
//! member its words without the full stop. A setting that is not listed here does not compile.
//!
//! In expressions of an item (`tags`, `source`, `modality`, `text`) the fields are bound by their
//! names as references. Those of `visibility`, `role`, `wakes`, `changes_thread` and `label` see
//! `self` only. `put` and `write` have the fields by value, and `put` the `draft` too; `read` and
//! `when` have `raw`.
//!
//! # Of a kind of fact: a struct, or a variant of an enum of kinds
//!
//! - `crate = thinkd`: the fact is a feature's, outside of the crate `thinkd_event`. It has no plain
//!   answers: readers go by its modality and its tags.
//! - `name = "turn-ended"`: the kind's name in the catalogue. Every struct and variant has one, but
//!   a struct with `kinds` and a variant with `others`.
//! - `tags("turn", "ended", "turn:<number>" = turn)`: the tags, in order. Each is written as the
//!   catalogue shows it:
//!   - `"turn"` is always there.
//!   - `"turn:<number>" = turn` has a value behind its prefix.
//!   - `"granted|denied" = ruling` and `"decision|submodule:<name>" = by` are whole texts, made by
//!     `Display`.
//!   - `"late?" = is_late` is there where the value is true.
//!   - `"statement:<id>?" = statement` is there for each item of an `Option` or an array; so is
//!     `"tag:<name>*" = names`.
//!   - `"part?"` is only shown: other code writes it.
//!   - `"<kind>"` in a struct with `kinds`: the first tag of the variant. Further tags of the
//!     variant stand behind all of the struct's.
//! - `source = User`: the event's source, a variant of `Source` or an expression that gives one.
//!   Without it `Internal`; of a variant, that of its enum.
//! - `modality = Text`, of a struct: the event's modality, of `Modality`. Without it `State`.
//! - `text = format!("turn {turn} started")`: the member `text`. A field of the name `text` needs
//!   no such setting. In a variant of a struct with `kinds`, `of` is the `text_of` of that struct.
//! - `visibility = State`: readers of the event, of `Visibility` or an expression. Needed in a
//!   struct, and in an enum that is a fact by itself; an enum without it is a part of the struct
//!   that has it by `kinds`.
//! - `role = Aside`: the event's part in its turn, of `Role`. Needed where `visibility` is.
//! - `wakes = true`, `wakes = self.ruling.wakes()`: it wakes its thread.
//! - `changes_thread = true`: the row of its thread changes by it.
//! - `label = "turn"`: the speaker, in a word for the terminal.
//! - `plain`: it answers readers by these settings alone. Without it the family's file implements
//!   `Family`.
//!
//! # Of enums of kinds
//!
//! ```ignore
//! #[derive(Fact)]
//! #[fact(tags("run", "<kind>", "pipeline:<name>" = pipeline), text_of = pipeline,
//!        visibility = State, role = Decision)]
//! pub struct RunFact<'a> {
//!     #[fact(tag = "pipeline:")]
//!     pub pipeline: &'a str,
//!     #[fact(kinds)]
//!     pub news: RunNews<'a>,
//! }
//!
//! #[derive(Fact)]
//! pub enum RunNews<'a> {
//!     /// A run is to be cancelled.
//!     #[fact(name = "run-cancel", tags("cancel"), source = User,
//!            text = format!("{of} is to be cancelled"))]
//!     Cancel {
//!         /// Who, when known.
//!         user: Option<&'a str>,
//!     },
//! }
//! ```
//!
//! The second tag of an event decides which variant it is.
//!
//! - `text_of = pipeline`, of the struct: the name that is `of` in texts of variants. Without it an
//!   empty text.
//! - `element = element`, of the enum: `fn element(tag: &str, members: &[(&str, Value)]) -> String`
//!   makes the text of variants that have no `text`, of their first tag and members.
//! - `tail = [TURN_MAYBE, ROOT]`, of a variant: members that the catalogue shows behind its own;
//!   other code writes them.
//! - `when = raw.get("transient").is_some()`, of a variant: it shares its first tag with the
//!   variant behind it, and is read where this holds.
//! - `put = draft.payload("transient", true)`, of a variant: the draft with the marks that tell it from the
//!   one behind it.
//! - `hidden`, of a variant: the catalogue does not show it, because the one behind it says all.
//! - `others`, of a variant such as `News(Box<News>)`: it stands for the kinds of the enum in the
//!   box, where no other variant fits.
//!
//! # Of a member
//!
//! A field is a member of its own name and type: a `bool`, number, text, list or value that
//! `raw.field` reads. An event without it, or with one of another type, is no such fact; an
//! `Option` may be missing, and `None` is left out.
//!
//! - `#[fact(name = "approval_id")] approval: &'a str`: its name in the payload.
//! - `Merged(#[fact(flat, bound = merge)] Merge)`: the name, in expressions and in the payload, of
//!   a field that has none.
//! - `#[fact(kind = "\"done\" | \"failed\"")]`: its type in the catalogue, where the field's type
//!   does not say it.
//! - `#[fact(json)] tally: Tally`: serde reads and writes it; the catalogue shows an `object`.
//! - `#[fact(or_default)] reason: &'a str`: read as its default where it is missing; always
//!   written.
//! - `#[fact(optional)] is_edited: bool`: that, and left out where it is its default; the catalogue
//!   shows `is_edited?`.
//! - `#[fact(missing)] arguments: &'a Value`: the catalogue shows that it may be missing, and
//!   nothing else changes.
//! - `#[fact(required)] outcome: Option<TurnOutcome>`: the catalogue shows an `Option` as one that
//!   is always there.
//! - `#[fact(or_null)] contact: Option<&'a str>`: that, and `None` is written as `null`.
//! - `#[fact(from_tag = "tool:")] tool: &'a str`: read from the tag with this prefix, and written
//!   as a member, too. An `Option` reads none, a `Vec` all of them.
//! - `#[fact(tag = "submodule:")] submodule: &'a str`: read so, and no member: `tags` writes it.
//! - `#[fact(flag = "partial")] is_partial: bool`: whether the tag is there; no member either:
//!   `"partial?" = is_partial` writes it.
//! - `#[fact(read = raw.get("archived").is_some())]`: read by this expression of the field's type;
//!   `?` gives the fact up.
//! - `#[fact(write = (from < input).then_some(from))]`: written as this `Option`, and left out
//!   where it is `None`.
//! - `#[fact(put = draft.slot("input", input))]`: written by this expression, which gives the new
//!   draft.
//! - `#[fact(also = ("input_blob?", "object", "the blob"))]`: a further member in the catalogue
//!   (name, type, words), which the field's `put` or other code writes.
//! - `#[fact(flat)] ruling: Ruling<'a>`: a type with members of its own. It implements `Flat`: by
//!   hand, or by `#[derive(Members)]` on a struct, whose fields have the settings of this list.
//! - `#[fact(kinds)] news: RunNews<'a>`: the enum of kinds; at most one field of a struct.

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Path, Result, Token, parenthesized,
    parse_quote,
};

/// The settings beside `tags(…)`.
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
    /// The crate that it names.
    pub home: Option<Path>,
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
        if meta.path.is_ident("crate") {
            self.home = Some(meta.value()?.parse()?);
            return Ok(());
        }
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
        text_of(self.get(name)?)
    }

    /// A setting that has to be there.
    pub fn needed(&self, of: &Ident, name: &str) -> Result<&Expr> {
        let missing = || Error::new(of.span(), format!("`#[fact({name} = …)]` is missing"));
        self.get(name).ok_or_else(missing)
    }

    /// A setting that may be the bare name of a variant of this enum; without it this one.
    pub fn variant(&self, name: &str, of: &str, default: &str) -> TokenStream {
        let [of, default] = [of, default].map(|name| Ident::new(name, Span::call_site()));
        let is_name = |it: &Ident| it.to_string().starts_with(char::is_uppercase);
        match self.get(name) {
            None => quote!(thinkd_event::envelope::#of::#default),
            Some(Expr::Path(path)) if path.path.get_ident().is_some_and(is_name) => {
                quote!(thinkd_event::envelope::#of::#path)
            }
            Some(value) => quote!(#value),
        }
    }
}

fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
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
        Meta::NameValue(meta) if meta.path.is_ident("doc") => text_of(&meta.value),
        _ => None,
    };
    let lines = attributes.iter().filter_map(line);
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    let end = lines.iter().position(String::is_empty);
    lines[..end.unwrap_or(lines.len())].join(" ")
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
