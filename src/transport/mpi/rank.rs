//! The endpoint of a rank of MPI's: the engine's, and the library's own collectives beside it.

use std::panic::resume_unwind;
use std::sync::Arc;

use mpi::ffi;

use super::collectives::Collectives;
use super::collectives::MOST;
use super::comm::Comm;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::machine::Machine;
use crate::transport::engine::member::Member;
use crate::transport::native::{NativeCall, NativeCollectives, NativeIo};
use crate::transport::{ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) member: Arc<Member>,
    /// The communicator of its messages.
    pub(super) comm: ffi::MPI_Comm,
    /// That of the library's collectives of all ranks.
    pub(super) own: Arc<Comm>,
}

// SAFETY: a handle may be used by any thread: MPI is initialized for that.
unsafe impl Send for Placed {}
// SAFETY: as before.
unsafe impl Sync for Placed {}

impl Endpoint for Placed {
    fn rank(&self) -> Rank {
        self.member.rank()
    }

    fn size(&self) -> usize {
        self.member.size()
    }

    fn open(&self, id: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let inner = self.member.open(id, members)?;
        let outside = self.member.process.track_library_calls(id);
        let all = members.len() == self.size() && members.iter().enumerate().all(|(at, rank)| rank.index() == at);
        let own = (all && id == ContextId::WORLD).then(|| Arc::clone(&self.own));
        let collectives = Collectives::new(id, (inner.rank(), members), (self.comm, own), outside);
        Ok(Box::new(Both { inner, collectives }))
    }

    fn machine(&self) -> Machine {
        self.member.machine()
    }
}

/// A context with collectives of the library's own.
#[derive(Debug)]
struct Both {
    inner: Box<dyn Transport>,
    collectives: Collectives,
}

impl Transport for Both {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        self.inner.round(io)
    }

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        Some(self)
    }

    fn abort(&mut self, failure: Failure) {
        self.inner.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.inner.failure()
    }

    fn conclude(&mut self, history: History) {
        self.inner.conclude(history);
    }
}

impl NativeCollectives for Both {
    /// All that MPI can be told of at once.
    fn offers(&mut self, what: &NativeCall) -> bool {
        match what {
            NativeCall::Regular(regular) => regular.collective != Collective::ReduceScatter || regular.count <= MOST,
            _ => true,
        }
    }

    fn call(&mut self, mut io: NativeIo<'_>) -> Result<(), Failure> {
        let (failure, own) = if io.ranks() == self.size() {
            match self.collectives.call(&mut io) {
                Ok(None) => return Ok(()),
                Ok(Some(panic)) => (Collectives::panicked(&io, &panic), panic.own),
                Err(error) => (self.collectives.refused(&io, &error), None),
            }
        } else {
            // Its buffers are as long as it needs among so many.
            let words = format!("a call among {} ranks, of which there are {}", io.ranks(), self.size());
            (io.gave_up(self.rank(), words.into()), None)
        };
        self.inner.abort(failure.clone());
        let failure = self.inner.failure().unwrap_or(failure);
        // Only when MPI is through, and the others have been told.
        own.map_or(Err(failure), |own| resume_unwind(own))
    }
}
