//! What an algorithm promises of a schedule.

use super::Ports;
use crate::block::Volume;

/// What an algorithm promises of its schedule for one problem, by formula. `None` is no promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Rounds in which anything is sent.
    pub startups: Option<u64>,
    /// Sum over rounds of the largest transfer.
    pub transmission: Option<Volume>,
    /// Sum over rounds of the most that one rank sends or receives. [Follows](Self::completed) for
    /// one port.
    pub port_transmission: Option<Volume>,
    /// Sum over rounds of what the busiest channel carries. [Follows](Self::completed) where
    /// nothing contends.
    pub channel_transmission: Option<Volume>,
    /// Sum over rounds of the largest product of a transfer's size and the channels it takes.
    /// [Follows](Self::completed) where all messages go to neighbours.
    pub forwarded_transmission: Option<Volume>,
    /// Sum over rounds of what the ends of that transfer pass one after the other: its size, twice
    /// where it takes more than one channel. [Follows](Self::completed) where all messages go to
    /// neighbours.
    pub end_transmission: Option<Volume>,
    /// Sum over rounds of the longest route.
    pub hops: Option<u64>,
    /// Where everyone sends to the same rank in every round, the channels on the longest chain of
    /// messages: see [`Figures::chained_hops`](crate::schedule::Figures::chained_hops). Where
    /// nothing is claimed of it, it is the [hops](Self::hops).
    pub chained_hops: Option<u64>,
    /// The same of sizes times channels, else the [transmission
    /// forwarded](Self::forwarded_transmission).
    pub chained_forwarded: Option<Volume>,
    /// Times that a rank's blocks are put into another order between phases.
    pub rearrangements: Option<u64>,
    /// Sum over rounds of the most messages that one rank sends and the most that one receives.
    /// [Follows](Self::completed) for one port.
    pub handled: Option<u64>,
    /// Messages that the busiest rank sends.
    pub messages: Option<u64>,
    /// Blocks that the busiest rank sends.
    pub volume: Option<Volume>,
    /// No channel carries two transfers in one round.
    pub contention_free: bool,
}

impl Claims {
    /// With what follows from them, for a schedule that keeps to these ports.
    #[must_use]
    pub fn completed(self, ports: Ports) -> Self {
        let one = ports == Ports::One;
        // Every round in which anything is sent takes a hop at least.
        let to_neighbours = self.hops.is_some() && self.hops == self.startups;
        let transmission = |follows: bool| self.transmission.filter(|_| follows);
        Self {
            port_transmission: self.port_transmission.or(transmission(one)),
            channel_transmission: self.channel_transmission.or(transmission(self.contention_free)),
            forwarded_transmission: self.forwarded_transmission.or(transmission(to_neighbours)),
            end_transmission: self.end_transmission.or(transmission(to_neighbours)),
            handled: self.handled.or(self.startups.filter(|_| one).map(|startups| startups.saturating_mul(2))),
            ..self
        }
    }

    /// Those of a schedule in which so many rounds each move single blocks, and the busiest rank
    /// sends one in each; over channels of their own if `apart`.
    pub(crate) fn of_single_blocks(rounds: u64, apart: bool) -> Self {
        Self {
            startups: Some(rounds),
            transmission: Some(Volume::from(rounds)),
            hops: apart.then_some(rounds),
            rearrangements: Some(0),
            messages: Some(rounds),
            volume: Some(Volume::from(rounds)),
            contention_free: apart,
            ..Self::default()
        }
    }
}
