//! Large messages: copied from the sender's memory, where it has laid them out.

use super::active_round::ActiveRound;
use super::board::Holding;
use super::copy::{copy, copy_piece};
use super::group::Laid;
use super::parts::Part;
use crate::plan::Message;
use crate::transport::Failure;

impl ActiveRound<'_> {
    #[inline]
    pub(super) fn has_parcel(&self, from: usize) -> bool {
        let board = self.seat.group.board(from);
        self.counts.get(from).is_some_and(|counts| board.has_note(self.seat.me, counts.taken))
    }

    /// Copies from the peer's memory, if something is laid out there.
    #[inline]
    pub(super) fn claim(&mut self, part: Part, holding: &Holding<'_>) -> Result<bool, Failure> {
        let (seat, offer, from) = (self.seat, self.offer, part.peer.index());
        let Some(counts) = self.counts.get_mut(from) else { return Ok(false) };
        let sender = &seat.group.member(from).desk;
        // SAFETY: as below.
        let due = |laid: &Laid| unsafe { laid.offer() }.due;
        let Some(claim) = holding.claim(seat.group.board(from), seat.me, counts.taken, sender, due) else {
            return Ok(false);
        };
        counts.taken += 1;
        let taken = counts.taken;
        // SAFETY: the sender keeps the offer, and all that it refers to, until the claim is dropped
        // (`Outbox`).
        let theirs = unsafe { claim.offer.offer() };
        // Where each rank sends to each, this is the message before or at its number.
        let first = seat.search(&theirs.round().sends, seat.me - usize::from(from < seat.me));
        if let (Some(sent), Some(received)) = (theirs.pieces(), self.pieces)
            && let (Some(sent), Some(received)) = (sent.sends.get(first), received.receives.get(part.first as usize))
            && sent.peer.index() == seat.me
            && theirs.message_id() == self.message_id
            && sent.bytes == received.bytes
        {
            let (status, bases) = (&seat.own().status, (theirs.bases, offer.bases));
            // SAFETY: as below.
            unsafe { copy_piece((sent, bases.0), (received, bases.1), || status.advance()) };
        } else {
            let sent = &theirs.round().sends[first..];
            let sent = &sent[..sent.partition_point(|message| message.peer.index() == seat.me)];
            let received: &[Message] = &self.receives[part.first as usize..part.end as usize];
            let words = || theirs.signature.description.clone();
            if let Some(cause) =
                self.mismatch(from, theirs.message_id(), sent.iter().map(|sent| sent.bytes), received, words)
            {
                return Err(seat.fail(offer, (None, cause)));
            }
            for (sent, received) in sent.iter().zip(received) {
                let (from, to) = (theirs.program.runs(sent), offer.program.runs(received));
                // SAFETY: a `Program` has its runs inside its buffers, which `RoundIo::new` found
                // long enough, as many bytes as its messages say, and no receiving run in the
                // input; `mismatch` found both messages equally long. In a round no byte is
                // received that is also sent or received otherwise (`Program` too), the sender
                // waits for the claim, and the buffers that are written are this rank's alone, as
                // `RoundIo` holds them exclusively.
                unsafe { copy((from, theirs.bases), (to, offer.bases), || seat.own().status.advance()) };
            }
        }
        seat.own().desk.set_taken(from, taken);
        drop(claim);
        seat.own().status.advance();
        Ok(true)
    }
}
