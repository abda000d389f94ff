//! Strided blocks: the places of the elements of a block in a buffer.

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use super::overlap;
use super::runs::Access;
use super::runs::Place;
use super::{Buffer, Run};
use crate::quote::debug_as_text;

/// Elements of a buffer at regular distances: a slice, a part of a matrix, its transpose, an array
/// of any dimensions.
///
/// The elements are ordered. They are sent in the sender's order and stored in the receiver's
/// order. So a matrix is transposed if it is described row by row on one side and column by column
/// on the other.
///
/// ```
/// use necklace::Strided;
///
/// // Rows 1 and 2, columns 2 to 4 of a matrix of 10 columns.
/// let part = Strided::matrix(12, 2, 3, 10);
/// assert_eq!(part.indices().collect::<Vec<_>>(), [12, 13, 14, 22, 23, 24]);
/// assert_eq!(part.transposed().indices().collect::<Vec<_>>(), [12, 22, 13, 23, 14, 24]);
/// // The same part of three matrices that are 100 elements apart.
/// let parts = Strided::matrix(12, 2, 3, 10).repeated(3, 100);
/// assert_eq!((parts.elements(), parts.end()), (Some(18), Some(225)));
/// ```
///
/// [`alltoallw`](crate::Communicator::alltoallw) checks that the elements lie in its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strided {
    offset: usize,
    /// The count and the distance of each dimension. The first varies slowest.
    dimensions: SmallVec<[(usize, usize); 3]>,
}

/// The reason why a block of a buffer is invalid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockFault {
    /// It lies outside the buffer.
    #[error("{elements} lie outside the buffer of {length} elements")]
    #[non_exhaustive]
    Outside {
        /// The block, or a part of it.
        elements: Strided,
        /// The length of the buffer in elements.
        length: usize,
    },
    /// It names an element twice.
    #[error("{elements}: an element occurs twice")]
    #[non_exhaustive]
    Repeated {
        /// The block, or a part of it.
        elements: Strided,
    },
    /// The number of its elements overflows.
    #[error("the number of its elements overflows")]
    Overflow,
}

debug_as_text!(BlockFault);

impl Strided {
    /// Returns consecutive elements from `offset` on.
    #[must_use]
    pub fn run(offset: usize, elements: usize) -> Self {
        Self { offset, dimensions: SmallVec::from_slice(&[(elements, 1)]) }
    }

    /// Returns a part of a matrix, row by row: `rows` rows of `columns` elements, the first at
    /// `offset`, in a matrix whose rows begin `width` elements apart.
    #[must_use]
    pub fn matrix(offset: usize, rows: usize, columns: usize, width: usize) -> Self {
        Self::run(offset, columns).repeated(rows, width)
    }

    /// Returns a part of an array of these extents, the last axis fastest: `lengths[i]` elements
    /// along axis i, from `starts[i]` on. `None` unless all three have the same number of axes and
    /// the part lies in the array.
    ///
    /// ```
    /// use necklace::Strided;
    /// // Rows 1 and 2, columns 2 to 4 of a matrix of 3 rows and 10 columns.
    /// assert_eq!(Strided::part(&[3, 10], &[1, 2], &[2, 3]), Some(Strided::matrix(12, 2, 3, 10)));
    /// assert_eq!(Strided::part(&[3, 10], &[2, 2], &[2, 3]), None);
    /// ```
    #[must_use]
    pub fn part(extents: &[usize], starts: &[usize], lengths: &[usize]) -> Option<Self> {
        let axes = extents.len();
        let inside = |i: usize| starts[i].checked_add(lengths[i]).is_some_and(|end| end <= extents[i]);
        if starts.len() != axes || lengths.len() != axes || !(0..axes).all(inside) {
            return None;
        }
        let mut part = Self { offset: 0, dimensions: SmallVec::new() };
        let mut distance = 1_usize;
        for i in (0..axes).rev() {
            part.offset = part.offset.checked_add(starts[i].checked_mul(distance)?)?;
            part.dimensions.insert(0, (lengths[i], distance));
            distance = distance.checked_mul(extents[i])?;
        }
        Some(part)
    }

    /// Cuts an array of these extents, the last axis fastest, into slabs along an axis, one for
    /// each of `parts` ranks: the first slab for rank 0 and so on. Their lengths are as equal as
    /// possible, the longer ones first. `None` unless there is such an axis and a part.
    ///
    /// A slab has the range of the axis that
    /// [`Communicator::range_of`](crate::Communicator::range_of) returns on its rank.
    ///
    /// ```
    /// use necklace::Strided;
    /// // The columns of a matrix of 2 rows and 5 columns, for three ranks.
    /// let columns = [(0, 2), (2, 2), (4, 1)].map(|(start, length)| Strided::matrix(start, 2, length, 5));
    /// assert_eq!(Strided::slabs(&[2, 5], 1, 3).unwrap(), columns);
    /// ```
    #[must_use]
    pub fn slabs(extents: &[usize], axis: usize, parts: usize) -> Option<Vec<Self>> {
        let (extent, mut starts, mut lengths) = (*extents.get(axis)?, vec![0; extents.len()], extents.to_vec());
        let slab = |part: usize| {
            let range = even_range(extent, parts, part);
            (starts[axis], lengths[axis]) = (range.start, range.len());
            Self::part(extents, &starts, &lengths)
        };
        (parts > 0).then(|| (0..parts).map(slab).collect())?
    }

    /// Changes the order of the dimensions: dimension i of the result is dimension `order[i]`. The
    /// last varies fastest. `None` unless `order` names each dimension once.
    ///
    /// ```
    /// use necklace::Strided;
    /// let part = Strided::matrix(12, 2, 3, 10);
    /// assert_eq!(part.clone().in_order(&[1, 0]), Some(part.transposed()));
    /// ```
    #[must_use]
    pub fn in_order(self, order: &[usize]) -> Option<Self> {
        let dimensions = self.dimensions.len();
        let once = |(i, at): (usize, &usize)| *at < dimensions && !order[..i].contains(at);
        let permuted = order.len() == dimensions && order.iter().enumerate().all(once);
        permuted.then(|| Self { dimensions: order.iter().map(|&at| self.dimensions[at]).collect(), ..self })
    }

    /// Repeats all elements `count` times, one after the other, `distance` elements apart.
    #[must_use]
    pub fn repeated(mut self, count: usize, distance: usize) -> Self {
        self.dimensions.insert(0, (count, distance));
        self
    }

    /// Reverses the order of the dimensions: a matrix is then read column by column.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        self.dimensions.reverse();
        self
    }

    /// Returns the number of elements. `None` if it exceeds `usize`.
    #[must_use]
    pub fn elements(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        self.dimensions.iter().try_fold(1_usize, |product, (count, _)| product.checked_mul(*count))
    }

    /// Repeats all elements at each element of `outer`, one after the other: positions add up.
    pub(crate) fn within(&self, outer: &Self) -> Self {
        let dimensions = outer.dimensions.iter().chain(&self.dimensions).copied();
        let dimensions = dimensions.filter(|(count, _)| *count != 1).collect();
        Self { offset: outer.offset + self.offset, dimensions }
    }

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.dimensions.iter().any(|(count, _)| *count == 0)
    }

    /// Returns the minimum length of the buffer in elements: one past the largest index, 0 if there
    /// are no elements. `None` if it exceeds `usize`.
    #[must_use]
    pub fn end(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let farther = |end: usize, &(count, distance): &(usize, usize)| {
            end.checked_add(distance.checked_mul(count.checked_sub(1)?)?)
        };
        self.dimensions.iter().try_fold(self.offset.checked_add(1)?, farther)
    }

    /// Returns the indices of the elements, in order. They wrap around if [`end`](Self::end) is
    /// `None`.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        odometer(self.offset, if self.is_empty() { None } else { Some(&self.dimensions) })
    }

    /// Returns the reason why it cannot be received into a buffer of `length` elements, if it
    /// cannot.
    pub(crate) fn fault(&self, length: usize) -> Option<BlockFault> {
        if self.end().is_none_or(|end| end > length) {
            return Some(BlockFault::Outside { elements: self.clone(), length });
        }
        self.meets_itself().then(|| BlockFault::Repeated { elements: self.clone() })
    }

    /// Returns whether two elements may have the same index. They cannot if each distance, from the
    /// shortest to the longest, exceeds the extent of all shorter ones. [`end`](Self::end) must not
    /// be `None`.
    fn meets_itself(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut steps: SmallVec<[(usize, usize); 3]> = self.dimensions.iter().filter(|d| d.0 > 1).copied().collect();
        steps.sort_unstable_by_key(|(_, distance)| *distance);
        let mut extent = 1;
        steps.iter().any(|&(count, distance)| {
            let meets = distance < extent;
            extent += distance * (count - 1);
            meets
        })
    }

    /// Returns the normalised dimensions, innermost first: without those of count 1, and with a
    /// dimension that continues the inner one merged into it.
    fn inner(&self) -> SmallVec<[(usize, usize); 3]> {
        let mut inner: SmallVec<[(usize, usize); 3]> = SmallVec::new();
        for &(count, distance) in self.dimensions.iter().rev().filter(|(count, _)| *count > 1) {
            match inner.last_mut() {
                Some(last) if last.0.checked_mul(last.1) == Some(distance) => last.0 *= count,
                _ => inner.push((count, distance)),
            }
        }
        inner
    }

    /// Returns whether it contains an index. It must fit in a possible buffer.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.place(Buffer::Output, 1).iter().any(|run| run.has(index as u64))
    }

    /// Returns the number of [runs](Run).
    pub(crate) fn runs(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let inner = self.inner();
        // A run has one dimension of adjacent elements and one more.
        let within = 1 + usize::from(inner.first().is_some_and(|(_, distance)| *distance == 1));
        inner.iter().skip(within).fold(1, |product, (count, _)| product.saturating_mul(*count as u64))
    }

    /// Returns its [`runs`](Self::runs) in a buffer of elements of `element` bytes. It must fit in
    /// a possible buffer.
    pub(crate) fn place(&self, buffer: Buffer, element: u64) -> Place {
        if self.is_empty() || element == 0 {
            return Place::new();
        }
        let mut inner = self.inner().into_iter().peekable();
        let len = inner.next_if(|(_, distance)| *distance == 1).map_or(1, |(count, _)| count) as u64 * element;
        let (count, stride) =
            inner.next().map_or((1, len), |(count, distance)| (count as u64, distance as u64 * element));
        let mut outer: SmallVec<[(usize, usize); 3]> = inner.collect();
        outer.reverse();
        let run = |index: usize| Run { buffer, offset: index as u64 * element, len, stride, count };
        odometer(self.offset, Some(&outer)).map(run).collect()
    }
}

/// Returns the indices of a part if `elements` elements are divided into `parts` parts, one after
/// the other, of lengths that differ by at most one, the longer ones first.
pub(crate) fn even_range(elements: usize, parts: usize, part: usize) -> Range<usize> {
    let (each, longer) = (elements / parts, elements % parts);
    let begin = |part: usize| part * each + part.min(longer);
    begin(part)..begin(part + 1)
}

/// Returns an index that occurs twice, if there is one. Each must have an [`end`](Strided::end).
/// Fails with the number of pieces if more than `most` interleaved pieces had to be compared.
pub(crate) fn overlap<'a>(all: impl Iterator<Item = &'a Strided>, most: u64) -> Result<Option<usize>, u64> {
    let runs = all.flat_map(|strided| strided.place(Buffer::Output, 1).into_runs());
    let found = overlap::within(runs.map(|run| Access { run, write: true }).collect(), most)?;
    Ok(found.map(|found| found.offset as usize))
}

/// Returns all sums of an offset and a multiple of each distance, the last dimension fastest.
/// Nothing for `None`.
fn odometer(offset: usize, dimensions: Option<&[(usize, usize)]>) -> impl Iterator<Item = usize> {
    let mut turns: SmallVec<[usize; 3]> = SmallVec::from_elem(0, dimensions.map_or(0, <[_]>::len));
    let mut next = dimensions.map(|_| offset);
    std::iter::from_fn(move || {
        let index = next?;
        let mut after = index;
        next = dimensions.unwrap_or_default().iter().zip(&mut turns).rev().find_map(|(&(count, distance), turn)| {
            *turn += 1;
            if *turn < count {
                return Some(after.wrapping_add(distance));
            }
            after = after.wrapping_sub(distance.wrapping_mul(count - 1));
            *turn = 0;
            None
        });
        Some(index)
    })
}

impl AsRef<[Self]> for Strided {
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

impl fmt::Display for Strided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: Vec<String>, between| if values.is_empty() { "1".to_owned() } else { values.join(between) };
        let several = || self.dimensions.iter().filter(|(count, _)| *count != 1);
        let counts = list(several().map(|(count, _)| count.to_string()).collect(), " x ");
        write!(f, "{counts} elements from {} on", self.offset)?;
        // Adjacent elements need no distance.
        if several().count() < 2 && several().all(|(_, distance)| *distance == 1) {
            return Ok(());
        }
        write!(f, ", {} apart", list(several().map(|(_, distance)| distance.to_string()).collect(), " and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn some(offset: u8, dimensions: &[(u8, u8)]) -> Strided {
        let dimensions = dimensions.iter().take(4);
        dimensions.fold(Strided::run(offset.into(), 1), |strided, &(count, distance)| {
            strided.repeated(usize::from(count % 5), usize::from(distance % 40))
        })
    }

    /// Computes the indices by nested loops, the first dimension outermost.
    fn by_hand(offset: usize, dimensions: &[(usize, usize)]) -> Vec<usize> {
        match dimensions {
            [] => vec![offset],
            [(count, distance), inner @ ..] => {
                (0..*count).flat_map(|i| by_hand(offset + i * distance, inner)).collect()
            }
        }
    }

    quickcheck! {
        fn indices_are_nested_loops(offset: u8, dimensions: Vec<(u8, u8)>) -> bool {
            let strided = some(offset, &dimensions);
            let wanted = by_hand(strided.offset, &strided.dimensions);
            let end = wanted.iter().max().map_or(0, |last| last + 1);
            strided.indices().eq(wanted.iter().copied())
                && strided.elements() == Some(wanted.len())
                && strided.end() == Some(end)
        }

        fn slabs_are_disjoint_and_are_the_whole(extents: Vec<u8>, axis: u8, parts: u8) -> bool {
            let extents: Vec<usize> = extents.iter().take(3).map(|&extent| usize::from(extent % 7)).collect();
            let (axis, parts) = (usize::from(axis % 4), usize::from(parts % 9));
            let Some(slabs) = Strided::slabs(&extents, axis, parts) else {
                return axis >= extents.len() || parts == 0;
            };
            let lengths: Vec<usize> = (0..parts).map(|part| even_range(extents[axis], parts, part).len()).collect();
            let others: usize = extents.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, extent)| extent).product();
            let mut indices: Vec<usize> = slabs.iter().flat_map(Strided::indices).collect();
            indices.sort_unstable();
            indices.into_iter().eq(0..extents.iter().product())
                && lengths.is_sorted_by(|longer, shorter| longer >= shorter)
                && lengths[0] - lengths[parts - 1] <= 1
                && slabs.iter().map(|slab| slab.elements().unwrap()).eq(lengths.iter().map(|length| length * others))
        }

        fn runs_are_the_elements_in_order(offset: u8, dimensions: Vec<(u8, u8)>, element: u8) -> bool {
            let strided = some(offset, &dimensions);
            let element = u64::from(element % 4);
            let place = strided.place(Buffer::Output, element);
            let bytes = place.iter().flat_map(|run| run.pieces().flat_map(|(at, len)| at..at + len));
            (element == 0 || place.len() as u64 == strided.runs()) && bytes.eq(strided.indices().flat_map(|i| i as u64 * element..(i as u64 + 1) * element))
        }

        fn elements_taken_for_different_are_different(offset: u8, dimensions: Vec<(u8, u8)>) -> bool {
            let strided = some(offset, &dimensions);
            let mut indices: Vec<usize> = strided.indices().collect();
            let has = strided.meets_itself() || (0..1000).all(|at| strided.has(at) == indices.contains(&at));
            let all = indices.len();
            indices.sort_unstable();
            indices.dedup();
            has && indices.len() == all || strided.meets_itself()
        }
    }

    #[test]
    fn matrices_and_transposes_have_few_disjoint_runs() {
        let part = Strided::matrix(5, 3, 4, 10);
        assert_eq!(
            part.place(Buffer::Input, 2)[..],
            [Run { buffer: Buffer::Input, offset: 10, len: 8, stride: 20, count: 3 }]
        );
        let columns = part.clone().transposed().place(Buffer::Input, 2);
        let column = |j: u64| Run { buffer: Buffer::Input, offset: 10 + 2 * j, len: 2, stride: 20, count: 3 };
        assert_eq!(columns[..], [column(0), column(1), column(2), column(3)]);
        assert_eq!(Strided::matrix(0, 5, 10, 10).place(Buffer::Input, 1)[..], [Run::new(Buffer::Input, 0, 50)]);
        for fits in
            [part.clone(), part.clone().transposed(), part.clone().repeated(2, 24), Strided::run(9, 0).repeated(9, 0)]
        {
            assert_eq!(fits.fault(58), None, "{fits}");
        }
        for overlaps in [part.clone().repeated(2, 23), part.repeated(2, 0), Strided::matrix(0, 2, 3, 2)] {
            assert!(matches!(overlaps.fault(100), Some(BlockFault::Repeated { .. })), "{overlaps}");
        }
    }

    #[test]
    fn end_beyond_usize_is_none() {
        let huge = Strided::run(1, usize::MAX);
        assert_eq!((huge.elements(), huge.end()), (Some(usize::MAX), None));
        let far = Strided::run(0, 2).repeated(3, usize::MAX / 2);
        assert_eq!((far.elements(), far.end()), (Some(6), None));
        let many = Strided::run(0, 1 << 40).repeated(1 << 40, 0);
        assert_eq!(many.elements(), None);
        assert_eq!(many.clone().repeated(0, 1).elements(), Some(0));
        for bad in [huge, far, many] {
            assert!(bad.fault(usize::MAX).is_some(), "{bad}");
        }
    }

    #[test]
    fn display_has_counts_offset_and_distances() {
        assert_eq!(Strided::run(3, 4).to_string(), "4 elements from 3 on");
        assert_eq!(Strided::matrix(12, 2, 3, 10).to_string(), "2 x 3 elements from 12 on, 10 and 1 apart");
        assert_eq!(Strided::run(12, 1).repeated(2, 7).to_string(), "2 elements from 12 on, 7 apart");
        assert_eq!(Strided::run(0, 3).repeated(2, 1).to_string(), "2 x 3 elements from 0 on, 1 and 1 apart");
    }
}
