//! Allreduce from bridgeheads: a part of the vector for each rank, combined as in a reduce-scatter, and
//! passed on as in an allgather.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/allgather/bridgeheads.rs`. Model:
//! all-port. The costs are twice those of the allgather, for parts of 1 / N.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    A, B, CIRC_GOS, COLOURS, CUB_GOS, Choice, Course, HIGH_DIM_GOS, Plan, TOR_GOS, about, claims, gossip,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Problem, Share};

/// Reduction and gossiping from bridgeheads on rings and lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct CircGos(Choice);

/// Reduction and gossiping from bridgeheads along one dimension after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighDimGos(Choice);

/// Reduction and gossiping from bridgeheads on the diagonals of squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct TorGos(Choice);

/// Reduction and gossiping from bridgeheads on the diagonals of cubes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CubGos(Choice);

static ON_ROWS: About = about(
    "allreduce",
    CIRC_GOS,
    "parts of the vector go the way of circgos, to the rank where they are combined and from it",
    "a ring or a line, with rank i on node i, and an operation that commutes",
);
static BY_DIMENSION: About = about(
    "allreduce",
    HIGH_DIM_GOS,
    "parts of the vector go the way of high-dim-gos, to the rank where they are combined and from it",
    "a product of two or more rings or lines, with rank i on node i, and an operation that commutes",
);
static ON_SQUARES: About = about(
    "allreduce",
    TOR_GOS,
    "parts of the vector go the way of torgos, to the rank where they are combined and from it",
    "a product of two rings or lines of the same extent, with rank i on node i, and an operation that commutes",
);
static ON_CUBES: About = about(
    "allreduce",
    CUB_GOS,
    "parts of the vector go the way of cubgos, to the rank where they are combined and from it",
    "a product of three or more rings or lines of the same extent, with rank i on node i, and an operation that commutes",
);

gossip!(CircGos, ON_ROWS, CIRC_GOS, Course::UpAndDown);
gossip!(HighDimGos, BY_DIMENSION, HIGH_DIM_GOS, Course::UpAndDown);
gossip!(TorGos, ON_SQUARES, TOR_GOS, Course::UpAndDown);
gossip!(CubGos, ON_CUBES, CUB_GOS, Course::UpAndDown);
