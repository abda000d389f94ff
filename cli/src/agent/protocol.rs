//! The protocol between a launcher and its agents.
//!
//! The launcher writes a [`Description`] to the agent's standard input, then orders; the end of
//! that input is an order too. The agent writes [`MAGIC`] to its standard output, then frames.
//! Anything before the magic is foreign, such as the greeting of a login shell.
//!
//! Reports and output share one stream, which the launcher always reads, so a report never waits
//! for a reader of the output. An agent has credit for [`WINDOW`] bytes of each of the two streams
//! of its ranks, and receives it back as they are printed ([`Order::Printed`]). Without credit,
//! output waits in the pipes of the ranks.
//!
//! A frame has a kind (one byte), a length (four bytes, little-endian) and a payload. Its length is
//! bounded, so that invalid data cannot make the reader allocate much.

use std::ffi::OsString;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Marks the start of the agent's own data. A greeting has no zero bytes.
pub(crate) const MAGIC: &[u8] = b"\0necklace agent 1\0";

/// Maximum size of one read of a rank's output.
pub(crate) const CHUNK: usize = 1 << 16;

/// Credit of an agent for a stream: bytes that it may send before any are printed.
pub(crate) const WINDOW: usize = 1 << 20;

/// Returns the credit that a piece of output takes. The constant part is the memory for keeping it.
pub(crate) fn cost(bytes: usize) -> usize {
    bytes + 64
}

/// Maximum length of a frame. A description holds an environment as JSON numbers, which takes some
/// megabytes.
const MAX_LENGTH: usize = 1 << 26;

/// The ranks that the agent of a host starts.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Description {
    pub(crate) host: String,
    pub(crate) key: Vec<u8>,
    pub(crate) root: Root,
    pub(crate) directory: PathBuf,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Variables that are the same for all ranks.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The ranks of this host.
    pub(crate) ranks: Vec<usize>,
}

/// The rendezvous of the ranks.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Root {
    /// A port of this host, which the agent reserves. The string is the name of the host for the
    /// ranks.
    Held(String),
    /// The address, as `host:port`.
    At(String),
}

/// An order after the description.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Order {
    /// Send SIGTERM to the ranks.
    Terminate,
    /// Kill the ranks.
    Kill,
    /// Return credit for output that was printed.
    Printed { stream: Stream, cost: usize },
    /// Report that the agent is alive.
    Answer,
}

/// A report of an agent.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Report {
    /// The agent runs. The first report.
    Here {
        version: String,
    },
    /// The rendezvous of the ranks, as `host:port`.
    Root(String),
    Started {
        rank: usize,
        process: u32,
    },
    Ended {
        rank: usize,
        how: End,
    },
    /// The job cannot run here, or can no longer.
    Failed {
        why: String,
        status: u8,
    },
    /// The answer to [`Order::Answer`].
    Alive,
    /// All ranks have ended, their output has been sent, and the host is cleaned up.
    Done,
}

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum End {
    Status(i32),
    Signal(i32),
}

/// A stream of a rank.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// A frame of an agent.
#[derive(Debug)]
pub(crate) enum Frame {
    Report(Report),
    /// Output of a rank; empty at its end.
    Output {
        rank: usize,
        stream: Stream,
        bytes: Vec<u8>,
    },
}

const MESSAGE: u8 = b'm';
const OUT: u8 = b'o';
const ERR: u8 = b'e';

/// Sends a message in one write.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(MESSAGE, &[], &serde_json::to_vec(message)?)?)
}

/// Sends output of a rank in one write.
pub(crate) fn send_output(to: &mut impl Write, rank: usize, stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let kind = if stream == Stream::Out { OUT } else { ERR };
    to.write_all(&frame(kind, &(rank as u64).to_le_bytes(), bytes)?)
}

/// Receives the next message; `None` at the end.
pub(crate) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    match next(from)? {
        Some((MESSAGE, bytes)) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Some(_) => Err(invalid()),
        None => Ok(None),
    }
}

/// Receives the next frame of an agent; `None` at the end.
pub(crate) fn receive_frame(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let Some((kind, mut bytes)) = next(from)? else { return Ok(None) };
    let stream = match kind {
        MESSAGE => return Ok(Some(Frame::Report(serde_json::from_slice(&bytes)?))),
        OUT => Stream::Out,
        ERR => Stream::Err,
        _ => return Err(invalid()),
    };
    let (rank, _) = bytes.split_first_chunk().ok_or_else(invalid)?;
    let rank = usize::try_from(u64::from_le_bytes(*rank)).map_err(|_| invalid())?;
    bytes.drain(..8);
    Ok(Some(Frame::Output { rank, stream, bytes }))
}

/// Skips to the end of the magic. Without magic, fails with the received bytes, up to a bound.
pub(crate) fn skip_to_magic(from: &mut impl Read) -> Result<(), Vec<u8>> {
    const LIMIT: usize = 1 << 16;
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.len() < LIMIT && from.read_exact(&mut byte).is_ok() {
        seen.push(byte[0]);
        if seen.ends_with(MAGIC) {
            return Ok(());
        }
    }
    Err(seen)
}

fn frame(kind: u8, head: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
    let length = head.len() + body.len();
    let bounded = u32::try_from(length).ok().filter(|_| length <= MAX_LENGTH);
    let length = bounded.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a message is too long"))?;
    Ok([&[kind], &length.to_le_bytes()[..], head, body].concat())
}

fn next(from: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut kind = [0];
    loop {
        match from.read(&mut kind) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_LENGTH {
        return Err(invalid());
    }
    // Read piece by piece: a wrong length allocates nothing.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(Some((kind[0], bytes))) }
}

fn invalid() -> Error {
    Error::new(ErrorKind::InvalidData, "invalid message from the agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_received_after_a_greeting() {
        let mut wire = b"Welcome to \0necklace\nLast login: never\n".to_vec();
        wire.extend(MAGIC);
        send(&mut wire, &Report::Here { version: "1".into() }).unwrap();
        send_output(&mut wire, 300, Stream::Err, b"\xff\n").unwrap();
        send(&mut wire, &Report::Done).unwrap();
        let mut wire = &wire[..];
        skip_to_magic(&mut wire).unwrap();
        assert!(
            matches!(receive_frame(&mut wire), Ok(Some(Frame::Report(Report::Here { version }))) if version == "1")
        );
        let Ok(Some(Frame::Output { rank: 300, stream: Stream::Err, bytes })) = receive_frame(&mut wire) else {
            panic!()
        };
        assert_eq!(bytes, b"\xff\n");
        assert!(matches!(receive_frame(&mut wire), Ok(Some(Frame::Report(Report::Done)))));
        assert!(matches!(receive_frame(&mut wire), Ok(None)));
    }

    #[test]
    fn invalid_frame_is_refused() {
        let cut = |wire: &[u8]| receive_frame(&mut &wire[..]).is_err();
        let mut whole = Vec::new();
        send_output(&mut whole, 1, Stream::Out, b"abc").unwrap();
        assert!((1..whole.len()).all(|length| cut(&whole[..length])));
        assert!(cut(b"x\0\0\0\0") && cut(b"o\x03\0\0\0abc") && cut(b"m\xff\xff\xff\xff") && cut(b"m\x02\0\0\0[}"));
        assert_eq!(skip_to_magic(&mut &b"no such command"[..]), Err(b"no such command".to_vec()));
        assert_eq!(skip_to_magic(&mut io::repeat(b'y')).unwrap_err().len(), 1 << 16);
    }
}
