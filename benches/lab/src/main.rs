//! Benchmarks a collective in a lab with links of some megabits per second, beside the cost model
//! and the simulation.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{stdin, stdout};
use std::process::ExitCode;

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::{Terms, select};
use necklace::simulate::Simulation;
use necklace::topology::parse;
use necklace_lab::measure::{self, median, slowest};
use necklace_lab::rank::{Calls, Order, serve};
use necklace_lab::{Job, Lab, LabError, Settings};

const USAGE: &str =
    "usage: necklace-lab [--collective C] [--topology T,..] [--mbit N] [--piece BYTES] [--bytes B,..] [--calls K]
                    [--algorithms A,..] [--machine FILE]
  --collective C     the collective; alltoall unless given. Its reductions are of operations that
                     commute
  --topology T,..    the networks; torus:4x4,torus:8x8 unless given
  --mbit N           the rate of each direction of each link; 10 unless given
  --piece BYTES      the largest piece of a message that crosses a link as one; 3072 unless given
  --bytes B,..       lengths of a block; 64,256,1024,4096,16384 unless given
  --calls K          calls of which the median is taken; 5 unless given
  --algorithms A,..  what to compare, besides what auto would choose, or `all` that fit;
                     direct,by-dimension,by-dimension:within=direct,torus-exchange unless given;
                     those that do not fit a network are left out. Parameters may be given, as in
                     direct,high-dim-gos:a=8,ports=one,ring
  --machine FILE     where the prices measured go, for the commands `necklace cost` and `simulate`
Needs root and iproute2; where there can be no lab it says so, with status 77.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("rank") => return rank(),
        Some("hold") => return ended(hold()),
        _ => {}
    }
    if words.iter().any(|word| word == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    ended(arguments.topologies.iter().try_for_each(|topology| bench(topology, &arguments)))
}

fn ended(result: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if let Some(LabError::Unavailable(_)) = error.downcast_ref() {
        eprintln!("skipped: {error}");
        return ExitCode::from(SKIPPED);
    }
    eprintln!("{error}");
    ExitCode::FAILURE
}

/// Exit status if the machine does not support a lab.
const SKIPPED: u8 = 77;

/// Runs a process of the job.
fn rank() -> ExitCode {
    let served = necklace::launch(|comm| serve(comm, stdin().lock(), stdout().lock()));
    match served {
        Ok(ends) if ends.iter().all(Result::is_ok) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("failed {error}");
            ExitCode::FAILURE
        }
    }
}

/// Holds a lab with a process until this process is killed, for the test of the cleanup. Prints the
/// processes whose namespaces must vanish.
fn hold() -> Result<(), Box<dyn Error>> {
    let lab = Lab::build(parse("line:2")?, Settings::mbit(10))?;
    let inside = lab.command(1, "sleep")?.arg("1000").spawn()?;
    println!("{}", inside.id());
    stdin().lines().for_each(drop);
    Ok(())
}

struct Arguments {
    collective: Collective,
    topologies: Vec<String>,
    settings: Settings,
    bytes: Vec<usize>,
    calls: usize,
    algorithms: Vec<String>,
    machine: Option<String>,
}

impl Arguments {
    fn read(words: &[String]) -> Result<Self, String> {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut read = Self {
            collective: Collective::Alltoall,
            topologies: list("torus:4x4,torus:8x8"),
            settings: Settings::mbit(10),
            bytes: vec![64, 256, 1024, 4096, 16384],
            calls: 5,
            algorithms: list("direct,by-dimension,by-dimension:within=direct,torus-exchange"),
            machine: None,
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(format!("{} needs a value", pair[0])) };
            let number = |value: &str| match value.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(format!("{name}: {value:?} is no number of at least 1")),
            };
            match name.as_str() {
                "--collective" => {
                    let known =
                        || format!("{name}: {value:?} is not a collective; expected one of {}", Collective::syntax());
                    read.collective = Collective::named(value, Rank::new(0)).ok_or_else(known)?;
                }
                "--topology" => read.topologies = list(value),
                "--mbit" => read.settings.rate = Settings::mbit(number(value)? as u64).rate,
                "--piece" => read.settings.piece = number(value)? as u64,
                "--bytes" => read.bytes = list(value).iter().map(|value| number(value)).collect::<Result<_, _>>()?,
                "--calls" => read.calls = number(value)?,
                "--algorithms" => read.algorithms = names(value),
                "--machine" => read.machine = Some(value.clone()),
                _ => return Err(format!("unknown argument {name:?}")),
            }
        }
        Ok(read)
    }
}

/// Returns the algorithms of a list. What has a value and no name belongs to the name before.
fn names(list: &str) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for part in list.split(',') {
        match names.last_mut() {
            Some(name) if part.contains('=') && !part.contains(':') => *name = format!("{name},{part}"),
            _ => names.push(part.to_owned()),
        }
    }
    names
}

fn bench(topology: &str, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let problem = Problem::new(parse(topology)?, arguments.collective.clone())?;
    let lab = Lab::build(parse(topology)?, arguments.settings)?;
    let mut job = Job::start(&lab, &std::env::current_exe()?, &["rank"])?;
    let machine = measure::machine(&mut job, 4 * arguments.calls)?;
    let document = machine.to_json("measured by necklace-lab");
    let Settings { rate, piece, .. } = arguments.settings;
    println!("{topology}, {} Mbit/s a direction of a link, pieces of {piece} bytes", rate as f64 / 1e6);
    print!("measured: {document}");
    if let Some(file) = &arguments.machine {
        std::fs::write(file, &document)?;
    }
    println!(
        "{:>6} {:<32} {:>10} {:>7}  {:>10} {:>7}  {:>10} {:>7}",
        "bytes", "algorithm", "median ms", "ratio", "cost ms", "ratio", "played ms", "ratio"
    );
    for &bytes in &arguments.bytes {
        let choice = select(&problem, "auto", &Terms::new(bytes as u64, &machine))?;
        let auto = choice.algorithm.name();
        let mut names = vec![];
        for name in &arguments.algorithms {
            if name == "all" {
                names.push(name.clone());
            } else if find(problem.collective(), name)?.fits(&problem).is_ok() {
                // A name may leave parameters to the prices.
                names.push(select(&problem, name, &Terms::new(bytes as u64, &machine))?.algorithm.name());
            }
        }
        if names == ["all"] {
            let fitting = choice.candidates.iter().filter(|candidate| candidate.price.is_ok());
            names = fitting.map(|candidate| candidate.algorithm.name()).collect();
        }
        if !names.contains(&auto) {
            names.push(auto.clone());
        }
        let mut bench = Bench { job: &mut job, problem: &problem, machine: &machine, calls: arguments.calls };
        let rows = names.iter().map(|name| bench.row(name, bytes)).collect::<Result<Vec<_>, _>>()?;
        // Ratios are relative to the first algorithm, by default `direct`.
        rows.iter().for_each(|row| println!("{}", row.line(&rows[0])));
        let best = rows.iter().map(|row| row.measured).fold(f64::INFINITY, f64::min);
        let own = rows.iter().find(|row| row.name == auto).map_or(f64::NAN, |row| row.measured);
        println!("{bytes:>6} auto chooses {auto}: {:+.1} % of the best of these", (own / best - 1.0) * 100.0);
    }
    Ok(())
}

/// A benchmark on one network: its job, and the machine that was measured there.
struct Bench<'a, 'lab> {
    job: &'a mut Job<'lab>,
    problem: &'a Problem,
    machine: &'a Machine,
    calls: usize,
}

impl Bench<'_, '_> {
    /// Measures, prices and simulates an algorithm with blocks of some bytes.
    fn row(&mut self, name: &str, bytes: usize) -> Result<Row, LabError> {
        let Self { job, problem, machine, calls } = self;
        let algorithm = find(problem.collective(), name)?;
        let price = Demand::claimed(&*algorithm, problem)?.price(machine, bytes as u64);
        let played = Simulation::new(machine, bytes as u64).play(&*algorithm, problem)?;
        let (collective, algorithm) = (problem.collective().clone(), name.to_owned());
        let run = Calls { collective, algorithm, block_bytes: bytes, calls: *calls };
        let measured = median(slowest(&job.order(&Order::Time(run))?)) / 1e3;
        let (cost, played) = (price.total as f64 / 1e9, played.time as f64 / 1e9);
        Ok(Row { bytes, name: name.to_owned(), measured, cost, played })
    }
}

/// An algorithm with one length of blocks. Times in milliseconds.
struct Row {
    bytes: usize,
    name: String,
    measured: f64,
    cost: f64,
    played: f64,
}

impl Row {
    fn line(&self, first: &Self) -> String {
        let Self { bytes, name, measured, cost, played } = self;
        let ratios = [measured / first.measured, cost / first.cost, played / first.played];
        format!(
            "{bytes:>6} {name:<32} {measured:>10.2} {:>7.2}  {cost:>10.2} {:>7.2}  {played:>10.2} {:>7.2}",
            ratios[0], ratios[1], ratios[2]
        )
    }
}
