//! Operations of reductions.

use std::collections::BTreeSet;
use std::num::Wrapping;
use std::sync::Arc;

use half::{bf16, f16};
use necklace::algorithm::registry;
use necklace::bytemuck::Pod;
use necklace::collective::Collective;
use necklace::op::{
    And, BitAnd, BitOr, BitXor, Located, Max, MaxLoc, Mean, Min, MinLoc, Op, Or, Product, Sum, Xor, by,
};
use necklace::schedule::Problem;
use necklace::topology::Complete;
use necklace::{Communicator, Options, Rank};

use num_complex::Complex;

use super::definitions::{element, same};
use crate::jobs::{self, on, watched};

/// Asserts that reductions by an operation give the result of combining in rank order.
fn check<T: Pod + PartialEq + std::fmt::Debug, O: Op<T> + Copy>(
    comm: &mut Communicator,
    values: impl Fn(usize, usize) -> T,
    op: O,
) {
    let (me, size) = (comm.rank(), comm.size());
    let upto = |last: usize, i: usize| (1..=last).fold(values(0, i), |all, rank| op.combine(all, values(rank, i)));
    for elements in [0, 1, 5] {
        let all = |f: &dyn Fn(usize) -> T| (0..elements).map(f).collect::<Vec<T>>();
        let (send, mut receive) = (all(&|i| values(me, i)), all(&|i| values(7, i + 100)));
        comm.allreduce(&send, &mut receive, op).unwrap();
        same(comm, &format!("allreduce by {}", op.name()), &receive, &all(&|i| op.finish(upto(size - 1, i), size)));
        comm.scan(&send, &mut receive, op).unwrap();
        same(comm, &format!("scan by {}", op.name()), &receive, &all(&|i| op.finish(upto(me, i), me + 1)));
        let mut buffer = send.clone();
        comm.reduce_in_place(&mut buffer, size / 2, op).unwrap();
        let wanted = if me == size / 2 { all(&|i| op.finish(upto(size - 1, i), size)) } else { send };
        same(comm, &format!("reduce by {} in place", op.name()), &buffer, &wanted);
        let counts: Vec<usize> = (0..size).map(|to| (elements + to) % 4).collect();
        let (begin, end): (usize, usize) = (counts[..me].iter().sum(), counts.iter().sum());
        // Few different values, so that products stay exact.
        let send: Vec<T> = (0..end).map(|i| values(me, i % 5)).collect();
        let wanted: Vec<T> = (begin..begin + counts[me]).map(|i| op.finish(upto(size - 1, i % 5), size)).collect();
        let mut receive = vec![values(7, 100); counts[me]];
        comm.reduce_scatterv(&send, &counts, &mut receive, op).unwrap();
        same(comm, &format!("reduce_scatterv by {}", op.name()), &receive, &wanted);
    }
}

pub(super) fn every_operation_works_on_every_integer_type() {
    macro_rules! all {
        ($comm:ident, $($t:ty)*) => {$(
            let values = |rank, i| element::<u128>(rank, 9, i) as $t;
            check(&mut $comm, values, Sum);
            check(&mut $comm, values, Product);
            check(&mut $comm, values, Min);
            check(&mut $comm, values, Max);
            check(&mut $comm, values, BitAnd);
            check(&mut $comm, values, BitOr);
            check(&mut $comm, values, BitXor);
            let truth = |rank, i| values(rank, i) & 1;
            check(&mut $comm, truth, And);
            check(&mut $comm, truth, Or);
            check(&mut $comm, truth, Xor);
            let located = |rank: usize, i| Located::new(values(rank, i) & 3, rank as u16);
            check(&mut $comm, located, MinLoc);
            check(&mut $comm, located, MaxLoc);
        )*};
    }
    for ranks in [1, 2, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                all!(comm, i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
            })
            .unwrap();
        });
    }
}

pub(super) fn custom_commuting_operations_work_in_any_order() {
    for ranks in [1, 2, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let wide = |rank, i| [element::<u64>(rank, 9, i), element::<u64>(rank, 8, i)];
                let both = |left: [u64; 2], right: [u64; 2]| [left[0] ^ right[0], left[1].wrapping_add(right[1])];
                check(&mut comm, wide, by("both", both).commutative());
                check(&mut comm, wide, by("both", both));
            })
            .unwrap();
        });
    }
}

pub(super) fn numbers_of_other_crates_are_reduced() {
    for ranks in [1, 3, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let small = |rank: usize, i: usize| f32::from((rank + i) as u8 % 3) - 1.0;
                let complex = |rank, i| Complex::new(f64::from(small(rank, i)), f64::from(small(i, rank + 1)));
                check(&mut comm, complex, Sum);
                check(&mut comm, complex, Product);
                check(&mut comm, |rank, i| f16::from_f32(small(rank, i)), Sum);
                check(&mut comm, |rank, i| f16::from_f32(small(rank, i)), Max);
                check(&mut comm, |rank, i| bf16::from_f32(small(rank, i)), Product);
                check(&mut comm, |rank, i| bf16::from_f32(small(rank, i)), Min);
                check(&mut comm, |rank, i| Wrapping(element::<u64>(rank, 9, i) as i16), Product);
                let wrapping = |rank, i| Wrapping(element::<u64>(rank, 9, i) as i32);
                check(&mut comm, |rank, i| Complex::new(wrapping(rank, i), wrapping(rank + 9, i)), Product);
                let halves = |rank, i| Complex::new(f16::from_f32(small(rank, i)), f16::from_f32(small(i, rank)));
                check(&mut comm, halves, Sum);
            })
            .unwrap();
        });
    }
}

/// Checks the operations on floats, of which no result is rounded, and on some integers.
pub fn check_numbers(comm: &mut Communicator) {
    let single = |rank: usize, i: usize| ((rank * 7 + i * 3) % 11) as f32 - 5.0;
    let double = |rank: usize, i: usize| f64::from(single(rank, i));
    // Powers of two: no product is rounded.
    let power = |rank: usize, i: usize| f64::powi(2.0, (rank as i32 - 2) * (i as i32 + 1));
    check(comm, single, Sum);
    check(comm, single, Min);
    check(comm, single, Max);
    check(comm, double, Sum);
    check(comm, double, Min);
    check(comm, double, Max);
    check(comm, power, Product);
    check(comm, single, Mean);
    check(comm, double, Mean);
    let located = |rank: usize, i: usize| Located::new(single(rank / 2, i), rank as u64);
    check(comm, located, MinLoc);
    check(comm, located, MaxLoc);
    let bits = |rank: usize, i: usize| element::<u64>(rank, 9, i) as u8;
    check(comm, bits, Sum);
    check(comm, bits, BitAnd);
}

pub(super) fn every_operation_is_exact_on_small_floats() {
    for ranks in [1, 3, 8, 13] {
        watched(&format!("{ranks} ranks"), move || jobs::run(ranks, |mut comm| check_numbers(&mut comm)).unwrap());
    }
}

pub(super) fn rounded_sums_have_equal_bits_on_every_rank_and_run() {
    let summed = |topology: &'static str, run: u64| {
        watched(topology, move || {
            on(topology)
                .options(Options::default().cache(1 + run as usize, 1 << 20))
                .run(|mut comm| {
                    let me = comm.rank();
                    let send: Vec<f64> = (0..33).map(|i| 1.0 / (element::<f64>(me, 4, i) + 0.1)).collect();
                    // Others come later in other runs.
                    for _ in 0..(me as u64 * (run + 3)) % 7 {
                        std::thread::yield_now();
                    }
                    let (mut sum, mut running) = (vec![0.0; 33], vec![0.0; 33]);
                    comm.allreduce(&send, &mut sum, Sum).unwrap();
                    comm.scan(&send, &mut running, by("plus", |left: f64, right: f64| left + right)).unwrap();
                    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
                    (bits(sum), bits(running))
                })
                .unwrap()
        })
    };
    for topology in ["complete:2", "ring:3", "complete:13", "torus:4x4", "line:32"] {
        let first = summed(topology, 0);
        assert!(first.iter().all(|(sum, _)| *sum == first[0].0), "{topology}: ranks differ");
        for run in 1..6 {
            assert_eq!(summed(topology, run), first, "{topology}, run {run}");
        }
    }
}

pub(super) fn placement_does_not_change_the_order_of_combination() {
    // Keys permute the ranks of the part, not the nodes they sit on.
    watched("placed", || {
        on("torus:4x4")
            .run(|mut comm| {
                let key = [5, 3, 11, 0, 9, 1, 15, 7, 2, 13, 4, 6, 8, 14, 10, 12][comm.rank()];
                let mut part = comm.split(0, key).unwrap();
                assert_eq!(part.rank() as i64, key);
                assert!(!part.placement().is_identity());
                super::definitions::composition(&mut part, 9);
            })
            .unwrap();
    });
}

/// Chooses one after the other every algorithm for a reduction with root `size / 2`, or, if
/// `ordered`, those that keep the order of ranks. Calls `check` with the collective and the
/// algorithm's name.
fn by_every_algorithm(
    comm: &mut Communicator,
    ordered: bool,
    mut check: impl FnMut(&mut Communicator, &Collective, &str),
) {
    let size = comm.size();
    for algorithm in registry().iter().filter(|algorithm| algorithm.priced_as().is_none()) {
        let collective = Collective::named(algorithm.about().collective, Rank::new(size / 2)).unwrap();
        let problem = Problem::new(Arc::new(Complete::new(size).unwrap()), collective.clone()).unwrap();
        let problem = if ordered { problem.ordered() } else { problem };
        if !collective.is_reduction() || algorithm.fits(&problem).is_err() {
            continue;
        }
        comm.choose(collective.name(), algorithm.name()).unwrap();
        check(comm, &collective, &algorithm.name());
        comm.choose(collective.name(), "auto").unwrap();
    }
}

/// The bits of a rank's results by every algorithm, by name.
fn bits_of_sums(comm: &mut Communicator) -> Vec<(String, Vec<u64>)> {
    let (me, size) = (Rank::new(comm.rank()), comm.size());
    // The sum depends on the order and on the grouping.
    let send: Vec<f64> =
        (0..3 * size).map(|i| (1.0 + me.index() as f64) / (3.0 + i as f64) * 1e3_f64.powi(me.index() as i32)).collect();
    let mut all = Vec::new();
    by_every_algorithm(comm, false, |comm, collective, algorithm| {
        let [before, after] = [collective.before(size, me), collective.after(size, me)].map(|blocks| 3 * blocks.len());
        let mut receive = vec![0.0; after];
        comm.perform(collective, &send[..before], &mut receive, Sum).unwrap();
        let bits = receive.into_iter().map(f64::to_bits).collect();
        all.push((format!("{} {algorithm}", collective.name()), bits));
    });
    all
}

/// A string of up to 31 digits, and its length.
type Digits = [u8; 32];

fn digits(text: &str) -> Digits {
    let mut digits = [0; 32];
    digits[..text.len()].copy_from_slice(text.as_bytes());
    digits[31] = text.len() as u8;
    digits
}

fn text(digits: &Digits) -> &str {
    std::str::from_utf8(&digits[..usize::from(digits[31])]).unwrap()
}

pub(super) fn strings_of_digits_are_concatenated_in_rank_order() {
    let concatenate = |left: Digits, right: Digits| digits(&format!("{}{}", text(&left), text(&right)));
    // The digits of a rank: its number, and a mark of the element.
    let own = |rank: usize, element: usize| format!("{rank}{}", ["", "0", "9"][element % 3]);
    for ranks in [1, 2, 3, 5, 8, 10] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let (me, size) = (Rank::new(comm.rank()), comm.size());
                let op = by("concatenate", concatenate);
                by_every_algorithm(&mut comm, true, |comm, collective, algorithm| {
                    let elements = 3;
                    let length = elements * collective.before(size, me).len();
                    let send: Vec<Digits> = (0..length).map(|i| digits(&own(me.index(), i))).collect();
                    // In a reduce_scatter, element i of block b is element 3 b + i of the buffer,
                    // with the same mark.
                    let after = collective.after(size, me);
                    let wanted = after.iter().flat_map(|(_, from)| {
                        (0..elements).map(|i| from.iter().map(|rank| own(rank.index(), i)).collect::<String>())
                    });
                    let wanted: Vec<String> = wanted.collect();
                    let mut receive = vec![digits("7"); wanted.len()];
                    comm.perform(collective, &send, &mut receive, op).unwrap();
                    let found: Vec<&str> = receive.iter().map(text).collect();
                    assert_eq!(found, wanted, "{collective} by {algorithm} on rank {me} of {size}");
                });
            })
            .unwrap();
        });
    }
}

pub(super) fn sums_have_the_same_bits_as_among_threads() {
    for ranks in [1, 3, 8] {
        watched(&format!("{ranks} ranks"), move || {
            let network = format!("complete:{ranks}");
            let found = on(&network).run(|mut comm| bits_of_sums(&mut comm)).unwrap();
            let among_threads = necklace::local::run(ranks, |mut comm| bits_of_sums(&mut comm)).unwrap();
            assert_eq!(found, among_threads);
            let several = |of: &str| found[0].iter().filter(|(name, _)| name.starts_with(of)).count();
            assert!(several("allreduce") > 3 && several("scan") > 1 && several("reduce ") > 3, "{:?}", found[0]);
            if ranks == 8 {
                let sums: BTreeSet<&[u64]> = found[0].iter().map(|(_, bits)| &bits[..]).collect();
                assert!(sums.len() > 3, "the values do not tell groupings apart");
            }
        });
    }
}
