//! Machines by name or from a file.

use std::fs::File;
use std::io::Read;

use necklace::error::shown;
use necklace::machine::{Machine, MachineError};

/// The largest file that is read.
const LIMIT: u64 = 1 << 16;

/// A machine from what stands on the command line: a name, perhaps with prices, else the name of a file.
pub(crate) fn read(text: &str) -> Result<Machine, String> {
    match text.parse() {
        Ok(machine) => Ok(machine),
        Err(MachineError::Unknown(_)) if std::path::Path::new(text).exists() => from_file(text),
        Err(error @ MachineError::Unknown(_)) => Err(format!("{error}; and there is no file {}", shown(text))),
        Err(error) => Err(error.to_string()),
    }
}

fn from_file(path: &str) -> Result<Machine, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(LIMIT + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LIMIT {
        return Err(format!("a machine has at most {LIMIT} bytes"));
    }
    Machine::from_json(&text).map_err(|error| error.to_string())
}
