//! Scan on grids, one dimension after the other: combinations of ranges of ranks are collected at
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
//! See `src/algorithm/prefix.rs` for the ranges. On a cube, each rank has the combination of its
//! sub-cube besides its prefix. It adds what arrives to both if it comes from a lower rank,
//! otherwise to the former alone. A complete row of 2^k nodes is a cube.
//!
//! If ranks have several numbers each (problem 4.10), a rank combines its own, takes part in an
//! [exscan](crate::algorithm::exscan::ByDimension) of these, and adds the result to its own
//! prefixes:
//!
//! ```
//! use necklace::op::Sum;
//!
//! let prefixes = necklace::local::run_on("hypercube:2", |mut comm| {
//!     comm.choose("exscan", "by-dimension")?;
//!     // The numbers 0 to 11.
//!     let mut numbers = [0, 1, 2].map(|i| 3 * comm.rank() + i);
//!     let mut sum = 0;
//!     for number in &mut numbers {
//!         sum += *number;
//!         *number = sum;
//!     }
//!     let mut before = [0];
//!     comm.exscan(&[sum], &mut before, Sum)?;
//!     Ok::<_, necklace::Error>(numbers.map(|prefix| before[0] + prefix))
//! })?;
//! assert_eq!(prefixes[3].as_ref().unwrap(), &[45, 55, 66]);
//! # Ok::<(), necklace::JobError>(())
//! ```

use crate::algorithm::halving::{NEEDS, lacks};
use crate::algorithm::prefix::{self, PrefixStep};
use crate::algorithm::rows::RingAxis;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, LocalStep, Ports, Problem, RankRound, Share};

/// Prefixes of ranges of ranks, which are halved by dimension.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "scan",
    name: "by-dimension",
    summary: "ranges of nodes, halved by dimension, are combined at their last nodes and hand their prefixes on; on cubes, sub-cubes exchange",
    source: "Grama et al., 4.3",
    needs: NEEDS,
    claims: "on cubes log N start-ups and blocks, otherwise 2 s - 1 with s the sum of ceil(log n) over dimensions; contention-free; combines in rank order",
    ports: Ports::One,
};

/// The combination that a rank sends.
const RUNNING: Block = Block::temporary(0);
/// On a cube, the combination of the sub-cube.
const TOTAL: Block = Block::temporary(1);

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
                let combined = Some(Volume::from((2 * rounds).saturating_sub(1)));
                Claims { combined, ..Claims::of_single_blocks(rounds, true) }
            }
            None => {
                let claims = prefix::claims(problem);
                Claims { combined: claims.startups.map(Volume::from), ..claims }
            }
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        match prefix::cube(problem) {
            Some(rows) => Box::new(on_a_cube(&rows, rank).into_iter()),
            None => Box::new(in_ranges(&prefix::steps(problem, rank), rank).into_iter()),
        }
    }
}

fn in_ranges(steps: &[PrefixStep], rank: Rank) -> Vec<RankRound> {
    let end = |peer| End::new(peer, vec![RUNNING]).combined(Combine::Left);
    let own = Block::result(rank);
    let mut rounds = vec![RankRound::default().with_local(vec![copy(own, RUNNING)])];
    rounds.extend(steps.iter().map(|&PrefixStep { to, from }| {
        RankRound::new(to.map(end).into_iter().collect(), from.map(end).into_iter().collect())
    }));
    if let Some(last) = rounds.last_mut() {
        last.local.push(copy(RUNNING, own));
    }
    rounds
}

fn on_a_cube(rows: &[RingAxis], rank: Rank) -> Vec<RankRound> {
    let (own, end) = (Block::result(rank), |peer| vec![End::new(peer, vec![RUNNING])]);
    let begin = RankRound::default().with_local(vec![copy(own, RUNNING), copy(own, TOTAL)]);
    let exchange = |(i, row): (usize, &RingAxis)| {
        let peer = row.at(rank.index(), row.place(rank.index()) + 1);
        let (is_last, is_above) = (i + 1 == rows.len(), peer < rank);
        if is_last {
            // Lower ranks need nothing more.
            let local = is_above.then(|| LocalStep::new(RUNNING, own, Combine::Left));
            let (sends, receives) = if is_above { (vec![], end(peer)) } else { (end(peer), vec![]) };
            return RankRound::new(sends, receives).with_local(local.into_iter().collect());
        }
        let combine = if is_above { Combine::Left } else { Combine::Right };
        let prefix = is_above.then(|| LocalStep::new(RUNNING, own, Combine::Left));
        let sub_cube = [LocalStep::new(RUNNING, TOTAL, combine), copy(TOTAL, RUNNING)];
        RankRound::new(end(peer), end(peer)).with_local(prefix.into_iter().chain(sub_cube).collect())
    };
    let begin = (!rows.is_empty()).then_some(begin);
    begin.into_iter().chain(rows.iter().enumerate().map(exchange)).collect()
}
