//! Networks of namespaces on one machine, and ranks on them: what tests and measures the library on the networks that its
//! algorithms are for.
//!
//! A [`Lab`] has a network namespace for each node of a topology, a pair of virtual devices for each link, a rate limit on each
//! direction of it, and static routes as its [`Router`] computes them. Transit traffic really crosses the links on its
//! way. A [`Job`] has a process in each node, which take [orders](rank), all of them the same at a time; between two
//! orders the network is quiet, so what one of them put on each link [can be counted](Lab::counted).
//!
//! It needs Linux, root, iproute2 (`ip`, `tc`) and util-linux (`unshare`, `nsenter`, `setpriv`).
//!
//! # Nothing is left behind
//!
//! A namespace has no name: it is that of a shell which reads its commands from a pipe. When the process that holds the other
//! end is gone, however it went, the shell reads the end of its input and ends, and the kernel takes namespace, devices and
//! routes with it. The ranks are told by the kernel to die with their parent. So there is nothing to clean up after a crash, and
//! labs of several processes do not meet. No setting of the machine outside of the namespaces is changed.

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

/// Something of a lab does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A lab cannot be built here.
    #[error("needs root and iproute2 ({0})")]
    Unavailable(String),
    /// A node's shell did not do as told.
    #[error("node {node}: {why}")]
    Node {
        /// Which.
        node: usize,
        /// What it says.
        why: String,
    },
    /// A rank did not do as told.
    #[error("rank {rank}: {why}")]
    Rank {
        /// Which.
        rank: usize,
        /// What it says.
        why: String,
    },
    /// The network has a kind or a size that no lab can be of.
    #[error("{topology}: {why}")]
    Network {
        /// Which.
        topology: String,
        /// Why.
        why: String,
    },
    /// The machine was so busy that it lost frames: what was timed or counted meanwhile is worth nothing.
    #[error("the machine lost {0} frames between devices")]
    Lost(u64),
    /// There is no schedule for what is asked.
    #[error(transparent)]
    Build(#[from] necklace::error::BuildError),
    /// A schedule cannot be played out.
    #[error(transparent)]
    Simulate(#[from] necklace::simulate::SimulateError),
    /// The operating system refuses something.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What it says.
        source: std::io::Error,
    },
}

/// Says what was to be done when the operating system refused.
fn while_doing(what: &'static str) -> impl Fn(std::io::Error) -> LabError {
    move |source| LabError::System { what, source }
}
