//! Persistent plans.

use necklace::communicator::Counts;
use necklace::error::ArgumentError;
use necklace::op::{Op, Sum, by};
use necklace::permutation::BitMap;
use necklace::{Communicator, Error, Persistent, Strided};

use super::definitions::{Dice, Element, block, compose, element, everything, poisoned, same};
use super::varying::{Side, count, side};
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

/// Plans all moves of blocks of different lengths in place and executes each plan twice, against
/// their definitions.
fn moves_in_place<T: Element>(comm: &mut Communicator, seed: u64) {
    let (me, size) = (comm.rank(), comm.size());
    // All ranks know the counts; each has places of its own, with gaps.
    let mut dice = Dice(seed.wrapping_mul(41).wrapping_add(me as u64));
    let counts: Vec<usize> = (0..size).map(|rank| count(seed, rank, size)).collect();
    let all = side(counts.clone(), &mut dice);
    let (begin, own) = (all.displacements[me], counts[me]);
    let filled = |blocks: &Side, of: &dyn Fn(usize) -> Vec<T>| {
        let mut buffer = poisoned(blocks.length);
        for (rank, (&count, &begin)) in blocks.counts.iter().zip(&blocks.displacements).enumerate() {
            buffer[begin..begin + count].copy_from_slice(&of(rank)[..count]);
        }
        buffer
    };
    let with_own = |of: &dyn Fn(usize) -> Vec<T>| {
        let mut buffer = poisoned(all.length);
        buffer[begin..begin + own].copy_from_slice(&of(me)[..own]);
        buffer
    };

    let mut plan = comm.allgatherv_init((&counts, &all.displacements)).unwrap().in_place(comm).unwrap();
    for turn in 0..2 {
        let of = |from| block(from, turn, 12);
        let mut buffer = with_own(&of);
        plan.execute_in_place(comm, &mut buffer).unwrap();
        same(comm, "planned allgatherv in place", &buffer, &filled(&all, &of));
    }

    for root in [0, size / 2, size - 1] {
        let is_root = me == root;
        let at_root = if is_root { Counts::at(&counts, &all.displacements) } else { Counts::from(&[]) };
        let mut gather = comm.gatherv_init(own, at_root, root).unwrap().in_place(comm).unwrap();
        let mut scatter = comm.scatterv_init(at_root, own, root).unwrap().in_place(comm).unwrap();
        for turn in 0..2 {
            let of = |rank| block(rank, root + 100 * turn, 12);
            let mut wanted = if is_root { filled(&all, &of) } else { block(me, root + 100 * turn, own) };
            let mut buffer = if is_root { with_own(&of) } else { wanted.clone() };
            // A buffer may be longer than the plan's.
            wanted.extend(poisoned::<T>(turn));
            buffer.extend(poisoned::<T>(turn));
            gather.execute_in_place(comm, &mut buffer).unwrap();
            same(comm, &format!("planned gatherv in place to {root}"), &buffer, &wanted);
            let mut buffer = if is_root { wanted.clone() } else { poisoned(own + turn) };
            scatter.execute_in_place(comm, &mut buffer).unwrap();
            same(comm, &format!("planned scatterv in place from {root}"), &buffer, &wanted);
        }
    }

    // What two ranks have for each other has one length. The places in a send buffer do not matter.
    let counts: Vec<usize> = (0..size).map(|peer| count(seed, me.min(peer), me.max(peer))).collect();
    let (elsewhere, blocks) = (side(counts.clone(), &mut dice), side(counts.clone(), &mut dice));
    let plan = comm.alltoallv_init((&counts, &elsewhere.displacements), (&counts, &blocks.displacements));
    let mut plan = plan.unwrap().in_place(comm).unwrap();
    for turn in 0..2 {
        let mut buffer = filled(&blocks, &|to| block(me, to + 100 * turn, 12));
        plan.execute_in_place(comm, &mut buffer).unwrap();
        same(comm, "planned alltoallv in place", &buffer, &filled(&blocks, &|from| block(from, me + 100 * turn, 12)));
    }

    // The columns of a matrix, from the second row on.
    let columns: Vec<Strided> = (0..size).map(|peer| Strided::matrix(size + peer, counts[peer], 1, size)).collect();
    let rows: Vec<Strided> = counts.iter().map(|&count| Strided::run(0, count)).collect();
    let mut plan = comm.alltoallw_init(&rows, &columns).unwrap().in_place(comm).unwrap();
    for turn in 0..2 {
        let of = |of: &dyn Fn(usize, usize) -> T| {
            let mut matrix = poisoned(13 * size);
            for (peer, &count) in counts.iter().enumerate() {
                (0..count).for_each(|i| matrix[(1 + i) * size + peer] = of(peer, i));
            }
            matrix
        };
        let mut matrix = of(&|to, i| element(me, to + 100 * turn, i));
        plan.execute_in_place(comm, &mut matrix).unwrap();
        let wanted = of(&|from, i| element(from, me + 100 * turn, i));
        same(comm, "planned alltoallw in place", &matrix, &wanted);
    }
}

/// Plans a reduction in place and executes it twice.
fn reduces_in_place(
    comm: &mut Communicator,
    seed: u64,
    op: impl Op<u64> + Copy + 'static,
    combine: fn(u64, u64) -> u64,
) {
    let (me, size) = (comm.rank(), comm.size());
    let counts: Vec<usize> = (0..size).map(|rank| count(seed, rank, size)).collect();
    let (begin, end): (usize, usize) = (counts[..me].iter().sum(), counts.iter().sum());
    let mut plan = comm.reduce_scatterv_init(&counts, op).unwrap().in_place(comm).unwrap();
    for turn in 0..2 {
        let mut buffer = block(me, turn, end + turn);
        plan.execute_in_place(comm, &mut buffer).unwrap();
        let combined = |i| (0..size).map(|from| element(from, turn, begin + i)).reduce(combine).unwrap();
        let wanted: Vec<u64> = (0..counts[me]).map(combined).collect();
        same(comm, "planned reduce_scatterv in place", &buffer[..counts[me]], &wanted);
    }
}

pub(super) fn plans_of_any_lengths_are_executed_in_place() {
    const CALLS: [&str; 5] = ["alltoallv", "allgatherv", "gatherv", "scatterv", "reduce_scatterv"];
    let algorithms: [(&str, [&str; 5]); 3] = [
        ("direct", ["direct"; 5]),
        ("relays", ["ring", "ring", "binomial", "binomial", "pairwise"]),
        ("native", ["native"; 5]),
    ];
    for ranks in [1, 2, 3, 5, 8] {
        // The first time, by whatever is chosen without a name.
        for chosen in std::iter::once(None).chain(algorithms.map(Some)) {
            let name = chosen.map_or("auto", |(name, _)| name);
            if name == "native" && !jobs::is_native() {
                continue;
            }
            watched(&format!("{ranks} ranks by {name}"), move || {
                let chosen = chosen.into_iter().flat_map(|(_, algorithms)| CALLS.into_iter().zip(algorithms));
                let job = chosen.fold(on(&format!("ring:{ranks}")), |job, (call, by)| job.choose(call, by));
                job.run(|mut comm| {
                    for seed in 0..3 {
                        moves_in_place::<u64>(&mut comm, seed);
                        moves_in_place::<[f32; 3]>(&mut comm, seed + 100);
                        reduces_in_place(&mut comm, seed, Sum, u64::wrapping_add);
                        reduces_in_place(&mut comm, seed, by("compose", compose), compose);
                    }
                    moves_in_place::<()>(&mut comm, 7);
                })
                .unwrap();
            });
        }
    }
}

pub(super) fn plan_and_direct_call_in_place_agree() {
    watched("mixed", || {
        let calls = ["alltoallv", "allgatherv", "gatherv", "scatterv", "reduce_scatterv"];
        let job = calls.into_iter().fold(on("ring:3"), |job, call| job.choose(call, "direct"));
        job.run(|mut comm| {
            let (me, counts) = (comm.rank(), [2; 3]);
            let planned = me == 1;
            let all: Vec<u64> = (0..3).flat_map(|rank| block(rank, 3, 2)).collect();
            let (mut buffer, mut part) = (all.clone(), block(me, 3, 2));
            let run = |plan: Result<Persistent<u64>, Error>, buffer: &mut [u64], comm: &mut Communicator| {
                plan.unwrap().in_place(comm).unwrap().execute_in_place(comm, buffer).unwrap();
            };
            if planned {
                run(comm.allgatherv_init(&counts), &mut buffer, &mut comm);
                run(comm.gatherv_init(2, &[], 2), &mut part, &mut comm);
                run(comm.scatterv_init(&[], 2, 0), &mut part, &mut comm);
                run(comm.alltoallv_init(&counts, &counts), &mut buffer, &mut comm);
                run(comm.reduce_scatterv_init(&counts, Sum), &mut buffer, &mut comm);
            } else {
                comm.allgatherv_in_place(&mut buffer, &counts).unwrap();
                comm.gatherv_in_place(if me == 2 { &mut buffer } else { &mut part }, &counts, 2).unwrap();
                comm.scatterv_in_place(if me == 0 { &mut buffer } else { &mut part }, &counts, 0).unwrap();
                comm.alltoallv_in_place(&mut buffer, &counts).unwrap();
                comm.reduce_scatterv_in_place(&mut buffer, &counts, Sum).unwrap();
            }
            assert_eq!(part, block::<u64>(me, 3, 2));
            // The exchange has left block i on rank i three times.
            let sum = |i| (0..3).map(|from| element(from, 3, i)).reduce(u64::wrapping_add).unwrap();
            let wanted: Vec<u64> = (0..2).map(sum).collect();
            same(&comm, "half planned", &buffer[..2], &wanted);
        })
        .unwrap();
    });
}

pub(super) fn mistakes_with_plans_in_place_are_refused() {
    watched("refused", || {
        jobs::run(3, |mut comm| {
            let (me, root) = (comm.rank(), 1);
            // One element at 4, then one at 0, then two at 7.
            let (counts, places) = ([1, 1, 2], [4, 0, 7]);
            let at_root = if me == root { Counts::at(&counts, &places) } else { Counts::from(&[]) };
            // What ranks i and j have for each other.
            let both: Vec<usize> = (0..3).map(|peer| (me + peer) % 3).collect();
            let blocks: Vec<Strided> = both.iter().zip([0, 3, 6]).map(|(&n, at)| Strided::run(at, n)).collect();
            let end = |blocks: &[Strided]| blocks.iter().filter_map(Strided::end).max().unwrap_or(0);
            let plans = [
                (comm.allgatherv_init::<u64>((&counts, &places)), 9),
                (comm.gatherv_init(counts[me], at_root, root), if me == root { 9 } else { counts[me] }),
                (comm.scatterv_init(at_root, counts[me], root), if me == root { 9 } else { counts[me] }),
                (comm.alltoallv_init(&both, (&both, &[0, 3, 6])), end(&blocks)),
                (comm.alltoallw_init(&blocks, &blocks), end(&blocks)),
                (comm.reduce_scatterv_init(&counts, Sum), 4),
            ];
            let mut buffer = [5_u64; 10];
            for (plan, length) in plans {
                // A plan in place may be planned in place again.
                let mut plan = plan.unwrap().in_place(&mut comm).unwrap().in_place(&mut comm).unwrap();
                let error = plan.execute_in_place(&mut comm, &mut buffer[..length - 1]).unwrap_err();
                let Some(ArgumentError::Length { what, expected, found, .. }) = error.argument() else {
                    panic!("{error}")
                };
                assert_eq!((*what, expected, *found), ("receive buffer", &format!("at least {length}"), length - 1));
                assert_eq!(buffer, [5; 10]);
                // No rank has sent anything.
                plan.execute_in_place(&mut comm, &mut buffer[..length]).unwrap();
                buffer = [5; 10];
            }

            let mut plan = comm.allgatherv_init::<u64>(&[1; 3]).unwrap();
            let error = plan.execute_in_place(&mut comm, &mut buffer).unwrap_err();
            assert!(matches!(error.argument(), Some(ArgumentError::Length { what: "send buffer", .. })), "{error}");
            let mut twin = comm.dup().unwrap();
            let error = plan.in_place(&mut twin).unwrap_err();
            assert!(matches!(error.argument(), Some(ArgumentError::Persistent { .. })), "{error}");

            let refused = |plan: Result<Persistent<u64>, Error>, comm: &mut Communicator, reason: &str| {
                let error = plan.unwrap().in_place(comm).unwrap_err();
                let Some(ArgumentError::NotInPlace { reason: found, .. }) = error.argument() else { panic!("{error}") };
                assert!(found.contains(reason), "{found}");
            };
            let (sent, received) = ([2, 2, 4], [2, 3, 6]);
            if me == 0 {
                comm.choose("alltoallv", "direct").unwrap();
                let plan = comm.alltoallv_init(&sent, &received);
                refused(plan, &mut comm, "2 elements go to rank 1 and 3 come from it");
                let from = sent.map(|count| Strided::run(0, count));
                let into = [Strided::run(0, 2), Strided::run(2, 3), Strided::run(5, 6)];
                let plan = comm.alltoallw_init(&from, &into);
                refused(plan, &mut comm, "2 elements go to rank 1 and 3 come from it");
            }
            let near = comm.neighbourhood();
            let ends = near.sources().len();
            let plans = [
                comm.neighbour_alltoall_init(&near, 1),
                comm.neighbour_alltoallv_init(&near, &vec![1; ends], &vec![1; ends]),
                comm.neighbour_allgather_init(&near, 1),
                comm.neighbour_allgatherv_init(&near, 1, &vec![1; ends]),
            ];
            for plan in plans {
                refused(plan, &mut comm, "a form in one buffer");
            }
            comm.barrier().unwrap();
        })
        .unwrap();
        jobs::run(2, |mut comm| {
            let (plan, _) = comm.permute_init::<u64>(&BitMap::shuffle(2).unwrap(), 1).unwrap();
            let error = plan.in_place(&mut comm).unwrap_err();
            assert!(matches!(error.argument(), Some(ArgumentError::NotInPlace { .. })), "{error}");
        })
        .unwrap();
    });
}
