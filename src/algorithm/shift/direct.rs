//! Shift by one message from each rank, over the default routes.
//!
//! Source: Grama et al., §4.6.2 (on cubes, where default routes are E-cube routes; equation 4.12).
//! Needs: nothing. Model: one-port, cut-through.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 |
//! | blocks sent | 1 |
//! | hops | the longest route |
//!
//! Without contention on complete networks and cubes. On a ring, as many messages share a channel
//! as the shift is long.

use super::{Circle, distance};
use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::Volume;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// One message from each rank to its destination.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "shift",
    name: "direct",
    summary: "each rank sends its block to the destination",
    source: "Grama et al., 4.6.2",
    needs: "nothing",
    claims: "1 start-up, 1 block; contention-free on complete networks and cubes",
    ports: Ports::One,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let by = distance(problem) as u64;
        let rounds = u64::from(by > 0);
        let apart = is_complete(problem) || is_cube(problem);
        let single = Claims { hops: is_complete(problem).then_some(rounds), ..Claims::of_single_blocks(rounds, apart) };
        let round = || Some((Pattern::rotation(problem, by)?, Volume::from(1)));
        with_loads(single, (0..rounds).map(|_| round()).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (circle, me) = (Circle::of(problem), rank.index());
        let (to, from) = (circle.ahead(me, circle.by), circle.behind(me, circle.by));
        Box::new((circle.by > 0).then(|| circle.round((to, me), (from, from))).into_iter())
    }
}
