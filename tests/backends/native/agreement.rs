//! A library is not called before all members are known to call the same.

use necklace::op::{Sum, by};
use necklace::transport::Cause;
use necklace::{Communicator, Error, Options, Strided};

use necklace_tests::jobs::Job;
use necklace_tests::jobs::native::{Calls, offering};
use necklace_tests::suites::definitions::{allgather, alltoall};
use necklace_tests::suites::failures::{POISON, failure, is_dead, one_failure, run};
use necklace_tests::{topology, watched};

/// Runs a job of this many ranks, and returns its native calls.
fn noted(ranks: usize) -> (Job, Calls) {
    let calls = Calls::default();
    (offering(topology(&format!("complete:{ranks}")), &calls, |_| true), calls)
}

fn numbers(calls: &Calls) -> Vec<u64> {
    calls.of_all().into_iter().map(|(number, _)| number).collect()
}

fn exchange(comm: &mut Communicator, elements: usize) -> Result<(), Error> {
    let send = vec![comm.rank() as u64; elements * comm.size()];
    let mut receive = vec![POISON; send.len()];
    comm.alltoall(&send, &mut receive)?;
    assert!(receive.iter().enumerate().all(|(i, &from)| from == (i / elements) as u64), "{receive:?}");
    Ok(())
}

#[test]
fn call_is_agreed_on_once_even_if_its_plan_is_dropped() {
    for cache in [(32, usize::MAX), (1, 0)] {
        watched(&format!("{cache:?}"), move || {
            let (job, calls) = noted(4);
            job.options(Options::default().cache(cache.0, cache.1))
                .run(|mut comm| {
                    (0..3).for_each(|_| exchange(&mut comm, 2).unwrap());
                    comm.alltoall_in_place(&mut [1_u64; 8]).unwrap();
                    let mut plan = comm.alltoall_init::<u64>(2).unwrap();
                    (0..2).for_each(|_| plan.execute(&mut comm, &[1; 8], &mut [0; 8]).unwrap());
                    exchange(&mut comm, 3).unwrap();
                    exchange(&mut comm, 2).unwrap();
                })
                .unwrap();
            assert_eq!(numbers(&calls), [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(calls.agreed(), [1, 4, 7]);
        });
    }
}

#[test]
fn members_make_plans_at_different_times() {
    watched("plans", || {
        let (job, calls) = noted(5);
        job.run(|mut comm| {
            for _ in 0..5 {
                if comm.rank() % 2 == 0 {
                    exchange(&mut comm, 2).unwrap();
                } else {
                    let (send, mut receive) = ([comm.rank() as u64; 10], [POISON; 10]);
                    comm.alltoall_init(2).unwrap().execute(&mut comm, &send, &mut receive).unwrap();
                }
            }
        })
        .unwrap();
        assert_eq!(numbers(&calls), [1, 2, 3, 4, 5]);
        assert_eq!(calls.agreed(), [1]);
    });
}

#[test]
fn forgotten_agreement_is_repeated_by_all_members() {
    watched("long ago", || {
        let (job, calls) = noted(2);
        job.options(Options::default().cache(1, 0))
            .run(|mut comm| {
                let mut plan = comm.alltoall_init::<u64>(1).unwrap();
                let mut once = |comm: &mut Communicator| {
                    if comm.rank() == 0 {
                        plan.execute(comm, &[1, 2], &mut [0, 0]).unwrap();
                    } else {
                        comm.alltoall(&[1_u64, 2], &mut [0, 0]).unwrap();
                    }
                };
                once(&mut comm);
                (0..1100).for_each(|bytes| comm.broadcast(&mut vec![1_u8; bytes], 0).unwrap());
                once(&mut comm);
                once(&mut comm);
            })
            .unwrap();
        let numbers = numbers(&calls);
        assert_eq!(numbers, (1..=1103).collect::<Vec<_>>());
        assert_eq!(calls.agreed(), (1..=1102).collect::<Vec<_>>());
    });
}

#[test]
fn custom_operation_with_a_known_name_is_not_native() {
    watched("names", || {
        let (job, calls) = noted(4);
        job.run(|mut comm| {
            let mine = [comm.rank() as u64 + 1];
            let first = by("sum", |left: u64, _| left);
            for _ in 0..2 {
                let mut result = [0];
                comm.allreduce(&mine, &mut result, Sum).unwrap();
                assert_eq!(result, [10]);
                comm.allreduce(&mine, &mut result, first).unwrap();
                assert_eq!(result, [1]);
                comm.scan(&mine, &mut result, Sum).unwrap();
                assert_eq!(result, [(1..=mine[0]).sum::<u64>()]);
                comm.scan(&mine, &mut result, first).unwrap();
                assert_eq!(result, [1]);
            }
        })
        .unwrap();
        let predefined = |(_, words): &(u64, std::sync::Arc<str>)| words.contains("by native, predefined on");
        assert_eq!(calls.of_all().iter().map(predefined).collect::<Vec<_>>(), [true, false].repeat(4));
    });
}

/// A call, and a word of what an error must say of it.
type Call = (&'static str, fn(&mut Communicator) -> Result<(), Error>);

/// All different to a library, though the messages of a schedule might be the same.
const CALLS: [Call; 13] = [
    ("alltoall of blocks of 1 x 8 bytes (u64) among 3 ranks by native on", |comm| exchange(comm, 1)),
    ("alltoall of blocks of 1 x 8 bytes (u64) among 3 ranks by native, in place", |comm| {
        comm.alltoall_in_place(&mut [1_u64; 3])
    }),
    ("by direct", |comm| {
        comm.choose("alltoall", "direct")?;
        exchange(comm, 1)
    }),
    ("alltoallv", |comm| comm.alltoallv(&[1_u64; 3], (&[1; 3], &[0, 1, 2]), &mut [0; 3], (&[1; 3], &[0, 1, 2]))),
    ("counts of alltoallv", |comm| {
        let mut plan = comm.alltoallv_init::<u64>((&[1; 3], &[0, 1, 2]), (&[1; 3], &[0, 1, 2]))?;
        plan.execute(comm, &[1; 3], &mut [0; 3])
    }),
    ("counts of alltoallw", |comm| {
        let places = [0, 1, 2].map(|i| [Strided::run(i, 1)]);
        let mut plan = comm.alltoallw_init::<u64>(&places, &places)?;
        plan.execute(comm, &[1; 3], &mut [0; 3])
    }),
    ("gatherv with root 0", |comm| {
        let counts: &[usize] = if comm.rank() == 0 { &[1; 3] } else { &[] };
        let mut plan = comm.gatherv_init::<u64>(1, counts, 0)?;
        plan.execute(comm, &[1], &mut [0; 3])
    }),
    ("allgatherv of counts [1, 1, 1] of 8-byte elements (u64) among 3 ranks by native on", |comm| {
        comm.allgatherv(&[1_u64], &mut [0; 3], &[1; 3])
    }),
    ("allgatherv of counts [1, 1, 1] of 8-byte elements (u64) among 3 ranks by native, in place on", |comm| {
        comm.allgatherv_in_place(&mut [1_u64; 3], &[1; 3])
    }),
    (
        "reduce_scatterv (sum) of counts [1, 1, 1] of 8-byte elements (u64) among 3 ranks by native, predefined",
        |comm| comm.reduce_scatterv(&[1_u64; 3], &[1; 3], &mut [0], Sum),
    ),
    ("native, predefined", |comm| comm.allreduce(&[1_u64], &mut [0], Sum)),
    ("by native on", |comm| comm.allreduce(&[1_u64], &mut [0], by("sum", |left, right| left + right))),
    ("barrier", Communicator::barrier),
];

#[test]
fn different_native_calls_are_detected_before_they_start() {
    for (i, most) in CALLS.into_iter().enumerate() {
        for (j, odd) in CALLS.into_iter().enumerate().filter(|(j, _)| *j != i) {
            let dissenter = (i + j) % 3;
            watched(&format!("rank {dissenter} calls {} ({j}), the others {} ({i})", odd.0, most.0), move || {
                let (job, calls) = noted(3);
                let outcomes = run(job, |mut comm| {
                    let call = if comm.rank() == dissenter { odd } else { most };
                    let outcome = call.1(&mut comm).and_then(|()| comm.barrier());
                    is_dead(&mut comm, &failure(&outcome).clone());
                    outcome
                });
                let failure = one_failure(&outcomes);
                let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
                let says = |what| call_a.contains(what) || call_b.contains(what);
                assert!(says(odd.0), "{:?} is not named in {failure}", odd.0);
                assert!(says(most.0) || says("barrier"), "{:?} is not named in {failure}", most.0);
                assert_eq!(numbers(&calls), [0; 0], "the library was called");
            });
        }
    }
}

#[test]
fn plans_with_different_counts_are_different_calls() {
    watched("order", || {
        let (job, calls) = noted(3);
        let outcomes = run(job, |mut comm| {
            let places = [0, 1, 2];
            let mut plan = || comm.alltoallv_init::<u64>((&[1; 3], &places), (&[1; 3], &places)).unwrap();
            let mut plans = [plan(), plan()];
            assert_ne!(plans[0].description(), plans[1].description());
            let first = usize::from(comm.rank() == 1);
            plans[first].execute(&mut comm, &[1; 3], &mut [0; 3])
        });
        let failure = one_failure(&outcomes);
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        assert_eq!(numbers(&calls), [0; 0]);
    });
}

/// The plans are cached by the operation as well, not by its name alone.
#[test]
fn scattered_operation_with_a_known_name_is_not_native() {
    watched("names", || {
        let (job, calls) = noted(4);
        job.run(|mut comm| {
            let (send, me) = ([comm.rank() as u64 + 1; 10], comm.rank());
            let (counts, mut result) = ([1, 2, 3, 4], [0; 4]);
            for _ in 0..2 {
                comm.reduce_scatterv(&send, &counts, &mut result[..=me], Sum).unwrap();
                assert_eq!(result[me], 10);
                let first = by("sum", |left: u64, _| left).commutative();
                comm.reduce_scatterv(&send, &counts, &mut result[..=me], first).unwrap();
                assert!((1..=4).contains(&result[me]));
            }
        })
        .unwrap();
        let predefined = |(_, words): &(u64, std::sync::Arc<str>)| words.contains("by native, predefined on");
        assert_eq!(calls.of_all().iter().map(predefined).collect::<Vec<_>>(), [true, false].repeat(2));
        assert_eq!(calls.agreed(), [1, 2]);
    });
}

#[test]
fn disagreeing_counts_are_detected_before_a_native_call() {
    for planned in [false, true] {
        watched(&format!("planned: {planned}"), move || {
            let (job, calls) = noted(3);
            let outcomes = run(job.choose("alltoallv", "native"), |mut comm| {
                // Rank 2 awaits more of rank 0 than that sends.
                let awaited = if comm.rank() == 2 { [2, 1, 1] } else { [1; 3] };
                let (send, mut receive, places) = ([1_u64; 3], [POISON; 6], [0, 2, 4]);
                let outcome = if planned {
                    let plan = comm.alltoallv_init::<u64>((&[1; 3], &[0, 1, 2]), (&awaited, &places));
                    plan.and_then(|mut plan| plan.execute(&mut comm, &send, &mut receive))
                } else {
                    comm.alltoallv(&send, (&[1; 3], &[0, 1, 2]), &mut receive, (&awaited, &places))
                };
                assert_eq!(receive, [POISON; 6]);
                outcome
            });
            let failure = one_failure(&outcomes);
            let Cause::Length { from, to, expected, found, .. } = failure.cause else { panic!("{failure}") };
            assert_eq!((from.index(), to.index(), expected, found), (0, 2, 16, 8), "{failure}");
            assert_eq!(numbers(&calls), [0; 0]);
        });
    }
}

#[test]
fn counts_that_differ_from_the_roots_are_detected_before_a_call() {
    type Call = fn(&mut Communicator, usize) -> Result<(), Error>;
    let calls: [(&str, Call); 2] = [
        ("gatherv", |comm, own| {
            let (me, mut all) = (comm.rank(), [POISON; 6]);
            let counts: &[usize] = if me == 1 { &[2; 3] } else { &[] };
            comm.gatherv(&vec![1_u64; own], (me == 1).then_some(&mut all[..]), counts, 1)
        }),
        ("scatterv", |comm, own| {
            let me = comm.rank();
            let counts: &[usize] = if me == 1 { &[2; 3] } else { &[] };
            comm.scatterv((me == 1).then_some(&[1_u64; 6][..]), counts, &mut vec![POISON; own], 1)
        }),
    ];
    for (name, call) in calls {
        watched(name, move || {
            let (job, calls) = noted(3);
            let outcomes = run(job.choose(name, "native"), |mut comm| {
                let own = if comm.rank() == 2 { 3 } else { 2 };
                call(&mut comm, own).and_then(|()| comm.barrier())
            });
            let failure = one_failure(&outcomes);
            assert!(matches!(failure.cause, Cause::Length { .. }), "{failure}");
            assert_eq!(numbers(&calls), [0; 0]);
        });
    }
}

#[test]
fn start_and_split_use_messages_whatever_is_chosen() {
    watched("split", || {
        let (job, calls) = noted(4);
        let job = job.choose("allgather", "native").choose("broadcast", "native").choose("barrier", "native");
        job.run(|mut comm| {
            let mut half = comm.split(comm.rank() as u32 / 2, 0).unwrap();
            assert_eq!(calls.of_all(), []);
            allgather::<u64>(&mut half, 2);
            alltoall::<u64>(&mut half, 2);
            half.barrier().unwrap();
            // In the whole, after all have seen that nothing was.
            allgather::<u64>(&mut comm, 2);
        })
        .unwrap();
        assert_eq!(numbers(&calls), [2]);
        assert_eq!(calls.agreed(), [2]);
    });
}
