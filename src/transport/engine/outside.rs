//! Calls that a library beneath does: the engine moves nothing for them, and cannot end them. It watches.
//!
//! A thread that is in such a call comes back when the library lets it. If somebody does not come to the call, or comes to
//! another, it never does, and what it has lent to the library is lost to it: then the job has to end. The thread that
//! listens finds out, by asking all members where they stand; what it finds is a failure like any other, and, where this
//! process cannot come back from the call to say so, the reason for which it ends the job.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::context::{Context, REMEMBERED};
use super::frame::{Header, Kind, Stamp};
use super::process::LINGER;
use super::state::Engine;
use super::verdict::grace;
use super::watch::MOST_NAPS;
use super::words::Standing;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure, Signature, rank_words};

/// Which call of a library's a context is in. The thread in the call writes it, without the engine's lock.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// Twice the call, and one more if it is over; 0 before the first, which is call 1 here.
    at: AtomicU64,
    /// The fingerprint and the deadline in nanoseconds of what was said last.
    last: [AtomicU64; 2],
    said: Mutex<Said>,
}

/// What a context has been calling, and how long its last call may take.
#[derive(Debug, Default)]
struct Said {
    last: VecDeque<(u64, Signature)>,
    timeout: Duration,
}

impl Outside {
    /// Begins a call.
    #[inline]
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn enter(&self, call: u64, signature: &Signature, timeout: Duration) {
        // 584 years and more are as good as any.
        let nanoseconds = timeout.as_secs().wrapping_mul(1_000_000_000).wrapping_add(timeout.subsec_nanos().into());
        let [fingerprint, before] = self.last.each_ref().map(|last| last.load(Ordering::Relaxed));
        if fingerprint != signature.fingerprint || before != nanoseconds || self.posted().is_none() {
            self.say(call, signature);
            self.said().timeout = timeout;
            self.last[1].store(nanoseconds, Ordering::Relaxed);
        }
        self.at.store(2 * (call + 1), Ordering::Release);
    }

    /// Ends it.
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn leave(&self) {
        // Only the thread in the call writes it.
        self.at.store(self.at.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// The call that is under way.
    pub(crate) fn inside(&self) -> Option<u64> {
        let at = self.at.load(Ordering::Acquire);
        (at > 0 && at.is_multiple_of(2)).then(|| at / 2 - 1)
    }

    /// The call that is under way, or was last.
    pub(crate) fn posted(&self) -> Option<u64> {
        (self.at.load(Ordering::Acquire) / 2).checked_sub(1)
    }

    /// Remembers what a call is, of whatever kind.
    pub(crate) fn say(&self, call: u64, signature: &Signature) {
        self.last[0].store(signature.fingerprint, Ordering::Relaxed);
        let last = &mut self.said().last;
        if last.front().is_none_or(|(_, before)| before.fingerprint != signature.fingerprint) {
            last.push_front((call, signature.clone()));
            last.truncate(REMEMBERED);
        }
    }

    /// What was called in that call, if it is remembered.
    pub(crate) fn called(&self, call: u64) -> Option<Signature> {
        self.said().last.iter().find(|(first, _)| *first <= call).map(|(_, signature)| signature.clone())
    }

    /// The last changes of what was called: from which call on, and the fingerprint.
    pub(crate) fn changes(&self) -> Vec<(u64, u64)> {
        self.said().last.iter().map(|(first, signature)| (*first, signature.fingerprint)).collect()
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a call under way.
#[derive(Debug)]
pub(crate) struct Vigil {
    call: u64,
    since: Instant,
    /// Since when nobody else is in it.
    alone: Option<Instant>,
    /// When it was found that the call does not end.
    failed: Option<Instant>,
    /// When to ask all members where they stand; and what they say.
    next: Duration,
    roll: Option<Roll>,
    /// When this was looked at last, and how often this process had slept before that.
    looked: Instant,
    naps: u32,
}

impl Vigil {
    fn begin(call: u64) -> Self {
        let now = Instant::now();
        Self { call, since: now, alone: None, failed: None, next: FIRST, roll: None, looked: now, naps: 0 }
    }

    /// Where this process was stopped, or had no processor, answers are from before that, if they have come: all is asked
    /// anew. Not any number of times.
    fn look(&mut self, timeout: Duration) {
        let now = Instant::now();
        let slept = now.duration_since(std::mem::replace(&mut self.looked, now));
        if slept > grace(timeout) && self.naps < MOST_NAPS {
            *self = Self { failed: self.failed, naps: self.naps + 1, ..Self::begin(self.call) };
        }
    }
}

/// A question to all members.
#[derive(Debug)]
struct Roll {
    number: u64,
    since: Instant,
    /// By rank.
    answers: Vec<Option<Standing>>,
}

/// How soon members are asked for the first time.
pub(crate) const FIRST: Duration = Duration::from_millis(200);

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
            context.vigil = None;
            return None;
        };
        if context.vigil.as_ref().is_none_or(|vigil| vigil.call != call) {
            context.vigil = Some(Vigil::begin(call));
            return None;
        }
        let timeout = context.outside.as_ref()?.said().timeout;
        context.vigil.as_mut()?.look(timeout);
        // Who is in a later call has done its part of this one.
        if let Some(failure) = context.failure.clone().filter(|failure| failure.call <= call) {
            let failed = context.vigil.as_mut()?.failed.get_or_insert_with(Instant::now);
            return (failed.elapsed() > LINGER).then_some(failure);
        }
        if let Some((culprit, cause)) = self.finding(id, call) {
            let context = self.contexts.get(&id)?;
            let words = context.outside.as_ref()?.called(call)?.words;
            let observer = context.rank_of(self.me)?;
            self.propose(id, Failure { call, words, round: 0, observer, culprit, cause });
        }
        None
    }

    /// Why a call does not end, if that is so.
    fn finding(&mut self, id: ContextId, call: u64) -> Option<(Option<Rank>, Cause)> {
        let context = self.contexts.get(&id)?;
        let me = context.rank_of(self.me)?;
        let (outside, vigil) = (context.outside.as_ref()?, context.vigil.as_ref()?);
        let timeout = outside.said().timeout;
        let waited = vigil.since.elapsed();
        let others = || (0..context.members.len()).map(Rank::new).filter(|rank| *rank != me);
        let left = |rank: Rank| context.lanes[context.process(rank)].left.as_ref();
        let mine = outside.called(call)?;
        let disagree = |rank: Rank, words: &Arc<str>| {
            let (one, ones, other, others) = (me, mine.words.clone(), rank, words.clone());
            (None, Cause::Disagree { one, ones, other, others })
        };
        // Who has left after it has done its part may be gone, and needs to say nothing more, if that was its part of this.
        let was_in_another = |rank: Rank| {
            let (fingerprint, words) = left(rank)?.called(call)?;
            (*fingerprint != mine.fingerprint).then(|| disagree(rank, words))
        };
        if let Some(found) = others().find_map(was_in_another) {
            return Some(found);
        }
        // From here on without those who have left since they did their part of this, or of another that nobody remembers.
        let others = || others().filter(|rank| left(*rank).is_none_or(|left| left.call < Some(call)));
        let gone = others().find_map(|rank| Some((rank, self.gone(context, context.process(rank), call)?)));
        if let Some((rank, how)) = gone.filter(|_| waited > LINGER.min(timeout)) {
            return Some((Some(rank), Cause::Gone { rank, how }));
        }
        let Some(roll) = &vigil.roll else {
            if waited >= vigil.next.min(timeout) {
                self.call_roll(id, call);
            }
            return None;
        };
        let complete = others().all(|rank| roll.answers[rank.index()].is_some());
        if !complete && roll.since.elapsed() < grace(timeout) {
            return None;
        }
        for rank in others() {
            let Some(Standing { posted, said: Some((fingerprint, words)), .. }) = &roll.answers[rank.index()] else {
                continue;
            };
            if posted.is_some_and(|(at, _)| at >= call) && *fingerprint != mine.fingerprint {
                return Some(disagree(rank, words));
            }
        }
        let missing = others().find_map(|rank| match &roll.answers[rank.index()] {
            None => Some((rank, "does not answer")),
            Some(standing) if standing.posted.is_none_or(|(at, _)| at < call) => Some((rank, "has not called")),
            Some(_) => None,
        });
        // Who is in a later call has done its part of this one, or of another, as those who have left.
        let is_in_it = |rank: Rank| {
            let posted = roll.answers[rank.index()].as_ref().and_then(|standing| standing.posted);
            posted.is_none_or(|(at, _)| at <= call)
        };
        let alone = context.members.len() > 1 && !others().any(is_in_it);
        let vigil = self.contexts.get_mut(&id)?.vigil.as_mut()?;
        vigil.roll = None;
        if !alone {
            vigil.alone = None;
        } else if vigil.alone.get_or_insert_with(Instant::now).elapsed() >= timeout {
            let me = rank_words(me, &self.contexts.get(&id)?.members);
            let chain = format!("{me} is in a call of the library's in which nobody else is any more").into();
            return Some((None, Cause::Deadline { waited: timeout, chain }));
        }
        if waited < timeout {
            vigil.next = waited.saturating_mul(2);
            return None;
        }
        let Some((rank, how)) = missing else {
            // Others are in it, or were a moment ago: it takes as long as it takes.
            (vigil.since, vigil.next, vigil.naps) = (Instant::now(), FIRST, 0);
            return None;
        };
        let name = |rank| self.contexts.get(&id).map_or_else(String::new, |context| rank_words(rank, &context.members));
        let chain = format!("{} is in a call of the library's with {}, which {how}", name(me), name(rank)).into();
        Some((Some(rank), Cause::Deadline { waited: timeout, chain }))
    }

    /// Asks all members where they stand.
    fn call_roll(&mut self, id: ContextId, call: u64) {
        self.questions += 1;
        let number = self.questions;
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let answers = (0..context.members.len()).map(|_| None).collect();
        if let Some(vigil) = &mut context.vigil {
            vigil.roll = Some(Roll { number, since: Instant::now(), answers });
        }
        let stamp = Stamp { call, ..Stamp::default() };
        self.tell(id, Header { stamp, bytes: number, ..Header::new(Kind::Question, id) }, &[]);
    }
}

impl Context {
    /// Takes note of an answer to a question of that number.
    pub(crate) fn answered(&mut self, from: usize, number: u64, standing: &Standing) {
        let Some(rank) = self.rank_of(from) else { return };
        let roll = self.vigil.as_mut().and_then(|vigil| vigil.roll.as_mut());
        if let Some(roll) = roll.filter(|roll| roll.number == number) {
            roll.answers[rank.index()] = Some(standing.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(7);

    fn signature(fingerprint: u64) -> Signature {
        Signature { fingerprint, words: format!("call of kind {fingerprint}").into() }
    }

    #[test]
    fn a_call_is_under_way_from_its_beginning_to_its_end() {
        let outside = Outside::default();
        assert_eq!((outside.inside(), outside.posted()), (None, None));
        for call in [0, 1, 5] {
            outside.enter(call, &signature(1), LONG);
            assert_eq!((outside.inside(), outside.posted()), (Some(call), Some(call)));
            outside.leave();
            assert_eq!((outside.inside(), outside.posted()), (None, Some(call)));
        }
    }

    #[test]
    fn what_was_called_last_is_remembered_by_when_it_changed() {
        let outside = Outside::default();
        assert_eq!(outside.called(0), None);
        // By messages, by the library, and by messages again.
        outside.say(3, &signature(1));
        outside.enter(4, &signature(2), LONG);
        outside.enter(5, &signature(2), LONG);
        outside.say(6, &signature(1));
        let known = [None, None, None, Some(1), Some(2), Some(2), Some(1), Some(1)];
        for (call, fingerprint) in (0..).zip(known) {
            assert_eq!(outside.called(call), fingerprint.map(signature), "{call}");
        }
        // The same again, after something else of which this does not know, is said again.
        outside.enter(7, &signature(2), LONG);
        assert_eq!((outside.called(6), outside.called(7)), (Some(signature(1)), Some(signature(2))));
        for call in 8..40 {
            outside.enter(call, &signature(call), LONG);
        }
        let remembered = (0..40).filter(|call| outside.called(*call) == Some(signature(*call))).count();
        assert_eq!((remembered, outside.called(7)), (REMEMBERED, None));
    }

    #[test]
    fn the_deadline_is_that_of_the_last_call() {
        let outside = Outside::default();
        for timeout in [LONG, 2 * LONG, LONG] {
            outside.enter(0, &signature(1), timeout);
            assert_eq!(outside.said().timeout, timeout);
        }
    }
}
