//! A job that mpirun starts, observed from outside: the lines of each rank, the exit status, and
//! the processes that are left.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use necklace_tests::mpirun::mpirun;

/// Variable with the directory to which ranks write their lines. It also identifies the processes
/// of the job.
pub(crate) const PLACE: &str = "NECKLACE_MPI_JOB";

/// Variable with the task of the ranks.
pub(crate) const WHAT: &str = "NECKLACE_MPI_JOB_WHAT";

/// Default time limit of a job.
const LIMIT: Duration = Duration::from_secs(40);

/// Time limit for processes to be gone after the job has ended.
const AFTER: Duration = Duration::from_secs(10);

/// Number of jobs that run at once, for each core. Most of them wait for a deadline most of the
/// time, but ranks of MPI poll while they wait: more jobs would only delay each other.
const JOBS_PER_CORE: usize = 2;

/// Polling interval.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// A job to start.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    size: Option<usize>,
    what: String,
    variables: Vec<(String, String)>,
    limit: Duration,
    beside: bool,
}

/// A running job. Dropping it kills all of its processes.
#[derive(Debug)]
pub(crate) struct Running {
    job: Job,
    place: PathBuf,
    child: Child,
    since: Instant,
    readers: Vec<JoinHandle<String>>,
    _slot: Option<Slot>,
}

/// One of the jobs that may run at once.
#[derive(Debug)]
struct Slot;

/// The number of slots in use.
static IN_USE: Mutex<usize> = Mutex::new(0);

static FREED: Condvar = Condvar::new();

impl Slot {
    /// Waits for a slot. A thread that has one must not.
    fn take() -> Self {
        let slots = JOBS_PER_CORE * thread::available_parallelism().map_or(1, usize::from);
        let in_use = FREED.wait_while(Self::in_use(), |in_use| *in_use >= slots);
        *in_use.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }

    fn in_use() -> MutexGuard<'static, usize> {
        IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *Self::in_use() -= 1;
        FREED.notify_one();
    }
}

/// Checks all cases at the same time, each with jobs of its own.
pub(crate) fn together<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        let check = &check;
        let threads: Vec<_> = cases.into_iter().map(|case| scope.spawn(move || check(case))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}

/// The result of a job.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit status, or 128 plus the number of the signal that ended it.
    pub(crate) status: i32,
    /// The lines of each rank.
    pub(crate) said: Vec<Vec<String>>,
    /// The output of the launcher, including that of the ranks.
    pub(crate) printed: String,
    pub(crate) took: Duration,
}

impl Job {
    /// Makes a job of that many ranks, started by mpirun.
    pub(crate) fn of(size: usize, what: &str) -> Self {
        Self { size: Some(size), what: what.to_owned(), variables: Vec::new(), limit: LIMIT, beside: false }
    }

    /// Makes a job of one process without a launcher.
    pub(crate) fn alone(what: &str) -> Self {
        Self { size: None, ..Self::of(1, what) }
    }

    /// Sets a variable in the environment of the ranks, not of the launcher.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the time limit.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Does not count among the jobs that may run at once.
    pub(crate) fn beside(self) -> Self {
        Self { beside: true, ..self }
    }

    /// Starts the job, once there are few enough others.
    pub(crate) fn start(self) -> Running {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let place = env::temp_dir().join(format!("necklace-mpi-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir(&place).unwrap();
        let mut command = match self.size {
            Some(size) => {
                let mut command = mpirun(size);
                command.arg("env");
                command
            }
            None => Command::new("env"),
        };
        for (variable, _) in env::vars_os() {
            let variable = variable.to_string_lossy().into_owned();
            let families = ["NECKLACE_", "SLURM_", "OMPI_COMM_", "PMI_", "PMIX_", "MASTER_", "TORCHELASTIC_"];
            if families.iter().any(|family| variable.starts_with(family))
                || ["RANK", "WORLD_SIZE"].contains(&&*variable)
            {
                command.env_remove(variable);
            }
        }
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(env::current_exe().unwrap()).args(["--exact", "rank", "--nocapture", "--test-threads=1"]);
        command.env(PLACE, &place).env(WHAT, &self.what).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let slot = (!self.beside).then(Slot::take);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (output, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let readers = vec![read(output), read(errors)];
        Running { job: self, place, child, since: Instant::now(), readers, _slot: slot }
    }

    /// Runs the job to its end.
    pub(crate) fn run(self) -> Ended {
        self.start().end()
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    /// Waits for a line of a rank with that prefix, and returns the rest of it. Panics if the job
    /// ends before.
    pub(crate) fn hear(&mut self, rank: usize, words: &str) -> String {
        loop {
            let over = self.child.try_wait().unwrap().is_some();
            let said = said(&self.place, rank);
            if let Some(rest) = said.iter().find_map(|line| line.strip_prefix(words)) {
                return rest.to_owned();
            }
            if over || self.since.elapsed() > self.job.limit {
                panic!("rank {rank} never said {words:?}, but {said:?}{}", self.story());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Writes a line for which ranks can wait, as an additional rank would.
    pub(crate) fn say(&self, words: &str) {
        let file = self.place.join(format!("rank-{}", self.job.size.unwrap_or(1)));
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        writeln!(file, "{words}").unwrap();
    }

    /// Sends a signal to a rank.
    pub(crate) fn signal(&mut self, rank: usize, signal: Signal) {
        let pid: i32 = self.hear(rank, "pid ").parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for the end of the job.
    pub(crate) fn end(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.since.elapsed() > self.job.limit {
                panic!("the job hangs{}", self.story());
            }
            thread::sleep(PAUSE);
        };
        let took = self.since.elapsed();
        let begin = Instant::now();
        while !processes(&self.place).is_empty() {
            if begin.elapsed() > AFTER {
                panic!("{:?} are left of the job{}", processes(&self.place), self.story());
            }
            thread::sleep(PAUSE);
        }
        let printed = self.printed();
        let said = (0..self.job.size.unwrap_or(1)).map(|rank| said(&self.place, rank)).collect();
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let ended = Ended { status, said, printed, took };
        if env::var_os("NECKLACE_MPI_JOBS_LOUD").is_some() {
            println!("\n{} {:?}: {ended}", self.job.what, self.job.variables);
        }
        ended
    }

    fn printed(&mut self) -> String {
        self.readers.drain(..).map(|reader| reader.join().unwrap()).collect::<Vec<_>>().join("\n")
    }

    /// Kills the job and describes what happened.
    fn story(&mut self) -> String {
        // Name and state of each process that is there, with the launcher's.
        let states: Vec<String> = processes(&self.place)
            .into_iter()
            .chain([self.child.id() as i32])
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok())
            .map(|stat| stat.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
            .collect();
        self.kill();
        let Job { what, size, variables, .. } = &self.job;
        let said: Vec<_> = (0..size.unwrap_or(1)).map(|rank| said(&self.place, rank)).collect();
        let begin = format!("\n{what} of {size:?} with {variables:?}: {said:#?}");
        let took = self.since.elapsed();
        format!("{begin}\nafter {took:?}, of {states:?}, printed:\n{}", self.printed())
    }

    fn kill(&mut self) {
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() || !processes(&self.place).is_empty() {
            let _ = self.child.kill();
            for pid in processes(&self.place) {
                // It may have ended meanwhile. No other process has that variable.
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
            assert!(begin.elapsed() < AFTER, "processes that cannot be killed: {:?}", processes(&self.place));
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Returns the processes of a job: all with its directory in their environment.
fn processes(place: &Path) -> Vec<i32> {
    let mark = format!("{PLACE}={}\0", place.display()).into_bytes();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_job = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|part| part == mark)
    };
    pids.filter(of_job).collect()
}

/// Returns the lines of a rank.
pub(crate) fn said(place: &Path, rank: usize) -> Vec<String> {
    let text = fs::read_to_string(place.join(format!("rank-{rank}"))).unwrap_or_default();
    // The last line may be incomplete.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

impl Ended {
    /// Returns, by rank, the first line with that prefix, without the prefix.
    pub(crate) fn heard(&self, words: &str) -> Vec<Option<&str>> {
        self.said.iter().map(|said| said.iter().find_map(|line| line.strip_prefix(words))).collect()
    }

    /// Like [`heard`](Self::heard), for lines that all ranks must have written.
    pub(crate) fn all(&self, words: &str) -> Vec<&str> {
        let heard = self.heard(words).into_iter().collect::<Option<Vec<_>>>();
        heard.unwrap_or_else(|| panic!("not all ranks have said {words:?}: {self}"))
    }

    /// Checks the exit status.
    pub(crate) fn with(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Checks that the exit status is not zero.
    pub(crate) fn badly(self) -> Self {
        assert_ne!(self.status, 0, "{self}");
        self
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, said, printed, took } = self;
        writeln!(f, "status {status} after {took:?}")?;
        for (rank, said) in said.iter().enumerate() {
            said.iter().try_for_each(|line| writeln!(f, "  rank {rank}: {line}"))?;
        }
        printed.lines().try_for_each(|line| writeln!(f, "  | {line}"))
    }
}
