//! Exscan on grids, one dimension after the other: combinations of ranges of ranks are collected at
//! their last ranks, and prefixes handed on to the next ranges. On cubes, ranks exchange the
//! combinations of their sub-cubes.
//!
//! Source: Grama et al., §4.3 (Algorithm 4.9, on cubes), and its mesh form. Needs: a product of
//! lines, rings, windows and complete networks, with rank i on node i. Model: one-port. Combines in
//! rank order, so operations need not commute.
//!
//! | term | on a cube | otherwise |
//! |---|---|---|
//! | startups | log N | 2 s - 1, s the sum over dimensions of ceil(log n), n the extent; on a line or ring 1 less if n is 2^k + 1 |
//! | blocks sent | as many | as many |
//! | hops | log N | |
//!
//! A rank takes time and memory in proportion to log N. Without contention on these networks, by
//! default routes.
//!
//! # Idea
//!
//! The messages are those of the [scan](super::super::scan::ByDimension). A rank keeps what arrives
//! from lower ranks apart from its own contribution.

use crate::algorithm::halving::{NEEDS, lacks};
use crate::algorithm::prefix::{self, PrefixStep};
use crate::algorithm::rows::RingAxis;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, LocalStep, Ports, Problem, RankAmounts, RankRound, Share};

/// Prefixes of ranges of ranks, which are halved by dimension.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "exscan",
    name: "by-dimension",
    summary: "ranges of nodes, halved by dimension, are combined at their last nodes and hand their prefixes on; on cubes, sub-cubes exchange",
    source: "Grama et al., 4.3",
    needs: NEEDS,
    claims: "on cubes log N start-ups and blocks, otherwise 2 s - 1 with s the sum of ceil(log n) over dimensions; contention-free; combines in rank order",
    ports: Ports::One,
};

/// The combination that a rank sends, and the one that it has of the ranks before it.
const RUNNING: Block = Block::temporary(0);
const BEFORE: Block = Block::temporary(1);
/// On a cube, the combination of the sub-cube.
const TOTAL: Block = Block::temporary(2);

const fn copy(from: Block, into: Block) -> LocalStep {
    LocalStep::new(from, into, Combine::Replace)
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        match prefix::cube(problem) {
            Some(rows) => {
                let rounds = rows.len() as u64;
                let combined = Some(Volume::from(2 * rounds.saturating_sub(1)));
                Claims { combined, ..Claims::of_single_blocks(rounds, true) }
            }
            None => Claims { combined: combined(problem), ..prefix::claims(problem) },
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        match prefix::cube(problem) {
            Some(rows) => Box::new(on_a_cube(&rows, rank).into_iter()),
            None => Box::new(in_ranges(&prefix::steps(problem, rank), rank).into_iter()),
        }
    }
}

/// Counts what is combined in each round on networks that are no cubes, up to a size.
fn combined(problem: &Problem) -> Option<Volume> {
    const MOST: usize = 1 << 12;
    let ranks = problem.ranks();
    let mut most: Vec<Volume> = vec![];
    for rank in (0..ranks).filter(|_| ranks <= MOST).map(Rank::new) {
        let rounds = in_ranges(&prefix::steps(problem, rank), rank).into_iter();
        for (i, round) in rounds.map(RankAmounts::from).enumerate() {
            most.resize(most.len().max(i + 1), Volume::ZERO);
            most[i] = most[i].max(round.combined);
        }
    }
    (ranks <= MOST).then(|| most.into_iter().sum())
}

/// Returns the step that puts what has arrived from lower ranks before what is there of them.
fn before(is_first: bool) -> LocalStep {
    LocalStep::new(RUNNING, BEFORE, if is_first { Combine::Replace } else { Combine::Left })
}

fn in_ranges(steps: &[PrefixStep], rank: Rank) -> Vec<RankRound> {
    let end = |peer| End::new(peer, vec![RUNNING]);
    let own = Block::result(rank);
    let mut rounds = vec![RankRound::default().with_local(vec![copy(own, RUNNING)])];
    let mut is_first = true;
    for (i, &PrefixStep { to, from }) in steps.iter().enumerate() {
        let mut local = vec![];
        if from.is_some() {
            local.push(before(is_first));
            is_first = false;
            // Until nothing more is sent.
            if steps[i + 1..].iter().any(|step| step.to.is_some()) {
                local.push(copy(BEFORE, RUNNING));
                local.push(LocalStep::new(own, RUNNING, Combine::Right));
            }
        }
        let round = RankRound::new(to.map(end).into_iter().collect(), from.map(end).into_iter().collect());
        rounds.push(round.with_local(local));
    }
    if let Some(last) = rounds.last_mut().filter(|_| rank.index() > 0) {
        last.local.push(copy(BEFORE, own));
    }
    rounds
}

fn on_a_cube(rows: &[RingAxis], rank: Rank) -> Vec<RankRound> {
    let (own, end) = (Block::result(rank), |peer| vec![End::new(peer, vec![RUNNING])]);
    let begin = RankRound::default().with_local(vec![copy(own, RUNNING), copy(own, TOTAL)]);
    let mut rounds: Vec<RankRound> = (!rows.is_empty()).then_some(begin).into_iter().collect();
    let mut is_first = true;
    for (i, row) in rows.iter().enumerate() {
        let peer = row.at(rank.index(), row.place(rank.index()) + 1);
        let (is_last, is_above) = (i + 1 == rows.len(), peer < rank);
        let mut local = vec![];
        if is_above {
            local.push(before(is_first));
            is_first = false;
        }
        // At the end, lower ranks need nothing more.
        let (sends, receives) = match (is_last, is_above) {
            (true, true) => (vec![], end(peer)),
            (true, false) => (end(peer), vec![]),
            (false, _) => {
                let combine = if is_above { Combine::Left } else { Combine::Right };
                local.extend([LocalStep::new(RUNNING, TOTAL, combine), copy(TOTAL, RUNNING)]);
                (end(peer), end(peer))
            }
        };
        if is_last && rank.index() > 0 {
            local.push(copy(BEFORE, own));
        }
        rounds.push(RankRound::new(sends, receives).with_local(local));
    }
    rounds
}
