//! Broadcast from bridgeheads: the root sends the block over a distance to new bridgeheads, in parts,
//! and these send it on, until all nodes have it.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 4.2, phase 3 of CIRCGOS, from one bridgehead and
//! along one dimension after the other. Needs: a ring, a line or a product of them, with rank i on
//! node i. Model: all-port, or one-port with `ports=one` on rings and products of rings, where
//! parts go round in one direction and along one axis at a time.
//!
//! In a row of n nodes, the number of bridgeheads grows by the factor `a` in each round, in `b` steps.
//! The a - 1 new bridgeheads between two old ones get the block as 2 b - a + 2 parts, in order from
//! one side and in reverse order from the other. With f for the factor of the last round:
//!
//! | term | ring |
//! |---|---|
//! | startups | about b log_a n |
//! | blocks over a channel | about b log_a n / (2 b - a + 2) |
//!
//! On a line, parts come to the nodes beyond the last bridgeheads from one side, which takes more
//! steps.
//!
//! `a=3,b=1` takes log_3 n start-ups, the least with two channels. `a=n` is a pipeline in both
//! directions. On a product of rings, all axes are used at once by as many colours, parts of the
//! block that take the axes in turned order; `colours=one` uses one axis at a time. Parameters that
//! are not given are nearly the cheapest for the length of the block and the machine, seldom more
//! than a fiftieth dearer: each number of steps that is tried is up to an eighth larger than the
//! one before, and up to a half beyond 256 parts.
//!
//! A rank takes time in proportion to rounds. The claims take time in proportion to the sum of the
//! extents.
//!
//! # Idea
//!
//! A message passes the nodes between two bridgeheads without a stop. So the block is at all nodes
//! after as many start-ups as a logarithm, and yet no two messages take the same channel.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    A_FROM_ONE, B_FROM_ONE, COLOURS, Choice, PORTS, Rooted, RootedPlan, Subject, best, few, rooted, rooted_claims,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

rooted!(
    /// From bridgehead to bridgehead, at shrinking distance.
    Bridgeheads,
    Rooted::Broadcast,
    "the block goes in parts to ever more bridgeheads of each row, at shrinking distance",
    [A_FROM_ONE, B_FROM_ONE, COLOURS, PORTS]
);
