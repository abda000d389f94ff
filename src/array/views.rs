//! Views of a rank's part of an array, for the crate `ndarray`.

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, ShapeBuilder, StrideShape};

use super::{ArrayError, Distribution};

impl Distribution {
    /// Returns a rank's part as a view of its buffer. Needs the feature `ndarray`.
    ///
    /// The view has the axes of the array, in their order, whatever their order in memory is, and a
    /// last axis for the elements at each index if there are several. It leaves out the elements
    /// between [padded](Self::padded) rows.
    ///
    /// ```
    /// use necklace::array::Distribution;
    /// let columns = Distribution::slabs(&[2, 6], 1, 3)?.in_order(&[1, 0])?;
    /// let buffer = [4, 14, 5, 15];
    /// let part = columns.view(2, &buffer)?;
    /// assert_eq!((part.shape(), part[[1, 0]]), (&[2, 2][..], 14));
    /// # Ok::<(), necklace::array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArrayError::Buffer`] unless the buffer has the [length](Self::local_len) of the part.
    pub fn view<'a, T>(&self, rank: usize, buffer: &'a [T]) -> Result<ArrayViewD<'a, T>, ArrayError> {
        let found = buffer.len();
        ArrayViewD::from_shape(self.strides(rank, found)?, buffer).map_err(|_| self.wrong_buffer(rank, found))
    }

    /// Returns a rank's part as a mutable view of its buffer, as [`view`](Self::view).
    ///
    /// # Errors
    ///
    /// Those of [`view`](Self::view).
    pub fn view_mut<'a, T>(&self, rank: usize, buffer: &'a mut [T]) -> Result<ArrayViewMutD<'a, T>, ArrayError> {
        let found = buffer.len();
        ArrayViewMutD::from_shape(self.strides(rank, found)?, buffer).map_err(|_| self.wrong_buffer(rank, found))
    }

    /// Returns the shape and the strides of a view, if the buffer is as long as it has to be.
    fn strides(&self, rank: usize, found: usize) -> Result<StrideShape<IxDyn>, ArrayError> {
        if found != self.local_len(rank) {
            return Err(self.wrong_buffer(rank, found));
        }
        let (mut shape, mut distances) = (self.local_shape(rank), self.distances(rank));
        if self.batch() > 1 {
            shape.push(self.batch());
            distances.push(1);
        }
        // Only the usual strides are taken for a view without elements.
        Ok(if found == 0 { IxDyn(&shape).into() } else { IxDyn(&shape).strides(IxDyn(&distances)) })
    }

    fn wrong_buffer(&self, rank: usize, found: usize) -> ArrayError {
        ArrayError::Buffer { rank, expected: self.local_len(rank), found }
    }
}
