//! Reduce-scatter by the allgathers from bridgeheads in reverse: contributions travel back the way that
//! blocks come, and are combined where these part.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/allgather/bridgeheads.rs`. Model:
//! all-port. The costs are those of the allgather, and a rank combines what it receives.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    A, B, CIRC_GOS, COLOURS, CUB_GOS, Choice, Course, HIGH_DIM_GOS, Plan, TOR_GOS, about, claims, gossip,
};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Problem, Share};

/// Reduction from bridgeheads on rings and lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct CircGos(Choice);

/// Reduction from bridgeheads along one dimension after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighDimGos(Choice);

/// Reduction from bridgeheads on the diagonals of squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct TorGos(Choice);

/// Reduction from bridgeheads on the diagonals of cubes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CubGos(Choice);

static ON_ROWS: About = about(
    "reduce_scatter",
    CIRC_GOS,
    "circgos of allgather in reverse: contributions are combined at bridgeheads",
    "a ring or a line, with rank i on node i, and an operation that commutes",
);
static BY_DIMENSION: About = about(
    "reduce_scatter",
    HIGH_DIM_GOS,
    "high-dim-gos of allgather in reverse",
    "a product of two or more rings or lines, with rank i on node i, and an operation that commutes",
);
static ON_SQUARES: About = about(
    "reduce_scatter",
    TOR_GOS,
    "torgos of allgather in reverse",
    "a product of two rings or lines of the same extent, with rank i on node i, and an operation that commutes",
);
static ON_CUBES: About = about(
    "reduce_scatter",
    CUB_GOS,
    "cubgos of allgather in reverse",
    "a product of three or more rings or lines of the same extent, with rank i on node i, and an operation that commutes",
);

gossip!(CircGos, ON_ROWS, CIRC_GOS, Course::Up);
gossip!(HighDimGos, BY_DIMENSION, HIGH_DIM_GOS, Course::Up);
gossip!(TorGos, ON_SQUARES, TOR_GOS, Course::Up);
gossip!(CubGos, ON_CUBES, CUB_GOS, Course::Up);
