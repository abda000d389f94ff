//! A user-defined algorithm, which implements [`Algorithm`]: an alltoall in which pairs of ranks
//! swap blocks.
//!
//! In round r, ranks i and j with i + j = r (modulo the number of ranks) exchange their blocks for
//! each other. No rank has two partners in a round, so each rank sends and receives at most one
//! message:
//!
//! ```text
//! 5 ranks    round 0    round 1    round 2    round 3    round 4
//!            1-4 2-3    0-1 2-4    0-2 3-4    0-3 1-2    0-4 1-3
//! ```
//!
//! The algorithm only defines the rounds of one rank. Before it sends anything, the communicator
//! verifies that the rounds of all ranks match and deliver every block. It also compares their
//! price with those of the built-in algorithms, and executes them over any backend. The example
//! then writes the same schedule as JSON, reads it back, and executes it.
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
use necklace::{Communicator, Rank};

type Failed = Box<dyn Error + Send + Sync>;

/// An alltoall in which pairs of ranks swap blocks.
struct Swap;

impl Algorithm for Swap {
    fn about(&self) -> &About {
        const ABOUT: About = About::new("alltoall", "swap", Ports::One)
            .summary("pairs of ranks whose numbers add up to the round swap blocks")
            .source("this example")
            .claims("at most N rounds of one block");
        &ABOUT
    }

    /// `auto` and [`Communicator::explain`] compute prices from these claims. They count or bound
    /// other demands.
    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        // With three ranks or more, every round has a pair. Two ranks swap only in round 1.
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

fn main() -> Result<(), Failed> {
    // All ranks that are threads share this value, so it is verified once.
    let swap = How::from(Arc::new(Swap));
    for report in Launch::from_env().ranks(5).run(|comm| exchange(comm, &swap))? {
        if let Some(report) = report? {
            println!("{report}");
        }
    }
    Ok(())
}

/// Exchanges numbers by several methods. Rank 0 prints a report.
fn exchange(mut comm: Communicator, swap: &How) -> Result<Option<String>, Failed> {
    // First for one call, then as the default.
    check(&mut comm.using(swap))?;
    check(&mut comm)?;
    comm.choose("alltoall", swap)?;
    check(&mut comm)?;
    let choice = comm.explain(&Collective::Alltoall, size_of::<usize>())?;
    let proof = comm.prove(&Collective::Alltoall, size_of::<usize>())?;

    // As a document, which could also come from a file or from another program.
    let problem = Problem::placed(Arc::clone(comm.topology()), comm.placement().clone(), Collective::Alltoall)?;
    let text = to_json(&Swap.shares(&problem)?.collect()?);
    let schedule = from_json(&text)?;
    let plan = {
        let mut comm = comm.using(schedule);
        check(&mut comm)?;
        comm.alltoall_init::<usize>(1)?
    };
    let bytes = text.len();
    let report = || {
        let words = plan.description();
        format!("{choice}\n\nProved, and run:\n{proof}\n\nAs {bytes} bytes of JSON, read back:\n{words}")
    };
    Ok((comm.rank() == 0).then(report))
}

/// Sends every rank a number that encodes source and destination, and checks the received ones.
fn check(comm: &mut Communicator) -> Result<(), Failed> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let send: Vec<usize> = (0..ranks).map(|to| 1000 * rank + to).collect();
    let mut receive = vec![0; ranks];
    comm.alltoall(&send, &mut receive)?;
    assert!(receive.iter().copied().eq((0..ranks).map(|from| 1000 * from + rank)), "rank {rank} received {receive:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use necklace::schedule::verify_shares;
    use necklace::topology::Complete;

    #[test]
    fn claims_equal_the_counts() -> Result<(), Box<dyn Error>> {
        for ranks in 1..20 {
            let network = Complete::new(ranks)?;
            let problem = Problem::new(Arc::new(network), Collective::Alltoall)?;
            let proof = verify_shares(Swap.shares(&problem)?)?;
            assert_eq!(proof.contradicts(&Swap.claims(&problem)), []);
        }
        Ok(())
    }
}
