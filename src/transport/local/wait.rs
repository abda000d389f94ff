//! Waiting: what a rank does when none of its messages is ready, and what it checks before it
//! parks.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use super::active_round::{ActiveRound, ChainSample, Membership, RoundError, SPINS, UNPAUSED_SPINS, YIELDS};
use super::group::Exit;
use super::wait_for::follow;
use crate::ids::Rank;
use crate::transport::{Cause, Deadline, Failure, Traversal};

/// Maximum time that a rank stays parked before it reads the status words of the others again.
const MAX_PARK: Duration = Duration::from_secs(1);

impl ActiveRound<'_> {
    /// Marks the end of a wait in this member's status.
    pub(super) fn stop_waiting(&self) {
        if self.wait.since.is_some() {
            self.membership.own().status.set_awaits(None);
        }
    }

    /// Waits a little: first by polling, for as long as that is cheaper than to park, then parked.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        let wait = &mut self.wait;
        wait.polls = wait.polls.saturating_add(1);
        if self.membership.job.has_core_each() {
            if wait.polls <= SPINS {
                if wait.polls > UNPAUSED_SPINS {
                    std::hint::spin_loop();
                }
                return Ok(());
            }
        } else if wait.polls <= YIELDS {
            std::thread::yield_now();
            return Ok(());
        }
        self.check_other_protocol()?;
        self.wake_peers();
        let limit = self.check_before_parking().map_err(|fault| self.membership.fail(self.descriptor, fault))?;
        let (Membership { group, .. }, wait, sync) = (self.membership, &self.wait, &self.membership.own().sync);
        let sends = self.sends;
        let is_ready = || {
            group.failure().is_some()
                || group.departures() != wait.departures
                || wait.outstanding > 0 && self.outbox.outstanding() == 0
                || self.pending.iter().any(|awaited| self.is_due(*awaited) && self.has_sent(awaited.peer.index()))
                || self.unwritten.iter().any(|at| self.has_room(sends[*at as usize].peer.index()))
        };
        let awaits_room = !self.unwritten.is_empty();
        sync.awaits_room.store(awaits_room, Ordering::Relaxed);
        sync.parker.park(&group.parked, Some(limit), is_ready);
        sync.awaits_room.store(false, Ordering::Relaxed);
        *self.parks += 1;
        Ok(())
    }

    /// Checks all but this rank's own messages before it parks. Returns how long it may stay
    /// parked.
    fn check_before_parking(&mut self) -> Result<Duration, RoundError> {
        let Some(peer) = self.awaited() else { return Ok(Duration::ZERO) };
        self.membership.own().status.set_awaits(Some(peer));
        let since = *self.wait.since.get_or_insert_with(Instant::now);
        self.wait.departures = self.membership.group.departures();
        if self.wait.departures > 0
            && let Err(gone) = self.check_departures()
        {
            // The rank that left may have done its part, and this rank may call something else. The
            // status words and messages of the others tell.
            self.check_status_words()?;
            self.check_eager_messages()?;
            return Err(gone);
        }
        self.check_status_words()?;
        self.check_eager_messages()?;
        self.check_wait_chain(peer, since)
    }

    /// Samples the wait-for chain, twice in the shorter timeout, and fails if the deadline for the
    /// end of the chain has passed. Returns how long the rank may stay parked.
    fn check_wait_chain(&mut self, peer: usize, since: Instant) -> Result<Duration, RoundError> {
        let (timeouts, now) = (self.timeouts, Instant::now());
        let (step, waited) = (timeouts.shortest() / 2, now.duration_since(since));
        let sampled = self.wait.sample.map_or(since, |sample| sample.at);
        let passed = |timeout: Duration| waited >= timeout && sampled.duration_since(since) < timeout;
        if now.duration_since(sampled) < step && !passed(timeouts.silence) && !passed(timeouts.arrival) {
            return Ok(self.until_next_check(since, now));
        }
        let (chain, home) = (self.chain(peer), &*self.membership.group);
        let deadline = chain.deadline().unwrap_or(Deadline::Arrival);
        let sample = ChainSample { snapshot: chain.snapshot(), deadline, at: now };
        if sample.deadline == Deadline::Arrival {
            let (call, description) = (self.descriptor.call, &self.descriptor.signature.description);
            log::info!("call {call} ({description}) has waited for {waited:.0?}: {}", chain.describe(&home.processes));
        }
        match self.wait.sample.replace(sample) {
            Some(before) if before.deadline == deadline && before.snapshot.is_still(&sample.snapshot) => {
                let waits = timeouts.of(deadline);
                if waited >= waits {
                    let culprit = chain.culprit().and_then(|process| home.rank_of(process)).map(Rank::new);
                    let chain = chain.describe(&home.processes).into();
                    return Err((culprit, Cause::Deadline { deadline, waited: waits, chain }));
                }
            }
            // A rank on the chain has made progress in between, so the time starts again.
            Some(_) => self.wait.since = Some(now),
            None => {}
        }
        Ok(self.until_next_check(self.wait.since.unwrap_or(now), now))
    }

    /// Returns the time until the next sample of the chain, or until the next deadline.
    fn until_next_check(&self, since: Instant, now: Instant) -> Duration {
        let sampled = self.wait.sample.map_or(since, |sample| sample.at);
        let step = (self.timeouts.shortest() / 2).saturating_sub(now.duration_since(sampled));
        let deadlines = [self.timeouts.silence, self.timeouts.arrival].into_iter();
        let left = deadlines.map(|timeout| timeout.saturating_sub(now.duration_since(since)));
        left.filter(|left| !left.is_zero()).fold(MAX_PARK.min(step), Duration::min)
    }

    /// Follows the wait-for graph from this rank, which waits for `peer`.
    fn chain(&self, peer: usize) -> Traversal {
        let Membership { group, job, me, .. } = self.membership;
        follow(job, group, (*me, peer), self.descriptor.call)
    }

    /// Returns one of the ranks that this rank waits for, or `None` if the last rendezvous message
    /// was released just now.
    fn awaited(&self) -> Option<usize> {
        let sends = self.sends;
        let full = || self.unwritten.first().map(|at| sends[*at as usize].peer.index());
        let receiver = || self.outbox.receivers().find(|to| self.outbox.is_awaiting(*to));
        self.pending.first().map(|awaited| awaited.peer.index()).or_else(full).or_else(receiver)
    }

    /// Fails if a rank has left without which this round cannot end.
    fn check_departures(&self) -> Result<(), RoundError> {
        // The order matters: `left` is read before the message, because what a rank did before it
        // left counts.
        let left = |rank: usize| self.membership.group.member(rank).left().map(|exit| (rank, exit));
        let awaited = self.pending.iter().find_map(|awaited| {
            let from = awaited.peer.index();
            left(from).filter(|_| !self.has_sent(from))
        });
        let sends = self.sends;
        let untaken = || self.outbox.receivers().filter_map(left).find(|(to, _)| self.outbox.is_awaiting(*to));
        let unwritten = || {
            let mut receivers = self.unwritten.iter().map(|at| sends[*at as usize].peer.index());
            receivers.find_map(|to| left(to).filter(|_| !self.has_room(to)))
        };
        let Some((rank, exit)) = awaited.or_else(untaken).or_else(unwritten) else { return Ok(()) };
        let how = match exit {
            Exit::Panicked(Some(message)) => format!("panicked: {message}").into(),
            Exit::Panicked(None) => "panicked".into(),
            Exit::Returned => match self.membership.group.member(rank).status.word.read() {
                Some((call, _)) if call >= self.descriptor.call => "returned in the middle of the call".into(),
                _ => "returned before the call".into(),
            },
        };
        Err((Some(Rank::new(rank)), Cause::Gone { rank: Rank::new(rank), how }))
    }

    /// Fails if any rank, awaited or not, has written a message of the same call with another
    /// fingerprint, or of an earlier round in which it was not awaited.
    fn check_eager_messages(&self) -> Result<(), RoundError> {
        let mine = self.message_id;
        for from in 0..self.membership.group.size() {
            let Some(theirs) = self.peek_eager(from) else { continue };
            let differs = theirs.call == mine.call && theirs.fingerprint != mine.fingerprint;
            if differs || (theirs.call, theirs.round) < (mine.call, mine.round) {
                let description = self.membership.group.member(from).description(theirs.fingerprint);
                return Err((None, self.disagreement(from, (theirs, &description, 1), 0)));
            }
        }
        Ok(())
    }

    /// Fails if any rank, awaited or not, is in the same call with another fingerprint.
    fn check_status_words(&self) -> Result<(), RoundError> {
        // Of two ranks that write their status word and then read the other's, at least one sees
        // the other.
        fence(Ordering::SeqCst);
        let fingerprint = self.descriptor.signature.fingerprint;
        let other = self.membership.group.members().find_map(|(rank, member)| {
            let (call, theirs) = member.status.word.read()?;
            (call == self.descriptor.call && theirs != fingerprint).then_some((rank, member, theirs))
        });
        let Some((rank, member, theirs)) = other else { return Ok(()) };
        let cause = Cause::Disagree {
            rank_a: self.membership.rank(),
            call_a: self.descriptor.signature.description.clone(),
            rank_b: Rank::new(rank),
            call_b: member.description(theirs),
        };
        Err((None, cause))
    }
}
