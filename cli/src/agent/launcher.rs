//! The connection to the launcher, for the threads of the agent.
//!
//! Reports are written at once. Output waits until the launcher has printed enough of the output before it,
//! so output that nobody reads stays in the pipes of the ranks, which then wait to write more.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::protocol::{self, Report, Stream, WINDOW, cost};

#[derive(Clone)]
pub(super) struct Launcher(Arc<Line>);

struct Line {
    to: Mutex<File>,
    out: Credit,
    err: Credit,
    /// Whether everything that can be killed has been.
    last: AtomicBool,
}

impl Launcher {
    pub(super) fn at(to: File) -> Self {
        Self(Arc::new(Line {
            to: Mutex::new(to),
            out: Credit::whole(),
            err: Credit::whole(),
            last: AtomicBool::new(false),
        }))
    }

    /// A launcher that is gone also closes the input, so an error is ignored here.
    pub(super) fn report(&self, report: &Report) {
        let _ = protocol::send(&mut *self.line(), report);
    }

    /// Sends output of a rank, once there is credit for it.
    pub(super) fn output(&self, rank: usize, stream: Stream, bytes: &[u8]) {
        self.credit(stream).take(cost(bytes.len()));
        let _ = protocol::send_output(&mut *self.line(), rank, stream, bytes);
    }

    /// Reports the end of a stream of a rank.
    pub(super) fn silent(&self, rank: usize, stream: Stream) {
        let _ = protocol::send_output(&mut *self.line(), rank, stream, &[]);
    }

    /// Returns credit.
    pub(super) fn printed(&self, stream: Stream, cost: usize) {
        self.credit(stream).give(cost);
    }

    /// Whether output waits for credit.
    pub(super) fn is_awaited(&self) -> bool {
        [&self.0.out, &self.0.err].iter().any(|credit| credit.state().waiting > 0)
    }

    /// From now on sends only what the pipes hold: a process that has escaped could write without end.
    pub(super) fn send_rest(&self) {
        self.0.last.store(true, Ordering::Relaxed);
    }

    pub(super) fn sends_rest(&self) -> bool {
        self.0.last.load(Ordering::Relaxed)
    }

    fn credit(&self, stream: Stream) -> &Credit {
        match stream {
            Stream::Out => &self.0.out,
            Stream::Err => &self.0.err,
        }
    }

    fn line(&self) -> MutexGuard<'_, File> {
        self.0.to.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The credit of one stream.
struct Credit {
    state: Mutex<State>,
    given: Condvar,
}

struct State {
    left: usize,
    /// Number of threads that wait for credit.
    waiting: usize,
}

impl Credit {
    fn whole() -> Self {
        Self { state: Mutex::new(State { left: WINDOW, waiting: 0 }), given: Condvar::new() }
    }

    fn take(&self, cost: usize) {
        let mut state = self.state();
        state.waiting += 1;
        while state.left < cost {
            state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.left -= cost;
    }

    fn give(&self, cost: usize) {
        let mut state = self.state();
        state.left = state.left.saturating_add(cost).min(WINDOW);
        self.given.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
