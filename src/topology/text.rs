//! Topology texts: the row of each kind, and the cursor that its parser uses.

use std::sync::Arc;

use super::definition::Topology;
use super::error::{ParseError, SizeError};
use crate::ids::MAX_NODES;

/// The names of the rows of [the registry](super::registry).
pub(super) const NAMES: [&str; 11] =
    ["line", "ring", "mesh", "torus", "hypercube", "ghc", "how", "how-wrap", "complete", "binary-tree", "graph"];

/// The name before the text of a network with [damage](super::damaged).
pub(super) const DAMAGED: &str = "damaged";

/// Returns whether a word is the name of a network before the colon.
pub(super) fn is_name(word: &str) -> bool {
    NAMES.contains(&word) || word == DAMAGED
}

/// Returns whether a text gives a network, without a file or a guest.
pub(super) fn is_network(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, rest)| is_name(name) && !rest.contains('@'))
}

/// A kind of network: the row of [the registry](super::registry) that its file defines.
pub(super) struct TopologyRow {
    /// The name before the colon.
    pub(super) name: &'static str,
    /// The syntax of the texts, for messages: what must be replaced begins with a capital letter.
    pub(super) syntax: &'static [&'static str],
    /// The text of a small network.
    #[cfg_attr(not(test), allow(dead_code, reason = "read by the tests of every row"))]
    pub(super) example: &'static str,
    /// Parses the text after the colon, to the end.
    pub(super) read: fn(&mut TextCursor<'_>) -> Result<Named, SyntaxFault>,
}

/// The network or the file that a text names.
pub(crate) enum Named {
    /// A network.
    Network(Arc<dyn Topology>),
    /// The file with the edge list of a network, or of the host of this guest.
    File { path: String, guest: Option<Arc<dyn Topology>> },
}

impl Named {
    /// Wraps a network whose numbers were checked by the parser. If they were not, this is an
    /// error rather than a panic.
    pub(super) fn network(topology: Result<impl Topology + 'static, SizeError>) -> Result<Self, SyntaxFault> {
        match topology {
            Ok(topology) => Ok(Self::Network(Arc::new(topology))),
            Err(_) => Err(SyntaxFault("smaller numbers".to_owned())),
        }
    }
}

/// What a parser expects at the cursor, where it finds something else.
pub(super) struct SyntaxFault(pub(super) String);

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct TextCursor<'a> {
    text: &'a str,
    /// The offset in bytes, on a character boundary.
    at: usize,
    /// The end of the part that is parsed, on a character boundary.
    end: usize,
}

impl<'a> TextCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, end: text.len() }
    }

    /// Returns a cursor that ends after `length` bytes from here.
    pub(super) fn first(self, length: usize) -> Self {
        Self { end: self.at + length, ..self }
    }

    /// Returns a cursor that begins after `length` bytes from here.
    pub(super) fn after(self, length: usize) -> Self {
        Self { at: self.at + length, ..self }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    /// Moves past `word` and returns true, if it comes next.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Moves past spaces, tabs and carriage returns.
    pub(super) fn skip_blanks(&mut self) {
        self.at = self.end - self.rest().trim_start_matches([' ', '\t', '\r']).len();
    }

    /// Parses a number from `least` to `most`. `what` names it in the error.
    pub(super) fn number(&mut self, what: &str, least: usize, most: usize) -> Result<usize, SyntaxFault> {
        let digits = self.digits();
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(SyntaxFault(format!("{what} from {least} to {most} without leading zeros")));
        }
        match digits.parse() {
            Ok(number) if (least..=most).contains(&number) => {
                self.at += digits.len();
                Ok(number)
            }
            _ => Err(SyntaxFault(format!("{what} from {least} to {most}"))),
        }
    }

    /// Parses the rest of `AxBxC..` after the first extent. At most `most` extents in all.
    pub(super) fn further(&mut self, first: usize, most: usize) -> Result<Vec<usize>, SyntaxFault> {
        let (mut extents, mut nodes) = (vec![first], first);
        while extents.len() < most && self.skip("x") {
            // The bound keeps the product from overflowing.
            let extent = self.number("an extent", 1, MAX_NODES / nodes)?;
            nodes *= extent;
            extents.push(extent);
        }
        Ok(extents)
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), SyntaxFault> {
        if self.rest().is_empty() { Ok(()) } else { Err(SyntaxFault(expected.to_owned())) }
    }

    /// Returns the ASCII digits that come next.
    fn digits(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        &rest[..length]
    }

    /// Returns the column of the cursor, counted in characters from 1.
    pub(super) fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// Returns the text at the cursor for an error: a whole number or name, or else one character.
    pub(super) fn found(&self) -> String {
        const SHOWN: usize = 24;
        let rest = &self.text[self.at..];
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
