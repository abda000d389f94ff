//! Reduce-scatter by the allgathers from bridgeheads in reverse: contributions take the paths of
//! the blocks backwards, and are combined where the paths join.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/allgather/bridgeheads.rs`. Model:
//! all-port, or one-port with `ports=one`. The costs are those of the allgather, and a rank
//! combines what it receives.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    CIRC_GOS, CUB_GOS, Choice, HIGH_DIM_GOS, Plan, Subject, TOR_GOS, about, best, claims, few, gossip,
};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

gossip!(
    /// Reduction from bridgeheads on rings and lines.
    CircGos,
    "reduce_scatter",
    CIRC_GOS,
    Course::Up,
    "circgos of allgather in reverse: contributions are combined at bridgeheads"
);

gossip!(
    /// Reduction from bridgeheads along one dimension after the other.
    HighDimGos,
    "reduce_scatter",
    HIGH_DIM_GOS,
    Course::Up,
    "high-dim-gos of allgather in reverse"
);

gossip!(
    /// Reduction from bridgeheads on the diagonals of squares.
    TorGos,
    "reduce_scatter",
    TOR_GOS,
    Course::Up,
    "torgos of allgather in reverse"
);

gossip!(
    /// Reduction from bridgeheads on the diagonals of cubes.
    CubGos,
    "reduce_scatter",
    CUB_GOS,
    Course::Up,
    "cubgos of allgather in reverse"
);
