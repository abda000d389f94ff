//! Ranks that do not reply.

use std::thread;
use std::time::{Duration, Instant};

use super::harness::Harness;
use crate::ids::Rank;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::engine::limits::grace;
use crate::transport::engine::state::Engine;
use crate::transport::{Cause, ContextId, Failure};

const RANKS: usize = 12;

/// Returns the last rank after it has proposed a failure and waited once for a decision.
fn waited_once(meanwhile: impl FnOnce(&mut Harness)) -> Harness {
    let mut harness = Harness::new(RANKS - 1, RANKS);
    let rank = Rank::new(RANKS - 1);
    let cause = Cause::Aborted { rank, reason: "stopped on purpose".into() };
    harness.engine.contexts.get_mut(&ContextId::WORLD).unwrap().timeouts = Duration::ZERO.into();
    let failure = Failure { call: 0, description: "a call".into(), round: 0, observer: rank, culprit: None, cause };
    harness.engine.propose(ContextId::WORLD, failure);
    meanwhile(&mut harness);
    thread::sleep(grace(Duration::ZERO) + Duration::from_millis(10));
    harness.engine.tick(Instant::now());
    harness.engine.retry_proposals();
    harness
}

fn turned_to(harness: &Harness) -> Option<usize> {
    harness.engine.contexts[&ContextId::WORLD].agreement.proposed_to()
}

#[test]
fn silent_members_are_waited_for_all_at_once() {
    let harness = waited_once(|_| ());
    assert_eq!(turned_to(&harness), Some(RANKS - 1));
}

#[test]
fn responsive_member_among_silent_ones_decides() {
    let harness = waited_once(|harness| {
        // Any frame shows that the rank is alive.
        harness.send_from(7, Header::new(Kind::FinAck, ContextId::WORLD), &[]);
        let read = |engine: &Engine| engine.connections[7].as_ref().is_some_and(|connection| connection.reads > 0);
        assert!(harness.read_until(7, read));
    });
    assert_eq!(turned_to(&harness), Some(7));
}
