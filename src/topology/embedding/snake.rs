//! Rings and lines of any length in two dimensions and more, along rows.

use super::grid::folded;
use super::shape::{GuestGrid, HostShape};
use crate::ids::Node;
use crate::topology::{Coordinates, Grid, Topology};

/// Leads a ring through the rows, forth and back in turn, without the first column, through which
/// it returns. In three dimensions and more, a row is next to another one that differs by 1 in one
/// coordinate. In a hypercube this is a reflected Gray code. A line is led forth and back through all
/// columns, with dilation 1.
///
/// The dilation of a ring is 1 if the length is even, or if links reach over two coordinates of a
/// dimension, or if the ring is at least as long as a dimension of odd extent that wraps round. Else it
/// is 2, on one link: the ring is that of one node more without one of its nodes, or that of one node
/// less with a node beside it.
///
/// Source: Q. Wang, dissertation, 1999, section 4.1 (figures 4.1 and 4.2). Rings in dimensions that wrap
/// round and rings of dilation 2 are own work.
pub(super) fn snake(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (guest, host) = (GuestGrid::of(guest)?, HostShape::of(host)?);
    if host.grid.extents().len() < 2 {
        return None;
    }
    if let Some(nodes) = guest.line() {
        return Some((0..nodes).map(|place| host.grid.node(&reflected(&host.grid, place))).collect());
    }
    let nodes = guest.ring()?;
    unit_ring(nodes, &host)
        .or_else(|| round_ring(nodes, &host))
        .or_else(|| passing(unit_ring(nodes + 1, &host)?, &host))
        .or_else(|| with_one_beside(nodes, &host))
}

/// Folds a ring along a walk through all rows in turn: one half of its nodes goes out by steps of 2,
/// the other comes back between them.
///
/// The dilation is at most 2. Where links reach over two coordinates, only links of the ring that turn
/// into another row take two hops.
///
/// Source: own work, after the fold in one dimension.
pub(super) fn fold(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (nodes, host) = (GuestGrid::of(guest)?.ring()?, HostShape::of(host)?);
    let place = |node| host.grid.node(&reflected(&host.grid, folded(nodes, node)));
    (host.grid.extents().len() > 1).then(|| (0..nodes).map(place).collect())
}

/// Removes a node from a ring: if possible one in a straight line, through which the path between its
/// neighbours then leads.
fn passing(mut ring: Vec<Node>, host: &HostShape) -> Option<Vec<Node>> {
    let is_straight = |at: &usize| distances(&host.grid, ring[at - 1], ring[at + 1]).filter(|&by| by > 0).count() == 1;
    let at = (1..ring.len().checked_sub(1)?).find(is_straight).unwrap_or(0);
    ring.remove(at);
    Some(ring)
}

/// Returns a ring of one node less and a free node, inserted after a node to which it is adjacent.
fn with_one_beside(nodes: usize, host: &HostShape) -> Option<Vec<Node>> {
    let mut ring = unit_ring(nodes - 1, host)?;
    let mut free = vec![true; host.grid.nodes()];
    ring.iter().for_each(|node| free[node.index()] = false);
    let (at, node) = (0..free.len()).filter(|&node| free[node]).map(Node::new).find_map(|node| {
        let beside = |&at: &Node| distances(&host.grid, at, node).sum::<usize>() == 1;
        ring.iter().position(beside).map(|at| (at, node))
    })?;
    ring.insert(at + 1, node);
    Some(ring)
}

/// Returns how far two nodes are apart in each dimension.
fn distances(grid: &Grid, one: Node, other: Node) -> impl Iterator<Item = usize> {
    grid.coordinates(one).into_iter().zip(grid.coordinates(other)).map(|(x, y)| x.abs_diff(y))
}

/// Returns the nodes of a ring whose links are channels of the host.
fn unit_ring(nodes: usize, host: &HostShape) -> Option<Vec<Node>> {
    let extents = host.grid.extents();
    let cycles = (0..extents.len()).rev().filter_map(|dimension| {
        let columns = extents[dimension];
        let cycle = cycle(nodes, host.grid.nodes() / columns, columns, host.reach[dimension] > 1)?;
        Some((cycle, dimension))
    });
    let (Cycle { rows, columns, left_out }, dimension) = cycles.min_by_key(|(cycle, _)| cycle.key())?;
    along_rows(host, dimension, places(rows, columns, left_out))
}

/// Returns the nodes in these rows and columns. Columns are the coordinates of a dimension, and rows
/// those of the others, each next to the row before.
fn along_rows(host: &HostShape, dimension: usize, places: Vec<(usize, usize)>) -> Option<Vec<Node>> {
    let extents = host.grid.extents();
    let others: Vec<usize> = (0..extents.len()).filter(|&other| other != dimension).collect();
    let row_shape = Grid::mesh(&others.iter().map(|&other| extents[other]).collect::<Vec<_>>()).ok()?;
    let node = |(row, column): (usize, usize)| {
        let mut at = vec![column; extents.len()];
        others.iter().zip(reflected(&row_shape, row)).for_each(|(&other, x)| at[other] = x);
        host.grid.node(&at)
    };
    Some(places.into_iter().map(node).collect())
}

/// Returns the nodes of a ring of odd length that goes once round a dimension of odd extent, with its
/// links channels of the host.
///
/// It leaves the first row in every other column, goes up to a row and comes back in the next column.
/// On the way up, it may visit the last column from two rows that follow each other.
fn round_ring(nodes: usize, host: &HostShape) -> Option<Vec<Node>> {
    let extents = host.grid.extents();
    let is_odd_ring = |&dimension: &usize| host.wraps[dimension] && extents[dimension] % 2 == 1;
    let dimension = (0..extents.len()).filter(is_odd_ring).min_by_key(|&dimension| extents[dimension])?;
    let (columns, rows) = (extents[dimension], host.grid.nodes() / extents[dimension]);
    // Each detour to a row more takes two nodes.
    let mut pairs = nodes.checked_sub(columns).filter(|more| more % 2 == 0)? / 2;
    let mut ring = vec![];
    for column in (0..columns - 1).step_by(2) {
        let highest = pairs.min(rows - 1);
        pairs -= highest;
        let is_last = column + 3 == columns;
        ring.extend((0..=highest).map(|row| (row, column)));
        for row in (0..=highest).rev() {
            ring.push((row, column + 1));
            // From row to row - 1 by way of the last column.
            if is_last && pairs > 0 && row >= 2 && row % 2 == 0 {
                pairs -= 1;
                ring.extend([(row, column + 2), (row - 1, column + 2)]);
            }
        }
    }
    ring.push((0, columns - 1));
    if pairs > 0 { None } else { along_rows(host, dimension, ring) }
}

/// The rows and columns that a ring visits, except for some nodes.
struct Cycle {
    rows: usize,
    columns: usize,
    left_out: usize,
}

impl Cycle {
    /// Returns whether a step over two columns is needed: for an odd length, and for a single row.
    fn jumps(&self) -> bool {
        self.rows == 1 || (self.rows * self.columns - self.left_out) % 2 == 1
    }

    /// The least is the best: without jumps, and nearly square.
    fn key(&self) -> (bool, usize) {
        (self.jumps(), self.rows + self.columns)
    }
}

fn cycle(nodes: usize, most_rows: usize, most_columns: usize, may_jump: bool) -> Option<Cycle> {
    let all = (1..=most_rows.min(nodes)).filter_map(|rows| {
        let columns = nodes.div_ceil(rows);
        let cycle = Cycle { rows, columns, left_out: rows * columns - nodes };
        let narrow = columns < if cycle.left_out > 0 { 3 } else { 2 };
        (columns <= most_columns && !narrow && (may_jump || !cycle.jumps())).then_some(cycle)
    });
    all.min_by_key(Cycle::key)
}

/// Returns rows and columns in the order of the ring. There are fewer nodes to leave out than rows.
fn places(rows: usize, columns: usize, left_out: usize) -> Vec<(usize, usize)> {
    let odd = left_out % 2;
    // Two rows that follow each other are shorter by one node each.
    let mut pairs = left_out / 2;
    let mut ring = Vec::with_capacity(rows * columns);
    let mut forth_and_back = |ring: &mut Vec<(usize, usize)>, rows: usize| {
        for row in 0..rows {
            let end = columns - usize::from(row / 2 < pairs);
            let middle = (1..end).map(|column| (row, column));
            if row % 2 == 0 { ring.extend(middle) } else { ring.extend(middle.rev()) }
        }
        pairs -= pairs.min(rows / 2);
        pairs
    };
    if rows.is_multiple_of(2) {
        forth_and_back(&mut ring, rows);
        if odd == 1 {
            // The last step before the first column is over two.
            ring.pop();
        }
        ring.extend((0..rows).rev().map(|row| (row, 0)));
    } else if (rows * columns - left_out) % 2 == 1 || rows == 1 {
        // In the last row, out over the odd columns and back over the even ones.
        forth_and_back(&mut ring, rows - 1);
        let end = columns - odd;
        ring.extend((1..end).step_by(2).chain((0..end).step_by(2).rev()).map(|column| (rows - 1, column)));
        ring.extend((0..rows - 1).rev().map(|row| (row, 0)));
    } else {
        // Through the last two rows, down and up in turn.
        let left = forth_and_back(&mut ring, rows - 3);
        ring.extend((1..columns).map(|column| (rows - 3, column)));
        for column in (0..columns).rev() {
            let (mut first, mut second) = (rows - 2, rows - 1);
            if (columns - column).is_multiple_of(2) {
                std::mem::swap(&mut first, &mut second);
            }
            let passed = left > 0 && column + 2 >= columns || odd == 1 && column == 0;
            ring.extend([first, second].into_iter().filter(|&row| !passed || row == rows - 2).map(|row| (row, column)));
        }
        ring.extend((0..rows - 2).rev().map(|row| (row, 0)));
    }
    ring
}

/// Returns the position that comes in this place of a walk through a grid in which each step
/// changes one coordinate by 1.
fn reflected(grid: &Grid, place: usize) -> Coordinates {
    let mut at = grid.coordinates(Node::new(place));
    let mut before = 0;
    for (x, &extent) in at.iter_mut().zip(grid.extents()) {
        let digit = *x;
        // Every other walk through the dimensions from here on goes down.
        if before % 2 == 1 {
            *x = extent - 1 - digit;
        }
        before = before * extent + digit;
    }
    at
}
