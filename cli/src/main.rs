//! The `necklace` command: plans, verifies and exports schedules of collective communication, and
//! starts programs.
//!
//! It reads arguments, calls the library, and formats the results for people. Results go to
//! standard output, everything else to standard error. Exit status: 0 on success; 1 if a schedule
//! is wrong or an operation failed; 2 if the command line is wrong; `run`: the status of the job.

#[cfg(unix)]
mod address_space;
#[cfg(unix)]
mod agent;
mod bench;
mod cases;
mod cost;
mod curves;
mod figures;
mod list;
mod memory;
mod options;
mod output;
mod picture;
mod plan;
mod plot;
mod problem;
mod progress;
mod rows;
#[cfg(unix)]
mod run;
mod simulate;
mod sweep;
mod table;
mod tune;
mod verify;
mod wang;

use std::env;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use necklace::error::shown;

/// Plan, verify and price collective communication on a known network, and start programs
#[derive(Debug, Parser)]
#[command(name = "necklace", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the schedule of a collective, prove it correct, and print its cost
    #[command(after_help = plan::after_help())]
    Plan(plan::Arguments),
    /// Print the cost of collectives on a machine, by formula or counted
    #[command(after_help = cost::EXAMPLES, mut_arg("machine", cost::describe_machine))]
    Cost(cost::Arguments),
    /// Simulate schedules on a machine, with contention
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::Arguments),
    /// Verify a schedule from a JSON document
    #[command(after_help = verify::EXAMPLES)]
    Verify(verify::Arguments),
    /// Measure the time to build, verify and execute schedules on this machine
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::Arguments),
    /// Measure the prices of this machine, by which `auto` chooses algorithms
    #[command(after_help = tune::EXAMPLES)]
    Tune(tune::Arguments),
    /// Compare the choices of `auto` with all other algorithms, by simulation
    #[command(hide = true, after_help = sweep::EXAMPLES)]
    Sweep(sweep::Arguments),
    #[cfg(unix)]
    /// Start the ranks of a program as processes, on this machine or on others
    #[command(after_help = run::EXAMPLES)]
    Run(run::Arguments),
    #[cfg(unix)]
    /// Internal subcommand: a rank of `bench`
    #[command(hide = true)]
    BenchRank(bench::Rank),
    #[cfg(unix)]
    /// Internal subcommand: the agent of `run` on a host
    #[command(hide = true)]
    Agent,
    #[cfg(unix)]
    /// Internal subcommand: a rank before its program runs
    #[command(hide = true)]
    Exec(agent::ExecArguments),
    #[cfg(unix)]
    /// Internal subcommand: cleans up after an agent
    #[command(hide = true)]
    Reaper(agent::ReaperArguments),
}

const EXAMPLES: &str = "\
A topology is a network of nodes and links, such as torus:4x4. A rank is a process or thread of a job, and sits on
a node. Collectives are those of MPI, such as alltoall. A schedule is a list of rounds; each round is a set of
transfers between ranks, which may all happen at once. An algorithm builds schedules for one collective. A machine
holds the prices of messages, bytes and hops.

Examples:
  necklace plan --list
  necklace plan --topology torus:12x12 --collective alltoall
  necklace plan --topology hypercube:4 --collective allreduce --json - | necklace verify -
  necklace cost --topology torus:12x12 --collective alltoall --bytes 64,1K --machine paragon
  necklace tune --backend tcp --out machine.json
  necklace run -n 4 --machine machine.json -- ./program

Exit status: 0 on success; 1 if a schedule is wrong or an operation failed; 2 if the command line is
wrong; `necklace run`: the status of the job.";

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Err(error) = address_space::check(MIN_ADDRESS_SPACE) {
        return output::Failure::Failed(format!("cannot start: {}", agent::with_limit(&error))).report();
    }
    let done = match Arguments::try_parse().unwrap_or_else(|error| bounded(with_own_tip(error)).exit()).command {
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Cost(arguments) => cost::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        #[cfg(unix)]
        Command::Run(arguments) => return run::run(&arguments).unwrap_or_else(|failure| failure.report()),
        #[cfg(unix)]
        Command::BenchRank(rank) => return rank.run().unwrap_or_else(|failure| failure.report()),
        #[cfg(unix)]
        Command::Agent => return agent::run(),
        #[cfg(unix)]
        Command::Exec(arguments) => return agent::run_exec(&arguments),
        #[cfg(unix)]
        Command::Reaper(arguments) => return agent::run_reaper(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Replaces the tip to pass an unknown option of `run` after `--`, where it would be the program.
fn with_own_tip(mut error: clap::Error) -> clap::Error {
    let is_run = env::args_os().nth(1).is_some_and(|word| word == "run");
    if let (true, ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (is_run, error.kind(), error.get(ContextKind::InvalidArg))
    {
        let tip = format!("to pass '{option}' to PROGRAM, use 'PROGRAM {option}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Shortens the values that an error quotes.
fn bounded(mut error: clap::Error) -> clap::Error {
    let shortened = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(ContextValue::String(shown(text).to_string())),
        ContextValue::Strings(texts) => {
            Some(ContextValue::Strings(texts.iter().map(|text| shown(text).to_string()).collect()))
        }
        // Drop tips that repeat a long value.
        ContextValue::StyledStrs(tips) => {
            let short = |tip: &&StyledStr| tip.to_string().len() <= MAX_TIP;
            Some(ContextValue::StyledStrs(tips.iter().filter(short).cloned().collect()))
        }
        _ => None,
    };
    let all: Vec<(ContextKind, ContextValue)> =
        error.context().filter_map(|(kind, value)| Some((kind, shortened(value)?))).collect();
    for (kind, value) in all {
        error.insert(kind, value);
    }
    error
}

/// Minimum address space for parsing the command line, in bytes.
#[cfg(unix)]
const MIN_ADDRESS_SPACE: u64 = 1 << 20;

/// Maximum length of a tip in an error, in bytes.
const MAX_TIP: usize = 200;
