//! Scatter along the balanced spanning subgraph of the generalized hypercube, or its conversion to
//! overlapping windows: the farthest first, and forwarded at once.
//!
//! Source: Q. Wang's dissertation, 1999, chapter 10. Needs: equal rows, not complete, of at most
//! 4096 nodes, with rank i on node i. Model: all-port.
//!
//! The block of a node is cut into as many equal parts as trees of the
//! [subgraph](crate::algorithm::spanning_trees::BalancedSubgraph) contain the node, n (k - 1) / P for
//! the period P of its necklace. So all channels of the root carry the same on the generalized
//! hypercube of n dimensions of extent k, with M = the number of necklaces - 1:
//!
//! | term | `load=1` |
//! |---|---|
//! | startups | M |
//! | blocks over each channel of the root | (N - 1) / (n (k - 1)) |
//! | blocks sent by the root | N - 1 |
//!
//! The largest messages of all rounds together have somewhat more than (N - 1) / (n (k - 1)) blocks
//! where a part is sent and whole blocks are forwarded in one round.
//!
//! On windows, a channel that does not exist becomes a path of jumps in each tree, as in the
//! [tree](super::BalancedSpanningTree). Then channels of the root differ as much as its subtrees do.
//!
//! Differs from the source: it does not say in which order blocks are sent, and has no subgraph of
//! windows.

use std::sync::Arc;

use crate::algorithm::spanning_trees::{
    CLAIMS_OF_PARTS, Kind, NEEDS_ROWS, PARAMETERS_OF_PARTS, Pace, TreeRounds, Way, along_tree,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

along_tree!(
    /// The balanced spanning subgraph of the generalized hypercube.
    BalancedSpanningSubgraph,
    Kind::Subgraph,
    Way::Down,
    &PARAMETERS_OF_PARTS,
    About {
        collective: "scatter",
        name: "balanced-spanning-subgraph",
        summary: "blocks go down the balanced spanning subgraph of the generalized hypercube, or what becomes of it in windows, in parts where a node is in several of its trees",
        source: "Wang 1999, chapter 10",
        needs: NEEDS_ROWS,
        claims: CLAIMS_OF_PARTS,
        ports: Ports::All,
    }
);
