//! The engine and the calls of a library: status requests and replies on the way between them, and
//! what follows from a finding. Here no library executes the calls, and the test replies for the
//! other ranks.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::harness::Harness;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::engine::connection::Connection;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::engine::lane::Left;
use crate::transport::engine::limits::LINGER;
use crate::transport::mpi_plain::call_tracker::CallTracker;
use crate::transport::mpi_plain::watchdog::tests::{CALL, LONG, RANKS, signature, status};
use crate::transport::mpi_plain::watchdog::{FIRST, WatchedCalls};
use crate::transport::{Cause, ContextId, Failure, RankStatus};

/// Rank 0 in a library call, at a simulated time.
struct Watched {
    harness: Harness,
    tracker: Arc<CallTracker>,
    now: Instant,
}

impl Watched {
    fn new() -> Self {
        let (mut harness, tracker) = (Harness::new(0, RANKS), Arc::<CallTracker>::default());
        let calls = WatchedCalls::new(Arc::clone(&tracker));
        harness.engine.contexts.get_mut(&ContextId::WORLD).unwrap().library = Some(Box::new(calls));
        tracker.enter(CALL, &signature(1), LONG.into());
        let now = harness.engine.now;
        let mut watched = Self { harness, tracker, now };
        assert_eq!(watched.look(), None);
        watched
    }

    /// Lets the engine supervise the call. Returns why the job has to end, if it has to.
    fn look(&mut self) -> Option<Failure> {
        self.harness.engine.tick(self.now);
        self.harness.engine.watch_library_calls()
    }

    /// Returns the failure that it proposes for the context.
    fn found(&self) -> Option<&Failure> {
        self.harness.engine.contexts[&ContextId::WORLD].agreement.subject()
    }

    /// Returns the number of the last request.
    fn requests(&self) -> u64 {
        self.harness.engine.status_requests
    }

    fn receive(&mut self, from: usize, header: Header, text: &[u8]) {
        let before = self.harness.connection(from).reads;
        self.harness.send_from(from, header, text);
        let read = |connection: &Connection| connection.reads > before;
        assert!(self.harness.read_until(from, |engine| engine.connections[from].as_ref().is_some_and(read)));
    }

    fn answer(&mut self, from: usize, question: u64, status: &RankStatus) {
        let header = Header { bytes: question, ..Header::new(Kind::StatusReply, ContextId::WORLD) };
        self.receive(from, header, &encode(status));
    }
}

#[test]
fn members_are_polled_during_a_long_call() {
    let mut watched = Watched::new();
    // It does not ask at once.
    watched.now += FIRST - Duration::from_millis(1);
    assert_eq!((watched.look(), watched.requests()), (None, 0));
    watched.now += Duration::from_millis(1);
    assert_eq!((watched.look(), watched.requests()), (None, 1));
    for other in 1..RANKS {
        let mut header = [0; Header::BYTES];
        watched.harness.others[other].as_mut().unwrap().read_exact(&mut header).unwrap();
        let header = Header::decode(&header).unwrap();
        assert_eq!((header.kind, header.message_id.call, header.bytes), (Kind::StatusRequest, CALL, 1));
    }
    // Nor does it ask again before they have replied.
    watched.now += FIRST;
    assert_eq!((watched.look(), watched.requests()), (None, 1));
    // After the call it asks no more, and in the next call again not at once.
    watched.tracker.leave();
    watched.now += LONG;
    assert_eq!((watched.look(), watched.requests()), (None, 1));
    watched.tracker.enter(CALL + 1, &signature(1), LONG.into());
    assert_eq!((watched.look(), watched.look(), watched.requests()), (None, None, 1));
    watched.now += FIRST;
    assert_eq!((watched.look(), watched.requests()), (None, 2));
}

#[test]
fn finding_is_proposed_for_the_context() {
    let mut watched = Watched::new();
    watched.now += FIRST;
    assert_eq!((watched.look(), watched.requests()), (None, 1));
    // Replies to another request are ignored.
    for from in 1..RANKS {
        watched.answer(from, 0, &status(CALL, 2));
        watched.answer(from, 2, &status(CALL, 2));
    }
    assert_eq!((watched.look(), watched.found()), (None, None));
    watched.answer(1, 1, &status(CALL, 1));
    assert_eq!((watched.look(), watched.found()), (None, None));
    watched.answer(2, 1, &status(CALL, 2));
    assert_eq!(watched.look(), None);
    let failure = watched.found().unwrap();
    assert_eq!((failure.call, &failure.description, failure.culprit), (CALL, &signature(1).description, None));
    let (one, other) = ((Rank::new(0), signature(1).description), (Rank::new(2), signature(2).description));
    assert_eq!(failure.cause, Cause::disagree(one, other));
}

#[test]
fn member_that_leaves_before_the_call_is_missed() {
    for (last, missed) in [(CALL - 1, true), (CALL, false)] {
        let mut watched = Watched::new();
        let left = Left { call: Some(last), ..Left::default() };
        watched.receive(2, Header::new(Kind::Leave, ContextId::WORLD), &encode(&left));
        watched.now += LINGER + Duration::from_millis(1);
        assert_eq!(watched.look(), None);
        match watched.found() {
            Some(Failure { culprit, cause: Cause::Gone { rank, .. }, .. }) if missed => {
                assert_eq!((*culprit, *rank), (Some(Rank::new(2)), Rank::new(2)));
            }
            found => assert!(found.is_none() && !missed, "{last}: {found:?}"),
        }
    }
}

#[test]
fn failed_call_that_does_not_return_ends_the_job() {
    let cause = Cause::Aborted { rank: Rank::new(1), reason: "stopped on purpose".into() };
    let of = |call| Failure {
        call,
        description: "a call".into(),
        round: 0,
        observer: Rank::new(1),
        culprit: Some(Rank::new(1)),
        cause: cause.clone(),
    };
    // A failure in a later call does not end an earlier one.
    let [mut at_once, mut later] = [of(CALL), of(CALL + 1)].map(|failure| {
        let mut watched = Watched::new();
        watched.harness.engine.fail(ContextId::WORLD, failure);
        assert_eq!(watched.look(), None);
        watched.now += LINGER;
        assert_eq!(watched.look(), None);
        watched.now += Duration::from_millis(1);
        watched
    });
    assert_eq!((at_once.look(), later.look()), (Some(of(CALL)), None));
    // The call has returned after all.
    at_once.tracker.leave();
    assert_eq!(at_once.look(), None);
}
