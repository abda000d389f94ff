//! Complete trees, grown and made shallower.

use std::mem::replace;

use super::annealing::anneal;
use super::forest::NONE;
use super::growth::grow;

/// Spanning trees from one root. No arc is in two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arborescences {
    /// By tree and node: the node above it. The root has none.
    parents: Vec<Vec<usize>>,
    /// By tree and node: the number of arcs from the root.
    depths: Vec<Vec<usize>>,
}

impl Arborescences {
    /// Returns as many trees as there can be, in a network of links that are two arcs each: at
    /// least one if the network is connected. Neighbours are in ascending order.
    pub(super) fn pack(neighbours: &[Vec<usize>], root: usize) -> Self {
        let grown = grow(neighbours, root);
        let least = least_depth(neighbours, root, grown.trees());
        let forest = anneal(grown, least);
        Self { parents: forest.parents, depths: forest.depths }
    }

    /// Returns the number of trees.
    pub(super) fn trees(&self) -> usize {
        self.parents.len()
    }

    /// Returns the number of arcs on the longest path.
    pub(super) fn depth(&self) -> usize {
        self.depths.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Returns the node above a node in a tree, and that node's depth. `None` for the root.
    pub(super) fn above(&self, tree: usize, node: usize) -> Option<(usize, usize)> {
        Some(self.parents[tree][node])
            .filter(|&parent| parent != NONE)
            .map(|parent| (parent, self.depths[tree][parent]))
    }
}

/// Returns a lower bound of the depth.
fn least_depth(neighbours: &[Vec<usize>], root: usize, trees: usize) -> usize {
    if trees < neighbours[root].len() {
        return farthest(neighbours, root, None);
    }
    // In each tree the root has one neighbour below it, through which all paths go.
    neighbours[root].iter().map(|&first| 1 + farthest(neighbours, first, Some(root))).max().unwrap_or(0)
}

/// Returns the largest distance from a node, on paths that avoid another one.
fn farthest(neighbours: &[Vec<usize>], from: usize, avoided: Option<usize>) -> usize {
    let mut seen = vec![false; neighbours.len()];
    [Some(from), avoided].into_iter().flatten().for_each(|node| seen[node] = true);
    let (mut level, mut distance) = (vec![from], 0);
    loop {
        let around = level.iter().flat_map(|&node| &neighbours[node]);
        level = around.copied().filter(|&node| !replace(&mut seen[node], true)).collect();
        if level.is_empty() {
            return distance;
        }
        distance += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quickcheck::QuickCheck;

    use super::*;
    use crate::ids::Node;
    use crate::topology::parse;

    fn network(text: &str) -> Vec<Vec<usize>> {
        let topology = parse(text).unwrap();
        let neighbours = |node| topology.neighbours(Node::new(node)).iter().map(|node| node.index()).collect();
        (0..topology.nodes()).map(neighbours).collect()
    }

    /// Packs trees, checks that they span the network without a common arc, and returns their
    /// number, their depth and the lower bound of the depth.
    fn pack(neighbours: &[Vec<usize>], root: usize) -> (usize, usize, usize) {
        let packed = Arborescences::pack(neighbours, root);
        let mut used = BTreeSet::new();
        for tree in 0..packed.trees() {
            assert_eq!((packed.above(tree, root), packed.depths[tree][root]), (None, 0));
            for node in (0..neighbours.len()).filter(|&node| node != root) {
                // Depths that fall towards the root leave no room for cycles.
                let (parent, depth) = packed.above(tree, node).unwrap();
                assert_eq!(packed.depths[tree][node], depth + 1);
                assert!(neighbours[parent].contains(&node) && used.insert((parent, node)));
            }
        }
        (packed.trees(), packed.depth(), least_depth(neighbours, root, packed.trees()))
    }

    /// The least number of arcs that leave a set of nodes with the root, from the definition.
    fn least_cut(neighbours: &[Vec<usize>], root: usize) -> usize {
        let nodes = neighbours.len();
        let is_in = |set: usize, node: usize| set >> node & 1 == 1;
        let sets = (0..(1_usize << nodes) - 1).filter(|&set| is_in(set, root));
        let leaving = |set: usize| {
            let inside = (0..nodes).filter(|&node| is_in(set, node));
            inside.flat_map(|node| &neighbours[node]).filter(|&&node| !is_in(set, node)).count()
        };
        sets.map(leaving).min().unwrap_or(1)
    }

    fn graph(nodes: usize, links: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
        let mut neighbours = vec![BTreeSet::new(); nodes];
        for (a, b) in links.into_iter().filter(|(a, b)| a != b) {
            neighbours[a].insert(b);
            neighbours[b].insert(a);
        }
        neighbours.into_iter().map(|all| all.into_iter().collect()).collect()
    }

    #[test]
    fn cubes_and_complete_networks_have_the_least_depth() {
        let cubes = (1..=10).map(|d| (format!("hypercube:{d}"), d, if d > 1 { d + 1 } else { 1 }));
        let rings = (3..30).map(|n| (format!("ring:{n}"), 2, n - 1));
        let complete = (3..20).map(|n| (format!("complete:{n}"), n - 1, 2));
        let others = [("ghc:4,2", 6, 3), ("ghc:5,3", 12, 4), ("ghc:2x8x2", 9, 4), ("ghc:2x3x4", 6, 4)];
        let others = others.map(|(text, trees, depth)| (text.to_owned(), trees, depth));
        for (text, trees, depth) in cubes.chain(rings).chain(complete).chain(others) {
            assert_eq!(pack(&network(&text), 0), (trees, depth, depth), "{text}");
        }
    }

    #[test]
    fn trees_of_tori_are_at_most_two_deeper_than_the_bound() {
        for (a, b) in (4..=16).flat_map(|a| (4..=16).map(move |b| (a, b))) {
            let (trees, depth, least) = pack(&network(&format!("torus:{a}x{b}")), 0);
            assert_eq!(trees, 4);
            assert!((least..=least + 2).contains(&depth), "torus:{a}x{b}: depth {depth}, at least {least}");
            assert!(least <= a / 2 + b / 2 + 1);
        }
        let large = ["torus:32x32", "torus:31x33", "torus:16x64", "torus:8x8x8", "torus:10x10x10", "torus:4x4x4x4"];
        let small = ["torus:3x3", "torus:3x5", "torus:2x2x3", "torus:2x3x4", "torus:3x4x5", "torus:8x4x4x2"];
        for text in large.into_iter().chain(small) {
            let (_, depth, least) = pack(&network(text), 0);
            assert!((least..=least + 1).contains(&depth), "{text}: depth {depth}, at least {least}");
        }
    }

    #[test]
    fn meshes_have_as_many_trees_as_dimensions_from_any_root() {
        for (text, dimensions) in
            [("mesh:5x3", 2), ("mesh:4x4", 2), ("mesh:2x2x2", 3), ("mesh:3x3x3", 3), ("mesh:9x2", 2)]
        {
            let mesh = network(text);
            for root in 0..mesh.len() {
                let (trees, depth, least) = pack(&mesh, root);
                assert_eq!(trees, dimensions, "{text} from {root}");
                assert!((least..=least + 3).contains(&depth), "{text} from {root}: depth {depth}, at least {least}");
            }
        }
        assert_eq!(pack(&network("line:6"), 2), (1, 3, 3));
        assert_eq!(pack(&network("line:6"), 5), (1, 5, 5));
        assert_eq!(pack(&network("line:1"), 0), (1, 0, 0));
    }

    #[test]
    fn narrow_places_limit_the_number_of_trees() {
        // Two complete networks of five nodes, with one or with three links between them.
        let clique = |first: usize| (0..5).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
        for links in [1, 3] {
            let between = (0..links).map(|node| (node, 5 + node));
            let neighbours = graph(10, clique(0).chain(clique(5)).chain(between));
            for root in 0..10 {
                assert_eq!(pack(&neighbours, root).0, links);
            }
        }
    }

    #[test]
    fn network_in_two_pieces_has_no_trees() {
        assert_eq!(pack(&graph(4, [(0, 1), (2, 3)]), 0).0, 0);
        assert_eq!(pack(&graph(2, []), 1).0, 0);
    }

    #[test]
    fn random_graphs_have_as_many_trees_as_the_least_cut() {
        fn holds(nodes: u8, tree: Vec<u8>, links: Vec<(u8, u8)>, root: u8) -> bool {
            let nodes = 1 + nodes as usize % 9;
            let spanning = (1..nodes).map(|node| (node, tree.get(node).map_or(0, |&other| other as usize % node)));
            let others = links.into_iter().map(|(a, b)| (a as usize % nodes, b as usize % nodes));
            let (neighbours, root) = (graph(nodes, spanning.chain(others)), root as usize % nodes);
            pack(&neighbours, root).0 == least_cut(&neighbours, root)
        }
        QuickCheck::new().tests(500).quickcheck(holds as fn(u8, Vec<u8>, Vec<(u8, u8)>, u8) -> bool);
    }
}
