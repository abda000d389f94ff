//! Complete binary trees in hosts of one and two dimensions.

use super::shape::HostShape;
use crate::ids::Node;
use crate::topology::{BinaryTree, Topology};

/// Returns the tree that a guest is: the one with the same nodes, if it has the same links.
fn tree(guest: &dyn Topology) -> Option<BinaryTree> {
    let nodes = guest.nodes();
    let tree = BinaryTree::new((nodes + 1).ilog2() as usize).ok()?;
    let same = (0..nodes).map(Node::new).all(|node| guest.neighbours(node) == tree.neighbours(node));
    (tree.nodes() == nodes && same).then_some(tree)
}

/// Numbers the nodes in order: those below the left child of a node, the node, and those below the
/// right child.
///
/// Source: Q. Wang, dissertation, 1999, section 3.3. The dilation of d levels is ceil(2^(d - 2) /
/// w).
pub(super) fn inorder(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (tree, host) = (tree(guest)?, HostShape::of(host)?);
    if host.grid.extents().len() != 1 {
        return None;
    }
    let node = |index: usize| {
        let depth = (index + 1).ilog2();
        let place = index + 1 - (1 << depth);
        let below = tree.levels() - 1 - depth as usize;
        Node::new(((2 * place + 1) << below) - 1)
    };
    Some((0..tree.nodes()).map(node).collect())
}

/// Divides a tree into the four trees two levels below the root, whose layouts are mirror images,
/// and puts the root and its children on nodes that these leave free.
///
/// The square has the side 2^(l / 2) for an even number of levels l, and 3 2^((l - 3) / 2) for an
/// odd one. Of the eight orientations of the four layouts and the free nodes nearest to the middle,
/// the ones with the shortest paths are taken.
///
/// Source: Q. Wang, dissertation, 1999, section 4.3, which has trees of three to six levels. With a
/// window of 2 the dilation is 1 for four and six levels, and 2 for five, where a search finds 1.
/// Differs from it: it cannot remain 1 for eight levels, whose longest path has 14 links, where 255 of
/// the 256 nodes are taken and corners are 16 links apart.
pub(super) fn blocks(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (tree, host) = (tree(guest)?, HostShape::of(host)?);
    let (&[rows, columns], &[row_reach, column_reach]) = (host.grid.extents(), &host.reach[..]) else { return None };
    if rows.min(columns) < side(tree.levels()) {
        return None;
    }
    let layout = Layout::of(tree.levels(), (row_reach, column_reach));
    Some(layout.cells.into_iter().map(|(row, column)| host.grid.node(&[row, column])).collect())
}

fn side(levels: usize) -> usize {
    match levels {
        1 => 1,
        _ if levels.is_multiple_of(2) => 1 << (levels / 2),
        _ => 3 << ((levels - 3) / 2),
    }
}

type Cell = (usize, usize);

/// The cells of a square that a tree takes, level by level from the root, and some that it leaves
/// free.
struct Layout {
    side: usize,
    cells: Vec<Cell>,
    free: Vec<Cell>,
}

/// The free cells nearest to the middle that are compared for the root and its children.
const MOST_FREE: usize = 12;

impl Layout {
    fn of(levels: usize, reach: (usize, usize)) -> Self {
        let (cells, free): (&[Cell], &[Cell]) = match levels {
            1 => (&[(0, 0)], &[]),
            2 => (&[(0, 0), (0, 1), (1, 0)], &[(1, 1)]),
            3 => (&[(1, 1), (1, 0), (1, 2), (0, 0), (2, 0), (0, 2), (2, 2)], &[(0, 1), (2, 1)]),
            4 => (&FOUR_LEVELS, &[(0, 0)]),
            _ => return Self::of(levels - 2, reach).fourfold(reach),
        };
        Self { side: side(levels), cells: cells.to_vec(), free: free.to_vec() }
    }

    /// Returns the layout of two levels more.
    fn fourfold(&self, reach: (usize, usize)) -> Self {
        let side = 2 * self.side;
        let distance = |a: Cell, b: Cell| a.0.abs_diff(b.0).div_ceil(reach.0) + a.1.abs_diff(b.1).div_ceil(reach.1);
        // Twice the distance from the middle of the square.
        let from_middle = |&(row, column): &Cell| (2 * row + 1).abs_diff(side) + (2 * column + 1).abs_diff(side);
        let choices = (0..8).flat_map(|orientation| {
            let quarters = [0, 1, 2, 3].map(|quarter| move |cell| self.turned(cell, orientation, quarter));
            let roots = quarters.map(|turned| turned(self.cells[0]));
            let mut free: Vec<Cell> =
                quarters.iter().flat_map(|turned| self.free.iter().map(|&cell| turned(cell))).collect();
            free.sort_by_key(from_middle);
            free.truncate(MOST_FREE);
            // The first child takes the upper quarters or the left ones.
            [[0, 1, 2, 3], [0, 2, 1, 3]].into_iter().flat_map(move |order| {
                let [a, b, c, d] = order.map(|quarter: usize| roots[quarter]);
                let near = |cell: Cell, one: Cell, other: Cell| {
                    let both = [distance(cell, one), distance(cell, other)];
                    (both[0].max(both[1]), both[0] + both[1])
                };
                let mut best: Option<((usize, usize), [Cell; 3])> = None;
                for &first in &free {
                    for &second in free.iter().filter(|&&second| second != first) {
                        for &root in free.iter().filter(|&&root| root != first && root != second) {
                            let [one, two, three] = [near(first, a, b), near(second, c, d), near(root, first, second)];
                            let key = (one.0.max(two.0).max(three.0), one.1 + two.1 + three.1);
                            if best.is_none_or(|(least, _)| key < least) {
                                best = Some((key, [root, first, second]));
                            }
                        }
                    }
                }
                best.map(|(key, cells)| (key, cells, orientation, order))
            })
        });
        let Some((_, top, orientation, order)) = choices.min_by_key(|(key, ..)| *key) else {
            // Every layout has a free cell in each quarter.
            return Self { side, cells: vec![], free: vec![] };
        };
        let mut cells = top.to_vec();
        for depth in 0..(self.cells.len() + 1).ilog2() {
            let level = (1 << depth) - 1..(1 << (depth + 1)) - 1;
            for quarter in order {
                cells.extend(self.cells[level.clone()].iter().map(|&cell| self.turned(cell, orientation, quarter)));
            }
        }
        let free =
            (0..4).flat_map(|quarter| self.free.iter().map(move |&cell| self.turned(cell, orientation, quarter)));
        let free = free.filter(|cell| !top.contains(cell)).collect();
        Self { side, cells, free }
    }

    /// Returns a cell in a quarter of the square of twice the side. Quarters are mirror images:
    /// number 0 is the upper left one in this orientation, 1 the upper right one, 2 and 3 are
    /// below.
    fn turned(&self, (row, column): Cell, orientation: usize, quarter: usize) -> Cell {
        let last = self.side - 1;
        let (row, column) = if orientation & 4 == 0 { (row, column) } else { (column, row) };
        let flip = |x: usize, flips: bool| if flips { last - x } else { x };
        let row = flip(row, orientation & 1 == 1);
        let column = flip(column, orientation & 2 == 2);
        let mirrored = |x: usize, beyond: bool| if beyond { 2 * last + 1 - x } else { x };
        (mirrored(row, quarter >= 2), mirrored(column, quarter % 2 == 1))
    }
}

/// Four levels in four rows of four, for a window of 2: the dilation is 1, the free node is in a
/// corner, and the root is beside it.
const FOUR_LEVELS: [Cell; 15] = [
    (0, 1),
    (0, 2),
    (1, 1),
    (1, 2),
    (0, 3),
    (2, 1),
    (3, 1),
    (1, 0),
    (3, 2),
    (1, 3),
    (2, 3),
    (2, 0),
    (2, 2),
    (3, 0),
    (3, 3),
];
