//! What a rank has published in a round, until it is its own again.

use super::bell::Bell;
use super::group::{Group, Offer, Parcel};
use crate::plan::Message;

/// The parcels of a round. Dropping it takes back what nobody has claimed and waits out running copies, so that no way out
/// of a round leaves others in the caller's memory.
#[derive(Debug)]
pub(super) struct Outbox<'a> {
    group: &'a Group,
    me: usize,
    sends: &'a [Message],
}

impl<'a> Outbox<'a> {
    /// The messages of each peer, which lie side by side.
    pub(super) fn parts(sends: &[Message]) -> impl Iterator<Item = &[Message]> {
        sends.chunk_by(|a, b| a.peer == b.peer)
    }

    /// Publishes all that is sent, then wakes those who wait for it.
    pub(super) fn publish(group: &'a Group, me: usize, offer: &'a Offer<'a>) -> Self {
        let sends = &*offer.round.sends;
        let outbox = Self { group, me, sends };
        if sends.is_empty() {
            return outbox;
        }
        group.member(me).desk.tally.expect(Self::parts(sends).count() as u32);
        let mut first = 0;
        for part in Self::parts(sends) {
            let end = first + part.len() as u32;
            // SAFETY: only this rank's transport publishes in its slots, one round at a time, and the last round's outbox
            // was dropped, hence settled. What the offer points to lives longer than the outbox, which borrows it; and
            // `round`, which neither leaks the outbox nor touches the buffers before, drops it, hence settles it.
            unsafe { group.slot(me, part[0].peer.index()).publish(Parcel::new(offer, first, end)) };
            first = end;
        }
        Bell::announce();
        for part in Self::parts(sends) {
            group.member(part[0].peer.index()).desk.bell.ring_announced();
        }
        outbox
    }
}

impl Drop for Outbox<'_> {
    fn drop(&mut self) {
        let desk = &self.group.member(self.me).desk;
        if desk.tally.open() == 0 {
            return;
        }
        for part in Self::parts(self.sends) {
            self.group.slot(self.me, part[0].peer.index()).revoke(desk);
        }
        while desk.tally.open() > 0 {
            desk.bell.sleep(None, || desk.tally.open() == 0);
        }
    }
}
