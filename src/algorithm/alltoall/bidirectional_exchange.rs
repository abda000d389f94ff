//! Message-combining alltoall on a torus, in both directions of every dimension.
//!
//! Source: own work, after Suh & Shin, IEEE TPDS 2001, §3. Needs: a torus with n >= 2 dimensions
//! whose extents are multiples of 2n and which take no more start-ups and blocks together than one
//! after the other (those of 16 x 4 nodes take more); a rank on every node. A torus may have other
//! dimensions: they are exchanged in groups of their own. Model: one-port, cut-through.
//!
//! For n dimensions that are exchanged together, of extents k with the longest K, N nodes, l = K/2n
//! and n = p q .. in prime factors:
//!
//! | term | per rank | n = 2 | Suh & Shin, n = 2 |
//! |---|---|---|---|
//! | startups | n (l + (p - 1) + (q - 1) + ..) | K/2 + 2 | K/2 + 2 |
//! | blocks sent, equal extents | n (floor(l^2/4)/l + 1/2 + floor(p^2/4)/p + ..) N | (K/8 + 2) N if 8 divides K | (K/4 + 1) N |
//! | hops | 2n^2 (l - 1) + n^2, and n (p - 1)^2 u for each prime factor, with hops of u | 2K - 2 | 2K - 2 |
//!
//! The rearrangements are one less than the phases: 2n for the cells (n if l = 2, none if l = 1), one
//! for the halves, one for each prime factor. Groups of dimensions follow one another. One dimension
//! is such a group too, with n = 1; if its extent is odd, it has cells of one node, and takes k - 1
//! start-ups and floor(k^2/4) N/k blocks.
//!
//! Contention-free. A rank takes time and memory in proportion to the blocks that it sends. Lower
//! bounds: N - 1 blocks with one port, N K/8 by the bisection, which equal extents approach: (1 +
//! 16/K) N K/8 with two dimensions, where Suh & Shin's exchange takes (2 + 8/K) N K/8.
//!
//! # Idea
//!
//! Write each coordinate as cell · 2n + place. A block first moves to its cell in every dimension, in
//! hops of 2n around the rings that nodes of equal `x mod 2n` form, and in the shorter direction.
//! There are 2n directions, and 2n classes of nodes: the class of a node is the sum of its
//! coordinates mod 2n. So in turn t, class c moves blocks in direction (c + t) mod 2n: each class in
//! one direction, and all channels of the torus are busy. After n turns, each class has used every
//! dimension in one direction; in the other n turns it uses the opposite ones.
//!
//! ```text
//! n = 2, class      0    1    2    3
//! turn 1           +x   +y   -x   -y      l/2 rounds
//! turn 2           +y   -x   -y   +x      l/2 rounds
//! turn 3           -x   -y   +x   +y      (l - 1)/2 rounds
//! turn 4           -y   +x   +y   -x      (l - 1)/2 rounds
//! ```
//!
//! Then the places within cells of 2n: first in pairs of nodes n apart, then by the prime factors of
//! n, the largest first, in lines of p nodes h apart. Nodes of the same sum of coordinates mod h take
//! the same dimension; the h <= n sums take different ones.
//!
//! # Why it is correct
//!
//! 1. Nodes that exchange in a phase differ by multiples of the hop, h, in one dimension. So they have
//!    equal sums mod h, and correct the digits of that level in the same order; the digits of earlier
//!    levels are corrected everywhere. Hence [the blocks of a node are a product](super::digits), also
//!    between the two directions of a dimension, and every block arrives.
//! 2. No channel carries two transfers in a round: in a row, nodes of one class have equal `x mod 2n`,
//!    so that their hops meet end to end, and another class uses another direction. Within cells, nodes
//!    that use a row have equal `x mod h`.

use std::cmp::Reverse;

use super::cells::{by_extent, no_rank_on_every_node};
use super::digits::{Digit, Digits, Slot, Walk, Way};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::{Grid, Topology};
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// Suh & Shin's exchange in both directions of every dimension at once.
///
/// With two dimensions that are equal multiples of four, it takes as many start-ups as
/// [`TorusExchange`](super::TorusExchange) and down to half of its blocks, the larger the torus the
/// fewer; with three that are equal multiples of twelve, down to a third.
///
/// On 12 x 12 nodes, the first two of the four rounds in which blocks move to their cells; each arrow
/// is a message:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/bidirectional-exchange.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct BidirectionalExchange;

static ABOUT: About = About {
    collective: "alltoall",
    name: "bidirectional-exchange",
    summary: "message combining: cell by cell in both directions of all dimensions, then within cells",
    source: "own work, after Suh & Shin 2001, 3",
    needs: "a torus with n >= 2 dimensions that are multiples of 2n and cost no more together than alone, with a rank on every node",
    claims: "n dimensions together, the longest 2n l: n (l + the sum of p - 1 over the prime factors p of n) start-ups, \
             with equal extents n (floor(l^2/4)/l + 1/2 + the sum of floor(p^2/4)/p) N blocks; contention-free",
    ports: Ports::One,
};

impl Algorithm for BidirectionalExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_rank_on_every_node(problem).or_else(|| {
            let needs = "it needs a torus with n >= 2 dimensions that are multiples of 2n and cost no more together \
                         than alone; torus-exchange fits all tori";
            exchange(problem).is_none().then(|| needs.to_owned())
        })
    }

    fn claims(&self, problem: &Problem) -> Claims {
        exchange(problem).map(|exchange| exchange.claims()).unwrap_or_default()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        exchange(problem).map(|exchange| exchange.slots().1).unwrap_or_default()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        match exchange(problem) {
            Some(exchange) => exchange.digits().share(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        match exchange(problem) {
            Some(exchange) => exchange.digits().amounts(problem.placement(), rank),
            None => Box::new(std::iter::empty()),
        }
    }
}

/// Returns the exchange on a torus, if it takes some dimensions together.
fn exchange(problem: &Problem) -> Option<Exchange> {
    let torus = Grid::of(&**problem.topology()).filter(|grid| grid.wraps())?;
    let groups = grouped(&torus, &by_extent(&torus));
    let is_joint = groups.iter().any(|group| group.len() > 1);
    is_joint.then(|| Exchange::new(torus.extents(), groups))
}

/// Divides dimensions, the longest first, into groups that take the fewest start-ups, and of those
/// the fewest blocks; if there are several, into the largest.
fn grouped(torus: &Grid, dimensions: &[usize]) -> Vec<Group> {
    // The best groups of the first dimensions, by the number of dimensions.
    let mut best: Vec<(u64, Volume, Vec<Group>)> = vec![(0, Volume::ZERO, vec![])];
    for end in 1..=dimensions.len() {
        let with_last = (0..end).filter_map(|start| {
            let group = Group::new(torus, &dimensions[start..end])?;
            let (startups, sent, groups) = &best[start];
            let (more, longest) = group.bounds(torus);
            Some((startups + more, *sent + longest, groups.iter().cloned().chain([group]).collect()))
        });
        let cheapest = with_last.min_by_key(|&(startups, sent, _)| (startups, sent));
        best.extend(cheapest);
    }
    best.pop().map(|(.., groups)| groups).unwrap_or_default()
}

/// Dimensions that are exchanged together, the longest first.
#[derive(Clone, Debug)]
struct Group {
    dimensions: Vec<usize>,
    /// The number of nodes of a cell along a dimension.
    cell: usize,
}

/// Turns, one for each dimension: in each turn every node uses one of them, and all are used.
#[derive(Clone, Copy, Debug)]
struct Turns {
    /// The number of nodes of a hop.
    unit: usize,
    /// The base of the digit; that of the cells depends on the dimension.
    base: Option<usize>,
    walk: Walk,
}

impl Group {
    /// Returns the group of these dimensions, or none if they cannot be exchanged together.
    fn new(torus: &Grid, dimensions: &[usize]) -> Option<Self> {
        let n = dimensions.len();
        let fits = dimensions.iter().all(|&dimension| torus.extents()[dimension].is_multiple_of(2 * n));
        let cell = if fits { 2 * n } else { 1 };
        (fits || n == 1).then(|| Self { dimensions: dimensions.to_vec(), cell })
    }

    /// Returns the number of dimensions.
    fn len(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns the number of cells along a dimension.
    fn circle(&self, extents: &[usize], dimension: usize) -> usize {
        extents[dimension] / self.cell
    }

    /// Returns the number of cells along the longest dimension.
    fn longest(&self, extents: &[usize]) -> usize {
        self.circle(extents, self.dimensions[0])
    }

    /// Returns the turns: to the cells in one direction and in the other, to the halves of cells, and
    /// to the places by the prime factors of the number of dimensions.
    fn turns(&self) -> Vec<Turns> {
        let to_cells = [Walk::Ahead, Walk::Back].map(|walk| Turns { unit: self.cell, base: None, walk });
        let mut turns = to_cells.to_vec();
        let within = |unit, base| Turns { unit, base: Some(base), walk: Walk::BothWays };
        if self.cell > 1 {
            let mut unit = self.len();
            turns.push(within(unit, 2));
            while let Some(prime) = (2..=unit).rev().find(|&prime| unit.is_multiple_of(prime) && is_prime(prime)) {
                unit /= prime;
                turns.push(within(unit, prime));
            }
        }
        turns
    }

    /// Returns the start-ups, and a bound of the blocks sent: all dimensions count as the longest.
    fn bounds(&self, torus: &Grid) -> (u64, Volume) {
        let (longest, nodes) = (self.longest(torus.extents()), torus.nodes() as u64);
        let each = self.turns().into_iter().map(|turns| {
            let base = turns.base.unwrap_or(longest);
            (turns.walk.rounds(base) as u64, turns.walk.transmission(base, nodes))
        });
        let n = self.len() as u64;
        let (startups, sent) = each.fold((0, Volume::ZERO), |sum, (rounds, sent)| (sum.0 + rounds, sum.1 + sent));
        (startups * n, sent * n)
    }

    /// Returns the digit of the node at a position in one of the turns.
    fn digit(&self, at: &[usize], extents: &[usize], Turns { unit, base, walk }: Turns, turn: usize) -> Digit {
        let n = self.len();
        let sum: usize = self.dimensions.iter().map(|&dimension| at[dimension]).sum();
        match base {
            Some(base) => {
                let dimension = self.dimensions[(sum % unit + turn) % n];
                Digit { dimension, unit, base, walk, way: Way::Line, up: true }
            }
            None => {
                // All nodes of a row without cells go up, then down.
                let class = if self.cell > 1 { sum % self.cell } else { 0 };
                let back = walk == Walk::Back;
                let direction = (class + turn + if back { n } else { 0 }) % (2 * n);
                let dimension = self.dimensions[direction % n];
                let base = self.circle(extents, dimension);
                Digit { dimension, unit, base, walk, way: Way::Ring, up: (direction < n) != back }
            }
        }
    }
}

fn is_prime(number: usize) -> bool {
    (2..number).all(|factor| !number.is_multiple_of(factor))
}

/// An exchange on a torus.
#[derive(Clone, Debug)]
struct Exchange {
    extents: Vec<usize>,
    groups: Vec<Group>,
    /// The turns in order, with the index of their group and the number of rounds of each turn.
    turns: Vec<(usize, Turns, usize)>,
}

impl Exchange {
    /// Puts the turns to the cells first, group by group, then those within cells, the longest hops
    /// first.
    fn new(extents: &[usize], groups: Vec<Group>) -> Self {
        let of_group = |(index, group): (usize, &Group)| {
            let longest = group.longest(extents);
            let rounds = move |turns: Turns| turns.walk.rounds(turns.base.unwrap_or(longest));
            group.turns().into_iter().map(move |turns| (index, turns, rounds(turns)))
        };
        let mut turns: Vec<_> = groups.iter().enumerate().flat_map(of_group).collect();
        turns.sort_by_key(|(_, turns, _)| turns.base.map(|_| Reverse(turns.unit)));
        Self { extents: extents.to_vec(), groups, turns }
    }

    /// Returns the turns with their groups.
    fn turns(&self) -> impl Iterator<Item = (&Group, Turns, usize)> {
        self.turns.iter().map(|&(group, turns, rounds)| (&self.groups[group], turns, rounds))
    }

    /// Returns the slots of the digits, and the names of the phases: those in which something is sent.
    fn slots(&self) -> (Vec<Slot>, Vec<String>) {
        let (mut slots, mut names) = (vec![], vec![]);
        for (group, turns, rounds) in self.turns() {
            let n = group.len();
            for _ in 0..n {
                let name = match (turns.base, turns.unit) {
                    (None, _) => format!("cells, turn {}", names.len() + 1),
                    (Some(_), 1) => "units".to_owned(),
                    (Some(_), unit) if unit == n => "halves of cells".to_owned(),
                    (Some(_), _) => "parts of cells".to_owned(),
                };
                if rounds > 0 && names.last() != Some(&name) {
                    names.push(name);
                }
                slots.push(Slot { phase: names.len().saturating_sub(1), rounds });
            }
        }
        (slots, names)
    }

    /// Counts the costs round by round.
    fn claims(&self) -> Claims {
        let nodes: u64 = self.extents.iter().map(|&extent| extent as u64).product();
        let (mut startups, mut hops, mut messages) = (0, 0, 0);
        let (mut transmission, mut volume) = (Volume::ZERO, Volume::ZERO);
        let (mut forwarded, mut ends) = (Volume::ZERO, Volume::ZERO);
        for (group, turns, rounds) in self.turns() {
            let n = group.len() as u64;
            let bases = group.dimensions.iter().map(|&at| turns.base.unwrap_or(group.circle(&self.extents, at)));
            for base in bases.clone() {
                messages += turns.walk.rounds(base) as u64;
                volume += turns.walk.volume(base, nodes);
            }
            // The last node of a line sends to the first. All messages of a line have one size.
            let longest = (turns.unit * turns.base.map_or(1, |base| base - 1)) as u64;
            let largest = |round| bases.clone().map(|base| turns.walk.largest(base, round, nodes)).max();
            let sent = (1..=rounds).filter_map(largest).sum::<Volume>() * n;
            transmission += sent;
            forwarded += sent * longest;
            ends += sent * longest.min(2);
            startups += n * rounds as u64;
            hops += n * rounds as u64 * longest;
        }
        Claims {
            startups: Some(startups),
            transmission: Some(transmission),
            hops: Some(hops),
            rearrangements: Some((self.slots().1.len() as u64).saturating_sub(1)),
            messages: Some(messages),
            volume: Some(volume),
            forwarded_transmission: Some(forwarded),
            end_transmission: Some(ends),
            contention_free: true,
            ..Claims::default()
        }
    }

    /// Returns the digits in order.
    fn digits(self) -> Digits<impl Fn(&[usize]) -> Vec<Digit> + Send + 'static> {
        let (slots, _) = self.slots();
        let extents = self.extents.clone();
        Digits::new(&extents, slots, move |at| self.order(at))
    }

    /// Returns the digits of the node at a position, in its order.
    fn order(&self, at: &[usize]) -> Vec<Digit> {
        let each = |(group, turns, _)| (0..Group::len(group)).map(move |turn| (group, turns, turn));
        self.turns().flat_map(each).map(|(group, turns, turn)| group.digit(at, &self.extents, turns, turn)).collect()
    }
}
