//! Counts what the ranks of a host send to other hosts, and what they do together.

use crate::algorithm::Algorithm;
use crate::block::Volume;
use crate::vocabulary::{HostLoads, HostWork, Problem, RankAmounts, Work};

/// Returns the sum over rounds of the largest volume that leaves or enters one host, and the most
/// work of one host. `None` for more than `most` ranks, or for more rounds than a schedule may have.
pub(super) fn count(algorithm: &dyn Algorithm, problem: &Problem, most: usize) -> Option<(Volume, Work)> {
    let Some(hosts) = problem.hosts() else { return Some((Volume::ZERO, Work::default())) };
    if problem.ranks() > most {
        return None;
    }
    let (mut loads, mut work, mut sum) = (HostLoads::new(hosts), HostWork::new(hosts), Volume::ZERO);
    let mut ranks: Vec<_> = problem.all().map(|rank| (rank, algorithm.amounts(problem, rank))).collect();
    for _ in 0..=problem.max_rounds() {
        let mut more = false;
        for (rank, amounts) in &mut ranks {
            let Some(RankAmounts { sends, receives, combined, .. }) = amounts.next() else { continue };
            more = true;
            let (waits, handled) = (u64::from(receives > 0), (sends.len() + receives) as u64);
            work.add(*rank, Work { waits, handled, received: Volume::ZERO, combined });
            for amount in sends {
                loads.add(*rank, amount.peer, amount.volume);
                work.add(amount.peer, Work { received: amount.volume, ..Work::default() });
            }
        }
        if !more {
            return Some((sum, work.most()));
        }
        sum += loads.end_of_round();
    }
    None
}
