//! Errors of joining a job.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::quote::{debug_as_text, quoted};

/// Maximum number of ranks of a job. Each has a connection to every other.
pub(super) const MAX_RANKS: usize = 1 << 16;

/// Error of a rank that cannot join its job.
///
/// An error that rank 0 finds during the bootstrap ([`DuplicateRank`](Self::DuplicateRank),
/// [`SizeMismatch`](Self::SizeMismatch), [`BuildMismatch`](Self::BuildMismatch),
/// [`Missing`](Self::Missing), [`Late`](Self::Late), [`Lost`](Self::Lost),
/// [`Loopback`](Self::Loopback)) is equal on every rank that came. If a rank fails for a reason of
/// its own, the others get [`Abandoned`](Self::Abandoned) with its text.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Invalid rank or size.
    #[error("rank {rank} of {size}: a job has 1 to {MAX_RANKS} ranks, counted from 0")]
    #[non_exhaustive]
    Rank {
        /// The rank.
        rank: usize,
        /// The size.
        size: usize,
    },
    /// Invalid rendezvous address.
    #[error("rendezvous address {}: {problem}; expected host:port, such as node0:5000 or [::1]:5000", quoted(text))]
    #[non_exhaustive]
    Address {
        /// The address as given.
        text: String,
        /// The mistake.
        problem: String,
    },
    /// The host of the rendezvous address does not resolve.
    #[error("the host of the rendezvous address, {}, has no address: {why}", quoted(host))]
    #[non_exhaustive]
    Resolve {
        /// The name.
        host: String,
        /// The system's error.
        why: String,
    },
    /// Invalid key.
    #[error("the key cannot be used: {problem}")]
    #[non_exhaustive]
    Key {
        /// The mistake.
        problem: String,
    },
    /// Invalid key file.
    #[error("the key file {} cannot be used: {problem}", path.display())]
    #[non_exhaustive]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The mistake.
        problem: String,
    },
    /// Any process that reaches this machine could join the job.
    #[error(
        "rank {rank} would listen on {address}, which other machines can reach, and the job has no key: set \
         NECKLACE_KEY_FILE, or NECKLACE_INSECURE=1 if any process that reaches it may join"
    )]
    #[non_exhaustive]
    Exposed {
        /// This rank.
        rank: usize,
        /// The address on which it would listen.
        address: IpAddr,
    },
    /// Another process listens on the address of rank 0.
    #[error("rank 0 cannot listen on {address}, it is in use: {advice}")]
    #[non_exhaustive]
    InUse {
        /// The address.
        address: SocketAddr,
        /// A possible reason, and what to do.
        advice: String,
    },
    /// A rank cannot listen on its address.
    #[error("rank {rank} cannot listen on {address}: {why}")]
    #[non_exhaustive]
    Listen {
        /// This rank.
        rank: usize,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        why: String,
    },
    /// A rank cannot connect to another.
    #[error("rank {rank} could not connect to rank {other} at {address} within {waited:?}: {why}")]
    #[non_exhaustive]
    Unreachable {
        /// This rank.
        rank: usize,
        /// The other rank.
        other: usize,
        /// The address.
        address: String,
        /// The error of the last attempt.
        why: String,
        /// The time for which it has tried.
        waited: Duration,
    },
    /// The process that answers is not the expected rank of the job.
    #[error("the process at {address} is not rank {other} of this job: {why}")]
    #[non_exhaustive]
    WrongPeer {
        /// The address.
        address: SocketAddr,
        /// The expected rank.
        other: usize,
        /// The mistake.
        why: String,
    },
    /// The process at the rendezvous address does not hold the key of this rank.
    #[error("the process at {address} does not hold the key of rank {rank}")]
    #[non_exhaustive]
    WrongKey {
        /// The address.
        address: SocketAddr,
        /// This rank.
        rank: usize,
    },
    /// Two ranks run builds that do not understand each other.
    #[error("{what} differ: rank {rank_a} has {value_a}, rank {rank_b} has {value_b}")]
    #[non_exhaustive]
    BuildMismatch {
        /// The part that differs.
        what: String,
        /// One of the ranks.
        rank_a: usize,
        /// The value on that rank.
        value_a: String,
        /// The other rank.
        rank_b: usize,
        /// The value on the other rank.
        value_b: String,
    },
    /// Two processes have the same rank.
    #[error("two processes say that they are rank {rank}: one at {first}, one at {second}")]
    #[non_exhaustive]
    DuplicateRank {
        /// The rank.
        rank: usize,
        /// The address of one process.
        first: SocketAddr,
        /// The address of the other process.
        second: SocketAddr,
    },
    /// Two ranks have different numbers of ranks.
    #[error("rank 0 says that there are {size} ranks, rank {rank} at {address} says that there are {other_size}")]
    #[non_exhaustive]
    SizeMismatch {
        /// The size on rank 0.
        size: usize,
        /// The other rank.
        rank: usize,
        /// The address of the other rank.
        address: SocketAddr,
        /// The size on the other rank.
        other_size: usize,
    },
    /// Ranks did not come in time.
    #[error("{} of {size} ranks joined within {waited:?}; missing: {}{}", size - missing.len(), RankList(missing), Appended(turned_away))]
    #[non_exhaustive]
    Missing {
        /// The number of ranks of the job.
        size: usize,
        /// The ranks that did not come.
        missing: Vec<usize>,
        /// The time for which rank 0 has waited.
        waited: Duration,
        /// The number of rejected connections, and the last one of them. Empty if there were none.
        turned_away: String,
    },
    /// Ranks came and were not connected to the others in time. Lists those that do not answer; if
    /// all answer, those that lack the most connections.
    #[error("not connected to the others within {waited:?}: {}", RankList(late))]
    #[non_exhaustive]
    Late {
        /// The ranks.
        late: Vec<usize>,
        /// The time for which rank 0 has waited.
        waited: Duration,
    },
    /// A rank's connection to rank 0 ended during the bootstrap, before the rank was connected to
    /// all others.
    #[error("rank {rank} at {address} is gone: its connection ended while the job started")]
    #[non_exhaustive]
    Lost {
        /// The rank.
        rank: usize,
        /// Its address.
        address: SocketAddr,
    },
    /// A rank can be reached only from its own host, and other ranks are on other hosts.
    #[error(
        "rank {rank} listens on {address}, which rank {other} on another host cannot reach: set NECKLACE_ADDRESS, or a \
         rendezvous address that all hosts can reach"
    )]
    #[non_exhaustive]
    Loopback {
        /// The rank that listens there.
        rank: usize,
        /// The address.
        address: SocketAddr,
        /// A rank that cannot reach it.
        other: usize,
    },
    /// A rank failed for a reason of its own.
    #[error("rank {rank} gave up: {reason}")]
    #[non_exhaustive]
    Abandoned {
        /// The rank.
        rank: usize,
        /// The reason.
        reason: String,
    },
    /// Rank 0 has sent nothing for longer than its own timeout.
    #[error("rank 0 at {address} has sent nothing for {waited:?}")]
    #[non_exhaustive]
    Silent {
        /// Its address.
        address: SocketAddr,
        /// The time for which this rank has waited.
        waited: Duration,
    },
    /// The limit on open descriptors is too low.
    #[error(
        "rank {rank} may have {} descriptors open and needs {need}, one for each other rank among them: raise `ulimit -n`",
        Limit(*limit)
    )]
    #[non_exhaustive]
    Descriptors {
        /// This rank.
        rank: usize,
        /// The limit; `None` if the system does not tell it.
        limit: Option<usize>,
        /// The number that it needs.
        need: usize,
    },
    /// The rendezvous file cannot be used.
    #[error("the rendezvous file {}: {problem}", path.display())]
    #[non_exhaustive]
    File {
        /// The file.
        path: PathBuf,
        /// The mistake.
        problem: String,
    },
    /// A rank of the job has violated the protocol.
    #[error("protocol violation by rank {rank} at {address}: {what}")]
    #[non_exhaustive]
    ProtocolViolation {
        /// The rank.
        rank: usize,
        /// Its address.
        address: SocketAddr,
        /// A description of what it has sent.
        what: String,
    },
    /// Another error of the system.
    #[error("{what}: {why}")]
    #[non_exhaustive]
    Os {
        /// The operation.
        what: String,
        /// The system's error.
        why: String,
    },
}

debug_as_text!(JoinError);

/// A list of ranks of which the first are shown.
struct RankList<'a>(&'a [usize]);

impl fmt::Display for RankList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(usize::to_string).collect();
        write!(f, "{} {}", if self.0.len() == 1 { "rank" } else { "ranks" }, shown.join(", "))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

struct Appended<'a>(&'a str);

impl fmt::Display for Appended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; {}", self.0) }
    }
}

struct Limit(Option<usize>);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{limit}"),
            None => f.write_str("no more"),
        }
    }
}
