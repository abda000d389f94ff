//! Alltoall on any network, over routes that load all channels alike.
//!
//! Source: own work, after the rip-up and reroute of circuit design and the list scheduling of unit
//! steps. Needs: a connected network of at most 256 nodes that is not complete, with a rank on every
//! node. Model: all-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | no formula: about L / `load`, but at least the hops of the longest route, for L chunks over the busiest channel |
//! | blocks over a channel | about L / `chunks` |
//!
//! The algorithm is for networks that look different from different nodes, such as meshes with
//! holes, trees, random graphs, and tori in which [links or nodes](crate::topology::Damaged) are
//! broken. On other networks there are better ones, which `auto` compares instead:
//! [`CayleyExchange`](super::CayleyExchange) on tori and cubes, and
//! [`WindowExchange`](super::WindowExchange) on meshes and windows.
//!
//! With `load=1`, the rounds beside the least that the busiest channel carries: 129 and 128 on a mesh
//! of 8 x 8, 71 and 66 on a torus of 8 x 8 without two links, 75 and 74 without eight, 31 and 27 on a
//! random network of 40 nodes with four links each. That least does not see the channels beside the
//! damage, which decide.
//!
//! The algorithm is global: every process makes the schedule of the whole network, once for all its
//! ranks, in some 0.1 s for 64 nodes. `auto` compares it on up to 64 nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;
use std::sync::Arc;

use crate::algorithm::kept::Kept;
use crate::algorithm::neighbours::{is_connected, neighbours};
use crate::algorithm::row_exchange::{RowExchange, Table};
use crate::algorithm::translated_tree;
use crate::algorithm::window_row::WindowRow;
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

use super::routes::{Prices, Route, Router, rerouted, scheduled};

/// An exchange over routes of any network that load all channels alike.
#[derive(Clone, Debug, Default)]
pub struct BalancedRoutes(Settings);

static ABOUT: About = About {
    collective: "alltoall",
    name: "balanced-routes",
    summary: "blocks take routes that load all channels alike, those with the busiest channels ahead first; on any network, scheduled globally",
    source: "own work",
    needs: "a connected network of at most 256 nodes that is not complete, with a rank on every node",
    claims: "with load=1, about as many start-ups as chunks over the busiest channel; contention-free",
    ports: Ports::All,
};

static PARAMETERS: [Parameter; 2] = [LOAD, CHUNKS];

const LOAD: Parameter = Parameter {
    key: "load",
    summary: "the most chunks that a channel carries in a round; 0 takes the best by price",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

const CHUNKS: Parameter = Parameter {
    key: "chunks",
    summary: "the number of chunks of a block, each with a route of its own",
    values: Values::Number { least: 1, most: 32 },
    default: 1,
};

/// The most nodes, and the most chunks of all blocks.
const MOST: usize = 1 << 8;
const MOST_CHUNKS: usize = 1 << 17;

/// The most nodes for which `auto` makes schedules, and the most chunks of all blocks.
const MOST_COMPARED: usize = 1 << 6;
const MOST_CHUNKS_COMPARED: usize = 1 << 13;

impl BalancedRoutes {
    fn exchange(&self, problem: &Problem) -> RowExchange {
        exchange(problem, self.0.of(&LOAD).max(1), self.0.of(&CHUNKS))
    }
}

impl Algorithm for BalancedRoutes {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn parameters(&self) -> &'static [Parameter] {
        &PARAMETERS
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let is_covered = translated_tree::lacks(problem).is_none() || WindowRow::of_product(problem, MOST).is_some();
        if is_covered || problem.ranks() > MOST_COMPARED || self.lacks(problem).is_some() {
            return vec![];
        }
        let most = MOST_CHUNKS_COMPARED / (problem.ranks() * (problem.ranks() - 1)).max(1);
        let chunks = Some(most.min(8)).filter(|&chunks| chunks > 1);
        iter::once(1).chain(chunks).flat_map(|chunks| loads(problem, chunks)).collect()
    }

    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        match self.0.of(&LOAD) {
            0 => loads(problem, self.0.of(&CHUNKS)),
            _ => vec![],
        }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
        if ranks != nodes {
            return Some(format!("it needs a rank on every node; there are {ranks} ranks and {nodes} nodes"));
        }
        if nodes > MOST {
            return Some(format!("it needs at most {MOST} nodes; there are {nodes}"));
        }
        let pairs = nodes * (nodes - 1);
        let Some(links) = neighbours(problem).filter(|links| is_connected(links)) else {
            return Some("it needs a connected network".to_owned());
        };
        if links.iter().map(Vec::len).sum::<usize>() == pairs {
            return Some("it needs a network in which not all nodes are linked; use direct".to_owned());
        }
        let (chunks, most) = (self.0.of(&CHUNKS), MOST_CHUNKS / pairs.max(1));
        (chunks > most).then(|| format!("chunks={chunks}: it needs at most {most} for {nodes} nodes"))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        self.exchange(problem).claims()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        self.exchange(problem).phases()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.exchange(problem).share(rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        self.exchange(problem).amounts(rank)
    }
}

/// Returns the loads that are compared, each four times the one before, for blocks in this many
/// chunks. Neither looks at the network nor makes a schedule, since every choice asks for them.
fn loads(problem: &Problem, chunks: usize) -> Vec<Arc<dyn Algorithm>> {
    let with = |load: usize| -> Arc<dyn Algorithm> {
        Arc::new(BalancedRoutes(Settings::default().with(&LOAD, load).with(&CHUNKS, chunks)))
    };
    let loads = iter::successors(Some(1), |load| Some(4 * load));
    loads.take_while(|&load| load < problem.ranks()).map(with).collect()
}

/// The ranks on the neighbours of each rank's node.
type Links = Vec<Vec<usize>>;

fn exchange(problem: &Problem, load: usize, chunks: usize) -> RowExchange {
    static MADE: Kept<(Links, usize, usize), Arc<Table>> = Kept::new(16);
    let links = neighbours(problem).unwrap_or_default();
    let table = MADE
        .get((links.clone(), load, chunks), || Arc::new(scheduled(&routes(&links, chunks), links.len(), load, chunks)));
    RowExchange::rotating(vec![table])
}

/// Returns the route of each chunk, for each pair of ranks.
fn routes(links: &Links, chunks: usize) -> Arc<Vec<Route>> {
    static MADE: Kept<(Links, usize), Arc<Vec<Route>>> = Kept::new(4);
    MADE.get((links.clone(), chunks), || {
        let nodes = links.len();
        let mut router = InGraph { links, ways: vec![(u64::MAX, 0); nodes], reached: BinaryHeap::new() };
        let free = Prices::free(nodes);
        let mut shortest = |from: usize, to: usize| {
            let mut route = vec![from, to];
            router.find_cheapest(&free, &mut route);
            route
        };
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let routes: Vec<Route> = pairs.flat_map(|(from, to)| iter::repeat_n(shortest(from, to), chunks)).collect();
        Arc::new(rerouted(&routes, nodes, least(links, &routes, chunks), &router))
    })
}

/// Returns what the busiest channel carries at least: what a node with the fewest channels gets over
/// each, and the hops of the shortest routes by all channels.
fn least(links: &Links, shortest: &[Route], chunks: usize) -> usize {
    let fewest = links.iter().map(Vec::len).min().unwrap_or_default().max(1);
    let channels = links.iter().map(Vec::len).sum::<usize>().max(1);
    let hops: usize = shortest.iter().map(|route| route.len() - 1).sum();
    (chunks * links.len().saturating_sub(1)).div_ceil(fewest).max(hops.div_ceil(channels))
}

/// Finds routes along the links of any network, of equal prices those with the fewest hops.
#[derive(Clone)]
struct InGraph<'a> {
    links: &'a Links,
    /// The price of the cheapest way to each node, and the node before it.
    ways: Vec<(u64, usize)>,
    reached: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Router for InGraph<'_> {
    fn find_cheapest(&mut self, prices: &Prices, route: &mut Route) {
        let (from, to) = (route[0], route[route.len() - 1]);
        self.ways.fill((u64::MAX, from));
        self.ways[from].0 = 0;
        self.reached.clear();
        self.reached.push(Reverse((0, from)));
        while let Some(Reverse((price, node))) = self.reached.pop() {
            if node == to {
                break;
            }
            if price > self.ways[node].0 {
                continue;
            }
            for &next in &self.links[node] {
                // One hop more, in the low bits.
                let price = price + prices.to(next)[node] + 1;
                if price < self.ways[next].0 {
                    self.ways[next] = (price, node);
                    self.reached.push(Reverse((price, next)));
                }
            }
        }
        route.clear();
        route.push(to);
        let mut node = to;
        while node != from {
            node = self.ways[node].1;
            route.push(node);
        }
        route.reverse();
    }
}
