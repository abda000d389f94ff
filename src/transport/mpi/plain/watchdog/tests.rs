//! Each test is one rank's view of a call, at simulated times. The test replies for the others.

use super::*;
use crate::transport::engine::lane::Left;

pub(in crate::transport) const RANKS: usize = 3;

/// The number of the call under way.
pub(in crate::transport) const CALL: u64 = 4;

/// So short that its deadline has passed by the time of the first reply.
const SHORT: Duration = Duration::from_millis(20);

pub(in crate::transport) const LONG: Duration = Duration::from_secs(60);

/// The time between two examinations.
const STEP: Duration = Duration::from_millis(5);

/// Rank 0 in a call of MPI.
struct Watched {
    calls: WatchedCalls,
    now: Instant,
    left: [Option<Left>; RANKS],
    requests: u64,
    found: Option<Failure>,
}

pub(in crate::transport) fn signature(fingerprint: u64) -> Signature {
    Signature::new(fingerprint, format!("call of kind {fingerprint}"))
}

/// Returns the status of a rank whose last call is `call`, with that fingerprint.
pub(in crate::transport) fn status(call: u64, fingerprint: u64) -> RankStatus {
    let signature = Some((fingerprint, signature(fingerprint).description));
    RankStatus { posted: Some((call, 0)), signature, ..RankStatus::default() }
}

impl Watched {
    fn new(timeouts: impl Into<Timeouts>) -> Self {
        let tracker = Arc::<CallTracker>::default();
        tracker.enter(CALL, &signature(1), timeouts.into());
        let calls = WatchedCalls::new(tracker);
        let mut watched = Self { calls, now: Instant::now(), left: Default::default(), requests: 0, found: None };
        watched.look();
        watched
    }

    /// Lets the watchdog examine the call.
    fn look(&mut self) {
        let gone = |rank: Rank, call| Some(self.left[rank.index()].as_ref()?.describe(call));
        let members: Vec<Rank> = (0..RANKS).map(Rank::new).collect();
        let found = self.calls.watch(&ContextView {
            now: self.now,
            me: Rank::new(0),
            members: &members,
            failure: None,
            left: &|rank| self.left[rank.index()].as_ref(),
            gone: &gone,
            next_request: self.requests + 1,
        });
        match found {
            Verdict::Nothing => {}
            Verdict::Ask(call) => (self.requests, _) = (self.requests + 1, assert_eq!(call, CALL)),
            Verdict::Failed(failure) => self.found = Some(failure),
            Verdict::Stuck(failure) => panic!("nothing has failed: {failure}"),
        }
    }

    /// Continues the supervision for some time.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        self.look();
        while self.now < until {
            self.now += STEP;
            self.look();
        }
    }

    /// Waits until it asks the others. Returns the number of the request.
    fn asked(&mut self) -> u64 {
        let (before, begin) = (self.requests, self.now);
        while self.requests == before {
            self.pass(STEP);
            assert!(self.now - begin < 10 * LONG, "it asks no more; it has found {:?}", self.found);
        }
        self.requests
    }

    fn answer(&mut self, from: usize, question: u64, status: &RankStatus) {
        self.calls.answered(Rank::new(from), question, status);
    }

    /// Lets the others reply to the next request, or not.
    fn answers(&mut self, statuses: [Option<RankStatus>; RANKS - 1]) {
        let question = self.asked();
        for (from, status) in (1..).zip(&statuses) {
            if let Some(status) = status {
                self.answer(from, question, status);
            }
        }
        let is_silent = |(from, status): (usize, &Option<_>)| status.is_none() && self.left[from].is_none();
        let silent = (1..).zip(&statuses).any(is_silent);
        self.pass(if silent { grace(SHORT) } else { Duration::ZERO });
    }

    /// Returns the failure that it finds by these replies. Some faults must be seen twice.
    fn finds(&mut self, statuses: [Option<RankStatus>; RANKS - 1]) -> &Failure {
        self.answers(statuses.clone());
        if self.found.is_none() {
            self.answers(statuses);
        }
        self.found.as_ref().unwrap()
    }

    /// Lets a rank leave after that call.
    fn leaves(&mut self, from: usize, call: Option<u64>) {
        self.left[from] = Some(Left { call, ..Left::default() });
    }
}

#[test]
fn call_that_all_members_are_in_has_no_deadline() {
    let mut watched = Watched::new(SHORT);
    for later in [0, 0, 1] {
        // A rank in a later call has done its part of this one.
        watched.answers([Some(status(CALL, 1)), Some(status(CALL + later, 1))]);
        assert_eq!(watched.found, None);
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
    assert_eq!(watched.found, None);
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
    assert_eq!(watched.found, None);
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
        assert_eq!(watched.found, None);
    }
}

#[test]
fn lone_caller_fails_after_one_deadline() {
    let later = [Some(status(CALL + 1, 1)), Some(status(CALL + 1, 1))];
    let mut watched = Watched::new(SHORT);
    watched.answers(later.clone());
    assert_eq!(watched.found, None);
    let failure = watched.finds(later.clone());
    let is_so = matches!(&failure.cause, Cause::Deadline { waited, chain, .. } if *waited == SHORT && chain.contains("no other rank"));
    assert!(is_so && failure.culprit.is_none() && failure.call == CALL, "{failure:?}");
    // A member that is in the call after all restarts the time.
    let mut watched = Watched::new(SHORT);
    watched.answers(later.clone());
    watched.answers([Some(status(CALL, 1)), Some(status(CALL + 1, 1))]);
    watched.answers(later.clone());
    assert_eq!(watched.found, None);
    watched.finds(later.clone());
    // While another member is in the call, or before the deadline, nothing is found.
    let mut watched = Watched::new(SHORT);
    (0..4).for_each(|_| watched.answers([Some(status(CALL, 1)), Some(status(CALL + 1, 1))]));
    assert_eq!(watched.found, None);
    let mut watched = Watched::new(LONG);
    (0..2).for_each(|_| watched.answers(later.clone()));
    assert_eq!(watched.found, None);
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
    assert_eq!(watched.found, None);
}

#[test]
fn members_are_polled_again_after_a_suspension() {
    let mut watched = Watched::new(SHORT);
    let question = watched.asked();
    (1..RANKS).for_each(|from| watched.answer(from, question, &status(CALL - 1, 1)));
    // That was true before this process was suspended.
    watched.now += grace(SHORT) + SHORT;
    watched.look();
    assert_eq!(watched.found, None);
    let again = watched.asked();
    assert!(again > question);
    (1..RANKS).for_each(|from| watched.answer(from, again, &status(CALL, 1)));
    watched.look();
    assert_eq!(watched.found, None);
    // A process that is suspended again and again finds it in the end.
    let mut suspensions = 0;
    while watched.found.is_none() {
        let question = watched.asked();
        (1..RANKS).for_each(|from| watched.answer(from, question, &status(CALL - 1, 1)));
        watched.now += grace(SHORT) + SHORT;
        watched.look();
        suspensions += 1;
    }
    assert!(suspensions <= MAX_SUSPENSIONS + 1, "{suspensions}");
}

#[test]
fn member_that_left_before_the_call_is_missed() {
    for (last, missed) in [(None, true), (Some(CALL - 1), true), (Some(CALL), false), (Some(CALL + 1), false)] {
        let mut watched = Watched::new(SHORT);
        watched.leaves(2, last);
        watched.pass(2 * SHORT);
        match &watched.found {
            Some(Failure { culprit, cause: Cause::Gone { rank, .. }, .. }) if missed => {
                assert_eq!((*culprit, *rank), (Some(Rank::new(2)), Rank::new(2)));
            }
            found => assert!(found.is_none() && !missed, "{last:?}: {found:?}"),
        }
    }
}
