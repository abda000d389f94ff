//! An algorithm of your own, by implementing [`Algorithm`]: an alltoall in which pairs of ranks swap blocks.
//!
//! In round r the ranks i and j with i + j = r (modulo their number) give each other what they have for each other. Nobody has
//! two partners in a round, so each rank sends and receives one message at a time:
//!
//! ```text
//! 5 ranks    round 0    round 1    round 2    round 3    round 4
//!            1-4 2-3    0-1 2-4    0-2 3-4    0-3 1-2    0-4 1-3
//! ```
//!
//! The rounds of one rank are all that has to be said. The communicator proves, before a byte moves, that the rounds of all ranks
//! fit together and deliver everything; it prices them beside the algorithms there are, and runs them over any backend. The same
//! schedule is then written as JSON, read back, and run as data.
//!
//! ```text
//! cargo run --release --example custom_algorithm
//! necklace run -n 5 -- target/release/examples/custom_algorithm
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use necklace::algorithm::{About, Algorithm, Claims};
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::launch::Launch;
use necklace::schedule::{Block, End, Ports, Problem, RankRound, Share, Volume, from_json, to_json};
use necklace::{Communicator, Error as Failed, Rank};

/// Pairs swap blocks.
struct Swap;

impl Algorithm for Swap {
    fn about(&self) -> &About {
        const ABOUT: About = About::new("alltoall", "swap", Ports::One)
            .summary("pairs of ranks whose numbers add up to the round swap blocks")
            .source("this example")
            .claims("at most N rounds of one block");
        &ABOUT
    }

    /// `auto` and [`Communicator::explain`] use these claims for prices. They count or bound what is not claimed.
    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        // With three ranks or more some pair swaps in every round; two swap in round 1 alone.
        let rounds = if ranks < 3 { ranks - 1 } else { ranks };
        let mut claims = Claims::default();
        claims.startups = Some(rounds);
        claims.transmission = Some(Volume::from(rounds));
        claims
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let ranks = problem.ranks();
        Box::new((0..ranks).map(move |round| {
            let partner = Rank::new((round + ranks - rank.index()) % ranks);
            if partner == rank {
                return RankRound::default();
            }
            let sends = vec![End::new(partner, vec![Block::new(rank, partner)])];
            let receives = vec![End::new(partner, vec![Block::new(partner, rank)])];
            RankRound::new(sends, receives)
        }))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // One value for all ranks that are threads of this process: it is proved once.
    let swap = How::from(Arc::new(Swap));
    for report in Launch::default().ranks(5).run(|comm| exchange(comm, &swap))? {
        if let Some(report) = report? {
            println!("{report}");
        }
    }
    Ok(())
}

/// Exchanges numbers in several ways. Rank 0 reports.
fn exchange(mut comm: Communicator, swap: &How) -> Result<Option<String>, Failed> {
    // For one call, and from now on.
    check(&mut comm.using(swap))?;
    check(&mut comm)?;
    comm.choose("alltoall", swap)?;
    check(&mut comm)?;
    let choice = comm.explain(&Collective::Alltoall, size_of::<usize>())?;
    let proof = comm.prove(&Collective::Alltoall, size_of::<usize>())?;

    // As data: it may as well come from a file, or from another program.
    let problem = Problem::placed(Arc::clone(comm.topology()), comm.placement().clone(), Collective::Alltoall)?;
    let text = to_json(&Swap.shares(&problem)?.collect()?);
    let schedule = from_json(&text).map_err(|error| Failed::Argument(error.to_string()))?;
    let plan = {
        let mut comm = comm.using(schedule);
        check(&mut comm)?;
        comm.alltoall_init::<usize>(1)?
    };
    let bytes = text.len();
    let report = || {
        let words = plan.words();
        format!("{choice}\n\nProved, and run:\n{proof}\n\nAs {bytes} bytes of JSON, read back:\n{words}")
    };
    Ok((comm.rank() == 0).then(report))
}

/// Every rank gives every other a number that says from whom to whom.
fn check(comm: &mut Communicator) -> Result<(), Failed> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let send: Vec<usize> = (0..ranks).map(|to| 1000 * rank + to).collect();
    let mut receive = vec![0; ranks];
    comm.alltoall(&send, &mut receive)?;
    let right = receive.iter().copied().eq((0..ranks).map(|from| 1000 * from + rank));
    if right { Ok(()) } else { Err(Failed::Argument(format!("rank {rank} received {receive:?}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use necklace::schedule::verify_shares;
    use necklace::topology::Complete;

    #[test]
    fn claims_are_what_is_counted() -> Result<(), Box<dyn Error>> {
        for ranks in 1..20 {
            let network = Complete::new(ranks).ok_or("a network")?;
            let problem = Problem::new(Arc::new(network), Collective::Alltoall)?;
            let proof = verify_shares(Swap.shares(&problem)?)?;
            assert_eq!(proof.contradicts(&Swap.claims(&problem)), []);
        }
        Ok(())
    }
}
