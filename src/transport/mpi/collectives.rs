//! MPI's own collectives, for the algorithm `native`.
//!
//! They block, as in a program that calls MPI itself: nothing is faster. While a call does not
//! return, the watchdog of the process supervises it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use mpi::ffi;

use super::blocks::{BlockArguments, BlockLayouts, own_block, scatter_pieces, span, uncountable};
use super::call_tracker::CallTracker;
use super::comm::Comm;
use super::datatype::Datatype;
use super::error::MpiError;
use super::finalization;
use super::library::{call, check_alive};
use super::operation::{Operation, Payload};
use super::predefined;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::plan::{Buffers, Reduction, copy_runs};
use crate::transport::native::{NativeCall, NativeIo, Predefined, Regular, Varying};
use crate::transport::{ContextId, Failure};

/// The collectives of one context.
#[derive(Debug)]
pub(super) struct Collectives {
    id: ContextId,
    rank: Rank,
    parent: ffi::MPI_Comm,
    /// The members, as ranks of the parent.
    members: Box<[Rank]>,
    /// A communicator of the members, made when it is first needed.
    comm: Option<Arc<Comm>>,
    tracker: Arc<CallTracker>,
    /// Arguments of the last call with blocks of different lengths, which the next call may use
    /// again.
    blocks: Option<BlockArguments>,
    /// The operation of the last user-defined reduction.
    operation: Option<Operation>,
    /// The other buffer of a call in place.
    other: Vec<u8>,
}

/// A reduction has panicked, so the results of all ranks are meaningless.
#[derive(Debug)]
pub(super) struct ReductionPanic {
    /// The lowest rank on which it has panicked.
    rank: Rank,
    /// The payload of the panic, if it happened on this rank.
    pub(super) own: Option<Payload>,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for Collectives {}

/// One of MPI's reductions, with a count of elements and a root.
type ReductionCall =
    fn(*const c_void, *mut c_void, c_int, ffi::MPI_Datatype, ffi::MPI_Op, c_int, ffi::MPI_Comm) -> Result<(), MpiError>;

/// Maximum number of elements in one call of MPI.
const MAX_COUNT: u64 = 1 << 30;

/// Returns whether MPI has the call: everything but a reduce-scatter of more elements than it can
/// count.
pub(super) fn offers(what: &NativeCall) -> bool {
    match what {
        NativeCall::Regular(regular) => regular.collective != Collective::ReduceScatter || regular.count <= MAX_COUNT,
        NativeCall::Varying(varying) => varying.collective != Collective::ReduceScatter || !varying.long,
    }
}

impl Collectives {
    pub(super) fn new(
        id: ContextId,
        (rank, members): (Rank, &[Rank]),
        (parent, comm): (ffi::MPI_Comm, Option<Arc<Comm>>),
        tracker: Arc<CallTracker>,
    ) -> Self {
        let members = members.into();
        Self { id, rank, parent, members, comm, tracker, blocks: None, operation: None, other: Vec::new() }
    }

    /// Executes a call. Returns the panic of a reduction, if there was one.
    #[inline]
    pub(super) fn call(&mut self, io: &mut NativeIo<'_>) -> Result<Option<ReductionPanic>, MpiError> {
        self.tracker.enter(io.call, io.signature, io.timeouts);
        let done = self.comm().and_then(|comm| self.run(comm, io));
        self.tracker.leave();
        done
    }

    /// Returns the failure of a call that MPI has refused.
    pub(super) fn refused(&self, io: &NativeIo<'_>, error: &MpiError) -> Failure {
        io.gave_up(self.rank, error.to_string().into())
    }

    /// Returns the failure of a call in which a reduction has panicked.
    pub(super) fn panicked(io: &NativeIo<'_>, panic: &ReductionPanic) -> Failure {
        io.gave_up(panic.rank, "the operation panicked".into())
    }

    /// Returns the communicator of the members. Collective when it is first needed.
    fn comm(&mut self) -> Result<ffi::MPI_Comm, MpiError> {
        if let Some(comm) = &self.comm {
            return Ok(comm.handle());
        }
        // A context opened after the finalization has no rounds that would fail because of it.
        check_alive()?;
        if finalization::has_unfinished_start() {
            let description =
                "MPI makes no communicators while it still waits for ranks that have not called".to_owned();
            return Err(MpiError::Refused { call: "MPI_Comm_create_group", description });
        }
        // Two contexts whose numbers differ by a multiple of 32,000, started at the same time by
        // two threads, would be confused: one pair in 32,000. The tags are above those that this
        // crate uses for messages, and below the lowest upper bound that MPI allows a library.
        let tag = 16 + (self.id.number() % 32_000) as c_int;
        let ranks: Vec<c_int> = self.members.iter().map(|member| member.index() as c_int).collect();
        // SAFETY: reads constants of the library.
        let (mut all, mut some, mut comm) =
            unsafe { (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL, ffi::RSMPI_COMM_NULL) };
        call!(MPI_Comm_group(self.parent, &mut all))?;
        let made = call!(MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &mut some))
            .and_then(|()| call!(MPI_Comm_create_group(self.parent, some, tag, &mut comm)));
        for group in [&mut all, &mut some] {
            // SAFETY: reads a constant of the library.
            if *group != unsafe { ffi::RSMPI_GROUP_NULL } {
                call!(MPI_Group_free(group))?;
            }
        }
        made?;
        self.comm = Some(Arc::new(Comm::new(comm)?));
        Ok(comm)
    }

    #[inline]
    fn run(&mut self, comm: ffi::MPI_Comm, io: &mut NativeIo<'_>) -> Result<Option<ReductionPanic>, MpiError> {
        let (what, reduction) = (io.what(), io.reduction());
        let (input, output) = io.buffers();
        if let NativeCall::Regular(Regular { collective: Collective::Broadcast { .. }, in_place: false, .. }) = what
            && let Some(output) = output.get_mut(..input.len())
        {
            // MPI's broadcast has one buffer. Only the root has an input.
            output.copy_from_slice(input);
        }
        match what {
            NativeCall::Regular(regular) => self.regular(comm, regular, (input, output), reduction),
            NativeCall::Varying(varying) => {
                let mut other = std::mem::take(&mut self.other);
                let done = self.varying(comm, varying, (input, output), (reduction, &mut other));
                self.other = other;
                done
            }
        }
    }

    /// Executes a collective whose blocks have different lengths. In place, `other` is the other
    /// buffer, as in [`regular`](Self::regular).
    fn varying(
        &mut self,
        comm: ffi::MPI_Comm,
        varying: &Varying,
        (input, output): (&[u8], &mut [u8]),
        (reduction, other): (Option<&dyn Reduction>, &mut Vec<u8>),
    ) -> Result<Option<ReductionPanic>, MpiError> {
        let Varying { collective, send, receive, in_place, .. } = varying;
        if let Some([into, from]) = own_block(varying, self.rank) {
            let buffers = &mut Buffers { input, output, scratch: &mut [] };
            copy_runs(into, from, buffers).ok_or_else(|| MpiError::Refused {
                call: "MPI_Alltoallw",
                description: "the block of this rank exceeds a buffer".to_owned(),
            })?;
        }
        let has_more_before = *in_place && send.ranks() > receive.ranks();
        // The other buffer begins with the first byte that is needed of it.
        let (from, into) = if has_more_before {
            let span = span(receive);
            other.resize(span.len(), 0);
            (address(output), address_mut(other).wrapping_byte_sub(span.start))
        } else if *in_place {
            let span = span(send);
            other.clear();
            other.extend_from_slice(output.get(span.clone()).unwrap_or_default());
            (address(other).wrapping_byte_sub(span.start), address_mut(output))
        } else {
            (address(input), address_mut(output))
        };
        if *collective == Collective::ReduceScatter {
            let panic = self.reduce_scatter(comm, varying, (from, into), reduction)?;
            // The result lies at the start of the buffer.
            if has_more_before && let Some(start) = output.get_mut(..other.len()) {
                start.copy_from_slice(other);
            }
            return Ok(panic);
        }
        let root = collective.root().map_or(0, |root| root.index() as c_int);
        match self.block_arguments(varying)? {
            // All ranks must call the same function, and only this one suits all lengths.
            BlockLayouts::Typed { send, receive } => call!(MPI_Alltoallw(
                from,
                send.counts.as_ptr(),
                send.offsets.as_ptr(),
                send.types.as_ptr(),
                into,
                receive.counts.as_ptr(),
                receive.offsets.as_ptr(),
                receive.types.as_ptr(),
                comm
            )),
            BlockLayouts::Counted { element, send: sent, receive: received } => {
                let of = element.handle;
                match collective {
                    Collective::Gather { .. } => {
                        let (from, count) = sent.only(from, send);
                        let (counts, offsets) = (received.counts.as_ptr(), received.offsets()?.as_ptr());
                        call!(MPI_Gatherv(from, count, of, into, counts, offsets, of, root, comm))
                    }
                    Collective::Scatter { .. } => {
                        let (into, count) = received.only(into, receive);
                        let (counts, offsets) = (sent.counts.as_ptr(), sent.offsets()?.as_ptr());
                        call!(MPI_Scatterv(from, counts, offsets, of, into.cast_mut(), count, of, root, comm))
                    }
                    _ => {
                        let (from, count) = sent.only(from, send);
                        let counts = received.counts.as_ptr();
                        let run = |into: *mut c_void, offsets: &[c_int]| {
                            call!(MPI_Allgatherv(from, count, of, into, counts, offsets.as_ptr(), of, comm))
                        };
                        match &received.offsets {
                            // MPICH 4.0 ignores the offset of an only block.
                            _ if received.counts.len() == 1 => run(received.only(into, receive).0.cast_mut(), &[0]),
                            Some(offsets) => run(into, offsets),
                            // Only this rank knows that, so it must call what the others call.
                            None => {
                                let (offsets, end) = received.consecutive();
                                let mut all = vec![0_u8; end * varying.element as usize];
                                let done = run(address_mut(&mut all), &offsets);
                                scatter_pieces(&all, receive, output);
                                done
                            }
                        }
                    }
                }
            }
        }?;
        Ok(None)
    }

    /// Executes a reduce-scatter of blocks of different lengths.
    fn reduce_scatter(
        &mut self,
        comm: ffi::MPI_Comm,
        varying: &Varying,
        (from, into): (*const c_void, *mut c_void),
        reduction: Option<&dyn Reduction>,
    ) -> Result<Option<ReductionPanic>, MpiError> {
        let BlockLayouts::Counted { send, .. } = self.block_arguments(varying)? else {
            return Err(uncountable());
        };
        let counts = send.counts.clone();
        let run = |kind: ffi::MPI_Datatype, op: ffi::MPI_Op| {
            call!(MPI_Reduce_scatter(from, into, counts.as_ptr(), kind, op, comm))
        };
        self.reduce_with(comm, (varying.element, varying.predefined), reduction, run)
    }

    /// Executes a collective whose blocks have equal lengths.
    #[inline]
    fn regular(
        &mut self,
        comm: ffi::MPI_Comm,
        regular: &Regular,
        (input, output): (&[u8], &mut [u8]),
        reduction: Option<&dyn Reduction>,
    ) -> Result<Option<ReductionPanic>, MpiError> {
        let collective = &regular.collective;
        let block = regular.block().unwrap_or(0);
        let role = collective.role(self.members.len(), self.rank);
        let (before, after) = collective.buffers();
        let (before, after) = (before.at(role), after.at(role));
        let bytes = |blocks: usize| blocks * block as usize;
        // A copy is faster than the libraries' exchange in place, and `MPI_IN_PLACE` would be
        // needed on some ranks only.
        let is_copied = regular.in_place && !matches!(collective, Collective::Broadcast { .. });
        let has_more_before = is_copied && before > after;
        // In place, this rank's block lies among those that it gathers.
        let own = if before < after { bytes(self.rank.index()) } else { 0 };
        let mut other = std::mem::take(&mut self.other);
        let (from, into) = if has_more_before || *collective == Collective::Exscan && after == 0 {
            // The standard leaves open whether a scan writes to the buffer of the first rank.
            other.resize(bytes(after.max(1)), 0);
            (address(if is_copied { output } else { input }), address_mut(&mut other))
        } else if is_copied {
            other.clear();
            other.extend_from_slice(output.get(own..own + bytes(before)).unwrap_or_default());
            (address(&other), address_mut(output))
        } else {
            (address(input), address_mut(output))
        };
        let done = self.call_regular(comm, regular, (from, into), reduction);
        if has_more_before
            && collective.is_reduction()
            && let (Some(result), Some(start)) = (other.get(..bytes(after)), output.get_mut(..bytes(after)))
        {
            start.copy_from_slice(result);
        }
        self.other = other;
        done
    }

    #[inline]
    fn call_regular(
        &mut self,
        comm: ffi::MPI_Comm,
        regular: &Regular,
        (from, into): (*const c_void, *mut c_void),
        reduction: Option<&dyn Reduction>,
    ) -> Result<Option<ReductionPanic>, MpiError> {
        let collective = &regular.collective;
        let unknown = || MpiError::Refused { call: "MPI", description: format!("it has no {collective}") };
        if collective.is_reduction() {
            let run: ReductionCall = match collective {
                Collective::Allreduce => {
                    |from, into, count, of, op, _, comm| call!(MPI_Allreduce(from, into, count, of, op, comm))
                }
                Collective::Reduce { .. } => {
                    |from, into, count, of, op, root, comm| call!(MPI_Reduce(from, into, count, of, op, root, comm))
                }
                Collective::Scan => {
                    |from, into, count, of, op, _, comm| call!(MPI_Scan(from, into, count, of, op, comm))
                }
                Collective::Exscan => {
                    |from, into, count, of, op, _, comm| call!(MPI_Exscan(from, into, count, of, op, comm))
                }
                Collective::ReduceScatter => |from, into, count, of, op, _, comm| {
                    call!(MPI_Reduce_scatter_block(from, into, count, of, op, comm))
                },
                _ => return Err(unknown()),
            };
            return self.reduce(comm, regular, (from, into), reduction, run);
        }
        let root = collective.root().map_or(0, |root| root.index() as c_int);
        let (count, of) = Datatype::bytes(regular.block().unwrap_or(0))?;
        match collective {
            Collective::Alltoall => {
                call!(MPI_Alltoall(from, count, of.handle, into, count, of.handle, comm))
            }
            Collective::Allgather => call!(MPI_Allgather(from, count, of.handle, into, count, of.handle, comm)),
            Collective::Gather { .. } => {
                call!(MPI_Gather(from, count, of.handle, into, count, of.handle, root, comm))
            }
            Collective::Scatter { .. } => {
                call!(MPI_Scatter(from, count, of.handle, into, count, of.handle, root, comm))
            }
            Collective::Broadcast { .. } => call!(MPI_Bcast(into, count, of.handle, root, comm)),
            Collective::Barrier => call!(MPI_Barrier(comm)),
            _ => Err(unknown()),
        }?;
        Ok(None)
    }

    /// Executes a reduction, in parts of at most [`MAX_COUNT`] elements.
    fn reduce(
        &mut self,
        comm: ffi::MPI_Comm,
        of: &Regular,
        (from, into): (*const c_void, *mut c_void),
        reduction: Option<&dyn Reduction>,
        run: ReductionCall,
    ) -> Result<Option<ReductionPanic>, MpiError> {
        let root = of.collective.root().map_or(0, |root| root.index() as c_int);
        let part = |first: u64, kind: ffi::MPI_Datatype, op: ffi::MPI_Op| {
            let (at, count) = ((first * of.element) as usize, (of.count - first).min(MAX_COUNT) as c_int);
            // MPI does not access a buffer that this rank has no use for, so it need not be that
            // long.
            run(from.wrapping_byte_add(at), into.wrapping_byte_add(at), count, kind, op, root, comm)
        };
        let parts = || (0..of.count).step_by(MAX_COUNT as usize);
        self.reduce_with(comm, (of.element, of.predefined), reduction, |kind, op| {
            parts().try_for_each(|first| part(first, kind, op))
        })
    }

    /// Runs calls of MPI with the datatype of an element and the operation of a reduction.
    fn reduce_with(
        &mut self,
        comm: ffi::MPI_Comm,
        (element, predefined): (u64, Option<Predefined>),
        reduction: Option<&dyn Reduction>,
        run: impl FnOnce(ffi::MPI_Datatype, ffi::MPI_Op) -> Result<(), MpiError>,
    ) -> Result<Option<ReductionPanic>, MpiError> {
        if let Some(predefined) = predefined {
            let (kind, op) = predefined::predefined(predefined)?;
            run(kind, op)?;
            return Ok(None);
        }
        let Some(reduction) = reduction.filter(|_| element > 0) else { return Ok(None) };
        let (bytes, commutes) = (element as usize, reduction.is_commutative());
        if self.operation.as_ref().is_none_or(|operation| !operation.is_of(bytes, commutes)) {
            self.operation = Some(Operation::new(bytes, commutes)?);
        }
        let Some(operation) = &self.operation else { return Ok(None) };
        let own = operation.with(reduction, |own| run(own.element.handle, own.op))?;
        self.find_panic(comm, own)
    }

    /// Finds out whether the reduction has panicked on any rank: its result does not show that.
    fn find_panic(&self, comm: ffi::MPI_Comm, own: Option<Payload>) -> Result<Option<ReductionPanic>, MpiError> {
        let no_rank = self.members.len() as c_int;
        let (mine, mut first) = (own.as_ref().map_or(no_rank, |_| self.rank.index() as c_int), no_rank);
        let (from, into) = (ptr::from_ref(&mine).cast(), ptr::from_mut(&mut first).cast());
        // SAFETY: reads constants of the library.
        let (int, least) = unsafe { (ffi::RSMPI_INT32_T, ffi::RSMPI_MIN) };
        call!(MPI_Allreduce(from, into, 1, int, least, comm))?;
        Ok((first < no_rank).then(|| ReductionPanic { rank: Rank::new(first as usize), own }))
    }

    /// Returns the arguments for the blocks of a call.
    fn block_arguments(&mut self, of: &Varying) -> Result<&BlockLayouts, MpiError> {
        let arguments = match self.blocks.take().filter(|arguments| arguments.of == *of) {
            Some(arguments) => arguments,
            None => BlockArguments { of: of.clone(), layout: BlockLayouts::new(of, (self.rank, self.members.len()))? },
        };
        Ok(&self.blocks.insert(arguments).layout)
    }
}

/// Returns the address of a buffer for MPI. The address of an empty buffer is replaced, since it
/// could equal `MPI_IN_PLACE`: in Open MPI that is 1, as is the address of an empty slice of bytes.
fn address(of: &[u8]) -> *const c_void {
    static NOWHERE: u8 = 0;
    let at = if of.is_empty() { ptr::from_ref(&NOWHERE) } else { of.as_ptr() };
    at.cast()
}

/// As [`address`], of a buffer into which MPI writes.
fn address_mut(of: &mut [u8]) -> *mut c_void {
    if of.is_empty() { address(of).cast_mut() } else { of.as_mut_ptr().cast() }
}
