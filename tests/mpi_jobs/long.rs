//! Messages of more bytes than 32 bits can count, on two ranks of MPI.

use std::env;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use necklace::bytemuck::{Pod, cast_slice, cast_slice_mut};
use necklace::communicator::Counts;
use necklace::op::Product;
use necklace::{Communicator, Strided};

use crate::calls::join;
use crate::job::Job;
use crate::rank::Rank;
use necklace_test_loops::{multiply, subtract};
use necklace_tests::skipped;
use necklace_tests::suites::definitions::Dice;

/// If set, a lack of memory is a failure.
const REQUIRED: &str = "NECKLACE_REQUIRE_MEMORY";

/// If set, tests that take long run as well.
const PATIENT: &str = "NECKLACE_LONG";

/// A length that 32 bits cannot count, not a multiple of anything.
const LONG: usize = (1 << 31) + 3;

/// More elements than one call of the library takes.
const MANY: usize = (1 << 30) + 5;

const GIB: u64 = 1 << 30;

/// Returns the positions of a block that are not zero.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let mut dice = Dice(5);
    let edges = (0..=4).map(|edge| edge << 30).chain([length]);
    let near = edges.flat_map(|edge: usize| edge.saturating_sub(40)..edge + 40);
    near.chain((0..4000).map(move |_| dice.below(length))).filter(move |at| *at < length)
}

/// Returns the value at such a position.
fn mark(seed: u64, at: usize) -> u8 {
    Dice(seed ^ at as u64).roll() as u8 | 1
}

fn write(block: &mut [u8], seed: u64) {
    places(block.len()).for_each(|at| block[at] = mark(seed, at));
}

#[track_caller]
fn check(block: &[u8], wanted: impl Fn(usize) -> u8) {
    let differs = places(block.len()).find(|&at| block[at] != wanted(at));
    assert_eq!(differs.map(|at| (at, block[at], wanted(at))), None, "of {}", block.len());
}

/// Returns a long buffer of zeros, which takes no memory until it is written.
fn zeros(length: usize) -> Vec<u8> {
    vec![0; length]
}

fn broadcast(comm: &mut Communicator) {
    let mut buffer = zeros(LONG);
    for (root, algorithm) in ["native", "binomial"].into_iter().enumerate() {
        comm.choose("broadcast", algorithm).unwrap();
        if comm.rank() == root {
            write(&mut buffer, root as u64);
        }
        comm.broadcast(&mut buffer, root).unwrap();
        check(&buffer, |at| mark(root as u64, at));
    }
}

/// Sends a long block one way, a short one the other way, and a block far behind in a buffer.
fn alltoallv(comm: &mut Communicator, length: usize) {
    const SHORT: usize = 1000;
    let me = comm.rank();
    // Indexed by sender and receiver.
    let count = |from: usize, to: usize| [[7, length], [SHORT, 7]][from][to];
    let (sent, awaited) = ([count(me, 0), count(me, 1)], [count(0, me), count(1, me)]);
    let places = [([length + 100, 5], [3, length + 200]), ([length + 50, 0], [2, length + 10])];
    let (from, into) = places[me];
    let mut plan = comm.alltoallv_init::<u8>((&sent, &from), (&awaited, &into)).unwrap();
    assert!(plan.description().contains(" by native"));
    let (mut send, mut receive) = (zeros(length + 200 + SHORT), zeros(length + 200 + SHORT));
    (0..2).for_each(|to| write(&mut send[from[to]..][..sent[to]], (2 * me + to) as u64));
    plan.execute(comm, &send, &mut receive).unwrap();
    (0..2).for_each(|from| check(&receive[into[from]..][..awaited[from]], |at| mark((2 * from + me) as u64, at)));
}

/// Gathers and scatters a long block of rank 1, of elements of which the library can count as many,
/// or not.
fn gatherv<T: Pod>(comm: &mut Communicator, length: usize) {
    let me = comm.rank();
    let (counts, places) = ([7, length], [length + 100, 3]);
    let at_root = if me == 0 { Counts::at(&counts, &places) } else { Counts::from(&[]) };
    let (own, size) = (counts[me], size_of::<T>());
    let mut all: Vec<T> = vec![T::zeroed(); if me == 0 { length + 107 } else { 0 }];
    let mut block: Vec<T> = vec![T::zeroed(); own];
    write(cast_slice_mut(&mut block), me as u64);
    let mut plan = comm.gatherv_init::<T>(own, at_root, 0).unwrap();
    assert!(plan.description().contains(" by native"));
    plan.execute(comm, &block, &mut all).unwrap();
    if me == 0 {
        let bytes: &[u8] = cast_slice(&all);
        (0..2).for_each(|from| check(&bytes[places[from] * size..][..counts[from] * size], |at| mark(from as u64, at)));
    }
    cast_slice_mut::<T, u8>(&mut block).fill(0);
    let mut plan = comm.scatterv_init::<T>(at_root, own, 0).unwrap();
    assert!(plan.description().contains(" by native"));
    plan.execute(comm, &all, &mut block).unwrap();
    check(cast_slice(&block), |at| mark(me as u64, at));
}

/// Collects a long block of rank 1 on both ranks, and short blocks far behind in a buffer of one.
fn allgatherv(comm: &mut Communicator) {
    let me = comm.rank();
    for (counts, places) in [([7, LONG], [LONG + 9, 2]), ([7, 5], if me == 0 { [0, 7] } else { [LONG, 1] })] {
        let mut all = zeros((places[0] + counts[0]).max(places[1] + counts[1]));
        let mut block = zeros(counts[me]);
        write(&mut block, me as u64);
        let mut plan = comm.allgatherv_init::<u8>(Counts::at(&counts, &places)).unwrap();
        assert!(plan.description().contains(" by native"));
        plan.execute(comm, &block, &mut all).unwrap();
        (0..2).for_each(|from| check(&all[places[from]..][..counts[from]], |at| mark(from as u64, at)));
    }
    // MPI cannot count the elements of this one.
    comm.choose("reduce_scatterv", "native").unwrap();
    let refused = comm.reduce_scatterv_init::<u8>(&[LONG, 7], Product).unwrap_err();
    assert!(refused.to_string().contains("does not offer"), "{refused}");
}

/// Sends a long block from rank 0 to rank 1, in that many rows with a gap after each.
fn alltoallw(comm: &mut Communicator, (rows, columns, gap): (usize, usize, usize)) {
    let (length, width) = (rows * columns, columns + gap);
    let matrix = Strided::matrix(9, rows, columns, width);
    let none = || Strided::run(0, 0);
    let (from, into) = match comm.rank() {
        0 => ([none(), matrix], [none(), none()]),
        _ => ([none(), none()], [Strided::run(1, length), none()]),
    };
    let (mut send, mut receive) = (Vec::new(), Vec::new());
    if comm.rank() == 0 {
        send = zeros(9 + rows * width);
        places(length).for_each(|at| send[9 + at / columns * width + at % columns] = mark(0, at));
    } else {
        receive = zeros(1 + length);
    }
    let mut plan = comm.alltoallw_init::<u8>(&from, &into).unwrap();
    assert!(plan.description().contains(" by native"));
    plan.execute(comm, &send, &mut receive).unwrap();
    if comm.rank() == 1 {
        check(&receive[1..], |at| mark(0, at));
    }
}

/// Regular collectives with long blocks.
fn regular(comm: &mut Communicator) {
    let me = comm.rank() as u64;
    let mut receive = zeros(2 * LONG);
    let mut send = zeros(2 * LONG);
    comm.choose("allgather", "native").unwrap();
    write(&mut send[..LONG], me);
    comm.allgather(&send[..LONG], &mut receive).unwrap();
    receive.chunks(LONG).zip(0..).for_each(|(block, from)| check(block, |at| mark(from, at)));
    comm.choose("alltoall", "native").unwrap();
    send.chunks_mut(LONG).zip(0..).for_each(|(block, to)| write(block, 10 + 2 * me + to));
    comm.alltoall(&send, &mut receive).unwrap();
    receive.chunks(LONG).zip(0..).for_each(|(block, from)| check(block, |at| mark(10 + 2 * from + me, at)));
}

/// Reductions by a predefined operation, and by one of ours that does not commute.
fn reductions(comm: &mut Communicator) {
    comm.choose("allreduce", "native").unwrap();
    let (mut send, mut receive) = (zeros(MANY), zeros(MANY));
    write(&mut send, comm.rank() as u64);
    multiply(comm, &send, &mut receive).unwrap();
    check(&receive, |at| mark(0, at).wrapping_mul(mark(1, at)));
    subtract(comm, &send, &mut receive).unwrap();
    check(&receive, |at| mark(0, at).wrapping_sub(mark(1, at)));
}

pub(crate) fn long(rank: &Rank) -> i32 {
    let mut comm = join(rank);
    let begin = Instant::now();
    match rank.word(1) {
        "broadcast" => broadcast(&mut comm),
        "alltoallv" => [LONG, 1 << 31].into_iter().for_each(|length| alltoallv(&mut comm, length)),
        "gatherv" => gatherv::<u8>(&mut comm, LONG),
        "elements" => gatherv::<u64>(&mut comm, LONG / 8 + 1),
        "allgatherv" => allgatherv(&mut comm),
        "alltoallw" => alltoallw(&mut comm, (32_769, 65_537, 63)),
        "pieces" => alltoallw(&mut comm, (LONG, 1, 1)),
        "regular" => regular(&mut comm),
        _ => reductions(&mut comm),
    }
    rank.say(format!("took {:?}", begin.elapsed()));
    0
}

/// Returns the available memory.
fn available() -> u64 {
    let all = fs::read_to_string("/proc/meminfo").unwrap();
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Runs a task if there is enough memory for it.
fn run(what: &str, gibibytes: u64) {
    // One test at a time.
    static MEMORY: Mutex<()> = Mutex::new(());
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let (needed, available) = (gibibytes * GIB, available());
    if available < needed {
        let words = format!("{what}: it takes {needed} bytes of memory, {available} are available");
        assert!(env::var_os(REQUIRED).is_none(), "{words}");
        return skipped(&words);
    }
    let ended = Job::of(2, &format!("long {what}")).beside().within(Duration::from_secs(300)).run().with(0);
    println!("{what}: {:?}", ended.all("took "));
}

/// Runs a task that takes long, if that is requested.
fn run_long(what: &str, gibibytes: u64) {
    if env::var_os(PATIENT).is_none() {
        return skipped(&format!("{what}: it takes long, and {PATIENT} is not set"));
    }
    run(what, gibibytes);
}

#[test]
fn broadcast_beyond_32_bit_counts() {
    run("broadcast", 6);
}

#[test]
fn exchanged_blocks_beyond_32_bit_counts() {
    run("alltoallv", 6);
}

#[test]
fn gathered_blocks_beyond_32_bit_counts() {
    run("gatherv", 6);
    run("allgatherv", 6);
}

#[test]
fn gathered_elements_within_32_bits_of_more_bytes() {
    run_long("elements", 6);
}

#[test]
fn strided_blocks_beyond_32_bit_counts() {
    run("alltoallw", 6);
}

#[test]
fn reduction_beyond_one_call_of_the_library() {
    run("reductions", 6);
}

#[test]
fn regular_collectives_beyond_32_bit_counts() {
    run_long("regular", 12);
}

#[test]
fn block_of_more_pieces_than_32_bit_counts() {
    run_long("pieces", 12);
}
