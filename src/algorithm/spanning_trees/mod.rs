//! Spanning trees for scatter and gather: those of the generalized hypercube by necklaces, their
//! conversion to overlapping windows, and balanced trees of shortest paths in any network.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, New Jersey Institute of Technology, 1999, chapter 10, and sections
//! 5.4 and 6.4 for the order of messages, the farthest first.
//!
//! [`Necklaces`] are the nodes of GH(k, n) and their rotations. [`balanced()`] is the balanced
//! spanning tree, on windows too, and [`BalancedSubgraph`] has the n (k - 1) trees of the balanced
//! spanning subgraph. [`subtrees()`] grows a tree in any network. All are [`SpanningTree`]s or
//! return parents, and depend on the network and the root alone.
//!
//! # Scatter and gather
//!
//! Each channel of the root serves a subtree. The root sends one block over each channel in a
//! round, and nodes send on at once: see
//! [`scatter::Subtrees`](crate::algorithm::scatter::Subtrees). So the rounds are the nodes of the
//! largest subtree. Beside them stands what no schedule beats: (N - 1) / d, rounded up, for d
//! channels of the root.
//!
//! | network | root | bound | [`subtrees()`] | [`balanced()`] | `direct`, one round |
//! |---|---|---|---|---|---|
//! | `ghc:5,2` | 0 | 3 | 3 | 3 | 5 |
//! | `ghc:8,2` | 0 | 5 | 5 | 5 | 8 |
//! | `ghc:4,3` | 0 | 7 | 7 | 7 | 16 |
//! | `hypercube:6` | 0 | 11 | 11 | 13 | 32 |
//! | `how:5,3,2` | 0 | 4 | 4 | 7 | 10 |
//! | `how:8,3,2` | 0 | 11 | 11 | 30 | 40 |
//! | `how:8,3,2` | 27 | 6 | 6 | 9 | 16 |
//! | `how:8,5,2` | 0 | 7 | 7 | 18 | 24 |
//! | `how:20,3,1` | 0 | 7 | 7 | 17 | 17 |
//! | `how:20,3,1` | 9 | 4 | 4 | 8 | 8 |
//! | `how-wrap:16,3,1` | 0 | 3 | 3 | 6 | 6 |
//! | `how-wrap:8,2,2` | 0 | 8 | 8 | 15 | 24 |
//!
//! The subgraph cuts the blocks of degenerate necklaces into parts, so that all channels of the root
//! carry the same on the generalized hypercube: see
//! [`scatter::BalancedSpanningSubgraph`](crate::algorithm::scatter::BalancedSpanningSubgraph).
//!
//! Under one port, N - 1 rounds of one block are the least, and both trees take that.

mod balanced;
mod deliveries;
mod necklaces;
mod rounds;
mod subtrees;
mod tree;

pub use balanced::{BalancedSubgraph, balanced};
pub use necklaces::Necklaces;
pub(super) use rounds::{
    CLAIMS, CLAIMS_OF_PARTS, Kind, NEEDS, NEEDS_ROWS, PARAMETERS, PARAMETERS_OF_PARTS, Pace, TreeRounds, Way,
    along_tree,
};
pub use subtrees::subtrees;
pub use tree::SpanningTree;
