//! Embeddings by simulated annealing.

use super::Measures;
use crate::ids::Node;
use crate::numbers::Numbers;
use crate::topology::Topology;

/// The most links that move in a search, where distances are in a table and where they are not, and
/// the most exchanges for each node of the guest.
const MOST: usize = 1 << 25;
const MOST_COMPUTED: usize = 1 << 24;
const FOR_EACH: usize = 1 << 16;

/// The most nodes of a host whose distances are in a table.
const MOST_TABLE: usize = 1 << 10;

/// The number of batches of exchanges while a placement cools. The cost of an exchange that is made
/// with the probability 1/2 falls from batch to batch.
const BATCHES: usize = 64;

/// How a placement cools: what a link of a length costs, and the cost of an exchange that is made with
/// the probability 1/2, at first, in 256ths, and how often that is halved until the last batch.
#[derive(Clone, Copy, Debug)]
struct Cooling {
    /// The weight of the square of a length.
    length: i64,
    /// The weight of the square of what exceeds a length.
    excess: i64,
    over: usize,
    first: i64,
    halvings: usize,
}

impl Cooling {
    /// Makes links short, the longest above all.
    const SHORT: Self = Self { length: 1, excess: 0, over: 0, first: 16 << 8, halvings: 10 };

    /// Makes no link longer than `most`.
    fn within(most: usize) -> Self {
        Self { length: 0, excess: 1, over: most, first: 4 << 8, halvings: 7 }
    }

    /// Makes all links short, but none longer than `most`.
    fn short_within(most: usize) -> Self {
        Self { excess: 1 << 10, over: most, first: 4 << 8, ..Self::SHORT }
    }

    fn cost(&self, length: usize) -> i64 {
        let square = |length: usize| (length * length) as i64;
        self.length * square(length) + self.excess * square(length.saturating_sub(self.over))
    }
}

/// Searches the host's node of each node of the guest.
///
/// First the squares of all lengths are made small, so that long links become rare, in a quarter of
/// the exchanges. Then, as long as there may be a smaller dilation and exchanges are left, only what
/// exceeds it counts. If one is found, lengths are made small within it.
pub(super) fn search(guest: &dyn Topology, host: &dyn Topology, seed: u64) -> Vec<Node> {
    let surroundings = Surroundings::of(host);
    let mut state = State::first(guest, &surroundings);
    // Seeds must differ above the lowest bit.
    let mut numbers = Numbers::new(seed.wrapping_mul(2).wrapping_add(1) ^ 0x9E37_79B9_7F4A_7C15);
    let links = state.neighbours.iter().map(Vec::len).max().unwrap_or_default().max(1);
    let most = if surroundings.table.is_some() { MOST } else { MOST_COMPUTED };
    let exchanges = (most / links).min(FOR_EACH * state.at.len());
    let mut best = state.placement();
    // No placement is better than one on neighbours.
    if best.dilation > 1 {
        state.anneal(&mut numbers, Cooling::SHORT, exchanges / 4, &mut best);
    }
    if best.dilation > 1 {
        let (shortest, least) = (best.dilation, Measures::at_least(guest, host).0);
        let mut left = exchanges - exchanges / 4;
        while best.dilation > least && left > 0 {
            state.go_to(&best);
            let within = Cooling::within(best.dilation - 1);
            left -= state.anneal(&mut numbers, within, left.min(exchanges / 8 + 1), &mut best);
        }
        if best.dilation < shortest {
            state.go_to(&best);
            state.anneal(&mut numbers, Cooling::short_within(best.dilation), exchanges / 8, &mut best);
        }
    }
    best.at.into_iter().map(Node::new).collect()
}

/// The host's node of each node of the guest. The better placement is the smaller: by its dilation,
/// then by the length of all links.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Placement {
    dilation: usize,
    length: usize,
    at: Vec<usize>,
}

/// What is near what in a host.
struct Surroundings<'a> {
    host: &'a dyn Topology,
    /// The distances from each node to all nodes, and its neighbours. A large host has no table.
    table: Option<Vec<(Vec<usize>, Vec<usize>)>>,
}

impl<'a> Surroundings<'a> {
    fn of(host: &'a dyn Topology) -> Self {
        let nodes = host.nodes();
        let row = |from: usize| {
            let distances = (0..nodes).map(|to| host.distance(Node::new(from), Node::new(to))).collect();
            (distances, host.neighbours(Node::new(from)).into_iter().map(Node::index).collect())
        };
        Self { host, table: (nodes <= MOST_TABLE).then(|| (0..nodes).map(row).collect()) }
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        match &self.table {
            Some(table) => table[from].0[to],
            None => self.host.distance(Node::new(from), Node::new(to)),
        }
    }

    /// Returns a neighbour of a node.
    fn one_near(&self, node: usize, numbers: &mut Numbers) -> usize {
        if let Some(table) = &self.table {
            return table[node].1[numbers.below(table[node].1.len())];
        }
        let near = self.host.neighbours(Node::new(node));
        near[numbers.below(near.len())].index()
    }
}

struct State<'a> {
    surroundings: &'a Surroundings<'a>,
    /// The neighbours of each node of the guest.
    neighbours: Vec<Vec<usize>>,
    /// The host's node of each node of the guest.
    at: Vec<usize>,
    /// The guest's node on each node of the host.
    on: Vec<Option<usize>>,
}

impl<'a> State<'a> {
    /// Puts nodes that are found together, breadth first, near each other.
    fn first(guest: &dyn Topology, surroundings: &'a Surroundings<'a>) -> Self {
        let mut neighbours = vec![vec![]; guest.nodes()];
        for (from, to) in guest.edges() {
            neighbours[from.index()].push(to.index());
            neighbours[to.index()].push(from.index());
        }
        let host = surroundings.host;
        let (order, places) = (breadth_first(guest, guest.nodes()), breadth_first(host, guest.nodes()));
        let (mut at, mut on) = (vec![0; guest.nodes()], vec![None; host.nodes()]);
        for (node, place) in order.into_iter().zip(places) {
            (at[node], on[place]) = (place, Some(node));
        }
        Self { surroundings, neighbours, at, on }
    }

    fn go_to(&mut self, placement: &Placement) {
        self.at.clone_from(&placement.at);
        self.on.fill(None);
        self.at.iter().enumerate().for_each(|(node, &place)| self.on[place] = Some(node));
    }

    /// Cools from the first batch to the last, or until nothing costs. Keeps the best placement found
    /// after a batch. Returns the number of exchanges that were tried.
    fn anneal(&mut self, numbers: &mut Numbers, cooling: Cooling, most: usize, best: &mut Placement) -> usize {
        let mut cost = (0..self.at.len()).map(|node| self.cost(node, &cooling)).sum::<i64>() / 2;
        let batch = most.div_ceil(BATCHES);
        let mut tried = 0;
        for number in 0..BATCHES {
            let scale = cooling.first >> (number * cooling.halvings / BATCHES);
            let end = most.min(tried + batch);
            while tried < end && cost > 0 {
                cost += self.exchange(numbers, &cooling, scale);
                tried += 1;
            }
            let placement = self.placement();
            if placement < *best {
                *best = placement;
            }
            if cost == 0 {
                break;
            }
        }
        tried
    }

    /// Tries to exchange what is on two nodes of the host. What costs c is made with the
    /// probability 2^-(256 c / scale), the exponent rounded up. Returns what it cost.
    fn exchange(&mut self, numbers: &mut Numbers, cooling: &Cooling, scale: i64) -> i64 {
        let node = numbers.below(self.at.len());
        // Half of the exchanges are with the surroundings of a neighbour.
        let place = if numbers.below(2) == 0 || self.neighbours[node].is_empty() {
            numbers.below(self.on.len())
        } else {
            let neighbour = self.neighbours[node][numbers.below(self.neighbours[node].len())];
            self.surroundings.one_near(self.at[neighbour], numbers)
        };
        let before = self.at[node];
        if place == before {
            return 0;
        }
        let other = self.on[place];
        let cost = |state: &Self| state.cost(node, cooling) + other.map_or(0, |other| state.cost(other, cooling));
        let old = cost(self);
        self.put(node, other, before, place);
        let new = cost(self);
        if (new - old).saturating_mul(256) > i64::from(numbers.next().leading_zeros()) * scale {
            self.put(node, other, place, before);
            return 0;
        }
        new - old
    }

    /// Moves a node from one place of the host to another, and what is there back.
    fn put(&mut self, node: usize, other: Option<usize>, from: usize, to: usize) {
        (self.at[node], self.on[to], self.on[from]) = (to, Some(node), other);
        if let Some(other) = other {
            self.at[other] = from;
        }
    }

    /// Returns the cost of the links of a node.
    fn cost(&self, node: usize, cooling: &Cooling) -> i64 {
        self.neighbours[node].iter().map(|&other| cooling.cost(self.length(node, other))).sum()
    }

    fn length(&self, node: usize, other: usize) -> usize {
        self.surroundings.distance(self.at[node], self.at[other])
    }

    fn placement(&self) -> Placement {
        let all = self.neighbours.iter().enumerate();
        let lengths = all.flat_map(|(node, others)| others.iter().map(move |&other| self.length(node, other)));
        let (dilation, length) = lengths.fold((0, 0), |(longest, all), length| (longest.max(length), all + length));
        Placement { dilation, length, at: self.at.clone() }
    }
}

/// Lists the first `count` nodes of a network, breadth first from node 0.
fn breadth_first(network: &dyn Topology, count: usize) -> Vec<usize> {
    let mut found = vec![false; network.nodes()];
    let mut order = vec![0];
    found[0] = true;
    let mut place = 0;
    while place < order.len() && order.len() < count {
        for next in network.neighbours(Node::new(order[place])) {
            if !std::mem::replace(&mut found[next.index()], true) {
                order.push(next.index());
            }
        }
        place += 1;
    }
    order.truncate(count);
    order
}
