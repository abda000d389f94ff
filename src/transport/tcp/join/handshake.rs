//! Two sides of a new connection prove to each other that they hold the job's key. Bytes in, bytes
//! out, no I/O.
//!
//! ```text
//! caller                                answerer
//!   hello (who I am, fresh numbers)  ──►
//!                                    ◄──  hello (who I am, fresh numbers)
//!   proof over both hellos           ──►
//!                                    ◄──  verdict: welcome or not, proof over both hellos and this, words
//! ```
//!
//! Who calls proves first: an answerer gives nothing away to callers who do not hold the key. Each
//! side says how many bytes it wants next, never more than [`WORDS`], and is handed just these.

use super::hello::{self, Build, Bytes, HELLO, Hello, Malformed, PREFIX, Role, Side};
use super::key::Key;
use super::proof::{self, PROOF};

/// How many bytes of words a verdict may have.
pub(super) const WORDS: usize = 256;
/// How many bytes a verdict has before its words: 0 or 1, how many words, the proof.
const VERDICT: usize = 1 + 2 + PROOF;

/// What a side makes of the bytes it was handed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this, then go on.
    More(Vec<u8>),
    /// The other side holds the key. Send this.
    Proved(Hello, Vec<u8>),
    /// It comes to nothing. Send this, then close.
    Over(Trouble, Vec<u8>),
}

/// Why a connection comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It breaks, or nobody is there.
    Io(String),
    /// What is said is nothing that this crate says.
    Stranger,
    /// The other side speaks another protocol of this crate.
    Protocol(u32),
    /// The two sides do not hold the same key.
    Key,
    /// The other side holds the key and refuses.
    Refused(String),
    /// The other side is not who was called.
    Other(String),
}

impl Trouble {
    /// In words about the other side.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Io(why) => why.clone(),
            Self::Stranger => "it is no rank of a job of necklace".to_owned(),
            Self::Protocol(theirs) => format!("it speaks protocol {theirs}, this rank speaks {}", hello::PROTOCOL),
            Self::Key => "it does not hold the key of this job".to_owned(),
            Self::Refused(words) => format!("it refuses: {words}"),
            Self::Other(words) => words.clone(),
        }
    }
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::Stranger => Self::Stranger,
            Malformed::Protocol(theirs) => Self::Protocol(theirs),
        }
    }
}

/// Who a process is, on all its connections.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) key: Key,
    pub(super) build: Build,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// 0 until it is known.
    pub(super) job: u64,
}

impl Identity {
    fn hello(&self, role: Role, side: Side, nonce: [u8; 32]) -> Hello {
        Hello { build: self.build.clone(), role, side, rank: self.rank, size: self.size, job: self.job, nonce }
    }
}

/// The side that has connected.
#[derive(Debug)]
pub(super) struct Calling {
    key: Key,
    call: Hello,
    /// Whom it calls.
    rank: usize,
    stage: CallStage,
}

#[derive(Debug)]
enum CallStage {
    Prefix,
    Hello([u8; PREFIX]),
    Verdict(Hello),
    Words { answer: Hello, refused: u8, words: usize, proof: [u8; PROOF] },
    Done,
}

impl Calling {
    /// Calls that rank; says what to send first.
    pub(super) fn new(identity: &Identity, role: Role, rank: usize, nonce: [u8; 32]) -> (Self, Vec<u8>) {
        let call = identity.hello(role, Side::Caller, nonce);
        let bytes = call.encode().to_vec();
        (Self { key: identity.key.clone(), call, rank, stage: CallStage::Prefix }, bytes)
    }

    /// How many bytes it wants next.
    pub(super) fn wants(&self) -> usize {
        match &self.stage {
            CallStage::Prefix => PREFIX,
            CallStage::Hello(_) => HELLO - PREFIX,
            CallStage::Verdict(_) => VERDICT,
            CallStage::Words { words, .. } => *words,
            CallStage::Done => 0,
        }
    }

    /// Takes the bytes it wants.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Step {
        self.step(bytes).unwrap_or_else(|trouble| {
            self.stage = CallStage::Done;
            Step::Over(trouble, Vec::new())
        })
    }

    fn step(&mut self, bytes: &[u8]) -> Result<Step, Trouble> {
        if bytes.len() != self.wants() {
            return Err(Trouble::Stranger);
        }
        match std::mem::replace(&mut self.stage, CallStage::Done) {
            CallStage::Prefix => {
                hello::prefix(bytes)?;
                self.stage = CallStage::Hello(part(bytes));
                Ok(Step::More(Vec::new()))
            }
            CallStage::Hello(prefix) => {
                let answer = whole(&prefix, bytes)?;
                if answer.side != Side::Answerer {
                    return Err(Trouble::Stranger);
                }
                let proof = proof::caller(&self.key, &self.call.encode(), &answer.encode());
                self.stage = CallStage::Verdict(answer);
                Ok(Step::More(proof.to_vec()))
            }
            CallStage::Verdict(answer) => {
                let words = usize::from(u16::from_le_bytes([bytes[1], bytes[2]]));
                if words > WORDS {
                    return Err(Trouble::Stranger);
                }
                let (refused, proof) = (bytes[0], part(&bytes[3..]));
                if words == 0 {
                    return self.judge(answer, refused, &proof, &[]);
                }
                self.stage = CallStage::Words { answer, refused, words, proof };
                Ok(Step::More(Vec::new()))
            }
            CallStage::Words { answer, refused, proof, .. } => self.judge(answer, refused, &proof, bytes),
            CallStage::Done => Err(Trouble::Stranger),
        }
    }

    fn judge(&self, answer: Hello, refused: u8, proof: &[u8; PROOF], words: &[u8]) -> Result<Step, Trouble> {
        let expected = proof::verdict(&self.key, &self.call.encode(), &answer.encode(), refused, words);
        if !proof::equal(proof, &expected) {
            return Err(Trouble::Key);
        }
        if refused != 0 {
            return Err(Trouble::Refused(String::from_utf8_lossy(words).into_owned()));
        }
        if answer.rank != self.rank {
            return Err(Trouble::Other(format!("it is rank {}, called was rank {}", answer.rank, self.rank)));
        }
        Ok(Step::Proved(answer, Vec::new()))
    }
}

/// The side that has accepted.
#[derive(Debug)]
pub(super) struct Answering {
    key: Key,
    answer: Hello,
    stage: AnswerStage,
}

#[derive(Debug)]
enum AnswerStage {
    Prefix,
    Hello([u8; PREFIX]),
    Proof(Hello),
    Done,
}

impl Answering {
    /// Answers calls for that purpose.
    pub(super) fn new(identity: &Identity, role: Role, nonce: [u8; 32]) -> Self {
        let answer = identity.hello(role, Side::Answerer, nonce);
        Self { key: identity.key.clone(), answer, stage: AnswerStage::Prefix }
    }

    /// How many bytes it wants next.
    pub(super) fn wants(&self) -> usize {
        match &self.stage {
            AnswerStage::Prefix => PREFIX,
            AnswerStage::Hello(_) => HELLO - PREFIX,
            AnswerStage::Proof(_) => PROOF,
            AnswerStage::Done => 0,
        }
    }

    /// Whether the caller has said who it is, and is to prove it.
    pub(super) fn greeted(&self) -> bool {
        matches!(self.stage, AnswerStage::Proof(_))
    }

    /// Takes the bytes it wants.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Step {
        if bytes.len() != self.wants() {
            self.stage = AnswerStage::Done;
            return Step::Over(Trouble::Stranger, Vec::new());
        }
        let own = self.answer.encode();
        match std::mem::replace(&mut self.stage, AnswerStage::Done) {
            AnswerStage::Prefix => match hello::prefix(bytes) {
                Ok(()) => {
                    self.stage = AnswerStage::Hello(part(bytes));
                    Step::More(Vec::new())
                }
                // So that the caller can say what differs. A stranger is told nothing.
                Err(Malformed::Protocol(theirs)) => Step::Over(Trouble::Protocol(theirs), own.to_vec()),
                Err(Malformed::Stranger) => Step::Over(Trouble::Stranger, Vec::new()),
            },
            AnswerStage::Hello(prefix) => match whole(&prefix, bytes) {
                Ok(call) if call.side == Side::Caller => {
                    self.stage = AnswerStage::Proof(call);
                    Step::More(own.to_vec())
                }
                _ => Step::Over(Trouble::Stranger, Vec::new()),
            },
            AnswerStage::Proof(call) => {
                let said = call.encode();
                if !proof::equal(&part(bytes), &proof::caller(&self.key, &said, &own)) {
                    let verdict = self.verdict(&said, 1, "the key is not that of this job");
                    return Step::Over(Trouble::Key, verdict);
                }
                match self.unsuited(&call) {
                    None => Step::Proved(call, self.verdict(&said, 0, "")),
                    Some(words) => {
                        let verdict = self.verdict(&said, 1, &words);
                        Step::Over(Trouble::Other(words), verdict)
                    }
                }
            }
            AnswerStage::Done => Step::Over(Trouble::Stranger, Vec::new()),
        }
    }

    /// Why a caller that holds the key is not one that can be answered.
    fn unsuited(&self, call: &Hello) -> Option<String> {
        let own = &self.answer;
        if call.role != own.role {
            return Some(match own.role {
                Role::Meeting => "this is the meeting point, the call is for a rank that has met".to_owned(),
                Role::Mesh => format!("this is rank {} of {}, and no meeting point", own.rank, own.size),
            });
        }
        let other = call.role == Role::Mesh && call.job != own.job;
        other.then(|| "this is another job with the same key".to_owned())
    }

    fn verdict(&self, call: &Bytes, refused: u8, words: &str) -> Vec<u8> {
        let words = &words.as_bytes()[..words.len().min(WORDS)];
        let mut bytes = vec![refused];
        bytes.extend((words.len() as u16).to_le_bytes());
        bytes.extend(proof::verdict(&self.key, call, &self.answer.encode(), refused, words));
        bytes.extend(words);
        bytes
    }
}

/// A hello that came in two parts.
fn whole(prefix: &[u8; PREFIX], rest: &[u8]) -> Result<Hello, Malformed> {
    let mut bytes = [0; HELLO];
    bytes[..PREFIX].copy_from_slice(prefix);
    bytes[PREFIX..].copy_from_slice(rest);
    Hello::decode(&bytes)
}

/// The first bytes; there are as many, as the lengths were checked.
fn part<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[..N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    fn identity(key: u8, rank: usize) -> Identity {
        Identity { key: Key::new(&[key; 16]).unwrap(), build: Build::own(), rank, size: 8, job: 7 }
    }

    fn caller() -> Calling {
        Calling::new(&identity(1, 3), Role::Mesh, 2, [3; 32]).0
    }

    fn answerer() -> Answering {
        Answering::new(&identity(1, 2), Role::Mesh, [2; 32])
    }

    /// What a side has come to, if it has, and what it has said.
    type End = (Option<Step>, Vec<u8>);

    /// Hands a side what it wants of these bytes, until it has come to an end or they have.
    fn hand(wants: &dyn Fn() -> usize, take: &dyn Fn(&[u8]) -> Step, mut bytes: &[u8]) -> End {
        let mut said = Vec::new();
        loop {
            assert!(wants() <= WORDS, "a length is believed");
            let Some((part, rest)) = bytes.split_at_checked(wants()) else { return (None, said) };
            bytes = rest;
            match take(part) {
                Step::More(more) => said.extend(more),
                end => return (Some(end), said),
            }
        }
    }

    fn call_with(calling: Calling, bytes: &[u8]) -> End {
        let calling = std::cell::RefCell::new(calling);
        hand(&|| calling.borrow().wants(), &|part| calling.borrow_mut().take(part), bytes)
    }

    fn answer_with(answering: Answering, bytes: &[u8]) -> End {
        let answering = std::cell::RefCell::new(answering);
        hand(&|| answering.borrow().wants(), &|part| answering.borrow_mut().take(part), bytes)
    }

    /// Both sides of a handshake: what each has come to, and all that each has said.
    fn shake(call: &Identity, roles: (Role, Role), called: usize, answer: &Identity) -> [(Step, Vec<u8>); 2] {
        let (mut calling, mut to_answerer) = Calling::new(call, roles.0, called, [3; 32]);
        let mut answering = Answering::new(answer, roles.1, [2; 32]);
        let (mut by_caller, mut by_answerer) = (to_answerer.clone(), Vec::new());
        let mut to_caller = Vec::new();
        let (mut called, mut answered) = (None, None);
        while called.is_none() || answered.is_none() {
            while answered.is_none() && to_answerer.len() >= answering.wants() {
                let rest = to_answerer.split_off(answering.wants());
                let step = answering.take(&std::mem::replace(&mut to_answerer, rest));
                let (Step::More(said) | Step::Proved(_, said) | Step::Over(_, said)) = &step;
                to_caller.extend(said);
                by_answerer.extend(said);
                answered = Some(step).filter(|step| !matches!(step, Step::More(_)));
            }
            while called.is_none() && to_caller.len() >= calling.wants() {
                let rest = to_caller.split_off(calling.wants());
                let step = calling.take(&std::mem::replace(&mut to_caller, rest));
                let (Step::More(said) | Step::Proved(_, said) | Step::Over(_, said)) = &step;
                to_answerer.extend(said);
                by_caller.extend(said);
                called = Some(step).filter(|step| !matches!(step, Step::More(_)));
            }
            if answered.is_some() && called.is_none() && to_caller.len() < calling.wants() {
                called = Some(Step::Over(Trouble::Io("closed".to_owned()), Vec::new()));
            }
        }
        [(called.unwrap(), by_caller), (answered.unwrap(), by_answerer)]
    }

    fn good() -> [(Step, Vec<u8>); 2] {
        shake(&identity(1, 3), (Role::Mesh, Role::Mesh), 2, &identity(1, 2))
    }

    #[test]
    fn two_that_hold_the_key_prove_it_to_each_other() {
        let [(called, _), (answered, _)] = good();
        assert!(matches!(called, Step::Proved(hello, _) if hello.rank == 2 && hello.side == Side::Answerer));
        assert!(matches!(answered, Step::Proved(hello, _) if hello.rank == 3 && hello.side == Side::Caller));
    }

    #[test]
    fn another_key_is_found_on_both_sides() {
        let [(called, _), (answered, _)] = shake(&identity(1, 3), (Role::Mesh, Role::Mesh), 2, &identity(9, 2));
        assert!(matches!(called, Step::Over(Trouble::Key, _)), "{called:?}");
        assert!(matches!(answered, Step::Over(Trouble::Key, _)), "{answered:?}");
    }

    #[test]
    fn the_key_alone_is_not_enough() {
        let over = |call: &Identity, roles, called, answer: &Identity| match shake(call, roles, called, answer) {
            [(Step::Over(trouble, _), _), _] => trouble.words(),
            other => panic!("{other:?}"),
        };
        let mesh = (Role::Mesh, Role::Mesh);
        let other_job = Identity { job: 8, ..identity(1, 2) };
        assert!(over(&identity(1, 3), mesh, 2, &other_job).contains("another job"));
        assert!(over(&identity(1, 3), mesh, 1, &identity(1, 2)).contains("it is rank 2, called was rank 1"));
        assert!(over(&identity(1, 3), (Role::Meeting, Role::Mesh), 2, &identity(1, 2)).contains("no meeting point"));
        assert!(over(&identity(1, 3), (Role::Mesh, Role::Meeting), 2, &identity(1, 2)).contains("the meeting point"));
        // Who calls the meeting point does not know the job's number yet.
        let meeting = shake(&Identity { job: 0, ..identity(1, 3) }, (Role::Meeting, Role::Meeting), 0, &identity(1, 0));
        assert!(matches!(&meeting[0].0, Step::Proved(hello, _) if hello.job == 7));
    }

    #[test]
    fn what_was_said_before_or_by_oneself_proves_nothing() {
        let [(_, by_caller), (_, by_answerer)] = good();
        // The same sides with other fresh numbers.
        let again = Calling::new(&identity(1, 3), Role::Mesh, 2, [4; 32]).0;
        assert!(matches!(call_with(again, &by_answerer).0, Some(Step::Over(Trouble::Key, _))));
        let again = Answering::new(&identity(1, 2), Role::Mesh, [5; 32]);
        assert!(matches!(answer_with(again, &by_caller).0, Some(Step::Over(Trouble::Key, _))));
        // With the same ones it is the same handshake.
        assert!(matches!(answer_with(answerer(), &by_caller).0, Some(Step::Proved(..))));
        assert!(matches!(call_with(caller(), &by_answerer).0, Some(Step::Proved(..))));
        // Sent back.
        assert!(matches!(call_with(caller(), &by_caller).0, Some(Step::Over(Trouble::Stranger, _))));
        assert!(matches!(answer_with(answerer(), &by_answerer).0, Some(Step::Over(Trouble::Stranger, _))));
        // The caller's proof is no verdict.
        let proof = &by_caller[HELLO..];
        let reflected = [&by_answerer[..HELLO], &[0, 0, 0], proof].concat();
        assert!(matches!(call_with(caller(), &reflected).0, Some(Step::Over(Trouble::Key, _))));
    }

    #[test]
    fn a_stranger_is_told_nothing() {
        let (end, said) = answer_with(answerer(), b"GET / HTTP/1.1\r\n\r\n");
        assert!(matches!(end, Some(Step::Over(Trouble::Stranger, bytes)) if bytes.is_empty()) && said.is_empty());
    }

    #[test]
    fn a_refusal_has_words_that_are_proved() {
        let other_job = Identity { job: 8, ..identity(1, 2) };
        let [_, (_, by_answerer)] = shake(&identity(1, 3), (Role::Mesh, Role::Mesh), 2, &other_job);
        assert!(matches!(call_with(caller(), &by_answerer).0, Some(Step::Over(Trouble::Refused(_), _))));
        for at in [HELLO, by_answerer.len() - 1] {
            let mut changed = by_answerer.clone();
            changed[at] ^= 1;
            assert!(matches!(call_with(caller(), &changed).0, Some(Step::Over(Trouble::Key, _))));
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

    /// The bytes with other ones here and there, or none if they are the same then.
    fn changed(bytes: &[u8], changes: &Changes) -> Option<Vec<u8>> {
        let mut other = bytes.to_vec();
        for (at, value) in &changes.0 {
            let at = usize::from(*at) % bytes.len();
            other[at] = *value;
        }
        (other != bytes).then_some(other)
    }

    fn accepted(end: &End) -> bool {
        matches!(end.0, Some(Step::Proved(..)))
    }

    #[test]
    fn nothing_but_what_was_meant_is_accepted_and_nothing_panics() {
        fn random(bytes: Vec<u8>) -> bool {
            let begun = [&b"necklace\x01\0\0\0"[..], &bytes].concat();
            let refused =
                |bytes: &[u8]| !accepted(&call_with(caller(), bytes)) && !accepted(&answer_with(answerer(), bytes));
            refused(&bytes) && refused(&begun)
        }
        fn mutated(changes: Changes, cut: usize) -> bool {
            let [(_, by_caller), (_, by_answerer)] = good();
            let refused = |said: &[u8], with: &dyn Fn(&[u8]) -> End| {
                changed(said, &changes)
                    .is_none_or(|bytes| !accepted(&with(&bytes)) && !accepted(&with(&bytes[..bytes.len() - cut % 5])))
            };
            refused(&by_caller, &|bytes| answer_with(answerer(), bytes))
                && refused(&by_answerer, &|bytes| call_with(caller(), bytes))
        }
        let tests = || QuickCheck::new().tests(50_000).max_tests(50_000);
        tests().rng(Gen::new(400)).quickcheck(random as fn(Vec<u8>) -> bool);
        tests().quickcheck(mutated as fn(Changes, usize) -> bool);
    }
}
