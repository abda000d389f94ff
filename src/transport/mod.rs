//! Transports: what moves the bytes of one round.
//!
//! This module is of the [lower tier](crate#stability) of stability.
//!
//! An [`Endpoint`] belongs to a process, or to a thread that acts as one. It opens contexts. A
//! [`Transport`] is one context: a group of ranks whose messages never match those of another
//! context. Each communicator has one.
//!
//! # The contract of a round
//!
//! - **One operation.** [`Transport::round`] makes progress on all its sends and receives
//!   together, and returns when all are complete. A send is complete when its memory may be
//!   reused. Ranks may post in any order, and may be rounds ahead of each other. Buffering is not
//!   promised: a send may wait for its receive.
//! - **Matching.** A message matches by context, call, round and index within the pair, never by
//!   arrival. Call numbers rise, and so do round numbers within a call. A backend may rely on the
//!   messages of a pair coming in that order.
//! - **Memory.** When `round` returns, also with an error, the backend no longer accesses the
//!   caller's memory.
//! - **Empty messages** are sent and awaited like others.
//! - **Peers.** A message to the rank itself, or to no member, is a failure caused by that rank
//!   ([`Cause::Aborted`]).
//! - **Lengths** are checked before data is written. A message of another length than expected is
//!   a failure, and none of it is written.
//! - **Agreement.** Each message carries the call's [`Signature`]. Another fingerprint in the same
//!   call is a failure. A waiting rank examines messages from all members, not only from those
//!   that it waits for. A rank that only sends does not wait, so it examines nothing. Members
//!   therefore compare all their calls when they [leave](Transport::conclude), and a message that
//!   its receiver has not awaited by then is a failure too.
//! - **Deadlines.** A round that waits too long fails, and names the rank at the end of the
//!   wait-for chain. [`RoundIo::timeouts`] has two timeouts, to tell a dead process from a busy
//!   one. The `arrival` timeout counts if the last rank answers but has not called, or computes.
//!   Otherwise the `silence` timeout counts: the process does not answer, a message is still in
//!   transit, or the chain is a cycle. Progress of any rank on the chain, in this context,
//!   restarts both. An answer restarts `silence`. Threads cannot fall silent one by one, so they
//!   need `silence` for cycles only.
//! - **Failure.** The first failure of a context is common: every member's `round`, current or
//!   later, returns an equal [`Failure`]. A round may still succeed if it had all that it needed
//!   and the failure belongs to a later call. Where members do not share memory, one of them
//!   decides which failure was first. Failures may differ if several members are lost meanwhile,
//!   or if the last two cannot reach each other.
//! - **Departure.** A member leaves when its transport is dropped, or when its endpoint is dropped
//!   before it opens the context. A rank that waits for it, now or later, fails at once. What the
//!   member sent before still counts: ranks that need nothing more from it continue.
//! - **Allocation.** A round of a program that has run before allocates nothing. A library below
//!   the backend may.
//! - **Threads.** One thread at a time drives a transport. Different threads may drive different
//!   contexts. Data for a context that no thread drives does not block others or accumulate.
//!
//! # Wires
//!
//! A backend whose ranks exchange bytes needs no transport of its own. It implements [`wire::Wire`],
//! and [`WireJoin`] makes an endpoint that keeps this contract.
//!
//! # Collectives of the backend's library
//!
//! A transport over a library with collectives may offer them: [`native`] has the contract.
//!
//! # Tests and wrappers
//!
//! [`conformance::run_all`] checks this contract for any backend, except allocation, the memory of
//! idle contexts, `conclude` and native collectives. [`trace`] and [`fault`] wrap any backend.

mod bases;
mod call;
mod codec;
pub mod conformance;
mod definition;
pub(crate) mod engine;
mod failure;
pub mod fault;
mod forward;
mod history;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(all(test, not(feature = "mpi")))]
#[path = "mpi/plain/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "only tests use it here")]
mod mpi_plain;
pub mod native;
mod out_of_band;
mod report;
#[cfg(feature = "tcp")]
pub mod tcp;
mod thread_number;
mod timeouts;
pub mod trace;
mod wait_for;
pub mod wire;

#[cfg(all(test, feature = "mpi"))]
use self::mpi::plain as mpi_plain;
pub(crate) use call::Folding;
pub use call::{CallInfo, ContextId, RoundIo, Signature};
pub(crate) use definition::call_native;
pub use definition::{Endpoint, Transport, position};
pub use engine::{Supervisor, WireJoin};
pub use failure::{Cause, Failure, OpenError};
pub(crate) use failure::{rank_name, renumbered};
pub use history::History;
pub(crate) use history::{Disagreement, MemberHistory, disagreement, out_of_step};
use report::Report;
pub use timeouts::{Deadline, Timeouts};
pub(crate) use wait_for::{ChainEnd, RankStatus, Snapshot, Traversal, WaitingIn};
