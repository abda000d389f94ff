//! Exchanges within the rows of a product, one dimension after the other, by tables that say what
//! each node of a row does in each round.
//!
//! If blocks are cut into as many parts as there are dimensions, part c goes along dimension c
//! first, then along the next, and so on round, so that all dimensions are in use all the time.
//! Otherwise the last dimension is first.
//!
//! What one node of a row has for another is personal in an alltoall: it is not what it has for a
//! third one. In an allgather, it has the same for all: what it has received so far.

use std::sync::Arc;

use crate::algorithm::Claims;
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, RankAmounts, RankRound, Share};

/// An exchange in a product, with rank i on node i. By default it has no dimensions and no rounds.
#[derive(Clone, Default)]
pub(super) struct RowExchange {
    /// The exchange within a row of each dimension, from the first.
    tables: Vec<Arc<Table>>,
    /// The number of parts of a block: one, or as many as dimensions.
    parts: usize,
    /// Whether a node has the same for all others of a row.
    is_gossip: bool,
}

/// The exchange within a row: for each round, what each node does.
pub(super) struct Table {
    pub(super) extent: usize,
    /// The number of chunks into which all that goes from one node to another is cut.
    pub(super) chunks: usize,
    pub(super) rounds: Vec<Vec<NodeRound>>,
}

/// The messages of a node in a round.
#[derive(Clone, Default)]
pub(super) struct NodeRound {
    sends: Vec<Step>,
    receives: Vec<Step>,
}

/// A message from or to a node of the row.
#[derive(Clone)]
struct Step {
    peer: usize,
    units: Vec<Unit>,
}

/// A chunk of all that goes from one node of the row to another.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) chunk: usize,
}

/// Adds a unit to a round, to the message over the same channel if there is one.
pub(super) fn send(round: &mut [NodeRound], from: usize, to: usize, unit: Unit) {
    let add = |steps: &mut Vec<Step>, peer: usize| match steps.iter_mut().find(|step| step.peer == peer) {
        Some(step) => step.units.push(unit),
        None => steps.push(Step { peer, units: vec![unit] }),
    };
    add(&mut round[from].sends, to);
    add(&mut round[to].receives, from);
}

fn units(steps: &[Step]) -> u64 {
    steps.iter().map(|step| step.units.len() as u64).sum()
}

/// What a round takes at most, in units and messages.
#[derive(Clone, Copy, Default)]
struct Most {
    message: u64,
    sent: u64,
    received: u64,
    sends: u64,
    receives: u64,
}

impl Table {
    fn most(&self, round: usize) -> Most {
        let Some(nodes) = self.rounds.get(round) else { return Most::default() };
        let most = |of: &dyn Fn(&NodeRound) -> u64| nodes.iter().map(of).max().unwrap_or_default();
        let longest =
            |node: &NodeRound| node.sends.iter().map(|step| step.units.len() as u64).max().unwrap_or_default();
        Most {
            message: most(&longest),
            sent: most(&|node| units(&node.sends)),
            received: most(&|node| units(&node.receives)),
            sends: most(&|node| node.sends.len() as u64),
            receives: most(&|node| node.receives.len() as u64),
        }
    }

    /// Returns the most units or messages that a node sends in all rounds.
    fn busiest(&self, of: impl Fn(&NodeRound) -> u64) -> u64 {
        let sent = |node: usize| self.rounds.iter().map(|round| of(&round[node])).sum();
        (0..self.extent).map(sent).max().unwrap_or_default()
    }
}

impl RowExchange {
    /// Takes the last dimension first.
    pub(super) fn in_turn(tables: Vec<Arc<Table>>) -> Self {
        Self { tables, parts: 1, is_gossip: false }
    }

    /// Cuts blocks into a part for each dimension.
    pub(super) fn rotating(tables: Vec<Arc<Table>>) -> Self {
        Self { parts: tables.len().max(1), tables, is_gossip: false }
    }

    /// Makes it an allgather.
    pub(super) fn gossip(self) -> Self {
        Self { is_gossip: true, ..self }
    }

    /// Returns the names of the phases of an alltoall, which puts blocks into another order after
    /// each.
    pub(super) fn phases(&self) -> Vec<String> {
        let within = |phase| match self.parts {
            1 => format!("within dimension {}", self.dimension(phase, 0)),
            _ => format!("turn {} of {}", phase + 1, self.tables.len()),
        };
        (0..self.tables.len()).map(within).collect()
    }

    /// Returns the number of a phase in the schedule: an allgather puts nothing into another order,
    /// so it is one phase.
    fn phase_number(&self, phase: usize) -> usize {
        if self.is_gossip { 0 } else { phase }
    }

    /// Returns the dimension that a part of the blocks goes along in a phase.
    fn dimension(&self, phase: usize, part: usize) -> usize {
        match self.parts {
            1 => self.tables.len() - 1 - phase,
            _ => (phase + part) % self.tables.len(),
        }
    }

    /// Returns the number of rounds of a phase.
    fn rounds_of(&self, phase: usize) -> usize {
        let along = (0..self.parts).map(|part| self.tables[self.dimension(phase, part)].rounds.len());
        along.max().unwrap_or_default()
    }

    /// Returns the phase of each round, and its number within the phase.
    fn rounds(&self) -> impl Iterator<Item = (usize, usize)> + Send + use<> {
        let counts: Vec<usize> = (0..self.tables.len()).map(|phase| self.rounds_of(phase)).collect();
        counts.into_iter().enumerate().flat_map(|(phase, rounds)| (0..rounds).map(move |number| (phase, number)))
    }

    fn extent(&self, dimension: usize) -> usize {
        self.tables[dimension].extent
    }

    fn ranks(&self) -> usize {
        self.tables.iter().map(|table| table.extent).product()
    }

    /// Returns the difference in rank between neighbouring coordinates.
    fn stride(&self, dimension: usize) -> usize {
        self.tables[dimension + 1..].iter().map(|table| table.extent).product()
    }

    fn coordinate(&self, rank: Rank, dimension: usize) -> usize {
        rank.index() / self.stride(dimension) % self.extent(dimension)
    }

    /// Returns the volume of a unit of a part in a phase.
    fn unit(&self, phase: usize, part: usize) -> Volume {
        let dimension = self.dimension(phase, part);
        let blocks: usize = match self.is_gossip {
            true => (0..phase).map(|before| self.extent(self.dimension(before, part))).product(),
            false => self.ranks() / self.extent(dimension),
        };
        Volume::ratio(blocks as u128, (self.parts * self.tables[dimension].chunks) as u128)
    }

    pub(super) fn claims(&self) -> Claims {
        // Ranks have all combinations of coordinates, so what is most along each dimension adds up.
        let (mut startups, mut handled) = (0, 0);
        let [mut message, mut port, mut received] = [Volume::ZERO; 3];
        for (phase, round) in self.rounds() {
            let along: Vec<(Most, Volume)> = (0..self.parts)
                .map(|part| (self.tables[self.dimension(phase, part)].most(round), self.unit(phase, part)))
                .collect();
            let sum = |of: fn(&Most) -> u64| along.iter().map(|(most, unit)| *unit * of(most)).sum::<Volume>();
            startups += 1;
            handled += along.iter().map(|(most, _)| most.sends + most.receives).sum::<u64>();
            message += along.iter().map(|(most, unit)| *unit * most.message).max().unwrap_or_default();
            port += sum(|most| most.sent).max(sum(|most| most.received));
            received += sum(|most| most.received);
        }
        let mut volume = Volume::ZERO;
        let mut messages = 0;
        let phases = self.tables.len();
        for (phase, part) in (0..phases).flat_map(|phase| (0..self.parts).map(move |part| (phase, part))) {
            let table = &self.tables[self.dimension(phase, part)];
            messages += table.busiest(|node| node.sends.len() as u64);
            volume += self.unit(phase, part) * table.busiest(|node| units(&node.sends));
        }
        Claims {
            startups: Some(startups),
            transmission: Some(message),
            port_transmission: Some(port),
            received: Some(received),
            hops: Some(startups),
            rearrangements: Some(if self.is_gossip { 0 } else { (phases as u64).saturating_sub(1) }),
            handled: Some(handled),
            messages: Some(messages),
            volume: Some(volume),
            contention_free: true,
            ..Claims::default()
        }
    }

    pub(super) fn share(self, rank: Rank) -> Share {
        Box::new(self.rounds().map(move |(phase, number)| {
            let mut round = RankRound::default().in_phase(self.phase_number(phase));
            for part in 0..self.parts {
                let dimension = self.dimension(phase, part);
                let Some(node) = self.node(rank, dimension, number) else { continue };
                let end = |step: &Step| {
                    let units = step.units.iter();
                    let blocks = units.flat_map(|&unit| self.blocks(rank, phase, part, unit)).collect();
                    End::new(self.at(rank, dimension, step.peer), blocks)
                };
                round.sends.extend(node.sends.iter().map(end));
                round.receives.extend(node.receives.iter().map(end));
            }
            round
        }))
    }

    pub(super) fn amounts(self, rank: Rank) -> Amounts {
        Box::new(self.rounds().map(move |(phase, number)| {
            let mut amounts = RankAmounts { phase: self.phase_number(phase), ..RankAmounts::default() };
            for part in 0..self.parts {
                let dimension = self.dimension(phase, part);
                let Some(node) = self.node(rank, dimension, number) else { continue };
                let volume = |step: &Step| self.unit(phase, part) * step.units.len() as u64;
                let sent = |step: &Step| Amount::new(self.at(rank, dimension, step.peer), volume(step));
                amounts.sends.extend(node.sends.iter().map(sent));
                amounts.receives += node.receives.len();
            }
            amounts
        }))
    }

    fn node(&self, rank: Rank, dimension: usize, round: usize) -> Option<&NodeRound> {
        self.tables[dimension].rounds.get(round)?.get(self.coordinate(rank, dimension))
    }

    /// Returns the rank at a coordinate of a rank's row.
    fn at(&self, rank: Rank, dimension: usize, coordinate: usize) -> Rank {
        let stride = self.stride(dimension);
        Rank::new(rank.index() - self.coordinate(rank, dimension) * stride + coordinate * stride)
    }

    /// Returns the blocks of a unit in a rank's row. In the dimensions of earlier phases, their
    /// destinations have the row's coordinates; in those of later phases, their sources have. In an
    /// allgather, blocks have no destination.
    fn blocks(&self, rank: Rank, phase: usize, part: usize, Unit { from, to, chunk }: Unit) -> Vec<Block> {
        let dimension = self.dimension(phase, part);
        let mut pairs = vec![(0, 0)];
        for other in 0..self.tables.len() {
            let (extent, own) = (self.extent(other), self.coordinate(rank, other));
            let is_done = (0..phase).any(|before| self.dimension(before, part) == other);
            let digits: Vec<(usize, usize)> = match other == dimension {
                true => vec![(from, to)],
                false if is_done => (0..extent).map(|x| (x, own)).collect(),
                false if self.is_gossip => vec![(own, own)],
                false => (0..extent).map(|x| (own, x)).collect(),
            };
            let with = |&(source, destination): &(usize, usize)| {
                digits.iter().map(move |&(s, d)| (source * extent + s, destination * extent + d)).collect::<Vec<_>>()
            };
            pairs = pairs.iter().flat_map(with).collect();
        }
        let block = |(source, destination)| match self.is_gossip {
            true => Block::from(Rank::new(source)),
            false => Block::new(Rank::new(source), Rank::new(destination)),
        };
        let chunks = self.tables[dimension].chunks;
        let (first, of) = (part * chunks + chunk, self.parts * chunks);
        let cut = |block: Block| block.chunks(first as u32, of as u32, 1).unwrap_or(block);
        pairs.into_iter().map(|pair| cut(block(pair))).collect()
    }
}
