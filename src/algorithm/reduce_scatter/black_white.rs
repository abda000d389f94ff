//! Reduce-scatter by the allgather of black and white nodes in reverse: contributions take the paths
//! of the blocks backwards, and are combined where the paths join.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 7.2; see `src/algorithm/allgather/black_white.rs`.
//! Model: one-port. The costs are those of the allgather, and a rank combines what it receives.

use crate::algorithm::black_white::{self, Gossip};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Problem, Share};

/// Reduction by black and white nodes, along columns and rows at the same time.
#[derive(Clone, Copy, Debug)]
pub struct BlackWhite;

static ABOUT: About = black_white::about("reduce_scatter", Course::Up, "black-white of allgather in reverse");

impl Algorithm for BlackWhite {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        black_white::lacks(problem, Course::Up)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Gossip::new(problem).claims(Course::Up)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Gossip::new(problem).share(rank, Course::Up)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Gossip::new(problem).amounts(rank, Course::Up)
    }
}
