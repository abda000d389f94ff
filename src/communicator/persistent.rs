//! Persistent plans: calls that are planned once and executed many times.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::Communicator;
use super::call_context::CommunicatorId;
use super::collectives::{key, reduction_key};
use super::definition::fingerprint;
use super::lengths::{BufferLength, total};
use super::neighbour_key::NeighbourKey;
use super::planned_call::{PlanKey, PlannedCall};
use super::varying_key::VaryingKey;
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};
use crate::op::{OnBytes, Op};
use crate::plan::Reduction;
use crate::transport::Signature;

/// A persistent plan: a collective of one communicator, planned for fixed sizes, as in MPI.
///
/// It fixes lengths, not buffers. An execution looks nothing up. The first one may allocate; later
/// ones do not. Each collective has a method that makes one:
/// [`alltoall_init`](Communicator::alltoall_init), [`allreduce_init`](Communicator::allreduce_init)
/// and so on, as in MPI.
///
/// ```
/// use necklace::op::Sum;
/// let sums = necklace::local::run(4, |mut comm| {
///     let mut sum = comm.allreduce_init(1, Sum)?;
///     let (mut value, mut all) = ([comm.rank()], [0]);
///     for _ in 0..3 {
///         sum.execute(&mut comm, &value, &mut all)?;
///         value = all;
///     }
///     Ok::<_, necklace::Error>(value[0])
/// })?;
/// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [96; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Persistent<T> {
    pub(super) planned: PlannedCall,
    pub(super) owner: CommunicatorId,
    pub(super) send: BufferLength,
    pub(super) receive: BufferLength,
    pub(super) reduction: Option<Box<dyn Reduction + Send + Sync>>,
    pub(super) origin: Origin,
    pub(super) of: PhantomData<fn(T)>,
}

/// The reason why a call that needs two buffers is not planned in place.
const NO_FORM: &str = "expected a call that has a form in one buffer";

/// The call that a persistent plan is made from, so that it can be planned in place too.
pub(super) enum Origin {
    /// A call with blocks of equal lengths.
    Regular(PlanKey),
    /// A call with blocks of different lengths.
    Varying(VaryingKey),
    /// An exchange with neighbours.
    Neighbours(NeighbourKey),
    /// A permutation, which has no form in one buffer.
    Permutation,
}

impl<T: Pod> Persistent<T> {
    /// Executes the plan on these buffers. Collective: every member executes its plan of the same
    /// call.
    ///
    /// A buffer for which this rank has no use, such as the receive buffer of a gather at a rank
    /// that is not the root, may be empty, and is ignored.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Persistent`] if another communicator made the plan,
    /// [`ArgumentError::Length`] if a buffer has another length; otherwise see [`Communicator`].
    #[inline]
    #[track_caller]
    pub fn execute(&mut self, comm: &mut Communicator, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.check(comm, (send.len(), receive.len())).map_err(comm.context.error_of("execute"))?;
        self.run(comm, send, receive)
    }

    /// Executes a plan that is [in place](Self::in_place) on its buffer. Collective, as
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute). [`ArgumentError::Length`] also if the plan is not in
    /// place and has a send buffer.
    #[inline]
    #[track_caller]
    pub fn execute_in_place(&mut self, comm: &mut Communicator, buffer: &mut [T]) -> Result<(), Error> {
        self.check(comm, (0, buffer.len())).map_err(comm.context.error_of("execute_in_place"))?;
        self.run(comm, &[], buffer)
    }

    #[inline]
    fn run(&mut self, comm: &mut Communicator, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        let (input, output) = (bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive));
        let reduction = self.reduction.as_deref().map(|reduction| reduction as &dyn Reduction);
        comm.context.execute(&mut self.planned, input, output, reduction)
    }

    #[inline]
    fn check(&self, comm: &Communicator, (send, receive): (usize, usize)) -> Result<(), ArgumentError> {
        let (made, used) = (self.owner, comm.context.communicator());
        if made != used {
            return Err(ArgumentError::Persistent { made: made.to_string(), used: used.to_string() });
        }
        self.send.check("send buffer", send)?;
        self.receive.check("receive buffer", receive)
    }

    /// Plans the same call in one buffer, as the methods `.._in_place` of [`Communicator`] do, for
    /// [`execute_in_place`](Self::execute_in_place). Local, or collective if making the plan was.
    ///
    /// The call is planned again, by the algorithm that is chosen now. As in MPI, an alltoall sends
    /// each block from where the one from the same rank is received, and an allgather or the root
    /// of a gather has this rank's own block where it would be received: their positions in the
    /// send buffer are not used. Both lists of
    /// [`neighbour_alltoallw_init`](Communicator::neighbour_alltoallw_init) then name blocks of the
    /// one buffer.
    ///
    /// ```
    /// use necklace::op::Max;
    /// let greatest = necklace::local::run(3, |mut comm| {
    ///     let mut max = comm.allreduce_init(1, Max)?.in_place(&mut comm)?;
    ///     let mut value = [comm.rank()];
    ///     max.execute_in_place(&mut comm, &mut value).map(|()| value[0])
    /// })?;
    /// assert_eq!(greatest.into_iter().collect::<Result<Vec<_>, _>>()?, [2; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Blocks of different lengths, with this rank's own at its place:
    ///
    /// ```
    /// let all = necklace::local::run(3, |mut comm| {
    ///     let mut gather = comm.allgatherv_init(&[1, 2, 1])?.in_place(&mut comm)?;
    ///     let mut all = [9; 4];
    ///     all[[0..1, 1..3, 3..4][comm.rank()].clone()].fill(comm.rank());
    ///     gather.execute_in_place(&mut comm, &mut all).map(|()| all)
    /// })?;
    /// assert_eq!(all.into_iter().collect::<Result<Vec<_>, _>>()?, [[0, 1, 1, 2]; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Persistent`] if another communicator made the plan;
    /// [`ArgumentError::NotInPlace`] for a permutation and for exchanges with neighbours other than
    /// `neighbour_alltoallw` and halos, which have no form in one buffer, and for an alltoall whose
    /// block for a rank has another length than the one from it; otherwise those of the method that
    /// made the plan.
    #[track_caller]
    pub fn in_place(self, comm: &mut Communicator) -> Result<Self, Error> {
        self.moved_in_place(comm).map_err(comm.context.error_of("in_place"))
    }

    fn moved_in_place(self, comm: &mut Communicator) -> Result<Self, CallError> {
        let (made, used) = (self.owner, comm.context.communicator());
        if made != used {
            return Err(ArgumentError::Persistent { made: made.to_string(), used: used.to_string() }.into());
        }
        let call = self.planned.signature.description;
        let refused = |reason: String| ArgumentError::NotInPlace { call, reason };
        match self.origin {
            Origin::Regular(PlanKey { collective: Collective::Custom(_), .. }) => Err(ArgumentError::Custom.into()),
            Origin::Regular(key) => comm.persistent(PlanKey { in_place: true, ..key }, self.reduction),
            Origin::Varying(key) => {
                let key = key.in_one_buffer(comm.rank()).map_err(refused)?;
                comm.varying_persistent(key, self.reduction)
            }
            Origin::Neighbours(key) => {
                let key = key.in_one_buffer().ok_or_else(|| refused(NO_FORM.to_owned()))?;
                comm.neighbour_persistent(key)
            }
            Origin::Permutation => Err(refused(NO_FORM.to_owned()).into()),
        }
    }

    /// Adds to the description, so that members that execute differently labelled plans disagree.
    pub(super) fn labelled(mut self, label: &str) -> Self {
        let Signature { description, fingerprint: known, .. } = &self.planned.signature;
        let description = format!("{description}{label}");
        // 0 without fingerprints.
        let known = if *known == 0 { 0 } else { fingerprint(&description) };
        self.planned.signature = Signature::new(known, description);
        self
    }

    /// Describes the call in text: collective, sizes, algorithm, network.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.planned.signature.description
    }
}

impl<T> fmt::Debug for Persistent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planned, owner, send, receive, .. } = self;
        f.debug_struct("Persistent")
            .field("planned", planned)
            .field("owner", owner)
            .field("send", send)
            .field("receive", receive)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Plans an [`alltoall`](Self::alltoall) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Plan`] if a buffer would be too long; [`ArgumentError::Build`] if the
    /// chosen algorithm does not fit.
    #[track_caller]
    pub fn alltoall_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        self.moving(Collective::Alltoall, elements).map_err(self.context.error_of("alltoall_init"))
    }

    /// Plans an [`allgather`](Self::allgather) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`alltoall_init`](Self::alltoall_init).
    #[track_caller]
    pub fn allgather_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        self.moving(Collective::Allgather, elements).map_err(self.context.error_of("allgather_init"))
    }

    /// Plans a [`broadcast`](Self::broadcast) of `elements` elements, for
    /// [`execute_in_place`](Persistent::execute_in_place). Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Root`] if the root is not a member; otherwise those of
    /// [`alltoall_init`](Self::alltoall_init).
    #[track_caller]
    pub fn broadcast_init<T: Pod>(&mut self, elements: usize, root: usize) -> Result<Persistent<T>, Error> {
        let planned = self.root(root).map_err(CallError::from).and_then(|root| {
            let key = key::<T>(Collective::Broadcast { root });
            self.persistent(PlanKey { elements, in_place: true, ..key }, None)
        });
        planned.map_err(self.context.error_of("broadcast_init"))
    }

    /// Plans a [`gather`](Self::gather) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_init`](Self::broadcast_init).
    #[track_caller]
    pub fn gather_init<T: Pod>(&mut self, elements: usize, root: usize) -> Result<Persistent<T>, Error> {
        let root = self.root(root).map_err(CallError::from);
        root.and_then(|root| self.moving(Collective::Gather { root }, elements))
            .map_err(self.context.error_of("gather_init"))
    }

    /// Plans a [`scatter`](Self::scatter) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_init`](Self::broadcast_init).
    #[track_caller]
    pub fn scatter_init<T: Pod>(&mut self, elements: usize, root: usize) -> Result<Persistent<T>, Error> {
        let root = self.root(root).map_err(CallError::from);
        root.and_then(|root| self.moving(Collective::Scatter { root }, elements))
            .map_err(self.context.error_of("scatter_init"))
    }

    /// Plans a [`barrier`](Self::barrier), to be executed with empty buffers. Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Build`] if the chosen algorithm does not fit.
    #[track_caller]
    pub fn barrier_init(&mut self) -> Result<Persistent<u8>, Error> {
        self.moving(Collective::Barrier, 0).map_err(self.context.error_of("barrier_init"))
    }

    /// Plans a [`reduce`](Self::reduce) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Root`] if the root is not a member; otherwise those of
    /// [`allreduce_init`](Self::allreduce_init).
    #[track_caller]
    pub fn reduce_init<T: Pod>(
        &mut self,
        elements: usize,
        root: usize,
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, Error> {
        let root = self.root(root).map_err(CallError::from);
        root.and_then(|root| self.combining(Collective::Reduce { root }, elements, op))
            .map_err(self.context.error_of("reduce_init"))
    }

    /// Plans an [`allreduce`](Self::allreduce) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Operation`] as [`allreduce`](Self::allreduce); otherwise those of
    /// [`alltoall_init`](Self::alltoall_init).
    #[track_caller]
    pub fn allreduce_init<T: Pod>(
        &mut self,
        elements: usize,
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, Error> {
        self.combining(Collective::Allreduce, elements, op).map_err(self.context.error_of("allreduce_init"))
    }

    /// Plans a [`reduce_scatter`](Self::reduce_scatter) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce_init`](Self::allreduce_init).
    #[track_caller]
    pub fn reduce_scatter_init<T: Pod>(
        &mut self,
        elements: usize,
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, Error> {
        self.combining(Collective::ReduceScatter, elements, op).map_err(self.context.error_of("reduce_scatter_init"))
    }

    /// Plans a [`scan`](Self::scan) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce_init`](Self::allreduce_init).
    #[track_caller]
    pub fn scan_init<T: Pod>(&mut self, elements: usize, op: impl Op<T> + 'static) -> Result<Persistent<T>, Error> {
        self.combining(Collective::Scan, elements, op).map_err(self.context.error_of("scan_init"))
    }

    /// Plans an [`exscan`](Self::exscan) of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`allreduce_init`](Self::allreduce_init).
    #[track_caller]
    pub fn exscan_init<T: Pod>(&mut self, elements: usize, op: impl Op<T> + 'static) -> Result<Persistent<T>, Error> {
        self.combining(Collective::Exscan, elements, op).map_err(self.context.error_of("exscan_init"))
    }

    /// Plans a collective that is given as a value, as [`perform`](Self::perform) executes it.
    /// Local.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_init`](Self::reduce_init), and
    /// [`BuildError::Unfit`](crate::error::BuildError::Unfit) if there is no algorithm for the
    /// collective.
    #[track_caller]
    pub fn perform_init<T: Pod>(
        &mut self,
        collective: &Collective,
        elements: usize,
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, Error> {
        let planned = match collective {
            _ if collective.is_reduction() => self.combining(collective.clone(), elements, op),
            _ => self.moving(collective.clone(), elements),
        };
        planned.map_err(self.context.error_of("perform_init"))
    }

    /// Plans a collective that is no reduction.
    pub(super) fn moving<T: Pod>(
        &mut self,
        collective: Collective,
        elements: usize,
    ) -> Result<Persistent<T>, CallError> {
        self.persistent(PlanKey { elements, ..key::<T>(collective) }, None)
    }

    /// Plans a reduction.
    fn combining<T: Pod>(
        &mut self,
        collective: Collective,
        elements: usize,
        op: impl Op<T> + 'static,
    ) -> Result<Persistent<T>, CallError> {
        let key = PlanKey { elements, ..reduction_key(collective, &op)? };
        self.persistent(key, Some(Box::new(OnBytes::new(op))))
    }

    fn persistent<T: Pod>(
        &mut self,
        key: PlanKey,
        reduction: Option<Box<dyn Reduction + Send + Sync>>,
    ) -> Result<Persistent<T>, CallError> {
        let (send, receive) = self.blocks(&key);
        let need = |blocks| match (blocks, key.collective.has_bytes()) {
            (0, _) | (_, false) => Ok::<_, CallError>(BufferLength::AtLeast(0)),
            _ => Ok(BufferLength::Exactly(total(key.elements, blocks, key.element.size)?)),
        };
        Ok(Persistent {
            send: need(send)?,
            receive: need(receive)?,
            planned: self.compile(&key)?,
            owner: self.context.communicator(),
            reduction,
            origin: Origin::Regular(key),
            of: PhantomData,
        })
    }
}
