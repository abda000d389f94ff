//! The connection to the launcher, for the threads of the agent.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::protocol::{self, Report, Stream};

#[derive(Clone)]
pub(super) struct Launcher(Arc<Mutex<File>>);

impl Launcher {
    pub(super) fn at(to: File) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    /// Sends a report. Errors are ignored, because the end of the launcher also ends the orders.
    pub(super) fn report(&self, report: &Report) {
        let _ = protocol::send(&mut *self.line(), report);
    }

    /// Sends output of a rank.
    pub(super) fn output(&self, rank: usize, stream: Stream, bytes: &[u8]) {
        let _ = protocol::send_output(&mut *self.line(), rank, stream, bytes);
    }

    /// Reports the end of a stream of a rank.
    pub(super) fn silent(&self, rank: usize, stream: Stream) {
        self.output(rank, stream, &[]);
    }

    fn line(&self) -> MutexGuard<'_, File> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
