//! Small messages: written to the receiver's letterbox, whether it is there or not, and copied out
//! of it.

use super::active_round::{ActiveRound, Seat};
use super::copy::{gather, scatter};
use super::group::{Group, Head, Letter, MessageId};
use super::mail::Letterbox;
use super::parts::{By, Counts, Part};
use crate::plan::{Message, Piece};
use crate::transport::bases::Bases;
use crate::transport::{Cause, Failure};

/// What writing and opening need of a turn. By value, so that it need not be read again after each
/// letter.
#[derive(Clone, Copy)]
struct Clerk<'a> {
    group: &'a Group,
    me: usize,
    bases: Bases,
    message_id: MessageId,
}

impl Clerk<'_> {
    /// Writes a letter with so many bytes of text, which `fill` initialises, and which must be no
    /// more than there is room for. False if the letterbox is full.
    #[inline(always)]
    fn write(&self, counts: &mut [Counts], to: usize, bytes: u32, fill: impl FnOnce(*mut u8)) -> bool {
        let (Some(mail), Some(counts)) = (self.group.letterbox_to(to), counts.get_mut(to)) else { return false };
        if counts.is_full() {
            counts.answered = self.group.member(to).desk.taken(self.me);
            if counts.is_full() {
                return false;
            }
        }
        let head = Head::new(self.message_id, bytes);
        let write = |letter: *mut Letter| {
            // SAFETY: it is a letter's memory, and this rank's alone while it writes, as
            // `Letterbox::write` says.
            unsafe {
                (&raw mut (*letter).head).write(head);
                fill((&raw mut (*letter).text).cast());
            }
        };
        // SAFETY: only this rank's transport writes here, and counts what it sends; there is room,
        // as the receiver has said at its desk or in a letter.
        unsafe { mail.write(self.me, counts.sent, counts.taken, write) };
        counts.sent += 1;
        true
    }

    #[inline(always)]
    fn write_piece(&self, counts: &mut [Counts], piece: &Piece) -> bool {
        // SAFETY: a message lies inside its buffer, as long as it says, and nobody writes it in
        // this round (`Program`).
        let fill = |text| unsafe { self.bases.read(piece, text) };
        self.write(counts, piece.peer.index(), piece.bytes as u32, fill)
    }

    /// Has `read` copy the text of a letter that is as awaited; `None` if there is no letter, its
    /// head if it is another.
    #[inline(always)]
    fn open(
        &self,
        mail: &Letterbox<Letter>,
        counts: &mut Counts,
        (from, bytes): (usize, u64),
        read: impl FnOnce(*const u8),
    ) -> Option<Result<(), Head>> {
        let read = |letter: &Letter| {
            let expected = bytes <= Letter::LONGEST as u64 && letter.head == Head::new(self.message_id, bytes as u32);
            if !expected {
                return Err(letter.head);
            }
            read(letter.text.as_ptr().cast());
            Ok(())
        };
        // SAFETY: only this rank's transport takes letters here, and counts what it takes.
        let (outcome, answer) = unsafe { mail.read(from, counts.taken, read) }?;
        if outcome.is_ok() {
            counts.taken += 1;
            counts.answered = counts.answered.max(answer.of(counts.sent));
            self.group.member(self.me).desk.set_taken(from, counts.taken);
        }
        Some(outcome)
    }
}

impl<'a> ActiveRound<'a> {
    fn clerk(&self) -> Clerk<'a> {
        let Seat { group, me, .. } = self.seat;
        Clerk { group, me: *me, bases: self.offer.bases, message_id: self.message_id }
    }

    /// Writes all letters for which there is room; in rounds of letters of one piece, first those
    /// to the ranks after this one.
    #[inline]
    pub(super) fn write_all(&mut self, after: usize) {
        let (sends, clerk) = (self.sends, self.clerk());
        self.unwritten.clear();
        self.unwritten.reserve(sends.len());
        if let Some(pieces) = self.pieces
            && self.letters
        {
            for at in (after..sends.len()).chain(0..after) {
                if !clerk.write_piece(self.counts, &pieces.sends[at]) {
                    self.unwritten.push(at as u32);
                }
            }
        } else if self.outbox.parcels as usize != sends.len() {
            for part in Part::all(clerk.group, sends).filter(|part| part.by == By::Mail) {
                if !self.write(part.first) {
                    self.unwritten.push(part.first);
                }
            }
        }
    }

    /// Writes letters for which there is room by now.
    #[inline]
    pub(super) fn write_rest(&mut self) {
        let mut i = 0;
        while let Some(at) = self.unwritten.get(i) {
            if self.write(*at) {
                self.unannounced = true;
                self.unwritten.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// Writes a letter, a message of that index, if there is room for it.
    fn write(&mut self, at: u32) -> bool {
        let (clerk, message) = (self.clerk(), &self.sends[at as usize]);
        let runs = self.offer.program.runs(message);
        // SAFETY: as for a piece.
        let fill = |text| unsafe { gather((runs, clerk.bases), text, message.bytes) };
        clerk.write(self.counts, message.peer.index(), message.bytes as u32, fill)
    }

    /// Copies from letters of one piece each, from the first that is awaited to the last before one
    /// that is not here. Returns how many.
    #[inline]
    pub(super) fn open_pieces(&mut self) -> Result<usize, Failure> {
        let clerk = self.clerk();
        let (Some(pieces), Some(mail)) = (self.pieces, clerk.group.letterbox(clerk.me)) else { return Ok(0) };
        // A first look, by which nothing is decided yet, has their cache lines fetched side by
        // side. Whoever looks at one that is still to be written has it fetched twice, and delays
        // its writer: hence no further.
        let counts = &*self.counts;
        let is_here = |part: &&Part| {
            let (from, taken) = (part.peer.index(), counts[part.peer.index()].taken);
            let here = part.by == By::Mail && mail.has(from, taken);
            if here && pieces.longest > Letter::ON_FIRST_LINE {
                mail.fetch(from, taken);
            }
            here
        };
        let here = self.pending.iter().take_while(is_here).count();
        for i in 0..here {
            let part = self.pending[i];
            let (piece, from) = (&pieces.receives[part.first as usize], part.peer.index());
            // SAFETY: the text is this rank's to read until it is taken, and as long as the
            // message; nobody else touches where it goes (`Program`, `RoundIo`).
            let read = |text| unsafe { clerk.bases.write(piece, text) };
            match clerk.open(mail, &mut self.counts[from], (from, piece.bytes as u64), read) {
                Some(Ok(())) => self.untold = true,
                Some(Err(head)) => return Err(self.misdirected(part, head)),
                None => return Ok(i),
            }
        }
        Ok(here)
    }

    /// Copies from a letter, if it is there.
    pub(super) fn open(&mut self, part: Part) -> Result<bool, Failure> {
        let (clerk, from) = (self.clerk(), part.peer.index());
        let Some(mail) = clerk.group.letterbox(clerk.me) else { return Ok(false) };
        let (runs, bytes) = match &self.receives[part.first as usize..part.end as usize] {
            [message] => (self.offer.program.runs(message), message.bytes),
            // No letter has so many.
            _ => (&[][..], u64::MAX),
        };
        // SAFETY: as for a piece.
        let read = |text| unsafe { scatter(text, bytes, (runs, clerk.bases)) };
        match clerk.open(mail, &mut self.counts[from], (from, bytes), read) {
            Some(Ok(())) => self.untold = true,
            Some(Err(head)) => return Err(self.misdirected(part, head)),
            None => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn has_letter(&self, from: usize) -> bool {
        let letterbox = self.seat.group.letterbox(self.seat.me);
        self.counts.get(from).zip(letterbox).is_some_and(|(counts, mail)| mail.has(from, counts.taken))
    }

    /// The message_id of a letter that lies here, of a rank that may not be awaited.
    pub(super) fn peek(&self, from: usize) -> Option<MessageId> {
        let (mail, counts) = (self.seat.group.letterbox(self.seat.me)?, self.counts.get(from)?);
        // SAFETY: only this rank's transport takes letters here, and counts what it takes.
        unsafe { mail.read(from, counts.taken, |letter| letter.head.message_id()) }.map(|(message_id, _)| message_id)
    }

    /// Whether there is room for a letter by now.
    pub(super) fn has_room(&self, to: usize) -> bool {
        let answered = self.seat.group.member(to).desk.taken(self.seat.me);
        self.counts.get(to).is_some_and(|counts| !Counts { answered, ..*counts }.is_full())
    }

    /// Fails because of a letter that is not what is awaited, which is other than one message of
    /// its length and message_id.
    #[cold]
    fn misdirected(&self, part: Part, head: Head) -> Failure {
        let (from, message_id) = (part.peer.index(), head.message_id());
        let received: &[Message] = &self.receives[part.first as usize..part.end as usize];
        let words = || self.seat.group.member(from).words(message_id.fingerprint);
        let cause = self.mismatch(from, message_id, std::iter::once(head.bytes().into()), received, words);
        let reason = || format!("a letter of rank {from} that nobody awaits").into();
        let cause = cause.unwrap_or_else(|| Cause::Aborted { rank: self.seat.rank(), reason: reason() });
        self.seat.fail(self.offer, (None, cause))
    }
}
