//! The progress engine of backends whose ranks exchange bytes. It adds matching, flow control,
//! deadlines and failures to any [wire](crate::transport::wire).

// A process has one engine (`state`), behind one lock. It owns the connections to the other
// processes (`connection`) and the contexts (`context`). Each context has a lane to every other
// process (`lane`).
//
// The engine never waits and reads no clock: whoever drives it tells it the time, and polls rounds
// (`round`) and the end of the process (`ending`). Tests drive many engines in one thread, at a
// simulated time (`cluster`).
//
// **Progress.** A thread in a round (`driver`) makes progress on all contexts, outgoing
// (`outbound`) and incoming (`inbound`). It releases the lock to sleep. While it sleeps on the
// wire, other threads wait until it has moved something for them. While no thread is in a round, a
// listener thread polls now and then (`process`). `posting` begins and ends rounds, `polling`
// decides which connection is read or written next, `control` queues control frames, and `contexts`
// opens, closes and compares contexts.
//
// **Protocol.** A wire carries the bytes, for example over sockets, as frames (`frame`, `codec`,
// `frame_reader`). A short message, and the head of a long one, is sent eagerly, on credit. The rest
// follows when its receiver is clear to send (`flow_control`). Both go straight from the sender's
// memory and, if the receive is posted, straight into the receiver's memory (`cursor`), unless they
// consist of many small pieces. What arrives early stays in the wire or in the unexpected-message
// queue. Each direction of a lane counts its own progress (`sending`, `receiving`).
//
// **Failures.** A waiting round watches for faults (`watch`). A member that finds one proposes it
// to a coordinator, which decides (`agreement`; `decisions` carries its frames). A member that has
// waited for long follows the wait-for graph, by asking one rank after the other for its status
// (`status`). Members of a context are told of `panics`. A backend may have calls executed by a
// library (`library`); `supervision` lets it examine them.

pub(super) mod agreement;
#[cfg(test)]
mod cluster;
pub(super) mod codec;
pub(super) mod connection;
pub(super) mod context;
mod contexts;
mod control;
mod cursor;
mod decisions;
mod driver;
mod ending;
pub(super) mod flow_control;
pub(super) mod frame;
pub(super) mod frame_reader;
pub(super) mod inbound;
mod inquiry;
pub(super) mod lane;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only MPI has a library"))]
pub(super) mod library;
pub(super) mod limits;
pub(crate) mod member;
pub(super) mod outbound;
mod panics;
mod polling;
mod posting;
pub(super) mod process;
mod receiving;
mod round;
mod sending;
pub(super) mod state;
mod status;
mod supervision;
pub(crate) mod watch;

pub use self::member::{Supervisor, WireJoin};
