//! How an array is distributed over ranks.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::error::joined;
use super::index_set::IndexSet;
use super::{ArrayError, Portion, Portions, Split, boxes};
use crate::hash::digest;
use crate::ids::Node;
use crate::topology::{Coordinates, Grid, Topology};

/// The distribution of an array of any number of dimensions over ranks, and the order of each
/// rank's part in its memory.
///
/// Each axis is [divided](Split) over an axis of a process grid, or whole. Rank r is node r of the
/// grid: ranks are numbered row-major, as those of
/// [`on_grid`](crate::Communicator::on_grid). Or each rank has an explicit [box](Self::boxes). A
/// rank may have nothing. No element is on several ranks.
///
/// A part lies in memory row by row, the last axis fastest, unless it is changed:
/// [`in_order`](Self::in_order) chooses another order of the axes, [`padded`](Self::padded) places
/// rows at a distance, and [`batched`](Self::batched) puts several elements at each index.
///
/// A distribution is local data: it can be made and asked on any rank for any other.
///
/// ```
/// use necklace::array::{Distribution, Split};
/// use necklace::topology::Grid;
///
/// // An array of 10 x 9 x 14 elements as pencils along the last axis, on 2 x 3 ranks.
/// let grid = Grid::mesh(&[2, 3]).unwrap();
/// let pencils = Distribution::new(&[10, 9, 14], &grid, &[Split::Block(0), Split::Block(1), Split::Whole])?;
/// assert_eq!(pencils.local_shape(4), [5, 3, 14]);
/// assert_eq!(pencils.range(4, 0), Some(5..10));
/// assert_eq!(pencils.owner(&[6, 4, 13]), Some(4));
/// // Its position in the memory of rank 4.
/// assert_eq!(pencils.local_index(&[6, 4, 13]), Some((1 * 3 + 1) * 14 + 13));
/// # Ok::<(), necklace::array::ArrayError>(())
/// ```
///
/// [`redistribute_init`](crate::Communicator::redistribute_init) changes how an array is
/// distributed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Distribution {
    shape: Vec<usize>,
    division: Division,
    order: Vec<usize>,
    padding: Option<usize>,
    batch: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Division {
    Grid(Grid, Vec<Split>),
    /// The box of each rank.
    Boxes(Arc<[boxes::Box]>),
}

impl Distribution {
    /// Divides an array over a process grid, by one split for each axis.
    ///
    /// # Errors
    ///
    /// An [`ArrayError`] if there is no axis, or the product of the extents other than 0 exceeds
    /// 2^63 - 1; if there is not one split for each axis; if a split names an axis that the grid
    /// lacks or that another split names; if no split names an axis of several ranks; if blocks are
    /// empty.
    pub fn new(shape: &[usize], grid: &Grid, splits: &[Split]) -> Result<Self, ArrayError> {
        let (axes, dimensions) = (shape.len(), grid.extents().len());
        if axes == 0 {
            return Err(ArrayError::NoAxes);
        }
        if splits.len() != axes {
            return Err(ArrayError::Splits { axes, found: splits.len() });
        }
        let mut divided = vec![None; dimensions];
        for (axis, split) in splits.iter().enumerate() {
            if matches!(split, Split::BlockCyclic { block: 0, .. }) {
                return Err(ArrayError::EmptyBlocks { axis });
            }
            let Some(over) = split.axis() else { continue };
            let slot = divided.get_mut(over).ok_or(ArrayError::GridAxis { axis, over, dimensions })?;
            if let Some(other) = slot.replace(axis) {
                return Err(ArrayError::SharedGridAxis { axes: (other, axis), over });
            }
        }
        match (0..dimensions).find(|&over| divided[over].is_none() && grid.extents()[over] > 1) {
            Some(over) => Err(ArrayError::UnusedGridAxis { over, extent: grid.extents()[over] }),
            None => Self::divided(shape, Division::Grid(grid.clone(), splits.to_vec())),
        }
    }

    /// Gives each rank a box of the array: a range of each axis. The boxes are disjoint and leave
    /// nothing out. Some may be empty.
    ///
    /// ```
    /// use necklace::array::Distribution;
    /// let uneven = Distribution::boxes(&[4, 6], &[[0..4, 0..1], [0..1, 1..6], [1..4, 1..6]])?;
    /// assert_eq!(uneven.owner(&[2, 3]), Some(2));
    /// let error = Distribution::boxes(&[4, 6], &[[0..4, 0..1], [0..1, 1..6], [2..4, 1..6]]).unwrap_err();
    /// assert_eq!(error.to_string(), "no box has the element at [1, 1]");
    /// # Ok::<(), necklace::array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An [`ArrayError`] as [`new`](Self::new), and if a box lies outside, two overlap or an element
    /// is in none.
    pub fn boxes(shape: &[usize], boxes: &[impl AsRef<[Range<usize>]>]) -> Result<Self, ArrayError> {
        if shape.is_empty() {
            return Err(ArrayError::NoAxes);
        }
        if !is_possible(shape.iter().copied().filter(|&extent| extent > 0)) {
            return Err(ArrayError::Size { shape: shape.to_vec(), padding: None });
        }
        let boxes: Arc<[boxes::Box]> = boxes.iter().map(|range| range.as_ref().to_vec()).collect();
        boxes::check(&boxes, shape)?;
        Self::divided(shape, Division::Boxes(boxes))
    }

    /// Divides an array into slabs: one axis in ranges over all ranks, the others whole.
    ///
    /// # Errors
    ///
    /// [`ArrayError::Axis`] unless there is such an axis, [`ArrayError::Grid`] unless
    /// `1 <= ranks <= MAX_NODES`; otherwise those of [`new`](Self::new).
    pub fn slabs(shape: &[usize], axis: usize, ranks: usize) -> Result<Self, ArrayError> {
        let axes = shape.len();
        if axes == 0 {
            return Err(ArrayError::NoAxes);
        }
        let grid = Grid::line(ranks).map_err(|_| ArrayError::Grid { ranks })?;
        let mut splits = vec![Split::Whole; axes];
        *splits.get_mut(axis).ok_or(ArrayError::Axis { axis, axes })? = Split::Block(0);
        Self::new(shape, &grid, &splits)
    }

    /// Divides an array into pencils: one axis whole, the others in ranges over the axes of the
    /// grid, in their order. With a grid of fewer axes, the last axes are whole too.
    ///
    /// # Errors
    ///
    /// [`ArrayError::Axis`] unless there is such an axis; otherwise those of [`new`](Self::new).
    pub fn pencils(shape: &[usize], whole: usize, grid: &Grid) -> Result<Self, ArrayError> {
        let (axes, mut over) = (shape.len(), 0..grid.extents().len());
        match axes {
            0 => return Err(ArrayError::NoAxes),
            _ if whole >= axes => return Err(ArrayError::Axis { axis: whole, axes }),
            _ => {}
        }
        let split = |axis| match axis == whole {
            true => Split::Whole,
            false => over.next().map_or(Split::Whole, Split::Block),
        };
        let splits: Vec<Split> = (0..axes).map(split).collect();
        Self::new(shape, grid, &splits)
    }

    fn divided(shape: &[usize], division: Division) -> Result<Self, ArrayError> {
        let (shape, order) = (shape.to_vec(), (0..shape.len()).collect());
        Self { shape, division, order, padding: None, batch: 1 }.of_possible_size()
    }

    /// Chooses the order of the axes in memory, the last fastest. The axes keep their numbers:
    /// shapes and indices are as before.
    ///
    /// ```
    /// # use necklace::array::{Distribution, Split};
    /// let rows = Distribution::slabs(&[4, 6], 0, 2)?;
    /// let columns = rows.clone().in_order(&[1, 0])?;
    /// assert_eq!((rows.local_index(&[3, 5]), columns.local_index(&[3, 5])), (Some(11), Some(11)));
    /// assert_eq!((rows.local_index(&[3, 0]), columns.local_index(&[3, 0])), (Some(6), Some(1)));
    /// # Ok::<(), necklace::array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArrayError::Order`] unless it names each axis once, [`ArrayError::Padding`] if rows are
    /// then longer than they are padded to.
    pub fn in_order(self, order: &[usize]) -> Result<Self, ArrayError> {
        let axes = self.shape.len();
        let once = |(i, axis): (usize, &usize)| *axis < axes && !order[..i].contains(axis);
        if order.len() != axes || !order.iter().enumerate().all(once) {
            return Err(ArrayError::Order { order: order.to_vec(), axes });
        }
        Self { order: order.to_vec(), ..self }.of_possible_size()
    }

    /// Sets the distance between the starts of rows, in indices: the leading dimension. A row is
    /// along the axis that is fastest in memory. The elements between rows are in the buffer, and
    /// are neither read nor written. Libraries that transform real numbers in place need
    /// `2 * (n / 2 + 1)`.
    ///
    /// # Errors
    ///
    /// [`ArrayError::Padding`] if a rank has longer rows.
    pub fn padded(self, padding: usize) -> Result<Self, ArrayError> {
        Self { padding: Some(padding), ..self }.of_possible_size()
    }

    /// Puts `elements` elements at each index, one after the other.
    ///
    /// # Errors
    ///
    /// [`ArrayError::EmptyBatch`] for 0, [`ArrayError::Size`].
    pub fn batched(self, elements: usize) -> Result<Self, ArrayError> {
        if elements == 0 {
            return Err(ArrayError::EmptyBatch);
        }
        Self { batch: elements, ..self }.of_possible_size()
    }

    /// Checks rows, and that the array and the part of each rank have less than 2^63 elements, if an
    /// extent of 0 counts as 1.
    fn of_possible_size(self) -> Result<Self, ArrayError> {
        let fastest = self.fastest();
        let row = self.longest(fastest);
        let padding = self.padding.unwrap_or(row);
        if padding < row {
            return Err(ArrayError::Padding { row, padding });
        }
        let whole = self.shape.iter().copied().filter(|&extent| extent > 0).chain([self.batch]);
        let others = (0..self.shape.len()).filter(|&axis| axis != fastest).map(|axis| self.longest(axis).max(1));
        let part = others.chain([padding.max(1), self.batch]);
        if is_possible(whole) && is_possible(part) {
            return Ok(self);
        }
        Err(ArrayError::Size { shape: self.extents_with_batch(), padding: self.padding })
    }

    /// Returns the extents of the array.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        match &self.division {
            Division::Grid(grid, _) => grid.nodes(),
            Division::Boxes(boxes) => boxes.len(),
        }
    }

    /// Returns the process grid. `None` if each rank has a [box](Self::boxes).
    #[must_use]
    pub fn grid(&self) -> Option<&Grid> {
        match &self.division {
            Division::Grid(grid, _) => Some(grid),
            Division::Boxes(_) => None,
        }
    }

    /// Returns how each axis is divided. `None` if each rank has a [box](Self::boxes).
    #[must_use]
    pub fn splits(&self) -> Option<&[Split]> {
        match &self.division {
            Division::Grid(_, splits) => Some(splits),
            Division::Boxes(_) => None,
        }
    }

    /// Returns the distance between the starts of rows, in indices, if they are
    /// [padded](Self::padded).
    #[must_use]
    pub fn padding(&self) -> Option<usize> {
        self.padding
    }

    /// Returns the order of the axes in memory, the last fastest.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the number of elements at each index.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns the extents of a rank's part, in the order of the axes. All are 0 for a rank that
    /// does not exist.
    #[must_use]
    pub fn local_shape(&self, rank: usize) -> Vec<usize> {
        (0..self.shape.len()).map(|axis| self.index_set_of(rank, axis).count()).collect()
    }

    /// Returns the length of a rank's buffer in elements, with those between rows.
    #[must_use]
    pub fn local_len(&self, rank: usize) -> usize {
        self.length(self.local_shape(rank), self.padding)
    }

    /// Returns the indices of an axis that a rank has, if they are consecutive, as they are unless
    /// the axis is divided cyclically over several ranks. Empty for a rank that does not exist;
    /// `None` also if there is no such axis.
    #[must_use]
    pub fn range(&self, rank: usize, axis: usize) -> Option<Range<usize>> {
        if axis < self.shape.len() { self.index_set_of(rank, axis).as_range() } else { None }
    }

    /// Returns the indices of an axis that a rank has, in ascending order. Empty if there is no such
    /// axis or rank.
    pub fn indices(&self, rank: usize, axis: usize) -> impl ExactSizeIterator<Item = usize> + Clone + use<> {
        let part = if axis < self.shape.len() { self.index_set_of(rank, axis) } else { IndexSet::range(0..0) };
        (0..part.count()).map(move |position| part.index(position))
    }

    /// Returns the rank that has the element at an index. `None` outside the array. Looks at each
    /// box, if ranks have boxes.
    #[must_use]
    pub fn owner(&self, index: &[usize]) -> Option<usize> {
        let inside = index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, extent)| at < extent);
        match &self.division {
            _ if !inside => None,
            Division::Grid(grid, splits) => {
                let mut at: Coordinates = grid.extents().iter().map(|_| 0).collect();
                for ((split, &extent), &index) in splits.iter().zip(&self.shape).zip(index) {
                    if let Some(over) = split.axis() {
                        at[over] = split.coordinate(extent, index, grid.extents()[over]);
                    }
                }
                Some(grid.node(&at).index())
            }
            Division::Boxes(boxes) => {
                boxes.iter().position(|range| range.iter().zip(index).all(|(range, at)| range.contains(at)))
            }
        }
    }

    /// Returns the position of the element at an index in the buffer of the rank that has it; of
    /// the first, if there are several at each index. `None` outside the array.
    #[must_use]
    pub fn local_index(&self, index: &[usize]) -> Option<usize> {
        let rank = self.owner(index)?;
        let positions = index.iter().enumerate().map(|(axis, &index)| self.index_set_of(rank, axis).position(index));
        Some(positions.zip(self.distances(rank)).map(|(position, distance)| position * distance).sum())
    }

    /// Returns the position in a rank's buffer and the index in the array of each of its elements,
    /// in the order of its memory; of the first, if there are several at each index.
    ///
    /// ```
    /// # use necklace::array::{Distribution, Split};
    /// # use necklace::topology::Grid;
    /// let grid = Grid::mesh(&[2]).unwrap();
    /// let cyclic = Distribution::new(&[2, 5], &grid, &[Split::Whole, Split::Cyclic(0)])?;
    /// let columns: Vec<_> = cyclic.elements(1).map(|(at, index)| (at, index[0], index[1])).collect();
    /// assert_eq!(columns, [(0, 0, 1), (1, 0, 3), (2, 1, 1), (3, 1, 3)]);
    /// # Ok::<(), necklace::array::ArrayError>(())
    /// ```
    pub fn elements(&self, rank: usize) -> impl Iterator<Item = (usize, Coordinates)> + use<> {
        let parts: Vec<IndexSet> = (0..self.shape.len()).map(|axis| self.index_set_of(rank, axis)).collect();
        let (distances, order) = (self.distances(rank), self.order.clone());
        let counts: Vec<usize> = order.iter().map(|&axis| parts[axis].count()).collect();
        let number = counts.iter().product();
        (0..number).map(move |mut rest: usize| {
            let mut index: Coordinates = parts.iter().map(|_| 0).collect();
            let mut at = 0;
            for (&axis, &count) in order.iter().zip(&counts).rev() {
                index[axis] = parts[axis].index(rest % count);
                at += rest % count * distances[axis];
                rest /= count;
            }
            (at, index)
        })
    }

    /// Returns the axis that is fastest in memory.
    fn fastest(&self) -> usize {
        self.order.last().copied().unwrap_or(0)
    }

    /// Returns the maximum number of indices of an axis that a rank has.
    fn longest(&self, axis: usize) -> usize {
        match &self.division {
            // The first has the remainders.
            Division::Grid(..) => self.index_set(axis, 0).count(),
            Division::Boxes(boxes) => boxes.iter().map(|range| range[axis].len()).max().unwrap_or(0),
        }
    }

    /// Returns the length of a buffer of these extents, with rows that are as long as `padding` says.
    fn length(&self, mut extents: Vec<usize>, padding: Option<usize>) -> usize {
        if extents.contains(&0) {
            return 0;
        }
        let fastest = self.fastest();
        extents[fastest] = padding.unwrap_or(extents[fastest]);
        extents.into_iter().product::<usize>() * self.batch
    }

    /// Returns the distance in a rank's buffer between elements that are neighbours along each
    /// axis.
    pub(super) fn distances(&self, rank: usize) -> Vec<usize> {
        self.distances_within(&self.local_shape(rank), self.padding)
    }

    fn distances_within(&self, extents: &[usize], padding: Option<usize>) -> Vec<usize> {
        let fastest = self.fastest();
        let (mut distances, mut distance) = (vec![0; extents.len()], self.batch);
        for &axis in self.order.iter().rev() {
            distances[axis] = distance;
            let row = padding.filter(|_| axis == fastest);
            distance *= row.unwrap_or(extents[axis]).max(1);
        }
        distances
    }

    /// Returns the number of coordinates that ranks have along an axis.
    pub(super) fn coordinates(&self, axis: usize) -> usize {
        match &self.division {
            Division::Grid(grid, splits) => splits[axis].axis().map_or(1, |over| grid.extents()[over]),
            Division::Boxes(boxes) => boxes.len(),
        }
    }

    /// Returns a rank's coordinate along an axis.
    pub(super) fn coordinate(&self, rank: usize, axis: usize) -> usize {
        match &self.division {
            Division::Grid(grid, splits) => {
                splits[axis].axis().map_or(0, |over| grid.coordinates(Node::new(rank))[over])
            }
            Division::Boxes(_) => rank,
        }
    }

    /// Returns the indices of an axis that ranks with a coordinate have.
    pub(super) fn index_set(&self, axis: usize, coordinate: usize) -> IndexSet {
        match &self.division {
            Division::Grid(..) if coordinate >= self.coordinates(axis) => IndexSet::range(0..0),
            Division::Grid(_, splits) => splits[axis].index_set(self.shape[axis], coordinate, self.coordinates(axis)),
            Division::Boxes(boxes) => IndexSet::range(boxes.get(coordinate).map_or(0..0, |range| range[axis].clone())),
        }
    }

    /// Returns one of the portions of a rank's part.
    pub(crate) fn portion(&self, rank: usize, portion: usize, Portions { axis, count }: Portions) -> Portion {
        let positions = self.index_set_of(rank, axis).portion(portion, count);
        let mut extents = self.local_shape(rank);
        extents[axis] = positions.len();
        // Portions of rows have no elements between them.
        let padding = self.padding.filter(|_| count == 1 || axis != self.fastest());
        let distances = self.distances_within(&extents, padding);
        Portion { positions, distances, length: self.length(extents, padding) }
    }

    fn index_set_of(&self, rank: usize, axis: usize) -> IndexSet {
        if rank < self.ranks() { self.index_set(axis, self.coordinate(rank, axis)) } else { IndexSet::range(0..0) }
    }

    pub(super) fn division(&self) -> &Division {
        &self.division
    }

    /// Returns the extents, and the elements at each index as a last one if there are several.
    fn extents_with_batch(&self) -> Vec<usize> {
        let several = (self.batch > 1).then_some(self.batch);
        self.shape.iter().copied().chain(several).collect()
    }
}

/// Returns whether an array of these extents has less than 2^63 elements.
pub(super) fn is_possible(mut extents: impl Iterator<Item = usize>) -> bool {
    let all = extents.try_fold(1_u128, |product, extent| product.checked_mul(extent as u128));
    all.is_some_and(|all| all < 1 << 63)
}

/// Writes as in `10x9x14 on 2x3 ranks: block over 0, block over 1, whole`. Boxes are
/// written as a digest.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", joined(&self.shape, "x"))?;
        match &self.division {
            Division::Grid(grid, splits) => {
                let splits: Vec<String> = splits.iter().map(ToString::to_string).collect();
                write!(f, "on {} ranks: {}", joined(grid.extents(), "x"), splits.join(", "))?;
            }
            Division::Boxes(boxes) => {
                let ends = boxes.iter().flatten().flat_map(|range| [range.start as u64, range.end as u64]);
                write!(f, "in {} boxes [{:016x}]", boxes.len(), digest(0, ends))?;
            }
        }
        if !self.order.is_sorted() {
            write!(f, "; order {}", joined(&self.order, " "))?;
        }
        if let Some(padding) = self.padding {
            write!(f, "; rows padded to {padding}")?;
        }
        if self.batch > 1 { write!(f, "; {} elements each", self.batch) } else { Ok(()) }
    }
}

impl fmt::Debug for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
