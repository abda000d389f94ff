//! Started calls as futures of tokio: both kinds of runtimes, futures dropped at every point, timeouts,
//! and runtimes that are shut down.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use necklace::communicator::{Pending, Request};
use necklace::local;
use necklace::op::Sum;
use necklace::{Communicator, Error};
use necklace_tests::suites::definitions::everything;
use necklace_tests::watched;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

/// A runtime of one thread, or of two.
fn runtime(threads: usize) -> Runtime {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).enable_time().build().unwrap()
}

/// What an async program would write: nothing is called unless it is polled.
async fn sum(comm: &mut Communicator, value: u64) -> Result<u64, Error> {
    comm.start(value, |comm, value| comm.allreduce_one(*value, Sum)).await.1
}

/// Starts all collectives, one after the other.
fn start_everything(comm: &mut Communicator) -> Pending<()> {
    comm.start((), |comm, ()| {
        everything::<u64>(comm, 2);
        Ok(())
    })
}

#[test]
fn pending_calls_can_be_sent_between_threads() {
    fn sent<T: Send>(_: &T) {}
    fn shared<T: Sync>() {}
    local::run(1, |mut comm| {
        let pending = comm.start(vec![1_u64], |comm, value| comm.allreduce_one(value[0], Sum));
        sent(&pending);
        let mut request = comm.request([0_u8], |comm, _| comm.barrier()).unwrap();
        sent(&request);
        sent(&request.finished());
        sent(&sum(&mut comm, 3));
        shared::<Pending<Vec<u8>, Vec<u8>>>();
        shared::<Request<Vec<u8>, Vec<u8>>>();
        assert_eq!(pending.wait().1.unwrap(), 1);
    })
    .unwrap();
}

#[test]
fn collectives_are_awaited_on_either_runtime() {
    for threads in [1, 2] {
        watched("awaited", move || {
            local::run(4, |mut comm| {
                if comm.rank() == 0 {
                    // The same calls without a runtime.
                    for turn in 0..20_u64 {
                        assert_eq!(
                            comm.start(turn, |comm, one| comm.allreduce_one(*one, Sum)).wait().1.unwrap(),
                            4 * turn
                        );
                        start_everything(&mut comm).wait().1.unwrap();
                    }
                    return;
                }
                runtime(threads).block_on(async {
                    for turn in 0..20_u64 {
                        assert_eq!(sum(&mut comm, turn).await.unwrap(), 4 * turn);
                        start_everything(&mut comm).await.1.unwrap();
                    }
                });
            })
            .unwrap();
        });
    }
}

/// The one thread of the runtime has other tasks to do while the ranks exchange.
#[test]
fn runtime_runs_other_tasks_meanwhile() {
    watched("meanwhile", || {
        let answered = AtomicUsize::new(0);
        local::run(2, |mut comm| {
            runtime(1).block_on(async {
                let first = comm.rank() == 0;
                // The other rank does not start the call before this one has served.
                while !first && answered.load(Ordering::SeqCst) < 100 {
                    sleep(Duration::from_millis(1)).await;
                }
                let serve = async {
                    while first && answered.fetch_add(1, Ordering::SeqCst) < 100 {
                        yield_now().await;
                    }
                };
                let exchange = comm.start((), |comm, ()| comm.barrier());
                let ((), (_, result)) = tokio::join!(serve, exchange);
                result.unwrap();
            });
        })
        .unwrap();
    });
}

#[test]
fn communicators_are_driven_side_by_side() {
    watched("side by side", || {
        local::run(3, |mut comm| {
            let comms = comm.for_threads(5).unwrap();
            runtime(2).block_on(async {
                let mut tasks = JoinSet::new();
                for (number, mut own) in (0..).zip(comms) {
                    tasks.spawn(async move {
                        for turn in 0..10 {
                            assert_eq!(sum(&mut own, number * turn).await.unwrap(), 3 * number * turn);
                        }
                    });
                }
                while let Some(done) = tasks.join_next().await {
                    done.unwrap();
                }
            });
        })
        .unwrap();
    });
}

/// A future that is dropped before it is polled is no call; later, the call is completed without it.
#[test]
fn calls_are_dropped_at_every_point() {
    watched("dropped", || {
        local::run(3, |mut comm| {
            runtime(1).block_on(async {
                for polls in 0..4 {
                    let mut called = Box::pin(sum(&mut comm, 1));
                    for _ in 0..polls {
                        if called.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                            break;
                        }
                    }
                    drop(called);
                    assert_eq!(sum(&mut comm, 2).await.unwrap(), 6, "after {polls} polls");
                }
                let mut request = comm.request(5, |comm, value| comm.allreduce_one(*value, Sum)).unwrap();
                request.start().unwrap();
                // Dropped by the timeout, the wait is repeated.
                let result = match timeout(Duration::ZERO, request.finished()).await {
                    Ok(result) => result,
                    Err(_) => request.finished().await,
                };
                assert_eq!(result.unwrap(), 15);
            });
            comm.close().unwrap();
        })
        .unwrap();
    });
}

#[test]
fn calls_lose_a_race_and_are_awaited_again() {
    watched("select", || {
        local::run(2, |mut comm| {
            runtime(2).block_on(async {
                let late = comm.rank() == 1;
                if late {
                    sleep(Duration::from_millis(40)).await;
                }
                let mut exchange = comm.start(vec![7; 9], |comm, buffer| comm.broadcast(buffer, 1));
                let (mut ticks, mut done) = (0, None);
                while done.is_none() {
                    tokio::select! {
                        biased;
                        ended = &mut exchange => done = Some(ended),
                        () = sleep(Duration::from_millis(2)) => ticks += 1,
                    }
                }
                let (buffer, result) = done.unwrap();
                result.unwrap();
                assert_eq!(buffer, [7; 9]);
                assert!(late || ticks > 0, "the timer did not run beside the call");
            });
        })
        .unwrap();
    });
}

/// The calls are completed by the thread that makes them, though the tasks that wait for them are
/// gone.
#[test]
fn runtime_is_shut_down_with_calls_under_way() {
    watched("shut down", || {
        let through = Arc::new(AtomicUsize::new(0));
        local::run(3, |mut comm| {
            let runtime = runtime(2);
            for turn in 0..5 {
                let through = Arc::clone(&through);
                let pending = comm.start(vec![turn; 4], move |comm, buffer| {
                    comm.broadcast(buffer, 0)?;
                    through.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
                runtime.spawn(pending);
            }
            runtime.shutdown_background();
            assert_eq!(comm.start(4, |comm, value| comm.allreduce_one(*value, Sum)).wait().1.unwrap(), 12);
        })
        .unwrap();
        assert_eq!(through.load(Ordering::SeqCst), 15);
    });
}

#[test]
fn failure_of_an_awaited_call_is_that_of_all() {
    watched("failure", || {
        let outcomes = local::run(3, |mut comm| {
            runtime(1).block_on(async {
                let rank = comm.rank();
                let ended = comm.start(vec![rank], move |comm, buffer| {
                    if rank == 1 {
                        comm.abort("no paper");
                    }
                    comm.broadcast(buffer, 0).and_then(|()| comm.barrier())
                });
                let (buffer, result) = ended.await;
                assert_eq!(buffer.len(), 1);
                result.unwrap_err()
            })
        });
        for error in outcomes.unwrap() {
            assert_eq!(error.culprit().map(|rank| rank.index()), Some(1), "{error}");
        }
    });
}
