//! What can go wrong in a call on a communicator.

use std::fmt;
use std::sync::Arc;

use crate::ids::Rank;
use crate::permutation::BitMapError;
use crate::plan::PlanError;
pub use crate::quote::{Shown, shown};
use crate::transport::{Failure, OpenError, rank_words};
pub use crate::vocabulary::BuildError;

/// A call on a communicator did not succeed.
///
/// Mistakes of the caller ([`Argument`](Self::Argument), [`Length`](Self::Length), [`Build`](Self::Build),
/// [`Plan`](Self::Plan), [`Memory`](Self::Memory), ..) are found before anything moves, concern this rank alone and
/// leave the communicator usable. [`Failed`](Self::Failed) is everybody's: each member gets an equal one, at its next
/// call if it had done its part, and the communicator refuses work from then on ([`Dead`](Self::Dead)).
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no schedule for what is asked.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Where the elements of an array should go is no map of address bits, or none of an array on so many ranks.
    #[error(transparent)]
    Map(#[from] BitMapError),
    /// The schedule cannot be compiled for these sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A context cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A buffer is not as long as the call needs.
    #[error("the {what} has {found} elements, it must have {expected}")]
    Length {
        /// Which buffer or list.
        what: &'static str,
        /// What would be right.
        expected: String,
        /// Its length in elements.
        found: usize,
    },
    /// A plan needs memory that there is not.
    #[error("{words}: {bytes} bytes of scratch are needed, and cannot be had")]
    Memory {
        /// The call in words.
        words: Arc<str>,
        /// How many bytes.
        bytes: u64,
    },
    /// An argument makes no sense.
    #[error("{0}")]
    Argument(String),
    /// The call failed, on every member. In words, ranks of a part of the job are named by their numbers in the job, too.
    #[error("{}: {}", rank_words(*rank, members), failure.named(members))]
    Failed {
        /// This rank, as the others in the failure by its number in the communicator.
        rank: Rank,
        /// What happened: the same on every member.
        failure: Box<Failure>,
        /// The members' ranks in the job; empty where each is the same there.
        members: Arc<[Rank]>,
    },
    /// The communicator failed in an earlier call.
    #[error(
        "{}: the communicator takes no more calls, it failed before: {}",
        rank_words(*rank, members),
        failure.named(members)
    )]
    Dead {
        /// This rank, as the others in the failure by its number in the communicator.
        rank: Rank,
        /// What happened then.
        failure: Box<Failure>,
        /// The members' ranks in the job; empty where each is the same there.
        members: Arc<[Rank]>,
    },
    /// A rank panicked, or could not be started.
    #[error("rank {rank} {how}")]
    Rank {
        /// Which.
        rank: Rank,
        /// `panicked: ...`, or why it could not be started.
        how: String,
    },
    /// The ranks of a job, which are processes, do not come together.
    #[cfg(feature = "tcp")]
    #[error(transparent)]
    Join(#[from] crate::transport::tcp::JoinError),
    /// This process has no place in a job over MPI.
    #[cfg(feature = "mpi")]
    #[error(transparent)]
    Mpi(#[from] crate::transport::mpi::MpiError),
    /// The environment asks for something that cannot be.
    #[error("{0}")]
    Environment(String),
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

/// What a panic says.
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) fn panic_words(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
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
