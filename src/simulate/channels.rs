//! What channels have carried: all of a network's, or, where most are never used, those that are.

use std::collections::HashSet;

use super::SimulateError;
use super::network::Network;
use crate::algorithm::Algorithm;
use crate::hash::Map;
use crate::ids::Rank;
use crate::vocabulary::{Problem, Route, Schedule};

/// How many places for channels are kept at most, 16 bytes each.
const PLACES: usize = 1 << 28;

/// How many places a network has at most, and a node of a larger one, for which it is not asked how many are used.
const FEW: (usize, usize) = (1 << 20, 64);

/// How many channels are kept that are used, where there are more places: 25 bytes each in a table that is half empty after it
/// has grown, beside the one before.
const USED: usize = 1 << 25;

/// A place takes less than an entry of a table, and is found sooner.
const PLACES_FOR_USED: u128 = 8;

#[derive(Clone, Copy, Default)]
pub(super) struct Channel {
    pub(super) free: u64,
    pub(super) carrying: u64,
}

/// The channels by their numbers.
pub(super) enum Channels {
    All(Vec<Channel>),
    Used(Map<Channel>),
}

impl Channels {
    /// For a problem on a network, of whose channels no more than `used` are used, where that is known.
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

    /// The one with this number.
    pub(super) fn at(&mut self, number: usize) -> &mut Channel {
        match self {
            Self::All(channels) => &mut channels[number],
            Self::Used(channels) => channels.entry(number as u64).or_default(),
        }
    }

    /// Fails where more have come into use than are kept.
    pub(super) fn fit(&self, problem: &Problem) -> Result<(), SimulateError> {
        match self {
            Self::Used(channels) if channels.len() > USED => Err(too_many(problem, channels.len())),
            _ => Ok(()),
        }
    }

    /// How long each carried bytes.
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

/// How many channels an algorithm uses, at most, by what a few ranks do: the first and last, one between, and the root.
pub(super) fn used(algorithm: &dyn Algorithm, problem: &Problem, network: &Network) -> u128 {
    let ranks = problem.ranks();
    let root = problem.collective().root().unwrap_or_default();
    let some = [0, ranks / 2, ranks.saturating_sub(1)].map(Rank::new).into_iter().chain([root]);
    let (mut ways_out, mut ways_in) = (0, 0);
    for rank in some {
        // The default way to a peer is always the same.
        let (mut peers, mut given, mut received) = (HashSet::new(), 0, 0);
        for round in algorithm.amounts(problem, rank) {
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
    // What all send all receive, also where one rank sends much more than others.
    ways_out.min(ways_in).saturating_mul(ranks as u128).saturating_mul(network.diameter())
}

/// How many channels the transfers of a schedule use, at most.
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
    fn channels_in_use_are_bounded_by_those_of_a_few_ranks() {
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
    fn channels_that_are_never_used_have_no_place() {
        let made = |topology: &str, used: Option<u128>| {
            let problem = problem(topology, "alltoall");
            Channels::new(&Network::new(&problem).unwrap(), &problem, || used)
        };
        let all = |topology: &str, used| matches!(made(topology, used), Ok(Channels::All(_)));
        // Where there are few places nobody asks.
        assert!(all("complete:1000", Some(0)) && all("torus:100x100x10", Some(0)));
        assert!(all("complete:1100", Some(200_000)) && !all("complete:1100", Some(100_000)));
        assert!(all("complete:1100", None));
        assert!(!all("complete:100000", None) && made("complete:100000", Some(USED as u128)).is_ok());
        let error = made("complete:100000", Some(USED as u128 + 1)).err().unwrap();
        let expected = "33554433 channels in use on complete:100000, at most 33554432 can be simulated";
        assert_eq!(error.to_string(), expected);
        // There are never more than the network has.
        let error = made("complete:100000", Some(u128::MAX)).err().unwrap();
        assert!(error.to_string().starts_with("9999900000 channels in use"), "{error}");
    }
}
