//! Eager messages: the sender writes them into the receiver's mailbox at once, and the receiver
//! copies them out of it.

use super::active_round::{ActiveRound, Membership};
use super::copy::{gather, scatter};
use super::group::{EagerHeader, EagerMessage, Group, MessageId};
use super::mailbox::Mailbox;
use super::peer_messages::{PeerCounts, PeerMessages, Protocol};
use crate::plan::{Message, Piece};
use crate::transport::bases::Bases;
use crate::transport::{Cause, Failure};

/// The part of an active round that writing and reading eager messages need. It is copied, so that
/// its fields need not be loaded again after each message.
#[derive(Clone, Copy)]
struct EagerIo<'a> {
    group: &'a Group,
    me: usize,
    bases: Bases,
    message_id: MessageId,
}

impl EagerIo<'_> {
    /// Writes a message of `bytes` bytes, at most [`EagerMessage::MAX_BYTES`]. `fill` initialises
    /// its payload. Returns false if the mailbox is full.
    #[inline(always)]
    fn write(&self, counts: &mut [PeerCounts], to: usize, bytes: u32, fill: impl FnOnce(*mut u8)) -> bool {
        let (Some(mailbox), Some(counts)) = (self.group.mailbox_to(to), counts.get_mut(to)) else { return false };
        if counts.is_full(self.group.room) {
            counts.acknowledged = self.group.member(to).sync.taken(self.me);
            if counts.is_full(self.group.room) {
                return false;
            }
        }
        let header = EagerHeader::new(self.message_id, bytes);
        let write = |message: *mut EagerMessage| {
            // SAFETY: this is the memory of a message, and this rank's alone while it writes, as
            // `Mailbox::write` says.
            unsafe {
                (&raw mut (*message).header).write(header);
                fill((&raw mut (*message).payload).cast());
            }
        };
        // SAFETY: only this rank's transport writes here, and counts what it sends. There is room,
        // as the receiver has said in its state or in an acknowledgement.
        unsafe { mailbox.write(self.me, counts.sent, counts.taken, write) };
        counts.sent += 1;
        true
    }

    /// Writes a message that is one piece. Returns false if the mailbox is full.
    #[inline(always)]
    fn write_piece(&self, counts: &mut [PeerCounts], piece: &Piece) -> bool {
        // SAFETY: a message lies inside its buffer with its whole length, and no thread writes it
        // in this round (`Program`).
        let fill = |payload| unsafe { self.bases.read(piece, payload) };
        self.write(counts, piece.peer.index(), piece.bytes as u32, fill)
    }

    /// Passes the payload of the next message to `read`, if the message is the awaited one.
    /// Returns `None` if there is no message, and its header if it is another one.
    #[inline(always)]
    fn read(
        &self,
        mailbox: &Mailbox<EagerMessage>,
        counts: &mut PeerCounts,
        (from, bytes): (usize, u64),
        read: impl FnOnce(*const u8),
    ) -> Option<Result<(), EagerHeader>> {
        let read = |message: &EagerMessage| {
            let fits = bytes <= EagerMessage::MAX_BYTES as u64;
            if !(fits && message.header == EagerHeader::new(self.message_id, bytes as u32)) {
                return Err(message.header);
            }
            read(message.payload.as_ptr().cast());
            Ok(())
        };
        // SAFETY: only this rank's transport takes messages here, and counts what it takes.
        let (outcome, ack) = unsafe { mailbox.read(from, counts.taken, read) }?;
        if outcome.is_ok() {
            counts.taken += 1;
            counts.acknowledged = counts.acknowledged.max(ack.expand(counts.sent));
            self.group.member(self.me).sync.set_taken(from, counts.taken);
        }
        Some(outcome)
    }
}

impl<'a> ActiveRound<'a> {
    fn eager_io(&self) -> EagerIo<'a> {
        let Membership { group, me, .. } = self.membership;
        EagerIo { group, me: *me, bases: self.descriptor.bases, message_id: self.message_id }
    }

    /// Writes all eager messages for which there is room. If all messages of the round are eager
    /// and of one piece, it begins with the message at index `after`, the first to a rank after
    /// this one.
    #[inline]
    pub(super) fn write_eager(&mut self, after: usize) {
        let (sends, eager) = (self.sends, self.eager_io());
        self.unwritten.clear();
        self.unwritten.reserve(sends.len());
        if let Some(pieces) = self.pieces
            && self.eager_only
        {
            for at in (after..sends.len()).chain(0..after) {
                if !eager.write_piece(self.counts, &pieces.sends[at]) {
                    self.unwritten.push(at as u32);
                }
            }
        } else if self.outbox.messages as usize != sends.len() {
            for part in PeerMessages::all(eager.group, sends).filter(|part| part.protocol == Protocol::Eager) {
                if !self.write_one(part.first) {
                    self.unwritten.push(part.first);
                }
            }
        }
    }

    /// Writes the unwritten eager messages for which there is room by now.
    #[inline]
    pub(super) fn retry_unwritten(&mut self) {
        let mut i = 0;
        while let Some(at) = self.unwritten.get(i) {
            if self.write_one(*at) {
                self.wake_receivers = true;
                self.unwritten.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// Writes the message of this index as an eager one. Returns false if the mailbox is full.
    fn write_one(&mut self, at: u32) -> bool {
        let (eager, message) = (self.eager_io(), &self.sends[at as usize]);
        let runs = self.descriptor.program.runs(message);
        // SAFETY: as for a piece.
        let fill = |payload| unsafe { gather((runs, eager.bases), payload, message.bytes) };
        eager.write(self.counts, message.peer.index(), message.bytes as u32, fill)
    }

    /// Copies awaited eager messages of one piece each, in order, up to the first that is not
    /// here. Returns how many it has copied.
    #[inline]
    pub(super) fn read_eager_pieces(&mut self) -> Result<usize, Failure> {
        let eager = self.eager_io();
        let (Some(pieces), Some(mailbox)) = (self.pieces, eager.group.mailbox(eager.me)) else { return Ok(0) };
        // The first pass decides nothing. It makes the processor load the cache lines of several
        // messages at once. It stops at the first message that is not here: to read a line that is
        // still to be written would load it twice, and delay its writer.
        let counts = &*self.counts;
        let is_here = |part: &&PeerMessages| {
            let (from, taken) = (part.peer.index(), counts[part.peer.index()].taken);
            let here = part.protocol == Protocol::Eager && mailbox.has(from, taken);
            if here && pieces.longest > EagerMessage::ON_FIRST_LINE {
                mailbox.prefetch(from, taken);
            }
            here
        };
        let here = self.pending.iter().take_while(is_here).count();
        for i in 0..here {
            let part = self.pending[i];
            let (piece, from) = (&pieces.receives[part.first as usize], part.peer.index());
            // SAFETY: the payload is this rank's to read until it is taken, and as long as the
            // message. No other thread accesses its destination (`Program`, `RoundIo`).
            let read = |payload| unsafe { eager.bases.write(piece, payload) };
            match eager.read(mailbox, &mut self.counts[from], (from, piece.bytes as u64), read) {
                Some(Ok(())) => self.wake_senders = true,
                Some(Err(header)) => return Err(self.fail_unexpected(part, header)),
                None => return Ok(i),
            }
        }
        Ok(here)
    }

    /// Copies an eager message, if it is here. Returns whether it is.
    pub(super) fn read_eager(&mut self, part: PeerMessages) -> Result<bool, Failure> {
        let (eager, from) = (self.eager_io(), part.peer.index());
        let Some(mailbox) = eager.group.mailbox(eager.me) else { return Ok(false) };
        let (runs, bytes) = match &self.receives[part.first as usize..part.end as usize] {
            [message] => (self.descriptor.program.runs(message), message.bytes),
            // A length that no eager message has.
            _ => (&[][..], u64::MAX),
        };
        // SAFETY: as for a piece.
        let read = |payload| unsafe { scatter(payload, bytes, (runs, eager.bases)) };
        match eager.read(mailbox, &mut self.counts[from], (from, bytes), read) {
            Some(Ok(())) => self.wake_senders = true,
            Some(Err(header)) => return Err(self.fail_unexpected(part, header)),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the next message of a peer is here as an eager one.
    #[inline]
    pub(super) fn has_eager(&self, from: usize) -> bool {
        let mailbox = self.membership.group.mailbox(self.membership.me);
        self.counts.get(from).zip(mailbox).is_some_and(|(counts, mailbox)| mailbox.has(from, counts.taken))
    }

    /// Returns the id of the next eager message of a rank, awaited or not, if it is here.
    pub(super) fn peek_eager(&self, from: usize) -> Option<MessageId> {
        let (mailbox, counts) = (self.membership.group.mailbox(self.membership.me)?, self.counts.get(from)?);
        // SAFETY: only this rank's transport takes messages here, and counts what it takes.
        let peeked = unsafe { mailbox.read(from, counts.taken, |message| message.header.message_id()) };
        peeked.map(|(message_id, _)| message_id)
    }

    /// Whether there is room for an eager message by now.
    pub(super) fn has_room(&self, to: usize) -> bool {
        let acknowledged = self.membership.group.member(to).sync.taken(self.membership.me);
        self.counts
            .get(to)
            .is_some_and(|counts| !PeerCounts { acknowledged, ..*counts }.is_full(self.membership.group.room))
    }

    /// Fails because of an eager message that is not the awaited one: its id or its length differ,
    /// or more than one message is awaited.
    #[cold]
    fn fail_unexpected(&self, part: PeerMessages, header: EagerHeader) -> Failure {
        let (from, message_id) = (part.peer.index(), header.message_id());
        let received: &[Message] = &self.receives[part.first as usize..part.end as usize];
        let description = || self.membership.group.member(from).description(message_id.fingerprint);
        let cause = self.mismatch(from, message_id, std::iter::once(header.bytes().into()), received, description);
        let reason = || format!("unexpected eager message from rank {from}").into();
        let cause = cause.unwrap_or_else(|| Cause::Aborted { rank: self.membership.rank(), reason: reason() });
        self.membership.fail(self.descriptor, (None, cause))
    }
}
