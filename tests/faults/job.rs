//! A job of processes, watched from outside: what each rank reports, and when.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::rank::VARIABLE;
use super::scenario::{Kind, Scenario, Stage};

/// A connection's port on this side, and on the other.
pub(crate) type Ports = (u16, u16);

/// The reports of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// When, in microseconds, at which call, and on which of its connections something befell it.
    pub(crate) fault: Option<(u64, i64, Option<Ports>)>,
    pub(crate) ports: Vec<Ports>,
    pub(crate) outcome: Option<(u64, Outcome)>,
    /// Violations of a promise.
    pub(crate) wrong: Option<String>,
    /// Whether it came to its end.
    pub(crate) ended: bool,
    /// Whether it is no more.
    closed: bool,
}

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Well,
    /// The job did not come together.
    Join(String),
    Failed {
        culprit: Option<usize>,
        kind: String,
        words: String,
    },
}

/// A job that has run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) stories: Vec<Story>,
    /// The ranks that had no outcome when the time was up.
    pub(crate) hanging: Vec<usize>,
}

/// Ends the processes, whatever happens.
struct Processes {
    children: Vec<Child>,
    root: PathBuf,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_file(&self.root);
    }
}

impl Processes {
    /// Returns whether the process of a rank is stopped.
    fn is_stopped(&self, rank: usize) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.children[rank].id())).unwrap_or_default();
        // The name, in parentheses, may contain any character. The state follows.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    }

    fn signal(&self, rank: usize, signal: Signal) {
        let pid = Pid::from_raw(self.children[rank].id() as i32).unwrap();
        // It may have ended. It has not been reaped, so its number is not reused.
        let _ = kill_process(pid, signal);
    }
}

/// Runs a scenario.
pub(crate) fn run(scenario: &Scenario, test: &str) -> Job {
    let root = env::temp_dir().join(format!("necklace-faults-{}-{}", std::process::id(), scenario.seed));
    let _ = fs::remove_file(&root);
    let mut processes = Processes { children: Vec::new(), root: root.clone() };
    let (sender, lines) = channel();
    for rank in 0..scenario.size {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.env(VARIABLE, format!("{rank} {} {}", scenario.seed, root.display()));
        let loud = env::var_os("NECKLACE_FAULTS_LOUD").is_some();
        let stderr = if loud { Stdio::inherit() } else { Stdio::null() };
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let (output, sender) = (child.stdout.take().unwrap(), sender.clone());
        processes.children.push(child);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if loud && line.starts_with("@ ") {
                    eprintln!("rank {rank}: {line}");
                }
                if sender.send((rank, Some(line))).is_err() {
                    return;
                }
            }
            let _ = sender.send((rank, None));
        });
    }
    watch(scenario, &processes, &lines)
}

/// Maximum time of a rank after the last fault: three deadlines, and ten seconds for a loaded
/// machine. During the bootstrap, deadlines follow one another: to reach rank 0, to receive the
/// addresses, to be connected, and to report the failure.
fn limit(scenario: &Scenario) -> Duration {
    let bootstrap = scenario.faults.iter().any(|fault| fault.stage == Stage::Bootstrap);
    let one = if bootstrap { 4 * scenario.patience + Duration::from_secs(8) } else { Duration::ZERO };
    one + 3 * scenario.timeout + Duration::from_secs(10)
}

/// How long a rank that has come to its end may take to end its process: it waits until the others
/// have heard of it.
const ENDING: Duration = Duration::from_secs(25);

fn watch(scenario: &Scenario, processes: &Processes, lines: &Receiver<(usize, Option<String>)>) -> Job {
    let mut stories = vec![Story::default(); scenario.size];
    // Start of the time in which some rank must end.
    let mut since = Instant::now();
    let start = since;
    let mut asleep: Vec<(usize, Kind, Instant, Duration)> = Vec::new();
    let mut hanging = Vec::new();
    loop {
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok((rank, Some(line))) => {
                if stories[rank].hear(&line) {
                    since = Instant::now();
                    let fault = scenario.faults.iter().find(|fault| fault.rank == rank);
                    if let Some(fault) = fault.filter(|fault| matches!(fault.kind, Kind::Stop | Kind::Doze)) {
                        let doze = scenario.timeout.mul_f64(0.3 + (fault.salt % 128) as f64 / 100.0);
                        asleep.push((rank, fault.kind, since, doze));
                    }
                }
            }
            Ok((rank, None)) => stories[rank].closed = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stories.iter().all(|story| story.closed) {
            break;
        }
        let sleeps: Vec<usize> = asleep.iter().map(|(rank, ..)| *rank).collect();
        let awake = |rank: &usize| !sleeps.contains(rank);
        let alone = (0..scenario.size).filter(awake).all(|rank| stories[rank].closed);
        asleep.retain(|(rank, kind, since, doze)| {
            // A rank reports that it stops before it does: a signal to continue must not come
            // first.
            let is_over = alone || *kind == Kind::Doze && since.elapsed() >= *doze;
            let goes_on = is_over && processes.is_stopped(*rank);
            if goes_on {
                processes.signal(*rank, Signal::CONT);
            }
            !goes_on
        });
        if asleep.len() < sleeps.len() {
            since = Instant::now();
        }
        let struck = stories.iter().any(|story| story.fault.is_some());
        let limit = if struck { limit(scenario) } else { Duration::from_secs(90) };
        let late = (0..scenario.size).filter(|rank| asleep.iter().all(|(asleep, ..)| asleep != rank)).filter(|rank| {
            let story = &stories[*rank];
            let settled = story.outcome.is_some() || story.ended;
            !story.closed && since.elapsed() > limit + if settled { ENDING } else { Duration::ZERO }
        });
        hanging.extend(late);
        if !hanging.is_empty() || start.elapsed() > Duration::from_secs(300) {
            break;
        }
    }
    Job { stories, hanging }
}

impl Story {
    /// Takes note of a line. Whether something befell the rank.
    fn hear(&mut self, line: &str) -> bool {
        let mut words = line.strip_prefix("@ ").unwrap_or_default().splitn(3, ' ');
        let Some(time) = words.next().and_then(|word| word.parse().ok()) else { return false };
        let (word, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match word {
            "fault" => {
                let (position, ports) = rest.split_once(' ').unwrap_or((rest, ""));
                self.fault = Some((time, position.parse().unwrap(), pair(ports)));
                return true;
            }
            "met" => self.ports = rest.split(' ').filter_map(pair).collect(),
            "ok" => self.outcome = Some((time, Outcome::Well)),
            "join" => self.outcome = Some((time, Outcome::Join(rest.to_owned()))),
            "failed" => {
                let mut rest = rest.splitn(4, ' ').skip(1);
                let culprit = rest.next().and_then(|culprit| culprit.parse().ok());
                let (kind, words) =
                    (rest.next().unwrap_or_default().to_owned(), rest.next().unwrap_or_default().to_owned());
                self.outcome = Some((time, Outcome::Failed { culprit, kind, words }));
            }
            "end" => self.ended = true,
            _ => self.wrong = Some(line.to_owned()),
        }
        false
    }
}

fn pair(text: &str) -> Option<Ports> {
    let (here, there) = text.split_once('-')?;
    Some((here.parse().ok()?, there.parse().ok()?))
}
