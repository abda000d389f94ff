//! What can go wrong in a context.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ContextId;
use crate::ids::Rank;

/// Why a context failed: the same on every member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("call {call} ({words}), round {round}: {cause}")]
pub struct Failure {
    /// Which call of the context.
    pub call: u64,
    /// What the call was, in the words of the rank that found the failure.
    pub words: Arc<str>,
    /// In which round of the schedule.
    pub round: u32,
    /// Who found it.
    pub observer: Rank,
    /// Whose fault it is, where that is known.
    pub culprit: Option<Rank>,
    /// What happened.
    pub cause: Cause,
}

impl Failure {
    /// The same in words in which ranks are named by their numbers in the job, too, where those are others.
    pub(crate) fn named<'a>(&'a self, members: &'a [Rank]) -> impl fmt::Display + 'a {
        struct Named<'a>(&'a Failure, &'a [Rank]);
        impl fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Failure { call, words, round, cause, .. } = self.0;
                write!(f, "call {call} ({words}), round {round}: ")?;
                cause.write(f, self.1)
            }
        }
        Named(self, members)
    }
}

/// The members' ranks in the job, where some are others there; otherwise none.
pub(crate) fn renumbered(members: &Arc<[Rank]>) -> Arc<[Rank]> {
    let same = members.iter().enumerate().all(|(rank, member)| member.index() == rank);
    if same { Arc::default() } else { Arc::clone(members) }
}

/// A rank in words: by its number among these members, and in the job if that is another.
pub(crate) fn rank_words(rank: Rank, members: &[Rank]) -> String {
    match members.get(rank.index()) {
        Some(member) if *member != rank => format!("rank {rank} (rank {member} of the job)"),
        _ => format!("rank {rank}"),
    }
}

/// What happened to a context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing happened for too long.
    Deadline {
        /// How long.
        waited: Duration,
        /// Who waits for whom, in words: `rank 0 waits for rank 3, which has not called`.
        chain: Arc<str>,
    },
    /// A rank is no longer there.
    Gone {
        /// Which.
        rank: Rank,
        /// How it went: `returned before the call`, `panicked: index out of bounds`.
        how: Arc<str>,
    },
    /// Two ranks do not do the same.
    Disagree {
        /// One of them.
        one: Rank,
        /// What it does.
        ones: Arc<str>,
        /// The other.
        other: Rank,
        /// What that does.
        others: Arc<str>,
    },
    /// A message is not as long as awaited.
    Length {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// What is awaited.
        expected: u64,
        /// What is sent.
        found: u64,
    },
    /// A rank gave up, for a reason of its own.
    Aborted {
        /// Which.
        rank: Rank,
        /// Its reason.
        reason: Arc<str>,
    },
}

impl Cause {
    fn write(&self, f: &mut fmt::Formatter<'_>, members: &[Rank]) -> fmt::Result {
        let name = |rank: &Rank| rank_words(*rank, members);
        match self {
            Self::Deadline { waited, chain } => write!(f, "no progress for {waited:?}: {chain}"),
            Self::Gone { rank, how } => write!(f, "{} {how}", name(rank)),
            Self::Disagree { one, ones, other, others } => {
                write!(f, "{} calls {ones}, {} calls {others}", name(one), name(other))
            }
            Self::Length { from, to, expected, found } => {
                write!(f, "{} awaits {expected} bytes from {}, which sends {found}", name(to), name(from))
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

/// A context cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A member is no process of the job.
    #[error("member {member} is out of range: the job has {size} processes")]
    Member {
        /// Which.
        member: Rank,
        /// How many there are.
        size: usize,
    },
    /// A member is named twice.
    #[error("member {0} is named twice")]
    Twice(Rank),
    /// This process is no member.
    #[error("process {0} opens a context that it is no member of")]
    Outside(Rank),
    /// Somebody opened a context of that identity with other members, or it is open here.
    #[error("context {0} is open already, or open with other members")]
    InUse(ContextId),
}
