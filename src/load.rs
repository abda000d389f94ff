//! Networks by their texts, also those whose links are in a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;

use crate::topology::{Named, ParseError, Topology, edge_list, parse_or_file};

/// How many bytes a file may have.
const LARGEST: u64 = 256 << 20;

/// Returns the network that a text names, also from a file.
///
/// As [`parse`](crate::topology::parse()), and for `graph:@FILE` the graph whose [edge
/// list](edge_list) is in that file. The file is read once.
///
/// # Errors
///
/// As [`parse`](crate::topology::parse()) and [`edge_list`]; [`ParseError::File`] where the file
/// cannot be read, is none (but a pipe, say) or is larger than 256 MiB.
pub fn load(text: &str) -> Result<Arc<dyn Topology>, ParseError> {
    let path = match parse_or_file(text)? {
        Named::Network(topology) => return Ok(topology),
        Named::File(path) => path,
    };
    let bytes = read(&path).map_err(|error| ParseError::File {
        path: path.clone(),
        kind: error.kind(),
        reason: error.to_string(),
    })?;
    // Comments may be in any encoding; elsewhere, a replaced byte is no digit and is found there.
    Ok(Arc::new(edge_list(&path, &String::from_utf8_lossy(&bytes))?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::conformance;

    #[test]
    fn a_file_is_parsed_and_says_so_in_its_text() {
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
    fn what_is_no_file_is_not_opened() {
        let error = load(&format!("graph:@{}", std::env::temp_dir().display()));
        assert!(matches!(error, Err(ParseError::File { kind: io::ErrorKind::InvalidInput, .. })), "{error:?}");
        assert!(matches!(load("graph:@a\0b"), Err(ParseError::File { .. })));
    }
}
