//! Hypercubes as guests, and as hosts of meshes and tori.

use super::shape::{GuestGrid, HostShape, cube};
use crate::ids::Node;
use crate::topology::Topology;

/// Maps each coordinate to bits by a reflected Gray code.
///
/// A dimension of extent e takes ceil(log2 e) bits, the first dimension the highest. The dilation
/// is 1, or 2 if a ring has an odd extent, since a hypercube has no odd cycles.
pub(super) fn gray(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (guest, dimensions) = (GuestGrid::of(guest)?, host.cube()?);
    let bits: Vec<u32> = guest.grid.extents().iter().map(|extent| extent.next_power_of_two().ilog2()).collect();
    if bits.iter().sum::<u32>() > dimensions {
        return None;
    }
    let code = |coordinate: usize| coordinate ^ coordinate >> 1;
    // The second half of a ring comes back along the code of the first, with the highest bit set.
    let in_ring = |extent: usize, bits: u32, coordinate: usize| match coordinate < extent.div_ceil(2) {
        true => code(coordinate),
        false => 1 << (bits - 1) | code(extent - 1 - coordinate),
    };
    let node = |index| {
        let coordinates = guest.grid.coordinates(Node::new(index));
        let digits = coordinates.iter().zip(guest.grid.extents()).zip(bits.iter().zip(&guest.wraps));
        Node::new(digits.fold(0, |number, ((&coordinate, &extent), (&bits, &wraps))| {
            number << bits | if wraps { in_ring(extent, bits, coordinate) } else { code(coordinate) }
        }))
    };
    Some((0..guest.grid.nodes()).map(node).collect())
}

/// Gives each dimension of the host equally many bits of the number, the highest to the first, in
/// natural order.
///
/// Source: Q. Wang, dissertation, 1999, section 3.4 and method one of section 4.4. With b bits
/// along a dimension the dilation is ceil(2^(b - 1) / w).
pub(super) fn natural(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    shared_out(cube(guest)?, &HostShape::of(host)?, |_, place| place)
}

/// Gives each dimension of the host equally many bits, like [`natural`], and those of rings of four
/// by a reflected Gray code: a square is a ring.
pub(super) fn squares(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (dimensions, host) = (cube(guest)?, HostShape::of(host)?);
    let is_ring = |dimension: usize| (host.grid.extents()[dimension], host.reach[dimension]) == (4, 1);
    let squares = (0..host.reach.len()).any(is_ring);
    let place = |dimension, place| if is_ring(dimension) { place ^ place >> 1 } else { place };
    squares.then(|| shared_out(dimensions, &host, place))?
}

/// Gives each dimension of the host equally many bits of the number, the highest to the first.
/// `place` returns the coordinate for a dimension and its bits.
fn shared_out(dimensions: u32, host: &HostShape, place: impl Fn(usize, usize) -> usize) -> Option<Vec<Node>> {
    let most: Vec<u32> = host.grid.extents().iter().map(|extent| extent.ilog2()).collect();
    let mut bits = vec![0; most.len()];
    for _ in 0..dimensions {
        let open = (0..most.len()).rev().filter(|&dimension| bits[dimension] < most[dimension]);
        let fewest = open.min_by_key(|&dimension| bits[dimension])?;
        bits[fewest] += 1;
    }
    let node = |number: usize| {
        let mut at = vec![0; bits.len()];
        let mut rest = number;
        for (dimension, (x, bits)) in at.iter_mut().zip(&bits).enumerate().rev() {
            *x = place(dimension, rest & ((1 << bits) - 1));
            rest >>= bits;
        }
        host.grid.node(&at)
    };
    Some((0..1 << dimensions).map(node).collect())
}

/// The places of a cube of three dimensions in three rows of three. Two links have the dilation 2,
/// which is the least.
const BLOCK: [(usize, usize); 8] = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 0), (2, 1), (1, 0), (1, 1)];

/// Puts the three lowest bits of an odd number into blocks of three rows and columns, and half of
/// the others along each dimension, in natural order. One node in nine is free.
///
/// Source: Q. Wang, dissertation, 1999, method two of section 4.4. Differs from it: a block has two
/// links of dilation 2 in place of three, and the dilation of d dimensions, 5 and more, is the
/// larger of 2 and ceil(3 2^((d - 5) / 2) / w). The congestion grows beyond the 2 of proposition 2:
/// it is 3 for five dimensions and 5 for seven with a window of 2.
pub(super) fn blocks(guest: &dyn Topology, host: &dyn Topology) -> Option<Vec<Node>> {
    let (dimensions, host) = (cube(guest)?, HostShape::of(host)?);
    let half = dimensions.checked_sub(3)? / 2;
    let &[rows, columns] = host.grid.extents() else { return None };
    if dimensions % 2 == 0 || rows.min(columns) < 3 << half {
        return None;
    }
    let node = |number: usize| {
        let (row, column) = BLOCK[number % 8];
        let (above, beside) = (number >> (3 + half), (number >> 3) & ((1 << half) - 1));
        host.grid.node(&[3 * above + row, 3 * beside + column])
    };
    Some((0..1 << dimensions).map(node).collect())
}
