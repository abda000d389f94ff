//! Prints the output of all ranks.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::agent::JobEvent;
use super::deduplicator::{Deduplicator, Due};
use super::lines::Lines;
use super::writer::{Credit, Piece, StreamWriter};
use crate::agent::protocol::Stream;

/// The standard streams, shared by several threads. No thread waits for a reader. Lines that are
/// printed together stay together, even if both streams are one terminal.
pub(super) struct Output {
    out: Out,
    err: StreamWriter,
    deduplicator: Mutex<Deduplicator>,
    events: Sender<JobEvent>,
    style: Style,
}

enum Out {
    Standard(StreamWriter),
    Kept(Mutex<Vec<u8>>),
}

/// The format of the ranks' lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// With the rank as a prefix, padded to this many digits.
    Prefixed(usize),
}

impl Output {
    /// Opens the standard streams. Write errors are reported as events.
    pub(super) fn standard(style: Style, events: &Sender<JobEvent>) -> io::Result<Self> {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let place = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
        let turn = Arc::new(Mutex::new(()));
        let same = place(&out).is_some_and(|there| place(&err) == Some(there));
        let other = if same { Arc::clone(&turn) } else { Arc::default() };
        let out = Out::Standard(StreamWriter::start(out, turn, events.clone())?);
        let err = StreamWriter::start(err, other, events.clone())?;
        Ok(Self { out, err, deduplicator: Mutex::default(), events: events.clone(), style })
    }

    /// Keeps the ranks' standard output in memory, without prefixes.
    pub(super) fn kept(events: &Sender<JobEvent>) -> io::Result<Self> {
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let err = StreamWriter::start(err, Arc::default(), events.clone())?;
        let out = Out::Kept(Mutex::default());
        Ok(Self { out, err, deduplicator: Mutex::default(), events: events.clone(), style: Style::Plain })
    }

    /// Takes the kept output.
    pub(super) fn take(&self) -> Vec<u8> {
        match &self.out {
            Out::Standard(_) => Vec::new(),
            Out::Kept(kept) => mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Returns an assembler of lines for a stream of a rank.
    pub(super) fn lines(&self, rank: usize) -> Lines {
        Lines::new(self.prefix(rank))
    }

    fn prefix(&self, rank: usize) -> Vec<u8> {
        match self.style {
            Style::Plain => Vec::new(),
            Style::Prefixed(digits) => format!("[{rank:digits$}] ").into_bytes(),
        }
    }

    /// Prints whole lines of a rank in order, then returns their credit.
    pub(super) fn print(&self, rank: usize, stream: Stream, lines: Vec<u8>, credit: &Arc<Credit>, cost: usize) {
        if lines.is_empty() {
            // Part of a line, which `Lines` buffers.
            return credit.give(cost);
        }
        match (stream, &self.out) {
            (Stream::Out, Out::Kept(kept)) => {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
                credit.give(cost);
            }
            (Stream::Out, Out::Standard(out)) => out.print(Piece { lines, credit: Some((Arc::clone(credit), cost)) }),
            (Stream::Err, _) => {
                let piece = Piece { lines, credit: Some((Arc::clone(credit), cost)) };
                let mut deduplicator = self.deduplicator();
                let held = deduplicator.until();
                let due = deduplicator.print(rank, piece, self.prefix(rank).len(), Instant::now());
                self.settle(due);
                if deduplicator.until() != held {
                    // The launcher must compute its deadline again.
                    let _ = self.events.send(JobEvent::Held);
                }
            }
        }
    }

    /// Marks a rank as failed. Its held lines, which repeat other ranks' lines, are left out.
    pub(super) fn fail(&self, rank: usize) {
        let mut deduplicator = self.deduplicator();
        let due = deduplicator.fail(rank);
        self.settle(due);
    }

    /// Returns when the first held lines are due.
    pub(super) fn held(&self) -> Option<Instant> {
        self.deduplicator().until()
    }

    /// Prints the lines that were held long enough.
    pub(super) fn release(&self) {
        let mut deduplicator = self.deduplicator();
        let due = deduplicator.release(Instant::now());
        self.settle(due);
    }

    /// Prints all lines that are held, and names the ranks whose lines were left out.
    pub(super) fn release_all(&self) {
        let mut deduplicator = self.deduplicator();
        let (due, line) = deduplicator.finish();
        self.settle(due);
        if let Some(line) = line {
            self.say(line.into_bytes());
        }
    }

    /// Prints pieces or returns their credit. The caller holds the lock of the deduplicator, which
    /// orders the pieces.
    fn settle(&self, Due { print, leave_out }: Due) {
        print.into_iter().for_each(|piece| self.err.print(piece));
        for (credit, cost) in leave_out.into_iter().filter_map(|piece| piece.credit) {
            credit.give(cost);
        }
    }

    fn deduplicator(&self) -> MutexGuard<'_, Deduplicator> {
        self.deduplicator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints messages of the launcher to standard error. Drops some if they are not read in time.
    pub(super) fn say(&self, lines: Vec<u8>) {
        self.err.print(Piece { lines, credit: None });
    }

    /// Requests an event when everything is printed.
    pub(super) fn finish(&self) {
        self.writers().for_each(StreamWriter::finish);
    }

    /// Returns whether everything is printed.
    pub(super) fn has_finished(&self) -> bool {
        self.writers().all(StreamWriter::has_finished)
    }

    /// Returns whether everything is printed to standard error.
    pub(super) fn has_said_all(&self) -> bool {
        self.err.has_finished()
    }

    /// Returns a number that changes with every write.
    pub(super) fn progress(&self) -> usize {
        self.writers().map(StreamWriter::progress).fold(0, usize::wrapping_add)
    }

    fn writers(&self) -> impl Iterator<Item = &StreamWriter> {
        let out = match &self.out {
            Out::Standard(out) => Some(out),
            Out::Kept(_) => None,
        };
        out.into_iter().chain([&self.err])
    }
}
