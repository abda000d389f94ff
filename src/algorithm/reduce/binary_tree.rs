//! Reduce along a binary tree, in rank order: chunks follow each other, and every rank combines
//! those of its two children with its own.
//!
//! Source: Pjesivac-Grbovic et al., *Performance analysis of MPI collective operations*, Cluster
//! Computing 10(2), 2007 (binary tree with segments). Differs from the paper: the child that is
//! received from first has the smaller subtree, and the subtrees are ranges of ranks. Needs:
//! nothing; made for flat networks. Model: one-port. Combines in rank order, so operations need not
//! commute.
//!
//! With k chunks and a tree of depth D, in rounds, for three or more ranks:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 (k - 1) + D |
//! | blocks sent | (2 (k - 1) + D) / k; 1 by each rank but the root |
//! | blocks combined | (2 (k - 1) + D) / k |
//!
//! D is that of the [broadcast](crate::algorithm::broadcast::BinaryTree), about 1.44 log N. Two
//! ranks are a [chain](super::Chain).
//!
//! A rank takes time in proportion to k + log N, and memory O(1). Contention-free on complete
//! networks.
//!
//! # Idea
//!
//! It is the [broadcast](crate::algorithm::broadcast::BinaryTree) backwards. A rank first combines
//! its contribution with the result of the ranks next to it, which make up one child's subtree, and
//! then with that of the ranks behind these.

use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Filling, Tree, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A pipelined binary tree in rank order.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryTree {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "reduce",
    name: "binary-tree",
    summary: "chunks of the result follow each other along a binary tree; each rank combines those of two others with its own",
    source: "Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for flat networks",
    claims: "with k chunks 2 (k - 1) + D start-ups and 1 / k of that in blocks, D about 1.44 log N; contention-free on complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for BinaryTree {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Tree::filling(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let tree = Tree::new(problem);
        // On the way to the root, a rank sends each chunk once.
        let claims = tree.pipeline(self.chunks).claims(problem, 1, || tree.turned(tree.edges()));
        // In every round some rank combines a chunk.
        Claims { combined: claims.transmission, ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (tree, root) = (Tree::new(problem), problem.collective().root().unwrap_or_default());
        tree.pipeline(self.chunks).share(rank, Block::result(root), tree.edges_to_root(rank))
    }
}
