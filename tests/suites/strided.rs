//! Blocks that lie in their buffers in any regular way.

use necklace::{Communicator, Strided};
use quickcheck::{QuickCheck, TestResult};

use super::definitions::{Dice, Element, RandomExchange, element, poison, random_exchanges, same};
use crate::jobs;

/// One side of one rank: where the elements of each block lie, as `Strided` and as indices.
struct Side {
    blocks: Vec<Vec<Strided>>,
    indices: Vec<Vec<usize>>,
    length: usize,
}

/// An array of this many elements with up to three dimensions, in any order in memory, with gaps.
fn array(elements: usize, start: usize, dice: &mut Dice) -> (Strided, Vec<usize>) {
    let mut rest = elements;
    let mut counts = Vec::new();
    for factor in [2, 3, 2] {
        if rest > 0 && rest.is_multiple_of(factor) && dice.below(3) > 0 {
            counts.push(factor);
            rest /= factor;
        }
    }
    counts.push(rest);
    // Distances grow in an order of their own.
    let (mut distances, mut extent) = (vec![0; counts.len()], 1);
    for i in dice.order(counts.len()) {
        distances[i] = extent + dice.below(2);
        extent += distances[i] * counts[i].saturating_sub(1);
    }
    let mut indices = vec![start];
    let mut strided = Strided::run(start, 1);
    for (&count, &distance) in counts.iter().zip(&distances) {
        // The last dimension is the outermost.
        indices = (0..count).flat_map(|i| indices.iter().map(move |at| at + i * distance)).collect();
        strided = strided.repeated(count, distance);
    }
    (strided, indices)
}

/// Puts blocks of these numbers of elements in any order, each in one or two parts.
fn side(counts: &[usize], dice: &mut Dice) -> Side {
    let mut side =
        Side { blocks: vec![vec![]; counts.len()], indices: vec![vec![]; counts.len()], length: dice.below(3) };
    for i in dice.order(counts.len()) {
        let first = dice.below(counts[i] + 1);
        for part in [first, counts[i] - first] {
            let (strided, indices) = array(part, side.length, dice);
            side.length = indices.iter().max().map_or(side.length, |last| last + 1) + dice.below(2);
            side.blocks[i].push(strided);
            side.indices[i].extend(indices);
        }
    }
    side
}

fn count(seed: u64, from: usize, to: usize) -> usize {
    let mut dice = Dice(seed ^ (from as u64) << 40 ^ (to as u64) << 20);
    [0, 0, 1, 2, 5, 6, 12, 18, 24][dice.below(9)]
}

/// A random exchange, direct and planned, against the definition. Elements outside of blocks do not
/// change.
struct Scattered;

impl RandomExchange for Scattered {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let (me, size) = (comm.rank(), comm.size());
        let mut dice = Dice(seed.wrapping_mul(31).wrapping_add(me as u64));
        let from = side(&(0..size).map(|to| count(seed, me, to)).collect::<Vec<_>>(), &mut dice);
        let into = side(&(0..size).map(|from| count(seed, from, me)).collect::<Vec<_>>(), &mut dice);
        let mut plan = comm.alltoallw_init::<T>(&from.blocks, &into.blocks).unwrap();
        for turn in 0..3 {
            // The last time, all lies further on.
            let shift = if turn == 2 { 5 } else { 0 };
            let (mut send, mut wanted) = (vec![T::of(1); shift + from.length], vec![poison(); shift + into.length]);
            for peer in 0..size {
                for (i, &at) in from.indices[peer].iter().enumerate() {
                    send[shift + at] = element(me, peer + 100 * turn, i);
                }
                for (i, &at) in into.indices[peer].iter().enumerate() {
                    wanted[shift + at] = element(peer, me + 100 * turn, i);
                }
            }
            let mut receive = vec![poison(); wanted.len()];
            if turn == 0 {
                comm.alltoallw(&send, &from.blocks, &mut receive, &into.blocks).unwrap();
            } else {
                plan.execute(comm, &send[shift..], &mut receive[shift..]).unwrap();
            }
            same(comm, &format!("alltoallw, turn {turn}"), &receive, &wanted);
        }
    }
}

/// A random exchange in one buffer. What two ranks have for each other has one length, but other
/// strides.
struct Swapped;

impl RandomExchange for Swapped {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let (me, size) = (comm.rank(), comm.size());
        let mut dice = Dice(seed.wrapping_mul(37).wrapping_add(me as u64));
        let counts: Vec<usize> = (0..size).map(|peer| count(seed, me.min(peer), me.max(peer))).collect();
        let side = side(&counts, &mut dice);
        for turn in 0..2 {
            let (mut buffer, mut wanted) = (vec![poison::<T>(); side.length], vec![poison(); side.length]);
            for peer in 0..size {
                for (i, &at) in side.indices[peer].iter().enumerate() {
                    buffer[at] = element(me, peer + 100 * turn, i);
                    wanted[at] = element(peer, me + 100 * turn, i);
                }
            }
            comm.alltoallw_in_place(&mut buffer, &side.blocks).unwrap();
            same(comm, &format!("alltoallw in place, turn {turn}"), &buffer, &wanted);
        }
    }
}

pub(super) fn strided_blocks_are_exchanged_in_place() {
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

pub(super) fn strided_blocks_go_to_strided_places() {
    for topology in ["complete:1", "complete:2", "ring:3", "complete:8", "torus:4x4"] {
        random_exchanges::<Scattered>(topology, "direct", 0..4);
        if jobs::is_native() {
            random_exchanges::<Scattered>(topology, "native", 4..8);
        }
    }
}

pub(super) fn strided_blocks_go_through_relays() {
    random_exchanges::<Scattered>("ring:2", "ring", 0..3);
    random_exchanges::<Scattered>("mesh:3x5", "ring", 3..5);
    random_exchanges::<Scattered>("torus:4x4", "torus-exchange", 5..7);
    random_exchanges::<Scattered>("complete:8", "direct-xor", 7..9);
}

/// The first of `count` things that are dealt out as evenly as can be that `rank` of `size` has.
fn first(count: usize, size: usize, rank: usize) -> usize {
    count * rank / size
}

pub(super) fn matrix_is_transposed_by_an_exchange() {
    fn transposed(rows: u8, columns: u8, ranks: u8) -> TestResult {
        let (rows, columns, ranks) = (usize::from(rows % 20), usize::from(columns % 20), 1 + usize::from(ranks % 7));
        let outcome = jobs::run(ranks, |mut comm| {
            let (me, size) = (comm.rank(), comm.size());
            let row = |rank| first(rows, size, rank);
            let column = |rank| first(columns, size, rank);
            let (mine, theirs) = (row(me + 1) - row(me), column(me + 1) - column(me));
            let matrix: Vec<u32> = (row(me) * columns..row(me + 1) * columns).map(|i| i as u32).collect();
            let part = |to| Strided::matrix(column(to), mine, column(to + 1) - column(to), columns);
            let strip = |from| Strided::matrix(row(from), theirs, row(from + 1) - row(from), rows).transposed();
            let mut found = vec![u32::MAX; theirs * rows];
            let from: Vec<Strided> = (0..size).map(part).collect();
            let into: Vec<Strided> = (0..size).map(strip).collect();
            comm.alltoallw(&matrix, &from, &mut found, &into).unwrap();
            let wanted = (column(me)..column(me + 1)).flat_map(|j| (0..rows).map(move |i| (i * columns + j) as u32));
            found == wanted.collect::<Vec<_>>()
        });
        TestResult::from_bool(outcome.unwrap().into_iter().all(|right| right))
    }
    QuickCheck::new().tests(60).quickcheck(transposed as fn(u8, u8, u8) -> TestResult);
}

pub(super) fn sent_blocks_may_overlap() {
    let gathered = jobs::run(4, |mut comm| {
        let mut receive = [0; 8];
        let into = [0, 1, 2, 3].map(|from| Strided::run(2 * from, 2));
        comm.alltoallw(&[comm.rank(), 7], &[(); 4].map(|()| Strided::run(0, 2)), &mut receive, &into).unwrap();
        receive
    });
    assert_eq!(gathered.unwrap(), [[0, 7, 1, 7, 2, 7, 3, 7]; 4]);
}
