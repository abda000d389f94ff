//! Jobs whose ranks are processes, for suites whose ranks are threads.
//!
//! A transport's verb is data, so it can be done elsewhere: a rank's thread holds a
//! [`Proxy`](endpoint::Proxy), and a *worker* process the real endpoint. The worker does each round
//! on its own copy of the buffers, and sends back what came of it.
//!
//! ```text
//! thread of rank 0 ── proxy ══ Unix socket ══ worker 0 ── endpoint ─┐
//! thread of rank 1 ── proxy ══ Unix socket ══ worker 1 ── endpoint ─┴─ the backend under test
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `maker.rs` | how workers are started, and what endpoints they make: the only one that knows the backend |
//! | `pool.rs` | the workers of this test process, and the jobs on them |
//! | `endpoint.rs` | what a rank's thread holds |
//! | `worker.rs` | what a worker does |
//! | `memory.rs` | a worker's copy of the buffers, which finds who still touches them after a round |
//! | `line.rs`, `codec.rs` | what the two say to each other, and as which bytes |
//!
//! Each thread here has a thread of its own in each worker that it talks to, over a connection of
//! their own: what one thread does is done by one thread there. The first connection of a worker
//! says that it is there; when that closes, the worker ends.

mod codec;
mod endpoint;
mod line;
mod maker;
mod memory;
pub(crate) mod pool;
#[cfg(target_os = "linux")]
mod pools;
mod tests;
mod worker;

pub(crate) use self::endpoint::Supervisor;
pub(crate) use self::worker::run_if_told;
