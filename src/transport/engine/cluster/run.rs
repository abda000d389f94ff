//! Runs a simulated job: chooses what happens next, and checks how it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::network::{Network, lock};
use super::process::Process;
use super::script::{Fault, Job, Pool, TIMEOUTS};
use crate::ids::Rank;
use crate::transport::conformance::scenario::Random;
use crate::transport::engine::limits::TICK;
use crate::transport::{Cause, Deadline, Failure};

/// The time after which a job must have ended.
const LIMIT: Duration = Duration::from_secs(20);

/// Maximum number of events at one moment.
const MAX_EVENTS: u32 = 200_000;

/// How the jobs have ended, by kind of fault: how many with a failure, and how many in all.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) ends: BTreeMap<String, u64>,
    longest: Duration,
}

/// Runs the job of a seed.
pub(super) fn run(seed: u64, pool: &Pool, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let job = Job::random(pool, &mut random);
    let mut cluster = Cluster::new(seed, &job, random);
    cluster.run();
    cluster.check(tally);
}

/// A job under way.
struct Cluster<'j> {
    seed: u64,
    job: &'j Job,
    random: Random,
    network: Arc<Mutex<Network>>,
    processes: Vec<Process<'j>>,
    killed: Vec<bool>,
    stopped_until: Option<Instant>,
    begun: Instant,
    now: Instant,
    /// Number of events until the fault.
    until_fault: u64,
}

impl<'j> Cluster<'j> {
    fn new(seed: u64, job: &'j Job, mut random: Random) -> Self {
        let network = Arc::new(Mutex::new(Network::new(job.size, job.capacity)));
        let now = Instant::now();
        let process = |me: usize| {
            let mut process = Process::new((me, job.size), &network, job.polled, now);
            for script in &job.scripts[me] {
                process.add_thread(script, job.members(script), TIMEOUTS);
            }
            process
        };
        let processes: Vec<_> = (0..job.size).map(process).collect();
        let magnitude = 3 + random.below(6);
        let until_fault = random.below(1 << magnitude);
        let killed = vec![false; job.size];
        Self { seed, job, random, network, processes, killed, stopped_until: None, begun: now, now, until_fault }
    }

    /// Returns whether a process is there, has not ended and is not stopped.
    fn runs(&self, process: usize) -> bool {
        let is_stopped = matches!(self.job.fault, Fault::Stop(stopped, _) if stopped == process)
            && self.stopped_until.is_some_and(|until| self.now < until);
        !self.killed[process] && !is_stopped && self.processes[process].ended.is_none()
    }

    fn is_over(&self) -> bool {
        (0..self.job.size).all(|process| self.killed[process] || self.processes[process].ended.is_some())
    }

    fn run(&mut self) {
        let (mut streams, mut ready) = (Vec::new(), vec![true; self.job.size]);
        let mut moments = 0;
        while !self.is_over() {
            let elapsed = self.now.duration_since(self.begun);
            assert!(elapsed < LIMIT, "seed {}: not over after {elapsed:?}: {}", self.seed, self.describe());
            // Now and then, what is in flight arrives only later.
            let patient = moments % 3 == 0;
            let mut events = 0;
            loop {
                streams.clear();
                lock(&self.network).pending(&mut streams);
                let awake: Vec<usize> = (0..self.job.size)
                    .filter(|process| {
                        let has_events = lock(&self.network).has_events(*process);
                        self.runs(*process) && (ready[*process] || has_events)
                    })
                    .collect();
                let all = streams.len() + awake.len();
                if all == 0 || !patient && awake.is_empty() && self.random.below(8) == 0 {
                    break;
                }
                let next = self.random.below(all as u64) as usize;
                if let Some(stream) = streams.get(next) {
                    let some = [1, 60, 5000, usize::MAX][self.random.below(4) as usize];
                    lock(&self.network).arrive(*stream, some);
                } else {
                    let process = awake[next - streams.len()];
                    ready[process] = self.processes[process].run(self.now, &mut self.random);
                }
                events += 1;
                assert!(events < MAX_EVENTS, "seed {}: no end of events: {}", self.seed, self.describe());
                if let Some(left) = self.until_fault.checked_sub(1) {
                    self.until_fault = left;
                    if left == 0 {
                        self.go_wrong();
                    }
                }
            }
            moments += 1;
            self.now += TICK / [1, 1, 4, 20][self.random.below(4) as usize];
            ready.fill(true);
        }
    }

    /// Lets the fault happen, if it is not part of a script.
    fn go_wrong(&mut self) {
        let kept = [0, 30, 1000, usize::MAX][self.random.below(4) as usize];
        match self.job.fault {
            Fault::Kill(one, other) => {
                for process in [one, other] {
                    self.killed[process] = true;
                    lock(&self.network).kill(process, kept);
                }
            }
            Fault::Cut(one, other) => lock(&self.network).cut(one, other, kept),
            Fault::Stop(_, time) => self.stopped_until = Some(self.now + time),
            _ => {}
        }
    }

    /// Describes the job for messages of tests.
    fn describe(&self) -> String {
        let threads = |process: &Process<'_>| {
            let threads = process.threads.iter();
            threads.map(|thread| format!("{}: {:?}", thread.id, thread.outcome)).collect::<Vec<_>>()
        };
        let processes: Vec<_> = self.processes.iter().map(|process| (threads(process), process.ended)).collect();
        let Job { size, polled, contexts, fault, .. } = self.job;
        format!("{size} processes, polled: {polled}, contexts {contexts:?}, {fault:?}: {processes:#?}")
    }

    /// Checks how the job has ended.
    fn check(&self, tally: &mut Tally) {
        let (fault, seed) = (self.job.fault, self.seed);
        let elapsed = self.now.duration_since(self.begun);
        tally.longest = tally.longest.max(elapsed);
        let live = || self.processes.iter().enumerate().filter(|(process, _)| !self.killed[*process]);
        let mut kinds = Vec::new();
        for (number, members) in self.job.contexts.iter().enumerate() {
            let culprits: Vec<Rank> = fault
                .culprits()
                .into_iter()
                .filter_map(|culprit| members.iter().position(|member| member.index() == culprit))
                .map(Rank::new)
                .collect();
            let outcomes: Vec<(usize, &Result<(), Failure>)> = live()
                .flat_map(|(process, simulated)| simulated.threads.iter().map(move |thread| (process, thread)))
                .filter(|(process, thread)| {
                    thread.id == self.job.scripts[*process][number.min(self.job.scripts[*process].len() - 1)].context
                        && (number == 0) == (thread.id == crate::transport::ContextId::WORLD)
                })
                .filter_map(|(process, thread)| Some((process, thread.outcome.as_ref()?)))
                .collect();
            let failures: Vec<(usize, &Failure)> =
                outcomes.iter().filter_map(|(process, outcome)| Some((*process, outcome.as_ref().err()?))).collect();
            let concerned = match fault {
                Fault::Cut(..) => culprits.len() == 2,
                _ => !culprits.is_empty(),
            };
            assert!(concerned || failures.is_empty(), "seed {seed}: a fault elsewhere: {}", self.describe());
            for (_, failure) in &failures {
                kinds.push(match &failure.cause {
                    Cause::Deadline { deadline: Deadline::Silence, .. } => "silence",
                    Cause::Deadline { .. } => "arrival",
                    Cause::Gone { .. } => "gone",
                    Cause::Disagree { .. } => "disagree",
                    Cause::Length { .. } => "length",
                    Cause::Aborted { .. } => "aborted",
                });
                if !self.is_blamed(failure, &culprits) {
                    kinds.push("MISBLAMED");
                    if tally.ends.get(&format!("{:?} MISBLAMED", fault)).is_none() {
                        println!("seed {seed}: {failure}: {}", self.describe());
                    }
                }
            }
            let witness = failures.iter().any(|(process, _)| !fault.culprits().contains(process));
            let differ = failures.windows(2).any(|pair| pair[0].1 != pair[1].1);
            if differ && (!matches!(fault, Fault::Cut(..)) || witness) {
                kinds.push("DIFFER");
                println!("seed {seed}: differ: {}", self.describe());
            }
        }
        if live().any(|(_, process)| process.engine.disagreement().is_some()) {
            kinds.push("late");
        }
        if live().any(|(_, process)| process.ended != Some(true)) {
            kinds.push("unwell");
        }
        kinds.sort_unstable();
        kinds.dedup();
        let name = format!("{fault:?}");
        let name = name.split('(').next().unwrap_or_default();
        *tally.ends.entry(format!("{name} {kinds:?}")).or_default() += 1;
    }

    /// Returns whether a failure blames one of the culprits.
    fn is_blamed(&self, failure: &Failure, culprits: &[Rank]) -> bool {
        match &failure.cause {
            Cause::Gone { rank, .. } | Cause::Aborted { rank, .. } => culprits.contains(rank),
            Cause::Disagree { rank_a, rank_b, .. } => culprits.contains(rank_a) || culprits.contains(rank_b),
            Cause::Length { from, to, .. } => culprits.contains(from) || culprits.contains(to),
            Cause::Deadline { .. } => failure.culprit.is_some_and(|culprit| culprits.contains(&culprit)),
        }
    }
}
