//! Collective communication that knows the network it runs on.

pub mod algorithm;
pub mod collective;
pub mod communicator;
pub mod error;
pub mod ids;
#[cfg(feature = "local")]
pub mod launch;
#[cfg(feature = "local")]
pub mod local;
pub mod machine;
pub mod plan;
pub mod schedule;
pub mod select;
pub mod topology;
pub mod transport;

pub use communicator::{Communicator, Options, Persistent, op};
pub use error::Error;
pub use ids::{Channel, Node, Rank};
#[cfg(feature = "local")]
pub use launch::launch;
