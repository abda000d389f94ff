//! `necklace cost`: prices collectives on a machine.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, Args};
use necklace::MAX_NODES;
use necklace::algorithm::{Algorithm, candidates, find};
use necklace::bounds::Search;
use necklace::collective::Collective;
use necklace::cost::{Demand, Price};
use necklace::error::{BuildError, shown};
use necklace::machine::Machine;
use necklace::schedule::{Problem, Verifier};
use necklace::select::{Terms, select};
use necklace::topology::Topology;

use crate::options::{once, size, whole_names};
use crate::output::{Document, Failure, apart, is_standard, print};
use crate::plot::{Curve, Curves};
use crate::problem::{self, on_hosts, problem};
use crate::progress::Progress;
use crate::simulate::play;
use crate::table::{align, write_csv};
use crate::{figures, machine, memory};

pub(crate) const EXAMPLES: &str = "\
A line \"formula\" is computed without a schedule, so it takes almost no time, however large the network is. A
search of parameters, such as those of circgos and high-dim-gos, takes longer: seconds on ring:1024, and half a
minute on torus:1024x1024. For graph:@FILE, the bounds take one search of the graph: about a second for 2^26 nodes
and links, the most that are searched. With --compare,
every schedule is built and verified, which takes long on large networks. If an algorithm has no formula for a
demand that the machine charges for, its price is a lower bound. The table then names these demands in
parentheses. So does the column at_least of --csv, which is empty if the price is exact.

A line \"bound\" is a lower bound on the total of every schedule with the port model of this algorithm. Its terms
are no bounds: propagation and transmission overlap, so a schedule may have less of one and more of another. A
schedule need not reach the bound. --plot omits it.

The total is the sum of all terms except synchronisation, because schedules run without barriers between rounds.
The papers charge for a barrier between any two rounds; the column synchronisation shows the cost of these
barriers.

Machines: threads, tcp, mpi, paragon, unit and free; NAME:key=price,.. changes prices, as in
paragon:message=110us. A JSON file holds an object such as
  {\"message\": \"37.5 us\", \"byte\": \"0.011 us\", \"channel\": \"0.011 us\", \"hop\": \"20 ns\", \"switching\": \"cut-through\"}
with the keys startup (per round), message (per message, at each end), byte (through a rank's port), channel (per
byte over a link), hop, host (per byte that leaves or enters a host, see --hosts-of), rearrangement (per byte in
memory), combination (per byte of a reduction), synchronisation (a barrier), doubling (added to a barrier for each
doubling of the ranks), switching (store-and-forward or cut-through), one-sided (true if only the receiver moves
bytes) and cores (of a host, which its ranks share, see --hosts-of; 0 for a core each).

Examples:
  necklace cost --topology torus:12x12 --collective alltoall --bytes 64,1K,64K --machine paragon
  necklace cost --topology torus:8x8 --collective alltoall --algorithm torus-exchange,direct --bytes 256 --compare
These print the rows \"Proposed\" of table 2 of Suh & Shin (2001), and draw the curves of figures 13 to 16. The
start-up of the paper is the time of a message, half at each end. Its totals include synchronisation, these curves
do not:
  necklace cost --collective alltoall --machine paragon --bytes 1,64,256,1K,4K,16K --algorithm torus-exchange --plot 13.svg \\
    --topology torus:16x16 --topology torus:32x32 --topology torus:64x64 --topology torus:128x128
  necklace cost --collective alltoall --machine paragon --bytes 1,64,256,1K,4K,16K --algorithm mesh-exchange --plot 14.svg \\
    --topology mesh:16x16 --topology mesh:32x32 --topology mesh:64x64 --topology mesh:128x128
  necklace cost --collective alltoall --machine paragon:message=110us --bytes 1,64,256,1K,4K,16K \\
    --algorithm torus-exchange --topology torus:16x16 --topology torus:64x64 --plot 15.svg
  necklace cost --collective alltoall --machine paragon:message=110us --bytes 1,64,256,1K,4K,16K \\
    --algorithm mesh-exchange --topology mesh:16x16 --topology mesh:64x64 --plot 16.svg

Exit status: 0 on success; 1 if an operation failed or a schedule of --compare is wrong; 2 if the command line
is wrong or asks for the impossible.";

/// Refers to the description of machines in the help of `cost` itself.
pub(crate) fn describe_machine(machine: Arg) -> Arg {
    machine.help("Use the prices of machine M: NAME, NAME:key=price,.. or a JSON file (see Machines below)")
}

/// The arguments that select networks, algorithms and block sizes.
#[derive(Args, Debug)]
pub(crate) struct Cases {
    /// Use network T, such as torus:4x4 (`necklace plan --help` lists all kinds); rank i sits on
    /// node i; may be repeated
    #[arg(long, value_name = "T", required = true)]
    topology: Vec<String>,

    #[arg(long, value_name = "C", value_parser = problem::collective, help = problem::help("Use collective"))]
    collective: Collective,

    /// Use these algorithms, named as in `necklace plan --list` [default: all that fit]
    #[arg(long, value_name = "A,..", value_delimiter = ',')]
    algorithm: Vec<String>,

    /// Set the root of a rooted collective [default: 0]
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(..MAX_NODES as i64))]
    root: Option<u32>,

    /// Combine the contributions of a reduction in any order, for an operation that commutes
    /// [default: in rank order]
    #[arg(long)]
    commutative: bool,

    /// Put N consecutive ranks on each host, for the two-level algorithms [default: unknown hosts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hosts_of: Option<u32>,

    /// Use these block sizes in bytes; suffixes K, M and G stand for powers of 1024
    #[arg(long, value_name = "B,..", required = true, value_delimiter = ',', allow_negative_numbers = true, value_parser = size)]
    pub(crate) bytes: Vec<u64>,

    /// Use the prices of machine M: NAME, NAME:key=price,.. or a JSON file (`necklace cost --help`
    /// describes them)
    #[arg(long, value_name = "M", default_value = "threads", value_parser = machine::read)]
    pub(crate) machine: Machine,

    /// Write the figures as comma-separated values to FILE; with -, write only that to standard
    /// output
    #[arg(long, value_name = "FILE|-")]
    csv: Option<PathBuf>,

    /// Plot time against block size as SVG to FILE; with -, write only that to standard output
    #[arg(long, value_name = "FILE|-")]
    plot: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cases: Cases,

    /// Compare the formulas with the counts of verified schedules, and with simulated times
    ///
    /// Simulated ranks overlap operations whose prices a formula adds up. A line "simulated" may
    /// therefore be below the price and below the bound on prices. It has a total, but no terms.
    /// `necklace simulate` prints a bound on simulated times.
    #[arg(long)]
    compare: bool,
}

/// A problem and an algorithm for it.
pub(crate) struct Case {
    pub(crate) problem: Problem,
    /// The bounds of the problem, which all of its algorithms share.
    pub(crate) search: Arc<Search>,
    pub(crate) algorithm: Arc<dyn Algorithm>,
}

impl Case {
    pub(crate) fn heading(&self) -> String {
        let (collective, topology) = (self.problem.collective(), self.problem.topology().text());
        format!("{collective} on {topology}, {} ranks: {}", self.problem.ranks(), self.algorithm.name())
    }
}

impl Cases {
    /// Returns every algorithm on every network: the named ones, or all that fit.
    pub(crate) fn all(&self) -> Result<Vec<Case>, Failure> {
        apart(&[("--csv", self.csv.as_deref()), ("--plot", self.plot.as_deref())])?;
        let collective = problem::rooted(&self.collective, self.root)?;
        let names = whole_names(&self.algorithm);
        once("--bytes", &self.bytes)?;
        let mut topologies: Vec<Arc<dyn Topology>> = Vec::new();
        for text in &self.topology {
            topologies.push(necklace::load(text).map_err(BuildError::from)?);
        }
        once("--topology", &topologies.iter().map(|topology| topology.text()).collect::<Vec<_>>())?;
        let mut cases = Vec::new();
        for topology in topologies {
            let problem = on_hosts(problem(topology, collective.clone(), self.commutative)?, self.hosts_of)?;
            let terms = Terms::new(0, &self.machine);
            let mut algorithms = Vec::new();
            for name in &names {
                if name == "auto" {
                    let instead = "leave it out to compare all, or use necklace plan, which takes the cheapest";
                    return Err(Failure::Usage(format!("--algorithm auto: {instead}")));
                }
                let algorithm = find(problem.collective(), name)?;
                algorithm.fits(&problem).map_err(|error| problem::failure(error, &problem, &terms))?;
                algorithms.push(algorithm);
            }
            once("--algorithm", &algorithms.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>())?;
            algorithms = self.closed(algorithms, &problem)?;
            if names.is_empty() {
                algorithms = candidates(&problem).into_iter().filter(|one| one.fits(&problem).is_ok()).collect();
            }
            if algorithms.is_empty() {
                let text = problem.topology().text();
                return Err(Failure::Usage(format!(
                    "there is no algorithm for {collective} that fits {}",
                    shown(&text)
                )));
            }
            let search = Arc::new(Search::of(&problem));
            let case = |algorithm| Case { problem: problem.clone(), search: Arc::clone(&search), algorithm };
            cases.extend(algorithms.into_iter().map(case));
        }
        Ok(cases)
    }

    /// Replaces each algorithm that leaves parameters to the prices by those that it stands for at
    /// some block size.
    fn closed(
        &self,
        algorithms: Vec<Arc<dyn Algorithm>>,
        problem: &Problem,
    ) -> Result<Vec<Arc<dyn Algorithm>>, Failure> {
        let mut closed: Vec<Arc<dyn Algorithm>> = Vec::new();
        for algorithm in algorithms {
            let mut chosen = vec![Arc::clone(&algorithm)];
            if !algorithm.alternatives(problem).is_empty() {
                let cheapest = |&bytes| select(problem, &algorithm.name(), &Terms::new(bytes, &self.machine));
                let choices = self.bytes.iter().map(cheapest).collect::<Result<Vec<_>, _>>()?;
                chosen = choices.into_iter().map(|choice| choice.algorithm).collect();
            }
            for one in chosen {
                if closed.iter().all(|known| known.name() != one.name()) {
                    closed.push(one);
                }
            }
        }
        Ok(closed)
    }

    /// Returns whether standard output receives only a document.
    pub(crate) fn alone(&self) -> bool {
        [&self.csv, &self.plot].into_iter().flatten().any(|path| is_standard(path))
    }

    /// Writes the requested documents.
    pub(crate) fn write(&self, rows: &[Row], extra: &[&'static str]) -> Result<(), Failure> {
        if let Some(path) = &self.csv {
            Document::create(path)?.fill(|out| write_csv(out, records(rows, extra)))?;
        }
        if let Some(path) = &self.plot {
            let svg = self.curves(rows).svg().map_err(Failure::Failed)?;
            Document::create(path)?.fill(|out| out.write_all(svg.as_bytes()))?;
        }
        Ok(())
    }

    fn curves(&self, rows: &[Row]) -> Curves {
        let mut curves: Vec<Curve> = Vec::new();
        let rows: Vec<&Row> = rows.iter().filter(|row| row.source != BOUND).collect();
        let several = rows.iter().any(|row| row.source != rows[0].source);
        for row in rows {
            let source = if several { format!(", {}", row.source) } else { String::new() };
            let name = format!("{} {}{source}", row.topology, row.algorithm);
            let point = (row.bytes as f64, microseconds(row.total));
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { name, points: vec![point] }),
            }
        }
        for curve in &mut curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let title = format!("{} on {}", self.collective.text(), self.machine);
        Curves { title, x: "bytes a block", y: "us", curves }
    }
}

/// The source of rows with lower bounds.
pub(crate) const BOUND: &str = "bound";

/// A price or a time, and its source. Times are in picoseconds.
pub(crate) struct Row {
    topology: String,
    collective: String,
    algorithm: String,
    ranks: usize,
    bytes: u64,
    source: &'static str,
    total: u128,
    /// The terms of a price or the details of a simulation: further columns of the table.
    columns: Vec<Cell>,
    /// The demands without claims, which make the price a lower bound.
    at_least: Vec<&'static str>,
}

/// A cell of a table.
pub(crate) enum Cell {
    /// Picoseconds, printed in microseconds: rounded in tables, exact in CSV.
    Time(u128),
    /// Text, printed unchanged.
    Text(String),
}

impl Cell {
    fn for_people(&self) -> String {
        match self {
            Self::Time(time) => format!("{:.2}", microseconds(*time)),
            Self::Text(text) => text.clone(),
        }
    }

    fn for_programs(&self) -> String {
        match self {
            Self::Time(time) => in_microseconds(*time),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Row {
    pub(crate) fn new(case: &Case, bytes: u64, source: &'static str, total: u128, columns: Vec<Cell>) -> Self {
        let Case { problem, algorithm, .. } = case;
        Self {
            topology: problem.topology().text(),
            collective: problem.collective().name().to_owned(),
            algorithm: algorithm.name(),
            ranks: problem.ranks(),
            bytes,
            source,
            total,
            columns,
            at_least: Vec::new(),
        }
    }

    /// Marks the price as a lower bound, because these demands have no claims.
    pub(crate) fn at_least(self, at_least: Vec<&'static str>) -> Self {
        Self { at_least, ..self }
    }

    fn priced(case: &Case, bytes: u64, source: &'static str, price: &Price) -> Self {
        let columns = price.terms().map(|(_, term)| Cell::Time(term)).collect();
        Self::new(case, bytes, source, price.total, columns)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { cases, compare } = arguments;
    let mut rows = Vec::new();
    let every = cases.all()?;
    // Each schedule is verified once, and simulated for every block size.
    let steps = every.len() * (1 + cases.bytes.len());
    let mut progress = Progress::new("verifying and simulating", "schedules").of(Some(steps as u64));
    for case in &every {
        let claimed = Demand::claimed(&*case.algorithm, &case.problem)?;
        let counted = if *compare { Some(counted(case, &mut progress)?) } else { None };
        let bound = Demand::least(&case.search, case.algorithm.ports(&case.problem));
        for &bytes in &cases.bytes {
            let row = Row::priced(case, bytes, "formula", &claimed.price(&cases.machine, bytes));
            rows.push(row.at_least(claimed.uncertain(&cases.machine)));
            if let Some(counted) = &counted {
                rows.push(Row::priced(case, bytes, "counted", &counted.price(&cases.machine, bytes)));
                let played = play(case, cases, bytes, &mut progress)?;
                let nothing = Price::default().terms().map(|_| Cell::Text("-".to_owned())).collect();
                rows.push(Row::new(case, bytes, "simulated", played.time.into(), nothing));
            }
            rows.push(Row::priced(case, bytes, BOUND, &bound.price(&cases.machine, bytes)));
        }
    }
    drop(progress);
    let terms: Vec<_> = Price::default().terms().map(|(name, _)| name).collect();
    cases.write(&rows, &terms)?;
    if cases.alone() {
        return Ok(());
    }
    print(&table(&rows, &terms, &format!("on {}, in us", cases.machine)))
}

/// Verifies a schedule and returns its counted demand. Fails if it is wrong or contradicts its
/// claims.
fn counted(case: &Case, progress: &mut Progress) -> Result<Demand, Failure> {
    let outline = case.algorithm.outline(&case.problem)?;
    memory::suffices(&*case.algorithm, &case.problem, None, None, |_| "leave out --compare".to_owned())?;
    let mut verifier = Verifier::with_limit(&outline, u64::MAX);
    let mut rounds = 0;
    for joined in case.algorithm.shares(&case.problem)? {
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        verifier.round(&joined.round);
        rounds += 1;
        progress.within(rounds, "rounds");
    }
    progress.step();
    let failed = |what: String| Failure::Failed(format!("{}: {what}", case.heading()));
    let proof = verifier.finish().map_err(|violations| failed(figures::in_short(&violations)))?;
    let claims = case.algorithm.claims(&case.problem).completed(case.algorithm.ports(&case.problem));
    match &proof.contradicts(&claims)[..] {
        [] => Ok(Demand::counted(&proof, &case.problem)),
        [first, ..] => Err(failed(first.to_string())),
    }
}

/// Formats the table. A name that repeats the previous line's is left out.
pub(crate) fn table(rows: &[Row], extra: &[&'static str], heading: &str) -> String {
    let mut lines = vec![["", "bytes", "by", "total"].map(str::to_owned).to_vec()];
    lines[0].extend(extra.iter().map(|name| (*name).to_owned()));
    let mut last = String::new();
    for row in rows {
        let name = format!("{} {}", row.topology, row.algorithm);
        let first = if name == last { String::new() } else { name.clone() };
        let mut line = vec![first, row.bytes.to_string(), row.source.to_owned(), Cell::Time(row.total).for_people()];
        line.extend(row.columns.iter().map(Cell::for_people));
        let at_least = || format!("(at least: nothing claimed of {})", row.at_least.join(", "));
        line.extend((!row.at_least.is_empty()).then(at_least));
        lines.push(line);
        last = name;
    }
    let collective = rows.first().map_or("", |row| &row.collective);
    format!("{collective} {heading}\n\n{}", align(&lines))
}

/// Returns the records of the CSV document.
fn records(rows: &[Row], extra: &[&'static str]) -> Vec<Vec<String>> {
    let names = ["topology", "collective", "algorithm", "ranks", "block_bytes", "by", "total"].into_iter();
    let names = names.chain(extra.iter().copied()).chain(["at_least"]).map(|name| name.replace([' ', '-'], "_"));
    let mut records = vec![names.collect()];
    for row in rows {
        let Row { topology, collective, algorithm, ranks, bytes, source, total, columns, at_least } = row;
        let mut line = vec![topology.clone(), collective.clone(), algorithm.clone(), ranks.to_string()];
        line.extend([bytes.to_string(), (*source).to_owned(), in_microseconds(*total)]);
        line.extend(columns.iter().map(Cell::for_programs));
        line.push(at_least.join("; "));
        records.push(line);
    }
    records
}

fn microseconds(picoseconds: u128) -> f64 {
    picoseconds as f64 / 1e6
}

/// Formats picoseconds as exact microseconds, without trailing zeros.
fn in_microseconds(picoseconds: u128) -> String {
    let (whole, rest) = (picoseconds / 1_000_000, picoseconds % 1_000_000);
    if rest == 0 { whole.to_string() } else { format!("{whole}.{}", format!("{rest:06}").trim_end_matches('0')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        assert_eq!([0, 1, 1_500_000, 75_000_000].map(in_microseconds), ["0", "0.000001", "1.5", "75"]);
    }
}
