//! Persistent plans: a call planned once, executed many times.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Communicator;
use super::collectives::key;
use super::lengths::{Need, total};
use super::prepared::{Key, Prepared};
use super::wire::Maker;
use crate::collective::Collective;
use crate::error::Error;

/// A collective of one communicator for fixed sizes, planned: an execution looks nothing up and allocates nothing.
///
/// Made by [`alltoall_init`](Communicator::alltoall_init), [`alltoallv_init`](Communicator::alltoallv_init),
/// [`alltoallw_init`](Communicator::alltoallw_init) and [`allgather_init`](Communicator::allgather_init), as MPI's persistent
/// collectives are.
#[derive(Debug)]
pub struct Persistent<T> {
    pub(super) prepared: Prepared,
    pub(super) maker: Maker,
    pub(super) send: Need,
    pub(super) receive: Need,
    pub(super) of: PhantomData<fn(T)>,
}

impl<T: Pod> Persistent<T> {
    /// Does the call on these buffers. Every member executes its plan of the same making.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] on another communicator than the plan was made by, [`Error::Length`] for buffers of other
    /// lengths; else as [`Communicator`] says.
    #[inline]
    pub fn execute(&mut self, comm: &mut Communicator, send: &[T], receive: &mut [T]) -> Result<(), Error> {
        let (made, used) = (self.maker, comm.wire.maker());
        if made != used {
            return Err(Error::Argument(format!("a plan made by {made} is executed on {used}")));
        }
        self.send.check("send buffer", send.len())?;
        self.receive.check("receive buffer", receive.len())?;
        let (input, output) = (bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive));
        comm.wire.execute(&mut self.prepared, input, output, None)
    }

    /// The call in words: collective, sizes, algorithm, network.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.prepared.signature.words
    }
}

impl Communicator {
    /// Plans an [`alltoall`](Self::alltoall) of blocks of so many elements. Local.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where a buffer would be too long; [`Error::Build`] where the chosen algorithm does not fit.
    pub fn alltoall_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        self.persistent(Key { elements, ..key::<T>(Collective::Alltoall) })
    }

    /// Plans an [`allgather`](Self::allgather) of blocks of so many elements. Local.
    ///
    /// # Errors
    ///
    /// As [`alltoall_init`](Self::alltoall_init).
    pub fn allgather_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        self.persistent(Key { elements, ..key::<T>(Collective::Allgather) })
    }

    fn persistent<T: Pod>(&mut self, key: Key) -> Result<Persistent<T>, Error> {
        let (send, receive) = self.blocks(&key);
        let need = |blocks| Ok::<_, Error>(Need::Exactly(total(key.elements, blocks, key.element.size)?));
        Ok(Persistent {
            send: need(send)?,
            receive: need(receive)?,
            prepared: self.compile(&key)?,
            maker: self.wire.maker(),
            of: PhantomData,
        })
    }
}
