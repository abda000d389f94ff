//! Networks with broken links and nodes, and the exchange that suits them.

use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::find;
use necklace::bounds::Bounds;
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Placement, Ports, Problem, Proof, to_json};
use necklace::select::{Terms, select};
use necklace::topology::{Damaged, Graph, GraphError, Topology, conformance, parse};
use necklace_tests::checker::check_schedule;
use quickcheck::QuickCheck;

use crate::claims::proof;
use crate::fixtures::alltoall;

/// Proves the exchange, and that it keeps its claims.
fn exchanged(problem: &Problem, parameters: &str) -> Proof {
    let text = format!("balanced-routes:{parameters}");
    let proof = proof(&*find(problem.collective(), &text).unwrap(), problem);
    assert!(proof.contention_free && proof.keeps(Ports::All), "{text} on {}", problem.topology().text());
    proof
}

#[test]
fn damaged_networks_pass_conformance() {
    for text in [
        "damaged:torus:4x4,0-1",
        "damaged:torus:8x8,3-4,17-18",
        "damaged:torus:5x5,n12",
        "damaged:mesh:4x4,0-1,5-6,n15",
        "damaged:hypercube:4,0-8,n3,n5",
        "damaged:how:9,3,1,0-3,4-5",
        "damaged:complete:5,0-1,0-2,0-3",
        "damaged:binary-tree:4,n14",
        "damaged:ring:6,0-5",
        "damaged:line:2,n0",
    ] {
        let topology = parse(text).unwrap();
        assert_eq!(conformance::run_all(&topology), Ok(()), "{text}");
        assert_eq!(topology.text(), text);
        assert!(topology.factors().is_none() && topology.cube().is_none());
    }
}

#[test]
fn damage_to_networks_without_a_text_passes_conformance() {
    let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
    let once = Damaged::new(Arc::new(graph), [(1, 0)], []).unwrap();
    let twice = Damaged::new(parse("damaged:ring:5,0-1").unwrap(), [], [1]).unwrap();
    let guest = Damaged::new(parse("ring:4@ring:5:straight").unwrap(), [(0, 1)], []).unwrap();
    for damaged in [once, twice, guest] {
        assert_eq!(conformance::run_all(&damaged), Ok(()), "{}", damaged.text());
        assert!(parse(&damaged.text()).is_err());
    }
}

/// What is left are the links of the whole network between nodes that are left, in their order.
#[test]
fn the_rest_of_a_network_is_left() {
    let whole = parse("torus:4x5").unwrap();
    let links = [(1, 2), (0, 15), (2, 1)];
    let damaged = Damaged::new(Arc::clone(&whole), links, [7, 7, 3]).unwrap();
    let names: Vec<usize> = (0..20).filter(|node| ![3, 7].contains(node)).collect();
    let left: Vec<(usize, usize)> =
        damaged.edges().into_iter().map(|(u, v)| (names[u.index()], names[v.index()])).collect();
    let expected: Vec<(usize, usize)> = whole.edges().into_iter().map(|(u, v)| (u.index(), v.index())).collect();
    let is_left = |&(u, v): &(usize, usize)| {
        ![u, v].iter().any(|end| [3, 7].contains(end)) && (u, v) != (1, 2) && (u, v) != (0, 15)
    };
    assert_eq!(left, expected.into_iter().filter(is_left).collect::<Vec<_>>());
    assert_eq!(damaged.text(), "damaged:torus:4x5,0-15,1-2,n3,n7");
    assert_eq!(damaged.whole().text(), "torus:4x5");
    // In any order, and either way round, a text is the same network.
    let texts = ["damaged:ring:6,3-2", "damaged:ring:6,2-3,3-2"].map(|text| parse(text).unwrap().text());
    assert_eq!(texts, ["damaged:ring:6,2-3"; 2]);
}

#[test]
fn damage_that_cannot_be_is_an_error_that_names_it() {
    for (text, place, expected) in [
        ("damaged:torus:8x8,3-40", "column 21: found \"40\"", "a node to which node 3 has a link: 2, 4, 11, 59"),
        ("damaged:torus:8x8,3-64", "column 21: found \"64\"", "the number of a node from 0 to 63"),
        ("damaged:torus:8x8,n64", "column 20: found \"64\"", "the number of a node from 0 to 63"),
        ("damaged:torus:8x8,3-3", "column 21: found \"3\"", "a node to which node 3 has a link"),
        ("damaged:torus:8x8,3-4,", "column 23: found the end", "a broken link U-V or a broken node nU"),
        ("damaged:torus:8x8,3-4;", "column 22: found \";\"", "\",\" and a broken link U-V or a broken node nU"),
        ("damaged:torus:8x8,3-4,x", "column 23: found \"x\"", "a broken link U-V or a broken node nU"),
        ("damaged:torus:8x8,3-4,5", "column 24: found the end", "\"-\" and the other end of a link"),
        ("damaged:torus:8x8", "column 18: found the end", "\",\" and a broken link U-V or a broken node nU"),
        ("damaged:torus:0x8,3-4", "column 15: found \"0\"", "an extent from 1"),
        ("damaged:line:4,1-2", "column 15: found \",\"", "damage that leaves the network connected"),
        ("damaged:line:1,n0", "column 15: found \",\"", "damage that leaves a node"),
        ("damaged:line:3,n1", "column 15: found \",\"", "damage that leaves the network connected"),
        ("damaged:complete:20000,0-1", "column 23: found \",\"", "at most 16384 nodes and 524288 channels"),
        ("damaged:graph:@edges,0-1", "column 9: found \"graph\"", "a network that is not in a file"),
        ("damaged:damaged:ring:4,0-1", "column 9: found \"damaged\"", "a network without damage"),
        ("damaged:how:8,3,0-1", "column 16: found \",\"", "\",\" to complete \"how:8,3\" before its damage"),
        ("damaged:", "column 9: found the end", "one of line:N"),
        ("damaged", "column 1: found \"damaged\"", "one of line:N"),
    ] {
        let error = parse(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(text) && error.contains(place) && error.contains(expected), "{text}: {error}");
    }
    let torus = parse("torus:4x4").unwrap();
    let of = |links: &[(usize, usize)], nodes: &[usize]| {
        Damaged::new(Arc::clone(&torus), links.iter().copied(), nodes.iter().copied()).unwrap_err()
    };
    assert!(matches!(of(&[(0, 5)], &[]), GraphError::Missing { edge: (0, 5), .. }));
    assert_eq!(of(&[(5, 0)], &[]).to_string(), "edge 0-5: torus:4x4 has no such link");
    assert!(matches!(of(&[(0, 16)], &[]), GraphError::OutOfRange { .. }));
    assert!(matches!(of(&[], &[16]), GraphError::OutOfRange { .. }));
    assert!(matches!(of(&[(0, 1), (0, 3), (0, 4), (0, 12)], &[]), GraphError::Disconnected { .. }));
    assert!(matches!(of(&[], &(0..16).collect::<Vec<_>>()), GraphError::Empty));
}

/// Beyond the papers (A6): the rounds of single blocks, and what channels carry of blocks in four
/// chunks, beside a lower bound. Where a torus is damaged, the channels beside the damage decide,
/// which the bound does not see.
#[test]
fn exchange_on_any_network_is_near_the_bound() {
    for (text, rounds, in_chunks, bound) in [
        ("mesh:4x4", 17, 16.25, 16),
        ("mesh:6x6", 55, 54.75, 54),
        ("line:10", 25, 25.0, 25),
        ("torus:5x5", 17, 15.25, 15),
        ("damaged:torus:4x4,0-1", 11, 9.75, 9),
        ("damaged:torus:8x8,3-4,17-18", 71, 70.75, 66),
        ("damaged:torus:6x6,n14", 30, 28.75, 28),
        ("damaged:hypercube:5,0-1,2-6", 19, 17.25, 17),
        ("damaged:how:16,3,1,2-3,7-10", 15, 15.0, 13),
        ("damaged:how-wrap:16,3,1,0-1", 10, 7.75, 6),
    ] {
        let problem = alltoall(text);
        let least = Bounds::of(&problem).transmission(Ports::All, true, true).as_f64();
        assert_eq!(least.ceil(), f64::from(bound), "{text}");
        let proof = exchanged(&problem, "load=1");
        assert_eq!((proof.startups, proof.hops, proof.transmission), (rounds, rounds, rounds.into()), "{text}");
        assert_eq!(exchanged(&problem, "load=4,chunks=4").transmission.as_f64(), in_chunks, "{text}");
    }
}

#[test]
fn independent_checker_accepts_the_exchange_on_a_damaged_torus() {
    let problem = alltoall("damaged:torus:4x4,0-1,n10");
    let exchange = find(problem.collective(), "balanced-routes:load=1").unwrap();
    let json = to_json(&exchange.shares(&problem).unwrap().collect().unwrap());
    let checked = check_schedule(&json, &["--ports", "all", "--contention-free"]);
    assert!(checked.is_none_or(|checked| checked.is_ok()));
}

/// Trees have one route for each pair, so the load of the busiest link is that of the cut.
#[test]
fn exchange_on_a_tree_takes_the_cut() {
    for (text, rounds) in [("binary-tree:3", 12), ("binary-tree:4", 56), ("line:9", 20)] {
        assert_eq!(exchanged(&alltoall(text), "load=1").startups, rounds, "{text}");
    }
}

#[test]
fn exchange_keeps_its_claims_on_random_networks_and_placements() {
    fn holds(links: Vec<(u8, u8)>, nodes: u8, load: u8, chunks: u8, turn: u8) -> bool {
        let nodes = 3 + usize::from(nodes % 12);
        let tree = (1..nodes).map(|v| (v, (v * 7 + nodes) % v));
        let others = links.iter().map(|&(u, v)| (usize::from(u) % nodes, usize::from(v) % nodes));
        let edges = tree.chain(others.filter(|(u, v)| u != v));
        let graph: Arc<dyn Topology> = Arc::new(Graph::new(nodes, edges).unwrap());
        let places: Vec<Node> = (0..nodes).map(|rank| Node::new((rank + usize::from(turn)) % nodes)).collect();
        let placement = Placement::new(places, nodes).unwrap();
        let problem = Problem::placed(graph, placement, Collective::Alltoall).unwrap();
        if problem.topology().channels() == nodes * (nodes - 1) {
            let exchange = find(problem.collective(), "balanced-routes").unwrap();
            return exchange.fits(&problem).unwrap_err().to_string().contains("use direct");
        }
        let (load, chunks) = (1 + load % 5, 1 + chunks % 4);
        let proof = exchanged(&problem, &format!("load={load},chunks={chunks}"));
        proof.startups > 0
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(Vec<(u8, u8)>, u8, u8, u8, u8) -> bool);
}

/// By price, `auto` takes the exchange for long blocks on damaged networks, and leaves it to others
/// where there are better ones.
#[test]
fn auto_takes_the_exchange_where_nodes_differ() {
    let channels = Machine::FREE.with_channel(1000).with_startup(1000);
    let chosen = |text: &str| {
        let problem = alltoall(text);
        select(&problem, "auto", &Terms::new(1 << 20, &channels)).unwrap().algorithm.name()
    };
    for text in ["damaged:torus:4x4,0-1", "damaged:torus:8x8,3-4,17-18", "damaged:hypercube:4,n3"] {
        assert!(chosen(text).starts_with("balanced-routes:load="), "{text}: {}", chosen(text));
    }
    for (text, better) in [("torus:4x4", "cayley-exchange"), ("how:20,3,1", "window-exchange")] {
        assert!(chosen(text).starts_with(better), "{text}: {}", chosen(text));
    }
}

#[test]
fn exchange_is_refused_where_it_does_not_fit() {
    for (text, parameters, why) in [
        ("complete:5", "", "it needs a network in which not all nodes are linked; use direct"),
        ("line:257", "", "it needs at most 256 nodes; there are 257"),
        ("line:200", ":chunks=4", "chunks=4: it needs at most 3 for 200 nodes"),
    ] {
        let exchange = find(&Collective::Alltoall, &format!("balanced-routes{parameters}")).unwrap();
        let error = exchange.fits(&alltoall(text)).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}
