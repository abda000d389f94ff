//! Several communicators over the same connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use necklace::Communicator;
use necklace::op::Max;
use num_complex::Complex64;

use super::definitions::{Dice, allgather, alltoall, broadcast, composition, ends};
use crate::jobs::{self, watched};

pub(super) fn large_message_does_not_delay_another_communicator() {
    const LARGE: usize = 64 << 20;
    const SMALL: usize = 300;
    watched("large and small", || {
        let large = AtomicUsize::new(0);
        jobs::run(2, |mut comm| {
            let mut other = comm.split(0, 0).unwrap();
            let through = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    // One way and the other, for as long as the small calls take.
                    let (mut buffer, mut turn, mut over) = (vec![0_u8; LARGE], 0_u8, [0]);
                    while over == [0] {
                        let root = usize::from(turn % 2);
                        turn = turn.wrapping_add(1);
                        buffer.fill(if comm.rank() == root { turn } else { 0 });
                        comm.broadcast(&mut buffer, root).unwrap();
                        assert!(buffer.iter().all(|byte| *byte == turn), "turn {turn}");
                        comm.allreduce(&[through.load(Ordering::SeqCst)], &mut over, Max).unwrap();
                        large.fetch_add(1, Ordering::SeqCst);
                    }
                });
                for turn in 0..SMALL {
                    alltoall::<u64>(&mut other, 1 + turn % 50);
                }
                through.store(1, Ordering::SeqCst);
            });
        })
        .unwrap();
        // Each is counted twice. Were a small message to wait for a large one, there would be one
        // of them for each.
        let large = large.into_inner() / 2;
        assert!(large < SMALL / 4, "{large} large messages went by meanwhile");
    });
}

/// A random call with the others, checked.
pub(super) fn call(comm: &mut Communicator, dice: &mut Dice) {
    // Mostly short ones, which go at once; now and then some that wait until their receiver is
    // ready.
    let elements = if dice.below(12) == 0 { dice.below(30_000) } else { dice.below(60) };
    match dice.below(8) {
        0 => alltoall::<u64>(comm, elements),
        1 => alltoall::<u8>(comm, elements),
        2 => allgather::<[f32; 3]>(comm, elements),
        3 => allgather::<Complex64>(comm, elements),
        4 => broadcast::<u128>(comm, elements, dice.below(comm.size())),
        5 => ends::<u64>(comm, elements),
        6 => composition(comm, elements),
        _ => comm.barrier().unwrap(),
    }
}

pub(super) fn threads_make_thousands_of_calls_on_four_communicators() {
    for seed in 0..3 {
        watched(&format!("seed {seed}"), move || {
            jobs::run(4, |mut whole| {
                let parts: Vec<Communicator> =
                    (0..3).map(|part| whole.split(0, part * whole.rank() as i64).unwrap()).collect();
                thread::scope(|scope| {
                    for (part, mut comm) in parts.into_iter().chain([whole]).enumerate() {
                        scope.spawn(move || {
                            let mut dice = Dice(seed * 10 + part as u64);
                            (0..250).for_each(|_| call(&mut comm, &mut dice));
                        });
                    }
                });
            })
            .unwrap();
        });
    }
}
