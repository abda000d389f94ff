//! One round: everything sent is published first, then what is awaited is taken in whatever order it becomes ready, then
//! the rank waits until all that it published is settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Job;
use super::copy::{Bases, copy};
use super::group::{Group, Member, Offer};
use super::outbox::Outbox;
use super::wait::{Fault, Wait};
use crate::ids::Rank;
use crate::plan::{Message, ProgramRound};
use crate::transport::{Cause, Failure, RoundIo, Transport};

/// A member's hold on a context.
#[derive(Debug)]
pub(super) struct Local {
    seat: Seat,
    /// The call and the fingerprint that are posted.
    posted: Option<(u64, u64)>,
    /// What the running round still has to take; its memory serves every round.
    pending: Vec<Awaited>,
    /// How often it has slept.
    sleeps: u64,
}

/// A member's place.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) job: Arc<Job>,
    pub(super) group: Arc<Group>,
    pub(super) me: usize,
}

/// The messages awaited from one peer, as a range of the round's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub(super) peer: Rank,
    first: u32,
    end: u32,
}

/// A round under way.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) seat: &'a Seat,
    /// What this rank sends; what it receives goes to the same buffers.
    pub(super) offer: &'a Offer<'a>,
    pub(super) timeout: Duration,
    /// What is still to be taken.
    pub(super) pending: &'a mut Vec<Awaited>,
    pub(super) wait: Wait,
    pub(super) sleeps: &'a mut u64,
}

impl Local {
    pub(super) fn new(job: Arc<Job>, group: Arc<Group>, me: usize) -> Self {
        Self { seat: Seat { job, group, me }, posted: None, pending: Vec::new(), sleeps: 0 }
    }

    #[cfg(test)]
    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    fn post(&mut self, io: &RoundIo<'_>) {
        let (now, member) = ((io.call, io.signature.fingerprint), self.seat.own());
        if self.posted != Some(now) {
            if self.posted.is_none_or(|(_, fingerprint)| fingerprint != now.1) {
                member.set_words(io.signature);
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
        let (call, signature, program, round, timeout) = (io.call, io.signature, io.program(), io.round(), io.timeout);
        let buffers = io.buffers();
        let bases = Bases {
            input: buffers.input.as_ptr(),
            output: buffers.output.as_mut_ptr(),
            scratch: buffers.scratch.as_mut_ptr(),
        };
        // From here to the end the buffers are reached through these pointers alone.
        let offer = Offer { call, signature, program, round, bases };
        let Self { seat, pending, sleeps, .. } = self;
        seat.check_peers(&offer)?;
        await_all(pending, &round.receives, seat.me);
        let outbox = Outbox::publish(&seat.group, seat.me, &offer);
        let outcome = Turn { seat, offer: &offer, timeout, pending, wait: Wait::new(0), sleeps }.run();
        drop(outbox);
        seat.own().status.advance();
        outcome?;
        // A receiver that refuses a message fails the context before it lets go of it. A failure in a later call, though,
        // is none of what is done here.
        seat.group.failure().filter(|failure| failure.call <= call).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn abort(&mut self, failure: Failure) {
        self.seat.group.fail(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.seat.group.failure().cloned()
    }
}

impl Seat {
    pub(super) fn rank(&self) -> Rank {
        Rank::new(self.me)
    }

    pub(super) fn own(&self) -> &Member {
        self.group.member(self.me)
    }

    /// Messages are in order of their peers, so that two looks at each side will do.
    fn check_peers(&self, offer: &Offer<'_>) -> Result<(), Failure> {
        let (me, size) = (self.rank(), self.group.size());
        for messages in [&offer.round.sends, &offer.round.receives] {
            let beyond = messages.last().map(|message| message.peer).filter(|peer| peer.index() >= size);
            let itself = messages.binary_search_by_key(&me, |message| message.peer).ok().map(|_| me);
            if let Some(peer) = beyond.or(itself) {
                let reason = if peer == me {
                    "a message between a rank and itself".to_owned()
                } else {
                    format!("a message with rank {peer} of {size}")
                };
                let cause = Cause::Aborted { rank: self.rank(), reason: reason.into() };
                return Err(self.fail(offer, (Some(self.rank()), cause)));
            }
        }
        Ok(())
    }

    /// Fails the context; returns its first failure.
    #[cold]
    pub(super) fn fail(&self, offer: &Offer<'_>, (culprit, cause): Fault) -> Failure {
        self.group.fail(Failure {
            call: offer.call,
            words: offer.signature.words.clone(),
            round: offer.round.number,
            observer: self.rank(),
            culprit,
            cause,
        })
    }
}

/// Notes what is to be taken: first from the ranks after this one, so that not all begin with the same sender.
fn await_all(pending: &mut Vec<Awaited>, receives: &[Message], me: usize) {
    let after = receives.partition_point(|message| message.peer.index() < me);
    pending.clear();
    for (mut first, part) in [(after, &receives[after..]), (0, &receives[..after])] {
        for messages in part.chunk_by(|a, b| a.peer == b.peer) {
            let end = first + messages.len();
            pending.push(Awaited { peer: messages[0].peer, first: first as u32, end: end as u32 });
            first = end;
        }
    }
}

impl Turn<'_> {
    fn run(mut self) -> Result<(), Failure> {
        let outcome = self.complete();
        self.stop_waiting();
        outcome
    }

    fn complete(&mut self) -> Result<(), Failure> {
        let group = &*self.seat.group;
        loop {
            let before = self.pending.len();
            self.take_ready()?;
            let open = self.seat.own().desk.tally.open();
            if open == 0 && self.pending.is_empty() {
                return Ok(());
            }
            if let Some(failure) = group.failure() {
                return Err(failure.clone());
            }
            if self.pending.len() < before || open != self.wait.open {
                self.stop_waiting();
                self.wait = Wait::new(open);
            } else {
                self.pause()?;
            }
        }
    }

    fn take_ready(&mut self) -> Result<(), Failure> {
        let mut i = 0;
        while let Some(awaited) = self.pending.get(i) {
            if self.take(*awaited)? {
                self.pending.swap_remove(i);
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// Copies what one peer has for this rank, if it is there.
    #[inline]
    fn take(&self, awaited: Awaited) -> Result<bool, Failure> {
        let (Seat { group, me, .. }, offer) = (self.seat, self.offer);
        let from = awaited.peer.index();
        let Some(claim) = group.slot(from, *me).claim(&group.member(from).desk) else {
            return Ok(false);
        };
        // SAFETY: the sender keeps the offer, and all that it refers to, until the claim is dropped (`Outbox`).
        let theirs = unsafe { claim.parcel.offer() };
        let sent = &theirs.round.sends[claim.parcel.first as usize..claim.parcel.end as usize];
        let received = &offer.round.receives[awaited.first as usize..awaited.end as usize];
        if let Some(cause) = self.mismatch(from, (theirs, sent), received) {
            return Err(self.seat.fail(offer, (None, cause)));
        }
        for (sent, received) in sent.iter().zip(received) {
            let (from, to) = (theirs.program.runs(sent), offer.program.runs(received));
            // SAFETY: a `Program` has its runs inside its buffers, which `RoundIo::new` found long enough, as many bytes
            // as its messages say, and no receiving run in the input; `mismatch` found both messages equally long. In
            // a round no byte is received that is also sent or received otherwise (`Program` too), the sender waits for
            // the claim, and the buffers that are written are this rank's alone, as `RoundIo` holds them exclusively.
            unsafe { copy((from, theirs.bases), (to, offer.bases), || self.seat.own().status.advance()) };
        }
        self.seat.own().status.advance();
        Ok(true)
    }

    /// Why what is sent is not what is awaited.
    #[inline]
    fn mismatch(&self, from: usize, (theirs, sent): (&Offer<'_>, &[Message]), received: &[Message]) -> Option<Cause> {
        let mine = self.offer;
        let same_call = theirs.call == mine.call && theirs.signature.fingerprint == mine.signature.fingerprint;
        if !same_call || theirs.round.number != mine.round.number || sent.len() != received.len() {
            return Some(self.disagreement(from, (theirs, sent.len()), (mine, received.len())));
        }
        let (sent, received) = sent.iter().zip(received).find(|(sent, received)| sent.bytes != received.bytes)?;
        Some(Cause::Length { from: Rank::new(from), to: self.seat.rank(), expected: received.bytes, found: sent.bytes })
    }

    #[cold]
    fn disagreement(&self, from: usize, theirs: (&Offer<'_>, usize), mine: (&Offer<'_>, usize)) -> Cause {
        let equal = mine.0.call == theirs.0.call && mine.0.signature.fingerprint != theirs.0.signature.fingerprint;
        let describe = |(offer, messages): (&Offer<'_>, usize)| -> Arc<str> {
            let Offer { call, signature, round: ProgramRound { number: round, .. }, .. } = offer;
            if equal {
                signature.words.clone()
            } else {
                format!("{} (call {call}, round {round}, {messages} messages)", signature.words).into()
            }
        };
        Cause::Disagree {
            one: self.seat.rank(),
            ones: describe(mine),
            other: Rank::new(from),
            others: describe(theirs),
        }
    }
}

/// A number for the running thread, from 1.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.try_with(|mine| *mine).unwrap_or(0)
}
