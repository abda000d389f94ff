//! Rendezvous messages: the receiver copies them from the sender's memory, once the sender has
//! published where they are.

use super::active_round::ActiveRound;
use super::copy::{copy, copy_piece};
use super::group::PublishedDescriptor;
use super::peer_messages::PeerMessages;
use super::slot::AccessGuard;
use crate::plan::Message;
use crate::transport::Failure;

impl ActiveRound<'_> {
    /// Whether a peer has published the next message for this rank.
    #[inline]
    pub(super) fn has_rendezvous(&self, from: usize) -> bool {
        let slot = self.membership.group.slot(from);
        self.counts.get(from).is_some_and(|counts| slot.is_flagged(self.membership.me, counts.taken))
    }

    /// Copies from the peer's memory, if the peer has published the message. Returns whether it
    /// has.
    #[inline]
    pub(super) fn copy_rendezvous(&mut self, part: PeerMessages, guard: &AccessGuard<'_>) -> Result<bool, Failure> {
        let (membership, descriptor, from) = (self.membership, self.descriptor, part.peer.index());
        let Some(counts) = self.counts.get_mut(from) else { return Ok(false) };
        let sender = &membership.group.member(from).sync;
        // SAFETY: as below.
        let due = |published: &PublishedDescriptor| unsafe { published.descriptor() }.due;
        let Some(lease) = guard.lease(membership.group.slot(from), membership.me, counts.taken, sender, due) else {
            return Ok(false);
        };
        counts.taken += 1;
        let taken = counts.taken;
        // SAFETY: the sender keeps the descriptor, and all that it refers to, until the lease is
        // dropped (`Outbox`).
        let theirs = unsafe { lease.descriptor.descriptor() };
        // If every rank sends to every rank, this is the message at this rank's number, or the one
        // before.
        let first = membership.search(&theirs.round().sends, membership.me - usize::from(from < membership.me));
        if let (Some(sent), Some(received)) = (theirs.pieces(), self.pieces)
            && let (Some(sent), Some(received)) = (sent.sends.get(first), received.receives.get(part.first as usize))
            && sent.peer.index() == membership.me
            && theirs.message_id() == self.message_id
            && sent.bytes == received.bytes
        {
            let (status, bases) = (&membership.own().status, (theirs.bases, descriptor.bases));
            let combined = self.folds.as_mut().is_some_and(|folds| {
                // SAFETY: as below. A combination's result goes where the plan has found room, and
                // its places are as long as the message.
                unsafe { folds.combine(part.first, (sent, bases.0), bases.1) }
            });
            if !combined {
                // SAFETY: as below.
                unsafe { copy_piece((sent, bases.0), (received, bases.1), || status.advance()) };
            }
        } else {
            let sent = &theirs.round().sends[first..];
            let sent = &sent[..sent.partition_point(|message| message.peer.index() == membership.me)];
            let received: &[Message] = &self.receives[part.first as usize..part.end as usize];
            let description = || theirs.signature.description.clone();
            let lengths = sent.iter().map(|sent| sent.bytes);
            if let Some(cause) = self.mismatch(from, theirs.message_id(), lengths, received, description) {
                return Err(membership.fail(descriptor, (None, cause)));
            }
            for (sent, received) in sent.iter().zip(received) {
                let (from, to) = (theirs.program.runs(sent), descriptor.program.runs(received));
                // SAFETY: a `Program` has its runs inside its buffers, which `RoundIo::new` found
                // long enough. Its runs have as many bytes as its messages say, and no receiving
                // run is in the input. `mismatch` found both messages equally long. In a round no
                // byte is received that is also sent or received otherwise (`Program` too). The
                // sender waits for the lease. The buffers that are written are this rank's alone,
                // as `RoundIo` holds them exclusively.
                unsafe { copy((from, theirs.bases), (to, descriptor.bases), || membership.own().status.advance()) };
            }
            if let (Some(folds), Some(received)) = (&mut self.folds, self.pieces)
                && let Some(received) = received.receives.get(part.first as usize)
            {
                // SAFETY: the message is in its own place now.
                unsafe { folds.combine(part.first, (received, descriptor.bases), descriptor.bases) };
            }
        }
        membership.own().sync.set_taken(from, taken);
        drop(lease);
        membership.own().status.advance();
        Ok(true)
    }
}
