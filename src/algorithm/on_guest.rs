//! Algorithms on embedded networks.

use std::sync::Arc;

use super::definition::{About, Algorithm};
use super::parameters::{Parameter, Settings};
use crate::block::Volume;
use crate::hash::Map;
use crate::ids::{Node, Rank};
use crate::vocabulary::{Amounts, Chains, Claims, Ports, Problem, RankAmounts, RankRound, Route, Share};

/// An algorithm that works on the guest where the network of a problem [has
/// one](crate::topology::Topology::embedding), and as before elsewhere. All algorithms of the
/// [registry](super::registry()) do.
///
/// The schedule is that for the guest. A message takes, for each link of its route in the guest,
/// the path of that link in the host, without the loops that paths make together. So a channel may
/// carry several messages in a round, up to the [congestion](crate::topology::Measures) of the
/// embedding times what a channel of the guest carries. Where the congestion is above 1, schedules
/// that keep to [`Ports::All`] or [`Ports::SameValue`] on the guest keep to no port model.
///
/// If a rank is on a node that no node of the guest is on, the algorithm works on the host.
///
/// Claims that depend on routes are counted, for up to some 2^14 messages over 2^17 channels in all;
/// with more, nothing is claimed of them. An embedding with dilation and congestion 1 keeps all claims.
pub struct OnGuest(Arc<dyn Algorithm>);

/// The most messages that are counted for the claims of one algorithm, and the most channels that
/// they may take together.
const MOST_MESSAGES: usize = 1 << 14;
const MOST_HOPS: usize = 1 << 17;

impl OnGuest {
    /// Wraps an algorithm.
    #[must_use]
    pub fn new(algorithm: Arc<dyn Algorithm>) -> Self {
        Self(algorithm)
    }

    fn wrapped(algorithms: Vec<Arc<dyn Algorithm>>) -> Vec<Arc<dyn Algorithm>> {
        algorithms.into_iter().map(|algorithm| Arc::new(Self(algorithm)) as Arc<dyn Algorithm>).collect()
    }

    /// Calls `call` with the wrapped algorithm and the problem on the guest. Outside embedded
    /// networks, the problem is the original one.
    fn on<R>(&self, problem: &Problem, call: impl FnOnce(&dyn Algorithm, &Problem) -> R) -> R {
        match problem.on_guest() {
            Some(guest) => call(&*self.0, &guest),
            None => call(&*self.0, problem),
        }
    }
}

/// The problem on the guest, and the embedding that carries its messages to the host.
#[derive(Clone)]
struct Carrier {
    guest: Problem,
    host: Problem,
}

impl Carrier {
    fn of(problem: &Problem) -> Option<Self> {
        Some(Self { guest: problem.on_guest()?, host: problem.clone() })
    }

    /// Returns the path of a message in the host, both ends included.
    fn carry(&self, from: Rank, to: Rank, route: &Route) -> Vec<Node> {
        let Some(embedding) = self.host.topology().embedding() else { return vec![] };
        match route {
            Route::Via(nodes) => embedding.carry(nodes),
            Route::Default => {
                let placement = self.guest.placement();
                embedding.carry(&embedding.guest().route(placement.node(from), placement.node(to)))
            }
        }
    }

    /// Returns the route of a message in the host.
    fn route(&self, from: Rank, to: Rank, route: &Route) -> Route {
        let nodes = self.carry(from, to, route);
        let placement = self.host.placement();
        let default = self.host.topology().route(placement.node(from), placement.node(to));
        if nodes == default { Route::Default } else { Route::Via(nodes) }
    }

    fn round(&self, rank: Rank, mut round: RankRound) -> RankRound {
        for end in &mut round.sends {
            end.route = self.route(rank, end.peer, &end.route);
        }
        // Those of the receiver would be nodes of the guest.
        round.receives.iter_mut().for_each(|end| end.route = Route::Default);
        round
    }

    fn amounts(&self, rank: Rank, mut amounts: RankAmounts) -> RankAmounts {
        for amount in &mut amounts.sends {
            amount.route = self.route(rank, amount.peer, &amount.route);
        }
        amounts
    }

    /// Counts what depends on routes, unless there are too many messages.
    fn traffic(&self, algorithm: &dyn Algorithm) -> Option<Traffic> {
        let mut traffic = Traffic { shared: 1, ..Traffic::default() };
        for round in self.carried(algorithm)? {
            let mut channels: Map<(Volume, u64)> = Map::default();
            let (mut forwarded, mut hops) = ((Volume::ZERO, Volume::ZERO), 0);
            for Carried { from, to, nodes, volume } in round {
                let length = nodes.len().saturating_sub(1) as u64;
                traffic.chains.add(from, to, length, volume);
                hops = hops.max(length);
                forwarded = forwarded.max((volume * length, volume * length.min(2)));
                for hop in nodes.windows(2) {
                    let channel = (hop[0].index() as u64) << 32 | hop[1].index() as u64;
                    let (load, shared) = channels.entry(channel).or_default();
                    (*load, *shared) = (*load + volume, *shared + 1);
                }
            }
            traffic.channel += channels.values().map(|(load, _)| *load).max().unwrap_or_default();
            traffic.shared = channels.values().map(|(_, shared)| *shared).max().unwrap_or_default().max(traffic.shared);
            if hops > 0 {
                traffic.chains.end_of_round();
            }
            traffic.forwarded += forwarded.0;
            traffic.ends += forwarded.1;
            traffic.hops += hops;
        }
        Some(traffic)
    }

    /// Returns the messages of each round, unless there are too many. One rank after the other, since the
    /// shares of all may take much memory together.
    fn carried(&self, algorithm: &dyn Algorithm) -> Option<Vec<Vec<Carried>>> {
        let mut rounds: Vec<Vec<Carried>> = vec![];
        let (mut messages, mut hops) = (0, 0);
        for from in self.guest.all() {
            for (round, amounts) in algorithm.amounts(&self.guest, from).enumerate() {
                if rounds.len() <= round {
                    rounds.push(vec![]);
                }
                messages += amounts.sends.len();
                if messages > MOST_MESSAGES {
                    return None;
                }
                for sent in amounts.sends {
                    let nodes = self.carry(from, sent.peer, &sent.route);
                    hops += nodes.len().saturating_sub(1);
                    if hops > MOST_HOPS {
                        return None;
                    }
                    rounds[round].push(Carried { from, to: sent.peer, nodes, volume: sent.volume });
                }
            }
        }
        Some(rounds)
    }
}

/// A message of a round, and its path in the host.
struct Carried {
    from: Rank,
    to: Rank,
    nodes: Vec<Node>,
    volume: Volume,
}

/// What depends on the routes of messages, as in [`Claims`].
#[derive(Default)]
struct Traffic {
    channel: Volume,
    forwarded: Volume,
    ends: Volume,
    hops: u64,
    /// The most transfers over one channel in a round.
    shared: u64,
    chains: Chains,
}

impl Algorithm for OnGuest {
    fn about(&self) -> &About {
        self.0.about()
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.0.parameters()
    }

    fn settings(&self) -> Settings {
        self.0.settings()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(self.0.with(settings)?)))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        Self::wrapped(self.on(problem, |algorithm, problem| algorithm.variants(problem)))
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        Self::wrapped(self.on(problem, |algorithm, problem| algorithm.alternatives(problem)))
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn priced_as(&self) -> Option<&'static [&'static str]> {
        self.0.priced_as()
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        self.on(problem, |algorithm, problem| algorithm.lacks(problem))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let Some(carrier) = Carrier::of(problem) else { return self.0.claims(problem) };
        let claims = self.0.claims(&carrier.guest);
        let measures = problem.topology().embedding().map(|embedding| *embedding.measures()).unwrap_or_default();
        if measures.dilation <= 1 && measures.congestion <= 1 {
            return claims;
        }
        let claims = claims.completed(self.0.ports(&carrier.guest));
        let traffic = carrier.traffic(&*self.0);
        // Uncounted, messages on different channels of the guest may be on one of the host.
        let contention_free = measures.congestion <= 1 && claims.contention_free;
        let chained = traffic.as_ref().and_then(|traffic| traffic.chains.longest());
        Claims {
            channel_transmission: traffic.as_ref().map(|traffic| traffic.channel),
            forwarded_transmission: traffic.as_ref().map(|traffic| traffic.forwarded),
            end_transmission: traffic.as_ref().map(|traffic| traffic.ends),
            hops: traffic.as_ref().map(|traffic| traffic.hops),
            chained_hops: chained.map(|(hops, _)| hops),
            chained_forwarded: chained.map(|(_, forwarded)| forwarded),
            contention_free: traffic.map_or(contention_free, |traffic| traffic.shared <= 1),
            ..claims
        }
    }

    fn ports(&self, problem: &Problem) -> Ports {
        let congested = problem.topology().embedding().is_some_and(|embedding| embedding.measures().congestion > 1);
        match self.on(problem, |algorithm, problem| algorithm.ports(problem)) {
            Ports::All | Ports::SameValue if congested && problem.on_guest().is_some() => Ports::Unlimited,
            ports => ports,
        }
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        self.on(problem, |algorithm, problem| algorithm.phases(problem))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let Some(carrier) = Carrier::of(problem) else { return self.0.rounds(problem, rank) };
        let rounds = self.0.rounds(&carrier.guest, rank);
        Box::new(rounds.map(move |round| carrier.round(rank, round)))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let Some(carrier) = Carrier::of(problem) else { return self.0.amounts(problem, rank) };
        let amounts = self.0.amounts(&carrier.guest, rank);
        Box::new(amounts.map(move |amounts| carrier.amounts(rank, amounts)))
    }
}
