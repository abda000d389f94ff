//! Alltoall round a ring, one way: everyone passes on what is not for itself.
//!
//! Source: Grama et al., §4.5.1 (Algorithm 4.9's ring, equation 4.7). Needs: nothing; made for rings, where neighbours
//! in rank are neighbours in the network. Model: one-port, store-and-forward.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N (N - 1) / 2 |
//! | hops on a ring | N - 1 |
//!
//! A rank's own time and memory are in proportion to the N (N - 1) / 2 blocks that it sends.
//!
//! # Idea
//!
//! Round i moves every block that still has somewhere to go one rank further. What a rank sends in round i comes from
//! the rank i - 1 behind it, for the N - i ranks ahead that this source has not reached yet; the first of them is the
//! receiver itself.

use crate::algorithm::loads::Pattern;
use crate::algorithm::{About, Algorithm, Claims};
use crate::ids::Rank;
use crate::schedule::{Block, End, Ports, Problem, RankRound, Share, Volume};

/// One way round a ring of the ranks in order.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "alltoall",
    name: "ring",
    summary: "one way round the ranks, everyone passing on what is not its own",
    source: "Grama et al., 4.5.1",
    needs: "nothing; made for rings",
    claims: "N - 1 start-ups, N (N - 1) / 2 blocks, on a ring N - 1 hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = problem.ranks() as u64 - 1;
        let sent = Some(Volume::from(rounds * (rounds + 1) / 2));
        let claims = claims_of_a_ring(problem);
        // Every round takes the same way, so each block takes it as often as it is sent.
        let hop = claims.hops.filter(|_| rounds > 0).map(|hops| hops / rounds);
        let forwarded_transmission = hop.zip(sent).map(|(hop, sent)| sent * hop);
        Claims { transmission: sent, volume: sent, forwarded_transmission, ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let at = move |offset: usize| Rank::new((rank.index() + offset) % size);
        Box::new((1..size).map(move |i| RankRound {
            sends: vec![End::new(at(1), passed_on(size, rank, i))],
            receives: vec![End::new(at(size - 1), passed_on(size, at(size - 1), i))],
            ..RankRound::default()
        }))
    }
}

/// What `rank` sends in round `i`: the nearest destination first, so that what goes on further is one piece.
fn passed_on(size: usize, rank: Rank, i: usize) -> Vec<Block> {
    let source = Rank::new((rank.index() + size - (i - 1)) % size);
    (1..=size - i).map(|ahead| Block::new(source, Rank::new((rank.index() + ahead) % size))).collect()
}

/// Those of single blocks passed on from rank to rank, all the way round.
pub(in crate::algorithm) fn claims_of_a_ring(problem: &Problem) -> Claims {
    let rounds = problem.ranks() as u64 - 1;
    let hop = hops_of_a_round(problem);
    let hops = hop.map(|hop| hop * rounds);
    let forwarded_transmission = hops.map(Volume::from);
    Claims { hops, forwarded_transmission, ..Claims::of_single_blocks(rounds, hop.is_some()) }
}

/// The longest way from a rank to the next, where each has channels of its own: on complete networks, and on products of
/// lines, rings and complete networks, where what comes back from the end of a line has channels that nobody else uses.
fn hops_of_a_round(problem: &Problem) -> Option<u64> {
    Pattern::rotation(problem, 1).filter(|round| round.load == 1).map(|round| round.hops)
}
