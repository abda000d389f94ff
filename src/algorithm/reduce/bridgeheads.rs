//! Reduce by the [broadcast](crate::algorithm::broadcast::Bridgeheads) from bridgeheads in reverse:
//! contributions take the paths of the block backwards, and are combined where the paths join.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/broadcast/bridgeheads.rs`. Needs: the
//! same, and an operation that commutes. The costs are those of the broadcast, and a rank combines
//! what it receives.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    A_FROM_ONE, B_FROM_ONE, COLOURS, Choice, PORTS, Rooted, RootedPlan, Subject, best, few, rooted, rooted_claims,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

rooted!(
    /// From bridgehead to bridgehead, at growing distance.
    Bridgeheads,
    Rooted::Reduce,
    "the broadcast from bridgeheads in reverse: parts of the result are combined at ever fewer bridgeheads",
    [A_FROM_ONE, B_FROM_ONE, COLOURS, PORTS]
);
