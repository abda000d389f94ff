//! Compares transforms on any number of ranks with definitions, on one rank and without a fast
//! transform.
#![allow(clippy::unwrap_used)]

mod reference;

use necklace::array::{Distribution, GridChoice};
use necklace::collective::Collective;
use necklace::communicator::Options;
use necklace::launch::Launch;
use necklace::local;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::Terms;
use necklace::topology::{Grid, parse};
use necklace_fft::{Complex, Fft, Float, Norm, RealTransform, Transform};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use reference::{Array, close};

/// A transform to be tested.
#[derive(Clone, Debug)]
struct Case {
    extents: Vec<usize>,
    axes: Vec<usize>,
    modes: Vec<usize>,
    grid: Option<Vec<usize>>,
    ranks: usize,
    batch: usize,
    norm: Norm,
    transposed: bool,
    cyclic: bool,
    portion: usize,
    seed: u32,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut below = |bound: usize| usize::arbitrary(g) % bound;
        let dimensions = 1 + below(4);
        let longest = [40, 13, 8, 5][dimensions - 1];
        let mut extents: Vec<usize> = (0..dimensions).map(|_| 1 + below(longest)).collect();
        if below(20) == 0 {
            extents[below(dimensions)] = 0;
        }
        let mut axes: Vec<usize> = (0..dimensions).filter(|_| below(4) > 0).collect();
        if axes.is_empty() {
            axes.push(below(dimensions));
        }
        if below(3) == 0 {
            let turns = below(dimensions);
            let count = axes.len();
            axes.rotate_left(turns % count);
        }
        let mut ranks = 1 + below(7);
        let cyclic = dimensions == 1 && below(3) == 0;
        if cyclic {
            ranks = 1 + below(4);
            extents[0] = ranks * ranks * below(6);
        }
        let divided_line = dimensions == 1 && ranks > 1;
        let mut modes = extents.clone();
        if !divided_line && below(3) == 0 {
            axes.iter().for_each(|&axis| modes[axis] -= if modes[axis] > 1 { below(modes[axis]) } else { 0 });
        }
        let grid = match below(3) {
            _ if divided_line || dimensions < 2 => None,
            0 => None,
            1 => Some(vec![ranks]),
            _ => {
                let mut grid: Vec<usize> = (1..dimensions).map(|_| 1 + below(3)).collect();
                while grid.iter().product::<usize>() > 8 {
                    grid.pop();
                }
                ranks = grid.iter().product();
                Some(grid)
            }
        };
        let norm = [Norm::None, Norm::Forward, Norm::Inverse, Norm::Unitary][below(4)];
        let (batch, transposed) = (1 + below(3), below(2) == 0);
        let portion = [0, 100, 1000, 1 << 21][below(4)];
        let seed = u32::arbitrary(g);
        Self { extents, axes, modes, grid, ranks, batch, norm, transposed, cyclic, portion, seed }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let same = self.clone();
        let simpler = [
            Self { batch: 1, ..same.clone() },
            Self { modes: same.extents.clone(), ..same.clone() },
            Self { norm: Norm::None, ..same.clone() },
            Self { transposed: false, ..same.clone() },
            Self { grid: None, ..same.clone() },
            Self { ranks: 1, grid: None, ..same.clone() },
        ];
        let this = format!("{self:?}");
        Box::new(simpler.into_iter().filter(move |case| format!("{case:?}") != this))
    }
}

impl Case {
    fn planner(&self) -> Fft {
        let fft = Fft::new(&self.extents)
            .axes(&self.axes)
            .batch(self.batch)
            .norm(self.norm)
            .modes(&self.modes)
            .portion(self.portion);
        let fft = self.grid.iter().fold(fft, |fft, grid| fft.grid(&Grid::torus(grid).unwrap()));
        let fft = if self.transposed { fft.transposed() } else { fft };
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
            Norm::Unitary => [1.0 / self.points().sqrt(); 2],
        }
    }

    /// The array of all ranks.
    fn array(&self, real: bool) -> Array {
        let number = |at: usize| f64::from((at as u32).wrapping_add(self.seed).wrapping_mul(2_654_435_761) >> 12) / 1e6;
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

/// Transforms there and back, in place and into other buffers.
fn complex<T: Float + Into<f64>>(case: &Case) {
    let (spectrum, back) = case.expected(false);
    let array = case.array(false);
    let checked = local::run(case.ranks, |mut comm| {
        let rank = comm.rank();
        let mut transform: Transform<T> = case.planner().complex(&mut comm).unwrap();
        let [input, output] = [transform.input().clone(), transform.output().clone()];
        let whole = |at: &[usize]| at.to_vec();
        let original = part(&input, rank, &array, whole);
        let wanted = part(&output, rank, &spectrum, |at| case.frequency(&output, at));
        let restored = part(&input, rank, &back, whole);
        // Rounding errors are those of the largest number on the way.
        let largest = array.largest().max(spectrum.largest()).max(back.largest());

        // Longer than it need be.
        let mut data = lossy::<T>(&original);
        data.resize(transform.len() + 2, Complex::default());
        transform.forward(&mut data).unwrap();
        close(&data[..wanted.len()], &wanted, largest);
        transform.inverse(&mut data).unwrap();
        close(&data[..restored.len()], &restored, largest);

        let nan = T::from_f64(f64::NAN).unwrap();
        let poison = Complex::new(nan, nan);
        let mut scratch = vec![poison; transform.scratch_len()];
        let (mut data, mut found) = (lossy::<T>(&original), vec![poison; wanted.len()]);
        transform.forward_into(&mut data, &mut found, &mut scratch).unwrap();
        close(&found, &wanted, largest);
        data.fill(poison);
        scratch.fill(poison);
        transform.inverse_into(&mut found, &mut data, &mut scratch).unwrap();
        close(&data, &restored, largest);
    });
    checked.unwrap_or_else(|error| panic!("{case:?}: {error}"));
}

/// Transforms real numbers there and back.
fn real<T: Float + Into<f64>>(case: &Case) {
    let (spectrum, back) = case.expected(true);
    let array = case.array(true);
    let checked = local::run(case.ranks, |mut comm| {
        let rank = comm.rank();
        let mut transform: RealTransform<T> = case.planner().real(&mut comm).unwrap();
        let [input, output] = [transform.input().clone(), transform.output().clone()];
        let whole = |at: &[usize]| at.to_vec();
        let reals = |part: Vec<Complex<f64>>| part.into_iter().map(|value| value.re).collect::<Vec<f64>>();
        let original = reals(part(&input, rank, &array, whole));
        let wanted = part(&output, rank, &spectrum, whole);
        let restored = part(&input, rank, &back, whole);
        // Rounding errors are those of the largest number on the way.
        let largest = array.largest().max(spectrum.largest()).max(back.largest());

        let nan = T::from_f64(f64::NAN).unwrap();
        let poison = Complex::new(nan, nan);
        let mut data: Vec<T> = original.iter().map(|&value| T::from_f64(value).unwrap()).collect();
        let mut found = vec![poison; wanted.len()];
        let mut scratch = vec![poison; transform.scratch_len()];
        transform.forward_with_scratch(&mut data, &mut found, &mut scratch).unwrap();
        close(&found, &wanted, largest);
        data.fill(nan);
        scratch.fill(poison);
        transform.inverse_with_scratch(&mut found, &mut data, &mut scratch).unwrap();
        let found: Vec<Complex<T>> = data.iter().map(|&value| Complex::from(value)).collect();
        close(&found, &restored, largest);
    });
    checked.unwrap_or_else(|error| panic!("{case:?}: {error}"));
}

fn lossy<T: Float>(values: &[Complex<f64>]) -> Vec<Complex<T>> {
    let number = |value| T::from_f64(value).unwrap();
    values.iter().map(|value| Complex::new(number(value.re), number(value.im))).collect()
}

fn check(test: fn(&Case), cases: u64) {
    fn holds(case: Case, test: fn(&Case)) -> bool {
        test(&case);
        true
    }
    struct Holds(fn(&Case));
    impl quickcheck::Testable for Holds {
        fn result(&self, g: &mut Gen) -> quickcheck::TestResult {
            let case = Case::arbitrary(g);
            quickcheck::TestResult::from_bool(holds(case, self.0))
        }
    }
    QuickCheck::new().tests(cases).quickcheck(Holds(test));
}

#[test]
fn complex_transforms_are_those_of_the_definition() {
    check(complex::<f64>, 400);
}

#[test]
fn real_transforms_are_those_of_the_definition() {
    check(real::<f64>, 400);
}

#[test]
fn single_precision_is_as_right_as_it_can_be() {
    check(complex::<f32>, 60);
    check(real::<f32>, 60);
}

/// The whole spectrum of an array that is given by its values, on any number of ranks.
fn spectrum(fft: &Fft, ranks: usize, value: impl Fn(&[usize]) -> Complex<f64> + Sync) -> Vec<Complex<f64>> {
    let parts = local::run(ranks, |mut comm| {
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
#[test]
fn large_arrays_keep_their_energy_and_turn_by_shifts() {
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
    let ways = [(4, fft.clone()), (4, fft.clone().transposed()), (6, fft.clone().grid(&grid)), (7, fft.clone())];
    for (ranks, fft) in &ways {
        close(&spectrum(fft, *ranks, value), &alone, largest);
    }

    let shift = [5, 7, 11];
    let shifted = |at: &[usize]| value(&[0, 1, 2].map(|axis| (at[axis] + shift[axis]) % extents[axis]));
    let turn = |at: [usize; 3]| (0..3).map(|axis| (at[axis] * shift[axis]) as f64 / extents[axis] as f64).sum::<f64>();
    let turned: Vec<_> = (0..elements)
        .map(|at| alone[at] * Complex::cis(std::f64::consts::TAU * turn([at / 2250, at / 50 % 45, at % 50])))
        .collect();
    close(&spectrum(&fft, 4, shifted), &turned, largest);
}

/// Returns the extents of the grid that a transform has by default, by the prices of TCP.
fn default_grid(fft: &Fft, ranks: usize, real: bool) -> Vec<usize> {
    let launch = Launch::threads().ranks(ranks).options(Options::default().machine(Machine::TCP));
    let run = launch.run(|mut comm| {
        let input = match real {
            true => fft.real::<f64>(&mut comm)?.input().clone(),
            false => fft.complex::<f64>(&mut comm)?.input().clone(),
        };
        Ok::<_, necklace_fft::Error>(input.grid().unwrap().extents().to_vec())
    });
    run.unwrap().swap_remove(0).unwrap()
}

#[test]
fn default_grid_is_the_cheapest_for_what_is_exchanged() {
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
}

#[test]
fn slabs_along_an_axis_that_is_not_transformed_need_no_exchange() {
    // Of axes 0 and 1, the latter has an index for each rank.
    let shapes = local::run(7, |mut comm| {
        let transform: Transform<f64> = Fft::new(&[4, 100, 6]).axes(&[2]).complex(&mut comm).unwrap();
        (transform.input().local_shape(comm.rank()), transform.output().local_shape(comm.rank()))
    });
    let of = |rank| vec![4, if rank < 2 { 15 } else { 14 }, 6];
    assert_eq!(shapes.unwrap(), (0..7).map(|rank| (of(rank), of(rank))).collect::<Vec<_>>());
}
