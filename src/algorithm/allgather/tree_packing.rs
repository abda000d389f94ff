//! Allgather along packed trees, one from every rank, which load the channels of any network alike.
//!
//! Source: a greedy packing of our own, round by round; balanced trees (Ho & Johnsson 1986) on
//! networks that look the same from every node. Needs: a rank on every node of a network of up to
//! 1024 nodes for which `balanced-trees` does not fit. Model: all-port.
//!
//! With N ranks and the diameter d, at most max(d, `rounds`) rounds are taken. No channel carries
//! less in all than the bound: (N - 1) / c for the fewest channels c of a node, rounded up.
//! Measured, as a ratio to this bound, the blocks over the busiest channel of each round, added up:
//!
//! | network | in d rounds | in up to 2 d | in up to max(4 d, bound) |
//! |---|---|---|---|
//! | meshes of one, two and three dimensions, lines | 1 | | |
//! | meshes without a node | 1 | | |
//! | lines with channels of 1 to 4 nodes, and meshes of these | 1 | | |
//! | random networks with an average of 4 or more channels a node | 1 to TODO | | 1 |
//! | random networks with fewer | TODO | TODO | TODO |
//! | random trees | TODO | TODO | TODO |
//!
//! Where few channels part the network in two halves, the least that these must carry is more than
//! the bound.
//!
//! Every rank computes all trees: 9 ms for a mesh of 256 nodes, 0.13 s for one of 1024, and up to
//! 2.5 s for irregular networks of 1000 nodes with many rounds. This takes memory in proportion to
//! N squared. The claims are counted.
//!
//! # Idea
//!
//! See `src/algorithm/tree_packing/mod.rs`.

use std::sync::Arc;

use crate::algorithm::course::Course;
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
    claims: "the diameter in start-ups, or up to rounds=k; on meshes (N - 1) / c blocks over a channel, the least, with c channels at a corner; elsewhere counted; contention-free",
    ports: Ports::All,
};

impl Algorithm for TreePacking {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[ROUNDS]
    }

    fn settings(&self) -> Settings {
        Settings::default().with(&ROUNDS, self.rounds)
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self { rounds: settings.of(&ROUNDS) }))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        Plan::variants(problem, |rounds| Arc::new(Self { rounds }))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        Plan::lacks(problem, Course::Down)
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
