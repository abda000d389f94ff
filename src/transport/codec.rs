//! Encodes values for other processes: the texts of control frames, and the messages of the
//! bootstrap. A type lists its fields once, by `coded!`, for both directions.
//!
//! Numbers are little-endian and as wide as their type; a `usize` has 4 bytes. A text or a list
//! begins with its length, an enum with the code of its variant. Decoding checks every bound, so
//! that nothing is allocated for bytes that have not arrived, and refuses what no sender writes.

// Not serde with one of its formats: some of these types are public, and its traits would become
// part of their interface.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::ContextId;
use crate::ids::Rank;

/// Maximum length of a text in bytes; longer ones are truncated.
pub(crate) const MAX_STRING: usize = 8 << 10;

/// The bytes were not written by [`encode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidEncoding;

/// A value that can be sent to another process.
pub(crate) trait Coded: Sized {
    fn write(&self, to: &mut Vec<u8>);

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding>;

    /// Refuses a value that no sender writes.
    fn checked(self, is_valid: impl Fn(&Self) -> bool) -> Result<Self, InvalidEncoding> {
        if is_valid(&self) { Ok(self) } else { Err(InvalidEncoding) }
    }
}

/// Encodes a value.
pub(crate) fn encode(value: &impl Coded) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
}

/// Decodes a value from all of these bytes.
pub(crate) fn decode<T: Coded>(bytes: &[u8]) -> Result<T, InvalidEncoding> {
    let mut from = Reader(bytes);
    let value = T::read(&mut from)?;
    if from.0.is_empty() { Ok(value) } else { Err(InvalidEncoding) }
}

/// The bytes that are left to decode.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], InvalidEncoding> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(InvalidEncoding)?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// Implements [`Coded`] for a struct or an enum. `if` gives a condition that every valid value
/// meets, `else` the value that is sent in place of a variant that is not listed.
macro_rules! coded {
    (struct $type:ident { $($field:ident),* $(,)? } $(if |$value:ident| $valid:expr)?) => {
        impl Coded for $type {
            fn write(&self, to: &mut Vec<u8>) {
                $(self.$field.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
                $(let $field = Coded::read(from)?;)*
                let read = Self { $($field),* };
                $(let read = read.checked(|$value| $valid)?;)?
                Ok(read)
            }
        }
    };
    (enum $type:ident {
        $($code:literal => $variant:ident $(($($item:ident),*))? $({ $($field:ident),* })?,)*
    } $(if |$value:ident| $valid:expr)? $(; else |$other:ident| $instead:expr)?) => {
        impl Coded for $type {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($item),*))? $({ $($field),* })? => {
                        to.push($code);
                        $($($item.write(to);)*)?
                        $($($field.write(to);)*)?
                    })*
                    $($other => Self::write(&$instead, to),)?
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
                let read = match u8::read(from)? {
                    $($code => {
                        $($(let $item = Coded::read(from)?;)*)?
                        $($(let $field = Coded::read(from)?;)*)?
                        Self::$variant $(($($item),*))? $({ $($field),* })?
                    })*
                    _ => return Err(InvalidEncoding),
                };
                $(let read = read.checked(|$value| $valid)?;)?
                Ok(read)
            }
        }
    };
}

pub(super) use coded;

impl<const N: usize> Coded for [u8; N] {
    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        from.bytes(N)?.try_into().map_err(|_| InvalidEncoding)
    }
}

/// Implements [`Coded`] for numbers.
macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Coded for $number {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
                Coded::read(from).map(Self::from_le_bytes)
            }
        })*
    };
}

numbers!(u8, u16, u32, u64);

impl Coded for usize {
    fn write(&self, to: &mut Vec<u8>) {
        u32::try_from(*self).unwrap_or(u32::MAX).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        u32::read(from)?.try_into().map_err(|_| InvalidEncoding)
    }
}

impl Coded for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(InvalidEncoding),
        }
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Coded> Coded for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|item| item.write(to));
    }

    /// Reads one item after the other: a count beyond what has arrived allocates nothing.
    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        let (count, mut items) = (usize::read(from)?, Self::new());
        for _ in 0..count {
            items.push(T::read(from)?);
        }
        Ok(items)
    }
}

impl<A: Coded, B: Coded> Coded for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl<A: Coded, B: Coded, C: Coded> Coded for (A, B, C) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
        self.2.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        Ok((A::read(from)?, B::read(from)?, C::read(from)?))
    }
}

impl Coded for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        read_text(from).map(Self::from)
    }
}

impl Coded for Arc<str> {
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        read_text(from).map(Self::from)
    }
}

fn write_text(text: &str, to: &mut Vec<u8>) {
    let end = (0..=text.len().min(MAX_STRING)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    end.write(to);
    to.extend_from_slice(&text.as_bytes()[..end]);
}

fn read_text<'a>(from: &mut Reader<'a>) -> Result<&'a str, InvalidEncoding> {
    let length = Some(usize::read(from)?).filter(|length| *length <= MAX_STRING).ok_or(InvalidEncoding)?;
    std::str::from_utf8(from.bytes(length)?).map_err(|_| InvalidEncoding)
}

impl Coded for Duration {
    fn write(&self, to: &mut Vec<u8>) {
        (self.as_secs(), self.subsec_nanos()).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        let (seconds, nanos) = <(u64, u32)>::read(from)?;
        if nanos < 1_000_000_000 { Ok(Self::new(seconds, nanos)) } else { Err(InvalidEncoding) }
    }
}

impl Coded for SocketAddr {
    fn write(&self, to: &mut Vec<u8>) {
        let ip = match self.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        (ip.octets(), self.port()).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        let (ip, port) = <([u8; 16], u16)>::read(from)?;
        Ok(Self::new(Ipv6Addr::from(ip).to_canonical(), port))
    }
}

impl Coded for Rank {
    fn write(&self, to: &mut Vec<u8>) {
        self.index().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        let index = usize::read(from)?;
        Some(Self::new(index)).filter(|rank| rank.index() == index).ok_or(InvalidEncoding)
    }
}

impl Coded for ContextId {
    fn write(&self, to: &mut Vec<u8>) {
        self.number().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, InvalidEncoding> {
        u64::read(from).map(Self::of)
    }
}
