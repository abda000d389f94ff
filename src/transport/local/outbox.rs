//! What a rank has published in a round, until it is its own again.

use super::group::{Group, Offer, Parcel};
use super::slot::{Hold, Slot};
use crate::plan::Message;

/// The parcels of a round. Dropping it takes back what nobody has claimed and waits out running copies, so that no way out
/// of a round leaves others in the caller's memory.
#[derive(Debug)]
pub(super) struct Outbox<'a> {
    group: &'a Group,
    me: usize,
    sends: &'a [Message],
    /// How many parcels there are.
    pub(super) parcels: u32,
}

impl<'a> Outbox<'a> {
    /// The messages of each peer, which lie side by side.
    pub(super) fn parts(sends: &[Message]) -> impl Iterator<Item = &[Message]> {
        sends.chunk_by(|a, b| a.peer == b.peer)
    }

    /// Those that go by slots.
    fn parcels<'b>(group: &'b Group, sends: &'b [Message]) -> impl Iterator<Item = &'b [Message]> {
        Self::parts(sends).filter(|part| !group.is_letter(part))
    }

    /// Of a round that has letters only.
    #[inline]
    pub(super) fn empty(group: &'a Group, me: usize) -> Self {
        Self { group, me, sends: &[], parcels: 0 }
    }

    /// Publishes all that is sent and is no letter. Those who wait for it have still to be woken.
    pub(super) fn publish(group: &'a Group, me: usize, offer: &'a Offer<'a>) -> Self {
        let sends = &*offer.round().sends;
        let parcels = Self::parcels(group, sends).count() as u32;
        let outbox = Self { group, me, sends, parcels };
        if parcels == 0 {
            return outbox;
        }
        group.member(me).desk.tally.expect(parcels);
        let mut first = 0;
        for part in Self::parts(sends) {
            if !group.is_letter(part) {
                // SAFETY: only this rank's transport publishes in its slots, one round at a time, and the last round's
                // outbox was dropped, hence settled, or has revoked; then it is because the context has failed, and no
                // round comes here any more. What the offer points to lives longer than the outbox, which borrows it;
                // and `round`, which neither leaks the outbox nor touches the buffers before, drops it, hence settles it.
                let parcel = Parcel::new(offer, first);
                unsafe { group.slot_to(me, part[0].peer.index()).publish(parcel) };
            }
            first += part.len() as u32;
        }
        outbox
    }

    /// Parcels that are not settled.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        if self.parcels == 0 { 0 } else { self.group.member(self.me).desk.tally.open() }
    }
}

impl Drop for Outbox<'_> {
    fn drop(&mut self) {
        if self.open() == 0 {
            return;
        }
        let Self { group, me, sends, .. } = *self;
        let receivers = || Self::parcels(group, sends).map(|part| part[0].peer.index());
        receivers().filter_map(|to| group.slot(me, to)).for_each(Slot::revoke);
        Hold::settle_revoked();
        for to in receivers() {
            // As long as a copy takes: nobody is told of its end, since nobody else waits for it.
            while group.member(to).desk.hold.is_on(me) {
                std::thread::yield_now();
            }
        }
    }
}
