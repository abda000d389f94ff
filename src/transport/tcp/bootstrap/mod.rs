//! The bootstrap of a job over TCP: its ranks find, authenticate and connect to each other.
//!
//! [`rendezvous`] is the sequence of steps. Sockets block and have deadlines ([`connection`]). A
//! thread waits for each of them: for every connection that the [`acceptor`] accepts, for each of
//! the few attempts to connect that are under way, and for the messages of rank 0. Threads report to
//! the one that called [`Join`]. Every connection opens with a [`handshake`] between two [`hello`]s.
//! At the end, the [`registry`] shuts down what is left, and all threads end.

mod acceptor;
mod connection;
mod error;
mod handshake;
mod hello;
mod key;
mod message;
mod proof;
mod registry;
mod rendezvous;
mod settings;
mod system;
mod timing;

use std::net::SocketAddr;
use std::sync::Arc;

pub use self::error::JoinError;
use self::error::MAX_RANKS;
use self::handshake::Identity;
use self::hello::Build;
pub use self::key::Key;
use self::message::RankLocation;
pub use self::settings::{Join, Root};
use super::mesh::Mesh;
use crate::transport::Endpoint;
use crate::transport::engine::Supervisor;
use crate::vocabulary::Hosts;

impl Join {
    /// Joins the job. Returns when every rank is connected to every other.
    ///
    /// # Errors
    ///
    /// See [`JoinError`].
    pub fn endpoint(self) -> Result<Arc<dyn Endpoint>, JoinError> {
        Ok(self.mesh()?.start()?)
    }

    /// Joins the job, for a launcher that catches the panics of this process. The launcher must
    /// call [`panicked`](Supervisor::panicked) for each; ranks that wait for this one then fail
    /// with the panic's message.
    ///
    /// # Errors
    ///
    /// See [`JoinError`].
    pub fn supervised(self) -> Result<(Supervisor, Arc<dyn Endpoint>), JoinError> {
        let member = self.mesh()?.start()?;
        Ok((Supervisor::new(Arc::clone(&member)), member))
    }

    /// Returns where this rank is, if it listens on that address.
    fn location(&self, address: SocketAddr) -> RankLocation {
        let host = system::host_id(address.ip());
        let counts_as = self.host.as_deref().map_or(host, system::named_host_id);
        RankLocation { address, host, counts_as }
    }

    /// Returns the identity of this rank in the job of that number.
    fn identity(&self, job: u64) -> Identity {
        let key = self.key.clone().unwrap_or_else(Key::none);
        Identity { key, build: Build::own(), rank: self.rank, size: self.size, job }
    }

    /// Connects to all other ranks.
    pub(super) fn mesh(&self) -> Result<Mesh, JoinError> {
        let (rank, size) = (self.rank, self.size);
        if size > MAX_RANKS || rank >= size {
            return Err(JoinError::Rank { rank, size });
        }
        if size == 1 {
            return Ok(Mesh { rank, streams: vec![None], neighbours: 1, hosts: Some(Hosts::of_consecutive(1, 1)) });
        }
        rendezvous::run(self)
    }
}
