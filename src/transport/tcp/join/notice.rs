//! What ranks tell each other while they meet, once both have proved that they hold the key. Bytes,
//! no I/O.
//!
//! A kind (1 byte), a length (4 bytes, the least significant first), and so many bytes. The length
//! is believed only up to what the kind may have in a job of that size.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::error::JoinError;

/// How many bytes a notice has before what its kind has.
pub(super) const HEADER: usize = 5;
/// How many bytes of text there may be in one.
const TEXT: usize = 1024;
/// How many bytes a place has.
const PLACE: usize = ADDRESS + 16;
const ADDRESS: usize = 18;

/// Which host a rank is on: a hash of what is one host's own.
pub(super) type Host = [u8; 16];

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Where it listens. Nothing sensible for rank 0, which everybody has reached.
    pub(super) address: SocketAddr,
    pub(super) host: Host,
}

/// What ranks tell each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// To rank 0: I am here, and listen there.
    Here(Place),
    /// From rank 0: all are here, and listen there.
    Table(Vec<Place>),
    /// Over a new connection of the mesh: this is the one that is used.
    Joined,
    /// To rank 0: I am connected to everybody.
    Ready,
    /// From rank 0: everybody is. Nothing more is said by the meeting over this connection.
    Go,
    /// To and from rank 0: it comes to nothing.
    Over(JoinError),
    /// From rank 0, when time runs short: how many others are you not connected to?
    Lacking,
    /// To rank 0: to so many.
    Lacks(usize),
}

impl Notice {
    /// How long a notice is, from its header; none for what is no header in a job of that size.
    pub(super) fn length(header: &[u8], size: usize) -> Option<usize> {
        let (&kind, length) = header.split_first()?;
        let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
        let sound = match kind {
            1 => length == PLACE,
            2 => length == size.checked_mul(PLACE)?,
            3..=5 | 7 => length == 0,
            8 => length == 4,
            6 => length <= size.checked_mul(4)?.checked_add(4 * TEXT)?,
            _ => false,
        };
        sound.then_some(length)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Writer(Vec::new());
        let kind = match self {
            Self::Here(place) => {
                to.place(place);
                1
            }
            Self::Table(places) => {
                places.iter().for_each(|place| to.place(place));
                2
            }
            Self::Joined => 3,
            Self::Ready => 4,
            Self::Go => 5,
            Self::Over(error) => {
                to.error(error);
                6
            }
            Self::Lacking => 7,
            Self::Lacks(count) => {
                to.number(*count);
                8
            }
        };
        let mut bytes = vec![kind];
        bytes.extend((to.0.len() as u32).to_le_bytes());
        bytes.extend(to.0);
        bytes
    }

    /// The notice of that header and what follows it.
    pub(super) fn decode(header: &[u8], body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        let notice = match header.first()? {
            1 => Self::Here(from.place()?),
            2 => {
                let mut places = Vec::with_capacity(body.len() / PLACE);
                while !from.0.is_empty() {
                    places.push(from.place()?);
                }
                Self::Table(places)
            }
            3 => Self::Joined,
            4 => Self::Ready,
            5 => Self::Go,
            6 => Self::Over(from.error()?),
            7 => Self::Lacking,
            8 => Self::Lacks(from.number()?),
            _ => return None,
        };
        from.0.is_empty().then_some(notice)
    }

    /// That it comes to nothing, for a rank's own reason where the error is not one that all share.
    pub(super) fn over(rank: usize, error: &JoinError) -> Self {
        Self::Over(match error {
            JoinError::Twice { .. }
            | JoinError::Sizes { .. }
            | JoinError::Missing { .. }
            | JoinError::Late { .. }
            | JoinError::Lost { .. }
            | JoinError::Loopback { .. }
            | JoinError::Abandoned { .. }
            | JoinError::Differs { .. } => error.clone(),
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
        let text = cut(text, TEXT);
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

    fn place(&mut self, place: &Place) {
        self.address(&place.address);
        self.0.extend(place.host);
    }

    fn error(&mut self, error: &JoinError) {
        match error {
            JoinError::Twice { rank, one, other } => {
                self.0.push(1);
                self.number(*rank);
                self.address(one);
                self.address(other);
            }
            JoinError::Sizes { size, rank, address, sizes } => {
                self.0.push(2);
                self.number(*size);
                self.number(*rank);
                self.address(address);
                self.number(*sizes);
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
            JoinError::Differs { what, one, ones, other, others } => {
                self.0.push(8);
                self.text(what);
                self.number(*one);
                self.text(ones);
                self.number(*other);
                self.text(others);
            }
            other => {
                self.0.push(7);
                self.number(0);
                self.text(&other.to_string());
            }
        }
    }
}

/// The start of a text, of so many bytes at most.
fn cut(text: &str, most: usize) -> &str {
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

    /// As many as there are bytes for, at most.
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

    fn place(&mut self) -> Option<Place> {
        Some(Place { address: self.address()?, host: *self.bytes(16)?.first_chunk()? })
    }

    fn error(&mut self) -> Option<JoinError> {
        Some(match self.bytes(1)?[0] {
            1 => JoinError::Twice { rank: self.number()?, one: self.address()?, other: self.address()? },
            2 => {
                let (size, rank) = (self.number()?, self.number()?);
                JoinError::Sizes { size, rank, address: self.address()?, sizes: self.number()? }
            }
            3 => {
                let (size, missing) = (self.number()?, self.numbers()?);
                // The error's words count those who are not missing.
                if missing.len() > size {
                    return None;
                }
                JoinError::Missing { size, missing, waited: self.duration()?, turned_away: self.text()? }
            }
            4 => JoinError::Late { late: self.numbers()?, waited: self.duration()? },
            5 => JoinError::Lost { rank: self.number()?, address: self.address()? },
            6 => JoinError::Loopback { rank: self.number()?, address: self.address()?, other: self.number()? },
            7 => JoinError::Abandoned { rank: self.number()?, reason: self.text()? },
            8 => JoinError::Differs {
                what: self.text()?,
                one: self.number()?,
                ones: self.text()?,
                other: self.number()?,
                others: self.text()?,
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

    fn place(g: &mut Gen) -> Place {
        Place { address: address(g), host: std::array::from_fn(|_| u8::arbitrary(g)) }
    }

    fn error(g: &mut Gen) -> JoinError {
        let rank = usize::arbitrary(g) % 8;
        let some: Vec<usize> = (0..8).filter(|_| bool::arbitrary(g)).collect();
        let text = cut(&String::arbitrary(g), TEXT).to_owned();
        let waited = Duration::from_millis(u32::arbitrary(g).into());
        match u8::arbitrary(g) % 8 {
            0 => JoinError::Twice { rank, one: address(g), other: address(g) },
            1 => JoinError::Sizes { size: 8, rank, address: address(g), sizes: 9 },
            2 => JoinError::Missing { size: 8, missing: some, waited, turned_away: text },
            3 => JoinError::Late { late: some, waited },
            4 => JoinError::Lost { rank, address: address(g) },
            5 => JoinError::Loopback { rank, address: address(g), other: 3 },
            6 => JoinError::Abandoned { rank, reason: text },
            _ => JoinError::Differs { what: text.clone(), one: 0, ones: text.clone(), other: rank, others: text },
        }
    }

    impl Arbitrary for Notice {
        fn arbitrary(g: &mut Gen) -> Self {
            match u8::arbitrary(g) % 10 {
                0 => Self::Here(place(g)),
                1 => Self::Table((0..8).map(|_| place(g)).collect()),
                2 => Self::Joined,
                3 => Self::Ready,
                4 => Self::Go,
                5 => Self::Lacking,
                6 => Self::Lacks(u16::arbitrary(g).into()),
                _ => Self::Over(error(g)),
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<Notice> {
        let (header, body) = bytes.split_at_checked(HEADER)?;
        let length = Notice::length(header, 8)?;
        assert!(length <= 32 + 4 * TEXT + 8 * PLACE, "{length} bytes would be believed");
        Notice::decode(header, body.get(..length)?)
    }

    #[test]
    fn a_notice_arrives_as_it_was() {
        let same = |notice: Notice| read(&notice.encode()) == Some(notice);
        QuickCheck::new().tests(5000).quickcheck(same as fn(Notice) -> bool);
    }

    #[test]
    fn what_is_no_notice_is_refused_without_a_panic_and_its_length_is_not_believed() {
        fn random(bytes: Vec<u8>) -> bool {
            read(&bytes).is_none_or(|notice| !notice.encode().is_empty())
        }
        fn mutated(notice: Notice, changes: Vec<(usize, u8)>, cut: usize) -> bool {
            let mut bytes = notice.encode();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - cut % 3);
            // What is still one has words.
            read(&bytes).is_none_or(|notice| !format!("{notice:?}").is_empty())
        }
        QuickCheck::new().tests(50_000).max_tests(50_000).quickcheck(random as fn(Vec<u8>) -> bool);
        QuickCheck::new().tests(50_000).quickcheck(mutated as fn(Notice, Vec<(usize, u8)>, usize) -> bool);
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let reason = "\u{00e4}".repeat(1000) + "x";
        let Notice::Over(JoinError::Abandoned { reason: cut, .. }) =
            read(&Notice::Over(JoinError::Abandoned { rank: 1, reason: reason.clone() }).encode()).unwrap()
        else {
            panic!("another notice");
        };
        assert!(cut.len() == 1024 && reason.starts_with(&cut));
    }

    #[test]
    fn a_reason_of_ones_own_becomes_that_rank_gave_up() {
        let own = JoinError::Descriptors { rank: 3, limit: Some(16), need: 99 };
        let Notice::Over(JoinError::Abandoned { rank: 3, reason }) = Notice::over(3, &own) else {
            panic!("not given up")
        };
        assert_eq!(reason, own.to_string());
        let shared = JoinError::Twice { rank: 1, one: address(&mut Gen::new(9)), other: address(&mut Gen::new(9)) };
        assert_eq!(Notice::over(3, &shared), Notice::Over(shared));
    }
}
