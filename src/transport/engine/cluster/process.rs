//! A simulated process: an engine, and the threads that make its calls.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::network::{Network, SimulatedWire};
use super::script::{Call, Script, Step, TIMEOUTS};
use crate::ids::Rank;
use crate::plan::{Buffers, Program};
use crate::transport::bases::Bases;
use crate::transport::conformance::scenario::{Random, RankBuffers};
use crate::transport::engine::context::ActiveRound;
use crate::transport::engine::ending::Ending;
use crate::transport::engine::limits::TICK;
use crate::transport::engine::round::Round;
use crate::transport::engine::state::Engine;
use crate::transport::engine::watch::RoundInfo;
use crate::transport::{Cause, ContextId, Failure, History};

/// A process; see the [module](self).
pub(super) struct Process<'s> {
    pub(super) engine: Engine,
    pub(super) threads: Vec<Thread<'s>>,
    ending: Option<Ending>,
    /// Once it has ended: whether all others have acknowledged that.
    pub(super) ended: Option<bool>,
    /// The time when its listener last ran.
    listened: Instant,
}

/// A thread that makes the calls of one context.
pub(super) struct Thread<'s> {
    pub(super) id: ContextId,
    rank: Rank,
    /// Its number in the process, from 1.
    number: u64,
    script: &'s Script,
    /// The step, the round of its call, and the memory of that call.
    step: usize,
    round: usize,
    memory: RankBuffers,
    waiting: Option<Round<'s>>,
    history: History,
    /// The time until which it computes.
    busy: Option<Instant>,
    pub(super) outcome: Option<Result<(), Failure>>,
}

impl<'s> Process<'s> {
    /// Starts process `me` of `size`. Its wire is polled, as that of MPI, or reports events.
    pub(super) fn new((me, size): (usize, usize), network: &Arc<Mutex<Network>>, polled: bool, now: Instant) -> Self {
        let wire = Box::new(SimulatedWire { me, network: Arc::clone(network), takes_the_job: polled });
        let engine = Engine::new((me, size), wire, polled, now);
        Self { engine, threads: Vec::new(), ending: None, ended: None, listened: now }
    }

    /// Adds a thread that follows a script in a context of these members, which it opens.
    pub(super) fn add_thread(&mut self, script: &'s Script, members: &[Rank]) {
        let id = script.context;
        let rank =
            members.iter().position(|member| member.index() == self.engine.me).map_or_else(Rank::default, Rank::new);
        assert!(self.engine.open(id, members).is_some(), "{id} is open");
        self.threads.push(Thread {
            id,
            rank,
            number: 1 + self.threads.len() as u64,
            script,
            step: 0,
            round: 0,
            memory: RankBuffers::default(),
            waiting: None,
            history: History::default(),
            busy: None,
            outcome: None,
        });
    }

    /// Does what its threads do once they run. Returns whether there may be more to do at once.
    pub(super) fn run(&mut self, now: Instant, random: &mut Random) -> bool {
        let Self { engine, threads, ending, ended, listened } = self;
        if ended.is_some() {
            return false;
        }
        engine.handle_events(now);
        engine.resume();
        if now.duration_since(*listened) >= TICK {
            *listened = now;
            engine.sweep(now);
            engine.supervise();
        }
        let mut more = false;
        let first = random.below(threads.len().max(1) as u64) as usize;
        let (before, after) = threads.split_at_mut(first);
        for thread in after.iter_mut().chain(before) {
            more |= thread.run(engine, now, random);
        }
        if threads.iter().all(|thread| thread.outcome.is_some()) {
            let ending = ending.get_or_insert_with(|| {
                more = true;
                engine.open_no_more();
                Ending::begin(engine)
            });
            engine.sweep(now);
            *ended = ending.poll(engine);
        }
        more || !engine.unfinished.is_empty()
    }
}

impl<'s> Thread<'s> {
    /// Continues until it waits or has done one step. Returns whether there may be more to do.
    fn run(&mut self, engine: &mut Engine, now: Instant, random: &mut Random) -> bool {
        if self.outcome.is_some() || self.busy.is_some_and(|until| now < until) {
            return false;
        }
        if let Some(waiting) = &mut self.waiting {
            if waiting.watch().is_time_to_sweep(now) {
                engine.sweep(now);
            }
            let Some(result) = waiting.poll(engine) else { return false };
            self.waiting = None;
            engine.withdraw(self.id);
            if let Err(failure) = result {
                self.end(engine, Err(failure));
            } else {
                self.round += 1;
            }
            return true;
        }
        match self.script.steps.get(self.step) {
            None => self.end(engine, Ok(())),
            Some(Step::Compute(time)) => {
                (self.busy, self.step) = (Some(now + *time), self.step + 1);
            }
            Some(Step::Abort) => {
                if let Some(failure) = engine.failure(self.id).cloned() {
                    self.end(engine, Err(failure));
                } else if engine.is_undecided(self.id) {
                    return false;
                } else {
                    let (rank, cause) = (self.rank, Cause::aborted(self.rank, "it has no data"));
                    let failure = Failure::new(self.call(), "a call", rank, cause);
                    engine.propose(self.id, Failure { culprit: Some(rank), ..failure });
                }
            }
            Some(Step::Panic) => {
                engine.leave(self.id, true);
                self.outcome = Some(Ok(()));
            }
            Some(Step::Call(call)) => self.continue_call(engine, call, random),
        }
        true
    }

    /// Returns the number of the next call.
    fn call(&self) -> u64 {
        self.history.calls + 1
    }

    /// Posts the next round of a call, or completes the call.
    fn continue_call(&mut self, engine: &mut Engine, call: &'s Call, random: &mut Random) {
        let (rank, scenario) = (self.rank.index(), &*call.scenario);
        // A call without messages is a round too, as in a communicator: others see that it is made.
        let program = match &scenario.programs[rank] {
            program if program.rounds().is_empty() => Program::idle(),
            program => program,
        };
        if self.round == 0 {
            self.memory = scenario.before[rank].clone();
        }
        let Some(round) = program.rounds().get(self.round) else {
            // A call of another length or by another program may end with any bytes.
            if call.is_right {
                assert!(self.memory == scenario.after[rank], "rank {rank} has other bytes after call {}", self.call());
            }
            self.history.add(call.signature.fingerprint);
            (self.step, self.round) = (self.step + 1, 0);
            return;
        };
        let number = self.call();
        let RankBuffers { input, output, scratch } = &mut self.memory;
        let bases = Bases::of(&mut Buffers { input, output, scratch });
        let info = RoundInfo {
            id: self.id,
            rank: self.rank,
            call: number,
            signature: &call.signature,
            round: round.number,
            timeouts: TIMEOUTS,
        };
        let mut waiting = Round::begin(engine, info);
        if random.below(4) == 0 {
            engine.sweep(engine.now);
        }
        // SAFETY: the program is borrowed for as long as this thread, and nothing accesses the
        // buffers until the round has been withdrawn. A process that is killed is not run again.
        let mut active = unsafe { ActiveRound::new((program, self.round), bases, number, &call.signature, TIMEOUTS) };
        active.driver = self.number;
        waiting.post(engine, active, (&round.sends, &round.receives));
        self.waiting = Some(waiting);
    }

    /// Leaves the context.
    fn end(&mut self, engine: &mut Engine, outcome: Result<(), Failure>) {
        if outcome.is_ok()
            && engine.failure(self.id).is_none()
            && let Some(context) = engine.contexts.get_mut(&self.id)
        {
            context.history = Some(self.history);
        }
        engine.leave(self.id, false);
        self.outcome = Some(outcome);
    }
}
