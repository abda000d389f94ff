//! Broadcasts along the rows of a product, the first dimension first: within each row, a block
//! spreads from the node with the root's coordinate.

use std::sync::Arc;

use super::spread::{Rounds, Spread};
use crate::algorithm::Claims;
use crate::algorithm::window_row::WindowRow;
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Problem, RankRound, Share};

/// The properties of a problem that these broadcasts need.
pub(super) const NEEDS: &str = "a product of windows, lines, rings and complete networks of at most 4096 nodes each, not complete, with rank i on node i";

/// The most nodes of a row.
const MOST: usize = 1 << 12;

/// Returns the unmet requirement, if there is one.
pub(super) fn lacks(problem: &Problem) -> Option<String> {
    let rows = WindowRow::of_product(problem, MOST);
    rows.is_none().then(|| format!("it needs {NEEDS}; this is {}", problem.topology().text()))
}

/// A broadcast along the rows of each dimension.
pub(super) struct AlongRows {
    rows: Vec<Dimension>,
}

struct Dimension {
    row: WindowRow,
    /// The difference in rank between neighbouring coordinates.
    stride: usize,
    /// The root's coordinate.
    root: usize,
    rounds: Arc<Rounds>,
}

impl Dimension {
    fn coordinate(&self, rank: usize) -> usize {
        rank / self.stride % self.row.extent
    }

    /// Returns the messages that each coordinate sends in a round.
    fn sends(&self, round: &[(usize, usize)]) -> Vec<u64> {
        let mut sends = vec![0; self.row.extent];
        round.iter().for_each(|&(from, _)| sends[from] += 1);
        sends
    }
}

impl AlongRows {
    /// Returns a broadcast by this rule, for a problem that [lacks](lacks) nothing.
    pub(super) fn of(problem: &Problem, rule: Spread) -> Self {
        let root = problem.collective().root().unwrap_or_default().index();
        let mut stride = problem.ranks();
        let dimension = |row: WindowRow| {
            stride /= row.extent;
            let root = root / stride % row.extent;
            Dimension { row, stride, root, rounds: rule.rounds(row, root) }
        };
        let rows = WindowRow::of_product(problem, MOST).unwrap_or_default().into_iter().map(dimension).collect();
        Self { rows }
    }

    pub(super) fn claims(&self) -> Claims {
        let (mut startups, mut sent, mut busiest, mut of_root) = (0, 0, 0, 0);
        // A rank that gets the block along a dimension sends along the later ones as the root does.
        for dimension in self.rows.iter().rev() {
            let mut all = vec![0; dimension.row.extent];
            for round in dimension.rounds.iter() {
                let sends = dimension.sends(round);
                sent += sends.iter().copied().max().unwrap_or_default();
                all.iter_mut().zip(sends).for_each(|(all, sends)| *all += sends);
            }
            startups += dimension.rounds.len() as u64;
            busiest = busiest.max(of_root + all.iter().copied().max().unwrap_or_default());
            of_root += all[dimension.root];
        }
        Claims {
            port_transmission: Some(Volume::from(sent)),
            received: Some(Volume::from(startups)),
            handled: Some(sent + startups),
            messages: Some(busiest),
            volume: Some(Volume::from(busiest)),
            ..Claims::of_single_blocks(startups, true)
        }
    }

    /// Returns the rounds of a rank.
    pub(super) fn share(self, problem: &Problem, rank: Rank) -> Share {
        let (root, me) = (problem.collective().root().unwrap_or_default(), rank.index());
        let mut rounds = Vec::with_capacity(self.rows.iter().map(|dimension| dimension.rounds.len()).sum());
        for dimension in &self.rows {
            // Until a dimension's turn, only nodes with the root's coordinate have the block.
            let takes_part = me % dimension.stride == root.index() % dimension.stride;
            let own = dimension.coordinate(me);
            let at = |coordinate: usize| Rank::new(me - own * dimension.stride + coordinate * dimension.stride);
            let end = |peer: usize| End::new(at(peer), vec![Block::from(root)]);
            rounds.extend(dimension.rounds.iter().map(|round| {
                let mine = round.iter().filter(|_| takes_part);
                let sends = mine.clone().filter(|(from, _)| *from == own).map(|&(_, to)| end(to)).collect();
                let receives = mine.filter(|(_, to)| *to == own).map(|&(from, _)| end(from)).collect();
                RankRound::new(sends, receives)
            }));
        }
        Box::new(rounds.into_iter())
    }
}
