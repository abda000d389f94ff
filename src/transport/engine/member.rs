//! The endpoint of a process.

use std::io;
use std::sync::Arc;

use super::codec::write_contexts;
use super::frame::{Header, Kind};
use super::process::Process;
use super::round::Driver;
use super::wire::{Sleeper, Wire};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::transport::{ContextId, Disagreement, Endpoint, OpenError, Transport, position};

/// The endpoint of a process.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Arc<Process>,
    rank: Rank,
    size: usize,
    machine: Machine,
}

impl Member {
    /// That process of a job of so many, which talk over that wire. Where it `spins`, ranks that
    /// wait take nobody's core.
    ///
    /// # Errors
    ///
    /// Where there is no thread for it.
    pub(crate) fn start(
        (rank, size): (usize, usize),
        wire: Box<dyn Wire>,
        sleeper: Option<Box<dyn Sleeper>>,
        spins: bool,
    ) -> io::Result<Arc<Self>> {
        let machine = wire.machine();
        Ok(Arc::new(Self {
            process: Process::start(rank, size, wire, sleeper, spins)?,
            rank: Rank::new(rank),
            size,
            machine,
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
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut engine = self.process.lock();
        let open = write_contexts(engine.still_open().into_iter());
        for process in (0..self.size).filter(|process| *process != self.rank.index()) {
            engine.enqueue(process, Header::new(Kind::Goodbye, ContextId::WORLD), &open);
            engine.pump_out(process);
        }
    }
}

/// Says why a process's thread panicked, for a launcher that catches it. Until it does, or is
/// dropped, the others do not hear of the panic.
#[derive(Debug)]
pub struct Supervisor {
    member: Arc<Member>,
}

impl Supervisor {
    pub(crate) fn new(member: Arc<Member>) -> Self {
        member.process.lock().supervised = true;
        Self { member }
    }

    /// A thread of this process has panicked; its transports are gone. Whoever waits for it, now or
    /// later, fails with this message.
    pub fn panicked(&self, message: &str) {
        self.member.process.lock().report_panics(&format!("panicked: {message}"));
    }

    /// The first failures that this process has seen.
    pub(crate) fn failures(&self) -> Vec<Disagreement> {
        self.member.process.lock().failures.clone()
    }

    /// The rank is through. If nobody drives its contexts any more, waits until the others have
    /// heard all that it had to say; then they have said what they have called, or will compare it
    /// with what this one has. Returns what was found.
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
