//! Holds the process groups of the ranks, for the threads that end them.

use std::io::{self, Error, ErrorKind};
use std::mem;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};

use super::exec::PendingExec;
use super::reaper::Reaper;

/// The processes that this agent has started. They are not reaped until the cleanup, so their
/// process numbers are not reused and no signal reaches an unrelated process.
#[derive(Clone)]
pub(super) struct StartedProcesses(Arc<Mutex<Started>>);

struct Started {
    /// `None` after it was ended.
    reaper: Option<Reaper>,
    groups: Vec<Pid>,
    /// Whether everything has been cleaned up.
    cleared: bool,
    /// Whether the ranks were asked to end. No rank starts after that.
    asked: bool,
}

impl StartedProcesses {
    pub(super) fn of(reaper: Reaper) -> Self {
        Self(Arc::new(Mutex::new(Started { reaper: Some(reaper), groups: Vec::new(), cleared: false, asked: false })))
    }

    /// Runs an operation whose result needs cleanup. Fails if the cleanup has already happened.
    pub(super) fn place<T>(&self, what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        // Under the lock, the operation runs entirely before the cleanup or not at all.
        let started = self.started();
        if started.cleared { Err(cleared()) } else { what() }
    }

    /// Starts a process that leads a group, unless the job is over. Returns `None` if the ranks
    /// were asked to end.
    pub(super) fn start(&self, command: Command) -> io::Result<Option<PendingExec>> {
        let mut started = self.started();
        let Started { reaper: Some(reaper), groups, cleared: false, asked } = &mut *started else {
            return Err(cleared());
        };
        if *asked {
            return Ok(None);
        }
        let child = PendingExec::start(command, io::pipe()?)?;
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            groups.push(group);
            // The end of a process is reported as an event.
            let _ = reaper.watch(group);
        }
        Ok(Some(child))
    }

    /// Asks all ranks to end. No more ranks start.
    pub(super) fn terminate(&self) {
        let mut started = self.started();
        started.asked = true;
        for &group in &started.groups {
            // A rank that has ended needs no signal.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Makes the reaper clean up. When this returns, in any thread, no process of the job runs on
    /// this host.
    pub(super) fn clear(&self) {
        // A second caller waits here for the first.
        let mut started = self.started();
        if mem::replace(&mut started.cleared, true) {
            return;
        }
        let groups = mem::take(&mut started.groups);
        if let Some(reaper) = &mut started.reaper {
            reaper.clear(&groups);
        }
        // Reap the processes here. From now on their numbers may be reused.
        for group in groups {
            let _ = waitpid(Some(group), WaitOptions::NOHANG);
        }
    }

    /// Cleans up, then ends the reaper.
    pub(super) fn end(&self) {
        self.clear();
        if let Some(reaper) = self.started().reaper.take() {
            reaper.end();
        }
    }

    pub(super) fn has_cleared(&self) -> bool {
        self.started().cleared
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cleared() -> Error {
    Error::new(ErrorKind::Interrupted, "the job is over")
}
