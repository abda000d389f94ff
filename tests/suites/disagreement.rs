//! Ranks that do not do the same: found, not garbled, by all of them alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use necklace::op::{Max, Sum, by};
use necklace::topology::Complete;
use necklace::transport::Cause;
use necklace::{Communicator, Error, Options};

use super::failures::{POISON, failure, is_dead, one_failure, run};
use crate::jobs::{Job, on, watched};

/// A call, and a word of what an error must say of it.
type Call = (&'static str, fn(&mut Communicator) -> Result<(), Error>);

fn received(outcome: Result<(), Error>, buffer: &[u64], mine: u64) -> Result<(), Error> {
    if outcome.is_err() {
        let foreign = buffer.iter().filter(|&&element| element != POISON && element != mine).count();
        assert_eq!(foreign, 0, "a call that nobody shares received something: {buffer:x?}");
    }
    outcome
}

/// All different from each other. On two ranks nothing can move; what each has is 1.
const CALLS: [Call; 25] = [
    // By name, because the default may be one of those below.
    ("alltoall", |comm| {
        comm.choose("alltoall", "direct")?;
        exchange(comm, 1)
    }),
    ("2 x 8 bytes", |comm| exchange(comm, 2)),
    // As many bytes of another type.
    ("1 x 8 bytes (f64)", |comm| {
        let (send, mut receive) = (vec![1.0; comm.size()], vec![1.0; comm.size()]);
        comm.alltoall(&send, &mut receive)
    }),
    ("alltoallv of 8-byte elements (i64)", |comm| {
        let size = comm.size();
        let (counts, places): (Vec<usize>, Vec<usize>) = (vec![1; size], (0..size).collect());
        comm.choose("alltoallv", "direct")?;
        comm.alltoallv(&vec![1_i64; size], (&counts, &places), &mut vec![0; size], (&counts, &places))
    }),
    ("1 x 8 bytes (f64)", |comm| comm.allgather(&[1.0], &mut vec![1.0; comm.size()])),
    ("1 x 8 bytes (f64)", |comm| comm.broadcast(&mut [1.0], 0)),
    ("1 x 8 bytes (i64)", |comm| comm.allreduce(&[1_i64], &mut [0], Sum)),
    ("alltoall", |comm| comm.alltoall_in_place(&mut vec![1_u8; comm.size()])),
    ("direct-rotated", |comm| {
        comm.choose("alltoall", "direct-rotated")?;
        exchange(comm, 1)
    }),
    ("ring", |comm| {
        comm.choose("alltoall", "ring")?;
        exchange(comm, 1)
    }),
    ("bruck:radix=3", |comm| {
        comm.choose("alltoall", "bruck:radix=3")?;
        exchange(comm, 1)
    }),
    ("bruck:radix=3,ports=all", |comm| {
        comm.choose("alltoall", "bruck:ports=all,radix=3")?;
        exchange(comm, 1)
    }),
    ("alltoallv", |comm| varying(comm, "direct")),
    ("counts of alltoallv", |comm| varying(comm, "ring")),
    ("allgather", |comm| {
        let mut buffer = vec![POISON; comm.size()];
        let outcome = comm.allgather(&[1], &mut buffer);
        received(outcome, &buffer, 1)
    }),
    ("allreduce (sum)", |comm| {
        let mut buffer = [POISON];
        let outcome = comm.allreduce(&[1], &mut buffer, Sum);
        received(outcome, &buffer, 1)
    }),
    ("allreduce (max)", |comm| {
        let mut buffer = [POISON];
        let outcome = comm.allreduce(&[1], &mut buffer, Max);
        received(outcome, &buffer, 1)
    }),
    ("allreduce (mine)", |comm| comm.allreduce(&[1_u64], &mut [0], by("mine", |left, _| left))),
    ("allreduce (mine) of blocks of 1 x 8 bytes (u64) among", |comm| {
        comm.allreduce(&[1_u64], &mut [0], by("mine", u64::wrapping_add).commutative())
    }),
    ("allreduce (sum)", |comm| comm.allreduce(&[1_u64, 2], &mut [0, 0], Sum)),
    ("scan", |comm| comm.scan(&[1_u64], &mut [0], Sum)),
    ("broadcast from root 0", |comm| comm.broadcast(&mut [1_u64], 0)),
    ("broadcast from root 1", |comm| comm.broadcast(&mut [1_u64], 1)),
    ("barrier", Communicator::barrier),
    ("split", |comm| comm.split(0, 0).map(|_| ())),
];

/// A call whose result goes into a buffer of two elements for each rank, and a word of what an
/// error must say of it. Rank i contributes the bit 1 << i.
type Filling = (&'static str, fn(&mut Communicator, &mut [u64]) -> Result<(), Error>);

/// The same, of collectives with a root and of reductions.
const ROOTED_AND_REDUCED: [Filling; 20] = [
    ("reduce from root 0 (sum) of blocks of 1", |comm, all| reduced(comm, &mut all[..1], 0)),
    ("reduce from root 1 (sum) of blocks of 1", |comm, all| reduced(comm, &mut all[..1], 1)),
    ("reduce from root 0 (sum) of blocks of 2", |comm, all| reduced(comm, &mut all[..2], 0)),
    ("reduce from root 0 (max)", |comm, most| {
        let (own, is_root) = (own(comm, 1), comm.rank() == 0);
        comm.reduce(&own, is_root.then_some(&mut most[..1]), 0, Max)
    }),
    ("gather from root 0 of blocks of 1", |comm, all| gathered(comm, 1, all, 0)),
    ("gather from root 1 of blocks of 1", |comm, all| gathered(comm, 1, all, 1)),
    ("gather from root 0 of blocks of 2", |comm, all| gathered(comm, 2, all, 0)),
    ("gatherv with root 0", |comm, all| gathered_varying(comm, all, 0)),
    ("gatherv with root 1", |comm, all| gathered_varying(comm, all, 1)),
    ("scatter from root 0 of blocks of 1", |comm, block| scattered(comm, &mut block[..1], 0)),
    ("scatter from root 1 of blocks of 1", |comm, block| scattered(comm, &mut block[..1], 1)),
    ("scatter from root 0 of blocks of 2", |comm, block| scattered(comm, &mut block[..2], 0)),
    ("scatterv with root 0", |comm, block| scattered_varying(comm, &mut block[..1], 0)),
    ("scatterv with root 1", |comm, block| scattered_varying(comm, &mut block[..1], 1)),
    ("reduce_scatter (sum) of blocks of 1", |comm, block| {
        comm.reduce_scatter(&own(comm, comm.size()), &mut block[..1], Sum)
    }),
    ("reduce_scatter (max)", |comm, block| comm.reduce_scatter(&own(comm, comm.size()), &mut block[..1], Max)),
    ("reduce_scatter (sum) of blocks of 2", |comm, block| {
        comm.reduce_scatter(&own(comm, 2 * comm.size()), &mut block[..2], Sum)
    }),
    ("exscan (sum) of blocks of 1", |comm, before| comm.exscan(&own(comm, 1), &mut before[..1], Sum)),
    ("exscan (max)", |comm, before| comm.exscan(&own(comm, 1), &mut before[..1], Max)),
    ("exscan (sum) of blocks of 2", |comm, before| comm.exscan(&own(comm, 2), &mut before[..2], Sum)),
];

/// Returns what a rank contributes.
fn own(comm: &Communicator, elements: usize) -> Vec<u64> {
    vec![1 << comm.rank(); elements]
}

fn reduced(comm: &mut Communicator, sum: &mut [u64], root: usize) -> Result<(), Error> {
    let (own, is_root) = (own(comm, sum.len()), comm.rank() == root);
    comm.reduce(&own, is_root.then_some(sum), root, Sum)
}

fn gathered(comm: &mut Communicator, elements: usize, all: &mut [u64], root: usize) -> Result<(), Error> {
    let all = &mut all[..elements * comm.size()];
    let (own, is_root) = (own(comm, elements), comm.rank() == root);
    comm.gather(&own, is_root.then_some(all), root)
}

fn gathered_varying(comm: &mut Communicator, all: &mut [u64], root: usize) -> Result<(), Error> {
    let (all, counts) = (&mut all[..comm.size()], vec![1; comm.size()]);
    let (own, is_root) = (own(comm, 1), comm.rank() == root);
    comm.gatherv(&own, is_root.then_some(all), &counts, root)
}

fn scattered(comm: &mut Communicator, block: &mut [u64], root: usize) -> Result<(), Error> {
    let all = own(comm, block.len() * comm.size());
    comm.scatter((comm.rank() == root).then_some(&all[..]), block, root)
}

fn scattered_varying(comm: &mut Communicator, block: &mut [u64], root: usize) -> Result<(), Error> {
    let (all, counts) = (own(comm, comm.size()), vec![1; comm.size()]);
    comm.scatterv((comm.rank() == root).then_some(&all[..]), &counts, block, root)
}

fn exchange(comm: &mut Communicator, elements: usize) -> Result<(), Error> {
    let send = vec![1_u64; elements * comm.size()];
    let mut receive = vec![POISON; send.len()];
    let outcome = comm.alltoall(&send, &mut receive);
    if comm.size() == 2 { received(outcome, &receive, 1) } else { outcome }
}

fn varying(comm: &mut Communicator, algorithm: &str) -> Result<(), Error> {
    comm.choose("alltoallv", algorithm)?;
    let size = comm.size();
    let (counts, places): (Vec<usize>, Vec<usize>) = (vec![1; size], (0..size).collect());
    let (send, mut receive) = (vec![1_u64; size], vec![POISON; size]);
    comm.alltoallv(&send, (&counts, &places), &mut receive, (&counts, &places))
}

pub(super) fn any_two_different_calls_disagree_on_two_ranks() {
    any_two_different_calls_disagree(&CALLS, 2, |_, _| true, |i, j| (i + j) % 2, different);
}

pub(super) fn different_calls_disagree_on_five_ranks() {
    // A third of the pairs, so that each call is the odd one and the others' one several times.
    any_two_different_calls_disagree(&CALLS, 5, |i, j| (i + j).is_multiple_of(3), |i, j| (i + 2 * j) % 5, different);
}

pub(super) fn different_roots_and_reductions_disagree() {
    let calls = &ROOTED_AND_REDUCED;
    any_two_different_calls_disagree(calls, 2, |i, j| i.abs_diff(j) <= 3, |i, j| (i + j) % 2, differently_filled);
}

pub(super) fn different_roots_and_reductions_disagree_on_three_ranks() {
    let calls = &ROOTED_AND_REDUCED;
    // Each call is the odd one and the others' one.
    let is_tried = |i: usize, j: usize| j == (i + 1) % 20 || i == j + 2 && i.is_multiple_of(2);
    any_two_different_calls_disagree(calls, 3, is_tried, |i, j| (i + j) % 3, differently_filled);
}

/// Checks pairs of calls of a table, given the ranks, the odd one, the call of most, and that of
/// the odd one.
fn any_two_different_calls_disagree<F: Copy + Send + 'static>(
    calls: &[(&'static str, F)],
    ranks: usize,
    is_tried: fn(usize, usize) -> bool,
    dissenter: fn(usize, usize) -> usize,
    different: fn(usize, usize, [(&'static str, F); 2]),
) {
    for (i, most) in calls.iter().copied().enumerate() {
        for (j, odd) in calls.iter().copied().enumerate().filter(|(j, _)| *j != i && is_tried(i, *j)) {
            let dissenter = dissenter(i, j);
            let case = format!("rank {dissenter} of {ranks} calls {} ({j}), the others {} ({i})", odd.0, most.0);
            watched(&case, move || different(ranks, dissenter, [most, odd]));
        }
    }
}

fn different(ranks: usize, dissenter: usize, [most, odd]: [Call; 2]) {
    let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
        let call = if comm.rank() == dissenter { odd } else { most };
        // A rank whose part does not depend on the others may have finished; it gets the failure in
        // its next call.
        let outcome = call.1(&mut comm).and_then(|()| comm.barrier());
        is_dead(&mut comm, &failure(&outcome).clone());
        outcome
    });
    // Another rank may have been through its call and be in the barrier already, but then it is not
    // the same call.
    disagreement(&outcomes, dissenter, [&[odd.0], &[most.0, "barrier"]]);
}

/// As [`different`]. Nothing from the dissenter may arrive at others, nor anything from them at it.
fn differently_filled(ranks: usize, dissenter: usize, [most, odd]: [Filling; 2]) {
    let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
        let is_odd = comm.rank() == dissenter;
        let mut buffer = vec![POISON; 2 * ranks];
        let outcome = (if is_odd { odd } else { most }).1(&mut comm, &mut buffer);
        let foreign = if is_odd { !(1 << dissenter) } else { 1 << dissenter | !0 << ranks };
        let is_foreign = buffer.iter().any(|&element| element != POISON && element & foreign != 0);
        assert!(!is_foreign, "rank {} received {buffer:x?}", comm.rank());
        // Where ranks only send, two of three may be through a barrier before anything shows; not
        // through `close`.
        if outcome.is_ok() && ranks > 2 {
            return comm.close();
        }
        let outcome = outcome.and_then(|()| comm.barrier());
        is_dead(&mut comm, &failure(&outcome).clone());
        outcome
    });
    let (odd, other): (&[_], _) =
        if ranks > 2 { (&[odd.0, "close"], [most.0, "close"]) } else { (&[odd.0], [most.0, "barrier"]) };
    disagreement(&outcomes, dissenter, [odd, &other]);
}

/// Asserts that every rank gets one failure, which names the dissenter, another rank, and what each
/// calls: something with one of the words for it.
fn disagreement(outcomes: &[Result<(), Error>], dissenter: usize, [odd, other]: [&[&str]; 2]) {
    let failure = one_failure(outcomes);
    let Cause::Disagree { rank_a, call_a, rank_b, call_b, .. } = &failure.cause else { panic!("{failure}") };
    assert!((rank_a.index() == dissenter) != (rank_b.index() == dissenter), "nobody names rank {dissenter}: {failure}");
    assert_ne!(call_a, call_b, "{failure}");
    let (of_dissenter, of_other) = if rank_a.index() == dissenter { (call_a, call_b) } else { (call_b, call_a) };
    for (call, words) in [(of_dissenter, odd), (of_other, other)] {
        assert!(words.iter().any(|word| call.contains(word)), "none of {words:?} is named in {failure}");
    }
}

pub(super) fn disagreeing_rank_exchanges_no_data() {
    for dissenter in 0..4 {
        watched(&format!("rank {dissenter}"), move || {
            let outcomes = run(on("complete:4"), |mut comm| {
                let odd = comm.rank() == dissenter;
                let elements = if odd { 3 } else { 2 };
                let mut receive = vec![POISON; 4 * elements];
                let outcome = comm.alltoall(&vec![comm.rank() as u64; 4 * elements], &mut receive);
                let own = comm.rank() * elements..(comm.rank() + 1) * elements;
                for (i, element) in receive.into_iter().enumerate().filter(|(i, _)| !own.contains(i)) {
                    if odd || i / elements == dissenter {
                        assert_eq!(element, POISON, "rank {} received element {i}", comm.rank());
                    }
                }
                outcome
            });
            let failure = one_failure(&outcomes);
            assert!(failure.to_string().contains("3 x 8") && failure.to_string().contains("2 x 8"), "{failure}");
        });
    }
}

pub(super) fn planned_call_disagrees_with_another_call() {
    for relayed in [false, true] {
        watched(&format!("relayed: {relayed}"), move || {
            let outcomes = run(on("torus:4x4"), |mut comm| {
                comm.choose("alltoall", if relayed { "torus-exchange" } else { "direct" }).unwrap();
                let mut plan = comm.alltoall_init::<u64>(2).unwrap();
                let mut receive = [POISON; 48];
                let outcome = if comm.rank() == 11 {
                    plan.execute(&mut comm, &[1; 32], &mut receive[..32])
                } else {
                    comm.alltoall(&[1; 48], &mut receive)
                };
                let outcome = outcome.and_then(|()| comm.barrier());
                let again = plan.execute(&mut comm, &[1; 32], &mut receive[..32]);
                assert!(matches!(again, Err(Error::Dead { .. })), "{again:?}");
                outcome
            });
            let failure = one_failure(&outcomes);
            let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
            let words = format!("{call_a} {call_b}");
            assert!(words.contains("2 x 8") && words.contains("3 x 8"), "{failure}");
        });
    }
}

pub(super) fn reductions_of_different_element_types_disagree() {
    // Equal lengths and names, but different meanings of the bits.
    watched("kinds", || {
        let outcomes = run(on("complete:4"), |mut comm| {
            if comm.rank() == 2 {
                let mut sum = [0.5];
                let outcome = comm.allreduce(&[1.0_f64], &mut sum, Sum);
                outcome.inspect_err(|_| assert_eq!(sum[0].to_bits(), 0.5_f64.to_bits()))
            } else {
                comm.allreduce(&[1_u64], &mut [0], Sum)
            }
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        assert!(failure.to_string().contains("f64") && failure.to_string().contains("u64"), "{failure}");
    });
}

/// A shift by the number of ranks needs no message, and so no round.
pub(super) fn call_without_messages_is_named_in_a_disagreement() {
    for ranks in [2, 3, 5] {
        watched(&format!("{ranks} ranks"), move || {
            let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
                let by = if comm.rank() == 1 { ranks } else { 1 };
                comm.barrier()?;
                comm.shift(&[comm.rank() as u64], &mut [POISON], by)?;
                comm.barrier()
            });
            let failure = one_failure(&outcomes);
            let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
            let shifts = [call_a, call_b].iter().filter(|call| call.starts_with("shift by")).count();
            assert!(shifts > 0 && !failure.to_string().contains("start of"), "{failure}");
        });
    }
}

pub(super) fn extra_call_of_one_rank_is_found() {
    for ranks in [2, 5] {
        watched(&format!("{ranks} ranks"), move || {
            let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
                if comm.rank() == 1 {
                    comm.barrier().and_then(|()| comm.barrier())?;
                }
                exchange(&mut comm, 1).and_then(|()| exchange(&mut comm, 1))
            });
            let failure = one_failure(&outcomes);
            let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
            let words = format!("{call_a} {call_b}");
            assert!(words.contains("barrier") && words.contains("alltoall"), "{failure}");
        });
    }
}

pub(super) fn disagreement_stays_within_its_part() {
    watched("parts", || {
        let outcomes = run(on("complete:6"), |mut comm| {
            let half = comm.rank() / 3;
            let mut part = comm.split(half as u32, 0).unwrap();
            let outcome = if comm.rank() == 4 { part.barrier() } else { exchange(&mut part, 1) };
            comm.barrier().unwrap();
            outcome
        });
        assert!(outcomes[..3].iter().all(Result::is_ok), "{outcomes:?}");
        let failure = one_failure(&outcomes[3..]);
        let Cause::Disagree { rank_a, rank_b, .. } = failure.cause else { panic!("{failure}") };
        assert!(rank_a.index() == 1 || rank_b.index() == 1, "ranks of the part: {failure}");
    });
}

pub(super) fn lengths_are_compared_without_fingerprints() {
    watched("lengths", || {
        let job = Job::on(Arc::new(Complete::new(3).unwrap())).options(Options::default().fingerprints(false));
        // By messages, because nothing is compared in a library's call.
        let outcomes = run(job.choose("alltoall", "direct"), |mut comm| {
            let elements = if comm.rank() == 1 { 3 } else { 2 };
            exchange(&mut comm, elements)
        });
        let failure = one_failure(&outcomes);
        let Cause::Length { from, to, expected, found, .. } = failure.cause else { panic!("{failure}") };
        assert!(from.index() == 1 && (expected, found) == (16, 24) || to.index() == 1 && (expected, found) == (24, 16));
    });
}

pub(super) fn returned_rank_is_not_blamed_for_a_disagreement() {
    watched("roots", || {
        // Whose root has all it needs. The others are through with it when it comes.
        let (job, through) = (on("complete:3").choose("broadcast", "binomial"), AtomicUsize::new(0));
        let outcomes = run(job, |mut comm| {
            while comm.rank() == 2 && through.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
            let outcome = comm.broadcast(&mut [1_u64], usize::from(comm.rank() == 2));
            through.fetch_add(1, Ordering::SeqCst);
            outcome
        });
        assert!(outcomes[0].is_ok() && outcomes[1].is_ok(), "{outcomes:?}");
        let failure = failure(&outcomes[2]);
        let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
        assert!([call_a, call_b].iter().any(|words| words.contains("from root 1")), "{failure}");
    });
}

pub(super) fn calls_of_a_returned_rank_are_still_compared() {
    watched("late", || {
        let outcomes = run(on("complete:8"), |mut comm| {
            comm.choose("alltoall", "direct")?;
            comm.choose("broadcast", "binomial")?;
            match comm.rank() {
                0 => return comm.broadcast(&mut [1_u64], 0),
                // The rank that it sends to.
                1 | 2 | 4 => thread::sleep(Duration::from_millis(200)),
                _ => {}
            }
            exchange(&mut comm, 1)
        });
        assert!(outcomes[0].is_ok(), "{outcomes:?}");
        for outcome in &outcomes[1..] {
            let failure = failure(outcome);
            let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
            let words = [call_a, call_b];
            let one_says = |what| words.iter().any(|words| words.contains(what));
            assert!(one_says("broadcast from root 0") && one_says("alltoall"), "{failure}");
        }
    });
}

pub(super) fn close_finds_differing_roots_on_every_rank() {
    watched("roots", || {
        let outcomes = run(on("complete:2").choose("broadcast", "binomial"), |mut comm| {
            let root = comm.rank();
            comm.broadcast(&mut [1_u64], root)?;
            comm.close()
        });
        let failure = one_failure(&outcomes);
        let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
        let one_says = |what| [call_a, call_b].iter().any(|words| words.contains(what));
        assert!(one_says("broadcast from root 0") && one_says("broadcast from root 1"), "{failure}");
    });
}

pub(super) fn close_succeeds_after_equal_calls() {
    watched("close", || {
        let outcomes = run(on("complete:5"), |mut comm| {
            let part = comm.split(comm.rank() as u32 % 2, 0)?;
            comm.broadcast(&mut [1_u64], 3)?;
            part.close()?;
            comm.close()
        });
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
}
