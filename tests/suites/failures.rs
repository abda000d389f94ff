//! What every rank must be told.

use necklace::transport::Failure;
use necklace::{Communicator, Error};

use crate::jobs::Job;

/// A value that no rank sends.
pub const POISON: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// Runs a job; the results by rank.
pub fn run<R: Send>(job: Job, body: impl Fn(Communicator) -> R + Sync) -> Vec<R> {
    job.run(body).unwrap()
}

/// Returns the failure, which all members have in common. Panics for any other outcome.
#[track_caller]
pub fn failure<T: std::fmt::Debug>(outcome: &Result<T, Error>) -> &Failure {
    match outcome {
        Err(Error::Failed { failure, .. } | Error::Dead { failure, .. }) => failure,
        other => panic!("no failure of everybody's, but {other:?}"),
    }
}

/// Asserts that all ranks get the same failure, each with its own number and at most some of them
/// late. Returns it.
#[track_caller]
pub fn one_failure<T: std::fmt::Debug>(outcomes: &[Result<T, Error>]) -> Failure {
    for (i, outcome) in outcomes.iter().enumerate() {
        assert_eq!(failure(outcome), failure(&outcomes[0]), "rank {i} and rank 0 learn different failures");
        if let Err(Error::Failed { rank, .. } | Error::Dead { rank, .. }) = outcome {
            assert_eq!(rank.index(), i);
        }
    }
    let failed = outcomes.iter().any(|outcome| matches!(outcome, Err(Error::Failed { .. })));
    assert!(failed, "somebody must learn it in the call that fails");
    failure(&outcomes[0]).clone()
}

/// Asserts that a failed communicator refuses all calls that need other ranks, with the reason.
#[track_caller]
pub fn is_dead(comm: &mut Communicator, why: &Failure) {
    let size = comm.size();
    let (send, mut receive) = (vec![1_u64; size], vec![POISON; size]);
    let (counts, places): (Vec<usize>, Vec<usize>) = (vec![1; size], (0..size).collect());
    let outcomes = [
        comm.barrier(),
        comm.alltoall(&send, &mut receive),
        comm.allgather(&[1], &mut receive),
        comm.allreduce(&send, &mut receive, necklace::op::Sum),
        comm.scan(&send, &mut receive, necklace::op::Sum),
        comm.broadcast(&mut receive, 0),
        comm.alltoall_in_place(&mut receive),
        comm.alltoallv(&send, (&counts, &places), &mut receive, (&counts, &places)),
        comm.split(0, 0).map(|_| ()),
    ];
    for (i, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Err(Error::Dead { rank, failure, .. }) => assert_eq!((rank.index(), *failure), (comm.rank(), why.clone())),
            other => panic!("call {i} on a dead communicator: {other:?}"),
        }
    }
    assert!(receive.iter().all(|&element| element == POISON), "a dead communicator wrote {receive:?}");
}
