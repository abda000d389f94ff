//! Reduce-scatter along balanced trees, one to every rank: the
//! [allgather](crate::algorithm::allgather::BalancedTrees) in reverse.
//!
//! Source: the balanced spanning trees of Ho & Johnsson (1986), on all products of rings, complete
//! networks and windows that wrap round. Needs: such a product, with rank i on node i, and an
//! operation that commutes for more than two ranks. Model: all-port.
//!
//! Start-ups and blocks are those of the allgather. Every rank combines N - 1 blocks. A rank takes
//! memory in proportion to N, and time as there.

use std::sync::Arc;

use crate::algorithm::translated_tree::{CLAIMS, Division, PARAMETERS, TranslatedTree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A balanced tree to every rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct BalancedTrees(Division);

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "balanced-trees",
    summary: "up one tree, translated to every rank, which loads all channels alike",
    source: "after Ho & Johnsson 1986",
    needs: "a product of rings, complete networks and windows that wrap round, with rank i on node i, and an operation that commutes",
    claims: CLAIMS,
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
        let combined = Some(Volume::from(problem.ranks() as u64 - 1));
        Claims { combined, ..TranslatedTree::of(problem, self.0).claims(1, 1) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        TranslatedTree::of(problem, self.0).up(rank, |of, part, parts| Block::result(of).chunks(part, parts, 1))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        TranslatedTree::of(problem, self.0).amounts_up(rank, 1)
    }
}
