//! Fits the prices of a machine to measured times.
//!
//! A price is a sum of products and maxima, so the fit is a search: it multiplies or divides the
//! prices by smaller and smaller factors, and keeps the best change. The error has two parts of equal
//! weight: that of the predicted times, and the time lost by taking the cheapest algorithm of a case
//! instead of the fastest. Both are ratios, so a case of a microsecond counts as much as one of a
//! second.

use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;

/// A measured call: what its schedule demands, with blocks of how many bytes, and how long it took.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The case: calls of the same collective, number of ranks and block size, one after the other,
    /// have the same number.
    pub(super) case: usize,
    pub(super) collective: Collective,
    pub(super) algorithm: String,
    pub(super) demand: Demand,
    pub(super) block_bytes: u64,
    /// In picoseconds, more than 0.
    pub(super) measured: f64,
}

impl Sample {
    /// Returns the time that the machine's prices predict, in picoseconds.
    pub(super) fn predicted(&self, machine: &Machine) -> f64 {
        self.demand.price(machine, self.block_bytes).total.max(1) as f64
    }
}

/// A price of a machine.
type Price = fn(&mut Machine) -> &mut u64;

/// The prices that are fitted. Between the ranks of one host there are no channels to price.
const PRICES: [Price; 4] = [
    |machine| &mut machine.startup,
    |machine| &mut machine.message,
    |machine| &mut machine.byte,
    |machine| &mut machine.combination,
];

/// The factors by which prices change, one after the other.
const FACTORS: [f64; 7] = [8.0, 3.0, 1.7, 1.3, 1.1, 1.03, 1.01];

/// The factor by which one price is raised where a search starts again: a search can end where
/// another price has taken its part.
const RAISED: u64 = 32;

/// The most steps with one factor. Usually few suffice.
const ROUNDS: usize = 200;

/// Returns the machine whose prices are closest to the samples, starting from the prices of
/// `machine`.
pub(super) fn fit(samples: &[Sample], machine: Machine) -> Machine {
    let raised = PRICES.map(|price| {
        let mut start = machine;
        let price = price(&mut start);
        *price = price.saturating_mul(RAISED);
        start
    });
    let fitted = std::iter::once(machine).chain(raised).map(|start| search(samples, start));
    let (machine, _) = fitted.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((machine, 0.0));
    machine
}

/// Returns the machine where a search ends, and its error.
fn search(samples: &[Sample], mut machine: Machine) -> (Machine, f64) {
    let mut least = errors(samples, &machine);
    for factor in FACTORS {
        // The digits of a step to the base 3 say which change each price undergoes.
        let changes = [1.0, factor, 1.0 / factor];
        for _ in 0..ROUNDS {
            let before = least;
            let around = machine;
            for step in 0..3_u32.pow(PRICES.len() as u32) {
                let mut other = around;
                for (digit, price) in (0..).zip(PRICES) {
                    let price = price(&mut other);
                    *price = three_digits(*price as f64 * changes[(step / 3_u32.pow(digit) % 3) as usize]);
                }
                let errors = errors(samples, &other);
                if errors < least {
                    (machine, least) = (other, errors);
                }
            }
            if least == before {
                break;
            }
        }
    }
    (machine, least)
}

/// Returns the errors of times and of choices together.
fn errors(samples: &[Sample], machine: &Machine) -> f64 {
    let predicted = predictions(samples, machine);
    typical(deviations(samples, &predicted)) + typical(ratios(samples, &predicted).map(f64::ln))
}

/// Returns the typical factor between predicted and measured times: the exponential of the root of
/// the mean square of their logarithms.
pub(super) fn error(samples: &[Sample], machine: &Machine) -> f64 {
    typical(deviations(samples, &predictions(samples, machine))).exp()
}

/// Returns for each case the measured time of the algorithm that is cheapest by these prices,
/// relative to that of the fastest.
pub(super) fn choices(samples: &[Sample], machine: &Machine) -> Vec<f64> {
    ratios(samples, &predictions(samples, machine)).collect()
}

/// Returns the sample whose predicted time is farthest from the measured one, by their ratio.
pub(super) fn worst<'a>(samples: &'a [Sample], machine: &Machine) -> Option<&'a Sample> {
    let predicted = predictions(samples, machine);
    let deviations = samples.iter().zip(deviations(samples, &predicted).map(f64::abs));
    deviations.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(sample, _)| sample)
}

fn predictions(samples: &[Sample], machine: &Machine) -> Vec<f64> {
    samples.iter().map(|sample| sample.predicted(machine)).collect()
}

/// Returns the logarithms of the factors between predicted and measured times.
fn deviations(samples: &[Sample], predicted: &[f64]) -> impl Iterator<Item = f64> {
    samples.iter().zip(predicted).map(|(sample, predicted)| (predicted / sample.measured).ln())
}

/// As [`choices`].
fn ratios(samples: &[Sample], predicted: &[f64]) -> impl Iterator<Item = f64> {
    let mut place = 0;
    samples.chunk_by(|a, b| a.case == b.case).filter_map(move |case| {
        let predicted = &predicted[place..place + case.len()];
        place += case.len();
        let (cheapest, _) = case.iter().zip(predicted).min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let fastest = case.iter().map(|sample| sample.measured).min_by(f64::total_cmp)?;
        Some(cheapest.measured / fastest)
    })
}

/// Returns the root of the mean square.
fn typical(values: impl Iterator<Item = f64>) -> f64 {
    let (count, squares) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value * value));
    (squares / f64::from(count.max(1))).sqrt()
}

/// Rounds a positive price to three significant digits, and at least to a picosecond.
fn three_digits(price: f64) -> u64 {
    let unit = 10_f64.powf((price.max(1.0).log10().floor() - 2.0).max(0.0));
    ((price / unit).round() * unit).max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use necklace::Rank;
    use necklace::algorithm::find;
    use necklace::schedule::{Hosts, Problem};
    use necklace::topology::parse;

    use super::*;

    fn sample(case: usize, demand: Demand, block_bytes: u64, measured: f64) -> Sample {
        Sample { case, collective: Collective::Alltoall, algorithm: "any".into(), demand, block_bytes, measured }
    }

    /// Returns samples that take exactly what a machine's prices say.
    fn of(machine: &Machine) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (collective, names) in [("alltoall", ["direct", "bruck"]), ("allreduce", ["recursive-doubling", "ring"])] {
            let collective = Collective::named(collective, Rank::new(0)).unwrap();
            for (name, ranks) in names.iter().flat_map(|name| [2, 4, 8].map(|ranks| (name, ranks))) {
                let topology = parse(&format!("complete:{ranks}")).unwrap();
                let problem = Problem::new(Arc::clone(&topology), collective.clone()).unwrap();
                let problem = problem.on_hosts(Hosts::of_consecutive(ranks, ranks)).unwrap();
                let demand = Demand::claimed(&*find(&collective, name).unwrap(), &problem).unwrap();
                for block_bytes in [8, 1 << 10, 1 << 16] {
                    let measured = demand.price(machine, block_bytes).total as f64;
                    samples.push(sample(samples.len(), demand.clone(), block_bytes, measured));
                }
            }
        }
        samples
    }

    fn is_near(found: u64, wanted: u64) -> bool {
        found.abs_diff(wanted) * 8 <= wanted
    }

    #[test]
    fn prices_are_found_from_the_times_that_follow_from_them() {
        for wanted in [
            Machine::TCP.with_startup(40_000_000).with_message(900_000).with_byte(1_500).with_combination(400),
            Machine::TCP.with_startup(3_000_000).with_message(9_000_000).with_byte(90).with_combination(700),
            Machine::THREADS.with_startup(900_000).with_message(300_000).with_byte(33).with_combination(150),
        ] {
            let samples = of(&wanted);
            let start = if wanted.one_sided { Machine::THREADS } else { Machine::TCP };
            let found = fit(&samples, start);
            for price in PRICES {
                let (found, wanted) = (*price(&mut found.clone()), *price(&mut wanted.clone()));
                assert!(is_near(found, wanted), "{found} for {wanted}");
            }
            assert!(error(&samples, &found) < 1.02, "{}", error(&samples, &found));
        }
    }

    #[test]
    fn choices_count_as_well_as_times() {
        let sample = |case, startups, measured| {
            let mut demand = Demand::default();
            demand.startups = startups;
            sample(case, demand, 0, measured)
        };
        let samples = [sample(0, 1, 300.0), sample(0, 2, 200.0), sample(1, 3, 100.0), sample(1, 4, 500.0)];
        let machine = Machine::FREE.with_startup(100);
        assert_eq!(choices(&samples, &machine), [1.5, 1.0]);
        let of_choices = errors(&samples, &machine) - error(&samples, &machine).ln();
        assert!((of_choices - 1.5_f64.ln() / 2_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn error_is_the_typical_factor_of_all_samples() {
        let mut samples = of(&Machine::TCP);
        assert_eq!(error(&samples, &Machine::TCP), 1.0);
        samples.truncate(2);
        samples[1].measured *= 4.0;
        assert!((error(&samples, &Machine::TCP).ln() - 4_f64.ln() / 2_f64.sqrt()).abs() < 1e-9);
        assert!(std::ptr::eq(worst(&samples, &Machine::TCP).unwrap(), &raw const samples[1]));
        samples[0].measured /= 5.0;
        assert!(std::ptr::eq(worst(&samples, &Machine::TCP).unwrap(), &raw const samples[0]));
    }

    #[test]
    fn prices_have_three_digits() {
        assert_eq!(
            [0.2, 7.4, 999.6, 123_456.0, 4e15 / 3.0].map(three_digits),
            [1, 7, 1000, 123_000, 1_330_000_000_000_000]
        );
    }
}
