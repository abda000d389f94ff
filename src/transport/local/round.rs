//! One round: everything sent is laid out or written first, then what is awaited is taken, then the
//! rank waits until all that it laid out is settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::active_round::{ActiveRound, Seat, Wait};
use super::bell::Bell;
use super::board::Holding;
use super::group::{Group, Letter, Offer};
use super::job::Job;
use super::outbox::Outbox;
use super::parts::{By, Counts, Part};
use crate::ids::Rank;
use crate::transport::bases::Bases;
use crate::transport::{Failure, History, RoundIo, Transport};

/// A member's hold on a context.
#[derive(Debug)]
pub(super) struct Local {
    seat: Seat,
    /// The call and the fingerprint that are posted.
    posted: Option<(u64, u64)>,
    /// The call and the number of the last round.
    last: Option<(u64, u32)>,
    /// By peer.
    counts: Box<[Counts]>,
    /// How many parcels it has laid out.
    laid: u32,
    /// What the running round still has to take, and to write; their memory serves every round.
    pending: Vec<Part>,
    unwritten: Vec<u32>,
    /// How often it has slept.
    sleeps: u64,
}

impl Local {
    pub(super) fn new(job: Arc<Job>, group: Arc<Group>, me: usize) -> Self {
        let counts = (0..group.size()).map(|_| Counts::default()).collect();
        let (pending, unwritten) = (Vec::new(), Vec::new());
        Self { seat: Seat { job, group, me }, posted: None, last: None, counts, laid: 0, pending, unwritten, sleeps: 0 }
    }

    #[cfg(test)]
    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    fn post(&mut self, io: &RoundIo<'_>) {
        let (now, member) = ((io.call, io.signature.fingerprint), self.seat.own());
        if self.posted != Some(now) {
            if self.posted.is_none_or(|(_, fingerprint)| fingerprint != now.1) {
                member.say(io.call, io.signature);
            }
            member.status.post.write(now.0, now.1);
            member.status.thread.store(this_thread(), Ordering::Relaxed);
            self.posted = Some(now);
        }
        member.status.round.store(io.number(), Ordering::Relaxed);
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.seat.job.close(&self.seat.group, self.seat.me);
    }
}

impl Transport for Local {
    fn rank(&self) -> Rank {
        self.seat.rank()
    }

    fn size(&self) -> usize {
        self.seat.group.size()
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        if let Some(failure) = self.seat.group.failure() {
            return Err(failure.clone());
        }
        self.post(&io);
        let (call, signature, program, timeouts) = (io.call, io.signature, io.program(), io.timeouts);
        let bases = Bases::of(&mut io.buffers());
        // From here to the end the buffers are reached through these pointers alone.
        let offer = Offer { call, signature, program, index: io.index() as u32, due: 0, bases };
        let Self { seat, last, counts, laid, pending, unwritten, sleeps, .. } = self;
        let (round, pieces) = (offer.round(), offer.pieces());
        // On this rests that an answer tells how much room there is (`mail`), and that what comes
        // is in order.
        if last.replace((call, round.number)).is_some_and(|last| last >= (call, round.number)) {
            let reason = format!("call {call}, round {} does not come after the last one", round.number);
            return Err(seat.refuse(&offer, reason));
        }
        let (first_send, first_receive) = match (seat.after_me(&round.sends), seat.after_me(&round.receives)) {
            (Ok(send), Ok(receive)) => (send, receive),
            (Err(peer), _) | (_, Err(peer)) => return Err(seat.refuse_peer(&offer, peer)),
        };
        // Most rounds of small messages are of a letter a peer: what else there may be need not be
        // looked for.
        let letters = seat.group.has_letterboxes() && pieces.is_some_and(|pieces| pieces.longest <= Letter::LONGEST);
        seat.await_all(pending, &round.receives, first_receive, letters);
        let outbox = match letters {
            true => Outbox::empty(&seat.group, seat.me, &offer),
            false => Outbox::lay_out(&seat.group, seat.me, &offer, (laid, counts)),
        };
        let wait = Wait::new(outbox.parcels);
        let active = ActiveRound {
            seat,
            offer: &offer,
            outbox: &outbox,
            timeouts,
            counts,
            pending,
            unwritten,
            message_id: offer.message_id(),
            sends: &round.sends,
            receives: &round.receives,
            pieces,
            letters,
            unannounced: !round.sends.is_empty(),
            untold: false,
            wait,
            sleeps,
        };
        let outcome = active.run(first_send);
        drop(outbox);
        seat.own().status.advance();
        outcome?;
        // A receiver that refuses a message fails the context before it lets go of it. A failure in
        // a later call, though, is none of what is done here.
        seat.group.failure().filter(|failure| failure.call <= call).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn abort(&mut self, failure: Failure) {
        self.seat.group.fail(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.seat.group.failure().cloned()
    }

    fn conclude(&mut self, history: History) {
        self.seat.own().conclude(history);
    }
}

impl<'a> ActiveRound<'a> {
    fn run(mut self, first_send: usize) -> Result<(), Failure> {
        let outcome = self.complete(first_send);
        self.stop_waiting();
        self.tell();
        outcome
    }

    /// Wakes those who sleep for what this rank has done since it last told: sent, or made room
    /// for.
    #[inline]
    pub(super) fn tell(&mut self) {
        if self.unannounced || self.untold {
            Bell::announce();
            self.tell_announced();
        }
    }

    /// The same, after the fence.
    #[inline]
    fn tell_announced(&mut self) {
        let (announce, room) = (std::mem::take(&mut self.unannounced), std::mem::take(&mut self.untold));
        if self.seat.group.sleepers.any() {
            self.ring(announce, room);
        }
    }

    /// Wakes those who sleep for what is sent, and those who wait for room.
    #[cold]
    fn ring(&self, announce: bool, room: bool) {
        let group = &*self.seat.group;
        if announce {
            self.sends.iter().for_each(|message| group.member(message.peer.index()).desk.bell.ring_announced());
        }
        if room {
            let desks = self.receives.iter().map(|message| &group.member(message.peer.index()).desk);
            desks.filter(|desk| desk.cramped.load(Ordering::Relaxed)).for_each(|desk| desk.bell.ring_announced());
        }
    }

    fn complete(&mut self, first_send: usize) -> Result<(), Failure> {
        let group = &*self.seat.group;
        self.write_all(first_send);
        loop {
            let before = self.pending.len() + self.unwritten.len();
            self.write_rest();
            self.take_ready(self.wait.is_last_look(self.seat.job.has_core_each()))?;
            if self.is_urgent() {
                self.tell();
            }
            let open = self.outbox.open();
            let left = self.pending.len() + self.unwritten.len();
            if open == 0 && left == 0 {
                return Ok(());
            }
            if let Some(failure) = group.failure() {
                return Err(failure.clone());
            }
            if left < before || open != self.wait.open {
                self.stop_waiting();
                self.wait = Wait::new(open);
            } else {
                self.pause()?;
            }
        }
    }

    /// Whether those who may sleep are to be told now. Where each rank has a core, they hardly ever
    /// sleep, and the fence costs as much as a small exchange before what was written has left the
    /// core; a little later it costs nothing.
    #[inline]
    fn is_urgent(&self) -> bool {
        !self.seat.job.has_core_each() || self.wait.is_long()
    }

    /// Takes what is here; where there are but letters, as long as it does not wait `long`, only
    /// those before the first that is not.
    #[inline]
    fn take_ready(&mut self, long: bool) -> Result<(), Failure> {
        let mut next = self.open_pieces()?;
        let (mut holding, mut left) = (None, 0);
        if long || !self.letters {
            while let Some(part) = self.pending.get(next).copied() {
                if !self.take(part, &mut holding)? {
                    self.pending[left] = part;
                    left += 1;
                }
                next += 1;
            }
        }
        if left < next {
            self.pending.drain(left..next);
            self.seat.own().status.advance();
        }
        Ok(())
    }

    /// Takes what one peer has for this rank, if it is there.
    #[inline]
    fn take(&mut self, part: Part, holding: &mut Option<Holding<'a>>) -> Result<bool, Failure> {
        if part.by == By::Mail {
            return self.open(part);
        }
        if !self.has_parcel(part.peer.index()) {
            return Ok(false);
        }
        let holding = match holding {
            Some(holding) => holding,
            None => {
                // Copying may take long: others hear first what there is for them. Holding has
                // fenced it.
                let holding = holding.insert(self.seat.own().desk.hold.take());
                self.tell_announced();
                holding
            }
        };
        self.claim(part, holding)
    }

    /// Looks whether what is awaited has come otherwise than awaited, as a message of another
    /// length does. Then it fails.
    pub(super) fn look_astray(&mut self) -> Result<(), Failure> {
        for i in 0..self.pending.len() {
            let by = if self.pending[i].by == By::Board { By::Mail } else { By::Board };
            self.take(Part { by, ..self.pending[i] }, &mut None)?;
        }
        Ok(())
    }

    /// Whether something of that peer's lies here, awaited or not.
    pub(super) fn has_sent(&self, from: usize) -> bool {
        self.has_letter(from) || self.has_parcel(from)
    }
}

/// A number for the running thread, from 1.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.try_with(|mine| *mine).unwrap_or(0)
}
