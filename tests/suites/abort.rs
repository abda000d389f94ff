//! A rank that gives up for a reason of its own.

use std::error::Error as _;

use necklace::transport::{Cause, Failure};
use necklace::{Error, Rank};

use super::definitions::everything;
use super::failures::{is_dead, one_failure, run};
use crate::jobs::{self, on, watched};

const REASON: &str = "input.csv has no header";

pub(super) fn abort_reaches_every_rank_with_its_reason() {
    for (ranks, quitter) in [(1, 0), (2, 1), (5, 3)] {
        watched(&format!("{quitter} of {ranks}"), move || {
            let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
                if comm.rank() == quitter {
                    assert_eq!(comm.failure(), None);
                    comm.abort(REASON);
                    let failure = comm.failure().unwrap();
                    assert!(failure.to_string().contains(REASON), "{failure}");
                }
                // Two calls: a rank that has finished the first gets the failure in the second.
                let outcome = comm.barrier().and_then(|()| comm.barrier());
                assert_eq!(comm.failure().as_ref(), outcome.as_ref().unwrap_err().failure());
                let failure = comm.failure().unwrap();
                is_dead(&mut comm, &failure);
                outcome
            });
            let failure = one_failure(&outcomes);
            let rank = Rank::new(quitter);
            assert_eq!((failure.culprit, failure.observer), (Some(rank), rank));
            assert_eq!(failure.cause, Cause::aborted(rank, REASON));
            for outcome in outcomes {
                let error = outcome.unwrap_err();
                assert_eq!((error.culprit(), error.argument().is_none()), (Some(rank), true), "{error}");
                assert!(error.source().unwrap().downcast_ref::<Failure>() == error.failure(), "{error}");
            }
        });
    }
}

pub(super) fn first_failure_is_kept() {
    watched("twice", || {
        let outcomes = run(on("ring:3"), |mut comm| {
            comm.abort(&format!("reason of rank {}", comm.rank()));
            comm.abort("another reason");
            comm.barrier()
        });
        let failure = one_failure(&outcomes);
        let Cause::Aborted { rank, reason, .. } = &failure.cause else { panic!("{failure}") };
        assert_eq!(reason.to_string(), format!("reason of rank {rank}"));
    });
}

/// A rank that is still starting has a result too: that of its own first call.
pub(super) fn failure_of_the_first_call_leaves_every_rank_its_result() {
    for turn in 0..20 {
        watched(&format!("turn {turn}"), move || {
            let outcomes = run(on("complete:8"), |mut comm| {
                if comm.rank() == turn % 8 {
                    comm.abort(REASON);
                }
                comm.barrier()
            });
            assert_eq!(outcomes.len(), 8);
            assert_eq!(one_failure(&outcomes).call, 1);
        });
    }
}

pub(super) fn abort_in_a_part_does_not_fail_the_whole() {
    watched("part", || {
        jobs::run(4, |mut comm| {
            let half = comm.rank() / 2;
            let mut part = comm.split(half as u32, 0).unwrap();
            if comm.rank() == 2 {
                part.abort(REASON);
            }
            let outcome = part.barrier().and_then(|()| part.barrier());
            let culprit = outcome.as_ref().err().and_then(Error::culprit);
            assert_eq!(culprit, (half == 1).then_some(Rank::new(0)), "{outcome:?}");
            everything::<u64>(&mut comm, 2);
        })
        .unwrap();
    });
}
