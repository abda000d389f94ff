//! Reduce by the [broadcast](crate::algorithm::broadcast::Bridgeheads) from bridgeheads in reverse:
//! contributions take the paths of the block backwards, and are combined where the paths join.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/broadcast/bridgeheads.rs`. Needs: the
//! same, and an operation that commutes. The costs are those of the broadcast, and a rank combines
//! what it receives.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    A, B, COLOURS, Choice, PORTS, Rooted, RootedPlan, Subject, best, few, rooted, rooted_claims,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

rooted!(
    /// From bridgehead to bridgehead, at growing distance.
    Bridgeheads,
    Rooted::Reduce,
    About::new("reduce", "bridgeheads", Ports::All)
        .summary("the broadcast from bridgeheads in reverse: parts of the result are combined at ever fewer bridgeheads")
        .source("after Juurlink, Sibeyn & Rao 1998, section 4.2")
        .needs("a ring, a line or a product of them, with rank i on node i, and an operation that commutes")
        .claims("about b log_a n start-ups along each ring and b log_a n / (2 b - a + 2) blocks, divided by the colours; more along lines; contention-free"),
    [A, B, COLOURS, PORTS]
);
