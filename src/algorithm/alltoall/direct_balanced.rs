//! Direct alltoall in windows, over routes that use links of all lengths alike.
//!
//! Source: own work; the routes are those of [`LengthBalanced`]. Needs: `how:P,W,N` or
//! `how-wrap:P,W,N` with a window of 2 or more, not complete, p <= 2^16, p w^2 <= 2^24, with rank i on
//! node i. Model: unlimited; transfers share channels and the network queues them.
//!
//! | term | p nodes in a dimension, window w, n dimensions, N ranks |
//! |---|---|
//! | startups | 1 |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks of the busiest channel | N / p times the largest of [`LengthBalanced::loads`]: in wrapping windows the bound, or one more; in others of 20 nodes or more, at most 1.16 times the bound if p >= 10 w, and 1.06 times if p >= 20 w |
//! | hops | at most twice the diameter |
//!
//! As [`Direct`](super::Direct), it costs N - 1 messages per rank, and no memory for the blocks of
//! others. Default routes load the busiest channel up to w times as much. A process chooses the routes
//! once, in about p w^2 time. Apart from that, a rank takes time and memory in proportion to the hops of
//! its messages.

use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::{Factor, LengthBalanced, OverlappingWindows};
use crate::vocabulary::{Ports, Problem, RankRound, Share};

/// The direct exchange over routes that use links of all lengths alike.
#[derive(Clone, Copy, Debug)]
pub struct DirectBalanced;

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct-balanced",
    summary: "each block goes directly to its destination, all in one round, over routes that use links of all lengths alike",
    source: "own work",
    needs: "how:P,W,N or how-wrap:P,W,N with a window of 2 or more, not complete, P at most 65536, P W^2 at most 2^24, with rank i on node i",
    claims: "1 start-up, 1 block a message, N - 1 messages a rank; over the busiest channel, where windows wrap round, at most one block more than N fl(p^2/4) / (p w (w + 1)), rounded up, in one dimension",
    ports: Ports::Unlimited,
};

/// Returns the routes, if the network has them.
fn routes(problem: &Problem) -> Option<Arc<LengthBalanced>> {
    static MADE: Kept<OverlappingWindows, Option<Arc<LengthBalanced>>> = Kept::new(4);
    let factors = factors_in_order(problem)?;
    let &Factor::Windows { extent, window, wraps } = factors.first()? else { return None };
    if factors.iter().any(|factor| *factor != factors[0]) {
        return None;
    }
    let make = if wraps { OverlappingWindows::wrapping } else { OverlappingWindows::new };
    let network = make(extent, window, factors.len())?;
    MADE.get(network.clone(), || LengthBalanced::new(&network).map(Arc::new))
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
        let (extent, dimensions) = (routes.network().extent(), routes.network().dimensions());
        let load = routes.loads().into_iter().max().unwrap_or_default() * (problem.ranks() / extent);
        let longest = (1..extent).map(|displacement| routes.lengths(displacement).len()).max().unwrap_or_default();
        let hops = (longest * dimensions) as u64;
        Claims {
            channel_transmission: Some(Volume::from(load as u64)),
            forwarded_transmission: Some(Volume::from(hops)),
            end_transmission: Some(Volume::from(hops.min(2))),
            hops: Some(hops),
            ..pairs::claims(problem, 1, 1)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let routes = routes(problem);
        let over_routes = move |mut round: RankRound| {
            for end in &mut round.sends {
                let route =
                    routes.as_ref().map(|routes| routes.route(Node::new(rank.index()), Node::new(end.peer.index())));
                if let Some(route) = route.filter(|route| route.len() > 2) {
                    *end = end.clone().via(route);
                }
            }
            round
        };
        let round =
            pairs::round(problem.ranks(), rank, move |to| Block::new(rank, to), move |from| Block::new(from, rank));
        Box::new(round.map(over_routes))
    }
}
