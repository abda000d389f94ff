//! What a rank has laid out in a round, until it is its own again.

use super::board::Hold;
use super::group::{Group, Laid, Offer};
use super::parts::{By, Counts, Part};

/// The parcels of a round. Dropping it takes back what nobody has claimed and waits out running
/// copies, so that no way out of a round leaves others in the caller's memory.
#[derive(Debug)]
pub(super) struct Outbox<'a> {
    group: &'a Group,
    me: usize,
    offer: &'a Offer<'a>,
    /// How many parcels there are.
    pub(super) parcels: u32,
    /// How many there have been with them.
    due: u32,
}

impl<'a> Outbox<'a> {
    /// Of a round that has letters only.
    #[inline]
    pub(super) fn empty(group: &'a Group, me: usize, offer: &'a Offer<'a>) -> Self {
        Self { group, me, offer, parcels: 0, due: 0 }
    }

    /// Lays out all that is sent and is no letter, after so many parcels before. Those who wait for
    /// it have still to be woken.
    pub(super) fn lay_out(
        group: &'a Group,
        me: usize,
        offer: &'a Offer<'a>,
        (laid, counts): (&mut u32, &mut [Counts]),
    ) -> Self {
        let mut outbox = Self::empty(group, me, offer);
        outbox.parcels = outbox.parts().count() as u32;
        if outbox.parcels == 0 {
            return outbox;
        }
        *laid = laid.wrapping_add(outbox.parcels);
        outbox.due = *laid;
        let (offer, board) = (Offer { due: outbox.due, ..*offer }, group.board(me));
        // SAFETY: only this rank's transport uses its board, one round at a time, and the last
        // round's outbox was dropped, hence settled, or has taken back; then it is because the
        // context has failed, and no round comes here any more. What the offer points to lives
        // longer than the outbox, which borrows it; and `round`, which neither leaks the outbox nor
        // touches the buffers before, drops it, hence settles it.
        unsafe { board.lay_out(Laid::new(&offer)) };
        for part in outbox.parts() {
            if let Some(counts) = counts.get_mut(part.peer.index()) {
                board.note(part.peer.index(), counts.sent);
                counts.sent += 1;
            }
        }
        outbox
    }

    /// The parcels.
    #[inline]
    fn parts(&self) -> impl Iterator<Item = Part> {
        Part::all(self.group, &self.offer.round().sends).filter(|part| part.by == By::Board)
    }

    /// Parcels that are not settled.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        if self.parcels == 0 { 0 } else { self.group.member(self.me).desk.tally.open(self.due) }
    }

    /// To whom there is one.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> {
        self.parts().map(|part| part.peer.index())
    }

    /// Whether such a one has not come for it.
    pub(super) fn is_awaiting(&self, to: usize) -> bool {
        self.group.board(self.me).is_open(to, self.group.member(to).desk.taken(self.me))
    }
}

impl Drop for Outbox<'_> {
    fn drop(&mut self) {
        if self.open() == 0 {
            return;
        }
        let board = self.group.board(self.me);
        self.receivers().for_each(|to| board.take_back(to));
        Hold::settle_taken_back();
        for to in self.receivers() {
            let hold = &self.group.member(to).desk.hold;
            let Some(active) = hold.now() else { continue };
            // As long as a copy or a few take: nobody is told of its end, since nobody else waits
            // for it.
            while hold.now() == Some(active) {
                std::thread::yield_now();
            }
        }
    }
}
