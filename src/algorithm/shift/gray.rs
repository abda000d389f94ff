//! Shift on a cube in which the ring of ranks is embedded by the Gray code: in leaps of powers of
//! two, forwards and backwards.
//!
//! Source: Grama et al., §4.6.2, equation 4.11. Needs: a cube, with rank i on node i xor i/2.
//! Model: one-port, store-and-forward.
//!
//! | term | shift by q |
//! |---|---|
//! | startups | 2 for each leap of 2 or more, 1 for a leap of 1: at most log N |
//! | blocks sent | as many |
//! | hops | as many |
//!
//! Without contention.
//!
//! # Idea
//!
//! Ranks 2^k apart, k > 0, are on nodes that differ in bit k - 1 and in one more bit: that in which
//! the Gray codes of i/2^k and of its successor differ. Ranks that are neighbours are on
//! neighbours. The distance is a sum of powers of two with signs, such as 6 = 8 - 2, no two of them
//! neighbours. That takes at most log N rounds; positive powers alone take up to one less than
//! twice as many (equation 4.11).

use super::{Circle, distance};
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::{Node, Rank};
use crate::vocabulary::{Ports, Problem, Share};

/// Leaps of powers of two on a ring that is embedded by the Gray code.
#[derive(Clone, Copy, Debug)]
pub struct Gray;

static ABOUT: About = About {
    collective: "shift",
    name: "gray",
    summary: "leaps of powers of two, forwards or backwards, along the ring that the Gray code embeds in the cube",
    source: "Grama et al., 4.6.2",
    needs: "a cube, with rank i on node i xor i/2",
    claims: "2 start-ups, blocks and hops for each leap of 2 or more, 1 for a leap of 1, at most log N; contention-free",
    ports: Ports::One,
};

const fn code(rank: usize) -> usize {
    rank ^ rank >> 1
}

fn rank_of(code: usize) -> usize {
    std::iter::successors(Some(code), |code| Some(code >> 1)).take_while(|code| *code > 0).fold(0, |a, b| a ^ b)
}

/// A leap of 2^k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leap {
    k: u32,
    backwards: bool,
}

/// Returns the leaps of a distance, less than 2^`dimensions`, the shortest first.
fn leaps(mut distance: usize, dimensions: u32) -> Vec<Leap> {
    let mut leaps = vec![];
    for k in 0..dimensions {
        if distance >> k & 1 == 1 {
            // After 11, a leap back leaves one further on; beyond the last bit it is once around.
            let backwards = distance >> (k + 1) & 1 == 1 && k + 1 < dimensions;
            distance = if backwards { distance + (1 << k) } else { distance - (1 << k) };
            leaps.push(Leap { k, backwards });
        }
    }
    leaps
}

impl Algorithm for Gray {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let (place, ranks) = (problem.placement(), problem.ranks());
        let is_cube = problem.topology().cube().is_some_and(|d| ranks == 1 << d);
        let is_coded = || (0..ranks).all(|rank| place.node(Rank::new(rank)) == Node::new(code(rank)));
        let needs = || format!("it needs {}; this is {}", ABOUT.needs, problem.topology().text());
        (!(is_cube && is_coded())).then(needs)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let leaps = leaps(distance(problem), problem.ranks().ilog2());
        Claims::of_single_blocks(leaps.iter().map(|leap| if leap.k == 0 { 1 } else { 2 }).sum(), true)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (circle, me) = (Circle::of(problem), rank.index());
        // The distance that blocks have gone before each leap.
        let mut gone = 0;
        let mut rounds = vec![];
        for Leap { k, backwards } in leaps(circle.by, circle.size.ilog2()) {
            let length = if backwards { circle.size - (1 << k) } else { 1 << k };
            let (to, from) = (circle.ahead(me, length), circle.behind(me, length));
            // The source of the block that a rank has before the leap.
            let source = |rank| circle.behind(rank, gone);
            if k == 0 {
                rounds.push(circle.round((to, source(me)), (from, source(from))));
            } else {
                let across = |rank: usize| rank_of(code(rank) ^ 1 << (k - 1));
                let between = across(me);
                rounds.push(circle.round((between, source(me)), (between, source(between))));
                let last = circle.ahead(between, length);
                rounds.push(circle.round((last, source(between)), (across(from), source(from))));
            }
            gone = circle.ahead(gone, length);
        }
        Box::new(rounds.into_iter())
    }
}
