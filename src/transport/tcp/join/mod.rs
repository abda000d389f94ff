//! Joining a job.

mod error;
mod hall;
mod handshake;
mod hello;
mod host;
mod key;
mod meeting;
mod notice;
mod proof;
mod root;
mod settings;
mod strangers;

use std::sync::Arc;

pub use self::error::JoinError;
use self::error::MAX_RANKS;
pub use self::key::Key;
pub use self::settings::{Join, Root};
use super::mesh::Mesh;
use crate::transport::Endpoint;
use crate::transport::engine::Supervisor;

impl Join {
    /// Meets the others: returns when every rank has a connection to every other.
    ///
    /// # Errors
    ///
    /// See [`JoinError`].
    pub fn endpoint(self) -> Result<Arc<dyn Endpoint>, JoinError> {
        Ok(self.mesh()?.start()?)
    }

    /// The same, for a launcher that catches the panics of this process: it owes the job a
    /// [`panicked`](Supervisor::panicked) for each, and those who wait for this rank hear of it
    /// with its message.
    ///
    /// # Errors
    ///
    /// See [`JoinError`].
    pub fn supervised(self) -> Result<(Supervisor, Arc<dyn Endpoint>), JoinError> {
        let member = self.mesh()?.start()?;
        Ok((Supervisor::new(Arc::clone(&member)), member))
    }

    /// The connections that the meeting ends with.
    pub(super) fn mesh(&self) -> Result<Mesh, JoinError> {
        let (rank, size) = (self.rank, self.size);
        if size > MAX_RANKS || rank >= size {
            return Err(JoinError::Rank { rank, size });
        }
        if size == 1 {
            return Ok(Mesh { rank, streams: vec![None], neighbours: 1 });
        }
        meeting::meet(self)
    }
}
