//! Writes to a stream in a thread of its own, so that other threads do not wait for the reader.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::agent::{JobEvent, Orders};
use crate::agent::protocol::{Order, Stream, WINDOW};
use crate::agent::small_thread;

/// Maximum size of one write. Each write counts as progress.
const AT_ONCE: usize = 1 << 14;

/// Whole lines, and the credit for them.
pub(super) struct Piece {
    pub(super) lines: Vec<u8>,
    /// `None` for messages of the launcher.
    pub(super) credit: Option<(Arc<Credit>, usize)>,
}

/// The credit of an agent for one stream, which is returned as pieces are printed.
pub(super) struct Credit {
    orders: Orders,
    stream: Stream,
    owed: AtomicUsize,
}

impl Credit {
    pub(super) fn of(orders: Orders, stream: Stream) -> Self {
        Self { orders, stream, owed: AtomicUsize::new(0) }
    }

    /// Returns credit, in as few orders as possible. The unreturned rest never blocks an agent.
    pub(super) fn give(&self, cost: usize) {
        let owed = self.owed.fetch_add(cost, Ordering::Relaxed) + cost;
        if owed >= WINDOW / 4 {
            let cost = self.owed.swap(0, Ordering::Relaxed);
            self.orders.tell(&Order::Printed { stream: self.stream, cost });
        }
    }
}

/// One of the launcher's standard streams.
#[derive(Clone)]
pub(super) struct StreamWriter(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Piece>,
    /// Bytes of waiting messages of the launcher, which take no credit.
    unasked: usize,
    /// Whether a piece is being written.
    busy: bool,
    /// Number of writes.
    progress: usize,
    /// Whether an event is requested when nothing waits.
    finishing: bool,
}

impl StreamWriter {
    /// Starts the thread, which writes to `to`. Streams that share `turn` write in turn.
    pub(super) fn start(to: File, turn: Arc<Mutex<()>>, events: Sender<JobEvent>) -> io::Result<Self> {
        let writer = Self(Arc::new(Shared { queue: Mutex::default(), more: Condvar::new() }));
        let own = writer.clone();
        small_thread(move || own.run(to, &turn, &events))?;
        Ok(writer)
    }

    pub(super) fn print(&self, piece: Piece) {
        let mut queue = self.queue();
        if piece.credit.is_none() {
            // Drop messages that are not read in time.
            if queue.unasked > WINDOW {
                return;
            }
            queue.unasked += piece.lines.len();
        }
        queue.waiting.push_back(piece);
        self.0.more.notify_all();
    }

    /// Requests an event when nothing waits.
    pub(super) fn finish(&self) {
        self.queue().finishing = true;
    }

    pub(super) fn has_finished(&self) -> bool {
        let queue = self.queue();
        queue.waiting.is_empty() && !queue.busy
    }

    /// Returns a number that changes with every write.
    pub(super) fn progress(&self) -> usize {
        self.queue().progress
    }

    fn run(self, to: File, turn: &Mutex<()>, events: &Sender<JobEvent>) {
        let mut broken = false;
        loop {
            let piece = self.next(events);
            let Piece { lines, credit } = piece;
            if !broken && let Err(error) = self.write(&to, turn, &lines) {
                // An error on standard error cannot be reported.
                if credit.is_some() {
                    broken = true;
                    let _ = events.send(JobEvent::Unwritten(error));
                }
            }
            if let Some((credit, cost)) = credit {
                credit.give(cost);
            }
        }
    }

    fn next(&self, events: &Sender<JobEvent>) -> Piece {
        let mut queue = self.queue();
        queue.busy = false;
        loop {
            if let Some(piece) = queue.waiting.pop_front() {
                queue.busy = true;
                if piece.credit.is_none() {
                    queue.unasked -= piece.lines.len();
                }
                return piece;
            }
            if queue.finishing {
                let _ = events.send(JobEvent::Printed);
            }
            queue = self.0.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, mut to: &File, turn: &Mutex<()>, lines: &[u8]) -> io::Result<()> {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = lines;
        while !rest.is_empty() {
            match to.write(&rest[..rest.len().min(AT_ONCE)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.queue().progress += 1;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process that shares the terminal or the pipe has made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
