//! The conformance suite of topologies finds faults: each check finds at least one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::Problem;
use necklace::select::{Terms, select};
use necklace::topology::conformance::{self, CHECKS};
use necklace::topology::{Complete, Embedding, Factor, Grid, Neighbours, Part, Topology};
use necklace::{Node, Rank};

/// A torus that breaks one promise.
#[derive(Debug)]
struct Broken {
    grid: Grid,
    /// Of the same extents.
    mesh: Grid,
    embedding: Option<Embedding>,
    fault: Fault,
    asked: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    NoNodes,
    TooManyNodes,
    NodesPanics,
    NeighboursDescend,
    NeighboursRepeat,
    NeighbourOfItself,
    NeighbourOutOfRange,
    OneWayChannel,
    AdjacentToAll,
    AdjacentToNone,
    EdgesBothWays,
    EdgesMissing,
    ChannelsAreLinks,
    InTwoPieces,
    DistanceAsOnAMesh,
    DistanceToItself,
    RouteTheLongWay,
    RouteWithoutStart,
    RouteJumps,
    RouteIsEmpty,
    RouteWanders,
    TextChanges,
    PanicsOutOfRange,
    TextOfAnother,
    TextOfOtherRoutes,
    TextOfNothing,
    TextIsEmpty,
    ProductOfOtherTies,
    CubeOfAnother,
    ProductOfOtherExtents,
    ProductOfOtherKinds,
    ProductOfTooFew,
    ProductOfOtherRoutes,
    HostOfOtherNodes,
    HostOfOtherLinks,
    HostOfOtherRoutes,
    GuestsShareANode,
    NoRanks,
    TooManyRanks,
    PartOfOtherLinks,
    PartNumbersRepeat,
    PartNumbersSwapped,
    PartIsDisconnected,
    PartNumbersMissing,
    PartOfDuplicates,
    PartOfNone,
}

use Fault::*;

/// Each fault, and the promise that it breaks first.
const FAULTS: [(Fault, &str); 46] = [
    (NoNodes, "number_of_nodes_is_in_range"),
    (TooManyNodes, "number_of_nodes_is_in_range"),
    (NodesPanics, "number_of_nodes_is_in_range"),
    (NeighboursDescend, "neighbours_are_distinct_and_ascending"),
    (NeighboursRepeat, "neighbours_are_distinct_and_ascending"),
    (NeighbourOfItself, "neighbours_are_distinct_and_ascending"),
    (NeighbourOutOfRange, "neighbours_are_distinct_and_ascending"),
    (OneWayChannel, "neighbours_are_mutual"),
    (AdjacentToAll, "adjacent_agrees_with_neighbours"),
    (AdjacentToNone, "adjacent_agrees_with_neighbours"),
    (EdgesBothWays, "edges_list_each_link_once"),
    (EdgesMissing, "edges_list_each_link_once"),
    (ChannelsAreLinks, "channels_are_counted"),
    (InTwoPieces, "the_network_is_connected"),
    (DistanceAsOnAMesh, "distances_are_shortest"),
    (DistanceToItself, "distances_are_shortest"),
    (RouteTheLongWay, "routes_are_shortest_paths"),
    (RouteWithoutStart, "routes_are_shortest_paths"),
    (RouteJumps, "routes_are_shortest_paths"),
    (RouteIsEmpty, "routes_are_shortest_paths"),
    (RouteWanders, "results_are_reproducible"),
    (TextChanges, "results_are_reproducible"),
    (PanicsOutOfRange, "nodes_out_of_range_do_not_panic"),
    (TextOfAnother, "text_parses_back"),
    (TextOfOtherRoutes, "text_parses_back"),
    (TextOfNothing, "text_parses_back"),
    (TextIsEmpty, "text_parses_back"),
    (CubeOfAnother, "cube_has_its_links"),
    (ProductOfOtherExtents, "product_has_the_links_of_its_factors"),
    (ProductOfOtherKinds, "product_has_the_links_of_its_factors"),
    (ProductOfTooFew, "product_has_the_links_of_its_factors"),
    (ProductOfOtherRoutes, "product_routes_correct_the_last_dimension_first"),
    (ProductOfOtherTies, "product_routes_correct_the_last_dimension_first"),
    (HostOfOtherNodes, "embedding_is_into_this_network"),
    (HostOfOtherLinks, "embedding_is_into_this_network"),
    (HostOfOtherRoutes, "embedding_is_into_this_network"),
    (GuestsShareANode, "embedding_is_into_this_network"),
    (NoRanks, "ranks_are_in_range"),
    (TooManyRanks, "ranks_are_in_range"),
    (PartOfOtherLinks, "parts_are_induced"),
    (PartNumbersRepeat, "parts_are_induced"),
    (PartNumbersSwapped, "parts_are_induced"),
    (PartIsDisconnected, "parts_are_induced"),
    (PartNumbersMissing, "parts_are_induced"),
    (PartOfDuplicates, "invalid_sets_have_no_part"),
    (PartOfNone, "invalid_sets_have_no_part"),
];

impl Broken {
    fn new(fault: Fault) -> Self {
        let (grid, mesh) = (Grid::torus(&[4, 5]).expect("20 nodes"), Grid::mesh(&[4, 5]).expect("20 nodes"));
        let torus = Arc::new(grid.clone());
        let of_a_line = |host: Arc<dyn Topology>, on: [usize; 2]| {
            Embedding::new(Arc::new(Grid::line(2).expect("two nodes")), host, on.map(Node::new).to_vec()).ok()
        };
        let embedding = match fault {
            HostOfOtherNodes => of_a_line(Arc::new(Grid::torus(&[4, 6]).expect("24 nodes")), [0, 1]),
            HostOfOtherLinks => of_a_line(Arc::new(mesh.clone()), [0, 1]),
            HostOfOtherRoutes => of_a_line(torus, [0, 1]),
            GuestsShareANode => of_a_line(torus, [3, 3]),
            _ => None,
        };
        Self { grid, mesh, embedding, fault, asked: AtomicUsize::new(0) }
    }

    fn is_odd_call(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) % 2 == 1
    }

    /// Rows 0 and 1 on one side, 2 and 3 on the other.
    fn is_cut(&self, from: Node, to: Node) -> bool {
        self.fault == InTwoPieces && (from.index() < 10) != (to.index() < 10)
    }
}

impl Topology for Broken {
    fn nodes(&self) -> usize {
        match self.fault {
            NoNodes => 0,
            TooManyNodes => 1 << 31,
            NodesPanics => panic!("as asked"),
            _ => self.grid.nodes(),
        }
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let keeps = |other: &Node| match self.fault {
            OneWayChannel if node.index() == 19 => other.index() != 18,
            _ => true,
        };
        let found = self.grid.neighbours(node).into_iter().filter(|other| !self.is_cut(node, *other));
        let mut found: Neighbours = found.filter(keeps).collect();
        match self.fault {
            NeighboursDescend => found.reverse(),
            NeighboursRepeat => {
                found.push(found[0]);
                found.sort_unstable();
            }
            NeighbourOfItself if node.index() == 7 => {
                found.push(node);
                found.sort_unstable();
            }
            NeighbourOutOfRange if node.index() == 19 => found.push(Node::new(20)),
            PanicsOutOfRange => assert!(node.index() < 20, "as asked"),
            _ => {}
        }
        found
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        match self.fault {
            DistanceAsOnAMesh => self.mesh.distance(from, to),
            DistanceToItself => self.grid.distance(from, to).max(1),
            _ => self.grid.distance(from, to),
        }
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let mut route = self.grid.route(from, to);
        match self.fault {
            RouteTheLongWay if from.index() == 3 => self.mesh.route(from, to),
            RouteWithoutStart => {
                route.remove(0);
                route
            }
            RouteJumps => vec![from, to],
            RouteIsEmpty if from == to => vec![],
            // A shortest path as well, but another one.
            RouteWanders if self.is_odd_call() => self.grid.route(to, from).into_iter().rev().collect(),
            // The same, but for going down where both ways are equally long.
            ProductOfOtherTies => {
                let across = |node: Node| Node::new((4 - node.index() / 5 % 4) % 4 * 5 + (5 - node.index() % 5) % 5);
                self.grid.route(across(from), across(to)).into_iter().map(across).collect()
            }
            TextOfOtherRoutes | ProductOfOtherRoutes | HostOfOtherRoutes => {
                self.grid.route(to, from).into_iter().rev().collect()
            }
            _ => route,
        }
    }

    fn text(&self) -> String {
        match self.fault {
            TextChanges if self.is_odd_call() => "network".to_owned(),
            TextOfAnother => "torus:5x4".to_owned(),
            TextOfOtherRoutes => self.grid.text(),
            TextOfNothing => "torus:4by5".to_owned(),
            TextIsEmpty => " ".to_owned(),
            _ => "broken".to_owned(),
        }
    }

    fn cube(&self) -> Option<u32> {
        (self.fault == CubeOfAnother).then_some(self.grid.nodes().ilog2())
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        match self.fault {
            ProductOfOtherExtents => Some(vec![Factor::Ring(5), Factor::Ring(4)]),
            ProductOfOtherKinds => Some(vec![Factor::Ring(4), Factor::Line(5)]),
            ProductOfTooFew => Some(vec![Factor::Ring(4)]),
            // As its links are, unless these are broken.
            ChannelsAreLinks | ProductOfOtherRoutes | ProductOfOtherTies => {
                Some(vec![Factor::Ring(4), Factor::Ring(5)])
            }
            _ => None,
        }
    }

    fn embedding(&self) -> Option<&Embedding> {
        self.embedding.as_ref()
    }

    fn ranks(&self) -> usize {
        match self.fault {
            NoRanks => 0,
            TooManyRanks => 21,
            _ => 20,
        }
    }

    fn part(&self, nodes: &[Node]) -> Option<Part> {
        match self.fault {
            PartOfDuplicates if nodes.len() == 2 && nodes[0] == nodes[1] => {
                return Some(Part::new(Arc::new(Grid::line(2).ok()?), nodes.to_vec()));
            }
            PartOfNone if nodes.is_empty() => return Some(Part::new(Arc::new(Grid::line(1).ok()?), vec![])),
            PartIsDisconnected if nodes.len() == 2 && !self.grid.adjacent(nodes[0], nodes[1]) => {
                return Some(Part::new(Arc::new(Apart), vec![Node::new(0), Node::new(1)]));
            }
            _ => {}
        }
        let Part { topology, mut numbers, .. } = self.grid.part(nodes)?;
        match self.fault {
            PartOfOtherLinks => return Some(Part::new(Arc::new(Complete::new(nodes.len()).ok()?), numbers)),
            PartNumbersRepeat => numbers.fill(Node::new(0)),
            PartNumbersSwapped => numbers.rotate_left(1),
            PartNumbersMissing => numbers.truncate(1),
            // All others have no parts.
            PartOfDuplicates | PartOfNone | PartIsDisconnected => {}
            _ => return None,
        }
        Some(Part::new(topology, numbers))
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        match self.fault {
            AdjacentToAll => true,
            AdjacentToNone => false,
            _ => from.index() < 20 && self.neighbours(from).contains(&to),
        }
    }

    fn edges(&self) -> Vec<(Node, Node)> {
        let up = |from| self.neighbours(from).into_iter().filter(move |&to| from < to).map(move |to| (from, to));
        let mut edges: Vec<(Node, Node)> = (0..20).map(Node::new).flat_map(up).collect();
        match self.fault {
            EdgesBothWays => edges.extend(edges.clone().into_iter().map(|(u, v)| (v, u))),
            EdgesMissing => drop(edges.pop()),
            _ => {}
        }
        edges
    }

    fn channels(&self) -> usize {
        let channels = (0..20).map(|u| self.neighbours(Node::new(u)).len()).sum::<usize>();
        if self.fault == ChannelsAreLinks { channels / 2 } else { channels }
    }
}

/// Two nodes without a link.
#[derive(Debug)]
struct Apart;

impl Topology for Apart {
    fn nodes(&self) -> usize {
        2
    }

    fn neighbours(&self, _: Node) -> Neighbours {
        Neighbours::default()
    }

    fn distance(&self, _: Node, _: Node) -> usize {
        0
    }

    fn route(&self, from: Node, _: Node) -> Vec<Node> {
        vec![from]
    }

    fn text(&self) -> String {
        "apart".to_owned()
    }
}

#[test]
fn every_fault_is_found_and_named() {
    for (fault, promise) in FAULTS {
        let findings = conformance::run_all(&Broken::new(fault)).unwrap_err();
        assert_eq!(findings[0].promise, promise, "{fault:?}: {findings:?}");
        let (_, check) = CHECKS.iter().find(|(name, _)| *name == promise).unwrap();
        if fault != NodesPanics {
            assert_eq!(check(&Broken::new(fault)).unwrap_err().promise, promise);
        }
    }
}

#[test]
fn every_check_finds_a_fault() {
    let checks: BTreeSet<&str> = CHECKS.iter().map(|&(name, _)| name).collect();
    let broken: BTreeSet<&str> = FAULTS.iter().map(|&(_, promise)| promise).collect();
    assert_eq!(checks, broken);
}

#[test]
fn fault_of_one_method_is_reported_once() {
    for fault in
        [AdjacentToAll, ChannelsAreLinks, DistanceAsOnAMesh, RouteTheLongWay, ProductOfOtherTies, PartOfOtherLinks]
    {
        let findings = conformance::run_all(&Broken::new(fault)).unwrap_err();
        assert_eq!(findings.len(), 1, "{fault:?}: {findings:?}");
        assert!(findings[0].to_string().starts_with("broken breaks "));
    }
}

/// A ring of four whose routes are empty, and that says that it is a huge ring.
#[derive(Debug)]
struct Lying {
    factors: bool,
}

impl Topology for Lying {
    fn nodes(&self) -> usize {
        4
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let at = node.index();
        [(at + 1) % 4, (at + 3) % 4].map(Node::new).into_iter().collect()
    }

    fn distance(&self, _: Node, _: Node) -> usize {
        0
    }

    fn route(&self, _: Node, _: Node) -> Vec<Node> {
        vec![]
    }

    fn text(&self) -> String {
        "lying".to_owned()
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        self.factors.then(|| vec![Factor::Ring(1 << 40)])
    }
}

#[test]
fn prices_on_broken_topologies_are_found_without_a_panic() {
    let broken = FAULTS.iter().filter(|(fault, _)| ![NodesPanics, PanicsOutOfRange].contains(fault));
    let broken = broken.map(|&(fault, _)| Arc::new(Broken::new(fault)) as Arc<dyn Topology>);
    let mut priced = 0;
    let lying: [Arc<dyn Topology>; 2] = [Arc::new(Lying { factors: true }), Arc::new(Lying { factors: false })];
    for topology in broken.chain(lying) {
        for name in Collective::names() {
            let collective = Collective::named(name, Rank::new(0)).unwrap();
            let Ok(problem) = Problem::new(Arc::clone(&topology), collective) else { continue };
            for machine in [Machine::PARAGON, Machine::THREADS] {
                priced += usize::from(select(&problem, "auto", &Terms::new(64, &machine)).is_ok());
            }
        }
    }
    assert!(priced > 500, "{priced}");
    let error = Problem::new(Arc::new(Lying { factors: true }), Collective::Alltoall).unwrap_err().to_string();
    assert_eq!(error, "the factors of lying have extents [1099511627776]; expected 4 nodes in all");
}
