//! A wrapper that records every message and every native call of any backend, with times.
//!
//! ```
//! # #[cfg(feature = "local")] {
//! use necklace::transport::{local, trace::Tracing};
//!
//! let tracing = Tracing::new();
//! let endpoints: Vec<_> = local::job(4)?.into_iter().map(|endpoint| tracing.wrap(endpoint)).collect();
//! // .. the job runs on these endpoints ..
//! assert!(tracing.events().is_empty());
//! assert!(tracing.chrome_trace().starts_with("{\"traceEvents\":["));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::native::{Native, NativeCall, NativeIo};
use super::{ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::plan::Message;

/// A trace, shared by all endpoints that it wraps and all transports that they open. Clones are the
/// same trace.
///
/// A round of a traced transport takes a lock once, and allocates.
#[derive(Clone, Debug)]
pub struct Tracing(Arc<Log>);

#[derive(Debug)]
struct Log {
    start: Instant,
    events: Mutex<Vec<Event>>,
}

/// Which way a message went, seen from the rank that noted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Sent.
    Out,
    /// Received.
    In,
    /// Neither: a whole call that the backend [did itself](super::native), whose messages are not
    /// known.
    Native,
}

/// A message, as one end saw it. A round that goes well is seen from both ends. Or a
/// [native](Direction::Native) call, as one member saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which process of the job.
    pub process: Rank,
    /// In which context.
    pub context: ContextId,
    /// As which rank of it.
    pub rank: Rank,
    /// In which call.
    pub call: u64,
    /// What the call was, in words.
    pub words: Arc<str>,
    /// In which round of the schedule; 0 for a native call.
    pub round: u32,
    /// The rank at the other end; for a native call the rank itself.
    pub peer: Rank,
    /// The index of the message among those between the two ranks, in this direction, in this
    /// round.
    pub index: u32,
    /// Which way.
    pub direction: Direction,
    /// How long it is; for a native call, what the rank gives to it.
    pub bytes: u64,
    /// When its round began, since the trace did. A transport does not tell of single messages.
    pub begin: Duration,
    /// When its round was done.
    pub end: Duration,
    /// Whether its round failed; the message may then have arrived or not.
    pub failed: bool,
}

impl Default for Tracing {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracing {
    /// A trace that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Log { start: Instant::now(), events: Mutex::new(Vec::new()) }))
    }

    /// The endpoint, with all that its transports do noted here.
    pub fn wrap<E: Endpoint>(&self, endpoint: E) -> Traced<E> {
        Traced { inner: endpoint, tracing: self.clone() }
    }

    /// What was noted so far: of each transport in its order, of several as they come.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The trace as the JSON that Chrome's `about:tracing` and Perfetto load: a process for each
    /// process of the job, in it a thread for each context, on which a message lasts as long as its
    /// round.
    #[must_use]
    pub fn chrome_trace(&self) -> String {
        chrome_trace(&self.events())
    }
}

/// An endpoint whose transports are traced; made by [`Tracing::wrap`].
#[derive(Debug)]
pub struct Traced<E> {
    inner: E,
    tracing: Tracing,
}

impl<E: Endpoint> Endpoint for Traced<E> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let inner = self.inner.open(context, members)?;
        Ok(Box::new(TracedTransport { inner, tracing: self.tracing.clone(), process: self.rank(), context }))
    }

    fn machine(&self) -> Machine {
        self.inner.machine()
    }
}

#[derive(Debug)]
struct TracedTransport {
    inner: Box<dyn Transport>,
    tracing: Tracing,
    process: Rank,
    context: ContextId,
}

impl Transport for TracedTransport {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        let log = &*self.tracing.0;
        let (call, words, round) = (io.call, io.signature.description.clone(), io.number());
        let (sends, receives) = (io.sends(), io.receives());
        let begin = log.start.elapsed();
        let outcome = self.inner.round(io);
        let end = log.start.elapsed();
        let event = |message: &Message, direction| Event {
            process: self.process,
            context: self.context,
            rank: self.inner.rank(),
            call,
            words: words.clone(),
            round,
            peer: message.peer,
            index: message.index,
            direction,
            bytes: message.bytes,
            begin,
            end,
            failed: outcome.is_err(),
        };
        let mut events = log.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.extend(sends.iter().map(|message| event(message, Direction::Out)));
        events.extend(receives.iter().map(|message| event(message, Direction::In)));
        drop(events);
        outcome
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

    fn native(&mut self) -> Option<&mut dyn Native> {
        self.inner.native()?;
        Some(self)
    }
}

impl Native for TracedTransport {
    fn offers(&mut self, what: &NativeCall) -> bool {
        self.inner.native().is_some_and(|native| native.offers(what))
    }

    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure> {
        let rank = self.inner.rank();
        let (call, words, bytes) = (io.call, io.signature.description.clone(), io.given());
        let begin = self.tracing.0.start.elapsed();
        let outcome = crate::transport::call_native(&mut *self.inner, io);
        let end = self.tracing.0.start.elapsed();
        let event = Event {
            process: self.process,
            context: self.context,
            rank,
            call,
            words,
            round: 0,
            peer: rank,
            index: 0,
            direction: Direction::Native,
            bytes,
            begin,
            end,
            failed: outcome.is_err(),
        };
        self.tracing.0.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        outcome
    }
}

fn chrome_trace(events: &[Event]) -> String {
    let contexts: Vec<ContextId> =
        events.iter().map(|event| event.context).collect::<BTreeSet<_>>().into_iter().collect();
    let thread = |context| contexts.partition_point(|other| *other < context);
    let mut entries = Vec::new();
    for process in events.iter().map(|event| event.process).collect::<BTreeSet<_>>() {
        let name = string(&format!("process {process}"));
        entries.push(format!(r#"{{"name":"process_name","ph":"M","pid":{process},"args":{{"name":{name}}}}}"#));
    }
    for (process, context) in events.iter().map(|event| (event.process, event.context)).collect::<BTreeSet<_>>() {
        let (name, tid) = (string(&format!("context {context}")), thread(context));
        entries
            .push(format!(r#"{{"name":"thread_name","ph":"M","pid":{process},"tid":{tid},"args":{{"name":{name}}}}}"#));
    }
    entries.extend(events.iter().map(|event| slice(event, thread(event.context))));
    format!("{{\"traceEvents\":[\n{}\n],\"displayTimeUnit\":\"ns\"}}\n", entries.join(",\n"))
}

fn slice(event: &Event, tid: usize) -> String {
    let Event { process, rank, call, round, peer, index, bytes, failed, .. } = event;
    let name = match event.direction {
        Direction::Out => format!("send {bytes} B to {peer}"),
        Direction::In => format!("receive {bytes} B from {peer}"),
        Direction::Native => format!("native, {bytes} B"),
    };
    format!(
        r#"{{"name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":{process},"tid":{tid},"args":{{"rank":{rank},"peer":{peer},"call":{call},"round":{round},"index":{index},"bytes":{bytes},"failed":{failed}}}}}"#,
        string(&name),
        string(&event.words),
        microseconds(event.begin),
        microseconds(event.end.saturating_sub(event.begin)),
    )
}

/// As a JSON number, to the nanosecond.
fn microseconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_micros(), time.subsec_nanos() % 1000)
}

/// As a JSON string.
fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a string does not fail.
            c if c < ' ' => drop(write!(quoted, "\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_json_asks() {
        assert_eq!(string("a \"b\" \\ é\n\u{1}"), r#""a \"b\" \\ é\u000a\u0001""#);
    }

    #[test]
    fn a_chrome_trace_holds_every_event() {
        let event = Event {
            process: Rank::new(3),
            context: ContextId::WORLD,
            rank: Rank::new(1),
            call: 7,
            words: "alltoall, \"quoted\"".into(),
            round: 2,
            peer: Rank::new(0),
            index: 0,
            direction: Direction::Out,
            bytes: 64,
            begin: Duration::from_nanos(1_234_567),
            end: Duration::from_nanos(1_240_001),
            failed: false,
        };
        let expected = concat!(
            "{\"traceEvents\":[\n",
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":3,\"args\":{\"name\":\"process 3\"}},\n",
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"context world\"}},\n",
            "{\"name\":\"send 64 B to 0\",\"cat\":\"alltoall, \\\"quoted\\\"\",\"ph\":\"X\",\"ts\":1234.567,\"dur\":5.434,",
            "\"pid\":3,\"tid\":0,\"args\":{\"rank\":1,\"peer\":0,\"call\":7,\"round\":2,\"index\":0,\"bytes\":64,",
            "\"failed\":false}}\n],\"displayTimeUnit\":\"ns\"}\n",
        );
        assert_eq!(chrome_trace(&[event]), expected);
        assert_eq!(chrome_trace(&[]), "{\"traceEvents\":[\n\n],\"displayTimeUnit\":\"ns\"}\n");
    }
}
