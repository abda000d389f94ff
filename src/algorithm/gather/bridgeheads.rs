//! Gather to a bridgehead: the root collects the blocks of its row, and before that its nodes collect
//! those of the rows through them.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 4.1, phase 1 of CIRCGOS with one bridgehead, along
//! one dimension after the other. Needs: a ring, a line or a product of them, with rank i on node i.
//! Model: all-port.
//!
//! With N ranks in d dimensions of n nodes, on a torus:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | d ceil(log_3 n) |
//! | blocks over a channel | about (N - 1) / 2d, by as many colours |
//!
//! On a line of n nodes, a root at an end takes ceil(log_3 (2 n - 1)) start-ups and N - 1 blocks.
//! Phases of all colours take as long as the longest axis, so on unequal extents `colours=one` may
//! be faster.
//!
//! Each step triples the nodes whose blocks are in one place. All axes are used at once, by as many
//! colours: parts of every block that take the axes in turned order. `colours=one` uses one axis at
//! a time. A rank takes time in proportion to its blocks, and the claims to the sum of the extents.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{COLOURS, Choice, Rooted, RootedPlan, Subject, best, few, rooted, rooted_claims};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

rooted!(
    /// To one bridgehead, in threes.
    Bridgeheads,
    Rooted::Gather,
    "the root collects the blocks of its row in threes, after its nodes have collected those of theirs",
    [COLOURS]
);
