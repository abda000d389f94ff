//! The handshake of a new connection: both sides prove to each other that they hold the job's key.
//!
//! ```text
//! initiator                             responder
//!   hello (rank, job, fresh nonce)   ──►
//!                                    ◄──  hello (rank, job, fresh nonce)
//!   proof over both hellos           ──►
//!                                    ◄──  answer: accepted or refused, proof over both hellos and
//!                                         this answer, reason
//! ```
//!
//! An answer is a byte that is 0 if the responder accepts, the length of the reason in 2 bytes, the
//! proof, and the reason. The initiator proves first, so a responder reveals nothing to peers that
//! do not hold the key. Neither side reads a byte after the handshake.

use std::io::{self, ErrorKind, Read, Write};

use super::error::JoinError;
use super::hello::{self, Build, HELLO, HandshakeRole, Hello, HelloBytes, Malformed, PREFIX, Purpose};
use super::key::Key;
use super::proof::{self, PROOF};

/// Maximum length of the reason in an answer, in bytes.
const MAX_REASON: usize = 256;

/// A stage that a peer reaches in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// It has sent a hello, as a rank would.
    Hello,
    /// It has proved that it holds the key.
    Proof,
}

/// The reason why a connection could not be authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HandshakeError {
    /// The connection failed, or could not be made.
    Io(String),
    /// The peer did not answer in time.
    NoAnswer,
    /// The peer does not speak any protocol of this crate.
    NotNecklace,
    /// The peer speaks another protocol of this crate.
    Protocol(u32),
    /// The two sides do not hold the same key.
    Key,
    /// The peer holds the key and refuses, with this reason.
    Refused(String),
    /// The peer holds the key, but is another rank or of another job than expected.
    Mismatch(String),
    /// This process has failed.
    Own(JoinError),
}

impl HandshakeError {
    /// Whether only the connection failed, so that another attempt may succeed.
    pub(super) fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::Io(_) | Self::NoAnswer)
    }

    /// Describes what is wrong with the peer.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Io(why) => why.clone(),
            Self::NoAnswer => "no answer".to_owned(),
            Self::NotNecklace => "it is not a rank of a Necklace job".to_owned(),
            Self::Protocol(theirs) => format!("it speaks protocol {theirs}, this rank speaks {}", hello::PROTOCOL),
            Self::Key => "it does not hold the key of this job".to_owned(),
            Self::Refused(reason) => format!("it refuses: {reason}"),
            Self::Mismatch(description) => description.clone(),
            Self::Own(error) => error.to_string(),
        }
    }
}

impl From<JoinError> for HandshakeError {
    fn from(error: JoinError) -> Self {
        Self::Own(error)
    }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::TimedOut => Self::NoAnswer,
            ErrorKind::UnexpectedEof => Self::Io("the connection was closed".to_owned()),
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<Malformed> for HandshakeError {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::NotNecklace => Self::NotNecklace,
            Malformed::Protocol(theirs) => Self::Protocol(theirs),
        }
    }
}

/// The identity of a process on all its connections.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) key: Key,
    pub(super) build: Build,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The job's number; 0 until it is known.
    pub(super) job: u64,
}

impl Identity {
    fn hello(&self, purpose: Purpose, role: HandshakeRole, nonce: [u8; 32]) -> Hello {
        Hello { build: self.build.clone(), purpose, role, rank: self.rank, size: self.size, job: self.job, nonce }
    }
}

/// Authenticates the peer to which this process has connected, which should be that rank.
pub(super) fn initiate(
    stream: &mut (impl Read + Write),
    identity: &Identity,
    purpose: Purpose,
    rank: usize,
    nonce: [u8; 32],
) -> Result<Hello, HandshakeError> {
    let own = identity.hello(purpose, HandshakeRole::Initiator, nonce).encode();
    stream.write_all(&own)?;
    let (theirs, their_bytes) = read_hello(stream, HandshakeRole::Responder)?;
    stream.write_all(&proof::of_initiator(&identity.key, &own, &their_bytes))?;

    let [refused] = read(stream)?;
    let length = usize::from(u16::from_le_bytes(read(stream)?));
    if length > MAX_REASON {
        return Err(HandshakeError::NotNecklace);
    }
    let proof: [u8; PROOF] = read(stream)?;
    let mut reason = vec![0; length];
    stream.read_exact(&mut reason)?;
    if !proof::equal(&proof, &proof::of_responder(&identity.key, &own, &their_bytes, refused, &reason)) {
        return Err(HandshakeError::Key);
    }
    if refused != 0 {
        return Err(HandshakeError::Refused(String::from_utf8_lossy(&reason).into_owned()));
    }
    if theirs.rank != rank {
        return Err(HandshakeError::Mismatch(format!("it is rank {}, not rank {rank}", theirs.rank)));
    }
    Ok(theirs)
}

/// Authenticates a peer that has connected to this process, for that purpose only. Calls `reached`
/// with each stage that the peer reaches.
pub(super) fn respond(
    stream: &mut (impl Read + Write),
    identity: &Identity,
    purpose: Purpose,
    nonce: [u8; 32],
    mut reached: impl FnMut(Reached),
) -> Result<Hello, HandshakeError> {
    let own = identity.hello(purpose, HandshakeRole::Responder, nonce);
    let own_bytes = own.encode();
    let (theirs, their_bytes) = read_hello(stream, HandshakeRole::Initiator).inspect_err(|error| {
        // A peer with another protocol gets this hello, so that it can name both. Any other program
        // gets nothing.
        if let HandshakeError::Protocol(_) = error {
            let _ = stream.write_all(&own_bytes);
        }
    })?;
    reached(Reached::Hello);
    stream.write_all(&own_bytes)?;

    let proof: [u8; PROOF] = read(stream)?;
    let mut answer = |refused: u8, reason: &str| {
        let reason = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
        let proof = proof::of_responder(&identity.key, &their_bytes, &own_bytes, refused, reason);
        stream.write_all(&[&[refused], &(reason.len() as u16).to_le_bytes()[..], &proof, reason].concat())
    };
    if !proof::equal(&proof, &proof::of_initiator(&identity.key, &their_bytes, &own_bytes)) {
        answer(1, "the key is not that of this job")?;
        return Err(HandshakeError::Key);
    }
    if let Some(reason) = own.mismatch(&theirs) {
        answer(1, &reason)?;
        return Err(HandshakeError::Mismatch(reason));
    }
    reached(Reached::Proof);
    answer(0, "")?;
    Ok(theirs)
}

/// Reads a hello. Its prefix tells whether the rest can be decoded, and comes first.
fn read_hello(stream: &mut impl Read, role: HandshakeRole) -> Result<(Hello, HelloBytes), HandshakeError> {
    let mut bytes = [0; HELLO];
    let (first, rest) = bytes.split_at_mut(PREFIX);
    stream.read_exact(first)?;
    hello::prefix(first)?;
    stream.read_exact(rest)?;
    let hello = Hello::decode(&bytes)?;
    if hello.role == role { Ok((hello, bytes)) } else { Err(HandshakeError::NotNecklace) }
}

fn read<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Hello {
    /// Returns why the sender of this hello refuses a peer that holds the key, if it does.
    fn mismatch(&self, theirs: &Hello) -> Option<String> {
        if theirs.purpose != self.purpose {
            return Some(match self.purpose {
                Purpose::Rendezvous => {
                    "this is rank 0 at the rendezvous address; the connection is for a rank of the mesh".to_owned()
                }
                Purpose::Mesh => {
                    format!("this is rank {} of {}, not rank 0 at the rendezvous address", self.rank, self.size)
                }
            });
        }
        let other = theirs.purpose == Purpose::Mesh && theirs.job != self.job;
        other.then(|| "this is another job with the same key".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    fn identity(key: u8, rank: usize) -> Identity {
        Identity { key: Key::new(&[key; 16]).unwrap(), build: Build::own(), rank, size: 8, job: 7 }
    }

    /// A stream that gives these bytes, and keeps what is written.
    struct Script<'a> {
        gives: &'a [u8],
        said: Vec<u8>,
    }

    impl Read for Script<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(into.len() <= MAX_REASON, "an announced length is trusted");
            self.gives.read(into)
        }
    }

    impl Write for Script<'_> {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            self.said.write(from)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The result of a handshake on one side, and the bytes that this side sent.
    type Outcome = (Result<Hello, HandshakeError>, Vec<u8>);

    fn initiate_with(identity: &Identity, purpose: Purpose, rank: usize, nonce: u8, gives: &[u8]) -> Outcome {
        let mut script = Script { gives, said: Vec::new() };
        (initiate(&mut script, identity, purpose, rank, [nonce; 32]), script.said)
    }

    fn respond_with(identity: &Identity, purpose: Purpose, nonce: u8, gives: &[u8]) -> Outcome {
        let mut script = Script { gives, said: Vec::new() };
        let mut stages = Vec::new();
        let outcome = respond(&mut script, identity, purpose, [nonce; 32], |stage| stages.push(stage));
        assert_eq!(outcome.is_ok(), stages == [Reached::Hello, Reached::Proof], "{outcome:?} after {stages:?}");
        (outcome, script.said)
    }

    fn initiator(gives: &[u8]) -> Outcome {
        initiate_with(&identity(1, 3), Purpose::Mesh, 2, 3, gives)
    }

    fn responder(gives: &[u8]) -> Outcome {
        respond_with(&identity(1, 2), Purpose::Mesh, 2, gives)
    }

    /// Runs a handshake. Each side always says the same to the same bytes, so it can be run again
    /// whenever the other has said more.
    fn shake(initiates: &Identity, purposes: (Purpose, Purpose), rank: usize, responds: &Identity) -> [Outcome; 2] {
        let mut by_responder = Vec::new();
        loop {
            let initiated = initiate_with(initiates, purposes.0, rank, 3, &by_responder);
            let responded = respond_with(responds, purposes.1, 2, &initiated.1);
            if responded.1 == by_responder {
                return [initiated, responded];
            }
            by_responder.clone_from(&responded.1);
        }
    }

    fn good() -> [Outcome; 2] {
        shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &identity(1, 2))
    }

    #[test]
    fn two_holders_of_the_key_authenticate_each_other() {
        let [(called, _), (answered, _)] = good();
        let (called, answered) = (called.unwrap(), answered.unwrap());
        assert_eq!((called.rank, called.role), (2, HandshakeRole::Responder));
        assert_eq!((answered.rank, answered.role), (3, HandshakeRole::Initiator));
    }

    #[test]
    fn different_keys_fail_on_both_sides() {
        let outcomes = shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &identity(9, 2));
        assert_eq!(outcomes.map(|(outcome, _)| outcome), [Err(HandshakeError::Key), Err(HandshakeError::Key)]);
    }

    #[test]
    fn holder_of_the_key_with_another_identity_is_refused() {
        let failure = |initiates: &Identity, purposes, rank, responds: &Identity| {
            let [(outcome, _), _] = shake(initiates, purposes, rank, responds);
            outcome.unwrap_err().description()
        };
        let mesh = (Purpose::Mesh, Purpose::Mesh);
        let other_job = Identity { job: 8, ..identity(1, 2) };
        assert!(failure(&identity(1, 3), mesh, 2, &other_job).contains("another job"));
        assert!(failure(&identity(1, 3), mesh, 1, &identity(1, 2)).contains("it is rank 2, not rank 1"));
        let purposes = (Purpose::Rendezvous, Purpose::Mesh);
        assert!(failure(&identity(1, 3), purposes, 2, &identity(1, 2)).contains("not rank 0"));
        let purposes = (Purpose::Mesh, Purpose::Rendezvous);
        assert!(failure(&identity(1, 3), purposes, 2, &identity(1, 2)).contains("this is rank 0"));
        // A rank that connects to rank 0 does not know the job's number yet.
        let purposes = (Purpose::Rendezvous, Purpose::Rendezvous);
        let [(outcome, _), _] = shake(&Identity { job: 0, ..identity(1, 3) }, purposes, 0, &identity(1, 0));
        assert_eq!(outcome.unwrap().job, 7);
    }

    #[test]
    fn replayed_or_reflected_bytes_are_refused() {
        let [(_, by_initiator), (_, by_responder)] = good();
        // The same sides with other nonces.
        let again = initiate_with(&identity(1, 3), Purpose::Mesh, 2, 4, &by_responder);
        assert_eq!(again.0, Err(HandshakeError::Key));
        let again = respond_with(&identity(1, 2), Purpose::Mesh, 5, &by_initiator);
        assert_eq!(again.0, Err(HandshakeError::Key));
        // With the same nonces it is the same handshake.
        assert!(responder(&by_initiator).0.is_ok() && initiator(&by_responder).0.is_ok());
        // Bytes of a side sent back to it.
        assert_eq!(initiator(&by_initiator).0, Err(HandshakeError::NotNecklace));
        assert_eq!(responder(&by_responder).0, Err(HandshakeError::NotNecklace));
        // The initiator's proof is not valid in an answer.
        let proof = &by_initiator[HELLO..];
        let reflected = [&by_responder[..HELLO], &[0, 0, 0], proof].concat();
        assert_eq!(initiator(&reflected).0, Err(HandshakeError::Key));
    }

    #[test]
    fn other_program_is_told_nothing() {
        let (outcome, said) = responder(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!((outcome, said), (Err(HandshakeError::NotNecklace), Vec::new()));
    }

    #[test]
    fn reason_of_a_refusal_is_authenticated() {
        let other_job = Identity { job: 8, ..identity(1, 2) };
        let [_, (_, by_responder)] = shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &other_job);
        assert!(matches!(initiator(&by_responder).0, Err(HandshakeError::Refused(_))));
        for at in [HELLO, by_responder.len() - 1] {
            let mut changed = by_responder.clone();
            changed[at] ^= 1;
            assert_eq!(initiator(&changed).0, Err(HandshakeError::Key));
        }
    }

    #[derive(Clone, Debug)]
    struct Changes(Vec<(u16, u8)>);

    impl Arbitrary for Changes {
        fn arbitrary(g: &mut Gen) -> Self {
            let count = usize::arbitrary(g) % 4 + 1;
            Self((0..count).map(|_| Arbitrary::arbitrary(g)).collect())
        }
    }

    /// Changes some bytes. Returns `None` if they are the same afterwards.
    fn changed(bytes: &[u8], changes: &Changes) -> Option<Vec<u8>> {
        let mut other = bytes.to_vec();
        for (at, value) in &changes.0 {
            let at = usize::from(*at) % bytes.len();
            other[at] = *value;
        }
        (other != bytes).then_some(other)
    }

    #[test]
    fn altered_bytes_are_refused_without_a_panic() {
        fn random(bytes: Vec<u8>) -> bool {
            let begun = [&b"necklace\x04\0\0\0"[..], &bytes].concat();
            [bytes, begun].iter().all(|bytes| initiator(bytes).0.is_err() && responder(bytes).0.is_err())
        }
        fn mutated(changes: Changes, cut: usize) -> bool {
            let [(_, by_initiator), (_, by_responder)] = good();
            let refused = |said: &[u8], with: fn(&[u8]) -> Outcome| {
                changed(said, &changes)
                    .is_none_or(|bytes| with(&bytes).0.is_err() && with(&bytes[..bytes.len() - cut % 5]).0.is_err())
            };
            refused(&by_initiator, responder) && refused(&by_responder, initiator)
        }
        let tests = || QuickCheck::new().tests(50_000).max_tests(50_000);
        tests().rng(Gen::new(400)).quickcheck(random as fn(Vec<u8>) -> bool);
        tests().quickcheck(mutated as fn(Changes, usize) -> bool);
    }
}
