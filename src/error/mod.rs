//! Errors of calls on a communicator, and of jobs.

mod job;

mod argument;
mod call;

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

pub use argument::{ArgumentError, RequestFault};
pub(crate) use call::CallError;

use crate::ids::Rank;
use crate::permutation::BitMapError;
pub use crate::plan::BlockFault;
use crate::quote::debug_as_text;
pub use crate::quote::shown;
use crate::topology::SizeError;
use crate::transport::{Failure, OpenError, rank_name};
pub use crate::vocabulary::BuildError;
pub use job::{JobCause, JobError};

/// Error of a call on a communicator.
///
/// - [`Argument`](Self::Argument) is a mistake of the caller. It is found before anything moves,
///   concerns this rank alone, and leaves the communicator usable. The other members wait until
///   this rank repeats the call, aborts or leaves.
/// - [`Failed`](Self::Failed) is common to all members: each gets an equal one, in its next call if
///   it had done its part.
/// - [`Dead`](Self::Dead) is the error of every call after that.
/// - [`Open`](Self::Open) means that a communicator could not be made.
/// - [`Thread`](Self::Thread) means that a call could not be started.
/// - [`Internal`](Self::Internal) is a bug in this crate.
///
/// The text of an error includes its cause. [`source`](std::error::Error::source) returns the cause
/// alone: an [`ArgumentError`], a [`Failure`] or an [`OpenError`].
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The arguments of the call are invalid. Nothing has moved.
    #[non_exhaustive]
    Argument {
        /// The method that was called.
        call: &'static str,
        /// The place in the program that called it.
        at: &'static Location<'static>,
        /// On a part made by `split`: this rank, numbered within the part, and the rank in the job
        /// of each member. `None` if both numbers are always equal.
        part: Option<(Rank, Arc<[Rank]>)>,
        /// The mistake in the arguments.
        source: Box<ArgumentError>,
    },
    /// The call failed on every member. On a part made by `split`, the text also gives each rank's
    /// number in the job.
    #[non_exhaustive]
    Failed {
        /// This rank, numbered within the communicator, as are the ranks in the failure.
        rank: Rank,
        /// The failure, equal on every member.
        failure: Box<Failure>,
        /// Entry i is the rank in the job of member i. Empty if both numbers are always equal.
        members: Arc<[Rank]>,
    },
    /// The communicator failed in an earlier call.
    #[non_exhaustive]
    Dead {
        /// This rank, numbered within the communicator, as are the ranks in the failure.
        rank: Rank,
        /// The failure of that call.
        failure: Box<Failure>,
        /// Entry i is the rank in the job of member i. Empty if both numbers are always equal.
        members: Arc<[Rank]>,
    },
    /// A context cannot be opened.
    Open(OpenError),
    /// The operating system refuses the thread that makes [started](crate::Communicator::start) calls.
    Thread(Arc<std::io::Error>),
    /// A bug in this library, not in the program.
    Internal(Cow<'static, str>),
}

/// Converts the error of an invalid map, so that a program can use `?` on maps and calls.
impl From<BitMapError> for Error {
    #[track_caller]
    fn from(error: BitMapError) -> Self {
        Self::of_argument("BitMap", error)
    }
}

/// Converts the error of a topology's sizes, so that a program can use `?` on topologies and calls.
impl From<SizeError> for Error {
    #[track_caller]
    fn from(error: SizeError) -> Self {
        Self::of_argument("topology", error)
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
impl From<crate::transport::Disagreement> for Error {
    fn from(crate::transport::Disagreement { failure, rank, members }: crate::transport::Disagreement) -> Self {
        Self::Failed { rank, failure: Box::new(failure), members: crate::transport::renumbered(&members) }
    }
}

impl Error {
    /// Returns the error of an invalid argument of a function of your own. The place is that of its
    /// caller, if the function is `#[track_caller]`.
    #[track_caller]
    #[must_use]
    pub fn of_argument(call: &'static str, source: impl Into<ArgumentError>) -> Self {
        Self::Argument { call, at: Location::caller(), part: None, source: Box::new(source.into()) }
    }

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
            Self::Argument { call, at, part, source } => {
                if let Some((rank, members)) = part {
                    write!(f, "{}: ", rank_name(*rank, members))?;
                }
                write!(f, "{call} ({at}): {source}")
            }
            Self::Failed { rank, failure, members } => {
                write!(f, "{}: {}", rank_name(*rank, members), failure.named(members))
            }
            Self::Dead { rank, failure, members } => {
                let (rank, failure) = (rank_name(*rank, members), failure.named(members));
                write!(f, "{rank}: the communicator has failed in an earlier call and accepts no more: {failure}")
            }
            Self::Open(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "cannot start the thread that makes the started calls: {error}"),
            Self::Internal(what) => write!(f, "bug in necklace, please report it: {what}"),
        }
    }
}

debug_as_text!(Error);

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Argument { source, .. } => Some(&**source),
            Self::Failed { failure, .. } | Self::Dead { failure, .. } => Some(&**failure),
            Self::Open(error) => Some(error),
            Self::Thread(error) => Some(&**error),
            _ => None,
        }
    }
}
