//! Limits of a document while it is read: its bytes, its strings, its lists.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The maximum number of bytes of a string, including escapes: the parser keeps a whole string, and
/// quotes it in errors.
pub(super) const MAX_STRING: usize = 1 << 20;

/// A reader that fails if there are more bytes than a limit, or a string is too long.
pub(super) struct Bounded<R> {
    from: R,
    left: u64,
    strings: Strings,
    /// Whether there are more bytes.
    pub(super) exceeded: bool,
    /// Whether a string is too long.
    pub(super) long_string: bool,
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(from: R, limit: u64) -> Self {
        Self { from, left: limit, strings: Strings::default(), exceeded: false, long_string: false }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 && !into.is_empty() {
            // A reader may be called again after an error.
            self.exceeded = self.exceeded || self.from.read(&mut [0])? > 0;
            return if self.exceeded { Err(ErrorKind::FileTooLarge.into()) } else { Ok(0) };
        }
        let count = self.from.read(&mut into[..room])?;
        self.left -= count as u64;
        self.long_string |= !self.strings.are_short(&into[..count]);
        if self.long_string { Err(ErrorKind::InvalidData.into()) } else { Ok(count) }
    }
}

/// A scanner for strings in a text that comes in pieces.
#[derive(Default)]
pub(super) struct Strings {
    inside: bool,
    escaped: bool,
    length: usize,
}

impl Strings {
    /// Scans the next piece of the text. Returns whether no string is too long so far.
    pub(super) fn are_short(&mut self, piece: &[u8]) -> bool {
        for &byte in piece {
            if !self.inside {
                self.inside = byte == b'"';
                self.length = 0;
            } else if self.escaped || byte != b'"' {
                self.escaped = !self.escaped && byte == b'\\';
                self.length += 1;
                if self.length > MAX_STRING {
                    return false;
                }
            } else {
                self.inside = false;
            }
        }
        true
    }
}

/// A list of at most `MOST` elements, without spare capacity.
pub(super) struct List<T, const MOST: usize = { usize::MAX }>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T, const MOST: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Elements<T, MOST> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if MOST == usize::MAX { f.write_str("a list") } else { write!(f, "a list of at most {MOST} elements") }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut elements = Vec::new();
                while elements.len() < MOST {
                    let Some(element) = list.next_element()? else {
                        // There are many short lists.
                        elements.shrink_to_fit();
                        return Ok(elements);
                    };
                    elements.push(element);
                }
                match list.next_element::<IgnoredAny>()? {
                    Some(_) => Err(de::Error::invalid_length(MOST + 1, &self)),
                    None => Ok(elements),
                }
            }
        }

        deserializer.deserialize_seq(Elements::<T, MOST>(PhantomData)).map(Self)
    }
}

/// An object with named members. Derived implementations also accept a list of members without
/// names, which is so short that the value takes many times the memory of its text.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }

        deserializer.deserialize_map(Members::<T>(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_limited_to_its_bound() {
        let read = |text: &str| serde_json::from_str::<List<u8, 3>>(text).map(|List(list)| list);
        assert_eq!(read("[1,2,3]").unwrap(), [1, 2, 3]);
        assert!(read("[]").unwrap().is_empty());
        let error = read("[1,2,3,{}]").unwrap_err().to_string();
        assert!(error.starts_with("invalid length 4, expected a list of at most 3 elements at line 1"), "{error}");
        assert!(read("{}").map(drop).unwrap_err().to_string().contains("expected a list of at most 3 elements"));
        let error = serde_json::from_str::<List<u8>>("1").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("expected a list at"), "{error}");
    }

    #[test]
    fn strings_are_measured_across_pieces_and_escapes() {
        let string = |length: usize| format!("[\"\\\"\\\\\",\"{}\"]", "x".repeat(length));
        for piece in [1, 7, MAX_STRING] {
            let short = |text: &str| {
                let mut strings = Strings::default();
                text.as_bytes().chunks(piece).all(|piece| strings.are_short(piece))
            };
            assert!(short(&string(MAX_STRING)) && !short(&string(MAX_STRING + 1)));
            assert!(!short(&format!("\"{}", "\\\"".repeat(MAX_STRING / 2 + 1))));
            assert!(short(&"\"\\\\\",".repeat(MAX_STRING / 4)));
        }
    }
}
