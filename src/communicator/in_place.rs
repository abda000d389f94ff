//! Collectives in place: in one buffer, as with `MPI_IN_PLACE`.

use bytemuck::Pod;

use super::Communicator;
use super::collectives::key;
use super::planned_call::PlanKey;
use crate::collective::Collective;
use crate::error::{CallError, Error};
use crate::ids::Rank;
use crate::op::Op;

impl Communicator {
    /// Exchanges blocks as [`alltoall`](Self::alltoall), in one buffer. Block j goes to rank j, and
    /// the block from rank j takes its place.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless the number of elements
    /// is a multiple of the number of ranks; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoall_in_place<T: Pod>(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.in_one_buffer(Collective::Alltoall, buffer).map_err(self.context.error_of("alltoall_in_place"))
    }

    /// Collects a block from every rank on every rank, as [`allgather`](Self::allgather). Rank i
    /// has its own block at place i of the buffer.
    ///
    /// # Errors
    ///
    /// Those of [`alltoall_in_place`](Self::alltoall_in_place).
    #[track_caller]
    pub fn allgather_in_place<T: Pod>(&mut self, buffer: &mut [T]) -> Result<(), Error> {
        self.in_one_buffer(Collective::Allgather, buffer).map_err(self.context.error_of("allgather_in_place"))
    }

    /// Collects a block from every rank at the root, as [`gather`](Self::gather).
    ///
    /// The root's buffer has a block for each rank, with its own at its place. The buffer of any
    /// other rank is its block, which does not change.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless the number of the
    /// root's elements is a multiple of the number of ranks; otherwise see
    /// [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn gather_in_place<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.rooted(root, |root| Collective::Gather { root }, buffer).map_err(self.context.error_of("gather_in_place"))
    }

    /// Distributes the blocks of the root, as [`scatter`](Self::scatter).
    ///
    /// The root's buffer has a block for each rank, and does not change. The buffer of any other
    /// rank is filled with its block.
    ///
    /// # Errors
    ///
    /// Those of [`gather_in_place`](Self::gather_in_place).
    #[track_caller]
    pub fn scatter_in_place<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.rooted(root, |root| Collective::Scatter { root }, buffer)
            .map_err(self.context.error_of("scatter_in_place"))
    }

    /// Combines the buffers of all ranks, as [`allreduce`](Self::allreduce), and replaces them by
    /// the result.
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut gradient = [comm.rank() as f32, 1.0];
    ///     comm.allreduce_in_place(&mut gradient, Sum).unwrap();
    ///     gradient
    /// });
    /// assert_eq!(sums.unwrap(), [[3.0, 3.0]; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`allreduce`](Self::allreduce), except that there is only one length.
    #[track_caller]
    pub fn allreduce_in_place<T: Pod>(&mut self, buffer: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_in_one_buffer(Collective::Allreduce, buffer, &op)
            .map_err(self.context.error_of("allreduce_in_place"))
    }

    /// Combines the buffers of ranks 0 to i for rank i, as [`scan`](Self::scan), and replaces its
    /// buffer by the result.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce_in_place`](Self::allreduce_in_place).
    #[track_caller]
    pub fn scan_in_place<T: Pod>(&mut self, buffer: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_in_one_buffer(Collective::Scan, buffer, &op).map_err(self.context.error_of("scan_in_place"))
    }

    /// Combines the buffers of the ranks before i for rank i, as [`exscan`](Self::exscan), and
    /// replaces its buffer by the result. That of rank 0 does not change.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce_in_place`](Self::allreduce_in_place).
    #[track_caller]
    pub fn exscan_in_place<T: Pod>(&mut self, buffer: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_in_one_buffer(Collective::Exscan, buffer, &op).map_err(self.context.error_of("exscan_in_place"))
    }

    /// Combines the buffers of all ranks, as [`reduce`](Self::reduce), and replaces that of the
    /// root by the result. Those of the other ranks do not change.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce), except that there is only one length.
    #[track_caller]
    pub fn reduce_in_place<T: Pod>(&mut self, buffer: &mut [T], root: usize, op: impl Op<T>) -> Result<(), Error> {
        let reduced = self.root(root).map_err(CallError::from);
        reduced
            .and_then(|root| self.reduce_in_one_buffer(Collective::Reduce { root }, buffer, &op))
            .map_err(self.context.error_of("reduce_in_place"))
    }

    /// Combines block i of every rank's buffer for rank i, as
    /// [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// The result is stored at the start of the buffer, as in MPI. What the rest holds afterwards
    /// is not defined.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless the number of elements
    /// is a multiple of the number of ranks; otherwise see [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn reduce_scatter_in_place<T: Pod>(&mut self, buffer: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_in_one_buffer(Collective::ReduceScatter, buffer, &op)
            .map_err(self.context.error_of("reduce_scatter_in_place"))
    }

    fn rooted<T: Pod>(
        &mut self,
        root: usize,
        collective: impl Fn(Rank) -> Collective,
        buffer: &mut [T],
    ) -> Result<(), CallError> {
        let root = self.root(root)?;
        self.in_one_buffer(collective(root), buffer)
    }

    /// Executes a collective that is no reduction in one buffer.
    pub(super) fn in_one_buffer<T: Pod>(&mut self, collective: Collective, buffer: &mut [T]) -> Result<(), CallError> {
        self.regular(PlanKey { in_place: true, ..key::<T>(collective) }, &[], buffer, None)
    }
}
