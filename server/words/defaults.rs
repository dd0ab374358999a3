//! Defaults: a struct of options says the default of a field beside it, and records leave out usual
//! values.

/// Declares a struct as Rust does, with a default behind each field; `Default` is made of these.
#[doc(hidden)]
#[macro_export]
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
pub use with_defaults;

/// The default of a member that old records lack, and that means yes there.
pub const fn yes() -> bool {
    true
}

/// Returns true for a yes that is not written.
pub const fn is_yes(it: &bool) -> bool {
    *it
}

/// Returns true for a number that is not written.
pub fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
