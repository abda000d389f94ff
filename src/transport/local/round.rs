//! One round: everything sent is published or written first, then what is awaited is taken in whatever order it becomes
//! ready, then the rank waits until all that it published is settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Job;
use super::bell::Bell;
use super::copy::{Bases, copy, gather, scatter};
use super::group::{Group, Head, Letter, Member, Offer, Stamp};
use super::mail::CELLS;
use super::outbox::Outbox;
use super::slot::Slot;
use super::wait::{Fault, Wait};
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::{Cause, Failure, RoundIo, Transport};

/// A member's hold on a context.
#[derive(Debug)]
pub(super) struct Local {
    seat: Seat,
    /// The call and the fingerprint that are posted.
    posted: Option<(u64, u64)>,
    /// By peer.
    counts: Box<[Counts]>,
    /// What the running round still has to take, and to write; their memory serves every round.
    pending: Vec<Awaited>,
    unwritten: Vec<u32>,
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

/// Letters exchanged with a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    written: u32,
    /// How many of those the peer has taken, as far as is known.
    gone: u32,
    /// How many of the peer's are taken.
    pub(super) taken: u32,
}

impl Counts {
    fn is_full(&self) -> bool {
        self.written.wrapping_sub(self.gone) >= CELLS
    }
}

/// The messages awaited from one peer, as a range of the round's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub(super) peer: Rank,
    first: u32,
    end: u32,
    by: By,
}

/// How a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Slot,
    Mail,
}

/// A round under way.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) seat: &'a Seat,
    /// What this rank sends; what it receives goes to the same buffers.
    pub(super) offer: &'a Offer<'a>,
    pub(super) outbox: &'a Outbox<'a>,
    stamp: Stamp,
    /// Whether there is at most one message to and one from each peer, and all are letters.
    letters: bool,
    pub(super) timeout: Duration,
    pub(super) counts: &'a mut [Counts],
    /// What is still to be taken.
    pub(super) pending: &'a mut Vec<Awaited>,
    /// Letters still to be written, as indices of messages sent.
    pub(super) unwritten: &'a mut Vec<u32>,
    /// Whether anything was published or written since those who may wait for it were last told, and whether letters
    /// were taken.
    unannounced: bool,
    untold: bool,
    pub(super) wait: Wait,
    pub(super) sleeps: &'a mut u64,
}

impl Local {
    pub(super) fn new(job: Arc<Job>, group: Arc<Group>, me: usize) -> Self {
        let counts = (0..group.size()).map(|_| Counts::default()).collect();
        let (pending, unwritten) = (Vec::new(), Vec::new());
        Self { seat: Seat { job, group, me }, posted: None, counts, pending, unwritten, sleeps: 0 }
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
        let (call, signature, program, timeout) = (io.call, io.signature, io.program(), io.timeout);
        let index = io.index() as u32;
        let buffers = io.buffers();
        let bases = Bases {
            input: buffers.input.as_ptr(),
            output: buffers.output.as_mut_ptr(),
            scratch: buffers.scratch.as_mut_ptr(),
        };
        // From here to the end the buffers are reached through these pointers alone.
        let offer = Offer { call, signature, program, index, first: 0, bases };
        let Self { seat, counts, pending, unwritten, sleeps, .. } = self;
        seat.check_peers(&offer)?;
        // Most rounds of small messages are of a letter a peer: what else there may be need not be looked for.
        let letters = seat.group.has_letterboxes() && program.has_single_messages(index, Letter::LONGEST as u64);
        seat.await_all(pending, &offer.round().receives, letters);
        let outbox = match letters {
            true => Outbox::empty(&seat.group, seat.me),
            false => Outbox::publish(&seat.group, seat.me, &offer),
        };
        let wait = Wait::new(outbox.parcels);
        let turn = Turn {
            seat,
            offer: &offer,
            outbox: &outbox,
            timeout,
            counts,
            pending,
            unwritten,
            stamp: offer.stamp(),
            letters,
            unannounced: !offer.round().sends.is_empty(),
            untold: false,
            wait,
            sleeps,
        };
        let outcome = turn.run();
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
        for messages in [&offer.round().sends, &offer.round().receives] {
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
            round: offer.round().number,
            observer: self.rank(),
            culprit,
            cause,
        })
    }

    /// Notes what is to be taken, from the back: beginning with the rank before this one, so that not all begin with the same
    /// sender.
    fn await_all(&self, pending: &mut Vec<Awaited>, receives: &[Message], letters: bool) {
        let after = receives.partition_point(|message| message.peer.index() < self.me);
        pending.clear();
        if letters {
            let awaited = |(i, message): (usize, &Message)| Awaited {
                peer: message.peer,
                first: i as u32,
                end: i as u32 + 1,
                by: By::Mail,
            };
            let all = || receives.iter().enumerate().map(awaited);
            pending.extend(all().skip(after).chain(all().take(after)));
            return;
        }
        for (mut first, part) in [(after, &receives[after..]), (0, &receives[..after])] {
            for messages in Outbox::parts(part) {
                let end = first + messages.len();
                let by = if self.group.is_letter(messages) { By::Mail } else { By::Slot };
                pending.push(Awaited { peer: messages[0].peer, first: first as u32, end: end as u32, by });
                first = end;
            }
        }
    }
}

impl Turn<'_> {
    fn run(mut self) -> Result<(), Failure> {
        let outcome = self.complete();
        self.stop_waiting();
        self.tell();
        outcome
    }

    /// Wakes those who sleep for what this rank has done since it last told: sent, or made room for.
    pub(super) fn tell(&mut self) {
        let (announce, room) = (std::mem::take(&mut self.unannounced), std::mem::take(&mut self.untold));
        if !announce && !room {
            return;
        }
        Bell::announce();
        let group = &*self.seat.group;
        if !group.sleepers.any() {
            return;
        }
        let round = self.offer.round();
        if announce {
            round.sends.iter().for_each(|message| group.member(message.peer.index()).desk.bell.ring_announced());
        }
        if room {
            let desks = round.receives.iter().map(|message| &group.member(message.peer.index()).desk);
            desks.filter(|desk| desk.cramped.load(Ordering::Relaxed)).for_each(|desk| desk.bell.ring_announced());
        }
    }

    fn complete(&mut self) -> Result<(), Failure> {
        let group = &*self.seat.group;
        if self.outbox.parcels > 0 {
            // Copying may take long; what is but letters is told of later, which spares a fence.
            self.tell();
            self.unannounced = self.outbox.parcels as usize != self.offer.round().sends.len();
        }
        self.write_all();
        loop {
            let before = self.pending.len() + self.unwritten.len();
            self.write_rest();
            self.take_ready()?;
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

    /// Whether those who may sleep are to be told now. Where each rank has a core, they hardly ever sleep, and the fence
    /// costs as much as a small exchange before what was written has left the core; a little later it costs nothing.
    #[inline]
    fn is_urgent(&self) -> bool {
        !self.seat.job.has_core_each() || self.wait.is_long()
    }

    /// Writes all letters for which there is room.
    #[inline]
    fn write_all(&mut self) {
        let (group, sends) = (&*self.seat.group, &self.offer.round().sends);
        self.unwritten.clear();
        self.unwritten.reserve(sends.len());
        if self.outbox.parcels as usize == sends.len() {
            return;
        }
        if self.letters {
            for (i, message) in sends.iter().enumerate() {
                if !self.write(message) {
                    self.unwritten.push(i as u32);
                }
            }
            return;
        }
        let mut first = 0;
        for part in Outbox::parts(sends) {
            if group.is_letter(part) && !self.write(&part[0]) {
                self.unwritten.push(first);
            }
            first += part.len() as u32;
        }
    }

    /// Writes letters for which there is room by now.
    #[inline]
    fn write_rest(&mut self) {
        let mut i = 0;
        while let Some(at) = self.unwritten.get(i) {
            let message = &self.offer.round().sends[*at as usize];
            if self.write(message) {
                self.unannounced = true;
                self.unwritten.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// Writes a letter, if there is room for it.
    #[inline]
    fn write(&mut self, message: &Message) -> bool {
        let (Seat { group, me, .. }, offer, to) = (self.seat, self.offer, message.peer.index());
        let (Some(mail), Some(counts)) = (group.letterbox_to(to), self.counts.get_mut(to)) else { return false };
        if counts.is_full() {
            counts.gone = mail.taken(*me);
            if counts.is_full() {
                return false;
            }
        }
        let head = Head { taken: counts.taken, bytes: message.bytes as u32, stamp: self.stamp };
        let write = |letter: *mut Letter| {
            // SAFETY: it is a letter's memory, and this rank's alone while it writes, as `Letterbox::write` says. A message's
            // runs are inside its buffers, as long as it says, which is no longer than a letter's text, and nobody
            // writes them in this round (`Program`).
            unsafe {
                (&raw mut (*letter).head).write(head);
                gather((offer.program.runs(message), offer.bases), (&raw mut (*letter).text).cast(), message.bytes);
            }
        };
        // SAFETY: only this rank's transport writes here, and counts what it writes; there is room, as the receiver has
        // said by `taken` or in a letter.
        unsafe { mail.write(*me, counts.written, write) };
        counts.written = counts.written.wrapping_add(1);
        true
    }

    /// Takes what is here.
    #[inline]
    fn take_ready(&mut self) -> Result<(), Failure> {
        // A first look at all, by which nothing is decided yet, has their cache lines fetched side by side.
        let ready = self.pending.iter().filter(|awaited| self.is_ready(awaited)).count();
        if ready == 0 {
            return Ok(());
        }
        let mut i = self.pending.len();
        while i > 0 {
            i -= 1;
            if self.take(self.pending[i])? {
                self.pending.swap_remove(i);
            }
        }
        self.seat.own().status.advance();
        Ok(())
    }

    #[inline]
    fn is_ready(&self, Awaited { peer, by, .. }: &Awaited) -> bool {
        match by {
            By::Slot => self.has_parcel(peer.index()),
            By::Mail => self.has_letter(peer.index()),
        }
    }

    /// Copies what one peer has for this rank, if it is there.
    #[inline]
    fn take(&mut self, awaited: Awaited) -> Result<bool, Failure> {
        match awaited.by {
            By::Slot => self.claim(awaited),
            By::Mail => self.open(awaited),
        }
    }

    /// Takes what comes otherwise than awaited: that is how a message of another length comes.
    pub(super) fn take_astray(&mut self) -> Result<(), Failure> {
        for i in 0..self.pending.len() {
            let by = if self.pending[i].by == By::Slot { By::Mail } else { By::Slot };
            if self.take(Awaited { by, ..self.pending[i] })? {
                self.pending.swap_remove(i);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether something of that peer's lies here, awaited or not.
    pub(super) fn has_sent(&self, from: usize) -> bool {
        self.has_letter(from) || self.has_parcel(from)
    }

    #[inline]
    fn has_parcel(&self, from: usize) -> bool {
        self.seat.group.slot(from, self.seat.me).is_some_and(Slot::is_published)
    }

    #[inline]
    fn has_letter(&self, from: usize) -> bool {
        let letterbox = self.seat.group.letterbox(self.seat.me);
        self.counts.get(from).zip(letterbox).is_some_and(|(counts, mail)| mail.has(from, counts.taken))
    }

    /// Whether there is room for a letter by now.
    pub(super) fn has_room(&self, to: usize) -> bool {
        let taken = self.seat.group.letterbox(to).map(|mail| mail.taken(self.seat.me));
        self.counts.get(to).zip(taken).is_some_and(|(counts, gone)| !Counts { gone, ..*counts }.is_full())
    }

    /// Copies from the peer's memory.
    #[inline]
    fn claim(&mut self, awaited: Awaited) -> Result<bool, Failure> {
        let (Seat { group, me, .. }, offer) = (self.seat, self.offer);
        let from = awaited.peer.index();
        let sender = (from, &group.member(from).desk);
        let Some(claim) = group.slot(from, *me).and_then(|slot| slot.claim(sender, &self.seat.own().desk)) else {
            return Ok(false);
        };
        // SAFETY: the sender keeps the offer, and all that it refers to, until the claim is dropped (`Outbox`).
        let theirs = unsafe { claim.parcel.offer() };
        let sent = Outbox::parts(&theirs.round().sends[theirs.first as usize..]).next().unwrap_or_default();
        let received = &offer.round().receives[awaited.first as usize..awaited.end as usize];
        let words = || Some(theirs.signature.words.clone());
        if let Some(cause) = self.mismatch(from, theirs.stamp(), sent.iter().map(|sent| sent.bytes), received, words) {
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

    /// Copies from a letter.
    #[inline]
    fn open(&mut self, awaited: Awaited) -> Result<bool, Failure> {
        let (Seat { group, me, .. }, offer) = (self.seat, self.offer);
        let from = awaited.peer.index();
        let (Some(mail), Some(counts)) = (group.letterbox(*me), self.counts.get(from)) else { return Ok(false) };
        let received = &offer.round().receives[awaited.first as usize..awaited.end as usize];
        let read = |letter: &Letter| {
            let bytes = u64::from(letter.head.bytes);
            let [message] = received else { return Err(self.misdirected(from, letter, received)) };
            if letter.head.stamp != self.stamp || bytes != message.bytes {
                return Err(self.misdirected(from, letter, received));
            }
            // SAFETY: as in `claim`; the text is this rank's to read until it is taken, and as long as the message, the only
            // one.
            unsafe { scatter(letter.text.as_ptr(), bytes, (offer.program.runs(message), offer.bases)) };
            Ok(letter.head.taken)
        };
        // SAFETY: only this rank's transport takes letters here, and counts them.
        let Some(outcome) = (unsafe { mail.take(from, counts.taken, read) }) else { return Ok(false) };
        let gone = outcome.map_err(|cause| self.seat.fail(offer, (None, cause)))?;
        if let Some(counts) = self.counts.get_mut(from) {
            (counts.taken, counts.gone) = (counts.taken.wrapping_add(1), gone);
        }
        self.untold = true;
        Ok(true)
    }

    /// Why a letter is not what is awaited, which is other than one message of its length and stamp.
    #[cold]
    fn misdirected(&self, from: usize, letter: &Letter, received: &[Message]) -> Cause {
        let words = || self.seat.group.member(from).words(letter.head.stamp.fingerprint);
        let bytes = std::iter::once(letter.head.bytes.into());
        let cause = self.mismatch(from, letter.head.stamp, bytes, received, words);
        let reason = || format!("a letter of rank {from} that nobody awaits").into();
        cause.unwrap_or_else(|| Cause::Aborted { rank: self.seat.rank(), reason: reason() })
    }

    /// Why what is sent is not what is awaited.
    #[inline]
    fn mismatch(
        &self,
        from: usize,
        theirs: Stamp,
        mut sent: impl ExactSizeIterator<Item = u64>,
        received: &[Message],
        words: impl FnOnce() -> Option<Arc<str>>,
    ) -> Option<Cause> {
        if theirs != self.stamp || sent.len() != received.len() {
            let words = words().unwrap_or_else(|| "something else".into());
            return Some(self.disagreement(from, (theirs, &words, sent.len()), received.len()));
        }
        received.iter().find_map(|message| {
            let (to, expected) = (self.seat.rank(), message.bytes);
            let found = sent.next().filter(|found| *found != expected)?;
            Some(Cause::Length { from: Rank::new(from), to, expected, found })
        })
    }

    #[cold]
    fn disagreement(&self, from: usize, theirs: (Stamp, &Arc<str>, usize), messages: usize) -> Cause {
        let mine = (self.stamp, &self.offer.signature.words, messages);
        let cause = |ones, others| Cause::Disagree { one: self.seat.rank(), ones, other: Rank::new(from), others };
        if mine.0.call != theirs.0.call {
            // One of them was through with the call in which they parted, since it could send without waiting.
            let call = mine.0.call.min(theirs.0.call);
            let called = |rank| self.seat.group.member(rank).called(call);
            if let (Some(mine), Some(theirs)) = (called(self.seat.me), called(from))
                && mine.fingerprint != theirs.fingerprint
            {
                return cause(mine.words, theirs.words);
            }
        }
        let equal = mine.0.call == theirs.0.call && mine.0.fingerprint != theirs.0.fingerprint;
        let describe = |(Stamp { call, round, .. }, words, messages): (Stamp, &Arc<str>, usize)| -> Arc<str> {
            if equal {
                words.clone()
            } else {
                format!("{words} (call {call}, round {round}, {messages} messages)").into()
            }
        };
        cause(describe(mine), describe(theirs))
    }
}

/// A number for the running thread, from 1.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.try_with(|mine| *mine).unwrap_or(0)
}
