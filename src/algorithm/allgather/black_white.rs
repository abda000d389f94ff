//! Allgather by black and white nodes: after each square of two by two has gossiped, what it has goes
//! around the rings of every second node, those of black nodes along the rows while those of white
//! ones go along the columns, and then the other way round.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), the fifth algorithm of section 7.2. Needs: a product of two
//! or more rings or lines of even extents, not all 2 and together at most 4096, with rank i on node
//! i. Model: one-port.
//!
//! With N ranks in d dimensions, the largest extent n:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | d n / 2; around the rings of whole rows d (n - 1) |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops | d (n - 1); along lines of 6 or more nodes 2 d n - 3 d |
//!
//! Each rank receives N - 1 blocks whatever the extents are. Where they are unequal, some nodes send
//! less than others in a round, or nothing, and the largest messages of all rounds add up to more. A
//! rank takes time and memory in proportion to N. Without contention on these networks, by default
//! routes.
//!
//! Differs from the source: a row or column may be a line, and there may be more than two of these.
//!
//! # Idea
//!
//! See `src/algorithm/black_white.rs`.

use crate::algorithm::black_white::{self, Gossip};
use crate::algorithm::course::Course;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Problem, Share};

/// Gossiping by black and white nodes, along rows and columns at the same time.
#[derive(Clone, Copy, Debug)]
pub struct BlackWhite;

static ABOUT: About = black_white::about(
    "allgather",
    Course::Down,
    "squares of two by two gossip, then black nodes send along rows while white ones send along columns",
);

impl Algorithm for BlackWhite {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        black_white::lacks(problem, Course::Down)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Gossip::new(problem).claims(Course::Down)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Gossip::new(problem).share(rank, Course::Down)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Gossip::new(problem).amounts(rank, Course::Down)
    }
}
