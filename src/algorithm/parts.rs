//! A block that is cut into a part for each rank, and moved along the rows of a product of lines,
//! rings and complete networks, one dimension after the other.
//!
//! Parts are numbered by the digits of their ranks, with those of the last dimension first. So the
//! parts for one place of a row are consecutive: those whose ranks agree with the row in the
//! dimensions before, and are at that place.

use std::ops::Range;

use super::counts::Most;
use super::halving::{Handover, along, handed_along};
use super::rows::{RingAxis, rows};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Claims, Combine, End, Problem, RankRound};

/// The parts of a block.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    block: Block,
    rows: Vec<RingAxis>,
    ranks: usize,
}

/// The costs of a tree along the rows: rounds, hops, parts handed over, and the most handovers by
/// one rank.
#[derive(Default)]
struct Tree {
    rounds: u64,
    hops: u64,
    handed: u64,
    /// The most parts that a rank other than the root hands over to its parent, in a gather.
    most_handed: u64,
    /// The largest products of parts and channels, and with the first and the last channel alone.
    forwarded: u64,
    forwarded_at_ends: u64,
    sends: u64,
}

impl Parts {
    pub(super) fn of(problem: &Problem, block: Block) -> Self {
        Self { block, rows: rows(problem), ranks: problem.ranks() }
    }

    pub(super) fn rows(&self) -> &[RingAxis] {
        &self.rows
    }

    /// Returns the number of parts for one place of a row.
    fn each(&self, row: RingAxis) -> usize {
        self.ranks / row.width()
    }

    /// Returns the numbers of the parts for the coordinates of a rank's row.
    fn numbers(&self, k: usize, rank: Rank, coordinates: &Range<usize>) -> Range<usize> {
        let digit = |row: &RingAxis| rank.index() / row.stride % row.extent() * self.each(*row);
        let each = self.rows.get(k).map_or(1, |row| self.each(*row));
        let begin = self.rows.iter().take(k).map(digit).sum::<usize>();
        begin + coordinates.start * each..begin + coordinates.end * each
    }

    /// Returns the parts of these numbers.
    fn parts(&self, numbers: &Range<usize>) -> Option<Block> {
        self.block.chunks(numbers.start as u32, self.ranks as u32, numbers.len() as u32)
    }

    /// Returns the rounds in which each rank gets the combination of its own part, around rings.
    pub(super) fn reduce_scatter(&self, rank: Rank) -> Vec<RankRound> {
        let along = |(k, &row): (usize, &RingAxis)| {
            let (next, previous, place) = self.neighbours(row, rank);
            let end = |sender: Rank, receiver: Rank, peer: Rank, of: usize| {
                let combine = Combine::in_rank_order(sender, receiver);
                let coordinate = row.coordinate(of);
                let parts = self.parts(&self.numbers(k, rank, &(coordinate..coordinate + 1)));
                vec![End::new(peer, parts.into_iter().collect()).combined(combine)]
            };
            let round = |i: usize| {
                let (sent, received) = (place + row.extent() - i, place + 2 * row.extent() - 1 - i);
                RankRound::new(end(rank, next, next, sent), end(previous, rank, previous, received))
            };
            (1..row.extent()).map(round).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(along).collect()
    }

    /// Returns the rounds in which all ranks get all parts, around rings. A rank begins with its
    /// own.
    pub(super) fn allgather(&self, rank: Rank) -> Vec<RankRound> {
        self.allgather_besides(rank, |_| 0..0)
    }

    /// Returns the rounds in which all ranks get all parts after a [scatter](Self::scatter). Ranks
    /// have had parts for others, which are not sent to them again.
    pub(super) fn allgather_after(&self, rank: Rank, root: Rank) -> Vec<RankRound> {
        self.allgather_besides(rank, |rank| {
            let steps = self.tree(rank, root).into_iter().flatten();
            let got = steps.filter(|(step, _)| step.to == rank).map(|(_, numbers)| numbers).next();
            if rank == root { 0..self.ranks } else { got.unwrap_or(0..0) }
        })
    }

    fn allgather_besides(&self, rank: Rank, had: impl Fn(Rank) -> Range<usize>) -> Vec<RankRound> {
        let of_rank = had(rank);
        let along = |(k, &row): (usize, &RingAxis)| {
            let (next, previous, place) = self.neighbours(row, rank);
            let of_next = had(next);
            let end = |peer: Rank, of: usize, had: &Range<usize>| {
                let coordinate = row.coordinate(of);
                let all = self.numbers(k, rank, &(coordinate..coordinate + 1));
                let before = all.start..all.end.min(had.start.max(all.start));
                let behind = all.start.max(had.end.min(all.end))..all.end;
                // Nothing was had: all is behind.
                let before = if had.is_empty() { 0..0 } else { before };
                let behind = if had.is_empty() { all } else { behind };
                let parts: Vec<_> = [before, behind].iter().filter_map(|numbers| self.parts(numbers)).collect();
                if parts.is_empty() { vec![] } else { vec![End::new(peer, parts)] }
            };
            let round = |i: usize| {
                let (sent, received) = (place + row.extent() + 1 - i, place + row.extent() - i);
                RankRound::new(end(next, sent, &of_next), end(previous, received, &of_rank))
            };
            (1..row.extent()).map(round).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().rev().flat_map(along).collect()
    }

    fn neighbours(&self, row: RingAxis, rank: Rank) -> (Rank, Rank, usize) {
        let place = row.place(rank.index());
        (row.at(rank.index(), place + 1), row.at(rank.index(), place + row.extent() - 1), place)
    }

    /// Returns the rounds in which each rank gets its own part from the root, along trees.
    pub(super) fn scatter(&self, rank: Rank, root: Rank) -> Vec<RankRound> {
        let round = |step: Option<(Handover, Range<usize>)>| {
            let Some((Handover { from, to, .. }, numbers)) = step else { return RankRound::default() };
            let end = |peer| vec![End::new(peer, self.parts(&numbers).into_iter().collect())];
            if rank == from { RankRound::new(end(to), vec![]) } else { RankRound::new(vec![], end(from)) }
        };
        self.tree(rank, root).into_iter().map(round).collect()
    }

    /// Returns the rounds in which the root gets the part of each rank, along trees.
    pub(super) fn gather(&self, rank: Rank, root: Rank) -> Vec<RankRound> {
        let round = |step: Option<(Handover, Range<usize>)>| {
            let Some((Handover { from, to, .. }, numbers)) = step else { return RankRound::default() };
            let end = |peer| vec![End::new(peer, self.parts(&numbers).into_iter().collect())];
            if rank == to { RankRound::new(end(from), vec![]) } else { RankRound::new(vec![], end(to)) }
        };
        self.tree(rank, root).into_iter().rev().map(round).collect()
    }

    /// Returns for each round from the root to the leaves the handover that a rank takes part in,
    /// with the numbers of its parts.
    fn tree(&self, rank: Rank, root: Rank) -> Vec<Option<(Handover, Range<usize>)>> {
        let along = |(k, row): (usize, &RingAxis)| {
            // Until a dimension's turn, only ranks with the root's coordinate have anything.
            let takes_part = rank.index() / row.width() == root.index() / row.width();
            let coordinate = |rank: usize| rank / row.stride % row.extent();
            let step = |step: Option<Handover>| {
                let step = step.filter(|_| takes_part)?;
                let (begin, last) = (coordinate(step.below.start), coordinate(step.below.end - 1));
                let numbers = self.numbers(k, rank, &(begin..last + 1));
                Some((step, numbers))
            };
            let steps = along(row.extent(), row.stride, coordinate(root.index()), rank);
            steps.map(step).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(along).collect()
    }

    /// Returns the claims of passages through all rings.
    pub(super) fn ring_claims(&self, times: u64) -> Claims {
        super::rows::claims(&self.rows, times, |row| self.volume(self.each(row) as u64))
    }

    /// Returns what a rank combines in a passage through all rings: all parts but its own, once.
    pub(super) fn combined(&self) -> Volume {
        self.volume(self.ranks as u64 - 1)
    }

    fn volume(&self, parts: u64) -> Volume {
        Volume::new(parts, self.ranks as u64)
    }

    /// Returns the claims of a passage through all rings before a gather to a root.
    pub(super) fn claims_with_gather(&self, root: Rank) -> Claims {
        let Some(tree) = self.costs(root) else { return self.uncounted() };
        let sends = tree.rounds.min(1);
        self.with_tree(&tree, sends, self.volume(tree.most_handed))
    }

    /// Returns the claims of a passage through all rings after a scatter from a root.
    pub(super) fn claims_with_scatter(&self, root: Rank) -> Claims {
        let Some(tree) = self.costs(root) else { return self.uncounted() };
        let all = self.with_tree(&tree, tree.sends, self.volume(self.ranks as u64 - 1));
        // In pairs, neither rank has had what it gets from the other.
        let pairs = self.rows.iter().all(|row| row.extent() == 2);
        let near = self.rows.iter().all(|row| row.longest() == 1);
        // Around a line of 3, no message that goes two hops may be left.
        let short = !near && self.rows.last().is_some_and(|row| row.extent() == 3);
        Claims {
            messages: all.messages.filter(|_| pairs),
            volume: all.volume.filter(|_| pairs),
            hops: all.hops.filter(|_| !short),
            // Of long messages over two channels, some may be left that are shorter.
            forwarded_transmission: all.forwarded_transmission.filter(|_| near),
            end_transmission: all.end_transmission.filter(|_| near),
            ..all
        }
    }

    fn uncounted(&self) -> Claims {
        Claims { rearrangements: Some(0), contention_free: true, ..Claims::default() }
    }

    fn with_tree(&self, tree: &Tree, sends: u64, sent: Volume) -> Claims {
        let rings = self.ring_claims(1);
        let plus = |claimed: Option<u64>, more: u64| claimed.map(|claimed| claimed + more);
        let more = |claimed: Option<Volume>, parts: u64| claimed.map(|claimed| claimed + self.volume(parts));
        Claims {
            startups: plus(rings.startups, tree.rounds),
            transmission: more(rings.transmission, tree.handed),
            hops: plus(rings.hops, tree.hops),
            forwarded_transmission: more(rings.forwarded_transmission, tree.forwarded),
            end_transmission: more(rings.end_transmission, tree.forwarded_at_ends),
            chained_hops: None,
            chained_forwarded: None,
            messages: plus(rings.messages, sends),
            volume: rings.volume.map(|claimed| claimed + sent),
            ..rings
        }
    }

    /// Counts the costs of a tree. None if an extent is too large for that.
    fn costs(&self, root: Rank) -> Option<Tree> {
        let (mut all, mut of_root) = (Tree::default(), 0);
        for row in self.rows.iter().rev() {
            let each = self.each(*row) as u64;
            let holder = root.index() / row.stride % row.extent();
            let (rounds, sends) = handed_along(row.row, holder)?;
            all.rounds += rounds.len() as u64;
            for Most { longest, largest, forwarded: (forwarded, at_ends), .. } in rounds {
                all.hops += longest;
                all.handed += largest * each;
                all.most_handed = all.most_handed.max(largest * each);
                all.forwarded += forwarded * each;
                all.forwarded_at_ends += at_ends * each;
            }
            // A rank that gets parts along this row hands over along the later ones as the root
            // does.
            all.sends = all.sends.max(sends.most + of_root);
            of_root += sends.holder;
        }
        Some(all)
    }
}
