//! The result of the bootstrap: a connection to every other rank.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use super::bootstrap::JoinError;
use super::sockets::{Sockets, hurry_within_a_host};
use crate::transport::engine::member::{Member, WireJoin, shared_cores};
use crate::vocabulary::Hosts;

/// The connections of a rank after the bootstrap.
#[derive(Debug)]
pub(super) struct Mesh {
    pub(super) rank: usize,
    /// By rank; `None` for this rank itself. They block, Nagle's algorithm is off, and every
    /// bootstrap message has been read from them.
    pub(super) streams: Vec<Option<TcpStream>>,
    /// The number of ranks on this host, including this one.
    pub(super) neighbours: usize,
    /// The partition of ranks by the host that they share, or count as sharing.
    pub(super) hosts: Option<Hosts>,
}

impl Mesh {
    /// Starts the progress engine over the connections.
    pub(super) fn start(self) -> Result<Arc<Member>, JoinError> {
        let Self { rank, streams, neighbours, hosts } = self;
        let shared_cores = shared_cores(neighbours);
        if shared_cores == 0 {
            streams.iter().flatten().for_each(hurry_within_a_host);
        }
        let failed = |why: io::Error| JoinError::Os { what: "the connections".to_owned(), why: why.to_string() };
        let size = streams.len();
        let (sockets, poller) = Sockets::new(streams).map_err(failed)?;
        let join = WireJoin::new(rank, size).shared_cores(shared_cores);
        let join = hosts.into_iter().fold(join, WireJoin::hosts);
        join.start(Box::new(sockets), Some(Box::new(poller))).map_err(failed)
    }
}
