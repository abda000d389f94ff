//! The endpoint of a process.

use std::io;
use std::sync::Arc;

use super::driver::Driver;
use super::process::Process;
use super::wire::{Sleeper, Wire};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::transport::{ContextId, Disagreement, Endpoint, OpenError, Transport, position};
use crate::vocabulary::Hosts;

/// The endpoint of a process.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Arc<Process>,
    rank: Rank,
    size: usize,
    machine: Machine,
    hosts: Option<Hosts>,
}

impl Member {
    /// Starts process `rank` of a job of `size` processes on these hosts, over a wire. The ranks of
    /// this host share `shared_cores` cores. If that is 0, each has a core, so that waiting ranks
    /// may poll.
    ///
    /// # Errors
    ///
    /// Fails if the listener thread cannot be started.
    pub(crate) fn start(
        (rank, size, hosts): (usize, usize, Option<Hosts>),
        wire: Box<dyn Wire>,
        sleeper: Option<Box<dyn Sleeper>>,
        shared_cores: u64,
    ) -> io::Result<Arc<Self>> {
        let machine = wire.machine().with_cores(shared_cores);
        Ok(Arc::new(Self {
            process: Process::start(rank, size, wire, sleeper, shared_cores == 0)?,
            rank: Rank::new(rank),
            size,
            machine,
            hosts,
        }))
    }
}

impl Endpoint for Member {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn open(&self, id: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let me = position(self.rank, self.size, members)?;
        let maybe_failed = self.process.lock().open(id, members).ok_or(OpenError::InUse(id))?;
        Ok(Box::new(Driver::new(Arc::clone(&self.process), (id, maybe_failed), Rank::new(me), members.len())))
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn hosts(&self) -> Option<Hosts> {
        self.hosts.clone()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.process.lock().open_no_more();
    }
}

/// Reports why a thread of a process panicked, on behalf of a launcher that catches the panic.
/// Until it does, or is dropped, other processes do not learn of the panic.
#[derive(Debug)]
pub struct Supervisor {
    member: Arc<Member>,
}

impl Supervisor {
    pub(crate) fn new(member: Arc<Member>) -> Self {
        member.process.lock().supervised = true;
        Self { member }
    }

    /// Reports that a thread of this process has panicked and its transports are dropped. Ranks
    /// that wait for it, now or later, fail with this message.
    pub fn panicked(&self, message: &str) {
        self.member.process.lock().report_panics(&format!("panicked: {message}"));
    }

    /// Returns the first failures that this process has seen.
    pub(crate) fn failures(&self) -> Vec<Disagreement> {
        self.member.process.lock().failures.clone()
    }

    /// Ends the rank. If no context is driven any more, waits until the others have read everything
    /// that this process sent. By then they have sent the digest of their calls, or will compare it
    /// with this one's. Returns a disagreement, if there is one.
    pub(crate) fn end(self) -> Option<Disagreement> {
        let process = Arc::clone(&self.member.process);
        drop(self);
        if Arc::strong_count(&process) == 1 {
            process.finish();
        }
        let engine = process.lock();
        engine.disagreement()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.member.process.lock().report_panics("panicked");
    }
}
