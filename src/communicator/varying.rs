//! Collectives with blocks of different lengths, anywhere in the buffers.

use bytemuck::Pod;

use super::collectives::reduction_key;
use super::lengths::{BufferLengths, check};
use super::varying_key::{GivenBlocks, Listed, VaryingForm, VaryingOp};
use super::varying_plan::{ALLTOALLV, ALLTOALLW};
use super::{Communicator, Counts};
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::Rank;
use crate::op::{OnBytes, Op};
use crate::plan::{PlanError, Strided};

impl Communicator {
    /// Exchanges blocks of any lengths between all ranks.
    ///
    /// Block j of `send` goes to rank j; block i of `receive` comes from rank i. [`Counts`] give
    /// the lengths and positions of the blocks: a list of counts, for blocks that lie one after the
    /// other, or counts and displacements. Counts may be 0.
    ///
    /// ```
    /// // Rank i sends i + 1 elements to rank 0 and one to each other rank.
    /// let received = necklace::local::run(3, |mut comm| {
    ///     let rank = comm.rank();
    ///     let send = vec![rank; rank + 3];
    ///     let (to, from) = ([rank + 1, 1, 1], if rank == 0 { [1, 2, 3] } else { [1; 3] });
    ///     let mut receive = vec![9; from.iter().sum()];
    ///     comm.alltoallv(&send, &to, &mut receive, &from).unwrap();
    ///     receive
    /// });
    /// assert_eq!(received.unwrap(), [vec![0, 1, 1, 2, 2, 2], vec![0, 1, 2], vec![0, 1, 2]]);
    /// ```
    ///
    /// Two ranks that have nothing for each other exchange no message. If only one of the two
    /// passes counts of 0 for both directions, the other one's call fails once that rank calls
    /// something else or leaves.
    ///
    /// Uses `direct` unless another algorithm is [chosen](Self::choose) for `alltoallv`. Other
    /// algorithms, also `native`, exchange the counts in each call;
    /// [`alltoallv_init`](Self::alltoallv_init) does that once.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless there is a count and a
    /// displacement for each rank; [`ArgumentError::Block`](crate::error::ArgumentError::Block) if
    /// a block lies outside its buffer;
    /// [`ArgumentError::Overlap`](crate::error::ArgumentError::Overlap) if two received blocks
    /// overlap; [`ArgumentError::SelfBlock`](crate::error::ArgumentError::SelfBlock) if this rank's
    /// block for itself has two lengths; [`Error::Failed`] with
    /// [`Cause::Length`](crate::transport::Cause::Length) if a rank expects another length than the
    /// other sends; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallv<'a, T: Pod>(
        &mut self,
        send: &[T],
        send_counts: impl Into<Counts<'a>>,
        receive: &mut [T],
        receive_counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let counts = (send_counts.into(), receive_counts.into());
        self.exchange_counted((send, &counts.0), (receive, &counts.1)).map_err(self.context.error_of("alltoallv"))
    }

    /// Exchanges strided blocks between all ranks, without packing.
    ///
    /// `from[j]` names the elements of `send` that go to rank j. `into[i]` names the elements of
    /// `receive` that rank i's block fills, in order. So a part of a matrix is sent from and
    /// received into its place. It is transposed if one side names rows and the other columns. A
    /// block is one [`Strided`], or an array or vector of them, taken one after the other. Blocks
    /// may be empty.
    ///
    /// Uses the algorithm [chosen](Self::choose) for `alltoallv`, at the cost of
    /// [`alltoallv`](Self::alltoallv). In a loop, a plan made by
    /// [`alltoallw_init`](Self::alltoallw_init) is much cheaper. Pieces of a few bytes cost more
    /// than their bytes: if the elements of a dimension are neighbours on both sides, make that
    /// dimension the last.
    ///
    /// ```
    /// // A matrix of 4 rows and 6 columns. Each of two ranks has two rows of it, and gets three
    /// // rows of its transpose.
    /// use necklace::Strided;
    /// let transposed = necklace::local::run(2, |mut comm| {
    ///     let row = |i: usize| (0..6).map(move |j| 10 * i + j);
    ///     let rows: Vec<usize> = (2 * comm.rank()..).take(2).flat_map(row).collect();
    ///     let from = [0, 1].map(|to| Strided::matrix(3 * to, 2, 3, 6));
    ///     let into = [0, 1].map(|from| Strided::matrix(2 * from, 3, 2, 4).transposed());
    ///     let mut columns = vec![0; 12];
    ///     comm.alltoallw(&rows, &from, &mut columns, &into).unwrap();
    ///     columns
    /// });
    /// assert_eq!(transposed.unwrap()[1], [3, 13, 23, 33, 4, 14, 24, 34, 5, 15, 25, 35]);
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless there is a block for
    ///   each rank on both sides;
    /// - [`ArgumentError::Block`](crate::error::ArgumentError::Block) if a block lies outside its
    ///   buffer, or if a [`Strided`] names an element twice or its dimensions interlock, so that
    ///   this cannot be excluded;
    /// - [`ArgumentError::Overlap`](crate::error::ArgumentError::Overlap) if two elements are
    ///   received into one;
    /// - [`ArgumentError::Interlocked`](crate::error::ArgumentError::Interlocked) if checking for
    ///   that would take too long;
    /// - [`ArgumentError::SelfBlock`](crate::error::ArgumentError::SelfBlock) if this rank's block
    ///   for itself has two lengths;
    /// - [`ArgumentError::Plan`](crate::error::ArgumentError::Plan) with [`PlanError::Runs`] if the
    ///   blocks consist of more pieces than a plan lists;
    /// - [`Error::Failed`] with [`Cause::Length`](crate::transport::Cause::Length) if a rank
    ///   expects another length than the other sends;
    /// - otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoallw<T: Pod>(
        &mut self,
        send: &[T],
        from: &[impl AsRef<[Strided]>],
        receive: &mut [T],
        into: &[impl AsRef<[Strided]>],
    ) -> Result<(), Error> {
        let lengths = (Some(send.len()), Some(receive.len()));
        let (from, into) = (Listed(from), Listed(into));
        let form =
            VaryingForm::exchange::<T>(ALLTOALLW, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into), lengths);
        self.call_varying(form, send, receive, None).map_err(self.context.error_of("alltoallw"))
    }

    /// Exchanges blocks as [`alltoallv`](Self::alltoallv), in one buffer. Block j goes to rank j,
    /// and the block from rank j, which has the same length, takes its place.
    ///
    /// # Errors
    ///
    /// Those of [`alltoallv`](Self::alltoallv).
    #[track_caller]
    pub fn alltoallv_in_place<'a, T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let counts = counts.into();
        self.exchange_in_place(ALLTOALLV, buffer, GivenBlocks::Counted(&counts))
            .map_err(self.context.error_of("alltoallv_in_place"))
    }

    /// Exchanges strided blocks as [`alltoallw`](Self::alltoallw), in one buffer. Block j goes to
    /// rank j, and the block from rank j, which has as many elements, takes its place.
    ///
    /// ```
    /// // A matrix of 2 rows and 4 columns on each of two ranks, which swap halves of the columns.
    /// use necklace::Strided;
    /// let halves = necklace::local::run(2, |mut comm| {
    ///     let mut rows: Vec<usize> = (0..8).map(|i| 10 * comm.rank() + i).collect();
    ///     let columns = [0, 1].map(|half| Strided::matrix(2 * half, 2, 2, 4));
    ///     comm.alltoallw_in_place(&mut rows, &columns).unwrap();
    ///     rows
    /// });
    /// assert_eq!(halves.unwrap()[0], [0, 1, 10, 11, 4, 5, 14, 15]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`alltoallw`](Self::alltoallw).
    #[track_caller]
    pub fn alltoallw_in_place<T: Pod>(
        &mut self,
        buffer: &mut [T],
        blocks: &[impl AsRef<[Strided]>],
    ) -> Result<(), Error> {
        self.exchange_in_place(ALLTOALLW, buffer, GivenBlocks::Listed(&Listed(blocks)))
            .map_err(self.context.error_of("alltoallw_in_place"))
    }

    fn exchange_in_place<T: Pod>(
        &mut self,
        name: &'static str,
        buffer: &mut [T],
        blocks: GivenBlocks<'_>,
    ) -> Result<(), CallError> {
        let length = Some(buffer.len());
        let form = VaryingForm::exchange::<T>(name, blocks, blocks, (length, length));
        self.call_varying(form.in_place(), &[], buffer, None)
    }

    /// Collects blocks of any lengths at the root.
    ///
    /// Block i of the root's `receive` is the `send` of rank i. [`Counts`] give the lengths and
    /// positions of the root's blocks. Other ranks may pass `None` and empty counts; theirs are
    /// ignored.
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let send = vec![comm.rank(); comm.rank() + 1];
    ///     let mut all = [9; 6];
    ///     let receive = (comm.rank() == 1).then_some(&mut all[..]);
    ///     comm.gatherv(&send, receive, &[1, 2, 3], 1).unwrap();
    ///     all
    /// });
    /// assert_eq!(all.unwrap(), [[9; 6], [0, 1, 1, 2, 2, 2], [9; 6]]);
    /// ```
    ///
    /// Uses `direct` unless another algorithm is [chosen](Self::choose) for `gatherv`. Other
    /// algorithms, also `native`, exchange the counts in each call;
    /// [`gatherv_init`](Self::gatherv_init) does that once.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::RootBuffer`](crate::error::ArgumentError::RootBuffer) if the root passes
    /// `None`; [`ArgumentError::Root`](crate::error::ArgumentError::Root) if the root is not a
    /// member; otherwise those of [`alltoallv`](Self::alltoallv).
    #[track_caller]
    pub fn gatherv<'a, T: Pod>(
        &mut self,
        send: &[T],
        receive: Option<&mut [T]>,
        counts: impl Into<Counts<'a>>,
        root: usize,
    ) -> Result<(), Error> {
        let counts = counts.into();
        self.gather_counted(send, receive, &counts, root).map_err(self.context.error_of("gatherv"))
    }

    fn gather_counted<T: Pod>(
        &mut self,
        send: &[T],
        receive: Option<&mut [T]>,
        counts: &Counts<'_>,
        root: usize,
    ) -> Result<(), CallError> {
        let receive = self.at_root(root, receive, "receive buffer")?;
        let (root, into) = self.blocks_of_root(root, counts)?;
        let (from, lengths) = (GivenBlocks::One(0, send.len()), (Some(send.len()), Some(receive.len())));
        let form = VaryingForm::of::<T>("gatherv", Collective::Gather { root }, from, into, lengths);
        self.call_varying(form, send, receive, None)
    }

    /// Collects blocks of any lengths at the root, as [`gatherv`](Self::gatherv), with the root's
    /// own block at its place in the buffer. The buffer of any other rank is its block.
    ///
    /// # Errors
    ///
    /// Those of [`gatherv`](Self::gatherv).
    #[track_caller]
    pub fn gatherv_in_place<'a, T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: impl Into<Counts<'a>>,
        root: usize,
    ) -> Result<(), Error> {
        let (counts, collective) = (counts.into(), |root| Collective::Gather { root });
        self.rooted_in_place("gatherv", collective, buffer, &counts, root)
            .map_err(self.context.error_of("gatherv_in_place"))
    }

    /// Distributes blocks of any lengths from the root.
    ///
    /// Rank i receives block i of the root's `send`. [`Counts`] give the lengths and positions of
    /// the root's blocks. Other ranks may pass `None` and empty counts; theirs are ignored. For the
    /// algorithm, see [`gatherv`](Self::gatherv).
    ///
    /// ```
    /// let parts = necklace::local::run(3, |mut comm| {
    ///     let mut part = vec![0; comm.rank() + 1];
    ///     let all: [i32; 6] = [0, 10, 11, 20, 21, 22];
    ///     comm.scatterv((comm.rank() == 0).then_some(&all[..]), &[1, 2, 3], &mut part, 0).unwrap();
    ///     part
    /// });
    /// assert_eq!(parts.unwrap(), [vec![0], vec![10, 11], vec![20, 21, 22]]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`gatherv`](Self::gatherv).
    #[track_caller]
    pub fn scatterv<'a, T: Pod>(
        &mut self,
        send: Option<&[T]>,
        counts: impl Into<Counts<'a>>,
        receive: &mut [T],
        root: usize,
    ) -> Result<(), Error> {
        let counts = counts.into();
        self.scatter_counted(send, &counts, receive, root).map_err(self.context.error_of("scatterv"))
    }

    fn scatter_counted<T: Pod>(
        &mut self,
        send: Option<&[T]>,
        counts: &Counts<'_>,
        receive: &mut [T],
        root: usize,
    ) -> Result<(), CallError> {
        let send = self.at_root(root, send, "send buffer")?;
        let (root, from) = self.blocks_of_root(root, counts)?;
        let (into, lengths) = (GivenBlocks::One(0, receive.len()), (Some(send.len()), Some(receive.len())));
        let form = VaryingForm::of::<T>("scatterv", Collective::Scatter { root }, from, into, lengths);
        self.call_varying(form, send, receive, None)
    }

    /// Distributes blocks of any lengths from the root, as [`scatterv`](Self::scatterv). The root's
    /// buffer does not change. The buffer of any other rank is filled with its block.
    ///
    /// # Errors
    ///
    /// Those of [`gatherv`](Self::gatherv).
    #[track_caller]
    pub fn scatterv_in_place<'a, T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: impl Into<Counts<'a>>,
        root: usize,
    ) -> Result<(), Error> {
        let (counts, collective) = (counts.into(), |root| Collective::Scatter { root });
        self.rooted_in_place("scatterv", collective, buffer, &counts, root)
            .map_err(self.context.error_of("scatterv_in_place"))
    }

    /// Gathers or scatters in one buffer.
    fn rooted_in_place<T: Pod>(
        &mut self,
        name: &'static str,
        collective: impl Fn(Rank) -> Collective,
        buffer: &mut [T],
        counts: &Counts<'_>,
        root: usize,
    ) -> Result<(), CallError> {
        let (rank, size, length) = (self.rank(), self.size(), Some(buffer.len()));
        let (root, all) = self.blocks_of_root(root, counts)?;
        let collective = collective(root);
        let own = match all {
            GivenBlocks::Counted(counts) => {
                counts.runs().nth(rank).map_or(GivenBlocks::Nothing, |(at, len)| GivenBlocks::One(at, len))
            }
            _ => GivenBlocks::One(0, buffer.len()),
        };
        let blocks = |count: usize| match count {
            0 => GivenBlocks::Nothing,
            1 => own,
            _ => all,
        };
        let (role, (before, after)) = (collective.role(size, Rank::new(rank)), collective.buffers());
        let (before, after) = (before.at(role), after.at(role));
        let form = VaryingForm::of::<T>(name, collective, blocks(before), blocks(after), (length, length));
        self.call_varying(form.in_place(), &[], buffer, None)
    }

    /// Collects blocks of any lengths on every rank: block i of `receive` is the `send` of rank i.
    ///
    /// [`Counts`] give the lengths and positions of the blocks. The lengths are the same on every
    /// rank, the positions may differ.
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let send = vec![comm.rank(); comm.rank() + 1];
    ///     let mut all = [9; 6];
    ///     comm.allgatherv(&send, &mut all, &[1, 2, 3]).unwrap();
    ///     all
    /// });
    /// assert_eq!(all.unwrap(), [[0, 1, 1, 2, 2, 2]; 3]);
    /// ```
    ///
    /// Uses the algorithm that is cheapest for blocks of the average length, also `native`, unless
    /// another one is [chosen](Self::choose) for `allgatherv`.
    ///
    /// # Errors
    ///
    /// Those of [`alltoallv`](Self::alltoallv). If ranks pass different lengths, the call fails
    /// with [`Cause::Disagree`](crate::transport::Cause::Disagree), which lists them for up to 16
    /// ranks.
    #[track_caller]
    pub fn allgatherv<'a, T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let counts = counts.into();
        let (from, lengths) = (GivenBlocks::One(0, send.len()), (Some(send.len()), Some(receive.len())));
        let form = VaryingForm::allgather::<T>(from, &counts, lengths);
        self.call_varying(form, send, receive, None).map_err(self.context.error_of("allgatherv"))
    }

    /// Collects blocks of any lengths on every rank, as [`allgatherv`](Self::allgatherv), with this
    /// rank's own block at its place in the buffer.
    ///
    /// # Errors
    ///
    /// Those of [`allgatherv`](Self::allgatherv).
    #[track_caller]
    pub fn allgatherv_in_place<'a, T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: impl Into<Counts<'a>>,
    ) -> Result<(), Error> {
        let (counts, length) = (counts.into(), Some(buffer.len()));
        // Without a count for each rank the call is refused below.
        let (at, elements) = counts.runs().nth(self.rank()).unwrap_or_default();
        let form = VaryingForm::allgather::<T>(GivenBlocks::One(at, elements), &counts, (length, length));
        self.call_varying(form.in_place(), &[], buffer, None).map_err(self.context.error_of("allgatherv_in_place"))
    }

    /// Combines block i of every rank's `send` for rank i, element by element. Blocks have any
    /// lengths, as in `MPI_Reduce_scatter`.
    ///
    /// `counts` has the length of each block. It is the same on every rank. Contributions are
    /// combined in rank order unless the operation [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(2, |mut comm| {
    ///     let mut sums = vec![0; comm.rank() + 1];
    ///     comm.reduce_scatterv(&[1, 10, 20], &[1, 2], &mut sums, Sum).unwrap();
    ///     sums
    /// });
    /// assert_eq!(sums.unwrap(), [vec![2], vec![20, 40]]);
    /// ```
    ///
    /// Chooses the algorithm as [`allgatherv`](Self::allgatherv), for `reduce_scatterv`.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`](crate::error::ArgumentError::Length) unless there is a count for
    /// each rank and the buffers are as long as they say; otherwise see
    /// [`allreduce`](Self::allreduce). If ranks pass different counts, the call fails with
    /// [`Cause::Disagree`](crate::transport::Cause::Disagree), which lists them for up to 16 ranks.
    #[track_caller]
    pub fn reduce_scatterv<T: Pod>(
        &mut self,
        send: &[T],
        counts: &[usize],
        receive: &mut [T],
        op: impl Op<T>,
    ) -> Result<(), Error> {
        self.reduce_scatter_counted(send, counts, receive, &op).map_err(self.context.error_of("reduce_scatterv"))
    }

    fn reduce_scatter_counted<T: Pod>(
        &mut self,
        send: &[T],
        counts: &[usize],
        receive: &mut [T],
        op: &impl Op<T>,
    ) -> Result<(), CallError> {
        let packed = Counts::packed(counts);
        check("list of send counts", counts.len(), self.size())?;
        check("send buffer", send.len(), packed.end().ok_or_else(|| too_long::<T>(counts))?)?;
        check("receive buffer", receive.len(), counts[self.rank()])?;
        let lengths = (Some(send.len()), Some(receive.len()));
        let form = reduce_scatter::<T>(op, &packed, GivenBlocks::One(0, receive.len()), lengths)?;
        self.call_varying(form, send, receive, Some(&OnBytes::new(op)))
    }

    /// Combines block i of every rank's buffer for rank i, as
    /// [`reduce_scatterv`](Self::reduce_scatterv).
    ///
    /// The result is stored at the start of the buffer, as in MPI. What the rest holds afterwards
    /// is not defined.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_scatterv`](Self::reduce_scatterv).
    #[track_caller]
    pub fn reduce_scatterv_in_place<T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: &[usize],
        op: impl Op<T>,
    ) -> Result<(), Error> {
        self.reduce_scatter_counted_in_place(buffer, counts, &op)
            .map_err(self.context.error_of("reduce_scatterv_in_place"))
    }

    fn reduce_scatter_counted_in_place<T: Pod>(
        &mut self,
        buffer: &mut [T],
        counts: &[usize],
        op: &impl Op<T>,
    ) -> Result<(), CallError> {
        let packed = Counts::packed(counts);
        check("list of send counts", counts.len(), self.size())?;
        check("buffer", buffer.len(), packed.end().ok_or_else(|| too_long::<T>(counts))?)?;
        let (into, length) = (GivenBlocks::One(0, counts[self.rank()]), Some(buffer.len()));
        let form = reduce_scatter::<T>(op, &packed, into, (length, length))?;
        self.call_varying(form.in_place(), &[], buffer, Some(&OnBytes::new(op)))
    }

    /// Returns the root, and its blocks if this rank is the root.
    pub(super) fn blocks_of_root<'a>(
        &self,
        root: usize,
        counts: &'a Counts<'a>,
    ) -> Result<(Rank, GivenBlocks<'a>), CallError> {
        let root = self.root(root)?;
        let is_root = root.index() == self.rank();
        Ok((root, if is_root { GivenBlocks::Counted(counts) } else { GivenBlocks::Nothing }))
    }

    fn exchange_counted<T: Pod>(
        &mut self,
        (send, from): (&[T], &Counts<'_>),
        (receive, into): (&mut [T], &Counts<'_>),
    ) -> Result<(), CallError> {
        let lengths = (Some(send.len()), Some(receive.len()));
        let form =
            VaryingForm::exchange::<T>(ALLTOALLV, GivenBlocks::Counted(from), GivenBlocks::Counted(into), lengths);
        self.call_varying(form, send, receive, None)
    }
}

/// Describes a reduction of blocks of lengths that every rank knows.
pub(super) fn reduce_scatter<'a, T: Pod>(
    op: &impl Op<T>,
    counts: &'a Counts<'a>,
    into: GivenBlocks<'a>,
    lengths: BufferLengths,
) -> Result<VaryingForm<'a>, ArgumentError> {
    let collective = Collective::ReduceScatter;
    let key = reduction_key(collective.clone(), op)?;
    let form = VaryingForm::of::<T>("reduce_scatterv", collective, GivenBlocks::Counted(counts), into, lengths);
    let op = VaryingOp { name: key.purpose, commutes: key.commutes, predefined: key.predefined };
    Ok(VaryingForm { op: Some(op), ..form })
}

/// Makes the error for blocks that are too long together.
fn too_long<T>(counts: &[usize]) -> PlanError {
    let elements = counts.iter().copied().max().unwrap_or(0);
    PlanError::Overflow { blocks: counts.len(), elements, element: size_of::<T>() }
}
