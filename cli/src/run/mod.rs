//! `necklace run`: starts the ranks of a program, here or on other machines, and ends them together.
//!
//! The launcher starts an agent a host, which starts the ranks there ([`crate::agent`]). It prints what the agents
//! forward, and decides when the job is over.

mod agent;
mod hosts;
mod job;
mod lines;
mod output;
mod printer;
mod repeats;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use necklace::error::{BuildError, shown};
use necklace::topology;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::agent::{Event, Reach};
use self::hosts::{Host, host};
use self::job::Job;
use self::output::{Output, Style};
use crate::agent::{is_of_jobs, small_thread, with_limit};
use crate::output::Failure;

pub(crate) const EXAMPLES: &str = "\
Examples:
  necklace run -n 4 -- ./program its arguments
  necklace run --topology torus:4x4 -- ./program
  necklace run -n 8 --hosts one,two:3 -- ./program
  necklace run -n 2 -- sh -c 'echo rank $NECKLACE_RANK of $NECKLACE_SIZE'

A rank finds in its environment NECKLACE_RANK, NECKLACE_SIZE, NECKLACE_ROOT (where rank 0 meets the others) and
NECKLACE_KEY_FILE (the job's key, fresh, readable by this user only); NECKLACE_TOPOLOGY, NECKLACE_ALGORITHM and
NECKLACE_TIMEOUT if they are given, as options or in this command's own environment. Variables NECKLACE_* and RUST_* are
carried to other hosts, and so is the working directory. Standard input is empty.

Output comes line by line; of lines longer than 1 MiB the parts end in \" [continued]\". It waits for its reader as long as that
likes: some 1 MiB a host and stream here, the rest with the ranks, which then wait to print more. Of a job that has failed, or
was told to end, what nobody reads for some seconds is dropped, with a warning. What ranks that fail say on standard error as
another has before is left out, and the last line says whose that was: of a rank that has said less than 4 KiB there, lines that
another has just said come up to half a second late.

The first rank that fails, by its status or by a signal, ends the job, also while nobody reads the output: the others have a
second to say so themselves, then are asked to end (SIGTERM), and two seconds later ended. Ctrl-C asks them at once; a second Ctrl-C ends them. What ranks
have started ends with them, unless it has left both their process groups and the job's environment; on systems without
/proc, unless it has left their process groups. So it is if this command is killed, or its agent on a host, or the agent's guard. If
both of these are killed at once, ranks end (on Linux, and everywhere those that use the library) and what uses the library ends
its process group and removes the key; what else ranks have started goes on, and a key that nobody was left to remove is removed
by the next job on that host. If a guard or an agent is stopped, the job ends with its own status if the agent has told before that
its ranks have ended, and otherwise fails when the agent has not answered for the timeout.

Exit status: 0 if all ranks end with 0; else that of the first that fails, 128 + n for signal n; 127 if the program is not
found, 126 if it cannot be started; 130, 143 or 129 if the command itself was told to end by SIGINT, SIGTERM or SIGHUP; 141 if
nobody reads the output; 1 if a host fails; 2 if the command line is wrong.";

/// How long ranks wait for each other unless it is said.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How many ranks; unless given, as many as the topology has nodes or the hosts have slots
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = ranks)]
    ranks: Option<usize>,

    /// The network of the ranks, a rank a node
    #[arg(long, value_name = "T")]
    topology: Option<String>,

    /// The algorithm of alltoall, or several as alltoall=ring,allgather=ring
    #[arg(long, value_name = "A,..", value_parser = NonEmptyStringValueParser::new())]
    algorithm: Option<String>,

    /// Seconds without progress after which a call of a rank fails, 300 unless given; the job fails if a host does not answer
    /// for so long
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// Where they run, in this order, as many in a row as the host has slots (1 unless given), and round again; by ssh
    #[arg(long, value_name = "HOST[:SLOTS],..", value_delimiter = ',', value_parser = host)]
    hosts: Vec<Host>,

    /// The command that reaches a host, instead of ssh: it gets the host's name and what to run there
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    agent: Option<String>,

    /// The name or address by which the other hosts reach the first, where rank 0 is
    #[arg(long, value_name = "HOST", value_parser = hosts::name)]
    root_address: Option<String>,

    /// Print lines without the rank in front
    #[arg(long)]
    no_prefix: bool,

    /// Tell who is started where
    #[arg(short, long)]
    verbose: bool,

    /// What each rank is
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn ranks(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=hosts::MOST).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {}", hosts::MOST))
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(backend) = env::var_os("NECKLACE_BACKEND").filter(|backend| backend != "tcp") {
        return Err(Failure::Usage(format!(
            "NECKLACE_BACKEND is {backend:?}, but the ranks that this command starts talk over TCP: unset it (ranks of MPI are started \
             with `mpirun -n N PROGRAM`, and threads by the program itself)"
        )));
    }
    let job = job(arguments)?;
    let ranks: usize = job.places.iter().map(|(_, ranks)| ranks.len()).sum();
    let style = if arguments.no_prefix { Style::Plain } else { Style::Prefixed((ranks - 1).to_string().len()) };
    let (events, queue) = job::events();
    let output = Output::standard(style, &events).map_err(failed("printing"))?;
    listen_to_signals(events.clone())?;
    job::run(&job, &Arc::new(output), (events, queue)).map(ExitCode::from)
}

/// Runs this command itself as the ranks of a job on this machine, a rank a node, and returns what they print. A signal
/// ends this process, and with it the job.
pub(crate) fn ranks_of_own(topology: &str, algorithm: &str, arguments: &[String]) -> Result<String, Failure> {
    let own = env::current_exe().map_err(|error| Failure::of("the necklace command", &error))?;
    let words = [own.into_os_string()].into_iter().chain(arguments.iter().map(OsString::from));
    let arguments = Arguments {
        ranks: None,
        topology: Some(topology.to_owned()),
        algorithm: Some(algorithm.to_owned()),
        timeout: None,
        hosts: Vec::new(),
        agent: None,
        root_address: None,
        no_prefix: true,
        verbose: false,
        command: words.collect(),
    };
    let (events, queue) = job::events();
    let output = Arc::new(Output::kept(&events).map_err(failed("printing"))?);
    match job::run(&job(&arguments)?, &output, (events, queue))? {
        0 => Ok(String::from_utf8_lossy(&output.take()).into_owned()),
        status => Err(Failure::Failed(format!("the ranks ended with status {status}"))),
    }
}

fn job(arguments: &Arguments) -> Result<Job, Failure> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::Usage("there is no program".to_owned()));
    };
    if program.is_empty() {
        return Err(Failure::Usage("the program's name is empty".to_owned()));
    }
    let topology = match (&arguments.topology, env::var("NECKLACE_TOPOLOGY")) {
        (Some(text), _) => Some(("--topology", text.clone())),
        (None, Ok(text)) => Some(("NECKLACE_TOPOLOGY", text)),
        (None, Err(_)) => None,
    };
    let size = size(arguments, topology.as_ref())?;
    let hosts = if arguments.hosts.is_empty() { vec![Host::here()] } else { arguments.hosts.clone() };
    let places = hosts::spread(&hosts, size);
    let reach = match &arguments.agent {
        None => Reach::Ssh,
        Some(text) => {
            let words = shlex::split(text).filter(|words| !words.is_empty());
            Reach::Command(
                words.ok_or_else(|| Failure::Usage(format!("--agent {:?} is no command", shown(text).to_string())))?,
            )
        }
    };
    let root = root(arguments, &places, &reach)?;
    let directory = env::current_dir().map_err(|error| Failure::of("the working directory", &error))?;
    let own = [("NECKLACE_SIZE", Some(size.to_string())), ("NECKLACE_TOPOLOGY", topology.map(|(_, text)| text))];
    let given = [
        ("NECKLACE_ALGORITHM", arguments.algorithm.clone()),
        ("NECKLACE_TIMEOUT", arguments.timeout.map(|seconds| seconds.to_string())),
    ];
    let set = own.into_iter().chain(given).filter_map(|(name, value)| Some((name.into(), value?.into())));
    Ok(Job {
        places,
        reach,
        root,
        directory,
        program: program.clone(),
        arguments: rest.to_vec(),
        patience: patience(arguments),
        environment: carried().chain(set).collect(),
        verbose: arguments.verbose,
    })
}

/// How long a host may say nothing: as long as ranks wait for each other.
fn patience(arguments: &Arguments) -> Duration {
    // One that the ranks cannot read they complain of.
    let of_environment = || env::var("NECKLACE_TIMEOUT").ok()?.parse().ok().filter(|seconds| *seconds > 0);
    arguments.timeout.or_else(of_environment).map_or(PATIENCE, Duration::from_secs)
}

/// How many ranks there are, as all who say so agree.
fn size(arguments: &Arguments, topology: Option<&(&str, String)>) -> Result<usize, Failure> {
    let nodes = match topology {
        Some((by, text)) => {
            let nodes = topology::parse(text).map_err(BuildError::from)?.nodes();
            Some((nodes, format!("{by} {} has {nodes} nodes", shown(text))))
        }
        None => None,
    };
    match (arguments.ranks, nodes) {
        (Some(ranks), Some((nodes, topology))) if ranks != nodes => {
            Err(Failure::Usage(format!("{topology}, but -n is {ranks}: there is a rank a node")))
        }
        (Some(ranks), _) | (None, Some((ranks, _))) => Ok(ranks),
        (None, None) => hosts::slots(&arguments.hosts).ok_or_else(|| {
            Failure::Usage("how many ranks? -n N says it, or --topology, or --hosts with slots".to_owned())
        }),
    }
}

/// How the ranks reach the first host.
fn root(arguments: &Arguments, places: &[(String, Vec<usize>)], reach: &Reach) -> Result<String, Failure> {
    if let Some(name) = &arguments.root_address {
        return Ok(hosts::reachable(name));
    }
    let direct = matches!(reach, Reach::Ssh) && places.iter().all(|(name, _)| hosts::is_here(name));
    match places {
        // They all are on one machine, whatever its name.
        [_] => Ok("127.0.0.1".to_owned()),
        _ if direct => Ok("127.0.0.1".to_owned()),
        [(first, _), (second, _), ..] if hosts::is_loopback(first) => Err(Failure::Usage(format!(
            "{second} cannot reach rank 0 on {first}: name the host as others know it, or use --root-address"
        ))),
        [(first, _), ..] => Ok(hosts::reachable(first)),
        [] => Err(Failure::Usage("there are no hosts".to_owned())),
    }
}

/// The variables of this command's own that all ranks get: those of the library that are no other job's, and of Rust's.
fn carried() -> impl Iterator<Item = (OsString, OsString)> {
    const OF_ONE_JOB: [&str; 11] = [
        "NECKLACE_RANK",
        "NECKLACE_SIZE",
        "NECKLACE_ROOT",
        "NECKLACE_ROOT_HELD",
        "NECKLACE_RENDEZVOUS",
        "NECKLACE_KEY_FILE",
        "NECKLACE_KEY_LOCKED",
        "NECKLACE_INSECURE",
        // Of this host.
        "NECKLACE_ADDRESS",
        // Of other backends.
        "NECKLACE_BACKEND",
        "NECKLACE_RANKS",
    ];
    let is_job = |name: &OsStr| OF_ONE_JOB.iter().any(|own| name == *own);
    let is_rust = |name: &OsStr| name.as_encoded_bytes().starts_with(b"RUST_");
    env::vars_os().filter(move |(name, _)| is_rust(name) || is_of_jobs(name) && !is_job(name))
}

/// What the system refuses, with the limit that has been met, if one was.
fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what}: {}", with_limit(&error)))
}

/// Has signals that are to end the job come as events. A hang-up that is ignored (`nohup`) stays so.
fn listen_to_signals(events: Sender<Event>) -> Result<(), Failure> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !ignores(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted).map_err(failed("signals"))?;
    let listen = move || {
        for signal in signals.forever() {
            if events.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
    };
    small_thread(listen).map_err(failed("a thread for signals"))
}

/// Whether this process was started with a signal ignored, as far as the system tells.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
