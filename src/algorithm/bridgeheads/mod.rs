//! Gossiping from bridgeheads, on rings and lines and on tori and meshes.
//!
//! Source: Juurlink, Sibeyn & Rao, *Gossiping on Meshes and Tori*, IEEE Transactions on Parallel
//! and Distributed Systems 9 (1998), with errata.
//!
//! In every row some nodes are bridgeheads. They collect the blocks of their arc of the row,
//! exchange them at growing distance, and then pass them to new bridgeheads between them, until all
//! nodes are bridgeheads. A message passes the nodes between two bridgeheads without a stop, so one
//! start-up covers many hops. No two messages take the same channel.
//!
//! - [`choice`]: the parameters, and the problems that they fit.
//! - [`row`]: the stages along one row.
//! - [`diagonal`]: which nodes are bridgeheads in more than one dimension.
//! - [`plan`]: the stages along all axes, the blocks that each message carries, and the way back.
//! - [`counts`]: the claims.
//! - [`rooted`]: a broadcast and a gather, and these in reverse.
//! - [`streams`]: the messages of one node of these along a row.
//! - [`axis`]: the counts of these along a row.
//! - [`rooted_counts`]: the claims of these.
//! - [`rows`]: the algorithms of a collective.
//! - [`estimate`]: what parameters take, about.
//! - [`front`]: the parameters that are worth an exact price.
//! - [`search`]: the best parameters.

mod axis;
mod choice;
mod counts;
mod diagonal;
mod estimate;
mod front;
mod plan;
mod rooted;
mod rooted_counts;
mod row;
mod rows;
mod search;
mod streams;

pub(super) use choice::{A_FROM_ONE, B_FROM_ONE, COLOURS, Choice, PORTS, row_axes};
pub(super) use counts::claims;
pub(super) use plan::Plan;
pub(super) use rooted::{Rooted, RootedPlan};
pub(super) use rooted_counts::rooted_claims;
pub(super) use rows::{CIRC_GOS, CUB_GOS, HIGH_DIM_GOS, TOR_GOS, TWICE, about, gossip, rooted};
pub(super) use search::{Subject, best, few};
