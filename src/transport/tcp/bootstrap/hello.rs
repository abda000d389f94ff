//! The hello: what each side of a new connection sends first, its identity. Bytes, no I/O.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `necklace`; this and the next are the same in every version |
//! | 8..12 | the number of the protocol |
//! | 12 | byte order: `l` or `b` |
//! | 13 | pointer width in bits |
//! | 14..30 | the crate's version, padded with zeros |
//! | 30 | purpose of the connection: 1 rendezvous with rank 0, 2 mesh |
//! | 31 | role of the sender: 1 initiator, 2 responder |
//! | 32..36, 36..40 | rank, size |
//! | 40..48 | the job's number, drawn by rank 0; 0 from a rank that connects to rank 0 |
//! | 48..80 | nonce, drawn for this connection |
//!
//! Integers are little-endian on every machine.

use super::error::MAX_RANKS;
use crate::transport::codec::{self, Coded, InvalidEncoding, Reader, coded};

/// The first bytes of every connection.
const MAGIC: [u8; 8] = *b"necklace";
/// The number of the protocol, of the bootstrap and of the wire after it. It changes with any
/// layout.
pub(super) const PROTOCOL: u32 = 4;
/// Length of the prefix that tells whether the rest can be decoded.
pub(super) const PREFIX: usize = 12;
/// Length of a hello in bytes.
pub(super) const HELLO: usize = 80;

/// An encoded hello.
pub(super) type HelloBytes = [u8; HELLO];

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A rank connects to rank 0.
    Rendezvous,
    /// A rank connects to another, whose address it has from rank 0.
    Mesh,
}

/// The role of a side in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeRole {
    /// It has connected.
    Initiator,
    /// It has accepted.
    Responder,
}

/// The identity of a process, and the purpose for which it connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) build: Build,
    pub(super) purpose: Purpose,
    pub(super) role: HandshakeRole,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) job: u64,
    pub(super) nonce: [u8; 32],
}

/// The properties of a build that two ranks must share to understand each other's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    /// `l` or `b`.
    order: u8,
    /// Pointer width in bits.
    width: u8,
    version: [u8; 16],
}

/// The reason why bytes are not a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// They are not of this crate.
    NotNecklace,
    /// They are of another protocol of this crate.
    Protocol(u32),
}

impl Build {
    /// Returns the build of this process.
    pub(super) fn own() -> Self {
        let mut version = [0; 16];
        for (to, from) in version.iter_mut().zip(env!("CARGO_PKG_VERSION").bytes()) {
            *to = from;
        }
        let order = if cfg!(target_endian = "little") { b'l' } else { b'b' };
        Self { order, width: usize::BITS as u8, version }
    }

    /// Returns the first property in which two builds differ, with both values.
    pub(super) fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let order = |build: &Self| if build.order == b'l' { "little-endian" } else { "big-endian" }.to_owned();
        let width = |build: &Self| format!("{} bits", build.width);
        if self.version != other.version {
            return Some(("versions of necklace", self.version(), other.version()));
        }
        if self.order != other.order {
            return Some(("byte orders", order(self), order(other)));
        }
        (self.width != other.width).then(|| ("pointer widths", width(self), width(other)))
    }

    fn is_valid(&self) -> bool {
        let text = self.version.iter().take_while(|byte| byte.is_ascii_graphic()).count();
        matches!(self.order, b'l' | b'b') && text > 0 && self.version[text..].iter().all(|byte| *byte == 0)
    }

    fn version(&self) -> String {
        self.version.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
    }

    #[cfg(test)]
    pub(super) fn other(order: u8, width: u8, version: &str) -> Self {
        let mut bytes = [0; 16];
        bytes[..version.len()].copy_from_slice(version.as_bytes());
        Self { order, width, version: bytes }
    }
}

impl Hello {
    pub(super) fn encode(&self) -> HelloBytes {
        let mut bytes = [0; HELLO];
        let (prefix, rest) = bytes.split_at_mut(PREFIX);
        prefix[..8].copy_from_slice(&MAGIC);
        prefix[8..].copy_from_slice(&PROTOCOL.to_le_bytes());
        rest.copy_from_slice(&codec::encode(self));
        bytes
    }

    pub(super) fn decode(bytes: &HelloBytes) -> Result<Self, Malformed> {
        prefix(bytes)?;
        codec::decode(&bytes[PREFIX..]).map_err(|InvalidEncoding| Malformed::NotNecklace)
    }
}

coded!(struct Hello { build, purpose, role, rank, size, job, nonce }
    if |hello| hello.rank < hello.size && hello.size <= MAX_RANKS);
coded!(struct Build { order, width, version } if |build| build.is_valid());
coded!(enum Purpose { 1 => Rendezvous, 2 => Mesh, });
coded!(enum HandshakeRole { 1 => Initiator, 2 => Responder, });

/// Checks that the bytes after the prefix can be decoded. Reads [`PREFIX`] bytes.
pub(super) fn prefix(bytes: &[u8]) -> Result<(), Malformed> {
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else { return Err(Malformed::NotNecklace) };
    let Some(protocol) = rest.first_chunk::<4>().filter(|_| *magic == MAGIC) else {
        return Err(Malformed::NotNecklace);
    };
    match u32::from_le_bytes(*protocol) {
        PROTOCOL => Ok(()),
        other => Err(Malformed::Protocol(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    impl Arbitrary for Hello {
        fn arbitrary(g: &mut Gen) -> Self {
            let size = usize::arbitrary(g) % MAX_RANKS + 1;
            let purpose = *g.choose(&[Purpose::Rendezvous, Purpose::Mesh]).unwrap();
            let role = *g.choose(&[HandshakeRole::Initiator, HandshakeRole::Responder]).unwrap();
            let nonce = std::array::from_fn(|_| u8::arbitrary(g));
            let rank = usize::arbitrary(g) % size;
            Self { build: Build::own(), purpose, role, rank, size, job: u64::arbitrary(g), nonce }
        }
    }

    #[test]
    fn hello_survives_encoding_and_decoding() {
        QuickCheck::new()
            .tests(2000)
            .quickcheck((|hello: Hello| Hello::decode(&hello.encode()) == Ok(hello)) as fn(Hello) -> bool);
    }

    #[test]
    fn layout_is_the_documented_one() {
        let build = Build::other(b'l', 64, "1.2.3");
        let nonce = std::array::from_fn(|i| 100 + i as u8);
        let hello = Hello {
            build,
            purpose: Purpose::Mesh,
            role: HandshakeRole::Initiator,
            rank: 3,
            size: 258,
            job: 0x0102_0304_0506,
            nonce,
        };
        let mut bytes = b"necklace\x04\0\0\0l\x401.2.3\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend([2, 1, 3, 0, 0, 0, 2, 1, 0, 0]);
        bytes.extend([6, 5, 4, 3, 2, 1, 0, 0]);
        bytes.extend(100..132);
        assert_eq!(hello.encode()[..], bytes[..]);
    }

    #[test]
    fn invalid_hello_and_other_protocol_are_told_apart() {
        let hello = Hello::arbitrary(&mut Gen::new(10));
        let with = |at: usize, value: u8| {
            let mut bytes = hello.encode();
            bytes[at] = value;
            Hello::decode(&bytes)
        };
        assert_eq!(with(0, b'N'), Err(Malformed::NotNecklace));
        assert_eq!(with(8, 9), Err(Malformed::Protocol(9)));
        for (at, value) in [(12, b'm'), (30, 0), (30, 3), (31, 3), (35, 255), (39, 255), (14, 0), (29, 1), (15, 7)] {
            assert_eq!(with(at, value), Err(Malformed::NotNecklace), "{at} {value}");
        }
        assert_eq!(prefix(b"necklac"), Err(Malformed::NotNecklace));
        assert_eq!(prefix(b"necklace\x02\0\0"), Err(Malformed::NotNecklace));
        assert_eq!(prefix(b"GET / HTTP/1.1"), Err(Malformed::NotNecklace));
    }

    #[test]
    fn difference_of_builds_names_both_values() {
        let ours = Build::other(b'l', 64, "0.1.0");
        assert_eq!(ours.difference(&ours.clone()), None);
        let difference = |order, width, version| {
            let (what, here, there) = ours.difference(&Build::other(order, width, version)).unwrap();
            format!("{what}: {here}, {there}")
        };
        assert_eq!(difference(b'l', 64, "0.2.0"), "versions of necklace: 0.1.0, 0.2.0");
        assert_eq!(difference(b'b', 64, "0.1.0"), "byte orders: little-endian, big-endian");
        assert_eq!(difference(b'l', 32, "0.1.0"), "pointer widths: 64 bits, 32 bits");
    }
}
