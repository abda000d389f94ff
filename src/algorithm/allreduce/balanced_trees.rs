//! Allreduce of long vectors along balanced trees: parts of the vector are combined up a tree to
//! every rank, and the results go down the same trees.
//!
//! Source: the balanced spanning trees of Ho & Johnsson (1986), on all products of rings, complete
//! networks and windows that wrap round. Needs: such a product, with rank i on node i, and an
//! operation that commutes for more than two ranks. Model: all-port. All ranks get the same bits.
//!
//! The vector is cut into N parts. The first half is the
//! [reduce-scatter](crate::algorithm::reduce_scatter::BalancedTrees), the second half the
//! [allgather](crate::algorithm::allgather::BalancedTrees) of the parts: start-ups and blocks are
//! twice theirs, with blocks of 1 / N of the vector. A rank takes memory in proportion to N and the
//! parts, and time as there.

use std::sync::Arc;

use crate::algorithm::translated_tree::{Division, PARAMETERS, TranslatedTree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A balanced tree to every rank, and from it.
#[derive(Clone, Copy, Debug, Default)]
pub struct BalancedTrees(Division);

static ABOUT: About = About {
    collective: "allreduce",
    name: "balanced-trees",
    summary: "parts of the vector are combined up a tree to every rank, and passed down the same trees",
    source: "after Ho & Johnsson 1986",
    needs: "a product of rings, complete networks and windows that wrap round, with rank i on node i, and an operation that commutes",
    claims: "twice the diameter in start-ups, 2 (N - 1) / D parts of 1 / N, the fraction rounded up, over each of the D channels of a node; exceptions, rounds=k and parts=p as for allgather; contention-free",
    ports: Ports::All,
};

impl Algorithm for BalancedTrees {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        self.0.settings()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(Division::of(settings))))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        Division::variants(problem, |division| Arc::new(Self(division)))
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        self.0.alternatives(problem, |division| Arc::new(Self(division)))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        self.0.lacks_to_combine(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (ranks, part) = (problem.ranks() as u64, Volume::new(1, problem.ranks() as u64));
        Claims { combined: Some(part * (ranks - 1)), ..TranslatedTree::of(problem, self.0).claims(2, problem.ranks()) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks() as u32;
        let piece =
            move |of: Rank, part, parts| Block::RESULT.chunks(of.index() as u32 * parts + part, size * parts, 1);
        let tree = TranslatedTree::of(problem, self.0);
        Box::new(Arc::clone(&tree).up(rank, piece).chain(tree.down(rank, piece)))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let (size, tree) = (problem.ranks(), TranslatedTree::of(problem, self.0));
        Box::new(Arc::clone(&tree).amounts_up(rank, size).chain(tree.amounts_down(rank, size)))
    }
}
