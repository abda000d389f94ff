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
//! of 5 x 2, rounds=k sends one block more than the least. A rank takes memory in proportion to N,
//! and time that grows faster where a node has hundreds of channels.
//!
//! # Idea
//!
//! See `src/algorithm/translated_tree.rs`.

use std::sync::Arc;

use crate::algorithm::translated_tree::{NEEDS, ROUNDS, TranslatedTree, lacks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// A balanced tree from every rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct BalancedTrees {
    rounds: usize,
}

static ABOUT: About = About {
    collective: "allgather",
    name: "balanced-trees",
    summary: "along one tree of shortest paths, translated to every rank, which loads all channels alike",
    source: "after Ho & Johnsson 1986",
    needs: NEEDS,
    claims: "the diameter in start-ups, about (N - 1) / D blocks over each of the D channels of a node; with rounds=k at least k start-ups, and (N - 1) / D blocks if k is that number; contention-free",
    ports: Ports::All,
};

impl Algorithm for BalancedTrees {
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
        TranslatedTree::variants(problem, |rounds| Arc::new(Self { rounds }))
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        TranslatedTree::of(problem, self.rounds).claims(1, Volume::from(1))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        TranslatedTree::of(problem, self.rounds).down(rank, |of| vec![Block::from(of)])
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        TranslatedTree::of(problem, self.rounds).amounts_down(rank, Volume::from(1))
    }
}
