//! Direct exscan: every rank sends its contribution to all ranks above it, in one round.
//!
//! Source: the collective's definition. Needs: nothing. Model: unlimited ports. Combines in rank
//! order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks sent | 1, the largest transfer |
//! | messages of the busiest rank | N - 1 |
//! | blocks combined | N - 2 |
//!
//! A rank takes time and memory in proportion to N. For few ranks: what channels carry is counted
//! for up to some hundred.

use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, is_complete, pairs};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, LocalStep, Ports, Problem, RankRound, Share};

/// The direct algorithm: every rank sends to all ranks above it, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "exscan",
    name: "direct",
    summary: "each rank sends its contribution directly to all ranks above it",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up, 1 block a message, at most N - 1 messages a rank; contention-free on complete networks; combines in rank order",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let others = problem.ranks() as u64 - 1;
        let claims = Claims {
            combined: Some(Volume::from(others.saturating_sub(1))),
            port_transmission: Some(Volume::from(others)),
            handled: Some(2 * others),
            messages: Some(others),
            volume: Some(Volume::from(others)),
            ..Claims::of_single_blocks(others.min(1), is_complete(problem))
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        // A rank's own block is named after its result, so what it sends has another name.
        const SENT: Block = Block::temporary(0);
        let own = Block::result(rank);
        let name = RankRound::default().with_local(vec![LocalStep::new(own, SENT, Combine::Replace)]);
        let end = |peer: Rank| {
            // The nearest rank below is the first whose contribution is combined.
            let first = peer.index().abs_diff(rank.index()) == 1;
            End::new(peer, vec![SENT]).combined(if first { Combine::Replace } else { Combine::Left })
        };
        let (below, above): (Vec<Rank>, Vec<Rank>) =
            pairs::outwards(problem.ranks(), rank).partition(|&peer| peer < rank);
        let round = RankRound::new(above.into_iter().map(end).collect(), below.into_iter().map(end).collect());
        let local = vec![LocalStep::new(SENT, own, Combine::Replace)];
        let round = if rank.index() > 0 { round.with_local(local) } else { round };
        Box::new((problem.ranks() > 1).then_some([name, round]).into_iter().flatten())
    }
}
