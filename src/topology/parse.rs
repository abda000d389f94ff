//! Topology text.

use std::io;
use std::sync::Arc;

use super::{Complete, GeneralizedHypercube, Graph, GraphError, Grid, Hypercube, Topology};
use crate::ids::MAX_NODES;
use crate::quote::quoted;

/// What can be parsed, for messages and to tell our own texts from others'.
const EXPECTED: &str =
    "line:N, ring:N, mesh:AxB[xC..], torus:AxB[xC..], hypercube:D, ghc:K,N, ghc:AxB[xC..], complete:N or graph:@FILE";

/// The names of these.
const NAMES: [&str; 8] = ["line", "ring", "mesh", "torus", "hypercube", "ghc", "complete", "graph"];

/// Names that are reserved for topologies still to come: networks of highly overlapping windows, `how:P,W,N` and
/// `how-wrap:P,W,N` (P nodes a dimension, window W, N dimensions).
const RESERVED: [&str; 2] = ["how", "how-wrap"];

/// Reads a topology text:
///
/// | text | topology |
/// |---|---|
/// | `line:N`, `ring:N` | [`Grid`] of one dimension |
/// | `mesh:AxB[xC..]`, `torus:AxB[xC..]` | [`Grid`]; with a single extent the same as `line` and `ring` |
/// | `hypercube:D` | [`Hypercube`] of 2^D nodes, D from 0 to 30 |
/// | `ghc:K,N` | [`GeneralizedHypercube`] of N dimensions, each of extent K |
/// | `ghc:AxB[xC..]` | [`GeneralizedHypercube`] of these extents |
/// | `complete:N` | [`Complete`] |
/// | `graph:@FILE` | [`Graph::load`] of everything after the `@` |
///
/// Names are in lower case. Numbers are decimal, without sign or leading zeros; extents are at least 1, and there are at
/// most [`MAX_NODES`] nodes. There is no white space, except in a file's name.
///
/// Takes time and memory in proportion to the text, not to the numbers in it; for a graph, to its file.
///
/// ```
/// use necklace::topology::parse;
///
/// let torus = parse("torus:12x12")?;
/// assert_eq!(torus.nodes(), 144);
/// assert_eq!(torus.text(), "torus:12x12");
///
/// let error = parse("torus:12x0").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "topology \"torus:12x0\", column 10: found \"0\", expected an extent from 1 to 178956970"
/// );
/// # Ok::<(), necklace::topology::ParseError>(())
/// ```
///
/// # Errors
///
/// [`ParseError`] says where the text, or the file that it names, is wrong and what would be right.
pub fn parse(text: &str) -> Result<Arc<dyn Topology>, ParseError> {
    let mut cursor = Cursor::new(text);
    topology(&mut cursor).map_err(|fault| match fault {
        Fault::Here(expected) => cursor.fault(text, expected),
        Fault::Other(error) => error,
    })
}

/// A text that is no topology, or that names a file which holds none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text is not one.
    #[error("topology {}, column {column}: found {found}, expected {expected}", quoted(text))]
    Text {
        /// The whole text.
        text: String,
        /// Where it goes wrong, counted in characters from 1.
        column: usize,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The text asks for a topology whose name is reserved, but which is not there yet.
    #[error("topology {}: {name} is not supported yet, expected {EXPECTED}", quoted(text))]
    Unsupported {
        /// The whole text.
        text: String,
        /// The name.
        name: String,
    },
    /// A file cannot be read.
    #[error("graph file {} cannot be read: {reason}", quoted(path))]
    File {
        /// The file.
        path: String,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What went wrong, in words.
        reason: String,
    },
    /// A line of a file is no edge.
    #[error("graph file {}, line {line}, column {column}: found {found}, expected {expected}", quoted(path))]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Where it goes wrong, counted in characters from 1.
        column: usize,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The edges in a file are no connected network.
    #[error("graph file {}: {fault}", quoted(path))]
    Graph {
        /// The file.
        path: String,
        /// What is wrong with them.
        fault: GraphError,
    },
}

/// What stops the reader: something else than expected where the cursor is, or what an error says already.
pub(super) enum Fault {
    Here(String),
    Other(ParseError),
}

/// Whether a text starts like one that is for this module to read.
pub(super) fn is_ours(text: &str) -> bool {
    let name = name(text);
    NAMES.contains(&name) && text[name.len()..].starts_with(if name == "graph" { ":@" } else { ":" })
}

/// The name that a text starts with.
fn name(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '-');
    &text[..text.len() - rest.len()]
}

fn topology(cursor: &mut Cursor<'_>) -> Result<Arc<dyn Topology>, Fault> {
    let text = cursor.rest();
    let name = name(text);
    if RESERVED.contains(&name) {
        return Err(Fault::Other(ParseError::Unsupported { text: text.to_owned(), name: name.to_owned() }));
    }
    if !NAMES.contains(&name) {
        return Err(Fault::Here(EXPECTED.to_owned()));
    }
    cursor.skip(name);
    if !cursor.skip(":") {
        return Err(Fault::Here("\":\"".to_owned()));
    }
    match name {
        "line" => grid(cursor, false, 1),
        "ring" => grid(cursor, true, 1),
        "mesh" => grid(cursor, false, usize::MAX),
        "torus" => grid(cursor, true, usize::MAX),
        "hypercube" => hypercube(cursor),
        "ghc" => generalized(cursor),
        "complete" => complete(cursor),
        _ => graph(cursor),
    }
}

fn grid(cursor: &mut Cursor<'_>, wraps: bool, most: usize) -> Result<Arc<dyn Topology>, Fault> {
    let first = cursor.number("an extent", 1, MAX_NODES)?;
    let extents = further(cursor, first, most)?;
    cursor.end(if most == 1 { "the end" } else { "\"x\" or the end" })?;
    made(Grid::new(&extents, wraps))
}

/// `AxBxC..` from the second on, at most so many in all.
fn further(cursor: &mut Cursor<'_>, first: usize, most: usize) -> Result<Vec<usize>, Fault> {
    let (mut extents, mut nodes) = (vec![first], first);
    while extents.len() < most && cursor.skip("x") {
        // As many as the other extents leave room for: the product can not overflow.
        let extent = cursor.number("an extent", 1, MAX_NODES / nodes)?;
        nodes *= extent;
        extents.push(extent);
    }
    Ok(extents)
}

fn generalized(cursor: &mut Cursor<'_>) -> Result<Arc<dyn Topology>, Fault> {
    let first = cursor.number("an extent", 1, MAX_NODES)?;
    let extents = if cursor.skip(",") {
        // As many as there is room for; with extents of 1 as many as with extents of 2.
        let most = MAX_NODES.ilog(first.max(2)) as usize;
        let dimensions = cursor.number("a number of dimensions", 1, most)?;
        cursor.end("the end")?;
        vec![first; dimensions]
    } else {
        let extents = further(cursor, first, usize::MAX)?;
        if extents.len() == 1 {
            return Err(Fault::Here("\",\" or \"x\"".to_owned()));
        }
        cursor.end("\"x\" or the end")?;
        extents
    };
    made(GeneralizedHypercube::new(&extents))
}

fn hypercube(cursor: &mut Cursor<'_>) -> Result<Arc<dyn Topology>, Fault> {
    let dimensions = cursor.number("a number of dimensions", 0, Hypercube::MAX_DIMENSIONS)?;
    cursor.end("the end")?;
    made(Hypercube::new(dimensions))
}

fn complete(cursor: &mut Cursor<'_>) -> Result<Arc<dyn Topology>, Fault> {
    let nodes = cursor.number("a number of nodes", 1, MAX_NODES)?;
    cursor.end("the end")?;
    made(Complete::new(nodes))
}

fn graph(cursor: &mut Cursor<'_>) -> Result<Arc<dyn Topology>, Fault> {
    if !cursor.skip("@") {
        return Err(Fault::Here("\"@\" and the name of a file".to_owned()));
    }
    match cursor.rest() {
        "" => Err(Fault::Here("the name of a file".to_owned())),
        path => Ok(Arc::new(Graph::load(path).map_err(Fault::Other)?)),
    }
}

/// A topology whose numbers were checked as they were read; still an error rather than a panic if they were not.
fn made(topology: Option<impl Topology + 'static>) -> Result<Arc<dyn Topology>, Fault> {
    match topology {
        Some(topology) => Ok(Arc::new(topology)),
        None => Err(Fault::Here(EXPECTED.to_owned())),
    }
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

    /// What is where the cursor is: a number or name as a whole, anything else as a single character.
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

    fn fault(&self, text: &str, expected: String) -> ParseError {
        ParseError::Text { text: text.to_owned(), column: self.column(), found: self.found(), expected }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use super::*;

    /// Every kind, and some of each.
    const TEXTS: [&str; 19] = [
        "line:1",
        "line:7",
        "ring:2",
        "ring:2147483647",
        "mesh:3x4",
        "mesh:1x1",
        "torus:12x12",
        "torus:4x4x4",
        "torus:2x3x5x7x11",
        "mesh:46340x46341",
        "hypercube:0",
        "hypercube:30",
        "ghc:7,2",
        "ghc:1,30",
        "ghc:46340,2",
        "ghc:2x3x4",
        "ghc:2147483647,1",
        "complete:1",
        "complete:2000000000",
    ];

    #[test]
    fn text_and_parse_are_inverse() {
        for text in TEXTS {
            assert_eq!(parse(text).unwrap().text(), text);
        }
        assert_eq!(parse("torus:8").unwrap().text(), "ring:8");
        assert_eq!(parse("mesh:5").unwrap().text(), "line:5");
        assert_eq!(parse("ghc:4x4x4").unwrap().text(), "ghc:4,3");
    }

    #[test]
    fn each_kind_has_its_nodes() {
        let counts = [
            ("line:5", 5),
            ("torus:3x4x5", 60),
            ("hypercube:5", 32),
            ("ghc:5,3", 125),
            ("ghc:2x3x4", 24),
            ("complete:9", 9),
            ("ring:1", 1),
        ];
        for (text, nodes) in counts {
            assert_eq!(parse(text).unwrap().nodes(), nodes, "{text}");
        }
    }

    #[test]
    fn errors_show_where_what_and_what_instead() {
        let cases = [
            ("", 1, "the end", EXPECTED),
            ("toroid:4x4", 1, "\"toroid\"", EXPECTED),
            ("Torus:4x4", 1, "\"Torus\"", EXPECTED),
            (" ring:4", 1, "\" \"", EXPECTED),
            (":4", 1, "\":\"", EXPECTED),
            ("4x4", 1, "\"4\"", EXPECTED),
            ("torus", 6, "the end", "\":\""),
            ("torus 4x4", 6, "\" \"", "\":\""),
            ("torus4x4", 6, "\"4\"", "\":\""),
            ("torus:", 7, "the end", "an extent from 1 to 2147483647"),
            ("torus: 4x4", 7, "\" \"", "an extent from 1 to 2147483647"),
            ("torus:+4x4", 7, "\"+\"", "an extent from 1 to 2147483647"),
            ("torus:-4x4", 7, "\"-\"", "an extent from 1 to 2147483647"),
            ("torus:04x4", 7, "\"04\"", "an extent from 1 to 2147483647 without leading zeros"),
            ("torus:4x00", 9, "\"00\"", "an extent from 1 to 536870911 without leading zeros"),
            ("torus:0x4", 7, "\"0\"", "an extent from 1 to 2147483647"),
            ("torus:4x0", 9, "\"0\"", "an extent from 1 to 536870911"),
            ("torus:4x", 9, "the end", "an extent from 1 to 536870911"),
            ("torus:4xx4", 9, "\"x4\"", "an extent from 1 to 536870911"),
            ("torus:4X4", 8, "\"X4\"", "\"x\" or the end"),
            ("torus:4x4 ", 10, "\" \"", "\"x\" or the end"),
            ("torus:4x4\n", 10, "\"\\n\"", "\"x\" or the end"),
            ("torus:4×4", 8, "\"×\"", "\"x\" or the end"),
            ("torus:٤x4", 7, "\"٤\"", "an extent from 1 to 2147483647"),
            ("torus:65536x65536", 13, "\"65536\"", "an extent from 1 to 32767"),
            ("mesh:2147483648", 6, "\"2147483648\"", "an extent from 1 to 2147483647"),
            ("ring:99999999999999999999999999", 6, "\"999999999999999999999999\"..", "an extent from 1 to 2147483647"),
            ("ring:4x4", 7, "\"x4\"", "the end"),
            ("hypercube:31", 11, "\"31\"", "a number of dimensions from 0 to 30"),
            ("hypercube:5.0", 12, "\".\"", "the end"),
            ("ghc:", 5, "the end", "an extent from 1 to 2147483647"),
            ("ghc:4", 6, "the end", "\",\" or \"x\""),
            ("ghc:4 2", 6, "\" \"", "\",\" or \"x\""),
            ("ghc:0,2", 5, "\"0\"", "an extent from 1 to 2147483647"),
            ("ghc:4,", 7, "the end", "a number of dimensions from 1 to 15"),
            ("ghc:4,0", 7, "\"0\"", "a number of dimensions from 1 to 15"),
            ("ghc:4,16", 7, "\"16\"", "a number of dimensions from 1 to 15"),
            ("ghc:1,31", 7, "\"31\"", "a number of dimensions from 1 to 30"),
            ("ghc:2,31", 7, "\"31\"", "a number of dimensions from 1 to 30"),
            ("ghc:4,2x3", 8, "\"x3\"", "the end"),
            ("ghc:4x2,3", 8, "\",\"", "\"x\" or the end"),
            ("ghc:65536x65536", 11, "\"65536\"", "an extent from 1 to 32767"),
            ("complete:0", 10, "\"0\"", "a number of nodes from 1 to 2147483647"),
            ("graph:edges.txt", 7, "\"edges\"", "\"@\" and the name of a file"),
            ("graph:@", 8, "the end", "the name of a file"),
        ];
        for (text, column, found, expected) in cases {
            let error = ParseError::Text {
                text: text.to_owned(),
                column,
                found: found.to_owned(),
                expected: expected.to_owned(),
            };
            assert_eq!(parse(text).err(), Some(error), "{text:?}");
        }
    }

    #[test]
    fn reserved_names_are_not_there_yet() {
        for (text, name) in [("how:8,2,2", "how"), ("how-wrap:8,2,2", "how-wrap"), ("how", "how")] {
            let error = ParseError::Unsupported { text: text.to_owned(), name: name.to_owned() };
            assert_eq!(parse(text).err(), Some(error.clone()));
            assert!(error.to_string().contains("not supported yet"));
        }
    }

    /// A valid text after one to four changes: characters dropped, doubled, swapped, replaced or put in.
    #[derive(Clone, Debug)]
    struct Mutated(String);

    impl Arbitrary for Mutated {
        fn arbitrary(g: &mut Gen) -> Self {
            let mut text: Vec<char> = g.choose(&TEXTS).unwrap_or(&"").chars().collect();
            for _ in 0..=usize::arbitrary(g) % 4 {
                let at = usize::arbitrary(g) % (text.len() + 1);
                let letter = match u8::arbitrary(g) % 4 {
                    0 => char::arbitrary(g),
                    1 => *g.choose(&[' ', '\n', '+', '-', '×', '٤', '\0', '.', ',', '@', ':']).unwrap_or(&' '),
                    _ => *g.choose(&['0', '1', '2', '9', 'x', 'm', 'r', ':']).unwrap_or(&' '),
                };
                match (u8::arbitrary(g) % 5, at < text.len()) {
                    (0, true) => drop(text.remove(at)),
                    (1, true) => text.insert(at, text[at]),
                    (2, true) => text.swap(0, at),
                    (3, true) => text[at] = letter,
                    _ => text.insert(at, letter),
                }
            }
            Self(text.into_iter().collect())
        }
    }

    /// Whether the text is refused with an error of sense, or accepted and written and read alike ever after.
    fn is_sound(text: &str) -> bool {
        match parse(text) {
            Ok(topology) => {
                let again = parse(&topology.text());
                (1..=MAX_NODES).contains(&topology.nodes())
                    && again.is_ok_and(|again| (again.nodes(), again.text()) == (topology.nodes(), topology.text()))
            }
            Err(ParseError::Text { column, found, .. }) => {
                (1..=text.chars().count() + 1).contains(&column) && found.chars().count() < 40
            }
            Err(_) => true,
        }
    }

    #[test]
    fn mutated_texts_are_accepted_or_refused_soundly() {
        static ACCEPTED: AtomicUsize = AtomicUsize::new(0);
        fn holds(text: Mutated) -> bool {
            ACCEPTED.fetch_add(usize::from(parse(&text.0).is_ok()), Ordering::Relaxed);
            is_sound(&text.0)
        }
        const TESTS: u64 = 100_000;
        QuickCheck::new().tests(TESTS).max_tests(TESTS).quickcheck(holds as fn(Mutated) -> bool);
        // Both branches were tried often.
        assert!((1_000..99_000).contains(&ACCEPTED.load(Ordering::Relaxed)), "{ACCEPTED:?}");
    }

    #[test]
    fn arbitrary_bytes_are_accepted_or_refused_soundly() {
        fn holds(bytes: Vec<u8>, kind: usize) -> bool {
            let text = String::from_utf8_lossy(&bytes);
            is_sound(&text) && is_sound(&format!("{}:{text}", NAMES[kind % NAMES.len()]))
        }
        const TESTS: u64 = 20_000;
        QuickCheck::new().tests(TESTS).max_tests(TESTS).quickcheck(holds as fn(Vec<u8>, usize) -> bool);
    }
}
