//! Persistent plans: calls that are planned once and executed many times.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Communicator;
use super::call_context::CommunicatorId;
use super::collectives::key;
use super::lengths::{BufferLength, total};
use super::planned_call::{PlanKey, PlannedCall};
use crate::collective::Collective;
use crate::error::{ArgumentError, CallError, Error};

/// A persistent plan: a collective of one communicator, planned for fixed sizes, as in MPI.
///
/// It fixes lengths, not buffers. An execution looks nothing up and allocates nothing. Made by
/// [`alltoall_init`](Communicator::alltoall_init),
/// [`alltoallv_init`](Communicator::alltoallv_init),
/// [`alltoallw_init`](Communicator::alltoallw_init),
/// [`allgather_init`](Communicator::allgather_init) and
/// [`permute_init`](Communicator::permute_init).
#[derive(Debug)]
pub struct Persistent<T> {
    pub(super) planned: PlannedCall,
    pub(super) owner: CommunicatorId,
    pub(super) send: BufferLength,
    pub(super) receive: BufferLength,
    pub(super) of: PhantomData<fn(T)>,
}

impl<T: Pod> Persistent<T> {
    /// Executes the plan on these buffers. Collective: every member executes its plan of the same
    /// call.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Persistent`] if another communicator made the plan,
    /// [`ArgumentError::Length`] if a buffer has another length; otherwise see [`Communicator`].
    #[inline]
    #[track_caller]
    pub fn execute(&mut self, comm: &mut Communicator, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        self.check(comm, (send.len(), receive.len())).map_err(comm.context.error_of("execute"))?;
        let (input, output) = (bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive));
        comm.context.execute(&mut self.planned, input, output, None)
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

    /// Describes the call in text: collective, sizes, algorithm, network.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.planned.signature.description
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
        self.persistent(PlanKey { elements, ..key::<T>(Collective::Alltoall) })
            .map_err(self.context.error_of("alltoall_init"))
    }

    /// Plans an [`allgather`](Self::allgather) of blocks of `elements` elements. Local.
    ///
    /// # Errors
    ///
    /// Those of [`alltoall_init`](Self::alltoall_init).
    #[track_caller]
    pub fn allgather_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        self.persistent(PlanKey { elements, ..key::<T>(Collective::Allgather) })
            .map_err(self.context.error_of("allgather_init"))
    }

    fn persistent<T: Pod>(&mut self, key: PlanKey) -> Result<Persistent<T>, CallError> {
        let (send, receive) = self.blocks(&key);
        let need = |blocks| Ok::<_, CallError>(BufferLength::Exactly(total(key.elements, blocks, key.element.size)?));
        Ok(Persistent {
            send: need(send)?,
            receive: need(receive)?,
            planned: self.compile(&key)?,
            owner: self.context.communicator(),
            of: PhantomData,
        })
    }
}
