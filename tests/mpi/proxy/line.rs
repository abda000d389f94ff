//! A connection between a proxy and its worker: requests one way, an answer to each the other way.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use necklace::Rank;
use necklace::machine::Machine;
use necklace::plan::Program;
use necklace::transport::{ContextId, Failure, OpenError, Signature, Timeouts};

use super::codec::{Bytes, Code, decoded, encoded, enums, structs};

/// What a worker is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Takes part in making the endpoints of a job; the others are asked as well. Answer: [`Made`].
    Make { job: u64, size: usize, supervised: bool },
    /// A thread of the job's rank has panicked. Answer: `()`.
    Panicked { job: u64, message: String },
    /// Drops the supervisor of its endpoint. Answer: `()`.
    Unsupervise { job: u64 },
    /// Drops its endpoint, as a thread that panics does or another. Answer: `()`.
    Forget { job: u64, panicking: bool },
    /// Opens a context, whose transport is called by that number. Answer: [`Opened`].
    Open { job: u64, context: ContextId, members: Vec<Rank>, transport: u64 },
    /// Moves a round. Answer: [`Moved`].
    Round { transport: u64, round: Round },
    /// Fails the context. Answer: `()`.
    Abort { transport: u64, failure: Failure },
    /// Asks for its failure. Answer: `Option<Failure>`.
    Failure { transport: u64 },
    /// Drops the transport, as a thread that panics does or another. Answer: `()`.
    Leave { transport: u64, panicking: bool },
}

/// Rank, size and prices of an endpoint.
pub(crate) type Made = (Rank, (usize, Machine));

/// Rank and size of a context.
pub(crate) type Opened = Result<(Rank, usize), OpenError>;

/// What came of a round, and the bytes of what it received.
pub(crate) type Moved = (Result<(), Failure>, Bytes);

/// A round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Round {
    /// Its program; `None` for that of the round before.
    pub(crate) program: Option<Program>,
    /// Which of the program's rounds it is.
    pub(crate) index: usize,
    pub(crate) call: u64,
    pub(crate) signature: Signature,
    pub(crate) timeouts: Timeouts,
    /// The bytes of what it sends, and those where it receives, in the order of messages and runs.
    pub(crate) bytes: Bytes,
}

structs! {
    Round { program, index, call, signature, timeouts, bytes }
}

enums! {
    Request {
        0 = Make { job: job, size: size, supervised: supervised },
        1 = Panicked { job: job, message: message },
        2 = Unsupervise { job: job },
        3 = Forget { job: job, panicking: panicking },
        4 = Open { job: job, context: context, members: members, transport: transport },
        5 = Round { transport: transport, round: round },
        6 = Abort { transport: transport, failure: failure },
        7 = Failure { transport: transport },
        8 = Leave { transport: transport, panicking: panicking },
    }
}

impl Request {
    /// Describes the request, for errors about a worker that does not answer.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Make { job, size, .. } => format!("making job {job} of {size} ranks"),
            Self::Open { job, context, .. } => format!("opening context {context} of job {job}"),
            Self::Round { transport, round: Round { index, call, signature, timeouts, .. } } => {
                format!(
                    "round {index} of call {call} ({}) by transport {transport}, {timeouts:?}",
                    signature.description
                )
            }
            Self::Abort { transport, failure } => format!("aborting transport {transport}: {failure}"),
            other => format!("{other:?}"),
        }
    }
}

/// What a worker answers: what was asked for, or what it complains of.
pub(crate) type Answer<T> = Result<T, String>;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Line(UnixStream);

impl Line {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// How long to wait for what the other end says.
    pub(crate) fn patience(self, patience: Duration) -> Self {
        self.0.set_read_timeout(Some(patience)).unwrap();
        self
    }

    pub(crate) fn say(&mut self, what: &impl Code) -> io::Result<()> {
        let mut frame = vec![0; size_of::<u64>()];
        what.put(&mut frame);
        let length = (frame.len() - size_of::<u64>()) as u64;
        frame[..size_of::<u64>()].copy_from_slice(&encoded(&length));
        self.0.write_all(&frame)
    }

    /// Receives a message of the other end. Fails with the kind `UnexpectedEof` if it is gone.
    pub(crate) fn hear<T: Code>(&mut self) -> io::Result<T> {
        let mut length = [0; size_of::<u64>()];
        self.0.read_exact(&mut length)?;
        let mut frame = vec![0; u64::from_le_bytes(length) as usize];
        self.0.read_exact(&mut frame)?;
        decoded(&frame).ok_or_else(|| io::Error::other("it says what cannot be understood"))
    }

    /// Whether the other end is still there. Nothing must be on its way.
    pub(crate) fn is_open(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let end = (&self.0).read(&mut [0]);
        self.0.set_nonblocking(false).unwrap();
        matches!(end, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}
