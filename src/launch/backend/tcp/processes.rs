//! Starts this program again, as the other ranks of a job.
//!
//! This process is rank 0. It locks the key file until the others have ended: if it is killed, they
//! end themselves, as those of `necklace run` do ([`super::launcher`]).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{ROW, rendezvous};
use crate::error::{JobCause, JobError};
use crate::ids::Rank;
use crate::launch::backend::row::{Environment, JobEntry, JoinedJob, Row, Size, Supervise, unless_disagreement};
use crate::launch::claim;
use crate::launch::request::SettingOrigin;
use crate::launch::variable::{Variable, contradiction};
use crate::quote::quoted;
use crate::transport::Disagreement;
use crate::transport::engine::Supervisor;
use crate::transport::tcp::{Join, Key, Root};

/// The launch for which a process was started.
const STARTED_AT: &str = "NECKLACE_STARTED_AT";

/// The variables of a process that was started so, which concern that launch alone.
const OF_ONE_LAUNCH: [&str; 7] = [
    "NECKLACE_RANK",
    "NECKLACE_SIZE",
    "NECKLACE_RENDEZVOUS",
    "NECKLACE_KEY_FILE",
    "NECKLACE_KEY_LOCKED",
    "NECKLACE_ADDRESS",
    STARTED_AT,
];

/// The most processes that a program starts.
const MOST: usize = 1 << 10;

/// The time for which the others may report a failure before they are killed.
const GRACE: Duration = Duration::from_secs(1);

/// The longest pause between two looks at the processes.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The number of bytes at the end of a process's output that an error shows.
const SHOWN: u64 = 1 << 13;

/// Returns a variable as a launch of another kind sees it in a process that was started here: as in
/// the process that started it.
pub(in crate::launch) fn of_others(variable: Variable<'_>, name: &str) -> Option<String> {
    let is_of_one_launch = OF_ONE_LAUNCH.contains(&name) && variable(STARTED_AT).is_some();
    if is_of_one_launch { None } else { variable(name) }
}

/// The processes that a program asks for.
#[derive(Clone, Copy, Debug)]
pub(in crate::launch) struct Processes {
    /// Where the program asks for them.
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
        let (variable, place) = (environment.variable, self.origin.to_string());
        let test = test_name().map_err(|problem| self.error(problem))?;
        if let Some(started_at) = variable(STARTED_AT) {
            self.once(&test)?;
            if started_at != place {
                let found = format!("{STARTED_AT} is {}", quoted(&started_at));
                let advice = "start processes at one place of a program or test";
                return Err(contradiction(found, format!("this process calls {place} first"), advice));
            }
            return Ok(None);
        }
        let is_rank = rendezvous::own(variable)?.is_some() || claim::effective(variable, false, false)?.is_some();
        if is_rank || environment.names_another(&ROW) {
            return Ok(None);
        }
        Ok(Some((&ROW, Box::new(ProcessesEntry { processes: self, test, timeout }))))
    }

    /// Fails if the program, or this test, has already started processes: others would begin it anew
    /// and meet the first launch again.
    fn once(self, test: &Option<String>) -> Result<(), JobError> {
        static STARTED: Mutex<BTreeSet<Option<String>>> = Mutex::new(BTreeSet::new());
        let what = if test.is_some() { "test" } else { "program" };
        if STARTED.lock().unwrap_or_else(PoisonError::into_inner).insert(test.clone()) {
            return Ok(());
        }
        Err(self.error(format!(
            "this {what} has started processes before, and new ones would begin at its first launch; start them once \
             and `split` or `dup` their communicator"
        )))
    }

    fn error(self, problem: impl Into<String>) -> JobError {
        JobCause::Start { place: self.origin.to_string(), problem: problem.into() }.into()
    }
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
            Err("called from a thread that a test has started; call it from the thread of the test, whose name the \
             processes need"
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
}

impl JobEntry for ProcessesEntry {
    fn size(&self) -> Option<Size> {
        None
    }

    fn most(&self) -> usize {
        MOST
    }

    fn join(self: Box<Self>, ranks: usize, _: bool) -> Result<JoinedJob, JobError> {
        self.processes.once(&self.test)?;
        let failed = |what: &str, error: io::Error| self.processes.error(format!("{what}: {error}"));
        let key = Key::fresh()?;
        let home = Home::make(&key).map_err(|error| failed("cannot make a directory for the key of the job", error))?;
        let started = StartedProcesses { all: Arc::default(), home };
        for rank in 1..ranks {
            let process = self.start(rank, ranks, &started.home);
            let process =
                process.map_err(|error| failed(&format!("cannot start the process of rank {rank}"), error))?;
            started.lock().push(process);
        }
        log::debug!("{} processes are started", ranks.saturating_sub(1));
        let all = Arc::clone(&started.all);
        let place = self.processes.origin;
        let watch = move || {
            let mut all = lock(&all);
            let ended = all.iter_mut().find_map(|process| Some((process.rank, process.status()?)))?;
            Some((
                ended.0,
                format!("its process ended with {} before it had joined the job of {place}", shown(ended.1)),
            ))
        };
        let join = Join::new(0, ranks, Root::File(started.home.file(ROOT)))
            .key(key)
            .address(Ipv4Addr::LOCALHOST.into())
            .timeout(self.timeout)
            .watch(Arc::new(watch));
        let (supervisor, endpoint) = join.supervised().map_err(|error| {
            let before = format!(" before it had joined the job of {place}");
            started.first(|_| true).map_or(error.into(), |(rank, status, output)| ended(rank, status, &before, output))
        })?;
        let supervisor: Box<dyn Supervise> = Box::new(Supervision { own: supervisor, started });
        Ok(JoinedJob { endpoints: vec![endpoint], supervisor: Some(supervisor) })
    }
}

impl ProcessesEntry {
    /// Starts the process of a rank. That of a test runs the test alone, and what it prints is kept.
    fn start(&self, rank: usize, size: usize, home: &Home) -> io::Result<StartedProcess> {
        let mut command = Command::new(env::current_exe()?);
        let mut output = None;
        if let Some(test) = &self.test {
            command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
            let file = tempfile::tempfile()?;
            command.stdout(file.try_clone()?).stderr(file.try_clone()?);
            output = Some(file);
        } else {
            command.args(env::args_os().skip(1));
        }
        command.env("NECKLACE_RANK", rank.to_string()).env("NECKLACE_SIZE", size.to_string());
        let mut point = OsString::from("file:");
        point.push(home.file(ROOT));
        command.env("NECKLACE_RENDEZVOUS", point).env("NECKLACE_KEY_FILE", home.file(KEY));
        if home.is_locked {
            command.env("NECKLACE_KEY_LOCKED", "1");
        }
        command.env("NECKLACE_ADDRESS", "127.0.0.1").env(STARTED_AT, self.processes.origin.to_string());
        // Of its own, so that a process which finds that rank 0 is gone ends nothing but itself.
        command.stdin(Stdio::null()).process_group(0);
        Ok(StartedProcess { rank, child: command.spawn()?, output })
    }
}

const KEY: &str = "key";
const ROOT: &str = "root";

/// The directory of the job's key, which is removed at the end.
struct Home {
    directory: TempDir,
    is_locked: bool,
    _key: File,
}

impl Home {
    fn make(key: &Key) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("necklace-processes-").tempdir()?;
        let path = directory.path().join(KEY);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        // Some file systems have no locks.
        let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        file.write_all(key.bytes())?;
        Ok(Self { directory, is_locked, _key: file })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

struct StartedProcess {
    rank: usize,
    child: Child,
    /// What it has printed, if that is not this process's output.
    output: Option<File>,
}

impl StartedProcess {
    /// Returns how it has ended, if it has. One that cannot be asked has.
    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or(Some(ExitStatus::from_raw(0)))
    }

    /// Returns the end of its output.
    fn output(&mut self) -> String {
        let Some(file) = &mut self.output else { return String::new() };
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::End(0)).and_then(|end| {
            file.seek(SeekFrom::Start(end.saturating_sub(SHOWN)))?;
            file.read_to_end(&mut bytes)
        });
        read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns the error of a rank whose process has ended.
fn ended(rank: usize, status: ExitStatus, more: &str, output: String) -> JobError {
    JobError::of(Rank::new(rank), JobCause::Process { status: shown(status) + more, output })
}

fn shown(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The processes of ranks 1 and up. Those that still run are killed when this is dropped, after a
/// moment in which they can report a failure.
struct StartedProcesses {
    all: Arc<Mutex<Vec<StartedProcess>>>,
    home: Home,
}

fn lock(all: &Mutex<Vec<StartedProcess>>) -> MutexGuard<'_, Vec<StartedProcess>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartedProcesses {
    fn lock(&self) -> MutexGuard<'_, Vec<StartedProcess>> {
        lock(&self.all)
    }

    /// Returns the first rank whose process has ended in such a way, with its output.
    fn first(&self, is_meant: impl Fn(ExitStatus) -> bool) -> Option<(usize, ExitStatus, String)> {
        self.lock().iter_mut().find_map(|process| {
            let status = process.status().filter(|&status| is_meant(status))?;
            Some((process.rank, status, process.output()))
        })
    }

    fn all_have_ended(&self) -> bool {
        self.lock().iter_mut().all(|process| process.status().is_some())
    }

    /// Waits until all processes have ended.
    fn wait(&self) -> Result<(), JobError> {
        let mut pause = Duration::from_millis(1);
        loop {
            let all = self.all_have_ended();
            if let Some((rank, status, output)) = self.first(|status| !status.success()) {
                return Err(ended(rank, status, "", output));
            }
            if all {
                return Ok(());
            }
            thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for StartedProcesses {
    fn drop(&mut self) {
        let until = Instant::now() + GRACE;
        while !self.all_have_ended() && Instant::now() < until {
            thread::sleep(LONGEST_PAUSE);
        }
        for process in &mut *self.lock() {
            if process.status().is_none() {
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
        let Self { own, started } = *self;
        unless_disagreement(own.end())?;
        started.wait()
    }
}
