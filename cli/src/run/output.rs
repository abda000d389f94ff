//! Where the lines of all ranks go.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use super::lines::Lines;
use crate::agent::protocol::Stream;

/// Standard output and standard error, for several threads. What is written at once stays together, also where both are
/// one terminal.
pub(super) struct Output {
    out: Out,
    err: File,
    /// The same, if they are the same.
    turns: [Arc<Mutex<()>>; 2],
    style: Style,
}

enum Out {
    Standard(File),
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
    pub(super) fn standard(style: Style) -> io::Result<Self> {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let place = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
        let turn = Arc::new(Mutex::new(()));
        let same = place(&out).is_some_and(|there| place(&err) == Some(there));
        let other = if same { Arc::clone(&turn) } else { Arc::default() };
        Ok(Self { out: Out::Standard(out), err, turns: [turn, other], style })
    }

    /// What ranks write to standard output is kept instead, without prefixes. There should be an end to it.
    pub(super) fn kept() -> io::Result<Self> {
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        Ok(Self { out: Out::Kept(Mutex::default()), err, turns: [Arc::default(), Arc::default()], style: Style::Plain })
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

    /// Writes whole lines.
    pub(super) fn write(&self, stream: Stream, lines: &[u8]) -> io::Result<()> {
        let (mut file, turn) = match (stream, &self.out) {
            (Stream::Out, Out::Standard(out)) => (out, &self.turns[0]),
            (Stream::Out, Out::Kept(kept)) => {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(lines);
                return Ok(());
            }
            (Stream::Err, _) => (&self.err, &self.turns[1]),
        };
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = lines;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Somebody who shares the terminal, or the pipe, has set it so.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
