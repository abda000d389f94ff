//! Waiting: what a rank does when none of its messages is ready, and what it looks at before it
//! sleeps.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use super::active_round::{ActiveRound, ChainLook, EAGER, Fault, SPINS, Seat, YIELDS};
use super::group::Leave;
use super::wait_for::Chain;
use crate::ids::Rank;
use crate::transport::{Cause, Deadline, Failure};

/// How long a rank sleeps at most without looking at what the others have posted.
const PATROL: Duration = Duration::from_secs(1);

impl ActiveRound<'_> {
    /// It waits no longer, for now.
    pub(super) fn stop_waiting(&self) {
        if self.wait.since.is_some() {
            self.seat.own().status.set_awaits(None);
        }
    }

    /// Waits a little: first looking again and again, for as long as that is cheaper than to sleep,
    /// then asleep.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        let wait = &mut self.wait;
        wait.looks = wait.looks.saturating_add(1);
        if self.seat.job.has_core_each() {
            if wait.looks <= SPINS {
                if wait.looks > EAGER {
                    std::hint::spin_loop();
                }
                return Ok(());
            }
        } else if wait.looks <= YIELDS {
            std::thread::yield_now();
            return Ok(());
        }
        self.look_astray()?;
        self.tell();
        let limit = self.patrol().map_err(|fault| self.seat.fail(self.offer, fault))?;
        let (Seat { group, .. }, wait, desk) = (self.seat, &self.wait, &self.seat.own().desk);
        let sends = self.sends;
        let news = || {
            group.failure().is_some()
                || group.departures() != wait.departures
                || wait.open > 0 && self.outbox.open() == 0
                || self.pending.iter().any(|awaited| self.has_sent(awaited.peer.index()))
                || self.unwritten.iter().any(|at| self.has_room(sends[*at as usize].peer.index()))
        };
        let cramped = !self.unwritten.is_empty();
        desk.cramped.store(cramped, Ordering::Relaxed);
        desk.bell.sleep(&group.sleepers, Some(limit), news);
        desk.cramped.store(false, Ordering::Relaxed);
        *self.sleeps += 1;
        Ok(())
    }

    /// What a rank looks at before it sleeps, apart from its own messages. Returns how long it may
    /// sleep.
    fn patrol(&mut self) -> Result<Duration, Fault> {
        let Some(whom) = self.awaited() else { return Ok(Duration::ZERO) };
        self.seat.own().status.set_awaits(Some(whom));
        let since = *self.wait.since.get_or_insert_with(Instant::now);
        self.wait.departures = self.seat.group.departures();
        if self.wait.departures > 0
            && let Err(gone) = self.look_for_the_gone()
        {
            // Who has left may have done what it was to do, and this rank something else: what
            // others have said tells.
            self.look_at_the_posts()?;
            self.look_at_the_letters()?;
            return Err(gone);
        }
        self.look_at_the_posts()?;
        self.look_at_the_letters()?;
        self.look_at_the_chain(since)
    }

    /// Looks at the chain of ranks that wait for each other, twice in the shorter timeout, and
    /// fails if the deadline for what is at its end has passed. Returns how long the rank may
    /// sleep.
    fn look_at_the_chain(&mut self, since: Instant) -> Result<Duration, Fault> {
        let (timeouts, now) = (self.timeouts, Instant::now());
        let (step, waited) = (timeouts.shortest() / 2, now.duration_since(since));
        let looked = self.wait.look.map_or(since, |look| look.at);
        let passed = |timeout: Duration| waited >= timeout && looked.duration_since(since) < timeout;
        if now.duration_since(looked) < step && !passed(timeouts.silence) && !passed(timeouts.arrival) {
            return Ok(self.until_next_look(since, now));
        }
        let (chain, home) = (self.chain(), &*self.seat.group);
        let look = ChainLook { look: chain.look(), deadline: chain.deadline(), at: now };
        if look.deadline == Deadline::Arrival {
            let (call, words) = (self.offer.call, &self.offer.signature.description);
            log::info!("call {call} ({words}) has waited for {waited:.0?}: {}", chain.words(home));
        }
        match self.wait.look.replace(look) {
            Some(before) if (before.look, before.deadline) == (look.look, look.deadline) => {
                let (deadline, waits) = (look.deadline, timeouts.of(look.deadline));
                if waited >= waits {
                    let chain_words = chain.words(home).into();
                    return Err((chain.culprit(home), Cause::Deadline { deadline, waited: waits, chain: chain_words }));
                }
            }
            // A rank on the chain got something done in between: the time starts again.
            Some(_) => self.wait.since = Some(now),
            None => {}
        }
        Ok(self.until_next_look(self.wait.since.unwrap_or(now), now))
    }

    /// Returns how long to sleep until the next look at the chain, or until the next deadline.
    fn until_next_look(&self, since: Instant, now: Instant) -> Duration {
        let looked = self.wait.look.map_or(since, |look| look.at);
        let step = (self.timeouts.shortest() / 2).saturating_sub(now.duration_since(looked));
        let deadlines = [self.timeouts.silence, self.timeouts.arrival].into_iter();
        let left = deadlines.map(|timeout| timeout.saturating_sub(now.duration_since(since)));
        left.filter(|left| !left.is_zero()).fold(PATROL.min(step), Duration::min)
    }

    fn chain(&self) -> Chain {
        Chain::follow(&self.seat.group, self.seat.me, &self.seat.job.groups())
    }

    /// One of those it waits for; nobody if the last parcel was settled just now.
    fn awaited(&self) -> Option<usize> {
        let sends = self.sends;
        let cramped = || self.unwritten.first().map(|at| sends[*at as usize].peer.index());
        let receiver = || self.outbox.receivers().find(|to| self.outbox.is_awaiting(*to));
        self.pending.first().map(|awaited| awaited.peer.index()).or_else(cramped).or_else(receiver)
    }

    /// Whether somebody has left without whom this round cannot end.
    fn look_for_the_gone(&self) -> Result<(), Fault> {
        // Whether it left is looked at before its message: what it had done before it left counts.
        let left = |rank: usize| self.seat.group.member(rank).left().map(|leave| (rank, leave));
        let awaited = self.pending.iter().find_map(|awaited| {
            let from = awaited.peer.index();
            left(from).filter(|_| !self.has_sent(from))
        });
        let sends = self.sends;
        let unclaimed = || self.outbox.receivers().filter_map(left).find(|(to, _)| self.outbox.is_awaiting(*to));
        let unwritten = || {
            let mut receivers = self.unwritten.iter().map(|at| sends[*at as usize].peer.index());
            receivers.find_map(|to| left(to).filter(|_| !self.has_room(to)))
        };
        let Some((rank, leave)) = awaited.or_else(unclaimed).or_else(unwritten) else { return Ok(()) };
        let how = match leave {
            Leave::Panicked(Some(message)) => format!("panicked: {message}").into(),
            Leave::Panicked(None) => "panicked".into(),
            Leave::Returned => match self.seat.group.member(rank).status.post.read() {
                Some((call, _)) if call >= self.offer.call => "returned in the middle of the call".into(),
                _ => "returned before the call".into(),
            },
        };
        Err((Some(Rank::new(rank)), Cause::Gone { rank: Rank::new(rank), how }))
    }

    /// Whether anybody, awaited or not, has written from the same call with another fingerprint, or
    /// from an earlier round, in which nobody awaited it.
    fn look_at_the_letters(&self) -> Result<(), Fault> {
        let mine = self.message_id;
        for from in 0..self.seat.group.size() {
            let Some(theirs) = self.peek(from) else { continue };
            let differs = theirs.call == mine.call && theirs.fingerprint != mine.fingerprint;
            if differs || (theirs.call, theirs.round) < (mine.call, mine.round) {
                let words = self.seat.group.member(from).words(theirs.fingerprint);
                return Err((None, self.disagreement(from, (theirs, &words, 1), 0)));
            }
        }
        Ok(())
    }

    /// Whether anybody, awaited or not, is in the same call with another fingerprint.
    fn look_at_the_posts(&self) -> Result<(), Fault> {
        // Of two who post and then look, at least one sees the other.
        fence(Ordering::SeqCst);
        let fingerprint = self.offer.signature.fingerprint;
        let other = self.seat.group.members().find_map(|(rank, member)| {
            let (call, theirs) = member.status.post.read()?;
            (call == self.offer.call && theirs != fingerprint).then_some((rank, member, theirs))
        });
        let Some((rank, member, theirs)) = other else { return Ok(()) };
        let cause = Cause::Disagree {
            rank_a: self.seat.rank(),
            call_a: self.offer.signature.description.clone(),
            rank_b: Rank::new(rank),
            call_b: member.words(theirs),
        };
        Err((None, cause))
    }
}
