//! Emulates networks on one machine by namespaces, to test and measure the library on the networks
//! that its algorithms are for.
//!
//! A [`Lab`] has a network namespace for each node of a topology, a pair of virtual devices for
//! each link, a rate limit for each direction, and the static routes of its [`Router`]. Forwarded
//! traffic crosses all links on its route. A [`Job`] has a process in each node. All processes take
//! the same [orders](rank). Between two orders the network is quiet, so the traffic of an order on
//! each link [can be counted](Lab::counted).
//!
//! It needs Linux, root, iproute2 (`ip`, `tc`) and util-linux (`unshare`, `nsenter`, `setpriv`).
//!
//! # Cleanup
//!
//! A namespace has no name and belongs to a shell that reads its commands from a pipe. When the
//! process at the other end ends, for any reason, the shell ends too, and the kernel removes the
//! namespace with its devices and routes. The kernel also kills the ranks with their parent. A
//! crash therefore leaves nothing, and labs of several processes are independent. No setting of the
//! machine outside of the namespaces is changed.

mod counters;
mod job;
pub mod measure;
mod network;
mod node;
pub mod rank;
mod router;

pub use counters::{Counts, Link, Loads};
pub use job::{Job, Outcome};
pub use network::{Lab, Settings};
pub use router::Router;

/// An error of a lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A lab cannot be built here.
    #[error("needs root and iproute2 ({0})")]
    Unavailable(String),
    /// A command in a node has failed.
    #[error("node {node}: {why}")]
    Node {
        /// The name or number.
        node: usize,
        /// The message.
        why: String,
    },
    /// A rank has failed.
    #[error("rank {rank}: {why}")]
    Rank {
        /// The name or number.
        rank: usize,
        /// The message.
        why: String,
    },
    /// A lab does not support the kind or the size of the network.
    #[error("{topology}: {why}")]
    Network {
        /// The name or number.
        topology: String,
        /// The reason.
        why: String,
    },
    /// The machine was so busy that it lost frames, which makes times and counts invalid.
    #[error("the machine lost {0} frames between devices")]
    Lost(u64),
    /// There is no such schedule.
    #[error(transparent)]
    Build(#[from] necklace::error::BuildError),
    /// A schedule cannot be simulated.
    #[error(transparent)]
    Simulate(#[from] necklace::simulate::SimulateError),
    /// The operating system has refused an operation.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: &'static str,
        /// The message.
        source: std::io::Error,
    },
}

/// Returns an error that names the refused operation.
fn while_doing(what: &'static str) -> impl Fn(std::io::Error) -> LabError {
    move |source| LabError::System { what, source }
}
