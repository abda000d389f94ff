//! Supervises calls that a library executes. The engine moves nothing for them and cannot end them.
//!
//! A thread in such a call returns only when the library lets it. If some member does not make the
//! call, or makes another, the thread never returns, and the memory that it has lent to the library
//! is lost: the job has to end. The listener thread finds this out by asking all members for their
//! status. What it finds is a failure like any other. If this process cannot return from the call
//! to report it, it is also the reason to end the job.

use std::sync::Arc;
use std::time::Duration;

use super::codec::RankStatus;
use super::context::Context;
use super::frame::{Header, Kind, MessageId};
use super::limits::{LINGER, grace};
use super::state::Engine;
use super::watchdog::{FIRST, StatusPoll, Watchdog};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Deadline, Failure, rank_name};

impl Engine {
    /// Does what is due when no thread waits: renews proposals, and supervises the calls of a library.
    /// Ends the job if one of those calls cannot end.
    pub(crate) fn supervise(&mut self) {
        self.retry_proposals();
        if let Some(failure) = self.watch_library_calls() {
            self.wire.abort(&failure);
        }
    }

    /// Supervises all calls that a library executes. Returns why the job has to end, if it has to.
    pub(crate) fn watch_library_calls(&mut self) -> Option<Failure> {
        let inside: Vec<(ContextId, Option<u64>)> = self
            .contexts
            .values()
            .filter_map(|context| Some((context.id, context.library.as_ref()?.current())))
            .collect();
        inside.into_iter().find_map(|(id, call)| self.watch_library_call(id, call))
    }

    fn watch_library_call(&mut self, id: ContextId, call: Option<u64>) -> Option<Failure> {
        let now = self.now;
        let context = self.contexts.get_mut(&id)?;
        let Some(call) = call else {
            context.watchdog = None;
            return None;
        };
        if context.watchdog.as_ref().is_none_or(|watchdog| watchdog.call != call) {
            context.watchdog = Some(Watchdog::begin(call, now));
            return None;
        }
        let timeouts = context.library.as_ref()?.timeouts();
        context.watchdog.as_mut()?.account_for_suspension(now, timeouts);
        // A failure in a later call does not concern this one: the member has done its part of it.
        if let Some(failure) = context.failure.clone().filter(|failure| failure.call <= call) {
            let failed = context.watchdog.as_mut()?.failed_since.get_or_insert(now);
            return (now.duration_since(*failed) > LINGER).then_some(failure);
        }
        if let Some((culprit, cause)) = self.diagnose(id, call) {
            let context = self.contexts.get(&id)?;
            let description = context.library.as_ref()?.called(call)?.description;
            let observer = context.rank_of(self.me)?;
            self.propose(id, Failure { call, description, round: 0, observer, culprit, cause });
        }
        None
    }

    /// Returns the culprit and the cause if the call cannot end.
    fn diagnose(&mut self, id: ContextId, call: u64) -> Option<(Option<Rank>, Cause)> {
        let now = self.now;
        let context = self.contexts.get(&id)?;
        let me = context.rank_of(self.me)?;
        let (library, watchdog) = (context.library.as_ref()?, context.watchdog.as_ref()?);
        let timeouts = library.timeouts();
        let shortest = timeouts.shortest();
        let waited = now.duration_since(watchdog.since);
        let others = || (0..context.members.len()).map(Rank::new).filter(|rank| *rank != me);
        let left = |rank: Rank| context.lanes[context.process(rank)].left.as_ref();
        let mine = library.called(call)?;
        let disagree = |rank: Rank, description: &Arc<str>| {
            let (call_a, call_b) = (mine.description.clone(), description.clone());
            (None, Cause::Disagree { rank_a: me, call_a, rank_b: rank, call_b })
        };
        // A member that has left after this call need not answer, if it made the same call.
        let was_in_another = |rank: Rank| {
            let (fingerprint, description) = left(rank)?.called(call)?;
            (*fingerprint != mine.fingerprint).then(|| disagree(rank, description))
        };
        if let Some(found) = others().find_map(was_in_another) {
            return Some(found);
        }
        // From here on, without members that have left after they did their part of this call (or
        // of another that is no longer recorded).
        let others = || others().filter(|rank| left(*rank).is_none_or(|left| left.call < Some(call)));
        let gone = others().find_map(|rank| Some((rank, self.gone(context, context.process(rank), call)?)));
        if let Some((rank, how)) = gone.filter(|_| waited > LINGER.min(shortest)) {
            return Some((Some(rank), Cause::Gone { rank, how }));
        }
        let Some(poll) = &watchdog.poll else {
            let first = watchdog.next == FIRST;
            if waited >= if first { FIRST.min(shortest) } else { watchdog.next } {
                self.poll_members(id, call);
            }
            return None;
        };
        let complete = others().all(|rank| poll.answers[rank.index()].is_some());
        if !complete && now.duration_since(poll.since) < grace(shortest) {
            return None;
        }
        for rank in others() {
            let Some(RankStatus { posted, signature: Some((fingerprint, description)), .. }) =
                &poll.answers[rank.index()]
            else {
                continue;
            };
            if posted.is_some_and(|(at, _)| at >= call) && *fingerprint != mine.fingerprint {
                return Some(disagree(rank, description));
            }
        }
        let silent = others().find(|rank| poll.answers[rank.index()].is_none());
        let late = others().find(|rank| {
            let status = poll.answers[rank.index()].as_ref();
            status.is_some_and(|status| status.posted.is_none_or(|(at, _)| at < call))
        });
        // A member in a later call has done its part of this one, or of another, like those that
        // have left.
        let is_in_it = |rank: Rank| {
            let posted = poll.answers[rank.index()].as_ref().and_then(|status| status.posted);
            posted.is_none_or(|(at, _)| at <= call)
        };
        let alone = context.members.len() > 1 && !others().any(is_in_it);
        let watchdog = self.contexts.get_mut(&id)?.watchdog.as_mut()?;
        watchdog.poll = None;
        if silent.is_none() {
            watchdog.last_complete = now;
        }
        if !alone {
            watchdog.alone_since = None;
        } else if now.duration_since(*watchdog.alone_since.get_or_insert(now)) >= timeouts.silence {
            let me = rank_name(me, &self.contexts.get(&id)?.members);
            let chain = format!("{me} is in a library call that no other rank is in any more").into();
            let (deadline, waited) = (Deadline::Silence, timeouts.silence);
            return Some((None, Cause::Deadline { deadline, waited, chain }));
        }
        let unanswered = now.duration_since(watchdog.last_complete);
        // Frequently at first, later at least twice within the shorter timeout, and when a deadline
        // passes.
        let left = [timeouts.silence.saturating_sub(unanswered), timeouts.arrival.saturating_sub(waited)];
        let left = left.into_iter().filter(|left| !left.is_zero());
        watchdog.next = waited.saturating_add(left.fold(waited.min(shortest.mul_f64(0.4)), Duration::min));
        let (rank, how, deadline) = match (silent, late) {
            (Some(rank), _) if unanswered >= timeouts.silence => (rank, "does not answer", Deadline::Silence),
            (_, Some(rank)) if waited >= timeouts.arrival => (rank, "has not called", Deadline::Arrival),
            (None, None) if waited >= shortest => {
                // Other members are in the call, or were a moment ago: it may take any time.
                (watchdog.since, watchdog.next, watchdog.suspensions) = (now, FIRST, 0);
                return None;
            }
            _ => return None,
        };
        let name = |rank| self.contexts.get(&id).map_or_else(String::new, |context| rank_name(rank, &context.members));
        let chain = format!("{} is in a library call with {}, which {how}", name(me), name(rank)).into();
        Some((Some(rank), Cause::Deadline { deadline, waited: timeouts.of(deadline), chain }))
    }

    /// Asks all members for their status.
    fn poll_members(&mut self, id: ContextId, call: u64) {
        self.status_requests += 1;
        let (number, since) = (self.status_requests, self.now);
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let answers = (0..context.members.len()).map(|_| None).collect();
        if let Some(watchdog) = &mut context.watchdog {
            watchdog.poll = Some(StatusPoll { number, since, answers });
        }
        let message_id = MessageId { call, ..MessageId::default() };
        self.broadcast(id, Header { message_id, bytes: number, ..Header::new(Kind::StatusRequest, id) }, &[]);
    }
}

impl Context {
    /// Records a status reply with the number of its request.
    pub(crate) fn answered(&mut self, from: usize, number: u64, status: &RankStatus) {
        let Some(rank) = self.rank_of(from) else { return };
        let poll = self.watchdog.as_mut().and_then(|watchdog| watchdog.poll.as_mut());
        if let Some(poll) = poll.filter(|poll| poll.number == number) {
            poll.answers[rank.index()] = Some(status.clone());
        }
    }
}
