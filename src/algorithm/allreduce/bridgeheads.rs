//! Allreduce from bridgeheads: a part of the vector for each rank, combined as in a reduce-scatter,
//! and passed on as in an allgather.
//!
//! Source: Juurlink, Sibeyn & Rao (1998); see `src/algorithm/allgather/bridgeheads.rs`. Model:
//! all-port, or one-port with `ports=one`. The costs are twice those of the allgather, for parts of
//! 1 / N.

use std::sync::Arc;

use crate::algorithm::bridgeheads::{
    CIRC_GOS, CUB_GOS, Choice, HIGH_DIM_GOS, Plan, Subject, TOR_GOS, about, best, claims, few, gossip,
};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

gossip!(
    /// Reduction and gossiping from bridgeheads on rings and lines.
    CircGos,
    "allreduce",
    CIRC_GOS,
    Course::UpAndDown,
    "parts of the vector go the way of circgos, to the rank where they are combined and from it"
);

gossip!(
    /// Reduction and gossiping from bridgeheads along one dimension after the other.
    HighDimGos,
    "allreduce",
    HIGH_DIM_GOS,
    Course::UpAndDown,
    "parts of the vector go the way of high-dim-gos, to the rank where they are combined and from it"
);

gossip!(
    /// Reduction and gossiping from bridgeheads on the diagonals of squares.
    TorGos,
    "allreduce",
    TOR_GOS,
    Course::UpAndDown,
    "parts of the vector go the way of torgos, to the rank where they are combined and from it"
);

gossip!(
    /// Reduction and gossiping from bridgeheads on the diagonals of cubes.
    CubGos,
    "allreduce",
    CUB_GOS,
    Course::UpAndDown,
    "parts of the vector go the way of cubgos, to the rank where they are combined and from it"
);
