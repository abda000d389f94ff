//! Ranks that are processes, on one host or on several, with a TCP connection between every two.
//! Needs the feature `tcp`.
//!
//! [`launch`](crate::launch()) joins the job that the environment describes; [`Join`] is for
//! programs that know their rank by other means. All ranks of a job run the same version of this
//! crate, on machines of one byte order and pointer width.
//!
//! ```
//! use necklace::Communicator;
//! use necklace::topology::parse;
//! use necklace::transport::tcp::{Join, Root};
//!
//! // Two ranks, here in threads of one process; each would be a process of its own.
//! let file = std::env::temp_dir().join(format!("necklace-{}", std::process::id()));
//! let rank = |rank| {
//!     let file = file.clone();
//!     std::thread::spawn(move || {
//!         let endpoint = Join::new(rank, 2, Root::File(file)).endpoint().unwrap();
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
//! - **A rank that is gone** (killed, ended, its connection closed by its kernel) is noticed at
//!   once by all ranks. Calls that need it fail: `is gone: its connection is closed`.
//! - **A rank that is silent** (stopped, or without power or network) is noticed after the timeout
//!   for silence: it `does not answer`.
//! - **A rank that answers but does not call** is waited for until the arrival timeout: it `has not
//!   called`. A thread of its process answers while it computes.
//! - **An invalid frame**, or one that violates the protocol, ends the connection with its sender.
//! - **One member decides** which failure was the first, and tells the others, within some tens of
//!   milliseconds. If the network is partitioned, or the member that decides is lost while it tells
//!   the others, ranks may see different failures.
//!
//! A process that ends, or drops its last handle of the endpoint, waits until the other ranks have
//! read what it sent them, because closing a connection may lose what they still need. It waits as
//! long as its longest timeout for silence was, at most half a minute; a second if something has
//! failed; and once, for however many ranks. A rank that is stopped for longer may find only that
//! the others are gone. (A process that calls [`exit`](std::process::exit) drops nothing and does
//! not wait.)
//!
//! Ranks exchange a digest of their calls when they leave a communicator. If these differ and no
//! message had shown it, [`launch`](crate::launch()) returns an error;
//! [`Communicator::close`](crate::Communicator::close) returns it on every rank.
//!
//! # What it costs
//!
//! - **Descriptors:** one for each other rank. All connections are made at the start, so that every
//!   rank sees the end of every other at once, no collective stops to connect, and a limit of
//!   descriptors is found before anything moves.
//! - **Threads:** while the job starts, rank 0 has one for each rank that has come, and every rank
//!   has up to ten more, besides those for connections that are not authenticated (at most 256,
//!   or one for each rank). Afterwards, one thread serves the connections while the program
//!   computes.
//! - **Memory:** some hundred bytes for each other rank and context; once a message comes, up to
//!   512 KiB of address space, of which only what had to be kept is memory. A context that no
//!   thread drives keeps at most 64 MiB of incoming messages, or 16 KiB a rank if that is more.
//! - **Processors:** ranks that wait sleep. If a host has a core for each of its ranks, they poll
//!   for up to 50 microseconds first.
//! - **Sockets** have the system's buffers, which grow as needed, and its congestion control; Reno
//!   (on Linux) between two ranks of a host with a core for each.

// Implementation: a progress engine (`transport/engine`) over sockets (`sockets`). The bootstrap
// comes first: the ranks connect to rank 0, learn each other's addresses and connect to each other
// (`bootstrap::rendezvous`). Sockets block until then, and a thread waits for each. Every connection
// opens with a mutual authentication (`bootstrap::handshake`). The result is a `mesh`.

mod bootstrap;
mod mesh;
mod sockets;

pub use self::bootstrap::{Join, JoinError, Key, Root};
pub use super::engine::Supervisor;

#[cfg(test)]
mod tests;
