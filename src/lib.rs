//! Collective communication that knows the network it runs on.

pub mod algorithm;
pub mod collective;
pub mod error;
pub mod ids;
pub mod plan;
pub mod schedule;
pub mod topology;
pub mod transport;

pub use ids::{Channel, Node, Rank};
