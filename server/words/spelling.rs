//! Spelling: the words of an enum's variants, as the wire, the store and configurations have them.

/// Declares an enum with the word of each variant behind it, as Rust would a number; gives it `ALL`, `as_str`, `parse` and `Display`.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $shown:vis enum $type:ident {
            $($(#[$says:meta])* $variant:ident = $word:literal),* $(,)?
        }
    ) => {
        $(#[$about])*
        $shown enum $type {
            $($(#[$says])* $variant,)*
        }

        impl $type {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the word of the variant, as it is written.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Returns the variant of a word.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub use words;
