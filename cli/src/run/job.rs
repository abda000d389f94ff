//! The life of a job, as its launcher sees it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::agent::{Agent, Event, Reach, legible};
use super::output::Output;
use crate::agent::protocol::{Description, End, Order, Report, Root};
use crate::output::Failure;

/// What is to be run, and where.
pub(super) struct Job {
    /// Hosts and their ranks; the first has rank 0.
    pub(super) places: Vec<(String, Vec<usize>)>,
    pub(super) reach: Reach,
    /// How the others know the first host.
    pub(super) root: String,
    pub(super) directory: PathBuf,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// How long an agent may say nothing until its ranks have started, and not answer after that.
    pub(super) patience: Duration,
    /// Whether it is told who is started where.
    pub(super) verbose: bool,
}

/// The status of a command that ends because nobody reads it, as shells have it.
const UNREAD: u8 = 128 + 13;

/// How long a failure is looked at before it is told: of a rank that is killed and those that fail because of it, the
/// latter may be seen first.
const LOOK: Duration = Duration::from_millis(100);

/// How often agents are asked whether they are alive.
const TICK: Duration = Duration::from_secs(1);

/// How long one whose ranks have all ended may take to answer, at most.
const ENDED: Duration = Duration::from_secs(10);

/// How long nobody may read anything of what is left to be printed of a job that has failed, or was ended.
const UNHEARD: Duration = Duration::from_secs(2);

/// How far the job's end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    /// The others report the failure themselves.
    Failing,
    /// They have been asked to end.
    Terminating,
    /// They are being killed.
    Killing,
    /// Agents hear nothing any more.
    Closing,
}

impl Stage {
    /// How long it lasts, and what follows.
    fn next(self) -> Option<(Duration, Self)> {
        match self {
            Self::Running | Self::Closing => None,
            Self::Failing => Some((Duration::from_secs(1), Self::Terminating)),
            Self::Terminating => Some((Duration::from_secs(2), Self::Killing)),
            Self::Killing => Some((Duration::from_secs(2), Self::Closing)),
        }
    }
}

/// How long an agent that hears nothing any more may take to clear up.
const CLEARING: Duration = Duration::from_secs(3);

/// Why the job fails.
#[derive(Debug)]
struct Cause {
    status: u8,
    message: String,
    /// Somebody killed it, so nobody else is to blame.
    killed: bool,
}

/// An agent, and how far it has come.
struct Member {
    agent: Agent,
    here: bool,
    described: bool,
    /// How many of its ranks have started.
    started: usize,
    /// How many of them have ended.
    ended: usize,
    over: bool,
    /// How many ticks ago it was asked whether it is alive, unless it has answered. Ticks are counted, not time: a launcher
    /// that was stopped itself has not waited.
    asked: Option<u32>,
    /// When it last came further, or could from then on.
    since: Instant,
}

impl Member {
    fn of(agent: Agent) -> Self {
        Self {
            agent,
            here: false,
            described: false,
            started: 0,
            ended: 0,
            over: false,
            asked: None,
            since: Instant::now(),
        }
    }

    /// Until when it is waited for, if it is: to answer, or to start its ranks. One that answered before it is known where
    /// the ranks meet has nothing to say.
    fn awaited(&self, patience: Duration) -> Option<Instant> {
        let awaited = !self.here || self.described && self.started < self.agent.ranks.len();
        if awaited && !self.over { self.since.checked_add(patience) } else { None }
    }

    fn has_started(&self) -> bool {
        self.started == self.agent.ranks.len()
    }

    fn has_ended(&self) -> bool {
        self.ended == self.agent.ranks.len()
    }

    /// Asks whether it is alive. Returns whether it has not said so for longer than that, in ticks of that length.
    fn ask(&mut self, patience: Duration, tick: Duration) -> bool {
        if self.over || !self.has_started() {
            return false;
        }
        let patience = if self.has_ended() { patience.min(ENDED) } else { patience };
        match &mut self.asked {
            Some(ticks) => {
                *ticks += 1;
                tick * *ticks >= patience
            }
            None => {
                self.asked = Some(0);
                self.agent.tell(&Order::Answer);
                false
            }
        }
    }
}

struct Launch<'a> {
    job: &'a Job,
    key: Vec<u8>,
    output: Arc<Output>,
    members: Vec<Member>,
    /// Where the ranks meet, once the first agent has said so.
    meeting: Option<String>,
    stage: Stage,
    since: Instant,
    cause: Option<Cause>,
    /// When the cause is to be told, if it is not yet.
    told: Option<Instant>,
    /// The status, if it was ended from outside.
    ended: Option<u8>,
    /// When agents are asked next.
    tick: Instant,
}

/// A queue of events, and where they are put into it.
pub(super) fn events() -> (Sender<Event>, Receiver<Event>) {
    mpsc::channel()
}

/// Runs a job to its end and returns its status. Nothing of it is left then.
pub(super) fn run(job: &Job, output: &Arc<Output>, queue: (Sender<Event>, Receiver<Event>)) -> Result<u8, Failure> {
    let (events, queue) = queue;
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(|error| Failure::Failed(format!("cannot draw a key: {error}")))?;
    let mut members = Vec::new();
    for (number, place) in job.places.iter().enumerate() {
        match Agent::start(number, place.clone(), &job.reach, output, &events) {
            Ok(agent) => members.push(Member::of(agent)),
            Err(failure) => {
                // Those before have started nothing.
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

    /// Waits until all is printed: as long as the reader likes if the job has ended well, else as long as it reads.
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

    /// Says that nobody reads what is left, if anybody reads that.
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

    /// When something is to be done if nothing is heard.
    fn deadline(&self) -> Option<Instant> {
        let lasting =
            if self.stage == Stage::Closing { Some(CLEARING) } else { self.stage.next().map(|(time, _)| time) };
        let end = lasting.map(|time| self.since + time);
        let tick = (self.stage == Stage::Running).then_some(self.tick);
        [end, tick, self.told, self.output.held(), self.silence().map(|(due, _)| due)].into_iter().flatten().min()
    }

    /// When the patience with the first of those that are awaited ends, and with whom.
    fn silence(&self) -> Option<(Instant, &Member)> {
        if self.stage != Stage::Running {
            return None;
        }
        let patience = self.job.patience;
        let awaited = self.members.iter().filter_map(|member| Some((member.awaited(patience)?, member)));
        awaited.min_by_key(|(due, _)| *due)
    }

    /// Does what is due. False if nothing more can be done.
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

    /// Asks the agents whether they are alive. One that does not answer is ended, upon which its guard clears up.
    fn ask(&mut self) {
        let patience = self.job.patience;
        let tick = TICK.min(patience / 10);
        for number in 0..self.members.len() {
            let Some(member) = self.members.get_mut(number).filter(|_| self.stage == Stage::Running) else { break };
            if !member.ask(patience, tick) {
                continue;
            }
            member.agent.kill();
            if member.has_ended() {
                // How the job ends is known without it.
                member.over = true;
                let line =
                    format!("warning: the agent on {} was killed, because it does not clean up\n", member.agent.host);
                self.say(line);
            } else {
                let message = member.agent.silence(true, true, patience);
                self.fail(1, message, false);
                self.enter(Stage::Terminating);
            }
        }
        self.tick = Instant::now() + tick;
    }

    /// Goes on to that stage, never back.
    fn enter(&mut self, stage: Stage) {
        if stage <= self.stage {
            return;
        }
        (self.stage, self.since) = (stage, Instant::now());
        for Member { agent, described, .. } in &mut self.members {
            match stage {
                // It has started nothing: there is nothing that it would have to end.
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

    /// Tells those that do not know it what to start, as far as it is known where the ranks meet.
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

    /// The job fails, unless it has already.
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

    /// The job is ended from outside. At the second time at once.
    fn end(&mut self, status: u8) {
        if self.told.take().is_some() {
            // What looks like a failure is the same end, which others have noticed before.
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

    /// Without waiting for whoever is to read it.
    fn say(&self, line: String) {
        self.output.say(line.into_bytes());
    }
}
