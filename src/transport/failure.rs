//! Failures of a context, and errors of opening one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{ContextId, Deadline};
use crate::ids::Rank;
use crate::quote::debug_as_text;

/// First failure of a context, equal on every member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("call {call} ({description}), round {round}: {cause}")]
#[non_exhaustive]
pub struct Failure {
    /// Number of the call within the context. A communicator counts its user's calls from 1; call 0
    /// makes the communicator of the job.
    pub call: u64,
    /// Description of the call, by the rank that found the failure.
    pub description: Arc<str>,
    /// Round of the schedule.
    pub round: u32,
    /// The rank that found the failure.
    pub observer: Rank,
    /// The rank that caused the failure, if known.
    pub culprit: Option<Rank>,
    /// The cause.
    pub cause: Cause,
}

impl Failure {
    /// Returns the failure of a call that `observer` has found, in round 0, of an unknown culprit.
    #[must_use]
    pub fn new(call: u64, description: impl Into<Arc<str>>, observer: Rank, cause: Cause) -> Self {
        Self { call, description: description.into(), round: 0, observer, culprit: None, cause }
    }

    /// Displays the failure with both numbers of each rank, that in the context and that in the
    /// job, where they differ.
    pub(crate) fn named<'a>(&'a self, members: &'a [Rank]) -> impl fmt::Display + 'a {
        struct Named<'a>(&'a Failure, &'a [Rank]);
        impl fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Failure { call, description, round, cause, .. } = self.0;
                write!(f, "call {call} ({description}), round {round}: ")?;
                cause.write(f, self.1)
            }
        }
        Named(self, members)
    }
}

/// Returns the members' ranks in the job, or an empty slice if all ranks have the same number
/// there.
pub(crate) fn renumbered(members: &Arc<[Rank]>) -> Arc<[Rank]> {
    let same = members.iter().enumerate().all(|(rank, member)| member.index() == rank);
    if same { Arc::default() } else { Arc::clone(members) }
}

/// Returns the name of a rank for messages: its number among these members, and also its number in
/// the job if that differs.
pub(crate) fn rank_name(rank: Rank, members: &[Rank]) -> String {
    match members.get(rank.index()) {
        Some(member) if *member != rank => format!("rank {rank} (rank {member} of the job)"),
        _ => format!("rank {rank}"),
    }
}

/// Cause of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A deadline has passed.
    #[non_exhaustive]
    Deadline {
        /// The one of the two deadlines that has passed.
        deadline: Deadline,
        /// The timeout of the rank whose deadline passed.
        waited: Duration,
        /// Description of the wait-for chain: `rank 0 waits for rank 3, which has not called`.
        chain: Arc<str>,
    },
    /// A rank has left or is lost.
    #[non_exhaustive]
    Gone {
        /// The rank.
        rank: Rank,
        /// The way in which it left: `returned before the call`, `panicked: index out of bounds`.
        how: Arc<str>,
    },
    /// Two ranks make different calls.
    #[non_exhaustive]
    Disagree {
        /// One of the two.
        rank_a: Rank,
        /// Description of its call.
        call_a: Arc<str>,
        /// The other.
        rank_b: Rank,
        /// Description of its call.
        call_b: Arc<str>,
    },
    /// A message has another length than its receiver expects.
    #[non_exhaustive]
    Length {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// The expected length in bytes.
        expected: u64,
        /// The length that is sent, in bytes.
        found: u64,
    },
    /// A rank gave up for a reason of its own, or was given an invalid round.
    #[non_exhaustive]
    Aborted {
        /// The rank.
        rank: Rank,
        /// Its reason.
        reason: Arc<str>,
    },
}

impl Cause {
    /// Returns the cause that a deadline has passed.
    #[must_use]
    pub fn deadline(deadline: Deadline, waited: Duration, chain: impl Into<Arc<str>>) -> Self {
        Self::Deadline { deadline, waited, chain: chain.into() }
    }

    /// Returns the cause that a rank has left or is lost.
    #[must_use]
    pub fn gone(rank: Rank, how: impl Into<Arc<str>>) -> Self {
        Self::Gone { rank, how: how.into() }
    }

    /// Returns the cause that two ranks make different calls, which they describe so.
    #[must_use]
    pub fn disagree(one: (Rank, impl Into<Arc<str>>), other: (Rank, impl Into<Arc<str>>)) -> Self {
        Self::Disagree { rank_a: one.0, call_a: one.1.into(), rank_b: other.0, call_b: other.1.into() }
    }

    /// Returns the cause that a message has another length in bytes than its receiver expects.
    #[must_use]
    pub fn length(from: Rank, to: Rank, expected: u64, found: u64) -> Self {
        Self::Length { from, to, expected, found }
    }

    /// Returns the cause that a rank gave up.
    #[must_use]
    pub fn aborted(rank: Rank, reason: impl Into<Arc<str>>) -> Self {
        Self::Aborted { rank, reason: reason.into() }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, members: &[Rank]) -> fmt::Result {
        let name = |rank: &Rank| rank_name(*rank, members);
        match self {
            Self::Deadline { deadline: Deadline::Silence, waited, chain } => {
                write!(
                    f,
                    "no progress within {waited:?}, the timeout: {chain}; to wait longer, set Options::timeout or \
                          NECKLACE_TIMEOUT to seconds or off"
                )
            }
            Self::Deadline { deadline: Deadline::Arrival, waited, chain } => {
                write!(
                    f,
                    "a rank has not arrived within {waited:?}, the arrival timeout: {chain}; to wait longer, set \
                          Options::arrival_timeout or NECKLACE_ARRIVAL_TIMEOUT to seconds or off"
                )
            }
            Self::Gone { rank, how } => write!(f, "{} {how}", name(rank)),
            Self::Disagree { rank_a, call_a, rank_b, call_b } => {
                write!(f, "{} calls {call_a}, {} calls {call_b}", name(rank_a), name(rank_b))
            }
            Self::Length { from, to, expected, found } => {
                write!(f, "{} expects {expected} bytes from {}, which sends {found}", name(to), name(from))
            }
            Self::Aborted { rank, reason } => write!(f, "{} gave up: {reason}", name(rank)),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &[])
    }
}

impl std::error::Error for Cause {}

/// Error of opening a context.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A member is not a process of the job.
    #[error("member {member} is out of range: the job has {size} processes")]
    #[non_exhaustive]
    Member {
        /// The member.
        member: Rank,
        /// The number of processes.
        size: usize,
    },
    /// A member is named twice.
    #[error("member {0} is named twice")]
    Twice(Rank),
    /// This process is not a member.
    #[error("process {0} opens a context of which it is not a member")]
    Outside(Rank),
    /// The context is open here, or another process has opened it with other members.
    #[error("context {0} is open already, or open with other members")]
    InUse(ContextId),
}

debug_as_text!(OpenError);

impl OpenError {
    /// Returns the error for a member that is not a process of the job, which has that many.
    #[must_use]
    pub fn member(member: Rank, size: usize) -> Self {
        Self::Member { member, size }
    }
}
