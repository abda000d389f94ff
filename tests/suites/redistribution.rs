//! Arrays that change from one distribution to another.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use necklace::array::{ArrayError, Distribution, Split};
use necklace::communicator::PortionedRedistribution;
use necklace::error::ArgumentError;
use necklace::permutation::BitMap;
use necklace::topology::Grid;
use necklace::{Communicator, Error};

use super::definitions::{Dice, Element, RandomExchange, poison, random_exchanges, same};
use crate::jobs::{self, on, watched};

/// A random distribution, and the places of a rank's elements by the definition.
struct Placed {
    distribution: Distribution,
    /// The number of each element in the array, in the order of the rank's memory; `None` between rows.
    memory: Vec<Option<usize>>,
    /// The rank's indices of each axis.
    mine: Vec<Vec<usize>>,
    padding: Option<usize>,
}

/// The indices that a coordinate has, by dealing them out one by one.
fn dealt(split: Split, extent: usize, coordinate: usize, of: usize) -> Vec<usize> {
    let mut hands = vec![vec![]; of];
    match split {
        Split::Whole => return (0..extent).collect(),
        Split::Block(_) => {
            let mut next = 0..extent;
            for (i, hand) in hands.iter_mut().enumerate() {
                let length = extent / of + usize::from(i < extent % of);
                hand.extend(next.by_ref().take(length));
            }
        }
        Split::Cyclic(_) => (0..extent).for_each(|index| hands[index % of].push(index)),
        Split::BlockCyclic { block, .. } => (0..extent).for_each(|index| hands[index / block % of].push(index)),
        other => panic!("{other} has no definition here"),
    }
    hands.swap_remove(coordinate)
}

/// Cuts an array into boxes at random places.
fn cut(whole: Vec<Range<usize>>, parts: usize, dice: &mut Dice) -> Vec<Vec<Range<usize>>> {
    if parts == 1 {
        return vec![whole];
    }
    let (axis, first) = (dice.below(whole.len()), 1 + dice.below(parts - 1));
    let at = whole[axis].start + dice.below(whole[axis].len() + 1);
    let (mut low, mut high) = (whole.clone(), whole);
    low[axis].end = at;
    high[axis].start = at;
    [cut(low, first, dice), cut(high, parts - first, dice)].concat()
}

/// Returns a random distribution of an array of this shape over this number of ranks, with the memory
/// of one of them.
fn placed(shape: &[usize], batch: usize, (me, ranks): (usize, usize), dice: &mut Dice) -> Placed {
    let axes = shape.len();
    let whole: Vec<Range<usize>> = shape.iter().map(|&extent| 0..extent).collect();
    let (distribution, mut owned): (_, Vec<Vec<Vec<usize>>>) = if dice.below(4) == 0 {
        let boxes = cut(whole, ranks, dice);
        let owned = boxes.iter().map(|range| range.iter().map(|range| range.clone().collect()).collect()).collect();
        (Distribution::boxes(shape, &boxes).unwrap(), owned)
    } else {
        let (mut extents, mut rest) = (vec![1; 1 + dice.below(axes)], ranks);
        for prime in [2, 3, 5, 7] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
                let at = dice.below(extents.len());
                extents[at] *= prime;
            }
        }
        extents[0] *= rest;
        let grid = Grid::mesh(&extents).unwrap();
        let mut splits = vec![Split::Whole; axes];
        for (over, axis) in dice.order(axes).into_iter().take(extents.len()).enumerate() {
            splits[axis] = match dice.below(4) {
                0 => Split::Cyclic(over),
                1 => Split::BlockCyclic { axis: over, block: 1 + dice.below(3) },
                _ => Split::Block(over),
            };
        }
        let at = |rank: usize, over: usize| {
            let faster: usize = extents[over + 1..].iter().product();
            rank / faster % extents[over]
        };
        let of = |rank, axis: usize| match splits[axis].axis() {
            Some(over) => dealt(splits[axis], shape[axis], at(rank, over), extents[over]),
            None => (0..shape[axis]).collect(),
        };
        let owned = (0..ranks).map(|rank| (0..axes).map(|axis| of(rank, axis)).collect()).collect();
        (Distribution::new(shape, &grid, &splits).unwrap(), owned)
    };
    let order = if dice.below(2) == 0 { (0..axes).collect() } else { dice.order(axes) };
    let fastest = *order.last().unwrap();
    let row = owned.iter().map(|of: &Vec<Vec<usize>>| of[fastest].len()).max().unwrap();
    let padding = (dice.below(3) == 0).then(|| row + dice.below(3));
    let distribution = distribution.batched(batch).unwrap().in_order(&order).unwrap();
    let distribution = padding.map_or_else(|| Ok(distribution.clone()), |to| distribution.clone().padded(to)).unwrap();

    let mine = owned.swap_remove(me);
    let memory = memory(shape, &mine, (&order, padding), batch);
    Placed { memory, distribution, mine, padding }
}

/// The number of each element in the memory of a rank that has these indices of each axis.
fn memory(
    shape: &[usize],
    indices: &[Vec<usize>],
    (order, padding): (&[usize], Option<usize>),
    batch: usize,
) -> Vec<Option<usize>> {
    let number = |index: &[usize]| index.iter().zip(shape).fold(0, |number, (at, extent)| number * extent + at);
    let mut memory = Vec::new();
    if indices.iter().any(Vec::is_empty) {
        return memory;
    }
    let counts: Vec<usize> = order.iter().map(|&axis| indices[axis].len()).collect();
    for position in 0..counts.iter().product() {
        let (mut index, mut rest) = (vec![0; shape.len()], position);
        for (&axis, count) in order.iter().zip(&counts).rev() {
            index[axis] = indices[axis][rest % count];
            rest /= count;
        }
        memory.extend((0..batch).map(|i| Some(number(&index) * batch + i)));
        let row = counts[counts.len() - 1];
        if (position + 1) % row == 0 {
            memory.extend(vec![None; (padding.unwrap_or(row) - row) * batch]);
        }
    }
    memory
}

/// The memory of a rank, with the given number in each element.
fn filled<T: Element>(memory: &[Option<usize>], seed: u64) -> Vec<T> {
    memory.iter().map(|number| number.map_or(poison(), |number| T::of(Dice(seed ^ number as u64).roll()))).collect()
}

/// An array that is taken from one random distribution to another, and back.
struct Redistributed;

impl RandomExchange for Redistributed {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let (me, ranks) = (comm.rank(), comm.size());
        let mut dice = Dice(seed.wrapping_mul(41));
        let shape: Vec<usize> = (0..1 + dice.below(5)).map(|_| [0, 1, 2, 3, 5, 6, 8, 12][dice.below(8)]).collect();
        // Most have elements.
        let shape: Vec<usize> =
            shape.into_iter().map(|extent| extent.max(usize::from(!seed.is_multiple_of(8)))).collect();
        let batch = [1, 1, 1, 2, 3][dice.below(5)];
        let [before, after] = [0; 2].map(|_| placed(&shape, batch, (me, ranks), &mut dice));
        let what = |step: &str| format!("{step} of {} to {}", before.distribution, after.distribution);
        for placed in [&before, &after] {
            check_queries(placed, me, &shape);
        }
        let mut plan = comm.redistribute_init::<T>(&before.distribution, &after.distribution).unwrap();
        for turn in 0..2_u64 {
            let [wanted_before, wanted_after] =
                [&before, &after].map(|placed| filled::<T>(&placed.memory, seed << 8 ^ turn));
            let mut found = vec![poison(); wanted_after.len()];
            plan.execute(&wanted_before, &mut found).unwrap();
            same(comm, &what("redistribution"), &found, &wanted_after);
            let mut back = vec![poison(); wanted_before.len()];
            plan.execute_back(&found, &mut back).unwrap();
            same(comm, &what("the way back"), &back, &wanted_before);

            if turn == 0 {
                in_portions::<T>(comm, &mut dice, &shape, [&before, &after], seed << 8);
            }
            let longer = back.len().max(found.len());
            let mut buffer = back.clone();
            buffer.resize(longer, poison());
            plan.execute_in_place(&mut buffer).unwrap();
            let elements = |buffer: &[T], placed: &Placed| -> Vec<T> {
                let memory = placed.memory.iter().zip(buffer);
                memory.filter(|(number, _)| number.is_some()).map(|(_, element)| *element).collect()
            };
            let [found, wanted] = [&buffer, &wanted_after].map(|buffer| elements(buffer, &after));
            same(comm, &what("redistribution in place"), &found, &wanted);
            plan.execute_back_in_place(&mut buffer).unwrap();
            let [found, wanted] = [&buffer, &wanted_before].map(|buffer| elements(buffer, &before));
            same(comm, &what("the way back in place"), &found, &wanted);
        }
    }
}

/// Takes an array from one distribution to another and back in portions along any axis.
fn in_portions<T: Element>(
    comm: &mut Communicator,
    dice: &mut Dice,
    shape: &[usize],
    [before, after]: [&Placed; 2],
    seed: u64,
) {
    let axis = dice.below(shape.len());
    let portions = 1 + dice.below(shape[axis].clamp(1, 3));
    let [from, to] = [&before.distribution, &after.distribution];
    let what = |step: &str| format!("{step} of {from} to {to}");
    let wanted_after = filled::<T>(&after.memory, seed);
    let mut in_portions = comm.redistribute_portions_init::<T>(from, to, axis, portions).unwrap();
    // A portion is an array of its own, with some indices of the axis.
    let portion = |positions: Range<usize>| {
        let mut indices = before.mine.clone();
        indices[axis] = indices[axis][positions].to_vec();
        let divides_rows = portions > 1 && from.order().last() == Some(&axis);
        let padding = before.padding.filter(|_| !divides_rows);
        filled::<T>(&memory(shape, &indices, (from.order(), padding), from.batch()), seed)
    };
    let mut found = vec![poison(); wanted_after.len()];
    // In any order.
    for number in dice.order(portions) {
        let wanted = portion(in_portions.positions(number));
        assert_eq!(in_portions.portion_len(number), wanted.len(), "{}", what("a portion"));
        in_portions.execute(number, &wanted, &mut found).unwrap();
        let mut back = vec![poison(); wanted.len()];
        in_portions.execute_back(number, &wanted_after, &mut back).unwrap();
        same(comm, &what("the way back of a portion"), &back, &wanted);
    }
    same(comm, &what("redistribution in portions"), &found, &wanted_after);
    let longest = (0..portions).map(|number| in_portions.portion_len(number)).max().unwrap();
    let [mut one, mut other] = [longest, longest + 1].map(|length| vec![poison::<T>(); length]);
    let mut found = vec![poison(); wanted_after.len()];
    let compute = |positions, buffer: &mut [T]| buffer.copy_from_slice(&portion(positions));
    in_portions.execute_overlapped([&mut one, &mut other], &mut found, compute).unwrap();
    same(comm, &what("redistribution in overlapped portions"), &found, &wanted_after);
    let mut arrived = Vec::new();
    let buffers = [&mut one[..], &mut other];
    buffers.into_iter().for_each(|buffer| buffer.fill(poison()));
    let keep = |positions, buffer: &mut [T]| arrived.push((positions, buffer.to_vec()));
    in_portions.execute_back_overlapped(&wanted_after, [&mut one, &mut other], keep).unwrap();
    assert_eq!(arrived.len(), portions, "{}", what("portions back"));
    for (positions, back) in arrived {
        same(comm, &what("the way back of an overlapped portion"), &back, &portion(positions));
    }
}

/// Compares what a distribution says with the places of its elements.
fn check_queries(Placed { distribution, memory, .. }: &Placed, rank: usize, shape: &[usize]) {
    let batch = distribution.batch();
    assert_eq!(distribution.local_len(rank), memory.len(), "{distribution}");
    let local: usize = distribution.local_shape(rank).iter().product();
    assert_eq!(local * batch, memory.iter().flatten().count(), "{distribution}");
    let number = |index: &[usize]| index.iter().zip(shape).fold(0, |number, (at, extent)| number * extent + at);
    let view = distribution.view(rank, memory).unwrap();
    let wrong = distribution.view(rank, &vec![(); memory.len() + 1]).unwrap_err();
    assert!(matches!(wrong, ArrayError::Buffer { .. }), "{wrong}");
    let indices: Vec<Vec<usize>> = (0..shape.len()).map(|axis| distribution.indices(rank, axis).collect()).collect();
    if local > 0 {
        for (axis, indices) in indices.iter().enumerate() {
            let range = indices[0]..indices[indices.len() - 1] + 1;
            let consecutive = (range.len() == indices.len()).then_some(range);
            assert_eq!(distribution.range(rank, axis), consecutive, "{distribution}");
        }
    }
    let (mut elements, mut written) = (0, vec![None; memory.len()]);
    let mut view_mut = distribution.view_mut(rank, &mut written).unwrap();
    for (at, index) in distribution.elements(rank) {
        assert_eq!(memory[at], Some(number(&index) * batch), "{distribution}");
        assert_eq!(distribution.owner(&index), Some(rank), "{distribution}");
        assert_eq!(distribution.local_index(&index), Some(at), "{distribution}");
        let local = index.iter().zip(&indices);
        let local = local.map(|(x, indices)| indices.iter().position(|index| index == x).unwrap());
        let local: Vec<usize> = local.collect();
        for i in 0..batch {
            let in_view: Vec<usize> = local.iter().copied().chain((batch > 1).then_some(i)).collect();
            assert_eq!(view[&in_view[..]], Some(number(&index) * batch + i), "{distribution}");
            view_mut[&in_view[..]] = Some(number(&index) * batch + i);
        }
        elements += 1;
    }
    assert_eq!(written, memory[..], "{distribution}");
    assert_eq!(elements, local, "{distribution}");
}

/// Takes a random array from one random distribution to another and back, whole and in portions.
pub fn goes_there_and_back<T: Element>(comm: &mut Communicator, seed: u64) {
    Redistributed::exchange::<T>(comm, seed);
}

pub(super) fn arrays_go_from_any_distribution_to_any_other() {
    let topologies = ["complete:1", "complete:2", "ring:3", "mesh:2x3", "complete:8", "torus:3x4"];
    for (i, topology) in (0..).zip(topologies) {
        random_exchanges::<Redistributed>(topology, "direct", jobs::seeds(i));
        if jobs::is_native() {
            random_exchanges::<Redistributed>(topology, "native", 100 * i..100 * i + 4);
        }
    }
    // By relays, on rows of the torus and on all of it.
    random_exchanges::<Redistributed>("torus:4x4", "torus-exchange", 700..706);
}

/// Arrays whose extents, grids and blocks are powers of two, which `permute` moves by their address
/// bits.
struct Permuted;

impl RandomExchange for Permuted {
    fn exchange<T: Element>(comm: &mut Communicator, seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(43));
        let (me, rank_bits) = (comm.rank(), comm.size().ilog2() as usize);
        // At least as many indices as ranks along each axis.
        let extra: Vec<usize> = (0..1 + dice.below(3)).map(|_| rank_bits + dice.below(2)).collect();
        let shape: Vec<usize> = extra.iter().map(|bits| 1 << bits).collect();
        let mut some = || {
            let mut rest = rank_bits;
            let extents: Vec<usize> = (1..=shape.len())
                .map(|axis| {
                    let bits = if axis == shape.len() { rest } else { dice.below(rest + 1) };
                    rest -= bits;
                    1 << bits
                })
                .collect();
            let over = dice.order(shape.len());
            let splits: Vec<Split> = (0..shape.len())
                .map(|axis| match dice.below(3) {
                    0 => Split::Block(over[axis]),
                    1 => Split::Cyclic(over[axis]),
                    _ => {
                        let block = shape[axis] / extents[over[axis]];
                        Split::BlockCyclic { axis: over[axis], block: 1 << dice.below(block.ilog2() as usize + 1) }
                    }
                })
                .collect();
            let grid = Grid::mesh(&extents).unwrap();
            Distribution::new(&shape, &grid, &splits).unwrap().in_order(&dice.order(shape.len())).unwrap()
        };
        let distributions = [some(), some()];
        let (bits, each) = (extra.iter().sum::<usize>(), distributions[0].local_len(me));
        // Every bit of an index is a bit of the address, before and after.
        let mut to = vec![0; bits];
        for (axis, &extent) in shape.iter().enumerate() {
            for bit in 0..extent.ilog2() {
                let mut index = vec![0; shape.len()];
                index[axis] = 1 << bit;
                let address = |of: &Distribution| of.owner(&index).unwrap() * each + of.local_index(&index).unwrap();
                let [old, new] = [0, 1].map(|i| address(&distributions[i]).ilog2() as usize);
                to[old] = new;
            }
        }
        let send: Vec<T> = (0..each).map(|i| T::of(Dice(seed ^ (me * each + i) as u64).roll())).collect();
        let [mut permuted, mut moved] = [vec![poison(); each], vec![poison(); each]];
        comm.permute(&BitMap::moving(&to).unwrap(), &send, &mut permuted).unwrap();
        let [before, after] = &distributions;
        comm.redistribute_init(before, after).unwrap().execute(&send, &mut moved).unwrap();
        same(comm, &format!("{before} to {after}"), &moved, &permuted);
    }
}

pub(super) fn powers_of_two_are_redistributed_as_permute_does() {
    for (i, topology) in (0..).zip(["complete:1", "line:2", "hypercube:2", "torus:2x4"]) {
        random_exchanges::<Permuted>(topology, "direct", jobs::seeds(i));
    }
}

pub(super) fn ranks_that_move_different_portions_are_told() {
    type Call = fn(&mut PortionedRedistribution<u32>, bool) -> Result<(), Error>;
    let forms: [Call; 4] = [
        |plan, odd| plan.execute(usize::from(odd), &[1; 6], &mut [0; 12]),
        |plan, odd| match odd {
            true => plan.execute_back(0, &[1; 12], &mut [0; 6]),
            false => plan.execute(0, &[1; 6], &mut [0; 12]),
        },
        |plan, odd| {
            let compute =
                |positions: Range<usize>, _: &mut [u32]| assert!(!odd || positions.start == 0, "out of ideas");
            let (mut one, mut other) = ([1; 6], [1; 6]);
            plan.execute_overlapped([&mut one, &mut other], &mut [0; 12], compute)
        },
        |plan, odd| {
            let compute = |_: Range<usize>, _: &mut [u32]| assert!(!odd, "at a loss");
            let (mut one, mut other) = ([1; 6], [1; 6]);
            // The last portion is computed after the last exchange, so others may be done with this call.
            plan.execute_back_overlapped(&[1; 12], [&mut one, &mut other], compute)?;
            plan.execute_back_overlapped(&[1; 12], [&mut one, &mut other], compute)
        },
    ];
    let words = ["portion 1 of 2", ", back", "of a portion panicked: out of ideas", "of a portion panicked: at a loss"];
    for (form, words) in forms.into_iter().zip(words) {
        watched(words, move || {
            let errors = on("complete:3").run(move |mut comm| {
                let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[6, 6], axis, 3).unwrap());
                let mut plan = comm.redistribute_portions_init::<u32>(&rows, &columns, 0, 2).unwrap();
                let odd = comm.rank() == 1;
                let call = catch_unwind(AssertUnwindSafe(|| form(&mut plan, odd)));
                match call {
                    Ok(outcome) => outcome.unwrap_err(),
                    // The rank that panics has no result.
                    Err(_) => plan.execute(0, &[1; 6], &mut [0; 12]).unwrap_err(),
                }
            });
            let errors: Vec<String> = errors.unwrap().iter().map(ToString::to_string).collect();
            assert!(errors.iter().all(|error| error.contains(words)), "{errors:?}");
        });
    }
}

pub(super) fn only_ranks_along_the_axis_that_changes_exchange_elements() {
    watched("pencils", || {
        let run = on("torus:3x4").run(|mut comm| {
            let grid = Grid::mesh(&[3, 4]).unwrap();
            let pencils = |whole| Distribution::pencils(&[6, 8, 9], whole, &grid).unwrap();
            let mut rows = comm.redistribute_init::<u8>(&pencils(2), &pencils(1)).unwrap();
            let mut columns = comm.redistribute_init::<u8>(&pencils(1), &pencils(0)).unwrap();
            let mut order =
                comm.redistribute_init::<u8>(&pencils(1), &pencils(1).in_order(&[2, 0, 1]).unwrap()).unwrap();
            let network = |comm: &mut Communicator| (comm.size(), comm.topology().text());
            (network(rows.communicator_mut()), network(columns.communicator_mut()), network(order.communicator_mut()).0)
        });
        for (rows, columns, order) in run.unwrap() {
            assert_eq!((rows.0, columns.0, order), (4, 3, 1));
            assert_eq!((rows.1.as_str(), columns.1.as_str()), ("ring:4", "ring:3"));
        }
    });
}

pub(super) fn mistakes_in_redistributions_are_refused() {
    watched("mistakes in redistributions", || {
        let run = on("complete:3").run(|mut comm| {
            let rows = Distribution::slabs(&[5, 7], 0, 3).unwrap();
            let of = |error: Error| match error {
                Error::Argument { source, .. } => match *source {
                    ArgumentError::Array(error) => error,
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            };
            let error = comm.grid_for(&[5, 7], &[0, 2], 8).unwrap_err();
            assert!(error.to_string().contains("grid_for"), "{error}");
            assert!(matches!(of(error), ArrayError::Axis { axis: 2, axes: 2, .. }));
            assert_eq!(comm.grid_for(&[5, 7], &[0, 1], 8).unwrap().grid.extents(), [3]);
            let other = Distribution::slabs(&[7, 5], 0, 3).unwrap();
            let found = of(comm.redistribute_init::<u8>(&rows, &other).unwrap_err());
            assert!(matches!(found, ArrayError::Shapes { .. }), "{found}");
            assert!(found.to_string().contains("5x7") && found.to_string().contains("7x5"), "{found}");
            let found = of(comm.redistribute_init::<u8>(&rows.clone().batched(2).unwrap(), &rows).unwrap_err());
            assert!(found.to_string().contains("5x7, 2 elements at each index"), "{found}");
            let few = Distribution::slabs(&[5, 7], 0, 2).unwrap();
            let found = of(comm.redistribute_init::<u8>(&rows, &few).unwrap_err());
            assert!(matches!(found, ArrayError::Ranks { found: 2, ranks: 3, .. }), "{found}");

            let columns = Distribution::slabs(&[5, 7], 1, 3).unwrap();
            let mut plan = comm.redistribute_init::<u64>(&rows, &columns).unwrap();
            let lengths = [&rows, &columns].map(|distribution| distribution.local_len(comm.rank()));
            let error = plan.execute(&vec![0; lengths[0] - 1], &mut vec![0; lengths[1]]).unwrap_err().to_string();
            let words = format!("expected {}", lengths[0]);
            assert!(error.contains("buffer `before`") && error.contains(&words), "{error}");
            let error = plan.execute(&vec![0; lengths[0]], &mut vec![0; lengths[1] + 1]).unwrap_err().to_string();
            assert!(error.contains("buffer `after`") && error.contains(&lengths[1].to_string()), "{error}");
            // It still works.
            plan.execute(&vec![1; lengths[0]], &mut vec![0; lengths[1]]).unwrap();

            let portions = |comm: &mut Communicator, axis, portions| {
                comm.redistribute_portions_init::<u64>(&rows, &columns, axis, portions)
            };
            for (axis, number, words) in [
                (2, 1, "no axis 2"),
                (0, 0, "0 portions along axis 0, whose extent is 5; expected 1 to 5"),
                (1, 8, "8 portions along axis 1"),
                (1, usize::MAX, "expected 1 to 7"),
            ] {
                let error = of(portions(&mut comm, axis, number).unwrap_err()).to_string();
                assert!(error.contains(words), "{error}");
            }
            let mut in_two = portions(&mut comm, 1, 2).unwrap();
            let found = of(in_two.execute(2, &[], &mut vec![0; lengths[1]]).unwrap_err());
            assert!(found.to_string().contains("no portion 2; expected 0 to 1"), "{found}");
            let positions = [0, 1, 2].map(|portion| in_two.positions(portion));
            assert_eq!((in_two.portions(), positions), (2, [0..4, 4..7, 0..0]));
            let each = lengths[0] / 7;
            assert_eq!([0, 1, 2].map(|portion| in_two.portion_len(portion)), [4 * each, 3 * each, 0]);
            let error = in_two.execute(1, &vec![0; 4 * each], &mut vec![0; lengths[1]]).unwrap_err().to_string();
            assert!(error.contains(&format!("has {} elements; expected {}", 4 * each, 3 * each)), "{error}");
            let error =
                in_two.execute_back(0, &vec![0; lengths[1] + 1], &mut vec![0; 4 * each]).unwrap_err().to_string();
            assert!(error.contains("execute_back") && error.contains("buffer `after`"), "{error}");
            let (mut short, mut long, mut found) = (vec![0; 4 * each - 1], vec![0; 4 * each], vec![0; lengths[1]]);
            fn computed(_: Range<usize>, _: &mut [u64]) {
                panic!("a refused call computes nothing");
            }
            for buffers in [[&mut short[..], &mut long[..]], [&mut [][..], &mut []]] {
                let error = in_two.execute_overlapped(buffers, &mut found, computed).unwrap_err().to_string();
                assert!(error.contains("execute_overlapped") && error.contains("buffer of portions"), "{error}");
                assert!(error.contains(&format!("expected at least {}", 4 * each)), "{error}");
            }
            let mut other = long.clone();
            let buffers = [&mut long[..], &mut other[..]];
            let error = in_two.execute_back_overlapped(&found[1..], buffers, computed).unwrap_err().to_string();
            assert!(error.contains("execute_back_overlapped") && error.contains("buffer `after`"), "{error}");
            // It still works.
            let buffers = [&mut long[..], &mut other[..]];
            in_two.execute_overlapped(buffers, &mut found, |at, part| part.fill(at.start as u64 + 1)).unwrap();
            // Columns 0 to 3 have 1, and 4 to 6 have 5.
            assert_eq!(found.iter().sum::<u64>(), [15, 30, 50][comm.rank()]);

            // One rank has another idea.
            let wanted = if comm.rank() == 1 { &rows } else { &columns };
            let error = comm.redistribute_init::<u64>(&rows, wanted).unwrap_err().to_string();
            assert!(error.contains("redistribution of 5x7 on 3 ranks: block over 0, whole to 5x7"), "{error}");
        });
        run.unwrap();

        // One rank is told of its buffer, and repeats the call for which the others wait.
        let run = on("complete:3").run(|mut comm| {
            let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[6, 9], axis, 3).unwrap());
            let (mine, mut found) = (vec![comm.rank() as u32; 18], vec![9; 18]);
            if comm.rank() == 1 {
                let error = comm.redistribute(&rows, &mine[..17], &columns, &mut found).unwrap_err().to_string();
                assert!(error.contains("redistribute") && error.contains("has 17 elements; expected 18"), "{error}");
                let error = comm.redistribute(&rows, &mine, &columns, &mut found[1..]).unwrap_err().to_string();
                assert!(error.contains("buffer `after` has 17"), "{error}");
            }
            comm.redistribute(&rows, &mine, &columns, &mut found).unwrap();
            assert!(found.iter().enumerate().all(|(at, &rank)| rank as usize == at / 6), "{found:?}");
            comm.barrier().unwrap();
        });
        run.unwrap();

        // One rank makes once what the others plan, even if a plan takes messages.
        let run = on("torus:2x3").run(|mut comm| {
            let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[12, 12], axis, 6).unwrap());
            let (mine, mut found) = ([0_u64; 24], [0; 24]);
            comm.choose("alltoallv", "torus-exchange").unwrap();
            let error = match comm.rank() {
                1 => comm.redistribute(&rows, &mine, &columns, &mut found).unwrap_err(),
                _ => comm.redistribute_init::<u64>(&rows, &columns).unwrap_err(),
            };
            assert!(error.to_string().contains("one-off redistribution of 12x12"), "{error}");
        });
        run.unwrap();
    });
}

/// Errors are found before anything else is computed from the values, also where these are absurd.
pub(super) fn impossible_distributions_are_refused() {
    let grid = |extents: &[usize]| Grid::mesh(extents).unwrap();
    let refused = |shape: &[usize], extents: &[usize], splits: &[Split]| {
        Distribution::new(shape, &grid(extents), splits).unwrap_err().to_string()
    };
    let (whole, huge) = (Split::Whole, usize::MAX);
    let cases = [
        (refused(&[], &[1], &[]), "at least one axis"),
        (refused(&[4, 6], &[2], &[Split::Block(0)]), "1 splits for an array of 2 axes"),
        (refused(&[4, 6], &[2], &[whole, Split::Block(5)]), "over axis 5 of the grid"),
        (refused(&[4, 6], &[2], &[Split::Cyclic(0), Split::Block(0)]), "axes 0 and 1 are both"),
        (refused(&[4, 6], &[2, 3], &[whole, Split::Block(0)]), "axis 1 of the grid, whose extent is 3"),
        (refused(&[4, 6], &[2], &[whole, Split::BlockCyclic { axis: 0, block: 0 }]), "blocks of 0"),
        (refused(&[huge, huge], &[2], &[whole, Split::Block(0)]), "more than 2^63 - 1"),
        (refused(&[1 << 32, 1 << 31], &[2], &[whole, Split::Block(0)]), "4294967296x2147483648"),
        (Distribution::slabs(&[], 0, 2).unwrap_err().to_string(), "at least one axis"),
        (Distribution::slabs(&[3], 1, 2).unwrap_err().to_string(), "no axis 1"),
        (Distribution::slabs(&[3], 0, 0).unwrap_err().to_string(), "0 ranks; expected 1 to"),
        (Distribution::pencils(&[], 0, &grid(&[2])).unwrap_err().to_string(), "at least one axis"),
        (Distribution::pencils(&[3, 4], 2, &grid(&[2])).unwrap_err().to_string(), "no axis 2"),
    ];
    for (found, words) in cases {
        assert!(found.contains(words), "{found}");
    }
    let boxes = |boxes: &[&[Range<usize>]]| Distribution::boxes(&[4, 6], boxes).unwrap_err().to_string();
    let cases = [
        (boxes(&[]), "no boxes"),
        (Distribution::boxes(&[], &[[], []]).unwrap_err().to_string(), "at least one axis"),
        (
            Distribution::boxes(&[huge; 3], &[[0..huge, 0..huge, 0..huge]]).unwrap_err().to_string(),
            "more than 2^63 - 1",
        ),
        (
            Distribution::boxes(&[0, huge, huge], &[[0..0, 0..huge, 0..huge]]).unwrap_err().to_string(),
            "counting an extent of 0 as 1",
        ),
        (boxes(&[&[0..4, 0..6, 0..1]]), "the box [0..4, 0..6, 0..1] of rank 0"),
        (boxes(&[&[0..4, 0..huge]]), "does not lie in an array of 4x6"),
        (boxes(&[&[0..4, 0..4], &[2..4, 3..6]]), "[0..4, 0..4] of rank 0 and [2..4, 3..6] of rank 1 overlap"),
        (boxes(&[&[0..4, 0..4], &[0..3, 4..6]]), "no box has the element at [3, 4]"),
    ];
    for (found, words) in cases {
        assert!(found.contains(words), "{found}");
    }
    let rows = Distribution::slabs(&[4, 6], 0, 3).unwrap();
    assert!(rows.clone().padded(5).unwrap_err().to_string().contains("rows of 6 indices"));
    assert!(rows.clone().padded(huge).unwrap_err().to_string().contains("more than 2^63"));
    assert!(rows.clone().batched(0).unwrap_err().to_string().contains("0 elements"));
    assert!(rows.clone().batched(huge).unwrap_err().to_string().contains("more than 2^63"));
    assert!(rows.clone().in_order(&[1, 1]).unwrap_err().to_string().contains("[1, 1]"));
    // Ranks, axes and indices that do not exist.
    assert_eq!((rows.local_shape(7), rows.local_len(7), rows.range(7, 0)), (vec![0, 0], 0, Some(0..0)));
    assert_eq!((rows.range(0, 2), rows.indices(0, 9).len(), rows.elements(huge).count()), (None, 0, 0));
    assert_eq!((rows.owner(&[4, 0]), rows.owner(&[0]), rows.local_index(&[0, 0, 0])), (None, None, None));
    // The largest array, and many ranks.
    let long = Distribution::slabs(&[(1 << 63) - 1], 0, necklace::MAX_NODES).unwrap();
    assert_eq!(long.owner(&[(1 << 63) - 2]), Some(necklace::MAX_NODES - 1));
    let odd = Split::BlockCyclic { axis: 0, block: huge };
    let odd = Distribution::new(&[10], &grid(&[3]), &[odd]).unwrap();
    assert_eq!((odd.range(0, 0), odd.range(1, 0)), (Some(0..10), Some(0..0)));
}

/// Runs of several strides lie side by side in these, and no piece of them is looked at alone.
pub(super) fn plans_of_long_rows_are_made_by_runs() {
    watched("many pieces", || {
        let run = on("complete:6").run(|mut comm| {
            let grid = Grid::mesh(&[2, 3]).unwrap();
            let (first, second) = (Split::Block(0), Split::Block(1));
            let divided = |splits: [Split; 3], order: [usize; 3]| {
                Distribution::new(&[5, 4608, 4608], &grid, &splits).unwrap().in_order(&order).unwrap()
            };
            let before = divided([Split::Whole, second, first], [2, 1, 0]);
            let after = divided([second, first, Split::Whole], [2, 0, 1]);
            comm.redistribute_init::<u64>(&before, &after).unwrap();
            // Small blocks on both sides meet in millions of rows.
            let blocks = |block| {
                let split = |axis| Split::BlockCyclic { axis, block };
                Distribution::new(&[1 << 20, 1 << 20], &grid, &[split(0), split(1)]).unwrap()
            };
            let error = comm.redistribute_init::<u8>(&blocks(100), &blocks(99)).unwrap_err().to_string();
            assert!(error.contains("runs, at most 16777216 are allowed"), "{error}");
            // All have refused, so the communicator is as before.
            comm.redistribute_init::<u64>(&before, &after).unwrap();
        });
        run.unwrap();
    });
}

/// Rows of short runs are crossed by columns of what is left at their ends, tens of millions of pieces.
pub(super) fn block_cyclic_arrays_of_any_blocks_are_planned() {
    watched("blocks of any length", || {
        let run = on("torus:2x2").run(|mut comm| {
            let grid = Grid::mesh(&[2, 2]).unwrap();
            let blocks = |extent: usize, block: usize| {
                let split = |axis| Split::BlockCyclic { axis, block };
                Distribution::new(&[extent, extent], &grid, &[split(0), split(1)]).unwrap()
            };
            for (extent, before, after) in [(20_000, 2, 3), (5_003, 64, 100), (2_003, 5, 8)] {
                let (before, after) = (blocks(extent, before), blocks(extent, after));
                comm.redistribute_init::<u8>(&before, &after).unwrap();
            }
            let (before, after) = (blocks(509, 5), blocks(509, 8));
            let part = |of: &Distribution| -> Vec<u32> {
                of.elements(comm.rank()).map(|(_, at)| (at[0] * 509 + at[1]) as u32).collect()
            };
            let (mine, wanted) = (part(&before), part(&after));
            let mut found = vec![u32::MAX; wanted.len()];
            comm.redistribute(&before, &mine, &after, &mut found).unwrap();
            assert_eq!(found, wanted);
        });
        run.unwrap();
    });
}

pub(super) fn rank_with_too_many_pieces_is_told_to_all() {
    watched("too many pieces on some ranks", || {
        let run = on("mesh:3x2x2").run(|mut comm| {
            let grid = Grid::mesh(&[3, 2, 2]).unwrap();
            let blocks = |block| {
                let split = |axis| Split::BlockCyclic { axis, block };
                // Two rows for the first two thirds of the ranks, none for the others.
                let rows = Split::BlockCyclic { axis: 0, block: 2 };
                let array = Distribution::new(&[4, 2_200_000, 2_200_000], &grid, &[rows, split(1), split(2)]);
                array.unwrap().in_order(&[1, 2, 0]).unwrap()
            };
            let error = comm.redistribute_init::<u8>(&blocks(1009), &blocks(1013)).unwrap_err();
            let refused = |source: &ArgumentError| matches!(source, ArgumentError::Array(ArrayError::Pieces { .. }));
            match &error {
                Error::Argument { source, .. } if refused(source) => (true, error.to_string()),
                _ => (false, error.to_string()),
            }
        });
        for (rank, (refuses, error)) in run.unwrap().into_iter().enumerate() {
            assert_eq!(refuses, rank < 8, "rank {rank}: {error}");
            let words = if refuses { "pieces with rank" } else { "refused redistribution of" };
            assert!(error.contains(words), "rank {rank}: {error}");
        }
    });
}

pub(super) fn chosen_algorithm_plans_redistributions() {
    watched("using", || {
        let run = on("torus:2x3").run(|mut comm| {
            let rows = Distribution::slabs(&[12, 12], 0, 6).unwrap();
            let columns = Distribution::slabs(&[12, 12], 1, 6).unwrap();
            let mine: Vec<usize> = rows.elements(comm.rank()).map(|(_, at)| 12 * at[0] + at[1]).collect();
            let mut found = vec![0; columns.local_len(comm.rank())];
            let mut plan = comm.using("torus-exchange").redistribute_init(&rows, &columns).unwrap();
            plan.execute(&mine, &mut found).unwrap();
            assert!(columns.elements(comm.rank()).all(|(at, index)| found[at] == 12 * index[0] + index[1]));
            let error = comm.using("mesh-exchange").redistribute_init::<u8>(&rows, &columns).unwrap_err();
            assert!(error.to_string().contains("mesh-exchange"), "{error}");
        });
        run.unwrap();
    });
}
