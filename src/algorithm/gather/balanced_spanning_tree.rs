//! Gather along the balanced spanning tree of the generalized hypercube, or its conversion to
//! overlapping windows: the [scatter](crate::algorithm::scatter::BalancedSpanningTree) in reverse.
//!
//! Source, needs, model and costs: those of the scatter; see
//! `src/algorithm/scatter/balanced_spanning_tree.rs`.

use std::sync::Arc;

use crate::algorithm::spanning_trees::{CLAIMS, Kind, NEEDS_ROWS, PARAMETERS, Pace, TreeRounds, Way, along_tree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

along_tree!(
    /// The balanced spanning tree of the generalized hypercube.
    BalancedSpanningTree,
    Kind::Balanced,
    Way::Up,
    &PARAMETERS,
    About {
        collective: "gather",
        name: "balanced-spanning-tree",
        summary: "the scatter in reverse: blocks go up the balanced spanning tree of the generalized hypercube, or what becomes of it in windows",
        source: "Wang 1999, chapter 10",
        needs: NEEDS_ROWS,
        claims: CLAIMS,
        ports: Ports::All,
    }
);
