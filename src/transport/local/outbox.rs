//! The rendezvous messages that a rank sends in a round, until its memory is its own again.

use super::group::{Group, PublishedDescriptor, RoundDescriptor};
use super::peer_messages::{PeerCounts, PeerMessages, Protocol};
use super::slot::AccessEpoch;

/// The rendezvous messages that a round sends.
///
/// Dropping it revokes those that no receiver has taken, and waits for running copies to end. So
/// however a round ends, no other rank accesses the caller's memory after it.
#[derive(Debug)]
pub(super) struct Outbox<'a> {
    group: &'a Group,
    me: usize,
    descriptor: &'a RoundDescriptor<'a>,
    /// The number of rendezvous messages of the round.
    pub(super) messages: u32,
    /// The number of rendezvous messages in all, those of this round included, modulo 2^32.
    due: u32,
}

impl<'a> Outbox<'a> {
    /// Returns the outbox of a round that sends only eager messages.
    #[inline]
    pub(super) fn empty(group: &'a Group, me: usize, descriptor: &'a RoundDescriptor<'a>) -> Self {
        Self { group, me, descriptor, messages: 0, due: 0 }
    }

    /// Publishes all rendezvous messages of a round. `published` counts all rendezvous messages of
    /// this rank. The caller has still to unpark the receivers.
    pub(super) fn publish(
        group: &'a Group,
        me: usize,
        descriptor: &'a RoundDescriptor<'a>,
        (published, counts): (&mut u32, &mut [PeerCounts]),
    ) -> Self {
        let mut outbox = Self::empty(group, me, descriptor);
        outbox.messages = outbox.parts().count() as u32;
        if outbox.messages == 0 {
            return outbox;
        }
        *published = published.wrapping_add(outbox.messages);
        outbox.due = *published;
        let (descriptor, slot) = (RoundDescriptor { due: outbox.due, ..*descriptor }, group.slot(me));
        // SAFETY: only this rank's transport uses its slot, one round at a time. The last round's
        // outbox was dropped. Either all its leases were released, or it has revoked: then the
        // context has failed, and no further round comes here. What the descriptor points to
        // outlives the outbox, which borrows it. `round` neither leaks the outbox nor touches the
        // buffers before it drops the outbox, and the drop waits for all leases.
        unsafe { slot.publish(PublishedDescriptor::new(&descriptor)) };
        for part in outbox.parts() {
            if let Some(counts) = counts.get_mut(part.peer.index()) {
                slot.set_flag(part.peer.index(), counts.sent);
                counts.sent += 1;
            }
        }
        outbox
    }

    /// Returns the rendezvous messages, by peer.
    #[inline]
    fn parts(&self) -> impl Iterator<Item = PeerMessages> {
        let all = PeerMessages::all(self.group, &self.descriptor.round().sends);
        all.filter(|part| part.protocol == Protocol::Rendezvous)
    }

    /// Returns how many messages are not released by their receivers.
    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        if self.messages == 0 { 0 } else { self.group.member(self.me).sync.releases.outstanding(self.due) }
    }

    /// Returns the receivers of rendezvous messages.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> {
        self.parts().map(|part| part.peer.index())
    }

    /// Whether a receiver has not taken its message.
    pub(super) fn is_awaiting(&self, to: usize) -> bool {
        self.group.slot(self.me).is_untaken(to, self.group.member(to).sync.taken(self.me))
    }
}

impl Drop for Outbox<'_> {
    fn drop(&mut self) {
        if self.outstanding() == 0 {
            return;
        }
        let slot = self.group.slot(self.me);
        self.receivers().for_each(|to| slot.revoke(to));
        AccessEpoch::fence_after_revoke();
        for to in self.receivers() {
            let epoch = &self.group.member(to).sync.epoch;
            let Some(active) = epoch.active() else { continue };
            // An epoch lasts as long as one copy or a few. Its end unparks no rank, since no other
            // rank waits for it.
            while epoch.active() == Some(active) {
                std::thread::yield_now();
            }
        }
    }
}
