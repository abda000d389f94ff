//! Errors of calls on a communicator.

mod argument;
mod call;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

pub use argument::ArgumentError;
pub(crate) use call::CallError;

use crate::ids::Rank;
use crate::permutation::BitMapError;
pub use crate::quote::{Shown, shown};
use crate::transport::{Failure, OpenError, rank_words};
pub use crate::vocabulary::BuildError;

/// Error of a call on a communicator.
///
/// - [`Argument`](Self::Argument) is a mistake of the caller. It is found before anything moves,
///   concerns this rank alone, and leaves the communicator usable.
/// - [`Failed`](Self::Failed) is common to all members: each gets an equal one, in its next call if
///   it had done its part.
/// - [`Dead`](Self::Dead) is the error of every call after that.
///
/// The text of an error includes its cause. [`source`](std::error::Error::source) returns the cause
/// alone: an [`ArgumentError`], a [`Failure`] or an [`OpenError`].
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The arguments of the call are invalid. Nothing has moved.
    Argument {
        /// The method that was called.
        call: &'static str,
        /// The place in the program that called it.
        at: &'static Location<'static>,
        /// The mistake in the arguments.
        source: Box<ArgumentError>,
    },
    /// The call failed on every member. The text gives the ranks of a part also by their ranks in
    /// the job.
    Failed {
        /// This rank. It and the ranks in the failure are those of the communicator.
        rank: Rank,
        /// The failure, equal on every member.
        failure: Box<Failure>,
        /// The ranks of the members in the job; empty if all are the same there.
        members: Arc<[Rank]>,
    },
    /// The communicator failed in an earlier call.
    Dead {
        /// This rank. It and the ranks in the failure are those of the communicator.
        rank: Rank,
        /// The failure of that call.
        failure: Box<Failure>,
        /// The ranks of the members in the job; empty if all are the same there.
        members: Arc<[Rank]>,
    },
    /// A context cannot be opened.
    Open(OpenError),
    /// A bug in this library, not in the program.
    Internal(&'static str),
    /// A rank panicked, or could not be started.
    Rank {
        /// The rank.
        rank: Rank,
        /// `panicked: ...`, or why it could not be started.
        how: String,
    },
    /// The processes of a job cannot connect to each other.
    #[cfg(feature = "tcp")]
    Join(crate::transport::tcp::JoinError),
    /// This process cannot join a job over MPI.
    #[cfg(feature = "mpi")]
    Mpi(crate::transport::mpi::MpiError),
    /// The environment is invalid or contradicts itself.
    Environment(String),
}

/// Converts the error of an invalid map, so that a program can use `?` on maps and calls.
impl From<BitMapError> for Error {
    #[track_caller]
    fn from(error: BitMapError) -> Self {
        Self::Argument { call: "BitMap", at: Location::caller(), source: Box::new(error.into()) }
    }
}

#[cfg(feature = "tcp")]
impl From<crate::transport::tcp::JoinError> for Error {
    fn from(e: crate::transport::tcp::JoinError) -> Self {
        Self::Join(e)
    }
}

#[cfg(feature = "mpi")]
impl From<crate::transport::mpi::MpiError> for Error {
    fn from(e: crate::transport::mpi::MpiError) -> Self {
        Self::Mpi(e)
    }
}

#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
impl From<crate::transport::Discord> for Error {
    fn from(crate::transport::Discord { failure, rank, members }: crate::transport::Discord) -> Self {
        Self::Failed { rank, failure: Box::new(failure), members: crate::transport::renumbered(&members) }
    }
}

/// Returns the message of a panic.
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) fn panic_words(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
}

impl Error {
    /// Returns the caller's mistake, if that is the cause.
    #[must_use]
    pub fn argument(&self) -> Option<&ArgumentError> {
        match self {
            Self::Argument { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Returns the failure of the communicator, in this call or an earlier one.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed { failure, .. } | Self::Dead { failure, .. } => Some(failure),
            _ => None,
        }
    }

    /// Returns the rank that caused the failure of the communicator, if it is known.
    #[must_use]
    pub fn culprit(&self) -> Option<Rank> {
        self.failure().and_then(|failure| failure.culprit)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { call, at, source } => write!(f, "{call} ({at}): {source}"),
            Self::Failed { rank, failure, members } => {
                write!(f, "{}: {}", rank_words(*rank, members), failure.named(members))
            }
            Self::Dead { rank, failure, members } => {
                let (rank, failure) = (rank_words(*rank, members), failure.named(members));
                write!(f, "{rank}: the communicator has failed in an earlier call and accepts no more: {failure}")
            }
            Self::Open(error) => error.fmt(f),
            Self::Internal(what) => write!(f, "bug in necklace, please report it: {what}"),
            Self::Rank { rank, how } => write!(f, "rank {rank} {how}"),
            #[cfg(feature = "tcp")]
            Self::Join(e) => e.fmt(f),
            #[cfg(feature = "mpi")]
            Self::Mpi(e) => e.fmt(f),
            Self::Environment(e) => e.fmt(f),
        }
    }
}

/// Prints what [`Display`](fmt::Display) prints, because `main` and `unwrap` print errors by
/// `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Argument { source, .. } => Some(&**source),
            Self::Failed { failure, .. } | Self::Dead { failure, .. } => Some(&**failure),
            Self::Open(error) => Some(error),
            _ => None,
        }
    }
}
