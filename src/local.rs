//! Ranks as threads of this process: for tests, for one machine, for a first try. Needs the
//! feature `local`.
//!
//! Inside an ordinary `#[test]` function, or anywhere:
//!
//! ```
//! let heard = necklace::local::run(4, |mut comm| {
//!     let mut from = [0; 4];
//!     comm.allgather(&[comm.rank()], &mut from).unwrap();
//!     from
//! });
//! assert_eq!(heard.unwrap(), [[0, 1, 2, 3]; 4]);
//! ```
//!
//! These functions are short forms of [`Launch::threads`], which also takes a topology of your own,
//! options, algorithms and wrappers of the endpoints.

use crate::communicator::Communicator;
use crate::error::JobError;
use crate::launch::{Launch, SettingOrigin};

/// Runs the closure on `ranks` threads, each with its communicator, and returns their results by
/// rank.
///
/// The network is complete: every rank reaches every rank directly. If the closure returns an
/// `Err`, that is a result too.
///
/// # Errors
///
/// A [`JobError`] that names the rank that failed first: [`JobCause::Panicked`] if it panicked (the
/// others get an error in their calls); [`JobCause::Thread`] if its thread could not be started;
/// [`JobCause::Call`] if ranks left a communicator after different calls and no message had shown
/// it. [`JobCause::Ranks`] for no ranks or too many.
///
/// [`JobCause::Panicked`]: crate::error::JobCause::Panicked
/// [`JobCause::Thread`]: crate::error::JobCause::Thread
/// [`JobCause::Call`]: crate::error::JobCause::Call
/// [`JobCause::Ranks`]: crate::error::JobCause::Ranks
#[track_caller]
pub fn run<R: Send>(ranks: usize, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
    Launch::threads().ranks_from(ranks, SettingOrigin::method("local::run")).run(body)
}

/// Runs the closure on a network given by its text, with a thread for each node.
///
/// # Errors
///
/// Those of [`run`], and [`JobCause::Network`](crate::error::JobCause::Network) if the text does
/// not describe a topology.
#[track_caller]
pub fn run_on<R: Send>(topology: &str, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
    Launch::threads().topology_from(topology.into(), SettingOrigin::method("local::run_on")).run(body)
}
