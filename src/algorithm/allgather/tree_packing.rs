//! Allgather along packed trees, one from every rank, which load the channels of any network alike.
//!
//! Source: a greedy packing of our own, round by round; balanced trees (Ho & Johnsson 1986) on
//! networks that look the same from every node. Needs: a rank on every node of a network of up to
//! 1024 nodes for which `balanced-trees` does not fit. Model: all-port.
//!
//! With N ranks and the diameter d, at most `rounds` rounds are taken, which are d or more, by
//! default d. A node with c channels gets N - 1 blocks over these, so the busiest channel carries
//! at least (N - 1) / c for the least c, rounded up: the bound. The table has the blocks over the
//! busiest channel of each round, added up and divided by this bound: the average, and the worst in
//! parentheses.
//!
//! | networks | in d rounds | in up to 2 d | in up to max(4 d, bound) |
//! |---|---|---|---|
//! | lines; meshes of up to 16 x 16, 6 x 6 x 8 and 4 x 4 x 3 x 3 | 1 | | |
//! | meshes of 2 or 4 by 17 to 100, in either order | 1 | | |
//! | meshes of 3 by 17 to 100, in either order | 1.23 (1.32) | 1.01 (1.03) | 1.01 (1.03) |
//! | lines in which nodes up to 2, 3, 4 or 5 apart are linked, and meshes of them | 1 | | |
//! | a mesh of 8 x 8 without one node | 1.04 (1.36) | 1.02 (1.17) | 1.00 (1.07) |
//! | random networks with 10 channels a node on average | 1.00 (1.33) | 1 | 1 |
//! | with 6 | 1.01 (1.56) | 1.00 (1.17) | 1 |
//! | with 4 | 1.09 (2.08) | 1.02 (1.19) | 1 |
//! | with 3 | 1.21 (1.87) | 1.05 (1.20) | 1.00 (1.12) |
//! | random trees | 1.68 (4.69) | 1.08 (1.27) | 1 |
//!
//! The random networks have 8 to 128 nodes: a tree whose nodes are linked to any earlier one, and
//! random links. Where few channels join two halves of the network, these must carry more than the
//! bound. On meshes of equal extents n, `high-dim-gos:a=n` takes as many rounds, and half a block
//! less at best; on the others that were compared it takes more of both.
//!
//! Nodes with more channels send and receive more at a time: the most blocks that a rank sends or
//! receives in each round, added up, are 1.4 to 1.8 times N - 1 on the meshes that were compared,
//! and several times N - 1 on irregular networks. Where ports are the limit, other algorithms are
//! better.
//!
//! Every rank computes all trees: 14 ms for a mesh of 256 nodes, 0.2 s for one of 1024, and up to 4
//! s for irregular networks of 1000 nodes in as many rounds. This takes memory in proportion to N
//! squared. The claims are counted.
//!
//! If d rounds do not reach the bound, `auto` considers 2 d rounds, and max(4 d, bound), on up to
//! 256 nodes. On more, it considers 2 d rounds if N^2 (2 d + 64) is at most 2^26, as on meshes of 3 x
//! 144 and on random networks of 700 nodes. Other numbers are taken by name.
//!
//! # Idea
//!
//! See `src/algorithm/tree_packing/mod.rs`.

use std::sync::Arc;

use crate::algorithm::course::Course;
use crate::algorithm::parameters::one_parameter;
use crate::algorithm::tree_packing::{Plan, ROUNDS};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A packed tree from every rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreePacking {
    rounds: usize,
}

static ABOUT: About = About {
    collective: "allgather",
    name: "tree-packing",
    summary: "along a tree from every rank, packed into rounds so that all channels carry about the same, on any network",
    source: "necklace, after Ho & Johnsson 1986",
    needs: "a rank on every node of a network of at most 1024 nodes that balanced-trees does not fit",
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
        Plan::lacks(problem, self.rounds, Course::Down)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Plan::of(problem, self.rounds).claims(Course::Down)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Plan::of(problem, self.rounds).share(rank, Course::Down)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Plan::of(problem, self.rounds).amounts(rank, Course::Down)
    }
}
