//! A connection between two ranks that is cut.

use std::net::Shutdown;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::call::{exchange, open};
use super::{OVERSUBSCRIBED, endpoint, streams};
use crate::transport::{ContextId, Failure};

/// All ranks wait for one of the two ends. Returns the failure of each.
fn failures(size: usize, (one, other): (usize, usize), asleep: Duration) -> Vec<Option<Failure>> {
    let streams = streams(size).unwrap();
    let cut = streams[one][other].as_ref().unwrap().try_clone().unwrap();
    let (met, all_over) = (Barrier::new(size + 1), Barrier::new(size));
    thread::scope(|scope| {
        let ranks: Vec<_> = streams
            .into_iter()
            .enumerate()
            .map(|(rank, streams)| {
                let (met, all_over) = (&met, &all_over);
                scope.spawn(move || {
                    let endpoint = endpoint(rank, streams, OVERSUBSCRIBED).unwrap();
                    let mut world = open(&*endpoint, ContextId::WORLD);
                    let timeout = Duration::from_secs(20);
                    let all: Vec<_> = (0..size).filter(|peer| *peer != rank).map(|peer| (peer, 8)).collect();
                    exchange(&mut *world, 0, &all, &all, timeout).unwrap();
                    met.wait();
                    let ends = [one, other].into_iter().filter(|end| *end != rank);
                    let awaited: Vec<_> = ends.map(|end| (end, 8)).collect();
                    let failure = exchange(&mut *world, 1, &[], &awaited, timeout).err();
                    // A rank that leaves early would be another failure.
                    all_over.wait();
                    failure
                })
            })
            .collect();
        met.wait();
        thread::sleep(asleep);
        cut.shutdown(Shutdown::Both).unwrap();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn cut_connection_is_one_failure_on_all_ranks() {
    for (size, ends) in [(3, (0, 2)), (3, (0, 1)), (5, (0, 2)), (5, (1, 3))] {
        for trial in 0..3 {
            let failures = failures(size, ends, Duration::from_millis(30 + 7 * trial));
            assert!(failures[0].is_some() && failures.iter().all(|other| *other == failures[0]), "{failures:#?}");
        }
    }
}
