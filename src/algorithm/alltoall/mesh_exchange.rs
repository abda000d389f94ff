//! Message-combining alltoall on a mesh.
//!
//! Source: Suh & Shin, IEEE TPDS 2001, §4, for even extents. Differs from the paper as
//! `torus-exchange` does; and in the last phase, the parity of the coordinate along which a message
//! moves decides its direction. For odd extents the paper's virtual nodes do not work; there the
//! dimensions are taken one after the other, over folded rings. Needs: a line or mesh, a rank on
//! every node; extents of 1 do not count. Model: one-port, cut-through.
//!
//! With n >= 2 dimensions, all extents even, N nodes and N1 the longest extent:
//!
//! | term | per rank | paper |
//! |---|---|---|
//! | startups | n N1/2 | §4.1, Table 1 |
//! | blocks sent | n/4 N1 N | §4.1, Table 1 |
//! | hops | n/2 ((N1 - 2)^2 + 2) | §4.1, Table 1 |
//! | rearrangements | n (0 if N1 = 2: the first n phases are empty) | §4.1, Table 1 |
//!
//! Other meshes, and lines, and all with `rings=folded`: the sum over the dimensions, k the extent.
//! The g >= 2 dimensions of one even extent are combined, with l = k/2.
//!
//! | term | alone | g together |
//! |---|---|---|
//! | startups | k - 1 | g l |
//! | blocks sent | floor(k^2/4) N/k | g (floor(l^2/4)/l + 1/2) N |
//! | hops | 2 (k - 1), 1 if k = 2 | g (4 (l - 1) + 1), 3 g if l = 2 |
//!
//! The rearrangements are one less than the phases: a phase for each dimension (none for g together
//! of k = 2), one for units if any go together. On square meshes of even extent, this takes as many
//! start-ups as the paper's and, from 6 x 6 on, fewer blocks (12 x 12: 576 instead of 864) and no
//! more hops (42 instead of 204).
//!
//! Contention-free. A rank takes time and memory in proportion to the blocks that it sends, as in
//! the tables. Lower bounds: N - 1 blocks with one port, N N1/4 by the bisection, which is met on a
//! line of even extent.
//!
//! # Idea
//!
//! As on a torus, in cells of two instead of four. Nodes of one parity in a row form a logical
//! ring: each sends to the next of its parity, two hops up, and the last back to the first over the
//! channels down, which no other message uses. A row has room for one parity; so nodes whose
//! coordinates have an even sum take the row first, the others the column.
//!
//! ```text
//! mesh, row of 6, even nodes:     0 > . > 2 > . > 4      up: 0 to 2 and 2 to 4; down: 4 to 0
//! line of 7, folded:              0 2 4 6 5 3 1          up: 0 to 2 to 4 to 6;
//!                                                        down: 6 to 5 to 3 to 1 to 0
//! ```
//!
//! The message back makes hops long. Where the paper's ring is not used, the ring is folded over
//! the line, up over the even places and back over the odd ones: then neighbours in the ring are at
//! most two places apart, each channel still has one message per round, and each block can take the
//! shorter direction.
//!
//! # Why it is correct
//!
//! 1. Nodes that exchange in a phase have equal parities, and so the same class and the same order
//!    of digits; all nodes correct units in the same order. Hence [the blocks of a node are a
//!    product](super::digits), and every block arrives.
//! 2. No channel carries two transfers in a round: the messages up a logical ring lie end to end,
//!    and so do those down; each row has one logical ring. Units are exchanged over the channel
//!    between two neighbours.
//!
//! # Notation
//!
//! The paper's step is our round, its group EE, EO, OE or OO the nodes of equal parities.

use std::sync::Arc;

use super::cells::{Cells, DimensionGroup, by_extent, no_rank_on_every_node};
use super::digits::{Walk, Way};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::Rank;
use crate::topology::Grid;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// Suh & Shin's exchange on meshes, extended to all extents.
///
/// On 4 x 6 nodes; each arrow is a message, and no channel carries two at a time:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/mesh-exchange.svg"))]
#[derive(Clone, Debug, Default)]
pub struct MeshExchange(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "mesh-exchange",
    summary: "message combining: cell by cell, then neighbour to neighbour",
    source: "Suh & Shin 2001, 4; for odd extents own work",
    needs: "a line or mesh, with a rank on every node",
    claims: "n >= 2 dimensions, even, the longest N1: n N1/2 start-ups, n/4 N1 N blocks, n/2 ((N1 - 2)^2 + 2) hops, n rearrangements (0 if N1 = 2); \
             else, and with rings=folded, the sum over extents k: k - 1 start-ups, floor(k^2/4) N/k blocks, 2 (k - 1) hops (1 if k = 2), equal even extents \
             k/2 start-ups, (floor(l^2/4)/l + 1/2) N blocks with l = k/2, 2 k - 3 hops (3 if k = 4); contention-free",
    ports: Ports::One,
};

static RINGS: Parameter = Parameter {
    key: "rings",
    summary: "if all extents are even: the rings of the paper, which wrap from the last node to the first, or folded rings",
    values: Values::Words(&["wrapped", "folded"]),
    default: 0,
};

const FOLDED: usize = 1;

impl MeshExchange {
    fn cells(&self, mesh: &Grid) -> Cells {
        cells(mesh, self.0.of(&RINGS) == FOLDED)
    }
}

impl Algorithm for MeshExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        std::slice::from_ref(&RINGS)
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    /// Folded rings, if they are not used by default.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let folded = Self(Settings::default().with(&RINGS, FOLDED));
        let differs = mesh(problem).is_some_and(|mesh| self.cells(&mesh) != folded.cells(&mesh));
        if differs { vec![Arc::new(folded)] } else { vec![] }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_rank_on_every_node(problem).or_else(|| mesh(problem).is_none().then(|| "it needs a mesh".to_owned()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        mesh(problem).map(|mesh| self.cells(&mesh).claims()).unwrap_or_default()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        mesh(problem).map(|mesh| self.cells(&mesh).phases()).unwrap_or_default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        match mesh(problem) {
            Some(mesh) => self.cells(&mesh).digits().share(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        match mesh(problem) {
            Some(mesh) => self.cells(&mesh).digits().amounts(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }
}

fn mesh(problem: &Problem) -> Option<Grid> {
    Grid::of(&**problem.topology()).filter(|grid| !grid.wraps())
}

/// Groups the dimensions: all together if the paper's conditions hold and its rings are used, else
/// those that gain by it.
fn cells(mesh: &Grid, folded: bool) -> Cells {
    let extent = |dimension: usize| mesh.extents()[dimension];
    let of_two = |dimensions: &[usize], walk, way| {
        let together = dimensions.len() > 1 && dimensions.iter().all(|&dimension| extent(dimension).is_multiple_of(2));
        together.then(|| DimensionGroup { dimensions: dimensions.to_vec(), cell: 2, walk, way })
    };
    let alone = |&dimension: &usize| DimensionGroup {
        dimensions: vec![dimension],
        cell: 1,
        walk: Walk::BothWays,
        way: Way::Folded,
    };
    let dimensions = by_extent(mesh);
    let groups = match of_two(&dimensions, Walk::OneWay, Way::Line).filter(|_| !folded) {
        Some(all) => vec![all],
        None => dimensions
            .chunk_by(|&a, &b| extent(a) == extent(b))
            .flat_map(|equal| {
                let together = of_two(equal, Walk::BothWays, Way::Folded);
                together.map_or_else(|| equal.iter().map(alone).collect(), |group| vec![group])
            })
            .collect(),
    };
    Cells::new(mesh, groups)
}
