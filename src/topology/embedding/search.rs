//! Embeddings by simulated annealing.

use crate::ids::Node;
use crate::numbers::Numbers;
use crate::topology::Topology;

/// The number of batches of exchanges in one attempt. A batch tries `FOR_EACH` for each node, but so
/// few that at most about `MOST` links move.
const BATCHES: usize = 64;
const FOR_EACH: usize = 32;
const MOST: usize = 1 << 18;

/// The most attempts. Large guests get fewer, because the batches of one number in all attempts move
/// at most about `MOST` links together.
const ATTEMPTS: usize = 8;

/// The cost of an exchange that is made with the probability 1/2, at first, in 256ths. It is halved
/// from batch to batch, `HALVINGS` times in all.
const FIRST: i64 = 16 << 8;
const HALVINGS: usize = 10;

/// Searches the host's node of each node of the guest. The cost of a link is the square of its
/// length, so that long links become rare.
pub(super) fn search(guest: &dyn Topology, host: &dyn Topology, seed: u64) -> Vec<Node> {
    let first = State::first(guest, host);
    // Seeds must differ above the lowest bit.
    let mut numbers = Numbers::new(seed.wrapping_mul(2).wrapping_add(1) ^ 0x9E37_79B9_7F4A_7C15);
    let links = first.neighbours.iter().map(Vec::len).max().unwrap_or_default().max(1);
    let batch = (first.at.len() * FOR_EACH).min(MOST / links);
    let attempts = (MOST / (batch * links).max(1)).clamp(1, ATTEMPTS);
    let mut best = first.placement();
    for _ in 0..attempts {
        // No placement is better than one on neighbours.
        if best.dilation <= 1 {
            break;
        }
        best = best.min(first.clone().annealed(&mut numbers, batch));
    }
    best.at.into_iter().map(Node::new).collect()
}

/// The host's node of each node of the guest. The better placement is the smaller: by its dilation,
/// then by the length of all links.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Placement {
    dilation: usize,
    length: usize,
    at: Vec<usize>,
}

#[derive(Clone)]
struct State<'a> {
    host: &'a dyn Topology,
    /// The neighbours of each node of the guest.
    neighbours: Vec<Vec<usize>>,
    /// The host's node of each node of the guest.
    at: Vec<usize>,
    /// The guest's node on each node of the host.
    on: Vec<Option<usize>>,
}

impl<'a> State<'a> {
    /// Puts nodes that are found together, breadth first, near each other.
    fn first(guest: &dyn Topology, host: &'a dyn Topology) -> Self {
        let mut neighbours = vec![vec![]; guest.nodes()];
        for (from, to) in guest.edges() {
            neighbours[from.index()].push(to.index());
            neighbours[to.index()].push(from.index());
        }
        let (order, places) = (breadth_first(guest, guest.nodes()), breadth_first(host, guest.nodes()));
        let (mut at, mut on) = (vec![0; guest.nodes()], vec![None; host.nodes()]);
        for (node, place) in order.into_iter().zip(places) {
            (at[node], on[place]) = (place, Some(node));
        }
        Self { host, neighbours, at, on }
    }

    /// Cools from the first batch to the last. Returns the best placement found after a batch.
    fn annealed(mut self, numbers: &mut Numbers, batch: usize) -> Placement {
        let mut best = self.placement();
        for number in 0..BATCHES {
            let scale = FIRST >> (number * HALVINGS / BATCHES);
            for _ in 0..batch {
                self.exchange(numbers, scale);
            }
            best = best.min(self.placement());
        }
        best
    }

    /// Tries to exchange what is on two nodes of the host. What costs c is made with the
    /// probability 2^-(256 c / scale), the exponent rounded up.
    fn exchange(&mut self, numbers: &mut Numbers, scale: i64) {
        let node = numbers.below(self.at.len());
        // Half of the exchanges are with the surroundings of a neighbour.
        let place = if numbers.below(2) == 0 || self.neighbours[node].is_empty() {
            numbers.below(self.on.len())
        } else {
            let neighbour = self.neighbours[node][numbers.below(self.neighbours[node].len())];
            let around = self.host.neighbours(Node::new(self.at[neighbour]));
            around[numbers.below(around.len())].index()
        };
        let before = self.at[node];
        if place == before {
            return;
        }
        let other = self.on[place];
        let old = self.cost(node) + other.map_or(0, |other| self.cost(other));
        self.put(node, other, before, place);
        let new = self.cost(node) + other.map_or(0, |other| self.cost(other));
        if 256 * (new - old) > i64::from(numbers.next().leading_zeros()) * scale {
            self.put(node, other, place, before);
        }
    }

    /// Moves a node from one place of the host to another, and what is there back.
    fn put(&mut self, node: usize, other: Option<usize>, from: usize, to: usize) {
        (self.at[node], self.on[to], self.on[from]) = (to, Some(node), other);
        if let Some(other) = other {
            self.at[other] = from;
        }
    }

    /// Returns the cost of the links of a node.
    fn cost(&self, node: usize) -> i64 {
        let lengths = self.neighbours[node].iter().map(|&other| self.length(node, other) as i64);
        lengths.map(|length| length * length).sum()
    }

    fn length(&self, node: usize, other: usize) -> usize {
        self.host.distance(Node::new(self.at[node]), Node::new(self.at[other]))
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
