//! The rounds of a scatter along a tree, and of a gather, which are those in reverse.
//!
//! The root sends the blocks of each subtree over its channel, those for the farthest nodes first,
//! up to `load` in a round. Each node sends on what is for others in the next round. What comes
//! over a channel of the root in different rounds never meets again, so a channel carries one
//! message in a round.
//!
//! If the j-th of these messages is for a node at depth d, it has arrived after j + d rounds, with
//! j from 0. A subtree has a node at each depth up to its height, so with one block in a message
//! the rounds are exactly as many as the nodes of the largest subtree.

use std::collections::BTreeMap;
use std::iter::successors;
use std::sync::Arc;

use super::balanced::of_rows;
use super::subtrees::grown;
use super::tree::SpanningTree;
use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::neighbours::{is_connected, neighbours};
use crate::algorithm::{Claims, Parameter, Settings, Values, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// What algorithms along a balanced spanning tree need.
pub(in crate::algorithm) const NEEDS_ROWS: &str = "a generalized hypercube, overlapping windows or another product of equal rows, not complete, of at most 4096 nodes, with rank i on node i";

/// What algorithms along balanced subtrees need.
pub(in crate::algorithm) const NEEDS: &str =
    "a rank on every node of a connected network that is not complete, of at most 4096 nodes";

/// The claims of both, along a tree with M nodes in the largest subtree below the root.
pub(in crate::algorithm) const CLAIMS: &str = "M start-ups with load=1, for M nodes in the largest subtree, N - 1 with ports=one; for a larger load at least the height of the tree; contention-free";

/// The most ranks of a tree.
const MAX_RANKS: usize = 1 << 12;

const PORTS: Parameter = Parameter {
    key: "ports",
    summary: "all: the root uses all its channels at once; one: one after the other, and every rank sends and receives one block a round",
    values: Values::Words(&["all", "one"]),
    default: 0,
};

const LOAD: Parameter = Parameter {
    key: "load",
    summary: "the most blocks that a channel of the root carries in a round; 0 takes the best by price; with ports=one it is 1",
    values: Values::Number { least: 0, most: MAX_RANKS },
    default: 0,
};

/// The parameters of scatters and gathers along trees.
pub(in crate::algorithm) static PARAMETERS: [Parameter; 2] = [PORTS, LOAD];

/// The kinds of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Kind {
    /// The [balanced spanning tree](super::balanced()).
    Balanced,
    /// [Balanced subtrees](super::subtrees()) of any network.
    Subtrees,
}

impl Kind {
    /// Returns what a problem lacks for these trees.
    fn lacks(self, problem: &Problem) -> Option<String> {
        let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
        if ranks != nodes {
            return Some(format!("it needs a rank on every node; there are {ranks} ranks on {nodes} nodes"));
        }
        if ranks > MAX_RANKS {
            return Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}"));
        }
        if is_complete(problem) {
            let why = "all ranks are neighbours of the root; use direct";
            return Some(format!("it is for networks that are not complete: {why}"));
        }
        match self {
            Self::Balanced => lacks_rows(problem),
            Self::Subtrees => {
                let connected = neighbours(problem).is_some_and(|all| is_connected(&all));
                (!connected).then(|| "it needs a connected network".to_owned())
            }
        }
    }

    /// Returns the tree of a problem, by ranks, which lacks nothing.
    fn tree(self, problem: &Problem) -> Option<Arc<SpanningTree>> {
        type Key = (Vec<Factor>, Vec<Vec<usize>>, usize);
        static MADE: Kept<(Kind, Key), Option<Arc<SpanningTree>>> = Kept::new(16);
        let root = problem.collective().root().unwrap_or_default().index();
        // Of a product, the factors tell the links.
        let rows = factors_in_order(problem).unwrap_or_default();
        let links = if rows.is_empty() { neighbours(problem)? } else { vec![] };
        let make = || match self {
            Self::Balanced => of_rows(&rows, root).map(Arc::new),
            Self::Subtrees => Some(Arc::new(grown(&neighbours(problem)?, root))),
        };
        MADE.get((self, (rows.clone(), links, root)), make)
    }
}

/// Returns what a problem lacks for the balanced spanning tree.
fn lacks_rows(problem: &Problem) -> Option<String> {
    let text = problem.topology().text();
    let Some(rows) = problem.topology().factors() else {
        return Some(format!("it needs {NEEDS_ROWS}; {text} is no such product; use subtrees"));
    };
    if !problem.placement().is_identity() {
        return Some("it needs rank i on node i; use subtrees".to_owned());
    }
    if rows.iter().all(|row| *row == rows[0]) {
        return None;
    }
    let extents: Vec<String> = rows.iter().map(|row| row.extent().to_string()).collect();
    Some(format!("it needs equal rows; the extents of {text} are {}; use subtrees", extents.join(" and ")))
}

/// The values of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::algorithm) struct Pace {
    one: bool,
    /// 0 leaves it open.
    load: usize,
}

impl Pace {
    pub(in crate::algorithm) fn of(settings: &Settings) -> Self {
        Self { one: settings.of(&PORTS) == 1, load: settings.of(&LOAD) }
    }

    pub(in crate::algorithm) fn settings(self) -> Settings {
        Settings::default().with(&PORTS, self.one.into()).with(&LOAD, self.load)
    }

    pub(in crate::algorithm) fn ports(self) -> Ports {
        if self.one { Ports::One } else { Ports::All }
    }

    /// Returns what a problem lacks for these parameters.
    pub(in crate::algorithm) fn lacks(self, kind: Kind, problem: &Problem) -> Option<String> {
        let fault = || format!("load={}: with ports=one it needs load=1", self.load);
        kind.lacks(problem).or_else(|| (self.one && self.load > 1).then(fault))
    }

    /// Returns the loads that are compared with all ports: each four times the one before, up to
    /// one that takes as many rounds as the tree is high.
    pub(in crate::algorithm) fn loads(kind: Kind, problem: &Problem) -> Vec<Self> {
        let tree = if kind.lacks(problem).is_some() { None } else { kind.tree(problem) };
        let Some(tree) = tree else { return vec![] };
        let paces = successors(Some(1), |load| Some(4 * load)).map(|load| Self { one: false, load });
        let (mut loads, height) = (vec![], tree.height());
        for pace in paces.take_while(|pace| pace.load <= MAX_RANKS) {
            loads.push(pace);
            if TreeRounds::of(Arc::clone(&tree), pace, false).rounds == height {
                break;
            }
        }
        loads
    }

    /// Returns the parameters that are compared if these leave any open.
    pub(in crate::algorithm) fn alternatives(self, kind: Kind, problem: &Problem) -> Vec<Self> {
        if self.load == 0 && !self.one { Self::loads(kind, problem) } else { vec![] }
    }

    /// Returns the variants for `auto`.
    pub(in crate::algorithm) fn variants(kind: Kind, problem: &Problem) -> Vec<Self> {
        let loads = Self::loads(kind, problem);
        let one = Self { one: true, load: 0 };
        if loads.is_empty() { loads } else { loads.into_iter().chain([one]).collect() }
    }
}

/// The rounds along a tree from the root or to it.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct TreeRounds {
    tree: Arc<SpanningTree>,
    pace: Pace,
    /// Whether blocks go to the root.
    up: bool,
    /// The nodes whose blocks the root sends one after the other, in order: for each of its
    /// channels, or for all.
    orders: Vec<Vec<usize>>,
    rounds: usize,
}

impl TreeRounds {
    /// Returns the rounds of a scatter, for a problem that [lacks](Pace::lacks) nothing.
    pub(in crate::algorithm) fn down(kind: Kind, problem: &Problem, pace: Pace) -> Option<Self> {
        Some(Self::of(kind.tree(problem)?, pace, false))
    }

    /// Returns the rounds of a gather, for a problem that [lacks](Pace::lacks) nothing.
    pub(in crate::algorithm) fn up(kind: Kind, problem: &Problem, pace: Pace) -> Option<Self> {
        Some(Self::of(kind.tree(problem)?, pace, true))
    }

    fn of(tree: Arc<SpanningTree>, pace: Pace, up: bool) -> Self {
        let root = tree.root().index();
        let pace = Pace { load: pace.load.max(1), ..pace };
        let mut others: Vec<usize> = (0..tree.nodes()).filter(|&node| node != root).collect();
        others.sort_by_key(|&node| std::cmp::Reverse(tree.depth_of(node)));
        let orders = if pace.one {
            vec![others]
        } else {
            let mut orders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            others.into_iter().for_each(|node| orders.entry(tree.first(node)).or_default().push(node));
            orders.into_values().collect()
        };
        let last = |order: &Vec<usize>| {
            order.iter().enumerate().map(|(place, &node)| place / pace.load + tree.depth_of(node)).max()
        };
        let rounds = orders.iter().filter_map(last).max().unwrap_or(0);
        Self { tree, pace, up, orders, rounds }
    }

    /// Returns the messages of the root that carry blocks to a node or to others through it, each
    /// with its number and the destinations.
    fn through(&self, node: usize) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let is_root = node == self.tree.root().index();
        let orders = self.orders.iter().filter(move |order| is_root || order.contains(&node));
        orders.flat_map(|order| order.chunks(self.pace.load).enumerate()).filter_map(move |(number, message)| {
            let on: Vec<usize> = message.iter().copied().filter(|&to| self.tree.is_above(node, to)).collect();
            (!on.is_empty()).then_some((number, on))
        })
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(&self, rank: Rank) -> Share {
        let (node, root) = (rank.index(), self.tree.root());
        let (rounds, up, root_rank) = (self.rounds, self.up, Rank::new(root.index()));
        let depth = self.tree.depth_of(node);
        let mut shares: BTreeMap<usize, RankRound> = BTreeMap::new();
        let mut add = |round: usize, peer: usize, nodes: Vec<usize>, down: bool| {
            let block = |node| {
                if up { Block::new(Rank::new(node), root_rank) } else { Block::new(root_rank, Rank::new(node)) }
            };
            let end = End::new(Rank::new(peer), nodes.into_iter().map(block).collect());
            let share = shares.entry(if up { rounds - 1 - round } else { round }).or_default();
            if down == up { share.receives.push(end) } else { share.sends.push(end) }
        };
        for (number, nodes) in self.through(node) {
            let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for &to in nodes.iter().filter(|&&to| to != node) {
                below.entry(self.tree.towards(node, to)).or_default().push(to);
            }
            if let Some(parent) = self.tree.parent(crate::ids::Node::new(node)) {
                add(number + depth - 1, parent.index(), nodes, false);
            }
            below.into_iter().for_each(|(child, nodes)| add(number + depth, child, nodes, true));
        }
        Box::new((0..rounds).map(move |round| shares.remove(&round).unwrap_or_default()))
    }

    /// Counts what the rounds take, in time in proportion to the depths of all nodes.
    pub(in crate::algorithm) fn claims(&self) -> Claims {
        let (tree, root) = (&*self.tree, self.tree.root().index());
        let nodes = tree.nodes();
        let mut most = vec![Most::default(); self.rounds];
        let mut from_root = vec![(0, 0); self.rounds];
        // What a message of the root has for the nodes below each node, and over how many channels.
        let (mut carried, mut sent) = (vec![0_u64; nodes], vec![(0_u64, 0_u64); nodes]);
        let (mut sends, mut receives) = (vec![0_u64; nodes], vec![0_u64; nodes]);
        for (number, message) in self.orders.iter().flat_map(|order| order.chunks(self.pace.load).enumerate()) {
            let mut touched = vec![];
            for &to in message {
                let mut at = to;
                while at != root {
                    if carried[at] == 0 {
                        touched.push(at);
                        sent[tree.above(at)].0 += 1;
                    }
                    carried[at] += 1;
                    sent[tree.above(at)].1 += 1;
                    at = tree.above(at);
                }
            }
            for &at in &touched {
                let round = number + tree.depth_of(at) - 1;
                most[round].largest = most[round].largest.max(carried[at]);
                receives[at] += 1;
                if let Some(most) = most.get_mut(round + 1) {
                    most.sends = most.sends.max(sent[at].0);
                    most.sent = most.sent.max(sent[at].1);
                }
                sends[at] += sent[at].0;
                (carried[at], sent[at]) = (0, (0, 0));
            }
            let (messages, blocks) = std::mem::take(&mut sent[root]);
            sends[root] += messages;
            from_root[number] = (from_root[number].0 + messages, from_root[number].1 + blocks);
        }
        for (most, (messages, blocks)) in most.iter_mut().zip(from_root) {
            (most.sends, most.sent) = (most.sends.max(messages), most.sent.max(blocks));
        }
        let sum = |of: &dyn Fn(&Most) -> u64| most.iter().map(of).sum::<u64>();
        let largest = sum(&|most| most.largest);
        let others = nodes as u64 - 1;
        let (busiest, volume) =
            if self.up { (receives, tree.subtrees().into_iter().max().unwrap_or(0) as u64) } else { (sends, others) };
        Claims {
            startups: Some(self.rounds as u64),
            transmission: Some(largest.into()),
            port_transmission: Some(sum(&|most| most.sent.max(most.largest)).into()),
            received: Some(if self.up { sum(&|most| most.sent) } else { largest }.into()),
            hops: Some(self.rounds as u64),
            rearrangements: Some(0),
            handled: Some(sum(&|most| most.sends + 1)),
            messages: busiest.into_iter().max(),
            volume: Some(Volume::from(volume)),
            contention_free: true,
            ..Claims::default()
        }
    }
}

/// The most in a round of a scatter.
#[derive(Clone, Copy, Debug, Default)]
struct Most {
    /// The blocks of a message.
    largest: u64,
    /// The messages that a rank sends.
    sends: u64,
    /// The blocks that a rank sends.
    sent: u64,
}

/// Defines a scatter or a gather along a tree.
macro_rules! along_tree {
    ($(#[$doc:meta])* $name:ident, $kind:expr, $course:ident, $about:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name(Pace);

        static ABOUT: About = $about;

        impl $name {
            fn all(paces: Vec<Pace>) -> Vec<Arc<dyn Algorithm>> {
                paces.into_iter().map(|pace| Arc::new(Self(pace)) as Arc<dyn Algorithm>).collect()
            }
        }

        impl Algorithm for $name {
            fn about(&self) -> &About {
                &ABOUT
            }

            fn parameters(&self) -> &'static [Parameter] {
                &PARAMETERS
            }

            fn settings(&self) -> Settings {
                self.0.settings()
            }

            fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
                Some(Arc::new(Self(Pace::of(settings))))
            }

            fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                Self::all(Pace::variants($kind, problem))
            }

            fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
                Self::all(self.0.alternatives($kind, problem))
            }

            fn lacks(&self, problem: &Problem) -> Option<String> {
                self.0.lacks($kind, problem)
            }

            fn ports(&self, _: &Problem) -> Ports {
                self.0.ports()
            }

            fn claims(&self, problem: &Problem) -> Claims {
                TreeRounds::$course($kind, problem, self.0).map(|rounds| rounds.claims()).unwrap_or_default()
            }

            fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
                match TreeRounds::$course($kind, problem, self.0) {
                    Some(rounds) => rounds.share(rank),
                    None => Box::new(std::iter::empty()),
                }
            }
        }
    };
}

pub(in crate::algorithm) use along_tree;
