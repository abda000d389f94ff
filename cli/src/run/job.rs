//! The life of a job, in its launcher.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::agent::{Agent, Event, Reach, legible};
use super::member::Member;
use super::output::Output;
use crate::agent::protocol::{Description, End, Order, Report, Root};
use crate::output::Failure;

/// A job: what runs where.
pub(super) struct Job {
    /// Hosts and their ranks; the first host has rank 0.
    pub(super) places: Vec<(String, Vec<usize>)>,
    pub(super) reach: Reach,
    /// The name by which other hosts know the first.
    pub(super) root: String,
    pub(super) directory: PathBuf,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// How long an agent may be silent until its ranks have started, and leave a question unanswered after that.
    pub(super) patience: Duration,
    /// Whether to report where each rank starts.
    pub(super) verbose: bool,
}

/// The exit status of a command whose output nobody reads, as in shells.
const UNREAD: u8 = 128 + 13;

/// Delay before a failure is reported: a killed rank may be seen after the ranks that fail because
/// of it.
const LOOK: Duration = Duration::from_millis(100);

/// Interval between questions whether agents are alive.
const TICK: Duration = Duration::from_secs(1);

/// Maximum time without anybody reading the remaining output of a job that has failed or was ended.
const UNHEARD: Duration = Duration::from_secs(2);

/// How far the end of the job has come.
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
const CLEARING: Duration = Duration::from_secs(3);

/// Why the job fails.
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
    members: Vec<Member>,
    /// Where the ranks meet, once the first agent has reported it.
    meeting: Option<String>,
    stage: Stage,
    since: Instant,
    cause: Option<Cause>,
    /// When to report the cause, unless it has been reported.
    told: Option<Instant>,
    /// The exit status, if the job was ended from outside.
    ended: Option<u8>,
    /// When the agents are asked next.
    tick: Instant,
}

/// Creates a queue of events.
pub(super) fn events() -> (Sender<Event>, Receiver<Event>) {
    mpsc::channel()
}

/// Runs a job to its end and returns its exit status. Nothing of the job is left then.
pub(super) fn run(job: &Job, output: &Arc<Output>, queue: (Sender<Event>, Receiver<Event>)) -> Result<u8, Failure> {
    let (events, queue) = queue;
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(|error| Failure::Failed(format!("cannot draw a key: {error}")))?;
    let mut members = Vec::new();
    for (number, place) in job.places.iter().enumerate() {
        match Agent::start(number, place.clone(), &job.reach, output, &events) {
            Ok(agent) => members.push(Member::of(agent)),
            Err(failure) => {
                // The agents so far have started nothing.
                members.iter_mut().for_each(|member| member.agent.kill());
                for member in &mut members {
                    member.agent.reap(CLEARING);
                }
                return Err(failure);
            }
        }
    }
    let launch = Launch {
        job,
        key,
        output: Arc::clone(output),
        members,
        meeting: None,
        stage: Stage::Running,
        since: Instant::now(),
        cause: None,
        told: None,
        ended: None,
        tick: Instant::now(),
    };
    Ok(launch.run(&queue))
}

impl Launch<'_> {
    fn run(mut self, queue: &Receiver<Event>) -> u8 {
        while self.members.iter().any(|member| !member.over) {
            let event = match self.deadline() {
                Some(deadline) => queue.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(event) => self.hear(event),
                Err(RecvTimeoutError::Timeout) if !self.advance() => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let patience = if self.stage == Stage::Closing { Duration::ZERO } else { CLEARING };
        for member in &mut self.members {
            member.agent.close();
            member.agent.reap(patience);
        }
        self.output.release_all();
        if self.told.is_some() {
            self.tell_cause();
        }
        self.print_rest(queue);
        self.cause.map(|cause| cause.status).or(self.ended).unwrap_or(0)
    }

    /// Waits until everything is printed: without limit after success, otherwise as long as somebody reads.
    fn print_rest(&mut self, queue: &Receiver<Event>) {
        self.output.finish();
        let mut printed = self.output.progress();
        let mut until = Instant::now() + UNHEARD;
        while !self.output.has_finished() {
            let event = if self.stage == Stage::Running {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(until.saturating_duration_since(Instant::now()))
            };
            match event {
                Ok(event) => {
                    let before = self.stage;
                    self.hear(event);
                    if self.told.is_some() {
                        self.tell_cause();
                    }
                    if self.stage != before {
                        until = Instant::now() + UNHEARD;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.output.progress() != printed => {
                    (printed, until) = (self.output.progress(), Instant::now() + UNHEARD);
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
            if self.stage == Stage::Closing { Some(CLEARING) } else { self.stage.next().map(|(time, _)| time) };
        let end = lasting.map(|time| self.since + time);
        let tick = (self.stage == Stage::Running).then_some(self.tick);
        [end, tick, self.told, self.output.held(), self.silence().map(|(due, _)| due)].into_iter().flatten().min()
    }

    /// Returns which awaited agent is due first, and when.
    fn silence(&self) -> Option<(Instant, &Member)> {
        if self.stage != Stage::Running {
            return None;
        }
        let patience = self.job.patience;
        let awaited = self.members.iter().filter_map(|member| Some((member.awaited(patience)?, member)));
        awaited.min_by_key(|(due, _)| *due)
    }

    /// Does what is due. Returns false if nothing more can be done.
    fn advance(&mut self) -> bool {
        let now = Instant::now();
        if self.told.is_some_and(|due| due <= now) {
            self.tell_cause();
        }
        self.output.release();
        let silent = self.silence().filter(|(due, _)| *due <= now);
        if let Some(message) = silent.map(|(_, member)| member.agent.silence(member.here, false, self.job.patience)) {
            self.fail(1, message, false);
            self.enter(Stage::Terminating);
        }
        if self.stage == Stage::Running && self.tick <= now {
            self.ask();
        }
        match self.stage.next() {
            Some((time, next)) if self.since + time <= now => self.enter(next),
            None if self.stage == Stage::Closing && self.since + CLEARING <= now => return false,
            _ => {}
        }
        true
    }

    /// Asks the agents whether they are alive. An agent that does not answer is killed, upon which its guard cleans up.
    fn ask(&mut self) {
        let patience = self.job.patience;
        let tick = TICK.min(patience / 10);
        for number in 0..self.members.len() {
            let Some(member) = self.members.get_mut(number).filter(|_| self.stage == Stage::Running) else { break };
            if !member.ask(patience, tick) {
                continue;
            }
            member.agent.kill();
            if member.has_reported() {
                // The outcome of the job is known without this agent.
                member.over = true;
                let line =
                    format!("warning: the agent on {} was killed, because it does not clean up\n", member.agent.host);
                self.say(line);
            } else {
                let message = if member.has_ended() {
                    member.agent.missing(patience)
                } else {
                    member.agent.silence(true, true, patience)
                };
                self.fail(1, message, false);
                self.enter(Stage::Terminating);
            }
        }
        self.tick = Instant::now() + tick;
    }

    /// Moves on to a stage, never back.
    fn enter(&mut self, stage: Stage) {
        if stage <= self.stage {
            return;
        }
        (self.stage, self.since) = (stage, Instant::now());
        for Member { agent, described, .. } in &mut self.members {
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

    fn hear(&mut self, event: Event) {
        match event {
            Event::Report(number, report) => self.hear_report(number, report),
            Event::Complete(number) => {
                if let Some(member) = self.members.get_mut(number) {
                    member.complete = true;
                }
            }
            Event::Gone(number, why) => {
                let Some(member) = self.members.get_mut(number) else { return };
                if !mem::replace(&mut member.over, true) {
                    let message = member.agent.fate(member.here, why);
                    self.fail(1, message, false);
                    self.enter(Stage::Terminating);
                }
            }
            Event::Unwritten(error) if error.kind() == ErrorKind::BrokenPipe => self.end(UNREAD),
            Event::Unwritten(error) => {
                self.fail(1, format!("the output of the ranks cannot be written: {error}"), true);
                self.enter(Stage::Terminating);
            }
            Event::Printed | Event::Held => {}
            Event::Signal(signal) => self.end(128_u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))),
        }
    }

    fn hear_report(&mut self, number: usize, report: Report) {
        let Some(member) = self.members.get_mut(number) else { return };
        let host = &member.agent.host;
        match report {
            Report::Here { version } => {
                let own = env!("CARGO_PKG_VERSION");
                if version == own {
                    member.here = true;
                    self.describe();
                } else {
                    let message = format!("{host} has necklace {}, this is {own}", legible(&version));
                    self.fail(1, message, false);
                    self.enter(Stage::Terminating);
                }
            }
            Report::Root(address) => {
                self.meeting = Some(address);
                self.describe();
            }
            Report::Started { rank, process } => {
                let line = format!("rank {rank} on {host}: process {process}\n");
                (member.started, member.since) = (member.started + 1, Instant::now());
                if self.job.verbose {
                    self.say(line);
                }
            }
            Report::Ended { rank, how } => {
                member.ended += 1;
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
            Report::Alive => member.asked = None,
            Report::Done => member.over = true,
        }
    }

    /// Describes the job to the agents that lack it, as far as the meeting point is known.
    fn describe(&mut self) {
        if self.stage != Stage::Running {
            return;
        }
        for (number, member) in self.members.iter_mut().enumerate() {
            let root = match (&self.meeting, number) {
                (_, 0) => Root::Held(self.job.root.clone()),
                (Some(address), _) => Root::At(address.clone()),
                (None, _) => break,
            };
            if member.here && !mem::replace(&mut member.described, true) {
                member.since = Instant::now();
                member.agent.tell(&Description {
                    host: member.agent.host.clone(),
                    key: self.key.clone(),
                    root,
                    directory: self.job.directory.clone(),
                    program: self.job.program.clone(),
                    arguments: self.job.arguments.clone(),
                    environment: self.job.environment.clone(),
                    ranks: member.agent.ranks.clone(),
                });
            }
        }
    }

    /// Makes the job fail, unless it already has.
    fn fail(&mut self, status: u8, message: String, killed: bool) {
        if self.ended.is_some() || self.stage >= Stage::Terminating {
            return;
        }
        let untold = self.told.is_some();
        match &self.cause {
            None => self.told = Some(Instant::now() + LOOK),
            Some(cause) if untold && killed && !cause.killed => {}
            Some(_) => return,
        }
        self.cause = Some(Cause { status, message, killed });
        self.enter(Stage::Failing);
    }

    /// Ends the job from outside; the second time at once.
    fn end(&mut self, status: u8) {
        if self.told.take().is_some() {
            // What looks like a failure is the same end, which others have noticed first.
            self.cause = None;
        }
        let again = self.ended.is_some() && status != UNREAD;
        self.ended = self.ended.or(Some(status));
        self.enter(if again { Stage::Closing } else { Stage::Terminating });
    }

    fn tell_cause(&mut self) {
        self.told = None;
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
