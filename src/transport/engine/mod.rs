//! What backends of processes share: matching, credit, failures, over whatever carries bytes between two of them.

// A process has an engine (`state`), behind one lock: its connections (`connection`), its contexts (`context`), for each
// of those a lane to every other process (`lane`). Whoever is in a round (`round`) moves what it can of all contexts,
// out (`outbound`) and in (`inbound`), and sleeps without the lock; others then sleep until it has moved something for
// them. While nobody is in a round a thread of the process listens now and then (`process`).
//
// What carries the bytes is a `wire`: sockets, or MPI. What goes over it are frames (`frame`). A short message, and the
// head of a long one, is sent without being asked for, on credit; the rest once its receiver is ready for it (`lane`).
// Either goes straight from where the sender has it, and, if it is awaited, straight to where the receiver wants it
// (`cursor`), unless it is in many small pieces. What comes early stays with the wire, or is kept.
//
// While it waits a round watches (`watch`). Who finds a fault proposes it to one of the members, which decides
// (`verdict`). Who waits too long asks from rank to rank who waits for whom (`walk`). Calls that a library beneath does
// are only looked after (`oversight`).

pub(super) mod connection;
pub(super) mod context;
mod cursor;
pub(super) mod frame;
pub(super) mod inbound;
mod inquiry;
pub(super) mod lane;
pub(super) mod limits;
pub(crate) mod member;
pub(super) mod outbound;
pub(super) mod outside;
mod oversight;
pub(super) mod process;
mod round;
pub(super) mod state;
pub(super) mod verdict;
pub(super) mod vigil;
mod walk;
pub(crate) mod watch;
pub(super) mod wire;
pub(super) mod words;

pub use self::member::Supervisor;
