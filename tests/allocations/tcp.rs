//! What was executed before allocates nothing over TCP, in whichever thread. Alone in its process,
//! since all of it counts.

#![allow(clippy::unwrap_used)]

mod counting;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use necklace::Communicator;
use necklace::op::Sum;
use necklace_tests::jobs::Backend;
use necklace_tests::jobs::tcp::Tcp;

/// A rank that waits this long asks what the others do, and the answers are text.
const LONG: Duration = Duration::from_millis(100);

/// Calls that are counted together.
const CALLS: usize = 12;

/// The ranks; whether one of them had to wait for long; and what was counted. They decide alike, so
/// that none waits for one that is no longer there.
struct Together {
    all: Barrier,
    long: AtomicBool,
    counted: AtomicU64,
}

/// Does something again and again on every rank; from the second time on nothing may be allocated,
/// by no thread. A thread that has only begun, of the test's or of a rank's, may allocate once; not
/// while all is done anew.
fn settles(together: &Together, comm: &mut Communicator, what: &str, mut call: impl FnMut(&mut Communicator)) {
    let Together { all, long, counted } = together;
    call(comm);
    let mut series = [0, 0];
    for series in &mut series {
        all.wait();
        counted.store(0, Ordering::SeqCst);
        for _ in 0..CALLS {
            // No rank is in the call when the count is taken before and after it.
            long.store(false, Ordering::SeqCst);
            all.wait();
            let (before, begun) = (counting::all(), Instant::now());
            all.wait();
            call(comm);
            long.fetch_or(begun.elapsed() > LONG, Ordering::SeqCst);
            all.wait();
            let allocated = counting::all() - before;
            if comm.rank() == 0 && !long.load(Ordering::SeqCst) {
                counted.fetch_add(allocated, Ordering::SeqCst);
            }
            all.wait();
        }
        *series = counted.load(Ordering::SeqCst);
        if *series == 0 {
            return;
        }
    }
    panic!("{what}: {series:?} allocations in {CALLS} calls of all ranks, each time");
}

#[test]
fn plans_and_repeated_calls_over_tcp_allocate_nothing() {
    for (topology, algorithm) in
        [("complete:2", "direct"), ("complete:5", "ring"), ("torus:4x4", "direct"), ("torus:4x4", "torus-exchange")]
    {
        let job =
            Tcp.job(necklace_tests::topology(topology)).choose("alltoall", algorithm).choose("alltoallv", algorithm);
        let size = necklace_tests::topology(topology).nodes();
        let together = Together { all: Barrier::new(size), long: AtomicBool::new(false), counted: AtomicU64::new(0) };
        job.run(|mut comm| {
            // Some messages go on credit, some wait until their receiver is ready for them.
            for elements in [0, 3, 1000, 10_000] {
                let (send, mut receive) = (vec![1_u64; elements * size], vec![0_u64; elements * size]);
                let case = format!("{algorithm} on {topology}, {elements} elements");
                let settles = |comm: &mut _, what: &str, call: &mut dyn FnMut(&mut Communicator)| {
                    settles(&together, comm, &format!("{what}: {case}"), call);
                };
                let mut plan = comm.alltoall_init::<u64>(elements).unwrap();
                settles(&mut comm, "a plan", &mut |comm| plan.execute(comm, &send, &mut receive).unwrap());
                settles(&mut comm, "alltoall", &mut |comm| comm.alltoall(&send, &mut receive).unwrap());
                settles(&mut comm, "allgather", &mut |comm| {
                    comm.allgather(&send[..elements], &mut receive).unwrap();
                });
                settles(&mut comm, "allreduce", &mut |comm| comm.allreduce(&send, &mut receive, Sum).unwrap());
                // The thread that makes the call counts too.
                let buffers = (send.clone(), receive.clone());
                let mut request = comm.request(buffers, |comm, (send, receive)| comm.alltoall(send, receive)).unwrap();
                settles(&mut comm, "a request", &mut |_| {
                    request.start().unwrap();
                    request.wait().unwrap();
                });
                let counts: Vec<usize> = (0..size).map(|peer| elements * ((peer + comm.rank()) % 3) / 2).collect();
                let places: Vec<usize> = (0..size).map(|peer| elements * peer).collect();
                let mut plan = comm.alltoallv_init::<u64>((&counts, &places), (&counts, &places)).unwrap();
                settles(&mut comm, "alltoallv", &mut |comm| plan.execute(comm, &send, &mut receive).unwrap());
                let root = size - 1;
                let is_root = comm.rank() == root;
                let mut plan = comm.reduce_init::<u64>(elements, root, Sum).unwrap().in_place(&mut comm).unwrap();
                settles(&mut comm, "in place and from a root", &mut |comm| {
                    comm.alltoall_in_place(&mut receive).unwrap();
                    comm.reduce_scatter_in_place(&mut receive, Sum).unwrap();
                    comm.gather(&send[..elements], is_root.then_some(&mut receive[..]), root).unwrap();
                    comm.scatter(is_root.then_some(&send[..]), &mut receive[..elements], root).unwrap();
                    plan.execute_in_place(comm, &mut receive[..elements]).unwrap();
                    comm.reduce_one(1, root, Sum).unwrap();
                    comm.broadcast_one(is_root.then_some(1), root).unwrap();
                    comm.exscan_one(1, Sum).unwrap();
                });
            }
        })
        .unwrap();
    }
}
