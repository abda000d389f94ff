//! Two sides of a new connection prove to each other that they hold the job's key. Bytes in, bytes out, no I/O.
//!
//! ```text
//! caller                                answerer
//!   hello (who I am, fresh numbers)  ──►
//!                                    ◄──  hello (who I am, fresh numbers)
//!   proof over both hellos           ──►
//!                                    ◄──  verdict: welcome or not, proof over both hellos and this, words
//! ```
//!
//! Who calls proves first: an answerer gives nothing away to callers who do not hold the key. Each side says how many bytes
//! it wants next, never more than [`WORDS`], and is handed just these.

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
