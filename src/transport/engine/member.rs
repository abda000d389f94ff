//! Joins a job over a wire, as the endpoint of a process.

use std::io;
use std::sync::Arc;
use std::thread;

use super::driver::Driver;
use super::process::Process;
use crate::ids::Rank;
use crate::machine::Machine;
#[cfg(any(feature = "mpi", feature = "tcp"))]
use crate::transport::Disagreement;
use crate::transport::wire::{Sleeper, Wire};
use crate::transport::{ContextId, Endpoint, OpenError, Transport, position};
use crate::vocabulary::Hosts;

/// A process that joins a job over a [wire](crate::transport::wire).
///
/// `examples/custom_transport.rs` is a whole backend of this kind.
#[derive(Clone, Debug)]
pub struct WireJoin {
    rank: usize,
    size: usize,
    hosts: Option<Hosts>,
    /// The number of cores that the ranks of this host share, or 0 if each has a core. `None`: to be
    /// counted.
    shared_cores: Option<u64>,
}

impl WireJoin {
    /// Joins as rank `rank` of a job of `size` processes.
    #[must_use]
    pub fn new(rank: usize, size: usize) -> Self {
        Self { rank, size, hosts: None, shared_cores: None }
    }

    /// Sets which ranks share a host. It must be the same on every rank. Unless set, that is not
    /// known; a rank then waits as if all shared its host.
    #[must_use]
    pub fn hosts(self, hosts: Hosts) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// Sets the number of cores that the ranks of this host share; 0 if each has a core, so that
    /// ranks that wait may poll.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(crate) fn shared_cores(self, cores: u64) -> Self {
        Self { shared_cores: Some(cores), ..self }
    }

    /// Joins the job. Does not wait for other ranks: each has its wire.
    ///
    /// Starts a thread, which answers the other ranks while this one computes. When the endpoint and
    /// all its transports are dropped, the process ends: that waits until the others have read what
    /// it has sent, for half a minute at most.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput), if the rank is not below the size, or hosts
    /// are set for another number of ranks; or the system's error, if the thread cannot be started.
    pub fn endpoint(self, wire: Box<dyn Wire>, sleeper: Option<Box<dyn Sleeper>>) -> io::Result<Arc<dyn Endpoint>> {
        self.start(wire, sleeper).map(|member| member as _)
    }

    /// Joins the job as [`endpoint`](Self::endpoint) does, for a launcher that catches the panics of
    /// this process. The launcher must call [`panicked`](Supervisor::panicked) for each; ranks that
    /// wait for this one then fail with the panic's message. The process does not end before the
    /// supervisor is dropped.
    ///
    /// # Errors
    ///
    /// As for [`endpoint`](Self::endpoint).
    pub fn supervised(
        self,
        wire: Box<dyn Wire>,
        sleeper: Option<Box<dyn Sleeper>>,
    ) -> io::Result<(Supervisor, Arc<dyn Endpoint>)> {
        let member = self.start(wire, sleeper)?;
        Ok((Supervisor::new(Arc::clone(&member)), member))
    }

    pub(crate) fn start(self, wire: Box<dyn Wire>, sleeper: Option<Box<dyn Sleeper>>) -> io::Result<Arc<Member>> {
        let Self { rank, size, ref hosts, .. } = self;
        let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if rank >= size {
            return invalid(format!("rank {rank} of a job of {size} ranks; ranks count from 0"));
        }
        if let Some(ranks) = hosts.as_ref().map(Hosts::ranks).filter(|ranks| *ranks != size) {
            return invalid(format!("hosts of {ranks} ranks for a job of {size}"));
        }
        let shared_cores = self.shared_cores.unwrap_or_else(|| self.count_shared_cores());
        let machine = wire.machine().with_cores(shared_cores);
        let process = Process::start(rank, size, wire, sleeper, shared_cores == 0)?;
        Ok(Arc::new(Member { process, rank: Rank::new(rank), size, machine, hosts: self.hosts }))
    }

    fn count_shared_cores(&self) -> u64 {
        let on_this_host = |hosts: &Hosts| Some(hosts.ranks_on(hosts.host(Rank::new(self.rank))?).len());
        let neighbours = self.hosts.as_ref().and_then(on_this_host).unwrap_or(self.size);
        shared_cores(neighbours)
    }
}

/// Returns the number of cores that this many ranks on this host share, or 0 if each has a core.
pub(crate) fn shared_cores(ranks: usize) -> u64 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if ranks <= cores { 0 } else { cores as u64 }
}

/// The endpoint of a process.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Arc<Process>,
    rank: Rank,
    size: usize,
    machine: Machine,
    hosts: Option<Hosts>,
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
        member.process.lock().panics.expect_supervisor();
        Self { member }
    }

    /// Reports that a thread of this process has panicked and its transports are dropped. Ranks
    /// that wait for it, now or later, fail with this message.
    pub fn panicked(&self, message: &str) {
        self.member.process.lock().report_panics(&format!("panicked: {message}"));
    }

    /// Returns the first failures that this process has seen.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(crate) fn failures(&self) -> Vec<Disagreement> {
        self.member.process.lock().report.failures(self.member.rank).cloned().collect()
    }

    /// Ends the rank. If no context is driven any more, waits until the others have read everything
    /// that this process sent. By then they have sent the digest of their calls, or will compare it
    /// with this one's. Returns a disagreement, if there is one.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(crate) fn end(self) -> Option<Disagreement> {
        let process = Arc::clone(&self.member.process);
        drop(self);
        if Arc::strong_count(&process) == 1 {
            process.finish();
        }
        let engine = process.lock();
        engine.report.disagreement()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.member.process.lock().report_panics("panicked");
    }
}
