//! Allgather along balanced trees, one from every rank, all of the same shape, which load all
//! channels alike.
//!
//! Source: the balanced spanning trees of Ho & Johnsson (1986), on all products of rings, complete
//! networks and windows that wrap round. Needs: such a product, with rank i on node i. Model:
//! all-port.
//!
//! With N ranks, D channels a node and the diameter d:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | d, the least from neighbour to neighbour |
//! | blocks over a channel | (N - 1) / D rounded up, the least |
//! | blocks received | N - 1 |
//! | hops | d |
//!
//! This holds on rings of up to 40 nodes, tori of up to 30 x 30, 10 x 10 x 10, 5 x 5 x 5 x 5 and 4 x
//! 4 x 4 x 4 x 4, with unequal extents too, and on cubes of up to 1024 nodes, with few exceptions: a
//! channel carries one block more on tori of 5 x 2 x 2, 7 x 2 x 2 and 9 x 2 x 2, and two more on 3 x
//! 3 x 3 x 2, whatever the order of the axes. With `rounds=k`, k = (N - 1) / D rounded up, all of
//! these take the least too, in at most k rounds. k is d or more.
//!
//! With `parts=p`, blocks are cut into p parts, each with a tree of its own. Where D does not
//! divide N - 1, it is the fraction (N - 1) / D that is the least, and parts reach it: on all these
//! networks, p such that D divides p (N - 1) takes d start-ups and (N - 1) / D blocks at once. A
//! name without `parts` takes the cheaper of one part and the fewest such p.
//!
//! Paths are the shortest, except one on 5 x 2.
//!
//! A rank takes memory in proportion to N p, and time that grows faster where a node has hundreds
//! of channels.
//!
//! # Idea
//!
//! See `src/algorithm/translated_tree.rs`.

use std::sync::Arc;

use crate::algorithm::translated_tree::{CLAIMS, Division, NEEDS, PARAMETERS, TranslatedTree};
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
    summary: "along one tree, translated to every rank, which loads all channels alike",
    source: "after Ho & Johnsson 1986",
    needs: NEEDS,
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
