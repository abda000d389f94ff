//! Finds the longest chain of messages in which each is sent after its predecessor has arrived, for
//! schedules in which every rank sends to one fixed rank; see
//! [`Claims::chained_hops`](super::Claims::chained_hops).

use crate::block::Volume;
use crate::hash::Map;
use crate::ids::Rank;

/// The chains of the rounds so far.
#[derive(Default)]
pub(crate) struct Chains {
    ends: Map<End>,
    /// The messages of this round: source, destination, number of channels, size.
    round: Vec<(Rank, Rank, u64, Volume)>,
    /// The chains that these messages extend, by the rank at their end.
    longer: Vec<(Rank, Length)>,
    longest: Length,
    rounds: u32,
    /// Whether any rank has sent to two different ranks.
    broken: bool,
}

/// The sum of channels, and the sum of sizes times channels.
type Length = (u64, Volume);

/// The longest chain that ends at a rank.
#[derive(Clone, Copy, Default)]
struct End {
    length: Length,
    /// The rank that it last sent to, and the round of that send, counted from 1.
    to: Rank,
    sent: u32,
}

impl Chains {
    /// Adds a message of the current round.
    pub(crate) fn add(&mut self, from: Rank, to: Rank, hops: u64, size: Volume) {
        if !self.broken {
            self.round.push((from, to, hops, size));
        }
    }

    pub(crate) fn end_of_round(&mut self) {
        self.rounds += 1;
        let now = self.rounds;
        for &(from, to, ..) in &self.round {
            let end = self.ends.entry(from.index() as u64).or_default();
            self.broken |= end.sent == now || now > 1 && (end.sent + 1 != now || end.to != to);
            (end.to, end.sent) = (to, now);
        }
        if self.broken {
            *self = Self { broken: true, ..Self::default() };
            return;
        }
        for &(from, to, hops, size) in &self.round {
            // All messages of a round extend the chains from before the round.
            let (far, stored) = self.ends.get(&(from.index() as u64)).map_or((0, Volume::ZERO), |end| end.length);
            self.longer.push((from, (far, stored + size)));
            self.longer.push((to, (far + hops, stored + size * hops)));
        }
        for (rank, (hops, stored)) in self.longer.drain(..) {
            let end = self.ends.entry(rank.index() as u64).or_default();
            end.length = (end.length.0.max(hops), end.length.1.max(stored));
            self.longest = (self.longest.0.max(hops), self.longest.1.max(stored));
        }
        self.round.clear();
    }

    /// Returns the channels on the longest chain, and the largest sum of sizes times channels.
    /// `None` if a rank has sent to two, or has paused.
    pub(crate) fn longest(&self) -> Option<(u64, Volume)> {
        (!self.broken).then_some(self.longest)
    }
}
