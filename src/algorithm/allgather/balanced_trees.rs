//! Allgather along balanced trees, one from every rank, all of the same shape, which load all
//! channels alike.
//!
//! Source: the balanced spanning trees of Ho & Johnsson (1986), on all products of rings and
//! complete networks. Needs: such a product, with rank i on node i. Model: all-port.
//!
//! With N ranks, D channels a node and the diameter d:
//!
//! | term | as few rounds as the diameter | `rounds=k`, with k as below |
//! |---|---|---|
//! | startups | d, the least from neighbour to neighbour | max(d, k), k = (N - 1) / D rounded up |
//! | blocks over a channel | k, or a few more | k, the least |
//! | blocks received | N - 1 | N - 1 |
//! | hops | d | max(d, k) |
//!
//! A few more: at most 4, on rings of up to 30 nodes, tori of up to 16 x 16 and 6 x 6 x 6, and
//! cubes of up to 1024 nodes; at most 1 where all extents are equal, and none on rings. On a torus
//! of 5 x 2, rounds=k sends one block more than the least.
//!
//! With `parts=p`, blocks are cut into p parts, each with a tree of its own. Where D does not
//! divide N - 1, it is the fraction (N - 1) / D that is the least, and parts reach it: on these
//! networks, p such that D divides p (N - 1) takes the diameter in start-ups and (N - 1) / D blocks
//! at once. Of 200 networks, 11 take up to 3 blocks more, all with unequal extents but the torus of
//! 7 x 7 and the cube of 32 nodes.
//!
//! A rank takes memory in proportion to N p, and time that grows faster where a node has hundreds
//! of channels.
//!
//! # Idea
//!
//! See `src/algorithm/translated_tree.rs`.

use std::sync::Arc;

use crate::algorithm::translated_tree::{Division, NEEDS, PARAMETERS, TranslatedTree};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A balanced tree from every rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct BalancedTrees(Division);

static ABOUT: About = About {
    collective: "allgather",
    name: "balanced-trees",
    summary: "along one tree of shortest paths, translated to every rank, which loads all channels alike",
    source: "after Ho & Johnsson 1986",
    needs: NEEDS,
    claims: "the diameter in start-ups, about (N - 1) / D blocks over each of the D channels of a node; with rounds=k at least k start-ups, and (N - 1) / D blocks if k is that number; with parts=p both at once, if D divides p (N - 1); contention-free",
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

    fn lacks(&self, problem: &Problem) -> Option<String> {
        self.0.lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        TranslatedTree::of(problem, self.0).claims(1, 1)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        TranslatedTree::of(problem, self.0).down(rank, |of, part, parts| Block::from(of).chunks(part, parts, 1))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        TranslatedTree::of(problem, self.0).amounts_down(rank, 1)
    }
}
