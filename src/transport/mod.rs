//! Transports: what moves the bytes of one round.
//!
//! An [`Endpoint`] belongs to a process (or a thread that plays one) and owns the wire. A [`Transport`] is one context
//! of it: a group of ranks whose messages never meet those of another context, though they may share the wire. Each
//! communicator has one.
//!
//! # The contract of a round
//!
//! - **One verb.** [`Transport::round`] sends the messages it is given and receives the ones it is given, all of them
//!   progressing together, and returns when all are done. No order among ranks is promised: nobody need post first, and
//!   a rank may be rounds ahead of another. Nor is buffering: a send may wait until its receive is there.
//! - **Matching.** A message is matched by (context, call, round, index within the pair), never by arrival. Calls rise from
//!   round to round, and rounds within a call, so a backend may rely on the messages of a pair coming in that order.
//! - **Memory.** When `round` returns, also with an error, nobody else touches the caller's memory any more.
//! - **Empty messages** are real: they are sent, and awaited.
//! - **To itself** a rank sends nothing; a message whose peer is the rank itself, or none of the context, is a failure of
//!   that rank's making ([`Cause::Aborted`]).
//! - **Lengths** are checked before a byte lands: a message of another length than awaited is a failure, and nothing of
//!   it is written.
//! - **Agreement.** Each message carries the call's [`Signature`]; a message of the same call with another fingerprint
//!   is a failure. While it waits, a rank looks at what comes from any member, not only from those it waits for. (Who only sends does not
//!   wait, and does not look; what members have called in all they compare as they [leave](Transport::conclude).)
//! - **Deadline.** A round that makes no progress for [`RoundIo::timeout`] fails, naming the rank at the end of the
//!   chain of who waits for whom; as long as those on the chain get something done in this context, the time starts again.
//! - **Failure.** The first failure of a context is everybody's: each member's `round`, running or later, returns an
//!   equal [`Failure`]. Only a round that had all it needs may still end well, when the failure is one of a later call.
//!   Where members cannot see each other's memory, one of them decides which was the first. Should more than one be lost
//!   while they agree, or should two be left that cannot talk to each other, their failures may differ.
//! - **Departure.** A member whose transport is dropped, or whose endpoint is before it has opened the context, has left.
//!   Whoever waits for it, then or later, fails at once, not at the deadline; what it had done before counts, and who
//!   needs no more of it goes on.
//! - **Allocation.** A round of a program that has run before allocates nothing (what a library beneath the backend does
//!   is its own affair).
//! - **Threads.** A transport is driven by one thread at a time, different contexts by different threads as they like;
//!   data for a context that nobody drives blocks no other and does not pile up.
//!
//! # Collectives of its own
//!
//! A transport may stand on a library that has collectives ready, and offer those: [`native`] has the contract.
//!
//! # Checking and wrapping
//!
//! [`conformance::run_all`] checks it, for anybody's backend; all but the allocation and progress in other contexts.
//! `local` is the one among threads; [`trace`] and [`fault`] wrap any.

#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
mod bases;
pub mod conformance;
#[cfg(any(feature = "mpi", feature = "tcp"))]
pub(crate) mod engine;
pub mod fault;
mod forward;
mod history;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod native;
#[cfg(feature = "tcp")]
pub mod tcp;
pub mod trace;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::Rank;
use crate::machine::Machine;
use crate::plan::{Buffers, Message, Program, ProgramRound, Run};
pub use history::History;
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) use history::{Account, Discord, discord};
use native::Native;

/// A process's hold on the wire.
pub trait Endpoint: Send + Sync + fmt::Debug {
    /// Which of the job's processes this is.
    fn rank(&self) -> Rank;

    /// How many processes the job has.
    fn size(&self) -> usize;

    /// Opens a context among `members`, ranks of the job in the order of their ranks in the context. Every member opens
    /// it, with the same identity and the same members; none need wait for another.
    ///
    /// # Errors
    ///
    /// Where this process is no member, a member is out of range or named twice, or the identity is in use here.
    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError>;

    /// What its messages cost, as far as that is known beforehand: the prices by which a communicator chooses unless it is
    /// [told](crate::Options::machine) others.
    fn machine(&self) -> Machine {
        Machine::THREADS
    }
}

/// One context of an endpoint. See the [module](self) for what it promises.
pub trait Transport: Send + fmt::Debug {
    /// This process's rank in the context.
    fn rank(&self) -> Rank;

    /// How many ranks the context has.
    fn size(&self) -> usize;

    /// Moves the messages of one round.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member.
    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure>;

    /// Fails the context on everybody's behalf. What it failed of is this, unless something else came before:
    /// [`failure`](Self::failure) and the next round say. Does not block.
    fn abort(&mut self, failure: Failure);

    /// The context's failure, if it has one.
    fn failure(&self) -> Option<Failure>;

    /// Notes what this member has called, just before it is dropped. Members that leave a context after other calls than each
    /// other have disagreed, though no message may have told them. A backend that compares what they say as they leave has its
    /// launcher report that ([`launch`](crate::launch()) and `local::run` return it as an error). Ignored unless overridden.
    fn conclude(&mut self, history: History) {
        let _ = history;
    }

    /// The [collectives of its own](native), if it has any: on every member or on none, and at any time. None unless
    /// overridden.
    fn native(&mut self) -> Option<&mut dyn Native> {
        None
    }
}

/// Which context: equal on all members, and of no other context of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// That of the whole job.
    pub const WORLD: Self = Self(0);

    /// That of the `part`-th part made by the `sequence`-th split of this one.
    #[must_use]
    pub fn child(self, sequence: u64, part: u64) -> Self {
        let mixed = [sequence, part].into_iter().fold(self.0, |seed, value| {
            // The finaliser of SplitMix64: distinct paths collide with probability 2^-64.
            let mut z = (seed ^ value.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self(mixed)
    }

    /// That of this [number](Self::number), which came by a wire.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self(number)
    }

    /// Its number, for a wire.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::WORLD { f.write_str("world") } else { write!(f, "{:016x}", self.0) }
    }
}

/// What all members of a call must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// A hash of collective, algorithm with parameters, sizes, root, operation.
    pub fingerprint: u64,
    /// The same in words, for the error: `alltoall, 64 bytes a block, by torus-exchange`.
    pub words: Arc<str>,
}

/// One round, as a transport is given it.
#[derive(Debug)]
pub struct RoundIo<'a> {
    program: &'a Program,
    round: usize,
    buffers: Buffers<'a>,
    /// The how-manieth call of the context, from 0.
    pub call: u64,
    /// What all members must agree on.
    pub signature: &'a Signature,
    /// How long nothing may happen.
    pub timeout: Duration,
}

impl<'a> RoundIo<'a> {
    /// The `round`-th round of `program` on these buffers; `None` if there is no such round or a buffer is shorter than
    /// the program needs.
    #[must_use]
    #[inline]
    pub fn new(
        program: &'a Program,
        round: usize,
        buffers: Buffers<'a>,
        call: u64,
        signature: &'a Signature,
        timeout: Duration,
    ) -> Option<Self> {
        let fits = program.sizes().fit(&buffers) && round < program.rounds().len();
        // No `then_some`, for which it would be put together elsewhere first.
        if fits { Some(Self { program, round, buffers, call, signature, timeout }) } else { None }
    }

    /// The round: its number and its messages.
    #[must_use]
    pub fn round(&self) -> &'a ProgramRound {
        &self.program.rounds()[self.round]
    }

    /// Which of the program's rounds it is.
    #[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
    pub(crate) fn index(&self) -> usize {
        self.round
    }

    /// The round's number in the schedule.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.round().number
    }

    /// What to send, by (peer, index).
    #[must_use]
    pub fn sends(&self) -> &'a [Message] {
        &self.round().sends
    }

    /// What to receive, by (peer, index).
    #[must_use]
    pub fn receives(&self) -> &'a [Message] {
        &self.round().receives
    }

    /// The program whose round it is.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The same round, for a wrapper that looks at the buffers once it is done.
    #[must_use]
    pub fn reborrow(&mut self) -> RoundIo<'_> {
        RoundIo { buffers: self.buffers.reborrow(), ..*self }
    }

    /// The same call on the same buffers, with the `round`-th round of another program in place of this one: for
    /// wrappers that change what is sent. `None` as for [`new`](Self::new).
    #[must_use]
    pub fn replaced<'b>(self, program: &'b Program, round: usize) -> Option<RoundIo<'b>>
    where
        'a: 'b,
    {
        RoundIo::new(program, round, self.buffers, self.call, self.signature, self.timeout)
    }

    /// The runs of a message.
    #[must_use]
    pub fn runs(&self, message: &Message) -> &'a [Run] {
        self.program.runs(message)
    }

    /// The buffers that the runs are of. Every run lies inside its buffer; what is received overlaps nothing that is
    /// sent or received.
    ///
    /// Their contents may be changed, but they cannot be exchanged for others, which might be shorter:
    ///
    /// ```compile_fail,E0308
    /// fn exchange<'a>(io: &mut necklace::transport::RoundIo<'a>) {
    ///     let _: &mut necklace::plan::Buffers<'a> = io.buffers();
    /// }
    /// ```
    pub fn buffers(&mut self) -> Buffers<'_> {
        self.buffers.reborrow()
    }
}

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

/// The rank of `process` among `members`, if they can be the members of a context of a job of `size` processes: the check
/// that every [`Endpoint::open`] begins with.
///
/// # Errors
///
/// Where `process` is no member, or a member is out of range or named twice.
pub fn position(process: Rank, size: usize, members: &[Rank]) -> Result<usize, OpenError> {
    if let Some(member) = members.iter().find(|member| member.index() >= size) {
        return Err(OpenError::Member { member: *member, size });
    }
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(OpenError::Twice(twice[0]));
    }
    members.iter().position(|member| *member == process).ok_or(OpenError::Outside(process))
}
