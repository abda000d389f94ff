//! `necklace bench`: measures the time to build, verify and execute schedules.
//!
//! Benchmarks run in turn: each round measures every benchmark once. Disturbances of the machine
//! therefore affect all benchmarks alike, and ratios within a run are more reliable than absolute
//! times.

#[cfg(unix)]
mod processes;
mod schedules;
mod transfers;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::machine::Machine;
use necklace::topology::Topology;

#[cfg(unix)]
pub(crate) use self::processes::Rank;
use self::transfers::Setting;
use crate::options::{once, size, whole_names};
use crate::output::{Document, Failure, apart, is_standard, print};
use crate::plot::{Curve, Curves};
use crate::problem;
use crate::progress::Progress;
use crate::table::{align, write_csv};

pub(crate) const EXAMPLES: &str = "\
Examples:
  necklace bench
  necklace bench move --ranks 2,8 --bytes 8,4K,1M --algorithm direct,direct-rotated
  necklace bench move --topology torus:4x4 --algorithm direct,torus-exchange --csv times.csv
  necklace bench move --backend tcp -n 2,4 --bytes 4K,256K
  necklace bench build --topology torus:32x32 --algorithm torus-exchange

The table shows the median, the minimum and the 90th percentile of the time of a call, in microseconds. Among
threads, alltoall is compared with two bare exchanges, which check nothing and never sleep: staged (each block is
copied twice, through a mailbox) and one-copy (directly into the receiver's memory). The column ratio is the
median divided by that of the faster bare exchange.

Exit status: 0 on success; 1 if an operation failed; 2 if the command line is wrong or asks for the impossible.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Select what to measure
    #[arg(value_enum, default_value = "move")]
    what: What,

    /// Use these numbers of ranks, each on a complete network
    #[arg(short = 'n', long, value_name = "N,..", value_delimiter = ',', default_value = "2,4,8,16",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    ranks: Vec<u32>,

    /// Use these networks, such as torus:4x4, with one rank per node, instead of numbers of ranks
    #[arg(long, value_name = "T,..", value_delimiter = ',', conflicts_with = "ranks")]
    topology: Vec<String>,

    /// Use these block sizes in bytes, at most 1G; suffixes K, M and G stand for powers of 1024
    #[arg(long, value_name = "B,..", value_delimiter = ',', default_value = "8,4K,32K,256K,1M", value_parser = block)]
    bytes: Vec<usize>,

    /// Run the ranks as threads or as processes
    #[arg(long, value_enum, default_value = "local", alias = "transport")]
    backend: Backend,

    #[arg(long, value_name = "C", default_value = "alltoall", value_parser = problem::collective,
          help = problem::help("Use collective"))]
    collective: Collective,

    /// Use these algorithms, named as in `necklace plan --list`, on the networks they fit
    #[arg(long, value_name = "A,..", value_delimiter = ',', default_value = "auto")]
    algorithm: Vec<String>,

    /// Put a barrier before each call, and do not count its time, as the OSU benchmarks do;
    /// otherwise calls follow each other, and those of a rank that only sends overlap
    #[arg(long)]
    barrier: bool,

    /// Measure all algorithms N times, in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Write the figures as comma-separated values to FILE; with -, write only that to standard
    /// output
    #[arg(long, value_name = "FILE|-")]
    csv: Option<PathBuf>,

    /// Plot the median time against block size as SVG to FILE; with -, write only that to standard
    /// output
    #[arg(long, value_name = "FILE|-")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Build one rank's share of a schedule, and its plan (the byte ranges to send and receive)
    Build,
    /// Verify a whole schedule
    Verify,
    /// Execute the collective, with plans built in advance
    Move,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Run threads of this process
    Local,
    /// Run processes of this machine over TCP, which are started anew for every round
    #[cfg(unix)]
    Tcp,
}

/// Parses a block size. Buffers for several blocks must fit in memory.
pub(crate) fn block(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes <= 1 << 30).ok_or_else(|| "expected at most 1G".to_owned())
}

/// A group of benchmarks that are compared: a network and a block size.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) bytes: usize,
}

/// The name of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    system: &'static str,
    transport: &'static str,
    collective: String,
    algorithm: String,
}

/// A measurement in a cell.
trait Benchmark {
    fn name(&self) -> Name;
    /// Returns whether ratios are relative to this benchmark.
    fn is_reference(&self) -> bool {
        false
    }
    /// Measures one round. Returns seconds per call, one value per sample.
    fn measure(&mut self) -> Result<Vec<f64>, Failure>;
}

/// The figures of a benchmark, in seconds.
#[derive(Clone, Debug)]
struct Row {
    name: Name,
    ranks: usize,
    bytes: usize,
    median: f64,
    least: f64,
    p90: f64,
    /// Relative to the fastest reference of the cell.
    ratio: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.what != What::Move {
        let given = [("--backend", arguments.backend != Backend::Local), ("--barrier", arguments.barrier)];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!("{option} applies only to `necklace bench move`")));
        }
    }
    let complete = || arguments.ranks.iter().map(|ranks| format!("complete:{ranks}")).collect();
    let texts: Vec<String> = if arguments.topology.is_empty() { complete() } else { arguments.topology.clone() };
    let networks: Vec<_> =
        texts.iter().map(|text| necklace::load(text)).collect::<Result<_, _>>().map_err(BuildError::from)?;
    let algorithms = whole_names(&arguments.algorithm);
    once("--ranks", &arguments.ranks)?;
    once("--topology", &networks.iter().map(|network| network.text()).collect::<Vec<_>>())?;
    once("--bytes", &arguments.bytes)?;
    once("--algorithm", &algorithms)?;
    apart(&[("--csv", arguments.csv.as_deref()), ("--plot", arguments.plot.as_deref())])?;
    // Open the files first: an invalid path must fail before the measurements.
    let document = arguments.csv.as_deref().map(Document::create).transpose()?;
    let picture = arguments.plot.as_deref().map(Document::create).transpose()?;
    let setting =
        Setting { backend: arguments.backend, barrier: arguments.barrier, bare: !arguments.barrier, machine: None };
    let mut cells = Vec::new();
    for topology in &networks {
        for &bytes in &arguments.bytes {
            let cell = Cell { topology: Arc::clone(topology), bytes };
            let benchmarks = match arguments.what {
                What::Move => transfers::benchmarks(&cell, &arguments.collective, &algorithms, setting)?,
                What::Build => schedules::builders(&cell, &arguments.collective, &algorithms)?,
                What::Verify => schedules::verifiers(&cell, &arguments.collective, &algorithms)?,
            };
            cells.push((cell, benchmarks));
            if arguments.what == What::Verify {
                // Verification does not depend on the block size.
                break;
            }
        }
    }
    let rows = compare_all(cells, arguments.rounds)?.concat();
    if let Some(document) = document {
        document.fill(|out| write_csv(out, records(&rows)))?;
    }
    if let Some(picture) = picture {
        let svg = curves(&rows).svg().map_err(|error| Failure::Failed(format!("{}: {error}", picture.name())))?;
        picture.fill(|out| out.write_all(svg.as_bytes()))?;
    }
    let alone = [&arguments.csv, &arguments.plot].into_iter().flatten().any(|path| is_standard(path));
    if alone { Ok(()) } else { print(&table(&rows)) }
}

/// Measures the named algorithms in the cells that they fit, by calls that do not overlap, whatever
/// machine the environment names. Returns for each cell these algorithms and their medians, in
/// seconds.
pub(crate) fn medians(
    cells: &[(Cell, Collective, Vec<String>)],
    backend: Backend,
    rounds: u32,
    machine: Machine,
) -> Result<Vec<Vec<(String, f64)>>, Failure> {
    let mut all = Vec::with_capacity(cells.len());
    for (cell, collective, names) in cells {
        // Calls with a root could overlap.
        let setting = Setting { backend, barrier: collective.root().is_some(), bare: false, machine: Some(machine) };
        all.push((cell.clone(), transfers::benchmarks(cell, collective, names, setting)?));
    }
    let medians = |rows: Vec<Row>| rows.into_iter().map(|row| (row.name.algorithm, row.median)).collect();
    Ok(compare_all(all, rounds)?.into_iter().map(medians).collect())
}

/// Measures the benchmarks of all cells, one cell after the other, and shows the progress.
fn compare_all(cells: Vec<(Cell, Vec<Box<dyn Benchmark>>)>, rounds: u32) -> Result<Vec<Vec<Row>>, Failure> {
    let benchmarks: usize = cells.iter().map(|(_, benchmarks)| benchmarks.len()).sum();
    let steps = benchmarks as u64 * u64::from(rounds);
    let mut progress = Progress::new("measuring", "measurements").of(Some(steps));
    cells.into_iter().map(|(cell, benchmarks)| compare(&cell, benchmarks, rounds, &mut progress)).collect()
}

/// Measures all benchmarks of a cell in turn, for several rounds.
fn compare(
    cell: &Cell,
    mut benchmarks: Vec<Box<dyn Benchmark>>,
    rounds: u32,
    progress: &mut Progress,
) -> Result<Vec<Row>, Failure> {
    let mut samples = vec![Vec::new(); benchmarks.len()];
    for _ in 0..rounds {
        for (benchmark, samples) in benchmarks.iter_mut().zip(&mut samples) {
            samples.extend(benchmark.measure()?);
            progress.step();
        }
    }
    let row = |(name, samples): (Name, &mut Vec<f64>)| {
        samples.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| samples.get((samples.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
        Row {
            name,
            ranks: cell.topology.ranks(),
            bytes: cell.bytes,
            median: at(0.5),
            least: at(0.0),
            p90: at(0.9),
            ratio: None,
        }
    };
    let mut rows: Vec<Row> = benchmarks.iter().map(|c| c.name()).zip(&mut samples).map(row).collect();
    let references = rows.iter().zip(&benchmarks).filter(|(_, benchmark)| benchmark.is_reference());
    if let Some(best) = references.map(|(row, _)| row.median).min_by(f64::total_cmp) {
        rows.iter_mut().for_each(|row| row.ratio = Some(row.median / best));
    }
    Ok(rows)
}

const MICRO: f64 = 1e6;

/// Returns the records of the CSV document.
fn records(rows: &[Row]) -> Vec<Vec<String>> {
    let names =
        ["system", "transport", "collective", "algorithm", "ranks", "block_bytes", "median_us", "min_us", "p90_us"];
    let mut records = vec![names.map(str::to_owned).to_vec()];
    for Row { name: Name { system, transport, collective, algorithm }, ranks, bytes, median, least, p90, .. } in rows {
        let mut line = [*system, *transport, collective, algorithm].map(str::to_owned).to_vec();
        line.extend([ranks, bytes].map(ToString::to_string));
        line.extend([median, least, p90].map(|time| format!("{:.4}", time * MICRO)));
        records.push(line);
    }
    records
}

fn table(rows: &[Row]) -> String {
    let heading = ["", "algorithm", "ranks", "bytes", "median us", "min us", "p90 us", "ratio"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    for Row { name, ranks, bytes, median, least, p90, ratio } in rows {
        let mut line = vec![name.system.to_owned(), name.algorithm.clone(), ranks.to_string(), bytes.to_string()];
        line.extend([median, least, p90].map(|time| figure(time * MICRO)));
        line.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
        lines.push(line);
    }
    align(&lines)
}

/// Returns a curve for each benchmark and number of ranks.
fn curves(rows: &[Row]) -> Curves {
    let mut curves: Vec<Curve> = Vec::new();
    for Row { name, ranks, bytes, median, .. } in rows {
        let (name, point) =
            (format!("{} {}, {ranks} ranks", name.system, name.algorithm), (*bytes as f64, median * MICRO));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve::numbered(curves.len(), name, vec![point])),
        }
    }
    let collective = rows.first().map_or("", |row| &row.name.collective);
    Curves { title: collective.to_owned(), x: "bytes a block", y: "microseconds, median", curves }
}

/// Formats a number with three significant digits, or as an integer if it has more.
fn figure(number: f64) -> String {
    match number {
        n if n < 10.0 => format!("{n:.2}"),
        n if n < 100.0 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_size_is_bounded() {
        assert_eq!(["0", "4K", "1G"].map(block), [Ok(0), Ok(4096), Ok(1 << 30)]);
        assert!(["1025M", "4Ks"].iter().all(|text| block(text).is_err()));
    }

    /// Returns the same times in every round.
    struct Fixed(&'static str, Vec<f64>, bool);

    impl Benchmark for Fixed {
        fn name(&self) -> Name {
            Name { system: self.0, transport: "-", collective: "alltoall".into(), algorithm: "a,b".into() }
        }

        fn is_reference(&self) -> bool {
            self.2
        }

        fn measure(&mut self) -> Result<Vec<f64>, Failure> {
            Ok(self.1.clone())
        }
    }

    #[test]
    fn ratios_are_relative_to_the_faster_reference() {
        let cell = Cell { topology: necklace::load("ring:3").unwrap(), bytes: 8 };
        let fixed =
            |name, times: &[f64], reference| -> Box<dyn Benchmark> { Box::new(Fixed(name, times.to_vec(), reference)) };
        let all =
            vec![fixed("ours", &[4.0, 3.0, 9.0], false), fixed("slow", &[5.0], true), fixed("fast", &[2.0], true)];
        let rows = compare(&cell, all, 2, &mut Progress::new("testing", "rounds")).unwrap_or_default();
        assert_eq!(rows.iter().map(|row| row.ratio).collect::<Vec<_>>(), [Some(2.0), Some(2.5), Some(1.0)]);
        let line = ["ours", "-", "alltoall", "a,b", "3", "8", "4000000.0000", "3000000.0000", "9000000.0000"];
        assert_eq!(records(&rows)[1], line);
    }
}
