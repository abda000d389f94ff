//! Calls that a library beneath does: the engine moves nothing for them, and cannot end them. It
//! watches.
//!
//! A thread that is in such a call comes back when the library lets it. If somebody does not come
//! to the call, or comes to another, it never does, and what it has lent to the library is lost to
//! it: then the job has to end. The thread that listens finds out, by asking all members where they
//! stand; what it finds is a failure like any other, and, where this process cannot come back from
//! the call to say so, the reason for which it ends the job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::codec::RankStatus;
use super::context::Context;
use super::frame::{Header, Kind, MessageId};
use super::limits::{LINGER, grace};
use super::state::Engine;
use super::watchdog::{FIRST, Poll, Watchdog};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Deadline, Failure, rank_name};

impl Engine {
    /// Looks after the calls that are with a library. Returns why the job has to end, if it has.
    pub(crate) fn look_after(&mut self) -> Option<Failure> {
        let inside: Vec<(ContextId, Option<u64>)> = self
            .contexts
            .values()
            .filter_map(|context| Some((context.id, context.outside.as_ref()?.inside())))
            .collect();
        inside.into_iter().find_map(|(id, call)| self.look_after_one(id, call))
    }

    fn look_after_one(&mut self, id: ContextId, call: Option<u64>) -> Option<Failure> {
        let context = self.contexts.get_mut(&id)?;
        let Some(call) = call else {
            context.watchdog = None;
            return None;
        };
        if context.watchdog.as_ref().is_none_or(|watchdog| watchdog.call != call) {
            context.watchdog = Some(Watchdog::begin(call));
            return None;
        }
        let timeouts = context.outside.as_ref()?.timeouts();
        context.watchdog.as_mut()?.look(timeouts);
        // Who is in a later call has done its part of this one.
        if let Some(failure) = context.failure.clone().filter(|failure| failure.call <= call) {
            let failed = context.watchdog.as_mut()?.failed.get_or_insert_with(Instant::now);
            return (failed.elapsed() > LINGER).then_some(failure);
        }
        if let Some((culprit, cause)) = self.finding(id, call) {
            let context = self.contexts.get(&id)?;
            let description = context.outside.as_ref()?.called(call)?.description;
            let observer = context.rank_of(self.me)?;
            self.propose(id, Failure { call, description, round: 0, observer, culprit, cause });
        }
        None
    }

    /// Why a call does not end, if that is so.
    fn finding(&mut self, id: ContextId, call: u64) -> Option<(Option<Rank>, Cause)> {
        let context = self.contexts.get(&id)?;
        let me = context.rank_of(self.me)?;
        let (outside, watchdog) = (context.outside.as_ref()?, context.watchdog.as_ref()?);
        let timeouts = outside.timeouts();
        let shortest = timeouts.shortest();
        let waited = watchdog.since.elapsed();
        let others = || (0..context.members.len()).map(Rank::new).filter(|rank| *rank != me);
        let left = |rank: Rank| context.lanes[context.process(rank)].left.as_ref();
        let mine = outside.called(call)?;
        let disagree = |rank: Rank, words: &Arc<str>| {
            let (call_a, call_b) = (mine.description.clone(), words.clone());
            (None, Cause::Disagree { rank_a: me, call_a, rank_b: rank, call_b })
        };
        // Who has left after it has done its part may be gone, and needs to say nothing more, if
        // that was its part of this.
        let was_in_another = |rank: Rank| {
            let (fingerprint, words) = left(rank)?.called(call)?;
            (*fingerprint != mine.fingerprint).then(|| disagree(rank, words))
        };
        if let Some(found) = others().find_map(was_in_another) {
            return Some(found);
        }
        // From here on without those who have left since they did their part of this, or of another
        // that nobody remembers.
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
        if !complete && poll.since.elapsed() < grace(shortest) {
            return None;
        }
        for rank in others() {
            let Some(RankStatus { posted, said: Some((fingerprint, words)), .. }) = &poll.answers[rank.index()] else {
                continue;
            };
            if posted.is_some_and(|(at, _)| at >= call) && *fingerprint != mine.fingerprint {
                return Some(disagree(rank, words));
            }
        }
        let silent = others().find(|rank| poll.answers[rank.index()].is_none());
        let late = others().find(|rank| {
            let status = poll.answers[rank.index()].as_ref();
            status.is_some_and(|status| status.posted.is_none_or(|(at, _)| at < call))
        });
        // Who is in a later call has done its part of this one, or of another, as those who have
        // left.
        let is_in_it = |rank: Rank| {
            let posted = poll.answers[rank.index()].as_ref().and_then(|status| status.posted);
            posted.is_none_or(|(at, _)| at <= call)
        };
        let alone = context.members.len() > 1 && !others().any(is_in_it);
        let watchdog = self.contexts.get_mut(&id)?.watchdog.as_mut()?;
        let now = Instant::now();
        watchdog.poll = None;
        if silent.is_none() {
            watchdog.heard = now;
        }
        if !alone {
            watchdog.alone = None;
        } else if watchdog.alone.get_or_insert(now).elapsed() >= timeouts.silence {
            let me = rank_name(me, &self.contexts.get(&id)?.members);
            let chain = format!("{me} is in a call of the library's in which nobody else is any more").into();
            let (deadline, waited) = (Deadline::Silence, timeouts.silence);
            return Some((None, Cause::Deadline { deadline, waited, chain }));
        }
        let unheard = now.duration_since(watchdog.heard);
        // Often at first, later at least twice in the shorter timeout, and when a deadline passes.
        let left = [timeouts.silence.saturating_sub(unheard), timeouts.arrival.saturating_sub(waited)];
        let left = left.into_iter().filter(|left| !left.is_zero());
        watchdog.next = waited.saturating_add(left.fold(waited.min(shortest.mul_f64(0.4)), Duration::min));
        let (rank, how, deadline) = match (silent, late) {
            (Some(rank), _) if unheard >= timeouts.silence => (rank, "does not answer", Deadline::Silence),
            (_, Some(rank)) if waited >= timeouts.arrival => (rank, "has not called", Deadline::Arrival),
            (None, None) if waited >= shortest => {
                // Others are in it, or were a moment ago: it takes as long as it takes.
                (watchdog.since, watchdog.next, watchdog.naps) = (now, FIRST, 0);
                return None;
            }
            _ => return None,
        };
        let name = |rank| self.contexts.get(&id).map_or_else(String::new, |context| rank_name(rank, &context.members));
        let chain = format!("{} is in a call of the library's with {}, which {how}", name(me), name(rank)).into();
        Some((Some(rank), Cause::Deadline { deadline, waited: timeouts.of(deadline), chain }))
    }

    /// Asks all members where they stand.
    fn poll_members(&mut self, id: ContextId, call: u64) {
        self.questions += 1;
        let number = self.questions;
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let answers = (0..context.members.len()).map(|_| None).collect();
        if let Some(watchdog) = &mut context.watchdog {
            watchdog.poll = Some(Poll { number, since: Instant::now(), answers });
        }
        let message_id = MessageId { call, ..MessageId::default() };
        self.tell(id, Header { message_id, bytes: number, ..Header::new(Kind::Question, id) }, &[]);
    }
}

impl Context {
    /// Takes note of an answer to a question of that number.
    pub(crate) fn answered(&mut self, from: usize, number: u64, status: &RankStatus) {
        let Some(rank) = self.rank_of(from) else { return };
        let poll = self.watchdog.as_mut().and_then(|watchdog| watchdog.poll.as_mut());
        if let Some(poll) = poll.filter(|poll| poll.number == number) {
            poll.answers[rank.index()] = Some(status.clone());
        }
    }
}
