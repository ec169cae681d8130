//! Enums whose values have a word each.

/// Declares an enum whose values have a word each, with all of its values, their words, and both directions between
/// them.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $visible:vis enum $kind:ident {
            $($(#[$of:meta])* $value:ident = $word:literal,)+
        }
    ) => {
        $(#[$about])*
        $visible enum $kind {
            $($(#[$of])* $value,)+
        }

        #[allow(dead_code, reason = "not every enum needs all of them")]
        impl $kind {
            /// Every value, in order.
            pub const ALL: [$kind; [$($word),+].len()] = [$($kind::$value),+];

            /// The words of all values, in order.
            pub const NAMES: [&'static str; [$($word),+].len()] = [$($word),+];

            /// Its word.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $word,)+
                }
            }

            pub fn named(word: &str) -> ::core::option::Option<$kind> {
                $kind::ALL.into_iter().find(|value| value.name() == word)
            }
        }
    };
}
