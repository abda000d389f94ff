//! A wrapper that records every message and every native call of any backend, with its time.
//!
//! ```
//! # #[cfg(all(feature = "local", feature = "json"))] {
//! use necklace::transport::{local, trace::Tracing};
//!
//! let tracing = Tracing::new();
//! let endpoints: Vec<_> = local::job(4)?.into_iter().map(|endpoint| tracing.wrap(endpoint)).collect();
//! // .. the job runs on these endpoints ..
//! assert!(tracing.events().is_empty());
//! assert!(tracing.chrome_trace().contains("traceEvents"));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::native::{NativeCall, NativeCollectives, NativeIo};
use super::{ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::plan::Message;
use crate::vocabulary::Hosts;

/// A trace, shared by all endpoints that it wraps and all transports that they open. Clones share
/// the same trace.
///
/// Each traced round takes one lock, and allocates.
#[derive(Clone, Debug)]
pub struct Tracing(Arc<Log>);

#[derive(Debug)]
struct Log {
    start: Instant,
    events: Mutex<Vec<TraceEvent>>,
}

/// Direction of a message, seen from the rank that recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// Sent.
    Out,
    /// Received.
    In,
    /// Neither: a whole [native](super::native) call, whose messages are not known.
    Native,
}

/// A message as one end recorded it, or a [native](Direction::Native) call as one member recorded
/// it.
///
/// A message of a round without failure has an event from each end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceEvent {
    /// Rank of the process in the job.
    pub process: Rank,
    /// The context.
    pub context: ContextId,
    /// Rank of the process in the context.
    pub rank: Rank,
    /// Number of the call within the context.
    pub call: u64,
    /// Description of the call.
    pub description: Arc<str>,
    /// Number of the round in the schedule; 0 for a native call.
    pub round: u32,
    /// Rank at the other end, in the context; for a native call the rank itself.
    pub peer: Rank,
    /// Index of the message among those between the two ranks, in this direction, in this round.
    pub index: u32,
    /// Direction of the message.
    pub direction: Direction,
    /// Length in bytes; for a native call, the length of the rank's input.
    pub bytes: u64,
    /// The time at which its round began, from the start of the trace. Single messages have no
    /// times of their own.
    pub begin: Duration,
    /// The time at which its round ended, from the start of the trace.
    pub end: Duration,
    /// Whether its round failed. The message may then have arrived or not.
    pub failed: bool,
}

impl Default for Tracing {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracing {
    /// Creates a trace that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Log { start: Instant::now(), events: Mutex::new(Vec::new()) }))
    }

    /// Wraps an endpoint, so that this trace records all rounds and native calls of its transports.
    pub fn wrap<E: Endpoint>(&self, endpoint: E) -> Traced<E> {
        Traced { inner: endpoint, tracing: self.clone() }
    }

    /// Returns the events so far. Those of one transport are in their order; those of several are
    /// interleaved.
    #[must_use]
    pub fn events(&self) -> Vec<TraceEvent> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the trace as JSON for Chrome's `about:tracing` and for Perfetto.
    ///
    /// Each process of the job is a process there, and each context a thread of it. A message lasts
    /// as long as its round. Needs the feature `json`.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn chrome_trace(&self) -> String {
        chrome::document(&self.events()).to_string()
    }
}

/// An endpoint whose transports are traced. [`Tracing::wrap`] makes it.
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

    fn hosts(&self) -> Option<Hosts> {
        self.inner.hosts()
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
        let (call, description, round) = (io.call, io.signature.description.clone(), io.number());
        let (sends, receives) = (io.sends(), io.receives());
        let begin = log.start.elapsed();
        let outcome = self.inner.round(io);
        let end = log.start.elapsed();
        let event = |message: &Message, direction| TraceEvent {
            process: self.process,
            context: self.context,
            rank: self.inner.rank(),
            call,
            description: description.clone(),
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

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        self.inner.native()?;
        Some(self)
    }
}

impl NativeCollectives for TracedTransport {
    fn offers(&mut self, what: &NativeCall) -> bool {
        self.inner.native().is_some_and(|native| native.offers(what))
    }

    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure> {
        let rank = self.inner.rank();
        let (call, description, bytes) = (io.call, io.signature.description.clone(), io.given());
        let begin = self.tracing.0.start.elapsed();
        let outcome = crate::transport::call_native(&mut *self.inner, io);
        let end = self.tracing.0.start.elapsed();
        let event = TraceEvent {
            process: self.process,
            context: self.context,
            rank,
            call,
            description,
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

/// The format of Chrome's traces.
#[cfg(feature = "json")]
mod chrome {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{Direction, TraceEvent};
    use crate::transport::ContextId;

    pub(super) fn document(events: &[TraceEvent]) -> Value {
        let contexts: BTreeSet<ContextId> = events.iter().map(|event| event.context).collect();
        let contexts: Vec<ContextId> = contexts.into_iter().collect();
        let thread = |context: ContextId| contexts.partition_point(|other| *other < context);
        let processes: BTreeSet<_> = events.iter().map(|event| event.process).collect();
        let threads: BTreeSet<_> = events.iter().map(|event| (event.process, event.context)).collect();
        let mut entries = Vec::new();
        for process in processes {
            let name = format!("process {process}");
            entries.push(json!({"name": "process_name", "ph": "M", "pid": process.index(), "args": {"name": name}}));
        }
        for (process, context) in threads {
            let (name, tid) = (format!("context {context}"), thread(context));
            entries.push(
                json!({"name": "thread_name", "ph": "M", "pid": process.index(), "tid": tid, "args": {"name": name}}),
            );
        }
        entries.extend(events.iter().map(|event| slice(event, thread(event.context))));
        json!({"traceEvents": entries, "displayTimeUnit": "ns"})
    }

    fn slice(event: &TraceEvent, tid: usize) -> Value {
        let TraceEvent { process, rank, call, round, peer, index, bytes, failed, .. } = event;
        let name = match event.direction {
            Direction::Out => format!("send {bytes} B to {peer}"),
            Direction::In => format!("receive {bytes} B from {peer}"),
            Direction::Native => format!("native, {bytes} B"),
        };
        json!({
            "name": name,
            "cat": &*event.description,
            "ph": "X",
            "ts": microseconds(event.begin),
            "dur": microseconds(event.end.saturating_sub(event.begin)),
            "pid": process.index(),
            "tid": tid,
            "args": {
                "rank": rank.index(),
                "peer": peer.index(),
                "call": call,
                "round": round,
                "index": index,
                "bytes": bytes,
                "failed": failed,
            },
        })
    }

    /// Returns a time in microseconds. Nanoseconds are exact for the first 104 days.
    fn microseconds(time: Duration) -> f64 {
        time.as_nanos() as f64 / 1e3
    }
}

#[cfg(all(test, feature = "json"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chrome_trace_has_every_event() {
        let event = TraceEvent {
            process: Rank::new(3),
            context: ContextId::WORLD,
            rank: Rank::new(1),
            call: 7,
            description: "alltoall, \"quoted\"".into(),
            round: 2,
            peer: Rank::new(0),
            index: 0,
            direction: Direction::Out,
            bytes: 64,
            begin: Duration::from_nanos(1_234_567),
            end: Duration::from_nanos(1_240_001),
            failed: false,
        };
        let document = chrome::document(&[event]);
        let [process, thread, slice] = &document["traceEvents"].as_array().unwrap()[..] else { panic!("{document}") };
        assert_eq!(process, &json!({"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "process 3"}}));
        let names = json!({"name": "thread_name", "ph": "M", "pid": 3, "tid": 0, "args": {"name": "context world"}});
        assert_eq!(thread, &names);
        assert_eq!(
            slice,
            &json!({
                "name": "send 64 B to 0", "cat": "alltoall, \"quoted\"", "ph": "X", "ts": 1234.567, "dur": 5.434,
                "pid": 3, "tid": 0,
                "args": {"rank": 1, "peer": 0, "call": 7, "round": 2, "index": 0, "bytes": 64, "failed": false},
            })
        );
        assert_eq!(chrome::document(&[]), json!({"traceEvents": [], "displayTimeUnit": "ns"}));
    }
}
