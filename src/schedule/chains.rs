//! The longest chain of messages, each of which is sent after the one before has arrived, in a schedule in which everyone
//! sends to the same rank in every round; see [`Figures::chained_hops`].

use super::Figures;
use crate::block::Volume;
use crate::hash::Map;
use crate::ids::Rank;
use crate::vocabulary::Transfer;

/// The chains so far.
#[derive(Default)]
pub(super) struct Chains {
    ends: Map<End>,
    /// The messages of this round: from, to, the channels each takes and its size.
    round: Vec<(Rank, Rank, u64, Volume)>,
    /// The chains that they make longer.
    longer: Vec<(Rank, Length)>,
    longest: Length,
    rounds: u32,
    /// Whether anyone sent to another rank than before, or to several.
    broken: bool,
}

/// Channels, and sizes times channels.
type Length = (u64, Volume);

/// The longest chain that ends at a rank.
#[derive(Clone, Copy, Default)]
struct End {
    length: Length,
    /// To whom it sent last, and in which round, counted from 1.
    to: Rank,
    sent: u32,
}

impl Chains {
    /// A message of this round.
    pub(super) fn add(&mut self, transfer: &Transfer, hops: u64, size: Volume) {
        if !self.broken {
            self.round.push((transfer.source, transfer.destination, hops, size));
        }
    }

    pub(super) fn end_of_round(&mut self) {
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
            // All go by what was before the round.
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

    /// Counts it.
    pub(super) fn finish(&self, figures: &mut Figures) {
        let all = (figures.hops, figures.forwarded_transmission);
        (figures.chained_hops, figures.chained_forwarded) = if self.broken { all } else { self.longest };
    }
}
