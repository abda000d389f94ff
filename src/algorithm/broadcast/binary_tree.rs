//! Broadcast along a binary tree: chunks of the block follow each other, and every rank sends each
//! to its two children, one after the other.
//!
//! Source: Pjesivac-Grbovic et al., *Performance analysis of MPI collective operations*, Cluster
//! Computing 10(2), 2007 (binary tree with segments). Differs from the paper: the child that is
//! sent to later gets the smaller subtree, and the subtrees are ranges of ranks. Needs: nothing;
//! made for flat networks. Model: one-port.
//!
//! With k chunks and a tree of depth D, in rounds, for three or more ranks:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 (k - 1) + D |
//! | blocks sent | (2 (k - 1) + D) / k; 2 by a rank with two children |
//!
//! A tree of depth D from the first or the last rank has up to F(D) ranks. F is 1, 2, 4, 7, 12, 20,
//! 33 and so on, each the sum of the two before it and 1, so D is about 1.44 log N. From another
//! root D may be greater by 1. Two ranks are a [chain](super::Chain).
//!
//! A rank takes time in proportion to k + log N, and memory O(1). Contention-free on complete
//! networks.
//!
//! # Idea
//!
//! A rank that is reached after d rounds receives chunk c in round 2c + d - 1, and sends it to its
//! first child in round 2c + d and to its second in round 2c + d + 1. The block passes the root's
//! port twice, but the tree fills sooner than a chain: it is for blocks of medium length among many
//! ranks.

use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Filling, Tree, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A pipelined binary tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryTree {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "broadcast",
    name: "binary-tree",
    summary: "chunks of the block follow each other along a binary tree; each rank sends them to two others",
    source: "Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for flat networks",
    claims: "with k chunks 2 (k - 1) + D start-ups and 1 / k of that in blocks, D about 1.44 log N; contention-free on complete networks",
    ports: Ports::One,
};

impl Algorithm for BinaryTree {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Tree::filling(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let tree = Tree::new(problem);
        tree.pipeline(self.chunks).claims(problem, tree.children(), || tree.edges())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (tree, root) = (Tree::new(problem), problem.collective().root().unwrap_or_default());
        tree.pipeline(self.chunks).share(rank, Block::from(root), tree.edges_from_root(rank))
    }
}
