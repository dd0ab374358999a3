//! Defaults: a struct of options says the default of a field beside it.

/// Declares a struct as Rust does, with a default behind each field; `Default` is made of these.
macro_rules! with_defaults {
    (
        $(#[$about:meta])*
        $shown:vis struct $name:ident {
            $($(#[$says:meta])* $seen:vis $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        $shown struct $name {
            $($(#[$says])* $seen $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                }
            }
        }
    };
}
pub(crate) use with_defaults;
