//! Runs a job in the launcher, from its start to its end.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::agent::{Agent, JobEvent, RemoteShell, legible};
use super::agent_state::AgentState;
use super::output::Output;
use crate::agent::protocol::{Description, End, Order, Report, Root};
use crate::output::Failure;

/// The programs and hosts of a job.
pub(super) struct Job {
    /// Hosts and their ranks; the first host has rank 0.
    pub(super) places: Vec<(String, Vec<usize>)>,
    pub(super) reach: RemoteShell,
    /// The name of the first host, for other hosts.
    pub(super) root: String,
    pub(super) directory: PathBuf,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Maximum time for an agent to start its ranks, and to answer a probe later.
    pub(super) patience: Duration,
    /// Whether to report where each rank starts.
    pub(super) verbose: bool,
}

/// The exit status for closed standard output, as a shell reports SIGPIPE.
const SIGPIPE_STATUS: u8 = 128 + 13;

/// Delay before a failure is reported. The report of a killed rank may arrive after those of the
/// ranks that fail because of it.
const REPORT_DELAY: Duration = Duration::from_millis(100);

/// Interval between probes of the agents.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time without a reader for the remaining output of a job that has failed or was ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The stage of ending the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    /// The other ranks report the failure themselves.
    Failing,
    /// The ranks have been asked to end.
    Terminating,
    /// The ranks are being killed.
    Killing,
    /// The agents receive no more orders.
    Closing,
}

impl Stage {
    /// Returns the duration of the stage, and the next one.
    fn next(self) -> Option<(Duration, Self)> {
        match self {
            Self::Running | Self::Closing => None,
            Self::Failing => Some((Duration::from_secs(1), Self::Terminating)),
            Self::Terminating => Some((Duration::from_secs(2), Self::Killing)),
            Self::Killing => Some((Duration::from_secs(2), Self::Closing)),
        }
    }
}

/// Maximum time for an agent to clean up after its last order.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(3);

/// The reason why the job fails.
#[derive(Debug)]
struct Cause {
    status: u8,
    message: String,
    /// Whether the rank was killed, so that no other rank is to blame.
    killed: bool,
}

struct Launch<'a> {
    job: &'a Job,
    key: Vec<u8>,
    output: Arc<Output>,
    agents: Vec<AgentState>,
    /// The rendezvous of the ranks, once the first agent has reported it.
    rendezvous: Option<String>,
    stage: Stage,
    since: Instant,
    cause: Option<Cause>,
    /// The time to report the cause, unless it has been reported.
    report_at: Option<Instant>,
    /// The exit status, if a signal or closed standard output ended the job.
    ended: Option<u8>,
    /// Time of the next probe.
    next_probe: Instant,
}

/// Creates a queue of events.
pub(super) fn events() -> (Sender<JobEvent>, Receiver<JobEvent>) {
    mpsc::channel()
}

/// Runs a job to its end, cleans up, and returns its exit status.
pub(super) fn run(
    job: &Job,
    output: &Arc<Output>,
    queue: (Sender<JobEvent>, Receiver<JobEvent>),
) -> Result<u8, Failure> {
    let (events, queue) = queue;
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(|error| Failure::Failed(format!("cannot draw a key: {error}")))?;
    let mut agents = Vec::new();
    for (number, place) in job.places.iter().enumerate() {
        match Agent::start(number, place.clone(), &job.reach, output, &events) {
            Ok(agent) => agents.push(AgentState::of(agent)),
            Err(failure) => {
                // The agents so far have started nothing.
                agents.iter_mut().for_each(|state| state.agent.kill());
                for state in &mut agents {
                    state.agent.reap(CLEANUP_TIMEOUT);
                }
                return Err(failure);
            }
        }
    }
    let launch = Launch {
        job,
        key,
        output: Arc::clone(output),
        agents,
        rendezvous: None,
        stage: Stage::Running,
        since: Instant::now(),
        cause: None,
        report_at: None,
        ended: None,
        next_probe: Instant::now(),
    };
    Ok(launch.run(&queue))
}

impl Launch<'_> {
    fn run(mut self, queue: &Receiver<JobEvent>) -> u8 {
        while self.agents.iter().any(|state| !state.over) {
            let event = match self.deadline() {
                Some(deadline) => queue.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout) if !self.advance() => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let patience = if self.stage == Stage::Closing { Duration::ZERO } else { CLEANUP_TIMEOUT };
        for state in &mut self.agents {
            state.agent.close();
            state.agent.reap(patience);
        }
        self.output.release_all();
        if self.report_at.is_some() {
            self.report_cause();
        }
        self.print_rest(queue);
        self.cause.map(|cause| cause.status).or(self.ended).unwrap_or(0)
    }

    /// Waits until everything is printed: without limit after success, otherwise until the reader
    /// pauses for too long.
    fn print_rest(&mut self, queue: &Receiver<JobEvent>) {
        self.output.finish();
        let mut printed = self.output.progress();
        let mut until = Instant::now() + DRAIN_TIMEOUT;
        while !self.output.has_finished() {
            let event = if self.stage == Stage::Running {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(until.saturating_duration_since(Instant::now()))
            };
            match event {
                Ok(event) => {
                    let before = self.stage;
                    self.handle(event);
                    if self.report_at.is_some() {
                        self.report_cause();
                    }
                    if self.stage != before {
                        until = Instant::now() + DRAIN_TIMEOUT;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.output.progress() != printed => {
                    (printed, until) = (self.output.progress(), Instant::now() + DRAIN_TIMEOUT);
                }
                Err(_) => break,
            }
            if self.stage == Stage::Closing {
                break;
            }
        }
        if !self.output.has_finished() {
            self.drop_rest();
        }
    }

    /// Warns that nobody reads the remaining output, if standard error is read.
    fn drop_rest(&self) {
        if !self.output.has_said_all() {
            return;
        }
        self.say("warning: nobody reads the output; the rest of it is dropped\n".to_owned());
        for _ in 0..100 {
            if self.output.has_said_all() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns when to act if there is no event.
    fn deadline(&self) -> Option<Instant> {
        let lasting =
            if self.stage == Stage::Closing { Some(CLEANUP_TIMEOUT) } else { self.stage.next().map(|(time, _)| time) };
        let end = lasting.map(|time| self.since + time);
        let next_probe = (self.stage == Stage::Running).then_some(self.next_probe);
        [end, next_probe, self.report_at, self.output.held(), self.silence().map(|(due, _)| due)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns the awaited agent with the earliest deadline.
    fn silence(&self) -> Option<(Instant, &AgentState)> {
        if self.stage != Stage::Running {
            return None;
        }
        let patience = self.job.patience;
        let awaited = self.agents.iter().filter_map(|state| Some((state.awaited(patience)?, state)));
        awaited.min_by_key(|(due, _)| *due)
    }

    /// Performs the actions that are due. Returns false if nothing more can be done.
    fn advance(&mut self) -> bool {
        let now = Instant::now();
        if self.report_at.is_some_and(|due| due <= now) {
            self.report_cause();
        }
        self.output.release();
        let silent = self.silence().filter(|(due, _)| *due <= now);
        if let Some(message) =
            silent.map(|(_, state)| state.agent.silence_message(state.here, false, self.job.patience))
        {
            self.fail(1, message, false);
            self.enter(Stage::Terminating);
        }
        if self.stage == Stage::Running && self.next_probe <= now {
            self.ask();
        }
        match self.stage.next() {
            Some((time, next)) if self.since + time <= now => self.enter(next),
            None if self.stage == Stage::Closing && self.since + CLEANUP_TIMEOUT <= now => return false,
            _ => {}
        }
        true
    }

    /// Probes the agents. Kills an agent that does not answer; its reaper then cleans up.
    fn ask(&mut self) {
        let patience = self.job.patience;
        let next_probe = PROBE_INTERVAL.min(patience / 10);
        for number in 0..self.agents.len() {
            let Some(state) = self.agents.get_mut(number).filter(|_| self.stage == Stage::Running) else { break };
            if !state.ask(patience, next_probe) {
                continue;
            }
            state.agent.kill();
            if state.has_reported() {
                // The outcome of the job is known without this agent.
                state.over = true;
                let line =
                    format!("warning: the agent on {} was killed, because it does not clean up\n", state.agent.host);
                self.say(line);
            } else {
                let message = if state.has_ended() {
                    state.agent.missing_output_message(patience)
                } else {
                    state.agent.silence_message(true, true, patience)
                };
                self.fail(1, message, false);
                self.enter(Stage::Terminating);
            }
        }
        self.next_probe = Instant::now() + next_probe;
    }

    /// Enters a later stage. Does nothing for an earlier one.
    fn enter(&mut self, stage: Stage) {
        if stage <= self.stage {
            return;
        }
        (self.stage, self.since) = (stage, Instant::now());
        for AgentState { agent, described, .. } in &mut self.agents {
            match stage {
                // This agent has started nothing, so it has nothing to end.
                _ if !*described && stage >= Stage::Terminating => agent.kill(),
                Stage::Running | Stage::Failing => {}
                Stage::Terminating => agent.tell(&Order::Terminate),
                Stage::Killing => agent.tell(&Order::Kill),
                Stage::Closing => agent.close(),
            }
        }
    }

    fn handle(&mut self, event: JobEvent) {
        match event {
            JobEvent::Report(number, report) => self.handle_report(number, report),
            JobEvent::Complete(number) => {
                if let Some(state) = self.agents.get_mut(number) {
                    state.complete = true;
                }
            }
            JobEvent::Gone(number, why) => {
                let Some(state) = self.agents.get_mut(number) else { return };
                if !mem::replace(&mut state.over, true) {
                    let message = state.agent.end_message(state.here, why);
                    self.fail(1, message, false);
                    self.enter(Stage::Terminating);
                }
            }
            JobEvent::Unwritten(error) if error.kind() == ErrorKind::BrokenPipe => self.end(SIGPIPE_STATUS),
            JobEvent::Unwritten(error) => {
                self.fail(1, format!("the output of the ranks cannot be written: {error}"), true);
                self.enter(Stage::Terminating);
            }
            JobEvent::Printed | JobEvent::Held => {}
            JobEvent::Signal(signal) => self.end(128_u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))),
        }
    }

    fn handle_report(&mut self, number: usize, report: Report) {
        let Some(state) = self.agents.get_mut(number) else { return };
        let host = &state.agent.host;
        match report {
            Report::Here { version } => {
                let own = env!("CARGO_PKG_VERSION");
                if version == own {
                    state.here = true;
                    self.describe();
                } else {
                    let message = format!("{host} has necklace {}, this is {own}", legible(&version));
                    self.fail(1, message, false);
                    self.enter(Stage::Terminating);
                }
            }
            Report::Root(address) => {
                self.rendezvous = Some(address);
                self.describe();
            }
            Report::Started { rank, process } => {
                let line = format!("rank {rank} on {host}: process {process}\n");
                (state.started, state.since) = (state.started + 1, Instant::now());
                if self.job.verbose {
                    self.say(line);
                }
            }
            Report::Ended { rank, how } => {
                state.ended += 1;
                let (status, how) = match how {
                    End::Status(0) => return,
                    End::Status(status) => (status, format!("ended with status {status}")),
                    End::Signal(signal) => {
                        let name = signal_hook::low_level::signal_name(signal).unwrap_or("of no name");
                        (128 + signal, format!("was killed by signal {signal} ({name})"))
                    }
                };
                let message = format!("rank {rank} on {host} {how}");
                self.output.fail(rank);
                self.fail(u8::try_from(status).unwrap_or(1), message, status > 128);
            }
            Report::Failed { why, status } => {
                self.fail(status, why, false);
                self.enter(Stage::Terminating);
            }
            Report::Alive => state.asked = None,
            Report::Done => state.over = true,
        }
    }

    /// Sends the description of the job to agents that lack it. All but the first need the
    /// rendezvous.
    fn describe(&mut self) {
        if self.stage != Stage::Running {
            return;
        }
        for (number, state) in self.agents.iter_mut().enumerate() {
            let root = match (&self.rendezvous, number) {
                (_, 0) => Root::Held(self.job.root.clone()),
                (Some(address), _) => Root::At(address.clone()),
                (None, _) => break,
            };
            if state.here && !mem::replace(&mut state.described, true) {
                state.since = Instant::now();
                state.agent.tell(&Description {
                    host: state.agent.host.clone(),
                    key: self.key.clone(),
                    root,
                    directory: self.job.directory.clone(),
                    program: self.job.program.clone(),
                    arguments: self.job.arguments.clone(),
                    environment: self.job.environment.clone(),
                    ranks: state.agent.ranks.clone(),
                });
            }
        }
    }

    /// Makes the job fail, unless it has already failed.
    fn fail(&mut self, status: u8, message: String, killed: bool) {
        if self.ended.is_some() || self.stage >= Stage::Terminating {
            return;
        }
        let untold = self.report_at.is_some();
        match &self.cause {
            None => self.report_at = Some(Instant::now() + REPORT_DELAY),
            Some(cause) if untold && killed && !cause.killed => {}
            Some(_) => return,
        }
        self.cause = Some(Cause { status, message, killed });
        self.enter(Stage::Failing);
    }

    /// Ends the job for a signal or closed standard output. A second signal ends it at once.
    fn end(&mut self, status: u8) {
        if self.report_at.take().is_some() {
            // The unreported failure is probably an effect of the same signal, so drop it.
            self.cause = None;
        }
        let again = self.ended.is_some() && status != SIGPIPE_STATUS;
        self.ended = self.ended.or(Some(status));
        self.enter(if again { Stage::Closing } else { Stage::Terminating });
    }

    fn report_cause(&mut self) {
        self.report_at = None;
        if let Some(cause) = &self.cause {
            let line = format!("error: {}\n", cause.message);
            self.say(line);
        }
    }

    /// Prints a line without waiting for a reader.
    fn say(&self, line: String) {
        self.output.say(line.into_bytes());
    }
}
