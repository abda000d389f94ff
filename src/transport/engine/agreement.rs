//! One failure a context, the same for everybody: who finds a fault proposes it to one of the
//! members, and that one decides.
//!
//! Everybody turns to the first member that it can talk to, that has not left, and that has not
//! slept past the deadline. That one takes the first proposal that comes to it, and tells
//! everybody. Before it decides, it has read everything that has come, unless somebody keeps
//! sending: so a process that was stopped for a while first learns what was decided meanwhile.
//!
//! Not everybody sees the same. Where a connection is cut, both its ends take the other for gone,
//! and both might decide; who is killed may have told some of what it decided, and not others. So
//! who would decide in the place of somebody that it has lost, or given up, asks all the others
//! first. Who knows of a failure tells it. Who sees the same turns to it, and takes back what it
//! had proposed to somebody else; who still hears the other turns to that one, and passes on what
//! that decides. When all have turned to it, nobody else can decide, and it does. Of two that ask
//! each other the first of the members goes on, and the other turns to it. Whose deadline has
//! passed does not know whether it slept itself, and asks likewise.
//!
//! Who has not opened the context yet says that it cannot decide, and the next one does; should it
//! open it meanwhile, it asks as well before it decides anything.
//!
//! Who has left decides nothing more, and its last word comes after what it decided: in its place
//! one need not ask. If somebody says nothing for a while, one goes on without it; then, and where
//! several are lost at once, failures may differ.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::codec::{read_failure, write_failure};
use super::context::{Context, Presence, Proposal};
use super::frame::{Header, Kind};
use super::limits::{TICK, grace};
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Disagreement, Failure};

/// How many of those who might decide are asked at once whether they are there.
const MAX_SUCCESSORS: usize = 16;

/// How often the same one is turned to again that has not decided, and says other things meanwhile.
const MAX_RETRIES: u32 = 4;

/// How often in a context somebody is turned to again that could not decide: who says now this, now
/// that, does not put it off for ever.
const MAX_REINSTATEMENTS: u32 = 32;

/// How many failures a process keeps for its supervisor.
const FAILURES: usize = 16;

impl Engine {
    /// Proposes a failure, unless there is one or something else is proposed already.
    pub(crate) fn propose(&mut self, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if context.failure.is_none() && context.proposal.is_none() {
            log::debug!("process {}: in context {id}: {failure}", self.me);
            // Its words as everybody will read them, who may get them cut.
            let failure = read_failure(&write_failure(&failure)).unwrap_or(failure);
            context.maybe_failed.store(true, Ordering::Release);
            context.proposal = Some(Proposal {
                failure,
                to: usize::MAX,
                since: Instant::now(),
                successors: Vec::new(),
                votes_requested: false,
                retries: 0,
            });
            self.send_proposal(id);
        }
    }

    /// Turns to somebody else where the one who should decide does not, or is not there any more.
    pub(crate) fn retry_proposals(&mut self) {
        let is_due = |context: &Context| {
            let proposal = context.proposal.as_ref().filter(|_| context.failure.is_none())?;
            let late = proposal.since.elapsed() > grace(context.timeouts.shortest());
            let other = self.coordinator(context, &proposal.failure) != proposal.to;
            (late || other).then_some((context.id, proposal.to, other))
        };
        let due: Vec<_> = self.contexts.values().filter_map(is_due).collect();
        for (id, to, other) in due {
            // It has waited long enough for the others.
            self.undecided |= to == self.me;
            if to != self.me && !other && !self.keeps_waiting(id, to) {
                self.give_up(id, to);
            }
            if to != self.me || other {
                self.send_proposal(id);
            }
        }
    }

    /// Whether it goes on turning to the same one: that one is there, and may be waiting for others
    /// itself.
    fn keeps_waiting(&mut self, id: ContextId, to: usize) -> bool {
        let reads = self.connections[to].as_ref().map(|connection| connection.reads);
        let proposal = self.contexts.get_mut(&id).and_then(|context| context.proposal.as_mut());
        proposal.is_some_and(|proposal| {
            proposal.retries += 1;
            let has_answered = proposal.successors.iter().any(|(process, before)| *process == to && reads > Some(*before));
            has_answered && proposal.retries <= MAX_RETRIES
        })
    }

    /// Does not turn any more to one who says nothing, nor to the next ones from whom nothing has
    /// come since: where many are silent, they do not keep the others waiting one after another.
    fn give_up(&mut self, id: ContextId, unresponsive: usize) {
        let reads = |process: usize| self.connections[process].as_ref().map(|connection| connection.reads);
        let Some(context) = self.contexts.get(&id) else { return };
        let next = context.proposal.iter().flat_map(|proposal| &proposal.successors);
        let silent: Vec<usize> =
            next.filter(|(process, before)| reads(*process) == Some(*before)).map(|(process, _)| *process).collect();
        if let Some(context) = self.contexts.get_mut(&id) {
            context.unresponsive.push(unresponsive);
            context.unresponsive.extend(silent);
        }
    }

    fn send_proposal(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get(&id) else { return };
        let Some(proposal) = &context.proposal else { return };
        let (to, failure, before) = (self.coordinator(context, &proposal.failure), proposal.failure.clone(), proposal.to);
        let members = context.members.iter().map(|member| member.index()).filter(|process| *process != self.me);
        let next = members.filter(|process| self.may_decide(context, &failure, *process)).take(MAX_SUCCESSORS);
        let reads = |process: usize| self.connections[process].as_ref().map_or(0, |connection| connection.reads);
        let successors: Vec<(usize, u64)> = next.map(|process| (process, reads(process))).collect();
        for (process, _) in &successors {
            // Whatever the answer is, it shows that there is somebody.
            self.enqueue(*process, Header::new(Kind::StatusRequest, id), &[]);
            self.pump_out(*process);
        }
        if before != to && before != self.me && before < self.connections.len() {
            self.enqueue(before, Header::new(Kind::Retract, id), &[]);
            self.pump_out(before);
        }
        if to == self.me {
            self.undecided = true;
        } else {
            self.enqueue(to, Header::new(Kind::Proposal, id), &write_failure(&failure));
            self.pump_out(to);
        }
        if let Some(context) = self.contexts.get_mut(&id) {
            let retries = context.proposal.take().filter(|before| before.to == to).map_or(0, |before| before.retries);
            context.proposal = Some(Proposal { failure, to, since: Instant::now(), successors, votes_requested: false, retries });
        }
    }

    /// Who decides on a failure, as far as this process can see.
    fn coordinator(&self, context: &Context, failure: &Failure) -> usize {
        let mut members = context.members.iter().map(|member| member.index());
        members.find(|process| self.may_decide(context, failure, *process)).unwrap_or(self.me)
    }

    fn may_decide(&self, context: &Context, failure: &Failure, process: usize) -> bool {
        // Who was silent for so long is not asked.
        let silent = matches!(failure.cause, Cause::Deadline { .. }) && !context.candidates.contains(&process);
        if silent && failure.culprit.is_some_and(|culprit| context.process(culprit) == process) {
            return false;
        }
        if process == self.me {
            return context.presence == Presence::Open;
        }
        let out = context.unresponsive.contains(&process) || context.unable.contains(&process);
        self.is_reachable(process) && context.lanes[process].left.is_none() && !out
    }

    /// Whether nobody else can decide on the failure that this process has to decide on.
    fn may_decide_now(&self, context: &Context, proposal: &Proposal) -> bool {
        if proposal.votes_requested && proposal.since.elapsed() > grace(context.timeouts.shortest()) {
            return true;
        }
        let members = || context.members.iter().map(|member| member.index());
        let has_left = |process: usize| {
            let fin_received = self.connections[process].as_ref().is_some_and(|connection| connection.fin_received);
            fin_received || context.lanes[process].left.is_some()
        };
        let first = members().take_while(|process| *process != self.me).all(has_left);
        // Others may have turned to somebody else since they heard that this one cannot.
        let awake = !matches!(proposal.failure.cause, Cause::Deadline { .. }) && !context.declined;
        let turned = |process: usize| process == self.me || context.voters.contains(&process);
        first && awake
            || members().all(|process| turned(process) || !self.may_decide(context, &proposal.failure, process))
    }

    /// Takes note of a proposal, or that somebody asks; who does hears at once if there is a
    /// failure already. `None` if there are too many contexts.
    pub(crate) fn handle_proposal(&mut self, from: usize, id: ContextId, failure: Failure, kind: Kind) -> Option<()> {
        let context = self.expect(from, id)?;
        if let Some(known) = &context.failure {
            let text = write_failure(known);
            self.send_unless_full(from, Header::new(Kind::Decision, id), &text);
            return Some(());
        }
        if context.presence == Presence::Expected {
            // It does not know the members.
            context.declined = true;
            self.send_unless_full(from, Header::new(Kind::CannotDecide, id), &[]);
            return Some(());
        }
        let list = if kind == Kind::VoteRequest { &mut context.candidates } else { &mut context.voters };
        if !list.contains(&from) {
            list.push(from);
        }
        let out = context.unable.contains(&from) || context.unresponsive.contains(&from);
        if kind == Kind::VoteRequest && out && context.reinstatements < MAX_REINSTATEMENTS {
            // Who asks is there, and able.
            context.reinstatements += 1;
            context.unable.retain(|process| *process != from);
            context.unresponsive.retain(|process| *process != from);
        }
        self.propose(id, failure);
        self.undecided = true;
        self.redirect_proposal(id);
        Some(())
    }

    /// Who does not read what it hears cannot need to hear it again.
    fn send_unless_full(&mut self, to: usize, header: Header, text: &[u8]) {
        if !self.is_full(to) {
            self.enqueue(to, header, text);
            self.pump_out(to);
        }
    }

    /// Turns to whoever should decide now, if that is somebody else than before.
    fn redirect_proposal(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get(&id) else { return };
        let Some(proposal) = &context.proposal else { return };
        if self.coordinator(context, &proposal.failure) != proposal.to {
            self.send_proposal(id);
        }
    }

    /// Somebody that was asked cannot decide: others do.
    pub(crate) fn unable(&mut self, from: usize, id: ContextId) {
        let Some(context) = self.contexts.get_mut(&id).filter(|context| context.failure.is_none()) else { return };
        if !context.unable.contains(&from) {
            context.unable.push(from);
            self.redirect_proposal(id);
        }
    }

    /// Makes failures of what was proposed, or asks the others whether it may. Everything that has
    /// come must have been read.
    pub(crate) fn decide(&mut self) {
        // If this process was stopped since it looked at the sockets, the decision may be there.
        if !self.undecided || self.looked.elapsed() >= 4 * TICK {
            return;
        }
        self.undecided = false;
        let mine = |context: &Context| {
            let proposal =
                context.proposal.as_ref().filter(|proposal| context.failure.is_none() && proposal.to == self.me)?;
            let go_ahead = self.may_decide_now(context, proposal);
            (go_ahead || !proposal.votes_requested).then(|| (context.id, proposal.failure.clone(), go_ahead))
        };
        let mine: Vec<_> = self.contexts.values().filter_map(mine).collect();
        for (id, failure, go_ahead) in mine {
            let text = write_failure(&failure);
            if go_ahead {
                self.fail(id, failure);
                self.broadcast(id, Header::new(Kind::Decision, id), &text);
            } else {
                if let Some(proposal) = self.contexts.get_mut(&id).and_then(|context| context.proposal.as_mut()) {
                    (proposal.votes_requested, proposal.since) = (true, Instant::now());
                }
                self.broadcast(id, Header::new(Kind::VoteRequest, id), &text);
            }
        }
    }

    /// Somebody has decided. Who has turned to this process hears of it from here: it may not hear
    /// the one who decided. Nor may who is at fault, if that is still there.
    pub(crate) fn decided(&mut self, from: usize, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get(&id).filter(|context| context.failure.is_none()) else { return };
        let mut others = [&context.voters[..], &context.candidates].concat();
        others.extend(failure.culprit.map(|culprit| context.process(culprit)));
        let text = write_failure(&failure);
        self.fail(id, failure);
        others.retain(|process| ![from, self.me].contains(process) && *process < self.connections.len());
        others.sort_unstable();
        others.dedup();
        for process in others {
            self.enqueue(process, Header::new(Kind::Decision, id), &text);
            self.pump_out(process);
        }
    }

    /// Why a round without a failure does not end: whoever has what it has lent does not give it
    /// back.
    pub(crate) fn stranded(&self, id: ContextId) -> Option<Failure> {
        self.own_failure(id, |rank| Cause::Aborted { rank, reason: "what it has lent does not come back".into() })
    }

    /// The process is at its end: a thread that goes on, since another one has the process exit, is
    /// not to make calls without the others.
    pub(crate) fn fail_open(&mut self) {
        for id in self.still_open() {
            if let Some(failure) = self.own_failure(id, |rank| Cause::Gone { rank, how: "has ended".into() }) {
                self.fail(id, failure);
            }
        }
    }

    /// The failure of a context's last call, of which this process is the cause.
    fn own_failure(&self, id: ContextId, cause: impl FnOnce(Rank) -> Cause) -> Option<Failure> {
        let context = self.contexts.get(&id)?;
        let ((call, round), rank) = (context.at().unwrap_or_default(), context.rank_of(self.me)?);
        let description = context.called(call).map_or_else(|| "".into(), |signature| signature.description);
        Some(Failure { call, description, round, observer: rank, culprit: Some(rank), cause: cause(rank) })
    }

    /// A context has failed.
    pub(crate) fn fail(&mut self, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get_mut(&id).filter(|context| context.failure.is_none()) else { return };
        if let Some(rank) = context.rank_of(self.me).filter(|_| self.failures.len() < FAILURES) {
            let members = (&*context.members).into();
            self.failures.push(Disagreement { failure: failure.clone(), rank, members });
        }
        context.failure = Some(failure);
        self.any_failed = true;
        context.maybe_failed.store(true, Ordering::Release);
        (context.proposal, context.voters, context.candidates) = (None, Vec::new(), Vec::new());
        context.lanes.iter_mut().for_each(|lane| lane.into.unexpected = Default::default());
    }
}
