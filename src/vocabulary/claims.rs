//! The costs that an algorithm claims for a schedule.

use super::{Ports, Work};
use crate::block::Volume;

/// The costs of a schedule that its algorithm claims, by formula, for one problem. `None` claims
/// nothing.
///
/// Verification counts the same costs and [compares](crate::schedule::Figures::contradicts) them.
///
/// ```
/// use necklace::algorithm::Claims;
///
/// let mut claims = Claims::default();
/// claims.startups = Some(7);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// The number of rounds in which anything is sent.
    pub startups: Option<u64>,
    /// The sum over rounds of the largest transfer.
    pub transmission: Option<Volume>,
    /// The sum over rounds of the most that one rank sends or receives. [Follows](Self::completed)
    /// with one port.
    pub port_transmission: Option<Volume>,
    /// The sum over rounds of the most that one rank receives. [Follows](Self::completed) with one
    /// port; otherwise it defaults to [`port_transmission`](Self::port_transmission).
    pub received: Option<Volume>,
    /// The sum over rounds of the load of the busiest channel. [Follows](Self::completed) without
    /// contention.
    pub channel_transmission: Option<Volume>,
    /// The sum over rounds of the largest product of a transfer's size and its number of channels.
    /// [Follows](Self::completed) if all messages go to neighbours.
    pub forwarded_transmission: Option<Volume>,
    /// The sum over rounds of that transfer's size, counted twice if the transfer takes more than
    /// one channel: its two ends pass it one after the other. [Follows](Self::completed) if all
    /// messages go to neighbours.
    pub end_transmission: Option<Volume>,
    /// The sum over rounds of the longest route.
    pub hops: Option<u64>,
    /// The number of channels on the longest chain of messages, if every rank sends to the same
    /// rank in all rounds: see
    /// [`Figures::chained_hops`](crate::schedule::Figures::chained_hops). Defaults to
    /// [`hops`](Self::hops).
    pub chained_hops: Option<u64>,
    /// The sum of size times channels on that chain. Defaults to
    /// [`forwarded_transmission`](Self::forwarded_transmission).
    pub chained_forwarded: Option<Volume>,
    /// The number of times that a rank's blocks are put into another order between phases.
    pub rearrangements: Option<u64>,
    /// The sum over rounds of the largest volume that one rank combines.
    pub combined: Option<Volume>,
    /// The sum over rounds of the most messages that one rank sends plus the most that one
    /// receives. [Follows](Self::completed) with one port.
    pub handled: Option<u64>,
    /// The number of messages that the busiest rank sends.
    pub messages: Option<u64>,
    /// The number of blocks that the busiest rank sends.
    pub volume: Option<Volume>,
    /// The sum over rounds of the largest volume that leaves or enters one host, and the most work of
    /// one host, if the problem knows its hosts. Without this claim, prices count both.
    pub at_hosts: Option<(Volume, Work)>,
    /// Whether no channel carries two transfers in one round.
    pub contention_free: bool,
}

impl Claims {
    /// Adds the claims that follow from the others, for a schedule that keeps to this port model.
    #[must_use]
    pub fn completed(self, ports: Ports) -> Self {
        let one = ports == Ports::One;
        // Every round in which anything is sent takes at least one hop.
        let to_neighbours = self.hops.is_some() && self.hops == self.startups;
        let transmission = |follows: bool| self.transmission.filter(|_| follows);
        Self {
            port_transmission: self.port_transmission.or(transmission(one)),
            received: self.received.or(transmission(one)).or(self.port_transmission),
            channel_transmission: self.channel_transmission.or(transmission(self.contention_free)),
            forwarded_transmission: self.forwarded_transmission.or(transmission(to_neighbours)),
            end_transmission: self.end_transmission.or(transmission(to_neighbours)),
            handled: self.handled.or(self.startups.filter(|_| one).map(|startups| startups.saturating_mul(2))),
            ..self
        }
    }

    /// Adds what holds if some ranks send to a neighbour in all rounds, and no others send: no
    /// message depends on another.
    pub(crate) fn of_independent_messages(self) -> Self {
        Self { chained_hops: Some(1), chained_forwarded: self.transmission, ..self }
    }

    /// Returns the claims for `rounds` rounds in which each message is one block and the busiest
    /// rank sends one message. If `neighbours`, messages go to neighbours and do not contend.
    pub(crate) fn of_single_blocks(rounds: u64, neighbours: bool) -> Self {
        Self {
            startups: Some(rounds),
            transmission: Some(Volume::from(rounds)),
            hops: neighbours.then_some(rounds),
            rearrangements: Some(0),
            messages: Some(rounds),
            volume: Some(Volume::from(rounds)),
            contention_free: neighbours,
            ..Self::default()
        }
    }
}
