//! What each side of a new connection says first: who it is. Bytes, no I/O.
//!
//! | bytes | what | |
//! |---|---|---|
//! | 0..8 | `necklace` | these two stay for ever |
//! | 8..12 | the protocol's number | |
//! | 12 | byte order: `l` or `b` | |
//! | 13 | bits of a pointer | |
//! | 14 | what the connection is for: 1 the meeting, 2 the mesh | |
//! | 15 | which side says it: 1 who has called, 2 who has answered | |
//! | 16..20, 20..24 | rank, size | |
//! | 24..32 | the job's number; 0 from who calls the meeting point, which draws it | |
//! | 32..48 | the crate's version, filled up with zeros | |
//! | 48..80 | numbers drawn for this connection | |
//!
//! Integers have their least significant byte first, on every machine.

use super::error::MAX_RANKS;

/// What begins every connection.
const MAGIC: [u8; 8] = *b"necklace";
/// The number of everything said in a meeting, and on the wire after it. Another layout, another
/// number.
pub(super) const PROTOCOL: u32 = 1;
/// How many bytes say whether the rest can be understood.
pub(super) const PREFIX: usize = 12;
/// How many bytes a hello has.
pub(super) const HELLO: usize = 80;

/// A hello as it is on the wire.
pub(super) type Bytes = [u8; HELLO];

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A rank calls rank 0.
    Meeting,
    /// A rank calls another, of the table that it has from rank 0.
    Mesh,
}

/// Which end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Has connected.
    Caller,
    /// Has accepted.
    Answerer,
}

/// Who somebody says to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) build: Build,
    pub(super) role: Role,
    pub(super) side: Side,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) job: u64,
    pub(super) nonce: [u8; 32],
}

/// What two ranks must have in common to understand each other's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    /// `l` or `b`.
    order: u8,
    /// Bits of a pointer.
    width: u8,
    version: [u8; 16],
}

/// Bytes that are no hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Nothing that this crate says.
    Stranger,
    /// Another protocol of this crate.
    Protocol(u32),
}

impl Build {
    /// That of this process.
    pub(super) fn own() -> Self {
        let mut version = [0; 16];
        for (to, from) in version.iter_mut().zip(env!("CARGO_PKG_VERSION").bytes()) {
            *to = from;
        }
        let order = if cfg!(target_endian = "little") { b'l' } else { b'b' };
        Self { order, width: usize::BITS as u8, version }
    }

    /// The first thing in which they differ, with both values.
    pub(super) fn differs(&self, other: &Self) -> Option<(&'static str, String, String)> {
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
    pub(super) fn encode(&self) -> Bytes {
        let mut bytes = [0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&PROTOCOL.to_le_bytes());
        bytes[12] = self.build.order;
        bytes[13] = self.build.width;
        bytes[14] = match self.role {
            Role::Meeting => 1,
            Role::Mesh => 2,
        };
        bytes[15] = match self.side {
            Side::Caller => 1,
            Side::Answerer => 2,
        };
        bytes[16..20].copy_from_slice(&(self.rank as u32).to_le_bytes());
        bytes[20..24].copy_from_slice(&(self.size as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.job.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.build.version);
        bytes[48..].copy_from_slice(&self.nonce);
        bytes
    }

    pub(super) fn decode(bytes: &Bytes) -> Result<Self, Malformed> {
        prefix(bytes)?;
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (rank, size) = (number(16) as usize, number(20) as usize);
        let role = match bytes[14] {
            1 => Role::Meeting,
            2 => Role::Mesh,
            _ => return Err(Malformed::Stranger),
        };
        let side = match bytes[15] {
            1 => Side::Caller,
            2 => Side::Answerer,
            _ => return Err(Malformed::Stranger),
        };
        let mut version = [0; 16];
        version.copy_from_slice(&bytes[32..48]);
        let text = version.iter().take_while(|byte| byte.is_ascii_graphic()).count();
        let mut nonce = [0; 32];
        nonce.copy_from_slice(&bytes[48..]);
        let sound = rank < size
            && size <= MAX_RANKS
            && matches!(bytes[12], b'l' | b'b')
            && text > 0
            && version[text..].iter().all(|byte| *byte == 0);
        if !sound {
            return Err(Malformed::Stranger);
        }
        let build = Build { order: bytes[12], width: bytes[13], version };
        let job = u64::from(number(24)) | u64::from(number(28)) << 32;
        Ok(Self { build, role, side, rank, size, job, nonce })
    }
}

/// That what follows these bytes can be understood. Looks at [`PREFIX`] of them.
pub(super) fn prefix(bytes: &[u8]) -> Result<(), Malformed> {
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else { return Err(Malformed::Stranger) };
    let Some(protocol) = rest.first_chunk::<4>().filter(|_| *magic == MAGIC) else { return Err(Malformed::Stranger) };
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
            let role = *g.choose(&[Role::Meeting, Role::Mesh]).unwrap();
            let side = *g.choose(&[Side::Caller, Side::Answerer]).unwrap();
            let nonce = std::array::from_fn(|_| u8::arbitrary(g));
            let rank = usize::arbitrary(g) % size;
            Self { build: Build::own(), role, side, rank, size, job: u64::arbitrary(g), nonce }
        }
    }

    #[test]
    fn a_hello_arrives_as_it_was() {
        QuickCheck::new()
            .tests(2000)
            .quickcheck((|hello: Hello| Hello::decode(&hello.encode()) == Ok(hello)) as fn(Hello) -> bool);
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let build = Build::other(b'l', 64, "1.2.3");
        let nonce = std::array::from_fn(|i| 100 + i as u8);
        let hello =
            Hello { build, role: Role::Mesh, side: Side::Caller, rank: 3, size: 258, job: 0x0102_0304_0506, nonce };
        let mut bytes = b"necklace\x01\0\0\0l\x40\x02\x01\x03\0\0\0\x02\x01\0\0".to_vec();
        bytes.extend([6, 5, 4, 3, 2, 1, 0, 0]);
        bytes.extend(b"1.2.3\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(100..132);
        assert_eq!(hello.encode()[..], bytes[..]);
    }

    #[test]
    fn what_is_no_hello_is_told_apart_from_another_protocol() {
        let hello = Hello::arbitrary(&mut Gen::new(10));
        let with = |at: usize, value: u8| {
            let mut bytes = hello.encode();
            bytes[at] = value;
            Hello::decode(&bytes)
        };
        assert_eq!(with(0, b'N'), Err(Malformed::Stranger));
        assert_eq!(with(8, 9), Err(Malformed::Protocol(9)));
        for (at, value) in [(12, b'm'), (14, 0), (14, 3), (15, 3), (19, 255), (23, 255), (32, 0), (47, 1), (33, 7)] {
            assert_eq!(with(at, value), Err(Malformed::Stranger), "{at} {value}");
        }
        assert_eq!(prefix(b"necklac"), Err(Malformed::Stranger));
        assert_eq!(prefix(b"necklace\x01\0\0"), Err(Malformed::Stranger));
        assert_eq!(prefix(b"GET / HTTP/1.1"), Err(Malformed::Stranger));
    }

    #[test]
    fn builds_that_differ_are_named_with_both_values() {
        let ours = Build::other(b'l', 64, "0.1.0");
        assert_eq!(ours.differs(&ours.clone()), None);
        let differ = |order, width, version| {
            let (what, here, there) = ours.differs(&Build::other(order, width, version)).unwrap();
            format!("{what}: {here}, {there}")
        };
        assert_eq!(differ(b'l', 64, "0.2.0"), "versions of necklace: 0.1.0, 0.2.0");
        assert_eq!(differ(b'b', 64, "0.1.0"), "byte orders: little-endian, big-endian");
        assert_eq!(differ(b'l', 32, "0.1.0"), "pointer widths: 64 bits, 32 bits");
    }
}
