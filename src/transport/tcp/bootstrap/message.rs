//! Bootstrap messages: what ranks send each other after the handshake, until all are connected.
//! Bytes, no I/O.
//!
//! A message is a kind (1 byte), a length (4 bytes, little-endian), and that many bytes. A length
//! is accepted only up to the maximum of its kind in a job of that size.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::error::JoinError;

/// Length of a message's header in bytes.
pub(super) const HEADER: usize = 5;
/// Maximum length of a text in a message, in bytes.
const TEXT: usize = 1024;
/// Length of an encoded location, and of an address, in bytes.
const LOCATION: usize = ADDRESS + 16 + 16;
const ADDRESS: usize = 18;

/// Identifies the host of a rank: a hash of something unique to the host.
pub(super) type HostId = [u8; 16];

/// The host on which a rank runs, and the address on which it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankLocation {
    /// The address on which it listens. Not used for rank 0, to which all are connected.
    pub(super) address: SocketAddr,
    pub(super) host: HostId,
    /// The host that the rank counts as: `host`, unless the user names another.
    pub(super) counts_as: HostId,
}

/// A bootstrap message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BootstrapMessage {
    /// To rank 0: this rank has arrived and listens there.
    Arrived(RankLocation),
    /// From rank 0: all have arrived; where each of them listens.
    Table(Vec<RankLocation>),
    /// Over a new connection of the mesh, from its initiator: this attempt is the one to use.
    Selected,
    /// To rank 0: this rank is connected to all others.
    Ready,
    /// From rank 0: all ranks are. This is the last bootstrap message over this connection.
    Go,
    /// To and from rank 0: the bootstrap has failed.
    Failed(JoinError),
    /// From rank 0, when the timeout is over: to how many others is this rank not connected?
    CountUnconnected,
    /// To rank 0: the answer.
    Unconnected(usize),
}

impl BootstrapMessage {
    /// Returns the length after that header, or `None` if it is invalid in a job of that size.
    pub(super) fn length(header: &[u8], size: usize) -> Option<usize> {
        let (&kind, length) = header.split_first()?;
        let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
        let valid = match kind {
            1 => length == LOCATION,
            2 => length == size.checked_mul(LOCATION)?,
            3..=5 | 7 => length == 0,
            8 => length == 4,
            6 => length <= size.checked_mul(4)?.checked_add(4 * TEXT)?,
            _ => false,
        };
        valid.then_some(length)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Writer(Vec::new());
        let kind = match self {
            Self::Arrived(location) => {
                to.location(location);
                1
            }
            Self::Table(locations) => {
                locations.iter().for_each(|location| to.location(location));
                2
            }
            Self::Selected => 3,
            Self::Ready => 4,
            Self::Go => 5,
            Self::Failed(error) => {
                to.error(error);
                6
            }
            Self::CountUnconnected => 7,
            Self::Unconnected(count) => {
                to.number(*count);
                8
            }
        };
        let mut bytes = vec![kind];
        bytes.extend((to.0.len() as u32).to_le_bytes());
        bytes.extend(to.0);
        bytes
    }

    /// Decodes a message from its header and the bytes after it.
    pub(super) fn decode(header: &[u8], body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        let message = match header.first()? {
            1 => Self::Arrived(from.location()?),
            2 => {
                let mut locations = Vec::with_capacity(body.len() / LOCATION);
                while !from.0.is_empty() {
                    locations.push(from.location()?);
                }
                Self::Table(locations)
            }
            3 => Self::Selected,
            4 => Self::Ready,
            5 => Self::Go,
            6 => Self::Failed(from.error()?),
            7 => Self::CountUnconnected,
            8 => Self::Unconnected(from.number()?),
            _ => return None,
        };
        from.0.is_empty().then_some(message)
    }

    /// Returns the message that tells other ranks of an error. An error that only concerns this
    /// rank becomes [`JoinError::Abandoned`], with its text.
    pub(super) fn failed(rank: usize, error: &JoinError) -> Self {
        Self::Failed(match error {
            JoinError::DuplicateRank { .. }
            | JoinError::SizeMismatch { .. }
            | JoinError::Missing { .. }
            | JoinError::Late { .. }
            | JoinError::Lost { .. }
            | JoinError::Loopback { .. }
            | JoinError::Abandoned { .. }
            | JoinError::BuildMismatch { .. } => error.clone(),
            other => JoinError::Abandoned { rank, reason: other.to_string() },
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: usize) {
        self.0.extend((number as u32).to_le_bytes());
    }

    fn numbers(&mut self, numbers: &[usize]) {
        self.number(numbers.len());
        numbers.iter().for_each(|&number| self.number(number));
    }

    fn duration(&mut self, duration: Duration) {
        self.number(duration.as_millis().min(u128::from(u32::MAX)) as usize);
    }

    fn text(&mut self, text: &str) {
        let text = truncated(text, TEXT);
        self.number(text.len());
        self.0.extend(text.as_bytes());
    }

    fn address(&mut self, address: &SocketAddr) {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        self.0.extend(ip.octets());
        self.0.extend(address.port().to_le_bytes());
    }

    fn location(&mut self, location: &RankLocation) {
        self.address(&location.address);
        self.0.extend(location.host);
        self.0.extend(location.counts_as);
    }

    fn error(&mut self, error: &JoinError) {
        match error {
            JoinError::DuplicateRank { rank, first, second } => {
                self.0.push(1);
                self.number(*rank);
                self.address(first);
                self.address(second);
            }
            JoinError::SizeMismatch { size, rank, address, other_size } => {
                self.0.push(2);
                self.number(*size);
                self.number(*rank);
                self.address(address);
                self.number(*other_size);
            }
            JoinError::Missing { size, missing, waited, turned_away } => {
                self.0.push(3);
                self.number(*size);
                self.numbers(missing);
                self.duration(*waited);
                self.text(turned_away);
            }
            JoinError::Late { late, waited } => {
                self.0.push(4);
                self.numbers(late);
                self.duration(*waited);
            }
            JoinError::Lost { rank, address } => {
                self.0.push(5);
                self.number(*rank);
                self.address(address);
            }
            JoinError::Loopback { rank, address, other } => {
                self.0.push(6);
                self.number(*rank);
                self.address(address);
                self.number(*other);
            }
            JoinError::Abandoned { rank, reason } => {
                self.0.push(7);
                self.number(*rank);
                self.text(reason);
            }
            JoinError::BuildMismatch { what, rank_a, value_a, rank_b, value_b } => {
                self.0.push(8);
                self.text(what);
                self.number(*rank_a);
                self.text(value_a);
                self.number(*rank_b);
                self.text(value_b);
            }
            other => {
                self.0.push(7);
                self.number(0);
                self.text(&other.to_string());
            }
        }
    }
}

/// Truncates a text to that many bytes at most, at the start of a character.
fn truncated(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?) as usize)
    }

    /// Reads a list. A count that exceeds the bytes is invalid and allocates nothing.
    fn numbers(&mut self) -> Option<Vec<usize>> {
        let count = self.number()?;
        let mut bytes = Reader(self.bytes(count.checked_mul(4)?)?);
        (0..count).map(|_| bytes.number()).collect()
    }

    fn duration(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(self.number()? as u64))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        Some(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }

    fn address(&mut self) -> Option<SocketAddr> {
        let ip = Ipv6Addr::from(*self.bytes(16)?.first_chunk::<16>()?);
        let port = u16::from_le_bytes(*self.bytes(2)?.first_chunk()?);
        Some(SocketAddr::new(ip.to_canonical(), port))
    }

    fn location(&mut self) -> Option<RankLocation> {
        let address = self.address()?;
        let mut id = || Some(*self.bytes(16)?.first_chunk()?);
        Some(RankLocation { address, host: id()?, counts_as: id()? })
    }

    fn error(&mut self) -> Option<JoinError> {
        Some(match self.bytes(1)?[0] {
            1 => JoinError::DuplicateRank { rank: self.number()?, first: self.address()?, second: self.address()? },
            2 => {
                let (size, rank) = (self.number()?, self.number()?);
                JoinError::SizeMismatch { size, rank, address: self.address()?, other_size: self.number()? }
            }
            3 => {
                let (size, missing) = (self.number()?, self.numbers()?);
                // The error's text subtracts the number of missing ranks from the size.
                if missing.len() > size {
                    return None;
                }
                JoinError::Missing { size, missing, waited: self.duration()?, turned_away: self.text()? }
            }
            4 => JoinError::Late { late: self.numbers()?, waited: self.duration()? },
            5 => JoinError::Lost { rank: self.number()?, address: self.address()? },
            6 => JoinError::Loopback { rank: self.number()?, address: self.address()?, other: self.number()? },
            7 => JoinError::Abandoned { rank: self.number()?, reason: self.text()? },
            8 => JoinError::BuildMismatch {
                what: self.text()?,
                rank_a: self.number()?,
                value_a: self.text()?,
                rank_b: self.number()?,
                value_b: self.text()?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    fn address(g: &mut Gen) -> SocketAddr {
        let ip: IpAddr = g.choose(&["10.1.2.3", "127.0.0.1", "::1", "fd00::2"]).unwrap().parse().unwrap();
        SocketAddr::new(ip, u16::arbitrary(g))
    }

    fn location(g: &mut Gen) -> RankLocation {
        let mut id = || std::array::from_fn(|_| u8::arbitrary(g));
        let (host, counts_as) = (id(), id());
        RankLocation { address: address(g), host, counts_as }
    }

    fn error(g: &mut Gen) -> JoinError {
        let rank = usize::arbitrary(g) % 8;
        let some: Vec<usize> = (0..8).filter(|_| bool::arbitrary(g)).collect();
        let text = truncated(&String::arbitrary(g), TEXT).to_owned();
        let waited = Duration::from_millis(u32::arbitrary(g).into());
        match u8::arbitrary(g) % 8 {
            0 => JoinError::DuplicateRank { rank, first: address(g), second: address(g) },
            1 => JoinError::SizeMismatch { size: 8, rank, address: address(g), other_size: 9 },
            2 => JoinError::Missing { size: 8, missing: some, waited, turned_away: text },
            3 => JoinError::Late { late: some, waited },
            4 => JoinError::Lost { rank, address: address(g) },
            5 => JoinError::Loopback { rank, address: address(g), other: 3 },
            6 => JoinError::Abandoned { rank, reason: text },
            _ => JoinError::BuildMismatch {
                what: text.clone(),
                rank_a: 0,
                value_a: text.clone(),
                rank_b: rank,
                value_b: text,
            },
        }
    }

    impl Arbitrary for BootstrapMessage {
        fn arbitrary(g: &mut Gen) -> Self {
            match u8::arbitrary(g) % 10 {
                0 => Self::Arrived(location(g)),
                1 => Self::Table((0..8).map(|_| location(g)).collect()),
                2 => Self::Selected,
                3 => Self::Ready,
                4 => Self::Go,
                5 => Self::CountUnconnected,
                6 => Self::Unconnected(u16::arbitrary(g).into()),
                _ => Self::Failed(error(g)),
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<BootstrapMessage> {
        let (header, body) = bytes.split_at_checked(HEADER)?;
        let length = BootstrapMessage::length(header, 8)?;
        assert!(length <= 32 + 4 * TEXT + 8 * LOCATION, "{length} bytes would be accepted");
        BootstrapMessage::decode(header, body.get(..length)?)
    }

    #[test]
    fn message_survives_encoding_and_decoding() {
        let same = |message: BootstrapMessage| read(&message.encode()) == Some(message);
        QuickCheck::new().tests(5000).quickcheck(same as fn(BootstrapMessage) -> bool);
    }

    #[test]
    fn invalid_message_is_refused_without_a_panic() {
        fn random(bytes: Vec<u8>) -> bool {
            read(&bytes).is_none_or(|message| !message.encode().is_empty())
        }
        fn mutated(message: BootstrapMessage, changes: Vec<(usize, u8)>, cut: usize) -> bool {
            let mut bytes = message.encode();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - cut % 3);
            // A message that is still valid can be formatted.
            read(&bytes).is_none_or(|message| !format!("{message:?}").is_empty())
        }
        QuickCheck::new().tests(50_000).max_tests(50_000).quickcheck(random as fn(Vec<u8>) -> bool);
        QuickCheck::new().tests(50_000).quickcheck(mutated as fn(BootstrapMessage, Vec<(usize, u8)>, usize) -> bool);
    }

    #[test]
    fn long_reason_is_truncated_at_a_character() {
        let reason = "\u{00e4}".repeat(1000) + "x";
        let BootstrapMessage::Failed(JoinError::Abandoned { reason: cut, .. }) =
            read(&BootstrapMessage::Failed(JoinError::Abandoned { rank: 1, reason: reason.clone() }).encode()).unwrap()
        else {
            panic!("another message");
        };
        assert!(cut.len() == 1024 && reason.starts_with(&cut));
    }

    #[test]
    fn error_of_one_rank_becomes_abandoned() {
        let own = JoinError::Descriptors { rank: 3, limit: Some(16), need: 99 };
        let BootstrapMessage::Failed(JoinError::Abandoned { rank: 3, reason }) = BootstrapMessage::failed(3, &own)
        else {
            panic!("another message")
        };
        assert_eq!(reason, own.to_string());
        let shared =
            JoinError::DuplicateRank { rank: 1, first: address(&mut Gen::new(9)), second: address(&mut Gen::new(9)) };
        assert_eq!(BootstrapMessage::failed(3, &shared), BootstrapMessage::Failed(shared));
    }
}
