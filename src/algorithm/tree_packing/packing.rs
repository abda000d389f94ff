//! The rounds in which every node gets every block, each once and from a neighbour.

use std::ops::Range;

use super::matching::Matching;

/// The blocks that one channel carries in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) from: u16,
    pub(super) to: u16,
    blocks: Range<u32>,
}

/// The messages of a round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// By sender, and by receiver.
    messages: Vec<Message>,
    /// The numbers of the messages, by receiver.
    arriving: Vec<u32>,
    /// The blocks of all messages, by number of the node that they come from.
    blocks: Vec<u16>,
}

impl Round {
    fn new(mut messages: Vec<Message>, blocks: Vec<u16>) -> Self {
        messages.sort_by_key(|message| (message.from, message.to));
        let mut arriving: Vec<u32> = (0..messages.len() as u32).collect();
        arriving.sort_by_key(|&at| messages[at as usize].to);
        Self { messages, arriving, blocks }
    }

    /// Returns the messages, by sender.
    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the messages from a node.
    pub(super) fn sent(&self, node: usize) -> &[Message] {
        let first = self.messages.partition_point(|message| usize::from(message.from) < node);
        let rest = &self.messages[first..];
        &rest[..rest.partition_point(|message| usize::from(message.from) == node)]
    }

    /// Returns the messages to a node.
    pub(super) fn received(&self, node: usize) -> impl Iterator<Item = &Message> {
        let first = self.arriving.partition_point(|&at| usize::from(self.messages[at as usize].to) < node);
        let all = self.arriving[first..].iter().map(|&at| &self.messages[at as usize]);
        all.take_while(move |message| usize::from(message.to) == node)
    }

    /// Returns the blocks of a message.
    pub(super) fn blocks(&self, message: &Message) -> &[u16] {
        &self.blocks[message.blocks.start as usize..message.blocks.end as usize]
    }

    /// Returns the most blocks over a channel.
    fn most(&self) -> usize {
        self.messages.iter().map(|message| message.blocks.len()).max().unwrap_or(0)
    }
}

/// The neighbours of all nodes, and how far blocks have to go.
struct Network<'a> {
    neighbours: &'a [Vec<usize>],
    /// The hops that a block may have to go on from a node, by node and block: the longest
    /// continuation of a shortest path from the block's origin to the node.
    heights: Vec<u16>,
    diameter: usize,
}

impl<'a> Network<'a> {
    fn new(neighbours: &'a [Vec<usize>]) -> Self {
        let nodes = neighbours.len();
        let (mut heights, mut diameter) = (vec![0_u16; nodes * nodes], 0);
        for origin in 0..nodes {
            let mut distance = vec![usize::MAX; nodes];
            distance[origin] = 0;
            let (mut order, mut next) = (vec![origin], 0);
            while let Some(&at) = order.get(next) {
                next += 1;
                for &to in &neighbours[at] {
                    if distance[to] == usize::MAX {
                        distance[to] = distance[at] + 1;
                        order.push(to);
                    }
                }
            }
            diameter = diameter.max(order.last().map_or(0, |&last| distance[last]));
            for &at in order.iter().rev() {
                let beyond = neighbours[at].iter().filter(|&&to| distance[to] > distance[at]);
                let longest = beyond.map(|&to| heights[to * nodes + origin] + 1).max();
                heights[at * nodes + origin] = longest.unwrap_or(0);
            }
        }
        Self { neighbours, heights, diameter }
    }

    fn height(&self, node: usize, block: usize) -> usize {
        self.heights[node * self.neighbours.len() + block].into()
    }
}

/// Sets of blocks, one for each node.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self { words, bits: vec![0; nodes * words] }
    }

    fn of(&self, node: usize) -> &[u64] {
        &self.bits[node * self.words..(node + 1) * self.words]
    }

    fn has(&self, node: usize, block: usize) -> bool {
        self.bits[node * self.words + block / 64] >> (block % 64) & 1 == 1
    }

    fn insert(&mut self, node: usize, block: usize) {
        self.bits[node * self.words + block / 64] |= 1 << (block % 64);
    }
}

/// A set of blocks, by words.
struct Set<W>(W);

impl<W: Iterator<Item = u64>> Set<W> {
    fn count(self) -> usize {
        self.0.map(|word| word.count_ones() as usize).sum()
    }

    fn blocks(self) -> impl Iterator<Item = usize> {
        self.0.enumerate().flat_map(|(at, word)| {
            let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
            let rests = std::iter::successors(Some(word).filter(|word| *word != 0), next);
            rests.map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }
}

/// Which of the blocks that could come to a node should come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// Those that have the farthest to go from the node, of these the rarest, and then in the order
    /// of the nodes after this one.
    Rarest,
    /// Those that no neighbour gets in the same round, of these those that have the farthest to go,
    /// and then in an order of each node's own. A node that has two channels can get half of its
    /// blocks from each side, if its neighbours get different ones.
    Apart,
}

/// How many blocks a channel may carry in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// As many as the nodes that lack the most for each of their channels can get over all of
    /// these.
    Most,
    /// As many as these nodes lack, divided by the rounds that are left.
    Even,
}

/// The state between two rounds.
struct State<'a> {
    network: &'a Network<'a>,
    held: Sets,
    /// The number of blocks that each node lacks.
    lacking: Vec<usize>,
    /// The number of nodes that hold each block.
    holders: Vec<u16>,
}

impl<'a> State<'a> {
    fn new(network: &'a Network<'a>) -> Self {
        let nodes = network.neighbours.len();
        let mut held = Sets::new(nodes);
        (0..nodes).for_each(|node| held.insert(node, node));
        Self { network, held, lacking: vec![nodes.saturating_sub(1); nodes], holders: vec![1; nodes] }
    }

    fn nodes(&self) -> usize {
        self.lacking.len()
    }

    /// Returns the blocks that a node lacks and a neighbour holds.
    fn offered(&self, node: usize) -> Set<impl Iterator<Item = u64>> {
        let held = self.held.of(node).iter().enumerate();
        Set(held.map(move |(word, held)| {
            let of = |from: &usize| self.held.of(*from)[word];
            self.network.neighbours[node].iter().map(of).fold(0, |all, set| all | set) & !held
        }))
    }

    /// Returns the number of blocks for each channel of the node that has the most for each.
    fn most_per_channel(&self, blocks: impl Fn(usize) -> usize) -> usize {
        let per_channel = |node: usize| blocks(node).div_ceil(self.network.neighbours[node].len().max(1));
        (0..self.nodes()).map(per_channel).max().unwrap_or(0)
    }

    /// Returns whether a channel to a node can bring a block.
    fn can(&self, node: usize) -> impl Fn(usize, u16) -> bool {
        move |channel, block| self.held.has(self.network.neighbours[node][channel], block.into())
    }

    /// Returns the most blocks of a channel for [`Pace::Most`]: the number, the larger the better,
    /// that together with what is left after the round is least.
    fn most(&self) -> usize {
        let offers: Vec<(usize, Vec<usize>)> = (0..self.nodes()).map(|node| self.offers(node)).collect();
        let in_all = |limit: usize| {
            let left = |node: usize| {
                let (offered, by_channel) = &offers[node];
                let room: usize = by_channel.iter().map(|offered| limit.min(*offered)).sum();
                self.lacking[node] - room.min(*offered)
            };
            limit + self.most_per_channel(left)
        };
        // Once the sum grows, it keeps growing, except where values are rounded.
        let (mut best, mut least, mut limit) = (1, in_all(1), 2);
        while limit <= least {
            let sum = in_all(limit);
            if sum > least + 2 {
                break;
            }
            if sum <= least {
                (best, least) = (limit, sum);
            }
            limit += 1;
        }
        best
    }

    /// Returns the number of blocks that could come to a node, and that by each channel.
    fn offers(&self, node: usize) -> (usize, Vec<usize>) {
        let held = self.held.of(node);
        let missing = |from: &usize| {
            let words = self.held.of(*from).iter().zip(held);
            words.map(|(from, held)| (from & !held).count_ones() as usize).sum()
        };
        (self.offered(node).count(), self.network.neighbours[node].iter().map(missing).collect())
    }

    /// Returns the messages of a round, with `left` rounds left, this one included.
    fn round(&self, pace: Pace, first: First, left: usize) -> Round {
        let limit = match pace {
            Pace::Most => self.most(),
            Pace::Even => self.most_per_channel(|node| self.lacking[node]).div_ceil(left),
        };
        let urgent: Vec<Matching> = (0..self.nodes()).map(|node| self.urgent(node, left)).collect();
        let limit = urgent.iter().map(Matching::limit).fold(limit.max(1), usize::max);
        let mut coming = Sets::new(self.nodes());
        for (node, matching) in urgent.iter().enumerate() {
            matching.blocks().for_each(|block| coming.insert(node, block.into()));
        }
        let (mut messages, mut blocks, mut others) = (vec![], vec![], vec![]);
        for (node, mut matching) in urgent.into_iter().enumerate() {
            let from = &self.network.neighbours[node];
            matching.widen(limit);
            self.others(node, first, left, &coming, &mut others);
            // Most nodes take a few of many.
            let (mut rest, mut few) = (&mut others[..], 2 * from.len() * limit);
            while !matching.is_full() && !rest.is_empty() {
                few = rest.len().min(2 * few);
                if few < rest.len() {
                    rest.select_nth_unstable(few);
                }
                let (next, last) = rest.split_at_mut(few);
                next.sort_unstable();
                for &mut order in next {
                    if matching.is_full() {
                        break;
                    }
                    matching.add(order as u16, self.can(node));
                }
                rest = last;
            }
            matching.blocks().for_each(|block| coming.insert(node, block.into()));
            for (from, held) in from.iter().zip(matching.into_held()) {
                let start = blocks.len() as u32;
                blocks.extend(held);
                let blocks = start..blocks.len() as u32;
                if !blocks.is_empty() {
                    messages.push(Message { from: *from as u16, to: node as u16, blocks });
                }
            }
        }
        Round::new(messages, blocks)
    }

    /// Returns which channels bring the blocks to a node that must come in this round, so that the
    /// busiest channel brings as few as possible.
    fn urgent(&self, node: usize, left: usize) -> Matching {
        let from = &self.network.neighbours[node];
        let mut matching = Matching::new(from.len());
        if left > self.network.diameter {
            return matching;
        }
        let is_urgent = |block: &usize| self.network.height(node, *block) + 1 >= left;
        let mut urgent: Vec<usize> = self.offered(node).blocks().filter(is_urgent).collect();
        urgent.sort_by_key(|&block| from.iter().filter(|&&from| self.held.has(from, block)).count());
        for block in urgent {
            while !matching.add(block as u16, self.can(node)) {
                matching.widen(matching.limit() + 1);
            }
        }
        matching
    }

    /// Lists the other blocks that could come to a node, as numbers whose order is that in which
    /// they should come. The last 16 bits are the block. `coming` are the blocks that come to other
    /// nodes in the same round, as far as that is decided.
    fn others(&self, node: usize, first: First, left: usize, coming: &Sets, all: &mut Vec<u64>) {
        let (nodes, from) = (self.nodes(), &self.network.neighbours[node]);
        all.clear();
        for block in self.offered(node).blocks() {
            let height = self.network.height(node, block);
            if height + 1 >= left {
                continue;
            }
            let near = usize::from(u16::MAX) - height;
            let order = match first {
                First::Rarest => [near, self.holders[block].into(), (block + nodes - node) % nodes],
                First::Apart => {
                    let soon = from.iter().any(|&from| coming.has(from, block));
                    [usize::from(soon), near, scattered(node, block).into()]
                }
            };
            all.push(order.into_iter().chain([block]).fold(0, |order, next| order << 16 | next as u64));
        }
    }

    fn deliver(&mut self, round: &Round) {
        for message in round.messages() {
            let to = usize::from(message.to);
            for &block in round.blocks(message) {
                self.held.insert(to, block.into());
                self.holders[usize::from(block)] += 1;
            }
            self.lacking[to] -= message.blocks.len();
        }
    }
}

/// Returns a number that looks random.
fn scattered(node: usize, block: usize) -> u16 {
    let mixed = ((node as u64) << 16 | block as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 48) as u16
}

/// Returns the diameter of a connected network.
pub(super) fn diameter(neighbours: &[Vec<usize>]) -> usize {
    Network::new(neighbours).diameter
}

/// Packs the trees: every block is in time to arrive in `rounds`, if these are at least the
/// diameter. Gives up if it takes more than `most_rounds`.
fn pack(network: &Network<'_>, pace: Pace, first: First, rounds: usize, most_rounds: usize) -> Option<Vec<Round>> {
    let mut state = State::new(network);
    let mut all = vec![];
    while state.lacking.iter().any(|lacking| *lacking > 0) {
        if all.len() == most_rounds {
            return None;
        }
        let round = state.round(pace, first, rounds - all.len());
        // Channels of a network that breaks its contract may lead only one way.
        if round.messages.is_empty() {
            return None;
        }
        state.deliver(&round);
        all.push(round);
    }
    Some(all)
}

/// Returns the blocks over the busiest channel of each round, added up.
pub(super) fn transmission(rounds: &[Round]) -> usize {
    rounds.iter().map(Round::most).sum()
}

/// Returns the least blocks over the busiest channel: a node gets the blocks of all others over its
/// channels.
pub(super) fn bound(neighbours: &[Vec<usize>]) -> usize {
    let others = neighbours.len().saturating_sub(1);
    neighbours.iter().map(|from| others.div_ceil(from.len().max(1))).max().unwrap_or(0)
}

/// Returns the rounds in which every node gets the blocks of all others, in at most this many
/// rounds or in as many as the diameter, for a connected network.
///
/// Up to three packings are made until one reaches the [`bound`], and the best is taken: one
/// without regard to the number of rounds, and two with.
pub(super) fn packed(neighbours: &[Vec<usize>], most_rounds: usize) -> Vec<Round> {
    let network = Network::new(neighbours);
    let (least, most_rounds) = (bound(neighbours), most_rounds.max(network.diameter));
    let tries = [
        (Pace::Most, First::Rarest, usize::MAX),
        (Pace::Even, First::Apart, most_rounds),
        (Pace::Most, First::Apart, most_rounds),
    ];
    let price = |rounds: &Vec<Round>| (transmission(rounds), rounds.len());
    let mut best: Option<Vec<Round>> = None;
    for (pace, first, rounds) in tries {
        if best.as_ref().is_some_and(|best| transmission(best) <= least) {
            break;
        }
        let found = pack(&network, pace, first, rounds, most_rounds);
        best = best.into_iter().chain(found).min_by_key(price);
    }
    best.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;
    use crate::algorithm::neighbours::is_connected;
    use crate::ids::Node;
    use crate::topology::{Topology, parse};

    fn network(text: &str) -> Vec<Vec<usize>> {
        let topology = parse(text).unwrap();
        let of = |node| topology.neighbours(Node::new(node)).into_iter().map(Node::index).collect();
        (0..topology.nodes()).map(of).collect()
    }

    fn linked(nodes: usize, links: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
        let mut neighbours = vec![vec![]; nodes];
        for (a, b) in links {
            if a != b && !neighbours[a].contains(&b) {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        neighbours
    }

    /// A random tree, and random links besides.
    fn random(nodes: usize, more: usize, seed: u64) -> Vec<Vec<usize>> {
        let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % most as u64) as usize
        };
        let mut links: Vec<_> = (1..nodes).map(|node| (node, below(node))).collect();
        links.extend((0..more).map(|_| (below(nodes), below(nodes))));
        linked(nodes, links)
    }

    /// Returns the rounds, and the blocks over the busiest channel of each, after checking that
    /// every node gets every other block once, from a neighbour that has it.
    fn checked(neighbours: &[Vec<usize>], most_rounds: usize) -> (usize, usize) {
        let nodes = neighbours.len();
        let rounds = packed(neighbours, most_rounds);
        let mut held = Sets::new(nodes);
        (0..nodes).for_each(|node| held.insert(node, node));
        for round in &rounds {
            let mut came = vec![];
            for (node, near) in neighbours.iter().enumerate() {
                let mut from = vec![];
                for message in round.received(node) {
                    assert_eq!(usize::from(message.to), node);
                    assert!(round.sent(message.from.into()).contains(message));
                    from.push(usize::from(message.from));
                    for &block in round.blocks(message) {
                        assert!(held.has(message.from.into(), block.into()), "{block} is not at {}", message.from);
                        came.push((node, usize::from(block)));
                    }
                }
                assert!(from.is_sorted_by(|a, b| a < b), "two messages to {node} over one channel");
                assert!(from.iter().all(|from| near.contains(from)));
            }
            for (node, block) in came {
                assert!(!held.has(node, block), "{block} comes to {node} twice");
                held.insert(node, block);
            }
        }
        assert!((0..nodes).all(|node| (0..nodes).all(|block| held.has(node, block))));
        let (diameter, transmission) = (diameter(neighbours), transmission(&rounds));
        assert!((diameter..=most_rounds.max(diameter)).contains(&rounds.len()));
        assert!(transmission >= bound(neighbours));
        (rounds.len(), transmission)
    }

    #[test]
    fn meshes_take_the_diameter_and_the_least_blocks() {
        let lines = (1..=40).map(|a| format!("line:{a}"));
        let planes = (2..=12).flat_map(|a| (2..=12).map(move |b| format!("mesh:{a}x{b}")));
        let spaces = (2..=5).flat_map(|a| (2..=5).flat_map(move |b| (2..=6).map(move |c| format!("mesh:{a}x{b}x{c}"))));
        let others = ["mesh:16x16", "mesh:15x13", "mesh:3x16", "mesh:8x8x4", "mesh:3x3x3x3", "ring:13", "complete:9"];
        for text in lines.chain(planes).chain(spaces).chain(others.map(str::to_owned)) {
            let network = network(&text);
            assert_eq!(checked(&network, 0), (diameter(&network), bound(&network)), "{text}");
        }
    }

    #[test]
    fn unconnected_networks_are_noticed() {
        assert!(is_connected(&[vec![]]) && is_connected(&linked(3, [(0, 2), (2, 1)])));
        assert!(!is_connected(&linked(4, [(0, 1), (2, 3)])));
        // A channel that leads one way.
        assert_eq!(packed(&[vec![1], vec![]], 9).len(), 0);
    }

    #[test]
    fn stars_and_pairs_take_the_least() {
        assert_eq!(checked(&[vec![]], 0), (0, 0));
        assert_eq!(checked(&linked(2, [(0, 1)]), 0), (1, 1));
        for nodes in 3..20 {
            assert_eq!(checked(&linked(nodes, (1..nodes).map(|leaf| (0, leaf))), 0), (2, nodes - 1));
        }
    }

    /// Lines and meshes of them in which nodes up to `width` apart are linked.
    #[test]
    fn lines_with_longer_channels_take_the_least() {
        for (nodes, width) in (2..30).flat_map(|nodes| [2, 3, 4].map(|width| (nodes, width))) {
            let links = (0..nodes).flat_map(|a| (a + 1..nodes.min(a + width + 1)).map(move |b| (a, b)));
            let line = linked(nodes, links.clone());
            assert_eq!(checked(&line, 0), (diameter(&line), bound(&line)), "{nodes}, {width}");
            if nodes < 10 {
                let plane = links.flat_map(|(a, b)| {
                    (0..nodes).flat_map(move |c| [(a * nodes + c, b * nodes + c), (c * nodes + a, c * nodes + b)])
                });
                let plane = linked(nodes * nodes, plane);
                assert_eq!(checked(&plane, 0), (diameter(&plane), bound(&plane)), "{nodes} x {nodes}, {width}");
            }
        }
    }

    /// Returns the worst ratio to the bound in as many rounds as the diameter, twice as many, and
    /// four times as many or the bound, in percent.
    fn worst(networks: impl IntoIterator<Item = Vec<Vec<usize>>>) -> [usize; 3] {
        networks.into_iter().fold([100; 3], |worst, network| {
            let (diameter, bound) = (diameter(&network), bound(&network));
            let ratio = |rounds| (100 * checked(&network, rounds).1).div_ceil(bound);
            let found = [0, 2 * diameter, bound.max(4 * diameter)].map(ratio);
            [0, 1, 2].map(|at| worst[at].max(found[at]))
        })
    }

    #[test]
    fn irregular_networks_stay_near_the_bound() {
        let without = |hole: usize| {
            let number = |node: usize| node - usize::from(node > hole);
            let links =
                network("mesh:8x8").into_iter().enumerate().flat_map(|(a, to)| to.into_iter().map(move |b| (a, b)));
            linked(63, links.filter(|&(a, b)| a != hole && b != hole).map(|(a, b)| (number(a), number(b))))
        };
        let found = worst((0..64).map(without));
        assert!(found.iter().zip([136, 117, 107]).all(|(found, most)| *found <= most), "holes: {found:?}");
        for (more, most) in [(0, [271, 118, 100]), (1, [164, 113, 100]), (2, [142, 113, 100]), (4, [140, 100, 100])] {
            let networks = (0..8).flat_map(|seed| [16, 24, 48, 64].map(|nodes| random(nodes, more * nodes / 2, seed)));
            let found = worst(networks);
            assert!(found.iter().zip(most).all(|(found, most)| *found <= most), "{more}: {found:?} above {most:?}");
        }
    }

    #[test]
    fn bridge_between_two_cliques_is_passed_in_more_rounds() {
        let clique = |first: usize| (first..first + 8).flat_map(move |a| (first..a).map(move |b| (a, b)));
        let network = linked(16, clique(0).chain(clique(8)).chain([(0, 8)]));
        assert_eq!([0, 6, 12].map(|rounds| checked(&network, rounds)), [(3, 15), (6, 12), (9, 9)]);
    }

    quickcheck! {
        fn packing_brings_every_block_to_every_node_once(nodes: u8, more: u8, rounds: u8, seed: u64) -> bool {
            let network = random(1 + usize::from(nodes) % 40, usize::from(more) % 60, seed);
            checked(&network, rounds.into());
            true
        }
    }
}
