//! Scatter by the [gather](crate::algorithm::gather::Bridgeheads) to a bridgehead in reverse: the root
//! sends the blocks of every row to the node that hands them out there.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/gather/bridgeheads.rs`. Needs, model and
//! costs: the same.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{COLOURS, Choice, Rooted, RootedPlan, Subject, best, few, rooted, rooted_claims};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

rooted!(
    /// From one bridgehead, in threes.
    Bridgeheads,
    Rooted::Scatter,
    "the gather to a bridgehead in reverse: from one to three in each step",
    [COLOURS]
);
