//! The code of a fact, written from its declaration.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DataEnum, DataStruct, DeriveInput, Expr, Ident, Result, parse_quote};

use crate::part::{Part, inside, parts};
use crate::settings::{self, Settings, Tag};

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
            let written = (!mark).then(|| quote!(tags.push(#pattern.to_owned());));
            return written.unwrap_or_default();
        };
        let written = match pattern.split_once('<') {
            Some((prefix, _)) if !prefix.contains('|') => format!("{prefix}{{}}"),
            Some(_) => "{}".to_owned(),
            None if pattern.contains('|') => "{}".to_owned(),
            None => {
                let reference = matches!(value, Expr::Path(_)).then(|| quote!(*));
                return quote!(if #reference #value { tags.push(#pattern.to_owned()); });
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
    if settings.home.is_some() {
        return Ok(quote!());
    }
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
    let settings = Settings::parse(&item.attrs)?;
    let parts = parts(&data.fields)?;
    let bound: Vec<_> = parts.iter().map(Part::pattern).collect();
    let specs = parts.iter().map(Part::spec);
    let reads = parts.iter().map(Part::init);
    let writes = parts.iter().map(Part::write);
    let patterns = patterns(&settings.tags);
    let about = settings::about(&item.attrs);
    let inner = parts.iter().find(|part| part.has("kinds"));
    let (kind, spec) = match inner {
        Some(Part { bound, kind, .. }) => (
            quote!(thinkd_event::spec::Kinds::kind(&self.#bound)),
            quote!(<#kind as thinkd_event::spec::Kinds>::specs(&[#(#patterns),*], &members)),
        ),
        None => {
            let kind = settings.needed(name, "name")?;
            let tags = quote!(vec![#(#patterns),*]);
            let rest = quote!(name: #kind, about: #about, tags: #tags, members, open: false);
            (
                quote!(#kind),
                quote!(vec![thinkd_event::spec::Spec { #rest }]),
            )
        }
    };
    let head = head(&settings, inner);
    let answers = answers(item, &settings, &kind)?;
    let life = lifetime(item);
    Ok(quote! {
        impl #generics #name #arguments #bounds {
            /// Returns its kinds, as the catalogue shows them.
            pub fn specs() -> Vec<thinkd_event::spec::Spec> {
                let mut members = vec![thinkd_event::spec::TEXT];
                #(#specs)*
                #spec
            }

            /// Reads the fact; none where a member is missing, or of another type.
            pub fn decode(raw: thinkd_event::raw::Raw<#life>) -> Option<Self> {
                Some(Self { #(#reads),* })
            }

            /// Returns the event to be.
            #[allow(unused_variables)]
            pub fn encode(self, thread: &thinkd_words::id::ThreadId) -> thinkd_event::draft::Draft {
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
    let specs = parts.iter().map(Part::spec);
    let reads = parts.iter().map(Part::init);
    let writes = parts.iter().map(Part::write);
    let life = lifetime(item);
    Ok(quote! {
        #[allow(unused_variables)]
        impl #generics thinkd_event::spec::Flat<#life> for #name #arguments #bounds {
            fn members() -> Vec<thinkd_event::spec::Member> {
                let mut members = Vec::new();
                #(#specs)*
                members
            }

            fn read(raw: thinkd_event::raw::Raw<#life>) -> Option<Self> {
                Some(Self { #(#reads),* })
            }

            fn write(self, draft: thinkd_event::draft::Draft) -> thinkd_event::draft::Draft {
                let Self { #(#bound),* } = self;
                #(#writes)*
                draft
            }
        }
    })
}

/// The code of a draft without its members; fields are bound by reference.
fn head(settings: &Settings, inner: Option<&Part>) -> TokenStream {
    let own = settings.variant("source", "Source", "Internal");
    let modality = settings.variant("modality", "Modality", "State");
    let tags = write_tags(&settings.tags);
    let text = settings.get("text").into_iter();
    let Some(Part { bound, .. }) = inner else {
        return quote! {
            let mut tags: Vec<String> = Vec::new();
            #tags
            thinkd_event::draft::Draft::empty(thread, #own, #modality, tags)
                #(.payload("text", #text))*
        };
    };
    let of = settings.get("text_of").cloned().unwrap_or(parse_quote!(""));
    quote! {
        let mut head = thinkd_event::spec::Kinds::head(#bound, #of);
        let mut tags: Vec<String> = Vec::new();
        #tags
        tags.append(&mut head.tags);
        thinkd_event::draft::Draft::empty(thread, head.source, #modality, tags)
            .payload("text", head.text) #(.payload("text", #text))*
    }
}

fn lifetime(item: &DeriveInput) -> TokenStream {
    match item.generics.lifetimes().next() {
        Some(life) => life.lifetime.to_token_stream(),
        None => quote!('_),
    }
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
        Ok(Self {
            name: &variant.ident,
            settings: Settings::parse(&variant.attrs)?,
            parts: parts(&variant.fields)?,
            about: settings::about(&variant.attrs),
        })
    }

    /// The pattern that takes it apart.
    fn pattern(&self) -> TokenStream {
        let name = self.name;
        let bound = self.parts.iter().map(Part::pattern);
        quote!(Self::#name { #(#bound),* })
    }

    /// Returns whether it holds further kinds.
    fn is_others(&self) -> bool {
        self.settings.has("others")
    }

    fn kind(&self) -> Result<TokenStream> {
        if self.is_others() {
            return Ok(quote!(thinkd_event::spec::Kinds::kind(&**it0)));
        }
        let kind = self.settings.needed(self.name, "name")?;
        Ok(quote!(#kind))
    }

    /// The code of its specs, in a list.
    fn specs(&self) -> Result<TokenStream> {
        if let (true, Some(part)) = (self.is_others(), self.parts.first()) {
            let inner = inside(&part.kind, "Box");
            return Ok(quote!(<#inner as thinkd_event::spec::Kinds>::specs(tags, shared)));
        }
        if self.settings.has("hidden") {
            return Ok(quote!(Vec::new()));
        }
        let kind = self.kind()?;
        let about = &self.about;
        let tags = patterns(&self.settings.tags);
        let members = self.parts.iter().map(Part::spec);
        let tail = self.settings.get("tail").into_iter();
        Ok(quote! {{
            let mut members = shared.to_vec();
            #(#members)*
            #(members.extend(#tail);)*
            let tags = thinkd_event::spec::of_kind(tags, &[#(#tags),*]);
            vec![thinkd_event::spec::Spec { name: #kind, about: #about, tags, members, open: false }]
        }})
    }

    fn read(&self) -> TokenStream {
        let name = self.name;
        if self.is_others() {
            let read = quote!(thinkd_event::spec::Kinds::read(raw));
            return quote!(_ => #read.map(|it| Self::#name(Box::new(it))));
        }
        let word = self.settings.tags.first().map(|tag| &tag.pattern);
        let parts = self.parts.iter().map(Part::init);
        let when = self.settings.get("when").into_iter();
        quote!(Some(#word) #(if #when)* => Some(Self::#name { #(#parts),* }))
    }

    fn head(&self, all: &Settings) -> TokenStream {
        if self.is_others() {
            return quote!(thinkd_event::spec::Kinds::head(&**it0, of));
        }
        let tags = write_tags(&self.settings.tags);
        // What the enum makes the text of, where the variant does not.
        let fields = self.parts.iter().filter_map(Part::field);
        let element = all.get("element").filter(|_| !self.settings.has("text"));
        let word = self.settings.tags.first().map(|tag| &tag.pattern);
        let element = element.map(|make| quote!(+ &#make(#word, &[#(#fields),*])));
        let own = Some(&self.settings).filter(|it| it.has("source"));
        let source = own.unwrap_or(all).variant("source", "Source", "Internal");
        let text = self.settings.get("text").into_iter();
        quote! {{
            let mut tags: Vec<String> = Vec::new();
            #tags
            thinkd_event::spec::Head { tags, source: #source, text: String::new() #(+ &#text)* #element }
        }}
    }

    fn write(&self) -> TokenStream {
        if self.is_others() {
            return quote!(thinkd_event::spec::Kinds::write(*it0, draft));
        }
        let writes = self.parts.iter().map(Part::write);
        let put = self.settings.get("put").into_iter();
        quote!({ #(#writes)* #(let draft = #put;)* draft })
    }
}

pub fn of_enum(item: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let settings = Settings::parse(&item.attrs)?;
    let variants: Result<Vec<_>> = data.variants.iter().map(Variant::parse).collect();
    let variants = variants?;
    let patterns: Vec<_> = variants.iter().map(Variant::pattern).collect();
    let specs: Result<Vec<_>> = variants.iter().map(Variant::specs).collect();
    let kinds: Result<Vec<_>> = variants.iter().map(Variant::kind).collect();
    let specs = specs?;
    let kinds = kinds?;
    let (others, own): (Vec<_>, Vec<_>) = variants.iter().partition(|it| it.is_others());
    let last = others.is_empty().then(|| quote!(_ => None));
    let reads = own.iter().chain(&others).map(|variant| variant.read());
    let heads = variants.iter().map(|variant| variant.head(&settings));
    let writes = variants.iter().map(Variant::write);
    let life = lifetime(item);
    let alone = (settings.has("visibility") || settings.home.is_some())
        .then(|| alone(item, &settings))
        .transpose()?;
    Ok(quote! {
        #[allow(unused_variables)]
        impl #generics thinkd_event::spec::Kinds<#life> for #name #arguments #bounds {
            fn specs(
                tags: &[&'static str],
                shared: &[thinkd_event::spec::Member],
            ) -> Vec<thinkd_event::spec::Spec> {
                [#(#specs),*].concat()
            }

            fn read(raw: thinkd_event::raw::Raw<#life>) -> Option<Self> {
                match raw.tags.get(1).map(String::as_str) { #(#reads,)* #last }
            }

            fn kind(&self) -> &'static str {
                match self { #(#patterns => #kinds),* }
            }

            fn head(&self, of: &str) -> thinkd_event::spec::Head {
                match self { #(#patterns => #heads),* }
            }

            fn write(self, draft: thinkd_event::draft::Draft) -> thinkd_event::draft::Draft {
                match self { #(#patterns => #writes),* }
            }
        }
        #alone
    })
}

/// An enum that is a fact itself, and no part of one.
fn alone(item: &DeriveInput, settings: &Settings) -> Result<TokenStream> {
    let (name, (generics, arguments, bounds)) = (&item.ident, item.generics.split_for_impl());
    let patterns = patterns(&settings.tags);
    let life = lifetime(item);
    let first = patterns.first();
    let answers = answers(
        item,
        settings,
        &quote!(thinkd_event::spec::Kinds::kind(self)),
    )?;
    Ok(quote! {
        impl #generics #name #arguments #bounds {
            /// Returns its kinds, as the catalogue shows them.
            pub fn specs() -> Vec<thinkd_event::spec::Spec> {
                let shared = [thinkd_event::spec::TEXT];
                <Self as thinkd_event::spec::Kinds>::specs(&[#(#patterns),*], &shared)
            }

            /// Reads the fact; none where a member is missing, or of another type.
            pub fn decode(raw: thinkd_event::raw::Raw<#life>) -> Option<Self> {
                thinkd_event::spec::Kinds::read(raw)
            }

            /// Returns the event to be.
            pub fn encode(self, thread: &thinkd_words::id::ThreadId) -> thinkd_event::draft::Draft {
                let head = thinkd_event::spec::Kinds::head(&self, "");
                thinkd_event::spec::Kinds::write(self, head.draft(thread, #first))
            }
        }
        #answers
    })
}
