//! Loads topologies and machines from texts and from files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;

use crate::machine::{Machine, MachineError};
use crate::topology::{Named, ParseError, Topology, edge_list, embedded, parse_or_file};

/// The largest edge list, in bytes.
const LARGEST: u64 = 256 << 20;

/// The largest machine file, in bytes.
#[cfg(feature = "json")]
const LARGEST_MACHINE: u64 = 64 << 10;

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
    let bytes = read(&path, LARGEST).map_err(|error| ParseError::File {
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

/// Loads the machine that a text names: `NAME`, `NAME:key=price,..` or the path of a
/// [machine file](crate::machine#file), which needs the feature `json`.
///
/// A name of a [predefined machine](crate::machine) is not taken for a path.
///
/// # Errors
///
/// [`MachineError::UnknownFile`] if no machine and no file has this name; [`MachineError::File`] if the
/// file cannot be read, is not a regular file, is larger than 64 KiB or is not a machine file;
/// otherwise as [`Machine::from_str`](std::str::FromStr).
pub fn load_machine(text: &str) -> Result<Machine, MachineError> {
    match text.parse() {
        // A path may also have a colon.
        Err(MachineError::Unknown(_)) => match fs::exists(text) {
            Ok(true) => machine_file(text),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(MachineError::File { path: text.to_owned(), reason: error.to_string() })
            }
            _ => Err(MachineError::UnknownFile(text.to_owned())),
        },
        parsed => parsed,
    }
}

#[cfg(feature = "json")]
fn machine_file(path: &str) -> Result<Machine, MachineError> {
    let failed = |reason| MachineError::File { path: path.to_owned(), reason };
    let bytes = read(path, LARGEST_MACHINE).map_err(|error| failed(error.to_string()))?;
    Machine::from_json(&String::from_utf8_lossy(&bytes)).map_err(|error| failed(error.to_string()))
}

#[cfg(not(feature = "json"))]
fn machine_file(path: &str) -> Result<Machine, MachineError> {
    let reason = "to read machine files, build with the feature `json`".to_owned();
    Err(MachineError::File { path: path.to_owned(), reason })
}

/// Reads a file of at most `largest` bytes.
fn read(path: &str, largest: u64) -> io::Result<Vec<u8>> {
    // Checked before opening, since opening a pipe blocks until its other end is opened.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {largest} bytes")));
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

    /// A host in a file takes no name of an embedding: the text gives the best one, a search or nodes in
    /// the order of the file.
    #[test]
    fn guest_of_a_graph_in_a_file_is_named_by_the_text() {
        let path = std::env::temp_dir().join(format!("necklace host {}.txt", std::process::id()));
        let mut found = vec![];
        for edges in ["0 1\n1 2\n2 3\n3 0\n", "0 2\n2 1\n1 3\n3 0\n"] {
            fs::write(&path, edges).unwrap();
            let text = format!("ring:4@graph:@{}", path.to_str().unwrap());
            let host = load(&text).unwrap();
            assert_eq!(host.text(), text);
            let embedding = host.embedding().unwrap();
            assert_eq!(embedding.measures().dilation, 1);
            assert_eq!(load(&text).unwrap().embedding().unwrap().nodes(), embedding.nodes());
            found.push(embedding.name().unwrap().to_owned());
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(found, ["identity", "search"]);
    }

    #[cfg(feature = "json")]
    #[test]
    fn machine_is_loaded_by_name_or_from_a_file() {
        let path = std::env::temp_dir().join(format!("necklace machine {}.json", std::process::id()));
        let text = path.to_str().unwrap();
        assert!(matches!(load_machine(text), Err(MachineError::UnknownFile(name)) if name == text));
        fs::write(&path, r#"{"version": 1, "startup": "3 us", "note": "by hand"}"#).unwrap();
        assert_eq!(load_machine(text), Ok(Machine::FREE.with_startup(3_000_000)));
        fs::write(&path, r#"{"version": 2, "startup": "3 us"}"#).unwrap();
        let error = load_machine(text).unwrap_err().to_string();
        assert!(error.ends_with("version: found 2, expected 1") && error.contains(text), "{error}");
        fs::write(&path, " ".repeat(1 + LARGEST_MACHINE as usize)).unwrap();
        assert!(matches!(load_machine(text), Err(MachineError::File { reason, .. }) if reason.contains("65536 bytes")));
        fs::remove_file(&path).unwrap();
        let folder = std::env::temp_dir();
        assert!(matches!(load_machine(folder.to_str().unwrap()), Err(MachineError::File { .. })));
        assert_eq!(load_machine("tcp:byte=7ns"), Ok(Machine::TCP.with_byte(7_000)));
        assert!(matches!(load_machine("tcp:bite=7ns"), Err(MachineError::Key { .. })));
        assert!(matches!(load_machine("a:b.json"), Err(MachineError::UnknownFile(name)) if name == "a:b.json"));
    }

    #[test]
    fn irregular_files_are_not_opened() {
        let error = load(&format!("graph:@{}", std::env::temp_dir().display()));
        assert!(matches!(error, Err(ParseError::File { kind: io::ErrorKind::InvalidInput, .. })), "{error:?}");
        assert!(matches!(load("graph:@a\0b"), Err(ParseError::File { .. })));
    }
}
