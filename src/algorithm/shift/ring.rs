//! Shift around a ring, the shorter way: every rank forwards the block that it received last to its
//! neighbour.
//!
//! Source: Grama et al., §4.6.1. Needs: nothing; made for rings. Model: one-port.
//!
//! | term | shift by q |
//! |---|---|
//! | startups | min(q, N - q) |
//! | blocks sent | min(q, N - q) |
//! | hops on a ring | min(q, N - q) |
//!
//! Without contention on lines, rings, complete networks and products of them. On a line, the
//! message from the last rank to the first goes all the way back.

use super::{Circle, distance};
use crate::algorithm::loads::{self, Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::Volume;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Single steps around the ring of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "shift",
    name: "ring",
    summary: "around the ring of ranks the shorter way; each rank forwards the block that it received last",
    source: "Grama et al., 4.6.1",
    needs: "nothing; made for rings",
    claims: "min(q, N - q) start-ups and blocks, on a ring as many hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (ranks, by) = (problem.ranks(), distance(problem));
        let rounds = by.min(ranks - by) as u64;
        let step = if by <= ranks - by { 1 } else { ranks as u64 - 1 };
        let single = Claims::of_single_blocks(rounds, is_complete(problem));
        if rounds == 0 {
            return Claims { hops: Some(0), contention_free: true, ..single };
        }
        let Some(pattern) = Pattern::rotation(problem, step) else { return single };
        let chain = loads::Circle::chain(problem, rounds);
        let claims = with_loads(single, Some((0..rounds).map(|_| (pattern, Volume::from(1)))));
        Claims { chained_hops: chain, chained_forwarded: chain.map(Volume::from), ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (circle, me) = (Circle::of(problem), rank.index());
        let upwards = circle.by <= circle.size - circle.by;
        let rounds = circle.by.min(circle.size - circle.by);
        Box::new((0..rounds).map(move |i| {
            let (next, previous) = (circle.ahead(me, 1), circle.behind(me, 1));
            if upwards {
                circle.round((next, circle.behind(me, i)), (previous, circle.behind(me, i + 1)))
            } else {
                circle.round((previous, circle.ahead(me, i)), (next, circle.ahead(me, i + 1)))
            }
        }))
    }
}
