//! What collectives mean, in a few lines each, and values that no mistake turns into each other.

use std::fmt::Debug;

use bytemuck::Pod;
use necklace::collective::Collective;
use necklace::op::by;
use necklace::schedule::Block;
use necklace::{Communicator, Rank};
use num_complex::Complex64;

use crate::jobs::{on, watched};

/// A type whose values can be made of numbers.
pub trait Element: Pod + PartialEq + Debug + Send + Sync {
    /// Returns the element of this seed.
    fn of(seed: u64) -> Self;
}

macro_rules! elements {
    ($($t:ty: |$seed:ident| $value:expr),* $(,)?) => {$(
        impl Element for $t {
            fn of($seed: u64) -> Self {
                $value
            }
        }
    )*};
}

elements! {
    (): |_seed| (),
    u8: |seed| (seed >> 40) as u8,
    u64: |seed| seed,
    u128: |seed| u128::from(seed) << 64 | u128::from(!seed),
    f64: |seed| (seed >> 12) as f64 - 1e12,
    [f32; 3]: |seed| [(seed >> 42) as f32, (seed >> 20 & 0xFFFF) as f32, -((seed & 0xFFFF) as f32)],
    Complex64: |seed| Complex64::new((seed >> 32) as f64, -((seed & 0xFFFF_FFFF) as f64)),
}

/// Random numbers that are the same in every run.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// Returns the next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns the next number, less than the bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    /// Returns the numbers below `count` in random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// Returns element `i` of the block from `from` to `to`.
pub fn element<T: Element>(from: usize, to: usize, i: usize) -> T {
    T::of(Dice((from as u64) << 48 ^ (to as u64) << 32 ^ i as u64).roll())
}

/// Returns the block from `from` to `to`.
pub fn block<T: Element>(from: usize, to: usize, elements: usize) -> Vec<T> {
    (0..elements).map(|i| element(from, to, i)).collect()
}

/// A value that no rank sends.
pub fn poison<T: Element>() -> T {
    T::of(0xA5A5_A5A5_A5A5_A5A5)
}

/// A buffer of values that no rank sends.
pub fn poisoned<T: Element>(elements: usize) -> Vec<T> {
    vec![poison(); elements]
}

/// Asserts that two buffers are equal; otherwise shows where they begin to differ.
#[track_caller]
pub fn same<T: PartialEq + Debug>(comm: &Communicator, what: &str, found: &[T], wanted: &[T]) {
    let (rank, size) = (comm.rank(), comm.size());
    let place = format!("{what} among {size} on {}, rank {rank}", comm.topology().text());
    assert_eq!(found.len(), wanted.len(), "{place}: lengths");
    if let Some(i) = (0..found.len()).find(|&i| found[i] != wanted[i]) {
        panic!("{place}: element {i} of {} is {:?}, not {:?}", found.len(), found[i], wanted[i]);
    }
}

/// Calls alltoall and checks what arrives.
pub fn alltoall<T: Element>(comm: &mut Communicator, elements: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let send: Vec<T> = (0..size).flat_map(|to| block(me, to, elements)).collect();
    let wanted: Vec<T> = (0..size).flat_map(|from| block(from, me, elements)).collect();
    let mut receive = poisoned(send.len());
    comm.alltoall(&send, &mut receive).unwrap();
    same(comm, "alltoall", &receive, &wanted);
    let mut buffer = send;
    comm.alltoall_in_place(&mut buffer).unwrap();
    same(comm, "alltoall in place", &buffer, &wanted);
}

/// Calls allgather and checks what arrives.
pub fn allgather<T: Element>(comm: &mut Communicator, elements: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let wanted: Vec<T> = (0..size).flat_map(|from| block(from, 0, elements)).collect();
    let mut receive = poisoned(wanted.len());
    comm.allgather(&block(me, 0, elements), &mut receive).unwrap();
    same(comm, "allgather", &receive, &wanted);
}

/// Calls broadcast and checks what arrives.
pub fn broadcast<T: Element>(comm: &mut Communicator, elements: usize, root: usize) {
    let mut buffer = if comm.rank() == root { block::<T>(root, 1, elements) } else { poisoned(elements) };
    comm.broadcast(&mut buffer, root).unwrap();
    same(comm, &format!("broadcast from {root}"), &buffer, &block(root, 1, elements));
}

/// Calls gather, in both forms, and checks what arrives.
pub fn gather<T: Element>(comm: &mut Communicator, elements: usize, root: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let (is_root, send) = (me == root, block::<T>(me, 6, elements));
    let all: Vec<T> = (0..size).flat_map(|from| block(from, 6, elements)).collect();
    let none = poisoned::<T>(all.len());
    let mut receive = none.clone();
    comm.gather(&send, is_root.then_some(&mut receive[..]), root).unwrap();
    same(comm, &format!("gather to {root}"), &receive, if is_root { &all } else { &none });
    let mut buffer = if is_root { none } else { send.clone() };
    if is_root {
        buffer[me * elements..][..elements].copy_from_slice(&send);
    }
    comm.gather_in_place(&mut buffer, root).unwrap();
    same(comm, &format!("gather to {root} in place"), &buffer, if is_root { &all } else { &send });
}

/// Calls scatter, in both forms, and checks what arrives.
pub fn scatter<T: Element>(comm: &mut Communicator, elements: usize, root: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let (is_root, wanted) = (me == root, block::<T>(root, me, elements));
    let all: Vec<T> = (0..size).flat_map(|to| block(root, to, elements)).collect();
    let mut receive = poisoned(elements);
    comm.scatter(is_root.then_some(&all[..]), &mut receive, root).unwrap();
    same(comm, &format!("scatter from {root}"), &receive, &wanted);
    let mut buffer = if is_root { all.clone() } else { poisoned(elements) };
    comm.scatter_in_place(&mut buffer, root).unwrap();
    same(comm, &format!("scatter from {root} in place"), &buffer, if is_root { &all } else { &wanted });
}

/// Combines maps by reduce, in both forms, and checks the result.
pub fn reduce(comm: &mut Communicator, elements: usize, root: usize) {
    let (me, size, op) = (comm.rank(), comm.size(), by("compose", compose));
    // Odd factors lose nothing.
    let map = |rank: usize, i: usize| element::<u64>(rank, 8, i) | 1 << 32;
    let all = |i: usize| (1..size).fold(map(0, i), |all, rank| compose(all, map(rank, i)));
    let (is_root, none) = (me == root, poisoned(elements));
    let send: Vec<u64> = (0..elements).map(|i| map(me, i)).collect();
    let result: Vec<u64> = (0..elements).map(all).collect();
    let mut receive = none.clone();
    comm.reduce(&send, is_root.then_some(&mut receive[..]), root, op).unwrap();
    same(comm, &format!("reduce to {root}"), &receive, if is_root { &result } else { &none });
    let mut buffer = send.clone();
    comm.reduce_in_place(&mut buffer, root, op).unwrap();
    same(comm, &format!("reduce to {root} in place"), &buffer, if is_root { &result } else { &send });
}

/// Calls gatherv and scatterv, in both forms, and checks what arrives. Blocks have 0, 1 or 2 times
/// as many elements as given. Only the root knows the counts.
pub fn varying_blocks<T: Element>(comm: &mut Communicator, elements: usize, root: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let lengths: Vec<usize> = (0..size).map(|rank| elements * ((rank + root) % 3)).collect();
    let (is_root, own) = (me == root, block::<T>(me, 9, lengths[me]));
    let counts = if is_root { &lengths[..] } else { &[] };
    let all: Vec<T> = (0..size).flat_map(|rank| block(rank, 9, lengths[rank])).collect();
    let none = poisoned::<T>(all.len());
    let mut receive = none.clone();
    comm.gatherv(&own, is_root.then_some(&mut receive[..]), counts, root).unwrap();
    same(comm, &format!("gatherv to {root}"), &receive, if is_root { &all } else { &none });
    let mut buffer = if is_root { none } else { own.clone() };
    if is_root {
        let begin: usize = lengths[..me].iter().sum();
        buffer[begin..][..own.len()].copy_from_slice(&own);
    }
    comm.gatherv_in_place(&mut buffer, counts, root).unwrap();
    same(comm, &format!("gatherv to {root} in place"), &buffer, if is_root { &all } else { &own });
    let mut receive = poisoned(own.len());
    comm.scatterv(is_root.then_some(&all[..]), counts, &mut receive, root).unwrap();
    same(comm, &format!("scatterv from {root}"), &receive, &own);
    let mut buffer = if is_root { all.clone() } else { poisoned(own.len()) };
    comm.scatterv_in_place(&mut buffer, counts, root).unwrap();
    same(comm, &format!("scatterv from {root} in place"), &buffer, if is_root { &all } else { &own });
}

/// Reductions that do not commute, of any type: they tell which contribution came first or last,
/// and that of no more.
pub fn ends<T: Element>(comm: &mut Communicator, elements: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let send = block::<T>(me, 2, elements);
    let mut receive = poisoned(elements);
    comm.allreduce(&send, &mut receive, by("first", |left, _| left)).unwrap();
    same(comm, "allreduce to the first", &receive, &block(0, 2, elements));
    comm.allreduce(&send, &mut receive, by("last", |_, right| right)).unwrap();
    same(comm, "allreduce to the last", &receive, &block(size - 1, 2, elements));
    comm.scan(&send, &mut receive, by("first", |left, _| left)).unwrap();
    same(comm, "scan to the first", &receive, &block(0, 2, elements));
    comm.scan(&send, &mut receive, by("last", |_, right| right)).unwrap();
    same(comm, "scan to the last", &receive, &block(me, 2, elements));
}

/// Does a collective by its value, and checks that what it says is there afterwards is: blocks as
/// they were, results combined in rank order.
pub fn performs(comm: &mut Communicator, collective: &Collective, elements: usize) {
    let (send, wanted) = contents(comm, collective, elements, compose);
    let mut receive = poisoned(wanted.len());
    comm.perform(collective, &send, &mut receive, by("compose", compose)).unwrap();
    same(comm, &collective.to_string(), &receive, &wanted);
}

/// Does a reduction with an operation that commutes, as [`performs`] does with one that does not.
pub fn performs_in_any_order(comm: &mut Communicator, collective: &Collective, elements: usize) {
    let (send, wanted) = contents(comm, collective, elements, u64::wrapping_add);
    let mut receive = poisoned(wanted.len());
    comm.perform(collective, &send, &mut receive, by("add", u64::wrapping_add).commutative()).unwrap();
    same(comm, &collective.to_string(), &receive, &wanted);
}

/// Returns what a rank holds before a collective, and what it must have after it.
fn contents(
    comm: &Communicator,
    collective: &Collective,
    elements: usize,
    combine: fn(u64, u64) -> u64,
) -> (Vec<u64>, Vec<u64>) {
    let (me, size) = (Rank::new(comm.rank()), comm.size());
    let elements = if *collective == Collective::Barrier { 0 } else { elements };
    // A rank's contribution to a result is what it holds under that name, or, in a scan, the only
    // block that it holds.
    let content = |from: Rank, of: Block| {
        let held = collective.before(size, from);
        let of = held.iter().map(|(held, _)| *held).find(|held| *held == of).unwrap_or(held[0].0);
        block::<u64>(from.index(), (of.destination() + 5) as usize, elements)
    };
    let send: Vec<u64> = collective.before(size, me).iter().flat_map(|(block, _)| content(me, *block)).collect();
    let combined = |of: Block, from: &[Rank]| {
        let each = from.iter().map(|&from| content(from, of));
        let both = |left: Vec<u64>, right: Vec<u64>| left.iter().zip(right).map(|(&l, r)| combine(l, r)).collect();
        each.reduce(both).unwrap()
    };
    let wanted: Vec<u64> = collective.after(size, me).iter().flat_map(|(block, from)| combined(*block, from)).collect();
    (send, wanted)
}

/// Does a collective as [`performs`] does, and planned, and in place, and both.
pub fn performs_in_every_form(comm: &mut Communicator, collective: &Collective, elements: usize) {
    performs(comm, collective, elements);
    let me = Rank::new(comm.rank());
    let elements = if *collective == Collective::Barrier { 0 } else { elements };
    let (send, wanted) = contents(comm, collective, elements, compose);
    let (op, mut receive) = (by("compose", compose), poisoned(wanted.len()));
    let mut plan = comm.perform_init(collective, elements, op).unwrap();
    for _ in 0..2 {
        receive.fill(poison());
        plan.execute(comm, &send, &mut receive).unwrap();
        same(comm, &format!("planned {collective}"), &receive, &wanted);
    }
    // In place: what the rank starts with lies where it ends, its own block among the others'; or
    // the rank starts with more, and a result goes to the front.
    let starts_with_more = send.len() > wanted.len();
    let (buffer, wanted) = if starts_with_more && collective.is_reduction() {
        (send.clone(), [&wanted[..], &send[wanted.len()..]].concat())
    } else if starts_with_more {
        (send.clone(), send.clone())
    } else {
        let mut buffer = poisoned(wanted.len());
        let at = if send.len() < wanted.len() { send.len() * me.index() } else { 0 };
        buffer[at..at + send.len()].copy_from_slice(&send);
        (buffer, wanted)
    };
    // What is behind a scattered result is not defined.
    let end = if *collective == Collective::ReduceScatter { elements } else { buffer.len() };
    let mut in_place = buffer.clone();
    comm.perform_in_place(collective, &mut in_place, op).unwrap();
    same(comm, &format!("{collective} in place"), &in_place[..end], &wanted[..end]);
    if *collective != (Collective::Barrier) {
        let mut plan = plan.in_place(comm).unwrap();
        in_place.copy_from_slice(&buffer);
        plan.execute_in_place(comm, &mut in_place).unwrap();
        same(comm, &format!("planned {collective} in place"), &in_place[..end], &wanted[..end]);
    }
}

/// x -> a x + b modulo 2^32, as one number; `left` is done first. Associative, and sensitive to
/// order and repetition.
pub fn compose(left: u64, right: u64) -> u64 {
    let parts = |map: u64| ((map >> 32) as u32, map as u32);
    let ((a, b), (c, d)) = (parts(left), parts(right));
    u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
}

/// Allreduce and scan of maps.
pub fn composition(comm: &mut Communicator, elements: usize) {
    let (me, size) = (comm.rank(), comm.size());
    // Odd factors lose nothing.
    let map = |rank: usize, i: usize| element::<u64>(rank, 3, i) | 1 << 32;
    let upto = |last: usize, i: usize| (1..=last).fold(map(0, i), |all, rank| compose(all, map(rank, i)));
    let send: Vec<u64> = (0..elements).map(|i| map(me, i)).collect();
    let mut receive = poisoned(elements);
    comm.allreduce(&send, &mut receive, by("compose", compose)).unwrap();
    same(comm, "allreduce", &receive, &(0..elements).map(|i| upto(size - 1, i)).collect::<Vec<_>>());
    receive.fill(poison());
    comm.scan(&send, &mut receive, by("compose", compose)).unwrap();
    same(comm, "scan", &receive, &(0..elements).map(|i| upto(me, i)).collect::<Vec<_>>());
}

/// Every collective of regular counts, once.
pub fn everything<T: Element>(comm: &mut Communicator, elements: usize) {
    alltoall::<T>(comm, elements);
    allgather::<T>(comm, elements);
    broadcast::<T>(comm, elements, (elements + 1) % comm.size());
    ends::<T>(comm, elements);
    comm.barrier().unwrap();
}

/// Blocks of different lengths, or in different places, that ranks exchange at random.
pub trait RandomExchange {
    /// Exchanges blocks that depend on the seed, and compares the result with the definition.
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64);
}

/// Makes random exchanges of elements of several types.
pub fn random_exchanges<E: RandomExchange>(
    topology: &'static str,
    algorithm: &'static str,
    seeds: std::ops::Range<u64>,
) {
    watched(&format!("{algorithm} on {topology}"), move || {
        let run = on(topology).choose("alltoallv", algorithm).run(|mut comm| {
            for seed in seeds.clone() {
                E::exchange::<u64>(&mut comm, seed);
                E::exchange::<u8>(&mut comm, seed + 1000);
                E::exchange::<[f32; 3]>(&mut comm, seed + 2000);
                E::exchange::<Complex64>(&mut comm, seed + 3000);
                E::exchange::<()>(&mut comm, seed + 4000);
            }
        });
        run.unwrap();
    });
}
