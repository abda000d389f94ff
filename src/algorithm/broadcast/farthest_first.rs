//! Broadcast along rows: in each round, every node with the block sends it to the farthest node
//! without it in its window.
//!
//! Source: own work, after Q. Wang, *A New-Generation Class of Parallel Architectures and Their
//! Performance Evaluation*, dissertation, 1999, section 5.2.1 (model-1), which it beats. Needs: a
//! product of windows, lines, rings and complete networks of at most 4096 nodes each, not complete,
//! with rank i on node i. Model: one-port.
//!
//! | term | a row of p nodes with window w |
//! |---|---|
//! | startups | no formula: at least ceil(log p) and the root's distance to the farthest node, at most as many as [`SlidingWindows`](super::SlidingWindows) with `ports=one` takes |
//! | blocks sent | as many as start-ups |
//! | hops | as many as start-ups |
//!
//! All terms add up over dimensions. Where those windows take fewer rounds, as from the middle of few
//! rows, the schedule is theirs. From the end of a row, it takes 7 start-ups for p = 40, w = 7
//! (8 there), 9 for p = 40, w = 5 (10) and 11 for p = 100, w = 10 (13).
//!
//! A rank takes time and memory in proportion to the nodes of a row of each dimension.

use super::along_rows::{AlongRows, NEEDS, lacks};
use super::spread::Spread;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A broadcast to the farthest nodes first.
#[derive(Clone, Copy, Debug)]
pub struct FarthestFirst;

static ABOUT: About = About {
    collective: "broadcast",
    name: "farthest-first",
    summary: "along each dimension, every node with the block sends it to the farthest neighbour of its row without it",
    source: "own work, after Wang 1999, 5.2.1",
    needs: NEEDS,
    claims: "at least ceil(log p) start-ups for a row of p nodes, as many blocks and hops; contention-free",
    ports: Ports::One,
};

impl Algorithm for FarthestFirst {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        AlongRows::of(problem, Spread::FarthestFirst).claims()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        AlongRows::of(problem, Spread::FarthestFirst).share(problem, rank)
    }
}
