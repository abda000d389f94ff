//! Counts of alltoallv on which two ranks disagree.

use necklace::transport::Cause;
use necklace::{Communicator, Error};

use super::failures::{POISON, failure, is_dead, one_failure, run};
use crate::jobs::{self, Job, on, watched};

/// Everyone sends everyone 2 elements, but `from` sends `sent` to `to`, which awaits `awaited`.
#[derive(Clone, Copy)]
struct Case {
    from: usize,
    to: usize,
    sent: usize,
    awaited: usize,
}

impl Case {
    fn counts(self, comm: &Communicator) -> (Vec<usize>, Vec<usize>) {
        let (mut send, mut receive) = (vec![2; comm.size()], vec![2; comm.size()]);
        if comm.rank() == self.from {
            send[self.to] = self.sent;
        }
        if comm.rank() == self.to {
            receive[self.from] = self.awaited;
        }
        (send, receive)
    }

    fn call(self, comm: &mut Communicator, planned: bool) -> Result<(), Error> {
        let (send_counts, receive_counts) = self.counts(comm);
        let places: Vec<usize> = (0..comm.size()).map(|i| 9 * i).collect();
        let send = vec![comm.rank() as u64; 9 * comm.size()];
        let mut receive = vec![POISON; 9 * comm.size()];
        let outcome = if planned {
            let plan = comm.alltoallv_init((&send_counts, &places), (&receive_counts, &places));
            plan.and_then(|mut plan| plan.execute(comm, &send, &mut receive))
        } else {
            comm.alltoallv(&send, (&send_counts, &places), &mut receive, (&receive_counts, &places))
        };
        if comm.rank() == self.to {
            let block = &receive[9 * self.from..9 * self.from + 9];
            assert!(block.iter().all(|&element| element == POISON), "received {block:?}");
        }
        outcome
    }
}

pub(super) fn wrong_counts_name_ranks_and_both_lengths() {
    let networks: [(&str, &[&str]); 5] = [
        ("complete:2", &["direct", "ring"]),
        ("ring:5", &["direct", "ring", "direct-rotated"]),
        ("complete:8", &["direct", "ring", "direct-xor"]),
        ("torus:4x4", &["direct", "torus-exchange"]),
        ("torus:8x4", &["torus-exchange"]),
    ];
    for (topology, algorithms) in networks {
        for algorithm in algorithms.iter().copied().chain(jobs::is_native().then_some("native")) {
            for (from, to, sent, awaited) in [(0, 1, 2, 3), (1, 0, 3, 2), (1, 0, 0, 2), (0, 1, 2, 0), (0, 1, 5, 9)] {
                for planned in [false, true] {
                    let name = format!("{algorithm} on {topology}: {from} sends {to} {sent} of {awaited}, {planned}");
                    watched(&name, move || {
                        disagree(on(topology), algorithm, Case { from, to, sent, awaited }, planned)
                    });
                }
            }
        }
    }
}

fn disagree(job: Job, algorithm: &'static str, case: Case, planned: bool) {
    let outcomes = run(job.choose("alltoallv", algorithm), |mut comm| {
        let outcome = case.call(&mut comm, planned).and_then(|()| comm.barrier());
        is_dead(&mut comm, &failure(&outcome).clone());
        outcome
    });
    let failure = one_failure(&outcomes);
    let Cause::Length { from, to, expected, found, .. } = failure.cause else { panic!("{failure}") };
    assert_eq!((from.index(), to.index()), (case.from, case.to), "{failure}");
    assert_eq!((expected, found), (8 * case.awaited as u64, 8 * case.sent as u64), "{failure}");
    assert!(failure.description.contains("alltoallv") && failure.description.contains(algorithm), "{failure}");
}

pub(super) fn elements_of_different_sizes_are_different_calls() {
    for algorithm in ["direct", "ring"].into_iter().chain(jobs::is_native().then_some("native")) {
        watched(algorithm, move || {
            let outcomes = run(on("ring:3").choose("alltoallv", algorithm), |mut comm| {
                // As many bytes.
                if comm.rank() == 0 {
                    let places = [0, 2, 4];
                    comm.alltoallv(&[1_u32; 6], (&[2; 3], &places), &mut [0_u32; 6], (&[2; 3], &places))
                } else {
                    let places = [0, 1, 2];
                    comm.alltoallv(&[1_u64; 3], (&[1; 3], &places), &mut [0_u64; 3], (&[1; 3], &places))
                }
            });
            let failure = one_failure(&outcomes);
            assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
            assert!(failure.to_string().contains("4-byte") && failure.to_string().contains("8-byte"), "{failure}");
        });
    }
}

pub(super) fn relay_without_memory_fails_the_call_on_all() {
    // What a rank can plan depends on what others send through it; by then they rely on it.
    watched("memory", || {
        let outcomes = run(on("torus:4x4").choose("alltoallv", "torus-exchange"), |mut comm| {
            let huge = 1 << 58;
            let places: Vec<usize> = (0..16).map(|i| i << 58).collect();
            let plan = comm.alltoallv_init::<u8>((&[huge; 16], &[0; 16]), (&[huge; 16], &places));
            plan.map(|_| ()).and_then(|()| comm.barrier())
        });
        let failure = one_failure(&outcomes);
        let Cause::Aborted { reason, .. } = &failure.cause else { panic!("{failure}") };
        assert!(reason.contains("bytes"), "{failure}");
    });
}

pub(super) fn lengths_that_overflow_in_relays_are_refused() {
    // Each rank's own counts are possible; what passes through a rank is more than can be counted.
    watched("sums", || {
        let outcomes = run(on("ring:8").choose("alltoallv", "ring"), |mut comm| {
            let next = (comm.rank() + 4) % 8;
            let counts: Vec<usize> = (0..8).map(|i| if i == next { (1 << 63) - 1 } else { 0 }).collect();
            let plan = comm.alltoallv_init::<u8>((&counts, &[0; 8]), (&counts, &[0; 8]));
            plan.map(|_| ()).and_then(|()| comm.barrier())
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Aborted { .. }), "{failure}");
    });
}

/// Rank 0 sends rank 1 two elements, and nobody expects anything.
fn surplus(comm: &mut Communicator) -> Result<(), Error> {
    let mut counts = [0; 3];
    if comm.rank() == 0 {
        counts[1] = 2;
    }
    comm.choose("alltoallv", "direct")?;
    comm.alltoallv(&vec![1_u64; counts.iter().sum()], &counts, &mut [], &[0; 3])
}

pub(super) fn unexpected_block_is_found_in_the_next_call() {
    watched("next call", || {
        let outcomes = run(on("complete:3").choose("alltoall", "direct"), |mut comm| {
            surplus(&mut comm)?;
            comm.alltoall(&[1_u64; 3], &mut [0; 3])
        });
        let failure = one_failure(&outcomes);
        let Cause::Disagree { rank_a, rank_b, .. } = &failure.cause else { panic!("{failure}") };
        assert_eq!(rank_a.index() + rank_b.index(), 1, "{failure}");
        let words = failure.to_string();
        assert!(words.contains("alltoallv of 8-byte elements"), "{words}");
        assert!(words.contains("a message that is not expected") || words.contains("without the message"), "{words}");
    });
}

pub(super) fn unexpected_block_is_found_when_its_receiver_leaves() {
    watched("leaves", || {
        let outcomes = run(on("complete:3"), |mut comm| surplus(&mut comm));
        assert!(outcomes[0].is_err() && outcomes[1].is_ok(), "{outcomes:?}");
        // Rank 2 has its result, unless it calls after the job has failed.
        for outcome in outcomes.iter().filter(|outcome| outcome.is_err()) {
            let failure = failure(outcome);
            assert!(matches!(failure.cause, Cause::Gone { rank, .. } if rank.index() == 1), "{failure}");
        }
    });
}
