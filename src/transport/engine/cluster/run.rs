//! Runs a simulated job: chooses what happens next, and checks how it ends.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::network::{Network, lock};
use super::process::Process;
use super::script::{Incident, Job, Pool};
use crate::ids::Rank;
use crate::transport::conformance::scenario::Random;
use crate::transport::engine::limits::TICK;
use crate::transport::{Cause, Failure};

/// The time after which a job must have ended.
const LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of events at one moment.
const MAX_EVENTS: u32 = 200_000;

/// Runs the job of a seed. Returns its incident, and whether something has failed.
pub(super) fn run(seed: u64, pool: &Pool) -> (Incident, bool) {
    let mut random = Random::new(seed);
    let job = Job::random(pool, &mut random);
    let mut cluster = Cluster::new(seed, &job, random);
    cluster.run();
    (job.incident, cluster.check())
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
    /// Number of events until the incident.
    until_incident: u64,
}

impl<'j> Cluster<'j> {
    fn new(seed: u64, job: &'j Job, mut random: Random) -> Self {
        let network = Arc::new(Mutex::new(Network::new(job.size, job.capacity)));
        let now = Instant::now();
        let process = |me: usize| {
            let mut process = Process::new((me, job.size), &network, job.polled, now);
            for script in &job.scripts[me] {
                process.add_thread(script, job.members(script));
            }
            process
        };
        let processes: Vec<_> = (0..job.size).map(process).collect();
        let magnitude = 3 + random.below(6);
        let until_incident = random.below(1 << magnitude);
        let killed = vec![false; job.size];
        Self { seed, job, random, network, processes, killed, stopped_until: None, begun: now, now, until_incident }
    }

    /// Returns whether a process is there, has not ended and is not stopped.
    fn runs(&self, process: usize) -> bool {
        let is_stopped = matches!(self.job.incident, Incident::Stop(stopped, _) if stopped == process)
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
            assert!(elapsed < LIMIT, "not over after {elapsed:?}: {}", self.describe());
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
                assert!(events < MAX_EVENTS, "no end of events: {}", self.describe());
                if let Some(left) = self.until_incident.checked_sub(1) {
                    self.until_incident = left;
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

    /// Lets the incident happen, if it is not part of a script.
    fn go_wrong(&mut self) {
        let kept = [0, 30, 1000, usize::MAX][self.random.below(4) as usize];
        match self.job.incident {
            Incident::Kill(one, other) => {
                for process in [one, other] {
                    self.killed[process] = true;
                    lock(&self.network).end(process, kept);
                }
            }
            Incident::Cut(one, other) => lock(&self.network).cut(one, other, kept),
            Incident::Stop(_, time) => self.stopped_until = Some(self.now + time),
            _ => {}
        }
    }

    /// Describes the job and how its threads have ended, for messages of tests.
    fn describe(&self) -> String {
        let Job { size, polled, contexts, incident, .. } = self.job;
        let mut text = format!("seed {}: {size} processes, {incident:?}, polled: {polled}, {contexts:?}", self.seed);
        for (me, process) in self.processes.iter().enumerate() {
            for thread in &process.threads {
                let outcome = match &thread.outcome {
                    Some(Ok(())) => "is done".to_owned(),
                    Some(Err(failure)) => format!("has failed: {failure:?}"),
                    None => "has not ended".to_owned(),
                };
                text += &format!("\nprocess {me} in {}: {outcome}", thread.id);
            }
            text += &format!("\nprocess {me} has ended: {:?}", process.ended);
        }
        text
    }

    /// Checks how the job has ended. Returns whether something has failed.
    fn check(&self) -> bool {
        let incident = self.job.incident;
        let live = || self.processes.iter().enumerate().filter(|(process, _)| !self.killed[*process]);
        let mut failed = false;
        for (number, members) in self.job.contexts.iter().enumerate() {
            let threads =
                live().flat_map(|(process, Process { threads, .. })| threads.iter().map(move |t| (process, t)));
            let failures =
                threads.filter(|(_, thread)| thread.id == Job::context(number)).filter_map(|(process, thread)| {
                    let failure = thread.outcome.as_ref()?.as_ref().err()?;
                    Some((process, failure))
                });
            failed |= self.check_failures(members, &failures.collect::<Vec<_>>());
        }
        let reported = failed || live().any(|(_, process)| process.engine.report.disagreement().is_some());
        let well = live().all(|(_, process)| process.ended == Some(true));
        match incident {
            Incident::None => assert!(!reported && well, "nothing was wrong: {}", self.describe()),
            Incident::Late(..) => assert!(reported || well, "others wait until it has ended: {}", self.describe()),
            Incident::Abort(_) => assert!(failed, "it has aborted: {}", self.describe()),
            Incident::Return(_) | Incident::OtherCall(_) => {
                assert!(reported, "it called otherwise: {}", self.describe())
            }
            _ => {}
        }
        reported
    }

    /// Checks the failures that the processes of a context have seen. Returns whether there are any.
    fn check_failures(&self, members: &[Rank], failures: &[(usize, &Failure)]) -> bool {
        let incident = self.job.incident;
        let rank_of = |process: usize| members.iter().position(|member| member.index() == process).map(Rank::new);
        let culprits: Vec<Rank> = incident.culprits().into_iter().filter_map(rank_of).collect();
        let is_concerned = culprits.len() == incident.culprits().len()
            || matches!(incident, Incident::Kill(..)) && !culprits.is_empty();
        assert!(is_concerned || failures.is_empty(), "no culprit is a member: {}", self.describe());
        // A process that was stopped for long finds that the others have ended. Two ends of a cut
        // connection learn of each other only by a third process.
        let is_third = |process: &usize| !incident.culprits().contains(process);
        let agree = failures.iter().filter(|(process, _)| match incident {
            Incident::Stop(..) => is_third(process),
            Incident::Cut(..) => failures.iter().any(|(process, _)| is_third(process)),
            Incident::Kill(one, other) => one == other,
            _ => true,
        });
        let agree: Vec<&Failure> = agree.map(|(_, failure)| *failure).collect();
        assert!(agree.windows(2).all(|pair| pair[0] == pair[1]), "members see different failures: {}", self.describe());
        // If a process has a thread in each of two contexts, one may be found to hold up the other.
        // A rank that sends other lengths than it says cannot be told from one that expects them.
        let is_clear = match incident {
            Incident::Late(..) | Incident::Stop(..) => self.job.contexts.len() == 1,
            Incident::OtherLengths(_) => false,
            _ => true,
        };
        let blamed = |failure: &Failure| match &failure.cause {
            Cause::Gone { rank, .. } | Cause::Aborted { rank, .. } => culprits.contains(rank),
            Cause::Disagree { rank_a, rank_b, .. } => culprits.contains(rank_a) || culprits.contains(rank_b),
            Cause::Length { from, to, .. } => culprits.contains(from) || culprits.contains(to),
            Cause::Deadline { .. } => failure.culprit.is_some_and(|culprit| culprits.contains(&culprit)),
        };
        assert!(
            !is_clear || agree.iter().all(|failure| blamed(failure)),
            "another rank is blamed: {}",
            self.describe()
        );
        !failures.is_empty()
    }
}
