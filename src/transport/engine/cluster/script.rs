//! What the processes of a simulated job do, and what goes wrong in it.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::Rank;
use crate::transport::conformance::scenario::{Random, Scenario};
use crate::transport::{ContextId, Signature, Timeouts};

/// Maximum number of processes of a job.
const MAX_SIZE: u64 = 5;

/// The timeouts of all calls.
pub(super) const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_millis(300), Duration::from_millis(500));

/// A job: its contexts, what each process calls in them, and the incident.
pub(super) struct Job {
    pub(super) size: usize,
    pub(super) polled: bool,
    /// Bytes that a stream holds.
    pub(super) capacity: usize,
    /// The members of each context.
    pub(super) contexts: Vec<Vec<Rank>>,
    /// The scripts of each process, one for each of its contexts.
    pub(super) scripts: Vec<Vec<Script>>,
    pub(super) incident: Incident,
}

/// What one thread of a process does.
pub(super) struct Script {
    pub(super) context: ContextId,
    pub(super) steps: Vec<Step>,
}

pub(super) enum Step {
    Call(Call),
    /// Computes for that long without calling.
    Compute(Duration),
    /// Aborts the context, and waits until it has failed.
    Abort,
    Panic,
}

/// A call. All members make it alike, unless this is the incident.
pub(super) struct Call {
    pub(super) scenario: Arc<Scenario>,
    pub(super) signature: Signature,
    /// Whether the memory after the call is known. It is not if a member sends other messages under
    /// the same signature.
    pub(super) is_right: bool,
}

/// What goes wrong in a job. The process is the culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Incident {
    None,
    /// Two processes of the job are killed, or one if both are the same.
    Kill(usize, usize),
    /// The connection between two processes is cut.
    Cut(usize, usize),
    /// The process is stopped for some time.
    Stop(usize, Duration),
    /// The process computes for some time before a call.
    Late(usize, Duration),
    Abort(usize),
    Panic(usize),
    /// The process leaves out the last calls.
    Return(usize),
    /// The process makes another call in place of one.
    OtherCall(usize),
    /// The process sends and expects other lengths in one call.
    OtherLengths(usize),
}

impl Incident {
    fn random(size: usize, random: &mut Random) -> Self {
        let culprit = random.below(size as u64) as usize;
        let other = (culprit + 1 + random.below(size as u64 - 1) as usize) % size;
        let some_time = |random: &mut Random| Duration::from_millis(50 + random.below(1500));
        match random.below(14) {
            0 | 1 => Self::None,
            2 | 3 => Self::Kill(culprit, culprit),
            4 => Self::Kill(culprit, other),
            5 | 6 => Self::Cut(culprit, other),
            7 => Self::Stop(culprit, some_time(random)),
            8 => Self::Late(culprit, some_time(random)),
            9 => Self::Abort(culprit),
            10 => Self::Panic(culprit),
            11 => Self::Return(culprit),
            12 => Self::OtherCall(culprit),
            _ => Self::OtherLengths(culprit),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Kill(one, other) if one == other => "kill",
            Self::Kill(..) => "kill two",
            Self::Cut(..) => "cut",
            Self::Stop(..) => "stop",
            Self::Late(..) => "late",
            Self::Abort(_) => "abort",
            Self::Panic(_) => "panic",
            Self::Return(_) => "return",
            Self::OtherCall(_) => "other call",
            Self::OtherLengths(_) => "other lengths",
        }
    }

    /// Returns the processes at fault.
    pub(super) fn culprits(self) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::Kill(one, other) | Self::Cut(one, other) => vec![one, other],
            Self::Stop(culprit, _)
            | Self::Late(culprit, _)
            | Self::Abort(culprit)
            | Self::Panic(culprit)
            | Self::Return(culprit)
            | Self::OtherCall(culprit)
            | Self::OtherLengths(culprit) => vec![culprit],
        }
    }
}

/// Scenarios for any number of members, made once.
pub(super) struct Pool(Vec<Vec<Arc<Scenario>>>);

impl Pool {
    pub(super) fn new() -> Self {
        let scenario = |size: u64, seed: u64| {
            let rounds = 1 + (seed % 3) as usize;
            Arc::new(Scenario::random(size as usize, rounds, 64 * size + seed).unwrap())
        };
        Self((0..=MAX_SIZE).map(|size| (0..32).map(|seed| scenario(size, seed)).collect()).collect())
    }

    fn pick(&self, size: usize, random: &mut Random) -> Arc<Scenario> {
        let scenarios = &self.0[size];
        Arc::clone(&scenarios[random.below(scenarios.len() as u64) as usize])
    }
}

impl Job {
    /// Makes a job by these random numbers.
    pub(super) fn random(pool: &Pool, random: &mut Random) -> Self {
        let size = 2 + random.below(MAX_SIZE - 1) as usize;
        let mut contexts = vec![(0..size).map(Rank::new).collect::<Vec<_>>()];
        if random.below(3) == 0 {
            // A second context of at least two processes, in any order.
            let mut members = contexts[0].clone();
            for at in (1..size).rev() {
                members.swap(at, random.below(at as u64 + 1) as usize);
            }
            members.truncate(2 + random.below(size as u64 - 1) as usize);
            contexts.push(members);
        }
        let incident = Incident::random(size, random);
        let mut scripts: Vec<Vec<Script>> = (0..size).map(|_| Vec::new()).collect();
        for (number, members) in contexts.iter().enumerate() {
            let context = Self::context(number);
            let calls: Vec<(Arc<Scenario>, u64)> =
                (0..1 + random.below(4)).map(|_| (pool.pick(members.len(), random), random.below(3))).collect();
            let at_incident = random.below(calls.len() as u64) as usize;
            let other = (pool.pick(members.len(), random), 3 + random.below(2));
            for member in members {
                let process = member.index();
                let steps = steps(&calls, (at_incident, &other), incident, process, random);
                scripts[process].push(Script { context, steps });
            }
        }
        // A smaller stream fills with early messages, and replies behind them miss their deadlines.
        let least = if incident == Incident::None { 200 } else { 16 << 10 };
        let capacity = [least, 64 << 10, 256 << 10][random.below(3) as usize];
        Self { size, polled: random.below(4) == 0, capacity, contexts, scripts, incident }
    }

    /// Returns the id of a context by its number, from 0.
    pub(super) fn context(number: usize) -> ContextId {
        if number == 0 { ContextId::WORLD } else { ContextId::WORLD.child(number as u64, 0) }
    }

    /// Returns the members of a script's context.
    pub(super) fn members(&self, script: &Script) -> &[Rank] {
        &self.contexts[usize::from(script.context != ContextId::WORLD)]
    }
}

/// Returns the steps of a process that makes these calls. If it is the culprit, it makes a mistake in
/// one of them.
fn steps(
    calls: &[(Arc<Scenario>, u64)],
    (at_incident, other): (usize, &(Arc<Scenario>, u64)),
    incident: Incident,
    process: usize,
    random: &mut Random,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, (scenario, kind)) in calls.iter().enumerate() {
        let is_culprit = at == at_incident && incident.culprits().contains(&process);
        if random.below(6) == 0 {
            steps.push(Step::Compute(Duration::from_millis(random.below(80))));
        }
        let (mut scenario, mut kind) = (scenario, *kind);
        match incident {
            Incident::Late(_, time) if is_culprit => steps.push(Step::Compute(time)),
            Incident::Abort(_) if is_culprit => steps.push(Step::Abort),
            Incident::Panic(_) if is_culprit => steps.push(Step::Panic),
            Incident::Return(_) if is_culprit => break,
            Incident::OtherCall(_) if is_culprit => (scenario, kind) = (&other.0, other.1),
            Incident::OtherLengths(_) if is_culprit => scenario = &other.0,
            _ => {}
        }
        let is_right = at != at_incident || !matches!(incident, Incident::OtherLengths(_));
        let signature = Signature::new(kind, format!("call of kind {kind}"));
        steps.push(Step::Call(Call { scenario: Arc::clone(scenario), signature, is_right }));
    }
    steps
}
