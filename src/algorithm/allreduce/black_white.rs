//! Allreduce by black and white nodes: a part of the vector for each rank, combined as in a
//! reduce-scatter, and passed on as in an allgather.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 7.2; see `src/algorithm/allgather/black_white.rs`.
//! Model: one-port. The costs are twice those of the allgather, for parts of 1 / N.

use crate::algorithm::black_white::{self, Gossip};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Problem, Share};

/// Reduction and gossiping by black and white nodes.
#[derive(Clone, Copy, Debug)]
pub struct BlackWhite;

static ABOUT: About = black_white::about(
    "allreduce",
    Course::UpAndDown,
    "parts of the vector go the way of black-white, to the rank where they are combined and from it",
);

impl Algorithm for BlackWhite {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        black_white::lacks(problem, Course::UpAndDown)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Gossip::new(problem).claims(Course::UpAndDown)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Gossip::new(problem).share(rank, Course::UpAndDown)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Gossip::new(problem).amounts(rank, Course::UpAndDown)
    }
}
