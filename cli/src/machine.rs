//! Parses machines by name or from a file.

use std::path::Path;

use necklace::error::shown;
use necklace::machine::{Machine, MachineError};

use crate::options::bounded;

/// Maximum size of a machine file, in bytes.
const LIMIT: u64 = 1 << 16;

/// Parses a machine: `NAME`, `NAME:key=price,..` or the path of a JSON file.
pub(crate) fn read(text: &str) -> Result<Machine, String> {
    match text.parse() {
        Ok(machine) => Ok(machine),
        Err(MachineError::Unknown(_)) if Path::new(text).exists() => from_file(text),
        Err(error @ MachineError::Unknown(_)) => Err(format!("{error}, and no file is named {}", shown(text))),
        Err(error) => Err(error.to_string()),
    }
}

fn from_file(path: &str) -> Result<Machine, String> {
    Machine::from_json(&bounded(Path::new(path), LIMIT)?).map_err(|error| error.to_string())
}
