//! Enums whose variants are codes on a wire or in a record.

/// One list gives the enum, all of its variants and the way from a code to them; with
/// `=> type`, what is said of each as well. With a last variant that holds a declaration, which
/// has a `code` and a `description`, others add to the list.
macro_rules! codes {
    ($(#[$about:meta])* pub enum $name:ident: $code:ident {
        $($(#[$words:meta])* $variant:ident = $value:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr($code)]
        pub enum $name {
            $($(#[$words])* $variant = $value,)*
        }

        impl $name {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// From its code.
            pub fn from_code(code: $code) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| *known as $code == code)
            }
        }

        impl $crate::codec::Coded for $name {
            fn put(&self, to: &mut dyn bytes::BufMut) {
                (*self as $code).put(to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Self::from_code($crate::codec::take(from)?)
            }
        }
    };
    ($(#[$about:meta])* pub enum $name:ident: $code:ident => $description:ty {
        $($(#[$words:meta])* $variant:ident = $value:literal => $said:expr,)*
    }) => {
        $crate::codes::codes! {
            $(#[$about])*
            pub enum $name: $code {
                $($(#[$words])* $variant = $value,)*
            }
        }

        impl $name {
            /// What is said of it.
            pub fn description(self) -> $description {
                match self {
                    $(Self::$variant => $said,)*
                }
            }
        }
    };
    ($(#[$about:meta])* pub enum $name:ident: $code:ident => $description:ty {
        $($(#[$words:meta])* $variant:ident = $value:literal => $said:expr,)*
        ..
        $(#[$more:meta])* $open:ident($declared:ty),
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$words])* $variant,)*
            $(#[$more])* $open($declared),
        }

        impl $name {
            /// Those of this list.
            pub(crate) const LISTED: &[Self] = &[$(Self::$variant,)*];

            /// Its code.
            pub const fn code(self) -> $code {
                match self {
                    $(Self::$variant => $value,)*
                    Self::$open(declared) => declared.code,
                }
            }

            /// What is said of it.
            pub const fn description(self) -> $description {
                match self {
                    $(Self::$variant => $said,)*
                    Self::$open(declared) => declared.description,
                }
            }
        }
    };
}

pub(crate) use codes;
