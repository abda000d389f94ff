//! The registry of network kinds, and the parser of topology texts.

use std::io;
use std::sync::Arc;

use super::definition::{Embedding, Topology};
use super::embedding::Embedded;
use super::error::ParseError;
use super::graph::Graph;
use super::text::{DAMAGED, Named, SyntaxFault, TextCursor, TopologyRow, is_name};
use super::{binary_tree, complete, damaged, edge_list, generalized, grid, hypercube, windows};

/// One row per kind.
const ROWS: [&TopologyRow; 11] = [
    &grid::LINE,
    &grid::RING,
    &grid::MESH,
    &grid::TORUS,
    &hypercube::ROW,
    &generalized::ROW,
    &windows::REGULAR,
    &windows::WRAPPING,
    &complete::ROW,
    &binary_tree::ROW,
    &edge_list::ROW,
];

/// The syntax of an [embedded network](super::Embedded).
const EMBEDDED: &str = "GUEST@HOST[:NAME]";

/// Returns the syntax of all topology texts, `line:N, ring:N, ..`, for messages and help.
#[must_use]
pub fn syntax() -> String {
    ROWS.iter().flat_map(|row| row.syntax).copied().chain([damaged::SYNTAX, EMBEDDED]).collect::<Vec<_>>().join(", ")
}

/// Parses a topology text:
///
/// | text | topology |
/// |---|---|
/// | `line:N`, `ring:N` | [`Grid`](super::Grid) of one dimension |
/// | `mesh:AxB[xC..]`, `torus:AxB[xC..]` | [`Grid`](super::Grid); a single extent gives a `line` or `ring` |
/// | `hypercube:D` | [`Hypercube`](super::Hypercube) of 2^D nodes, D from 0 to 30 |
/// | `ghc:K,N` | [`GeneralizedHypercube`](super::GeneralizedHypercube) of N dimensions, each of extent K |
/// | `ghc:AxB[xC..]` | [`GeneralizedHypercube`](super::GeneralizedHypercube) of these extents |
/// | `how:P,W,N` | [`OverlappingWindows`](super::OverlappingWindows) of N dimensions, each of extent P, with window W |
/// | `how-wrap:P,W,N` | the same, with windows that wrap round |
/// | `complete:N` | [`Complete`](super::Complete) |
/// | `binary-tree:L` | [`BinaryTree`](super::BinaryTree) of L levels |
/// | `graph:@FILE` | a [`Graph`](super::Graph); only [`load`](crate::load()) reads the file |
/// | `damaged:NETWORK,U-V,..,nU,..` | [`Damaged`](super::Damaged): the network without the links U-V and the nodes U |
/// | `GUEST@HOST` | [`Embedded`](super::Embedded): the host for the guest, by the [best](super::Embedding::best) embedding |
/// | `GUEST@HOST:NAME` | the same, by the embedding of this [name](super::Embedding::named) |
///
/// Names are in lower case. Numbers are decimal, without sign or leading zeros. Extents are at
/// least 1, and there are at most [`MAX_NODES`](crate::ids::MAX_NODES) nodes. White space is
/// allowed only in a file's name.
///
/// A guest is any network except one of a file. A host is any network except one with a guest; if it
/// is that of a file, the text has no name of an embedding. A network of a file or with a guest
/// cannot be damaged.
///
/// Time and memory are proportional to the length of the text, not to the numbers in it, except for
/// guests, which have at most [`MOST_NODES`](super::Embedding::MOST_NODES) nodes: constructions are
/// compared, and an embedding is [searched](super::Embedding::best) for small guests and for those
/// without a construction. A damaged network has at most as many nodes, and takes time and memory in
/// proportion to its links.
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
/// [`ParseError::Text`] for an invalid text, [`ParseError::File`] for a `graph:@FILE`,
/// [`ParseError::Embedding`] for a guest that does not fit into its host.
pub fn parse(text: &str) -> Result<Arc<dyn Topology>, ParseError> {
    match parse_or_file(text)? {
        Named::Network(topology) => Ok(topology),
        Named::File { path, .. } => Err(ParseError::File {
            path,
            kind: io::ErrorKind::Unsupported,
            reason: "parse reads no files, use necklace::load".to_owned(),
        }),
    }
}

/// Parses a topology text, without reading the file that it may name.
pub(crate) fn parse_or_file(text: &str) -> Result<Named, ParseError> {
    let cursor = TextCursor::new(text);
    let network = |mut cursor: TextCursor<'_>| {
        topology(&mut cursor).map_err(|SyntaxFault(expected)| cursor.fault(text, expected))
    };
    let at = text.find('@').filter(|_| name(damage_of(text).unwrap_or(text)) != Graph::NAME);
    let Some(at) = at else { return network(cursor) };
    let Named::Network(guest) = network(cursor.first(at))? else { return network(cursor) };
    let host = cursor.after(at + 1);
    let (host, name) = match embedding_name(host.rest()) {
        Some(colon) => (host.first(colon), Some(&host.rest()[colon + 1..])),
        None => (host, None),
    };
    Ok(match network(host)? {
        Named::Network(host) => Named::Network(embedded(text, guest, host, name)?),
        Named::File { path, .. } => Named::File { path, guest: Some(guest) },
    })
}

/// Returns the offset of the colon before the name of an embedding, in the text of a host. The name
/// of a file reaches to the end.
fn embedding_name(host: &str) -> Option<usize> {
    if let Some(whole) = damage_of(host) {
        return embedding_name(whole).map(|colon| host.len() - whole.len() + colon);
    }
    let numbers = host.find(':').filter(|_| name(host) != Graph::NAME)? + 1;
    Some(numbers + host[numbers..].find(':')?)
}

/// Returns whether a text is that of a [damaged](super::Damaged) network.
#[cfg(feature = "json")]
pub(crate) fn is_damaged(text: &str) -> bool {
    damage_of(text).is_some()
}

/// Returns the text after the name of a damaged network and the colon.
fn damage_of(text: &str) -> Option<&str> {
    text.strip_prefix(DAMAGED)?.strip_prefix(':')
}

/// Embeds a guest into a host, by the best embedding or the one of this name.
pub(crate) fn embedded(
    text: &str,
    guest: Arc<dyn Topology>,
    host: Arc<dyn Topology>,
    name: Option<&str>,
) -> Result<Arc<dyn Topology>, ParseError> {
    let embedding = match name {
        None => Embedding::best(guest, host),
        Some(name) => Embedding::named(guest, host, name),
    };
    let embedded = embedding.and_then(Embedded::new);
    let fault = |fault| ParseError::Embedding { text: text.to_owned(), fault: Box::new(fault) };
    Ok(Arc::new(embedded.map_err(fault)?))
}

/// Returns whether a text has the name of a row.
pub(super) fn is_ours(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, _)| is_name(name))
}

fn one_of() -> String {
    format!("one of {}", syntax())
}

/// Returns the name at the start of a text.
fn name(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '-');
    &text[..text.len() - rest.len()]
}

fn topology(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    let text = cursor.rest();
    if let Some(damage) = damage_of(text) {
        cursor.skip(&text[..text.len() - damage.len()]);
        if damage_of(damage).is_some() {
            return Err(SyntaxFault("a network without damage".to_owned()));
        }
        let length = damaged::whole(damage);
        let mut whole = cursor.first(length);
        let network = topology(&mut whole).map_err(|SyntaxFault(expected)| {
            *cursor = whole;
            // What comes next, if anything, is the damage.
            let is_over = whole.rest().is_empty() && length < damage.len();
            let complete = || format!("{expected} to complete {:?} before its damage", &damage[..length]);
            SyntaxFault(if is_over { complete() } else { expected })
        });
        let Named::Network(network) = network? else {
            return Err(SyntaxFault("a network that is not in a file".to_owned()));
        };
        *cursor = cursor.after(length);
        return damaged::read(cursor, network);
    }
    let name = name(text);
    let Some(row) = ROWS.iter().find(|row| row.name == name) else { return Err(SyntaxFault(one_of())) };
    cursor.skip(name);
    if !cursor.skip(":") {
        return Err(SyntaxFault("\":\"".to_owned()));
    }
    (row.read)(cursor)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use super::*;
    use crate::ids::MAX_NODES;
    use crate::topology::text::NAMES;

    const KINDS: &str = "one of line:N, ring:N, mesh:AxB[xC..], torus:AxB[xC..], hypercube:D, ghc:K,N, ghc:AxB[xC..], how:P,W,N, how-wrap:P,W,N, complete:N, binary-tree:L, graph:@FILE, damaged:NETWORK,U-V,..,nU,.., GUEST@HOST[:NAME]";

    /// Several texts of every kind.
    const TEXTS: [&str; 30] = [
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
        "how:2,1,1",
        "how:8,3,2",
        "how-wrap:9,4,3",
        "how-wrap:2147483647,2147483646,1",
        "complete:1",
        "complete:2000000000",
        "binary-tree:1",
        "binary-tree:31",
        "ring:5@how:6,2,1:fold",
        "mesh:2x3@line:6:search:9",
        "damaged:torus:4x4,0-1,5-9,n15",
        "damaged:how:8,3,1,0-2",
        "ring:5@damaged:how:6,2,1,0-1:search:3",
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
    fn names_are_those_of_the_rows() {
        assert_eq!(ROWS.map(|row| row.name), NAMES);
    }

    #[test]
    fn examples_are_canonical() {
        for row in ROWS.into_iter().filter(|row| row.name != "graph") {
            assert_eq!(parse(row.example).unwrap().text(), row.example);
            assert!(row.example.starts_with(row.name) && row.syntax.iter().all(|syntax| syntax.starts_with(row.name)));
        }
    }

    #[test]
    fn parse_reads_no_files() {
        assert!(matches!(parse_or_file("graph:@some where"), Ok(Named::File { path, .. }) if path == "some where"));
        let error = parse("graph:@some where").err().unwrap();
        assert!(matches!(&error, ParseError::File { path, .. } if path == "some where"), "{error}");
        // All that follows the name of a file is the name.
        let named = parse_or_file("ring:3@graph:@ring:3:fold");
        assert!(
            matches!(named, Ok(Named::File { path, guest: Some(guest) }) if path == "ring:3:fold" && guest.nodes() == 3)
        );
        assert!(
            matches!(parse_or_file("graph:@ring:3@ring:3"), Ok(Named::File { path, .. }) if path == "ring:3@ring:3")
        );
    }

    #[test]
    fn each_kind_has_its_nodes() {
        let counts = [
            ("line:5", 5),
            ("torus:3x4x5", 60),
            ("hypercube:5", 32),
            ("ghc:5,3", 125),
            ("ghc:2x3x4", 24),
            ("how:5,2,3", 125),
            ("how-wrap:12,4,1", 12),
            ("complete:9", 9),
            ("binary-tree:4", 15),
            ("ring:5@how:6,2,1", 6),
            ("ring:1", 1),
        ];
        for (text, nodes) in counts {
            assert_eq!(parse(text).unwrap().nodes(), nodes, "{text}");
        }
    }

    #[test]
    fn errors_show_column_fault_and_accepted_text() {
        let cases = [
            ("", 1, "the end", KINDS),
            ("toroid:4x4", 1, "\"toroid\"", KINDS),
            ("Torus:4x4", 1, "\"Torus\"", KINDS),
            (" ring:4", 1, "\" \"", KINDS),
            (":4", 1, "\":\"", KINDS),
            ("4x4", 1, "\"4\"", KINDS),
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
            ("ghc:4,", 7, "the end", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 15"),
            ("ghc:4,0", 7, "\"0\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 15"),
            ("ghc:4,16", 7, "\"16\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 15"),
            ("ghc:1,31", 7, "\"31\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 30"),
            ("ghc:2,31", 7, "\"31\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 30"),
            ("ghc:4,2x3", 8, "\"x3\"", "the end"),
            ("ghc:4x2,3", 8, "\",\"", "\"x\" or the end"),
            ("ghc:65536x65536", 11, "\"65536\"", "an extent from 1 to 32767"),
            ("how:", 5, "the end", "an extent from 2 to 2147483647"),
            ("how:1,1,1", 5, "\"1\"", "an extent from 2 to 2147483647"),
            ("how:8x8", 6, "\"x8\"", "\",\""),
            ("how:8,0,1", 7, "\"0\"", "a window from 1 to 7"),
            ("how-wrap:8,8,1", 12, "\"8\"", "a window from 1 to 7"),
            ("how:8,3", 8, "the end", "\",\""),
            ("how:8,3,0", 9, "\"0\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 10"),
            ("how:46341,1,2", 13, "\"2\"", "a number of dimensions that gives at most 2147483647 nodes, from 1 to 1"),
            ("how:8,3,2,2", 10, "\",\"", "the end"),
            ("complete:0", 10, "\"0\"", "a number of nodes from 1 to 2147483647"),
            ("binary-tree:0", 13, "\"0\"", "a number of levels from 1 to 31"),
            ("binary-tree:32", 13, "\"32\"", "a number of levels from 1 to 31"),
            ("ring:5@", 8, "the end", KINDS),
            ("ring:5@how:6", 13, "the end", "\",\""),
            ("ring:x@how:6,2,1", 6, "\"x\"", "an extent from 1 to 2147483647"),
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

    /// A valid text with one to four characters dropped, doubled, swapped, replaced or inserted.
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

    /// Returns whether the text is refused with a sensible error, or accepted and reproduced.
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
            is_sound(&text) && is_sound(&format!("{}:{text}", ROWS[kind % ROWS.len()].name))
        }
        const TESTS: u64 = 20_000;
        QuickCheck::new().tests(TESTS).max_tests(TESTS).quickcheck(holds as fn(Vec<u8>, usize) -> bool);
    }
}
