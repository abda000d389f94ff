//! The blocks that ranks exchange when the distribution of an array changes.

use std::collections::HashMap;
use std::ops::Range;

use super::distribution::Division;
use super::index_set::Piece;
use super::{ArrayError, Distribution, Portion, Portions};
use crate::ids::Node;
use crate::plan::Strided;
use crate::topology::{Grid, Topology};

/// The maximum number of pieces that a rank exchanges with another, each of them an array.
const MOST_PIECES: u64 = 1 << 20;

/// The blocks of one rank in an exchange that takes an array from one distribution to another.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The elements to send to each of the ranks [`together`].
    pub(crate) from: Vec<Vec<Strided>>,
    /// The places of the elements to receive from each of them, in the order of sending.
    pub(crate) into: Vec<Vec<Strided>>,
}

impl Exchange {
    /// Checks what every rank checks with the same result.
    pub(crate) fn check(
        from: &Distribution,
        to: &Distribution,
        Portions { axis, count }: Portions,
    ) -> Result<(), ArrayError> {
        let [before, after] = [from, to].map(|distribution| (distribution.shape(), distribution.batch()));
        if before != after {
            let [from, to] = [before, after].map(|(shape, batch)| (shape.to_vec(), batch));
            return Err(ArrayError::Shapes { from, to });
        }
        let extents = from.shape();
        let extent = *extents.get(axis).ok_or(ArrayError::Axis { axis, axes: extents.len() })?;
        match count == 0 || count > extent.max(1) {
            true => Err(ArrayError::Portions { found: count, axis, extent }),
            false => Ok(()),
        }
    }

    /// Returns the blocks of a rank in each portion of an exchange that has been checked, for the ranks
    /// [`together`] with it. The parts before are divided into portions, each in a buffer of its own.
    /// Takes time and memory in proportion to the portions, these ranks and the pieces of the blocks.
    /// Fails if a block has too many pieces.
    pub(crate) fn portions(
        from: &Distribution,
        to: &Distribution,
        (rank, ranks): (usize, &[usize]),
        portions: Portions,
    ) -> Result<Vec<Self>, ArrayError> {
        let nesting = nesting(from, to);
        let one = |portion| {
            let Portion { positions, distances, .. } = from.portion(rank, portion, portions);
            let side = |distances, sent| Side { from, to, nesting: &nesting, distances, sent, portions, portion };
            let from = side(distances, Some(positions)).blocks(rank, ranks)?;
            let into = side(to.distances(rank), None).blocks(rank, ranks)?;
            Ok(Self { from, into })
        };
        (0..portions.count).map(one).collect()
    }
}

/// Returns the order in which the elements of a block are sent: that of the memory after, with the
/// axis that is fastest in the memory before as the last but one. So where rows become columns, a
/// block is a list of matrices that are transposed.
fn nesting(from: &Distribution, to: &Distribution) -> Vec<usize> {
    let mut nesting = to.order().to_vec();
    let before = from.order().last();
    if let Some(at) = nesting.iter().position(|axis| Some(axis) == before).filter(|at| at + 1 < nesting.len()) {
        let axis = nesting.remove(at);
        nesting.insert(nesting.len() - 1, axis);
    }
    nesting
}

/// Returns the ranks that exchange elements with each other, one among them, in ascending order: those
/// that differ from it only along the axes of the grid over which the array is divided otherwise; all
/// ranks, if the grids differ.
pub(crate) fn together(from: &Distribution, to: &Distribution, rank: usize) -> Vec<usize> {
    let (Division::Grid(grid, before), Division::Grid(other, after)) = (from.division(), to.division()) else {
        return (0..from.ranks()).collect();
    };
    let all = 0..grid.extents().len();
    let over = |splits: &[super::Split], axis| {
        let divided = splits.iter().position(|split| split.axis() == Some(axis));
        divided.map(|at| (at, splits[at]))
    };
    let along: Vec<usize> = all.clone().filter(|&axis| over(before, axis) != over(after, axis)).collect();
    if grid.extents() != other.extents() || along.len() == all.len() {
        return (0..from.ranks()).collect();
    }
    let extents: Vec<usize> = along.iter().map(|&axis| grid.extents()[axis]).collect();
    let mut at = grid.coordinates(Node::new(rank));
    let Ok(part) = Grid::mesh(&extents) else { return vec![rank] };
    let member = |node| {
        for (&axis, &x) in along.iter().zip(&part.coordinates(Node::new(node))) {
            at[axis] = x;
        }
        grid.node(&at).index()
    };
    let mut ranks: Vec<usize> = (0..part.nodes()).map(member).collect();
    ranks.sort_unstable();
    ranks
}

/// The blocks that one rank sends, or those that it receives.
struct Side<'a> {
    from: &'a Distribution,
    to: &'a Distribution,
    /// The order of the axes in a block, the same on both sides.
    nesting: &'a [usize],
    /// In this rank's buffer.
    distances: Vec<usize>,
    /// The positions of this rank's portion along the divided axis, if it sends.
    sent: Option<Range<usize>>,
    portions: Portions,
    portion: usize,
}

impl Side<'_> {
    fn blocks(&self, rank: usize, peers: &[usize]) -> Result<Vec<Vec<Strided>>, ArrayError> {
        // Many peers have the same coordinate along an axis.
        let mut known: HashMap<(usize, usize), Vec<Strided>> = HashMap::new();
        let peer_side = if self.sent.is_some() { self.to } else { self.from };
        let mut block = |&peer: &usize| {
            let mut block = vec![Strided::run(0, self.from.batch())];
            // The last axis is the innermost, so it is put first.
            for &axis in self.nesting.iter().rev() {
                let coordinate = peer_side.coordinate(peer, axis);
                let pieces = known.entry((axis, coordinate)).or_insert_with(|| self.pieces(rank, axis, coordinate));
                let all = pieces.len() as u64 * block.len() as u64;
                if all > MOST_PIECES {
                    return Err(ArrayError::Pieces { rank, peer, pieces: all, most: MOST_PIECES });
                }
                block = pieces.iter().flat_map(|outer| block.iter().map(|inner| inner.within(outer))).collect();
                if block.is_empty() {
                    break;
                }
            }
            Ok(block)
        };
        peers.iter().map(&mut block).collect()
    }

    /// Returns the indices of an axis that are exchanged with peers of a coordinate, as places in
    /// this rank's buffer.
    fn pieces(&self, rank: usize, axis: usize, peer: usize) -> Vec<Strided> {
        let own = if self.sent.is_some() { self.from } else { self.to };
        let mine = own.index_set(axis, own.coordinate(rank, axis));
        let is_divided = axis == self.portions.axis;
        let (shared, origin) = match self.sent.clone() {
            Some(positions) if is_divided => {
                (mine.at(positions.clone()).shared(&self.to.index_set(axis, peer)), positions.start)
            }
            Some(_) => (mine.shared(&self.to.index_set(axis, peer)), 0),
            None => {
                let part = self.from.index_set(axis, peer);
                let part = if is_divided { part.at(part.portion(self.portion, self.portions.count)) } else { part };
                (part.shared(&mine), 0)
            }
        };
        let distance = self.distances[axis];
        let place = |Piece { start, dimensions }: Piece| {
            let first = mine.position(start) - origin;
            let dimension = |place: Strided, &(count, step): &(usize, usize)| {
                let step = if count > 1 { mine.position(start + step) - origin - first } else { 1 };
                place.repeated(count, step * distance)
            };
            dimensions.iter().rev().fold(Strided::run(first * distance, 1), dimension)
        };
        shared.into_iter().map(place).collect()
    }
}
