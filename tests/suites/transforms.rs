//! Compares transforms of distributed arrays with the definition, applied to the whole array.

use std::collections::HashMap;
use std::fmt::Debug;

use necklace::array::{Distribution, GridChoice};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::Terms;
use necklace::topology::{Grid, parse};
use necklace::{Communicator, Options};
use necklace_fft::{Complex, Fft, Float, Norm};
use necklace_test_loops::Array;

use super::definitions::Dice;
use crate::jobs::{self, on, watched};

/// A transform to be tested.
#[derive(Clone, Debug)]
struct Case {
    extents: Vec<usize>,
    axes: Vec<usize>,
    modes: Vec<usize>,
    grid: Option<Vec<usize>>,
    batch: usize,
    norm: Norm,
    transposed: bool,
    cyclic: bool,
    portion: usize,
    overlap: bool,
    seed: u64,
}

impl Case {
    /// Returns a random transform on this number of ranks.
    fn random(ranks: usize, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let dimensions = 1 + dice.below(4);
        let longest = [40, 13, 8, 5][dimensions - 1];
        let mut extents: Vec<usize> = (0..dimensions).map(|_| 1 + dice.below(longest)).collect();
        if dice.below(20) == 0 {
            extents[dice.below(dimensions)] = 0;
        }
        let mut axes: Vec<usize> = (0..dimensions).filter(|_| dice.below(4) > 0).collect();
        if axes.is_empty() {
            axes.push(dice.below(dimensions));
        }
        if dice.below(3) == 0 {
            let turns = dice.below(axes.len());
            axes.rotate_left(turns);
        }
        let cyclic = dimensions == 1 && dice.below(3) == 0;
        if cyclic {
            extents[0] = ranks * ranks * dice.below(if ranks > 4 { 3 } else { 6 });
        }
        let divided_line = dimensions == 1 && ranks > 1;
        let mut modes = extents.clone();
        if !divided_line && dice.below(3) == 0 {
            axes.iter().for_each(|&axis| modes[axis] -= if modes[axis] > 1 { dice.below(modes[axis]) } else { 0 });
        }
        let grid = match dice.below(3) {
            _ if divided_line || dimensions < 2 => None,
            0 => None,
            1 => Some(vec![ranks]),
            _ => {
                // At least one axis is whole.
                let mut grid = vec![1; dimensions - 1];
                let mut rest = ranks;
                for factor in [2, 3, 5, 7] {
                    while rest.is_multiple_of(factor) {
                        rest /= factor;
                        grid[dice.below(dimensions - 1)] *= factor;
                    }
                }
                Some(grid)
            }
        };
        let norm = [Norm::None, Norm::Forward, Norm::Inverse, Norm::Unitary][dice.below(4)];
        let (batch, transposed) = (1 + dice.below(3), dice.below(2) == 0);
        let portion = [0, 100, 1000, 1 << 21][dice.below(4)];
        let overlap = dice.below(4) == 0;
        Self { extents, axes, modes, grid, batch, norm, transposed, cyclic, portion, overlap, seed }
    }

    fn planner(&self) -> Fft {
        let fft = Fft::new(&self.extents)
            .axes(&self.axes)
            .batch(self.batch)
            .norm(self.norm)
            .modes(&self.modes)
            .portion(self.portion);
        let fft = self.grid.iter().fold(fft, |fft, grid| fft.grid(&Grid::torus(grid).unwrap()));
        let fft = if self.transposed { fft.transposed() } else { fft };
        let fft = if self.overlap { fft.overlap() } else { fft };
        if self.cyclic { fft.cyclic() } else { fft }
    }

    /// The number of points that are transformed.
    fn points(&self) -> f64 {
        self.axes.iter().map(|&axis| self.extents[axis].max(1) as f64).product()
    }

    fn factors(&self) -> [f64; 2] {
        match self.norm {
            Norm::None => [1.0, 1.0],
            Norm::Forward => [1.0 / self.points(), 1.0],
            Norm::Inverse => [1.0, 1.0 / self.points()],
            _ => [1.0 / self.points().sqrt(); 2],
        }
    }

    /// The array of all ranks.
    fn array(&self, real: bool) -> Array {
        let number = |at: usize| (Dice(self.seed << 20 ^ at as u64).roll() >> 44) as f64 / 1e6;
        let value = |at: usize| Complex::new(number(2 * at), if real { 0.0 } else { number(2 * at + 1) });
        Array::new(&self.extents, self.batch, value)
    }

    /// The spectrum by definition, and what the inverse gives back.
    fn expected(&self, real: bool) -> (Array, Array) {
        let whole = self.array(real);
        let mut spectrum = whole.clone();
        self.axes.iter().for_each(|&axis| spectrum = spectrum.transformed(axis, false));
        spectrum.scale(self.factors()[0]);
        self.axes.iter().for_each(|&axis| spectrum = spectrum.with_modes(axis, self.modes[axis]));
        let mut back = spectrum.clone();
        self.axes.iter().for_each(|&axis| back = back.with_points(axis, self.extents[axis]));
        self.axes.iter().for_each(|&axis| back = back.transformed(axis, true));
        back.scale(self.factors()[1]);
        if real {
            let last = *self.axes.last().unwrap();
            spectrum = spectrum.first_half(last);
        }
        (spectrum, back)
    }

    /// The frequency at an index of an output.
    fn frequency(&self, output: &Distribution, at: &[usize]) -> Vec<usize> {
        match output.shape().len() == self.extents.len() {
            true => at.to_vec(),
            // The matrix of a transposed transform of one axis.
            false => vec![at[0] + at[1] * output.shape()[0]],
        }
    }
}

/// A rank's part of an array.
fn part(of: &Distribution, rank: usize, array: &Array, index: impl Fn(&[usize]) -> Vec<usize>) -> Vec<Complex<f64>> {
    let mut part = vec![Complex::default(); of.local_len(rank)];
    for (place, at) in of.elements(rank) {
        let at = index(&at);
        (0..of.batch()).for_each(|element| part[place + element] = array.at(&at, element));
    }
    part
}

/// A transform to be tested, its input, and its results by the definition.
struct Expected {
    case: Case,
    array: Array,
    spectrum: Array,
    /// The inverse transform of the spectrum.
    back: Array,
    /// The largest absolute value, to which rounding errors are relative.
    largest: f64,
}

impl Expected {
    fn of(case: Case, real: bool) -> Self {
        let (array, (spectrum, back)) = (case.array(real), case.expected(real));
        let largest = array.largest().max(spectrum.largest()).max(back.largest());
        Self { case, array, spectrum, back, largest }
    }

    /// Fails unless two arrays are equal within rounding errors.
    fn close<T: Float + Into<f64>>(&self, found: &[Complex<T>], wanted: &[Complex<f64>]) {
        close(&self.case, found, wanted, self.largest);
    }
}

/// Fails unless two arrays are equal within rounding errors.
#[track_caller]
fn close<T: Float + Into<f64>>(what: &impl Debug, found: &[Complex<T>], wanted: &[Complex<f64>], largest: f64) {
    assert_eq!(found.len(), wanted.len(), "{what:?}");
    let limit = if size_of::<T>() == 4 { 1e-5 } else { 1e-12 } * largest.max(1.0);
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let found: Complex<f64> = Complex::new(found.re.into(), found.im.into());
        let difference = (found - wanted).norm();
        // NaN is not close.
        assert!(difference <= limit, "{what:?}, element {at}: found {found}, expected {wanted}");
    }
}

/// Transforms there and back, in place and into other buffers.
fn complex<T: Float + Into<f64>>(comm: &mut Communicator, expected: &Expected) {
    let Expected { case, array, spectrum, back, .. } = expected;
    let rank = comm.rank();
    let mut transform = case.planner().complex::<T>(comm).unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let [input, output] = [transform.input().clone(), transform.output().clone()];
    let whole = |at: &[usize]| at.to_vec();
    let original = part(&input, rank, array, whole);
    let wanted = part(&output, rank, spectrum, |at| case.frequency(&output, at));
    let restored = part(&input, rank, back, whole);

    // The buffer may be longer.
    let mut data = lossy::<T>(&original);
    data.resize(transform.len() + 2, Complex::default());
    transform.forward(&mut data).unwrap();
    expected.close(&data[..wanted.len()], &wanted);
    transform.inverse(&mut data).unwrap();
    expected.close(&data[..restored.len()], &restored);

    let nan = T::from_f64(f64::NAN).unwrap();
    let poison = Complex::new(nan, nan);
    let mut scratch = vec![poison; transform.scratch_len()];
    let (mut data, mut found) = (lossy::<T>(&original), vec![poison; wanted.len()]);
    transform.forward_into(&mut data, &mut found, &mut scratch).unwrap();
    expected.close(&found, &wanted);
    data.fill(poison);
    scratch.fill(poison);
    transform.inverse_into(&mut found, &mut data, &mut scratch).unwrap();
    expected.close(&data, &restored);
}

/// Transforms real numbers there and back.
fn real<T: Float + Into<f64>>(comm: &mut Communicator, expected: &Expected) {
    let Expected { case, array, spectrum, back, .. } = expected;
    let rank = comm.rank();
    let mut transform = case.planner().real::<T>(comm).unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let [input, output] = [transform.input().clone(), transform.output().clone()];
    let whole = |at: &[usize]| at.to_vec();
    let original = part(&input, rank, array, whole);
    let wanted = part(&output, rank, spectrum, whole);
    let restored = part(&input, rank, back, whole);

    let nan = T::from_f64(f64::NAN).unwrap();
    let poison = Complex::new(nan, nan);
    let mut data: Vec<T> = original.iter().map(|value| T::from_f64(value.re).unwrap()).collect();
    let mut found = vec![poison; wanted.len()];
    let mut scratch = vec![poison; transform.scratch_len()];
    transform.forward_with_scratch(&mut data, &mut found, &mut scratch).unwrap();
    expected.close(&found, &wanted);
    data.fill(nan);
    scratch.fill(poison);
    transform.inverse_with_scratch(&mut found, &mut data, &mut scratch).unwrap();
    let found: Vec<Complex<T>> = data.iter().map(|&value| Complex::from(value)).collect();
    expected.close(&found, &restored);
}

fn lossy<T: Float>(values: &[Complex<f64>]) -> Vec<Complex<T>> {
    let number = |value| T::from_f64(value).unwrap();
    values.iter().map(|value| Complex::new(number(value.re), number(value.im))).collect()
}

/// Compares random transforms on these ranks with the definition.
pub fn is_that_of_the_definition(comm: &mut Communicator, seed: u64) {
    let case = || Case::random(comm.size(), seed);
    let expected = [Expected::of(case(), false), Expected::of(case(), true)];
    complex::<f64>(comm, &expected[0]);
    real::<f64>(comm, &expected[1]);
}

/// Checks random transforms on each number of ranks from 1 to 8.
fn check(test: fn(&mut Communicator, &Expected), real: bool, cases: usize) {
    for ranks in 1..=8 {
        watched(&format!("{ranks} ranks"), move || {
            let seeds = 0..cases.min(jobs::many_calls());
            let cases = seeds.map(|seed| Case::random(ranks, (1000 * ranks + seed) as u64));
            let expected: Vec<Expected> = cases.map(|case| Expected::of(case, real)).collect();
            let run = jobs::run(ranks, |mut comm| expected.iter().for_each(|expected| test(&mut comm, expected)));
            run.unwrap();
        });
    }
}

pub(super) fn complex_transforms_are_those_of_the_definition() {
    check(complex::<f64>, false, 50);
}

pub(super) fn real_transforms_are_those_of_the_definition() {
    check(real::<f64>, true, 50);
}

pub(super) fn single_precision_is_as_right_as_it_can_be() {
    check(complex::<f32>, false, 8);
    check(real::<f32>, true, 8);
}

/// The whole spectrum of an array that is given by its values, on any number of ranks.
fn spectrum(fft: &Fft, ranks: usize, value: impl Fn(&[usize]) -> Complex<f64> + Sync) -> Vec<Complex<f64>> {
    let parts = jobs::run(ranks, |mut comm| {
        let rank = comm.rank();
        let mut transform = fft.complex::<f64>(&mut comm).unwrap();
        let mut data: Vec<_> = transform.input().elements(rank).map(|(_, at)| value(&at)).collect();
        data.resize(transform.len(), Complex::default());
        transform.forward(&mut data).unwrap();
        let output = transform.output();
        let place = |at: &[usize]| at.iter().zip(output.shape()).fold(0, |place, (at, extent)| place * extent + at);
        output.elements(rank).map(|(here, at)| (place(&at), data[here])).collect::<Vec<_>>()
    });
    let mut whole: Vec<(usize, Complex<f64>)> = parts.unwrap().into_iter().flatten().collect();
    whole.sort_unstable_by_key(|(place, _)| *place);
    assert!(whole.iter().map(|(place, _)| *place).eq(0..whole.len()));
    whole.into_iter().map(|(_, value)| value).collect()
}

/// Arrays of several portions, too large for the definition.
pub(super) fn large_arrays_keep_their_energy_and_turn_by_shifts() {
    watched("large arrays keep their energy and turn by shifts", || {
        let extents = [64, 45, 50];
        let hash = |at: &[usize]| ((at[0] * 45 + at[1]) * 50 + at[2]).wrapping_mul(2_654_435_761) >> 3;
        let value = |at: &[usize]| Complex::new((hash(at) % 1009) as f64 / 1009.0, (hash(at) % 2003) as f64 / 2003.0);
        let elements: usize = extents.iter().product();
        let energy: f64 = (0..elements).map(|at| value(&[at / 2250, at / 50 % 45, at % 50]).norm_sqr()).sum();
        let fft = Fft::new(&extents).norm(Norm::Unitary).portion(20_000);
        let alone = spectrum(&fft, 1, value);
        let largest = alone.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let kept: f64 = alone.iter().map(Complex::norm_sqr).sum();
        assert!((kept - energy).abs() <= 1e-12 * energy, "{kept} of {energy}");

        let grid = Grid::mesh(&[2, 3]).unwrap();
        // Several groups of lines in a portion.
        let long = fft.clone().portion(200_000);
        let ways = [
            (4, fft.clone()),
            (4, fft.clone().transposed()),
            (6, fft.clone().grid(&grid)),
            (7, fft.clone()),
            (4, long.clone()),
            (4, long.clone().overlap()),
            (6, long.grid(&grid).overlap()),
        ];
        for (ranks, fft) in &ways {
            close(fft, &spectrum(fft, *ranks, value), &alone, largest);
        }

        let shift = [5, 7, 11];
        let shifted = |at: &[usize]| value(&[0, 1, 2].map(|axis| (at[axis] + shift[axis]) % extents[axis]));
        let turn =
            |at: [usize; 3]| (0..3).map(|axis| (at[axis] * shift[axis]) as f64 / extents[axis] as f64).sum::<f64>();
        let turned: Vec<_> = (0..elements)
            .map(|at| alone[at] * Complex::cis(std::f64::consts::TAU * turn([at / 2250, at / 50 % 45, at % 50])))
            .collect();
        close(&"shifted", &spectrum(&fft, 4, shifted), &turned, largest);
    });
}

/// The amplitude of a mode. The array of all of them is real.
fn amplitude(array: usize, at: [isize; 2]) -> Complex<f64> {
    let number = |at: [isize; 2]| {
        let mut dice = Dice((at[0] * 100 + at[1]) as u64 ^ (array as u64) << 40);
        let mut roll = || (dice.roll() >> 44) as f64 / 1e6;
        Complex::new(roll(), roll())
    };
    number(at) + number(at.map(|at| -at)).conj()
}

/// Two arrays of 3 M / 2 points along each axis, given by their M modes, and their product.
struct Product {
    modes: [usize; 2],
}

impl Product {
    /// The modes of both signs. If their number is even, the one in the middle is zero.
    fn signed(&self) -> impl Iterator<Item = [isize; 2]> {
        let [rows, columns] = self.modes.map(|modes| (modes as isize - 1) / 2).map(|most| -most..=most);
        rows.flat_map(move |row| columns.clone().map(move |column| [row, column]))
    }

    /// The amplitudes of an array at each index of its spectrum.
    fn array(&self, array: usize) -> HashMap<[usize; 2], Complex<f64>> {
        self.signed().map(|mode| (self.index(mode), amplitude(array, mode))).collect()
    }

    /// The amplitudes of the product that are kept, by the definition of a convolution.
    fn convolution(&self) -> HashMap<[usize; 2], Complex<f64>> {
        let mut sums = HashMap::new();
        for (first, second) in self.signed().flat_map(|first| self.signed().map(move |second| (first, second))) {
            let sum = [0, 1].map(|axis| first[axis] + second[axis]);
            if (0..2).all(|axis| 2 * sum[axis].unsigned_abs() <= self.modes[axis]) {
                *sums.entry(self.index(sum)).or_default() += amplitude(0, first) * amplitude(1, second);
            }
        }
        sums
    }

    fn index(&self, mode: [isize; 2]) -> [usize; 2] {
        [0, 1].map(|axis| mode[axis].rem_euclid(self.modes[axis] as isize) as usize)
    }

    /// Fails unless the product, made point by point, has the modes of the convolution.
    fn check(&self, comm: &mut Communicator) {
        let what = format!("{:?} modes on {} ranks", self.modes, comm.size());
        let rank = comm.rank();
        let fft = Fft::new(&self.modes.map(|modes| 3 * modes / 2)).modes(&self.modes).norm(Norm::Forward);
        let part = |of: &Distribution, values: &HashMap<[usize; 2], Complex<f64>>| {
            let mut part = vec![Complex::default(); of.local_len(rank)];
            for (place, at) in of.elements(rank) {
                part[place] = values.get(&[at[0], at[1]]).copied().unwrap_or_default();
            }
            part
        };

        let mut transform = fft.complex::<f64>(comm).unwrap();
        let output = transform.output().clone();
        let [mut first, second] = [0, 1].map(|array| {
            let mut data = part(&output, &self.array(array));
            data.resize(transform.len(), Complex::default());
            transform.inverse(&mut data).unwrap();
            data
        });
        first.iter_mut().zip(&second).for_each(|(first, second)| *first *= second);
        transform.forward(&mut first).unwrap();
        let wanted = part(&output, &self.convolution());
        close(&what, &first[..wanted.len()], &wanted, 100.0);

        let mut transform = fft.real::<f64>(comm).unwrap();
        let (points, output) = (transform.input().local_len(rank), transform.output().clone());
        let [mut first, second] = [0, 1].map(|array| {
            let mut data = vec![0.0; points];
            transform.inverse(&mut part(&output, &self.array(array)), &mut data).unwrap();
            data
        });
        first.iter_mut().zip(&second).for_each(|(first, second)| *first *= second);
        let mut found = vec![Complex::default(); output.local_len(rank)];
        transform.forward(&mut first, &mut found).unwrap();
        close(&what, &found, &part(&output, &self.convolution()), 100.0);
    }
}

/// The 3/2 rule.
pub(super) fn products_on_half_as_many_more_points_have_no_aliases() {
    for ranks in 1..=5 {
        watched(&format!("{ranks} ranks"), move || {
            let products = [[5, 6], [6, 7], [4, 3]].map(|modes| Product { modes });
            jobs::run(ranks, |mut comm| products.iter().for_each(|product| product.check(&mut comm))).unwrap();
        });
    }
}

/// Returns the extents of the grid that a transform has by default, by the prices of TCP.
fn default_grid(fft: &Fft, ranks: usize, real: bool) -> Vec<usize> {
    let run = on(&format!("complete:{ranks}")).options(Options::default().machine(Machine::TCP)).run(|mut comm| {
        let input = match real {
            true => fft.real::<f64>(&mut comm)?.input().clone(),
            false => fft.complex::<f64>(&mut comm)?.input().clone(),
        };
        Ok::<_, necklace_fft::Error>(input.grid().unwrap().extents().to_vec())
    });
    run.unwrap().swap_remove(0).unwrap()
}

pub(super) fn default_grid_is_the_cheapest_for_what_is_exchanged() {
    watched("default grid is the cheapest for what is exchanged", || {
        const RANKS: usize = 16;
        let problem = Problem::new(parse("complete:16").unwrap(), Collective::Alltoall).unwrap();
        let cheapest = |shape: &[usize], axes: &[usize]| {
            let choice = GridChoice::new(&problem, shape, axes, &Terms::new(16, &Machine::TCP)).unwrap();
            choice.grid.extents().to_vec()
        };
        let all = [0, 1, 2];
        // The first extents for which two arrays differ in their grids.
        let differ = |[one, other]: [&dyn Fn(usize) -> Vec<usize>; 2]| {
            (2..200).find(|&extent| one(extent) != other(extent)).expect("extents for which the grids differ")
        };
        let (points, half) = (|n| cheapest(&[n; 3], &all), |n| cheapest(&[n, n, n / 2 + 1], &all));
        let n = differ([&points, &half]);
        assert_eq!(default_grid(&Fft::new(&[n; 3]), RANKS, false), points(n));
        assert_eq!(default_grid(&Fft::new(&[n; 3]), RANKS, true), half(n));

        let modes = |n| cheapest(&[n / 2 + 1; 3], &all);
        let n = differ([&points, &modes]);
        assert_eq!(default_grid(&Fft::new(&[n; 3]).modes(&[n / 2 + 1; 3]), RANKS, false), modes(n));
        let half_modes = |n| {
            let modes = n / 2 + 1;
            cheapest(&[modes, modes, modes / 2 + 1], &all)
        };
        let n = differ([&half, &half_modes]);
        assert_eq!(default_grid(&Fft::new(&[n; 3]).modes(&[n / 2 + 1; 3]), RANKS, true), half_modes(n));

        let batch = |n| {
            let choice = GridChoice::new(&problem, &[n; 3], &all, &Terms::new(5 * 16, &Machine::TCP)).unwrap();
            choice.grid.extents().to_vec()
        };
        let n = differ([&points, &batch]);
        assert_eq!(default_grid(&Fft::new(&[n; 3]).batch(5), RANKS, false), batch(n));

        let (some, every) = (|n| cheapest(&[8, n, n], &[1, 2]), |n| cheapest(&[8, n, n], &all));
        let n = differ([&some, &every]);
        assert_eq!(default_grid(&Fft::new(&[8, n, n]).axes(&[1, 2]), RANKS, false), some(n));
    });
}

pub(super) fn slabs_along_an_axis_that_is_not_transformed_need_no_exchange() {
    watched("slabs along an axis that is not transformed need no exchange", || {
        // Of axes 0 and 1, the latter has an index for each rank.
        let shapes = jobs::run(7, |mut comm| {
            let transform = Fft::new(&[4, 100, 6]).axes(&[2]).complex::<f64>(&mut comm).unwrap();
            assert_eq!(transform.exchanges(), 0);
            (transform.input().local_shape(comm.rank()), transform.output().local_shape(comm.rank()))
        });
        let of = |rank| vec![4, if rank < 2 { 15 } else { 14 }, 6];
        assert_eq!(shapes.unwrap(), (0..7).map(|rank| (of(rank), of(rank))).collect::<Vec<_>>());
    });
}

pub(super) fn transposed_transforms_take_fewer_exchanges() {
    watched("transposed transforms take fewer exchanges", || {
        let run = jobs::run(4, |mut comm| {
            let (slabs, pencils) = (Grid::line(4).unwrap(), Grid::mesh(&[2, 2]).unwrap());
            let cube = Fft::new(&[8, 6, 10]);
            for (fft, natural, transposed) in [
                (cube.clone().grid(&slabs), 2, 1),
                (cube.clone().grid(&pencils), 4, 2),
                (Fft::new(&[64]), 3, 2),
                (Fft::new(&[64]).grid(&slabs), 3, 2),
                (Fft::new(&[64]).cyclic(), 1, 1),
            ] {
                let exchanges =
                    [fft.clone(), fft.transposed()].map(|fft| fft.complex::<f32>(&mut comm).unwrap().exchanges());
                assert_eq!(exchanges, [natural, transposed]);
            }
            assert_eq!(cube.clone().grid(&slabs).real::<f32>(&mut comm).unwrap().exchanges(), 2);
            // The lines of the last axis that is transformed are contiguous then.
            let output =
                |fft: Fft, comm: &mut Communicator| fft.complex::<f32>(comm).unwrap().output().order().to_vec();
            assert_eq!(output(cube.clone().grid(&slabs).transposed(), &mut comm), [1, 2, 0]);
            assert_eq!(output(cube.clone().grid(&slabs), &mut comm), [0, 1, 2]);
            assert_eq!(output(cube.clone().grid(&pencils).transposed(), &mut comm), [0, 1, 2]);
            assert_eq!(output(cube.grid(&slabs).transposed().batch(2), &mut comm), [0, 1, 2]);
        });
        run.unwrap();
    });
}
