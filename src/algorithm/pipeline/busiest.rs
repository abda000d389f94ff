//! The busiest channels and hosts of a pipeline, which are counted once for all rounds in which the
//! same edges carry a chunk.

use std::collections::BTreeMap;

use super::{Edge, Pipeline};
use crate::block::Volume;
use crate::hash::Map;
use crate::vocabulary::{Combine, HostWork, Hosts, Work};

impl Pipeline {
    /// Returns the sum over rounds of the largest volume that leaves or enters one host, and the most
    /// work of one host, for chunks of this size.
    pub(in crate::algorithm) fn at_hosts(self, hosts: &Hosts, edges: &[Edge], size: Volume) -> (Volume, Work) {
        let (messages, volume) = (self.chunks as u64, size * self.chunks as u64);
        let mut work = HostWork::new(hosts);
        for edge in edges {
            let combined = if edge.combine == Combine::Replace { Volume::ZERO } else { volume };
            work.add(edge.from, Work { handled: messages, ..Work::default() });
            work.add(edge.to, Work { handled: messages, received: volume, combined, ..Work::default() });
        }
        self.add_waits(&mut work, edges);
        if hosts.count() == 1 {
            return (Volume::ZERO, work.most());
        }
        // A message between hosts passes the exit of one and the entry of the other.
        let ends = |edge: &Edge| match [edge.from, edge.to].map(|rank| hosts.host(rank).unwrap_or_default() as u64) {
            [from, to] if from == to => vec![],
            [from, to] => vec![2 * from, 2 * to + 1],
        };
        let most = self.busiest(edges, ends).into_iter().map(|((load, _), rounds)| load * rounds).sum::<u64>();
        (size * most, work.most())
    }

    /// Adds the rounds in which chunks arrive at each rank. Chunks along several edges may arrive
    /// in one round.
    fn add_waits(self, work: &mut HostWork, edges: &[Edge]) {
        let Self { chunks, period, .. } = self;
        let mut arrivals: Vec<_> =
            edges.iter().map(|edge| (edge.to, edge.first % period, edge.first / period)).collect();
        arrivals.sort_unstable();
        for (at, &(to, offset, first)) in arrivals.iter().enumerate() {
            let next = arrivals.get(at + 1).filter(|next| (next.0, next.1) == (to, offset));
            let waits = next.map_or(chunks, |next| (next.2 - first).min(chunks)) as u64;
            work.add(to, Work { waits, ..Work::default() });
        }
    }

    /// Counts for each load of the busiest channel and each longest route the rounds that have
    /// them, where `route` returns the channels of an edge.
    ///
    /// The route of an edge is found once, and its channels are counted when it begins and when it
    /// ends. Rounds in which none does are like the one before.
    pub(super) fn busiest(self, edges: &[Edge], route: impl Fn(&Edge) -> Vec<u64>) -> BTreeMap<(u64, u64), u64> {
        let (mut rounds, mut edges) = (BTreeMap::new(), edges.to_vec());
        edges.sort_unstable_by_key(|edge| edge.first);
        for offset in 0..self.period {
            let routes = edges.iter().filter(|edge| edge.first % self.period == offset);
            let routes: Vec<_> = routes.map(|edge| (edge.first / self.period, route(edge))).collect();
            let (mut begun, mut ended) = (0, 0);
            let mut active = Active::default();
            let mut now = 0;
            while ended < routes.len() {
                while routes.get(begun).is_some_and(|(first, _)| *first == now) {
                    active.add(&routes[begun].1);
                    begun += 1;
                }
                while routes.get(ended).is_some_and(|(first, _)| first + self.chunks == now) {
                    active.remove(&routes[ended].1);
                    ended += 1;
                }
                let begins = routes.get(begun).map(|(first, _)| *first);
                let ends = routes.get(ended).map(|(first, _)| first + self.chunks);
                let next = begins.into_iter().chain(ends).min().unwrap_or(now);
                if ended < begun {
                    *rounds.entry((active.loads.most(), active.hops.most())).or_default() += (next - now) as u64;
                }
                now = next;
            }
        }
        rounds
    }
}

/// The messages under way.
#[derive(Default)]
struct Active {
    channels: Map<u64>,
    loads: Numbers,
    hops: Numbers,
}

impl Active {
    fn add(&mut self, route: &[u64]) {
        self.hops.add(route.len() as u64);
        for &channel in route {
            let load = self.channels.entry(channel).or_default();
            self.loads.remove(*load);
            *load += 1;
            self.loads.add(*load);
        }
    }

    fn remove(&mut self, route: &[u64]) {
        self.hops.remove(route.len() as u64);
        for &channel in route {
            let load = self.channels.entry(channel).or_default();
            self.loads.remove(*load);
            *load -= 1;
            self.loads.add(*load);
        }
    }
}

/// A multiset of numbers. Zeros do not count.
#[derive(Default)]
struct Numbers(BTreeMap<u64, u64>);

impl Numbers {
    fn add(&mut self, number: u64) {
        if number > 0 {
            *self.0.entry(number).or_default() += 1;
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(times) = self.0.get_mut(&number) {
            *times -= 1;
            if *times == 0 {
                self.0.remove(&number);
            }
        }
    }

    fn most(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(&number, _)| number)
    }
}
