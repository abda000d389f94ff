//! Persistent plans: a call planned once, executed many times.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::cache::{Key, Prepared};
use super::collectives::{check, key};
use super::{Communicator, total};
use crate::collective::Collective;
use crate::error::Error;
use crate::ids::Rank;
use crate::transport::ContextId;

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

/// A communicator of this process. Its context alone would not do: ranks that are threads share it, and other jobs have
/// one of the same name, while a plan fits none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    pub(super) identity: u64,
    pub(super) context: ContextId,
    pub(super) rank: Rank,
    pub(super) size: usize,
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, context, rank, size } = self;
        write!(f, "communicator {context} (rank {rank} of {size}, the {identity}-th of its process)")
    }
}

/// How many elements a buffer must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    Exactly(usize),
    AtLeast(usize),
}

impl Need {
    fn check(self, what: &'static str, found: usize) -> Result<(), Error> {
        match self {
            Self::Exactly(expected) => check(what, found, expected),
            Self::AtLeast(expected) if found >= expected => Ok(()),
            Self::AtLeast(expected) => Err(Error::Length { what, expected: format!("at least {expected}"), found }),
        }
    }
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
        let len = total(elements, self.size(), size_of::<T>())?;
        self.persistent(&key::<T>(Collective::Alltoall, elements), len, len)
    }

    /// Plans an [`allgather`](Self::allgather) of blocks of so many elements. Local.
    ///
    /// # Errors
    ///
    /// As [`alltoall_init`](Self::alltoall_init).
    pub fn allgather_init<T: Pod>(&mut self, elements: usize) -> Result<Persistent<T>, Error> {
        let len = total(elements, self.size(), size_of::<T>())?;
        self.persistent(&key::<T>(Collective::Allgather, elements), elements, len)
    }

    fn persistent<T: Pod>(&mut self, key: &Key, send: usize, receive: usize) -> Result<Persistent<T>, Error> {
        Ok(Persistent {
            prepared: self.compile(key)?,
            maker: self.wire.maker(),
            send: Need::Exactly(send),
            receive: Need::Exactly(receive),
            of: PhantomData,
        })
    }
}
