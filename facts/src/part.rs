//! A field of a fact, and the code for it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Fields, GenericArgument, Ident, Member, PathArguments, Result, Type, parse_quote};

use crate::settings::{self, Settings};

/// A field: its names in the code, in the payload, and in the documents.
pub struct Part {
    pub member: Member,
    pub bound: Ident,
    pub kind: Type,
    pub settings: Settings,
    pub key: String,
    pub about: String,
}

impl Part {
    fn parse((index, field): (usize, &syn::Field)) -> Result<Self> {
        let settings = Settings::parse(&field.attrs)?;
        let bound = match (settings.get("bound"), &field.ident) {
            (Some(bound), _) => parse_quote!(#bound),
            (None, Some(name)) => name.clone(),
            (None, None) => format_ident!("it{index}"),
        };
        let name = field.ident.clone();
        Ok(Self {
            member: name.map_or_else(|| index.into(), Member::from),
            key: settings.text("name").unwrap_or_else(|| bound.to_string()),
            kind: field.ty.clone(),
            about: settings::words(&field.attrs),
            bound,
            settings,
        })
    }
}

pub fn parts(fields: &Fields) -> Result<Vec<Part>> {
    fields.iter().enumerate().map(Part::parse).collect()
}

/// The type in an `Option<…>` or a `Vec<…>`.
pub fn inside<'t>(kind: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(inner) if last.ident == name => match inner.args.first()? {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

impl Part {
    /// The code that makes it when a fact is read.
    pub fn init(&self) -> TokenStream {
        let member = &self.member;
        let read = self.read();
        quote!(#member: #read)
    }

    /// Its name and value, by its bound name.
    pub fn field(&self) -> Option<TokenStream> {
        let (Self { key, bound, .. }, (_, is_option)) = (self, self.inner());
        let value = match is_option {
            true => {
                quote!(Clone::clone(#bound).map(thinkd_event::raw::Field::value).unwrap_or_default())
            }
            false => quote!(thinkd_event::raw::Field::value(Clone::clone(#bound))),
        };
        let is_one = self.is_member() && !self.has("json");
        is_one.then(|| quote!((#key, #value)))
    }

    /// The pattern that binds it.
    pub fn pattern(&self) -> TokenStream {
        let Self { member, bound, .. } = self;
        match member {
            Member::Named(name) if name == bound => quote!(#bound),
            _ => quote!(#member: #bound),
        }
    }

    pub fn has(&self, setting: &str) -> bool {
        self.settings.has(setting)
    }

    /// Returns whether it is a member of the payload.
    fn is_member(&self) -> bool {
        !["tag", "flag", "flat", "kinds"]
            .iter()
            .any(|it| self.has(it))
    }

    /// Its type, or the one in its `Option`; and whether it has one.
    fn inner(&self) -> (&Type, bool) {
        inside(&self.kind, "Option").map_or((&self.kind, false), |inner| (inner, true))
    }

    /// The code that adds it to the members that the documents name.
    pub fn spec(&self) -> TokenStream {
        let kind = &self.kind;
        let key = &self.key;
        let about = &self.about;
        let (inner, is_option) = self.inner();
        if self.has("flat") {
            return quote!(members.extend(<#kind as thinkd_event::spec::Flat>::members()););
        }
        if !self.is_member() || key == "text" {
            return quote!();
        }
        let said = match self.settings.get("kind") {
            Some(kind) => quote!(#kind),
            None if self.has("json") => quote!("object"),
            None if self.has("or_null") => {
                quote!(thinkd_event::spec::or_null(<#inner as thinkd_event::raw::Field>::KIND))
            }
            None => quote!(<#inner as thinkd_event::raw::Field>::KIND),
        };
        let is_there = self.has("required") || self.has("or_null");
        let may_miss = (is_option && !is_there) || self.has("optional") || self.has("missing");
        let mark = if may_miss { "?" } else { "" };
        let key = format!("{key}{mark}");
        let also = self.settings.get("also").into_iter();
        quote!(members.push((#key, #said, #about)); #(members.push(#also);)*)
    }

    /// The value of it, from `raw`.
    pub fn read(&self) -> TokenStream {
        let kind = &self.kind;
        let key = &self.key;
        let settings = &self.settings;
        let (inner, is_option) = self.inner();
        if let Some(read) = settings.get("read") {
            return quote!(#read);
        }
        if self.has("flat") {
            return quote!(<#kind as thinkd_event::spec::Flat>::read(raw)?);
        }
        if self.has("kinds") {
            return quote!(thinkd_event::spec::Kinds::read(raw)?);
        }
        if let Some(word) = settings.get("flag") {
            return quote!(raw.has(#word));
        }
        if let Some(prefix) = settings.get("tag").or(settings.get("from_tag")) {
            return match (is_option, inside(kind, "Vec")) {
                (true, _) => quote!(raw.value(#prefix)),
                (_, Some(_)) => quote!(raw.values(#prefix).collect()),
                _ => quote!(raw.value(#prefix)?),
            };
        }
        let read = match self.has("json") {
            true => quote!(raw.json::<#inner>(#key)),
            false => quote!(raw.field::<#inner>(#key)),
        };
        match (is_option, self.has("or_default") || self.has("optional")) {
            (true, _) => read,
            (_, true) => quote!(#read.unwrap_or_default()),
            _ => quote!(#read?),
        }
    }

    /// The code that adds it to `draft`.
    pub fn write(&self) -> TokenStream {
        let bound = &self.bound;
        let key = &self.key;
        let kind = &self.kind;
        if self.has("flat") {
            return quote!(let draft = thinkd_event::spec::Flat::write(#bound, draft););
        }
        if self.has("kinds") {
            return quote!(let draft = thinkd_event::spec::Kinds::write(#bound, draft););
        }
        if let Some(put) = self.settings.get("put") {
            return quote!(let draft = #put;);
        }
        if let Some(write) = self.settings.get("write") {
            return quote!(let draft = draft.payload_some(#key, #write););
        }
        if !self.is_member() {
            return quote!();
        }
        let put = |it: TokenStream| match self.has("json") {
            true => quote!(draft.payload(#key, ::serde_json::to_value(#it).unwrap_or_default())),
            false => quote!(draft.payload(#key, thinkd_event::raw::Field::value(#it))),
        };
        let some = put(quote!(it));
        let whole = put(quote!(#bound));
        if self.inner().1 {
            let none = match self.has("or_null") {
                true => quote!(draft.payload(#key, ::serde_json::Value::Null)),
                false => quote!(draft),
            };
            quote!(let draft = match #bound { Some(it) => #some, None => #none };)
        } else if self.has("optional") {
            quote!(let draft = if #bound == <#kind>::default() { draft } else { #whole };)
        } else {
            quote!(let draft = #whole;)
        }
    }
}
