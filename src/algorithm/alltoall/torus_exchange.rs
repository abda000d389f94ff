//! Message-combining alltoall on a torus.
//!
//! Source: Suh & Shin, IEEE TPDS 2001, §3.1 (two dimensions), §3.2 (n dimensions). Differs from the paper: the order of
//! blocks within a message, which is chosen so that what goes on together lies together; the dimensions are taken from
//! the longest to the shortest, of equals the last first (the paper numbers them so). Needs: a torus of two dimensions
//! and more, all extents multiples of four, a rank on every node. Model: one-port, cut-through.
//!
//! With n dimensions, N nodes and N1 the longest extent:
//!
//! | term | per rank | paper |
//! |---|---|---|
//! | startups | n (N1/4 + 1) | §3.1.4, Table 1 |
//! | blocks sent | n/8 (N1 + 4) N | §3.1.4, Table 1 |
//! | hops | n (N1 - 1) | §3.1.4, Table 1 |
//! | blocks forwarded, stored at every node | n/2 (N1 - 1) N | |
//! | rearrangements | n + 1 (1 if N1 = 4: the first n phases are empty) | §3.1.4, Table 1 |
//!
//! Contention-free. A rank's own time and memory are in proportion to the blocks that it sends, as in the table. Lower
//! bounds: N - 1 blocks with one port, N N1/8 by the bisection.
//!
//! # Idea
//!
//! Write each coordinate as cell · 4 + half · 2 + unit. A block goes to its destination digit by digit: first the cells,
//! a dimension a phase, in hops of four, round rings that the nodes of equal `x mod 4` form; then the halves, in hops of
//! two within a cell of four; then the units, between neighbours. Whoever holds blocks that have the same digit still
//! to correct sends them together.
//!
//! ```text
//! 12 x 12, node (0,0), class 0:   o---o---o---o---o---o---o---o---o---o---o---o
//! phase 1, +c, two rounds         0 ------------> 4 ------------> 8                  4 hops a round
//! phase 2, +r, two rounds         the same down the column
//! phase 3                         0 ----> 2 along c, then along r                    2 hops
//! phase 4                         0 > 1 along c, then along r                        1 hop
//! ```
//!
//! In a row all four residues mod 4 want the ring at once, and a ring has room for one up and one down. So the class of
//! a node, the sum of its coordinates mod 4, decides: two classes take the row, one up and one down, while the other two
//! take the column; in the next phase they change places.
//!
//! # Why it is correct
//!
//! 1. Nodes that exchange in a phase walk through the digits in the same order: those of one ring have equal residues,
//!    so the same class; a hop of two changes the class by two, which changes directions but not dimensions; units are
//!    walked through by all alike. Hence what a node holds is a product: a digit already walked through is the node's
//!    own in the destination and anything in the source; one still to come is the node's own in the source and anything
//!    in the destination.
//! 2. Every send takes, of that product, the blocks whose destination differs in the digit at hand; after the last digit
//!    there is none left.
//! 3. No channel carries two transfers in a round: on one ring, in one direction, only nodes of one residue send, and
//!    hops of four between nodes four apart meet end to end. Within cells the halves and units of a pair have the
//!    channels between them to themselves.
//!
//! # Notation
//!
//! The paper's step is our round, its submesh SM our cell, its group the nodes of equal residues.

use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::{Node, Rank};
use crate::schedule::{Block, End, Placement, Ports, Problem, RankRound, Share, Volume};
use crate::topology::{Coordinates, Grid};

/// Suh & Shin's exchange.
#[derive(Clone, Copy, Debug)]
pub struct TorusExchange;

static ABOUT: About = About {
    collective: "alltoall",
    name: "torus-exchange",
    summary: "message combining: cell by cell, then half by half, then neighbour to neighbour",
    source: "Suh & Shin 2001, 3.1 and 3.2",
    needs: "a torus of at least two dimensions, all extents multiples of 4, a rank on every node",
    claims: "n (N1/4 + 1) start-ups, n/8 (N1 + 4) N blocks, n (N1 - 1) hops, n + 1 rearrangements, for n dimensions, the longest N1; contention-free",
    ports: Ports::One,
};

impl Algorithm for TorusExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
        if ranks != nodes {
            return Some(format!("it needs a rank on every node, there are {ranks} on {nodes} nodes"));
        }
        let Some(grid) = problem.topology().as_grid().filter(|grid| grid.wraps()) else {
            return Some("it needs a torus".to_owned());
        };
        if grid.extents().len() < 2 {
            return Some("it needs a torus of at least two dimensions, this has one".to_owned());
        }
        let odd = grid.extents().iter().find(|&extent| extent % 4 != 0)?;
        Some(format!("it needs all extents to be multiples of 4, one is {odd}"))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Some(grid) = problem.topology().as_grid() else { return Claims::default() };
        let extents = || grid.extents().iter().map(|&extent| extent as u64);
        let (n, nodes, longest) = (extents().count() as u64, extents().product::<u64>(), longest(grid) as u64);
        Claims {
            startups: Some(n * (longest / 4 + 1)),
            transmission: Some(Volume::new(n * (longest + 4) * nodes, 8)),
            hops: Some(n * (longest - 1)),
            rearrangements: Some(if longest > 4 { n + 1 } else { 1 }),
            messages: Some(extents().map(|extent| extent / 4 + 1).sum()),
            volume: Some(extents().map(|extent| Volume::new((extent + 4) * nodes, 8)).sum()),
            // A hop counts each block once: 4 for cells, 2 for halves, 1 for units.
            forwarded_transmission: Some(Volume::ratio(u128::from(n) * u128::from(longest - 1) * u128::from(nodes), 2)),
            contention_free: true,
            ..Claims::default()
        }
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        let n = problem.topology().as_grid().map_or(0, |grid| grid.extents().len());
        let cells = (1..=n).map(|f| format!("cells, dimension {f} of {n}"));
        cells.chain(["halves of cells".to_owned(), "units".to_owned()]).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let placement = problem.placement().clone();
        let Some(grid) = problem.topology().as_grid().cloned() else { return Box::new(std::iter::empty()) };
        let node = placement.node(rank);
        let n = grid.extents().len();
        let coarse = (0..n).flat_map({
            let rounds = longest(&grid) / 4;
            move |digit| (1..rounds).map(move |round| Step { phase: digit, digit, round })
        });
        let fine = (n..3 * n).map(move |digit| Step { phase: n + usize::from(digit >= 2 * n), digit, round: 1 });
        Box::new(coarse.chain(fine).map(move |step| {
            let me = Walker::new(&grid, node);
            let sends = me.sending(step).map(|sent| sent.end(&placement, sent.to)).into_iter().collect();
            let from = me.predecessor(step.digit);
            let sent = Walker::new(&grid, from).sending(step);
            let receives = sent.map(|sent| sent.end(&placement, from)).into_iter().collect();
            RankRound { phase: step.phase, sends, receives, ..RankRound::default() }
        }))
    }
}

fn longest(grid: &Grid) -> usize {
    grid.extents().iter().copied().max().unwrap_or(1)
}

/// A round: the how-manieth of those that correct one digit (only cells take several).
#[derive(Clone, Copy, Debug)]
struct Step {
    phase: usize,
    /// The digit's place in the order in which nodes walk through them: n cells, n halves, n units.
    digit: usize,
    round: usize,
}

/// A digit of a coordinate: worth `unit` per step, of `base` values.
#[derive(Clone, Copy, Debug)]
struct Digit {
    dimension: usize,
    unit: usize,
    base: usize,
    /// Which way a node goes to correct it.
    up: bool,
}

/// A node, and the order in which it corrects digits.
#[derive(Debug)]
struct Walker<'g> {
    grid: &'g Grid,
    at: Coordinates,
    digits: Vec<Digit>,
}

/// What a node sends in a round: for all choices of a pair from each loop, the block from the sum of the firsts to the
/// sum of the seconds.
#[derive(Debug)]
struct Sent {
    to: Node,
    route: Vec<Node>,
    loops: Vec<Vec<(usize, usize)>>,
}

impl<'g> Walker<'g> {
    fn new(grid: &'g Grid, node: Node) -> Self {
        let at = grid.coordinates(node);
        let order = by_extent(grid);
        let pattern = pattern(&at, &order);
        let cells = pattern.iter().map(|&(dimension, up)| {
            let base = grid.extents()[dimension] / 4;
            Digit { dimension, unit: 4, base, up }
        });
        let fine =
            |dimension: usize, unit| Digit { dimension, unit, base: 2, up: (at[dimension] / unit).is_multiple_of(2) };
        let halves = pattern.iter().map(|&(dimension, _)| fine(dimension, 2));
        let units = order.iter().map(|&dimension| fine(dimension, 1));
        let digits = cells.chain(halves).chain(units).collect();
        Self { grid, at, digits }
    }

    fn value(&self, digit: Digit) -> usize {
        self.at[digit.dimension] / digit.unit % digit.base
    }

    /// The value `steps` further on the way that the node goes, for the digit.
    fn ahead(&self, digit: Digit, steps: usize) -> usize {
        let steps = if digit.up { steps } else { digit.base - steps % digit.base };
        (self.value(digit) + steps) % digit.base
    }

    /// How much a digit of that value adds to the number of a node.
    fn worth(&self, digit: Digit, value: usize) -> usize {
        let stride: usize = self.grid.extents()[digit.dimension + 1..].iter().product();
        value * digit.unit * stride
    }

    /// Invariants 1 and 2: the blocks whose destination differs in the digit at hand. The digit at hand is the outermost
    /// loop, then come those still to be corrected, in their order, so that what the next round passes on is the rear of
    /// what this one brings.
    fn sending(&self, step: Step) -> Option<Sent> {
        let hand = *self.digits.get(step.digit)?;
        if step.round >= hand.base {
            return None;
        }
        let source = self.worth(hand, self.ahead(hand, (hand.base - (step.round - 1)) % hand.base));
        let beyond = (1..=hand.base - step.round).map(|ahead| (source, self.worth(hand, self.ahead(hand, ahead))));
        let mut loops = vec![beyond.collect::<Vec<_>>()];
        loops.extend(self.digits[step.digit + 1..].iter().map(|&digit| {
            let own = self.worth(digit, self.value(digit));
            (0..digit.base).map(|ahead| (own, self.worth(digit, self.ahead(digit, ahead)))).collect()
        }));
        loops.extend(self.digits[..step.digit].iter().map(|&digit| {
            let own = self.worth(digit, self.value(digit));
            (0..digit.base).map(|value| (self.worth(digit, value), own)).collect()
        }));
        let route = self.grid.walk(self.grid.node(&self.at), hand.dimension, hand.up, hand.unit);
        Some(Sent { to: route.last().copied()?, route, loops })
    }

    /// Who sends to this node when it corrects that digit. On a ring of cells the one behind, else the other of the pair.
    fn predecessor(&self, digit: usize) -> Node {
        let Digit { dimension, unit, up, .. } = self.digits[digit];
        let back = if unit == 4 { !up } else { up };
        let way = self.grid.walk(self.grid.node(&self.at), dimension, back, unit);
        way.last().copied().unwrap_or_default()
    }
}

impl Sent {
    fn end(&self, placement: &Placement, peer: Node) -> End {
        let mut pairs = vec![(0, 0)];
        for choices in &self.loops {
            pairs = pairs.iter().flat_map(|&(s, d)| choices.iter().map(move |&(t, e)| (s + t, d + e))).collect();
        }
        let rank = |node| placement.rank(node).unwrap_or_default();
        let block = |(source, destination)| Block::new(rank(Node::new(source)), rank(Node::new(destination)));
        End::new(rank(peer), pairs.into_iter().map(block).collect()).via(self.route.clone())
    }
}

/// The dimensions, the longest first, of equals the last first.
fn by_extent(grid: &Grid) -> Vec<usize> {
    let mut order: Vec<usize> = (0..grid.extents().len()).rev().collect();
    order.sort_by_key(|&dimension| std::cmp::Reverse(grid.extents()[dimension]));
    order
}

/// The dimension and the direction that a node takes in each of the first n phases (§3.2.2; the order of the 3-D text's
/// sentences where its equations differ).
fn pattern(at: &[usize], order: &[usize]) -> Vec<(usize, bool)> {
    match *order {
        [c, r] => {
            let class = (at[c] + at[r]) % 4;
            let (first, second) = if class.is_multiple_of(2) { (c, r) } else { (r, c) };
            vec![(first, class < 2), (second, class < 2)]
        }
        [ref inner @ .., z] if order.len() > 2 => {
            let mut phases = pattern(at, inner);
            // Even planes leave the last dimension to the end, odd planes begin with it.
            match at[z] % 4 {
                even @ (0 | 2) => phases.push((z, even == 0)),
                odd => phases.insert(0, (z, odd == 1)),
            }
            phases
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directions(extents: &[usize], at: &[usize]) -> Vec<(usize, bool)> {
        pattern(at, &by_extent(&Grid::torus(extents).unwrap()))
    }

    #[test]
    fn classes_take_the_directions_of_section_3_1_2() {
        // Dimension 0 is the paper's r, dimension 1 its c.
        let (r, c) = (0, 1);
        assert_eq!(directions(&[12, 12], &[0, 0]), [(c, true), (r, true)]);
        assert_eq!(directions(&[12, 12], &[0, 1]), [(r, true), (c, true)]);
        assert_eq!(directions(&[12, 12], &[1, 1]), [(c, false), (r, false)]);
        assert_eq!(directions(&[12, 12], &[2, 1]), [(r, false), (c, false)]);
        assert_eq!(directions(&[8, 12], &[7, 9]), [(c, true), (r, true)]);
    }

    #[test]
    fn planes_take_turns_as_in_section_3_2_1() {
        let (x, y, z) = (0, 1, 2);
        assert_eq!(directions(&[12, 8, 4], &[0, 0, 0]), [(x, true), (y, true), (z, true)]);
        assert_eq!(directions(&[12, 8, 4], &[1, 0, 1]), [(z, true), (y, true), (x, true)]);
        assert_eq!(directions(&[12, 8, 4], &[1, 1, 2]), [(x, false), (y, false), (z, false)]);
        assert_eq!(directions(&[12, 8, 4], &[2, 1, 3]), [(z, false), (y, false), (x, false)]);
    }
}
