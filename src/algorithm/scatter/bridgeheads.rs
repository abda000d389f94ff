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
    About::new("scatter", "bridgeheads", Ports::All)
        .summary("the gather to a bridgehead in reverse: from one to three in each step")
        .source("after Juurlink, Sibeyn & Rao 1998, section 4.1")
        .needs("a ring, a line or a product of them, with rank i on node i")
        .claims("ceil(log_3 n) start-ups along each ring, up to ceil(log_3 (2 n - 1)) along each line, in each phase those of the longest; contention-free"),
    [COLOURS]
);
