//! Edge lists: graphs as text, one edge per line.

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Graph, ParseError};
use crate::ids::MAX_NODES;

pub(super) const ROW: TopologyRow =
    TopologyRow { name: Graph::NAME, syntax: &["graph:@FILE"], example: "graph:@edges.txt", read };

fn read(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    if !cursor.skip("@") {
        return Err(SyntaxFault("\"@\" and the name of a file".to_owned()));
    }
    match cursor.rest() {
        "" => Err(SyntaxFault("the name of a file".to_owned())),
        path => Ok(Named::File { path: path.to_owned(), guest: None }),
    }
}

/// Parses the edge list that was read from the file `path`. The graph has the text `graph:@PATH`.
///
/// The format is documented by [`load`](crate::load()).
///
/// # Errors
///
/// [`ParseError::Line`] if a line is not an edge; [`ParseError::Graph`] if the edges do not form a
/// connected network.
pub(crate) fn edge_list(path: &str, contents: &str) -> Result<Graph, ParseError> {
    let mut edges = Vec::new();
    for (i, line) in contents.lines().enumerate() {
        let mut cursor = TextCursor::new(line.split('#').next().unwrap_or(line));
        let edge = edge(&mut cursor).map_err(|SyntaxFault(expected)| ParseError::Line {
            path: path.to_owned(),
            line: i + 1,
            column: cursor.column(),
            found: cursor.found(),
            expected,
        })?;
        edges.extend(edge);
    }
    let graph = Graph::from_edges(edges);
    graph.map(|graph| graph.with_path(path)).map_err(|fault| ParseError::Graph { path: path.to_owned(), fault })
}

/// Parses the edge of a line whose comment was removed. `None` for a blank line.
fn edge(cursor: &mut TextCursor<'_>) -> Result<Option<(usize, usize)>, SyntaxFault> {
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
        return Err(SyntaxFault("a space or a comma, and another node number".to_owned()));
    }
    let second = *cursor;
    let v = cursor.number(NODE, 0, MAX_NODES - 1)?;
    if u == v {
        *cursor = second;
        return Err(SyntaxFault(format!("another node than {u}")));
    }
    cursor.skip_blanks();
    cursor.end("the end of the line")?;
    Ok(Some((u, v)))
}

#[cfg(test)]
mod tests {
    use quickcheck::{QuickCheck, TestResult};

    use super::*;
    use crate::topology::{GraphError, Topology};

    #[test]
    fn each_line_is_an_edge() {
        let list = "# a triangle\n0 1\n1,2 # comma\r\n\n  2 ,\t0  \n1 0\n   # end";
        assert_eq!(edge_list("f", list).unwrap(), Graph::from_edges([(0, 1), (1, 2), (2, 0)]).unwrap());
    }

    #[test]
    fn errors_show_line_column_and_accepted_text() {
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
            assert_eq!(edge_list("f", list), Err(error), "{list:?}");
        }
    }

    #[test]
    fn edges_that_are_no_network_are_refused() {
        let fault = |fault| Err(ParseError::Graph { path: "f".to_owned(), fault });
        assert_eq!(edge_list("f", "# nothing\n"), fault(GraphError::Empty));
        assert_eq!(edge_list("f", "0 1\n2 3"), fault(GraphError::Disconnected { node: 2 }));
        assert_eq!(edge_list("f", "0 2147483646"), fault(GraphError::Disconnected { node: 1 }));
    }

    #[test]
    fn arbitrary_contents_do_not_panic() {
        // Letters of which lists are made, so that some are accepted.
        fn accepts_or_explains(letters: Vec<u8>) -> TestResult {
            let list: String = letters.iter().map(|&b| char::from(b"0123 ,\n\n#x\t\r\xff"[b as usize % 13])).collect();
            match edge_list("f", &list) {
                Ok(graph) => TestResult::from_bool(graph.nodes() > 1 && graph.text() == "graph:@f"),
                Err(error) => TestResult::from_bool(error.to_string().starts_with("graph file \"f\"")),
            }
        }
        QuickCheck::new().tests(20_000).max_tests(20_000).quickcheck(accepts_or_explains as fn(Vec<u8>) -> TestResult);
    }
}
