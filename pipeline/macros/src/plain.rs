//! Checks that values of nodes are plain. Refuses forbidden types in a signature, with the
//! parameter's name and the cure; leaves the rest to the compiler, with our words for its findings.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, GenericArgument, PathArguments, Result, Type};

/// A parameter of a node, which keeps its arguments and lends them to its body.
pub fn check_parameter(name: &Ident, ty: &Type) -> Result<()> {
    let cure = format!(
        "a node keeps its arguments: a function pointer, as in `{name}: fn(i64) -> i64`, or a type parameter with \
         `Clone + Send + Sync + Unpin + 'static`"
    );
    check(name, ty, &cure)
}

/// A parameter of a replica's method, or of its constructor, which may be called from another process.
pub fn check_data(name: &Ident, ty: &Type) -> Result<()> {
    check(
        name,
        ty,
        "arguments of a replica are data: a type that is `Serialize` and `Deserialize`",
    )
}

fn check(name: &Ident, ty: &Type, cure: &str) -> Result<()> {
    let borrowed = match ty {
        Type::Reference(reference) => &reference.elem,
        owned => owned,
    };
    let plain = quote!(#borrowed);
    let text = match ty {
        _ if matches!(borrowed, Type::ImplTrait(_)) => {
            format!("the parameter `{name}` needs a type with a name, for {cure}")
        }
        Type::Reference(reference) if reference.mutability.is_some() => format!(
            "the parameter `{name}` is not the caller's own: take it by value, `mut {name}: {plain}`, and return it changed"
        ),
        Type::Reference(reference)
            if reference
                .lifetime
                .as_ref()
                .is_some_and(|lifetime| lifetime.ident == "static") =>
        {
            format!("the parameter `{name}` is lent for one call only: write `{name}: &{plain}`")
        }
        _ => return Ok(()),
    };
    Err(Error::new(ty.span(), text))
}

/// Asks the compiler whether a parameter holds contexts.
pub fn parameter(name: &Ident, ty: &TokenStream, span: Span) -> TokenStream {
    let message = format!("the parameter `{name}` of this node is, or holds, a pending `Context`");
    let cure = "name the plain type: where a node takes a `T` it may be called with a `Context<T>`";
    asked(quote!(#ty), &[], span, &message, cure)
}

/// Asks the compiler to refuse a returned value that holds contexts: `ty` is the type, `value` that
/// of its `Ok`.
pub fn returned(ty: &Type, value: &TokenStream) -> TokenStream {
    let message = "a node returns a plain value, and a pending `Context` is in this one";
    let cure = "`.await` it in the body, and return what it holds";
    let mut parts = Vec::new();
    parts_of(ty, &mut parts);
    asked(value.clone(), &parts, ty.span(), message, cure)
}

fn asked(
    whole: TokenStream,
    parts: &[&Type],
    span: Span,
    message: &str,
    cure: &str,
) -> TokenStream {
    let parts =
        parts.iter().map(|part| quote_spanned!(span=> __plain(&__library::support::Probe::<#part>::new().pending());));
    let whole = quote_spanned! { span=>
        __plain(&(&__library::support::Probe::<#whole>::new()).pinned());
        __plain(&__library::support::Probe::<#whole>::new().pending());
    };
    quote! {
        {
            #[diagnostic::on_unimplemented(message = #message, label = #cure)]
            trait __Plain {}
            impl __Plain for __library::support::NoContext {}
            fn __plain(_: &impl __Plain) {}
            #[allow(unused_imports)]
            use __library::support::{Immovable as _, Movable as _, NotPending as _};
            #whole
            #(#parts)*
        }
    }
}

/// The types a type is made of, as far as it is written out.
fn parts_of<'a>(ty: &'a Type, parts: &mut Vec<&'a Type>) {
    match ty {
        Type::Path(path) => {
            let arguments =
                path.path
                    .segments
                    .iter()
                    .filter_map(|segment| match &segment.arguments {
                        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
                        _ => None,
                    });
            for argument in arguments.flatten() {
                if let GenericArgument::Type(part) = argument {
                    parts.push(part);
                    parts_of(part, parts);
                }
            }
        }
        Type::Tuple(tuple) => {
            for part in &tuple.elems {
                parts.push(part);
                parts_of(part, parts);
            }
        }
        Type::Array(array) => parts_of(&array.elem, parts),
        Type::Slice(slice) => parts_of(&slice.elem, parts),
        _ => {}
    }
}

/// Types without parameters, with names that are never used for an alias.
pub const PRIMITIVES: [&str; 17] = [
    "String", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8",
    "u16", "u32", "u64", "u128", "usize",
];

/// Returns true for a type without parameters, with a name that is never used for an alias: no
/// question is needed.
pub fn surely(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|ident| ident == "str" || PRIMITIVES.iter().any(|known| ident == known)),
        Type::Reference(reference) => surely(&reference.elem),
        Type::Slice(slice) => surely(&slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(surely),
        _ => false,
    }
}
