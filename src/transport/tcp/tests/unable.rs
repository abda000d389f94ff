//! Who cannot decide, and who turns to somebody else.

use std::thread;
use std::time::{Duration, Instant};

use super::alone::Alone;
use crate::ids::Rank;
use crate::transport::engine::codec::write_failure;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::{Cause, ContextId, Failure};

pub(super) fn aborted(rank: usize) -> Failure {
    let rank = Rank::new(rank);
    let cause = Cause::Aborted { rank, reason: "it wants no more".into() };
    Failure { call: 0, description: "a call".into(), round: 0, observer: rank, culprit: Some(rank), cause }
}

fn proposal(id: ContextId) -> Header {
    Header::new(Kind::Proposal, id)
}

/// Reads what has come, and decides.
fn settle(alone: &mut Alone) {
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(2));
        (1..3).for_each(|from| alone.engine.pump_in(from));
        alone.engine.looked = Instant::now();
        alone.engine.sweep();
    }
}

#[test]
fn who_has_said_that_it_cannot_decide_asks_before_it_does() {
    let (id, others) = (ContextId::of(5), [Rank::new(0), Rank::new(1), Rank::new(2)]);
    for first in [false, true] {
        let mut alone = Alone::new(0, 3);
        if first {
            // Nobody has asked it yet: it decides at once.
            alone.engine.open(id, &others).unwrap();
            alone.engine.propose(id, aborted(0));
            settle(&mut alone);
            assert_eq!(alone.engine.failure(id), Some(&aborted(0)));
            continue;
        }
        alone.hear(2, proposal(id), &write_failure(&aborted(2)));
        assert!(alone.read_until(2, |engine| engine.contexts.get(&id).is_some_and(|context| context.declined)));
        alone.engine.open(id, &others).unwrap();
        alone.engine.propose(id, aborted(0));
        settle(&mut alone);
        assert_eq!(alone.engine.failure(id), None, "somebody else may be deciding");
        // One of the two others alone is not enough; who has turned to it and away again does not
        // count.
        alone.hear(1, proposal(id), &write_failure(&aborted(0)));
        settle(&mut alone);
        assert_eq!(alone.engine.failure(id), None);
        alone.hear(1, Header::new(Kind::Retract, id), &[]);
        settle(&mut alone);
        alone.hear(2, proposal(id), &write_failure(&aborted(0)));
        settle(&mut alone);
        assert_eq!(alone.engine.failure(id), None);
        alone.hear(1, proposal(id), &write_failure(&aborted(0)));
        settle(&mut alone);
        assert_eq!(alone.engine.failure(id), Some(&aborted(0)));
    }
}

#[test]
fn the_next_one_is_asked_where_the_first_cannot_decide() {
    let mut alone = Alone::new(2, 3);
    alone.engine.propose(ContextId::WORLD, aborted(2));
    let to = |alone: &Alone| alone.engine.contexts[&ContextId::WORLD].proposal.as_ref().map(|proposal| proposal.to);
    assert_eq!(to(&alone), Some(0));
    alone.hear(0, Header::new(Kind::Unable, ContextId::WORLD), &[]);
    assert!(alone.read_until(0, |engine| !engine.contexts[&ContextId::WORLD].unable.is_empty()));
    assert_eq!(to(&alone), Some(1));
    // It has opened it, and asks: it is turned to again.
    alone.hear(0, Header::new(Kind::Ask, ContextId::WORLD), &write_failure(&aborted(0)));
    assert!(alone.read_until(0, |engine| engine.contexts[&ContextId::WORLD].unable.is_empty()));
    assert_eq!(to(&alone), Some(0));
}
