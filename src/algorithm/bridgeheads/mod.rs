//! Gossiping from bridgeheads, on rings and lines and on tori and meshes.
//!
//! Source: Juurlink, Sibeyn & Rao, *Gossiping on Meshes and Tori*, IEEE Transactions on Parallel and
//! Distributed Systems 9 (1998), with errata.
//!
//! In every row some nodes are bridgeheads. They collect the blocks of their arc of the row,
//! exchange what they have at growing distance, and then pass it to new bridgeheads between them,
//! until all nodes are bridgeheads. Messages pass the nodes between two bridgeheads without a stop, so a start-up
//! bridges many hops; no two take the same channel.
//!
//! - [`choice`]: the parameters, and what a problem lacks for them.
//! - [`row`]: what happens along one row.
//! - [`diagonal`]: which nodes are bridgeheads in more than one dimension.
//! - [`plan`]: the stages along all axes, the blocks that each message carries, and the way back.
//! - [`counts`]: what it takes.
//! - [`rows`]: the algorithms of a collective.

mod choice;
mod counts;
mod diagonal;
mod plan;
mod row;
mod rows;

pub(super) use choice::{A, B, COLOURS, Choice};
pub(super) use counts::claims;
pub(super) use plan::{Course, Plan};
pub(super) use rows::{CIRC_GOS, CUB_GOS, HIGH_DIM_GOS, TOR_GOS, about, gossip};
