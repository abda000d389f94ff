//! What a launcher and its agents say to each other.
//!
//! The launcher writes a [`Description`] to the agent's standard input, and orders; the end of that input is an order
//! too. The agent writes [`MAGIC`] to its standard output, then frames. What comes before the magic is of others: a
//! login shell's greeting.
//!
//! Reports and output share that stream, and the launcher always reads it: a report never waits for output that nobody
//! reads. An agent has credit for [`WINDOW`] bytes of each of the ranks' two streams, and gets it back as they are
//! printed ([`Order::Printed`]); without credit the output waits where it is, with the rank.
//!
//! A frame is a kind (one byte), a length (four, little-endian) and so many bytes. It is bounded, so that what is no
//! frame cannot make its reader take memory for it.

use std::ffi::OsString;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What an agent's own words begin with. A greeting has no zero bytes.
pub(crate) const MAGIC: &[u8] = b"\0necklace agent 1\0";

/// How much a rank's output is read at once.
pub(crate) const CHUNK: usize = 1 << 16;

/// How much of a stream an agent may send before any of it is printed.
pub(crate) const WINDOW: usize = 1 << 20;

/// What sending that many bytes takes of the credit. Keeping short pieces costs memory too.
pub(crate) fn cost(bytes: usize) -> usize {
    bytes + 64
}

/// The longest frame. A description holds an environment, which the system bounds by some megabytes, as numbers.
const LONGEST: usize = 1 << 26;

/// What the agent of a host is to start.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Description {
    pub(crate) host: String,
    pub(crate) key: Vec<u8>,
    pub(crate) root: Root,
    pub(crate) directory: PathBuf,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// The same for all ranks.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The ranks of this host.
    pub(crate) ranks: Vec<usize>,
}

/// Where the ranks meet.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Root {
    /// At a port of this host's that the agent finds and holds, for those who know the host by that name.
    Held(String),
    /// At `host:port`.
    At(String),
}

/// What the launcher wants after that.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Order {
    /// Ask the ranks to end.
    Terminate,
    /// End them.
    Kill,
    /// Returns credit for output that has been printed.
    Printed { stream: Stream, cost: usize },
    /// Say that you are alive.
    Answer,
}

/// What an agent reports.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Report {
    /// First of all.
    Here {
        version: String,
    },
    /// The ranks meet here: `host:port`.
    Root(String),
    Started {
        rank: usize,
        process: u32,
    },
    Ended {
        rank: usize,
        how: End,
    },
    /// There will be no ranks here, or no longer.
    Failed {
        why: String,
        status: u8,
    },
    /// The answer to [`Order::Answer`].
    Alive,
    /// All ranks have ended, what they wrote has been sent, and nothing of the job is left here.
    Done,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum End {
    Status(i32),
    Signal(i32),
}

/// Where a rank wrote something.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// What an agent writes.
#[derive(Debug)]
pub(crate) enum Said {
    Report(Report),
    /// Bytes of a rank's; none when there will be no more.
    Output {
        rank: usize,
        stream: Stream,
        bytes: Vec<u8>,
    },
}

const MESSAGE: u8 = b'm';
const OUT: u8 = b'o';
const ERR: u8 = b'e';

/// Sends a message, as one write.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(MESSAGE, &[], &serde_json::to_vec(message)?)?)
}

/// Sends a rank's output, as one write.
pub(crate) fn send_output(to: &mut impl Write, rank: usize, stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let kind = if stream == Stream::Out { OUT } else { ERR };
    to.write_all(&frame(kind, &(rank as u64).to_le_bytes(), bytes)?)
}

/// The next message; none at the end.
pub(crate) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    match next(from)? {
        Some((MESSAGE, bytes)) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Some(_) => Err(nonsense()),
        None => Ok(None),
    }
}

/// What an agent says next; none at the end.
pub(crate) fn hear(from: &mut impl Read) -> io::Result<Option<Said>> {
    let Some((kind, mut bytes)) = next(from)? else { return Ok(None) };
    let stream = match kind {
        MESSAGE => return Ok(Some(Said::Report(serde_json::from_slice(&bytes)?))),
        OUT => Stream::Out,
        ERR => Stream::Err,
        _ => return Err(nonsense()),
    };
    let (rank, _) = bytes.split_first_chunk().ok_or_else(nonsense)?;
    let rank = usize::try_from(u64::from_le_bytes(*rank)).map_err(|_| nonsense())?;
    bytes.drain(..8);
    Ok(Some(Said::Output { rank, stream, bytes }))
}

/// Reads up to the end of the magic. What came before it, up to a bound, is the error where there is none.
pub(crate) fn skip_to_magic(from: &mut impl Read) -> Result<(), Vec<u8>> {
    const MOST: usize = 1 << 16;
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.len() < MOST && from.read_exact(&mut byte).is_ok() {
        seen.push(byte[0]);
        if seen.ends_with(MAGIC) {
            return Ok(());
        }
    }
    Err(seen)
}

fn frame(kind: u8, head: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
    let length = head.len() + body.len();
    let bounded = u32::try_from(length).ok().filter(|_| length <= LONGEST);
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
    if length > LONGEST {
        return Err(nonsense());
    }
    // As it comes: a length that is a lie costs nothing.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(Some((kind[0], bytes))) }
}

fn nonsense() -> Error {
    Error::new(ErrorKind::InvalidData, "invalid message from the agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_heard_after_the_noise() {
        let mut wire = b"Welcome to \0necklace\nLast login: never\n".to_vec();
        wire.extend(MAGIC);
        send(&mut wire, &Report::Here { version: "1".into() }).unwrap();
        send_output(&mut wire, 300, Stream::Err, b"\xff\n").unwrap();
        send(&mut wire, &Report::Done).unwrap();
        let mut wire = &wire[..];
        skip_to_magic(&mut wire).unwrap();
        assert!(matches!(hear(&mut wire), Ok(Some(Said::Report(Report::Here { version }))) if version == "1"));
        let Ok(Some(Said::Output { rank: 300, stream: Stream::Err, bytes })) = hear(&mut wire) else { panic!() };
        assert_eq!(bytes, b"\xff\n");
        assert!(matches!(hear(&mut wire), Ok(Some(Said::Report(Report::Done)))));
        assert!(matches!(hear(&mut wire), Ok(None)));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let cut = |wire: &[u8]| hear(&mut &wire[..]).is_err();
        let mut whole = Vec::new();
        send_output(&mut whole, 1, Stream::Out, b"abc").unwrap();
        assert!((1..whole.len()).all(|length| cut(&whole[..length])));
        assert!(cut(b"x\0\0\0\0") && cut(b"o\x03\0\0\0abc") && cut(b"m\xff\xff\xff\xff") && cut(b"m\x02\0\0\0[}"));
        assert_eq!(skip_to_magic(&mut &b"no such command"[..]), Err(b"no such command".to_vec()));
        assert_eq!(skip_to_magic(&mut io::repeat(b'y')).unwrap_err().len(), 1 << 16);
    }
}
