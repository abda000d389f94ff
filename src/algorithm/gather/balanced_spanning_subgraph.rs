//! Gather along the balanced spanning subgraph of the generalized hypercube, or its conversion to
//! overlapping windows: the [scatter](crate::algorithm::scatter::BalancedSpanningSubgraph) in reverse.
//!
//! Source, needs, model and costs: those of the scatter; see
//! `src/algorithm/scatter/balanced_spanning_subgraph.rs`.

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
    Way::Up,
    &PARAMETERS_OF_PARTS,
    About {
        collective: "gather",
        name: "balanced-spanning-subgraph",
        summary: "the scatter in reverse: blocks go up the balanced spanning subgraph of the generalized hypercube, or what becomes of it in windows, in parts where a node is in several of its trees",
        source: "Wang 1999, chapter 10",
        needs: NEEDS_ROWS,
        claims: CLAIMS_OF_PARTS,
        ports: Ports::All,
    }
);
