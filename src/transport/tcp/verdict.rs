//! One failure a context, the same for everybody: who finds a fault proposes it to one of the members, and that one decides.
//!
//! It is the first member that can be heard, and is not itself at fault. It decides on the first proposal that comes to it,
//! and tells everybody. Before it decides, it has read everything that has come: so a process that was stopped for a while
//! first learns what was decided meanwhile. If it is lost, or says nothing for a while, the next one is asked; should some
//! have heard of its decision and others not, their failures may differ.

use std::time::{Duration, Instant};

use super::context::{Context, Proposal};
use super::engine::Engine;
use super::frame::{Header, Kind};
use super::words::write_failure;
use crate::transport::{Cause, ContextId, Failure};

/// How long somebody may take to answer, in a context whose rounds may wait so long.
pub(super) fn grace(timeout: Duration) -> Duration {
    (timeout / 8).clamp(Duration::from_millis(100), Duration::from_secs(15))
}

impl Engine {
    /// Proposes a failure, unless there is one or something else is proposed already.
    pub(super) fn propose(&mut self, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if context.failure.is_none() && context.proposal.is_none() {
            log::debug!("process {}: in context {id}: {failure}", self.me);
            context.proposal = Some(Proposal { failure, to: usize::MAX, since: Instant::now() });
            self.submit(id);
        }
    }

    /// Turns to somebody else where the one who should decide does not.
    pub(super) fn press(&mut self) {
        let is_late = |context: &Context| {
            let proposal = context.proposal.as_ref().filter(|_| context.failure.is_none())?;
            let late = proposal.since.elapsed() > grace(context.timeout);
            (late || !self.hears(proposal.to)).then_some((context.id, proposal.to))
        };
        let late: Vec<_> = self.contexts.values().filter_map(is_late).collect();
        for (id, mute) in late {
            if let Some(context) = self.contexts.get_mut(&id) {
                context.mute.push(mute);
            }
            self.submit(id);
        }
    }

    fn submit(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get(&id) else { return };
        let Some(proposal) = &context.proposal else { return };
        let to = self.arbiter(context, &proposal.failure);
        let failure = proposal.failure.clone();
        if to == self.me {
            self.consider(to, id, failure.clone());
        } else {
            self.say(to, Header::new(Kind::Proposal, id), &write_failure(&failure));
            self.pump_out(to);
        }
        if let Some(context) = self.contexts.get_mut(&id) {
            context.proposal = Some(Proposal { failure, to, since: Instant::now() });
        }
    }

    /// Who decides on a failure.
    fn arbiter(&self, context: &Context, failure: &Failure) -> usize {
        // Who is at fault because it is not there cannot decide.
        let absent = matches!(failure.cause, Cause::Gone { .. } | Cause::Deadline { .. });
        let absent = failure.culprit.filter(|_| absent).map(|culprit| context.process(culprit));
        let mut members = context.members.iter().map(|member| member.index());
        let decides = |process: &usize| {
            *process == self.me || Some(*process) != absent && !context.mute.contains(process) && self.hears(*process)
        };
        members.find(decides).unwrap_or(self.me)
    }

    /// Takes note of a proposal; its sender hears at once if there is a failure already. `None` if there are too many
    /// contexts.
    pub(super) fn consider(&mut self, from: usize, id: ContextId, failure: Failure) -> Option<()> {
        let context = self.expect(id)?;
        if let Some(known) = &context.failure {
            let words = write_failure(known);
            if self.is_full(from) {
                return Some(());
            }
            self.say(from, Header::new(Kind::Verdict, id), &words);
            self.pump_out(from);
        } else {
            context.proposed.get_or_insert(failure);
            self.undecided = true;
        }
        Some(())
    }

    /// Makes failures of what was proposed. Everything that has come must have been read.
    pub(super) fn decide(&mut self) {
        if !std::mem::take(&mut self.undecided) {
            return;
        }
        let proposed: Vec<_> =
            self.contexts.values_mut().filter_map(|context| Some((context.id, context.proposed.take()?))).collect();
        for (id, failure) in proposed {
            if self.failure(id).is_none() {
                let words = write_failure(&failure);
                self.fail(id, failure);
                self.tell(id, Header::new(Kind::Verdict, id), &words);
            }
        }
    }

    /// A context has failed.
    pub(super) fn fail(&mut self, id: ContextId, failure: Failure) {
        let Some(context) = self.contexts.get_mut(&id).filter(|context| context.failure.is_none()) else { return };
        context.failure = Some(failure);
        (context.proposal, context.proposed) = (None, None);
        context.lanes.iter_mut().for_each(|lane| lane.into.stash = Default::default());
    }
}
