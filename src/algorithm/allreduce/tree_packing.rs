//! Allreduce of long vectors along packed trees: parts of the vector are combined up a tree to
//! every rank, and the results go down the same trees.
//!
//! Source: as for the [allgather](crate::algorithm::allgather::TreePacking). Needs: as there, and
//! an operation that commutes for more than two ranks. Model: all-port. All ranks get the same
//! bits.
//!
//! The vector is cut into N parts. The first half is the
//! [reduce-scatter](crate::algorithm::reduce_scatter::TreePacking), the second half the allgather
//! of the parts: start-ups and blocks are twice theirs, with blocks of 1 / N of the vector. Every
//! rank computes all trees, as there.

use std::sync::Arc;

use crate::algorithm::course::Course;
use crate::algorithm::parameters::one_parameter;
use crate::algorithm::tree_packing::{Plan, ROUNDS};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A packed tree to every rank, and from it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreePacking {
    rounds: usize,
}

static ABOUT: About = About {
    collective: "allreduce",
    name: "tree-packing",
    summary: "parts of the vector are combined up a packed tree to every rank, and passed down the same trees, on any network",
    source: "necklace, after Ho & Johnsson 1986",
    needs: "a rank on every node of a network of at most 1024 nodes that balanced-trees does not fit, and an operation that commutes",
    claims: "twice the diameter in start-ups, or up to 2 k with rounds=k; on meshes of up to 16 x 16 twice (N - 1) / c parts of 1 / N over a channel, rounded up, with c channels at a corner; elsewhere counted; contention-free",
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
        Plan::lacks(problem, self.rounds, Course::UpAndDown)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Plan::of(problem, self.rounds).claims(Course::UpAndDown)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Plan::of(problem, self.rounds).share(rank, Course::UpAndDown)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Plan::of(problem, self.rounds).amounts(rank, Course::UpAndDown)
    }
}
