//! A process that is suspended for a while and continues as if no time had passed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::call::{exchange, open};
use super::harness::Harness;
use super::{OVERSUBSCRIBED, endpoint};
use crate::ids::Rank;
use crate::transport::codec::{decode, encode};
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::engine::state::Engine;
use crate::transport::{Cause, ContextId, Deadline, Failure, Timeouts};

/// Makes a process of the test the one that is suspended. The value is the address to connect to,
/// and the timeout in milliseconds.
const ROLE: &str = "NECKLACE_TEST_STOPPED";

/// Rank 0 of 3, a process that waits for 8 bytes from rank 1.
struct Waiting {
    process: Child,
    /// Its connections with ranks 1 and 2, and the one over which it reports the result of its
    /// round.
    one: TcpStream,
    two: TcpStream,
    report: TcpStream,
}

impl Waiting {
    /// Starts the process. It runs the test of that name, which calls [`wait`].
    fn start(test: &str, timeout: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let module = module_path!().split_once("::").unwrap().1;
        listener.set_nonblocking(true).unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
            .env(ROLE, format!("{} {}", listener.local_addr().unwrap(), timeout.as_millis()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let [mut one, two, report] = std::array::from_fn(|_| {
            loop {
                if let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(false).unwrap();
                    return stream;
                }
                assert!(process.try_wait().unwrap().is_none(), "there is no test {test}");
                thread::sleep(Duration::from_millis(1));
            }
        });
        // The first status request shows that it has waited for a while.
        let mut asked = [0; Header::BYTES];
        one.read_exact(&mut asked).unwrap();
        assert_eq!(Header::decode(&asked).unwrap().kind, Kind::StatusRequest);
        Self { process, one, two, report }
    }

    /// Suspends the process. It reads what arrives `meanwhile` after it continues.
    fn stopped(&mut self, lasting: Duration, meanwhile: impl FnOnce(&mut Self)) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).unwrap();
        waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
        meanwhile(self);
        thread::sleep(lasting);
        kill_process(pid, Signal::CONT).unwrap();
    }

    fn outcome(mut self) -> Result<(), Failure> {
        let mut text = Vec::new();
        self.report.read_to_end(&mut text).unwrap();
        self.process.wait().unwrap();
        let (first, text) = text.split_first().expect("how it has ended");
        if *first == 0 { Ok(()) } else { Err(decode(text).unwrap()) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs in the suspended process.
fn wait(role: &str) {
    let (address, timeout) = role.split_once(' ').unwrap();
    let [one, two, mut report] = std::array::from_fn(|_| TcpStream::connect(address).unwrap());
    let endpoint = endpoint(0, vec![None, Some(one), Some(two)], OVERSUBSCRIBED).unwrap();
    let mut world = open(&*endpoint, ContextId::WORLD);
    let timeout = Duration::from_millis(timeout.parse().unwrap());
    let outcome = exchange(&mut *world, 0, &[], &[(1, 8)], timeout);
    let text = outcome.map_or_else(|failure| [vec![1], encode(&failure)].concat(), |()| vec![0]);
    report.write_all(&text).unwrap();
    drop(report);
    // Nobody will acknowledge its FIN.
    std::process::exit(0);
}

fn send(stream: &mut TcpStream, header: Header, text: &[u8]) {
    let head = Header { text: text.len() as u32, ..header }.encode();
    stream.write_all(&[&head, text].concat()).unwrap();
}

fn failure(observer: usize, reason: &str) -> Failure {
    let observer = Rank::new(observer);
    let cause = Cause::Aborted { rank: observer, reason: reason.into() };
    Failure { call: 0, description: "a call".into(), round: 0, observer, culprit: None, cause }
}

#[test]
fn suspended_rank_blames_no_rank_that_sends() {
    if let Ok(role) = std::env::var(ROLE) {
        return wait(&role);
    }
    let test = "suspended_rank_blames_no_rank_that_sends";
    let message = Header { eager: true, bytes: 8, fingerprint: 1, ..Header::new(Kind::Message, ContextId::WORLD) };
    let timeout = Duration::from_secs(2);
    let mut waiting = Waiting::start(test, timeout);
    waiting.stopped(timeout.mul_f64(1.1), |waiting| send(&mut waiting.one, message, &[7; 8]));
    assert_eq!(waiting.outcome(), Ok(()));
    // As if the whole job was suspended: no rank has been idle.
    let mut waiting = Waiting::start(test, timeout);
    waiting.stopped(timeout.mul_f64(1.1), |_| ());
    thread::sleep(Duration::from_millis(100));
    send(&mut waiting.one, message, &[7; 8]);
    assert_eq!(waiting.outcome(), Ok(()));
}

/// Rank 1 of 2, a process that opens its context and computes until it is killed.
fn compute(address: &str) {
    let stream = TcpStream::connect(address).unwrap();
    let endpoint = endpoint(1, vec![Some(stream), None], OVERSUBSCRIBED).unwrap();
    let _world = open(&*endpoint, ContextId::WORLD);
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn stopped_process_is_silent_and_a_computing_one_is_not() {
    if let Ok(address) = std::env::var(ROLE) {
        return compute(&address);
    }
    let test = "stopped_process_is_silent_and_a_computing_one_is_not";
    let module = module_path!().split_once("::").unwrap().1;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env(ROLE, listener.local_addr().unwrap().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let stream = listener.accept().unwrap().0;
    let silence = Duration::from_secs(1);
    let waiting = thread::spawn(move || {
        let endpoint = endpoint(0, vec![None, Some(stream)], OVERSUBSCRIBED).unwrap();
        let mut world = open(&*endpoint, ContextId::WORLD);
        exchange(&mut *world, 0, &[], &[(1, 8)], Timeouts::new(silence, Duration::MAX))
    });
    thread::sleep(3 * silence);
    let still_waits = !waiting.is_finished();
    kill_process(Pid::from_child(&process), Signal::STOP).unwrap();
    let failure = waiting.join().unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let failure = failure.unwrap_err();
    assert!(still_waits, "{failure}");
    let chain = "rank 0 waits for rank 1, which does not answer".into();
    assert_eq!(failure.cause, Cause::Deadline { deadline: Deadline::Silence, waited: silence, chain });
    assert_eq!(failure.culprit, Some(Rank::new(1)));
}

#[test]
fn suspended_coordinator_accepts_the_decision_of_others() {
    if let Ok(role) = std::env::var(ROLE) {
        return wait(&role);
    }
    let test = "suspended_coordinator_accepts_the_decision_of_others";
    let (mut trials, mut stopped) = (0, 0);
    while stopped < 2 && trials < 30 {
        trials += 1;
        let mut waiting = Waiting::start(test, Duration::from_secs(30));
        send(&mut waiting.one, Header::new(Kind::Proposal, ContextId::WORLD), &encode(&failure(1, "EARLY")));
        // It reads the proposal, and sweeps before it decides.
        thread::sleep(Duration::from_millis(2));
        let mut early = false;
        waiting.stopped(Duration::from_millis(200), |Waiting { one, two, .. }| {
            // The bytes that it has sent before.
            two.set_nonblocking(true).unwrap();
            let mut output = [0; 4096];
            let count = two.read(&mut output).unwrap_or(0);
            two.set_nonblocking(false).unwrap();
            early = output[..count].windows(5).any(|word| word == b"EARLY");
            for stream in [two, one] {
                let text = encode(&failure(2, "decided by the others"));
                send(stream, Header::new(Kind::Decision, ContextId::WORLD), &text);
            }
        });
        if early {
            continue;
        }
        stopped += 1;
        assert_eq!(waiting.outcome(), Err(failure(2, "decided by the others")));
    }
    assert!(stopped > 0, "it always decided before it was stopped");
}

#[test]
fn coordinator_polls_its_sockets_before_it_decides() {
    let mut harness = Harness::new(0, 3);
    let proposal = encode(&failure(1, "EARLY"));
    harness.send_from(1, Header::new(Kind::Proposal, ContextId::WORLD), &proposal);
    assert!(harness.read_until(1, |engine| engine.is_undecided(ContextId::WORLD)));
    // Nothing from the third rank has arrived.
    harness.engine.pump_in(2);
    // As if it was suspended here, while the others continued without it.
    harness.engine.looked -= Duration::from_secs(1);
    let decision = failure(2, "decided by the others");
    harness.send_from(2, Header::new(Kind::Decision, ContextId::WORLD), &encode(&decision));
    harness.engine.sweep(Instant::now());
    assert_eq!(harness.engine.failure(ContextId::WORLD), None);
    let readable = |engine: &Engine| engine.connections[2].as_ref().is_some_and(|connection| connection.readable);
    assert!(harness.listen_until(readable));
    harness.engine.sweep(Instant::now());
    assert_eq!(harness.engine.failure(ContextId::WORLD), Some(&decision));
}
