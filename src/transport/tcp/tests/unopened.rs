//! A context that fails before one of its members has opened it.

use std::thread;
use std::time::Duration;

use super::call::{exchange, open};
use super::mesh;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure, Transport};

/// Short: they wait an eighth of it for the first member.
const TIMEOUT: Duration = Duration::from_secs(4);

/// All ranks but the first open a context and make a call. Then the given ranks abort it, in this
/// order. Returns the failure of each rank.
fn failures(size: usize, aborting: &[usize], apart: Duration) -> Vec<Option<Failure>> {
    let id = ContextId::WORLD.child(1, 1);
    let endpoints = mesh(size).unwrap();
    let mut opened: Vec<_> = endpoints[1..].iter().map(|endpoint| open(&**endpoint, id)).collect();
    thread::scope(|scope| {
        for (i, transport) in opened.iter_mut().enumerate() {
            let others: Vec<_> = (1..size).filter(|peer| *peer != i + 1).map(|peer| (peer, 8)).collect();
            scope.spawn(move || exchange(&mut **transport, 0, &others, &others, TIMEOUT).unwrap());
        }
    });
    for &rank in aborting {
        let observer = Rank::new(rank);
        let cause = Cause::Aborted { rank: observer, reason: "stopped on purpose".into() };
        let description = "a call".into();
        opened[rank - 1].abort(Failure { call: 1, description, round: 0, observer, culprit: Some(observer), cause });
        thread::sleep(apart);
    }
    // Returns the failure that a rank finds or gets.
    let heard = |transport: &mut Box<dyn Transport>| {
        let next = (transport.rank().index() + 1) % size;
        exchange(&mut **transport, 1, &[], &[(next, 8)], TIMEOUT).err()
    };
    let mut failures: Vec<_> = thread::scope(|scope| {
        let ranks: Vec<_> = opened.iter_mut().map(|transport| scope.spawn(move || heard(transport))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    // The first rank opens the context last.
    failures.push(heard(&mut open(&*endpoints[0], id)));
    failures
}

#[test]
fn failure_before_the_first_member_opens_is_one_for_all() {
    for (size, aborting, apart) in [(3, &[2, 1][..], 50), (4, &[3, 2], 3), (4, &[3], 0)] {
        let failures = failures(size, aborting, Duration::from_millis(apart));
        assert!(failures[0].is_some() && failures.iter().all(|other| *other == failures[0]), "{failures:#?}");
    }
}
