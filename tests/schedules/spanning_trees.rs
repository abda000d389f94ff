//! The spanning trees of Wang's chapter 10 against their definitions, and scatters and gathers
//! along them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use necklace::algorithm::find;
use necklace::algorithm::spanning_trees::{BalancedSubgraph, Necklaces, SpanningTree, balanced, subtrees};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Placement, Ports, Problem, Volume, to_json, verify};
use necklace::select::{Terms, select};
use necklace::topology::{Graph, Topology, parse};
use necklace::{Node, Rank};
use necklace_tests::checker::check_schedule;

use crate::claims::proof;

/// Returns the digits of a node, the highest first.
fn digits(node: usize, k: usize, n: usize) -> Vec<usize> {
    (0..n).rev().map(|place| node / k.pow(place as u32) % k).collect()
}

fn node(digits: &[usize], k: usize) -> usize {
    digits.iter().fold(0, |node, digit| node * k + digit)
}

/// Definition 10.3, digit by digit.
fn rotated(node_number: usize, k: usize, n: usize) -> usize {
    let mut word = digits(node_number, k, n);
    let first = word.remove(0);
    word.push(if first == 0 { 0 } else { first % (k - 1) + 1 });
    node(&word, k)
}

/// Returns the necklace from a node on, as rotations give it.
fn necklace(start: usize, k: usize, n: usize) -> Vec<usize> {
    let mut all = vec![start];
    loop {
        let next = rotated(*all.last().unwrap(), k, n);
        if next == start {
            return all;
        }
        all.push(next);
    }
}

/// Definitions 10.5 and 10.6.
fn generator_and_displacement(start: usize, k: usize, n: usize) -> (usize, usize) {
    let all = necklace(start, k, n);
    let binary = |word: usize| digits(word, k, n).iter().map(|&digit| usize::from(digit > 0)).collect::<Vec<_>>();
    let generator = *all.iter().max_by_key(|&&word| (binary(word), word)).unwrap();
    (generator, all.iter().position(|&word| word == generator).unwrap())
}

/// Definition 10.9 for the root 0, from the digits.
fn parent(word: usize, displacement: usize, k: usize, n: usize) -> usize {
    let mut digits = digits(word, k, n);
    // Place i stands at n - 1 - i of the list. To the left of place n - 1 - D, cyclically.
    let start = n - 1 - displacement % n;
    let place = (1..=n).map(|left| (start + left) % n).find(|&place| digits[n - 1 - place] > 0).unwrap();
    digits[n - 1 - place] = 0;
    node(&digits, k)
}

fn cubes() -> impl Iterator<Item = (usize, usize)> {
    (2..=6).flat_map(|k| (1..=4).map(move |n| (k, n)))
}

#[test]
fn necklaces_are_those_of_the_definitions() {
    for (k, n) in cubes() {
        let necklaces = Necklaces::new(k, n).unwrap();
        assert_eq!((necklaces.nodes(), necklaces.rotations()), (k.pow(n as u32), n * (k - 1)));
        for start in 0..necklaces.nodes() {
            let found: Vec<usize> = necklaces.necklace(Node::new(start)).map(Node::index).collect();
            assert_eq!(found, necklace(start, k, n), "GH({k}, {n})");
            let (generator, displacement) = generator_and_displacement(start, k, n);
            assert_eq!(necklaces.generator(Node::new(start)), Node::new(generator));
            assert_eq!(necklaces.displacement(Node::new(start)), displacement);
            assert_eq!(necklaces.period(Node::new(start)), found.len());
        }
    }
}

/// Asserts that a tree is one of shortest paths along channels of the network.
fn is_shortest(tree: &SpanningTree, topology: &dyn Topology, root: usize) {
    assert_eq!((tree.nodes(), tree.root()), (topology.nodes(), Node::new(root)));
    for node in (0..topology.nodes()).map(Node::new) {
        assert_eq!(tree.depth(node), topology.distance(Node::new(root), node), "{} {root}", topology.text());
        let above = tree.parent(node);
        assert_eq!(above.is_none(), node.index() == root);
        assert!(above.is_none_or(|above| topology.adjacent(above, node) && tree.depth(above) + 1 == tree.depth(node)));
    }
}

/// The parent lacks a digit. The subtree of each channel has the nodes of one displacement: one of
/// each necklace whose period is larger. From other roots, nodes are translated.
#[test]
fn balanced_tree_is_that_of_the_definition() {
    for (k, n) in cubes() {
        let text = format!("ghc:{k},{n}");
        let topology = parse(&text).unwrap();
        let nodes = topology.nodes();
        let step = if nodes <= 256 { 1 } else { 211 };
        for root in (0..nodes).step_by(step) {
            let tree = balanced(&*topology, Node::new(root)).unwrap();
            is_shortest(&tree, &*topology, root);
            let shifted = |word: usize| {
                let sum = digits(word, k, n).into_iter().zip(digits(root, k, n)).map(|(a, b)| (a + b) % k);
                Node::new(node(&sum.collect::<Vec<_>>(), k))
            };
            let mut first: BTreeMap<usize, BTreeSet<Node>> = BTreeMap::new();
            for word in 1..nodes {
                let (_, displacement) = generator_and_displacement(word, k, n);
                assert_eq!(
                    tree.parent(shifted(word)),
                    Some(shifted(parent(word, displacement, k, n))),
                    "{text} {word}"
                );
                let mut at = shifted(word);
                while tree.depth(at) > 1 {
                    at = tree.parent(at).unwrap();
                }
                first.entry(displacement).or_default().insert(at);
            }
            assert_eq!(first.len(), n * (k - 1), "a displacement for each channel");
            assert!(first.values().all(|firsts| firsts.len() == 1), "{text}");
            let mut periods: BTreeMap<usize, usize> = BTreeMap::new();
            for word in 1..nodes {
                periods.insert(generator_and_displacement(word, k, n).0, necklace(word, k, n).len());
            }
            for (&displacement, firsts) in &first {
                let expected = periods.values().filter(|&&period| period > displacement).count();
                assert_eq!(tree.size(*firsts.first().unwrap()), expected, "{text} {displacement}");
            }
            let sizes = tree.subtrees();
            let spread = sizes.iter().max().unwrap() - sizes.iter().min().unwrap();
            let degenerate = periods.values().filter(|&&period| period < n * (k - 1)).count();
            assert!(spread <= degenerate && (n > 2 || spread <= 1), "{text}: {sizes:?}");
        }
    }
}

/// The trees of the subgraph have one node of each necklace each, are closed under parents, and
/// share nodes as periods say. With blocks cut into as many parts, channels of the root carry the
/// same.
#[test]
fn balanced_subgraph_is_that_of_the_definition() {
    for (k, n) in cubes().filter(|&(k, n)| k.pow(n as u32) <= 256) {
        let necklaces = Necklaces::new(k, n).unwrap();
        let classes: BTreeSet<Node> = (0..necklaces.nodes()).map(|node| necklaces.generator(Node::new(node))).collect();
        let tree = balanced(&*parse(&format!("ghc:{k},{n}")).unwrap(), Node::new(0)).unwrap();
        for root in (0..necklaces.nodes()).step_by(37).map(Node::new) {
            let subgraph = BalancedSubgraph::new(necklaces, root).unwrap();
            assert_eq!(subgraph.trees(), n * (k - 1));
            let addresses = || (1..necklaces.nodes()).map(Node::new);
            for number in 0..subgraph.trees() {
                let at = |address: Node| necklaces.translated(address, root);
                let members: Vec<Node> =
                    addresses().filter(|&address| subgraph.contains(number, at(address))).collect();
                assert_eq!(members.len() + 1, classes.len(), "GH({k}, {n}), tree {number}");
                let mut firsts = 0;
                for address in members {
                    let above = subgraph.parent(number, at(address)).unwrap();
                    let lower = necklaces.relative(above, root);
                    assert_eq!(lower.index(), parent(address.index(), number, k, n));
                    assert!(above == root || subgraph.contains(number, above));
                    firsts += usize::from(above == root);
                }
                assert_eq!(firsts, 1, "one channel of the root");
                assert!(subgraph.contains(number, root) && subgraph.parent(number, root).is_none());
            }
            let mut load = Volume::ZERO;
            for address in addresses() {
                let at = necklaces.translated(address, root);
                let within: Vec<usize> = (0..subgraph.trees()).filter(|&tree| subgraph.contains(tree, at)).collect();
                let period = necklaces.period(address);
                assert_eq!(within.len(), subgraph.trees() / period);
                load += Volume::new(u64::from(within.contains(&0)), within.len() as u64);
                // The balanced spanning tree takes the first of them.
                let own = subgraph.parent(necklaces.displacement(address), address);
                assert!(root.index() > 0 || own == tree.parent(address));
            }
            assert_eq!(load, Volume::new(necklaces.nodes() as u64 - 1, subgraph.trees() as u64));
        }
        assert_eq!(BalancedSubgraph::new(necklaces, Node::new(necklaces.nodes())), None);
    }
}

/// On windows, nodes are below the last stop of the path with the longest jumps first.
#[test]
fn converted_tree_breaks_missing_channels_into_jumps() {
    for (k, n) in [(2, 3), (3, 2), (5, 1), (5, 2), (8, 2), (4, 3), (9, 1), (12, 1)] {
        for (window, kind) in (1..k).flat_map(|w| [(w, "how"), (w, "how-wrap")]) {
            let topology = parse(&format!("{kind}:{k},{window},{n}")).unwrap();
            let complete = parse(&format!("ghc:{k},{n}")).unwrap();
            for root in 0..topology.nodes() {
                let tree = balanced(&*topology, Node::new(root)).unwrap();
                is_shortest(&tree, &*topology, root);
                let before = balanced(&*complete, Node::new(root)).unwrap();
                for node in (0..topology.nodes()).map(Node::new) {
                    let path = before.parent(node).map(|above| topology.route(above, node));
                    // Round a ring, both ways may be equally long.
                    let is_tied = kind == "how-wrap" && k % 2 == 0;
                    let expected = path.map(|path| path[path.len() - 2]);
                    assert!(is_tied || tree.parent(node) == expected, "{} {root} {node}", topology.text());
                }
            }
        }
    }
    let refused = ["torus:3x4", "ghc:2x3", "binary-tree:3", "complete:1", "hypercube:0"];
    assert!(refused.iter().all(|text| balanced(&*parse(text).unwrap(), Node::new(0)).is_none()));
    assert!(balanced(&*parse("ghc:3,2").unwrap(), Node::new(9)).is_none());
}

fn graphs() -> Vec<Arc<dyn Topology>> {
    let petersen = Graph::from_edges((0..5).flat_map(|u| [(u, (u + 1) % 5), (u, u + 5), (u + 5, (u + 2) % 5 + 5)]));
    let star = Graph::from_edges((1..7).map(|leaf| (0, leaf)));
    let bridge = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]);
    [petersen, star, bridge].into_iter().map(|graph| Arc::new(graph.unwrap()) as Arc<dyn Topology>).collect()
}

/// Returns the least rounds with all ports, the nodes for each channel of the root.
fn least(topology: &dyn Topology, root: usize) -> usize {
    (topology.nodes() - 1).div_ceil(topology.neighbours(Node::new(root)).len())
}

/// Returns the least size of the largest part if each node is in the part of a channel of the root
/// that a shortest path to it begins with, whatever the nodes on that path are in: by matching.
fn least_by_shortest_paths(topology: &dyn Topology, root: usize) -> usize {
    let root = Node::new(root);
    let firsts = topology.neighbours(root);
    let options = |node: Node| -> Vec<usize> {
        let begins = |&channel: &usize| topology.distance(firsts[channel], node) < topology.distance(root, node);
        (0..firsts.len()).filter(begins).collect()
    };
    let nodes = (0..topology.nodes()).map(Node::new).filter(|&node| node != root);
    let options: Vec<Vec<usize>> = nodes.map(options).collect();
    let fits = |most: usize| {
        let mut parts: Vec<Vec<usize>> = vec![vec![]; firsts.len()];
        (0..options.len()).all(|node| join(node, most, &options, &mut parts, &mut vec![false; firsts.len()]))
    };
    (least(topology, root.index())..).find(|&most| fits(most)).unwrap()
}

/// Puts a node into one of its parts, and others elsewhere if these are full.
fn join(node: usize, most: usize, options: &[Vec<usize>], parts: &mut [Vec<usize>], tried: &mut [bool]) -> bool {
    for &part in &options[node] {
        if std::mem::replace(&mut tried[part], true) {
            continue;
        }
        if parts[part].len() < most {
            parts[part].push(node);
            return true;
        }
        for place in 0..parts[part].len() {
            if join(parts[part][place], most, options, parts, tried) {
                parts[part][place] = node;
                return true;
            }
        }
    }
    false
}

/// On networks that look the same from every node, every channel of the root serves as many nodes.
/// On others, as shortest paths must: nodes beyond a corner all go one way.
#[test]
fn subtrees_are_shortest_and_balanced() {
    let alike =
        ["ghc:5,2", "ghc:3,3", "ghc:8,2", "ghc:4,3", "ghc:3x4", "hypercube:6", "how-wrap:16,3,1", "how-wrap:8,2,2"];
    let tori = ["torus:8x8", "torus:4x4x4", "torus:5x7", "ring:9"];
    for topology in alike.into_iter().chain(tori).map(|text| parse(text).unwrap()) {
        for root in 0..topology.nodes() {
            let tree = subtrees(&*topology, Node::new(root)).unwrap();
            is_shortest(&tree, &*topology, root);
            let largest = tree.subtrees().into_iter().max().unwrap();
            assert_eq!(largest, least(&*topology, root), "{} from {root}", topology.text());
        }
    }
    let windows = ["how:5,3,2", "how:8,3,2", "how:8,4,2", "how:8,5,2", "how:16,3,1", "how:16,5,2", "how:4,2,3"];
    let others = ["mesh:6x7", "mesh:3x4x5", "line:8", "binary-tree:5"];
    for topology in windows.into_iter().chain(others).map(|text| parse(text).unwrap()).chain(graphs()) {
        for root in (0..topology.nodes()).step_by(topology.nodes().div_ceil(64)) {
            let tree = subtrees(&*topology, Node::new(root)).unwrap();
            is_shortest(&tree, &*topology, root);
            let largest = tree.subtrees().into_iter().max().unwrap();
            let least = least_by_shortest_paths(&*topology, root);
            assert!(largest <= least + 1, "{} from {root}: {largest}, {least}", topology.text());
        }
    }
}

/// The table in the documentation of the trees.
#[test]
fn documented_rounds_are_counted() {
    let source = include_str!("../../src/algorithm/spanning_trees/mod.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let mut found = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let (topology, root) = (parse(cells[0]).unwrap(), cells[1].parse::<usize>().unwrap());
        let problem = problem(&topology, "scatter", root);
        let rounds = |name: &str| proof(&*find(problem.collective(), name).unwrap(), &problem).startups.to_string();
        let direct = proof(&*find(problem.collective(), "direct").unwrap(), &problem).channel_transmission;
        let counted = [
            least(&*topology, root).to_string(),
            rounds("subtrees:load=1"),
            rounds("balanced-spanning-tree:load=1"),
            direct.to_string(),
        ];
        assert_eq!(cells[2..6], counted, "{}", cells[0]);
        found += 1;
    }
    assert_eq!(found, 12);
}

/// The table in the documentation of the balanced spanning tree.
#[test]
fn documented_sizes_are_counted() {
    let source = include_str!("../../src/algorithm/spanning_trees/balanced.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("/// | ")).skip(1);
    let mut found = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [k, n] = [0, 1].map(|cell| cells[cell].parse::<usize>().unwrap());
        let sizes = balanced(&*parse(&format!("ghc:{k},{n}")).unwrap(), Node::new(0)).unwrap().subtrees();
        let mean = format!("{:.1}", sizes.iter().sum::<usize>() as f64 / (n * (k - 1)) as f64);
        let counted = [sizes.iter().max().unwrap().to_string(), sizes.iter().min().unwrap().to_string()];
        assert_eq!((cells[2], cells[3]), (counted[0].as_str(), counted[1].as_str()), "GH({k}, {n})");
        assert_eq!(cells[4], mean.trim_end_matches(".0"), "GH({k}, {n})");
        found += 1;
    }
    assert_eq!(found, 7);
}

fn problem(topology: &Arc<dyn Topology>, collective: &str, root: usize) -> Problem {
    Problem::new(Arc::clone(topology), Collective::named(collective, Rank::new(root)).unwrap()).unwrap()
}

/// Delivered, as claimed, without contention, from every root and to it, for all loads; with one
/// block in a message in as many rounds as the largest subtree has nodes; with one port in the
/// least, N - 1.
#[test]
fn scatters_and_gathers_along_trees_are_verified() {
    let texts =
        ["ghc:5,2", "ghc:3,3", "ghc:2,5", "how:5,3,2", "how:6,2,1", "how:3,1,3", "how-wrap:9,2,1", "how-wrap:5,1,2"];
    let more = ["mesh:3x4", "binary-tree:3", "line:7", "ring:6"];
    for topology in texts.into_iter().chain(more).map(|text| parse(text).unwrap()).chain(graphs()) {
        for (collective, root) in
            ["scatter", "gather"].into_iter().flat_map(|c| (0..topology.nodes()).map(move |r| (c, r)))
        {
            let problem = problem(&topology, collective, root);
            for name in ["subtrees", "balanced-spanning-tree", "balanced-spanning-subgraph"] {
                for more in ["load=1", "ports=one", "load=2", "load=5", "load=4096"] {
                    let is_between = ["load=2", "load=5"].contains(&more);
                    let is_subgraph = name == "balanced-spanning-subgraph";
                    let is_left_out = is_between && topology.nodes() > 16 && root % 4 > 0;
                    if is_left_out || is_subgraph && more == "ports=one" {
                        continue;
                    }
                    let name = format!("{name}:{more}");
                    let algorithm = find(problem.collective(), &name).unwrap();
                    if algorithm.fits(&problem).is_err() {
                        assert!(name.starts_with("balanced") && balanced(&*topology, Node::new(root)).is_none());
                        continue;
                    }
                    let proof = proof(&*algorithm, &problem);
                    // A rank of a tree has one other rank to send to.
                    let ports = match (more, collective) {
                        ("ports=one", _) => Ports::One,
                        (_, "gather") if !is_subgraph => Ports::OneSend,
                        _ => Ports::All,
                    };
                    assert!(proof.contention_free && proof.keeps(ports) && proof.hops == proof.startups);
                    assert!(proof.keeps(Ports::All) && algorithm.keeps(&problem, Ports::All));
                    assert_eq!(algorithm.ports(&problem), ports);
                    let grow = if name.starts_with("subtrees") { subtrees } else { balanced };
                    let tree = grow(&*topology, Node::new(root)).unwrap();
                    let rounds = match more {
                        "ports=one" => topology.nodes() - 1,
                        "load=1" if is_subgraph => continue,
                        "load=1" => tree.subtrees().into_iter().max().unwrap(),
                        "load=4096" => tree.height(),
                        _ => continue,
                    };
                    assert_eq!(
                        proof.startups,
                        rounds as u64,
                        "{name} for {collective} on {} from {root}",
                        topology.text()
                    );
                    if root % 5 == 1 {
                        let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
                        assert!(verify(&schedule).is_ok());
                        let options = ["--contention-free", "--ports", ports.name()];
                        // The checker does not know complete binary trees.
                        let known = !topology.text().starts_with("binary-tree");
                        let checked = known.then(|| check_schedule(&to_json(&schedule), &options)).flatten();
                        assert!(checked.is_none_or(|checked| checked.is_ok()), "{name} on {}", topology.text());
                    }
                }
            }
        }
    }
}

/// The trees of the subgraph have a node of each necklace, and a block is cut into as many parts as
/// trees contain its node. So all channels of the root carry the same, (N - 1) / (n (k - 1)) blocks, in
/// as many rounds as there are necklaces, which no tree of whole blocks does where one is degenerate.
#[test]
fn subgraph_loads_all_channels_of_the_root_alike() {
    let mut degenerate = 0;
    for (k, n) in cubes().filter(|&(k, n)| n > 1 && k.pow(n as u32) <= 256) {
        let topology = parse(&format!("ghc:{k},{n}")).unwrap();
        let (nodes, degree) = (topology.nodes(), n * (k - 1));
        let classes: BTreeSet<usize> = (1..nodes).map(|word| generator_and_displacement(word, k, n).0).collect();
        for root in (0..nodes).step_by(37) {
            let problem = problem(&topology, "scatter", root);
            let scatter = find(problem.collective(), "balanced-spanning-subgraph:load=1").unwrap();
            let proof = proof(&*scatter, &problem);
            assert_eq!(proof.startups, classes.len() as u64, "{}", topology.text());
            assert!(proof.contention_free);
            let mut carried: BTreeMap<Rank, Volume> = BTreeMap::new();
            let schedule = scatter.shares(&problem).unwrap().collect().unwrap();
            for transfer in schedule.rounds.iter().flat_map(|round| &round.transfers) {
                if transfer.source.index() == root {
                    *carried.entry(transfer.destination).or_default() += Volume::of(&transfer.blocks);
                }
            }
            assert_eq!(carried.len(), degree);
            let alike = Volume::new(nodes as u64 - 1, degree as u64);
            assert!(carried.values().all(|&volume| volume == alike), "{}: {carried:?}", topology.text());
            degenerate += usize::from(classes.iter().any(|&word| necklace(word, k, n).len() < degree));
        }
    }
    assert!(degenerate > 10, "{degenerate}");
}

/// The gather is the scatter in reverse, message by message.
#[test]
fn gather_is_the_scatter_in_reverse() {
    for (text, name) in [
        ("how:5,2,2", "balanced-spanning-tree:load=3"),
        ("ghc:3,3", "balanced-spanning-subgraph:load=2"),
        ("mesh:4x5", "subtrees:load=2"),
    ] {
        let topology = parse(text).unwrap();
        let messages = |collective: &str| -> Vec<BTreeSet<(Rank, Rank, Vec<i32>)>> {
            let problem = problem(&topology, collective, 7);
            let schedule = find(problem.collective(), name).unwrap().shares(&problem).unwrap().collect().unwrap();
            let of = |transfer: &necklace::schedule::Transfer| {
                let down = collective == "scatter";
                let ends = if down {
                    (transfer.source, transfer.destination)
                } else {
                    (transfer.destination, transfer.source)
                };
                let blocks =
                    transfer.blocks.iter().map(|block| if down { block.destination() } else { block.source() });
                (ends.0, ends.1, blocks.collect())
            };
            schedule.rounds.iter().map(|round| round.transfers.iter().map(of).collect()).collect()
        };
        let mut up = messages("gather");
        up.reverse();
        assert_eq!(messages("scatter"), up);
    }
}

/// Ranks may be on nodes in any order.
#[test]
fn subtrees_follow_the_placement() {
    let topology = parse("how:7,2,1").unwrap();
    let placement = Placement::new([3, 0, 6, 1, 5, 2, 4].map(Node::new).to_vec(), 7).unwrap();
    for collective in ["scatter", "gather"] {
        let collective = Collective::named(collective, Rank::new(2)).unwrap();
        let problem = Problem::placed(Arc::clone(&topology), placement.clone(), collective).unwrap();
        let proof = proof(&*find(problem.collective(), "subtrees:load=1").unwrap(), &problem);
        // From the end of the line.
        assert_eq!((proof.startups, proof.contention_free), (3, true));
    }
}

#[test]
fn trees_are_refused_where_they_do_not_fit() {
    let scatter = Collective::Scatter { root: Rank::new(0) };
    let error = |text: &str, name: &str| {
        let problem = Problem::new(parse(text).unwrap(), scatter.clone()).unwrap();
        find(&scatter, name).unwrap().fits(&problem).unwrap_err().to_string()
    };
    for (text, name, words) in [
        ("complete:6", "subtrees", "all ranks are neighbours of the root; use direct"),
        ("ghc:6,1", "balanced-spanning-tree", "all ranks are neighbours of the root; use direct"),
        ("ghc:2x3", "balanced-spanning-tree", "it needs equal rows; the extents of ghc:2x3 are 2 and 3; use subtrees"),
        ("binary-tree:3", "balanced-spanning-tree", "binary-tree:3 is no such product; use subtrees"),
        ("torus:64x65", "subtrees", "at most 4096 ranks; there are 4160"),
        ("how:65,2,2", "balanced-spanning-tree", "at most 4096 ranks; there are 4225"),
        (
            "ghc:2x3",
            "balanced-spanning-subgraph",
            "it needs equal rows; the extents of ghc:2x3 are 2 and 3; use subtrees",
        ),
        ("ring:6", "subtrees:ports=one,load=2", "load=2: with ports=one it needs load=1"),
    ] {
        assert!(error(text, name).contains(words), "{}", error(text, name));
    }
    let some = Placement::new(vec![Node::new(1), Node::new(4)], 6).unwrap();
    let problem = Problem::placed(parse("ring:6").unwrap(), some, scatter.clone()).unwrap();
    let error = find(&scatter, "subtrees").unwrap().fits(&problem).unwrap_err().to_string();
    assert!(error.contains("a rank on every node; there are 2 ranks on 6 nodes"), "{error}");
}

/// By price: with all channels in use for long blocks, and fewer rounds for short ones. To the end
/// of a line, default routes load all channels of the root alike, but share them in a round.
#[test]
fn auto_takes_subtrees_for_long_blocks_in_windows() {
    let channels = Machine::FREE.with_channel(1000).with_startup(1_000_000);
    for (text, collective) in
        ["how:8,3,2", "how-wrap:9,2,2", "how:20,3,1"].into_iter().flat_map(|t| [(t, "scatter"), (t, "gather")])
    {
        let problem = problem(&parse(text).unwrap(), collective, 0);
        let chosen =
            |bytes| select(&problem, "auto", &Terms::new(bytes, &channels).keeping(Ports::All)).unwrap().algorithm;
        assert_eq!(chosen(1 << 20).name(), "subtrees:load=1", "{text}");
        assert!(chosen(8).claims(&problem).startups < chosen(1 << 20).claims(&problem).startups);
    }
}
