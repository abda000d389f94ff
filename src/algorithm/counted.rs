//! Channel loads that are counted message by message, along the routes of the network.

use crate::hash::Map;
use crate::ids::Rank;
use crate::vocabulary::Problem;

/// The loads of the messages of one round, counted one by one: for networks and placements without
/// a formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// The load of the busiest channel.
    pub(super) load: u64,
    /// The most messages over one channel.
    pub(super) shared: u64,
    /// The longest route.
    pub(super) hops: u64,
}

/// The most messages that are counted for one algorithm, and the most channels that are searched
/// for their routes. Every rank spends these few milliseconds before it plans.
pub(super) const MOST_MESSAGES: u128 = 1 << 14;
const MOST_SEARCHED: usize = 1 << 20;

impl Counted {
    /// Returns whether this many messages may be counted.
    pub(super) fn fits(problem: &Problem, messages: u128) -> bool {
        let topology = problem.topology();
        let network = topology.nodes().saturating_add(topology.channels());
        messages <= MOST_MESSAGES && problem.ranks().saturating_mul(network) <= MOST_SEARCHED
    }

    /// Counts at most `most` messages, given as source, destination and blocks.
    pub(super) fn of(
        problem: &Problem,
        most: u128,
        messages: impl Iterator<Item = (usize, usize, u64)>,
    ) -> Option<Self> {
        let mut counted = Self { load: 0, shared: 0, hops: 0 };
        let mut channels: Map<(u64, u64)> = Map::default();
        for (from, to, blocks) in Self::fits(problem, most).then_some(messages)? {
            let node = |rank| problem.placement().node(Rank::new(rank));
            let route = problem.topology().route(node(from), node(to));
            counted.hops = counted.hops.max(route.len().saturating_sub(1) as u64);
            for hop in route.windows(2) {
                let channel = (hop[0].index() as u64) << 32 | hop[1].index() as u64;
                let (load, shared) = channels.entry(channel).or_default();
                (*load, *shared) = (*load + blocks, *shared + 1);
                (counted.load, counted.shared) = (counted.load.max(*load), counted.shared.max(*shared));
            }
        }
        Some(counted)
    }
}
