//! One round. The rank first publishes or writes all that it sends, then takes what it awaits, then
//! waits until all that it published is released.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::active_round::{ActiveRound, Membership, Wait};
use super::folds::Folds;
use super::group::{EagerMessage, Group, RoundDescriptor};
use super::job::Job;
use super::outbox::Outbox;
use super::parker::Parker;
use super::peer_messages::{PeerCounts, PeerMessages, Protocol};
use super::slot::AccessGuard;
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::bases::Bases;
use crate::transport::thread_number::this_thread;
use crate::transport::{Failure, Folding, History, RoundIo, Transport};

/// The transport of one member of a context.
#[derive(Debug)]
pub(super) struct LocalTransport {
    membership: Membership,
    /// The call and the fingerprint in the status word.
    written: Option<(u64, u64)>,
    /// The call and the number of the last round.
    last: Option<(u64, u32)>,
    /// Counts of messages, by peer.
    counts: Box<[PeerCounts]>,
    /// The number of rendezvous messages that it has published, modulo 2^32.
    published: u32,
    /// The messages that the current round still has to take. Kept between rounds for its memory.
    pending: Vec<PeerMessages>,
    /// The messages that the current round still has to write. Kept between rounds for its memory.
    unwritten: Vec<u32>,
    /// The number of times that it has parked.
    parks: u64,
}

impl LocalTransport {
    pub(super) fn new(job: Arc<Job>, group: Arc<Group>, me: usize) -> Self {
        let counts = (0..group.size()).map(|_| PeerCounts::default()).collect();
        let (pending, unwritten) = (Vec::new(), Vec::new());
        Self {
            membership: Membership { job, group, me },
            written: None,
            last: None,
            counts,
            published: 0,
            pending,
            unwritten,
            parks: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn parks(&self) -> u64 {
        self.parks
    }

    /// Writes the call and the round to this member's status, for the other members.
    fn update_status(&mut self, io: &RoundIo<'_>) {
        let (now, member) = ((io.call, io.signature.fingerprint), self.membership.own());
        if self.written != Some(now) {
            if self.written.is_none_or(|(_, fingerprint)| fingerprint != now.1) {
                member.record_signature(io.call, io.signature);
            }
            member.status.word.write(now.0, now.1);
            member.status.thread.store(this_thread(), Ordering::Relaxed);
            self.written = Some(now);
        }
        member.status.round.store(io.number(), Ordering::Relaxed);
    }
}

impl Drop for LocalTransport {
    fn drop(&mut self) {
        self.membership.job.close(&self.membership.group, self.membership.me);
    }
}

impl Transport for LocalTransport {
    fn rank(&self) -> Rank {
        self.membership.rank()
    }

    fn size(&self) -> usize {
        self.membership.group.size()
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        if let Some(failure) = self.membership.group.failure() {
            return Err(failure.clone());
        }
        self.update_status(&io);
        let (call, signature, program, timeouts) = (io.call, io.signature, io.program(), io.timeouts);
        let (bases, folding) = (Bases::of(&mut io.buffers()), io.folding());
        // From here on the buffers are accessed through these pointers only.
        let descriptor = RoundDescriptor { call, signature, program, index: io.index() as u32, due: 0, bases };
        let Self { membership, last, counts, published, pending, unwritten, parks, .. } = self;
        let (round, pieces) = (descriptor.round(), descriptor.pieces());
        // Acknowledgements (`mailbox`) and the order of messages rely on rising numbers.
        if last.replace((call, round.number)).is_some_and(|last| last >= (call, round.number)) {
            let reason = format!("call {call}, round {} does not come after the last one", round.number);
            return Err(membership.refuse(&descriptor, reason));
        }
        let (first_send, first_receive) =
            match (membership.after_me(&round.sends), membership.after_me(&round.receives)) {
                (Ok(send), Ok(receive)) => (send, receive),
                (Err(peer), _) | (_, Err(peer)) => return Err(membership.refuse_peer(&descriptor, peer)),
            };
        // Most rounds of small messages have one eager message for each peer. They skip the search
        // for anything else.
        let eager_only =
            membership.group.has_mailboxes() && pieces.is_some_and(|pieces| pieces.longest <= EagerMessage::MAX_BYTES);
        membership.await_all(pending, &round.receives, first_receive, eager_only);
        let folding = folding.filter(|folding| membership.fold_first(pending, folding.folds, &round.receives));
        let outbox = match eager_only {
            true => Outbox::empty(&membership.group, membership.me, &descriptor),
            false => Outbox::publish(&membership.group, membership.me, &descriptor, (published, counts)),
        };
        let wait = Wait::new(outbox.messages);
        let active = ActiveRound {
            membership,
            descriptor: &descriptor,
            outbox: &outbox,
            timeouts,
            counts,
            pending,
            unwritten,
            message_id: descriptor.message_id(),
            sends: &round.sends,
            receives: &round.receives,
            pieces,
            eager_only,
            folds: folding.as_ref().map(|folding| Folds::new(folding.reduction, folding.folds)),
            wake_receivers: !round.sends.is_empty(),
            wake_senders: false,
            wait,
            parks,
        };
        let outcome = active.run(first_send);
        drop(outbox);
        membership.own().status.advance();
        outcome?;
        if let Some(Folding { done, .. }) = folding {
            *done = true;
        }
        // A receiver that refuses a message fails the context before it releases the message. A
        // failure of a later call does not concern this round.
        membership.group.failure().filter(|failure| failure.call <= call).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn abort(&mut self, failure: Failure) {
        self.membership.group.fail(failure.clone());
        self.membership.fail_started_calls(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.membership.group.failure().cloned()
    }

    fn conclude(&mut self, history: History) {
        self.membership.own().conclude(history);
    }
}

impl<'a> ActiveRound<'a> {
    fn run(mut self, first_send: usize) -> Result<(), Failure> {
        let outcome = self.complete(first_send);
        self.stop_waiting();
        self.wake_peers();
        outcome
    }

    /// Unparks the peers that may wait for what this rank has sent, or has made room for, since it
    /// last did so.
    #[inline]
    pub(super) fn wake_peers(&mut self) {
        if self.wake_receivers || self.wake_senders {
            Parker::fence();
            self.wake_peers_after_fence();
        }
    }

    /// Does the same after the caller's fence.
    #[inline]
    fn wake_peers_after_fence(&mut self) {
        let (receivers, senders) = (std::mem::take(&mut self.wake_receivers), std::mem::take(&mut self.wake_senders));
        if self.membership.group.parked.any() {
            self.unpark_peers(receivers, senders);
        }
    }

    /// Unparks receivers of this round's messages, or senders that await room, or both.
    #[cold]
    fn unpark_peers(&self, receivers: bool, senders: bool) {
        let state = |message: &Message| &self.membership.group.member(message.peer.index()).sync;
        if receivers {
            self.sends.iter().for_each(|message| state(message).parker.unpark_after_fence());
        }
        if senders {
            let awaiting = self.receives.iter().map(state).filter(|state| state.awaits_room.load(Ordering::Relaxed));
            awaiting.for_each(|state| state.parker.unpark_after_fence());
        }
    }

    fn complete(&mut self, first_send: usize) -> Result<(), Failure> {
        let group = &*self.membership.group;
        self.write_eager(first_send);
        loop {
            let before = self.pending.len() + self.unwritten.len();
            self.retry_unwritten();
            self.take_ready(self.wait.is_last_poll(self.membership.job.has_core_each()))?;
            if self.is_urgent() {
                self.wake_peers();
            }
            let outstanding = self.outbox.outstanding();
            let left = self.pending.len() + self.unwritten.len();
            if outstanding == 0 && left == 0 {
                return Ok(());
            }
            if let Some(failure) = group.failure() {
                return Err(failure.clone());
            }
            if left < before || outstanding != self.wait.outstanding {
                self.stop_waiting();
                self.wait = Wait::new(outstanding);
            } else {
                self.pause()?;
            }
        }
    }

    /// Whether peers that may be parked are to be unparked now.
    ///
    /// If each rank has a core, they are rarely parked. A fence before the written data has left
    /// the core costs as much as a small exchange; a little later it costs nothing.
    #[inline]
    fn is_urgent(&self) -> bool {
        !self.membership.job.has_core_each() || self.wait.is_long()
    }

    /// Takes the messages that are here. If all are eager, and `thorough` is not set, it takes only
    /// those before the first that is not here.
    #[inline]
    fn take_ready(&mut self, thorough: bool) -> Result<(), Failure> {
        let mut next = self.read_eager_pieces()?;
        let (mut guard, mut left) = (None, 0);
        if thorough || !self.eager_only {
            while let Some(part) = self.pending.get(next).copied() {
                if !self.take(part, &mut guard)? {
                    self.pending[left] = part;
                    left += 1;
                }
                next += 1;
            }
        }
        if left < next {
            self.pending.drain(left..next);
            self.membership.own().status.advance();
        }
        Ok(())
    }

    /// Takes the messages of one peer, if they are here. Returns whether they are.
    #[inline]
    fn take(&mut self, part: PeerMessages, guard: &mut Option<AccessGuard<'a>>) -> Result<bool, Failure> {
        if part.protocol == Protocol::Eager {
            return self.read_eager(part);
        }
        if !self.has_rendezvous(part.peer.index()) || !self.is_due(part) {
            return Ok(false);
        }
        let guard = match guard {
            Some(guard) => guard,
            None => {
                // A copy may take long, so peers are unparked first. Entering the epoch is the
                // fence for that.
                let guard = guard.insert(self.membership.own().sync.epoch.enter());
                self.wake_peers_after_fence();
                guard
            }
        };
        self.copy_rendezvous(part, guard)
    }

    /// Fails if an awaited message has come by the other protocol, as a message of another length
    /// may.
    pub(super) fn check_other_protocol(&mut self) -> Result<(), Failure> {
        for i in 0..self.pending.len() {
            let protocol =
                if self.pending[i].protocol == Protocol::Rendezvous { Protocol::Eager } else { Protocol::Rendezvous };
            self.take(PeerMessages { protocol, ..self.pending[i] }, &mut None)?;
        }
        Ok(())
    }

    /// Whether a message of this peer is here, by either protocol.
    pub(super) fn has_sent(&self, from: usize) -> bool {
        self.has_eager(from) || self.has_rendezvous(from)
    }
}
