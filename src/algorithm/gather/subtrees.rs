//! Gather along balanced subtrees of shortest paths: the
//! [scatter](crate::algorithm::scatter::Subtrees) in reverse.
//!
//! Source, needs, model and costs: those of the scatter; see `src/algorithm/scatter/subtrees.rs`.

use std::sync::Arc;

use crate::algorithm::spanning_trees::{CLAIMS, Kind, NEEDS, PARAMETERS, Pace, TreeRounds, Way, along_tree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

along_tree!(
    /// A subtree of shortest paths for each channel of the root.
    Subtrees,
    Kind::Subtrees,
    Way::Up,
    &PARAMETERS,
    About {
        collective: "gather",
        name: "subtrees",
        summary: "the scatter in reverse: each channel of the root collects one of as many subtrees of equal size, as far as shortest paths allow",
        source: "own work, after Wang 1999, 5.4 and 6.4",
        needs: NEEDS,
        claims: CLAIMS,
        ports: Ports::All,
    }
);
