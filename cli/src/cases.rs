//! The networks, algorithms and block sizes of `cost` and `simulate`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use necklace::MAX_NODES;
use necklace::algorithm::{Algorithm, candidates, find};
use necklace::bounds::Search;
use necklace::collective::Collective;
use necklace::error::{BuildError, shown};
use necklace::load_machine;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::{Terms, select};
use necklace::topology::Topology;

use crate::options::{once, size, whole_names};
use crate::output::{Failure, apart, is_standard};
use crate::problem::{self, on_hosts, problem};

/// The name that stands for the cheapest algorithm.
const AUTO: &str = "auto";

/// The arguments that select networks, algorithms and block sizes.
#[derive(Args, Debug)]
pub(crate) struct Cases {
    /// Use network T, such as torus:4x4 (`necklace plan --help` lists all kinds); rank i sits on
    /// node i; may be repeated
    #[arg(long, value_name = "T", required = true)]
    topology: Vec<String>,

    #[arg(long, value_name = "C", value_parser = problem::collective, help = problem::help("Use collective"))]
    pub(crate) collective: Collective,

    /// Use these algorithms, named as in `necklace plan --list`; auto stands for the cheapest at
    /// each block size [default: all that fit]
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
    #[arg(long, value_name = "M", default_value = "threads", value_parser = load_machine)]
    pub(crate) machine: Machine,

    /// Write the figures as comma-separated values to FILE; with -, write only that to standard
    /// output
    #[arg(long, value_name = "FILE|-")]
    pub(crate) csv: Option<PathBuf>,

    /// Plot times as SVG to FILE; with -, write only that to standard output
    #[arg(long, value_name = "FILE|-")]
    pub(crate) plot: Option<PathBuf>,

    /// Plot against the size of a block or the number of ranks; for ranks, networks that differ in
    /// their extents alone, such as how:8,3,2 and how:16,3,2, share a curve
    #[arg(long, value_name = "X", value_enum, default_value_t, requires = "plot")]
    pub(crate) plot_by: PlotBy,
}

/// The abscissa of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotBy {
    /// The size of a block.
    #[default]
    Bytes,
    /// The number of ranks.
    Ranks,
}

/// An algorithm, after the names that stand for it.
type Named = (Vec<String>, Arc<dyn Algorithm>);

/// A problem and an algorithm for it.
pub(crate) struct Case {
    pub(crate) problem: Problem,
    /// The bounds of the problem, which all of its algorithms share.
    pub(crate) search: Arc<Search>,
    /// The names on the command line that stand for the algorithm, or its own.
    pub(crate) asked: Vec<String>,
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
            let mut algorithms = self.named(&names, &problem)?;
            if names.is_empty() {
                let fitting = candidates(&problem).into_iter().filter(|one| one.fits(&problem).is_ok());
                algorithms = fitting.map(|one| (vec![one.name()], one)).collect();
            }
            if algorithms.is_empty() {
                let text = problem.topology().text();
                return Err(Failure::Usage(format!(
                    "there is no algorithm for {collective} that fits {}",
                    shown(&text)
                )));
            }
            let search = Arc::new(Search::of(&problem));
            let case =
                |(asked, algorithm)| Case { problem: problem.clone(), search: Arc::clone(&search), asked, algorithm };
            cases.extend(algorithms.into_iter().map(case));
        }
        Ok(cases)
    }

    /// Returns the algorithms of these names, each with the names that stand for it. `auto`, and a
    /// name that leaves parameters to the prices, stand for the cheapest at each block size.
    fn named(&self, names: &[String], problem: &Problem) -> Result<Vec<Named>, Failure> {
        let mut all: Vec<Named> = Vec::new();
        let mut whole = Vec::new();
        for name in names {
            let unfit = |error| problem::failure(error, problem, &Terms::new(0, &self.machine));
            let (name, mut chosen) = if name == AUTO {
                (AUTO.to_owned(), Vec::new())
            } else {
                let algorithm = find(problem.collective(), name)?;
                algorithm.fits(problem).map_err(unfit)?;
                (algorithm.name(), vec![algorithm])
            };
            if chosen.iter().all(|algorithm| !algorithm.alternatives(problem).is_empty()) {
                let cheapest = |&bytes| select(problem, &name, &Terms::new(bytes, &self.machine));
                let choices = self.bytes.iter().map(cheapest).collect::<Result<Vec<_>, _>>().map_err(unfit)?;
                chosen = choices.into_iter().map(|choice| choice.algorithm).collect();
            }
            for algorithm in chosen {
                match all.iter_mut().find(|(_, known)| known.name() == algorithm.name()) {
                    Some((asked, _)) if asked.contains(&name) => {}
                    Some((asked, _)) => asked.push(name.clone()),
                    None => all.push((vec![name.clone()], algorithm)),
                }
            }
            whole.push(name);
        }
        once("--algorithm", &whole)?;
        Ok(all)
    }

    /// Returns whether standard output receives only a document.
    pub(crate) fn alone(&self) -> bool {
        [&self.csv, &self.plot].into_iter().flatten().any(|path| is_standard(path))
    }
}
