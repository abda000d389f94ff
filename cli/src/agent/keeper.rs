//! The ranks' process groups, for whoever is to end them.

use std::io::{self, ErrorKind};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::guard::Guard;

/// All that has been started. A rank's end is looked at without taking it, so its number stays its own to the end of the
/// agent, and no signal reaches a stranger.
#[derive(Clone)]
pub(super) struct Keeper(Arc<Mutex<Started>>);

struct Started {
    /// None when it has been told to clear up.
    guard: Option<Guard>,
    groups: Vec<Pid>,
}

impl Keeper {
    pub(super) fn of(guard: Guard) -> Self {
        Self(Arc::new(Mutex::new(Started { guard: Some(guard), groups: Vec::new() })))
    }

    /// Starts a process that leads a group. None is started any more once things are cleared up.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut started = self.started();
        let Started { guard: Some(guard), groups } = &mut *started else {
            return Err(ErrorKind::Interrupted.into());
        };
        let child = command.spawn()?;
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            groups.push(group);
            guard.watch(group)?;
        }
        Ok(child)
    }

    /// Asks all to end.
    pub(super) fn terminate(&self) {
        for &group in &self.started().groups {
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
        }
    }

    pub(super) fn has_cleared(&self) -> bool {
        self.started().guard.is_none()
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
