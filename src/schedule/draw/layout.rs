//! The layout of a network: the positions of its nodes, and the lines of its links.
//!
//! Grids, cubes and other products have a direction for each dimension: right, down, obliquely into
//! the page, and from the fourth on as copies beside and below each other. Single rings and
//! complete networks are circles. Links of overlapping windows are [arcs](super::courses) beside
//! their row. Any other network is laid out by its distances ([`stress`](super::stress)).

use std::collections::HashMap;

use super::DrawError;
use super::courses::{Arcs, Course, bent};
use super::point::{Point, on_circle, point};
use super::stress;
use crate::ids::Node;
use crate::topology::{Factor, Grid, Topology};

/// The nodes and links of a network in the plane.
pub(super) struct Layout {
    /// The centre of each node.
    pub(super) at: Vec<Point>,
    /// The links that are drawn, the smaller node first.
    pub(super) links: Vec<(usize, usize)>,
    /// A description of the links that are not drawn.
    pub(super) unseen: Option<String>,
    pub(super) scale: Scale,
    axes: Vec<Axis>,
    /// The bend of links that would run through other nodes: their distance from the straight line,
    /// to the right from the smaller to the larger node, in lengths of the link.
    bends: HashMap<(usize, usize), f64>,
}

/// Sizes that depend on the number of nodes.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Radius of a node.
    pub(super) radius: f64,
    /// Distance of neighbours.
    pub(super) spacing: f64,
    /// Distance of arrows side by side.
    pub(super) lane: f64,
    /// Width of arrows.
    pub(super) stroke: f64,
    /// Whether there is room for numbers in the nodes.
    pub(super) labelled: bool,
}

impl Scale {
    fn of(nodes: usize) -> Self {
        let (radius, spacing, lane, stroke) = match nodes {
            0..=36 => (9.0, 54.0, 3.6, 1.6),
            37..=128 => (2.6, 30.0, 3.0, 1.3),
            129..=1024 => (2.0, 20.0, 2.2, 1.0),
            _ => (1.3, 12.0, 1.6, 0.6),
        };
        Self { radius, spacing, lane, stroke, labelled: nodes <= 36 }
    }
}

/// A dimension of a product: nodes that differ only in it form a line, a ring or a complete
/// network.
struct Axis {
    /// The difference of the numbers of adjacent nodes.
    stride: usize,
    extent: usize,
    /// Whether it is a ring of more than two nodes.
    ring: bool,
    /// Whether it is a complete network of more than two nodes, or windows that wrap round.
    complete: bool,
    /// The vector from a node to the next one.
    step: Point,
    /// The vector from the last node of a ring to the border of the picture.
    stub: Point,
    /// The arcs of overlapping windows, in the first three dimensions.
    arcs: Option<Arcs>,
}

/// The maximum number of nodes for which links are bent around nodes. In larger networks links are
/// hardly visible.
const MAX_BENDING_NODES: usize = 300;
/// The maximum number of links that are drawn.
const MAX_LINKS: usize = 20_000;
/// The maximum number of nodes of a complete network whose links are drawn.
const MAX_CHORD_NODES: usize = 16;

impl Layout {
    pub(super) fn new(topology: &dyn Topology) -> Result<Self, DrawError> {
        let nodes = topology.nodes();
        if nodes > super::MAX_NODES {
            return Err(DrawError::Nodes { topology: topology.text(), found: nodes });
        }
        let complete = nodes > 2 && topology.channels() == nodes * (nodes - 1);
        let (links, unseen) = links(topology, complete);
        let scale = Scale::of(nodes);
        let mut layout = Self { at: Vec::new(), links, unseen, scale, axes: Vec::new(), bends: HashMap::new() };
        match axes(topology, scale) {
            Some(axes) if axes.len() == 1 && (axes[0].ring || axes[0].complete) => {
                // On a circle only neighbours are close: a large one may be denser.
                let spacing = scale.spacing * if nodes > 16 { 0.65 } else { 1.0 };
                let chord = (on_circle(1, nodes, 1.0) - on_circle(0, nodes, 1.0)).length();
                let radius = (spacing / chord).max(scale.spacing * if axes[0].complete { 1.5 } else { 1.1 });
                layout.at = (0..nodes).map(|node| on_circle(node, nodes, radius)).collect();
            }
            Some(axes) => {
                layout.at = (0..nodes).map(|node| place(&axes, node)).collect();
                layout.axes = axes;
            }
            None => layout.at = stress::layout(nodes, &layout.links, &neighbours(topology), 1.25 * scale.spacing),
        }
        layout.bend();
        Ok(layout)
    }

    /// Returns the line of the channel from one node to another. Nodes without a link are joined by
    /// a straight line.
    pub(super) fn course(&self, from: usize, to: usize) -> Course {
        let around = self.axes.iter().find_map(|axis| {
            let (a, b) = (from / axis.stride % axis.extent, to / axis.stride % axis.extent);
            let alone = from.abs_diff(to) == axis.stride * (axis.extent - 1) && a.abs_diff(b) == axis.extent - 1;
            let out = if a > b { axis.stub } else { -axis.stub };
            (axis.ring && alone).then(|| Course::Around(self.at[from] + out, self.at[to] - out))
        });
        around.or_else(|| self.arc(from, to)).unwrap_or_else(|| {
            let bend = self.bends.get(&(from.min(to), from.max(to))).copied().unwrap_or(0.0);
            let bend = if from < to { bend } else { -bend };
            Course::Through(bent(self.at[from], self.at[to], bend))
        })
    }

    /// Returns the line of a channel of overlapping windows that is not straight. The opposite
    /// channel has another.
    pub(super) fn arc(&self, from: usize, to: usize) -> Option<Course> {
        self.axes.iter().find_map(|axis| {
            let (a, b) = (from / axis.stride % axis.extent, to / axis.stride % axis.extent);
            let alone = from != to && from + b * axis.stride == to + a * axis.stride;
            let arcs = axis.arcs.filter(|_| alone)?;
            arcs.course((a, self.at[from]), (b, self.at[to]), axis.step)
        })
    }

    /// Returns whether some links are arcs beside their row.
    pub(super) fn has_arcs(&self) -> bool {
        self.axes.iter().any(|axis| axis.arcs.is_some())
    }

    /// Returns whether links leave the picture on one side and come back on the other.
    pub(super) fn wraps(&self) -> bool {
        self.axes.iter().any(|axis| axis.ring || axis.arcs.is_some_and(|arcs| arcs.wraps))
    }

    /// Bends links that would run through nodes.
    fn bend(&mut self) {
        if self.at.len() > MAX_BENDING_NODES {
            return;
        }
        let clearance = self.scale.radius + self.scale.lane + 1.0;
        for &(u, v) in &self.links {
            if matches!(self.course(u, v), Course::Around(..)) || self.arc(u, v).is_some() {
                continue;
            }
            let (a, b) = (self.at[u], self.at[v]);
            let near = |path: &[Point]| {
                let others = self.at.iter().enumerate().filter(|&(w, _)| w != u && w != v);
                others.map(|(_, &p)| from_path(p, a, path, b)).fold(f64::INFINITY, f64::min)
            };
            if near(&[]) >= self.scale.radius + 1.5 {
                continue;
            }
            let bends = [-0.12, 0.12, -0.2, 0.2, -0.3, 0.3, -0.42, 0.42];
            let fits = bends.into_iter().find(|&bend| near(&bent(a, b, bend)) >= clearance);
            self.bends.insert((u, v), fits.unwrap_or(-0.2));
        }
    }
}

/// Returns the links to draw, and a description of those that are left out.
fn links(topology: &dyn Topology, complete: bool) -> (Vec<(usize, usize)>, Option<String>) {
    let (nodes, channels) = (topology.nodes(), topology.channels());
    if complete && nodes > MAX_CHORD_NODES {
        return (Vec::new(), Some("all nodes are linked with each other (links not drawn)".to_owned()));
    }
    if channels / 2 > MAX_LINKS {
        return (Vec::new(), Some(format!("{} links (not drawn)", channels / 2)));
    }
    let links = neighbours(topology)
        .into_iter()
        .enumerate()
        .flat_map(|(u, next)| next.into_iter().filter(move |&v| u < v).map(move |v| (u, v)));
    (links.collect(), None)
}

/// Returns the neighbours of each node, without those that do not exist.
fn neighbours(topology: &dyn Topology) -> Vec<Vec<usize>> {
    let nodes = topology.nodes();
    let of = |u| topology.neighbours(Node::new(u)).iter().map(|v| v.index()).filter(|&v| v < nodes).collect();
    (0..nodes).map(of).collect()
}

/// Returns the dimensions of extent 2 or more, the one that is drawn to the right first. `None` if
/// the network is not known as a product.
fn axes(topology: &dyn Topology, scale: Scale) -> Option<Vec<Axis>> {
    let mut axes = Vec::new();
    let mut nodes = 1_usize;
    for factor in topology.factors()?.into_iter().rev() {
        let (stride, extent) = (nodes, factor.extent());
        nodes = nodes.checked_mul(extent).filter(|&nodes| nodes > 0)?;
        let ring = extent > 2 && matches!(factor, Factor::Ring(_));
        // Links of windows that wrap round lie inside a circle.
        let chords = matches!(factor, Factor::Complete(_) | Factor::Windows { wraps: true, .. });
        let complete = extent > 2 && chords;
        let arcs = match factor {
            Factor::Windows { window, wraps, .. } if axes.len() < 3 && (window > 1 || wraps) => {
                Some(Arcs { extent, window, wraps, spacing: scale.spacing })
            }
            _ => None,
        };
        if extent > 1 {
            axes.push(Axis { stride, extent, ring, complete, step: Point::default(), stub: Point::default(), arcs });
        }
    }
    // Cubes are drawn from the bottom up, grids from the top down.
    direct(&mut axes, scale, topology.cube().is_some() && Grid::of(topology).is_none());
    (nodes == topology.nodes()).then_some(axes)
}

/// Sets the direction of each dimension.
fn direct(axes: &mut [Axis], scale: Scale, upward: bool) {
    let down = if upward { -1.0 } else { 1.0 };
    let oblique = point(0.52, -0.4) * scale.spacing;
    // Rows of all layers are at different heights, so that no line hides another.
    let side = axes.get(2).map_or(scale.spacing, |axis| (axis.extent as f64 + 1.0) * oblique.x.max(-oblique.y));
    // Between rows there is room for the arcs of both.
    let reach = axes.iter().filter_map(|axis| axis.arcs).map(Arcs::reach).fold(0.0, f64::max);
    let side = if axes.len() > 1 { side.max(2.0 * (reach + scale.radius)) } else { side };
    let mut size = point(0.0, 0.0);
    for (i, axis) in axes.iter_mut().enumerate() {
        let gap = 0.9 * side;
        axis.step = match i {
            0 => point(side, 0.0),
            1 => point(0.0, down * side),
            2 => oblique,
            _ if i % 2 == 1 => point(size.x + gap, 0.0),
            _ => point(0.0, down * (size.y + gap)),
        };
        let far = axis.step * (axis.extent as f64 - 1.0);
        size = size + point(far.x.abs(), far.y.abs());
        let stub = axis.step.length() * 0.5;
        axis.stub = axis.step.unit() * stub.min(scale.spacing * if i == 2 { 0.4 } else { 0.5 });
    }
}

fn place(axes: &[Axis], node: usize) -> Point {
    axes.iter().fold(point(0.0, 0.0), |at, axis| at + axis.step * (node / axis.stride % axis.extent) as f64)
}

/// Returns the distance of a point from a path.
fn from_path(p: Point, a: Point, path: &[Point], b: Point) -> f64 {
    let mut last = a;
    let mut nearest = f64::INFINITY;
    for &next in path.iter().chain([&b]) {
        nearest = nearest.min(p.off_segment(last, next));
        last = next;
    }
    nearest
}
