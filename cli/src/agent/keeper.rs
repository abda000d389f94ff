//! The ranks' process groups, for whoever is to end them.

use std::io::{self, Error, ErrorKind};
use std::mem;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};

use super::becoming::Becoming;
use super::guard::Guard;

/// All that has been started. A rank's end is looked at without taking it, so its number stays its own to the end of the
/// agent, and no signal reaches a stranger.
#[derive(Clone)]
pub(super) struct Keeper(Arc<Mutex<Started>>);

struct Started {
    /// None when it has been told to clear up.
    guard: Option<Guard>,
    groups: Vec<Pid>,
    /// Whether they have been asked to end. None is started after that.
    asked: bool,
}

impl Keeper {
    pub(super) fn of(guard: Guard) -> Self {
        Self(Arc::new(Mutex::new(Started { guard: Some(guard), groups: Vec::new(), asked: false })))
    }

    /// Does what would have to be cleared up, unless that has been done already.
    pub(super) fn place<T>(&self, what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        // The lock is held meanwhile: it is cleared up after or not done at all.
        let started = self.started();
        if started.guard.is_some() { what() } else { Err(cleared()) }
    }

    /// Starts a process that leads a group, unless things are cleared up. None if all have been asked to end.
    pub(super) fn start(&self, command: Command) -> io::Result<Option<Becoming>> {
        let mut started = self.started();
        let Started { guard: Some(guard), groups, asked } = &mut *started else { return Err(cleared()) };
        if *asked {
            return Ok(None);
        }
        let child = Becoming::start(command, io::pipe()?)?;
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            groups.push(group);
            // One that has ended is heard of, as an event.
            let _ = guard.watch(group);
        }
        Ok(Some(child))
    }

    /// Asks all to end. The next are not started.
    pub(super) fn terminate(&self) {
        let mut started = self.started();
        started.asked = true;
        for &group in &started.groups {
            // One that has ended is no matter.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Has the guard clear up. Nothing of the job is left on this host when this returns, whoever has called it first.
    pub(super) fn clear(&self) {
        // Who comes second waits here until the first is through.
        let mut started = self.started();
        if let Some(guard) = started.guard.take() {
            guard.clear(&started.groups);
            // They are not left to whoever inherits them. From here on their numbers are anybody's.
            for group in mem::take(&mut started.groups) {
                let _ = waitpid(Some(group), WaitOptions::NOHANG);
            }
        }
    }

    pub(super) fn has_cleared(&self) -> bool {
        self.started().guard.is_none()
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cleared() -> Error {
    Error::new(ErrorKind::Interrupted, "the job is over")
}
