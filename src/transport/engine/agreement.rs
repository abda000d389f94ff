//! Failure agreement: a context has one failure, the same on every member. A member that finds a
//! fault proposes it to the coordinator, which decides.
//!
//! The coordinator is the first member that is reachable, has not left, and has not been silent
//! past its deadline. It takes the first proposal that arrives and sends its decision to all
//! members. Before it decides, it reads everything that has arrived, unless some peer keeps
//! sending. So a process that was suspended for a while first learns what was decided meanwhile.
//!
//! # When members disagree about the coordinator
//!
//! If a connection is cut, each end considers the other lost, and both might decide. A coordinator
//! that is killed may have sent its decision to some members only. So a process that would decide
//! in place of a member that it has lost or given up on first sends a vote request to all others.
//!
//! - A member that knows of a failure replies with it.
//! - A member that sees the same coordinator proposes to it, and retracts what it proposed to
//!   another.
//! - A member that still reaches the earlier coordinator proposes to that one, and forwards its
//!   decision.
//!
//! Once all members have proposed to the process, no other can decide, and it does. If two
//! processes request votes from each other, the earlier member continues and the other proposes to
//! it. A process whose deadline has passed cannot tell whether it was suspended itself, so it
//! requests votes too.
//!
//! A process that has not opened the context replies that it cannot decide, and the next member
//! does. If it opens the context meanwhile, it also requests votes before it decides anything.
//!
//! # Limits
//!
//! A process that has left decides nothing more, and its last frame follows its decisions, so no
//! process needs its vote. If a member is silent for a while, agreement continues without it. In
//! that case, and if several members are lost at once, members may see different failures.

use std::sync::atomic::Ordering;

use super::context::{Context, Presence, Proposal};
use super::frame::{Header, Kind};
use super::limits::{TICK, grace};
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::codec::{decode, encode};
use crate::transport::{Cause, ContextId, Disagreement, Failure};

/// Maximum number of possible coordinators that are probed at once.
const MAX_SUCCESSORS: usize = 16;

/// Maximum number of times that a proposal goes again to a coordinator that has not decided but
/// sends other frames.
const MAX_RETRIES: u32 = 4;

/// Maximum number of times per context that a member which could not decide becomes eligible again.
/// A member that keeps changing its answer cannot delay the agreement for ever.
const MAX_REINSTATEMENTS: u32 = 32;

/// Maximum number of failures that a process keeps for its supervisor.
const FAILURES: usize = 16;

impl Engine {
    /// Proposes a failure, unless the context has failed or has a proposal.
    pub(crate) fn propose(&mut self, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if context.failure.is_none() && context.proposal.is_none() {
            log::debug!("process {}: in context {id}: {failure}", self.me);
            // Uses the description as other members will read it, which may be truncated.
            let failure = decode(&encode(&failure)).unwrap_or(failure);
            context.maybe_failed.store(true, Ordering::Release);
            context.proposal = Some(Proposal {
                failure,
                to: usize::MAX,
                since: self.now,
                successors: Vec::new(),
                votes_requested: false,
                retries: 0,
            });
            self.send_proposal(id);
        }
    }

    /// Sends proposals to another coordinator if the present one does not decide or is gone.
    pub(crate) fn retry_proposals(&mut self) {
        let is_due = |context: &Context| {
            let proposal = context.proposal.as_ref().filter(|_| context.failure.is_none())?;
            let late = self.now.duration_since(proposal.since) > grace(context.timeouts.shortest());
            let other = self.coordinator(context, &proposal.failure) != proposal.to;
            (late || other).then_some((context.id, proposal.to, other))
        };
        let due: Vec<_> = self.contexts.values().filter_map(is_due).collect();
        for (id, to, other) in due {
            // It has waited long enough for the votes of the others.
            self.undecided |= to == self.me;
            if to != self.me && !other && !self.keeps_waiting(id, to) {
                self.give_up(id, to);
            }
            if to != self.me || other {
                self.send_proposal(id);
            }
        }
    }

    /// Returns whether to keep waiting for the same coordinator: it is alive, and may be waiting
    /// for others itself.
    fn keeps_waiting(&mut self, id: ContextId, to: usize) -> bool {
        let reads = self.connections[to].as_ref().map(|connection| connection.reads);
        let proposal = self.contexts.get_mut(&id).and_then(|context| context.proposal.as_mut());
        proposal.is_some_and(|proposal| {
            proposal.retries += 1;
            let has_answered =
                proposal.successors.iter().any(|(process, before)| *process == to && reads > Some(*before));
            has_answered && proposal.retries <= MAX_RETRIES
        })
    }

    /// Excludes a silent coordinator, and those of its successors that have sent nothing since they
    /// were probed. So if many members are silent, they are not waited for one after another.
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
        let (to, failure, before) =
            (self.coordinator(context, &proposal.failure), proposal.failure.clone(), proposal.to);
        let members = context.members.iter().map(|member| member.index()).filter(|process| *process != self.me);
        let next = members.filter(|process| self.may_decide(context, &failure, *process)).take(MAX_SUCCESSORS);
        let reads = |process: usize| self.connections[process].as_ref().map_or(0, |connection| connection.reads);
        let successors: Vec<(usize, u64)> = next.map(|process| (process, reads(process))).collect();
        for (process, _) in &successors {
            // Any answer shows that the process is alive.
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
            self.enqueue(to, Header::new(Kind::Proposal, id), &encode(&failure));
            self.pump_out(to);
        }
        let now = self.now;
        if let Some(context) = self.contexts.get_mut(&id) {
            let retries = context.proposal.take().filter(|before| before.to == to).map_or(0, |before| before.retries);
            context.proposal = Some(Proposal { failure, to, since: now, successors, votes_requested: false, retries });
        }
    }

    /// Returns the process that should decide on a failure, as far as this process can see.
    fn coordinator(&self, context: &Context, failure: &Failure) -> usize {
        let mut members = context.members.iter().map(|member| member.index());
        members.find(|process| self.may_decide(context, failure, *process)).unwrap_or(self.me)
    }

    fn may_decide(&self, context: &Context, failure: &Failure, process: usize) -> bool {
        // A member that was silent for so long is not asked.
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

    /// Returns whether no other process can decide on the failure that this process has to decide
    /// on.
    fn may_decide_now(&self, context: &Context, proposal: &Proposal) -> bool {
        if proposal.votes_requested && self.now.duration_since(proposal.since) > grace(context.timeouts.shortest()) {
            return true;
        }
        let members = || context.members.iter().map(|member| member.index());
        let has_left = |process: usize| {
            let fin_received = self.connections[process].as_ref().is_some_and(|connection| connection.fin_received);
            fin_received || context.lanes[process].left.is_some()
        };
        let first = members().take_while(|process| *process != self.me).all(has_left);
        // Others may have turned to another coordinator since they learned that this process cannot
        // decide.
        let awake = !matches!(proposal.failure.cause, Cause::Deadline { .. }) && !context.declined;
        let turned = |process: usize| process == self.me || context.voters.contains(&process);
        first && awake
            || members().all(|process| turned(process) || !self.may_decide(context, &proposal.failure, process))
    }

    /// Handles a proposal or a vote request. If the context has failed, the sender gets the
    /// decision at once. Returns `None` if there are too many contexts.
    pub(crate) fn handle_proposal(&mut self, from: usize, id: ContextId, failure: Failure, kind: Kind) -> Option<()> {
        let context = self.expect(from, id)?;
        if let Some(known) = &context.failure {
            let text = encode(known);
            self.send_unless_full(from, Header::new(Kind::Decision, id), &text);
            return Some(());
        }
        if context.presence == Presence::Expected {
            // This process does not know the members yet.
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
            // A process that requests votes is alive and able to decide.
            context.reinstatements += 1;
            context.unable.retain(|process| *process != from);
            context.unresponsive.retain(|process| *process != from);
        }
        self.propose(id, failure);
        self.undecided = true;
        self.redirect_proposal(id);
        Some(())
    }

    /// Sends a control frame, unless the receiver has left too many unread: then it cannot need
    /// this one.
    fn send_unless_full(&mut self, to: usize, header: Header, text: &[u8]) {
        if !self.is_full(to) {
            self.enqueue(to, header, text);
            self.pump_out(to);
        }
    }

    /// Sends the proposal to the present coordinator, if that has changed.
    fn redirect_proposal(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get(&id) else { return };
        let Some(proposal) = &context.proposal else { return };
        if self.coordinator(context, &proposal.failure) != proposal.to {
            self.send_proposal(id);
        }
    }

    /// Records that a process cannot decide, so that the next member does.
    pub(crate) fn unable(&mut self, from: usize, id: ContextId) {
        let Some(context) = self.contexts.get_mut(&id).filter(|context| context.failure.is_none()) else { return };
        if !context.unable.contains(&from) {
            context.unable.push(from);
            self.redirect_proposal(id);
        }
    }

    /// Decides on the proposals that this process has to decide on, or requests votes for them.
    /// Everything that has arrived must have been read.
    pub(crate) fn decide(&mut self) {
        // If this process was suspended since it last polled the wire, a decision may have arrived.
        if !self.undecided || self.now.duration_since(self.looked) >= 4 * TICK {
            return;
        }
        self.undecided = false;
        let mine = |context: &Context| {
            // A process that has left while it was to decide leaves that to the next member.
            let open = context.failure.is_none() && context.presence == Presence::Open;
            let proposal = context.proposal.as_ref().filter(|proposal| open && proposal.to == self.me)?;
            let go_ahead = self.may_decide_now(context, proposal);
            (go_ahead || !proposal.votes_requested).then(|| (context.id, proposal.failure.clone(), go_ahead))
        };
        let mine: Vec<_> = self.contexts.values().filter_map(mine).collect();
        for (id, failure, go_ahead) in mine {
            let text = encode(&failure);
            if go_ahead {
                self.fail(id, failure);
                self.broadcast(id, Header::new(Kind::Decision, id), &text);
            } else {
                let now = self.now;
                if let Some(proposal) = self.contexts.get_mut(&id).and_then(|context| context.proposal.as_mut()) {
                    (proposal.votes_requested, proposal.since) = (true, now);
                }
                self.broadcast(id, Header::new(Kind::VoteRequest, id), &text);
            }
        }
    }

    /// Handles a decision. This process forwards it to its voters and candidates, which may not be
    /// able to reach the process that decided. The same holds for the culprit, if it is alive.
    pub(crate) fn decided(&mut self, from: usize, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get(&id).filter(|context| context.failure.is_none()) else { return };
        let mut others = [&context.voters[..], &context.candidates].concat();
        others.extend(failure.culprit.map(|culprit| context.process(culprit)));
        let text = encode(&failure);
        self.fail(id, failure);
        others.retain(|process| ![from, self.me].contains(process) && *process < self.connections.len());
        others.sort_unstable();
        others.dedup();
        for process in others {
            self.enqueue(process, Header::new(Kind::Decision, id), &text);
            self.pump_out(process);
        }
    }

    /// Returns the failure of a round that cannot end because its memory is not returned.
    pub(crate) fn stranded(&self, id: ContextId) -> Option<Failure> {
        self.own_failure(id, |rank| Cause::Aborted {
            rank,
            reason: "memory lent to the wire does not come back".into(),
        })
    }

    /// Fails all open contexts, since the process is at its end. A thread that is still running,
    /// because another thread exits the process, must not make calls without the others.
    pub(crate) fn fail_open(&mut self) {
        for id in self.still_open() {
            if let Some(failure) = self.own_failure(id, |rank| Cause::Gone { rank, how: "has ended".into() }) {
                self.fail(id, failure);
            }
        }
    }

    /// Returns the failure of a context's last call that this process has caused.
    fn own_failure(&self, id: ContextId, cause: impl FnOnce(Rank) -> Cause) -> Option<Failure> {
        let context = self.contexts.get(&id)?;
        let ((call, round), rank) = (context.at().unwrap_or_default(), context.rank_of(self.me)?);
        let description = context.called(call).map_or_else(|| "".into(), |signature| signature.description);
        Some(Failure { call, description, round, observer: rank, culprit: Some(rank), cause: cause(rank) })
    }

    /// Sets the failure of a context. Started calls of a context that is aborted fail too.
    pub(crate) fn fail(&mut self, id: ContextId, failure: Failure) {
        let aborted = matches!(failure.cause, Cause::Aborted { .. }).then(|| failure.clone());
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
        if let Some(aborted) = aborted {
            self.propose(id.of_started_calls(), aborted);
        }
    }
}
