//! Blocks of different lengths.

use necklace::Communicator;
use quickcheck::{QuickCheck, TestResult};

use super::definitions::{Dice, Element, RandomExchange, block, poison, random_exchanges, same};
use super::failures::POISON;
use crate::jobs::{self, on, watched};

/// Counts and displacements of one side of one rank.
pub(super) struct Side {
    pub(super) counts: Vec<usize>,
    pub(super) displacements: Vec<usize>,
    pub(super) length: usize,
}

/// Puts blocks of these lengths in any order, with gaps.
pub(super) fn side(counts: Vec<usize>, dice: &mut Dice) -> Side {
    let mut displacements = vec![0; counts.len()];
    let mut length = dice.below(3);
    for i in dice.order(counts.len()) {
        displacements[i] = length;
        length += counts[i] + dice.below(3);
    }
    Side { counts, displacements, length }
}

/// Elements from one rank to another: often none.
pub(super) fn count(seed: u64, from: usize, to: usize) -> usize {
    let mut dice = Dice(seed ^ (from as u64) << 40 ^ (to as u64) << 20);
    if dice.below(3) == 0 { 0 } else { dice.below(12) }
}

/// A random exchange, direct and planned, against the definition. Elements outside of blocks do not
/// change.
pub(super) struct Displaced;

impl RandomExchange for Displaced {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let (me, size) = (comm.rank(), comm.size());
        let mut dice = Dice(seed.wrapping_mul(31).wrapping_add(me as u64));
        let from = side((0..size).map(|to| count(seed, me, to)).collect(), &mut dice);
        let into = side((0..size).map(|from| count(seed, from, me)).collect(), &mut dice);
        let mut plan =
            comm.alltoallv_init::<T>((&from.counts, &from.displacements), (&into.counts, &into.displacements)).unwrap();
        for turn in 0..3 {
            let (mut send, mut wanted) = (vec![T::of(1); from.length], vec![poison(); into.length]);
            for peer in 0..size {
                let (at, count) = (from.displacements[peer], from.counts[peer]);
                send[at..at + count].copy_from_slice(&block(me, peer + 100 * turn, count));
                let (at, count) = (into.displacements[peer], into.counts[peer]);
                wanted[at..at + count].copy_from_slice(&block(peer, me + 100 * turn, count));
            }
            let mut receive = vec![poison(); into.length];
            if turn == 0 {
                comm.alltoallv(
                    &send,
                    (&from.counts, &from.displacements),
                    &mut receive,
                    (&into.counts, &into.displacements),
                )
                .unwrap();
            } else {
                plan.execute(comm, &send, &mut receive).unwrap();
            }
            same(comm, &format!("alltoallv, turn {turn}"), &receive, &wanted);
        }
    }
}

/// A random exchange in one buffer. What two ranks have for each other has one length.
struct Swapped;

impl RandomExchange for Swapped {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let (me, size) = (comm.rank(), comm.size());
        let mut dice = Dice(seed.wrapping_mul(37).wrapping_add(me as u64));
        let blocks = side((0..size).map(|peer| count(seed, me.min(peer), me.max(peer))).collect(), &mut dice);
        for turn in 0..2 {
            let (mut buffer, mut wanted) = (vec![poison::<T>(); blocks.length], vec![poison(); blocks.length]);
            for peer in 0..size {
                let (at, count) = (blocks.displacements[peer], blocks.counts[peer]);
                buffer[at..at + count].copy_from_slice(&block(me, peer + 100 * turn, count));
                wanted[at..at + count].copy_from_slice(&block(peer, me + 100 * turn, count));
            }
            comm.alltoallv_in_place(&mut buffer, (&blocks.counts, &blocks.displacements)).unwrap();
            same(comm, &format!("alltoallv in place, turn {turn}"), &buffer, &wanted);
        }
    }
}

pub(super) fn blocks_of_any_length_are_exchanged_in_place() {
    for topology in ["complete:1", "complete:2", "ring:3", "complete:8", "torus:4x4"] {
        random_exchanges::<Swapped>(topology, "direct", 0..4);
        if jobs::is_native() {
            random_exchanges::<Swapped>(topology, "native", 4..8);
        }
    }
    random_exchanges::<Swapped>("mesh:3x5", "ring", 8..10);
    random_exchanges::<Swapped>("torus:4x4", "torus-exchange", 10..12);
    random_exchanges::<Swapped>("complete:8", "direct-xor", 12..14);
}

pub(super) fn blocks_of_any_length_are_delivered() {
    for topology in ["complete:1", "complete:2", "ring:3", "ring:5", "complete:8", "line:13", "torus:4x4"] {
        random_exchanges::<Displaced>(topology, "auto", 0..4);
        random_exchanges::<Displaced>(topology, "direct", 4..6);
        if jobs::is_native() {
            random_exchanges::<Displaced>(topology, "native", 6..9);
        }
    }
    random_exchanges::<Displaced>("complete:32", "direct", 0..1);
}

pub(super) fn relays_learn_the_lengths_during_the_call() {
    for topology in ["ring:1", "ring:2", "ring:3", "ring:8", "mesh:3x5"] {
        random_exchanges::<Displaced>(topology, "ring", 0..3);
        random_exchanges::<Displaced>(topology, "direct-rotated", 3..5);
    }
    for algorithm in ["torus-exchange", "direct-xor", "ring"] {
        random_exchanges::<Displaced>("torus:4x4", algorithm, 0..3);
    }
    random_exchanges::<Displaced>("torus:4x8", "torus-exchange", 0..2);
}

pub(super) fn random_lengths_and_displacements_work() {
    fn case(ranks: u8, relayed: bool, seed: u64) -> TestResult {
        let ranks = usize::from(ranks % 8) + 1;
        watched(&format!("{ranks} ranks, relayed: {relayed}, seed {seed}"), move || {
            jobs::run(ranks, |mut comm| {
                comm.choose("alltoallv", if relayed { "ring" } else { "direct" }).unwrap();
                Displaced::exchange::<u64>(&mut comm, seed);
            })
            .unwrap();
        });
        TestResult::passed()
    }
    QuickCheck::new().tests(80).quickcheck(case as fn(u8, bool, u64) -> TestResult);
}

pub(super) fn empty_exchange_works() {
    for algorithm in ["direct", "ring"].into_iter().chain(jobs::is_native().then_some("native")) {
        watched(algorithm, move || {
            jobs::run(4, |mut comm| {
                comm.choose("alltoallv", algorithm).unwrap();
                let nothing = [0; 4];
                comm.alltoallv::<u64>(&[], (&nothing, &nothing), &mut [], (&nothing, &nothing)).unwrap();
            })
            .unwrap();
        });
    }
}

pub(super) fn displacement_of_an_empty_block_is_ignored() {
    for algorithm in ["direct", "ring"].into_iter().chain(jobs::is_native().then_some("native")) {
        watched(algorithm, move || {
            jobs::run(3, |mut comm| {
                comm.choose("alltoallv", algorithm).unwrap();
                let me = comm.rank();
                // Everyone sends one element to the next only; the other displacements are nowhere.
                let one = |peer: usize| std::array::from_fn::<usize, 3, _>(|i| usize::from(i == peer));
                let at = |peer: usize| std::array::from_fn::<usize, 3, _>(|i| if i == peer { 0 } else { usize::MAX });
                let (next, last) = ((me + 1) % 3, (me + 2) % 3);
                let mut receive = [poison::<u64>()];
                comm.alltoallv(&[me as u64], (&one(next), &at(next)), &mut receive, (&one(last), &at(last))).unwrap();
                assert_eq!(receive, [last as u64]);
                let mut plan = comm.alltoallv_init::<u64>((&one(next), &at(next)), (&one(last), &at(last))).unwrap();
                receive = [poison()];
                plan.execute(&mut comm, &[me as u64], &mut receive).unwrap();
                assert_eq!(receive, [last as u64]);
            })
            .unwrap();
        });
    }
}

pub(super) fn one_block_is_sent_to_every_rank() {
    // Blocks sent may overlap; only received ones may not.
    watched("overlapping sends", || {
        on("torus:4x4")
            .choose("alltoallv", "torus-exchange")
            .run(|mut comm| {
                let (me, places) = (comm.rank() as u64, std::array::from_fn::<usize, 16, _>(|i| 2 * i));
                let mut receive = [poison::<u64>(); 32];
                comm.alltoallv(&[me, me + 100], (&[2; 16], &[0; 16]), &mut receive, (&[2; 16], &places)).unwrap();
                let wanted: Vec<u64> = (0..16).flat_map(|from| [from, from + 100]).collect();
                assert_eq!(receive[..], wanted);
            })
            .unwrap();
    });
}

pub(super) fn plans_in_the_cache_are_those_of_the_call() {
    watched("cache", || {
        jobs::run(5, |mut comm| {
            let me = comm.rank();
            // Calls that differ in one thing each, in turn, twice.
            for turn in 0..6 {
                if turn == 4 {
                    comm.choose("alltoallv", "ring").unwrap();
                }
                for (shift, gap) in [(0, 0), (1, 0), (1, 2), (0, 2)] {
                    let length = |from: usize, to: usize| (from * to + shift) % 3;
                    let sent: Vec<usize> = (0..5).map(|to| length(me, to)).collect();
                    let expected: Vec<usize> = (0..5).map(|from| length(from, me)).collect();
                    let places: Vec<usize> = (0..5).map(|i| i * (2 + gap)).collect();
                    let send: Vec<u64> = (0..5 * (2 + gap)).map(|i| (100 * me + i) as u64).collect();
                    let mut receive = vec![POISON; send.len()];
                    comm.alltoallv(&send, (&sent, &places), &mut receive, (&expected, &places)).unwrap();
                    let mut wanted = vec![POISON; send.len()];
                    for from in 0..5 {
                        for i in 0..expected[from] {
                            wanted[places[from] + i] = (100 * from + places[me] + i) as u64;
                        }
                    }
                    assert_eq!(receive, wanted, "turn {turn}, shift {shift}, gap {gap}");
                    for root in [0, 3] {
                        let at_root = me == root;
                        let mut all = vec![POISON; expected.iter().sum()];
                        let own: Vec<u64> = vec![7 * me as u64; length(me, root)];
                        comm.gatherv(&own, at_root.then_some(&mut all[..]), &expected, root).unwrap();
                        if at_root {
                            let from = |rank: usize| vec![7 * rank as u64; length(rank, root)];
                            assert_eq!(all, (0..5).flat_map(from).collect::<Vec<_>>(), "turn {turn}, root {root}");
                        }
                    }
                }
            }
        })
        .unwrap();
    });
}
