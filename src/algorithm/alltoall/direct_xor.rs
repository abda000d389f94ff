//! Alltoall by pairs: in round i, every rank exchanges with the rank whose number is its own xor i.
//!
//! Source: Grama et al., §4.5.3 (Algorithm 4.10, whatever the routes); Thakur & Choudhary as cited
//! by Suh & Shin, §1. Needs: 2^d ranks. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N - 1, the one-port lower bound |
//! | messages a rank | N - 1 |
//! | hops, on a cube | (N/2) log N: each distance d occurs C(log N, d) times |
//!
//! A rank takes time and memory in proportion to N. Contention-free on complete networks and, by
//! dimension-ordered routes, on cubes and other products of complete networks whose extents are
//! powers of two. [`CubeXor`](super::CubeXor) proves this.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, cube_digits, is_complete, no_power_of_two};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Pairwise exchange: in round i, every rank exchanges with the rank whose number is its own xor i.
#[derive(Clone, Copy, Debug)]
pub struct DirectXor;

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct-xor",
    summary: "round i: each rank exchanges with the rank of its own number xor i",
    source: "Grama et al., 4.5.3",
    needs: "a number of ranks that is a power of two",
    claims: "N - 1 start-ups, N - 1 blocks; on a cube (N/2) log N hops; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for DirectXor {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_power_of_two(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        // A digit of k values is 0 in one of k rounds (round 0 included, in which nothing is sent);
        // otherwise it costs a hop.
        let hops = |digits: &Vec<usize>| digits.iter().map(|&k| ranks - ranks / k as u64).sum();
        // A single digit alone differs in k - 1 rounds; in all other rounds messages take several
        // channels.
        let near = |digits: &Vec<usize>| digits.iter().map(|&k| k as u64 - 1).sum::<u64>();
        let digits = cube_digits(problem);
        let on_cube: Option<u64> = digits.as_ref().map(hops);
        let claims = Claims::of_single_blocks(ranks - 1, is_complete(problem));
        let hops = claims.hops.or(on_cube);
        let claims = Claims {
            hops,
            forwarded_transmission: hops.map(Volume::from),
            end_transmission: digits.as_ref().map(|digits| (2 * (ranks - 1) - near(digits)).into()),
            contention_free: claims.contention_free || on_cube.is_some(),
            ..claims
        };
        let block = Volume::from(1);
        with_loads(
            claims,
            Pattern::exchanges(problem).map(|rounds| rounds.into_iter().map(move |round| (round, block))),
        )
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new((1..problem.ranks()).map(move |i| {
            let peer = Rank::new(rank.index() ^ i);
            RankRound {
                sends: vec![End::new(peer, vec![Block::new(rank, peer)])],
                receives: vec![End::new(peer, vec![Block::new(peer, rank)])],
                ..RankRound::default()
            }
        }))
    }
}
