//! Why a job does not come together.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::quote::quoted;

/// How many ranks a job may have. Each has a connection to every other.
pub(super) const MAX_RANKS: usize = 1 << 16;

/// A job does not come together.
///
/// What rank 0 finds while ranks meet ([`Twice`](Self::Twice), [`Sizes`](Self::Sizes),
/// [`Differs`](Self::Differs), [`Missing`](Self::Missing), [`Late`](Self::Late),
/// [`Lost`](Self::Lost), [`Loopback`](Self::Loopback)) is an equal error on every rank that came.
/// Where a rank fails for a reason of its own, the others get [`Abandoned`](Self::Abandoned) with
/// its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A rank and a size that cannot be.
    #[error("rank {rank} of {size}: a job has 1 to {MAX_RANKS} ranks, counted from 0")]
    Rank {
        /// The rank.
        rank: usize,
        /// The size.
        size: usize,
    },
    /// The meeting point's address is none.
    #[error("the meeting point is {}, it must be host:port, such as node0:5000 or [::1]:5000: {problem}", quoted(text))]
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The name of the meeting point's host does not resolve.
    #[error("the host of the meeting point, {}, has no address: {why}", quoted(host))]
    Resolve {
        /// The name.
        host: String,
        /// What the system says.
        why: String,
    },
    /// A key cannot be.
    #[error("the key cannot be used: {problem}")]
    Key {
        /// What is wrong with it.
        problem: String,
    },
    /// A file does not hold a key that can be used.
    #[error("the key file {} cannot be used: {problem}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The job would be open to whoever reaches this machine.
    #[error(
        "rank {rank} would listen on {address}, where others than this machine can reach it, and the job has no key: set \
         NECKLACE_KEY_FILE, or NECKLACE_INSECURE=1 where everybody who can reach it may join"
    )]
    Exposed {
        /// Which rank: this one.
        rank: usize,
        /// Where it would listen.
        address: IpAddr,
    },
    /// Something listens where rank 0 should.
    #[error("rank 0 cannot listen on {address}, it is in use: {advice}")]
    InUse {
        /// Where.
        address: SocketAddr,
        /// What may be the reason, and what to do.
        advice: String,
    },
    /// A rank cannot listen where it should.
    #[error("rank {rank} cannot listen on {address}: {why}")]
    Listen {
        /// Which rank: this one.
        rank: usize,
        /// Where.
        address: SocketAddr,
        /// What the system says.
        why: String,
    },
    /// A rank does not get through to another.
    #[error("rank {rank} does not reach rank {other} at {address}, tried for {waited:?}: {why}")]
    Unreachable {
        /// Which rank: this one.
        rank: usize,
        /// Whom.
        other: usize,
        /// Where.
        address: String,
        /// The last thing that happened.
        why: String,
        /// For how long it has tried.
        waited: Duration,
    },
    /// Something answers that is no rank of the job.
    #[error("what answers at {address} is not rank {other} of this job: {why}")]
    Stranger {
        /// Where.
        address: SocketAddr,
        /// Who was called.
        other: usize,
        /// How it shows.
        why: String,
    },
    /// The meeting point does not hold the key that this rank holds.
    #[error("what answers at {address} does not hold the key that rank {rank} holds")]
    Proof {
        /// Where.
        address: SocketAddr,
        /// Which rank: this one.
        rank: usize,
    },
    /// Two ranks run builds that do not understand each other.
    #[error("{what} differ: rank {one} has {ones}, rank {other} has {others}")]
    Differs {
        /// What differs.
        what: String,
        /// One of them.
        one: usize,
        /// What it has.
        ones: String,
        /// The other.
        other: usize,
        /// What that has.
        others: String,
    },
    /// Two processes are the same rank.
    #[error("two processes say that they are rank {rank}: one at {one}, one at {other}")]
    Twice {
        /// Which.
        rank: usize,
        /// Where one is.
        one: SocketAddr,
        /// Where the other is.
        other: SocketAddr,
    },
    /// Two ranks do not agree on how many there are.
    #[error("rank 0 says that there are {size} ranks, rank {rank} at {address} says that there are {sizes}")]
    Sizes {
        /// What rank 0 says.
        size: usize,
        /// Who says otherwise.
        rank: usize,
        /// Where that one is.
        address: SocketAddr,
        /// What it says.
        sizes: usize,
    },
    /// Ranks did not come.
    #[error("{} of {size} ranks came within {waited:?}; missing: {}{}", size - missing.len(), Few(missing), After(turned_away))]
    Missing {
        /// How many there should be.
        size: usize,
        /// Who did not come.
        missing: Vec<usize>,
        /// How long rank 0 has waited.
        waited: Duration,
        /// Who came and could not be let in, if anybody: how many, and the last one. Empty if
        /// nobody.
        turned_away: String,
    },
    /// Ranks came, and did not get connected to the others: those that do not answer, if there are
    /// such, and otherwise those that lack the most connections.
    #[error("not connected to the others within {waited:?}: {}", Few(late))]
    Late {
        /// Which ranks.
        late: Vec<usize>,
        /// How long rank 0 has waited.
        waited: Duration,
    },
    /// A rank's connection to the meeting point ended before all had met.
    #[error("rank {rank} at {address} is gone: its connection to the meeting ended")]
    Lost {
        /// Which.
        rank: usize,
        /// Where it was.
        address: SocketAddr,
    },
    /// A rank can be reached from its own host only, and others are on other hosts.
    #[error(
        "rank {rank} listens on {address}, which rank {other} on another host cannot reach: set NECKLACE_ADDRESS, or name the \
         meeting point by an address that all hosts can reach"
    )]
    Loopback {
        /// Who listens there.
        rank: usize,
        /// Where.
        address: SocketAddr,
        /// Who cannot reach it.
        other: usize,
    },
    /// A rank failed for a reason of its own.
    #[error("rank {rank} gave up: {reason}")]
    Abandoned {
        /// Which.
        rank: usize,
        /// Its reason.
        reason: String,
    },
    /// Rank 0 lets this rank wait longer than it should wait itself.
    #[error("rank 0 at {address} has said nothing for {waited:?}")]
    Silent {
        /// Where it is.
        address: SocketAddr,
        /// For how long.
        waited: Duration,
    },
    /// A process may not have as many descriptors open as it needs.
    #[error(
        "rank {rank} may have {} descriptors open and needs {need}, one for each other rank among them: raise `ulimit -n`",
        Limit(*limit)
    )]
    Descriptors {
        /// Which rank: this one.
        rank: usize,
        /// How many it may have; none where the system does not say.
        limit: Option<usize>,
        /// How many it needs.
        need: usize,
    },
    /// The file by which the ranks find the meeting point cannot be used.
    #[error("the file of the meeting point, {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A rank of the job says what makes no sense.
    #[error("rank {rank} at {address} says what makes no sense: {what}")]
    Garbage {
        /// Which.
        rank: usize,
        /// Where it is.
        address: SocketAddr,
        /// What.
        what: String,
    },
    /// The system refuses something else.
    #[error("{what}: {why}")]
    Os {
        /// What cannot be done.
        what: String,
        /// What the system says.
        why: String,
    },
}

/// A list of ranks, of which a person reads the first.
struct Few<'a>(&'a [usize]);

impl fmt::Display for Few<'_> {
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

struct After<'a>(&'a str);

impl fmt::Display for After<'_> {
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
