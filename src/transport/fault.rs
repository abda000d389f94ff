//! A wrapper that injects faults into any backend by a script, for tests of programs and
//! algorithms.
//!
//! ```
//! # #[cfg(feature = "local")] {
//! use std::time::Duration;
//!
//! use necklace::Rank;
//! use necklace::transport::fault::{Fault, Faulty, What};
//! use necklace::transport::local;
//!
//! // Process 2 is slow in round 1 of every call, and in call 4 it gives up.
//! let script = [
//!     Fault::of(Rank::new(2), What::Delay(Duration::from_millis(5))).in_round(1),
//!     Fault::of(Rank::new(2), What::GiveUp("out of memory".into())).in_call(4),
//! ];
//! let endpoints: Vec<_> = local::job(4)?.into_iter().map(|endpoint| Faulty::new(endpoint, &script)).collect();
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::native::{NativeCall, NativeCollectives, NativeIo};
use super::{Cause, ContextId, Endpoint, Failure, History, OpenError, RoundIo, Signature, Transport};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::plan::{Message, Program, ProgramError, ProgramRound, Run};
use crate::vocabulary::Hosts;

/// One fault of a process, in every round unless restricted. A [native](super::native) call counts
/// as its round 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    process: Rank,
    context: Option<ContextId>,
    call: Option<u64>,
    round: Option<u32>,
    what: What,
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The round begins later by this time.
    Delay(Duration),
    /// The process does nothing for this time, or until the context has failed. Then the round
    /// begins.
    Silence(Duration),
    /// The messages to this rank of the context are not sent. No effect on a native call, whose
    /// messages are the backend's own.
    Drop(Rank),
    /// The first message to a rank of the context is cut to this length. No effect on a native
    /// call.
    Truncate {
        /// The receiver.
        to: Rank,
        /// The length that remains, in bytes.
        bytes: u64,
    },
    /// The call has this fingerprint in place of its own.
    Fingerprint(u64),
    /// The process gives up for this reason, which fails the context.
    GiveUp(Arc<str>),
    /// The thread panics with this message.
    Panic(Arc<str>),
}

impl Fault {
    /// Creates a fault of a process of the job, in all its contexts, calls and rounds.
    #[must_use]
    pub fn of(process: Rank, what: What) -> Self {
        Self { process, context: None, call: None, round: None, what }
    }

    /// Restricts the fault to this context.
    #[must_use]
    pub fn in_context(self, context: ContextId) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Restricts the fault to the call of this number.
    #[must_use]
    pub fn in_call(self, call: u64) -> Self {
        Self { call: Some(call), ..self }
    }

    /// Restricts the fault to the round of this number.
    #[must_use]
    pub fn in_round(self, round: u32) -> Self {
        Self { round: Some(round), ..self }
    }

    fn applies(&self, call: u64, round: u32) -> bool {
        self.call.is_none_or(|only| only == call) && self.round.is_none_or(|only| only == round)
    }
}

/// An endpoint whose transports inject the faults of a script.
///
/// All endpoints of a job may have the same script. Each injects the faults of its own process, in
/// the order of the script. A round with a fault allocates and, if the script says so, waits or
/// panics. A round without one is passed to the backend unchanged.
#[derive(Debug)]
pub struct Faulty<E> {
    inner: E,
    script: Arc<[Fault]>,
}

impl<E: Endpoint> Faulty<E> {
    /// Wraps an endpoint with the faults that the script has for its process.
    pub fn new(endpoint: E, script: &[Fault]) -> Self {
        let own = script.iter().filter(|fault| fault.process == endpoint.rank()).cloned().collect();
        Self { inner: endpoint, script: own }
    }
}

impl<E: Endpoint> Endpoint for Faulty<E> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let inner = self.inner.open(context, members)?;
        let here = |fault: &&Fault| fault.context.is_none_or(|only| only == context);
        let script: Box<[Fault]> = self.script.iter().filter(here).cloned().collect();
        Ok(Box::new(FaultyTransport { inner, script }))
    }

    fn machine(&self) -> Machine {
        self.inner.machine()
    }

    fn hosts(&self) -> Option<Hosts> {
        self.inner.hosts()
    }
}

#[derive(Debug)]
struct FaultyTransport {
    inner: Box<dyn Transport>,
    script: Box<[Fault]>,
}

impl Transport for FaultyTransport {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    /// # Panics
    ///
    /// If the script has [`What::Panic`] for this round.
    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        let (call, round) = (io.call, io.number());
        if !self.script.iter().any(|fault| fault.applies(call, round)) {
            return self.inner.round(io);
        }
        let mut signature = Cow::Borrowed(io.signature);
        let mut sends = Cow::Borrowed(io.sends());
        let mut cuts = Vec::new();
        for fault in self.script.iter().filter(|fault| fault.applies(call, round)) {
            match &fault.what {
                What::Delay(time) => thread::sleep(*time),
                What::Silence(time) => self.fall_silent(*time),
                What::Drop(to) => sends.to_mut().retain(|message| message.peer != *to),
                What::Truncate { to, bytes } => cuts.push((to.index(), *bytes)),
                What::Fingerprint(fingerprint) => signature = Cow::Owned(marked(io.signature, *fingerprint)),
                What::GiveUp(reason) => {
                    let failure = gave_up(self.rank(), &io, reason.clone());
                    return Err(self.give_up(failure));
                }
                What::Panic(message) => panic!("{message}"),
            }
        }
        let mut io = io;
        io.signature = &signature;
        if cuts.is_empty() && matches!(sends, Cow::Borrowed(_)) {
            return self.inner.round(io);
        }
        // The remaining messages are always a valid program. If they were not, the failure would
        // say why.
        let broken =
            |io: &RoundIo<'_>, why: &str| gave_up(self.rank(), io, format!("a fault broke the program: {why}").into());
        let program = match remaining(&io, &sends, &cuts) {
            Ok(program) => program,
            Err(error) => {
                let failure = broken(&io, &error.to_string());
                return Err(self.give_up(failure));
            }
        };
        let failure = broken(&io, "its buffers are too short");
        match io.replaced(&program, 0) {
            Some(io) => self.inner.round(io),
            None => Err(self.give_up(failure)),
        }
    }

    fn abort(&mut self, failure: Failure) {
        self.inner.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.inner.failure()
    }

    fn conclude(&mut self, history: History) {
        self.inner.conclude(history);
    }

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        self.inner.native()?;
        Some(self)
    }
}

impl NativeCollectives for FaultyTransport {
    fn offers(&mut self, what: &NativeCall) -> bool {
        self.inner.native().is_some_and(|native| native.offers(what))
    }

    /// # Panics
    ///
    /// If the script has [`What::Panic`] for this round.
    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure> {
        let mut io = io;
        let mut signature = Cow::Borrowed(io.signature);
        let call = io.call;
        for fault in self.script.iter().filter(|fault| fault.applies(call, 0)) {
            match &fault.what {
                What::Delay(time) => thread::sleep(*time),
                What::Silence(time) => self.fall_silent(*time),
                // The messages of a native call are not known here.
                What::Drop(_) | What::Truncate { .. } => {}
                What::Fingerprint(fingerprint) => signature = Cow::Owned(marked(io.signature, *fingerprint)),
                What::GiveUp(reason) => {
                    let failure = io.gave_up(self.rank(), reason.clone());
                    return Err(self.give_up(failure));
                }
                What::Panic(message) => panic!("{message}"),
            }
        }
        io.signature = &signature;
        crate::transport::call_native(&mut *self.inner, io)
    }
}

impl FaultyTransport {
    /// Fails the context. Returns its first failure.
    fn give_up(&mut self, failure: Failure) -> Failure {
        self.inner.abort(failure.clone());
        self.inner.failure().unwrap_or(failure)
    }

    fn fall_silent(&self, time: Duration) {
        let begin = Instant::now();
        while self.inner.failure().is_none() && begin.elapsed() < time {
            thread::sleep(Duration::from_millis(1).min(time));
        }
    }
}

/// Returns the signature with another fingerprint, which its description mentions.
fn marked(signature: &Signature, fingerprint: u64) -> Signature {
    let description = format!("{}, under the fingerprint {fingerprint:x}", signature.description);
    Signature::new(fingerprint, description)
}

fn gave_up(rank: Rank, io: &RoundIo<'_>, reason: Arc<str>) -> Failure {
    Failure {
        call: io.call,
        description: io.signature.description.clone(),
        round: io.number(),
        observer: rank,
        culprit: Some(rank),
        cause: Cause::Aborted { rank, reason },
    }
}

/// Returns a program of this one round with these sends. The first messages to some ranks are cut,
/// as (rank, bytes).
fn remaining(io: &RoundIo<'_>, sends: &[Message], cuts: &[(usize, u64)]) -> Result<Program, ProgramError> {
    let mut runs = Vec::new();
    let mut copy = |message: &Message, bytes: u64| {
        let first = runs.len() as u32;
        runs.extend(shortened(io.runs(message), bytes));
        Message { bytes, runs: first..runs.len() as u32, ..message.clone() }
    };
    let length = |message: &Message| {
        let cut = cuts.iter().find(|(to, _)| *to == message.peer.index() && message.index == 0);
        cut.map_or(message.bytes, |(_, bytes)| message.bytes.min(*bytes))
    };
    let sends = sends.iter().map(|message| copy(message, length(message))).collect();
    let receives = io.receives().iter().map(|message| copy(message, message.bytes)).collect();
    let round = ProgramRound { number: io.number(), sends, receives };
    Program::new(runs, vec![round], io.program().sizes())
}

/// Returns the runs of the first `bytes` bytes of these runs.
fn shortened(runs: &[Run], mut bytes: u64) -> Vec<Run> {
    let mut kept = Vec::new();
    for run in runs.iter().filter(|run| run.len > 0) {
        let count = run.count.min(bytes / run.len);
        kept.push(Run { count, ..*run });
        bytes -= count * run.len;
        if count < run.count {
            kept.push(Run::new(run.buffer, run.offset + count * run.stride, bytes));
            break;
        }
    }
    // Removes runs without pieces.
    kept.retain(|run| run.bytes() > 0);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Buffer;

    #[test]
    fn shortened_runs_end_within_a_piece() {
        let run = Run { buffer: Buffer::Input, offset: 3, len: 4, stride: 10, count: 5 };
        let all = [Run::new(Buffer::Output, 0, 2), run];
        assert_eq!(shortened(&all, 2), [all[0]]);
        assert_eq!(shortened(&all, 12), [all[0], Run { count: 2, ..run }, Run::new(Buffer::Input, 23, 2)]);
        assert_eq!(shortened(&all, 0), []);
        assert_eq!(shortened(&all, 22), all);
    }
}
