//! Direct alltoall in windows, over routes that use links of all lengths alike.
//!
//! Source: own work; the routes are those of [`LengthBalanced`]. Needs: `how:P,W,N` or
//! `how-wrap:P,W,N` with a window of 2 or more, not complete, p <= 4096, p w^2 <= 2^24, at most 2^18
//! hops from a node to all others, with rank i on node i. Model: unlimited; transfers share channels
//! and the network queues them.
//!
//! | term | p nodes in a dimension, window w, n dimensions, N ranks |
//! |---|---|
//! | startups | 1 |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks of the busiest channel | N / p times the largest of [`LengthBalanced::loads`] |
//! | hops | at most twice the diameter |
//!
//! In one dimension that is near the cut bound in long rows: 1.16 times or less if p >= 10 w, 1.06
//! times or less if p >= 20 w (counted for regular rows of 20 to 79 nodes), and the bound, rounded
//! up, or one more where windows wrap round (counted below 60 nodes). For p < 10 w nothing is
//! claimed. Default routes load the busiest channel about (w + 1) / 2 times as much.
//!
//! As [`Direct`](super::Direct), it costs N - 1 messages a rank, and no memory for the blocks of
//! others. A process chooses the routes once, in about p w^2 time, and counts their loads in about
//! p^2 time. Apart from that, a rank takes time and memory in proportion to the hops of its messages.

use std::iter;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::{Factor, LengthBalanced, OverlappingWindows};
use crate::vocabulary::{Ports, Problem, RankRound, Route, Share};

/// The direct exchange over routes that use links of all lengths alike.
#[derive(Clone, Copy, Debug)]
pub struct DirectBalanced;

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct-balanced",
    summary: "each block goes directly to its destination, all in one round, over routes that use links of all lengths alike",
    source: "own work",
    needs: "how:P,W,N or how-wrap:P,W,N with a window of 2 or more, not complete, P at most 4096, P W^2 at most 2^24, at most 2^18 hops from a node to all others, with rank i on node i",
    claims: "1 start-up, 1 block a message, N - 1 messages a rank; over the busiest channel, where windows wrap round in one dimension, at most one block more than fl(p^2/4) / (w (w + 1)), rounded up",
    ports: Ports::Unlimited,
};

/// The most nodes of a dimension, and the most hops from a node to all others.
const MOST: (usize, usize) = (1 << 12, 1 << 18);

/// The routes of a network, and what is claimed of them.
struct Routes {
    routes: LengthBalanced,
    /// The blocks of the busiest channel, in one dimension.
    load: usize,
    /// The hops of the longest route, in one dimension.
    longest: usize,
}

/// Returns the routes, if the network has them.
fn routes(problem: &Problem) -> Option<Arc<Routes>> {
    static MADE: Kept<OverlappingWindows, Option<Arc<Routes>>> = Kept::new(4);
    let factors = factors_in_order(problem)?;
    let &Factor::Windows { extent, window, wraps } = factors.first()? else { return None };
    if extent > MOST.0 || factors.iter().any(|factor| *factor != factors[0]) {
        return None;
    }
    let make = if wraps { OverlappingWindows::wrapping } else { OverlappingWindows::new };
    let network = make(extent, window, factors.len())?;
    MADE.get(network.clone(), || {
        let routes = LengthBalanced::new(&network)?;
        let hops = || (1..extent).map(|displacement| routes.hops(displacement));
        let all = hops().sum::<usize>() * if wraps { 2 } else { 1 };
        if all * factors.len() * (problem.ranks() / extent) > MOST.1 {
            return None;
        }
        let (load, longest) = (routes.loads().into_iter().max()?, hops().max()?);
        Some(Arc::new(Routes { load, longest, routes }))
    })
}

impl Algorithm for DirectBalanced {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        routes(problem).is_none().then(|| format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Some(routes) = routes(problem) else { return Claims::default() };
        let network = routes.routes.network();
        let load = routes.load * (problem.ranks() / network.extent());
        let hops = (routes.longest * network.dimensions()) as u64;
        Claims {
            channel_transmission: Some(Volume::from(load as u64)),
            forwarded_transmission: Some(Volume::from(hops)),
            end_transmission: Some(Volume::from(hops.min(2))),
            hops: Some(hops),
            ..pairs::claims(problem, 1, 1)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let Some(routes) = routes(problem) else { return Box::new(iter::empty()) };
        let node = |rank: Rank| Node::new(rank.index());
        let over_routes = move |mut round: RankRound| {
            for end in &mut round.sends {
                let route = routes.routes.route(node(rank), node(end.peer));
                if route.len() > 2 {
                    end.route = Route::Via(route);
                }
            }
            round
        };
        let round =
            pairs::round(problem.ranks(), rank, move |to| Block::new(rank, to), move |from| Block::new(from, rank));
        Box::new(round.map(over_routes))
    }
}
