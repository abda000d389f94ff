//! What a meeting ends with: a connection to every other rank.

use std::net::TcpStream;

/// The connections of a rank whose job has met.
#[derive(Debug)]
pub(super) struct Mesh {
    pub(super) rank: usize,
    /// By rank; none to this rank itself. They block, Nagle's algorithm is off, and nothing is left unread of what
    /// the meeting has sent over them.
    pub(super) streams: Vec<Option<TcpStream>>,
    /// How many ranks run on this host, this one among them.
    pub(super) neighbours: usize,
}
