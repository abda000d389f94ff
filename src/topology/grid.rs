//! Lines, rings, meshes and tori of any dimensions and extents.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Neighbours, Topology};
use crate::ids::{MAX_NODES, Node};

/// A position in a grid, a coordinate a dimension.
pub type Coordinates = SmallVec<[usize; 4]>;

/// A line, ring, mesh or torus: nodes at integer coordinates, linked along each dimension.
///
/// Nodes are numbered row-major, the last dimension fastest. An extent of 2 has one link, an extent of 1 none. Routes
/// correct the last dimension first, and go up where both ways round a ring are equally long.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    extents: SmallVec<[usize; 4]>,
    wraps: bool,
}

impl Grid {
    /// Nodes in a row. `None` unless `1 <= extent <= MAX_NODES`.
    #[must_use]
    pub fn line(extent: usize) -> Option<Self> {
        Self::mesh(&[extent])
    }

    /// Nodes in a circle. `None` unless `1 <= extent <= MAX_NODES`.
    #[must_use]
    pub fn ring(extent: usize) -> Option<Self> {
        Self::torus(&[extent])
    }

    /// A product of lines. `None` unless there is a dimension, no extent is 0, and there are at most
    /// [`MAX_NODES`] nodes.
    #[must_use]
    pub fn mesh(extents: &[usize]) -> Option<Self> {
        Self::new(extents, false)
    }

    /// A product of rings. `None` unless there is a dimension, no extent is 0, and there are at most
    /// [`MAX_NODES`] nodes.
    #[must_use]
    pub fn torus(extents: &[usize]) -> Option<Self> {
        Self::new(extents, true)
    }

    fn new(extents: &[usize], wraps: bool) -> Option<Self> {
        let nodes = extents.iter().try_fold(1_usize, |nodes, &extent| nodes.checked_mul(extent))?;
        (!extents.is_empty() && (1..=MAX_NODES).contains(&nodes))
            .then(|| Self { extents: extents.iter().copied().collect(), wraps })
    }

    /// The length of each dimension.
    #[must_use]
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Whether dimensions close to rings.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// Where a node is.
    #[must_use]
    pub fn coordinates(&self, node: Node) -> Coordinates {
        let mut rest = node.index();
        let mut at: Coordinates = self
            .extents
            .iter()
            .rev()
            .map(|&extent| {
                let coordinate = rest % extent;
                rest /= extent;
                coordinate
            })
            .collect();
        at.reverse();
        at
    }

    /// The node at a position. Coordinates must be below their extents.
    #[must_use]
    pub fn node(&self, at: &[usize]) -> Node {
        Node::new(self.extents.iter().zip(at).fold(0, |node, (&extent, &x)| node * extent + x))
    }

    /// The nodes from `from` on along `dimension`, `hops` channels up or down; both ends included. Along a line it ends
    /// at the border.
    #[must_use]
    pub fn walk(&self, from: Node, dimension: usize, up: bool, hops: usize) -> Vec<Node> {
        let extent = self.extents.get(dimension).copied().unwrap_or(1);
        let mut at = self.coordinates(from);
        let mut path = Vec::with_capacity(hops + 1);
        path.push(from);
        for _ in 0..hops {
            let Some(next) = self.step(at[dimension], extent, up) else { break };
            at[dimension] = next;
            path.push(self.node(&at));
        }
        path
    }

    /// The coordinate next to `x` in a dimension of that extent.
    fn step(&self, x: usize, extent: usize, up: bool) -> Option<usize> {
        match (up, self.wraps && extent > 1) {
            (true, _) if x + 1 < extent => Some(x + 1),
            (false, _) if x > 0 => Some(x - 1),
            (true, true) => Some(0),
            (false, true) => Some(extent - 1),
            (_, false) => None,
        }
    }

    /// The shorter way from one coordinate to another: up or not, and how far.
    fn way(&self, from: usize, to: usize, extent: usize) -> (bool, usize) {
        let up = (to + extent - from) % extent;
        match self.wraps {
            true if up <= extent - up => (true, up),
            true => (false, extent - up),
            false => (to > from, to.abs_diff(from)),
        }
    }
}

impl Topology for Grid {
    fn nodes(&self) -> usize {
        self.extents.iter().product()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let at = self.coordinates(node);
        let mut found = Neighbours::new();
        for (dimension, &extent) in self.extents.iter().enumerate() {
            for up in [false, true] {
                if let Some(next) = self.step(at[dimension], extent, up) {
                    let mut there = at.clone();
                    there[dimension] = next;
                    found.push(self.node(&there));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        let (a, b) = (self.coordinates(from), self.coordinates(to));
        let hops = |(d, &extent): (usize, &usize)| self.way(a[d], b[d], extent).1;
        self.extents.iter().enumerate().map(hops).sum()
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let target = self.coordinates(to);
        let mut path = vec![from];
        let mut here = from;
        for (dimension, &extent) in self.extents.iter().enumerate().rev() {
            let (up, hops) = self.way(self.coordinates(here)[dimension], target[dimension], extent);
            let leg = self.walk(here, dimension, up, hops);
            here = leg.last().copied().unwrap_or(here);
            path.extend_from_slice(&leg[1..]);
        }
        path
    }

    fn text(&self) -> String {
        let extents: Vec<String> = self.extents.iter().map(ToString::to_string).collect();
        let kind = match (self.extents.len(), self.wraps) {
            (1, true) => "ring",
            (1, false) => "line",
            (_, true) => "torus",
            (_, false) => "mesh",
        };
        format!("{kind}:{}", extents.join("x"))
    }

    fn as_grid(&self) -> Option<&Grid> {
        Some(self)
    }

    fn cube(&self) -> Option<u32> {
        self.extents.iter().all(|&extent| extent == 2).then_some(self.extents.len() as u32)
    }

    fn part(&self, nodes: &[Node]) -> Option<(Arc<dyn Topology>, Vec<Node>)> {
        let _ = nodes;
        None
    }
}
