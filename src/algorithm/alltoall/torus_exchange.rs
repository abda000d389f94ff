//! Message-combining alltoall on a torus.
//!
//! Source: Suh & Shin, IEEE TPDS 2001, §3.1 (two dimensions), §3.2 (n dimensions), for extents that
//! are multiples of four. Differs from the paper: blocks within a message are ordered so that
//! blocks that are forwarded together lie together; dimensions are taken from the longest to the
//! shortest, of equal ones the last first (the paper numbers them so). For other extents the
//! paper's virtual nodes do not work; there the dimensions are taken one after the other. Needs: a
//! ring or torus, a rank on every node; extents of 1 do not count. Model: one-port, cut-through.
//!
//! With n >= 2 dimensions, all extents multiples of four, N nodes and N1 the longest extent:
//!
//! | term | per rank | paper |
//! |---|---|---|
//! | startups | n (N1/4 + 1) | §3.1.4, Table 1 |
//! | blocks sent | n/8 (N1 + 4) N | §3.1.4, Table 1 |
//! | hops | n (N1 - 1) | §3.1.4, Table 1 |
//! | blocks forwarded, were each node to store them | n/2 (N1 - 1) N | |
//! | rearrangements | n + 1 (1 if N1 = 4: the first n phases are empty) | §3.1.4, Table 1 |
//!
//! Other tori: the sum over the dimensions, k the extent, l = k/2. Dimensions whose extents are
//! equal and multiples of four are combined, as above.
//!
//! | term | k even | k odd |
//! |---|---|---|
//! | startups | l | k - 1 |
//! | blocks sent | (floor(l^2/4)/l + 1/2) N, so (k/8 + 1/2) N for multiples of four | floor(k^2/4) N/k |
//! | hops | k - 1 | k - 1 |
//!
//! The rearrangements are one less than the phases: a phase for each dimension (none for an even
//! k = 2), one for halves of cells of four if there are any, one for units if any extent is even.
//!
//! Contention-free. A rank takes time and memory in proportion to the blocks that it sends, as in
//! the tables. Lower bounds: N - 1 blocks with one port, N N1/8 by the bisection.
//!
//! # Idea
//!
//! Write each coordinate as cell · 4 + half · 2 + unit. A block moves to its destination digit by
//! digit: first the cells, one dimension per phase, in hops of four, around the rings that nodes of
//! equal `x mod 4` form; then the halves, in hops of two within a cell of four; then the units,
//! between neighbours. A node sends the blocks that have the same digit to correct as one message.
//!
//! ```text
//! 12 x 12, node (0,0), class 0:   o---o---o---o---o---o---o---o---o---o---o---o
//! phase 1, +c, two rounds         0 ------------> 4 ------------> 8                4 hops a round
//! phase 2, +r, two rounds         the same down the column
//! phase 3                         0 ----> 2 along c, then along r                  2 hops
//! phase 4                         0 > 1 along c, then along r                      1 hop
//! ```
//!
//! In a row, all four residues mod 4 need the ring at once, but a ring has room for one residue up
//! and one down. So the class of a node, the sum of its coordinates mod 4, decides: two classes
//! take the row, one up and one down, while the other two take the column; in the next phase they
//! swap.
//!
//! A single dimension has room for two residues, so it has cells of two: even nodes send up while
//! odd nodes send down, and they swap after every round, so that each block takes the shorter
//! direction. An odd extent has no cells; there all nodes send up, then all down, from neighbour to
//! neighbour.
//!
//! ```text
//! ring of 8, node 0:   0 ----> 2 ----> 4,   6 <---- 0,   0 > 1          rounds 1 and 3, round 2, round 4
//!            node 1:   5 <---- 7 <---- 1,   1 ----> 3,   0 < 1
//! ```
//!
//! # Why it is correct
//!
//! 1. Nodes that exchange in a phase correct the digits in the same order: the nodes of one ring
//!    have equal residues, and so the same class; a hop of two changes the class by two, which
//!    changes directions but not dimensions; all nodes correct units in the same order. Hence [the
//!    blocks of a node are a product](super::digits), and every block arrives.
//! 2. No channel carries two transfers in a round: on one ring, in one direction, only nodes of one
//!    residue send, and their hops of four (of two in cells of two) meet end to end. Within cells,
//!    no other message uses the channels between the two nodes of a pair.
//!
//! # Notation
//!
//! The paper's step is our round, its submesh SM our cell, its group the nodes of equal residues.

use super::cells::{Cells, DimensionGroup, by_extent, no_rank_on_every_node};
use super::digits::{Walk, Way};
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::topology::Grid;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// Suh & Shin's exchange on tori, extended to all extents.
///
/// On 8 x 8 nodes; each arrow is a message, and no channel carries two at a time:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/torus-exchange.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct TorusExchange;

static ABOUT: About = About {
    collective: "alltoall",
    name: "torus-exchange",
    summary: "message combining: cell by cell, then half by half, then neighbour to neighbour",
    source: "Suh & Shin 2001, 3.1 and 3.2; other extents: own work",
    needs: "a ring or torus, with a rank on every node",
    claims: "n >= 2 dimensions, multiples of 4, the longest N1: n (N1/4 + 1) start-ups, n/8 (N1 + 4) N blocks, n (N1 - 1) hops, \
             n + 1 rearrangements (1 if N1 = 4); else the sum over extents k: k/2 start-ups if even, k - 1 if odd, k - 1 hops, \
             (floor(l^2/4)/l + 1/2) N blocks with l = k/2 if even, floor(k^2/4) N/k if odd; contention-free",
    ports: Ports::One,
};

impl Algorithm for TorusExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_rank_on_every_node(problem).or_else(|| torus(problem).is_none().then(|| "it needs a torus".to_owned()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        torus(problem).map(|torus| cells(&torus).claims()).unwrap_or_default()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        torus(problem).map(|torus| cells(&torus).phases()).unwrap_or_default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        match torus(problem) {
            Some(torus) => cells(&torus).digits().share(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        match torus(problem) {
            Some(torus) => cells(&torus).digits().amounts(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }
}

fn torus(problem: &Problem) -> Option<Grid> {
    Grid::of(&**problem.topology()).filter(|grid| grid.wraps())
}

/// Groups the dimensions: all together if the paper's conditions hold, else those that gain by it.
fn cells(torus: &Grid) -> Cells {
    let extent = |dimension: usize| torus.extents()[dimension];
    let of_four = |dimensions: &[usize]| {
        let together = dimensions.len() > 1 && dimensions.iter().all(|&dimension| extent(dimension).is_multiple_of(4));
        together.then(|| DimensionGroup {
            dimensions: dimensions.to_vec(),
            cell: 4,
            walk: Walk::OneWay,
            way: Way::Ring,
        })
    };
    let alone = |&dimension: &usize| {
        let cell = if extent(dimension).is_multiple_of(2) { 2 } else { 1 };
        DimensionGroup { dimensions: vec![dimension], cell, walk: Walk::BothWays, way: Way::Ring }
    };
    let dimensions = by_extent(torus);
    let groups = match of_four(&dimensions) {
        Some(all) => vec![all],
        // Equal extents cost as many blocks together as separately, and fewer start-ups; unequal
        // ones would cost more blocks.
        None => dimensions
            .chunk_by(|&a, &b| extent(a) == extent(b))
            .flat_map(|equal| of_four(equal).map_or_else(|| equal.iter().map(alone).collect(), |group| vec![group]))
            .collect(),
    };
    Cells::new(torus, groups)
}
