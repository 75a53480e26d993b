//! Bytes on a wire, little-endian: one codec for the datagrams of a rig and the messages
//! of the host link. No bytes whatever make it panic, and a count alone reserves no memory.

use bytes::{Buf, BufMut};

/// What has bytes on a wire.
pub(crate) trait Coded {
    /// Appends them.
    fn put(&self, to: &mut dyn BufMut);

    /// Takes them off; `None` where some are missing or they are no such thing.
    fn take(from: &mut &[u8]) -> Option<Self>
    where
        Self: Sized;
}

/// Takes whatever is wanted.
pub(crate) fn take<T: Coded>(from: &mut &[u8]) -> Option<T> {
    T::take(from)
}

macro_rules! numbers {
    ($($number:ident $put:ident $take:ident,)*) => {
        $(impl Coded for $number {
            fn put(&self, to: &mut dyn BufMut) {
                to.$put(*self);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                from.$take().ok()
            }
        })*
    };
}

numbers! {
    u8 put_u8 try_get_u8,
    u16 put_u16_le try_get_u16_le,
    u32 put_u32_le try_get_u32_le,
    u64 put_u64_le try_get_u64_le,
    f64 put_f64_le try_get_f64_le,
}

/// Up to 255 bytes behind their number; what is longer is cut.
impl Coded for Vec<u8> {
    fn put(&self, to: &mut dyn BufMut) {
        let short = &self[..self.len().min(255)];
        to.put_u8(short.len() as u8);
        to.put_slice(short);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length: u8 = take(from)?;
        from.split_off(..usize::from(length)).map(<[u8]>::to_vec)
    }
}

/// As its bytes; what is no text in them is replaced.
impl Coded for String {
    fn put(&self, to: &mut dyn BufMut) {
        self.as_bytes().to_vec().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Vec::take(from).map(|bytes: Vec<u8>| Self::from_utf8_lossy(&bytes).into_owned())
    }
}

/// All numbers that are left; what is too short for one stays.
impl Coded for Vec<f64> {
    fn put(&self, to: &mut dyn BufMut) {
        self.iter().for_each(|value| to.put_f64_le(*value));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (values, rest) = from.as_chunks();
        *from = rest;
        Some(values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }
}

/// Entries behind their number.
macro_rules! lists {
    ($(($($part:ident: $type:ty),*))*) => {
        $(impl Coded for Vec<($($type),*)> {
            fn put(&self, to: &mut dyn BufMut) {
                to.put_u16_le(self.len() as u16);
                for ($($part),*) in self {
                    $($part.put(to);)*
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let count: u16 = take(from)?;
                (0..count).map(|_| Some(($(take::<$type>(from)?),*))).collect()
            }
        })*
    };
}

lists! {
    (name: String, unit: String)
    (name: String, unit: String, bound: f64)
}

/// A struct whose fields stand on the wire in their order.
macro_rules! coded {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$words:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$words])* pub $field: $type,)*
        }

        impl $crate::codec::Coded for $name {
            fn put(&self, to: &mut dyn bytes::BufMut) {
                $(self.$field.put(to);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::codec::take(from)?,)* })
            }
        }
    };
}

pub(crate) use coded;
