//! What a meeting ends with: a connection to every other rank.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use super::join::JoinError;
use super::sockets::{Sockets, hurry_within_a_host};
use crate::transport::engine::member::Member;

/// The connections of a rank whose job has met.
#[derive(Debug)]
pub(super) struct Mesh {
    pub(super) rank: usize,
    /// By rank; none to this rank itself. They block, Nagle's algorithm is off, and nothing is left
    /// unread of what the meeting has sent over them.
    pub(super) streams: Vec<Option<TcpStream>>,
    /// How many ranks run on this host, this one among them.
    pub(super) neighbours: usize,
}

impl Mesh {
    /// The process that talks over them.
    pub(super) fn start(self) -> Result<Arc<Member>, JoinError> {
        let Self { rank, streams, neighbours } = self;
        let spins = neighbours <= thread::available_parallelism().map_or(1, usize::from);
        if spins {
            streams.iter().flatten().for_each(hurry_within_a_host);
        }
        let failed = |why: io::Error| JoinError::Os { what: "the connections".to_owned(), why: why.to_string() };
        let size = streams.len();
        let (sockets, poller) = Sockets::new(streams).map_err(failed)?;
        Member::start((rank, size), Box::new(sockets), Some(Box::new(poller)), spins).map_err(failed)
    }
}
