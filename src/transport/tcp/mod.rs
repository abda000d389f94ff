//! Ranks that are processes, on one host or on many: a connection between every two of them, over TCP.
//!
//! [`launch`](crate::launch()) joins the job that the environment describes; [`Join`] is for programs that know by other means
//! who they are. All ranks of a job run the same version of this crate, on machines of one byte order and pointer width.
//!
//! ```
//! use necklace::Communicator;
//! use necklace::topology::parse;
//! use necklace::transport::tcp::{Join, Root};
//!
//! // Two ranks, here in threads of one process; each would be a process of its own.
//! let meeting = std::env::temp_dir().join(format!("necklace-{}", std::process::id()));
//! let rank = |rank| {
//!     let meeting = meeting.clone();
//!     std::thread::spawn(move || {
//!         let endpoint = Join::new(rank, 2, Root::File(meeting)).endpoint().unwrap();
//!         let mut comm = Communicator::new(endpoint, parse("ring:2").unwrap()).unwrap();
//!         let mut from = [0; 2];
//!         comm.allgather(&[comm.rank()], &mut from).unwrap();
//!         from
//!     })
//! };
//! let ranks = [rank(0), rank(1)];
//! assert_eq!(ranks.map(|rank| rank.join().unwrap()), [[0, 1]; 2]);
//! ```
//!
//! # What it promises
//!
//! All that [`transport`](crate::transport) says. How a failure shows:
//!
//! - **A rank that is gone** (killed, ended, its host's kernel has closed the connection) is noticed at once by all, and fails
//!   those who need it: `is gone: its connection is closed`.
//! - **A rank that says nothing** (stopped, its host without power, the network cut) is noticed at the deadline: it
//!   `does not answer`. So is one that never calls: it `has not called`.
//! - **What is no frame**, or none that a rank may send then, ends the connection with the rank that sent it.
//! - **One of the members decides** which failure was the first, and tells the others; it takes some tens of
//!   milliseconds. Where a network falls apart into islands, or the one that decides is lost while it tells, ranks may
//!   see different failures.
//!
//! A process that ends, or drops its last handle of the endpoint, waits until the others have read all that it has sent
//! them: what is lost with a connection may be what they still need. It waits as long as its longest deadline was, at most half a
//! minute; a second, if something has failed; and once, for however many it waits. Who sleeps longer than that, full of what it
//! was sent before, finds only that the others are gone. (A process that ends by
//! [`exit`](std::process::exit) drops nothing and waits for nobody.)
//!
//! Ranks say what they have called when they leave a communicator, and those that leave later compare: what differs, and no
//! message had told, [`launch`](crate::launch()) returns as an error; [`Communicator::close`](crate::Communicator::close) does on
//! every rank.
//!
//! # What it costs
//!
//! A descriptor for each other rank, and some hundred bytes for each in each context; once a message comes from it, up
//! to 512 KiB of address space, of which memory is what had to be kept. Connections are made at the
//! start, all of them: so every rank sees the end of every other at once, whoever waits for whom; no collective stops
//! in the middle to make one; and a limit of descriptors is found before anything moves. A context that nobody drives
//! keeps at most 64 MiB of what comes for it, or 16 KiB a rank if that is more. Ranks that wait sleep; where there are
//! no more ranks on a host than cores, they look for up to 50 microseconds first. Socket buffers are the system's,
//! which grow as the network needs, and so is the congestion control, but (on Linux, Reno) between two ranks of a host where
//! each has a core.

// How it works: an engine (`transport/engine`) over sockets (`sockets`). Before that the ranks meet (`join`): rank 0 hosts,
// the others attend (`join::meeting`), through a loop that owns all sockets until then (`join::hall`); every connection
// opens with a proof (`join::handshake`). It ends with a `mesh`.

mod join;
mod mesh;
mod sockets;

pub use self::join::{Join, JoinError, Key, Root};
pub use super::engine::Supervisor;

#[cfg(test)]
mod tests;
