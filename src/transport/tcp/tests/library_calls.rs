//! The supervision of library calls. Here no library executes them, and the test replies for the
//! other ranks.

use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::harness::Harness;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::engine::call_tracker::CallTracker;
use crate::transport::engine::codec::RankStatus;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::engine::lane::Left;
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::limits::MAX_SUSPENSIONS;
use crate::transport::engine::limits::grace;
use crate::transport::engine::watchdog::FIRST;
use crate::transport::{Cause, ContextId, Deadline, Failure, Signature, Timeouts};

const RANKS: usize = 3;

/// The number of the call under way.
const CALL: u64 = 4;

/// So short that its deadline has passed by the time of the first reply.
const SHORT: Duration = Duration::from_millis(20);

const LONG: Duration = Duration::from_secs(60);

/// Rank 0 in a library call.
struct Watched {
    harness: Harness,
    tracker: Arc<CallTracker>,
}

fn signature(fingerprint: u64) -> Signature {
    Signature::new(fingerprint, format!("call of kind {fingerprint}"))
}

/// Returns the status of a rank whose last call is `call`, with that fingerprint.
fn status(call: u64, fingerprint: u64) -> RankStatus {
    let signature = Some((fingerprint, signature(fingerprint).description));
    RankStatus { posted: Some((call, 0)), signature, ..RankStatus::default() }
}

impl Watched {
    fn new(timeouts: impl Into<Timeouts>) -> Self {
        let (mut harness, tracker) = (Harness::new(0, RANKS), Arc::<CallTracker>::default());
        harness.engine.contexts.get_mut(&ContextId::WORLD).unwrap().library = Some(Arc::clone(&tracker));
        tracker.enter(CALL, &signature(1), timeouts.into());
        let mut watched = Self { harness, tracker };
        assert_eq!(watched.look(), None);
        watched
    }

    fn look(&mut self) -> Option<Failure> {
        self.harness.engine.tick(Instant::now());
        self.harness.engine.watch_library_calls()
    }

    /// Returns the failure that it proposes for the context.
    fn found(&self) -> Option<&Failure> {
        self.harness.engine.contexts[&ContextId::WORLD].proposal.as_ref().map(|proposal| &proposal.failure)
    }

    /// Waits until it asks the others. Returns the number of the request.
    fn asked(&mut self) -> u64 {
        let before = self.harness.engine.status_requests;
        while self.harness.engine.status_requests == before {
            thread::sleep(Duration::from_millis(5));
            assert_eq!(self.look(), None);
        }
        self.harness.engine.status_requests
    }

    fn receive(&mut self, from: usize, header: Header, text: &[u8]) {
        let before = self.harness.connection(from).reads;
        self.harness.send_from(from, header, text);
        let read = |connection: &crate::transport::engine::connection::Connection| connection.reads > before;
        assert!(self.harness.read_until(from, |engine| engine.connections[from].as_ref().is_some_and(read)));
    }

    fn answer(&mut self, from: usize, question: u64, status: &RankStatus) {
        let header = Header { bytes: question, ..Header::new(Kind::StatusReply, ContextId::WORLD) };
        self.receive(from, header, &encode(status));
    }

    /// Lets the others reply to the next request, or not.
    fn answers(&mut self, statuses: [Option<RankStatus>; RANKS - 1]) {
        let question = self.asked();
        for (from, status) in (1..).zip(&statuses) {
            if let Some(status) = status {
                self.answer(from, question, status);
            }
        }
        let lanes = &self.harness.engine.contexts[&ContextId::WORLD].lanes;
        let is_silent = |(from, status): (usize, &Option<_>)| status.is_none() && lanes[from].left.is_none();
        let silent = (1..).zip(&statuses).any(is_silent);
        self.pass(if silent { grace(SHORT) } else { Duration::ZERO });
    }

    /// Continues the supervision for some time.
    fn pass(&mut self, time: Duration) {
        let begin = Instant::now();
        assert_eq!(self.look(), None);
        while begin.elapsed() < time {
            thread::sleep(Duration::from_millis(5));
            assert_eq!(self.look(), None);
        }
    }

    /// Returns the proposed failure. The others reply as often as it takes if this process lacks a
    /// processor for a while.
    fn finds(&mut self, statuses: [Option<RankStatus>; RANKS - 1]) -> &Failure {
        for _ in 0..=MAX_SUSPENSIONS {
            self.answers(statuses.clone());
            if self.found().is_some() {
                break;
            }
        }
        self.found().unwrap()
    }

    /// Lets a rank leave after that call.
    fn leaves(&mut self, from: usize, call: Option<u64>) {
        let left = Left { call, ..Left::default() };
        self.receive(from, Header::new(Kind::Leave, ContextId::WORLD), &encode(&left));
    }
}

#[test]
fn members_are_polled_during_a_long_call() {
    let begin = Instant::now();
    let mut watched = Watched::new(LONG);
    // It does not ask at once.
    assert_eq!(watched.look(), None);
    assert!(watched.harness.engine.status_requests == 0 || begin.elapsed() >= FIRST);
    let question = watched.asked();
    for other in 1..RANKS {
        let mut header = [0; Header::BYTES];
        watched.harness.others[other].as_mut().unwrap().read_exact(&mut header).unwrap();
        let header = Header::decode(&header).unwrap();
        assert_eq!((header.kind, header.message_id.call, header.bytes), (Kind::StatusRequest, CALL, question));
    }
    // Nor does it ask again before they have replied.
    assert_eq!((watched.look(), watched.harness.engine.status_requests), (None, question));
    // After the call it asks no more, and in the next call again not at once.
    watched.tracker.leave();
    assert_eq!(watched.look(), None);
    assert!(watched.harness.engine.contexts[&ContextId::WORLD].watchdog.is_none());
    let begin = Instant::now();
    watched.tracker.enter(CALL + 1, &signature(1), LONG.into());
    assert_eq!((watched.look(), watched.look()), (None, None));
    assert!(watched.harness.engine.status_requests == question || begin.elapsed() >= FIRST);
}

#[test]
fn call_that_all_members_are_in_has_no_deadline() {
    let mut watched = Watched::new(SHORT);
    for later in [0, 0, 1] {
        // A rank in a later call has done its part of this one.
        watched.answers([Some(status(CALL, 1)), Some(status(CALL + later, 1))]);
        assert_eq!(watched.found(), None);
    }
}

#[test]
fn member_in_another_call_is_found_before_the_deadline() {
    let mut watched = Watched::new(LONG);
    let failure = watched.finds([Some(status(CALL, 1)), Some(status(CALL, 2))]);
    assert_eq!((failure.call, &failure.description, failure.culprit), (CALL, &signature(1).description, None));
    let (one, other) = ((Rank::new(0), signature(1).description), (Rank::new(2), signature(2).description));
    let cause = Cause::Disagree { rank_a: one.0, call_a: one.1, rank_b: other.0, call_b: other.1 };
    assert_eq!(failure.cause, cause);
    // The earlier calls of a rank do not count.
    let mut watched = Watched::new(LONG);
    watched.answers([Some(status(CALL, 1)), Some(status(CALL - 1, 2))]);
    assert_eq!(watched.found(), None);
}

#[test]
fn missing_member_is_named_at_the_deadline() {
    for (status_of_last, how) in [(Some(status(CALL - 1, 1)), "has not called"), (None, "does not answer")] {
        let mut watched = Watched::new(SHORT);
        let failure = watched.finds([Some(status(CALL, 1)), status_of_last]);
        let named =
            matches!(&failure.cause, Cause::Deadline { waited, chain, .. } if *waited == SHORT && chain.ends_with(how));
        assert!(failure.culprit == Some(Rank::new(2)) && named, "{failure:?}");
    }
    // Before the deadline there is time, even for a rank that has not called at all yet.
    let mut watched = Watched::new(LONG);
    watched.answers([Some(RankStatus::default()), Some(status(CALL, 1))]);
    assert_eq!(watched.found(), None);
}

#[test]
fn each_deadline_finds_only_its_own_faults() {
    let (late, silent) = (Some(status(CALL - 1, 1)), None);
    for (deadline, timeouts, last, other) in [
        (Deadline::Arrival, Timeouts::new(Duration::MAX, SHORT), &late, &silent),
        (Deadline::Silence, Timeouts::new(SHORT, Duration::MAX), &silent, &late),
    ] {
        let mut watched = Watched::new(timeouts);
        let failure = watched.finds([Some(status(CALL, 1)), last.clone()]);
        let passed = matches!(&failure.cause, Cause::Deadline { deadline: passed, waited, .. } if (*passed, *waited) == (deadline, SHORT));
        assert!(failure.culprit == Some(Rank::new(2)) && passed, "{failure:?}");
        // A fault that only the disabled deadline would find does not end the wait.
        let mut watched = Watched::new(timeouts);
        (0..3).for_each(|_| watched.answers([Some(status(CALL, 1)), other.clone()]));
        assert_eq!(watched.found(), None);
    }
}

#[test]
fn lone_caller_fails_after_one_deadline() {
    let later = [Some(status(CALL + 1, 1)), Some(status(CALL + 1, 1))];
    let mut watched = Watched::new(SHORT);
    watched.answers(later.clone());
    assert_eq!(watched.found(), None);
    let failure = watched.finds(later.clone());
    let is_so = matches!(&failure.cause, Cause::Deadline { waited, chain, .. } if *waited == SHORT && chain.contains("no other rank"));
    assert!(is_so && failure.culprit.is_none() && failure.call == CALL, "{failure:?}");
    // A member that is in the call after all restarts the time.
    let mut watched = Watched::new(SHORT);
    watched.answers(later.clone());
    watched.answers([Some(status(CALL, 1)), Some(status(CALL + 1, 1))]);
    watched.answers(later.clone());
    assert_eq!(watched.found(), None);
    watched.finds(later.clone());
    // While another member is in the call, or before the deadline, nothing is found.
    let mut watched = Watched::new(SHORT);
    (0..4).for_each(|_| watched.answers([Some(status(CALL, 1)), Some(status(CALL + 1, 1))]));
    assert_eq!(watched.found(), None);
    let mut watched = Watched::new(LONG);
    (0..2).for_each(|_| watched.answers(later.clone()));
    assert_eq!(watched.found(), None);
}

#[test]
fn members_that_have_left_are_not_in_a_call() {
    for other_leaves in [false, true] {
        let mut watched = Watched::new(SHORT);
        watched.leaves(1, Some(CALL));
        if other_leaves {
            watched.leaves(2, Some(CALL));
        }
        let is_alone = |failure: &Failure| matches!(&failure.cause, Cause::Deadline { chain, .. } if chain.contains("no other rank"));
        assert!(is_alone(watched.finds([None, Some(status(CALL + 1, 1))])));
    }
    // The last member is in the call.
    let mut watched = Watched::new(SHORT);
    watched.leaves(1, Some(CALL));
    (0..4).for_each(|_| watched.answers([None, Some(status(CALL, 1))]));
    assert_eq!(watched.found(), None);
}

#[test]
fn members_are_polled_again_after_a_suspension() {
    let mut watched = Watched::new(SHORT);
    let question = watched.asked();
    (1..RANKS).for_each(|from| watched.answer(from, question, &status(CALL - 1, 1)));
    // That was true before this process was suspended.
    thread::sleep(grace(SHORT) + SHORT);
    assert_eq!((watched.look(), watched.found()), (None, None));
    let again = watched.asked();
    assert!(again > question);
    (1..RANKS).for_each(|from| watched.answer(from, again, &status(CALL, 1)));
    assert_eq!((watched.look(), watched.found()), (None, None));
    // A process that is suspended again and again finds it in the end.
    let mut suspensions = 0;
    while watched.found().is_none() {
        let question = watched.asked();
        (1..RANKS).for_each(|from| watched.answer(from, question, &status(CALL - 1, 1)));
        thread::sleep(grace(SHORT) + SHORT);
        assert_eq!(watched.look(), None);
        suspensions += 1;
    }
    assert!(suspensions <= MAX_SUSPENSIONS + 1, "{suspensions}");
}

#[test]
fn replies_to_another_request_are_ignored() {
    let mut watched = Watched::new(SHORT);
    let question = watched.asked();
    for from in 1..RANKS {
        watched.answer(from, question - 1, &status(CALL, 2));
        watched.answer(from, question + 1, &status(CALL, 2));
    }
    assert_eq!((watched.look(), watched.found()), (None, None));
    (1..RANKS).for_each(|from| watched.answer(from, question, &status(CALL, 1)));
    assert_eq!((watched.look(), watched.found()), (None, None));
}

#[test]
fn member_that_left_before_the_call_is_missed() {
    for (last, missed) in [(None, true), (Some(CALL - 1), true), (Some(CALL), false), (Some(CALL + 1), false)] {
        let mut watched = Watched::new(SHORT);
        watched.leaves(2, last);
        watched.pass(2 * SHORT);
        for _ in 0..MAX_SUSPENSIONS {
            if missed && watched.found().is_none() {
                watched.pass(2 * SHORT);
            }
        }
        match watched.found() {
            Some(Failure { culprit, cause: Cause::Gone { rank, .. }, .. }) if missed => {
                assert_eq!((*culprit, *rank), (Some(Rank::new(2)), Rank::new(2)));
            }
            found => assert!(found.is_none() && !missed, "{last:?}: {found:?}"),
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
        let mut watched = Watched::new(LONG);
        watched.harness.engine.fail(ContextId::WORLD, failure);
        assert_eq!(watched.look(), None);
        watched
    });
    thread::sleep(LINGER + Duration::from_millis(10));
    assert_eq!((at_once.look(), later.look()), (Some(of(CALL)), None));
    // The call has returned after all.
    at_once.tracker.leave();
    assert_eq!(at_once.look(), None);
}
