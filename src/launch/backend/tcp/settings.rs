//! The settings of a rank over TCP, by the environment.

use std::net::IpAddr;
use std::path::PathBuf;

use super::rendezvous::{self, RendezvousPoint};
use crate::error::JobError;
use crate::launch::backend::row::{Environment, Row};
use crate::launch::claim::Claim;
use crate::launch::variable::{Variable, host, invalid};

/// The launch of a program for which its first process has started this one.
pub(super) const STARTED_AT: &str = "NECKLACE_STARTED_AT";

/// The rank of this process, and how it finds the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) struct RankSettings {
    pub(in crate::launch) rank: usize,
    pub(in crate::launch) size: usize,
    /// The variables of rank and size, with their values.
    pub(in crate::launch) source: String,
    /// The rendezvous; `None` in a job of one.
    pub(in crate::launch) point: Option<RendezvousPoint>,
    /// Whether a launcher holds the port of rank 0.
    pub(in crate::launch) held: bool,
    pub(in crate::launch) key: Option<PathBuf>,
    /// Whether a launcher holds a lock on that file as long as it lives.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(in crate::launch) locked: bool,
    /// Whether that is the first process of the same program.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(in crate::launch) started: bool,
    pub(in crate::launch) address: Option<IpAddr>,
    pub(in crate::launch) insecure: bool,
    /// The host that this rank counts as.
    pub(in crate::launch) host: Option<String>,
}

impl RankSettings {
    /// Reads the settings of a rank with that claim.
    pub(in crate::launch) fn read(row: &Row, environment: &Environment<'_>, claim: &Claim) -> Result<Self, JobError> {
        let variable = environment.variable;
        let (rank, size) = claim.complete()?;
        let point = match rendezvous::own(variable)? {
            Some((point, _)) => Some(point),
            None if size == 1 => None,
            None => Some(rendezvous::of_launcher(variable, claim, &environment.not_built(row, claim))?),
        };
        Ok(Self {
            rank,
            size,
            source: claim.description(),
            point,
            held: flag(variable, "NECKLACE_ROOT_HELD")?,
            key: path(variable, "NECKLACE_KEY_FILE")?,
            locked: flag(variable, "NECKLACE_KEY_LOCKED")?,
            started: variable(STARTED_AT).is_some(),
            address: address(variable)?,
            insecure: flag(variable, "NECKLACE_INSECURE")?,
            host: host(variable)?,
        })
    }
}

fn address(variable: Variable<'_>) -> Result<Option<IpAddr>, JobError> {
    let Some(text) = variable("NECKLACE_ADDRESS") else { return Ok(None) };
    let expected = "an address of this host, such as 10.0.0.1 or fd00::1";
    text.parse().map(Some).map_err(|_| invalid("NECKLACE_ADDRESS", &text, expected))
}

fn flag(variable: Variable<'_>, name: &str) -> Result<bool, JobError> {
    match variable(name).as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(invalid(name, other, "0 or 1")),
    }
}

fn path(variable: Variable<'_>, name: &str) -> Result<Option<PathBuf>, JobError> {
    match variable(name) {
        Some(path) if path.is_empty() => Err(invalid(name, &path, "the path of a file")),
        path => Ok(path.map(PathBuf::from)),
    }
}
