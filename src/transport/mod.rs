//! Transports: what moves the bytes of one round.
//!
//! This module is of the [lower tier](crate#stability) of stability.
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
//! - **Deadlines.** A round that waits too long fails, and names the rank at the end of the chain of
//!   ranks that wait for each other. Two timeouts ([`RoundIo::timeouts`]) tell a dead process from a
//!   busy one. If the rank at the end answers but has not called, or computes, the `arrival` timeout
//!   counts; otherwise (its process does not answer, a message stays under way, the chain is a circle)
//!   the `silence` timeout does. Both count from the last progress: while a rank on the chain gets
//!   something done in this context, the time starts again; while a process answers, it is not silent.
//!   Ranks that cannot fall silent by themselves, such as threads, need `silence` for circles only.
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
mod call;
pub mod conformance;
mod definition;
#[cfg(any(feature = "mpi", feature = "tcp"))]
pub(crate) mod engine;
mod failure;
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
mod timeouts;
pub mod trace;

pub use call::{ContextId, RoundIo, Signature};
pub(crate) use definition::call_native;
pub use definition::{Endpoint, Transport, position};
pub use failure::{Cause, Failure, OpenError};
pub(crate) use failure::{rank_words, renumbered};
pub use history::History;
#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
pub(crate) use history::{Account, Discord, discord};
pub use timeouts::{Deadline, Timeouts};
