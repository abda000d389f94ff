//! Parts of communicators.

use std::thread;

use necklace::collective::Collective;

use super::definitions::{allgather, alltoall, broadcast, composition, everything};
use crate::jobs::{self, on, watched};

pub(super) fn rows_and_columns_of_a_torus_are_rings() {
    watched("4 x 8", || {
        on("torus:4x8")
            .run(|mut comm| {
                let (row, column) = (comm.rank() as u32 / 8, comm.rank() as u32 % 8);
                let mut along = comm.split(row, 0).unwrap();
                let mut across = comm.split(column, 0).unwrap();
                assert_eq!((along.topology().text().as_str(), along.size()), ("ring:8", 8));
                assert_eq!((across.topology().text().as_str(), across.size()), ("ring:4", 4));
                assert_eq!((along.rank(), across.rank()), (column as usize, row as usize));
                for part in [&mut along, &mut across] {
                    part.choose("alltoall", "ring").unwrap();
                    everything::<u64>(part, 3);
                    composition(part, 4);
                    let proof = part.prove(&Collective::Alltoall, 8).unwrap();
                    assert!(proof.contention_free);
                }
                // The members of a part: column numbers along a row, and row numbers along a
                // column.
                let mut whole = vec![0; along.size()];
                along.allgather(&[comm.rank()], &mut whole).unwrap();
                assert!(whole.iter().enumerate().all(|(i, &rank)| rank == 8 * row as usize + i));
                everything::<u8>(&mut comm, 2);
            })
            .unwrap();
    });
}

pub(super) fn planes_of_64_ranks_exchange_as_tori() {
    watched("4 x 4 x 4", || {
        on("torus:4x4x4")
            .run(|mut comm| {
                for shift in [0, 2, 4] {
                    // The planes across one of the three dimensions, numbered by their coordinate
                    // in it.
                    let plane = (comm.rank() >> shift & 3) as u32;
                    let mut plane = comm.split(plane, 0).unwrap();
                    assert_eq!(plane.topology().text(), "torus:4x4");
                    plane.choose("alltoall", "torus-exchange").unwrap();
                    plane.choose("alltoallv", "torus-exchange").unwrap();
                    alltoall::<u64>(&mut plane, 2);
                    let chosen = plane.explain(&Collective::Alltoall, 16).unwrap();
                    assert_eq!(chosen.algorithm.name(), "torus-exchange");
                    let line = (plane.rank() / 4) as u32;
                    let mut line = plane.split(line, 0).unwrap();
                    assert_eq!(line.topology().text(), "ring:4");
                    everything::<u8>(&mut line, 1);
                    everything::<u8>(&mut plane, 1);
                }
            })
            .unwrap();
    });
}

pub(super) fn rank_without_a_colour_is_in_no_part() {
    watched("none", || {
        jobs::run(7, |mut comm| {
            let me = comm.rank();
            if me % 3 == 1 {
                comm.split_undefined().unwrap();
            } else {
                let mut part = comm.split(me as u32 % 3, 0).unwrap();
                assert_eq!((part.size(), part.rank()), (if me % 3 == 0 { 3 } else { 2 }, me / 3));
                everything::<u64>(&mut part, 2);
            }
            everything::<u64>(&mut comm, 2);
            comm.split_undefined().unwrap();
            comm.barrier().unwrap();
        })
        .unwrap();
    });
}

pub(super) fn keys_order_the_ranks_and_equal_keys_keep_their_order() {
    watched("keys", || {
        on("ring:6")
            .run(|mut comm| {
                let me = comm.rank();
                let mut back = comm.split(7, -(me as i64)).unwrap();
                assert_eq!((back.rank(), back.topology().text().as_str()), (5 - me, "ring:6"));
                everything::<u64>(&mut back, 3);
                let mut order = vec![0; 6];
                back.allgather(&[me], &mut order).unwrap();
                assert_eq!(order, [5, 4, 3, 2, 1, 0]);
                let key = [i64::MAX, i64::MIN, 0, 0, i64::MIN, -1][me];
                let mut part = comm.split(u32::MAX, key).unwrap();
                part.allgather(&[me], &mut order).unwrap();
                assert_eq!(order, [1, 4, 5, 2, 3, 0]);
                everything::<u64>(&mut part, 3);
            })
            .unwrap();
    });
}

pub(super) fn unlinked_parts_have_a_complete_network() {
    watched("even and odd", || {
        on("ring:8")
            .run(|mut comm| {
                let mut half = comm.split(comm.rank() as u32 % 2, 0).unwrap();
                assert_eq!(half.topology().text(), "complete:4");
                everything::<u64>(&mut half, 3);
                let mut alone = comm.split(comm.rank() as u32, 0).unwrap();
                assert_eq!((alone.rank(), alone.size()), (0, 1));
                everything::<u64>(&mut alone, 3);
            })
            .unwrap();
    });
}

pub(super) fn nested_parts_work_concurrently_and_outlive_the_whole() {
    watched("nested", || {
        jobs::run(12, |mut comm| {
            let me = comm.rank() as u32;
            let mut thirds = comm.split(me / 4, 0).unwrap();
            let mut halves = thirds.split(me % 2, 0).unwrap();
            let mut singles = halves.split(me, 0).unwrap();
            let mut others = comm.split(me % 4, -i64::from(me)).unwrap();
            for turn in 0..4 {
                allgather::<u64>(&mut others, turn);
                alltoall::<u64>(&mut thirds, turn);
                broadcast::<u64>(&mut halves, turn, turn % 2);
                composition(&mut singles, turn);
                everything::<u8>(&mut comm, turn);
            }
            drop(comm);
            drop(thirds);
            everything::<u64>(&mut halves, 2);
            everything::<u64>(&mut others, 2);
        })
        .unwrap();
    });
}

pub(super) fn two_threads_call_two_communicators_in_opposite_orders() {
    for ranks in [2, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let (mut one, mut other) = (comm.split(0, 0).unwrap(), comm);
                thread::scope(|scope| {
                    let mut first = || (0..15).for_each(|turn| everything::<u64>(&mut one, turn % 4));
                    let even = other.rank() % 2 == 0;
                    let mut second = || (0..15).for_each(|turn| everything::<u64>(&mut other, 4 - turn % 4));
                    if even {
                        scope.spawn(first);
                        second();
                    } else {
                        scope.spawn(second);
                        first();
                    }
                });
            })
            .unwrap();
        });
    }
}

pub(super) fn duplicate_keeps_network_and_choices_with_own_calls() {
    watched("dup", || {
        on("torus:3x4")
            .choose("alltoall", "ring")
            .run(|mut comm| {
                let mut twin = comm.dup().unwrap();
                assert_eq!((twin.rank(), twin.size(), twin.topology().text()), (comm.rank(), 12, "torus:3x4".into()));
                assert_eq!(twin.explain(&Collective::Alltoall, 8).unwrap().algorithm.name(), "ring");
                everything::<u64>(&mut twin, 2);
                // In opposite orders, each by a thread of its own.
                thread::scope(|scope| {
                    scope.spawn(|| everything::<u64>(&mut twin, 3));
                    everything::<u64>(&mut comm, 3);
                });
                let mut of_twin = twin.dup().unwrap();
                drop((comm, twin));
                everything::<u64>(&mut of_twin, 2);
            })
            .unwrap();
    });
}
