//! A member that cannot decide, and proposals to another coordinator.

use std::thread;
use std::time::{Duration, Instant};

use super::harness::Harness;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::{Cause, ContextId, Failure};

pub(super) fn aborted(rank: usize) -> Failure {
    let rank = Rank::new(rank);
    let cause = Cause::Aborted { rank, reason: "stopped on purpose".into() };
    Failure { call: 0, description: "a call".into(), round: 0, observer: rank, culprit: Some(rank), cause }
}

fn proposal(id: ContextId) -> Header {
    Header::new(Kind::Proposal, id)
}

/// Reads what has arrived, and decides.
fn settle(harness: &mut Harness) {
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(2));
        (1..3).for_each(|from| harness.engine.pump_in(from));
        harness.engine.looked = Instant::now();
        harness.engine.sweep(Instant::now());
    }
}

#[test]
fn member_that_declined_requests_votes_before_it_decides() {
    let (id, others) = (ContextId::of(5), [Rank::new(0), Rank::new(1), Rank::new(2)]);
    for first in [false, true] {
        let mut harness = Harness::new(0, 3);
        if first {
            // It has not said yet that it cannot decide, so it decides at once.
            harness.engine.open(id, &others).unwrap();
            harness.engine.propose(id, aborted(0));
            settle(&mut harness);
            assert_eq!(harness.engine.failure(id), Some(&aborted(0)));
            continue;
        }
        harness.send_from(2, proposal(id), &encode(&aborted(2)));
        assert!(
            harness.read_until(2, |engine| engine
                .contexts
                .get(&id)
                .is_some_and(|context| context.agreement.inability().0))
        );
        harness.engine.open(id, &others).unwrap();
        harness.engine.propose(id, aborted(0));
        settle(&mut harness);
        assert_eq!(harness.engine.failure(id), None, "another member may be deciding");
        // One vote of two is not enough, and a retracted vote does not count.
        harness.send_from(1, proposal(id), &encode(&aborted(0)));
        settle(&mut harness);
        assert_eq!(harness.engine.failure(id), None);
        harness.send_from(1, Header::new(Kind::Retract, id), &[]);
        settle(&mut harness);
        harness.send_from(2, proposal(id), &encode(&aborted(0)));
        settle(&mut harness);
        assert_eq!(harness.engine.failure(id), None);
        harness.send_from(1, proposal(id), &encode(&aborted(0)));
        settle(&mut harness);
        assert_eq!(harness.engine.failure(id), Some(&aborted(0)));
    }
}

#[test]
fn proposal_goes_to_the_next_member_if_the_first_declines() {
    let mut harness = Harness::new(2, 3);
    harness.engine.propose(ContextId::WORLD, aborted(2));
    let to = |harness: &Harness| harness.engine.contexts[&ContextId::WORLD].agreement.proposed_to();
    assert_eq!(to(&harness), Some(0));
    harness.send_from(0, Header::new(Kind::CannotDecide, ContextId::WORLD), &[]);
    assert!(harness.read_until(0, |engine| engine.contexts[&ContextId::WORLD].agreement.inability().1));
    assert_eq!(to(&harness), Some(1));
    // It has opened the context and requests votes, so the proposal goes to it again.
    harness.send_from(0, Header::new(Kind::VoteRequest, ContextId::WORLD), &encode(&aborted(0)));
    assert!(harness.read_until(0, |engine| !engine.contexts[&ContextId::WORLD].agreement.inability().1));
    assert_eq!(to(&harness), Some(0));
}

#[test]
fn member_that_has_left_decides_nothing() {
    let mut harness = Harness::new(0, 3);
    harness.send_from(2, proposal(ContextId::WORLD), &encode(&aborted(2)));
    assert!(harness.read_until(2, |engine| engine.is_undecided(ContextId::WORLD)));
    // It was to decide. The others turn to the next member once they learn that it has left.
    harness.engine.leave(ContextId::WORLD, false);
    settle(&mut harness);
    assert_eq!(harness.engine.failure(ContextId::WORLD), None);
}
