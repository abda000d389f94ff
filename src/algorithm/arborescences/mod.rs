//! Arc-disjoint spanning trees from one root: as many as a network has, of little depth.
//!
//! Source: J. Edmonds, *Edge-disjoint branchings*, in *Combinatorial Algorithms*, 1973, for the
//! number of trees and for the condition that partial trees can be completed. On a hypercube of
//! dimension d, the trees are d of depth d + 1, as those of S. L. Johnsson & C.-T. Ho, *Optimum
//! broadcasting and personalized communication in hypercubes*, IEEE Transactions on Computers
//! 38(9), 1989.
//!
//! An arc is a channel: one direction of a link. Every tree (an *arborescence*) leads from the root
//! to all nodes. No arc is in two trees. Edmonds' theorem: there are T such trees exactly if T
//! units can flow from the root to each other node, over arcs of capacity 1.
//!
//! # Idea
//!
//! 1. All trees grow at once from the root, level by level. At each node, a matching assigns arcs
//!    from nodes of earlier levels to the trees that the node is not in yet. If trees get stuck,
//!    they grow once more, and before a tree takes an arc, a flow tells whether the trees can still
//!    be completed. Then the trees are always as many as there can be. Products of rings and
//!    complete networks never need the flows.
//! 2. On hypercubes and generalized hypercubes these trees are as shallow as any. On tori they are
//!    half as deep again: at each node the first trees take the arcs that lead away from the root,
//!    so the last trees must come round from the other side. Random exchanges at single nodes then
//!    make the trees shallower (simulated annealing).
//!
//! The trees depend on the network and the root alone. Random numbers start from a constant, and
//! all arithmetic is in integers, so every rank computes the same trees.
//!
//! # Results
//!
//! If there is a tree for each channel of the root, a lower bound of the depth is 1 more than the
//! largest distance from a neighbour of the root, on paths that avoid the root. On a ring of N
//! nodes that is N - 1, on hypercubes and most tori the diameter and 1. Otherwise the bound is the
//! largest distance from the root.
//!
//! | networks | depth |
//! |---|---|
//! | rings, hypercubes, generalized hypercubes, complete networks | the bound |
//! | tori of two dimensions with extents from 4 to 32 | up to 2 more; 0 or 1 on 98 % of them |
//! | tori of three dimensions with extents from 2 to 8 | up to 1 more |
//! | meshes | up to 4 more |
//! | tori with one extent dozens of times the others | far above the bound |
//!
//! On a torus of 2 x n or 3 x n nodes there are more trees than channels from each position along n
//! to the next. So one tree must come round, and the depth is about n.
//!
//! In an optimised build, 256 nodes take up to 10 ms and 1024 nodes 3 to 170 ms. Where nodes have
//! dozens of channels, they take up to half a second.
//!
//! [`forest`] has trees under construction, [`growth`] the first step and the flows, [`annealing`]
//! the second step, [`packing`] both. [`streams`] sends chunks along the trees, in both directions.

mod annealing;
mod forest;
mod growth;
mod packing;
mod streams;

pub(super) use streams::{NEEDS, NEEDS_TO_COMBINE, Streams, lacks, lacks_to_combine};
