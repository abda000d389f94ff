//! Errors of jobs.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::{ArgumentError, BuildError, CallError, Error};
use crate::ids::Rank;
use crate::machine::MachineError;
use crate::quote::debug_as_text;
use crate::transport::Failure;

/// Error of a job: why it did not begin, or how it failed.
///
/// It names the rank that failed first, and the [cause](JobCause). `?` converts an [`Error`] of a
/// call into it, so a `main` that returns a `JobError` can use `?` on both.
///
/// ```
/// use necklace::{Rank, error::JobCause};
///
/// let error = necklace::local::run(3, |comm| assert!(comm.rank() != 2, "no")).unwrap_err();
/// assert_eq!(error.to_string(), "rank 2 panicked: no");
/// assert_eq!(error.rank(), Some(Rank::new(2)));
/// assert!(matches!(error.cause(), JobCause::Panicked(message) if message == "no"));
/// ```
///
/// The text includes that of the cause. So [`source`](StdError::source) returns only errors whose
/// text is not yet included. For the complete chain, start at the [cause](Self::cause).
#[derive(Clone)]
pub struct JobError(Box<Contents>);

#[derive(Clone)]
struct Contents {
    rank: Option<Rank>,
    cause: JobCause,
}

/// Cause of a [`JobError`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobCause {
    /// An environment variable is invalid.
    #[error("{name}: found {found}, expected {expected}")]
    #[non_exhaustive]
    Variable {
        /// The variable.
        name: String,
        /// Its value, in quotes.
        found: String,
        /// The accepted values.
        expected: String,
    },
    /// An environment variable looks like a misspelt one of this library.
    #[error("necklace has no variable {name}; did you mean {meant}?")]
    #[non_exhaustive]
    Misspelt {
        /// The variable.
        name: String,
        /// The one that it looks like.
        meant: &'static str,
    },
    /// No launcher has started this process as a rank of a job.
    #[error("{0}")]
    NoLauncher(String),
    /// The program was built without the feature of a backend that the environment asks for.
    #[error("{message}")]
    #[non_exhaustive]
    NotBuilt {
        /// The feature.
        feature: &'static str,
        /// The setting that needs the feature, and advice.
        message: String,
    },
    /// Environment variables contradict each other, or the launcher.
    #[error("{found}, but {other}: {advice}")]
    #[non_exhaustive]
    Contradiction {
        /// The variables that say one thing, with their values.
        found: String,
        /// The variables, or the launcher, that say another.
        other: String,
        /// The advice.
        advice: String,
    },
    /// Environment variables make this process a rank, but do not say all that it must know.
    #[error("{found}, but {missing}: {advice}")]
    #[non_exhaustive]
    Incomplete {
        /// The variables that are set, with their values.
        found: String,
        /// The part that is not known.
        missing: String,
        /// The advice.
        advice: String,
    },
    /// [`Launch::connect`](crate::launch::Launch::connect) was called on a launch of threads.
    #[error("the ranks of this launch are threads, which `run` starts; `connect` is for a process that is a rank")]
    NotProcesses,
    /// A job cannot have this number of ranks.
    #[error("{}a job cannot have {ranks} ranks; expected 1 to {most}", Before(place))]
    #[non_exhaustive]
    Ranks {
        /// The setting, as in [`Argument`](Self::Argument), if there is one.
        place: Option<String>,
        /// The number of ranks that was asked for.
        ranks: usize,
        /// The largest number of ranks.
        most: usize,
    },
    /// The network is invalid, or does not have as many nodes as the job has ranks.
    #[error("{}{source}", Before(place))]
    #[non_exhaustive]
    Network {
        /// The setting, as in [`Argument`](Self::Argument). `None` if `?` converted a
        /// [`BuildError`].
        place: Option<String>,
        /// The mistake.
        source: BuildError,
    },
    /// A schedule cannot be built, an algorithm is unknown or does not fit: a [`BuildError`] of the
    /// program, which `?` converted.
    #[error(transparent)]
    Build(BuildError),
    /// An option or a chosen algorithm does not fit the job.
    #[error("{place}: {source}")]
    #[non_exhaustive]
    Argument {
        /// The setting: the method and the place of its call in the program, or the environment
        /// variable.
        place: String,
        /// The mistake.
        source: ArgumentError,
    },
    /// The machine that `auto` is to use is invalid.
    #[error("{place}: {source}")]
    #[non_exhaustive]
    Machine {
        /// The setting: the environment variable.
        place: String,
        /// The mistake.
        source: MachineError,
    },
    /// The processes of the job cannot connect to each other. Needs the feature `tcp`.
    #[cfg(feature = "tcp")]
    #[error("the ranks cannot connect to each other")]
    Join(#[source] crate::transport::tcp::JoinError),
    /// This process cannot join a job over MPI. Needs the feature `mpi`.
    #[cfg(feature = "mpi")]
    #[error("this process cannot join a job over MPI")]
    Mpi(#[source] crate::transport::mpi::MpiError),
    /// The thread of a rank could not be started.
    #[error("its thread could not be started")]
    Thread(#[source] Arc<io::Error>),
    /// The processes of [`Launch::processes`](crate::launch::Launch::processes) cannot be started.
    /// Needs the feature `tcp`.
    #[cfg(all(unix, feature = "tcp"))]
    #[error("{place}: {problem}")]
    #[non_exhaustive]
    Start {
        /// The method, and the place of its call in the program.
        place: String,
        /// The mistake, or the system's error.
        problem: String,
    },
    /// A process of [`Launch::processes`](crate::launch::Launch::processes) failed, or ended before
    /// it had joined. Needs the feature `tcp`.
    #[cfg(all(unix, feature = "tcp"))]
    #[error("ended with {status}{}", After(output))]
    #[non_exhaustive]
    Process {
        /// The status or the signal with which it ended, and when, if it had not joined.
        status: String,
        /// The last 8 KiB of its output, in a test. Otherwise empty: the processes of a program
        /// share its output.
        output: String,
    },
    /// A rank panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
    /// A call failed: one of the program, one by which its communicator was made, or the comparison
    /// of calls at the end.
    #[error("a call failed")]
    Call(#[source] Error),
}

impl JobError {
    #[cfg_attr(not(any(feature = "local", feature = "mpi", feature = "tcp")), allow(dead_code))]
    pub(crate) fn of(rank: Rank, cause: JobCause) -> Self {
        Self(Box::new(Contents { rank: Some(rank), cause }))
    }

    /// The error of a rank whose communicator cannot be made, from what is set at that place.
    #[cfg_attr(not(any(feature = "local", feature = "mpi", feature = "tcp")), allow(dead_code))]
    pub(crate) fn communicator(rank: Rank, place: &impl fmt::Display, error: CallError) -> Self {
        match error {
            CallError::Argument(source) => JobCause::Argument { place: place.to_string(), source }.into(),
            CallError::Other(error) => {
                let rank = first_to_fail(&error).unwrap_or(rank);
                Self::of(rank, JobCause::Call(error))
            }
        }
    }

    /// Returns the rank in the job that failed first, or `None` if the job could not begin.
    ///
    /// If a call failed, returns the [culprit](Failure::culprit), or the rank that found the
    /// failure if no culprit is known. An error that concerns one rank alone, such as
    /// [`Error::Argument`], does not say which: after `?` has converted it, this is `None`.
    #[must_use]
    pub fn rank(&self) -> Option<Rank> {
        self.0.rank
    }

    /// Returns the cause.
    #[must_use]
    pub fn cause(&self) -> &JobCause {
        &self.0.cause
    }
}

/// The place of a mistake, in front of it.
struct Before<'a>(&'a Option<String>);

impl fmt::Display for Before<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |place| write!(f, "{place}: "))
    }
}

/// The output of a process, after the sentence that says how it ended.
#[cfg(all(unix, feature = "tcp"))]
struct After<'a>(&'a str);

#[cfg(all(unix, feature = "tcp"))]
impl fmt::Display for After<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; its output:\n{}", self.0.trim_end()) }
    }
}

/// The rank in the job to which a failure of a call leads.
fn first_to_fail(error: &Error) -> Option<Rank> {
    let (Error::Failed { failure, members, .. } | Error::Dead { failure, members, .. }) = error else { return None };
    let Failure { observer, culprit, .. } = **failure;
    let rank = culprit.unwrap_or(observer);
    Some(members.get(rank.index()).copied().unwrap_or(rank))
}

impl From<JobCause> for JobError {
    fn from(cause: JobCause) -> Self {
        Self(Box::new(Contents { rank: None, cause }))
    }
}

impl From<Error> for JobError {
    fn from(error: Error) -> Self {
        Self(Box::new(Contents { rank: first_to_fail(&error), cause: JobCause::Call(error) }))
    }
}

impl From<BuildError> for JobError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Topology(_) | BuildError::Ranks { .. } | BuildError::Placement { .. } => {
                JobCause::Network { place: None, source: error }.into()
            }
            _ => JobCause::Build(error).into(),
        }
    }
}

#[cfg(feature = "tcp")]
impl From<crate::transport::tcp::JoinError> for JobError {
    fn from(error: crate::transport::tcp::JoinError) -> Self {
        JobCause::Join(error).into()
    }
}

#[cfg(feature = "mpi")]
impl From<crate::transport::mpi::MpiError> for JobError {
    fn from(error: crate::transport::mpi::MpiError) -> Self {
        JobCause::Mpi(error).into()
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contents { rank, cause } = &*self.0;
        match (cause, rank) {
            (JobCause::Panicked(_), Some(rank)) => write!(f, "rank {rank} {cause}"),
            #[cfg(all(unix, feature = "tcp"))]
            (JobCause::Process { .. }, Some(rank)) => write!(f, "rank {rank} {cause}"),
            (JobCause::Thread(why), Some(rank)) => write!(f, "rank {rank} could not be started: {why}"),
            // A failure begins with the rank whose call it was.
            (JobCause::Call(error @ (Error::Failed { .. } | Error::Dead { .. })), _) => fmt::Display::fmt(error, f),
            (JobCause::Call(error), Some(rank)) => write!(f, "rank {rank}: {error}"),
            (
                JobCause::Argument { .. } | JobCause::Machine { .. } | JobCause::Network { .. } | JobCause::Build(_),
                _,
            ) => fmt::Display::fmt(cause, f),
            _ => match cause.source() {
                Some(source) => fmt::Display::fmt(source, f),
                None => fmt::Display::fmt(cause, f),
            },
        }
    }
}

debug_as_text!(JobError);

impl StdError for JobError {
    /// The first source of the cause that the text does not contain in full.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let text = self.to_string();
        let mut next = self.0.cause.source();
        while let Some(said) = next.filter(|source| text.contains(&source.to_string())) {
            next = said.source();
        }
        next
    }
}

#[cfg(test)]
mod tests;
