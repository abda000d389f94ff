//! Shift on a cube by one message from each rank, over E-cube routes: the dimensions in which
//! source and destination differ, in ascending order.
//!
//! Source: Grama et al., §4.6.2, equation 4.12, problems 4.22 and 4.23. Needs: a cube, with rank i
//! on node i. Model: one-port, cut-through.
//!
//! | term | shift by q |
//! |---|---|
//! | startups | 1 |
//! | blocks sent | 1 |
//! | hops | log N - g, with 2^g the highest power of two that divides q |
//!
//! Without contention.

use super::{Circle, distance};
use crate::algorithm::{About, Algorithm, Claims, is_cube};
use crate::block::Volume;
use crate::ids::{Node, Rank};
use crate::vocabulary::{Ports, Problem, Share};

/// One message from each rank, over an E-cube route.
#[derive(Clone, Copy, Debug)]
pub struct ECube;

static ABOUT: About = About {
    collective: "shift",
    name: "e-cube",
    summary: "each rank sends its block to the destination, over the dimensions of the cube in ascending order",
    source: "Grama et al., 4.6.2",
    needs: "a cube, with rank i on node i",
    claims: "1 start-up, 1 block, log N - g hops with 2^g the highest power of two in the distance; contention-free",
    ports: Ports::One,
};

/// Returns the nodes from one to another, the lowest dimension first.
fn route(from: usize, to: usize) -> Vec<Node> {
    let mut route = vec![Node::new(from)];
    let (mut now, mut different) = (from, from ^ to);
    while different > 0 {
        let bit = different & different.wrapping_neg();
        (now, different) = (now ^ bit, different ^ bit);
        route.push(Node::new(now));
    }
    route
}

impl Algorithm for ECube {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let needs = || format!("it needs a cube, with rank i on node i; this is {}", problem.topology().text());
        (!is_cube(problem)).then(needs)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let by = distance(problem);
        let rounds = u64::from(by > 0);
        let hops = if by > 0 { u64::from(problem.ranks().ilog2() - by.trailing_zeros()) } else { 0 };
        Claims {
            hops: Some(hops),
            forwarded_transmission: Some(Volume::from(hops)),
            end_transmission: Some(Volume::from(hops.min(2))),
            ..Claims::of_single_blocks(rounds, true)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (circle, me) = (Circle::of(problem), rank.index());
        let (to, from) = (circle.ahead(me, circle.by), circle.behind(me, circle.by));
        let round = (circle.by > 0).then(|| {
            let mut round = circle.round((to, me), (from, from));
            round.sends = round.sends.into_iter().map(|end| end.via(route(me, to))).collect();
            round
        });
        Box::new(round.into_iter())
    }
}
