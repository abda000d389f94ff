//! Edge lists: a graph as a text file, one edge a line.

use std::fs::{self, File};
use std::io::{self, Read};

use super::parse::{Cursor, Fault};
use super::{Graph, ParseError};
use crate::ids::MAX_NODES;

/// How many bytes a file may have.
const LARGEST: u64 = 256 << 20;

pub(super) fn load(path: &str) -> Result<Graph, ParseError> {
    let bytes = read(path).map_err(|error| ParseError::File {
        path: path.to_owned(),
        kind: error.kind(),
        reason: error.to_string(),
    })?;
    // Comments may be in any encoding; elsewhere, a replaced byte is no digit and is found there.
    graph(path, &String::from_utf8_lossy(&bytes))
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    // Asked before opening, since opening a pipe waits for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {LARGEST} bytes")));
    }
    Ok(bytes)
}

/// The graph of the edge list `contents`, which is that of `path`.
fn graph(path: &str, contents: &str) -> Result<Graph, ParseError> {
    let mut edges = Vec::new();
    for (i, line) in contents.lines().enumerate() {
        let mut cursor = Cursor::new(line.split('#').next().unwrap_or(line));
        let edge = edge(&mut cursor).map_err(|fault| match fault {
            Fault::Other(error) => error,
            Fault::Here(expected) => ParseError::Line {
                path: path.to_owned(),
                line: i + 1,
                column: cursor.column(),
                found: cursor.found(),
                expected,
            },
        })?;
        edges.extend(edge);
    }
    let graph = Graph::from_edges(edges);
    graph.map(|graph| graph.with_path(path)).map_err(|fault| ParseError::Graph { path: path.to_owned(), fault })
}

/// The edge of a line without its comment, if it has one.
fn edge(cursor: &mut Cursor<'_>) -> Result<Option<(usize, usize)>, Fault> {
    const NODE: &str = "a node number";
    cursor.skip_blanks();
    if cursor.rest().is_empty() {
        return Ok(None);
    }
    let u = cursor.number(NODE, 0, MAX_NODES - 1)?;
    let before = cursor.rest();
    cursor.skip_blanks();
    cursor.skip(",");
    cursor.skip_blanks();
    if cursor.rest() == before {
        return Err(Fault::Here("a space or a comma, and another node number".to_owned()));
    }
    let second = *cursor;
    let v = cursor.number(NODE, 0, MAX_NODES - 1)?;
    if u == v {
        *cursor = second;
        return Err(Fault::Here(format!("another node than {u}")));
    }
    cursor.skip_blanks();
    cursor.end("the end of the line")?;
    Ok(Some((u, v)))
}

#[cfg(test)]
mod tests {
    use quickcheck::{QuickCheck, TestResult};

    use super::*;
    use crate::topology::{GraphError, Topology, conformance, parse};

    #[test]
    fn an_edge_is_a_line() {
        let list = "# a triangle\n0 1\n1,2 # comma\r\n\n  2 ,\t0  \n1 0\n   # end";
        assert_eq!(graph("f", list).unwrap(), Graph::from_edges([(0, 1), (1, 2), (2, 0)]).unwrap());
    }

    #[test]
    fn errors_say_which_line_and_what_is_allowed() {
        let cases = [
            ("0 1\n0 x\n", 2, 3, "\"x\"", "a node number from 0 to 2147483646"),
            ("0", 1, 2, "the end", "a space or a comma, and another node number"),
            ("0 # 1", 1, 3, "the end", "a node number from 0 to 2147483646"),
            ("0,,1", 1, 3, "\",\"", "a node number from 0 to 2147483646"),
            ("0-1", 1, 2, "\"-\"", "a space or a comma, and another node number"),
            ("\n\n-1 2", 3, 1, "\"-\"", "a node number from 0 to 2147483646"),
            ("0 2147483647", 1, 3, "\"2147483647\"", "a node number from 0 to 2147483646"),
            ("0 1 7", 1, 5, "\"7\"", "the end of the line"),
            ("0 1\n3 3", 2, 3, "\"3\"", "another node than 3"),
            ("0 01", 1, 3, "\"01\"", "a node number from 0 to 2147483646 without leading zeros"),
            ("0 \u{663}", 1, 3, "\"\u{663}\"", "a node number from 0 to 2147483646"),
        ];
        for (list, line, column, found, expected) in cases {
            let error = ParseError::Line {
                path: "f".to_owned(),
                line,
                column,
                found: found.to_owned(),
                expected: expected.to_owned(),
            };
            assert_eq!(graph("f", list), Err(error), "{list:?}");
        }
    }

    #[test]
    fn edges_that_are_no_network_are_refused() {
        let fault = |fault| Err(ParseError::Graph { path: "f".to_owned(), fault });
        assert_eq!(graph("f", "# nothing\n"), fault(GraphError::Empty));
        assert_eq!(graph("f", "0 1\n2 3"), fault(GraphError::Disconnected { node: 2 }));
        assert_eq!(graph("f", "0 2147483646"), fault(GraphError::Disconnected { node: 1 }));
    }

    #[test]
    fn a_file_is_parsed_and_says_so_in_its_text() {
        let path = std::env::temp_dir().join(format!("necklace edges {}.txt", std::process::id()));
        fs::write(&path, b"# \xe4 latin-1 comment\n0 1\n1 2\n").unwrap();
        let text = format!("graph:@{}", path.to_str().unwrap());
        let graph = parse(&text).unwrap();
        assert_eq!((graph.nodes(), graph.text()), (3, text.clone()));
        assert_eq!(conformance::run_all(&graph), Ok(()));

        fs::write(&path, b"0 1\n1 \xe4\n").unwrap();
        assert!(matches!(parse(&text), Err(ParseError::Line { line: 2, column: 3, .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(parse(&text), Err(ParseError::File { kind: io::ErrorKind::NotFound, .. })));
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let error = Graph::load(std::env::temp_dir().to_str().unwrap());
        assert!(matches!(error, Err(ParseError::File { kind: io::ErrorKind::InvalidInput, .. })), "{error:?}");
        assert!(matches!(Graph::load("a\0b"), Err(ParseError::File { .. })));
    }

    #[test]
    fn no_contents_make_it_panic() {
        // Letters of which lists are made, so that some are accepted.
        fn accepts_or_explains(letters: Vec<u8>) -> TestResult {
            let list: String = letters.iter().map(|&b| char::from(b"0123 ,\n\n#x\t\r\xff"[b as usize % 13])).collect();
            match graph("f", &list) {
                Ok(graph) => TestResult::from_bool(graph.nodes() > 1 && graph.text() == "graph:@f"),
                Err(error) => TestResult::from_bool(error.to_string().starts_with("graph file \"f\"")),
            }
        }
        QuickCheck::new().tests(20_000).max_tests(20_000).quickcheck(accepts_or_explains as fn(Vec<u8>) -> TestResult);
    }
}
