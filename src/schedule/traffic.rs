//! Counts the use of routes, channels and ports, and checks it against the outline.

use std::borrow::Cow;

use super::holdings::pair;
use super::{Figures, Location, ViolationKind, Violations};
use crate::block::{Block, Volume};
use crate::hash::Map;
use crate::ids::{Channel, Node, Rank};
use crate::vocabulary::{Chains, Combine, HostLoads, HostWork, Outline, Ports, Round, Route, Transfer, Work};

/// The longest default route that is examined, in channels.
const MAX_HOPS: usize = 1 << 20;

/// The traffic of the rounds so far.
pub(super) struct Traffic {
    outline: Outline,
    nodes: usize,
    figures: Figures,
    last_phase: Option<usize>,
    /// The number of the active round. Counters of ranks and channels carry it, so that those of
    /// earlier rounds need not be cleared.
    round: u32,
    /// The channels that have been used, and so are known to exist.
    channels: Map<ChannelUse>,
    /// Fractions of blocks on channels, apart from whole blocks because few schedules have any.
    fractions: Map<FractionUse>,
    ranks: Map<RankUse>,
    sends: Vec<Send>,
    chains: Chains,
    hosts: Option<(HostLoads, HostWork)>,
}

#[derive(Default)]
struct ChannelUse {
    total: u64,
    now: u64,
    round: u32,
    transfers: u32,
    /// The index of the first transfer.
    first: u32,
}

#[derive(Default)]
struct FractionUse {
    total: Volume,
    now: Volume,
    round: u32,
}

#[derive(Default)]
struct RankUse {
    messages: u64,
    volume: Volume,
    round: u32,
    sends: u32,
    receives: u32,
    /// The volumes that the rank sends and receives in this round.
    sent: Volume,
    received: Volume,
}

/// The maxima of one rank in a round.
#[derive(Default)]
struct Busiest {
    sends: u64,
    receives: u64,
    blocks: Volume,
    received: Volume,
}

/// A transfer of this round: its index there, and its volume.
struct Passage<'a> {
    place: Location,
    index: usize,
    transfer: &'a Transfer,
    size: Volume,
}

/// A send of this round: the sender, the index of the transfer, the first channel.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Send {
    source: Rank,
    transfer: usize,
    channel: Option<Channel>,
}

impl Traffic {
    pub(super) fn new(outline: &Outline) -> Self {
        let figures = Figures { same_value: true, contention_free: true, ..Figures::default() };
        Self {
            outline: outline.clone(),
            nodes: outline.problem.topology().nodes(),
            figures,
            last_phase: None,
            round: 0,
            channels: Map::default(),
            fractions: Map::default(),
            ranks: Map::default(),
            sends: Vec::new(),
            chains: Chains::default(),
            hosts: outline.problem.hosts().map(|hosts| (HostLoads::new(hosts), HostWork::new(hosts))),
        }
    }

    /// Counts a round. `sound` has the indices of the transfers between ranks that exist.
    pub(super) fn round(&mut self, number: usize, round: &Round, sound: &[usize], violations: &mut Violations) {
        self.figures.rounds += 1;
        let combined = combined(round);
        self.figures.combined += combined.values().copied().max().unwrap_or_default();
        if let Some((_, work)) = &mut self.hosts {
            for (rank, combined) in combined {
                work.add(Rank::new(rank as usize), Work { combined, ..Work::default() });
            }
        }
        if round.transfers.is_empty() {
            return;
        }
        self.figures.startups += 1;
        if self.last_phase.replace(round.phase).is_some_and(|last| last != round.phase) {
            self.figures.rearrangements += 1;
        }
        self.round += 1;
        self.sends.clear();
        let (mut largest, mut busiest, mut farthest) = (Volume::ZERO, Volume::ZERO, 0);
        let (mut port, mut forwarded) = (Busiest::default(), (Volume::ZERO, Volume::ZERO));
        for &index in sound {
            let transfer = &round.transfers[index];
            let place = Location::round(number).transfer(transfer.source, transfer.destination);
            let size = Volume::of(&transfer.blocks);
            let passage = Passage { place, index, transfer, size };
            largest = largest.max(size);
            self.ends(&passage, &mut port, violations);
            if let Some((loads, _)) = &mut self.hosts {
                loads.add(transfer.source, transfer.destination, size);
            }
            let route = self.route(place, transfer, violations).unwrap_or_default();
            let hops = route.len().saturating_sub(1) as u64;
            farthest = farthest.max(hops);
            self.figures.link_blocks += size * hops;
            forwarded = forwarded.max((size * hops, size * hops.min(2)));
            self.chains.add(transfer.source, transfer.destination, hops, size);
            for channel in channels(&route) {
                busiest = busiest.max(self.channel(&passage, channel, round, violations));
            }
            self.sends.push(Send { source: transfer.source, transfer: index, channel: channels(&route).next() });
        }
        self.values(number, round, violations);
        self.chains.end_of_round();
        self.figures.transmission += largest;
        self.figures.port_transmission += port.blocks;
        self.figures.received += port.received;
        self.figures.channel_transmission += busiest;
        self.figures.forwarded_transmission += forwarded.0;
        self.figures.end_transmission += forwarded.1;
        self.figures.hops += farthest;
        self.figures.host_transmission +=
            self.hosts.as_mut().map(|(loads, _)| loads.end_of_round()).unwrap_or_default();
        self.figures.handled += port.sends + port.receives;
    }

    /// Returns the figures of all rounds.
    pub(super) fn finish(mut self) -> Figures {
        let all = (self.figures.hops, self.figures.forwarded_transmission);
        (self.figures.chained_hops, self.figures.chained_forwarded) = self.chains.longest().unwrap_or(all);
        let fraction = |key: &u64| self.fractions.get(key).map_or(Volume::ZERO, |fraction| fraction.total);
        let totals = self.channels.iter().map(|(key, channel)| Volume::from(channel.total) + fraction(key));
        self.figures.busiest_channel_total = totals.max().unwrap_or_default();
        self.figures.messages = self.ranks.values().map(|rank| rank.messages).max().unwrap_or_default();
        self.figures.volume = self.ranks.values().map(|rank| rank.volume).max().unwrap_or_default();
        self.figures.contention_free = self.figures.max_transfers_on_a_channel <= 1;
        self.figures.work = self.hosts.as_ref().map(|(_, work)| work.most()).unwrap_or_default();
        self.figures
    }

    /// Counts the transfer at its two ends, and checks the port model.
    fn ends(&mut self, passage: &Passage<'_>, port: &mut Busiest, violations: &mut Violations) {
        let Passage { place, transfer, size, .. } = *passage;
        let now = self.round;
        let ports = self.outline.ports;
        let mut used = |rank: Rank, sends: u32| {
            let used = self.ranks.entry(rank.index() as u64).or_default();
            if used.round != now {
                (used.round, used.sends, used.receives) = (now, 0, 0);
                (used.sent, used.received) = (Volume::ZERO, Volume::ZERO);
            }
            used.messages += u64::from(sends);
            used.volume += size * u64::from(sends);
            used.sends += sends;
            used.receives += 1 - sends;
            let way = if sends == 1 { &mut used.sent } else { &mut used.received };
            *way += size;
            port.blocks = port.blocks.max(*way);
            port.received = port.received.max(used.received);
            if let Some((_, work)) = &mut self.hosts {
                let received = if sends == 1 { Volume::ZERO } else { size };
                // A rank waits once in a round, for all that it receives.
                let waits = u64::from(sends == 0 && used.receives == 1);
                work.add(rank, Work { waits, handled: 1, received, combined: Volume::ZERO });
            }
            u64::from(if sends == 1 { used.sends } else { used.receives })
        };
        let (sends, receives) = (used(transfer.source, 1), used(transfer.destination, 0));
        (port.sends, port.receives) = (port.sends.max(sends), port.receives.max(receives));
        self.figures.max_sends = self.figures.max_sends.max(sends);
        self.figures.max_receives = self.figures.max_receives.max(receives);
        if matches!(ports, Ports::One | Ports::OneSend) && sends > 1 {
            violations.report(place.rank(transfer.source), ViolationKind::Sends { ports, found: sends, allowed: 1 });
        }
        if ports == Ports::One && receives > 1 {
            violations.report(
                place.rank(transfer.destination),
                ViolationKind::Receives { ports, found: receives, allowed: 1 },
            );
        }
    }

    /// Returns the transfer's route, if it is a path between its ends.
    fn route<'a>(
        &mut self,
        place: Location,
        transfer: &'a Transfer,
        violations: &mut Violations,
    ) -> Option<Cow<'a, [Node]>> {
        let (topology, placement) = (self.outline.problem.topology(), self.outline.problem.placement());
        let expected = (placement.node(transfer.source), placement.node(transfer.destination));
        let route = match &transfer.route {
            Route::Via(nodes) => Cow::Borrowed(&nodes[..]),
            Route::Default => {
                if self.nodes > MAX_HOPS {
                    let found = topology.distance(expected.0, expected.1);
                    if found > MAX_HOPS {
                        let limit = MAX_HOPS as u64;
                        let found = found as u128;
                        violations.report(
                            place,
                            ViolationKind::TooLarge { what: "channels of a default route", found, limit },
                        );
                        return None;
                    }
                }
                Cow::Owned(topology.route(expected.0, expected.1))
            }
        };
        let found = route.first().copied().zip(route.last().copied());
        let mut sound = found == Some(expected);
        if !sound {
            violations.report(place, ViolationKind::RouteEnds { expected, found });
        }
        for &node in route.iter().filter(|node| node.index() >= self.nodes) {
            sound = false;
            violations.report(place, ViolationKind::RouteNode { found: node, nodes: self.nodes });
        }
        for channel in channels(&route) {
            let key = key(channel);
            if self.channels.contains_key(&key) || channel.from.index().max(channel.to.index()) >= self.nodes {
                continue;
            }
            if topology.adjacent(channel.from, channel.to) {
                self.channels.insert(key, ChannelUse::default());
            } else {
                sound = false;
                violations.report(place, ViolationKind::NoChannel { found: channel });
            }
        }
        sound.then_some(route)
    }

    /// Counts the transfer on a channel. Returns the volume of the channel in this round so far.
    fn channel(
        &mut self,
        passage: &Passage<'_>,
        channel: Channel,
        round: &Round,
        violations: &mut Violations,
    ) -> Volume {
        let Passage { place, index, size, .. } = *passage;
        let key = key(channel);
        let used = self.channels.entry(key).or_default();
        if used.round != self.round {
            (used.round, used.now, used.transfers, used.first) = (self.round, 0, 0, index as u32);
        }
        used.transfers += 1;
        self.figures.max_transfers_on_a_channel = self.figures.max_transfers_on_a_channel.max(used.transfers.into());
        if used.transfers > 1 && (self.outline.contention_free || self.outline.ports == Ports::All) {
            let other = &round.transfers[used.first as usize];
            let other = (other.source, other.destination);
            violations.report(place, ViolationKind::ChannelShared { channel, other });
        }
        if let Some(blocks) = size.whole() {
            used.now += blocks;
            used.total += blocks;
        } else {
            let fraction = self.fractions.entry(key).or_default();
            if fraction.round != self.round {
                (fraction.round, fraction.now) = (self.round, Volume::ZERO);
            }
            fraction.now += size;
            fraction.total += size;
        }
        let fraction = if self.fractions.is_empty() { None } else { self.fractions.get(&key) };
        let fraction = fraction.filter(|fraction| fraction.round == self.round);
        Volume::from(used.now) + fraction.map_or(Volume::ZERO, |fraction| fraction.now)
    }

    /// Checks whether ranks with several sends send the same blocks over distinct channels.
    fn values(&mut self, number: usize, round: &Round, violations: &mut Violations) {
        let strict = self.outline.ports == Ports::SameValue;
        self.sends.sort_unstable();
        for sends in self.sends.chunk_by(|a, b| a.source == b.source).filter(|sends| sends.len() > 1) {
            let first = &round.transfers[sends[0].transfer];
            let mut left: Map<Rank> = Map::default();
            for send in sends {
                let transfer = &round.transfers[send.transfer];
                let place = Location::round(number).transfer(transfer.source, transfer.destination);
                let mut object = |fault| {
                    self.figures.same_value = false;
                    if strict {
                        violations.report(place, fault);
                    }
                };
                if !same_units(&first.blocks, &transfer.blocks) {
                    object(ViolationKind::OtherValue { other: first.destination });
                }
                if let Some(channel) = send.channel
                    && let Some(other) = left.insert(key(channel), transfer.destination)
                {
                    object(ViolationKind::SameChannel { channel, other });
                }
            }
        }
    }
}

/// Returns the volume that each rank combines in a round.
fn combined(round: &Round) -> Map<Volume> {
    let mut by_rank: Map<Volume> = Map::default();
    let arrived = round.transfers.iter().filter(|transfer| transfer.combine != Combine::Replace);
    let arrived = arrived.map(|transfer| (transfer.destination, Volume::of(&transfer.blocks)));
    let merged = round.local.iter().filter(|(_, step)| step.combine != Combine::Replace);
    for (rank, volume) in arrived.chain(merged.map(|(rank, step)| (*rank, Volume::of(&[step.from])))) {
        *by_rank.entry(rank.index() as u64).or_default() += volume;
    }
    by_rank
}

/// Returns the channels of a path.
fn channels(route: &[Node]) -> impl Iterator<Item = Channel> + '_ {
    route.windows(2).map(|hop| Channel { from: hop[0], to: hop[1] })
}

fn key(channel: Channel) -> u64 {
    pair(channel.from.index() as u32, channel.to.index() as u32)
}

/// Returns whether two lists name the same chunks in the same order, in any grouping.
fn same_units(a: &[Block], b: &[Block]) -> bool {
    fn grouped(blocks: &[Block]) -> impl Iterator<Item = (Block, u32, u32, u32)> + '_ {
        blocks.chunk_by(|a, b| a.whole() == b.whole() && a.of() == b.of() && a.first() + a.count() == b.first()).map(
            |run| {
                let count = run.iter().map(|block| block.count()).sum();
                (run[0].whole(), run[0].of(), run[0].first(), count)
            },
        )
    }
    a == b || grouped(a).eq(grouped(b))
}
