//! Alltoall in windows, step by step: the blocks that have farthest to go take the longest channels.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, 1999, section 5.5.2 and appendix A; one dimension after the other as in
//! section 6.5. Needs: rows that are windows, lines or complete networks, of at most 128 nodes, with
//! rank i on node i. Model: all-port.
//!
//! In the first round of a row, nodes within a window exchange their blocks. In each later one a node
//! takes, in either direction, as many blocks as there are channels, those for the farthest nodes
//! first. A block whose destination is in the window goes there, or as near to it as a free channel
//! leads; the others take the longest free channels.
//!
//! | term | a row of p nodes with window w, N ranks |
//! |---|---|
//! | startups | no formula: for p up to 48, 1 to 1.25 times fl(p^2/4) / (w (w + 1) / 2), the least, if w is at most 3, up to twice as many if it is 8 |
//! | blocks sent | N / p a round |
//!
//! Differs from the source: the appendix leaves out the last message of a node's list, and orders
//! messages for one destination at random; here they go in the order of their sources. The numbers of
//! rounds are the same: 5 for p = 10, w = 3 and for p = 11, w = 4. The formula of section 5.5.2,
//! 2 ceil((p - 1) / w), is impossible in general: half of the blocks cross the middle of a row.
//!
//! The algorithm is global: every process simulates the row, in time and memory in proportion to
//! p^3 / w, once for all its ranks. Apart from that, a rank takes time and memory in proportion to the
//! blocks it sends and receives.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

/// The procedure of Wang's appendix, one dimension after the other.
#[derive(Clone, Copy, Debug)]
pub struct HowGreedy;

static ABOUT: About = About {
    collective: "alltoall",
    name: "how-greedy",
    summary: "within each row, the blocks with the farthest to go take the longest channels; rows are simulated globally",
    source: "Wang 1999, 5.5.2 and appendix A",
    needs: "a product of windows, lines and complete networks of at most 128 nodes each, with rank i on node i",
    claims: "1 to 2 times fl(p^2/4) / (w (w + 1) / 2) start-ups for a row of p nodes with window w; contention-free",
    ports: Ports::All,
};

/// The most nodes of a row.
const MOST: usize = 1 << 7;

impl Algorithm for HowGreedy {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        rows(problem).is_none().then(|| format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rows = rows(problem).unwrap_or_default();
        let sum = |of: &dyn Fn(&Table) -> u64| rows.iter().map(|row| of(&row.table)).sum::<u64>();
        let sized = |of: &dyn Fn(&Table) -> u64| rows.iter().map(|row| of(&row.table) * row.unit as u64).sum::<u64>();
        let startups = sum(&|table| table.rounds.len() as u64);
        let most = |moves: &dyn Fn(&NodeRound) -> usize, round: &[NodeRound]| {
            round.iter().map(moves).max().unwrap_or_default() as u64
        };
        let (sends, receives) = (|node: &NodeRound| node.sends.len(), |node: &NodeRound| node.receives.len());
        let handled =
            |table: &Table| table.rounds.iter().map(|round| most(&sends, round) + most(&receives, round)).sum();
        let port =
            |table: &Table| table.rounds.iter().map(|round| most(&sends, round).max(most(&receives, round))).sum();
        let received = |table: &Table| table.rounds.iter().map(|round| most(&receives, round)).sum();
        let busiest = |table: &Table| {
            let sent = |node: usize| table.rounds.iter().map(|round| round[node].sends.len() as u64).sum();
            (0..table.extent).map(sent).max().unwrap_or_default()
        };
        Claims {
            startups: Some(startups),
            transmission: Some(sized(&|table| table.rounds.len() as u64).into()),
            port_transmission: Some(sized(&port).into()),
            received: Some(sized(&received).into()),
            hops: Some(startups),
            rearrangements: Some((rows.len() as u64).saturating_sub(1)),
            handled: Some(sum(&handled)),
            messages: Some(sum(&busiest)),
            volume: Some(sized(&busiest).into()),
            contention_free: true,
            ..Claims::default()
        }
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        let rows = rows(problem).unwrap_or_default();
        rows.iter().map(|row| format!("within dimension {}", row.dimension)).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (rows, ranks) = (rows(problem).unwrap_or_default(), problem.ranks());
        Box::new(rows.into_iter().enumerate().flat_map(move |(phase, row)| {
            (0..row.table.rounds.len()).map(move |number| {
                let node = &row.table.rounds[number][row.coordinate(rank)];
                let end = |step: &Step| End::new(row.at(rank, step.peer), row.blocks(rank, ranks, step.unit));
                let (sends, receives) = (node.sends.iter().map(end).collect(), node.receives.iter().map(end).collect());
                RankRound::new(sends, receives).in_phase(phase)
            })
        }))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let rows = rows(problem).unwrap_or_default();
        Box::new(rows.into_iter().enumerate().flat_map(move |(phase, row)| {
            (0..row.table.rounds.len()).map(move |number| {
                let node = &row.table.rounds[number][row.coordinate(rank)];
                let sent = |step: &Step| Amount::new(row.at(rank, step.peer), Volume::from(row.unit as u64));
                let sends = node.sends.iter().map(sent).collect();
                RankAmounts { phase, ..RankAmounts::new(sends, node.receives.len()) }
            })
        }))
    }
}

/// A dimension and the exchange within its rows.
#[derive(Clone)]
struct Row {
    dimension: usize,
    /// The difference in rank between neighbouring coordinates.
    stride: usize,
    /// The number of blocks that go from one node of a row to another.
    unit: usize,
    table: Arc<Table>,
}

/// Returns the dimensions of more than one node, the last first. `None` if one is of another kind or too
/// long.
fn rows(problem: &Problem) -> Option<Vec<Row>> {
    let factors = factors_in_order(problem)?;
    let window = |row: &Factor| match *row {
        _ if row.is_complete() => Some(row.extent() - 1),
        Factor::Line(_) => Some(1),
        Factor::Windows { window, wraps: false, .. } => Some(window),
        _ => None,
    };
    if factors.iter().any(|row| row.extent() > MOST || window(row).is_none()) {
        return None;
    }
    let mut stride = 1;
    let rows = factors.iter().enumerate().rev().map(|(dimension, row)| {
        let made = Row {
            dimension,
            stride,
            unit: problem.ranks() / row.extent(),
            table: Table::of(row.extent(), window(row)?),
        };
        stride *= row.extent();
        Some(made)
    });
    rows.collect()
}

impl Row {
    fn coordinate(&self, rank: Rank) -> usize {
        rank.index() / self.stride % self.table.extent
    }

    /// Returns the rank at a coordinate of a rank's row.
    fn at(&self, rank: Rank, coordinate: usize) -> Rank {
        Rank::new(rank.index() - self.coordinate(rank) * self.stride + coordinate * self.stride)
    }

    /// Returns the blocks that go from one node of a rank's row to another. Their sources have the
    /// row's coordinates in the earlier dimensions, and their destinations in the later ones, which
    /// the phases before have corrected.
    fn blocks(&self, rank: Rank, ranks: usize, (from, to): (usize, usize)) -> Vec<Block> {
        let (stride, width) = (self.stride, self.stride * self.table.extent);
        let (before, after) = (rank.index() / width * width, rank.index() % stride);
        let sources = (0..stride).map(move |later| Rank::new(before + from * stride + later));
        let destinations =
            move || (0..ranks / width).map(move |earlier| Rank::new(earlier * width + to * stride + after));
        sources.flat_map(|source| destinations().map(move |destination| Block::new(source, destination))).collect()
    }
}

/// The exchange within a row.
struct Table {
    extent: usize,
    /// For each round, what each node does.
    rounds: Vec<Vec<NodeRound>>,
}

#[derive(Clone, Default)]
struct NodeRound {
    sends: Vec<Step>,
    receives: Vec<Step>,
}

/// A message from or to a node of the row.
#[derive(Clone, Copy)]
struct Step {
    peer: usize,
    /// The source and the destination of the blocks.
    unit: (usize, usize),
}

/// The blocks at a node that go one way: the farthest destination first, then by source.
type Waiting = BTreeSet<(Reverse<usize>, usize)>;

impl Table {
    fn of(extent: usize, window: usize) -> Arc<Self> {
        static MADE: Kept<(usize, usize), Arc<Table>> = Kept::new(8);
        MADE.get((extent, window), || Arc::new(Self::made(extent, window)))
    }

    fn made(extent: usize, window: usize) -> Self {
        // What waits at each node, on the way up and down.
        let mut waiting: Vec<[Waiting; 2]> = (0..extent).map(|_| Default::default()).collect();
        let mut table = Self { extent, rounds: vec![] };
        let mut first = vec![NodeRound::default(); extent];
        for (from, to) in (0..extent).flat_map(|from| (0..extent).map(move |to| (from, to))) {
            match from.abs_diff(to) {
                0 => {}
                apart if apart <= window => send(&mut first, from, to, (from, to)),
                apart => drop(waiting[from][usize::from(to < from)].insert((Reverse(apart), from))),
            }
        }
        table.rounds.push(first);
        while waiting.iter().flatten().any(|waiting| !waiting.is_empty()) {
            let mut round = vec![NodeRound::default(); extent];
            let mut arriving = vec![];
            for node in 0..extent {
                for down in [false, true] {
                    let room = if down { node } else { extent - 1 - node };
                    let waiting = &mut waiting[node][usize::from(down)];
                    for ((left, source), jump) in moves(waiting, window, room) {
                        waiting.remove(&(Reverse(left), source));
                        let at = |distance: usize| if down { node - distance } else { node + distance };
                        send(&mut round, node, at(jump), (source, at(left)));
                        if jump < left {
                            arriving.push((at(jump), down, (Reverse(left - jump), source)));
                        }
                    }
                }
            }
            arriving.into_iter().for_each(|(node, down, block)| {
                waiting[node][usize::from(down)].insert(block);
            });
            table.rounds.push(round);
        }
        table
    }
}

/// Adds a message to a round.
fn send(round: &mut [NodeRound], from: usize, to: usize, unit: (usize, usize)) {
    round[from].sends.push(Step { peer: to, unit });
    round[to].receives.push(Step { peer: from, unit });
}

/// Returns the blocks that leave a node one way, with their distances to go and their jumps, at most one
/// of each length. There are `room` nodes on that side.
fn moves(waiting: &Waiting, window: usize, room: usize) -> Vec<((usize, usize), usize)> {
    let taken: Vec<(usize, usize)> =
        waiting.iter().take(window).map(|&(Reverse(left), source)| (left, source)).collect();
    let mut free = vec![true; window + 1];
    let mut moves = vec![];
    // The k-th block tries no channel that is longer than those of the k blocks before it.
    let near = taken.iter().enumerate().filter(|(_, (left, _))| *left <= window);
    for (place, &block) in near {
        let free_below = (1..=(window - place).min(block.0)).rev().find(|&jump| free[jump]);
        if let Some(jump) = Some(block.0).filter(|&left| free[left]).or(free_below) {
            free[jump] = false;
            moves.push((block, jump));
        }
    }
    let far = taken.iter().enumerate().filter(|(_, (left, _))| *left > window);
    for (place, &block) in far {
        if let Some(jump) = (1..=window - place).rev().find(|&jump| free[jump]).filter(|&jump| jump <= room) {
            free[jump] = false;
            moves.push((block, jump));
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A, errata 5.13 and 5.16.
    #[test]
    fn rounds_are_those_of_the_appendix() {
        let rounds = |extent, window| Table::of(extent, window).rounds.len();
        assert_eq!([rounds(10, 3), rounds(11, 4)], [5, 5]);
        assert_eq!([rounds(16, 3), rounds(20, 3), rounds(40, 3)], [13, 21, 77]);
        assert_eq!([rounds(2, 1), rounds(9, 8), rounds(128, 127)], [1, 1, 1]);
    }
}
