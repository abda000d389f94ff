//! Collectives of regular counts.

use std::sync::atomic::{AtomicUsize, Ordering};

use num_complex::Complex64;
use quickcheck::{QuickCheck, TestResult};

use super::definitions::{
    Dice, allgather, alltoall, broadcast, composition, ends, everything, gather, reduce, scatter, varying_blocks,
};
use crate::jobs::{self, watched};

const RANKS: [usize; 8] = [1, 2, 3, 5, 8, 13, 16, 32];

pub(super) fn every_collective_moves_every_type() {
    for ranks in RANKS {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                for elements in [0, 1, 7] {
                    everything::<()>(&mut comm, elements);
                    everything::<u8>(&mut comm, elements);
                    everything::<u64>(&mut comm, elements);
                    everything::<f64>(&mut comm, elements);
                    everything::<[f32; 3]>(&mut comm, elements);
                    everything::<u128>(&mut comm, elements);
                    everything::<Complex64>(&mut comm, elements);
                    composition(&mut comm, elements);
                }
            })
            .unwrap();
        });
    }
}

pub(super) fn blocks_of_a_mebibyte_are_exchanged() {
    for ranks in [1, 3, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let elements = (1 << 20) / size_of::<u64>();
                alltoall::<u64>(&mut comm, elements / ranks);
                alltoall::<[f32; 3]>(&mut comm, (1 << 20) / 12 / ranks);
                allgather::<u8>(&mut comm, (1 << 20) / ranks + 1);
                broadcast::<u128>(&mut comm, (1 << 20) / 16, ranks / 2);
                ends::<u64>(&mut comm, elements);
                composition(&mut comm, elements);
            })
            .unwrap();
        });
    }
}

pub(super) fn every_rank_broadcasts_as_root() {
    for ranks in RANKS {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| (0..ranks).for_each(|root| broadcast::<u64>(&mut comm, 5, root))).unwrap();
        });
    }
}

pub(super) fn every_rank_gathers_scatters_and_reduces_as_root() {
    for ranks in [2, 3, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                for root in 0..ranks {
                    for elements in [0, 1, 3] {
                        gather::<u64>(&mut comm, elements, root);
                        gather::<[f32; 3]>(&mut comm, elements, root);
                        scatter::<u64>(&mut comm, elements, root);
                        scatter::<[f32; 3]>(&mut comm, elements, root);
                        reduce(&mut comm, elements, root);
                        varying_blocks::<u64>(&mut comm, elements, root);
                        varying_blocks::<[f32; 3]>(&mut comm, elements, root);
                    }
                }
            })
            .unwrap();
        });
    }
}

pub(super) fn barrier_waits_for_every_rank() {
    for ranks in RANKS {
        watched(&format!("{ranks} ranks"), move || {
            let came = AtomicUsize::new(0);
            jobs::run(ranks, |mut comm| {
                for round in 1..=30 {
                    if comm.rank() == round % ranks {
                        std::thread::yield_now();
                    }
                    came.fetch_add(1, Ordering::SeqCst);
                    comm.barrier().unwrap();
                    let here = came.load(Ordering::SeqCst);
                    assert!(here >= round * ranks, "a rank left barrier {round} after {here} comings");
                }
            })
            .unwrap();
        });
    }
}

pub(super) fn buffer_may_change_after_the_call() {
    // A rank may change its send buffer as soon as the call returns, though others are behind.
    watched("overwriting", || {
        jobs::run(5, |mut comm| {
            let (mut send, mut all) = (vec![0_usize; 1000], vec![0; 5000]);
            for turn in 0..50 {
                send.fill(10 * turn + comm.rank());
                comm.allgather(&send, &mut all).unwrap();
                send.fill(usize::MAX);
                assert!(all.iter().enumerate().all(|(i, &value)| value == 10 * turn + i / 1000));
            }
        })
        .unwrap();
    });
}

pub(super) fn random_sequences_of_calls_have_correct_results() {
    fn calls(ranks: u8, seed: u64) -> TestResult {
        let ranks = usize::from(ranks % 9) + 1;
        watched(&format!("{ranks} ranks, seed {seed}"), move || {
            jobs::run(ranks, |mut comm| {
                let mut dice = Dice(seed);
                for _ in 0..12 {
                    let elements = dice.below(40);
                    match dice.below(9) {
                        0 => alltoall::<u8>(&mut comm, elements),
                        1 => alltoall::<u128>(&mut comm, elements),
                        2 => allgather::<[f32; 3]>(&mut comm, elements),
                        3 => broadcast::<f64>(&mut comm, elements, dice.below(ranks)),
                        4 => ends::<Complex64>(&mut comm, elements),
                        5 => composition(&mut comm, elements),
                        6 => everything::<()>(&mut comm, elements),
                        7 => comm.barrier().unwrap(),
                        _ => comm = comm.split(0, 0).unwrap(),
                    }
                }
            })
            .unwrap();
        });
        TestResult::passed()
    }
    QuickCheck::new().tests(60).quickcheck(calls as fn(u8, u64) -> TestResult);
}
