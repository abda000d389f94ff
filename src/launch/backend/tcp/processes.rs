//! Starts this program again, as the other ranks of a job.
//!
//! This process is rank 0. It locks the key file until the others have ended: if it is killed, they
//! end themselves, as those of `necklace run` do ([`super::launcher`]).

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::launcher::ROOT;
use super::settings::STARTED_AT;
use super::{ROW, rendezvous};
use crate::error::{Error, JobCause, JobError};
use crate::ids::Rank;
use crate::launch::backend::row::{Environment, JobEntry, JoinedJob, Row, Size, Supervise, unless_disagreement};
use crate::launch::claim;
use crate::launch::request::SettingOrigin;
use crate::launch::variable::{Variable, contradiction};
use crate::quote::quoted;
use crate::transport::Disagreement;
use crate::transport::engine::Supervisor;
use crate::transport::tcp::{Join, JoinError, Key, Root};

/// The variables that apply to that launch alone.
const OF_ONE_LAUNCH: [&str; 7] = [
    "NECKLACE_RANK",
    "NECKLACE_SIZE",
    "NECKLACE_RENDEZVOUS",
    "NECKLACE_KEY_FILE",
    "NECKLACE_KEY_LOCKED",
    "NECKLACE_ADDRESS",
    STARTED_AT,
];

/// Maximum number of ranks.
const MOST: usize = 1 << 10;

/// The time for which the others may report a failure before they are killed.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum interval between two checks of the processes.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Interval at which it is logged which processes still run after the job.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The number of bytes at the end of a process's output that an error shows.
const SHOWN: u64 = 1 << 13;

/// Looks a variable up for a launch of another kind: hides those of one launch, so that it does what
/// it did in rank 0.
pub(in crate::launch) fn of_others(variable: Variable<'_>, name: &str) -> Option<String> {
    let is_of_one_launch = OF_ONE_LAUNCH.contains(&name) && variable(STARTED_AT).is_some();
    if is_of_one_launch { None } else { variable(name) }
}

/// The settings of `Launch::processes`.
#[derive(Clone, Copy, Debug)]
pub(in crate::launch) struct Processes {
    /// The call in the program.
    origin: SettingOrigin,
}

impl Processes {
    pub(in crate::launch) fn new(origin: SettingOrigin) -> Self {
        Self { origin }
    }

    /// Returns the backend of the processes, and their job, which this process has to start. `None`
    /// if a launcher has started this process, or `NECKLACE_BACKEND` names another backend.
    pub(in crate::launch) fn enter(
        self,
        environment: &Environment<'_>,
        timeout: Duration,
    ) -> Result<Option<EnteredJob>, JobError> {
        let variable = environment.variable;
        let test = test_name().map_err(|problem| self.error(problem))?;
        let meant = variable(STARTED_AT);
        if meant.is_none() && (environment.names_another(&ROW) || is_rank(variable)?) {
            return Ok(None);
        }
        let number = launches(|launches| {
            launches.number += 1;
            launches.number
        });
        let place = format!("{number}: {}, thread {}", self.origin, thread::current().name().unwrap_or_default());
        let entry = ProcessesEntry { processes: self, test, timeout, place, meant };
        let Some(meant) = &entry.meant else { return Ok(Some((&ROW, Box::new(entry)))) };
        if entry.place == *meant {
            entry.start_once()?;
            return Ok(None);
        }
        let number_meant = meant.split(':').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        if number < number_meant || launches(|launches| launches.has_started) {
            // The first process failed here too, before it started others.
            return Ok(Some((&ROW, Box::new(entry))));
        }
        Err(entry.is_meant_for_another(meant))
    }

    fn error(self, problem: impl Into<String>) -> JobError {
        JobCause::Start { place: self.origin.to_string(), problem: problem.into() }.into()
    }
}

/// Whether the environment makes this process a rank, or part of a job.
fn is_rank(variable: Variable<'_>) -> Result<bool, JobError> {
    Ok(rendezvous::own(variable)?.is_some() || claim::effective(variable, false, false)?.is_some())
}

/// The launches of processes on threads of one name: those of a test, or of a program.
#[derive(Clone, Copy, Default)]
struct Launches {
    /// The number of those that were tried.
    number: usize,
    has_started: bool,
}

/// Reads or changes what is known about the launches of this test, or of this program.
fn launches<R>(change: impl FnOnce(&mut Launches) -> R) -> R {
    static LAUNCHES: Mutex<BTreeMap<String, Launches>> = Mutex::new(BTreeMap::new());
    let name = test_name().ok().flatten().unwrap_or_default();
    change(LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default())
}

/// Returns the name of the test that this thread runs; `None` in a program that is no test.
fn test_name() -> Result<Option<String>, String> {
    let program = env::current_exe().unwrap_or_default();
    if !is_of_tests(&program) {
        return Ok(None);
    }
    match thread::current().name() {
        Some("main") => Ok(None),
        Some(name) => Ok(Some(name.to_owned())),
        None => {
            Err("the test has started this thread; call `run` on the thread of the test, whose name tells the new \
             processes which test to run"
                .to_owned())
        }
    }
}

/// Whether a program lies where Cargo puts those of tests: `deps/name-0123456789abcdef`.
fn is_of_tests(program: &Path) -> bool {
    let is_hash = |digits: &str| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let hash = program.file_stem().and_then(|name| name.to_str()?.rsplit_once('-'));
    let directory = program.parent().and_then(Path::file_name);
    directory.is_some_and(|name| name == "deps") && hash.is_some_and(|(_, digits)| is_hash(digits))
}

/// A job that this process is about to start, and its backend.
type EnteredJob = (&'static Row, Box<dyn JobEntry>);

/// A job that this process starts.
struct ProcessesEntry {
    processes: Processes,
    test: Option<String>,
    timeout: Duration,
    /// The value of `NECKLACE_STARTED_AT` for the processes of this launch.
    place: String,
    /// Its value in this process, if it was started by another.
    meant: Option<String>,
}

impl JobEntry for ProcessesEntry {
    fn size(&self) -> Option<Size> {
        None
    }

    fn most(&self) -> usize {
        MOST
    }

    fn join(self: Box<Self>, ranks: usize, _: bool) -> Result<JoinedJob, JobError> {
        if let Some(meant) = self.meant.as_ref().filter(|_| !launches(|launches| launches.has_started)) {
            return Err(self.is_meant_for_another(meant));
        }
        self.start_once()?;
        if ranks == 1 {
            let (supervisor, endpoint) = Join::new(0, 1, Root::Address(String::new())).supervised()?;
            return Ok(JoinedJob { endpoints: vec![endpoint], supervisor: Some(Box::new(supervisor)) });
        }
        let failed = |what: &str, error: io::Error| self.processes.error(format!("{what}: {error}"));
        let key = Key::fresh()?;
        // Dropped when all ranks have joined, or none will: then nobody needs the files.
        let (directory, lock_file) =
            key_directory(&key).map_err(|error| failed("cannot make a directory for the key of the job", error))?;
        let started = StartedProcesses { all: Arc::default(), lock_file };
        let program = env::current_exe().map_err(|error| failed("cannot find this program", error))?;
        for rank in 1..ranks {
            let process = self.start(&program, rank, ranks, directory.path(), started.lock_file.is_some());
            let what = || format!("cannot start {} as rank {rank}", program.display());
            started.lock().push(process.map_err(|error| failed(&what(), error))?);
        }
        log::debug!("{} processes are started", ranks.saturating_sub(1));
        let all = Arc::clone(&started.all);
        let before = match &self.test {
            Some(test) => format!(" before it had joined the job of {}, in the test {test:?}", self.processes.origin),
            None => format!(" before it had joined the job of {}", self.processes.origin),
        };
        let watch = {
            let before = before.clone();
            move || {
                let mut all = lock(&all);
                let (rank, end) = all.iter_mut().find_map(|process| Some((process.rank, process.end()?)))?;
                Some((rank, format!("its process ended with {end}{before}")))
            }
        };
        let join = Join::new(0, ranks, Root::File(directory.path().join(ROOT)))
            .key(key)
            .address(Ipv4Addr::LOCALHOST.into())
            .timeout(self.timeout)
            .watch(Arc::new(watch));
        let (supervisor, endpoint) = join.supervised().map_err(|error| {
            let lost = match error {
                JoinError::Abandoned { rank, .. } | JoinError::Lost { rank, .. } => started.end_of(rank, &before),
                _ => None,
            };
            lost.unwrap_or_else(|| error.into())
        })?;
        let supervisor: Box<dyn Supervise> = Box::new(Supervision { own: supervisor, started, timeout: self.timeout });
        Ok(JoinedJob { endpoints: vec![endpoint], supervisor: Some(supervisor) })
    }
}

impl ProcessesEntry {
    /// Fails if this test or program has already started processes: others would begin it anew and
    /// meet the first launch again.
    fn start_once(&self) -> Result<(), JobError> {
        if !launches(|launches| mem::replace(&mut launches.has_started, true)) {
            return Ok(());
        }
        let what = if self.test.is_some() { "test" } else { "program" };
        Err(self.processes.error(format!(
            "this {what} has started processes before, and new ones would begin at its first launch; start them once \
             and `split` or `dup` their communicator"
        )))
    }

    fn is_meant_for_another(&self, meant: &str) -> JobError {
        let found = format!("{STARTED_AT} is {}", quoted(meant));
        let advice = "start processes in one place of a program or test";
        contradiction(found, format!("this process is at {}", quoted(&self.place)), advice)
    }

    /// Starts the process of a rank. That of a test runs the test alone, and its output is captured.
    fn start(
        &self,
        program: &Path,
        rank: usize,
        size: usize,
        directory: &Path,
        is_locked: bool,
    ) -> io::Result<StartedProcess> {
        let mut command = Command::new(program);
        let mut output = None;
        if let Some(test) = &self.test {
            command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
            let file = tempfile::tempfile()?;
            command.stdout(file.try_clone()?).stderr(file.try_clone()?);
            output = Some(file);
        } else {
            let mut words = env::args_os();
            command.arg0(words.next().unwrap_or_default()).args(words);
        }
        command.env("NECKLACE_RANK", rank.to_string()).env("NECKLACE_SIZE", size.to_string());
        for other in ["NECKLACE_ROOT", "NECKLACE_INSECURE", "NECKLACE_HOST"] {
            command.env_remove(other);
        }
        command.env("NECKLACE_RENDEZVOUS", format!("file:{}", directory.join(ROOT).display()));
        command.env("NECKLACE_KEY_FILE", directory.join(KEY));
        if is_locked {
            command.env("NECKLACE_KEY_LOCKED", "1");
        }
        command.env("NECKLACE_ADDRESS", "127.0.0.1").env(STARTED_AT, &self.place);
        // In a group of its own: a process that has lost rank 0 kills its group.
        command.stdin(Stdio::null()).process_group(0);
        Ok(StartedProcess { rank, child: command.spawn()?, output })
    }
}

const KEY: &str = "key";

/// Makes the directory of the job's key and of its rendezvous file. Returns also the key file, if it
/// could be locked.
fn key_directory(key: &Key) -> io::Result<(TempDir, Option<File>)> {
    let directory = tempfile::Builder::new().prefix("necklace-processes-").tempdir()?;
    // The variables of a process are read as text.
    if directory.path().to_str().is_none() {
        let problem = format!("{:?} is not Unicode; set TMPDIR to another directory", directory.path());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.path().join(KEY))?;
    file.write_all(key.bytes())?;
    let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((directory, is_locked.then_some(file)))
}

struct StartedProcess {
    rank: usize,
    child: Child,
    /// The captured output of the process of a test.
    output: Option<File>,
}

/// How a process has ended.
#[derive(Debug)]
enum End {
    Status(ExitStatus),
    /// The system does not tell, because something else in this process has waited for it, or
    /// SIGCHLD is ignored.
    Unknown(io::Error),
}

impl End {
    fn is_success(&self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }

    fn is_signal(&self) -> bool {
        matches!(self, Self::Status(status) if status.signal().is_some())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => write!(f, "an unknown status ({error}; SIGCHLD must not be ignored)"),
            Self::Status(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(f, "status {code}"),
                (None, Some(signal)) => write!(f, "signal {signal}"),
                (None, None) => status.fmt(f),
            },
        }
    }
}

impl StartedProcess {
    /// Returns how it has ended, if it has.
    fn end(&mut self) -> Option<End> {
        self.child.try_wait().map_or_else(|error| Some(End::Unknown(error)), |status| status.map(End::Status))
    }

    /// Returns the end of its output.
    fn output(&mut self) -> String {
        let Some(file) = &mut self.output else { return String::new() };
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::End(0)).and_then(|end| {
            if end > SHOWN {
                bytes.extend(b"[...] ");
            }
            file.seek(SeekFrom::Start(end.saturating_sub(SHOWN)))?;
            file.read_to_end(&mut bytes)
        });
        read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the error of the rank, whose process has ended so.
    fn error(&mut self, end: &End, more: &str) -> JobError {
        let (status, output) = (format!("{end}{more}"), self.output());
        JobError::of(Rank::new(self.rank), JobCause::Process { status, output })
    }
}

/// The processes of ranks 1 and up. Those that still run are killed when this is dropped, after a
/// moment in which they can report a failure.
struct StartedProcesses {
    all: Arc<Mutex<Vec<StartedProcess>>>,
    /// The key file, whose lock tells the processes that this one runs. `None` on a file system
    /// without locks.
    lock_file: Option<File>,
}

fn lock(all: &Mutex<Vec<StartedProcess>>) -> MutexGuard<'_, Vec<StartedProcess>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartedProcesses {
    fn lock(&self) -> MutexGuard<'_, Vec<StartedProcess>> {
        lock(&self.all)
    }

    /// Returns the error of a rank whose process has ended, or ends within a moment.
    fn end_of(&self, rank: usize, more: &str) -> Option<JobError> {
        let until = Instant::now() + GRACE;
        loop {
            let mut all = self.lock();
            let process = all.iter_mut().find(|process| process.rank == rank)?;
            if let Some(end) = process.end() {
                return Some(process.error(&end, more)).filter(|_| !more.is_empty() || !end.is_success());
            }
            drop(all);
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(LONGEST_PAUSE);
        }
    }

    /// Returns the error of a process that has failed: that of the culprit if it is one of several,
    /// or of one that a signal has ended.
    fn failed(&self, culprit: Option<Rank>) -> Option<JobError> {
        let mut all = self.lock();
        let ends = all.iter_mut().filter_map(|process| Some((process.end()?, process)));
        let failed = ends.filter(|(end, _)| !end.is_success());
        let order = |(end, process): &(End, &mut StartedProcess)| {
            (Some(Rank::new(process.rank)) != culprit, !end.is_signal(), process.rank)
        };
        failed.min_by_key(order).map(|(end, process)| process.error(&end, ""))
    }

    /// Returns the ranks whose processes still run.
    fn running(&self) -> Vec<usize> {
        self.lock().iter_mut().filter_map(|process| process.end().is_none().then_some(process.rank)).collect()
    }

    /// Waits until all processes have ended, or one has failed. After a call has failed, waits no
    /// longer than that, and returns the failure.
    fn wait(&self, failure: Option<JobError>, patience: Duration) -> Result<(), JobError> {
        let culprit = failure.as_ref().and_then(JobError::rank);
        let began = Instant::now();
        let mut next_log = began + LOG_INTERVAL;
        let mut pause = Duration::from_millis(1);
        loop {
            let running = self.running();
            if let Some(failed) = self.failed(culprit) {
                return Err(failed);
            }
            if running.is_empty() {
                return Ok(());
            }
            if let Some(failure) = &failure
                && began.elapsed() >= patience.max(GRACE)
            {
                return Err(failure.clone());
            }
            if Instant::now() >= next_log {
                log::info!("the job is over; the processes of ranks {running:?} still run");
                next_log += LOG_INTERVAL;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for StartedProcesses {
    fn drop(&mut self) {
        let until = Instant::now() + GRACE;
        while !self.running().is_empty() && Instant::now() < until {
            thread::sleep(LONGEST_PAUSE);
        }
        for process in &mut *self.lock() {
            if process.end().is_none() {
                if let Some(group) = Pid::from_raw(process.child.id().cast_signed()) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = process.child.wait();
            }
        }
    }
}

/// Supervises rank 0 and the processes of the others.
struct Supervision {
    own: Supervisor,
    started: StartedProcesses,
    /// The time to wait for the other processes after a call has failed.
    timeout: Duration,
}

impl fmt::Debug for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervision").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Supervise for Supervision {
    fn failures(&self, _: Rank) -> Vec<Disagreement> {
        self.own.failures()
    }

    fn panicked(&self, _: Rank, message: &str) {
        self.own.panicked(message);
    }

    fn end(self: Box<Self>) -> Result<(), JobError> {
        let Self { own, started, timeout } = *self;
        let failure = own.failures().into_iter().next().map(|failure| Error::from(failure).into());
        unless_disagreement(own.end())?;
        started.wait(failure, timeout)
    }

    fn failed(self: Box<Self>, error: JobError) -> JobError {
        let Self { own, started, .. } = *self;
        drop(own);
        let of_process = |rank: Rank| started.end_of(rank.index(), "");
        error.rank().and_then(of_process).unwrap_or(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_told_by_their_place() {
        for (program, expected) in [
            ("/a/target/debug/deps/backends-0123456789abcdef", true),
            ("deps/some-name-fedcba9876543210", true),
            ("/a/target/debug/examples/fft-0123456789abcdef", false),
            ("/a/target/debug/deps/name", false),
            ("/a/deps/name-0123456789abcde", false),
            ("/a/deps/name-0123456789abcdeg", false),
            ("/a/target/debug/name", false),
            ("", false),
        ] {
            assert_eq!(is_of_tests(Path::new(program)), expected, "{program}");
        }
    }

    /// Other launches see what the first process saw.
    #[test]
    fn variables_of_one_launch_are_hidden_from_others() {
        let started = |name: &str| match name {
            "NECKLACE_RANK" | STARTED_AT => Some("1".to_owned()),
            "NECKLACE_TOPOLOGY" => Some("ring:3".to_owned()),
            _ => None,
        };
        assert_eq!(of_others(&started, "NECKLACE_RANK"), None);
        assert_eq!(of_others(&started, "NECKLACE_TOPOLOGY").as_deref(), Some("ring:3"));
        let by_launcher = |name: &str| (name == "NECKLACE_RANK").then(|| "1".to_owned());
        assert_eq!(of_others(&by_launcher, "NECKLACE_RANK").as_deref(), Some("1"));
    }
}
