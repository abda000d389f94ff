//! Texts that name networks: how each kind is written, and what reads it.

use std::sync::Arc;

use super::definition::Topology;
use super::error::ParseError;
use crate::ids::MAX_NODES;

/// A kind of network that texts name. Its file has the row, and [the registry](super::registry)
/// lists it.
pub(super) struct Row {
    /// What the text starts with, before a colon.
    pub(super) name: &'static str,
    /// How texts of the kind look, for messages.
    pub(super) syntax: &'static [&'static str],
    /// A small one.
    #[cfg_attr(not(test), allow(dead_code, reason = "read by the tests of every row"))]
    pub(super) example: &'static str,
    /// Reads what stands behind the colon, to the end.
    pub(super) read: fn(&mut Cursor<'_>) -> Result<Named, Fault>,
}

/// What a text names.
pub(crate) enum Named {
    /// A network.
    Network(Arc<dyn Topology>),
    /// The file that has its links.
    File(String),
}

impl Named {
    /// A network whose numbers were checked as they were read; still an error rather than a panic
    /// if they were not.
    pub(super) fn network(topology: Option<impl Topology + 'static>) -> Result<Self, Fault> {
        match topology {
            Some(topology) => Ok(Self::Network(Arc::new(topology))),
            None => Err(Fault::Here("smaller numbers".to_owned())),
        }
    }
}

/// What stops the reader: something else than expected where the cursor is, or what an error says
/// already.
pub(super) enum Fault {
    Here(String),
    Other(ParseError),
}

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// In bytes, at the border of a character.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Moves past `word`, if it is next.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Moves past spaces, tabs and carriage returns.
    pub(super) fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\r']).len();
    }

    /// Moves past a number from `least` to `most`, where `what` says what it means.
    pub(super) fn number(&mut self, what: &str, least: usize, most: usize) -> Result<usize, Fault> {
        let digits = self.digits();
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(Fault::Here(format!("{what} from {least} to {most} without leading zeros")));
        }
        match digits.parse() {
            Ok(number) if (least..=most).contains(&number) => {
                self.at += digits.len();
                Ok(number)
            }
            _ => Err(Fault::Here(format!("{what} from {least} to {most}"))),
        }
    }

    /// Moves past `AxBxC..` from the second on: at most so many in all.
    pub(super) fn further(&mut self, first: usize, most: usize) -> Result<Vec<usize>, Fault> {
        let (mut extents, mut nodes) = (vec![first], first);
        while extents.len() < most && self.skip("x") {
            // As many as the other extents leave room for: the product cannot overflow.
            let extent = self.number("an extent", 1, MAX_NODES / nodes)?;
            nodes *= extent;
            extents.push(extent);
        }
        Ok(extents)
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), Fault> {
        if self.rest().is_empty() { Ok(()) } else { Err(Fault::Here(expected.to_owned())) }
    }

    /// The digits that come next: ASCII ones only.
    fn digits(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        &rest[..length]
    }

    /// Where the cursor is, counted in characters from 1.
    pub(super) fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// What is where the cursor is: a number or name as a whole, anything else as a single
    /// character.
    pub(super) fn found(&self) -> String {
        const SHOWN: usize = 24;
        let rest = self.rest();
        let is_same: fn(char) -> bool = match rest.chars().next() {
            None => return "the end".to_owned(),
            Some(c) if c.is_ascii_digit() => |c| c.is_ascii_digit(),
            Some(c) if c.is_alphabetic() => |c| c.is_alphanumeric() || c == '-',
            Some(c) => return format!("{:?}", c.to_string()),
        };
        let shown: String = rest.chars().take(SHOWN).take_while(|&c| is_same(c)).collect();
        let is_cut = rest[shown.len()..].starts_with(is_same);
        format!("{shown:?}{}", if is_cut { ".." } else { "" })
    }

    pub(super) fn fault(&self, text: &str, expected: String) -> ParseError {
        ParseError::Text { text: text.to_owned(), column: self.column(), found: self.found(), expected }
    }
}
