//! Native calls through the wrappers of any backend.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::error::JobCause;
use necklace::launch::Launch;
use necklace::transport::fault::{Fault, Faulty, What};
use necklace::transport::trace::{Direction, Tracing};
use necklace::transport::{Cause, Endpoint, Failure};
use necklace::{Error, Rank};

use necklace_tests::jobs::native::{Calls, Library};
use necklace_tests::suites::failures::one_failure;
use necklace_tests::{topology, watched};

fn library(endpoint: Arc<dyn Endpoint>, calls: &Calls) -> Arc<dyn Endpoint> {
    Library::over(endpoint, calls, |_| true)
}

#[test]
fn native_call_is_traced_as_a_whole() {
    let (tracing, calls) = (Tracing::new(), Calls::default());
    let log = tracing.clone();
    let job = Launch::threads().topology(topology("complete:3"));
    job.wrap(move |endpoint| Arc::new(log.wrap(library(endpoint, &calls))))
        .run(|mut comm| {
            comm.alltoall(&[1_u64; 6], &mut [0; 6]).unwrap();
            comm.broadcast(&mut [1_u8; 5], 2).unwrap();
        })
        .unwrap();
    let events = tracing.events();
    let native: Vec<_> = events.iter().filter(|event| event.direction == Direction::Native).collect();
    let mut found: Vec<_> = native.iter().map(|e| (e.call, e.rank.index(), e.bytes, e.failed)).collect();
    found.sort_unstable();
    let given = [(1, 0, 48), (1, 1, 48), (1, 2, 48), (2, 0, 0), (2, 1, 0), (2, 2, 5)];
    assert_eq!(found, given.map(|(call, rank, bytes)| (call, rank, bytes, false)));
    assert!(native.iter().all(|e| e.round == 0 && e.peer == e.rank && e.begin <= e.end && e.process == e.rank));
    assert!(native.iter().all(|e| e.description.contains("by native")));
    // The messages to agree have the call's own number and words, and are empty.
    let agreement = || events.iter().filter(|event| event.call == 1 && event.direction != Direction::Native);
    assert!(agreement().count() > 0 && agreement().all(|e| e.bytes == 0 && e.description.contains("alltoall")));
    assert!(tracing.chrome_trace().contains("\"native, 48 B\""));
}

/// Returns the errors of all ranks if this happens to rank 1.
fn with(fault: Fault) -> Vec<Result<(), Error>> {
    let calls = Calls::default();
    let script = [fault];
    let job = Launch::threads().topology(topology("complete:3"));
    let told: [Mutex<Result<(), Error>>; 3] = [(); 3].map(|()| Mutex::new(Ok(())));
    let outcome =
        job.wrap(move |endpoint| Arc::new(Faulty::new(library(endpoint, &calls), &script))).run(|mut comm| {
            // The first has an agreement before it, the second is the library's alone.
            let outcome = (0..2).try_for_each(|_| comm.alltoall(&[comm.rank() as u64; 3], &mut [0; 3]));
            *told[comm.rank()].lock().unwrap() = outcome.and_then(|()| comm.barrier());
        });
    if let Err(error) = outcome {
        assert!(matches!(error.cause(), JobCause::Panicked(_)) && error.rank() == Some(Rank::new(1)), "{error}");
    }
    told.into_iter().map(|told| told.into_inner().unwrap()).collect()
}

fn of_rank_1(what: What) -> Fault {
    Fault::of(Rank::new(1), what)
}

#[test]
fn faults_of_a_call_or_of_round_0_apply_to_native_calls() {
    watched("gives up", || {
        let give_up = || of_rank_1(What::GiveUp("tired".into()));
        for fault in [give_up().in_call(2), give_up().in_call(2).in_round(0)] {
            let failure = one_failure(&with(fault));
            assert_eq!((failure.call, failure.round, failure.culprit), (2, 0, Some(Rank::new(1))), "{failure}");
            let Cause::Aborted { rank, reason, .. } = &failure.cause else { panic!("{failure}") };
            assert_eq!((rank.index(), &**reason), (1, "tired"));
            assert!(failure.description.contains("by native"), "{failure}");
        }
        // It has no other round.
        assert!(with(give_up().in_call(2).in_round(1)).iter().all(Result::is_ok));
    });
    watched("panics", || {
        let told = with(of_rank_1(What::Panic("the sky".into())).in_call(2));
        let gone = |outcome: &Result<(), Error>| match outcome {
            Err(Error::Failed { failure, .. }) => matches!(&**failure, Failure { cause: Cause::Gone { .. }, .. }),
            _ => false,
        };
        assert!(gone(&told[0]) && gone(&told[2]), "{told:?}");
    });
    watched("late", || {
        let late = Duration::from_millis(30);
        for what in [What::Delay(late), What::Silence(late)] {
            assert!(with(of_rank_1(what).in_call(2)).iter().all(Result::is_ok));
        }
    });
    watched("another call", || {
        // During the agreement before the call, so no rank calls the library.
        let failure = one_failure(&with(of_rank_1(What::Fingerprint(7)).in_call(1)));
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
    });
}

#[test]
fn message_faults_do_not_apply_to_native_calls() {
    watched("messages", || {
        for what in [What::Drop(Rank::new(0)), What::Truncate { to: Rank::new(0), bytes: 1 }] {
            assert!(with(of_rank_1(what).in_call(2)).iter().all(Result::is_ok));
        }
    });
}
