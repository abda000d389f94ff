//! What a rank of a job does: its calls, with every result checked, and its faults.

use std::env;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime};

use necklace::op::Sum;
use necklace::topology::parse;
use necklace::transport::tcp::{Join, Key, Root};
use necklace::transport::{Cause, Failure};
use necklace::{Communicator, Error, Options};
use rustix::process::{Signal, getpid, kill_process};

use super::scenario::{Call, Fault, Kind, Scenario, Stage, What, mixed};

/// Which rank this process is to be: rank, seed of the scenario, file of the rendezvous point.
pub(crate) const VARIABLE: &str = "NECKLACE_FAULTS_RANK";

/// The position of a rank before its calls.
const BOOTSTRAP: i64 = -2;
const FIRST: i64 = -1;

/// Says something to the parent, with the time.
fn report(words: &str) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros());
    // In one piece, on a line of its own whatever the harness of the tests has printed.
    let _ = std::io::stdout().write_all(format!("\n@ {now} {words}\n").as_bytes());
    let _ = std::io::stdout().flush();
}

/// Runs the rank that the environment names, if it does.
pub(crate) fn run_if_told() -> bool {
    let Ok(told) = env::var(VARIABLE) else { return false };
    // Nothing is left of a job whose campaign is killed, stopped ranks neither.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let mut words = told.splitn(3, ' ');
    let rank = words.next().unwrap().parse().unwrap();
    let scenario = Scenario::new(words.next().unwrap().parse().unwrap());
    let root = PathBuf::from(words.next().unwrap());
    Rank::new(rank, scenario, root).run();
    report("end");
    true
}

#[derive(Debug)]
struct Rank {
    rank: usize,
    scenario: Scenario,
    root: PathBuf,
    /// The call it is in.
    position: Arc<Mutex<i64>>,
    /// The faults that the rank applies itself.
    own: Vec<Fault>,
    /// The threads that apply the other faults.
    threads: Vec<Thread>,
}

/// How a rank ends.
enum Outcome {
    Done,
    Returned,
    Failed(Box<Failure>),
}

impl Rank {
    fn new(rank: usize, scenario: Scenario, root: PathBuf) -> Self {
        let position = Arc::new(Mutex::new(BOOTSTRAP));
        let mine = scenario.faults.iter().filter(|fault| fault.rank == rank).copied();
        let (sudden, own): (Vec<_>, Vec<_>) = mine.partition(|fault| {
            // During the bootstrap a rank does not react to anything else, and its messages are not
            // data.
            fault.stage == Stage::Bootstrap && fault.kind.is_of_connection()
                || fault.kind.is_sudden() && fault.stage != Stage::Between
        });
        let threads = sudden.into_iter().map(|fault| {
            let position = Arc::clone(&position);
            thread::spawn(move || strike_suddenly(fault, &position)).thread().clone()
        });
        let threads = threads.collect();
        Self { rank, scenario, root, position, own, threads }
    }

    fn reach(&self, position: i64) {
        *self.position.lock().unwrap() = position;
        self.threads.iter().for_each(Thread::unpark);
    }

    /// The fault that is this rank's own to see to, here.
    fn due(&self, position: i64) -> Option<Fault> {
        let here = |fault: &&Fault| position == position_of(fault);
        self.own.iter().find(here).copied()
    }

    fn run(&self) {
        let Scenario { size, topology, timeout, patience, .. } = self.scenario;
        let (mut sizes, mut network) = (size, topology.to_owned());
        if let Some(fault) = self.due(BOOTSTRAP) {
            thread::sleep(fault.delay);
            match fault.kind {
                Kind::Disagree if fault.salt.is_multiple_of(2) => sizes += 1,
                Kind::Disagree => network = format!("mesh:1x{size}"),
                _ => {}
            }
            if self.strike(fault) {
                return;
            }
        }
        let key = Key::new(format!("the key of job {:032x}", self.scenario.seed).as_bytes()).unwrap();
        let join = Join::new(self.rank, sizes, Root::File(self.root.clone())).key(key).timeout(patience);
        let endpoint = match join.endpoint() {
            Ok(endpoint) => endpoint,
            Err(error) => return report(&format!("join {error:?}")),
        };
        report(&format!("met {}", ports(&sockets())));
        self.reach(FIRST);
        if let Some(fault) = self.due(FIRST)
            && self.strike(fault)
        {
            return;
        }
        let disagrees = self.due(FIRST).is_some_and(|fault| fault.kind == Kind::Disagree);
        if disagrees {
            network = format!("mesh:1x{size}");
        }
        let options = Options::default().timeout(timeout).arrival_timeout(timeout);
        let mut comm = match Communicator::with_options(endpoint, parse(&network).unwrap(), options) {
            Ok(comm) => comm,
            Err(Error::Failed { failure, .. }) => return report(&told(FIRST, &failure)),
            Err(error) => return report(&format!("wrong: {error:?}")),
        };
        match self.calls(&mut comm) {
            Ok(Outcome::Done) => report("ok"),
            Ok(Outcome::Returned) => {}
            Ok(Outcome::Failed(failure)) => {
                report(&told(*self.position.lock().unwrap(), &failure));
                match comm.barrier() {
                    Err(Error::Dead { failure: again, .. }) if again == failure => {}
                    other => report(&format!("wrong: after a failure a barrier says {other:?}")),
                }
            }
            Err(words) => report(&format!("wrong: {words}")),
        }
    }

    fn calls(&self, comm: &mut Communicator) -> Result<Outcome, String> {
        for (at, call) in self.scenario.calls.iter().enumerate() {
            let mut call = *call;
            if let Some(fault) = self.due(at as i64) {
                if fault.kind == Kind::Disagree {
                    call = call.another(self.scenario.size, fault.salt);
                }
                if self.strike(fault) {
                    return Ok(Outcome::Returned);
                }
            }
            self.reach(at as i64);
            match perform(comm, at as u64, call) {
                Ok(()) => {}
                Err(Broken::Call(Error::Failed { failure, .. })) => return Ok(Outcome::Failed(failure)),
                Err(Broken::Call(error)) => return Err(format!("call {at}, {call:?}: {error:?}")),
                Err(Broken::Result(words)) => return Err(format!("call {at}, {call:?}: {words}")),
            }
        }
        Ok(Outcome::Done)
    }

    /// Applies the fault to this rank. Returns whether the rank must return then.
    fn strike(&self, fault: Fault) -> bool {
        let position = *self.position.lock().unwrap();
        match fault.kind {
            Kind::Return => {
                report(&format!("fault {position}"));
                return true;
            }
            Kind::Panic => {
                report(&format!("fault {position}"));
                panic!("by plan");
            }
            Kind::Compute => {
                report(&format!("fault {position}"));
                let deadline =
                    if fault.stage == Stage::Bootstrap { self.scenario.patience } else { self.scenario.timeout };
                thread::sleep(deadline.mul_f64(1.3 + (fault.salt % 16) as f64 / 10.0));
            }
            Kind::Disagree => report(&format!("fault {position}")),
            _ => strike(fault, position),
        }
        if fault.kind == Kind::Half {
            thread::sleep(self.scenario.timeout.mul_f64(1.5));
        }
        false
    }
}

/// The place where it happens.
fn position_of(fault: &Fault) -> i64 {
    match fault.stage {
        Stage::Bootstrap => BOOTSTRAP,
        Stage::First => FIRST,
        Stage::Middle | Stage::Between | Stage::Last => fault.at as i64,
    }
}

/// Waits for the moment, in a thread of its own. While it strikes the rank comes to no other
/// position.
fn strike_suddenly(fault: Fault, position: &Mutex<i64>) {
    while *position.lock().unwrap() < position_of(&fault) {
        thread::park_timeout(Duration::from_millis(5));
    }
    thread::sleep(fault.delay);
    let position = position.lock().unwrap();
    // Bytes too late for the bootstrap would arrive in the middle of a frame.
    if fault.kind.is_sudden() || *position == BOOTSTRAP {
        strike(fault, *position);
    }
}

fn strike(fault: Fault, position: i64) {
    if !fault.kind.is_of_connection() {
        report(&format!("fault {position}"));
    }
    match fault.kind {
        Kind::Kill => drop(kill_process(getpid(), Signal::KILL)),
        Kind::Stop | Kind::Doze => drop(kill_process(getpid(), Signal::STOP)),
        Kind::Exit => process::exit(0),
        _ => spoil(fault, position),
    }
}

/// The sockets of this process that are connections.
fn sockets() -> Vec<TcpStream> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets = open.filter_map(|entry| {
        let is_socket = fs::read_link(entry.path()).ok()?.to_str()?.starts_with("socket:");
        let number: RawFd = entry.file_name().to_str()?.parse().ok().filter(|_| is_socket)?;
        // SAFETY: the descriptor was open a moment ago, and is only copied; should another have
        // taken its number since, that one is copied.
        #[allow(unsafe_code)]
        let copy = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?;
        let stream = TcpStream::from(copy);
        stream.peer_addr().is_ok().then_some(stream)
    });
    sockets.collect()
}

/// The two ports of each connection, as `HERE-THERE`.
fn ports(sockets: &[TcpStream]) -> String {
    let ports =
        |stream: &TcpStream| Some(format!("{}-{}", stream.local_addr().ok()?.port(), stream.peer_addr().ok()?.port()));
    sockets.iter().filter_map(ports).collect::<Vec<_>>().join(" ")
}

/// Does something to one of this rank's connections.
fn spoil(fault: Fault, position: i64) {
    let sockets = sockets();
    if sockets.is_empty() {
        return;
    }
    let at = fault.salt as usize % sockets.len();
    let mut stream = &sockets[at];
    report(&format!("fault {position} {}", ports(&sockets[at..=at])));
    let cut = || drop(stream.shutdown(std::net::Shutdown::Both));
    // A frame's first word: kind 1, a message; in its upper half, how many bytes follow.
    let header = |text: u64, bytes: u64| {
        let words = [text << 32 | 1, 0, position.max(0) as u64 + 2, 0, bytes, fault.salt, 0];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let bytes = match fault.kind {
        Kind::Noise => (0..1 + fault.salt % 300).flat_map(|i| mixed(fault.salt ^ i).to_le_bytes()).collect(),
        Kind::Absurd if fault.salt.is_multiple_of(3) => header(0xffff_ffff, u64::MAX),
        Kind::Absurd if fault.salt % 3 == 1 => header(1 << 10, 1 << 60),
        Kind::Absurd => header(512 << 10, u64::MAX),
        Kind::Half => header(100, 100)[..(1 + fault.salt % 55) as usize].to_vec(),
        Kind::Truncate => [header(5000, 5000), vec![7; (fault.salt % 5000) as usize]].concat(),
        _ => return cut(),
    };
    // The socket does not block; what does not go does not.
    let _ = stream.write(&bytes);
    if fault.kind == Kind::Truncate {
        cut();
    }
}

fn told(at: i64, failure: &Failure) -> String {
    let kind = match &failure.cause {
        Cause::Deadline { .. } => "deadline".to_owned(),
        Cause::Gone { rank, .. } => format!("gone:{rank}"),
        Cause::Disagree { rank_a, rank_b, .. } => format!("disagree:{rank_a},{rank_b}"),
        Cause::Length { from, to, .. } => format!("length:{from},{to}"),
        _ => "aborted".to_owned(),
    };
    let culprit = failure.culprit.map_or("-".to_owned(), |culprit| culprit.to_string());
    format!("failed {at} {culprit} {kind} {failure:?}")
}

enum Broken {
    Call(Error),
    Result(String),
}

/// The data of a rank for another in a call.
fn element(call: u64, from: usize, to: usize, at: usize) -> u64 {
    mixed(call << 40 ^ (from as u64) << 34 ^ (to as u64) << 28 ^ at as u64)
}

/// Makes a call, and looks at what it gives.
fn perform(comm: &mut Communicator, at: u64, Call { what, elements }: Call) -> Result<(), Broken> {
    let (me, size) = (comm.rank(), comm.size());
    let blocks = |of: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
        (0..size).flat_map(|rank| (0..elements).map(move |i| (rank, i))).map(|(rank, i)| of(rank, i)).collect()
    };
    let (found, expected) = match what {
        What::Alltoall(name) => {
            // Not every one fits every network.
            if comm.choose("alltoall", name).is_err() {
                comm.choose("alltoall", "auto").map_err(Broken::Call)?;
            }
            let send = blocks(&|to, i| element(at, me, to, i));
            let mut receive = vec![0x5a5a; send.len()];
            comm.alltoall(&send, &mut receive).map_err(Broken::Call)?;
            (receive, blocks(&|from, i| element(at, from, me, i)))
        }
        What::Allgather => {
            let send: Vec<u64> = (0..elements).map(|i| element(at, me, 0, i)).collect();
            let mut receive = vec![0x5a5a; size * elements];
            comm.allgather(&send, &mut receive).map_err(Broken::Call)?;
            (receive, blocks(&|from, i| element(at, from, 0, i)))
        }
        What::Allreduce => {
            let send: Vec<u64> = (0..elements).map(|i| element(at, me, 0, i)).collect();
            let mut receive = vec![0x5a5a; elements];
            comm.allreduce(&send, &mut receive, Sum).map_err(Broken::Call)?;
            let sum = |i| (0..size).fold(0, |sum: u64, from| sum.wrapping_add(element(at, from, 0, i)));
            (receive, (0..elements).map(sum).collect())
        }
        What::Broadcast(root) => {
            let of = |from| (0..elements).map(|i| element(at, from, 0, i)).collect();
            let mut buffer: Vec<u64> = of(me);
            comm.broadcast(&mut buffer, root).map_err(Broken::Call)?;
            (buffer, of(root))
        }
        What::Barrier => {
            comm.barrier().map_err(Broken::Call)?;
            return Ok(());
        }
    };
    match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
        None if found.len() == expected.len() => Ok(()),
        place => Err(Broken::Result(format!("a wrong result at element {place:?} of {}", expected.len()))),
    }
}
