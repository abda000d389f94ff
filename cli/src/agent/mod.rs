//! `necklace agent`: starts the ranks of one host for a launcher, which may be on another host.
//!
//! An internal subcommand. The agent reads the description of the job from its standard input, then
//! orders. The input ends when the launcher ends, for any reason; then the agent makes its
//! [`reaper`] clean up. The agent sends the output of the ranks to the launcher in frames
//! ([`protocol`]).
//!
//! The main thread starts the ranks ([`exec`]), a second thread forwards their output and reports
//! their ends ([`multiplexer`]), and a third receives orders. Orders and reports never wait for a
//! reader of the output.

mod exec;
mod key_file;
mod launcher;
mod multiplexer;
mod port;
pub(crate) mod protocol;
mod rank;
mod reaper;
mod started_processes;

use std::env;
use std::fs::File;
use std::io::{self, Stdin, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, ExitStatus, exit};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use necklace::error::shown;
use rustix::io::Errno;
use rustix::process::setsid;

pub(crate) use self::exec::{Arguments as ExecArguments, run as run_exec};
use self::key_file::KeyDirectory;
use self::launcher::Launcher;
use self::multiplexer::Multiplexer;
use self::port::ReservedPort;
use self::protocol::{Description, MAGIC, Order, Report, Root};
pub(crate) use self::rank::is_of_jobs;
use self::reaper::Reaper;
pub(crate) use self::reaper::{Arguments as ReaperArguments, run as run_reaper};
use self::started_processes::StartedProcesses;
use crate::address_space;

/// The time for which processes that ranks have started may write after the last rank has ended.
const LINGER: Duration = Duration::from_millis(500);

/// An event for the main thread.
enum RankEvent {
    /// A rank has ended.
    Ended,
    /// A stream of a rank has ended.
    Silent,
    /// The reaper has ended.
    ReaperEnded,
}

/// The reason why the job cannot run on this host, and the exit status of the job.
struct Refusal(String, u8);

pub(crate) fn run() -> ExitCode {
    // `killall necklace` should not kill the agent, which cleans up.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"necklace-agent");
    // A session of its own, out of reach of the terminal and of signals to the launcher's group.
    if setsid().is_err() {
        // The leader of a group cannot create a session, but its child can.
        let child = env::current_exe().and_then(|own| Command::new(own).arg("agent").status());
        return child
            .map_or(ExitCode::FAILURE, |status| if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let Ok(stdout) = io::stdout().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut stdout = File::from(stdout);
    let here = Report::Here { version: env!("CARGO_PKG_VERSION").to_owned() };
    let greeted = stdout.write_all(MAGIC).and_then(|()| protocol::send(&mut stdout, &here));
    let launcher = Launcher::at(stdout);
    let mut stdin = io::stdin();
    let Ok(Some(description)) = greeted.and_then(|()| protocol::receive(&mut stdin)) else {
        return ExitCode::FAILURE;
    };
    let served = prepare(&description)
        .map_err(|refusal| refusal.report(&description, &launcher))
        .and_then(|(key_directory, reaper)| serve(&description, &key_directory, reaper, &launcher, stdin));
    if served.is_err() {
        return ExitCode::FAILURE;
    }
    launcher.report(&Report::Done);
    ExitCode::SUCCESS
}

impl Refusal {
    fn of(what: &str, error: &io::Error) -> Self {
        Self(format!("{what}: {}", with_limit(error)), 1)
    }

    fn report(self, description: &Description, launcher: &Launcher) {
        let Self(why, status) = self;
        launcher.report(&Report::Failed { why: format!("{}: {why}", description.host), status });
    }
}

/// Prepares what the cleanup needs, before there is anything to clean up.
fn prepare(description: &Description) -> Result<(KeyDirectory, Reaper), Refusal> {
    let directory = &description.directory;
    env::set_current_dir(directory).map_err(|error| Refusal::of(&directory.display().to_string(), &error))?;
    let key_directory =
        KeyDirectory::place().map_err(|error| Refusal::of("cannot draw a name for the key's file", &error))?;
    key_directory.remove_others();
    let reaper =
        io::stdin().as_fd().try_clone_to_owned().and_then(|orders| Reaper::start(key_directory.directory(), orders));
    let reaper = reaper.map_err(|error| Refusal::of("cannot start the reaper", &error))?;
    Ok((key_directory, reaper))
}

/// Runs the job on this host. Reports a failure before returning.
fn serve(
    description: &Description,
    key_directory: &KeyDirectory,
    reaper: Reaper,
    launcher: &Launcher,
    stdin: Stdin,
) -> Result<(), ()> {
    let (events, queue) = mpsc::channel();
    let reaper_process = reaper.process();
    let processes = StartedProcesses::of(reaper);
    // From here on everything is cleaned up, whatever happens.
    let outcome = Multiplexer::start(launcher.clone(), reaper_process, events)
        .and_then(|multiplexer| {
            obey(stdin, processes.clone(), launcher.clone(), multiplexer.clone())?;
            Ok(multiplexer)
        })
        .map_err(|error| Refusal::of("cannot start a thread for the ranks and one for orders", &error))
        .and_then(|multiplexer| {
            let (ranks, held) = start(description, key_directory, launcher, &processes, &multiplexer)?;
            attend(&queue, ranks, &processes, &multiplexer)?;
            Ok(held)
        })
        // Reported before the cleanup, which kills the other ranks.
        .map_err(|refusal| refusal.report(description, launcher));
    processes.end();
    // The port is held until here.
    outcome.map(drop)
}

/// Starts the ranks until they are asked to end. The returned resources must be kept while the
/// ranks live.
fn start(
    description: &Description,
    key_directory: &KeyDirectory,
    launcher: &Launcher,
    processes: &StartedProcesses,
    multiplexer: &Multiplexer,
) -> Result<(usize, Option<ReservedPort>), Refusal> {
    let key = processes
        .place(|| key_directory.keep(&description.key))
        .map_err(|error| Refusal::of("cannot write the key's file", &error))?;
    let held = match &description.root {
        Root::Held(name) => {
            Some(ReservedPort::find(name).map_err(|error| Refusal::of("cannot reserve a port for rank 0", &error))?)
        }
        Root::At(_) => None,
    };
    let root = match (&held, &description.root) {
        (Some(held), _) => held.address(),
        (None, Root::At(address) | Root::Held(address)) => address,
    };
    if held.is_some() {
        launcher.report(&Report::Root(root.to_owned()));
    }
    let mut started = 0;
    for &rank in &description.ranks {
        let command = rank::command(rank, description, root, held.is_some(), &key);
        let pending = command.and_then(|command| processes.start(command));
        let Some(pending) = pending.map_err(|error| cannot_be_started(description, &error))? else { break };
        let child = pending.finish().map_err(|error| cannot_be_started(description, &error))?;
        launcher.report(&Report::Started { rank, process: child.id() });
        multiplexer.attend(rank, child);
        started += 1;
    }
    Ok((started, held))
}

/// Returns the refusal for a program that does not start: with a shell's exit status, or 1 if the
/// system lacks resources.
fn cannot_be_started(description: &Description, error: &io::Error) -> Refusal {
    let status = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => 127,
        Some(Errno::NOMEM | Errno::AGAIN) => 1,
        _ => 126,
    };
    let program = description.program.to_string_lossy();
    Refusal(format!("{} cannot be started: {}", shown(&program), with_limit(error)), status)
}

/// Describes an error of starting a process or a thread, with the limit that was reached, if any.
pub(crate) fn with_limit(error: &io::Error) -> String {
    let limit = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE) => "open files are limited by ulimit -n",
        Some(Errno::NFILE) => "open files of all processes are limited by fs.file-max; of one, by ulimit -n",
        Some(Errno::AGAIN) => "processes and threads of a user are limited by ulimit -u, their memory by ulimit -v",
        Some(Errno::NOMEM) => "memory is limited by ulimit -v",
        _ => return error.to_string(),
    };
    format!("{error}: {limit}")
}

/// Waits until a child ends; `None` after the timeout.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_micros(100);
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => thread::sleep(pause),
            Ok(status) => return status,
            Err(_) => return None,
        }
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

/// Minimum free address space for starting a thread: its stacks, buffered output, and other
/// threads.
const THREAD_ADDRESS_SPACE: u64 = 4 << 20;

/// Starts a thread that only waits and forwards. A launcher may have thousands of these.
pub(crate) fn small_thread(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // Without this space, a new thread would abort the process.
    address_space::check(THREAD_ADDRESS_SPACE).map_err(|_| Errno::AGAIN)?;
    thread::Builder::new().stack_size(1 << 17).spawn(body).map(drop)
}

/// Starts the thread that obeys the launcher until its orders end.
fn obey(mut stdin: Stdin, processes: StartedProcesses, launcher: Launcher, multiplexer: Multiplexer) -> io::Result<()> {
    small_thread(move || {
        loop {
            match protocol::receive(&mut stdin) {
                Ok(Some(Order::Terminate)) => processes.terminate(),
                Ok(Some(Order::Kill)) => processes.clear(),
                Ok(Some(Order::Printed { stream, cost })) => multiplexer.printed(stream, cost),
                Ok(Some(Order::Answer)) => launcher.report(&Report::Alive),
                // The launcher is gone, or sends invalid orders.
                Ok(None) | Err(_) => break,
            }
        }
        processes.clear();
        // The reaper ends after this process, which it kills should it be stopped here.
        exit(1);
    })
}

/// Waits until the ranks have ended and their output has been sent.
fn attend(
    queue: &Receiver<RankEvent>,
    ranks: usize,
    processes: &StartedProcesses,
    multiplexer: &Multiplexer,
) -> Result<(), Refusal> {
    let (mut running, mut open) = (ranks, 2 * ranks);
    while running > 0 {
        match queue.recv() {
            Ok(RankEvent::Ended) => running -= 1,
            Ok(RankEvent::Silent) => open -= 1,
            Ok(RankEvent::ReaperEnded) if processes.has_cleared() => {}
            Ok(RankEvent::ReaperEnded) | Err(_) => {
                return Err(Refusal("the reaper of the ranks has ended".to_owned(), 1));
            }
        }
    }
    // Other processes of a rank may still write. They may end by themselves; otherwise they are
    // killed.
    let until = Instant::now() + LINGER;
    while open > 0 {
        match queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(RankEvent::Silent) => open -= 1,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    processes.clear();
    // Output that was written by now waits for its reader without limit. Processes that escaped are
    // not awaited.
    multiplexer.finish();
    while open > 0 {
        match queue.recv() {
            Ok(RankEvent::Silent) => open -= 1,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_limit_is_named() {
        for (error, limit) in [(Errno::MFILE, "ulimit -n"), (Errno::NFILE, "ulimit -n"), (Errno::AGAIN, "ulimit -u")] {
            let text = with_limit(&error.into());
            assert!(text.contains(limit) && text.starts_with(&io::Error::from(error).to_string()), "{text}");
        }
        assert!(!with_limit(&Errno::NOENT.into()).contains("ulimit"));
    }
}
