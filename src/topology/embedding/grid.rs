//! Meshes, tori, rings and windows, in hosts of one dimension and of as many as the guest.

use super::shape::{GuestGrid, HostShape};
use crate::ids::Node;
use crate::topology::{Grid, Topology};

/// Keeps all coordinates. In one dimension, the shorter dimensions go faster.
///
/// Source: Q. Wang, dissertation, 1999, sections 3.2.1 (function H) and 4.2. The dilation of a mesh
/// of two dimensions in one is ceil(min / w), for its shorter extent and the window; that of a
/// torus link round an extent e is ceil((e - 1) / w) where coordinates stay. Differs from it: in as
/// many dimensions as the guest, the congestion of a torus is 2 if e - 1 > w and e - 1 = 1 modulo w,
/// since the link round a row ends with a jump of 1.
pub(super) fn straight(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    by_coordinates(guest, host, |_, coordinate, _| coordinate)
}

/// Folds each ring: one half of its nodes goes up by steps of 2, the other comes back between them.
///
/// Source: Q. Wang, dissertation, 1999, sections 3.1 (function G), 3.2.2 and 4.1. The dilation of a
/// ring is 1 from a window of 2 on. Differs from section 4.2, which has no torus of dilation 1 in
/// two dimensions: folded, it has.
pub(super) fn fold(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let folds = GuestGrid::of_any(guest)?.wraps.contains(&true);
    let place = |extent, coordinate, wraps| if wraps { folded(extent, coordinate) } else { coordinate };
    if folds { by_coordinates(guest, host, place) } else { None }
}

/// Returns the place of a node of a folded ring.
pub(super) fn folded(nodes: usize, node: usize) -> usize {
    if node > (nodes - 1) / 2 { 2 * (nodes - 1 - node) + 1 } else { 2 * node }
}

/// Maps coordinates one by one. `place` has the extent, the coordinate, and whether the dimension
/// is a ring.
fn by_coordinates(
    guest: &dyn Topology,
    host: &dyn Topology,
    place: impl Fn(usize, usize, bool) -> usize,
) -> Option<Vec<Node>> {
    let (guest, host) = (GuestGrid::of_any(guest)?, HostShape::of(host)?);
    let long: Vec<usize> = (0..guest.wraps.len()).filter(|&dimension| guest.grid.extents()[dimension] > 1).collect();
    let mut order = long;
    let shortest_last = |order: &mut Vec<usize>| order.sort_by_key(|&one| std::cmp::Reverse(guest.grid.extents()[one]));
    let of = |order: &[usize]| order.iter().map(|&dimension| guest.grid.extents()[dimension]).collect::<Vec<usize>>();
    let grid = if host.grid.extents().len() == 1 {
        shortest_last(&mut order);
        Grid::mesh(&if order.is_empty() { vec![1] } else { of(&order) }).ok()?
    } else {
        let fit = |order: &[usize]| of(order).iter().zip(host.grid.extents()).all(|(extent, most)| extent <= most);
        if order.len() != host.grid.extents().len() {
            return None;
        }
        if !fit(&order) {
            // The longest dimension of the guest goes along the longest of the host.
            let mut lengths: Vec<usize> = (0..order.len()).collect();
            lengths.sort_by_key(|&one| std::cmp::Reverse(host.grid.extents()[one]));
            shortest_last(&mut order);
            let mut sorted = vec![0; order.len()];
            lengths.iter().zip(&order).for_each(|(&at, &dimension)| sorted[at] = dimension);
            order = sorted;
        }
        if !fit(&order) {
            return None;
        }
        host.grid
    };
    let node = |index| {
        let coordinates = guest.grid.coordinates(Node::new(index));
        let place = |&one: &usize| place(guest.grid.extents()[one], coordinates[one], guest.wraps[one]);
        let at: Vec<usize> = order.iter().map(place).collect();
        grid.node(if at.is_empty() { &[0] } else { &at })
    };
    Some((0..guest.grid.nodes()).map(node).collect())
}

/// Puts a ring into windows of w: w - 1 nodes of each on the way up, one step after the other, and
/// the last one on the way back, by jumps of w.
///
/// Source: Q. Wang, dissertation, 1999, section 3.1 (function G'). The dilation is 1.
pub(super) fn express(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (nodes, host) = (GuestGrid::of(guest)?.ring()?, HostShape::of(host)?);
    let &[window] = &host.reach[..] else { return None };
    // The window of a complete network is as wide as a small ring, which then goes straight up.
    let window = window.min(nodes - 1);
    if window < 3 {
        return None;
    }
    let mut at = vec![Node::new(0); nodes];
    for x in 0..nodes {
        let (full, place) = (x / window, x % window);
        let coordinate = if place + 1 < window { (window - 1) * full + place } else { nodes - 1 - full };
        at[coordinate] = Node::new(x);
    }
    Some(at)
}

/// Numbers a mesh of two dimensions along its diagonals, each in the direction of the longer
/// dimension.
///
/// Source: Q. Wang, dissertation, 1999, section 3.2.1 (figure 3.6). The dilation is that of
/// [`straight`].
pub(super) fn diagonals(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (guest, host) = (GuestGrid::of(guest)?, HostShape::of(host)?);
    if guest.wraps.contains(&true) || guest.wraps.len() != 2 || host.grid.extents().len() != 1 {
        return None;
    }
    let longer = usize::from(guest.grid.extents()[0] < guest.grid.extents()[1]);
    let mut order: Vec<usize> = (0..guest.grid.nodes()).collect();
    order.sort_by_key(|&node| {
        let at = guest.grid.coordinates(Node::new(node));
        (at[0] + at[1], at[longer])
    });
    let mut at = vec![Node::new(0); order.len()];
    order.into_iter().enumerate().for_each(|(place, node)| at[node] = Node::new(place));
    Some(at)
}
