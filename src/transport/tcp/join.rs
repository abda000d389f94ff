//! Joining a job.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::mesh::Mesh;
use crate::transport::Endpoint;

/// Where the ranks of a job meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// Rank 0 listens here: `host:port`.
    Address(String),
    /// Rank 0 listens anywhere, and writes where into this file, which all ranks can read.
    File(PathBuf),
}

/// What the ranks of a job know and nobody else.
#[derive(Clone)]
pub struct Key(Arc<[u8]>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A process that joins a job.
#[derive(Clone, Debug)]
pub struct Join {
    rank: usize,
    size: usize,
    root: Root,
    key: Option<Key>,
    address: Option<IpAddr>,
    timeout: Duration,
    insecure: bool,
}

/// A job does not come together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {}

impl Join {
    /// Meets the others: returns when every rank has a connection to every other.
    ///
    /// # Errors
    ///
    /// See [`JoinError`].
    pub fn endpoint(self) -> Result<Arc<dyn Endpoint>, JoinError> {
        let mesh: Mesh = todo!();
        let (rank, size) = (mesh.rank, mesh.streams.len());
        Ok(Arc::new(super::process::Member::new(super::process::Process::start(mesh).unwrap(), rank, size)))
    }
}
