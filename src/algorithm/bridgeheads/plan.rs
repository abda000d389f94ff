//! The stages of a gossip along all axes, and the blocks that each message carries.

use std::ops::Range;
use std::sync::Arc;

use super::diagonal;
use super::row::{self, Load, Message, Row, Stage};
use crate::algorithm::loads::in_order;
use crate::algorithm::{Algorithm, Claims, Parameter, Settings, Values};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::topology::{Axis, Kind};
use crate::vocabulary::{Amount, Amounts, End, Problem, RankAmounts, RankRound, Share};

/// The number of bridgeheads.
pub(in crate::algorithm) const A: Parameter = Parameter {
    key: "a",
    summary: "number of bridgeheads in a row, and the factor by which it grows in a round; 0 stands for 3 or the least that fits",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

/// The steps of a round.
pub(in crate::algorithm) const B: Parameter = Parameter {
    key: "b",
    summary: "number of steps in a round, at least a / 2 rounded down; 0 stands for 1.1 (a - 2) or that",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

/// The number of parts of a block that take the axes in different orders.
pub(in crate::algorithm) const COLOURS: Parameter = Parameter {
    key: "colours",
    summary: "whether all axes are used at once, each by a part of every block",
    values: Values::Words(&["all", "one"]),
    default: 0,
};

/// The most ranks for which a plan is made: its claims are counted.
const MAX_RANKS: usize = 1 << 12;

/// How a gossip goes through the axes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Order {
    /// A gossip along one axis after the other: CIRCGOS, HIGH-DIM-GOS.
    ByAxis,
    /// Bridgeheads on generalized diagonals: TORGOS, CUBGOS.
    Diagonals,
}

/// The values of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::algorithm) struct Choice {
    a: usize,
    b: usize,
    /// An index among the words of [`COLOURS`].
    colours: usize,
}

impl Choice {
    pub(in crate::algorithm) fn of(settings: &Settings) -> Self {
        Self { a: settings.of(&A), b: settings.of(&B), colours: settings.of(&COLOURS) }
    }

    pub(in crate::algorithm) fn settings(self) -> Settings {
        Settings::default().with(&A, self.a).with(&B, self.b).with(&COLOURS, self.colours)
    }

    /// Returns other numbers of bridgeheads, from few start-ups to little transmission.
    pub(in crate::algorithm) fn variants(
        problem: &Problem,
        order: Order,
        with: impl Fn(Self) -> Arc<dyn Algorithm>,
    ) -> Vec<Arc<dyn Algorithm>> {
        let longest = row_axes(problem).into_iter().flatten().map(|(extent, _)| extent).max().unwrap_or(1);
        let choices = [2, 4, 8, 16, longest].map(|a| Self { a, ..Self::default() });
        let fits = |choice: &Self| problem.ranks() > 1 && choice.lacks(problem, order).is_none();
        let mut fitting: Vec<Self> = choices.into_iter().filter(fits).collect();
        fitting.dedup();
        fitting.into_iter().map(with).collect()
    }

    /// Returns what a problem lacks for these parameters.
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, order: Order) -> Option<String> {
        let ranks = problem.ranks();
        let Some(axes) = row_axes(problem) else {
            return Some("it needs a ring, a line or a product of them, with rank i on node i".to_owned());
        };
        if ranks > MAX_RANKS {
            return Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}"));
        }
        let longest = axes.iter().map(|(extent, _)| *extent).max().unwrap_or(1);
        if self.a > longest.max(1) {
            return Some(format!("a={}: it needs at most {longest}, the nodes of a row", self.a));
        }
        if order == Order::Diagonals && self.a > 0 && (self.a == 1 || longest % self.a > 0) {
            let right: Vec<String> = (2..=longest).filter(|a| longest % a == 0).map(|a| a.to_string()).collect();
            return Some(format!(
                "a={}: it needs a divisor of {longest}, the nodes of a row: {}",
                self.a,
                right.join(", ")
            ));
        }
        let least = self.a.max(if self.a == 1 { 3 } else { 0 }) / 2;
        if self.b > 0 && self.a == 0 {
            return Some(format!("b={}: it needs a too, since b is at least half of it", self.b));
        }
        (self.b > 0 && self.b < least).then(|| format!("b={}: with a={} it needs at least {least}", self.b, self.a))
    }

    /// Returns the number of steps of a round in which the number of bridgeheads grows by a factor.
    fn steps(self, factor: usize) -> usize {
        match self.b {
            0 => (factor / 2).max(11 * factor.saturating_sub(2) / 10),
            b => factor / 2 + b.saturating_sub(self.a.max(if self.a == 1 { 3 } else { 0 }) / 2),
        }
        .max(1)
    }
}

/// Returns a number of bridgeheads for a row. Three in a ring of four would be half a ring apart,
/// where routes do not go down.
fn at_most(heads: usize, nodes: usize) -> usize {
    if (heads, nodes) == (3, 4) { 4 } else { heads.min(nodes) }
}

/// Returns the extents, and whether they are rings, of a product of rings and lines.
fn row_axes(problem: &Problem) -> Option<Vec<(usize, bool)>> {
    let axes = in_order(problem)?;
    let row = |axis: &Axis| match axis.kind {
        Kind::Complete if axis.extent > 2 => None,
        kind => Some((axis.extent as usize, kind == Kind::Ring)),
    };
    axes.iter().map(row).collect()
}

/// Returns the number of axes, if all have the same extent.
pub(in crate::algorithm) fn equal_axes(problem: &Problem) -> Option<usize> {
    let axes = row_axes(problem)?;
    axes.windows(2).all(|pair| pair[0].0 == pair[1].0).then_some(axes.len())
}

/// The blocks of which nodes a node has, along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    All,
    /// Those at its own place and at multiples of a number of nodes from it.
    Every(usize),
    /// Those of its arc, as one of so many bridgeheads.
    Arc(usize),
    /// Those of so many nodes from a place on, round the row.
    From(usize, usize),
}

/// A stage along an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leg {
    axis: usize,
    stage: Stage,
    /// What a bridgehead has along each axis before the stage.
    has: Vec<Along>,
    rounds: Range<usize>,
}

/// A gossip.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct Plan {
    order: Order,
    /// The extents, and whether they are rings.
    axes: Vec<(usize, bool)>,
    /// The legs of each colour, one after the other. Each colour is a part of every block.
    colours: Vec<Vec<Leg>>,
    rounds: usize,
    a: usize,
}

/// A message of one colour.
#[derive(Clone, Debug)]
struct Transfer {
    peer: usize,
    distance: usize,
    /// The places along each axis of the nodes whose blocks it carries.
    places: Vec<Vec<usize>>,
    /// Which of these blocks it carries, in order.
    part: Range<usize>,
    /// Those of them that the receiver has already.
    without: Vec<usize>,
    colour: usize,
}

impl Plan {
    /// Returns the plan for a problem that [lacks](Choice::lacks) nothing.
    pub(in crate::algorithm) fn new(problem: &Problem, order: Order, choice: Choice) -> Self {
        let axes = row_axes(problem).unwrap_or_default();
        let least = |extent: usize| (2..=extent).find(|factor| extent % factor == 0).unwrap_or(1);
        let a = match (choice.a, order) {
            (0, Order::ByAxis) => 3,
            (0, Order::Diagonals) => axes.first().map_or(1, |(extent, _)| least(*extent)),
            (a, _) => a,
        };
        let colours = if choice.colours == 0 { axes.len() } else { 1.min(axes.len()) };
        let mut plan = Self { order, axes, colours: vec![vec![]; colours], rounds: 0, a };
        match order {
            Order::ByAxis => plan.along_each_axis(choice),
            Order::Diagonals => plan.on_diagonals(choice),
        }
        plan
    }

    /// Adds a leg of each colour to the end, or, if they are to follow, after the last of its
    /// colour. The axis counts from the colour's own.
    fn leg(&mut self, colour: usize, begin: usize, axis: usize, stage: Stage, has: Vec<Along>) -> usize {
        let count = self.axes.len();
        let axis = (axis + colour) % count;
        let has = (0..count).map(|at| has[(at + count - colour) % count]).collect();
        let mut leg = Leg { axis, stage, has, rounds: begin..begin };
        let (extent, ring) = self.axes[axis];
        let firsts = match self.order {
            Order::Diagonals if !ring => 0..extent,
            _ => 0..1,
        };
        let longest = firsts.map(|first| match self.order {
            Order::Diagonals => Row { nodes: extent, ring, first }.steps(stage),
            Order::ByAxis => self.row(&leg, &[]).steps(stage),
        });
        leg.rounds.end += longest.max().unwrap_or(0);
        let end = leg.rounds.end;
        self.colours[colour].push(leg);
        self.rounds = self.rounds.max(end);
        end
    }

    fn along_each_axis(&mut self, choice: Choice) {
        let count = self.axes.len();
        for phase in 0..count {
            let begin = self.rounds;
            for colour in 0..self.colours.len() {
                let (nodes, _) = self.axes[(phase + colour) % count];
                let has = |along| -> Vec<Along> {
                    let axis = |axis: usize| match axis.cmp(&phase) {
                        std::cmp::Ordering::Less => Along::All,
                        std::cmp::Ordering::Equal => along,
                        std::cmp::Ordering::Greater => Along::Every(self.axes[(axis + colour) % count].0),
                    };
                    (0..count).map(axis).collect()
                };
                let mut heads = self.heads(nodes);
                let mut legs = vec![
                    (Stage::Concentrate { heads }, has(Along::Every(nodes))),
                    (Stage::Circulate { heads, sources: heads }, has(Along::Arc(heads))),
                ];
                let factor = if self.a == 1 { 3 } else { self.a };
                while heads < nodes {
                    let next = at_most(heads * factor, nodes);
                    let steps = choice.steps(row::factor(heads, next, nodes));
                    legs.push((Stage::Spread { heads, next, steps }, has(Along::All)));
                    heads = next;
                }
                legs.into_iter().fold(begin, |at, (stage, has)| self.leg(colour, at, phase, stage, has));
            }
        }
    }

    fn on_diagonals(&mut self, choice: Choice) {
        let count = self.axes.len();
        let nodes = self.axes.first().map_or(1, |(extent, _)| *extent);
        // Along the rows, and along the columns before and after the one that is gone through.
        let has = |row: Along, axis: usize, before: usize, after: usize| -> Vec<Along> {
            let column = |at: usize| Along::Every(nodes / if at < axis { before } else { after });
            (0..count).map(|at| if at == 0 { row } else { column(at) }).collect()
        };
        let mut heads = self.a;
        let mut legs = vec![
            (0, Stage::Concentrate { heads }, has(Along::Every(nodes), 0, 1, 1)),
            (0, Stage::Circulate { heads, sources: heads }, has(Along::Arc(heads), 0, 1, 1)),
        ];
        let columns = |heads: usize, old: usize| {
            let stage = Stage::Circulate { heads, sources: heads / old };
            (1..count).map(move |axis| (axis, stage, has(Along::All, axis, heads, old)))
        };
        legs.extend(columns(heads, 1));
        while heads < nodes {
            let rest = nodes / heads;
            let divides = |factor: &usize| rest % factor == 0;
            let factor = (2..=self.a).rev().find(divides).or_else(|| (2..=rest).find(divides)).unwrap_or(rest);
            let next = heads * factor;
            legs.push((
                0,
                Stage::Spread { heads, next, steps: choice.steps(factor) },
                has(Along::All, 0, heads, heads),
            ));
            legs.extend(columns(next, heads));
            heads = next;
        }
        for (axis, stage, has) in legs {
            let begin = self.rounds;
            for colour in 0..self.colours.len() {
                self.leg(colour, begin, axis, stage, has.clone());
            }
        }
    }

    /// Returns the number of bridgeheads with which a row begins.
    fn heads(&self, nodes: usize) -> usize {
        at_most(self.a, nodes)
    }

    /// Returns the row of a leg through a node.
    fn row(&self, leg: &Leg, coordinates: &[usize]) -> Row {
        let (nodes, ring) = self.axes[leg.axis];
        let first = match self.order {
            Order::ByAxis => (nodes / self.heads(nodes) - 1) / 2,
            Order::Diagonals => {
                let sum: usize = coordinates.iter().sum();
                diagonal::place(nodes, sum - coordinates[leg.axis])
            }
        };
        Row { nodes, ring, first }
    }

    fn coordinates(&self, mut node: usize) -> Vec<usize> {
        let mut coordinates = vec![0; self.axes.len()];
        for (at, (extent, _)) in coordinates.iter_mut().zip(&self.axes).rev() {
            *at = node % extent;
            node /= extent;
        }
        coordinates
    }

    fn node(&self, coordinates: &[usize]) -> usize {
        coordinates.iter().zip(&self.axes).fold(0, |node, (at, (extent, _))| node * extent + at)
    }

    /// Returns the leg of a colour in a round, and its step.
    fn at(&self, colour: usize, round: usize) -> Option<(&Leg, usize)> {
        let leg = self.colours[colour].iter().find(|leg| leg.rounds.contains(&round))?;
        Some((leg, round - leg.rounds.start))
    }

    /// Returns the number of nodes of which a sender has blocks along each axis, and those places.
    fn places(&self, leg: &Leg, row: Row, sender: &[usize], load: Load) -> (Vec<Vec<usize>>, Range<usize>) {
        let along = |(axis, along): (usize, &Along)| -> Vec<usize> {
            let (extent, _) = self.axes[axis];
            let (mut along, mut place) = (*along, sender[axis]);
            if axis == leg.axis {
                match load {
                    Load::Nodes { from, count } => along = Along::From(from, count),
                    Load::Head(head) => place = head,
                    Load::Part { .. } => {}
                }
            }
            if let Along::Arc(heads) = along {
                let (below, above) = row.arc(place, heads);
                along = Along::From((place + extent - below) % extent, below + 1 + above);
            }
            match along {
                Along::All | Along::Arc(_) => (0..extent).collect(),
                Along::Every(distance) => (place % distance..extent).step_by(distance).collect(),
                Along::From(from, count) => (from..from + count).map(|place| place % extent).collect(),
            }
        };
        let places: Vec<Vec<usize>> = leg.has.iter().enumerate().map(along).collect();
        let all: usize = places.iter().map(Vec::len).product();
        let part = match load {
            Load::Part { index, of } => index * all / of..(index + 1) * all / of,
            _ => 0..all,
        };
        (places, part)
    }

    fn transfer(
        &self,
        colour: usize,
        leg: &Leg,
        row: Row,
        from: &[usize],
        message: Message,
    ) -> Option<(usize, Transfer)> {
        let (places, part) = self.places(leg, row, from, message.load);
        let mut to = from.to_vec();
        to[leg.axis] = message.to;
        let (peer, distance) = (self.node(&to), message.distance);
        let without = match leg.stage {
            Stage::Spread { .. } => self.collected(leg, row, &to, &places).filter(|at| part.contains(at)).collect(),
            Stage::Concentrate { .. } | Stage::Circulate { .. } => vec![],
        };
        (part.len() > without.len()).then_some((peer, Transfer { peer, distance, places, part, without, colour }))
    }

    /// Returns which of the blocks of these places a node has from when it collected them for its
    /// first bridgehead.
    fn collected(&self, leg: &Leg, row: Row, node: &[usize], places: &[Vec<usize>]) -> impl Iterator<Item = usize> {
        let (from, count) = row.collected(node[leg.axis], self.heads(row.nodes));
        let mut found = vec![0];
        for (axis, places) in places.iter().enumerate() {
            let has = |place: usize| match self.order {
                _ if axis == leg.axis => (place + row.nodes - from) % row.nodes < count,
                Order::ByAxis => true,
                Order::Diagonals => place == node[axis],
            };
            let along: Vec<usize> = (0..places.len()).filter(|&at| has(places[at])).collect();
            found = found.iter().flat_map(|at| along.iter().map(move |more| at * places.len() + more)).collect();
        }
        found.into_iter()
    }

    /// Returns what a node sends in a round.
    fn sends(&self, node: usize, round: usize) -> Vec<Transfer> {
        let from = self.coordinates(node);
        let sends = (0..self.colours.len()).flat_map(|colour| {
            let found = self.at(colour, round);
            let from = &from;
            found.into_iter().flat_map(move |(leg, step)| {
                let row = self.row(leg, from);
                row::Way::BOTH.into_iter().filter_map(move |way| {
                    let message = row.send(leg.stage, step, from[leg.axis], way)?;
                    self.transfer(colour, leg, row, from, message).map(|(_, transfer)| transfer)
                })
            })
        });
        sends.collect()
    }

    /// Returns what a node receives in a round; the peers are the senders.
    fn receives(&self, node: usize, round: usize) -> Vec<Transfer> {
        let to = self.coordinates(node);
        let mut all = vec![];
        for colour in 0..self.colours.len() {
            let Some((leg, step)) = self.at(colour, round) else { continue };
            let row = self.row(leg, &to);
            for way in row::Way::BOTH {
                for place in row.senders(leg.stage, to[leg.axis], way) {
                    let Some(message) = row.send(leg.stage, step, place, way) else { continue };
                    if message.to == to[leg.axis] {
                        let mut from = to.clone();
                        from[leg.axis] = place;
                        let transfer = self.transfer(colour, leg, row, &from, message);
                        all.extend(transfer.map(|(_, transfer)| Transfer { peer: self.node(&from), ..transfer }));
                    }
                }
            }
        }
        all
    }

    /// Returns the blocks of a transfer.
    fn blocks(&self, transfer: &Transfer) -> Vec<Block> {
        let of = self.colours.len() as u32;
        let mut numbers = vec![0_usize];
        for (places, (extent, _)) in transfer.places.iter().zip(&self.axes) {
            numbers =
                numbers.iter().flat_map(|number| places.iter().map(move |place| number * extent + place)).collect();
        }
        let colour = |node: usize| Block::from(Rank::new(node)).chunks(transfer.colour as u32, of, 1);
        let carried = transfer.part.clone().filter(|at| transfer.without.binary_search(at).is_err());
        carried.filter_map(|at| colour(numbers[at])).collect()
    }

    fn size(&self, transfer: &Transfer) -> Volume {
        Volume::ratio((transfer.part.len() - transfer.without.len()) as u128, self.colours.len() as u128)
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(self, rank: Rank) -> Share {
        Box::new((0..self.rounds).map(move |round| {
            let ends = |all: Vec<Transfer>| {
                all.iter()
                    .map(|transfer| End::new(Rank::new(transfer.peer), self.blocks(transfer).into_iter().collect()))
                    .collect()
            };
            RankRound::new(ends(self.sends(rank.index(), round)), ends(self.receives(rank.index(), round)))
        }))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(in crate::algorithm) fn amounts(self, rank: Rank) -> Amounts {
        Box::new((0..self.rounds).map(move |round| {
            let amount = |transfer: Transfer| Amount::new(Rank::new(transfer.peer), self.size(&transfer));
            let sends = self.sends(rank.index(), round).into_iter().map(amount).collect();
            RankAmounts { sends, receives: self.receives(rank.index(), round).len(), ..RankAmounts::default() }
        }))
    }

    /// Counts what the schedule takes.
    pub(in crate::algorithm) fn claims(&self) -> Claims {
        let ranks: usize = self.axes.iter().map(|(extent, _)| extent).product();
        let mut totals = vec![(0_u64, Volume::default()); ranks];
        let mut claims = Claims { rearrangements: Some(0), contention_free: true, ..Claims::default() };
        let (mut startups, mut hops, mut handled) = (0, 0, 0);
        let [mut transmission, mut ports, mut received, mut forwarded, mut ends] = [Volume::default(); 5];
        for round in 0..self.rounds {
            let mut arrived = vec![(0_u64, Volume::default()); ranks];
            let mut sent = vec![(0_u64, Volume::default()); ranks];
            let (mut largest, mut longest, mut furthest) =
                (Volume::default(), 0, (Volume::default(), Volume::default()));
            for node in 0..ranks {
                for transfer in self.sends(node, round) {
                    let (size, distance) = (self.size(&transfer), transfer.distance as u64);
                    largest = largest.max(size);
                    longest = longest.max(distance);
                    furthest = furthest.max((size * distance, size * distance.min(2)));
                    for (count, volume) in [&mut arrived[transfer.peer], &mut sent[node], &mut totals[node]] {
                        *count += 1;
                        *volume += size;
                    }
                }
            }
            let most = |counts: &[(u64, Volume)]| {
                let count = counts.iter().map(|(count, _)| *count).max().unwrap_or(0);
                (count, counts.iter().map(|(_, volume)| *volume).max().unwrap_or_default())
            };
            let (most_sent, most_arrived) = (most(&sent), most(&arrived));
            startups += u64::from(most_sent.0 > 0);
            hops += longest;
            handled += most_sent.0 + most_arrived.0;
            transmission += largest;
            ports += most_sent.1.max(most_arrived.1);
            received += most_arrived.1;
            forwarded += furthest.0;
            ends += furthest.1;
        }
        (claims.startups, claims.hops, claims.handled) = (Some(startups), Some(hops), Some(handled));
        (claims.transmission, claims.port_transmission, claims.received) =
            (Some(transmission), Some(ports), Some(received));
        (claims.forwarded_transmission, claims.end_transmission) = (Some(forwarded), Some(ends));
        claims.messages = totals.iter().map(|(count, _)| *count).max();
        claims.volume = totals.iter().map(|(_, volume)| *volume).max();
        claims
    }
}
