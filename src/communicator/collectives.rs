//! Collectives of blocks of equal lengths.

use std::alloc::Layout;
use std::any::type_name;
use std::borrow::Cow;

use bytemuck::Pod;

use super::Communicator;
use super::element::Element;
use super::lengths::{check, total};
use super::planned_call::PlanKey;
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::Rank;
use crate::op::{OnBytes, Op, by};
use crate::plan::Reduction;

impl Communicator {
    /// Sends a block to every rank and receives one from every rank.
    ///
    /// Block j of `send` goes to rank j; block i of `receive` comes from rank i. Blocks have equal
    /// lengths and lie one after the other, in rank order.
    ///
    /// ```
    /// let sums = necklace::local::run(4, |mut comm| {
    ///     let send: Vec<usize> = (0..4).map(|to| 10 * comm.rank() + to).collect();
    ///     let mut receive = vec![0; 4];
    ///     comm.alltoall(&send, &mut receive).unwrap();
    ///     receive
    /// });
    /// assert_eq!(sums.unwrap()[2], [2, 12, 22, 32]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless both buffers have the same length, a multiple of the
    /// number of ranks; otherwise see [`Communicator`].
    #[track_caller]
    pub fn alltoall<T: Pod>(&mut self, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.regular(key::<T>(Collective::Alltoall), send, receive, None).map_err(self.context.error_of("alltoall"))
    }

    pub(super) fn alltoall_for<T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        purpose: Cow<'static, str>,
    ) -> Result<(), CallError> {
        self.regular(PlanKey { purpose, ..key::<T>(Collective::Alltoall) }, send, receive, None)
    }

    /// Collects a block from every rank on every rank: block i of `receive` is the `send` of rank
    /// i.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless `receive` is as long as the `send`s of all ranks together;
    /// otherwise see [`Communicator`].
    #[track_caller]
    pub fn allgather<T: Pod>(&mut self, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.allgather_for(send, receive, "".into()).map_err(self.context.error_of("allgather"))
    }

    pub(super) fn allgather_for<T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        purpose: Cow<'static, str>,
    ) -> Result<(), CallError> {
        self.regular(PlanKey { purpose, ..key::<T>(Collective::Allgather) }, send, receive, None)
    }

    /// Combines the `send` of all ranks, element by element, and gives the result to every rank.
    ///
    /// Contributions are combined in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Max;
    /// let greatest = necklace::local::run(3, |mut comm| {
    ///     let mut greatest = [0.0];
    ///     comm.allreduce(&[comm.rank() as f64], &mut greatest, Max).unwrap();
    ///     greatest[0]
    /// });
    /// assert_eq!(greatest.unwrap(), [2.0; 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless both buffers have the same length;
    /// [`ArgumentError::Operation`] if an `Op` of your own says that it is
    /// [predefined](Op::predefined) on a number type that does not fit `T`; otherwise see
    /// [`Communicator`].
    #[track_caller]
    pub fn allreduce<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::Allreduce, send, receive, &op).map_err(self.context.error_of("allreduce"))
    }

    /// Combines in rank order, for a purpose that the ranks compare.
    pub(super) fn allreduce_for<T: Pod>(
        &mut self,
        send: &[T],
        receive: &mut [T],
        purpose: String,
        op: impl Fn(T, T) -> T + Send + Sync,
    ) -> Result<(), CallError> {
        let key = PlanKey { purpose: purpose.into(), commutes: false, ..key::<T>(Collective::Allreduce) };
        self.regular(key, send, receive, Some(&OnBytes::new(&by("", op))))
    }

    /// Computes the inclusive prefix reduction: rank i receives the `send` of ranks 0 to i,
    /// combined element by element.
    ///
    /// Contributions are combined in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// # Errors
    ///
    /// Those of [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn scan<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::Scan, send, receive, &op).map_err(self.context.error_of("scan"))
    }

    /// Computes the exclusive prefix reduction: rank i receives the `send` of ranks 0 to i - 1,
    /// combined element by element. The `receive` of rank 0 is ignored, since nothing is before it.
    ///
    /// Contributions are combined in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Sum;
    /// // The places of each rank's elements, if they lie one after the other.
    /// let places = necklace::local::run(4, |mut comm| {
    ///     let mut place = [0];
    ///     comm.exscan(&[10 + comm.rank()], &mut place, Sum).unwrap();
    ///     place[0]
    /// });
    /// assert_eq!(places.unwrap(), [0, 10, 21, 33]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn exscan<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        let receive = if self.rank() == 0 { &mut [] } else { receive };
        self.reduce_by(Collective::Exscan, send, receive, &op).map_err(self.context.error_of("exscan"))
    }

    /// Combines the `send` of all ranks, element by element, and gives the result to the root.
    ///
    /// Other ranks may pass `None`; their `receive` is ignored. Contributions are combined in rank
    /// order unless the operation [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut sum = [0];
    ///     let receive = (comm.rank() == 1).then_some(&mut sum[..]);
    ///     comm.reduce(&[10 + comm.rank()], receive, 1, Sum).unwrap();
    ///     sum[0]
    /// });
    /// assert_eq!(sums.unwrap(), [0, 33, 0]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::RootBuffer`] if the root passes `None`; [`ArgumentError::Root`] if the root
    /// is not a member; otherwise see [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn reduce<T: Pod>(
        &mut self,
        send: &[T],
        receive: Option<&mut [T]>,
        root: usize,
        op: impl Op<T>,
    ) -> Result<(), Error> {
        self.reduce_to(root, send, receive, &op).map_err(self.context.error_of("reduce"))
    }

    fn reduce_to<T: Pod, O: Op<T>>(
        &mut self,
        root: usize,
        send: &[T],
        receive: Option<&mut [T]>,
        op: &O,
    ) -> Result<(), CallError> {
        let receive = self.at_root(root, receive, "receive buffer")?;
        self.reduce_by(Collective::Reduce { root: Rank::new(root) }, send, receive, op)
    }

    /// Executes a reduction.
    fn reduce_by<T: Pod, O: Op<T>>(
        &mut self,
        collective: Collective,
        send: &[T],
        receive: &mut [T],
        op: &O,
    ) -> Result<(), CallError> {
        self.regular(reduction_key(collective, op)?, send, receive, Some(&OnBytes::new(op)))
    }

    /// Executes a reduction in one buffer.
    pub(super) fn reduce_in_one_buffer<T: Pod, O: Op<T>>(
        &mut self,
        collective: Collective,
        buffer: &mut [T],
        op: &O,
    ) -> Result<(), CallError> {
        let key = PlanKey { in_place: true, ..reduction_key(collective, op)? };
        self.regular(key, &[], buffer, Some(&OnBytes::new(op)))
    }

    /// Copies the buffer of the root to every rank. It has the same length on every rank.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Root`] if the root is not a member; otherwise see [`Communicator`].
    #[track_caller]
    pub fn broadcast<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.broadcast_from(buffer, root).map_err(self.context.error_of("broadcast"))
    }

    fn broadcast_from<T: Pod>(&mut self, buffer: &mut [T], root: usize) -> Result<(), CallError> {
        let root = self.root(root)?;
        self.in_one_buffer(Collective::Broadcast { root }, buffer)
    }

    /// Collects a block from every rank at the root.
    ///
    /// Block i of the root's `receive` is the `send` of rank i. Other ranks may pass `None`;
    /// their `receive` is ignored.
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let mut all = [0; 3];
    ///     let receive = (comm.rank() == 1).then_some(&mut all[..]);
    ///     comm.gather(&[10 * comm.rank()], receive, 1).unwrap();
    ///     all
    /// });
    /// assert_eq!(all.unwrap(), [[0, 0, 0], [0, 10, 20], [0, 0, 0]]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::RootBuffer`] if the root passes `None`; [`ArgumentError::Length`] unless
    /// its `receive` is as long as the `send`s of all ranks together; otherwise see
    /// [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn gather<T: Pod>(&mut self, send: &[T], receive: Option<&mut [T]>, root: usize) -> Result<(), Error> {
        self.gather_to(root, send, receive).map_err(self.context.error_of("gather"))
    }

    fn gather_to<T: Pod>(&mut self, root: usize, send: &[T], receive: Option<&mut [T]>) -> Result<(), CallError> {
        let receive = self.at_root(root, receive, "receive buffer")?;
        self.regular(key::<T>(Collective::Gather { root: Rank::new(root) }), send, receive, None)
    }

    /// Returns the buffer that only the root passes; elsewhere an empty one.
    pub(super) fn at_root<B: Default>(
        &self,
        root: usize,
        buffer: Option<B>,
        what: &'static str,
    ) -> Result<B, ArgumentError> {
        match (self.root(root)?.index() == self.rank(), buffer) {
            (true, None) => Err(ArgumentError::RootBuffer { root, what }),
            (true, Some(buffer)) => Ok(buffer),
            (false, _) => Ok(B::default()),
        }
    }

    /// Distributes the blocks of the root.
    ///
    /// Rank i receives block i of the root's `send`. Other ranks may pass `None`; their `send`
    /// is ignored.
    ///
    /// ```
    /// let parts = necklace::local::run(3, |mut comm| {
    ///     let mut part = [0; 2];
    ///     let all: [i32; 6] = [0, 1, 10, 11, 20, 21];
    ///     comm.scatter((comm.rank() == 0).then_some(&all[..]), &mut part, 0).unwrap();
    ///     part
    /// });
    /// assert_eq!(parts.unwrap(), [[0, 1], [10, 11], [20, 21]]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::RootBuffer`] if the root passes `None`; [`ArgumentError::Length`] unless
    /// its `send` is as long as the `receive`s of all ranks together; otherwise see
    /// [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn scatter<T: Pod>(&mut self, send: Option<&[T]>, receive: &mut [T], root: usize) -> Result<(), Error> {
        self.scatter_from(root, send, receive).map_err(self.context.error_of("scatter"))
    }

    fn scatter_from<T: Pod>(&mut self, root: usize, send: Option<&[T]>, receive: &mut [T]) -> Result<(), CallError> {
        let send = self.at_root(root, send, "send buffer")?;
        self.regular(key::<T>(Collective::Scatter { root: Rank::new(root) }), send, receive, None)
    }

    /// Combines block i of every rank's `send`, element by element, and gives the result to rank i.
    ///
    /// All blocks have the length of `receive`, as in `MPI_Reduce_scatter_block`.
    ///
    /// Contributions are combined in rank order unless the operation
    /// [commutes](Op::is_commutative).
    ///
    /// ```
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut sum = [0];
    ///     comm.reduce_scatter(&[1, 10, 100], &mut sum, Sum).unwrap();
    ///     sum[0]
    /// });
    /// assert_eq!(sums.unwrap(), [3, 30, 300]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless `send` has the length of `receive` times the number of
    /// ranks; otherwise see [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn reduce_scatter<T: Pod>(&mut self, send: &[T], receive: &mut [T], op: impl Op<T>) -> Result<(), Error> {
        self.reduce_by(Collective::ReduceScatter, send, receive, &op).map_err(self.context.error_of("reduce_scatter"))
    }

    /// Executes a collective that is given as a value.
    ///
    /// `send` has the blocks that this rank holds before the call, `receive` those that it holds
    /// after it, one after the other in rank order. Only reductions use the operation.
    ///
    /// The blocks of a [custom](Collective::Custom) collective have equal lengths, and lie in the
    /// order of its conditions. There is no algorithm for it in the registry: pass one by
    /// [`using`](Self::using). A rank that relays blocks must also hold some, before or after,
    /// because their length follows from its buffers.
    ///
    /// ```
    /// use necklace::collective::Collective;
    /// use necklace::op::Sum;
    /// let sums = necklace::local::run(3, |mut comm| {
    ///     let mut sum = [0];
    ///     comm.perform(&Collective::Allreduce, &[comm.rank()], &mut sum, Sum).unwrap();
    ///     sum[0]
    /// });
    /// assert_eq!(sums.unwrap(), [3, 3, 3]);
    /// ```
    ///
    /// The k-to-all broadcast (Grama et al., problem 4.16) is a custom collective:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use necklace::Rank;
    /// use necklace::algorithm::custom::KToAllBroadcast;
    /// use necklace::collective::{Collective, Custom};
    /// use necklace::op::Max;
    /// let sources = [Rank::new(1), Rank::new(2)];
    /// let collective = Collective::Custom(Arc::new(Custom::k_to_all_broadcast(8, &sources)));
    /// let all = necklace::local::run_on("hypercube:3", |mut comm| {
    ///     let send = if [1, 2].contains(&comm.rank()) { vec![10 * comm.rank()] } else { vec![] };
    ///     let mut receive = [0; 2];
    ///     comm.using(Arc::new(KToAllBroadcast)).perform(&collective, &send, &mut receive, Max).unwrap();
    ///     receive
    /// });
    /// assert_eq!(all.unwrap(), [[10, 20]; 8]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Length`] unless the buffers have the lengths that the collective needs;
    /// [`BuildError::Rank`](crate::error::BuildError::Rank) if the root is not a member;
    /// [`BuildError::Unfit`](crate::error::BuildError::Unfit) if there is no algorithm for it;
    /// otherwise see [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn perform<T: Pod>(
        &mut self,
        collective: &Collective,
        send: &[T],
        receive: &mut [T],
        op: impl Op<T>,
    ) -> Result<(), Error> {
        self.any(collective, send, receive, &op).map_err(self.context.error_of("perform"))
    }

    /// Executes a collective that is given as a value in one buffer, as the methods `.._in_place`
    /// do.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Custom`] for a custom collective; otherwise those of
    /// [`perform`](Self::perform).
    #[track_caller]
    pub fn perform_in_place<T: Pod>(
        &mut self,
        collective: &Collective,
        buffer: &mut [T],
        op: impl Op<T>,
    ) -> Result<(), Error> {
        let done = match collective {
            Collective::Custom(_) => Err(ArgumentError::Custom.into()),
            _ if collective.is_reduction() => self.reduce_in_one_buffer(collective.clone(), buffer, &op),
            _ => self.in_one_buffer(collective.clone(), buffer),
        };
        done.map_err(self.context.error_of("perform_in_place"))
    }

    fn any<T: Pod, O: Op<T>>(
        &mut self,
        collective: &Collective,
        send: &[T],
        receive: &mut [T],
        op: &O,
    ) -> Result<(), CallError> {
        if collective.is_reduction() {
            return self.reduce_by(collective.clone(), send, receive, op);
        }
        self.regular(key::<T>(collective.clone()), send, receive, None)
    }

    /// Checks a root.
    pub(super) fn root(&self, root: usize) -> Result<Rank, ArgumentError> {
        let ranks = self.size();
        if root < ranks { Ok(Rank::new(root)) } else { Err(ArgumentError::Root { root, ranks }) }
    }

    /// Waits until every member has called `barrier`.
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn barrier(&mut self) -> Result<(), Error> {
        let barrier = self.regular::<u8>(key::<u8>(Collective::Barrier), &[], &mut [], None);
        barrier.map_err(self.context.error_of("barrier"))
    }

    /// Checks that all members pass the same text, for example the options of a library's plan.
    /// Collective, with the cost of a [`barrier`](Self::barrier) that is planned each time. Uses the
    /// algorithm chosen for `barrier`, whatever [`using`](Self::using) says.
    ///
    /// ```
    /// let errors = necklace::local::run(3, |mut comm| {
    ///     let tile = if comm.rank() == 1 { 32 } else { 64 };
    ///     comm.compare(&format!("tiles of {tile} rows")).unwrap_err().to_string()
    /// })?;
    /// for error in errors {
    ///     assert!(error.contains("tiles of 64 rows") && error.contains("tiles of 32 rows"));
    /// }
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] on every member if they pass different texts. Nothing is compared if
    /// [`Options::fingerprints`](crate::Options::fingerprints) is off. Otherwise see [`Communicator`].
    #[track_caller]
    pub fn compare(&mut self, text: &str) -> Result<(), Error> {
        self.barrier_for(format!("comparison: {text}").into()).map_err(self.context.error_of("compare"))
    }

    /// Executes a barrier whose members compare its purpose. Does not cache the plan, which would evict
    /// one that the program uses again.
    pub(super) fn barrier_for(&mut self, purpose: Cow<'static, str>) -> Result<(), CallError> {
        let mut planned = self.compile(&PlanKey { purpose, ..key::<u8>(Collective::Barrier) })?;
        Ok(self.context.execute(&mut planned, &[], &mut [], None)?)
    }

    /// Executes a collective of blocks of equal lengths; plans it unless its plan is cached.
    ///
    /// The buffers follow the collective's [row](crate::collective). Their lengths determine the
    /// key's `lengths` and `elements`.
    #[inline]
    pub(super) fn regular<T: Pod>(
        &mut self,
        key: PlanKey,
        send: &[T],
        receive: &mut [T],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), CallError> {
        let key = PlanKey { lengths: (send.len(), receive.len()), ..key };
        self.plan_cached(&key)?;
        self.execute_last(bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive), reduction)
    }

    /// Executes the plan used last. Its buffers are bytes, so that this is compiled once, in this
    /// crate.
    fn execute_last(
        &mut self,
        send: &[u8],
        receive: &mut [u8],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), CallError> {
        let lost = || Error::Internal("a plan just made is not in the cache".into());
        let planned = self.cache.last().ok_or_else(lost)?;
        Ok(self.context.execute(planned, send, receive, reduction)?)
    }

    /// Returns the elements of a block from the lengths of the buffers. Fails unless they agree.
    pub(super) fn elements(&self, key: &PlanKey) -> Result<usize, ArgumentError> {
        let ((send, receive), (sends, receives)) = (key.lengths, self.blocks(key));
        let (of_send, of_receive) = (("send buffer", send, sends), ("receive buffer", receive, receives));
        // The buffer with fewer blocks says how long they are.
        let ((what, found, blocks), other) = match (sends, receives) {
            (0, _) if key.in_place => (("buffer", receive, receives), None),
            (0, _) => (of_receive, None),
            (_, 0) => (of_send, None),
            _ if receives < sends => (of_receive, Some(of_send)),
            _ => (of_send, Some(of_receive)),
        };
        if blocks == 0 || !key.collective.has_bytes() {
            return Ok(0);
        }
        if !found.is_multiple_of(blocks) {
            return Err(ArgumentError::Length {
                what,
                expected: match blocks == self.size() {
                    true => format!("a multiple of {blocks} (a block for each rank)"),
                    false => format!("a multiple of {blocks}, the number of blocks"),
                },
                found,
            });
        }
        let elements = found / blocks;
        if let Some((what, found, blocks)) = other {
            check(what, found, total(elements, blocks, key.element.size)?)?;
        }
        Ok(elements)
    }

    /// Returns the numbers of blocks in this rank's input and output.
    pub(super) fn blocks(&self, key: &PlanKey) -> (usize, usize) {
        let (before, after) = key.collective.lengths(self.size(), Rank::new(self.rank()));
        if key.in_place { (0, before.max(after)) } else { (before, after) }
    }
}

/// Makes the key of a collective on elements of type `T`, without a purpose.
#[inline]
pub(super) fn key<T: Pod>(collective: Collective) -> PlanKey {
    PlanKey {
        collective,
        element: Element::of::<T>(),
        lengths: (0, 0),
        elements: 0,
        in_place: false,
        purpose: Cow::Borrowed(""),
        predefined: None,
        commutes: true,
    }
}

/// Makes the key of a reduction. Fails if an operation that says that it is predefined is not one
/// on such elements.
pub(super) fn reduction_key<T: Pod, O: Op<T>>(collective: Collective, op: &O) -> Result<PlanKey, ArgumentError> {
    let predefined = op.predefined();
    let layout = Layout::new::<T>();
    let does_not_fit = |number: Layout| number.size() != layout.size() || number.align() > layout.align();
    if let Some(of) = predefined.filter(|of| does_not_fit(of.number.layout())) {
        let number = of.number.layout();
        return Err(ArgumentError::Operation {
            op: op.name().into_owned(),
            element: type_name::<T>(),
            number: format!("{:?}", of.number),
            found: (layout.size(), layout.align()),
            expected: (number.size(), number.align()),
        });
    }
    Ok(PlanKey { purpose: op.name(), predefined, commutes: op.is_commutative(), ..key::<T>(collective) })
}
