//! What no schedule can do without, in numbers.

use std::fmt;

use crate::block::Volume;
use crate::schedule::Figures;
use crate::vocabulary::Ports;

/// Lower bounds for a problem. Amounts are in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// What the busiest port passes: on [`Figures::port_transmission`].
    pub port: Volume,
    /// What must be carried times how far, over all channels: on [`Figures::channel_transmission`], as the next two.
    pub average: Volume,
    /// The same for the channels of each dimension of a product apart; the most of them.
    pub dimension: Option<Volume>,
    /// What must cross a cut, over the channels that do; the most of those cuts that were looked at.
    pub cut: Volume,
    /// What must be carried times how far, over all ranks: on [`Figures::forwarded_transmission`] where a rank has one port.
    pub forwarded: Volume,
    /// On [`Figures::transmission`] where a rank has one port and all messages go to neighbours: besides, what those in the
    /// middle of a line pass on.
    pub relayed: Volume,
    /// On [`Figures::hops`], and on start-ups where all messages go to neighbours: how far the farthest block must go.
    pub distance: u64,
    /// Ranks, and the most neighbours that a node has.
    pub(super) spread: (u64, u64),
    /// Whether one rank is where all comes together, so that only receives limit how fast.
    pub(super) gathers: bool,
}

impl Bounds {
    /// On [`Figures::channel_transmission`], and with it on the transmission of a schedule in which nothing contends.
    #[must_use]
    pub fn channel(&self) -> Volume {
        self.average.max(self.cut).max(self.dimension.unwrap_or_default())
    }

    /// On [`Figures::startups`], for messages that go anywhere: with every round those who know of a block multiply by the
    /// ports with which they pass it on, and one.
    #[must_use]
    pub fn startups(&self, ports: Ports) -> u64 {
        let (ranks, degree) = self.spread;
        let passed_on = match ports {
            Ports::One => 1,
            Ports::OneSend if !self.gathers => 1,
            Ports::All => degree,
            Ports::SameValue if !self.gathers => degree,
            _ => ranks,
        };
        let (mut know, mut rounds) = (1_u64, 0);
        while know < ranks {
            know = know.saturating_mul(passed_on.saturating_add(1).max(2));
            rounds += 1;
        }
        rounds
    }

    /// The start-ups that follow upon each other where every rank goes at its own pace: no fewer than rounds to tell all; but
    /// where all comes together at one rank, those that send to it need not wait for each other.
    pub(crate) fn startups_in_a_row(&self, ports: Ports) -> u64 {
        let rounds = self.startups(ports);
        if self.gathers { rounds.min(1) } else { rounds }
    }

    /// On [`Figures::handled`]. Whoever knows of a block tells one after the other, so the messages sent one after the other
    /// multiply those who know by 2 at best, whatever the ports; the same holds for receiving where all comes together at
    /// one. And in every round a message is sent and received.
    #[must_use]
    pub fn handled(&self, ports: Ports) -> u64 {
        self.startups(Ports::One) + self.startups(ports)
    }

    /// On [`Figures::hops`]: a round takes a block no farther than its longest way.
    #[must_use]
    pub fn hops(&self, ports: Ports) -> u64 {
        self.distance.max(self.startups(ports))
    }

    /// On [`Figures::transmission`] for a schedule that keeps to these ports, contends for channels or not, and sends to
    /// neighbours only or not.
    #[must_use]
    pub fn transmission(&self, ports: Ports, contention_free: bool, to_neighbours: bool) -> Volume {
        let one = matches!(ports, Ports::One);
        let by_port = if one { self.port } else { Volume::ZERO };
        let by_channel = if contention_free { self.channel() } else { Volume::ZERO };
        let by_relay = if one && to_neighbours { self.relayed } else { Volume::ZERO };
        by_port.max(by_channel).max(by_relay)
    }

    /// The figures that are below a bound, by name: of a schedule that is right there are none.
    #[must_use]
    pub fn beaten_by(&self, figures: &Figures) -> Vec<&'static str> {
        let ports = figures.ports();
        let to_neighbours = figures.hops == figures.startups;
        let one = ports == Ports::One;
        let checks = [
            ("start-ups", figures.startups < self.startups(ports)),
            ("messages handled", figures.handled < self.handled(ports)),
            ("hops", figures.hops < self.hops(ports)),
            ("start-ups to neighbours", to_neighbours && figures.startups < self.distance),
            ("transmission", figures.transmission < self.transmission(ports, figures.contention_free, to_neighbours)),
            ("transmission by port", figures.port_transmission < self.port),
            ("transmission by channel", figures.channel_transmission < self.channel()),
            ("transmission forwarded", one && figures.forwarded_transmission < self.forwarded),
        ];
        checks.into_iter().filter_map(|(name, beaten)| beaten.then_some(name)).collect()
    }
}

/// In two lines, with one port a rank and with a port a channel.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, forwarded, relayed, distance, .. } = self;
        let start = |ports| self.startups(ports);
        let (one, all, channel) = (start(Ports::One), start(Ports::All), self.channel());
        writeln!(
            f,
            "least with one port: start-ups {one}, {} to neighbours; transmission {port} blocks by port, {channel} by channel, {} to neighbours",
            one.max(*distance),
            forwarded.max(relayed),
        )?;
        write!(
            f,
            "least with all ports: start-ups {all}, {} to neighbours; transmission {channel} blocks by channel",
            all.max(*distance)
        )
    }
}
