//! The figures of a schedule, and the proof that it is correct.

use std::fmt;
use std::ops::Deref;

use crate::block::Volume;

use crate::algorithm::Claims;
use crate::quote::debug_as_text;
use crate::vocabulary::{Ports, Work};

/// The counts of a schedule: start-ups, transmission, hops and others.
///
/// Amounts are in blocks; a transfer of chunks counts as a fraction of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Rounds, including idle ones.
    pub rounds: u64,
    /// Rounds with at least one transfer. Each costs a start-up.
    pub startups: u64,
    /// Sum over rounds of the largest transfer.
    pub transmission: Volume,
    /// Sum over rounds of the largest volume that one rank sends or receives: the transmission of
    /// ranks with one port out and one port in.
    pub port_transmission: Volume,
    /// Sum over rounds of the largest volume that one rank receives: the transmission if only
    /// receivers move bytes.
    pub received: Volume,
    /// Sum over rounds of the volume on the busiest channel: the transmission if transfers that
    /// share a channel share its bandwidth.
    pub channel_transmission: Volume,
    /// Sum over rounds of the largest product of a transfer's size and the channels on its route:
    /// the transmission under store-and-forward switching.
    pub forwarded_transmission: Volume,
    /// Sum over rounds of the size of that transfer, counted twice if its route has more than one
    /// channel, so that it passes the ports at its two ends one after the other. Among transfers
    /// with equal products, the largest such count applies.
    pub end_transmission: Volume,
    /// Sum over rounds of the largest volume that leaves or enters one host; 0 unless the problem
    /// knows its hosts.
    pub host_transmission: Volume,
    /// The work of the ranks of one host together, the most of each kind on one host; 0 unless the
    /// problem knows its hosts.
    pub work: Work,
    /// Sum over rounds of the longest route, in channels.
    pub hops: u64,
    /// Channels on the longest chain of messages in which each is sent after its predecessor has
    /// arrived, if every rank sends one message to one fixed rank in every round; otherwise the
    /// [hops](Self::hops).
    ///
    /// The chain is shorter than the hops if a few messages of each round go far, as on a ring that
    /// is embedded in a line: ranks that need not wait for these messages continue.
    pub chained_hops: u64,
    /// Sum of sizes times channels along the same chain, for store-and-forward switching; otherwise
    /// the [forwarded transmission](Self::forwarded_transmission). A rank that does not forward
    /// what it received continues when its own message has left over the first channel.
    pub chained_forwarded: Volume,
    /// Number of active phases, less one: between two phases, the blocks of a rank are rearranged
    /// in memory (Suh & Shin 2001, 3).
    pub rearrangements: u64,
    /// Sum over rounds of the largest volume that one rank combines, with what it receives or
    /// locally.
    pub combined: Volume,
    /// Sum over rounds of the most messages that one rank sends plus the most that one rank
    /// receives: a processor handles them one after the other.
    pub handled: u64,
    /// The most messages that one rank sends in all rounds.
    pub messages: u64,
    /// The largest volume that one rank sends in all rounds.
    pub volume: Volume,
    /// The largest volume that one channel carries in all rounds.
    pub busiest_channel_total: Volume,
    /// Sum over transfers of their size times the channels on their route: the volume that all
    /// channels carry together.
    pub link_blocks: Volume,
    /// The most transfers that one channel carries in one round.
    pub max_transfers_on_a_channel: u64,
    /// The most transfers that one rank sends in one round.
    pub max_sends: u64,
    /// The most transfers that one rank receives in one round.
    pub max_receives: u64,
    /// Whether all transfers of a rank in a round carry the same blocks and leave over distinct
    /// channels.
    pub same_value: bool,
    /// Whether no channel carries two transfers in one round.
    pub contention_free: bool,
}

impl Figures {
    /// Returns whether the schedule keeps to a port model.
    #[must_use]
    pub fn keeps(&self, ports: Ports) -> bool {
        match ports {
            Ports::One => self.max_sends <= 1 && self.max_receives <= 1,
            Ports::OneSend => self.max_sends <= 1,
            Ports::SameValue => self.same_value,
            Ports::All => self.contention_free,
            Ports::Unlimited => true,
        }
    }

    /// Returns the most restrictive port model that the schedule keeps to, the first of
    /// [`Ports::all`].
    #[must_use]
    pub fn ports(&self) -> Ports {
        Ports::all().find(|&ports| self.keeps(ports)).unwrap_or(Ports::Unlimited)
    }

    /// Compares an algorithm's claims with these figures. Returns the figures that are claimed with
    /// another value.
    #[must_use]
    pub fn contradicts(&self, claims: &Claims) -> Vec<Contradiction> {
        let number = |figure, claimed: Option<u64>, counted| (figure, claimed.map(Volume::from), Volume::from(counted));
        let (host_transmission, work) = claims.at_hosts.unzip();
        let figures = [
            number("start-ups", claims.startups, self.startups),
            ("transmission", claims.transmission, self.transmission),
            ("transmission by port", claims.port_transmission, self.port_transmission),
            ("transmission received", claims.received, self.received),
            ("transmission by channel", claims.channel_transmission, self.channel_transmission),
            ("transmission forwarded", claims.forwarded_transmission, self.forwarded_transmission),
            ("transmission at the ends", claims.end_transmission, self.end_transmission),
            number("hops", claims.hops, self.hops),
            number("hops chained", claims.chained_hops, self.chained_hops),
            ("transmission forwarded, chained", claims.chained_forwarded, self.chained_forwarded),
            number("rearrangements", claims.rearrangements, self.rearrangements),
            ("volume combined", claims.combined, self.combined),
            number("messages handled", claims.handled, self.handled),
            number("messages", claims.messages, self.messages),
            ("volume", claims.volume, self.volume),
            ("transmission by host", host_transmission, self.host_transmission),
            number("waits of a host", work.map(|work| work.waits), self.work.waits),
            number("messages handled by a host", work.map(|work| work.handled), self.work.handled),
            ("volume received by a host", work.map(|work| work.received), self.work.received),
            ("volume combined by a host", work.map(|work| work.combined), self.work.combined),
            number(
                "transfers on a channel in a round",
                (claims.contention_free && !self.contention_free).then_some(1),
                self.max_transfers_on_a_channel,
            ),
        ];
        let contradiction = |(figure, claimed, counted): (_, Option<Volume>, _)| {
            claimed.filter(|&claimed| claimed != counted).map(|claimed| Contradiction { figure, claimed, counted })
        };
        figures.into_iter().filter_map(contradiction).collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.rounds - self.startups.min(self.rounds);
        write!(f, "start-ups {}", self.startups)?;
        if idle > 0 {
            write!(f, ", idle rounds {idle}")?;
        }
        write!(f, ", hops {}, rearrangements {}", self.hops, self.rearrangements)?;
        if self.combined > Volume::ZERO {
            write!(f, ", combined {} blocks", self.combined)?;
        }
        writeln!(f)?;
        let Self { port_transmission, channel_transmission, forwarded_transmission, .. } = self;
        write!(
            f,
            "transmission {} blocks, by port {port_transmission}, by channel {channel_transmission}, forwarded {forwarded_transmission}",
            self.transmission
        )?;
        if self.host_transmission > Volume::ZERO {
            write!(f, ", by host {}", self.host_transmission)?;
        }
        writeln!(f)?;
        writeln!(f, "busiest channel {} blocks, all channels {}", self.busiest_channel_total, self.link_blocks)?;
        let Self { messages, volume, max_sends, max_receives, .. } = self;
        let ports = self.ports();
        writeln!(
            f,
            "busiest rank {messages} messages of {volume} blocks; in a round {max_sends} sends, {max_receives} receives: ports {ports}"
        )?;
        match self.contention_free {
            true => f.write_str("no channel carries two transfers in a round"),
            false => write!(f, "up to {} transfers share a channel in a round", self.max_transfers_on_a_channel),
        }
    }
}

/// Evidence that a schedule delivers what its collective promises and keeps to its outline, with
/// its [`Figures`].
///
/// Only verification creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof(Figures);

impl Proof {
    pub(super) fn new(figures: Figures) -> Self {
        Self(figures)
    }
}

impl Deref for Proof {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.0
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A figure for which an algorithm's claim differs from the count of its schedule.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{figure}: claimed {claimed}, counted {counted}")]
#[non_exhaustive]
pub struct Contradiction {
    /// The name of the figure.
    pub figure: &'static str,
    /// The value that the algorithm claims.
    pub claimed: Volume,
    /// The value that was counted.
    pub counted: Volume,
}

debug_as_text!(Contradiction);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_name_each_figure() {
        let figures = Figures {
            startups: 3,
            transmission: Volume::new(7, 2),
            hops: 5,
            max_transfers_on_a_channel: 2,
            ..Figures::default()
        };
        let right = Claims { startups: Some(3), transmission: Some(Volume::new(14, 4)), ..Claims::default() };
        assert_eq!(figures.contradicts(&right), []);
        let wrong = Claims { hops: Some(4), contention_free: true, ..right };
        let found: Vec<String> = figures.contradicts(&wrong).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["hops: claimed 4, counted 5", "transfers on a channel in a round: claimed 1, counted 2"]);
    }

    #[test]
    fn kept_port_models_include_implied_ones() {
        let any = || (0..3_u64).flat_map(|sends| (0..3_u64).map(move |receives| (sends, receives)));
        for (max_sends, max_receives) in any() {
            for (same, contention_free) in [(false, false), (false, true), (true, false), (true, true)] {
                let same_value = same || max_sends <= 1;
                let figures = Figures { max_sends, max_receives, same_value, contention_free, ..Figures::default() };
                for (one, other) in Ports::all().flat_map(|one| Ports::all().map(move |other| (one, other))) {
                    assert!(!figures.keeps(one) || !one.implies(other) || figures.keeps(other), "{one}, {other}");
                }
            }
        }
        assert!(Ports::One.implies(Ports::SameValue) && Ports::All.implies(Ports::Unlimited));
        assert!(!Ports::One.implies(Ports::All) && !Ports::OneSend.implies(Ports::One));
    }

    #[test]
    fn most_restrictive_port_model_is_found() {
        let busy = Figures { max_sends: 2, max_receives: 2, ..Figures::default() };
        assert_eq!(busy.ports(), Ports::Unlimited);
        assert_eq!(Figures { contention_free: true, ..busy.clone() }.ports(), Ports::All);
        assert_eq!(Figures { same_value: true, ..busy.clone() }.ports(), Ports::SameValue);
        assert_eq!(Figures { max_sends: 1, ..busy.clone() }.ports(), Ports::OneSend);
        assert_eq!(Figures { max_sends: 1, max_receives: 0, ..busy }.ports(), Ports::One);
    }
}
