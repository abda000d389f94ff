//! `necklace run`: starts the ranks of a program, on this machine or on others, and ends them
//! together.
//!
//! The launcher starts one agent per host, which starts the ranks there ([`crate::agent`]). The
//! launcher prints the output that the agents forward, and decides when the job ends.

mod agent;
mod agent_state;
mod deduplicator;
mod hosts;
mod job;
mod lines;
mod output;
mod writer;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use necklace::error::{JobCause, shown};
use necklace::load_machine;
use necklace::machine::Machine;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::agent::{JobEvent, RemoteShell};
use self::hosts::{Host, Hosts};
use self::job::Job;
use self::output::{Output, Style};
use crate::agent::{is_of_jobs, small_thread, with_limit};
use crate::output::Failure;

pub(crate) const EXAMPLES: &str = "\
Examples:
  necklace run -n 4 -- ./program its arguments
  necklace run --topology torus:4x4 -- ./program
  necklace run -n 8 --hosts one,two:3 -- ./program
  necklace run --hosts node[01-04]:2 -- ./program
  necklace run --hostfile hosts.txt -- ./program
  necklace run -n 2 -- sh -c 'echo rank $NECKLACE_RANK of $NECKLACE_SIZE'

The environment of each rank has NECKLACE_RANK, NECKLACE_SIZE, NECKLACE_ROOT (the address where rank 0 accepts the
other ranks) and NECKLACE_KEY_FILE (a file with the key of this job, which only this user can read). It also has
NECKLACE_TOPOLOGY, NECKLACE_ALGORITHM, NECKLACE_MACHINE (as prices, also if a file is named), NECKLACE_TIMEOUT and
NECKLACE_ARRIVAL_TIMEOUT, if they are given as options or in the environment of this command. Ranks on other hosts
run in the same working directory, and receive the variables RUST_* and NECKLACE_* of this command, except those of
one job or one host. Standard input is empty.

Within a Slurm allocation, the ranks run on its nodes (SLURM_JOB_NODELIST), with a slot for each task
(SLURM_TASKS_PER_NODE). --hosts and --hostfile override this; --hosts localhost runs all ranks here.

Output is printed in whole lines; lines longer than 1 MiB are cut into parts that end in \" [continued]\". Output
waits for its reader without limit: about 1 MiB per host and stream is buffered, and ranks with more output block.
If the job has failed or a signal has ended it, output that nobody reads for a few seconds is dropped with a
warning. Lines that several failing ranks write to standard error are printed once, and the last line names the
other ranks. For this, a rank's line that repeats another rank's is delayed by up to half a second, if the rank has
written less than 4 KiB to standard error.

The first rank that fails, by its status or by a signal, ends the job, even if nobody reads the output. The
other ranks have one second to report the failure; then they receive SIGTERM, and two seconds later SIGKILL.
Ctrl-C sends SIGTERM at once, and a second Ctrl-C SIGKILL. Processes that a rank has started end with it, unless
they have left both its process group and the environment of the job (on systems without /proc: unless they
have left the process group).

This command starts an agent on each host, which starts the ranks there. Each agent starts a reaper, which kills
what is left when the agent ends. The job also ends if this command, an agent or a reaper is killed. If agent and
reaper are killed at once, the ranks still end (on Linux; elsewhere, ranks that use the library). A rank that uses
the library then also ends its process group and removes the key. Other processes continue, and the next job
on that host removes a key that is left, 10 seconds after it was written or later. If an agent or a reaper is
stopped (SIGSTOP), the job ends with its own status if all ranks have ended and all their output has arrived;
otherwise it fails when the agent has not answered for the timeout. If this command has ended, a reaper kills
a stopped agent.

Exit status: 0 if all ranks end with 0; otherwise the status of the first rank that fails, 128 + n for signal n;
127 if the program is not found, 126 if it cannot be started; 130, 143 or 129 if SIGINT, SIGTERM or SIGHUP ends
this command; 141 if nobody reads the output; 1 if a host fails; 2 if the command line is wrong.";

/// The time for which a rank or a host may be silent by default.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Start N ranks [default: one per node of the topology, or per slot of the hosts]
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = ranks, allow_negative_numbers = true)]
    ranks: Option<usize>,

    /// Tell the ranks that their network is T, such as torus:4x4, with rank i on node i
    #[arg(long, value_name = "T")]
    topology: Option<String>,

    /// Use algorithm A for alltoall, or several as alltoall=ring,allgather=ring
    #[arg(long, value_name = "A,..", value_parser = NonEmptyStringValueParser::new())]
    algorithm: Option<String>,

    /// Choose algorithms by the prices of machine M: NAME, NAME:key=price,.. or a machine file that
    /// `necklace tune` has written [default: NECKLACE_MACHINE, or the program's, or those of TCP]
    #[arg(long, value_name = "M", value_parser = load_machine)]
    machine: Option<Machine>,

    /// Fail a call if a process is silent or messages make no progress for S seconds, and the job
    /// if a host is silent for S seconds; off sets no limit [default: NECKLACE_TIMEOUT, or 300]
    #[arg(long, value_name = "S|off", allow_negative_numbers = true)]
    timeout: Option<Timeout>,

    /// Fail a call if a rank does not make the same call within S seconds, though its process
    /// answers; off waits as long as the process answers [default: NECKLACE_ARRIVAL_TIMEOUT, or
    /// 1800]
    #[arg(long, value_name = "S|off", allow_negative_numbers = true)]
    arrival_timeout: Option<Timeout>,

    /// Run on these hosts by ssh, with ranges such as node[01-04,7]:2 [default: the Slurm
    /// allocation, or this machine]
    ///
    /// Ranks fill the hosts in this order, each with as many consecutive ranks as it has slots (1
    /// unless given), and then start over with the first host.
    #[arg(long, value_name = "HOST[:SLOTS],..", value_parser = hosts::list)]
    hosts: Vec<Hosts>,

    /// Read the hosts from FILE, one per line as HOST, HOST slots=N or HOST:N, with comments after
    /// #
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    hostfile: Option<PathBuf>,

    /// Reach hosts by COMMAND instead of ssh; it receives the name of the host and the command to
    /// run there
    #[arg(long, value_name = "COMMAND", alias = "agent")]
    remote_shell: Option<String>,

    /// Set the name or address by which other hosts reach the first host, where rank 0 runs
    #[arg(long, value_name = "HOST", value_parser = hosts::name)]
    root_address: Option<String>,

    /// Print lines without the number of the rank in front
    #[arg(long)]
    no_prefix: bool,

    /// Report where each rank starts
    #[arg(short, long)]
    verbose: bool,

    /// Run PROGRAM with these arguments as each rank; everything after PROGRAM is passed on to it
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// A timeout as users write it: seconds, or `off`.
#[derive(Clone, Copy, Debug)]
struct Timeout(Option<u64>);

impl Timeout {
    fn duration(self) -> Duration {
        self.0.map_or(Duration::MAX, Duration::from_secs)
    }
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "off" => Ok(Self(None)),
            Ok(seconds) if seconds > 0 => Ok(Self(Some(seconds))),
            _ => Err("expected a whole number of seconds, at least 1, or off".to_owned()),
        }
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seconds) => seconds.fmt(f),
            None => f.write_str("off"),
        }
    }
}

fn ranks(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=hosts::MOST).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {}", hosts::MOST))
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(backend) = env::var_os("NECKLACE_BACKEND").filter(|backend| backend != "tcp") {
        return Err(Failure::Usage(format!(
            "NECKLACE_BACKEND is {backend:?}, but `necklace run` starts ranks that communicate over TCP; unset it, or \
             start ranks of MPI with `mpirun -n N PROGRAM`, and ranks that are threads with PROGRAM itself"
        )));
    }
    let job = job(arguments)?;
    let ranks: usize = job.places.iter().map(|(_, ranks)| ranks.len()).sum();
    let style = if arguments.no_prefix { Style::Plain } else { Style::Prefixed((ranks - 1).to_string().len()) };
    let (events, queue) = job::events();
    let output = Output::standard(style, &events).map_err(failed("cannot start a thread to print"))?;
    listen_to_signals(events.clone())?;
    job::run(&job, &Arc::new(output), (events, queue)).map(ExitCode::from)
}

/// Runs this command with `arguments` as the ranks of a local job, one rank per node, and returns
/// their output. A signal ends this process, and thereby the job.
pub(crate) fn ranks_of_own(
    topology: &str,
    algorithm: &str,
    machine: Option<Machine>,
    arguments: &[String],
) -> Result<String, Failure> {
    let own = env::current_exe().map_err(|error| Failure::of("the necklace command", &error))?;
    let words = [own.into_os_string()].into_iter().chain(arguments.iter().map(OsString::from));
    let arguments = Arguments {
        ranks: None,
        topology: Some(topology.to_owned()),
        algorithm: Some(algorithm.to_owned()),
        timeout: None,
        arrival_timeout: None,
        machine,
        hosts: vec![vec![Host::here()]],
        hostfile: None,
        remote_shell: None,
        root_address: None,
        no_prefix: true,
        verbose: false,
        command: words.collect(),
    };
    let (events, queue) = job::events();
    let output = Arc::new(Output::kept(&events).map_err(failed("cannot start a thread to print"))?);
    match job::run(&job(&arguments)?, &output, (events, queue))? {
        0 => Ok(String::from_utf8_lossy(&output.take()).into_owned()),
        status => Err(Failure::Failed(format!("the ranks ended with status {status}"))),
    }
}

fn job(arguments: &Arguments) -> Result<Job, Failure> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::Usage("missing program; name it after --".to_owned()));
    };
    if program.is_empty() {
        return Err(Failure::Usage("empty name of the program; expected a path or a command".to_owned()));
    }
    let topology = match (&arguments.topology, env::var("NECKLACE_TOPOLOGY")) {
        (Some(text), _) => Some(("--topology", text.clone())),
        (None, Ok(text)) => Some(("NECKLACE_TOPOLOGY", text)),
        (None, Err(_)) => None,
    };
    let mut hosts = match &arguments.hostfile {
        Some(path) => hosts::file(path)?,
        None if arguments.hosts.is_empty() => hosts::allocated()?,
        None => arguments.hosts.concat(),
    };
    if hosts.is_empty() && arguments.remote_shell.is_some() {
        return Err(Failure::Usage(
            "--remote-shell needs hosts to reach; name them with --hosts or --hostfile".to_owned(),
        ));
    }
    let size = size(arguments.ranks, topology.as_ref(), &hosts)?;
    if hosts.is_empty() {
        hosts.push(Host::here());
    }
    let places = hosts::spread(&hosts, size);
    let reach = match &arguments.remote_shell {
        None => RemoteShell::Ssh,
        Some(text) => {
            let words = shlex::split(text).filter(|words| !words.is_empty());
            RemoteShell::Command(words.ok_or_else(|| {
                Failure::Usage(format!(
                    "--remote-shell {:?} is not a command; expected words as for a shell, with their quotes closed",
                    shown(text).to_string()
                ))
            })?)
        }
    };
    let root = root(arguments, &places, &reach)?;
    let directory = env::current_dir().map_err(|error| Failure::of("the working directory", &error))?;
    let own = [("NECKLACE_SIZE", Some(size.to_string())), ("NECKLACE_TOPOLOGY", topology.map(|(_, text)| text))];
    let given = [
        ("--algorithm", "NECKLACE_ALGORITHM", arguments.algorithm.clone()),
        ("--machine", "NECKLACE_MACHINE", arguments.machine.map(|machine| machine.to_string())),
        ("--timeout", "NECKLACE_TIMEOUT", arguments.timeout.map(|timeout| timeout.to_string())),
        ("--arrival-timeout", "NECKLACE_ARRIVAL_TIMEOUT", arguments.arrival_timeout.map(|timeout| timeout.to_string())),
    ];
    check_settings(&given)?;
    let given = given.into_iter().map(|(_, variable, value)| (variable, value));
    // The variable may name a file that other hosts do not have.
    let named = env::var("NECKLACE_MACHINE").ok().filter(|_| arguments.machine.is_none());
    let prices = named.and_then(|text| Some(load_machine(&text).ok()?.to_string()));
    let set = own
        .into_iter()
        .chain(given)
        .chain([("NECKLACE_MACHINE", prices)])
        .filter_map(|(name, value)| Some((name.into(), value?.into())));
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

/// Fails if the ranks would refuse a setting, of the environment or of these options: each with its
/// variable and its value, if given.
fn check_settings(given: &[(&str, &str, Option<String>)]) -> Result<(), Failure> {
    let option = |name: &str| given.iter().find(|(_, variable, value)| *variable == name && value.is_some());
    let variable = |name: &str| match option(name) {
        Some((_, _, value)) => value.clone(),
        None => Some(env::var_os(name)?.to_string_lossy().into_owned()),
    };
    // The ranks read an option from its variable.
    let set_by = |variable: &str| option(variable).map_or(variable.to_owned(), |(option, ..)| (*option).to_owned());
    let checked = necklace::launch::check_spelling().and_then(|()| necklace::launch::check_settings(&variable));
    checked.map_err(|error| {
        Failure::Usage(match error.cause() {
            JobCause::Variable { name, found, expected, .. } => {
                format!("{}: found {found}, expected {expected}", set_by(name))
            }
            JobCause::Argument { place, source, .. } => format!("{}: {source}", set_by(place)),
            JobCause::Machine { place, source, .. } => format!("{}: {source}", set_by(place)),
            _ => error.to_string(),
        })
    })
}

/// Returns how long a host may be silent: as long as a rank may be. The settings are valid.
fn patience(arguments: &Arguments) -> Duration {
    let set = || env::var("NECKLACE_TIMEOUT").ok()?.parse().ok();
    arguments.timeout.or_else(set).map_or(PATIENCE, Timeout::duration)
}

/// Returns the number of ranks. Fails if the options disagree.
fn size(ranks: Option<usize>, topology: Option<&(&str, String)>, hosts: &[Host]) -> Result<usize, Failure> {
    let nodes = match topology {
        Some((by, text)) => {
            let nodes = necklace::load(text).map_err(|error| Failure::Usage(format!("{by}: {error}")))?.ranks();
            Some((nodes, format!("{by} {} has {nodes} nodes", shown(text))))
        }
        None => None,
    };
    let size = match (ranks, nodes) {
        (Some(ranks), Some((nodes, topology))) if ranks != nodes => {
            return Err(Failure::Usage(format!("{topology}, but -n is {ranks}; use -n {nodes}, or leave out -n")));
        }
        (Some(ranks), _) | (None, Some((ranks, _))) => ranks,
        (None, None) => hosts::slots(hosts).ok_or_else(|| {
            Failure::Usage("the number of ranks is unknown; use -n N, --topology T, or hosts with slots".to_owned())
        })?,
    };
    if size > hosts::MOST {
        return Err(Failure::Usage(format!("{size} ranks are too many for one job; start at most {}", hosts::MOST)));
    }
    Ok(size)
}

/// Returns the name by which the ranks reach the first host.
fn root(arguments: &Arguments, places: &[(String, Vec<usize>)], reach: &RemoteShell) -> Result<String, Failure> {
    if let Some(name) = &arguments.root_address {
        return Ok(hosts::reachable(name));
    }
    let direct = matches!(reach, RemoteShell::Ssh) && places.iter().all(|(name, _)| hosts::is_here(name));
    match places {
        // All ranks are on one machine.
        [_] => Ok("127.0.0.1".to_owned()),
        _ if direct => Ok("127.0.0.1".to_owned()),
        [(first, _), (second, _), ..] if hosts::is_loopback(first) => Err(Failure::Usage(format!(
            "{second} cannot reach rank 0 on {first}; name the first host as other hosts know it, or use --root-address"
        ))),
        [(first, _), ..] => Ok(hosts::reachable(first)),
        [] => Err(Failure::Usage("no hosts; name them with --hosts or --hostfile".to_owned())),
    }
}

/// Returns the variables of this command's environment that all ranks receive: the library's,
/// except those of a single job, and Rust's.
fn carried() -> impl Iterator<Item = (OsString, OsString)> {
    const OF_ONE_JOB: [&str; 13] = [
        "NECKLACE_RANK",
        "NECKLACE_SIZE",
        "NECKLACE_ROOT",
        "NECKLACE_ROOT_HELD",
        "NECKLACE_RENDEZVOUS",
        "NECKLACE_KEY_FILE",
        "NECKLACE_KEY_LOCKED",
        "NECKLACE_INSECURE",
        "NECKLACE_STARTED_AT",
        // Of this host.
        "NECKLACE_ADDRESS",
        "NECKLACE_HOST",
        // Of other backends.
        "NECKLACE_BACKEND",
        "NECKLACE_RANKS",
    ];
    let is_job = |name: &OsStr| OF_ONE_JOB.iter().any(|own| name == *own);
    let is_rust = |name: &OsStr| name.as_encoded_bytes().starts_with(b"RUST_");
    env::vars_os().filter(move |(name, _)| is_rust(name) || is_of_jobs(name) && !is_job(name))
}

/// Returns the failure of an operation that the system refused, with the limit that was reached, if
/// any.
fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what}: {}", with_limit(&error)))
}

/// Turns the signals that end the job into events. If SIGHUP is ignored (`nohup`), it stays
/// ignored.
fn listen_to_signals(events: Sender<JobEvent>) -> Result<(), Failure> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !ignores(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted).map_err(failed("cannot listen to signals"))?;
    let listen = move || {
        for signal in signals.forever() {
            if events.send(JobEvent::Signal(signal)).is_err() {
                break;
            }
        }
    };
    small_thread(listen).map_err(failed("cannot start a thread for signals"))
}

/// Returns whether this process ignores a signal, as far as the system reports it.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
