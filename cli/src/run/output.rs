//! Where the lines of all ranks go.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use super::agent::Event;
use super::lines::Lines;
use super::printer::{Credit, Piece, Printer};
use crate::agent::protocol::Stream;

/// Standard output and standard error, for several threads, none of which waits for whoever reads them. What is printed
/// at once stays together, also where both are one terminal.
pub(super) struct Output {
    out: Out,
    err: Printer,
    style: Style,
}

enum Out {
    Standard(Printer),
    Kept(Mutex<Vec<u8>>),
}

/// How ranks' lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// With the rank in front, in so many digits.
    Prefixed(usize),
}

impl Output {
    /// What cannot be written is heard as an event.
    pub(super) fn standard(style: Style, events: &Sender<Event>) -> io::Result<Self> {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let place = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
        let turn = Arc::new(Mutex::new(()));
        let same = place(&out).is_some_and(|there| place(&err) == Some(there));
        let other = if same { Arc::clone(&turn) } else { Arc::default() };
        let out = Out::Standard(Printer::start(out, turn, events.clone())?);
        Ok(Self { out, err: Printer::start(err, other, events.clone())?, style })
    }

    /// What ranks write to standard output is kept instead, without prefixes. There should be an end to it.
    pub(super) fn kept(events: &Sender<Event>) -> io::Result<Self> {
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let err = Printer::start(err, Arc::default(), events.clone())?;
        Ok(Self { out: Out::Kept(Mutex::default()), err, style: Style::Plain })
    }

    /// What has been kept.
    pub(super) fn take(&self) -> Vec<u8> {
        match &self.out {
            Out::Standard(_) => Vec::new(),
            Out::Kept(kept) => mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// What makes lines of a rank's stream.
    pub(super) fn lines(&self, rank: usize) -> Lines {
        Lines::new(match self.style {
            Style::Plain => Vec::new(),
            Style::Prefixed(digits) => format!("[{rank:digits$}] ").into_bytes(),
        })
    }

    /// Prints whole lines of a rank's in their turn, after which credit for that much is given back.
    pub(super) fn print(&self, stream: Stream, lines: Vec<u8>, credit: &Arc<Credit>, cost: usize) {
        let printer = match (stream, &self.out) {
            (Stream::Out, Out::Standard(out)) => out,
            (Stream::Out, Out::Kept(kept)) => {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
                return credit.give(cost);
            }
            (Stream::Err, _) => &self.err,
        };
        if lines.is_empty() {
            // Part of a line, which is kept elsewhere.
            return credit.give(cost);
        }
        printer.print(Piece { lines, credit: Some((Arc::clone(credit), cost)) });
    }

    /// Prints whole lines of somebody else's on standard error. Not all if they come faster than they are read.
    pub(super) fn say(&self, lines: Vec<u8>) {
        self.err.print(Piece { lines, credit: None });
    }

    /// Has an event tell when all is printed.
    pub(super) fn finish(&self) {
        self.printers().for_each(Printer::finish);
    }

    /// Whether all is printed.
    pub(super) fn has_finished(&self) -> bool {
        self.printers().all(Printer::has_finished)
    }

    /// Whether that holds for standard error.
    pub(super) fn has_said_all(&self) -> bool {
        self.err.has_finished()
    }

    /// A number that changes when something is written.
    pub(super) fn progress(&self) -> usize {
        self.printers().map(Printer::progress).fold(0, usize::wrapping_add)
    }

    fn printers(&self) -> impl Iterator<Item = &Printer> {
        let out = match &self.out {
            Out::Standard(out) => Some(out),
            Out::Kept(_) => None,
        };
        out.into_iter().chain([&self.err])
    }
}
