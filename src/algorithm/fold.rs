//! Folding: pairs of neighbouring ranks become one, so that a power of two is left.

use std::ops::Range;

use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, RankRound};

/// The folding of pairs that leaves a power of two of representatives.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    /// The number of ranks that send their contribution to the next rank.
    pub(super) pairs: usize,
    pub(super) doublings: u32,
}

impl Fold {
    pub(super) fn new(ranks: usize) -> Self {
        let doublings = ranks.ilog2();
        Self { pairs: ranks - (1 << doublings), doublings }
    }

    /// Returns a rank's index among the representatives.
    pub(super) fn folded_rank(self, rank: Rank) -> Option<usize> {
        match rank.index() {
            r if r >= 2 * self.pairs => Some(r - self.pairs),
            r => (r % 2 == 1).then_some(r / 2),
        }
    }

    /// Returns the representative with an index.
    pub(super) fn rank(self, folded_rank: usize) -> Rank {
        Rank::new(if folded_rank < self.pairs { 2 * folded_rank + 1 } else { folded_rank + self.pairs })
    }

    /// Returns the ranks for which the representatives with these indices stand.
    pub(super) fn represented(self, folded_ranks: Range<usize>) -> Range<usize> {
        let first = |folded_rank: usize| folded_rank + folded_rank.min(self.pairs);
        first(folded_ranks.start)..first(folded_ranks.end)
    }

    /// Returns the round in which the representatives get the contributions of the others.
    pub(super) fn giving(self, rank: Rank, block: Block) -> Option<RankRound> {
        self.giving_blocks(rank, Combine::Left, |_| vec![block])
    }

    /// Returns the round in which the others send blocks to their representatives.
    pub(super) fn giving_blocks(
        self,
        rank: Rank,
        combine: Combine,
        blocks_of: impl FnOnce(Rank) -> Vec<Block>,
    ) -> Option<RankRound> {
        self.pair_round((rank, 0), combine, blocks_of)
    }

    /// Returns round k of the exchanges by recursive doubling. The two sides represent neighbouring
    /// ranges of ranks, so that combining left or right keeps the order.
    pub(super) fn doubling(self, rank: Rank, k: u32, block: Block) -> RankRound {
        let Some(me) = self.folded_rank(rank) else { return RankRound::default() };
        let peer = me ^ (1 << k);
        let end = |sender: usize, receiver: usize| {
            let combine = Combine::in_rank_order(sender, receiver);
            vec![End::new(self.rank(peer), vec![block]).combined(combine)]
        };
        RankRound::new(end(me, peer), end(peer, me))
    }

    /// Returns the round in which the representatives send the result back.
    pub(super) fn handing_back(self, rank: Rank, block: Block) -> Option<RankRound> {
        self.handing_back_blocks(rank, |_| vec![block])
    }

    /// Returns the round in which the representatives send the others blocks that replace theirs.
    pub(super) fn handing_back_blocks(
        self,
        rank: Rank,
        blocks_of: impl FnOnce(Rank) -> Vec<Block>,
    ) -> Option<RankRound> {
        self.pair_round((rank, 1), Combine::Replace, blocks_of)
    }

    /// Returns all rounds of an allreduce by recursive doubling: for each, a function of the rank.
    pub(super) fn rounds(self, block: Block) -> impl Iterator<Item = impl FnOnce(Rank) -> RankRound> {
        let folds = u32::from(self.pairs > 0);
        let rounds = self.doublings + 2 * folds;
        (0..rounds).map(move |round| {
            move |rank: Rank| match round.checked_sub(folds) {
                None => self.giving(rank, block).unwrap_or_default(),
                Some(k) if k < self.doublings => self.doubling(rank, k, block),
                Some(_) => self.handing_back(rank, block).unwrap_or_default(),
            }
        })
    }

    /// Returns the number of messages that a rank sends in these rounds.
    pub(super) fn sends(self, rank: Rank) -> u64 {
        let is_in_pair = rank.index() < 2 * self.pairs;
        match self.folded_rank(rank) {
            Some(_) => u64::from(self.doublings) + u64::from(is_in_pair),
            None => 1,
        }
    }

    /// Returns the round in which the even (0) or odd (1) rank of each pair sends to the other the
    /// blocks that a function of the even rank gives; `None` without pairs.
    fn pair_round(
        self,
        (rank, sender): (Rank, usize),
        combine: Combine,
        blocks_of: impl FnOnce(Rank) -> Vec<Block>,
    ) -> Option<RankRound> {
        let mut round = RankRound::default();
        if rank.index() < 2 * self.pairs {
            let blocks = blocks_of(Rank::new(rank.index() & !1));
            let end = End::new(Rank::new(rank.index() ^ 1), blocks).combined(combine);
            if rank.index() % 2 == sender { round.sends.push(end) } else { round.receives.push(end) }
        }
        (self.pairs > 0).then_some(round)
    }
}
