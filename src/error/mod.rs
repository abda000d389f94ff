//! Errors of calls on a communicator, and of jobs.

mod job;

use std::fmt;
use std::sync::Arc;

use crate::ids::Rank;
use crate::permutation::BitMapError;
use crate::plan::PlanError;
pub use crate::quote::{Shown, shown};
use crate::transport::{Failure, OpenError, rank_words};
pub use crate::vocabulary::BuildError;
pub use job::{JobCause, JobError};

/// Error of a call on a communicator.
///
/// Mistakes of the caller ([`Argument`](Self::Argument), [`Length`](Self::Length),
/// [`Build`](Self::Build), [`Plan`](Self::Plan), [`Memory`](Self::Memory), ..) are found before anything
/// moves, concern this rank alone and leave the communicator usable. [`Failed`](Self::Failed) is common
/// to all: each member gets an equal one (in its next call, if it had done its part), and the
/// communicator refuses calls from then on ([`Dead`](Self::Dead)).
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no schedule for the call.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A permutation is not a valid map of address bits, or does not fit the number of ranks.
    #[error(transparent)]
    Map(#[from] BitMapError),
    /// The schedule cannot be compiled for these sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A context cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A buffer does not have the length that the call needs.
    #[error("the {what} has {found} elements, it must have {expected}")]
    Length {
        /// Which buffer or list.
        what: &'static str,
        /// The expected length.
        expected: String,
        /// Its length in elements.
        found: usize,
    },
    /// A plan needs more memory than there is.
    #[error("{words}: {bytes} bytes of scratch are needed, and cannot be had")]
    Memory {
        /// Description of the call.
        words: Arc<str>,
        /// The number of bytes.
        bytes: u64,
    },
    /// Invalid argument.
    #[error("{0}")]
    Argument(String),
    /// The call failed on every member. The text gives ranks of a part also by their ranks in the job.
    #[error("{}: {}", rank_words(*rank, members), failure.named(members))]
    Failed {
        /// This rank. As in the failure, ranks are those of the communicator.
        rank: Rank,
        /// The failure, equal on every member.
        failure: Box<Failure>,
        /// The ranks of the members in the job; empty if all are the same there.
        members: Arc<[Rank]>,
    },
    /// The communicator failed in an earlier call.
    #[error(
        "{}: the communicator takes no more calls, it failed before: {}",
        rank_words(*rank, members),
        failure.named(members)
    )]
    Dead {
        /// This rank. As in the failure, ranks are those of the communicator.
        rank: Rank,
        /// The failure of that call.
        failure: Box<Failure>,
        /// The ranks of the members in the job; empty if all are the same there.
        members: Arc<[Rank]>,
    },
}

/// As [`Display`](fmt::Display): `main` and `unwrap` print an error by this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
impl From<crate::transport::Discord> for Error {
    fn from(crate::transport::Discord { failure, rank, members }: crate::transport::Discord) -> Self {
        Self::Failed { rank, failure: Box::new(failure), members: crate::transport::renumbered(&members) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_what_display_does() {
        let error = Error::Length { what: "send buffer", expected: "a multiple of 3".to_owned(), found: 4 };
        assert_eq!(format!("{error:?}"), "the send buffer has 4 elements, it must have a multiple of 3");
    }
}
