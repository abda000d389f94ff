//! The endpoint of a rank of MPI: the progress engine's, with the collectives of the library.

use std::panic::resume_unwind;
use std::sync::Arc;

use mpi::ffi;

use super::call_tracker::CallTracker;
use super::collectives::{Collectives, offers};
use super::comm::Comm;
use super::watchdog::WatchedCalls;
use crate::ids::Rank;
use crate::machine::Machine;
use crate::transport::engine::member::Member;
use crate::transport::native::{NativeCall, NativeCollectives, NativeIo};
use crate::transport::{ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};
use crate::vocabulary::Hosts;

/// The endpoint of a rank; see the [module](self).
#[derive(Debug)]
pub(super) struct MpiEndpoint {
    pub(super) member: Arc<Member>,
    /// The communicator of the packets.
    pub(super) comm: ffi::MPI_Comm,
    /// The communicator of the library's collectives among all ranks.
    pub(super) own: Arc<Comm>,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use a handle.
unsafe impl Send for MpiEndpoint {}
// SAFETY: as for `Send`.
unsafe impl Sync for MpiEndpoint {}

impl Endpoint for MpiEndpoint {
    fn rank(&self) -> Rank {
        self.member.rank()
    }

    fn size(&self) -> usize {
        self.member.size()
    }

    fn open(&self, id: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let inner = self.member.open(id, members)?;
        let tracker = Arc::<CallTracker>::default();
        self.member.process.add_library(id, Box::new(WatchedCalls::new(Arc::clone(&tracker))));
        let all = members.len() == self.size() && members.iter().enumerate().all(|(at, rank)| rank.index() == at);
        let own = (all && id == ContextId::WORLD).then(|| Arc::clone(&self.own));
        let collectives = Collectives::new(id, (inner.rank(), members), (self.comm, own), tracker);
        Ok(Box::new(MpiTransport { inner, collectives }))
    }

    fn machine(&self) -> Machine {
        self.member.machine()
    }

    fn hosts(&self) -> Option<Hosts> {
        self.member.hosts()
    }
}

/// A context with the collectives of the library.
#[derive(Debug)]
struct MpiTransport {
    inner: Box<dyn Transport>,
    collectives: Collectives,
}

impl Transport for MpiTransport {
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

impl NativeCollectives for MpiTransport {
    fn offers(&mut self, what: &NativeCall) -> bool {
        offers(what)
    }

    fn call(&mut self, mut io: NativeIo<'_>) -> Result<(), Failure> {
        let (failure, own) = if io.ranks() == self.size() {
            match self.collectives.call(&mut io) {
                Ok(None) => return Ok(()),
                Ok(Some(panic)) => (Collectives::panicked(&io, &panic), panic.own),
                Err(error) => (self.collectives.refused(&io, &error), None),
            }
        } else {
            // The buffers have the lengths for another number of ranks.
            let description = format!("a call of {} ranks in a context of {}", io.ranks(), self.size());
            (io.gave_up(self.rank(), description.into()), None)
        };
        self.inner.abort(failure.clone());
        let failure = self.inner.failure().unwrap_or(failure);
        // The panic is resumed only when MPI has returned and the other ranks have been told.
        own.map_or(Err(failure), |own| resume_unwind(own))
    }
}
