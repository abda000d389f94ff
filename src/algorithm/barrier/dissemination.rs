//! Barrier by dissemination: in round k, every rank tells the rank 2^k further on which ranks it
//! knows to have called.
//!
//! Source: the pattern of Hensgen, Finkel & Manber as commonly used; as an allgather of empty
//! blocks it is Bruck's. Needs: nothing. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | N - 1, each of no bytes |
//!
//! A rank takes time and memory in proportion to N, since its blocks are listed for verification.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Dissemination over distances that double.
///
/// Among eight ranks:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/dissemination.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct Dissemination;

static ABOUT: About = About {
    collective: "barrier",
    name: "dissemination",
    summary: "round k: each rank sends the rank 2^k above it (modulo N) the signals of all ranks that it has heard from",
    source: "Hensgen, Finkel & Manber",
    needs: "nothing",
    claims: "ceil(log N) start-ups, N - 1 blocks of no bytes; contention-free on complete networks",
    ports: Ports::One,
};

impl Algorithm for Dissemination {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks();
        let sent = Some(Volume::from(ranks as u64 - 1));
        let claims = Claims::of_single_blocks(doublings(ranks).into(), is_complete(problem));
        let claims = Claims { transmission: sent, volume: sent, ..claims };
        let round = |k: u32| {
            let step = 1_u64 << k;
            Some((Pattern::rotation(problem, step)?, Volume::from(step.min(ranks as u64 - step))))
        };
        with_loads(claims, (0..doublings(ranks)).map(round).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let behind = move |from: usize, by: usize| Rank::new((from + size - by) % size);
        Box::new((0..doublings(size)).map(move |k| {
            let step = 1 << k;
            let (to, from) = (Rank::new((rank.index() + step) % size), behind(rank.index(), step));
            // The ranks at least `step` behind the receiver that it does not know yet.
            let news = |sender: Rank| {
                let news = step.min(size - step);
                (0..news).map(|by| Block::from(behind(sender.index(), by))).collect()
            };
            RankRound {
                sends: vec![End::new(to, news(rank))],
                receives: vec![End::new(from, news(from))],
                ..RankRound::default()
            }
        }))
    }
}
