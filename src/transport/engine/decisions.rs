//! Failures of contexts: proposes them, carries the frames of the [agreement](super::agreement), and
//! sets what is decided.

use super::agreement::{Agreement, Electorate, Frames, PeerState};
use super::context::{Context, Presence};
use super::frame::{Header, Kind};
use super::limits::{TICK, grace};
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::{Cause, ContextId, Disagreement, Failure};

impl Engine {
    /// Takes a step of the agreement of a context, and sends the frames that follow from it. Returns
    /// `None` if there is no such context.
    fn agree<T>(
        &mut self,
        id: ContextId,
        step: impl FnOnce(&mut Agreement, &Electorate<'_>, &mut Frames) -> T,
    ) -> Option<T> {
        // Taken out, since it looks at the rest of the engine.
        let mut agreement = std::mem::take(&mut self.contexts.get_mut(&id)?.agreement);
        let context = self.contexts.get(&id)?;
        let mut frames = Frames::new();
        let electorate = Electorate {
            now: self.now,
            me: self.me,
            members: &context.members,
            open: context.presence == Presence::Open,
            grace: grace(context.timeouts.shortest()),
            peer: &|process| self.peer(context, process),
        };
        let result = step(&mut agreement, &electorate, &mut frames);
        let text = agreement.subject().filter(|_| !frames.is_empty()).map(encode).unwrap_or_default();
        self.contexts.get_mut(&id)?.agreement = agreement;
        for (to, kind) in frames {
            let carries_failure = matches!(kind, Kind::Proposal | Kind::VoteRequest | Kind::Decision);
            self.enqueue(to, Header::new(kind, id), if carries_failure { &text } else { &[] });
            self.pump_out(to);
        }
        Some(result)
    }

    fn peer(&self, context: &Context, process: usize) -> PeerState {
        let connection = self.connections.get(process).and_then(Option::as_ref);
        PeerState {
            reachable: self.is_reachable(process),
            left: context.lanes.get(process).is_some_and(|lane| lane.left.is_some()),
            ended: connection.is_some_and(|connection| connection.fin_received),
            reads: connection.map_or(0, |connection| connection.reads),
        }
    }

    /// Proposes a failure, unless the context has failed or has a proposal.
    pub(crate) fn propose(&mut self, id: ContextId, failure: Failure) {
        if self.contexts.get(&id).is_some_and(|context| context.agreement.is_sound()) {
            log::debug!("process {}: in context {id}: {failure}", self.me);
            self.agree(id, |agreement, members, frames| agreement.propose(failure, members, frames));
        }
    }

    /// Returns the contexts whose failure is proposed and not decided yet.
    fn pending(&self) -> Vec<ContextId> {
        let pending = self.contexts.values().filter(|context| context.agreement.is_pending());
        pending.map(|context| context.id).collect()
    }

    /// Sends proposals to another coordinator if the present one does not decide or is gone.
    pub(crate) fn retry_proposals(&mut self) {
        for id in self.pending() {
            self.agree(id, Agreement::retry);
        }
    }

    /// Handles a proposal or a vote request. Returns `None` if there are too many contexts.
    pub(crate) fn handle_proposal(&mut self, from: usize, id: ContextId, failure: Failure, kind: Kind) -> Option<()> {
        self.expect(from, id)?;
        let reply = self.agree(id, |agreement, members, frames| {
            let reply = agreement.proposed((from, kind), failure, members, frames)?;
            Some((reply, agreement.failure().map(encode).unwrap_or_default()))
        });
        if let Some((reply, text)) = reply?
            && !self.is_full(from)
        {
            // A peer that has left too many frames unread cannot need this one.
            self.enqueue(from, Header::new(reply, id), &text);
            self.pump_out(from);
        }
        Some(())
    }

    /// Handles the retraction of a proposal.
    pub(crate) fn retracted(&mut self, from: usize, id: ContextId) {
        if let Some(context) = self.contexts.get_mut(&id) {
            context.agreement.retracted(from);
        }
    }

    /// Records that a process cannot decide, so that the next member does.
    pub(crate) fn unable(&mut self, from: usize, id: ContextId) {
        self.agree(id, |agreement, members, frames| agreement.unable(from, members, frames));
    }

    /// Decides on the proposals that this process has to decide on, or requests votes for them.
    /// Everything that has arrived must have been read.
    pub(crate) fn decide(&mut self) {
        // If this process was suspended since it last polled the wire, a decision may have arrived.
        if self.now.duration_since(self.looked) >= 4 * TICK {
            return;
        }
        for id in self.pending() {
            if let Some(failure) = self.agree(id, Agreement::decide).flatten() {
                let text = encode(&failure);
                self.fail(id, failure);
                self.broadcast(id, Header::new(Kind::Decision, id), &text);
            }
        }
    }

    /// Handles a decision, and forwards it to processes that may not be able to reach the one that
    /// decided.
    pub(crate) fn decided(&mut self, from: usize, id: ContextId, failure: Failure) {
        if self.failure(id).is_some() {
            return;
        }
        let text = encode(&failure);
        let others = self.fail(id, failure);
        let is_other = |process: &usize| ![from, self.me].contains(process) && *process < self.connections.len();
        for process in others.into_iter().filter(is_other).collect::<Vec<_>>() {
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

    /// Sets the failure of a context, unless it has failed. Returns the processes that may not be
    /// able to reach the one that decided. Started calls of a context that is aborted fail too.
    pub(crate) fn fail(&mut self, id: ContextId, failure: Failure) -> Vec<usize> {
        let aborted = matches!(failure.cause, Cause::Aborted { .. }).then(|| failure.clone());
        let Some(context) = self.contexts.get_mut(&id).filter(|context| context.agreement.failure().is_none()) else {
            return Vec::new();
        };
        self.report.fail();
        if let Some(rank) = context.rank_of(self.me) {
            let members = (&*context.members).into();
            self.report.add_failure(Rank::new(self.me), Disagreement { failure: failure.clone(), rank, members });
        }
        let others = context.agreement.settle(failure, &context.members);
        context.lanes.iter_mut().for_each(|lane| lane.into.unexpected = Default::default());
        if let Some(aborted) = aborted {
            self.propose(id.of_started_calls(), aborted);
        }
        others
    }
}
