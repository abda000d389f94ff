//! Calls that do not block.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use necklace::collective::Collective;
use necklace::communicator::Pending;
use necklace::error::ArgumentError;
use necklace::op::Sum;
use necklace::transport::{Cause, Deadline};
use necklace::{Communicator, Error, Options};

use super::contexts::call;
use super::definitions::{Dice, block, everything};
use super::failures::{failure, one_failure, run};
use crate::jobs::{self, on, watched};

/// Starts a call whose only result is whether it failed.
fn start(
    comm: &mut Communicator,
    call: impl FnOnce(&mut Communicator) -> Result<(), Error> + Send + 'static,
) -> Pending<()> {
    comm.start((), move |comm, ()| call(comm))
}

fn exchange(comm: &mut Communicator) -> Result<(), Error> {
    let size = comm.size();
    comm.alltoall(&vec![1_u64; size], &mut vec![0; size])
}

pub(super) fn started_calls_have_the_results_of_blocking_ones() {
    for topology in ["complete:1", "complete:2", "ring:5", "torus:3x4"] {
        watched(topology, move || {
            on(topology)
                .run(|mut comm| {
                    let calls: Vec<Pending<()>> = (0..3)
                        .map(|elements| {
                            start(&mut comm, move |comm| {
                                everything::<u64>(comm, elements);
                                Ok(())
                            })
                        })
                        .collect();
                    calls.into_iter().for_each(|call| call.wait().1.unwrap());
                    let (me, size) = (comm.rank(), comm.size());
                    let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, 4)).collect();
                    let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me, 4)).collect();
                    let buffers = (send.clone(), vec![0_u64; 4 * size]);
                    let pending = comm.start(buffers, |comm, (send, receive)| comm.alltoall(send, receive));
                    let ((sent, received), result) = pending.wait();
                    result.unwrap();
                    assert_eq!((sent, received), (send, wanted));
                    // A result of its own.
                    let sum = comm.start(me, |comm, me| comm.allreduce_one(*me, Sum)).wait();
                    assert_eq!((sum.0, sum.1.unwrap()), (me, size * (size - 1) / 2));
                })
                .unwrap();
        });
    }
}

pub(super) fn started_and_blocking_calls_need_no_common_order() {
    for seed in 0..4 {
        watched(&format!("seed {seed}"), move || {
            jobs::run(4, |mut comm| {
                // The same sequences on all ranks, interleaved differently on each.
                let [mut started, mut blocking] = [2 * seed, 2 * seed + 1].map(Dice);
                let mut order = Dice(1000 * seed + comm.rank() as u64);
                let (mut left, mut pending) = ([60, 60], Vec::new());
                while left != [0, 0] {
                    let turn = usize::from(left[0] == 0 || left[1] > 0 && order.below(2) == 0);
                    left[turn] -= 1;
                    if turn == 0 {
                        let seed = started.below(1 << 30) as u64;
                        pending.push(start(&mut comm, move |comm| {
                            call(comm, &mut Dice(seed));
                            Ok(())
                        }));
                    } else {
                        call(&mut comm, &mut blocking);
                    }
                }
                pending.into_iter().for_each(|call| call.wait().1.unwrap());
            })
            .unwrap();
        });
    }
}

pub(super) fn buffers_come_back_after_an_error() {
    watched("error", || {
        jobs::run(3, |mut comm| {
            let refused =
                comm.start((vec![7_u64; 4], vec![8; 3]), |comm, (send, receive)| comm.alltoall(send, receive));
            let (buffers, result) = refused.wait();
            assert_eq!(buffers, (vec![7; 4], vec![8; 3]));
            let error = result.unwrap_err();
            assert!(matches!(error.argument(), Some(ArgumentError::Length { found: 4, .. })), "{error}");
            assert!(error.to_string().contains(file!()), "the place of the call: {error}");
            // Nothing has moved, and the next call succeeds.
            start(&mut comm, exchange).wait().1.unwrap();
            start(&mut comm, |comm| {
                if comm.rank() == 1 {
                    comm.abort("no more");
                }
                comm.barrier().and_then(|()| comm.barrier())
            })
            .wait()
            .1
            .unwrap_err();
            let (buffers, result) = comm.start(vec![9], |comm, _| comm.barrier()).wait();
            assert!(matches!(result, Err(Error::Dead { .. })) && buffers == [9]);
            // The calls that block are others.
            exchange(&mut comm).unwrap();
        })
        .unwrap();
    });
}

pub(super) fn dropped_calls_are_completed() {
    watched("dropped", || {
        let dropped = AtomicUsize::new(0);
        let through = Arc::new(AtomicUsize::new(0));
        jobs::run(3, |mut comm| {
            for turn in 0..20 {
                let through = Arc::clone(&through);
                let pending = comm.start(vec![turn; 100], move |comm, buffer| {
                    comm.broadcast(buffer, turn % 3)?;
                    through.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
                if turn % 2 == 0 {
                    drop(pending);
                } else {
                    std::mem::forget(pending);
                }
                dropped.fetch_add(1, Ordering::SeqCst);
            }
            // The end of the communicator waits for them.
            drop(comm);
        })
        .unwrap();
        assert_eq!((dropped.into_inner(), through.load(Ordering::SeqCst)), (60, 60));
        let through = Arc::new(AtomicUsize::new(0));
        jobs::run(3, |mut comm| {
            let own = Arc::clone(&through);
            drop(start(&mut comm, move |comm| {
                exchange(comm)?;
                own.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }));
            comm.close().unwrap();
            assert_eq!(through.load(Ordering::SeqCst), 3, "closing waits for all");
        })
        .unwrap();
    });
}

pub(super) fn calls_started_in_different_orders_disagree() {
    watched("orders", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            let gather = |comm: &mut Communicator| comm.allgather(&[1_u64], &mut vec![0; comm.size()]);
            let gathers_first = comm.rank() == 1;
            let both = [gathers_first, !gathers_first]
                .map(|gathers| start(&mut comm, if gathers { gather } else { exchange }));
            let [first, second] = both.map(|call| call.wait().1);
            // The communicator itself has not failed.
            exchange(&mut comm).unwrap();
            first.and(second)
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        let words = failure.to_string();
        assert!(words.contains("alltoall") && words.contains("allgather"), "{words}");
    });
}

pub(super) fn call_that_one_rank_does_not_start_ends_with_the_deadline() {
    watched("missing", || {
        let through = AtomicUsize::new(0);
        // On a loaded machine, a process may answer late: only the deadline for a call is short.
        let job = on("complete:3").options(Options::default().arrival_timeout(jobs::soon()));
        let outcomes = run(job, |mut comm| {
            if comm.rank() != 1 {
                let outcome = start(&mut comm, exchange).wait().1;
                through.fetch_add(1, Ordering::SeqCst);
                return outcome;
            }
            while through.load(Ordering::SeqCst) < 2 {
                thread::sleep(Duration::from_millis(5));
            }
            // It may have all that it needs for the first, and learns of the failure in the next.
            start(&mut comm, exchange).wait().1.and_then(|()| start(&mut comm, exchange).wait().1)
        });
        let failure = one_failure(&outcomes);
        let Cause::Deadline { deadline: Deadline::Arrival, chain, .. } = &failure.cause else { panic!("{failure}") };
        assert!(chain.contains("rank 1"), "{failure}");
    });
}

pub(super) fn late_start_is_waited_for() {
    watched("late", || {
        jobs::run(3, |mut comm| {
            for turn in 0..3 {
                if comm.rank() == turn {
                    thread::sleep(Duration::from_millis(60));
                }
                let pending = start(&mut comm, exchange);
                if comm.rank() != turn {
                    assert!(!pending.test(), "nothing is complete without rank {turn}");
                }
                pending.wait().1.unwrap();
                comm.barrier().unwrap();
            }
        })
        .unwrap();
    });
}

pub(super) fn panic_of_a_started_call_is_told_to_all() {
    watched("panic", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            let pending = start(&mut comm, |comm| {
                assert!(comm.rank() != 2, "out of luck");
                comm.barrier()
            });
            if comm.rank() == 2 {
                let panic = catch_unwind(AssertUnwindSafe(|| pending.wait())).unwrap_err();
                assert!(panic.downcast_ref::<&str>().is_some_and(|message| message.contains("out of luck")));
                return start(&mut comm, exchange).wait().1;
            }
            pending.wait().1
        });
        let failure = one_failure(&outcomes);
        assert!(failure.to_string().contains("rank 2 gave up: a started call panicked: out of luck"), "{failure}");
    });
}

pub(super) fn abort_fails_calls_started_later() {
    watched("abort", || {
        let outcomes = run(on("complete:3"), |mut comm| {
            let first = start(&mut comm, exchange).wait().1;
            if comm.rank() == 0 {
                first.unwrap();
                comm.abort("enough");
                return start(&mut comm, exchange).wait().1;
            }
            // It may learn of it in its first call.
            let mut later = || start(&mut comm, exchange).wait().1;
            first.and_then(|()| later()).and_then(|()| later())
        });
        assert!(one_failure(&outcomes).to_string().contains("rank 0 gave up: enough"));
    });
}

/// The deadlines are those of the defaults, minutes away.
pub(super) fn abort_ends_calls_under_way() {
    // Whether the rank that aborts has started a call, waits in one, or starts its first afterwards.
    for (before, joins) in [(false, false), (true, false), (true, true)] {
        watched(&format!("{before} {joins}"), move || {
            let (began, ready) = (Instant::now(), AtomicUsize::new(0));
            let outcomes = run(on("complete:3"), |mut comm| {
                if comm.rank() > 0 {
                    let pending = start(&mut comm, exchange);
                    // Rank 1 never starts the second call.
                    let again = (joins && comm.rank() == 2).then(|| start(&mut comm, exchange));
                    ready.fetch_add(1, Ordering::SeqCst);
                    let first = pending.wait().1;
                    if joins && comm.rank() == 1 {
                        // It stays until then.
                        failure(&comm.barrier());
                    }
                    return again.map_or(first, |again| again.wait().1);
                }
                let first = before.then(|| start(&mut comm, |_| Ok(())));
                let joined = joins.then(|| start(&mut comm, exchange));
                let stuck = joins.then(|| start(&mut comm, exchange));
                while ready.load(Ordering::SeqCst) < 2 {
                    thread::sleep(Duration::from_millis(5));
                }
                if let Some(joined) = joined {
                    joined.wait().1.unwrap();
                }
                comm.abort("enough");
                drop(first);
                stuck.unwrap_or_else(|| start(&mut comm, exchange)).wait().1
            });
            for (rank, outcome) in outcomes.iter().enumerate().filter(|(rank, _)| !joins || *rank != 1) {
                let failure = failure(outcome).to_string();
                assert!(failure.contains("rank 0 gave up: enough"), "rank {rank}: {failure}");
            }
            assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
        });
    }
}

/// A rank may compute between a start and the calls that others wait for.
pub(super) fn computing_rank_outlasts_the_silence_timeout() {
    watched("computing", || {
        let options = Options::default().timeout(jobs::soon()).arrival_timeout(Duration::from_secs(50));
        let outcomes = run(on("complete:2").options(options), |mut comm| {
            if comm.rank() == 0 {
                let pending = start(&mut comm, exchange);
                thread::sleep(3 * jobs::soon());
                return comm.barrier().and(pending.wait().1);
            }
            comm.barrier()?;
            start(&mut comm, exchange).wait().1
        });
        outcomes.into_iter().for_each(Result::unwrap);
    });
}

/// The deadlines are those of the defaults, minutes away.
pub(super) fn rank_that_leaves_with_calls_under_way_is_named_at_once() {
    watched("leaves", || {
        let began = Instant::now();
        let outcomes = run(on("complete:3"), |mut comm| {
            if comm.rank() == 1 {
                // The others start it only after they have missed this rank.
                let pending = start(&mut comm, exchange);
                drop(comm);
                return pending.wait().1;
            }
            let outcome = comm.barrier().and_then(|()| comm.barrier());
            let failure = failure(&outcome).to_string();
            assert!(failure.contains("rank 1"), "{failure}");
            start(&mut comm, exchange).wait().1
        });
        outcomes.into_iter().for_each(Result::unwrap);
        assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
    });
}

pub(super) fn requests_are_started_again() {
    watched("requests", || {
        jobs::run(4, |mut comm| {
            let (me, size) = (comm.rank(), comm.size());
            let mut turns = 0;
            let buffers = (vec![0_u64; 3 * size], vec![0; 3 * size]);
            let mut exchange = comm
                .request(buffers, move |comm, (send, receive)| {
                    turns += 1;
                    comm.alltoall(send, receive).map(|()| turns)
                })
                .unwrap();
            let mut sum = comm.request(0, |comm, value| comm.allreduce_one(*value, Sum)).unwrap();
            for turn in 0..30 {
                exchange.buffers().unwrap().0 = (0..size).flat_map(|to| block(me, to + 64 * turn, 3)).collect();
                *sum.buffers().unwrap() = turn + me;
                exchange.start().unwrap();
                sum.start().unwrap();
                if turn % 3 == 0 {
                    comm.barrier().unwrap();
                }
                assert_eq!(sum.wait().unwrap(), size * turn + size * (size - 1) / 2);
                // Calls are made in their order.
                assert!(exchange.test());
                assert_eq!(exchange.wait().unwrap(), turn + 1);
                let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me + 64 * turn, 3)).collect();
                assert_eq!(exchange.buffers().unwrap().1, wanted);
            }
            // One that is dropped under way is completed.
            exchange.start().unwrap();
            drop(exchange);
            comm.close().unwrap();
        })
        .unwrap();
    });
}

pub(super) fn misused_requests_are_refused() {
    watched("misused", || {
        jobs::run(2, |mut comm| {
            let refused = |error: Error, method: &str, reason: &str| {
                assert!(matches!(error.argument(), Some(ArgumentError::Request(_))), "{error}");
                let words = error.to_string();
                assert!(words.starts_with(method) && words.contains(file!()) && words.contains(reason), "{words}");
            };
            let mut request = comm.request([1_u64], |comm, one| comm.allreduce_one(one[0], Sum)).unwrap();
            assert!(request.test());
            refused(request.wait().unwrap_err(), "wait", "start it first");
            refused(block_on(request.finished()).unwrap_err(), "finished", "start it first");
            request.start().unwrap();
            refused(request.start().unwrap_err(), "start", "under way");
            refused(request.buffers().unwrap_err(), "buffers", "under way");
            assert_eq!(request.wait().unwrap(), 2);
            refused(request.wait().unwrap_err(), "wait", "start it first");
            let mut panics = comm.request((), |_, ()| -> Result<(), Error> { panic!("on purpose") }).unwrap();
            panics.start().unwrap();
            catch_unwind(AssertUnwindSafe(|| panics.wait())).unwrap_err();
            refused(panics.start().unwrap_err(), "start", "has panicked");
            drop(comm);
            refused(request.start().unwrap_err(), "start", "has been dropped");
            assert_eq!(request.buffers().unwrap(), &[1]);
        })
        .unwrap();
    });
}

pub(super) fn borrowed_buffers_are_used_in_a_scope() {
    watched("scope", || {
        jobs::run(4, |mut comm| {
            let (me, size) = (comm.rank(), comm.size());
            let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, 2)).collect();
            let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me, 2)).collect();
            let (mut first, mut second, mut sum) = (vec![0; 2 * size], vec![0; 2 * size], 0);
            let computed = comm
                .scope(|scope| {
                    let pending =
                        scope.start((&send, &mut first), |comm, (send, receive)| comm.alltoall(send, receive));
                    // Nobody waits for this one.
                    drop(scope.start(&mut second, |comm, receive| comm.alltoall(&send, receive)));
                    let (_, result) = scope.start((), |comm, ()| comm.allreduce_one(me, Sum)).wait();
                    sum = result.unwrap();
                    let ((_, received), result) = pending.wait();
                    result.unwrap();
                    received.iter().fold(0, |all, one| all ^ one)
                })
                .unwrap();
            assert_eq!((&first, &second, sum), (&wanted, &wanted, size * (size - 1) / 2));
            assert_eq!(computed, wanted.iter().fold(0, |all, one| all ^ one));
            // The calls are the communicator's own.
            let body = catch_unwind(AssertUnwindSafe(|| {
                let body = |scope: &necklace::communicator::Scope<'_, '_>| {
                    drop(scope.start((), |comm, ()| comm.barrier()));
                    panic!("in the body");
                };
                comm.scope(body)
            }));
            assert!(body.is_err());
            comm.close().unwrap();
        })
        .unwrap();
    });
}

pub(super) fn choices_apply_to_started_calls() {
    watched("choices", || {
        on("torus:4x4")
            .choose("alltoall", "ring")
            .run(|mut comm| {
                let explained = |comm: &mut Communicator, ()| {
                    exchange(comm)?;
                    comm.explain(&Collective::Alltoall, 8).map(|choice| choice.algorithm.name())
                };
                let explained =
                    |comm: &mut Communicator| comm.start((), move |comm, ()| explained(comm, ())).wait().1.unwrap();
                assert_eq!(explained(&mut comm), "ring");
                comm.choose("alltoall", "torus-exchange").unwrap();
                assert_eq!(explained(&mut comm), "torus-exchange");
                assert_eq!(explained(&mut comm.using("direct-xor")), "direct-xor");
                assert_eq!(explained(&mut comm), "torus-exchange");
            })
            .unwrap();
    });
}

/// Wakes a thread.
struct Unpark(Thread, AtomicBool);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Drives a future, which is polled again only after it has woken this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(thread::current(), AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&unpark));
    loop {
        while !unpark.1.swap(false, Ordering::SeqCst) {
            thread::park();
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
    }
}

pub(super) fn started_calls_are_awaited() {
    watched("futures", || {
        jobs::run(3, |mut comm| {
            let me = comm.rank();
            let summed = block_on(async {
                let mut sums = Vec::new();
                let mut request = comm.request(me, |comm, value| comm.allreduce_one(*value, Sum))?;
                for turn in 0..20 {
                    let (buffer, result) = comm.start(vec![turn; 3], |comm, buffer| comm.broadcast(buffer, 1)).await;
                    result?;
                    request.start()?;
                    sums.push(request.finished().await? + buffer[0]);
                }
                Ok::<_, Error>(sums)
            });
            assert_eq!(summed.unwrap(), (3..23).collect::<Vec<_>>());
        })
        .unwrap();
    });
}
