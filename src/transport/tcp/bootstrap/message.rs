//! Bootstrap messages: what ranks send each other after the handshake, until all are connected.
//! Bytes, no I/O.
//!
//! A message is a kind (1 byte), a length (4 bytes, little-endian), and that many bytes. A length
//! is accepted only up to the maximum of its kind in a job of that size.

use std::net::SocketAddr;

use super::error::JoinError;
use crate::transport::codec::{self, Coded, InvalidEncoding, MAX_STRING, Reader, coded};

/// Length of a message's header in bytes.
pub(super) const HEADER: usize = 5;
/// Length of an encoded location in bytes.
const LOCATION: usize = 18 + 16 + 16;

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
    /// To rank 0: this rank is connected to all others. This is the last bootstrap message from it.
    Ready,
    /// From rank 0: all ranks are ready. This is the last bootstrap message over this connection.
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
            2 => length == size.checked_mul(LOCATION)?.checked_add(4)?,
            3..=5 | 7 => length == 0,
            8 => length == 4,
            6 => length <= size.checked_mul(4)?.checked_add(4 * MAX_STRING)?,
            _ => false,
        };
        valid.then_some(length)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (bytes, mut message) = (codec::encode(self), Vec::new());
        let (kind, body) = bytes.split_at(1);
        message.extend_from_slice(kind);
        body.len().write(&mut message);
        message.extend_from_slice(body);
        message
    }

    /// Decodes a message from its header and the bytes after it.
    pub(super) fn decode(header: &[u8], body: &[u8]) -> Option<Self> {
        codec::decode(&[header.get(..1)?, body].concat()).ok()
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
            other => other.abandoned(rank),
        })
    }
}

coded!(enum BootstrapMessage {
    1 => Arrived(location),
    2 => Table(locations),
    3 => Selected,
    4 => Ready,
    5 => Go,
    6 => Failed(error),
    7 => CountUnconnected,
    8 => Unconnected(count),
});
coded!(struct RankLocation { address, host, counts_as });
coded!(enum JoinError {
    1 => DuplicateRank { rank, first, second },
    2 => SizeMismatch { size, rank, address, other_size },
    3 => Missing { size, missing, waited, turned_away },
    4 => Late { late, waited },
    5 => Lost { rank, address },
    6 => Loopback { rank, address, other },
    7 => Abandoned { rank, reason },
    8 => BuildMismatch { what, rank_a, value_a, rank_b, value_b },
} if |error| error.has_no_more_missing_than_ranks(); else |other| other.abandoned(0));

impl JoinError {
    /// Returns the error that others get if this one only concerns a rank of its own.
    fn abandoned(&self, rank: usize) -> Self {
        Self::Abandoned { rank, reason: self.to_string() }
    }

    /// Returns whether its text can subtract the number of missing ranks from the size.
    fn has_no_more_missing_than_ranks(&self) -> bool {
        !matches!(self, Self::Missing { size, missing, .. } if missing.len() > *size)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

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
        let text = String::arbitrary(g);
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
        assert!(length <= 32 + 4 * MAX_STRING + 8 * LOCATION, "{length} bytes would be accepted");
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
        let reason = "\u{00e4}".repeat(5000) + "x";
        let BootstrapMessage::Failed(JoinError::Abandoned { reason: cut, .. }) =
            read(&BootstrapMessage::Failed(JoinError::Abandoned { rank: 1, reason: reason.clone() }).encode()).unwrap()
        else {
            panic!("another message");
        };
        assert!(cut.len() == MAX_STRING && reason.starts_with(&cut));
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
