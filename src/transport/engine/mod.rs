//! The progress engine of backends of processes: matching, credit and failures, over any wire that
//! carries bytes between two processes.

// A process has one engine (`state`), behind one lock: its connections (`connection`), its contexts
// (`context`), and for each context a lane to every other process (`lane`). A thread in a round
// (`round`) moves what it can of all contexts, out (`outbound`) and in (`inbound`), and sleeps
// without the lock; other threads then sleep until it has moved something for them. While no thread
// is in a round, a thread of the process listens now and then (`process`).
//
// A `wire` carries the bytes: sockets, or MPI. It carries frames (`frame`). A short message, and
// the head of a long one, is sent eagerly, on credit; the rest once its receiver is ready (`lane`).
// Both go straight from the sender's memory and, if they are awaited, straight into the receiver's
// (`cursor`), unless they are in many small pieces. What comes early stays with the wire, or is
// kept.
//
// A round that waits watches for faults (`watch`). A member that finds one proposes it to one of
// the members, which decides (`agreement`). One that waits for long walks along the wait-for graph,
// by asking from rank to rank (`wait_for`). Calls that a library makes have a `watchdog` (`library_calls`).

pub(super) mod agreement;
pub(super) mod codec;
pub(super) mod connection;
pub(super) mod context;
mod cursor;
pub(super) mod frame;
pub(super) mod inbound;
mod inquiry;
pub(super) mod lane;
mod library_calls;
pub(super) mod limits;
pub(crate) mod member;
pub(super) mod outbound;
pub(super) mod call_tracker;
pub(super) mod process;
mod round;
pub(super) mod state;
mod wait_for;
pub(crate) mod watch;
pub(super) mod watchdog;
pub(super) mod wire;

pub use self::member::Supervisor;
