//! Alltoall in windows, step by step: the blocks that have farthest to go take the longest
//! channels.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, 1999, section 5.5.2 and appendix A; one dimension after the other as
//! in section 6.5. Needs: rows that are windows, lines or complete networks, of at most 128 nodes,
//! with rank i on node i. Model: all-port.
//!
//! In the first round of a row, nodes within a window exchange their blocks. In each later one a
//! node takes, in either direction, as many blocks as there are channels, those for the farthest
//! nodes first. A block whose destination is in the window goes there, or as near to it as a free
//! channel leads; the others take the longest free channels.
//!
//! | term | a row of p nodes with window w, N ranks |
//! |---|---|
//! | startups | no formula: for p up to 48, 1 to 1.25 times fl(p^2/4) / (w (w + 1) / 2), the least, if w is at most 3, up to twice as many if it is 8 |
//! | blocks sent | N / p a round |
//!
//! Differs from the source: the appendix leaves out the last message of a node's list, and orders
//! messages for one destination at random; here they go in the order of their sources. The numbers
//! of rounds are the same: 5 for p = 10, w = 3 and for p = 11, w = 4. The formula of section 5.5.2,
//! 2 ceil((p - 1) / w), is impossible in general: half of the blocks cross the middle of a row.
//!
//! The algorithm is global: every process simulates the row, in time and memory in proportion to
//! p^3 / w, once for all its ranks. Apart from that, a rank takes time and memory in proportion to
//! the blocks it sends and receives.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::row_exchange::{NodeRound, RowExchange, Table, Unit, send};
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// The procedure of Wang's appendix, one dimension after the other.
#[derive(Clone, Copy, Debug)]
pub struct HowGreedy;

static ABOUT: About = About {
    collective: "alltoall",
    name: "how-greedy",
    summary: "within each row, the blocks with the farthest to go take the longest channels; rows are simulated globally",
    source: "Wang 1999, 5.5.2 and appendix A",
    needs: "a product of windows, lines and complete networks of at most 128 nodes each, with rank i on node i",
    claims: "no formula for the start-ups; on a row of up to 48 nodes with a window of at most 3, 1 to 1.25 times fl(p^2/4) / (w (w + 1) / 2); contention-free",
    ports: Ports::All,
};

/// The most nodes of a row.
const MOST: usize = 1 << 7;

impl Algorithm for HowGreedy {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        exchange(problem).is_none().then(|| format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        exchange(problem).unwrap_or_default().claims()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        exchange(problem).unwrap_or_default().phases()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        exchange(problem).unwrap_or_default().share(rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        exchange(problem).unwrap_or_default().amounts(rank)
    }
}

/// Returns the exchange. `None` if a dimension is of another kind or too long.
fn exchange(problem: &Problem) -> Option<RowExchange> {
    let table = |row: Factor| {
        let WindowRow { extent, window, wraps } = row.into();
        (!wraps && extent <= MOST).then(|| greedy(extent, window))
    };
    let tables = factors_in_order(problem)?.into_iter().map(table);
    Some(RowExchange::in_turn(tables.collect::<Option<Vec<_>>>()?))
}

/// The blocks at a node that go one way: the farthest destination first, then by source.
type Waiting = BTreeSet<(Reverse<usize>, usize)>;

/// Returns the exchange within a row.
fn greedy(extent: usize, window: usize) -> Arc<Table> {
    static MADE: Kept<(usize, usize), Arc<Table>> = Kept::new(8);
    MADE.get((extent, window), || Arc::new(simulated(extent, window)))
}

/// Simulates the exchange within a row.
fn simulated(extent: usize, window: usize) -> Table {
    // What waits at each node, on the way up and down.
    let mut waiting: Vec<[Waiting; 2]> = (0..extent).map(|_| Default::default()).collect();
    let mut table = Table { extent, chunks: 1, rounds: vec![] };
    let mut first = vec![NodeRound::default(); extent];
    for (from, to) in (0..extent).flat_map(|from| (0..extent).map(move |to| (from, to))) {
        match from.abs_diff(to) {
            0 => {}
            apart if apart <= window => send(&mut first, from, to, Unit { from, to, chunk: 0 }),
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
                    send(&mut round, node, at(jump), Unit { from: source, to: at(left), chunk: 0 });
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

/// Returns the blocks that leave a node one way, with their distances to go and their jumps, at
/// most one of each length. There are `room` nodes on that side.
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
        let rounds = |extent, window| greedy(extent, window).rounds.len();
        assert_eq!([rounds(10, 3), rounds(11, 4)], [5, 5]);
        assert_eq!([rounds(16, 3), rounds(20, 3), rounds(40, 3)], [13, 21, 77]);
        assert_eq!([rounds(2, 1), rounds(9, 8), rounds(128, 127)], [1, 1, 1]);
    }
}
