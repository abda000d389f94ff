//! The handshake of a new connection: both sides prove to each other that they hold the job's key.
//! Bytes in, bytes out, no I/O.
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
//! The initiator proves first, so a responder reveals nothing to peers that do not hold the key.
//! Each side says how many bytes it wants next, never more than [`MAX_REASON`], and is given
//! exactly these.

use super::hello::{self, Build, HELLO, HandshakeRole, Hello, HelloBytes, Malformed, PREFIX, Purpose};
use super::key::Key;
use super::proof::{self, PROOF};

/// Maximum length of the reason in an answer, in bytes.
pub(super) const MAX_REASON: usize = 256;
/// Length of an answer before its reason: 0 or 1, the length of the reason, the proof.
const ANSWER: usize = 1 + 2 + PROOF;

/// The step that a side takes after it was given bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HandshakeStep {
    /// Send these bytes and go on.
    Send(Vec<u8>),
    /// The peer holds the key. Send these bytes.
    Authenticated(Hello, Vec<u8>),
    /// The handshake has failed. Send these bytes and close the connection.
    Failed(HandshakeError, Vec<u8>),
}

/// The reason why a connection could not be authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HandshakeError {
    /// The connection failed, or could not be made.
    Io(String),
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
}

impl HandshakeError {
    /// Describes what is wrong with the peer.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Io(why) => why.clone(),
            Self::NotNecklace => "it is not a rank of a Necklace job".to_owned(),
            Self::Protocol(theirs) => format!("it speaks protocol {theirs}, this rank speaks {}", hello::PROTOCOL),
            Self::Key => "it does not hold the key of this job".to_owned(),
            Self::Refused(reason) => format!("it refuses: {reason}"),
            Self::Mismatch(description) => description.clone(),
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

/// The side that has connected.
#[derive(Debug)]
pub(super) struct Initiator {
    key: Key,
    hello: Hello,
    /// The rank to which it connects.
    rank: usize,
    stage: InitiatorStage,
}

#[derive(Debug)]
enum InitiatorStage {
    Prefix,
    Hello([u8; PREFIX]),
    Answer(Hello),
    Reason { hello: Hello, refused: u8, length: usize, proof: [u8; PROOF] },
    Done,
}

impl Initiator {
    /// Starts the handshake with that rank. Returns the bytes to send first.
    pub(super) fn new(identity: &Identity, purpose: Purpose, rank: usize, nonce: [u8; 32]) -> (Self, Vec<u8>) {
        let hello = identity.hello(purpose, HandshakeRole::Initiator, nonce);
        let bytes = hello.encode().to_vec();
        (Self { key: identity.key.clone(), hello, rank, stage: InitiatorStage::Prefix }, bytes)
    }

    /// Returns how many bytes it needs next.
    pub(super) fn wanted(&self) -> usize {
        match &self.stage {
            InitiatorStage::Prefix => PREFIX,
            InitiatorStage::Hello(_) => HELLO - PREFIX,
            InitiatorStage::Answer(_) => ANSWER,
            InitiatorStage::Reason { length, .. } => *length,
            InitiatorStage::Done => 0,
        }
    }

    /// Takes the bytes that it needs.
    pub(super) fn take(&mut self, bytes: &[u8]) -> HandshakeStep {
        self.step(bytes).unwrap_or_else(|error| {
            self.stage = InitiatorStage::Done;
            HandshakeStep::Failed(error, Vec::new())
        })
    }

    fn step(&mut self, bytes: &[u8]) -> Result<HandshakeStep, HandshakeError> {
        if bytes.len() != self.wanted() {
            return Err(HandshakeError::NotNecklace);
        }
        match std::mem::replace(&mut self.stage, InitiatorStage::Done) {
            InitiatorStage::Prefix => {
                hello::prefix(bytes)?;
                self.stage = InitiatorStage::Hello(first(bytes));
                Ok(HandshakeStep::Send(Vec::new()))
            }
            InitiatorStage::Hello(prefix) => {
                let theirs = whole(&prefix, bytes)?;
                if theirs.role != HandshakeRole::Responder {
                    return Err(HandshakeError::NotNecklace);
                }
                let proof = proof::of_initiator(&self.key, &self.hello.encode(), &theirs.encode());
                self.stage = InitiatorStage::Answer(theirs);
                Ok(HandshakeStep::Send(proof.to_vec()))
            }
            InitiatorStage::Answer(hello) => {
                let length = usize::from(u16::from_le_bytes([bytes[1], bytes[2]]));
                if length > MAX_REASON {
                    return Err(HandshakeError::NotNecklace);
                }
                let (refused, proof) = (bytes[0], first(&bytes[3..]));
                if length == 0 {
                    return self.conclude(hello, refused, &proof, &[]);
                }
                self.stage = InitiatorStage::Reason { hello, refused, length, proof };
                Ok(HandshakeStep::Send(Vec::new()))
            }
            InitiatorStage::Reason { hello, refused, proof, .. } => self.conclude(hello, refused, &proof, bytes),
            InitiatorStage::Done => Err(HandshakeError::NotNecklace),
        }
    }

    fn conclude(
        &self,
        theirs: Hello,
        refused: u8,
        proof: &[u8; PROOF],
        reason: &[u8],
    ) -> Result<HandshakeStep, HandshakeError> {
        let expected = proof::of_responder(&self.key, &self.hello.encode(), &theirs.encode(), refused, reason);
        if !proof::equal(proof, &expected) {
            return Err(HandshakeError::Key);
        }
        if refused != 0 {
            return Err(HandshakeError::Refused(String::from_utf8_lossy(reason).into_owned()));
        }
        if theirs.rank != self.rank {
            return Err(HandshakeError::Mismatch(format!("it is rank {}, not rank {}", theirs.rank, self.rank)));
        }
        Ok(HandshakeStep::Authenticated(theirs, Vec::new()))
    }
}

/// The side that has accepted.
#[derive(Debug)]
pub(super) struct Responder {
    key: Key,
    hello: Hello,
    stage: ResponderStage,
}

#[derive(Debug)]
enum ResponderStage {
    Prefix,
    Hello([u8; PREFIX]),
    Proof(Hello),
    Done,
}

impl Responder {
    /// Accepts connections for that purpose only.
    pub(super) fn new(identity: &Identity, purpose: Purpose, nonce: [u8; 32]) -> Self {
        let hello = identity.hello(purpose, HandshakeRole::Responder, nonce);
        Self { key: identity.key.clone(), hello, stage: ResponderStage::Prefix }
    }

    /// Returns how many bytes it needs next.
    pub(super) fn wanted(&self) -> usize {
        match &self.stage {
            ResponderStage::Prefix => PREFIX,
            ResponderStage::Hello(_) => HELLO - PREFIX,
            ResponderStage::Proof(_) => PROOF,
            ResponderStage::Done => 0,
        }
    }

    /// Whether the initiator has sent its hello, and the proof is next.
    pub(super) fn has_hello(&self) -> bool {
        matches!(self.stage, ResponderStage::Proof(_))
    }

    /// Takes the bytes that it needs.
    pub(super) fn take(&mut self, bytes: &[u8]) -> HandshakeStep {
        if bytes.len() != self.wanted() {
            self.stage = ResponderStage::Done;
            return HandshakeStep::Failed(HandshakeError::NotNecklace, Vec::new());
        }
        let own = self.hello.encode();
        match std::mem::replace(&mut self.stage, ResponderStage::Done) {
            ResponderStage::Prefix => match hello::prefix(bytes) {
                Ok(()) => {
                    self.stage = ResponderStage::Hello(first(bytes));
                    HandshakeStep::Send(Vec::new())
                }
                // A peer with another protocol gets this hello, so that it can name both. Any other
                // program gets nothing.
                Err(Malformed::Protocol(theirs)) => {
                    HandshakeStep::Failed(HandshakeError::Protocol(theirs), own.to_vec())
                }
                Err(Malformed::NotNecklace) => HandshakeStep::Failed(HandshakeError::NotNecklace, Vec::new()),
            },
            ResponderStage::Hello(prefix) => match whole(&prefix, bytes) {
                Ok(theirs) if theirs.role == HandshakeRole::Initiator => {
                    self.stage = ResponderStage::Proof(theirs);
                    HandshakeStep::Send(own.to_vec())
                }
                _ => HandshakeStep::Failed(HandshakeError::NotNecklace, Vec::new()),
            },
            ResponderStage::Proof(theirs) => {
                let theirs_encoded = theirs.encode();
                if !proof::equal(&first(bytes), &proof::of_initiator(&self.key, &theirs_encoded, &own)) {
                    let answer = self.answer(&theirs_encoded, 1, "the key is not that of this job");
                    return HandshakeStep::Failed(HandshakeError::Key, answer);
                }
                match self.mismatch(&theirs) {
                    None => HandshakeStep::Authenticated(theirs, self.answer(&theirs_encoded, 0, "")),
                    Some(reason) => {
                        let answer = self.answer(&theirs_encoded, 1, &reason);
                        HandshakeStep::Failed(HandshakeError::Mismatch(reason), answer)
                    }
                }
            }
            ResponderStage::Done => HandshakeStep::Failed(HandshakeError::NotNecklace, Vec::new()),
        }
    }

    /// Returns why a peer that holds the key is refused, if it is.
    fn mismatch(&self, theirs: &Hello) -> Option<String> {
        let own = &self.hello;
        if theirs.purpose != own.purpose {
            return Some(match own.purpose {
                Purpose::Rendezvous => {
                    "this is rank 0 at the rendezvous address; the connection is for a rank of the mesh".to_owned()
                }
                Purpose::Mesh => {
                    format!("this is rank {} of {}, not rank 0 at the rendezvous address", own.rank, own.size)
                }
            });
        }
        let other = theirs.purpose == Purpose::Mesh && theirs.job != own.job;
        other.then(|| "this is another job with the same key".to_owned())
    }

    fn answer(&self, theirs: &HelloBytes, refused: u8, reason: &str) -> Vec<u8> {
        let reason = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
        let mut bytes = vec![refused];
        bytes.extend((reason.len() as u16).to_le_bytes());
        bytes.extend(proof::of_responder(&self.key, theirs, &self.hello.encode(), refused, reason));
        bytes.extend(reason);
        bytes
    }
}

/// Decodes a hello that was received in two parts.
fn whole(prefix: &[u8; PREFIX], rest: &[u8]) -> Result<Hello, Malformed> {
    let mut bytes = [0; HELLO];
    bytes[..PREFIX].copy_from_slice(prefix);
    bytes[PREFIX..].copy_from_slice(rest);
    Hello::decode(&bytes)
}

/// Returns the first `N` bytes. The caller has checked that there are as many.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&bytes[..N]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    fn identity(key: u8, rank: usize) -> Identity {
        Identity { key: Key::new(&[key; 16]).unwrap(), build: Build::own(), rank, size: 8, job: 7 }
    }

    fn initiator() -> Initiator {
        Initiator::new(&identity(1, 3), Purpose::Mesh, 2, [3; 32]).0
    }

    fn responder() -> Responder {
        Responder::new(&identity(1, 2), Purpose::Mesh, [2; 32])
    }

    /// The last step of a side, if it has come to one, and all bytes that it has sent.
    type Outcome = (Option<HandshakeStep>, Vec<u8>);

    /// Gives a side these bytes, piece by piece as it wants them, until it ends or they do.
    fn feed(wanted: &dyn Fn() -> usize, take: &dyn Fn(&[u8]) -> HandshakeStep, mut bytes: &[u8]) -> Outcome {
        let mut said = Vec::new();
        loop {
            assert!(wanted() <= MAX_REASON, "an announced length is trusted");
            let Some((part, rest)) = bytes.split_at_checked(wanted()) else { return (None, said) };
            bytes = rest;
            match take(part) {
                HandshakeStep::Send(more) => said.extend(more),
                end => return (Some(end), said),
            }
        }
    }

    fn feed_initiator(initiator: Initiator, bytes: &[u8]) -> Outcome {
        let initiator = std::cell::RefCell::new(initiator);
        feed(&|| initiator.borrow().wanted(), &|part| initiator.borrow_mut().take(part), bytes)
    }

    fn feed_responder(responder: Responder, bytes: &[u8]) -> Outcome {
        let responder = std::cell::RefCell::new(responder);
        feed(&|| responder.borrow().wanted(), &|part| responder.borrow_mut().take(part), bytes)
    }

    /// Runs a handshake. Returns, for each side, the last step and all bytes that it has sent.
    fn shake(
        initiates: &Identity,
        purposes: (Purpose, Purpose),
        rank: usize,
        responds: &Identity,
    ) -> [(HandshakeStep, Vec<u8>); 2] {
        let (mut initiator, mut to_responder) = Initiator::new(initiates, purposes.0, rank, [3; 32]);
        let mut responder = Responder::new(responds, purposes.1, [2; 32]);
        let (mut by_initiator, mut by_responder) = (to_responder.clone(), Vec::new());
        let mut to_initiator = Vec::new();
        let (mut called, mut answered) = (None, None);
        while called.is_none() || answered.is_none() {
            while answered.is_none() && to_responder.len() >= responder.wanted() {
                let rest = to_responder.split_off(responder.wanted());
                let step = responder.take(&std::mem::replace(&mut to_responder, rest));
                let (HandshakeStep::Send(said)
                | HandshakeStep::Authenticated(_, said)
                | HandshakeStep::Failed(_, said)) = &step;
                to_initiator.extend(said);
                by_responder.extend(said);
                answered = Some(step).filter(|step| !matches!(step, HandshakeStep::Send(_)));
            }
            while called.is_none() && to_initiator.len() >= initiator.wanted() {
                let rest = to_initiator.split_off(initiator.wanted());
                let step = initiator.take(&std::mem::replace(&mut to_initiator, rest));
                let (HandshakeStep::Send(said)
                | HandshakeStep::Authenticated(_, said)
                | HandshakeStep::Failed(_, said)) = &step;
                to_responder.extend(said);
                by_initiator.extend(said);
                called = Some(step).filter(|step| !matches!(step, HandshakeStep::Send(_)));
            }
            if answered.is_some() && called.is_none() && to_initiator.len() < initiator.wanted() {
                called = Some(HandshakeStep::Failed(HandshakeError::Io("closed".to_owned()), Vec::new()));
            }
        }
        [(called.unwrap(), by_initiator), (answered.unwrap(), by_responder)]
    }

    fn good() -> [(HandshakeStep, Vec<u8>); 2] {
        shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &identity(1, 2))
    }

    #[test]
    fn two_holders_of_the_key_authenticate_each_other() {
        let [(called, _), (answered, _)] = good();
        assert!(
            matches!(called, HandshakeStep::Authenticated(hello, _) if hello.rank == 2 && hello.role == HandshakeRole::Responder)
        );
        assert!(
            matches!(answered, HandshakeStep::Authenticated(hello, _) if hello.rank == 3 && hello.role == HandshakeRole::Initiator)
        );
    }

    #[test]
    fn different_keys_fail_on_both_sides() {
        let [(called, _), (answered, _)] = shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &identity(9, 2));
        assert!(matches!(called, HandshakeStep::Failed(HandshakeError::Key, _)), "{called:?}");
        assert!(matches!(answered, HandshakeStep::Failed(HandshakeError::Key, _)), "{answered:?}");
    }

    #[test]
    fn holder_of_the_key_with_another_identity_is_refused() {
        let failure = |initiates: &Identity, purposes, rank, responds: &Identity| match shake(
            initiates, purposes, rank, responds,
        ) {
            [(HandshakeStep::Failed(error, _), _), _] => error.description(),
            other => panic!("{other:?}"),
        };
        let mesh = (Purpose::Mesh, Purpose::Mesh);
        let other_job = Identity { job: 8, ..identity(1, 2) };
        assert!(failure(&identity(1, 3), mesh, 2, &other_job).contains("another job"));
        assert!(failure(&identity(1, 3), mesh, 1, &identity(1, 2)).contains("it is rank 2, not rank 1"));
        assert!(
            failure(&identity(1, 3), (Purpose::Rendezvous, Purpose::Mesh), 2, &identity(1, 2)).contains("not rank 0")
        );
        assert!(
            failure(&identity(1, 3), (Purpose::Mesh, Purpose::Rendezvous), 2, &identity(1, 2))
                .contains("this is rank 0")
        );
        // A rank that connects to rank 0 does not know the job's number yet.
        let outcome = shake(
            &Identity { job: 0, ..identity(1, 3) },
            (Purpose::Rendezvous, Purpose::Rendezvous),
            0,
            &identity(1, 0),
        );
        assert!(matches!(&outcome[0].0, HandshakeStep::Authenticated(hello, _) if hello.job == 7));
    }

    #[test]
    fn replayed_or_reflected_bytes_are_refused() {
        let [(_, by_initiator), (_, by_responder)] = good();
        // The same sides with other nonces.
        let again = Initiator::new(&identity(1, 3), Purpose::Mesh, 2, [4; 32]).0;
        assert!(matches!(feed_initiator(again, &by_responder).0, Some(HandshakeStep::Failed(HandshakeError::Key, _))));
        let again = Responder::new(&identity(1, 2), Purpose::Mesh, [5; 32]);
        assert!(matches!(feed_responder(again, &by_initiator).0, Some(HandshakeStep::Failed(HandshakeError::Key, _))));
        // With the same nonces it is the same handshake.
        assert!(matches!(feed_responder(responder(), &by_initiator).0, Some(HandshakeStep::Authenticated(..))));
        assert!(matches!(feed_initiator(initiator(), &by_responder).0, Some(HandshakeStep::Authenticated(..))));
        // Bytes of a side sent back to it.
        assert!(matches!(
            feed_initiator(initiator(), &by_initiator).0,
            Some(HandshakeStep::Failed(HandshakeError::NotNecklace, _))
        ));
        assert!(matches!(
            feed_responder(responder(), &by_responder).0,
            Some(HandshakeStep::Failed(HandshakeError::NotNecklace, _))
        ));
        // The initiator's proof is not valid in an answer.
        let proof = &by_initiator[HELLO..];
        let reflected = [&by_responder[..HELLO], &[0, 0, 0], proof].concat();
        assert!(matches!(
            feed_initiator(initiator(), &reflected).0,
            Some(HandshakeStep::Failed(HandshakeError::Key, _))
        ));
    }

    #[test]
    fn other_program_is_told_nothing() {
        let (end, said) = feed_responder(responder(), b"GET / HTTP/1.1\r\n\r\n");
        assert!(
            matches!(end, Some(HandshakeStep::Failed(HandshakeError::NotNecklace, bytes)) if bytes.is_empty())
                && said.is_empty()
        );
    }

    #[test]
    fn reason_of_a_refusal_is_authenticated() {
        let other_job = Identity { job: 8, ..identity(1, 2) };
        let [_, (_, by_responder)] = shake(&identity(1, 3), (Purpose::Mesh, Purpose::Mesh), 2, &other_job);
        assert!(matches!(
            feed_initiator(initiator(), &by_responder).0,
            Some(HandshakeStep::Failed(HandshakeError::Refused(_), _))
        ));
        for at in [HELLO, by_responder.len() - 1] {
            let mut changed = by_responder.clone();
            changed[at] ^= 1;
            assert!(matches!(
                feed_initiator(initiator(), &changed).0,
                Some(HandshakeStep::Failed(HandshakeError::Key, _))
            ));
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

    fn accepted(end: &Outcome) -> bool {
        matches!(end.0, Some(HandshakeStep::Authenticated(..)))
    }

    #[test]
    fn altered_bytes_are_refused_without_a_panic() {
        fn random(bytes: Vec<u8>) -> bool {
            let begun = [&b"necklace\x02\0\0\0"[..], &bytes].concat();
            let refused = |bytes: &[u8]| {
                !accepted(&feed_initiator(initiator(), bytes)) && !accepted(&feed_responder(responder(), bytes))
            };
            refused(&bytes) && refused(&begun)
        }
        fn mutated(changes: Changes, cut: usize) -> bool {
            let [(_, by_initiator), (_, by_responder)] = good();
            let refused = |said: &[u8], with: &dyn Fn(&[u8]) -> Outcome| {
                changed(said, &changes)
                    .is_none_or(|bytes| !accepted(&with(&bytes)) && !accepted(&with(&bytes[..bytes.len() - cut % 5])))
            };
            refused(&by_initiator, &|bytes| feed_responder(responder(), bytes))
                && refused(&by_responder, &|bytes| feed_initiator(initiator(), bytes))
        }
        let tests = || QuickCheck::new().tests(50_000).max_tests(50_000);
        tests().rng(Gen::new(400)).quickcheck(random as fn(Vec<u8>) -> bool);
        tests().quickcheck(mutated as fn(Changes, usize) -> bool);
    }
}
