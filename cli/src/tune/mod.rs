//! `necklace tune`: measures calls on this machine and fits prices to their times. Reports the error
//! of the predicted times, and how the cheapest of the measured algorithms compares with the fastest.

mod fit;

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use clap::Args;
use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::error::BuildError;
use necklace::machine::Machine;

use self::fit::Sample;
use crate::bench::{Backend, Cell, block, medians};
use crate::options::once;
use crate::output::{Document, Failure, apart, is_standard, print};
use crate::problem::{on_hosts, problem};
use crate::table::write_csv;

pub(crate) const EXAMPLES: &str = "\
Examples:
  necklace tune
  necklace tune --backend tcp --out machine.json
  necklace tune --backend tcp -n 2,4,16 --bytes 8,1M --csv times.csv
  necklace run -n 8 --machine machine.json -- ./program

The prices of a start-up, of a message, of a byte and of the combination of a byte are fitted to the median times of
several algorithms of alltoall, allgather, broadcast and allreduce, on complete networks. The machine also has the
number of cores, which the ranks of a host share. A barrier, which is not timed, precedes each broadcast.

The report shows how far predicted times are from measured ones: the typical factor (the exponential of the root mean
square of the logarithms) and the largest. It also compares the cheapest of the measured algorithms with the fastest,
for each collective, number of ranks and block size, by the fitted prices and by the usual ones of the backend.

Programs read the machine from NECKLACE_MACHINE, which `necklace run --machine` sets. It replaces all prices of the
backend.

Exit status: 0 on success; 1 if an operation failed; 2 if the command line is wrong or asks for the impossible.";

/// The algorithms that are measured, by their collectives: few and many start-ups, little and much
/// volume, with and without combination.
const MEASURED: [(&str, &[&str]); 4] = [
    ("alltoall", &["direct", "direct-rotated", "bruck", "ring"]),
    ("allgather", &["direct", "ring", "recursive-doubling"]),
    ("broadcast", &["direct", "binomial", "scatter-allgather"]),
    ("allreduce", &["direct-parts", "recursive-doubling", "rabenseifner"]),
];

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Run the ranks as threads or as processes
    #[arg(long, value_enum, default_value = "local", alias = "transport")]
    backend: Backend,

    /// Measure with these numbers of ranks, 2 to 32
    #[arg(short = 'n', long, value_name = "N,..", value_delimiter = ',', default_value = "2,4,8",
          value_parser = clap::value_parser!(u32).range(2..=32))]
    ranks: Vec<u32>,

    /// Measure with these block sizes in bytes, at most 1G; suffixes K, M and G stand for powers of
    /// 1024
    #[arg(long, value_name = "B,..", value_delimiter = ',', default_value = "8,1K,16K,256K", value_parser = block)]
    bytes: Vec<usize>,

    /// Measure all algorithms N times, in turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Write the machine as JSON to FILE; with -, write only that to standard output
    #[arg(long, value_name = "FILE|-")]
    out: Option<PathBuf>,

    /// Write measured and predicted times as comma-separated values to FILE; with -, write only that
    /// to standard output
    #[arg(long, value_name = "FILE|-")]
    csv: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    once("--ranks", &arguments.ranks)?;
    once("--bytes", &arguments.bytes)?;
    if arguments.bytes.iter().all(|bytes| *bytes < LONG) {
        return Err(Failure::Usage(format!(
            "--bytes: the price of a byte shows in blocks of at least {LONG}; add 64K"
        )));
    }
    apart(&[("--out", arguments.out.as_deref()), ("--csv", arguments.csv.as_deref())])?;
    // Open the files first: an invalid path must fail before the measurements.
    let file = arguments.out.as_deref().map(Document::create).transpose()?;
    let times = arguments.csv.as_deref().map(Document::create).transpose()?;
    let samples = measure(arguments)?;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let usual = usual(arguments.backend).with_cores(cores);
    let machine = fit::fit(&samples, usual);
    let error = error(&samples, &machine);
    let choices = choices(&samples, &machine);
    if let Some(file) = file {
        let note = format!("{error}; {choices}");
        file.fill(|out| out.write_all(machine.to_json(&note).as_bytes()))?;
    }
    if let Some(times) = times {
        times.fill(|out| write_csv(out, records(&samples, &machine)))?;
    }
    if [&arguments.out, &arguments.csv].into_iter().flatten().any(|path| is_standard(path)) {
        return Ok(());
    }
    print(&format!(
        "machine        {machine}\nusual machine  {usual}\n\n{error}\n{choices}\nby the usual prices: {}\n",
        self::choices(&samples, &usual)
    ))
}

/// The least size of long blocks, whose bytes cost more than their message.
const LONG: usize = 4 << 10;

/// Returns the prices that a backend has unless told otherwise.
fn usual(backend: Backend) -> Machine {
    match backend {
        Backend::Local => Machine::THREADS,
        #[cfg(unix)]
        Backend::Tcp => Machine::TCP,
    }
}

/// Measures the calls of all networks and block sizes.
fn measure(arguments: &Arguments) -> Result<Vec<Sample>, Failure> {
    let (mut cells, mut demands) = (Vec::new(), BTreeMap::new());
    for &ranks in &arguments.ranks {
        let topology = necklace::load(&format!("complete:{ranks}")).map_err(BuildError::from)?;
        for (collective, names) in MEASURED {
            let collective = Collective::named(collective, Rank::default())
                .ok_or_else(|| Failure::Failed(format!("no collective {collective}")))?;
            let problem = problem(Arc::clone(&topology), collective.clone(), false)?;
            let problem = on_hosts(problem, Some(ranks))?;
            let mut fitting = Vec::new();
            for &name in names {
                let algorithm = find(&collective, name)?;
                if algorithm.fits(&problem).is_ok() {
                    demands.insert((ranks, collective.name(), name), Demand::claimed(&*algorithm, &problem)?);
                    fitting.push(name.to_owned());
                }
            }
            for &bytes in &arguments.bytes {
                cells.push((Cell { topology: Arc::clone(&topology), bytes }, collective.clone(), fitting.clone()));
            }
        }
    }
    let measured = medians(&cells, arguments.backend, arguments.rounds, usual(arguments.backend))?;
    let mut samples = Vec::new();
    for (case, ((cell, collective, _), medians)) in cells.into_iter().zip(measured).enumerate() {
        let ranks = cell.topology.ranks();
        for (algorithm, median) in medians {
            let demand = demands.get(&(ranks as u32, collective.name(), algorithm.as_str()));
            let demand = demand.filter(|_| median.is_finite());
            let no_times = || Failure::Failed(format!("no times of {collective} by {algorithm} on {ranks} ranks"));
            let demand = demand.ok_or_else(no_times)?.clone();
            let (collective, block_bytes) = (collective.clone(), cell.bytes as u64);
            let measured = (median * SECOND).max(1.0);
            samples.push(Sample { case, collective, algorithm, demand, block_bytes, measured });
        }
    }
    Ok(samples)
}

/// A second and a microsecond in picoseconds.
const SECOND: f64 = 1e12;
const MICRO: f64 = 1e6;

/// Returns the error of the fit, in words.
fn error(samples: &[Sample], machine: &Machine) -> String {
    let typical = fit::error(samples, machine);
    let name = |sample: &Sample| {
        let Sample { collective, algorithm, demand, block_bytes, .. } = sample;
        let factor = sample.predicted(machine) / sample.measured;
        let (factor, way) = if factor < 1.0 { (1.0 / factor, "low") } else { (factor, "high") };
        format!(
            "; at worst {factor:.2} times too {way} for {collective} by {algorithm}, {} ranks, {block_bytes} bytes a block",
            demand.ranks
        )
    };
    let worst = fit::worst(samples, machine).map_or(String::new(), name);
    format!("predicted times of {} calls are off by a factor of {typical:.2}{worst}", samples.len())
}

/// Returns how the cheapest algorithms by price compare with the fastest ones, in words.
fn choices(samples: &[Sample], machine: &Machine) -> String {
    let ratios = fit::choices(samples, machine);
    let near = ratios.iter().filter(|ratio| **ratio <= NEAR).count();
    let worst = ratios.iter().copied().fold(1.0, f64::max);
    format!(
        "the cheapest algorithm takes at most {NEAR} times the fastest one's time in {near} of {} cases, {worst:.2} times \
         in the worst",
        ratios.len()
    )
}

/// The factor within which a choice is near the best.
const NEAR: f64 = 1.1;

/// Returns the records of the CSV document.
fn records(samples: &[Sample], machine: &Machine) -> Vec<Vec<String>> {
    let names = ["collective", "algorithm", "ranks", "block_bytes", "measured_us", "predicted_us"];
    let mut records = vec![names.map(str::to_owned).to_vec()];
    for sample in samples {
        let Sample { collective, algorithm, demand, block_bytes, measured, .. } = sample;
        let mut record = vec![collective.text(), algorithm.clone(), demand.ranks.to_string(), block_bytes.to_string()];
        record.extend([*measured, sample.predicted(machine)].map(|time| format!("{:.4}", time / MICRO)));
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(algorithm: &str, startups: u64, measured: f64) -> Sample {
        let mut demand = Demand::default();
        (demand.startups, demand.ranks) = (startups, 4);
        Sample {
            case: 0,
            collective: Collective::Alltoall,
            algorithm: algorithm.into(),
            demand,
            block_bytes: 8,
            measured,
        }
    }

    #[test]
    fn cheapest_algorithm_is_compared_with_the_fastest() {
        let machine = Machine::FREE.with_startup(100);
        let text = choices(&[call("slow", 1, 300.0), call("fast", 2, 200.0)], &machine);
        assert!(text.contains("in 0 of 1 cases, 1.50 times"), "{text}");
        let text = choices(&[call("fast", 1, 200.0), call("slow", 2, 300.0)], &machine);
        assert!(text.contains("in 1 of 1 cases, 1.00 times"), "{text}");
    }

    #[test]
    fn error_names_the_farthest_call_and_its_side() {
        let calls = [call("near", 1, 100.0), call("far", 2, 800.0)];
        let text = error(&calls, &Machine::FREE.with_startup(100));
        assert!(text.contains("4.00 times too low for alltoall by far, 4 ranks, 8 bytes a block"), "{text}");
        let text = error(&calls, &Machine::FREE.with_startup(10_000));
        assert!(text.contains("100.00 times too high for alltoall by near"), "{text}");
        let rows = records(&calls, &Machine::FREE.with_startup(1_000_000));
        assert_eq!(rows[2], ["alltoall", "far", "4", "8", "0.0008", "2.0000"]);
    }
}
