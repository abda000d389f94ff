//! The use of channels: of all channels of a network, or, if most are never used, of those in use.

use std::collections::HashSet;

use super::SimulateError;
use super::network::Network;
use crate::algorithm::Algorithm;
use crate::hash::Map;
use crate::ids::Rank;
use crate::vocabulary::{Problem, Route, Schedule};

/// The maximum number of channels in a list, 16 bytes each.
const PLACES: usize = 1 << 28;

/// A network with at most this number of channels, or a larger one with at most this number for
/// each node, has a list in any case.
const FEW: (usize, usize) = (1 << 20, 64);

/// The maximum number of channels in a map: 25 bytes each in a map that is half empty after it has
/// grown, while the previous one still exists.
const USED: usize = 1 << 25;

/// A list is preferred if it is at most this many times as long as a map: its entries are smaller
/// and faster.
const PLACES_FOR_USED: u128 = 8;

#[derive(Clone, Copy, Default)]
pub(super) struct Channel {
    pub(super) free: u64,
    pub(super) carrying: u64,
}

/// The use of channels, by their numbers.
pub(super) enum Channels {
    All(Vec<Channel>),
    Used(Map<Channel>),
}

impl Channels {
    /// Chooses between list and map. `used` returns an upper limit of the channels in use, if it is
    /// known.
    pub(super) fn new(
        network: &Network,
        problem: &Problem,
        used: impl FnOnce() -> Option<u128>,
    ) -> Result<Self, SimulateError> {
        let topology = problem.topology();
        let (nodes, places) = (topology.nodes(), network.places(topology.nodes()));
        let all = |places| Self::All(vec![Channel::default(); places]);
        if places <= FEW.0.max(nodes.saturating_mul(FEW.1)) && places <= PLACES {
            return Ok(all(places));
        }
        let used = used().map(|used| used.min(topology.channels() as u128));
        if places <= PLACES && used.is_none_or(|used| used.saturating_mul(PLACES_FOR_USED) >= places as u128) {
            return Ok(all(places));
        }
        if let Some(used) = used.filter(|&used| used > USED as u128) {
            return Err(too_many(problem, usize::try_from(used).unwrap_or(usize::MAX)));
        }
        Ok(Self::Used(Map::default()))
    }

    /// Returns the channel of a number.
    pub(super) fn at(&mut self, number: usize) -> &mut Channel {
        match self {
            Self::All(channels) => &mut channels[number],
            Self::Used(channels) => channels.entry(number as u64).or_default(),
        }
    }

    /// Fails if too many channels are in use.
    pub(super) fn fit(&self, problem: &Problem) -> Result<(), SimulateError> {
        match self {
            Self::Used(channels) if channels.len() > USED => Err(too_many(problem, channels.len())),
            _ => Ok(()),
        }
    }

    /// Returns the time for which each channel carried bytes.
    pub(super) fn carrying(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Self::All(channels) => Box::new(channels.iter().map(|channel| channel.carrying)),
            Self::Used(channels) => Box::new(channels.values().map(|channel| channel.carrying)),
        }
    }
}

fn too_many(problem: &Problem, found: usize) -> SimulateError {
    SimulateError::TooLarge { what: "channels in use", found, limit: USED, topology: problem.topology().text() }
}

/// Returns the maximum number of channels that an algorithm uses, estimated from four ranks: the
/// first, the middle one, the last and the root.
pub(super) fn used(algorithm: &dyn Algorithm, problem: &Problem, network: &Network) -> u128 {
    let ranks = problem.ranks();
    let root = problem.collective().root().unwrap_or_default();
    let some = [0, ranks / 2, ranks.saturating_sub(1)].map(Rank::new).into_iter().chain([root]);
    let (mut ways_out, mut ways_in) = (0, 0);
    for rank in some {
        // The default route to a peer is always the same.
        let (mut peers, mut given, mut received) = (HashSet::new(), 0, 0);
        for round in algorithm.amounts(problem, rank).take(problem.max_rounds()) {
            for send in &round.sends {
                match send.route {
                    Route::Default => drop(peers.insert(send.peer)),
                    Route::Via(_) => given += 1,
                }
            }
            received += round.receives as u128;
        }
        ways_out = ways_out.max(peers.len() as u128 + given);
        ways_in = ways_in.max(received);
    }
    // All ranks together send as many messages as they receive, even if one rank sends far more
    // than the others.
    ways_out.min(ways_in).saturating_mul(ranks as u128).saturating_mul(network.diameter())
}

/// Returns the maximum number of channels that the transfers of a schedule use.
pub(super) fn used_by(schedule: &Schedule, network: &Network) -> u128 {
    let transfers = schedule.rounds.iter().flat_map(|round| &round.transfers);
    transfers
        .map(|transfer| match &transfer.route {
            Route::Default => network.diameter(),
            Route::Via(nodes) => nodes.len() as u128,
        })
        .fold(0, u128::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::find;
    use crate::collective::Collective;
    use crate::topology::parse;

    fn problem(topology: &str, collective: &str) -> Problem {
        let collective = Collective::named(collective, Rank::new(3)).unwrap();
        Problem::new(parse(topology).unwrap(), collective).unwrap()
    }

    #[test]
    fn channels_in_use_are_bounded_by_four_ranks() {
        for (topology, collective, algorithm, expected) in [
            ("complete:1000", "alltoall", "direct", 999_000),
            ("complete:1000", "allgather", "ring", 1000),
            ("complete:1000", "gather", "direct", 1000),
            ("complete:1000", "scatter", "direct", 1000),
            ("complete:1000", "broadcast", "binomial", 1000),
            ("complete:1024", "allreduce", "recursive-doubling", 10_240),
            ("ghc:32x32", "scan", "recursive-doubling", 20_480),
        ] {
            let problem = problem(topology, collective);
            let algorithm = find(problem.collective(), algorithm).unwrap();
            let network = Network::new(&problem).unwrap();
            assert_eq!(used(&*algorithm, &problem, &network), expected, "{collective} on {topology}");
        }
    }

    #[test]
    fn unused_channels_take_no_memory() {
        let made = |topology: &str, used: Option<u128>| {
            let problem = problem(topology, "alltoall");
            Channels::new(&Network::new(&problem).unwrap(), &problem, || used)
        };
        let all = |topology: &str, used| matches!(made(topology, used), Ok(Channels::All(_)));
        // Few channels: `used` is not called.
        assert!(all("complete:1000", Some(0)) && all("torus:100x100x10", Some(0)));
        assert!(all("complete:1100", Some(200_000)) && !all("complete:1100", Some(100_000)));
        assert!(all("complete:1100", None));
        assert!(!all("complete:100000", None) && made("complete:100000", Some(USED as u128)).is_ok());
        let error = made("complete:100000", Some(USED as u128 + 1)).err().unwrap();
        let expected = "33554433 channels in use on complete:100000, at most 33554432 can be simulated";
        assert_eq!(error.to_string(), expected);
        // Never more than the network has.
        let error = made("complete:100000", Some(u128::MAX)).err().unwrap();
        assert!(error.to_string().starts_with("9999900000 channels in use"), "{error}");
    }
}
