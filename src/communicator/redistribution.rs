//! Redistribution of arrays.

use std::fmt;

use bytemuck::Pod;

use super::lengths::{BufferLength, check};
use super::{Communicator, Persistent};
use crate::array::{ArrayError, Distribution, Exchange};
use crate::error::{CallError, Error};

/// A persistent plan that takes an array from one distribution to another, and back.
///
/// Made by [`redistribute_init`](Communicator::redistribute_init). It has a communicator of its
/// own, of the ranks that may exchange elements with each other, so it is executed without one. An
/// execution allocates nothing, but for the first one in one buffer.
pub struct Redistribution<T> {
    comm: Communicator,
    forward: Persistent<T>,
    back: Persistent<T>,
    distributions: [Distribution; 2],
    /// The lengths of the buffers, in elements.
    lengths: [usize; 2],
    /// The copy of what is moved in one buffer; empty until then.
    copy: Vec<T>,
}

/// The buffers of a redistribution, as errors name them: those with the distributions before and
/// after.
const BUFFERS: [&str; 2] = ["buffer `before`", "buffer `after`"];

impl<T: Pod> Redistribution<T> {
    /// Moves the elements of `before` to their places in `after`. Collective among the ranks that
    /// may exchange elements.
    ///
    /// The buffers have the [lengths](Distribution::local_len) of this rank's parts. Elements
    /// between [padded](Distribution::padded) rows do not change.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) if a buffer has another
    /// length; otherwise see [`Communicator`].
    #[track_caller]
    pub fn execute(&mut self, before: &[T], after: &mut [T]) -> Result<(), Error> {
        self.check([before.len(), after.len()], "execute")?;
        self.forward.execute(&mut self.comm, before, after)
    }

    /// Moves the elements of `after` back to their places in `before`. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_back(&mut self, after: &[T], before: &mut [T]) -> Result<(), Error> {
        self.check([before.len(), after.len()], "execute_back")?;
        self.back.execute(&mut self.comm, after, before)
    }

    /// Moves the elements within one buffer, which is at least as long as the longer part: each
    /// part is at its beginning. Collective, as [`execute`](Self::execute).
    ///
    /// Each call copies the part before. The first one allocates memory for that.
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_in_place(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.moved_in_place(buffer, true)
    }

    /// Moves the elements back within one buffer, as [`execute_in_place`](Self::execute_in_place).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    #[track_caller]
    pub fn execute_back_in_place(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.moved_in_place(buffer, false)
    }

    #[track_caller]
    fn moved_in_place(&mut self, buffer: &mut [T], forward: bool) -> Result<(), Error> {
        let longer = self.lengths[0].max(self.lengths[1]);
        let call = if forward { "execute_in_place" } else { "execute_back_in_place" };
        let length = BufferLength::AtLeast(longer);
        length.check("buffer", buffer.len()).map_err(self.comm.context.error_of(call))?;
        self.copy.resize(longer, T::zeroed());
        let [before, after] = self.lengths;
        let (plan, from, to) =
            if forward { (&mut self.forward, before, after) } else { (&mut self.back, after, before) };
        let copy = &mut self.copy[..from];
        copy.copy_from_slice(&buffer[..from]);
        plan.execute(&mut self.comm, copy, &mut buffer[..to])
    }

    #[track_caller]
    fn check(&self, found: [usize; 2], call: &'static str) -> Result<(), Error> {
        let each = BUFFERS.into_iter().zip(found).zip(self.lengths);
        let mut each = each.map(|((what, found), expected)| check(what, found, expected));
        each.try_for_each(|checked| checked).map_err(self.comm.context.error_of(call))
    }

    /// Returns the distribution before.
    #[must_use]
    pub fn before(&self) -> &Distribution {
        &self.distributions[0]
    }

    /// Returns the distribution after.
    #[must_use]
    pub fn after(&self) -> &Distribution {
        &self.distributions[1]
    }

    /// Returns the communicator of the ranks that may exchange elements with this one.
    #[must_use]
    pub fn communicator(&self) -> &Communicator {
        &self.comm
    }

    /// Returns that communicator, to [abort](Communicator::abort) the exchange or for other calls.
    #[must_use]
    pub fn communicator_mut(&mut self) -> &mut Communicator {
        &mut self.comm
    }
}

impl<T> fmt::Debug for Redistribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { comm, distributions: [before, after], .. } = self;
        f.debug_struct("Redistribution")
            .field("before", before)
            .field("after", after)
            .field("comm", comm)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Plans to take an array of `T` from one distribution to another of the same shape. Collective.
    ///
    /// The distributions are over the ranks of this communicator. They may differ in everything
    /// but the shape and the elements at each index: in the grid, the splits, the order of memory (a
    /// transpose is a redistribution), the padding of rows.
    ///
    /// If both are over the same grid, only ranks that differ along the axes whose splits change
    /// exchange elements, over their part of the network. Elements are sent from their place and
    /// received into theirs; only a transport may gather short pieces. If possible, keep the axis
    /// that is fastest in memory: then whole rows are moved, otherwise single elements.
    ///
    /// Uses the algorithm that [`alltoallw_init`](Self::alltoallw_init) would use. Takes time and
    /// memory in proportion to the ranks that exchange elements and to the pieces that this rank
    /// sends and receives: a rank's rows, if rows are moved. The ranks compare the distributions, so
    /// that planning has the cost of a [`barrier`](Self::barrier) as well.
    ///
    /// ```
    /// use necklace::array::Distribution;
    ///
    /// // Three ranks have rows of an array of 6 x 5 elements, and get columns of it.
    /// let columns = necklace::local::run(3, |mut comm| {
    ///     let rows = Distribution::slabs(&[6, 5], 0, 3).unwrap();
    ///     let columns = Distribution::slabs(&[6, 5], 1, 3).unwrap();
    ///     let mine: Vec<usize> = rows.elements(comm.rank()).map(|(_, at)| 10 * at[0] + at[1]).collect();
    ///     let mut received = vec![0; columns.local_len(comm.rank())];
    ///     let mut plan = comm.redistribute_init(&rows, &columns)?;
    ///     plan.execute(&mine, &mut received)?;
    ///     Ok::<_, necklace::Error>(received)
    /// })?;
    /// assert_eq!(columns[2].as_ref().unwrap(), &[4, 14, 24, 34, 44, 54]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Array`](crate::error::ArgumentError::Array) with [`ArrayError::Ranks`]
    /// unless both are over as many ranks as this communicator has, with [`ArrayError::Shapes`]
    /// unless the shapes agree, with [`ArrayError::Pieces`] if a block has too many pieces; otherwise
    /// those of [`alltoallw_init`](Self::alltoallw_init). [`Error::Failed`] if ranks pass different
    /// distributions.
    #[track_caller]
    pub fn redistribute_init<T: Pod>(
        &mut self,
        before: &Distribution,
        after: &Distribution,
    ) -> Result<Redistribution<T>, Error> {
        self.redistribution(before, after).map_err(self.context.error_of("redistribute_init"))
    }

    fn redistribution<T: Pod>(
        &mut self,
        before: &Distribution,
        after: &Distribution,
    ) -> Result<Redistribution<T>, CallError> {
        let (rank, size) = (self.rank(), self.size());
        for distribution in [before, after] {
            let found = distribution.ranks();
            if found != size {
                return Err(ArrayError::Ranks { found, ranks: size }.into());
            }
        }
        let Exchange { ranks, from, into } = Exchange::new(before, after, rank)?;
        let purpose = format!("redistribution of {before} to {after}");
        self.barrier_for(self.local_parts.said_in(purpose.into()))?;
        let context = self.next_context(ranks[0] as u64);
        let mut comm = self.part_with(context, &ranks)?;
        comm.using = self.using.clone();
        let forward = comm.strided_exchange_init(&from, &into)?;
        let back = comm.strided_exchange_init(&into, &from)?;
        comm.using = None;
        let distributions = [before.clone(), after.clone()];
        let lengths = [before.local_len(rank), after.local_len(rank)];
        Ok(Redistribution { comm, forward, back, distributions, lengths, copy: Vec::new() })
    }
}
