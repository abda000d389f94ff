//! MPI's own collectives, for the algorithm `native`.
//!
//! They block, as whoever calls MPI without this crate has it: nothing is faster. While one does
//! not end, the process's listener looks after it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use mpi::ffi;

use super::comm::Comm;
use super::datatype::Datatype;
use super::ending;
use super::error::MpiError;
use super::library::{alive, call};
use super::operation::{Operation, Payload};
use super::predefined;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::transport::engine::call_tracker::CallTracker;
use crate::transport::native::{Blocks, NativeCall, NativeIo, Regular};
use crate::transport::{ContextId, Failure};

/// Those of one context.
#[derive(Debug)]
pub(super) struct Collectives {
    id: ContextId,
    rank: Rank,
    parent: ffi::MPI_Comm,
    /// The members, as ranks of the parent.
    members: Box<[Rank]>,
    /// A communicator of the members, made when it is first needed.
    comm: Option<Arc<Comm>>,
    outside: Arc<CallTracker>,
    /// What the last call needed beside the user's memory, which the next may need as well.
    blocks: Option<Both>,
    operation: Option<Operation>,
    copy: Vec<u8>,
}

/// A reduction has panicked, so that nobody's result is of any meaning.
#[derive(Debug)]
pub(super) struct Panic {
    /// Where: the first rank of which that is so.
    rank: Rank,
    /// What it said, where that is here.
    pub(super) own: Option<Payload>,
}

// SAFETY: handles may be used by any thread: MPI is initialized for that.
unsafe impl Send for Collectives {}

/// The blocks of an `alltoallv` or `alltoallw`, and how MPI is told of them.
#[derive(Debug)]
struct Both {
    of: NativeCall,
    send: Side,
    receive: Side,
}

#[derive(Debug)]
struct Side {
    counts: Vec<c_int>,
    offsets: Vec<c_int>,
    types: Vec<ffi::MPI_Datatype>,
    /// Those that are to be freed.
    _made: Vec<Datatype>,
}

/// One of MPI's reductions, of so many elements.
type Run = fn(*const c_void, *mut c_void, c_int, ffi::MPI_Datatype, ffi::MPI_Op, ffi::MPI_Comm) -> Result<(), MpiError>;

/// How many elements MPI is told of at a time.
pub(super) const MOST: u64 = 1 << 30;

impl Collectives {
    pub(super) fn new(
        id: ContextId,
        (rank, members): (Rank, &[Rank]),
        (parent, comm): (ffi::MPI_Comm, Option<Arc<Comm>>),
        outside: Arc<CallTracker>,
    ) -> Self {
        let members = members.into();
        Self { id, rank, parent, members, comm, outside, blocks: None, operation: None, copy: Vec::new() }
    }

    /// Does a call. What MPI says if it cannot; and whether a reduction has panicked.
    #[inline]
    pub(super) fn call(&mut self, io: &mut NativeIo<'_>) -> Result<Option<Panic>, MpiError> {
        self.outside.enter(io.call, io.signature, io.timeouts);
        let done = self.comm().and_then(|comm| self.run(comm, io));
        self.outside.leave();
        done
    }

    /// What a rank for which MPI did not do something gives up for.
    pub(super) fn refused(&self, io: &NativeIo<'_>, error: &MpiError) -> Failure {
        io.gave_up(self.rank, error.to_string().into())
    }

    /// The failure of a call in which a reduction has panicked.
    pub(super) fn panicked(io: &NativeIo<'_>, panic: &Panic) -> Failure {
        io.gave_up(panic.rank, "the operation panicked".into())
    }

    /// The communicator. Collective, when it is first asked for.
    fn comm(&mut self) -> Result<ffi::MPI_Comm, MpiError> {
        if let Some(comm) = &self.comm {
            return Ok(comm.handle());
        }
        // A context that was opened since has no rounds that would fail of it.
        alive()?;
        if ending::has_begun_in_vain() {
            let words = "MPI makes no communicators while it still waits for ranks that have not called".to_owned();
            return Err(MpiError::Refused { call: "MPI_Comm_create_group", words });
        }
        // Two contexts whose numbers differ by a multiple of this, begun at once by two threads,
        // would meet in each other's place: one pair in 32,000. Beyond the tags that this crate has
        // for messages, and below the least that any MPI has at most.
        let tag = 16 + (self.id.number() % 32_000) as c_int;
        let ranks: Vec<c_int> = self.members.iter().map(|member| member.index() as c_int).collect();
        // SAFETY: constants of the library.
        let (mut all, mut some, mut comm) =
            unsafe { (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL, ffi::RSMPI_COMM_NULL) };
        call!(MPI_Comm_group(self.parent, &mut all))?;
        let made = call!(MPI_Group_incl(all, ranks.len() as c_int, ranks.as_ptr(), &mut some))
            .and_then(|()| call!(MPI_Comm_create_group(self.parent, some, tag, &mut comm)));
        for group in [&mut all, &mut some] {
            // SAFETY: a constant of the library.
            if *group != unsafe { ffi::RSMPI_GROUP_NULL } {
                call!(MPI_Group_free(group))?;
            }
        }
        made?;
        self.comm = Some(Arc::new(Comm::new(comm)?));
        Ok(comm)
    }

    #[inline]
    fn run(&mut self, comm: ffi::MPI_Comm, io: &mut NativeIo<'_>) -> Result<Option<Panic>, MpiError> {
        let (what, reduction) = (io.what(), io.reduction());
        let (input, output) = io.buffers();
        if let NativeCall::Regular(Regular { collective: Collective::Broadcast { .. }, in_place: false, .. }) = what
            && let Some(output) = output.get_mut(..input.len())
        {
            // MPI's has one buffer. Only the root has an input.
            output.copy_from_slice(input);
        }
        let (from, into) = (place(input.as_ptr(), input.len()), place(output.as_mut_ptr(), output.len()).cast_mut());
        match what {
            NativeCall::Regular(regular) => self.regular(comm, regular, (from, into, output), reduction),
            NativeCall::Alltoallv { .. } | NativeCall::Alltoallw { .. } => {
                let Both { send, receive, .. } = self.both(what)?;
                // All ranks must call the same function, and this is the one that has what any of
                // them may need.
                call!(MPI_Alltoallw(
                    from,
                    send.counts.as_ptr(),
                    send.offsets.as_ptr(),
                    send.types.as_ptr(),
                    into,
                    receive.counts.as_ptr(),
                    receive.offsets.as_ptr(),
                    receive.types.as_ptr(),
                    comm
                ))?;
                Ok(None)
            }
        }
    }

    /// A collective of blocks of equal length.
    #[inline]
    fn regular(
        &mut self,
        comm: ffi::MPI_Comm,
        regular: &Regular,
        (from, into, output): (*const c_void, *mut c_void, &[u8]),
        reduction: Option<&dyn crate::plan::Reduction>,
    ) -> Result<Option<Panic>, MpiError> {
        let collective = &regular.collective;
        let unknown = || MpiError::Refused { call: "MPI", words: format!("it has no {collective}") };
        if collective.is_reduction() {
            let run: Run = match collective {
                Collective::Allreduce => {
                    |from, into, count, of, op, comm| call!(MPI_Allreduce(from, into, count, of, op, comm))
                }
                Collective::Scan => |from, into, count, of, op, comm| call!(MPI_Scan(from, into, count, of, op, comm)),
                Collective::ReduceScatter => {
                    |from, into, count, of, op, comm| call!(MPI_Reduce_scatter_block(from, into, count, of, op, comm))
                }
                _ => return Err(unknown()),
            };
            return self.reduce(comm, regular, (from, into), reduction, run);
        }
        let root = collective.root().map_or(0, |root| root.index() as c_int);
        let (count, of) = Datatype::bytes(regular.block().unwrap_or(0))?;
        match collective {
            Collective::Alltoall => {
                let from = if regular.in_place {
                    // Faster than what libraries do in place.
                    self.copy.clear();
                    self.copy.extend_from_slice(output);
                    place(self.copy.as_ptr(), self.copy.len())
                } else {
                    from
                };
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

    /// Combines, as many elements at a time as can be counted.
    fn reduce(
        &mut self,
        comm: ffi::MPI_Comm,
        of: &Regular,
        (from, into): (*const c_void, *mut c_void),
        reduction: Option<&dyn crate::plan::Reduction>,
        run: Run,
    ) -> Result<Option<Panic>, MpiError> {
        let part = |first: u64, kind: ffi::MPI_Datatype, op: ffi::MPI_Op| {
            let (at, count) = ((first * of.element) as usize, (of.count - first).min(MOST) as c_int);
            // SAFETY: as many elements are in both buffers.
            let (from, into) = unsafe { (from.byte_add(at), into.byte_add(at)) };
            run(from, into, count, kind, op, comm)
        };
        let mut parts = (0..of.count).step_by(MOST as usize);
        if let Some(predefined) = of.predefined {
            let (kind, op) = predefined::predefined(predefined)?;
            parts.try_for_each(|first| part(first, kind, op))?;
            return Ok(None);
        }
        let Some(reduction) = reduction.filter(|_| of.element > 0) else { return Ok(None) };
        let (bytes, commutes) = (of.element as usize, reduction.is_commutative());
        if self.operation.as_ref().is_none_or(|operation| !operation.is_of(bytes, commutes)) {
            self.operation = Some(Operation::new(bytes, commutes)?);
        }
        let Some(operation) = &self.operation else { return Ok(None) };
        let own =
            operation.with(reduction, |own| parts.try_for_each(|first| part(first, own.element.handle, own.op)))?;
        self.panic(comm, own)
    }

    /// Whether the reduction has panicked anywhere: what comes of it does not show that.
    fn panic(&self, comm: ffi::MPI_Comm, own: Option<Payload>) -> Result<Option<Panic>, MpiError> {
        let nobody = self.members.len() as c_int;
        let (mine, mut first) = (own.as_ref().map_or(nobody, |_| self.rank.index() as c_int), nobody);
        let (from, into) = (ptr::from_ref(&mine).cast(), ptr::from_mut(&mut first).cast());
        // SAFETY: constants of the library.
        let (int, least) = unsafe { (ffi::RSMPI_INT32_T, ffi::RSMPI_MIN) };
        call!(MPI_Allreduce(from, into, 1, int, least, comm))?;
        Ok((first < nobody).then(|| Panic { rank: Rank::new(first as usize), own }))
    }

    /// How MPI is told of the blocks of a call.
    fn both(&mut self, what: &NativeCall) -> Result<&Both, MpiError> {
        let both = match (self.blocks.take().filter(|both| both.of == *what), what) {
            (Some(both), _) => both,
            (None, NativeCall::Alltoallv { send, receive } | NativeCall::Alltoallw { send, receive }) => {
                Both { of: what.clone(), send: Side::new(send)?, receive: Side::new(receive)? }
            }
            (None, _) => {
                let none = Blocks::default();
                Both { of: what.clone(), send: Side::new(&none)?, receive: Side::new(&none)? }
            }
        };
        Ok(self.blocks.insert(both))
    }
}

/// Where a buffer lies, for MPI. That of no bytes may be anywhere, also at what the library takes
/// for `MPI_IN_PLACE`: in Open MPI that is 1, as is the address of an empty slice of bytes.
fn place(at: *const u8, bytes: usize) -> *const c_void {
    static NOWHERE: u8 = 0;
    let at = if bytes == 0 { ptr::from_ref(&NOWHERE) } else { at };
    at.cast()
}

impl Side {
    fn new(blocks: &Blocks) -> Result<Self, MpiError> {
        let mut side = Self { counts: Vec::new(), offsets: Vec::new(), types: Vec::new(), _made: Vec::new() };
        for rank in (0..blocks.ranks()).map(Rank::new) {
            let plain = blocks.piece(rank).map(|(offset, length)| (c_int::try_from(offset), c_int::try_from(length)));
            let (offset, count, of) = match plain {
                Some((Ok(offset), Ok(length))) => (offset, length, Datatype::byte()),
                _ => (0, 1, Datatype::runs(blocks.of(rank))?),
            };
            side.offsets.push(offset);
            side.counts.push(count);
            side.types.push(of.handle);
            side._made.push(of);
        }
        Ok(side)
    }
}
