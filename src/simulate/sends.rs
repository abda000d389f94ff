//! The sends of a rank in a round, as amounts without blocks.

use crate::block::Volume;
use crate::ids::{Node, Rank};
use crate::vocabulary::{Amount, Route};

/// The sends of a round, in order. If all have one size and default routes, they take 4 bytes each.
#[derive(Default)]
pub(super) struct Sends {
    peers: Vec<Rank>,
    next: usize,
    bytes: u64,
    /// The size of each send, if not all are `bytes`.
    each: Vec<u64>,
    /// The routes that are not the default, with the number of the send, in reverse order.
    routes: Vec<(usize, Box<[Node]>)>,
}

/// One send.
pub(super) struct Sent {
    pub(super) peer: Rank,
    pub(super) bytes: u64,
    pub(super) route: Option<Box<[Node]>>,
}

/// Returns the bytes of a volume, at most `u64::MAX`: longer messages exceed the time limit of a
/// simulation anyway.
pub(super) fn length(volume: Volume, block_bytes: u64) -> u64 {
    u64::try_from(volume.bytes(block_bytes)).unwrap_or(u64::MAX)
}

impl Sends {
    pub(super) fn new(amounts: Vec<Amount>, block_bytes: u64) -> Self {
        let mut sends = Self { peers: Vec::with_capacity(amounts.len()), ..Self::default() };
        for (number, Amount { peer, volume, route }) in amounts.into_iter().enumerate() {
            let bytes = length(volume, block_bytes);
            if number == 0 {
                sends.bytes = bytes;
            } else if bytes != sends.bytes && sends.each.is_empty() {
                sends.each = vec![sends.bytes; number];
            }
            if bytes != sends.bytes || !sends.each.is_empty() {
                sends.each.push(bytes);
            }
            if let Route::Via(nodes) = route {
                sends.routes.push((number, nodes.into_boxed_slice()));
            }
            sends.peers.push(peer);
        }
        // They are taken from the end.
        sends.routes.reverse();
        sends
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next >= self.peers.len()
    }

    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }
}

impl Iterator for Sends {
    type Item = Sent;

    fn next(&mut self) -> Option<Sent> {
        let peer = *self.peers.get(self.next)?;
        let bytes = self.each.get(self.next).copied().unwrap_or(self.bytes);
        let given = self.routes.last().is_some_and(|(number, _)| *number == self.next);
        let route = if given { self.routes.pop().map(|(_, nodes)| nodes) } else { None };
        self.next += 1;
        if self.is_empty() {
            *self = Self { next: self.next, ..Self::default() };
        }
        Some(Sent { peer, bytes, route })
    }
}
