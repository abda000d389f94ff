//! Alltoall by pairs on a cube, without contention.
//!
//! Source: Grama et al., §4.5.3 (Algorithm 4.10 with E-cube routes, equation 4.10). Needs: a rank
//! on every node of a binary cube, or of any product of complete networks whose extents are powers
//! of two. Model: one-port, cut-through.
//!
//! | term | whole schedule | paper |
//! |---|---|---|
//! | startups | N - 1 | equation 4.10 |
//! | blocks sent | N - 1, the one-port lower bound | equation 4.10 |
//! | messages a rank | N - 1 | |
//! | hops on a binary cube | (N/2) log N | |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! The rounds are those of [`DirectXor`], which fits every network of 2^d ranks,
//! but may contend. This algorithm promises no contention: it fits only if default routes, which
//! correct the coordinates in one order, are E-cube routes.
//!
//! # Why it is correct
//!
//! 1. In round i every message corrects the same digits, those that are not 0 in i, in the same
//!    order.
//! 2. When a digit is corrected, each message is at its sender's number xor the earlier digits of
//!    i. That is a different node for each message, so all messages leave over different channels.
//!    Channels of different digits differ.

use super::DirectXor;
use crate::algorithm::{About, Algorithm, Claims, cube_digits};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// The exchange by pairs, on networks where it is contention-free.
#[derive(Clone, Copy, Debug)]
pub struct CubeXor;

static ABOUT: About = About {
    collective: "alltoall",
    name: "cube-xor",
    summary: "round i: each rank exchanges with the rank of its own number xor i, by E-cube routes",
    source: "Grama et al., 4.5.3",
    needs: "a cube, or a product of complete networks whose extents are powers of 2; with a rank on every node",
    claims: "N - 1 start-ups, N - 1 blocks; on a cube (N/2) log N hops; contention-free",
    ports: Ports::One,
};

impl Algorithm for CubeXor {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        cube_digits(problem).is_none().then(|| {
            "it needs a cube with rank i on node i (hypercube:D, torus:2x2.., or extents of 2, 4, 8.. that are complete)"
                .to_owned()
        })
    }

    fn claims(&self, problem: &Problem) -> Claims {
        DirectXor.claims(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        DirectXor.rounds(problem, rank)
    }
}
