//! Arrays that change from one distribution to another.

use std::ops::Range;

use necklace::Communicator;
use necklace::array::{ArrayError, Distribution, Split};
use necklace::permutation::BitMap;
use necklace::topology::Grid;

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
        let mut shape: Vec<usize> =
            shape.into_iter().map(|extent| extent.max(usize::from(!seed.is_multiple_of(8)))).collect();
        // Few enough elements to compare in a short time.
        while shape.iter().product::<usize>() > 2000 {
            *shape.iter_mut().max().unwrap() /= 2;
        }
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
