//! Every topology keeps the promises of the trait.

use std::sync::Arc;

use necklace::Node;
use necklace::topology::{
    Factor, GeneralizedHypercube, Graph, Grid, Hypercube, Neighbours, Part, Topology, conformance, parse,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};

#[test]
fn built_in_topologies_pass_conformance() {
    let texts = "line:1 line:2 line:3 line:17 ring:1 ring:2 ring:3 ring:4 ring:5 ring:13 ring:300 mesh:1x1 mesh:2x2 \
                 mesh:1x5 mesh:3x7 mesh:4x3x2 mesh:16x20 torus:1x1 torus:1x2x1 torus:2x2 torus:2x3 torus:3x2x1 \
                 torus:3x3 torus:4x4 torus:5x7 torus:12x12 torus:2x2x2x2 torus:3x4x5 torus:4x4x4x4 hypercube:0 \
                 hypercube:1 hypercube:2 hypercube:3 hypercube:6 hypercube:9 complete:1 complete:2 complete:3 \
                 complete:11 complete:150 ghc:1,1 ghc:2,1 ghc:5,1 ghc:2,4 ghc:3,3 ghc:7,2 \
                 ghc:2x3x4 ghc:4x1x2 ghc:20x15 how:2,1,1 how:5,4,2 how:6,1,2 how:7,3,2 how:8,5,1 \
                 how:40,7,1 how:3,2,3 how:4,2,3 how-wrap:2,1,2 how-wrap:5,1,2 how-wrap:6,2,2 how-wrap:6,3,2 \
                 how-wrap:7,3,1 how-wrap:40,7,1 how-wrap:4,1,3 how-wrap:9,2,2 how-wrap:11,8,1";
    for text in texts.split_whitespace() {
        assert_eq!(conformance::run_all(&parse(text).unwrap()), Ok(()), "{text}");
    }
}

#[test]
fn products_report_their_factors() {
    use Factor::{Complete, Line, Ring, Windows};
    let products = [
        ("line:5", vec![Line(5)]),
        ("ring:1", vec![Ring(1)]),
        ("mesh:3x4", vec![Line(3), Line(4)]),
        ("torus:2x1x7", vec![Ring(2), Ring(1), Ring(7)]),
        ("hypercube:3", vec![Complete(2); 3]),
        ("hypercube:0", vec![]),
        ("ghc:4,2", vec![Complete(4); 2]),
        ("ghc:2x3x4", vec![Complete(2), Complete(3), Complete(4)]),
        ("complete:9", vec![Complete(9)]),
        ("how:5,1,2", vec![Line(5); 2]),
        ("how:5,4,2", vec![Complete(5); 2]),
        ("how-wrap:5,1,2", vec![Ring(5); 2]),
        ("how-wrap:5,2,2", vec![Complete(5); 2]),
        ("how:5,2,3", vec![Windows { extent: 5, window: 2, wraps: false }; 3]),
        ("how-wrap:7,2,1", vec![Windows { extent: 7, window: 2, wraps: true }]),
    ];
    for (text, factors) in products {
        assert_eq!(parse(text).unwrap().factors(), Some(factors), "{text}");
    }
    assert_eq!(Graph::from_edges([(0, 1)]).unwrap().factors(), None);
}

#[test]
fn short_factors_of_different_kinds_are_equal_networks() {
    for extent in 1..9 {
        let kinds = [Factor::Line(extent), Factor::Ring(extent), Factor::Complete(extent)];
        let pairs = || (0..extent).flat_map(|x| (0..extent).map(move |y| (x, y)));
        for kind in kinds {
            let complete = pairs().all(|(x, y)| kind.adjacent(x, y) == (x != y));
            assert_eq!((kind.extent(), kind.is_complete()), (extent, complete), "{kind:?}");
            assert!(pairs().all(|(x, y)| kind.adjacent(x, y) == kind.adjacent(y, x)), "{kind:?}");
        }
    }
}

#[test]
fn graphs_pass_conformance() {
    // A path, a star, a wheel, Petersen's graph, and a torus as a graph.
    let path = Graph::from_edges((0..20).map(|u| (u, u + 1)));
    let star = Graph::from_edges((1..30).map(|u| (0, u)));
    let wheel = Graph::from_edges((1..8).flat_map(|u| [(0, u), (u, u % 7 + 1)]));
    let petersen = Graph::from_edges((0..5).flat_map(|u| [(u, (u + 1) % 5), (u, u + 5), (u + 5, (u + 2) % 5 + 5)]));
    let torus = Grid::torus(&[3, 5]).unwrap().edges();
    let torus = Graph::new(15, torus.into_iter().map(|(u, v)| (u.index(), v.index())));
    for graph in [Graph::new(1, []), path, star, wheel, petersen, torus] {
        let graph = graph.unwrap();
        assert_eq!(conformance::run_all(&graph), Ok(()), "{graph:?}");
    }
}

#[test]
fn largest_topologies_are_cheap_to_make_and_query() {
    let texts = [
        "ring:2147483647",
        "mesh:46340x46340",
        "torus:1290x1290x1290",
        "hypercube:30",
        "ghc:1290,3",
        "complete:2000000000",
    ];
    for text in texts {
        let topology = parse(text).unwrap();
        let (first, last) = (Node::new(0), Node::new(topology.nodes() - 1));
        let (first_but_one, far) = (Node::new(1), topology.distance(first, last));
        assert_eq!(topology.distance(first, first_but_one), 1);
        assert_eq!(topology.route(first, first_but_one), [first, first_but_one]);
        assert!(far >= 1 && (topology.channels() >= topology.nodes() || topology.nodes() < 3));
    }
}

/// A grid small enough to ask everything.
#[derive(Clone, Debug)]
struct SmallGrid {
    extents: Vec<usize>,
    wraps: bool,
}

impl SmallGrid {
    fn grid(&self) -> Grid {
        if self.wraps { Grid::torus(&self.extents) } else { Grid::mesh(&self.extents) }.expect("at most 120 nodes")
    }
}

impl Arbitrary for SmallGrid {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut extents = vec![1 + usize::arbitrary(g) % 9];
        for _ in 0..usize::arbitrary(g) % 4 {
            let extent = 1 + usize::arbitrary(g) % 5;
            if extent * extents.iter().product::<usize>() <= 120 {
                extents.push(extent);
            }
        }
        Self { extents, wraps: bool::arbitrary(g) }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let (whole, dimensions) = (self.clone(), self.extents.len());
        let shorter = (0..dimensions).filter(move |_| dimensions > 1).map({
            let whole = whole.clone();
            move |d| {
                let mut less = whole.clone();
                less.extents.remove(d);
                less
            }
        });
        let narrower = (0..dimensions).filter_map(move |d| {
            let mut less = whole.clone();
            less.extents[d] -= 1;
            (less.extents[d] > 0).then_some(less)
        });
        Box::new(shorter.chain(narrower))
    }
}

#[test]
fn random_grids_pass_conformance() {
    fn holds(grid: SmallGrid) -> bool {
        conformance::run_all(&grid.grid()).is_ok()
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(SmallGrid) -> bool);
}

#[test]
fn random_grids_link_neighbours_of_one_dimension() {
    // Written from the definition, on coordinates counted by odometer.
    fn holds(small: SmallGrid) -> bool {
        let grid = small.grid();
        let mut places = vec![vec![]];
        for &extent in &small.extents {
            places =
                places.iter().flat_map(|at: &Vec<usize>| (0..extent).map(|x| [at.as_slice(), &[x]].concat())).collect();
        }
        let apart = |a: usize, b: usize, extent: usize| match small.wraps {
            true => a.abs_diff(b).min(extent - a.abs_diff(b)),
            false => a.abs_diff(b),
        };
        places.iter().enumerate().all(|(u, a)| {
            places.iter().enumerate().all(|(v, b)| {
                let apart: usize = small.extents.iter().enumerate().map(|(d, &extent)| apart(a[d], b[d], extent)).sum();
                let (from, to) = (Node::new(u), Node::new(v));
                grid.distance(from, to) == apart
                    && grid.adjacent(from, to) == (apart == 1)
                    && grid.neighbours(from).contains(&to) == (apart == 1)
                    && *grid.coordinates(from) == *a
            })
        })
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(SmallGrid) -> bool);
}

#[test]
fn random_boxes_of_grids_are_grids() {
    // Of each dimension a run of coordinates, from a start and with a length that the seed says.
    fn holds(small: SmallGrid, seed: u64, backwards: bool) -> bool {
        let grid = small.grid();
        let digit = |d: usize, of: usize| (seed >> (7 * d) & 127) as usize % of;
        let runs: Vec<(usize, usize)> = small
            .extents
            .iter()
            .enumerate()
            .map(|(d, &extent)| {
                let length = 1 + digit(d, extent);
                let room = if small.wraps { extent } else { extent - length + 1 };
                (digit(d + 4, room), length)
            })
            .collect();
        let mut nodes: Vec<Node> = (0..grid.nodes())
            .map(Node::new)
            .filter(|&node| {
                let at = grid.coordinates(node);
                let inside = |(d, &(start, length)): (usize, &(usize, usize))| {
                    (at[d] + small.extents[d] - start) % small.extents[d] < length
                };
                runs.iter().enumerate().all(inside)
            })
            .collect();
        if backwards {
            nodes.reverse();
        }
        let Part { topology: part, numbers, .. } = grid.part(&nodes).expect("a box is connected");
        let places = || nodes.iter().zip(&numbers);
        let same = places().all(|(&u, &i)| places().all(|(&v, &j)| grid.adjacent(u, v) == part.adjacent(i, j)));
        let lengths: Vec<usize> = runs.iter().map(|&(_, length)| length).filter(|&length| length > 1).collect();
        let is_ring = |d: usize| small.wraps && runs[d].1 == small.extents[d] && runs[d].1 > 2;
        let is_line = |d: usize| !is_ring(d) && runs[d].1 > 2;
        let (rings, lines) = ((0..runs.len()).any(is_ring), (0..runs.len()).any(is_line));
        let expected = if lengths.is_empty() { &[1][..] } else { &lengths };
        let is_kind = match Grid::of(&part) {
            None => rings && lines,
            Some(part) if rings || lines => part.extents() == expected && (part.wraps(), lines) == (rings, !rings),
            Some(part) => part.extents() == expected,
        };
        same && is_kind
    }
    QuickCheck::new().tests(500).quickcheck(holds as fn(SmallGrid, u64, bool) -> bool);
}

#[test]
fn random_generalized_hypercubes_conform() {
    fn holds(small: SmallGrid) -> bool {
        let ghc = GeneralizedHypercube::new(&small.extents).expect("at most 120 nodes");
        let differ = |a: Node, b: Node| {
            let (a, b) = (ghc.coordinates(a), ghc.coordinates(b));
            a.iter().zip(&b).filter(|(x, y)| x != y).count()
        };
        let all = || (0..ghc.nodes()).map(Node::new);
        conformance::run_all(&ghc).is_ok()
            && all()
                .all(|u| all().all(|v| ghc.distance(u, v) == differ(u, v) && ghc.adjacent(u, v) == (differ(u, v) == 1)))
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(SmallGrid) -> bool);
}

/// A network from outside the crate: a hub with spokes, nothing but the required methods.
#[derive(Debug)]
struct Star {
    spokes: usize,
}

const HUB: Node = Node::new(0);

impl Topology for Star {
    fn nodes(&self) -> usize {
        self.spokes + 1
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        match node {
            HUB => (1..=self.spokes).map(Node::new).collect(),
            _ => Neighbours::from(&[HUB][..]),
        }
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.route(from, to).len() - 1
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        match (from, to) {
            _ if from == to => vec![from],
            (HUB, _) | (_, HUB) => vec![from, to],
            _ => vec![from, HUB, to],
        }
    }

    fn text(&self) -> String {
        format!("star:{}", self.spokes)
    }
}

#[test]
fn foreign_topology_conforms_directly_and_through_pointers() {
    for spokes in [0, 1, 2, 7, 200] {
        assert_eq!(conformance::run_all(&Star { spokes }), Ok(()));
    }
    let shared: Arc<dyn Topology> = Arc::new(Star { spokes: 4 });
    assert_eq!(conformance::run_all(&shared), Ok(()));
    assert_eq!(conformance::run_all(&&Star { spokes: 4 }), Ok(()));
    let boxed: Box<dyn Topology> = Box::new(Grid::torus(&[3, 4]).unwrap());
    assert_eq!(conformance::run_all(&boxed), Ok(()));
    assert_eq!((boxed.channels(), Grid::of(&boxed).is_some()), (48, true));
}

#[test]
fn large_graphs_and_cubes_are_sampled() {
    let cube = Hypercube::new(12).unwrap();
    assert_eq!(conformance::run_all(&cube), Ok(()));
    let part = cube.part(&(0..4095).map(Node::new).collect::<Vec<_>>()).unwrap().topology;
    assert_eq!((part.text().as_str(), conformance::run_all(&part)), ("graph", Ok(())));
}
