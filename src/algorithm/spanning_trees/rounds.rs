//! The rounds of a scatter along a tree, and of a gather, which are those in reverse.
//!
//! The root sends the blocks of each subtree over its channel, those for the farthest nodes first,
//! up to `load` in a round. Each node sends on what is for others in the next round. What comes
//! over a channel of the root in different rounds never meets again, so a channel carries one
//! message in a round: where trees of the subgraph share a channel, theirs are joined.
//!
//! If the j-th of these messages is for a node at depth d, it has arrived after j + d rounds, with
//! j from 0. A subtree has a node at each depth up to its height, so with one block in a message
//! the rounds are exactly as many as the nodes of the largest subtree.

use std::collections::BTreeMap;
use std::iter::successors;
use std::sync::Arc;

use super::balanced::RowsFromRoot;
use super::deliveries::Deliveries;
use super::subtrees::grown;
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

/// The claims along the balanced spanning subgraph.
pub(in crate::algorithm) const CLAIMS_OF_PARTS: &str = "M start-ups with load=1, for at most M parts of blocks over each channel of the root; for a larger load at least the height of the trees; contention-free";

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
    summary: "the most blocks, or parts of blocks, that a channel of the root carries in a round; 0 takes the best by price; with ports=one it is 1",
    values: Values::Number { least: 0, most: MAX_RANKS },
    default: 0,
};

/// The parameters of scatters and gathers along trees.
pub(in crate::algorithm) static PARAMETERS: [Parameter; 2] = [PORTS, LOAD];

/// The parameters along the balanced spanning subgraph, whose trees are for all ports.
pub(in crate::algorithm) static PARAMETERS_OF_PARTS: [Parameter; 1] = [LOAD];

/// The ways of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Way {
    /// From the root.
    Down,
    /// To the root.
    Up,
}

/// The kinds of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Kind {
    /// The [balanced spanning tree](super::balanced()).
    Balanced,
    /// The [balanced spanning subgraph](super::BalancedSubgraph).
    Subgraph,
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
            Self::Balanced | Self::Subgraph => lacks_rows(problem),
            Self::Subtrees => {
                let connected = neighbours(problem).is_some_and(|all| is_connected(&all));
                (!connected).then(|| "it needs a connected network".to_owned())
            }
        }
    }

    /// Returns what the tree of a problem, which lacks nothing, delivers to its ranks.
    fn deliveries(self, problem: &Problem) -> Option<Arc<Deliveries>> {
        type Key = (Vec<Factor>, Vec<Vec<usize>>, usize);
        static MADE: Kept<(Kind, Key), Option<Arc<Deliveries>>> = Kept::new(16);
        let root = problem.collective().root().unwrap_or_default().index();
        // Of a product, the factors tell the links.
        let rows = factors_in_order(problem).unwrap_or_default();
        let links = if rows.is_empty() { neighbours(problem)? } else { vec![] };
        let make = || {
            let deliveries = match self {
                Self::Balanced => Deliveries::whole(RowsFromRoot::new(&rows, root)?.tree()),
                Self::Subgraph => Deliveries::subgraph(&RowsFromRoot::new(&rows, root)?),
                Self::Subtrees => Deliveries::whole(grown(&neighbours(problem)?, root)),
            };
            Some(Arc::new(deliveries))
        };
        MADE.get((self, (rows.clone(), links, root)), make)
    }
}

/// Returns what a problem lacks for the balanced spanning tree and subgraph.
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

    /// Returns the ports that a rank uses. On the way up a tree it sends to one other rank.
    pub(in crate::algorithm) fn ports(self, kind: Kind, way: Way) -> Ports {
        match (self.one, kind, way) {
            (true, ..) => Ports::One,
            (_, Kind::Balanced | Kind::Subtrees, Way::Up) => Ports::OneSend,
            _ => Ports::All,
        }
    }

    /// Returns what a problem lacks for these parameters.
    pub(in crate::algorithm) fn lacks(self, kind: Kind, problem: &Problem) -> Option<String> {
        let fault = || format!("load={}: with ports=one it needs load=1", self.load);
        kind.lacks(problem).or_else(|| (self.one && self.load > 1).then(fault))
    }

    /// Returns the loads that are compared with all ports: each four times the one before, up to
    /// one that takes as many rounds as the tree is high.
    pub(in crate::algorithm) fn loads(kind: Kind, problem: &Problem) -> Vec<Self> {
        let deliveries = if kind.lacks(problem).is_some() { None } else { kind.deliveries(problem) };
        let Some(deliveries) = deliveries else { return vec![] };
        let paces = successors(Some(1), |load| Some(4 * load)).map(|load| Self { one: false, load });
        let (mut loads, height) = (vec![], deliveries.tree.height());
        for pace in paces.take_while(|pace| pace.load <= MAX_RANKS) {
            loads.push(pace);
            if TreeRounds::of(Arc::clone(&deliveries), pace, Way::Down).rounds == height {
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
        let all_ports_alone = loads.is_empty() || kind == Kind::Subgraph;
        if all_ports_alone { loads } else { loads.into_iter().chain([one]).collect() }
    }
}

/// The rounds along a tree from the root or to it.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct TreeRounds {
    deliveries: Arc<Deliveries>,
    pace: Pace,
    way: Way,
    /// The places that the root serves one after the other, in order: by the node next to the root on
    /// the way to them, or all together, by the root.
    orders: BTreeMap<usize, Vec<usize>>,
    rounds: usize,
}

impl TreeRounds {
    /// Returns the rounds for a problem that [lacks](Pace::lacks) nothing.
    pub(in crate::algorithm) fn new(kind: Kind, problem: &Problem, pace: Pace, way: Way) -> Option<Self> {
        Some(Self::of(kind.deliveries(problem)?, pace, way))
    }

    fn of(deliveries: Arc<Deliveries>, pace: Pace, way: Way) -> Self {
        let tree = &deliveries.tree;
        let pace = Pace { load: pace.load.max(1), ..pace };
        let mut all: Vec<usize> = deliveries.taking().collect();
        all.sort_by_key(|&place| std::cmp::Reverse((tree.depth_of(place), deliveries.taken(place))));
        let mut orders: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in all {
            let first = if pace.one { tree.root().index() } else { tree.first(place) };
            orders.entry(deliveries.node(first)).or_default().push(place);
        }
        let last = |order: &Vec<usize>| {
            order.iter().enumerate().map(|(number, &place)| number / pace.load + tree.depth_of(place)).max()
        };
        let rounds = orders.values().filter_map(last).max().unwrap_or(0);
        Self { deliveries, pace, way, orders, rounds }
    }

    /// Returns the messages of the root that serve a place or others through it, each with its number
    /// and the places that it serves.
    fn through(&self, place: usize) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let tree = &self.deliveries.tree;
        let root = tree.root().index();
        let first = self.deliveries.node(tree.first(place));
        let is_all = place == root || self.pace.one;
        let orders = self.orders.iter().filter(move |(node, _)| is_all || **node == first);
        orders.flat_map(|(_, order)| order.chunks(self.pace.load).enumerate()).filter_map(move |(number, message)| {
            let on: Vec<usize> = message.iter().copied().filter(|&to| tree.is_above(place, to)).collect();
            (!on.is_empty()).then_some((number, on))
        })
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(&self, rank: Rank) -> Share {
        let Self { deliveries, rounds, .. } = self;
        let (tree, root, up) = (&deliveries.tree, Rank::new(deliveries.root()), self.way == Way::Up);
        // By round, whether blocks leave the root, and the node at the other end.
        let mut messages: BTreeMap<(usize, bool, usize), Vec<usize>> = BTreeMap::new();
        for &place in deliveries.at(rank.index()) {
            let depth = tree.depth_of(place);
            for (number, on) in self.through(place) {
                for &to in on.iter().filter(|&&to| to != place) {
                    let child = deliveries.node(tree.towards(place, to));
                    messages.entry((number + depth, true, child)).or_default().push(to);
                }
                if depth > 0 {
                    let parent = deliveries.node(tree.above(place));
                    messages.entry((number + depth - 1, false, parent)).or_default().extend(on);
                }
            }
        }
        let mut shares: BTreeMap<usize, RankRound> = BTreeMap::new();
        for ((round, down, peer), mut places) in messages {
            // Parts in different trees may meet on a channel: both ends list them in one order.
            places.sort_unstable();
            let block = |&place: &usize| {
                let node = Rank::new(deliveries.node(place));
                deliveries.part(place, if up { Block::new(node, root) } else { Block::new(root, node) })
            };
            let end = End::new(Rank::new(peer), places.iter().filter_map(block).collect());
            let share = shares.entry(if up { rounds - 1 - round } else { round }).or_default();
            if down == up { share.receives.push(end) } else { share.sends.push(end) }
        }
        Box::new((0..*rounds).map(move |round| shares.remove(&round).unwrap_or_default()))
    }

    /// Counts what the rounds take, in time in proportion to the depths of all places.
    pub(in crate::algorithm) fn claims(&self) -> Claims {
        let deliveries = &*self.deliveries;
        let (tree, root) = (&deliveries.tree, deliveries.tree.root().index());
        let mut most = vec![Most::default(); self.rounds];
        // What the messages of the root with one number carry, by the first place of each channel.
        let mut carried = vec![0_u64; tree.nodes()];
        let mut sent = vec![Moved::default(); deliveries.nodes()];
        let mut received = sent.clone();
        let (mut all_sent, mut all_received) = (sent.clone(), sent.clone());
        let messages = |order: &Vec<usize>| order.len().div_ceil(self.pace.load);
        for number in 0..self.orders.values().map(messages).max().unwrap_or(0) {
            let mut touched = vec![];
            let with_number = self.orders.values().filter_map(|order| order.chunks(self.pace.load).nth(number));
            for &to in with_number.flatten() {
                let units = deliveries.taken(to);
                let mut at = to;
                while at != root {
                    let above = tree.above(at);
                    let ends = [&mut sent[deliveries.node(above)], &mut received[deliveries.node(at)]];
                    let channel = deliveries.channel(at);
                    let is_first = carried[channel] == 0;
                    carried[channel] += units;
                    if is_first {
                        touched.push(channel);
                    }
                    for end in ends {
                        end.messages += u64::from(is_first);
                        end.units += units;
                    }
                    at = above;
                }
            }
            for channel in touched {
                // A node receives in one round what comes with this number, and sends it on in the next.
                let round = number + tree.depth_of(channel) - 1;
                let (above, node) = (deliveries.node(tree.above(channel)), deliveries.node(channel));
                most[round].largest = most[round].largest.max(std::mem::take(&mut carried[channel]));
                most[round].sent.raise(sent[above]);
                most[round].received.raise(received[node]);
                all_sent[above].add(std::mem::take(&mut sent[above]));
                all_received[node].add(std::mem::take(&mut received[node]));
            }
        }
        let sum = |of: &dyn Fn(&Most) -> u64| most.iter().map(of).sum::<u64>();
        let blocks = |units: u64| Volume::new(units, deliveries.units());
        let up = self.way == Way::Up;
        let senders = if up { all_received } else { all_sent };
        let arriving = |most: &Most| if up { most.sent.units } else { most.received.units };
        Claims {
            startups: Some(self.rounds as u64),
            transmission: Some(blocks(sum(&|most| most.largest))),
            port_transmission: Some(blocks(sum(&|most| most.sent.units.max(most.received.units)))),
            received: Some(blocks(sum(&arriving))),
            hops: Some(self.rounds as u64),
            rearrangements: Some(0),
            handled: Some(sum(&|most| most.sent.messages + most.received.messages)),
            messages: senders.iter().map(|all| all.messages).max(),
            volume: senders.iter().map(|all| all.units).max().map(blocks),
            contention_free: true,
            ..Claims::default()
        }
    }
}

/// The most in a round of a scatter.
#[derive(Clone, Copy, Debug, Default)]
struct Most {
    /// The units of a message.
    largest: u64,
    /// The messages and the units that a rank sends, and that it receives.
    sent: Moved,
    received: Moved,
}

/// Messages of a rank, and their units.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    messages: u64,
    units: u64,
}

impl Moved {
    fn raise(&mut self, to: Self) {
        self.messages = self.messages.max(to.messages);
        self.units = self.units.max(to.units);
    }

    fn add(&mut self, more: Self) {
        self.messages += more.messages;
        self.units += more.units;
    }
}

/// Defines a scatter or a gather along a tree.
macro_rules! along_tree {
    ($(#[$doc:meta])* $name:ident, $kind:expr, $way:expr, $parameters:expr, $about:expr) => {
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
                $parameters
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
                self.0.ports($kind, $way)
            }

            fn claims(&self, problem: &Problem) -> Claims {
                TreeRounds::new($kind, problem, self.0, $way).map(|rounds| rounds.claims()).unwrap_or_default()
            }

            fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
                match TreeRounds::new($kind, problem, self.0, $way) {
                    Some(rounds) => rounds.share(rank),
                    None => Box::new(std::iter::empty()),
                }
            }
        }
    };
}

pub(in crate::algorithm) use along_tree;
