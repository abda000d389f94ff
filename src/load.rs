//! Loads topologies from texts and from files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;

use crate::topology::{Named, ParseError, Topology, edge_list, embedded, parse_or_file};

/// The largest file, in bytes.
const LARGEST: u64 = 256 << 20;

/// Loads the network that a topology text names, also from a file.
///
/// Like [`parse`](crate::topology::parse()), but `graph:@FILE` reads a graph from an edge list.
///
/// An edge list has one edge per line: two node numbers, separated by blanks or a comma. A `#`
/// starts a comment; blank lines are skipped. Edges may be repeated, in either direction. Nodes are
/// numbered from 0 to the largest number in the file.
///
/// # Errors
///
/// As [`parse`](crate::topology::parse()); [`ParseError::File`] if the file cannot be read, is not
/// a regular file or is larger than 256 MiB; [`ParseError::Line`] and [`ParseError::Graph`] if it
/// is not a valid edge list.
pub fn load(text: &str) -> Result<Arc<dyn Topology>, ParseError> {
    let (path, guest) = match parse_or_file(text)? {
        Named::Network(topology) => return Ok(topology),
        Named::File { path, guest } => (path, guest),
    };
    let bytes = read(&path).map_err(|error| ParseError::File {
        path: path.clone(),
        kind: error.kind(),
        reason: error.to_string(),
    })?;
    // Comments may be in any encoding. A replaced character elsewhere is not a digit, so the parser
    // reports it.
    let graph = Arc::new(edge_list(&path, &String::from_utf8_lossy(&bytes))?);
    match guest {
        None => Ok(graph),
        Some(guest) => embedded(text, guest, graph, None),
    }
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    // Checked before opening, since opening a pipe blocks until its other end is opened.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::conformance;

    #[test]
    fn graph_file_is_loaded_and_named_by_the_text() {
        let path = std::env::temp_dir().join(format!("necklace edges {}.txt", std::process::id()));
        fs::write(&path, b"# \xe4 latin-1 comment\n0 1\n1 2\n").unwrap();
        let text = format!("graph:@{}", path.to_str().unwrap());
        let graph = load(&text).unwrap();
        assert_eq!((graph.nodes(), graph.text()), (3, text.clone()));
        assert_eq!(conformance::run_all(&*graph), Ok(()));
        assert_eq!(graph.edges(), load("line:3").unwrap().edges());

        fs::write(&path, b"0 1\n1 \xe4\n").unwrap();
        assert!(matches!(load(&text), Err(ParseError::Line { line: 2, column: 3, .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(load(&text), Err(ParseError::File { kind: io::ErrorKind::NotFound, .. })));
    }

    #[test]
    fn irregular_files_are_not_opened() {
        let error = load(&format!("graph:@{}", std::env::temp_dir().display()));
        assert!(matches!(error, Err(ParseError::File { kind: io::ErrorKind::InvalidInput, .. })), "{error:?}");
        assert!(matches!(load("graph:@a\0b"), Err(ParseError::File { .. })));
    }
}
