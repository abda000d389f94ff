//! Lower bounds as numbers.

use std::fmt;

use crate::block::Volume;
#[cfg(doc)]
use crate::schedule::Figures;
use crate::vocabulary::Ports;

/// Lower bounds for a problem. Volumes are in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Volume through the busiest port: a bound on [`Figures::port_transmission`].
    pub port: Volume,
    /// Volume that the busiest rank receives: a bound on [`Figures::received`].
    pub received: Volume,
    /// Sum of distances of all blocks, divided by the number of channels: a bound on
    /// [`Figures::channel_transmission`], as are the next two.
    pub average: Volume,
    /// The maximum over the dimensions of a product of the same quotient within the dimension.
    pub dimension: Option<Volume>,
    /// The maximum over the examined cuts of the volume that must cross the cut, divided by its
    /// channels.
    pub cut: Volume,
    /// Sum of distances of all blocks, divided by the number of ranks: a bound on
    /// [`Figures::forwarded_transmission`] with one port.
    pub forwarded: Volume,
    /// A bound on [`Figures::transmission`] with one port if all messages go to neighbours. It
    /// includes what the nodes in the middle of a line forward.
    pub relayed: Volume,
    /// The largest distance of a block: a bound on [`Figures::hops`], and on start-ups if all
    /// messages go to neighbours.
    pub distance: u64,
    /// All contributions that must be combined, divided by the number of ranks: a bound on
    /// [`Figures::combined`].
    pub combined: Volume,
    /// The number of ranks, and the largest degree of a node.
    pub(super) spread: (u64, u64),
    /// Whether all blocks go to one rank, so that only its receives limit the time.
    pub(super) gathers: bool,
}

impl Bounds {
    /// Returns the bound on [`Figures::channel_transmission`]. It holds for the transmission of a
    /// contention-free schedule too.
    #[must_use]
    pub fn channel(&self) -> Volume {
        self.average.max(self.cut).max(self.dimension.unwrap_or_default())
    }

    /// Returns the bound on [`Figures::startups`] with messages to any node. In each round, the
    /// number of ranks that have a block grows at most by the factor 1 + the ports with which they
    /// forward it.
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

    /// Returns the number of start-ups that must follow each other when ranks do not wait for the
    /// end of a round: the bound on start-ups, except that ranks which send to one rank need not
    /// wait for each other.
    pub(crate) fn startups_in_a_row(&self, ports: Ports) -> u64 {
        let rounds = self.startups(ports);
        if self.gathers { rounds.min(1) } else { rounds }
    }

    /// Returns the bound on [`Figures::handled`]. A processor sends its messages one after the
    /// other, so under any port model each message at best doubles the number of ranks that have a
    /// block; the same holds for receives if all blocks go to one rank. Besides, every round has a
    /// send and a receive.
    #[must_use]
    pub fn handled(&self, ports: Ports) -> u64 {
        self.startups(Ports::One) + self.startups(ports)
    }

    /// Returns the bound on [`Figures::hops`]: in a round, no block goes farther than the longest
    /// route.
    #[must_use]
    pub fn hops(&self, ports: Ports) -> u64 {
        self.distance.max(self.startups(ports))
    }

    /// Returns the bound on [`Figures::transmission`] for a schedule under a port model that is
    /// contention-free or not, and sends to neighbours only or not.
    #[must_use]
    pub fn transmission(&self, ports: Ports, contention_free: bool, to_neighbours: bool) -> Volume {
        let one = matches!(ports, Ports::One);
        let by_port = if one { self.port } else { Volume::ZERO };
        let by_channel = if contention_free { self.channel() } else { Volume::ZERO };
        let by_relay = if one && to_neighbours { self.relayed } else { Volume::ZERO };
        by_port.max(by_channel).max(by_relay)
    }
}

/// Writes two lines: for one port for each rank, and for one port for each channel.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, forwarded, relayed, distance, .. } = self;
        let start = |ports| self.startups(ports);
        let (one, all, channel) = (start(Ports::One), start(Ports::All), self.channel());
        writeln!(
            f,
            "least with one port: start-ups {one}, blocks by port {port}, by channel {channel}; if messages go to neighbours only, start-ups {}, blocks by port {}",
            one.max(*distance),
            forwarded.max(relayed),
        )?;
        write!(
            f,
            "least with all ports: start-ups {all}, blocks by channel {channel}; if messages go to neighbours only, start-ups {}",
            all.max(*distance)
        )
    }
}
