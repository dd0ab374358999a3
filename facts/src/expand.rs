//! The code of a fact, written from its declaration.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    DataEnum, DataStruct, DeriveInput, Expr, Fields, GenericArgument, Ident, Member, PathArguments,
    Result, Type, parse_quote,
};

use crate::settings::{self, Settings, Tag};

/// A field: what it is called in the code, in the payload, and in the documents.
struct Part {
    member: Member,
    bound: Ident,
    kind: Type,
    settings: Settings,
    key: String,
    about: String,
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

fn parts(fields: &Fields) -> Result<Vec<Part>> {
    fields.iter().enumerate().map(Part::parse).collect()
}

/// The type in an `Option<…>` or a `Vec<…>`.
fn inside<'t>(kind: &'t Type, name: &str) -> Option<&'t Type> {
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
    fn init(&self) -> TokenStream {
        let (member, read) = (&self.member, self.read());
        quote!(#member: #read)
    }

    /// Its name and value, of what it is bound to.
    fn field(&self) -> Option<TokenStream> {
        let (Self { key, bound, .. }, (_, is_option)) = (self, self.inner());
        let value = match is_option {
            true => {
                quote!(Clone::clone(#bound).map(crate::event::raw::Field::value).unwrap_or_default())
            }
            false => quote!(crate::event::raw::Field::value(Clone::clone(#bound))),
        };
        let is_one = self.is_member() && !self.has("json");
        is_one.then(|| quote!((#key, #value)))
    }

    /// The pattern that binds it.
    fn pattern(&self) -> TokenStream {
        let Self { member, bound, .. } = self;
        match member {
            Member::Named(name) if name == bound => quote!(#bound),
            _ => quote!(#member: #bound),
        }
    }

    fn has(&self, setting: &str) -> bool {
        self.settings.has(setting)
    }

    /// It stands in the payload.
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
    fn spec(&self) -> TokenStream {
        let (
            Self {
                kind, key, about, ..
            },
            (inner, is_option),
        ) = (self, self.inner());
        if self.has("flat") {
            return quote!(members.extend(<#kind as crate::event::spec::Flat>::members()););
        }
        if !self.is_member() || key == "text" {
            return quote!();
        }
        let said = match self.settings.get("kind") {
            Some(kind) => quote!(#kind),
            None if self.has("json") => quote!("object"),
            None if self.has("or_null") => {
                quote!(crate::event::spec::or_null(<#inner as crate::event::raw::Field>::KIND))
            }
            None => quote!(<#inner as crate::event::raw::Field>::KIND),
        };
        let is_there = self.has("required") || self.has("or_null");
        let may_miss = (is_option && !is_there) || self.has("optional") || self.has("missing");
        let key = if may_miss {
            format!("{key}?")
        } else {
            key.clone()
        };
        let also = self.settings.get("also").into_iter();
        quote!(members.push((#key, #said, #about)); #(members.push(#also);)*)
    }

    /// The value of it, from `raw`.
    fn read(&self) -> TokenStream {
        let (
            Self {
                kind,
                key,
                settings,
                ..
            },
            (inner, is_option),
        ) = (self, self.inner());
        if let Some(read) = settings.get("read") {
            return quote!(#read);
        }
        if self.has("flat") {
            return quote!(<#kind as crate::event::spec::Flat>::read(raw)?);
        }
        if self.has("kinds") {
            return quote!(crate::event::spec::Kinds::read(raw)?);
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
    fn write(&self) -> TokenStream {
        let (
            Self {
                bound,
                key,
                kind,
                settings,
                ..
            },
            (_, is_option),
        ) = (self, self.inner());
        if self.has("flat") {
            return quote!(let draft = crate::event::spec::Flat::write(#bound, draft););
        }
        if self.has("kinds") {
            return quote!(let draft = crate::event::spec::Kinds::write(#bound, draft););
        }
        if let Some(put) = settings.get("put") {
            return quote!(let draft = #put;);
        }
        if let Some(write) = settings.get("write") {
            return quote!(let draft = draft.payload_some(#key, #write););
        }
        if !self.is_member() {
            return quote!();
        }
        let put = |it: TokenStream| match self.has("json") {
            true => quote!(draft.payload(#key, ::serde_json::to_value(#it).unwrap_or_default())),
            false => quote!(draft.payload(#key, crate::event::raw::Field::value(#it))),
        };
        let (some, whole) = (put(quote!(it)), put(quote!(#bound)));
        if is_option {
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

/// The code that adds the tags to `tags`.
fn write_tags(tags: &[Tag]) -> TokenStream {
    let write = |tag: &Tag| {
        let (pattern, mark) = match tag.pattern.strip_suffix(['?', '*']) {
            Some(pattern) => (pattern, true),
            None => (tag.pattern.as_str(), false),
        };
        if pattern == "<kind>" {
            return quote!(tags.push(head.tags.remove(0)););
        }
        let Some(value) = &tag.value else {
            return if mark {
                quote!()
            } else {
                quote!(tags.push(#pattern.to_owned());)
            };
        };
        let written = match pattern.split_once('<') {
            Some((prefix, _)) if !prefix.contains('|') => format!("{prefix}{{}}"),
            Some(_) => "{}".to_owned(),
            None if pattern.contains('|') => "{}".to_owned(),
            None => {
                let value = if matches!(value, Expr::Path(_)) {
                    quote!(*#value)
                } else {
                    quote!(#value)
                };
                return quote!(if #value { tags.push(#pattern.to_owned()); });
            }
        };
        if mark {
            quote!(tags.extend((#value).into_iter().map(|it| format!(#written, it)));)
        } else {
            quote!(tags.push(format!(#written, #value));)
        }
    };
    tags.iter().map(write).collect()
}

fn patterns(tags: &[Tag]) -> Vec<&str> {
    tags.iter().map(|tag| tag.pattern.as_str()).collect()
}

/// The answers that every family gives, and where it has no others, that.
fn answers(item: &DeriveInput, settings: &Settings, kind: &TokenStream) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    settings.needed(name, "visibility")?;
    let visibility = settings.variant("visibility", "Visibility", "Heard");
    let role = settings.needed(name, "role")?;
    let wakes = settings.get("wakes").into_iter();
    let changes = settings.get("changes_thread").into_iter();
    let label = settings.get("label").into_iter();
    let plain = settings
        .has("plain")
        .then(|| quote!(impl<'a> super::family::Family<'a> for #name #arguments #bounds {}));
    let generics = quote!(#generics);
    Ok(quote! {
        impl #generics super::family::Declared for #name #arguments #bounds {
            fn plain(&self) -> super::family::Plain {
                use super::family::Role::*;
                super::family::Plain::new(#kind, #visibility, #role)
                    #(.waking(#wakes))* #(.changing_thread(#changes))* #(.labelled(#label))*
            }
        }
        #plain
    })
}

pub fn of_struct(item: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let (settings, parts) = (Settings::parse(&item.attrs)?, parts(&data.fields)?);
    let bound: Vec<_> = parts.iter().map(Part::pattern).collect();
    let (specs, reads) = (parts.iter().map(Part::spec), parts.iter().map(Part::init));
    let writes = parts.iter().map(Part::write);
    let (patterns, about) = (patterns(&settings.tags), settings::about(&item.attrs));
    let inner = parts.iter().find(|part| part.has("kinds"));
    let (kind, spec) = match inner {
        Some(Part { bound, kind, .. }) => (
            quote!(crate::event::spec::Kinds::kind(&self.#bound)),
            quote!(<#kind as crate::event::spec::Kinds>::specs(&[#(#patterns),*], &members)),
        ),
        None => {
            let kind = settings.needed(name, "name")?;
            let tags = quote!(vec![#(#patterns),*]);
            let rest = quote!(name: #kind, about: #about, tags: #tags, members, open: false);
            (
                quote!(#kind),
                quote!(vec![crate::event::spec::Spec { #rest }]),
            )
        }
    };
    let (head, answers) = (head(&settings, inner), answers(item, &settings, &kind)?);
    let life = lifetime(item);
    Ok(quote! {
        impl #generics #name #arguments #bounds {
            pub(super) fn specs() -> Vec<crate::event::spec::Spec> {
                let mut members = vec![crate::event::spec::TEXT];
                #(#specs)*
                #spec
            }

            pub(super) fn decode(raw: crate::event::raw::Raw<#life>) -> Option<Self> {
                Some(Self { #(#reads),* })
            }

            /// Returns the event to be.
            #[allow(unused_variables)]
            pub fn encode(self, thread: &crate::words::id::ThreadId) -> crate::event::draft::Draft {
                let draft = {
                    let Self { #(#bound),* } = &self;
                    #head
                };
                let Self { #(#bound),* } = self;
                #(#writes)*
                draft
            }
        }
        #answers
    })
}

pub fn members(item: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let parts = parts(&data.fields)?;
    let bound: Vec<_> = parts.iter().map(Part::pattern).collect();
    let (specs, reads) = (parts.iter().map(Part::spec), parts.iter().map(Part::init));
    let (writes, life) = (parts.iter().map(Part::write), lifetime(item));
    Ok(quote! {
        #[allow(unused_variables)]
        impl #generics crate::event::spec::Flat<#life> for #name #arguments #bounds {
            fn members() -> Vec<crate::event::spec::Member> {
                let mut members = Vec::new();
                #(#specs)*
                members
            }

            fn read(raw: crate::event::raw::Raw<#life>) -> Option<Self> {
                Some(Self { #(#reads),* })
            }

            fn write(self, draft: crate::event::draft::Draft) -> crate::event::draft::Draft {
                let Self { #(#bound),* } = self;
                #(#writes)*
                draft
            }
        }
    })
}

/// The code of a draft without its members: what it is made of is bound by reference.
fn head(settings: &Settings, inner: Option<&Part>) -> TokenStream {
    let own = settings.variant("source", "Source", "Internal");
    let modality = settings.variant("modality", "Modality", "State");
    let (tags, text) = (write_tags(&settings.tags), settings.get("text").into_iter());
    let Some(Part { bound, .. }) = inner else {
        return quote! {
            let mut tags: Vec<String> = Vec::new();
            #tags
            crate::event::draft::Draft::empty(thread, #own, #modality, tags)
                #(.payload("text", #text))*
        };
    };
    let of = settings.get("text_of").cloned().unwrap_or(parse_quote!(""));
    quote! {
        let mut head = crate::event::spec::Kinds::head(#bound, #of);
        let mut tags: Vec<String> = Vec::new();
        #tags
        tags.append(&mut head.tags);
        crate::event::draft::Draft::empty(thread, head.source, #modality, tags)
            .payload("text", head.text) #(.payload("text", #text))*
    }
}

fn lifetime(item: &DeriveInput) -> TokenStream {
    item.generics.lifetimes().next().map_or_else(
        || quote!('_),
        |life| {
            let life = &life.lifetime;
            quote!(#life)
        },
    )
}

/// A variant of an enum of kinds, read.
struct Variant<'v> {
    name: &'v Ident,
    settings: Settings,
    parts: Vec<Part>,
    about: String,
}

impl<'v> Variant<'v> {
    fn parse(variant: &'v syn::Variant) -> Result<Self> {
        let syn::Variant {
            ident,
            attrs,
            fields,
            ..
        } = variant;
        let (settings, parts) = (Settings::parse(attrs)?, parts(fields)?);
        Ok(Self {
            name: ident,
            settings,
            parts,
            about: settings::about(attrs),
        })
    }

    /// The pattern that takes it apart.
    fn pattern(&self) -> TokenStream {
        let (name, bound) = (self.name, self.parts.iter().map(Part::pattern));
        quote!(Self::#name { #(#bound),* })
    }

    /// Whether it holds further kinds.
    fn is_others(&self) -> bool {
        self.settings.has("others")
    }

    fn kind(&self) -> Result<TokenStream> {
        if self.is_others() {
            return Ok(quote!(crate::event::spec::Kinds::kind(&**it0)));
        }
        let kind = self.settings.needed(self.name, "name")?;
        Ok(quote!(#kind))
    }

    /// The code of its specs, in a list.
    fn specs(&self) -> Result<TokenStream> {
        if let (true, Some(part)) = (self.is_others(), self.parts.first()) {
            let inner = inside(&part.kind, "Box");
            return Ok(quote!(<#inner as crate::event::spec::Kinds>::specs(tags, shared)));
        }
        if self.settings.has("hidden") {
            return Ok(quote!(Vec::new()));
        }
        let (kind, about, tags) = (self.kind()?, &self.about, patterns(&self.settings.tags));
        let members = self.parts.iter().map(Part::spec);
        let tail = self.settings.get("tail").into_iter();
        Ok(quote! {{
            let mut members = shared.to_vec();
            #(#members)*
            #(members.extend(#tail);)*
            let tags = crate::event::spec::of_kind(tags, &[#(#tags),*]);
            vec![crate::event::spec::Spec { name: #kind, about: #about, tags, members, open: false }]
        }})
    }

    fn read(&self) -> TokenStream {
        let name = self.name;
        if self.is_others() {
            let read = quote!(crate::event::spec::Kinds::read(raw));
            return quote!(_ => #read.map(|it| Self::#name(Box::new(it))));
        }
        let word = self.settings.tags.first().map(|tag| &tag.pattern);
        let parts = self.parts.iter().map(Part::init);
        let when = self.settings.get("when").into_iter();
        quote!(Some(#word) #(if #when)* => Some(Self::#name { #(#parts),* }))
    }

    fn head(&self, all: &Settings) -> TokenStream {
        if self.is_others() {
            return quote!(crate::event::spec::Kinds::head(&**it0, of));
        }
        let tags = write_tags(&self.settings.tags);
        // What the enum makes the text of, where the variant does not.
        let fields = self.parts.iter().filter_map(Part::field);
        let element = all.get("element").filter(|_| !self.settings.has("text"));
        let word = self.settings.tags.first().map(|tag| &tag.pattern);
        let element = element.map(|make| quote!(+ &#make(#word, &[#(#fields),*])));
        let of_all = if self.settings.has("source") {
            &self.settings
        } else {
            all
        };
        let source = of_all.variant("source", "Source", "Internal");
        let text = self.settings.get("text").into_iter();
        quote! {{
            let mut tags: Vec<String> = Vec::new();
            #tags
            crate::event::spec::Head { tags, source: #source, text: String::new() #(+ &#text)* #element }
        }}
    }

    fn write(&self) -> TokenStream {
        if self.is_others() {
            return quote!(crate::event::spec::Kinds::write(*it0, draft));
        }
        let writes = self.parts.iter().map(Part::write);
        let put = self.settings.get("put").into_iter();
        quote!({ #(#writes)* #(let draft = #put;)* draft })
    }
}

pub fn of_enum(item: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let settings = Settings::parse(&item.attrs)?;
    let variants = data
        .variants
        .iter()
        .map(Variant::parse)
        .collect::<Result<Vec<_>>>()?;
    let patterns: Vec<_> = variants.iter().map(Variant::pattern).collect();
    let specs = variants
        .iter()
        .map(Variant::specs)
        .collect::<Result<Vec<_>>>()?;
    let kinds = variants
        .iter()
        .map(Variant::kind)
        .collect::<Result<Vec<_>>>()?;
    let (others, own): (Vec<_>, Vec<_>) = variants.iter().partition(|it| it.is_others());
    let last = if others.is_empty() {
        quote!(_ => None)
    } else {
        quote!()
    };
    let reads = own.iter().chain(&others).map(|variant| variant.read());
    let heads = variants.iter().map(|variant| variant.head(&settings));
    let writes = variants.iter().map(Variant::write);
    let life = lifetime(item);
    let implemented = if item.generics.params.is_empty() {
        quote!(impl)
    } else {
        quote!(impl #generics)
    };
    let alone = settings
        .has("visibility")
        .then(|| alone(item, &settings))
        .transpose()?;
    Ok(quote! {
        #[allow(unused_variables)]
        #implemented crate::event::spec::Kinds<#life> for #name #arguments #bounds {
            fn specs(
                tags: &[&'static str],
                shared: &[crate::event::spec::Member],
            ) -> Vec<crate::event::spec::Spec> {
                [#(#specs),*].concat()
            }

            fn read(raw: crate::event::raw::Raw<#life>) -> Option<Self> {
                match raw.tags.get(1).map(String::as_str) { #(#reads,)* #last }
            }

            fn kind(&self) -> &'static str {
                match self { #(#patterns => #kinds),* }
            }

            fn head(&self, of: &str) -> crate::event::spec::Head {
                match self { #(#patterns => #heads),* }
            }

            fn write(self, draft: crate::event::draft::Draft) -> crate::event::draft::Draft {
                match self { #(#patterns => #writes),* }
            }
        }
        #alone
    })
}

/// An enum that is a fact itself, and no part of one.
fn alone(item: &DeriveInput, settings: &Settings) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let (patterns, life) = (patterns(&settings.tags), lifetime(item));
    let first = patterns.first();
    let answers = answers(
        item,
        settings,
        &quote!(crate::event::spec::Kinds::kind(self)),
    )?;
    Ok(quote! {
        impl #generics #name #arguments #bounds {
            pub(super) fn specs() -> Vec<crate::event::spec::Spec> {
                let shared = [crate::event::spec::TEXT];
                <Self as crate::event::spec::Kinds>::specs(&[#(#patterns),*], &shared)
            }

            pub(super) fn decode(raw: crate::event::raw::Raw<#life>) -> Option<Self> {
                crate::event::spec::Kinds::read(raw)
            }

            /// Returns the event to be.
            pub fn encode(self, thread: &crate::words::id::ThreadId) -> crate::event::draft::Draft {
                let head = crate::event::spec::Kinds::head(&self, "");
                crate::event::spec::Kinds::write(self, head.draft(thread, #first))
            }
        }
        #answers
    })
}
