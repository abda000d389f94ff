//! Chunks that follow each other along arc-disjoint trees, from the root or to it.
//!
//! A block is cut into T parts, one for each tree, and each part into k chunks. On an arc of a tree
//! whose tail is at depth p, chunk c is sent in round p + c. No two trees share an arc, so no
//! channel carries two messages in a round. On the way to the root, the same messages are sent
//! backwards in reverse order, and contributions are combined.
//!
//! On products of rings, complete networks and windows that wrap round, the trees from any root are
//! those from node 0, translated.

use std::sync::Arc;

use super::packing::Arborescences;
use crate::algorithm::course::Course;
use crate::algorithm::group::Group;
use crate::algorithm::kept::Kept;
use crate::algorithm::pipeline::{Edge, Filling, Pipeline, number};
use crate::algorithm::{Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::Topology;
use crate::vocabulary::{Combine, End, Hosts, Problem, RankRound, Share, Work};

/// What algorithms along these trees need.
pub(in crate::algorithm) const NEEDS: &str = "a rank on every node of a network that is not complete, of at most 1024 nodes and 16384 channels, or 65536 in products of rings, complete networks and windows that wrap round";

/// The same, and what algorithms that combine contributions need.
pub(in crate::algorithm) const NEEDS_TO_COMBINE: &str = "a rank on every node of a network that is not complete, of at most 1024 nodes and 16384 channels, or 65536 in products of rings, complete networks and windows that wrap round; an operation that commutes";

/// The most ranks, and the most channels of products and of other networks, for which trees are
/// packed. This takes up to half a second.
const MAX_RANKS: usize = 1 << 10;
const MAX_OF_PRODUCTS: usize = 1 << 16;
const MAX_CHANNELS: usize = 1 << 14;

/// Returns what a problem lacks for these trees.
///
/// On a complete network, the trees are paths of two channels through every other node. Other
/// algorithms send the same parts there in fewer messages, and are faster among threads and
/// processes of one host.
pub(in crate::algorithm) fn lacks(problem: &Problem) -> Option<String> {
    let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
    if ranks != nodes {
        return Some(format!("it needs a rank on every node; there are {ranks} ranks on {nodes} nodes"));
    }
    if ranks > MAX_RANKS {
        return Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}"));
    }
    if is_complete(problem) {
        let instead = if problem.collective().is_reduction() { "direct or direct-parts" } else { "direct" };
        return Some(format!("it is for networks that are not complete; use {instead}"));
    }
    let most = if Group::of(problem).is_some() { MAX_OF_PRODUCTS } else { MAX_CHANNELS };
    let channels = problem.topology().channels();
    (channels > most).then(|| format!("it needs at most {most} channels; there are {channels}"))
}

/// Returns what a problem lacks if contributions are combined along these trees.
pub(in crate::algorithm) fn lacks_to_combine(problem: &Problem) -> Option<String> {
    lacks(problem).or_else(|| Course::Up.lacks_order(problem))
}

/// The messages of chunks along trees.
#[derive(Debug)]
pub(in crate::algorithm) struct Streams {
    trees: Arc<Arborescences>,
    depth: usize,
    /// By node of the trees: the rank there.
    ranks: Vec<Rank>,
    chunks: usize,
    /// Whether the messages go to the root.
    up: bool,
}

/// The messages over one arc of a tree.
#[derive(Clone, Copy, Debug)]
struct Stream {
    tree: usize,
    from: Rank,
    to: Rank,
    /// The round of the first chunk.
    first: usize,
}

impl Streams {
    /// Returns the messages from the root, for a problem that [`lacks`] nothing.
    pub(in crate::algorithm) fn down(problem: &Problem, chunks: usize) -> Self {
        Self::of(problem, chunks, false)
    }

    /// Returns the messages to the root, for a problem that [lacks](lacks_to_combine) nothing.
    pub(in crate::algorithm) fn up(problem: &Problem, chunks: usize) -> Self {
        Self::of(problem, chunks, true)
    }

    fn of(problem: &Problem, chunks: usize, up: bool) -> Self {
        static PACKED: Kept<(Vec<Vec<usize>>, usize), Arc<Arborescences>> = Kept::new(8);
        let (topology, placement) = (problem.topology(), problem.placement());
        let root = problem.collective().root().unwrap_or_default();
        let nodes = 0..topology.nodes();
        let (start, ranks) = match Group::of(problem) {
            Some(group) => (0, nodes.clone().map(|node| Rank::new(group.add(node, root.index()))).collect()),
            None => {
                let rank = |node| placement.rank(Node::new(node)).unwrap_or_default();
                (placement.node(root).index(), nodes.map(rank).collect())
            }
        };
        let key = (network(&**topology), start);
        let trees = PACKED.get(key.clone(), || Arc::new(Arborescences::pack(&key.0, key.1)));
        Self { depth: trees.depth(), trees, ranks, chunks: number(chunks), up }
    }

    /// Returns how long the trees take to fill.
    pub(in crate::algorithm) fn filling(&self) -> Filling {
        Filling { depth: self.depth, period: 1 }
    }

    /// Returns the number of rounds in which anything is sent.
    fn rounds(&self) -> usize {
        if self.depth == 0 { 0 } else { self.depth + self.chunks - 1 }
    }

    /// Returns the messages over the arc to a node in each tree.
    fn streams_to(&self, node: usize) -> impl Iterator<Item = Stream> {
        (0..self.trees.trees()).filter_map(move |tree| {
            let (parent, depth) = self.trees.above(tree, node)?;
            let (above, below) = (self.ranks[parent], self.ranks[node]);
            Some(if self.up {
                Stream { tree, from: below, to: above, first: self.depth - 1 - depth }
            } else {
                Stream { tree, from: above, to: below, first: depth }
            })
        })
    }

    fn streams(&self) -> impl Iterator<Item = Stream> {
        (0..self.ranks.len()).flat_map(|node| self.streams_to(node))
    }

    /// Returns the rounds of a rank, for this block.
    pub(in crate::algorithm) fn share(&self, rank: Rank, block: Block) -> Share {
        let streams: Vec<Stream> = self.streams().filter(|stream| stream.from == rank || stream.to == rank).collect();
        let (up, chunks, of) = (self.up, self.chunks, (self.trees.trees() * self.chunks) as u32);
        Box::new((0..self.rounds()).map(move |round| {
            let mut all = RankRound::default();
            for &Stream { tree, from, to, first } in &streams {
                let Some(chunk) = round.checked_sub(first).filter(|&chunk| chunk < chunks) else { continue };
                let blocks = block.chunks((tree * chunks + chunk) as u32, of, 1).into_iter().collect();
                let end = |peer| End::new(peer, blocks).combined(combine(up, from, to));
                if from == rank { all.sends.push(end(to)) } else { all.receives.push(end(from)) }
            }
            all
        }))
    }

    /// Returns the claims, counted from the trees.
    pub(in crate::algorithm) fn claims(&self, problem: &Problem) -> Claims {
        let rounds = self.rounds() as u64;
        let size = Volume::new(1, (self.trees.trees() * self.chunks) as u64);
        let Counts { received, sent_or_received, handled, messages } = self.counts();
        // To the root of a star, all others send in all rounds, and no message depends on another.
        let single = (self.depth == 1 && self.up).then_some(());
        Claims {
            startups: Some(rounds),
            transmission: Some(size * rounds),
            port_transmission: Some(size * sent_or_received),
            received: Some(size * received),
            hops: Some(rounds),
            chained_hops: single.map(|()| 1),
            chained_forwarded: single.map(|()| size * rounds),
            rearrangements: Some(0),
            combined: Some(if self.up { size * received } else { Volume::ZERO }),
            handled: Some(handled),
            messages: Some(messages),
            volume: Some(size * messages),
            at_hosts: problem.hosts().map(|hosts| self.at_hosts(hosts, size)),
            contention_free: true,
            ..Claims::default()
        }
    }

    /// Returns what passes the busiest host, and the most work of a host, for chunks of this size.
    fn at_hosts(&self, hosts: &Hosts, size: Volume) -> (Volume, Work) {
        let edge = |Stream { from, to, first, .. }| Edge { from, to, combine: combine(self.up, from, to), first };
        let edges: Vec<Edge> = self.streams().map(edge).collect();
        Pipeline::of_chain(self.chunks, self.depth).at_hosts(hosts, &edges, size)
    }

    /// Counts messages. Between the first round in which all streams flow and the first in which
    /// one has ended, all rounds are alike.
    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let mut begins: Vec<Vec<Stream>> = vec![vec![]; self.depth];
        let mut sends = vec![0; self.ranks.len()];
        for stream in self.streams() {
            begins[stream.first].push(stream);
            sends[stream.from.index()] += self.chunks as u64;
        }
        counts.messages = sends.into_iter().max().unwrap_or(0);
        // By rank: the messages that it sends and receives now.
        let mut now = vec![(0_u64, 0_u64); self.ranks.len()];
        let mut round = 0;
        while round < self.rounds() {
            for stream in begins.get(round).into_iter().flatten() {
                now[stream.from.index()].0 += 1;
                now[stream.to.index()].1 += 1;
            }
            for stream in round.checked_sub(self.chunks).and_then(|begun| begins.get(begun)).into_iter().flatten() {
                now[stream.from.index()].0 -= 1;
                now[stream.to.index()].1 -= 1;
            }
            let next = if round + 1 >= self.depth && round < self.chunks { self.chunks } else { round + 1 };
            let (times, most) =
                ((next - round) as u64, |of: fn(&(u64, u64)) -> u64| now.iter().map(of).max().unwrap_or(0));
            let (sent, received) = (most(|now| now.0), most(|now| now.1));
            counts.received += times * received;
            counts.sent_or_received += times * sent.max(received);
            counts.handled += times * (sent + received);
            round = next;
        }
        counts
    }
}

/// Returns how a rank takes what arrives from another.
fn combine(up: bool, from: Rank, to: Rank) -> Combine {
    if up { Combine::in_rank_order(from, to) } else { Combine::Replace }
}

/// Returns the neighbours of each node. Of a topology that breaks its contract, only links in both
/// directions count.
fn network(topology: &dyn Topology) -> Vec<Vec<usize>> {
    let neighbours = |node| {
        let mut all: Vec<usize> = topology.neighbours(Node::new(node)).into_iter().map(Node::index).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let network: Vec<Vec<usize>> = (0..topology.nodes()).map(neighbours).collect();
    let is_link = |a: usize, b: usize| a != b && network.get(b).is_some_and(|back| back.binary_search(&a).is_ok());
    let links = |(a, all): (usize, &Vec<usize>)| all.iter().copied().filter(|&b| is_link(a, b)).collect();
    network.iter().enumerate().map(links).collect()
}

/// Numbers of messages: sums over rounds of those of the busiest rank, and those that the busiest
/// rank sends in all.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    received: u64,
    sent_or_received: u64,
    handled: u64,
    messages: u64,
}
