//! Shared code of the examples: argument parsing, and the choice of a network.
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};
use necklace::error::{ArgumentError, BuildError};
use necklace::launch::Launch;
use necklace::{Communicator, Error as Failed, load};

/// An example: its own arguments and its body.
pub trait Program: Default {
    /// The text of `--help`.
    const USAGE: &str;

    /// The options of [`Ranks`] that the example has.
    const RANKS: &[&str] = &["ranks", "topology", "algorithm"];

    /// Takes the value of the example's own option `name` from the parser. Returns whether there is
    /// such an option.
    ///
    /// # Errors
    ///
    /// Fails if the value is missing or invalid.
    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        let _ = (name, parser);
        Ok(false)
    }

    /// Checks values that depend on each other.
    ///
    /// # Errors
    ///
    /// Fails if the values contradict each other.
    fn check(&self, ranks: &Ranks) -> Result<(), String> {
        let _ = ranks;
        Ok(())
    }

    /// Runs the example.
    ///
    /// # Errors
    ///
    /// Fails if a rank fails or the result is wrong.
    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>>;
}

/// Runs the `main` of an example. The exit status is 2 for invalid arguments, 1 for a failure.
#[must_use]
pub fn main<P: Program>() -> ExitCode {
    let (program, ranks) = match read::<P>(Parser::from_env()) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{}", P::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n{}", P::USAGE);
            return ExitCode::from(2);
        }
    };
    match program.run(&ranks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses the arguments. Returns `None` for `--help`.
fn read<P: Program>(mut parser: Parser) -> Result<Option<(P, Ranks)>, String> {
    let (mut program, mut ranks) = (P::default(), Ranks::default());
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let name = match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Long(name) => name.to_owned(),
            other => return Err(other.unexpected().to_string()),
        };
        let known = match P::RANKS.contains(&&*name) {
            true => ranks.set(&name, &mut parser),
            false => program.set(&name, &mut parser),
        };
        match known {
            Ok(true) => {}
            Ok(false) => return Err(Arg::Long(&name).unexpected().to_string()),
            Err(error @ lexopt::Error::MissingValue { .. }) => return Err(error.to_string()),
            Err(error) => return Err(format!("--{name}: {error}")),
        }
    }
    program.check(&ranks)?;
    ranks.check_environment(|name| env::var(name).ok())?;
    Ok(Some((program, ranks)))
}

/// The options `--ranks`, `--topology` and `--algorithm`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// The number of ranks.
    pub ranks: Option<usize>,
    /// The text of the network.
    pub topology: Option<String>,
    /// The name of the algorithm for alltoall.
    pub algorithm: Option<String>,
}

impl Ranks {
    /// As [`Program::set`].
    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        match name {
            "ranks" => self.ranks = Some(parser.value()?.parse()?),
            "topology" => self.topology = Some(parser.value()?.string()?),
            "algorithm" => self.algorithm = Some(parser.value()?.string()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Fails if a variable says otherwise than an option, because it would override that.
    fn check_environment(&self, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let options = [
            ("--topology", &self.topology, "NECKLACE_TOPOLOGY"),
            ("--algorithm", &self.algorithm, "NECKLACE_ALGORITHM"),
        ];
        for (option, value, name) in options {
            if let (Some(value), Some(set)) = (value, variable(name))
                && *value != set
            {
                return Err(format!("{option} {value}: {name} is {set}; omit {option}, or unset {name}"));
            }
        }
        Ok(())
    }

    /// Returns a launch on the given network, or on the one that `network` creates for the number
    /// of ranks. Without a number of ranks, it has `usual` threads.
    #[must_use]
    pub fn launch(&self, usual: usize, network: fn(usize) -> String) -> Launch {
        let launch = Launch::from_env().topology_for(network);
        let launch = match &self.topology {
            Some(topology) => launch.topology(topology),
            None => launch,
        };
        let sized = self.topology.is_some() || env::var_os("NECKLACE_TOPOLOGY").is_some();
        match self.ranks.or((!sized).then_some(usual)) {
            Some(ranks) => launch.ranks(ranks),
            None => launch,
        }
    }

    /// Returns the chosen algorithm, or `usual` if none is chosen.
    #[must_use]
    pub fn algorithm_or<'a>(&'a self, usual: &'a str) -> &'a str {
        self.algorithm.as_deref().unwrap_or(usual)
    }

    /// Runs the closure on every rank of this process and returns the results by rank.
    ///
    /// # Errors
    ///
    /// Fails if the job or a rank fails, or if the job does not have the number of ranks that the
    /// arguments name.
    pub fn run<R: Send>(
        &self,
        launch: Launch,
        body: impl Fn(Communicator) -> Result<R, Box<dyn Error>> + Sync,
    ) -> Result<Vec<R>, Box<dyn Error>> {
        let body = |comm: Communicator| {
            self.check(comm.size())?;
            body(comm)
        };
        let results = launch.run(|comm| body(comm).map_err(|error| error.to_string()))?;
        Ok(results.into_iter().collect::<Result<_, _>>()?)
    }

    /// Checks the number of ranks, because a launcher and the environment override the arguments.
    fn check(&self, size: usize) -> Result<(), Box<dyn Error>> {
        let (option, value, ranks) = match (self.ranks, &self.topology) {
            (Some(ranks), _) if ranks != size => ("--ranks", ranks.to_string(), ranks),
            (_, Some(topology)) => {
                let nodes = load(topology)?.ranks();
                ("--topology", format!("{topology} ({nodes} nodes)"), nodes)
            }
            _ => return Ok(()),
        };
        if ranks == size {
            return Ok(());
        }
        Err(format!(
            "{option} {value}: the launcher or the environment has set {size} ranks; omit {option}, or start {ranks} ranks"
        )
        .into())
    }

    /// Chooses an algorithm for alltoall if it fits the network and the arguments name no other.
    ///
    /// # Errors
    ///
    /// Fails as [`Communicator::choose`] does, except that an unfit algorithm is replaced by
    /// `auto`.
    pub fn prefer(&self, comm: &mut Communicator, algorithm: &str) -> Result<(), Failed> {
        if self.algorithm.is_some() || env::var_os("NECKLACE_ALGORITHM").is_some() {
            return Ok(());
        }
        let chosen = comm.choose("alltoall", algorithm);
        match chosen.as_ref().err().and_then(Failed::argument) {
            Some(ArgumentError::Build(BuildError::Unfit { .. })) => Ok(()),
            _ => chosen,
        }
    }
}

/// Returns the torus of `nodes` nodes that is closest to a square; a ring if the number is prime.
#[must_use]
pub fn squarest_torus(nodes: usize) -> String {
    let side = (1..=nodes.isqrt()).rev().find(|side| nodes.is_multiple_of(*side)).unwrap_or(1);
    match side {
        1 => format!("ring:{nodes}"),
        _ => format!("torus:{side}x{}", nodes / side),
    }
}

/// Returns the hypercube of `nodes` nodes, or the complete network if the number is not a power of
/// two.
#[must_use]
pub fn cube(nodes: usize) -> String {
    if nodes.is_power_of_two() { format!("hypercube:{}", nodes.ilog2()) } else { format!("complete:{nodes}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use necklace::topology::parse;

    #[derive(Debug, Default, PartialEq)]
    struct Sample {
        count: usize,
    }

    impl Program for Sample {
        const USAGE: &str = "usage: sample";

        fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
            match name {
                "count" => self.count = parser.value()?.parse()?,
                _ => return Ok(false),
            }
            Ok(true)
        }

        fn check(&self, _: &Ranks) -> Result<(), String> {
            if self.count > 9 { Err(format!("--count {}: at most 9 is possible", self.count)) } else { Ok(()) }
        }

        fn run(self, _: &Ranks) -> Result<(), Box<dyn Error>> {
            Ok(())
        }
    }

    #[test]
    fn arguments_are_parsed_or_refused_by_name() {
        let read = |words: &[&str]| read::<Sample>(Parser::from_args(words));
        let ranks = Ranks { ranks: Some(6), topology: None, algorithm: Some("ring".to_owned()) };
        assert_eq!(read(&["--ranks", "6", "--count=3", "--algorithm", "ring"]), Ok(Some((Sample { count: 3 }, ranks))));
        assert_eq!(read(&["--count", "1", "--count", "2"]).unwrap().unwrap().0.count, 2);
        assert_eq!(read(&["--ranks", "6", "--help"]), Ok(None));
        for (words, part) in [
            (&["--count"][..], "--count"),
            (&["--count", "six"], "--count: cannot parse argument \"six\""),
            (&["--rank", "6"], "'--rank'"),
            (&["-x"], "'-x'"),
            (&["six"], "\"six\""),
            (&["--count", "10"], "--count 10: at most 9"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }

    #[test]
    fn number_of_ranks_contradicting_the_job_is_refused() {
        let run = |ranks: Option<usize>, topology: Option<&str>| {
            let arguments = Ranks { ranks, topology: topology.map(str::to_owned), algorithm: None };
            arguments.run(Launch::threads().ranks(6), |comm| Ok(comm.size()))
        };
        for (ranks, topology) in [(None, None), (Some(6), None), (None, Some("torus:2x3")), (Some(6), Some("ring:6"))] {
            assert_eq!(run(ranks, topology).unwrap(), [6; 6]);
        }
        for (ranks, topology, parts) in [
            (Some(5), None, ["--ranks 5: ", "has set 6", "omit --ranks, or start 5 ranks"]),
            (
                None,
                Some("torus:4x4"),
                ["--topology torus:4x4 (16 nodes): ", "has set 6", "omit --topology, or start 16 ranks"],
            ),
            (
                Some(6),
                Some("ring:5"),
                ["--topology ring:5 (5 nodes): ", "has set 6", "omit --topology, or start 5 ranks"],
            ),
        ] {
            let error = run(ranks, topology).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn squarest_torus_and_cube_have_any_number_of_nodes() {
        let shapes =
            [(1, "ring:1"), (2, "ring:2"), (6, "torus:2x3"), (7, "ring:7"), (12, "torus:3x4"), (16, "torus:4x4")];
        for (nodes, text) in shapes {
            assert_eq!(squarest_torus(nodes), text);
        }
        for nodes in 1..100 {
            assert_eq!(parse(&squarest_torus(nodes)).unwrap().nodes(), nodes);
            assert_eq!(parse(&cube(nodes)).unwrap().nodes(), nodes);
        }
    }
}
