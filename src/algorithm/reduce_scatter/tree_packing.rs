//! Reduce-scatter along packed trees, one to every rank: the
//! [allgather](crate::algorithm::allgather::TreePacking) in reverse.
//!
//! Source: as there. Needs: as there, and an operation that commutes for more than two ranks.
//! Model: all-port.
//!
//! Start-ups and blocks are those of the allgather. Every rank computes all trees, as there.

use std::sync::Arc;

use crate::algorithm::course::Course;
use crate::algorithm::parameters::one_parameter;
use crate::algorithm::tree_packing::{Plan, ROUNDS};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A packed tree to every rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreePacking {
    rounds: usize,
}

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "tree-packing",
    summary: "up a tree to every rank, packed into rounds so that all channels carry about the same, on any network",
    source: "necklace, after Ho & Johnsson 1986",
    needs: "a rank on every node of a network of at most 1024 nodes that balanced-trees does not fit, and an operation that commutes",
    claims: "the diameter in start-ups, or up to rounds=k; on meshes of up to 16 x 16 (N - 1) / c blocks over a channel, rounded up, with c channels at a corner; elsewhere counted; contention-free",
    ports: Ports::All,
};

impl Algorithm for TreePacking {
    fn about(&self) -> &About {
        &ABOUT
    }

    one_parameter!(rounds, ROUNDS);

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        Plan::variants(problem, |rounds| Arc::new(Self { rounds }))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        Plan::lacks(problem, self.rounds, Course::Up)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Plan::of(problem, self.rounds).claims(Course::Up)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Plan::of(problem, self.rounds).share(rank, Course::Up)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Plan::of(problem, self.rounds).amounts(rank, Course::Up)
    }
}
