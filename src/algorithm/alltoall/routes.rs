//! Routes of an alltoall that load all channels alike, and a schedule of their hops, on networks of
//! some hundred nodes.
//!
//! Each route in turn is replaced by the cheapest one, where a channel is the dearer the more routes
//! it has, as long as routes lead over channels with too many. Then hops are scheduled one after the
//! other: in each round, a channel takes the units whose route has the busiest channels ahead.
//!
//! All of this depends on the network alone, so every rank computes the same schedule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::algorithm::row_exchange::{NodeRound, Table, Unit, send};

/// The nodes of a route.
pub(super) type Route = Vec<usize>;

/// How to find a cheap route in a network.
pub(super) trait Router: Clone {
    /// Replaces a route by the cheapest one between its ends that is considered.
    fn find_cheapest(&mut self, prices: &Prices, route: &mut Route);
}

/// The number of passes over all routes, and the attempts: each aims at a load below that of the
/// busiest channel by this fraction of it, 1/16 or 1/8.
const PASSES: usize = 16;
const SHARES: [usize; 2] = [16, 8];

/// Replaces routes, as long as the busiest channel may carry less. Takes the best of a few
/// attempts, unless one is within a twentieth of the least that the busiest channel carries.
pub(super) fn rerouted(routes: &[Route], nodes: usize, least: usize, router: &impl Router) -> Vec<Route> {
    let mut best = (usize::MAX, vec![]);
    for share in SHARES {
        let attempt = replaced(routes.to_vec(), nodes, least, share, router);
        if attempt.0 < best.0 {
            best = attempt;
        }
        if 20 * best.0 <= 21 * least {
            break;
        }
    }
    best.1
}

/// Replaces routes by those with the fewest hops, as long as no channel carries more than the busiest.
pub(super) fn shortened(mut routes: Vec<Route>, nodes: usize, router: &impl Router) -> Vec<Route> {
    let loads = Loads::of(&routes, nodes);
    // One more than the busiest channel carries is dear, anything less is cheap.
    let dear = loads.busiest() + 1;
    let (mut prices, mut router) = (Prices::of(loads, dear, 24 * dear), router.clone());
    for route in &mut routes {
        prices.add(route, -1);
        router.find_cheapest(&prices, route);
        prices.add(route, 1);
    }
    routes
}

/// Replaces first all routes, then those over channels with too many. Returns what the busiest
/// channel carries, and the routes.
fn replaced(
    mut routes: Vec<Route>,
    nodes: usize,
    least: usize,
    share: usize,
    router: &impl Router,
) -> (usize, Vec<Route>) {
    let mut loads = Loads::of(&routes, nodes);
    let mut best = (loads.busiest(), routes.clone());
    for pass in 0..PASSES {
        if best.0 <= least {
            break;
        }
        let wanted = least.max(best.0 - best.0 / share);
        let before = loads.clone();
        let (mut prices, mut router) = (Prices::of(loads, wanted, 24 << (pass % 4)), router.clone());
        for route in &mut routes {
            if pass == 0 || prices.loads.over(route) > least {
                prices.add(route, -1);
                router.find_cheapest(&prices, route);
                prices.add(route, 1);
            }
        }
        let is_stuck = prices.loads == before;
        loads = prices.loads;
        if is_stuck {
            break;
        }
        if loads.busiest() < best.0 {
            best = (loads.busiest(), routes.clone());
        }
    }
    best
}

/// The number of routes over each channel.
#[derive(Clone, PartialEq)]
struct Loads {
    nodes: usize,
    loads: Vec<i32>,
}

impl Loads {
    fn of(routes: &[Route], nodes: usize) -> Self {
        let mut loads = Self { nodes, loads: vec![0; nodes * nodes] };
        routes.iter().for_each(|route| loads.add(route, 1));
        loads
    }

    fn add(&mut self, route: &[usize], change: i32) {
        route.windows(2).for_each(|hop| self.loads[hop[0] * self.nodes + hop[1]] += change);
    }

    fn at(&self, hop: &[usize]) -> usize {
        self.loads[hop[0] * self.nodes + hop[1]].max(0) as usize
    }

    /// Returns what the busiest channel of a route carries.
    fn over(&self, route: &[usize]) -> usize {
        route.windows(2).map(|hop| self.at(hop)).max().unwrap_or_default()
    }

    fn busiest(&self) -> usize {
        self.loads.iter().copied().max().unwrap_or_default().max(0) as usize
    }
}

/// What one more route over each channel costs. The price of a channel doubles when its load grows
/// by the wanted load divided by the sharpness.
pub(super) struct Prices {
    loads: Loads,
    wanted: usize,
    sharpness: usize,
    /// By the node to which a channel leads, then by the one from which it comes.
    prices: Vec<u64>,
}

/// The low bits of a price, which are 0: a router may use them for what decides between equal
/// prices.
pub(super) const LOW_BITS: u32 = 8;

/// The binary logarithm of the highest price: fewer than 2^8 of them fit a word.
const HIGHEST: usize = 47;

impl Prices {
    /// Returns prices of 0 everywhere.
    pub(super) fn free(nodes: usize) -> Self {
        let loads = Loads::of(&[], nodes);
        Self { loads, wanted: 1, sharpness: 0, prices: vec![0; nodes * nodes] }
    }

    fn of(loads: Loads, wanted: usize, sharpness: usize) -> Self {
        let nodes = loads.nodes;
        let mut all = Self { loads, wanted: wanted.max(1), sharpness, prices: vec![0; nodes * nodes] };
        for from in 0..nodes {
            (0..nodes).for_each(|to| all.price(&[from, to]));
        }
        all
    }

    fn add(&mut self, route: &[usize], change: i32) {
        self.loads.add(route, change);
        route.windows(2).for_each(|hop| self.price(hop));
    }

    fn price(&mut self, hop: &[usize]) {
        let used = self.sharpness * (self.loads.at(hop) + 1) / self.wanted;
        let price = 1 << (used + 24).saturating_sub(self.sharpness).min(HIGHEST);
        self.prices[hop[1] * self.loads.nodes + hop[0]] = price << LOW_BITS;
    }

    /// Returns the prices to a node, by the node from which a channel leads to it.
    pub(super) fn to(&self, node: usize) -> &[u64] {
        &self.prices[node * self.loads.nodes..][..self.loads.nodes]
    }
}

/// The maximum number of times that all units are sorted.
const ORDERS: usize = 1 << 6;

/// Schedules one hop after the other: in each round, a channel takes the units whose route has the
/// busiest channels ahead, then those with the most hops left.
///
/// In each round, what is left for the busiest channels shrinks by the load. So the order of
/// waiting units changes little, and it is enough to sort them now and then.
pub(super) fn scheduled(routes: &[Route], nodes: usize, load: usize, chunks: usize) -> Table {
    let mut left = Loads::of(routes, nodes);
    let channel = |hop: &[usize]| hop[0] * nodes + hop[1];
    // How much is left for the busiest channel ahead, if it had been busy from the first round on.
    let urgency = |left: &Loads, round: usize, unit: usize, at: usize| {
        let ahead = &routes[unit][at..];
        let busiest = ahead.windows(2).map(|hop| left.loads[channel(hop)]).max().unwrap_or_default();
        (busiest as usize + round * load + ahead.len() * load, ahead.len(), Reverse(unit), at)
    };
    let interval = left.busiest().div_ceil(load).div_ceil(ORDERS).max(1);
    // The units that wait for each channel.
    let mut waiting: Vec<BinaryHeap<_>> = vec![BinaryHeap::new(); nodes * nodes];
    let mut moved: Vec<(usize, usize)> = (0..routes.len()).map(|unit| (unit, 0)).collect();
    let mut table = Table { extent: nodes, chunks, rounds: vec![] };
    loop {
        let number = table.rounds.len();
        if number.is_multiple_of(interval) {
            moved.extend(waiting.iter_mut().flat_map(BinaryHeap::drain).map(|(_, _, Reverse(unit), at)| (unit, at)));
        }
        for (unit, at) in moved.drain(..) {
            waiting[channel(&routes[unit][at..])].push(urgency(&left, number, unit, at));
        }
        let mut round = vec![NodeRound::default(); nodes];
        let mut is_over = true;
        for over in &mut waiting {
            for _ in 0..load {
                let Some((_, _, Reverse(unit), at)) = over.pop() else { break };
                let route = &routes[unit];
                let piece = Unit { from: route[0], to: route[route.len() - 1], chunk: unit % chunks };
                send(&mut round, route[at], route[at + 1], piece);
                left.add(&route[at..at + 2], -1);
                is_over = false;
                if at + 2 < route.len() {
                    moved.push((unit, at + 1));
                }
            }
        }
        if is_over {
            return table;
        }
        table.rounds.push(round);
    }
}
