//! Defaults: a struct of options says the default of a field beside it, and records leave out usual
//! values.

/// Declares a struct as Rust does, with a default behind each field; `Default` is made of these.
/// Fields under `fixed` are numbers that no setting sets: their keys are taken out of all that is
/// read (`program/settings/removed.rs`), and `GET /metadata` shows those of limits and budgets.
#[doc(hidden)]
#[macro_export]
macro_rules! with_defaults {
    (
        $(#[$about:meta])*
        $shown:vis struct $name:ident {
            $($(#[$says:meta])* $seen:vis $field:ident: $type:ty = $default:expr,)*
        }
        $(fixed {
            $($(#[$says_fixed:meta])* $seen_fixed:vis $fixed:ident: $fixed_type:ty = $number:expr,)*
        })?
    ) => {
        $(#[$about])*
        $shown struct $name {
            $($(#[$says])* $seen $field: $type,)*
            $($(
                $(#[$says_fixed])*
                $seen_fixed $fixed: $fixed_type,
            )*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($fixed: $number,)*)?
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
