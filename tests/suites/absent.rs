//! Ranks that do not come, leave, panic, or wait for each other in a circle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use necklace::error::JobCause;
use necklace::op::{Max, Sum, by};
use necklace::transport::{Cause, Deadline, Failure};
use necklace::{Communicator, Error, Options, Rank};

use super::failures::{POISON, failure, is_dead, one_failure, run};
use crate::jobs::{self, Job, on, watched};

/// A job in which waiting ends soon.
fn impatient(topology: &str) -> Job {
    on(topology).options(Options::default().timeout(jobs::soon()).arrival_timeout(jobs::soon()))
}

/// Waits until this many ranks have finished.
fn wait_for(through: &AtomicUsize, ranks: usize) {
    while through.load(Ordering::SeqCst) < ranks {
        thread::sleep(Duration::from_millis(5));
    }
}

fn exchange(comm: &mut Communicator) -> Result<(), Error> {
    let mut receive = vec![POISON; comm.size()];
    comm.alltoall(&vec![1_u64; comm.size()], &mut receive)
}

/// Exchanges, and once more: a rank that comes late may have all that it needs, and learns of the
/// failure in its next call.
fn late(comm: &mut Communicator) -> Result<(), Error> {
    exchange(comm).and_then(|()| exchange(comm))
}

pub(super) fn absent_rank_is_named_by_every_rank() {
    for (topology, algorithm, missing) in [
        ("complete:2", "direct", 1),
        ("ring:5", "ring", 0),
        ("torus:4x4", "torus-exchange", 6),
        ("complete:8", "direct-xor", 7),
    ] {
        watched(&format!("{missing} of {topology}"), move || {
            let through = AtomicUsize::new(0);
            let outcomes = run(impatient(topology).choose("alltoall", algorithm), |mut comm| {
                let mut receive = vec![POISON; comm.size()];
                if comm.rank() == missing {
                    wait_for(&through, comm.size() - 1);
                }
                let outcome = comm.alltoall(&vec![1; comm.size()], &mut receive);
                through.fetch_add(1, Ordering::SeqCst);
                if comm.rank() == missing {
                    // It learns of the failure in the call that it comes to, as the others did.
                    assert!(matches!(outcome, Err(Error::Failed { .. })), "{outcome:?}");
                    assert!(receive.iter().all(|&element| element == POISON));
                }
                assert!(comm.rank() == missing || receive[missing] == POISON);
                is_dead(&mut comm, &failure(&outcome).clone());
                outcome
            });
            let failure = one_failure(&outcomes);
            let Cause::Deadline { deadline, waited, chain, .. } = &failure.cause else { panic!("{failure}") };
            assert_eq!((*deadline, *waited), (Deadline::Arrival, jobs::soon()));
            assert_eq!(failure.culprit.map(|culprit| culprit.index()), Some(missing), "{failure}");
            assert!(chain.contains(&format!("rank {missing}, which has not called")), "{failure}");
            assert!(failure.description.contains("alltoall") && failure.description.contains(algorithm), "{failure}");
        });
    }
}

pub(super) fn late_rank_is_named_with_the_number_of_the_call() {
    watched("third call", || {
        let through = AtomicUsize::new(0);
        let outcomes = run(impatient("ring:4"), |mut comm| {
            comm.barrier()?;
            exchange(&mut comm)?;
            if comm.rank() == 2 {
                wait_for(&through, 3);
            }
            let outcome = comm.allreduce(&[1_u64], &mut [0], Sum).and_then(|()| comm.barrier());
            through.fetch_add(1, Ordering::SeqCst);
            outcome
        });
        let failure = one_failure(&outcomes);
        assert_eq!((failure.call, failure.culprit.map(|culprit| culprit.index())), (3, Some(2)), "{failure}");
        assert!(failure.description.contains("allreduce"), "{failure}");
    });
}

pub(super) fn errors_count_calls_from_the_users_first() {
    watched("numbers", || {
        // One that fails: the first, the second, and the first of a part.
        for (calls, of_part, number) in [(0, false, 1), (1, false, 2), (2, true, 1)] {
            let through = AtomicUsize::new(0);
            let outcomes = run(impatient("ring:3"), |mut comm| {
                (0..calls).try_for_each(|_| comm.barrier())?;
                let mut part = comm;
                if of_part {
                    part = part.split(0, 0)?;
                }
                if part.rank() == 1 {
                    wait_for(&through, 2);
                }
                let outcome = late(&mut part);
                through.fetch_add(1, Ordering::SeqCst);
                outcome
            });
            let failure = one_failure(&outcomes);
            assert_eq!(failure.call, number, "{failure}");
            assert!(failure.to_string().starts_with(&format!("call {number} (alltoall ")), "{failure}");
        }
    });
}

pub(super) fn computing_ranks_outlast_the_silence_timeout() {
    for arrival in [None, Some(Duration::from_secs(50))] {
        watched(&format!("{arrival:?}"), move || {
            let options = Options::default().timeout(jobs::soon()).arrival_timeout(arrival);
            let outcomes = run(on("ring:4").options(options).choose("allreduce", "recursive-doubling"), |mut comm| {
                let me = comm.rank();
                exchange(&mut comm)?;
                // Between two calls, and in the middle of one.
                if me == 1 {
                    thread::sleep(3 * jobs::soon());
                }
                exchange(&mut comm)?;
                let slow = by("slow", |left: u64, right: u64| {
                    if me == 2 {
                        thread::sleep(2 * jobs::soon());
                    }
                    left + right
                });
                comm.allreduce(&[1], &mut [0], slow)?;
                comm.barrier()
            });
            assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        });
    }
}

pub(super) fn absent_rank_is_found_with_the_silence_timeout_off() {
    watched("no timeout but for arrival", || {
        let through = AtomicUsize::new(0);
        let options = Options::default().timeout(None).arrival_timeout(jobs::soon());
        let outcomes = run(on("ring:4").options(options), |mut comm| {
            exchange(&mut comm)?;
            if comm.rank() == 3 {
                wait_for(&through, 3);
            }
            let outcome = late(&mut comm);
            through.fetch_add(1, Ordering::SeqCst);
            outcome
        });
        let failure = one_failure(&outcomes);
        let Cause::Deadline { deadline, waited, chain, .. } = &failure.cause else { panic!("{failure}") };
        assert_eq!((*deadline, *waited), (Deadline::Arrival, jobs::soon()), "{failure}");
        assert_eq!(failure.culprit.map(|culprit| culprit.index()), Some(3), "{failure}");
        assert!(chain.contains("rank 3, which has not called"), "{failure}");
        let words = failure.to_string();
        assert!(words.contains("Options::arrival_timeout") && words.contains("NECKLACE_ARRIVAL_TIMEOUT"), "{words}");
    });
}

pub(super) fn rank_computing_too_long_within_a_call_is_named() {
    watched("slow", || {
        let through = AtomicUsize::new(0);
        let outcomes = run(impatient("complete:4"), |mut comm| {
            let me = comm.rank();
            let slow = by("slow", |left: u64, right: u64| {
                if me == 3 {
                    wait_for(&through, 3);
                }
                left + right
            });
            let outcome = comm.allreduce(&[1], &mut [0], slow).and_then(|()| comm.barrier());
            through.fetch_add(1, Ordering::SeqCst);
            outcome
        });
        let failure = one_failure(&outcomes);
        assert_eq!(failure.culprit.map(|culprit| culprit.index()), Some(3), "{failure}");
        let Cause::Deadline { chain, .. } = &failure.cause else { panic!("{failure}") };
        assert!(chain.contains("rank 3"), "{failure}");
    });
}

/// Asserts that every rank but `leaver` learns that it left, and how.
fn left(outcomes: &[Result<(), Error>], leaver: usize, how: &str) {
    let others: Vec<&Failure> = (0..outcomes.len()).filter(|i| *i != leaver).map(|i| failure(&outcomes[i])).collect();
    assert!(others.iter().all(|failure| *failure == others[0]), "{others:?}");
    assert_eq!(others[0].culprit.map(|culprit| culprit.index()), Some(leaver), "{}", others[0]);
    let Cause::Gone { rank, how: found, .. } = &others[0].cause else { panic!("{}", others[0]) };
    assert!(rank.index() == leaver && found.contains(how), "{}", others[0]);
}

pub(super) fn rank_that_returns_early_is_named_at_once() {
    for (topology, leaver) in [("complete:2", 0), ("ring:5", 3), ("torus:4x4", 15)] {
        for calls in [0, 2] {
            watched(&format!("{leaver} of {topology} after {calls} calls"), move || {
                let outcomes = run(on(topology), |mut comm| {
                    for _ in 0..calls {
                        exchange(&mut comm)?;
                    }
                    if comm.rank() == leaver {
                        return Ok(());
                    }
                    let outcome = comm.barrier();
                    is_dead(&mut comm, &failure(&outcome).clone());
                    outcome
                });
                left(&outcomes, leaver, "returned");
            });
        }
    }
}

/// Runs a job in which `faller` panics with "the sky"; what the others were told.
fn fall(ranks: usize, faller: usize, body: impl Fn(&mut Communicator) -> Result<(), Error> + Sync) {
    let told: Vec<std::sync::Mutex<Result<(), Error>>> = (0..ranks).map(|_| std::sync::Mutex::new(Ok(()))).collect();
    let outcome = jobs::run(ranks, |mut comm| {
        *told[comm.rank()].lock().unwrap() = body(&mut comm);
    });
    let error = outcome.unwrap_err();
    assert!(matches!(error.cause(), JobCause::Panicked(message) if message == "the sky"), "{error}");
    assert_eq!(error.rank(), Some(Rank::new(faller)));
    let told: Vec<_> = told.into_iter().map(|told| told.into_inner().unwrap_or(Ok(()))).collect();
    left(&told, faller, "panicked: the sky");
}

/// A panic message without the text of an assertion.
fn fall_if(it: bool) {
    if it {
        std::panic::panic_any("the sky");
    }
}

pub(super) fn panicking_rank_is_named_with_its_message() {
    for (ranks, faller) in [(2, 0), (3, 2), (8, 5)] {
        watched(&format!("{faller} of {ranks} before any call"), move || {
            fall(ranks, faller, |comm| {
                fall_if(comm.rank() == faller);
                exchange(comm)
            });
        });
        watched(&format!("{faller} of {ranks} between calls"), move || {
            fall(ranks, faller, |comm| {
                exchange(comm)?;
                comm.barrier()?;
                fall_if(comm.rank() == faller);
                exchange(comm)
            });
        });
        watched(&format!("{faller} of {ranks} in an operation"), move || {
            fall(ranks, faller, |comm| {
                let me = comm.rank();
                let falling = by("falling", |left: u64, right: u64| {
                    fall_if(me == faller);
                    left + right
                });
                // On a power of two of ranks everyone combines; on three, ranks 1 and 2 do.
                comm.allreduce(&[1], &mut [0], falling).and_then(|()| comm.barrier())
            });
        });
        watched(&format!("{faller} of {ranks} in a part"), move || {
            fall(ranks, faller, |comm| {
                let mut part = comm.split(0, 0)?;
                fall_if(comm.rank() == faller);
                exchange(&mut part)
            });
        });
    }
}

pub(super) fn caught_panic_does_not_hang_the_job() {
    watched("caught", || {
        // By a schedule, because in a library's call no rank may still need rank 1.
        let outcomes = run(impatient("complete:4").choose("allreduce", "recursive-doubling"), |mut comm| {
            let me = comm.rank();
            let falling = by("falling", |left: u64, right: u64| {
                fall_if(me == 1);
                left + right
            });
            let call = || comm.allreduce(&[1], &mut [0], falling);
            match catch_unwind(AssertUnwindSafe(call)) {
                Ok(outcome) => outcome.and_then(|()| comm.barrier()),
                // It goes on as if nothing had been.
                Err(_) => comm.barrier(),
            }
        });
        let failure = one_failure(&outcomes);
        assert!(failure.to_string().contains("rank 1"), "{failure}");
    });
}

pub(super) fn contexts_called_in_opposite_orders_are_a_deadlock() {
    for ranks in [2, 3] {
        watched(&format!("{ranks} ranks"), move || {
            let outcomes = run(impatient(&format!("complete:{ranks}")), |mut comm| {
                let mut other = comm.split(0, 0).unwrap();
                if comm.rank() == 0 {
                    let first = comm.barrier();
                    (first, other.barrier())
                } else {
                    let first = other.barrier();
                    (comm.barrier(), first)
                }
            });
            let (ones, others): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
            let mut failed = 0;
            for outcomes in [ones, others] {
                // After one rank has failed, others may have finished.
                let failures: Vec<&Failure> = outcomes.iter().filter(|it| it.is_err()).map(failure).collect();
                let Some(failure) = failures.first() else { continue };
                assert!(failures.iter().all(|other| other == failure), "{failures:?}");
                let Cause::Deadline { chain, .. } = &failure.cause else { panic!("{failure}") };
                failed += usize::from(chain.contains("closes a cycle"));
            }
            assert!(failed > 0, "no rank has reported the cycle");
        });
    }
}

pub(super) fn failure_stays_within_its_communicator() {
    watched("parts", || {
        let outcomes = run(on("complete:4"), |mut comm| {
            let mut part = comm.split(0, 0).unwrap();
            let mut broken = comm.split(0, 0).unwrap();
            let outcome = if comm.rank() == 3 {
                drop(broken);
                Ok(())
            } else {
                let outcome = exchange(&mut broken);
                is_dead(&mut broken, &failure(&outcome).clone());
                outcome
            };
            exchange(&mut part).unwrap();
            exchange(&mut comm).unwrap();
            outcome
        });
        left(&outcomes, 3, "returned");
    });
}

pub(super) fn split_without_a_rank_fails_for_all() {
    watched("split", || {
        let outcomes = run(on("ring:4"), |mut comm| {
            if comm.rank() == 1 {
                return Ok(());
            }
            let outcome = comm.split(0, 0).map(|_| ());
            assert!(failure(&outcome).description.contains("split"));
            outcome
        });
        left(&outcomes, 1, "returned");
    });
}

pub(super) fn member_that_drops_its_part_is_named() {
    watched("dropped part", || {
        let outcomes = run(on("ring:4"), |mut comm| {
            let mut part = comm.split(comm.rank() as u32 % 2, 0).unwrap();
            if comm.rank() == 2 {
                drop(part);
                return comm.barrier();
            }
            let outcome = part.barrier();
            comm.barrier().unwrap();
            outcome
        });
        assert!(outcomes[1].is_ok() && outcomes[2].is_ok() && outcomes[3].is_ok(), "{outcomes:?}");
        // Rank 2 of the whole is rank 1 of the part.
        assert_eq!(failure(&outcomes[0]).culprit.map(|culprit| culprit.index()), Some(1));
    });
}

pub(super) fn zero_timeout_does_not_hang() {
    watched("no time", || {
        for _ in 0..10 {
            let job = on("ring:3").options(Options::default().timeout(Duration::ZERO).arrival_timeout(Duration::ZERO));
            // The start itself may be too slow.
            match job.run(|mut comm| exchange(&mut comm).and_then(|()| comm.barrier())) {
                Ok(outcomes) if outcomes.iter().all(Result::is_ok) => {}
                Ok(outcomes) => assert!(outcomes.iter().any(Result::is_err)),
                Err(error) => assert!(matches!(error.cause(), JobCause::Call(Error::Failed { .. })), "{error}"),
            }
        }
        let job = on("ring:3").options(Options::default().timeout(Duration::MAX).arrival_timeout(Duration::MAX));
        job.run(|mut comm| exchange(&mut comm).unwrap()).unwrap();
    });
}

pub(super) fn ranks_busy_elsewhere_do_not_delay_the_deadline() {
    watched("busy elsewhere", || {
        let over = AtomicUsize::new(0);
        let outcomes = run(impatient("complete:3"), |mut comm| {
            let rank = comm.rank();
            let mut part = comm.split(u32::from(rank > 0), 0)?;
            if rank == 0 {
                let outcome = comm.barrier();
                over.fetch_add(1, Ordering::SeqCst);
                return outcome;
            }
            // The others exchange among themselves for as long as rank 0 waits for them.
            let (mut end, mut turns) = ([0], 0);
            while end == [0] {
                part.allreduce(&[over.load(Ordering::SeqCst)], &mut end, Max)?;
                // They take turns at keeping each other waiting, never for long.
                let turn = turns % 2 == rank % 2;
                turns += 1;
                thread::sleep(Duration::from_millis(if turn { 20 } else { 0 }));
            }
            comm.barrier()
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Deadline { .. }), "{failure}");
        assert_eq!((failure.observer.index(), failure.culprit.is_some()), (0, true), "{failure}");
    });
}

pub(super) fn failure_of_a_part_names_ranks_of_the_job() {
    for silent in [false, true] {
        watched(&format!("silent: {silent}"), move || {
            let failed = AtomicBool::new(false);
            let outcomes = run(impatient("complete:4"), |mut comm| {
                let me = comm.rank();
                let mut part = comm.split(me as u32 % 2, 0)?;
                if me != 3 {
                    let outcome = part.barrier();
                    failed.fetch_or(outcome.is_err(), Ordering::SeqCst);
                    return outcome;
                }
                while silent && !failed.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                Ok(())
            });
            assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
            let words = outcomes[1].as_ref().unwrap_err().to_string();
            let how = match silent {
                true => "rank 0 (rank 1 of the job) waits for rank 1 (rank 3 of the job), which has not called",
                false => "rank 1 (rank 3 of the job) returned before the call",
            };
            assert!(words.starts_with("rank 0 (rank 1 of the job): ") && words.contains(how), "{words}");
        });
    }
}
