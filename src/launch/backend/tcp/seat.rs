//! Which rank this process is, and how it meets the others, by the environment.

use std::net::IpAddr;
use std::path::PathBuf;

use super::rendezvous::{self, Point};
use crate::error::JobError;
use crate::launch::backend::row::{Environment, Row};
use crate::launch::claim::Claim;
use crate::launch::variable::{Variable, wrong};
use crate::quote::quoted;

/// One rank of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) struct Seat {
    pub(in crate::launch) rank: usize,
    pub(in crate::launch) size: usize,
    /// The variables that say so, with their values.
    pub(in crate::launch) words: String,
    /// Where the ranks meet. A job of one does not.
    pub(in crate::launch) point: Option<Point>,
    /// Whether a launcher holds the port of the meeting point.
    pub(in crate::launch) held: bool,
    pub(in crate::launch) key: Option<PathBuf>,
    /// Whether a launcher holds a lock on that file as long as it lives.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(in crate::launch) locked: bool,
    pub(in crate::launch) address: Option<IpAddr>,
    pub(in crate::launch) insecure: bool,
}

impl Seat {
    pub(in crate::launch) fn read(row: &Row, environment: &Environment<'_>, claim: &Claim) -> Result<Self, JobError> {
        let variable = environment.variable;
        let (rank, size) = claim.whole()?;
        let point = match rendezvous::own(variable)? {
            Some((point, _)) => Some(point),
            None if size == 1 => None,
            None => Some(rendezvous::of_launcher(variable, claim, &environment.not_built(row, claim))?),
        };
        Ok(Self {
            rank,
            size,
            words: claim.words(),
            point,
            held: flag(variable, "NECKLACE_ROOT_HELD")?,
            key: path(variable, "NECKLACE_KEY_FILE")?,
            locked: flag(variable, "NECKLACE_KEY_LOCKED")?,
            address: address(variable)?,
            insecure: flag(variable, "NECKLACE_INSECURE")?,
        })
    }
}

fn address(variable: Variable<'_>) -> Result<Option<IpAddr>, JobError> {
    let Some(text) = variable("NECKLACE_ADDRESS") else { return Ok(None) };
    let parsed = text.parse().map_err(|_| {
        wrong(format!(
            "NECKLACE_ADDRESS is {}, it must be an address of this host, such as 10.0.0.1 or fd00::1",
            quoted(&text)
        ))
    });
    parsed.map(Some)
}

fn flag(variable: Variable<'_>, name: &str) -> Result<bool, JobError> {
    match variable(name).as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(wrong(format!("{name} is {}, it must be 0 or 1", quoted(other)))),
    }
}

fn path(variable: Variable<'_>, name: &str) -> Result<Option<PathBuf>, JobError> {
    match variable(name) {
        Some(path) if path.is_empty() => Err(wrong(format!("{name} is empty, it must be the path of a file"))),
        path => Ok(path.map(PathBuf::from)),
    }
}
