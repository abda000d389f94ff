//! Persistent plans.

use super::definitions::{block, everything, poisoned, same};
use crate::jobs::{self, on, watched};

pub(super) fn plan_is_executed_repeatedly_between_other_calls() {
    for (topology, algorithm) in [
        ("complete:1", "direct"),
        ("complete:3", "ring"),
        ("torus:4x4", "torus-exchange"),
        ("hypercube:3", "direct-xor"),
    ] {
        watched(algorithm, move || {
            on(topology)
                .choose("alltoall", algorithm)
                .run(|mut comm| {
                    let (me, size) = (comm.rank(), comm.size());
                    let mut exchange = comm.alltoall_init::<u64>(5).unwrap();
                    let mut gather = comm.allgather_init::<f64>(3).unwrap();
                    assert!(exchange.description().contains(algorithm) && exchange.description().contains(topology));
                    // Later choices and the cache do not affect a plan.
                    comm.choose("alltoall", "direct").unwrap();
                    let (mut received, mut gathered) = (poisoned(5 * size), poisoned(3 * size));
                    for turn in 0..5 {
                        let send: Vec<u64> = (0..size).flat_map(|to| block(me, to + 64 * turn, 5)).collect();
                        let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me + 64 * turn, 5)).collect();
                        exchange.execute(&mut comm, &send, &mut received).unwrap();
                        same(&comm, "planned alltoall", &received, &wanted);
                        everything::<u8>(&mut comm, turn);
                        gather.execute(&mut comm, &block(me, turn, 3), &mut gathered).unwrap();
                        let wanted: Vec<f64> = (0..size).flat_map(|from| block(from, turn, 3)).collect();
                        same(&comm, "planned allgather", &gathered, &wanted);
                    }
                })
                .unwrap();
        });
    }
}

pub(super) fn plan_and_direct_call_of_equal_sizes_agree() {
    watched("mixed", || {
        jobs::run(4, |mut comm| {
            let me = comm.rank();
            let send: Vec<u64> = (0..4).flat_map(|to| block(me, to, 2)).collect();
            let wanted: Vec<u64> = (0..4).flat_map(|from| block(from, me, 2)).collect();
            let mut receive = poisoned(8);
            if me % 2 == 0 {
                comm.alltoall_init(2).unwrap().execute(&mut comm, &send, &mut receive).unwrap();
            } else {
                comm.alltoall(&send, &mut receive).unwrap();
            }
            same(&comm, "half planned", &receive, &wanted);
        })
        .unwrap();
    });
}

pub(super) fn plans_of_empty_blocks_work() {
    watched("nothing", || {
        on("torus:4x4")
            .run(|mut comm| {
                comm.choose("alltoall", "torus-exchange").unwrap();
                comm.alltoall_init::<u64>(0).unwrap().execute(&mut comm, &[], &mut []).unwrap();
                comm.alltoall_init::<()>(3).unwrap().execute(&mut comm, &[(); 48], &mut [(); 48]).unwrap();
                comm.allgather_init::<u64>(0).unwrap().execute(&mut comm, &[], &mut []).unwrap();
            })
            .unwrap();
    });
}
