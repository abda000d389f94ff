//! The watchdog of calls that MPI executes.
//!
//! A thread in such a call returns only when MPI lets it. If some member does not make the call, or
//! makes another, the thread never returns, and the memory that it has lent to MPI is lost: the job
//! has to end. The watchdog finds this out by asking all members for their status. What it finds is
//! a failure like any other. If this process cannot return from the call to report it, it is also
//! the reason to end the job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_tracker::CallTracker;
use crate::ids::Rank;
use crate::transport::engine::library::{ContextView, LibraryCalls, Verdict};
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::limits::MAX_SUSPENSIONS;
use crate::transport::engine::limits::grace;
use crate::transport::{Cause, Deadline, Failure, RankStatus, Signature, Timeouts, rank_name};

/// Time until members are first polled.
pub(crate) const FIRST: Duration = Duration::from_millis(200);

/// The calls of MPI in a context, and the watchdog of the call under way.
#[derive(Debug)]
pub(crate) struct WatchedCalls {
    tracker: Arc<CallTracker>,
    watchdog: Option<Watchdog>,
}

/// The watchdog of a call under way.
#[derive(Debug)]
struct Watchdog {
    call: u64,
    since: Instant,
    /// The time when all members last replied.
    last_complete: Instant,
    /// The time since which no other member is in the call.
    alone_since: Option<Instant>,
    /// The time when the context was found to have failed.
    failed_since: Option<Instant>,
    /// The time after which to poll all members; and the poll under way.
    next: Duration,
    poll: Option<StatusPoll>,
    /// The time when the watchdog last ran, and the number of suspensions of the process before
    /// that.
    looked: Instant,
    suspensions: u32,
}

/// A status request to all members.
#[derive(Debug)]
struct StatusPoll {
    request: u64,
    since: Instant,
    /// The reply of each rank.
    answers: Vec<Option<RankStatus>>,
}

impl WatchedCalls {
    pub(crate) fn new(tracker: Arc<CallTracker>) -> Self {
        Self { tracker, watchdog: None }
    }
}

impl LibraryCalls for WatchedCalls {
    fn current(&self) -> Option<u64> {
        self.tracker.current()
    }

    fn latest(&self) -> Option<u64> {
        self.tracker.latest()
    }

    fn record(&self, call: u64, signature: &Signature) {
        self.tracker.record(call, signature);
    }

    fn called(&self, call: u64) -> Option<Signature> {
        self.tracker.called(call)
    }

    fn changes(&self) -> Vec<(u64, u64)> {
        self.tracker.changes()
    }

    fn watch(&mut self, context: &ContextView<'_>) -> Verdict {
        let Some(call) = self.tracker.current() else {
            self.watchdog = None;
            return Verdict::Nothing;
        };
        let watchdog = match &mut self.watchdog {
            Some(watchdog) if watchdog.call == call => watchdog,
            other => {
                *other = Some(Watchdog::begin(call, context.now));
                return Verdict::Nothing;
            }
        };
        let timeouts = self.tracker.timeouts();
        watchdog.account_for_suspension(context.now, timeouts);
        // A failure in a later call does not concern this one: the member has done its part of it.
        if let Some(failure) = context.failure.filter(|failure| failure.call <= call) {
            let failed = watchdog.failed_since.get_or_insert(context.now);
            let is_stuck = context.now.duration_since(*failed) > LINGER;
            return if is_stuck { Verdict::Stuck(failure.clone()) } else { Verdict::Nothing };
        }
        let Some(mine) = self.tracker.called(call) else { return Verdict::Nothing };
        match watchdog.examine(context, &mine, timeouts) {
            Examination::Fine => Verdict::Nothing,
            Examination::Ask => Verdict::Ask(call),
            Examination::Failed(culprit, cause) => {
                let (description, observer) = (mine.description, context.me);
                Verdict::Failed(Failure { call, description, round: 0, observer, culprit, cause })
            }
        }
    }

    fn answered(&mut self, from: Rank, request: u64, status: &RankStatus) {
        let poll = self.watchdog.as_mut().and_then(|watchdog| watchdog.poll.as_mut());
        if let Some(poll) = poll.filter(|poll| poll.request == request) {
            poll.answers[from.index()] = Some(status.clone());
        }
    }
}

/// The result of an examination.
enum Examination {
    Fine,
    /// The members are to be asked.
    Ask,
    /// The call cannot end: the culprit and the cause.
    Failed(Option<Rank>, Cause),
}

impl Watchdog {
    fn begin(call: u64, now: Instant) -> Self {
        Self {
            call,
            since: now,
            last_complete: now,
            alone_since: None,
            failed_since: None,
            next: FIRST,
            poll: None,
            looked: now,
            suspensions: 0,
        }
    }

    /// Restarts after a suspension of this process or a lack of processor: replies that have
    /// arrived are from before. The number of restarts is limited.
    fn account_for_suspension(&mut self, now: Instant, timeouts: Timeouts) {
        let suspended = now.duration_since(std::mem::replace(&mut self.looked, now));
        if suspended > grace(timeouts.shortest()) && self.suspensions < MAX_SUSPENSIONS {
            *self = Self {
                failed_since: self.failed_since,
                suspensions: self.suspensions + 1,
                ..Self::begin(self.call, now)
            };
        }
    }

    /// Examines the call, in which this process calls `mine`.
    fn examine(&mut self, context: &ContextView<'_>, mine: &Signature, timeouts: Timeouts) -> Examination {
        let ContextView { now, me, .. } = *context;
        let (call, shortest) = (self.call, timeouts.shortest());
        let waited = now.duration_since(self.since);
        let others = || (0..context.members.len()).map(Rank::new).filter(|rank| *rank != me);
        let left = |rank: Rank| (context.left)(rank);
        let disagree = |rank: Rank, description: &Arc<str>| {
            let (call_a, call_b) = (mine.description.clone(), description.clone());
            Examination::Failed(None, Cause::Disagree { rank_a: me, call_a, rank_b: rank, call_b })
        };
        // A member that has left after this call need not answer, if it made the same call.
        let was_in_another = |rank: Rank| {
            let (fingerprint, description) = left(rank)?.called(call)?;
            (*fingerprint != mine.fingerprint).then(|| disagree(rank, description))
        };
        if let Some(found) = others().find_map(was_in_another) {
            return found;
        }
        // From here on, without members that have left after they did their part of this call (or
        // of another that is no longer recorded).
        let others = || others().filter(|rank| left(*rank).is_none_or(|left| left.call < Some(call)));
        let gone = others().find_map(|rank| Some((rank, (context.gone)(rank, call)?)));
        if let Some((rank, how)) = gone.filter(|_| waited > LINGER.min(shortest)) {
            return Examination::Failed(Some(rank), Cause::Gone { rank, how });
        }
        let Some(poll) = &self.poll else {
            let first = self.next == FIRST;
            if waited < if first { FIRST.min(shortest) } else { self.next } {
                return Examination::Fine;
            }
            let answers = vec![None; context.members.len()];
            self.poll = Some(StatusPoll { request: context.next_request, since: now, answers });
            return Examination::Ask;
        };
        let answer = |rank: Rank| poll.answers[rank.index()].as_ref();
        if others().any(|rank| answer(rank).is_none()) && now.duration_since(poll.since) < grace(shortest) {
            return Examination::Fine;
        }
        for rank in others() {
            if let Some(RankStatus { posted, signature: Some((fingerprint, description)), .. }) = answer(rank)
                && posted.is_some_and(|(at, _)| at >= call)
                && *fingerprint != mine.fingerprint
            {
                return disagree(rank, description);
            }
        }
        let silent = others().find(|rank| answer(*rank).is_none());
        let is_late = |rank: &Rank| answer(*rank).is_some_and(|status| status.posted.is_none_or(|(at, _)| at < call));
        let late = others().find(is_late);
        // A member in a later call has done its part of this one, or of another, like those that
        // have left.
        let is_in_it = |rank: Rank| answer(rank).and_then(|status| status.posted).is_none_or(|(at, _)| at <= call);
        let alone = context.members.len() > 1 && !others().any(is_in_it);
        self.poll = None;
        if silent.is_none() {
            self.last_complete = now;
        }
        let name = |rank| rank_name(rank, context.members);
        if !alone {
            self.alone_since = None;
        } else if now.duration_since(*self.alone_since.get_or_insert(now)) >= timeouts.silence {
            let chain = format!("{} is in a library call that no other rank is in any more", name(me)).into();
            let (deadline, waited) = (Deadline::Silence, timeouts.silence);
            return Examination::Failed(None, Cause::Deadline { deadline, waited, chain });
        }
        let unanswered = now.duration_since(self.last_complete);
        // Frequently at first, later at least twice within the shorter timeout, and when a deadline
        // passes.
        let left = [timeouts.silence.saturating_sub(unanswered), timeouts.arrival.saturating_sub(waited)];
        let left = left.into_iter().filter(|left| !left.is_zero());
        self.next = waited.saturating_add(left.fold(waited.min(shortest.mul_f64(0.4)), Duration::min));
        let (rank, how, deadline) = match (silent, late) {
            (Some(rank), _) if unanswered >= timeouts.silence => (rank, "does not answer", Deadline::Silence),
            (_, Some(rank)) if waited >= timeouts.arrival => (rank, "has not called", Deadline::Arrival),
            (None, None) if waited >= shortest => {
                // Other members are in the call, or were a moment ago: it may take any time.
                (self.since, self.next, self.suspensions) = (now, FIRST, 0);
                return Examination::Fine;
            }
            _ => return Examination::Fine,
        };
        let chain = format!("{} is in a library call with {}, which {how}", name(me), name(rank)).into();
        Examination::Failed(Some(rank), Cause::Deadline { deadline, waited: timeouts.of(deadline), chain })
    }
}

#[cfg(test)]
pub(in crate::transport) mod tests;
