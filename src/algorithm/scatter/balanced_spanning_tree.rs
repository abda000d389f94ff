//! Scatter along the balanced spanning tree of the generalized hypercube, or its conversion to
//! overlapping windows: the farthest first, and forwarded at once.
//!
//! Source: Q. Wang's dissertation, 1999, chapter 10. Needs: equal rows, not complete, of at most
//! 4096 nodes, with rank i on node i. Model and parameters: those of
//! [`Subtrees`](super::Subtrees), along another tree.
//!
//! On the generalized hypercube of n dimensions of extent k, with M = the number of necklaces - 1:
//!
//! | term | `ports=all,load=1` | `ports=one` |
//! |---|---|---|
//! | startups | M, in two dimensions (N - 1) / (n (k - 1)) rounded up | N - 1 |
//! | blocks over a channel | M | N - 1 |
//!
//! On windows the jumps of the source, the longest first, leave subtrees of very different sizes:
//! `subtrees` takes up to w times fewer rounds.
//!
//! Differs from the source: it cuts no blocks; it does not say in which order they are sent.

use std::sync::Arc;

use crate::algorithm::spanning_trees::{CLAIMS, Kind, NEEDS_ROWS, PARAMETERS, Pace, TreeRounds, Way, along_tree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

along_tree!(
    /// The balanced spanning tree of the generalized hypercube.
    BalancedSpanningTree,
    Kind::Balanced,
    Way::Down,
    &PARAMETERS,
    About {
        collective: "scatter",
        name: "balanced-spanning-tree",
        summary: "blocks go down the balanced spanning tree of the generalized hypercube, or what becomes of it in windows, farthest nodes first",
        source: "Wang 1999, chapter 10",
        needs: NEEDS_ROWS,
        claims: CLAIMS,
        ports: Ports::All,
    }
);
