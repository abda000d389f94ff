//! Embeddings: the propositions of Wang's chapters 3 and 4 as far as they are true.

use std::sync::Arc;

use necklace::Node;
use necklace::topology::{Embedded, Embedding, EmbeddingError, Measures, Topology, parse};
use quickcheck::{Arbitrary, Gen, QuickCheck};

fn named(guest: &str, host: &str, name: &str) -> Embedding {
    let [guest, host] = [guest, host].map(|text| parse(text).unwrap());
    Embedding::named(guest, host, name).unwrap()
}

fn measures(guest: &str, host: &str, name: &str) -> Measures {
    counted(&named(guest, host, name))
}

/// Counts the measures link by link, apart from the library's own count.
fn counted(embedding: &Embedding) -> Measures {
    let (guest, host) = (embedding.guest(), embedding.host());
    let mut loads = vec![0; host.nodes()];
    embedding.nodes().iter().for_each(|node| loads[node.index()] += 1);
    let mut uses = std::collections::BTreeMap::<(Node, Node), usize>::new();
    let mut lengths = vec![];
    for (from, to) in guest.edges() {
        let (there, mut back) = (embedding.path(from, to), embedding.path(to, from));
        assert!(there.windows(2).all(|hop| host.adjacent(hop[0], hop[1])), "{embedding:?}: {there:?}");
        assert_eq!((there[0], there[there.len() - 1]), (embedding.node(from), embedding.node(to)));
        back.reverse();
        assert_eq!(there, back);
        lengths.push(there.len() - 1);
        for hop in there.windows(2) {
            *uses.entry((hop[0].min(hop[1]), hop[0].max(hop[1]))).or_default() += 1;
        }
    }
    let found = *embedding.measures();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    assert_eq!(found.load, loads.into_iter().max().unwrap());
    assert_eq!(found.dilation, longest);
    assert_eq!(found.longest, lengths.iter().filter(|&&length| length == longest).count());
    assert_eq!(found.length, lengths.iter().sum::<usize>());
    assert_eq!(found.congestion, uses.into_values().max().unwrap_or(0));
    // The lower bounds are for maps with one node on a node.
    let (dilation, congestion) = if found.load == 1 { Measures::at_least(guest, host) } else { (0, 0) };
    assert!(found.dilation >= dilation && found.congestion >= congestion, "{embedding:?}");
    found
}

/// Section 3.1: both functions have dilation, congestion and expansion 1, for every number of
/// nodes.
#[test]
fn rings_in_windows_of_one_dimension() {
    for nodes in 3..40 {
        let ring = format!("ring:{nodes}");
        for window in 2..nodes {
            let how = format!("how:{nodes},{window},1");
            let fold = measures(&ring, &how, "fold");
            assert_eq!((fold.dilation, fold.congestion, fold.expansion()), (1, 1, 1.0), "{how}");
            if window >= 3 {
                let express = measures(&ring, &how, "express");
                assert_eq!((express.dilation, express.congestion), (1, 1), "{how}");
            }
        }
    }
    // Figure 3.2: up over the even nodes, back over the odd ones.
    let order: Vec<usize> = named("ring:16", "how:16,2,1", "fold").nodes().iter().map(|node| node.index()).collect();
    assert_eq!(order, [0, 2, 4, 6, 8, 10, 12, 14, 15, 13, 11, 9, 7, 5, 3, 1]);
    // Function G' for w = 3: 0, 1, 3, 4, 6, .. and the third of each window on the way back.
    let order: Vec<usize> = named("ring:11", "how:11,3,1", "express").nodes().iter().map(|node| node.index()).collect();
    assert_eq!(order, [0, 1, 3, 4, 6, 7, 9, 10, 8, 5, 2]);
}

/// Section 3.2.1, errata 5.4: the dilation is ceil(min / w). The congestion depends on the lengths
/// of the hops.
#[test]
fn meshes_in_windows_of_one_dimension() {
    for (rows, columns) in (2_usize..9).flat_map(|rows| (2_usize..9).map(move |columns| (rows, columns))) {
        let (mesh, nodes, least) = (format!("mesh:{rows}x{columns}"), rows * columns, rows.min(columns));
        for window in 1..nodes {
            let how = format!("how:{nodes},{window},1");
            let dilation = least.div_ceil(window).max(1);
            assert_eq!(measures(&mesh, &how, "straight").dilation, dilation, "{mesh} in {how}");
            assert_eq!(measures(&mesh, &how, "diagonals").dilation, dilation, "{mesh} in {how}");
        }
    }
    for (least, window, dilation, congestion) in [(7, 3, 3, 2), (4, 2, 2, 2), (6, 3, 2, 2), (5, 3, 2, 1), (3, 3, 1, 1)]
    {
        let (mesh, how) = (format!("mesh:{least}x9"), format!("how:{},{window},1", 9 * least));
        let found = measures(&mesh, &how, "straight");
        assert_eq!((found.dilation, found.congestion), (dilation, congestion), "{mesh} in {how}");
    }
    // Figures 3.4 and 3.5.
    for mesh in ["mesh:3x5", "mesh:5x3"] {
        let found = measures(mesh, "how:15,3,1", "straight");
        assert_eq!((found.dilation, found.congestion, found.expansion()), (1, 1, 1.0));
    }
}

/// Section 3.2.2: a window of 2 min is enough for dilation 1, and figure 3.7.
#[test]
fn tori_in_windows_of_one_dimension() {
    for (rows, columns) in (3_usize..8).flat_map(|rows| (3_usize..8).map(move |columns| (rows, columns))) {
        let (torus, nodes, least) = (format!("torus:{rows}x{columns}"), rows * columns, rows.min(columns));
        for window in 2..nodes {
            let found = measures(&torus, &format!("how:{nodes},{window},1"), "fold");
            assert_eq!(found.dilation, (2 * least).div_ceil(window), "{torus}, window {window}");
            assert!(window < 2 * least || found.congestion == 1);
        }
    }
    assert_eq!(
        measures("torus:4x4", "how:16,8,1", "fold").to_string(),
        "load 1, dilation 1, congestion 1, expansion 1"
    );
}

/// Section 3.3, proposition 1: 2^(d - i - 1) links of length 2^i. Corollary 1: the dilation is
/// ceil(2^(d - 2) / w), for two links if only these are so long.
#[test]
fn binary_trees_in_windows_of_one_dimension() {
    for levels in 2_u32..9 {
        let (tree, nodes) = (format!("binary-tree:{levels}"), (1_usize << levels) - 1);
        let line = named(&tree, &format!("line:{nodes}"), "inorder");
        let apart = |(from, to): (Node, Node)| line.node(from).index().abs_diff(line.node(to).index());
        let lengths: Vec<usize> = line.guest().edges().into_iter().map(apart).collect();
        for i in 0..levels - 1 {
            assert_eq!(lengths.iter().filter(|&&length| length == 1 << i).count(), 1 << (levels - i - 1));
        }
        for window in (1..nodes).step_by(1 + nodes / 32) {
            let found = measures(&tree, &format!("how:{nodes},{window},1"), "inorder");
            assert_eq!(found.dilation, (1_usize << (levels - 2)).div_ceil(window));
        }
    }
    assert_eq!(measures("binary-tree:5", "how:31,8,1", "inorder").dilation, 1);
}

/// Corollary 2 has congestion d - 2 for a window of 2^v, v < d - 2, and 1 for other windows. For
/// 2^v it is d - 1 - v; for others it may be 2.
#[test]
fn congestion_of_binary_trees_is_not_that_of_corollary_2() {
    let congestion = |levels: usize, window: usize| {
        let nodes = (1_usize << levels) - 1;
        measures(&format!("binary-tree:{levels}"), &format!("how:{nodes},{window},1"), "inorder").congestion
    };
    for levels in 3..9 {
        for v in 0..levels - 1 {
            assert_eq!(congestion(levels, 1 << v), levels - 1 - v, "{levels} levels, window 2^{v}");
        }
        for window in (3..1 << (levels - 2)).step_by(levels / 3).filter(|window: &usize| !window.is_power_of_two()) {
            assert!((1..=2).contains(&congestion(levels, window)));
        }
    }
    assert_eq!((congestion(6, 3), congestion(7, 3)), (1, 2));
}

/// Section 4.1, and Gray codes: rings of every length in two dimensions and more.
#[test]
fn rings_in_two_dimensions_and_more() {
    for (rows, columns) in (2..9).flat_map(|rows| (2..9).map(move |columns| (rows, columns))) {
        for nodes in 3..=rows * columns {
            let ring = format!("ring:{nodes}");
            let unit = |host: String| {
                let found = measures(&ring, &host, "snake");
                assert_eq!((found.load, found.dilation, found.congestion), (1, 1, 1), "{ring} in {host}");
            };
            let mesh = format!("mesh:{rows}x{columns}");
            if nodes % 2 == 0 {
                unit(mesh.clone());
            } else {
                // A mesh has no odd cycles: one link takes two hops. Another link shares a channel with it
                // only if the mesh is full or the ring has three nodes.
                let found = measures(&ring, &mesh, "snake");
                let all = nodes == rows * columns || nodes == 3;
                assert_eq!((found.load, found.dilation, found.longest), (1, 2, 1), "{ring} in {mesh}");
                assert!(found.congestion == 1 || found.congestion == 2 && all, "{ring} in {mesh}");
            }
            let found = measures(&ring, &mesh, "fold");
            assert!(found.load == 1 && found.dilation <= 2 && found.congestion <= 3, "{ring} in {mesh}: {found}");
            if rows == columns && rows > 2 {
                unit(format!("how:{rows},2,2"));
            }
            if rows.max(columns) > 2 {
                unit(format!("ghc:{rows}x{columns}"));
            }
        }
    }
    for nodes in (4..=32).step_by(2) {
        for host in ["hypercube:5", "mesh:3x4x5", "torus:4x4x4", "mesh:2x3x2x3"] {
            assert!(
                parse(host).unwrap().nodes() < nodes || measures(&format!("ring:{nodes}"), host, "snake").dilation == 1
            );
        }
    }
    for host in ["mesh:3x3x3", "mesh:3x5x1x3", "torus:3x3x5", "hypercube:5"] {
        for nodes in (3..=parse(host).unwrap().nodes()).step_by(2) {
            let ring = format!("ring:{nodes}");
            let snake = measures(&ring, host, "snake");
            let jumps = host.starts_with("torus");
            assert!(snake.load == 1 && (jumps || snake.dilation == 2) && snake.dilation <= 2, "{ring} in {host}");
            let fold = measures(&ring, host, "fold");
            assert!(fold.load == 1 && fold.dilation <= 2, "{ring} in {host}");
        }
    }
    let [ring, mesh] = ["ring:7", "mesh:3x3"].map(|text| parse(text).unwrap());
    assert_eq!(Measures::at_least(&ring, &mesh).0, 2);
}

/// All that is near a node of the guest needs room near its place. Within 3 steps of a node of the cube
/// are 42 nodes, and within 3 d of a place on a line 6 d + 1; all 511 nodes of the tree are within 8
/// steps of its root.
#[test]
fn dilation_is_bounded_by_the_room_near_a_node() {
    for (guest, host, dilation) in [
        ("hypercube:6", "line:65", 7),
        ("binary-tree:9", "how:600,2,1", 16),
        ("complete:8", "how:16,3,1", 2),
        ("ring:16", "line:16", 2),
        ("line:16", "ring:16", 1),
    ] {
        let [from, to] = [guest, host].map(|text| parse(text).unwrap());
        assert_eq!(Measures::at_least(&from, &to).0, dilation, "{guest} in {host}");
    }
}

/// Gray codes: dilation 1, or 2 round an odd extent.
#[test]
fn grids_in_hypercubes() {
    for (guest, dimensions, dilation) in [
        ("ring:16", 4, 1),
        ("ring:6", 3, 1),
        ("ring:10", 4, 1),
        ("ring:5", 3, 2),
        ("line:7", 3, 1),
        ("mesh:3x5", 5, 1),
        ("torus:4x8", 5, 1),
        ("torus:6x4", 5, 1),
        ("torus:3x4", 4, 2),
        ("torus:2x4x8", 6, 1),
        ("mesh:4x4x4", 6, 1),
    ] {
        let found = measures(guest, &format!("hypercube:{dimensions}"), "gray");
        assert_eq!((found.load, found.dilation), (1, dilation), "{guest}");
        assert!(dilation > 1 || found.congestion == 1, "{guest}");
    }
}

/// Section 4.2: with coordinates kept, the dilation of a torus link round a row is ceil((n - 1) /
/// w). Folded it is 1, which the section takes for impossible.
#[test]
fn tori_in_windows_of_two_dimensions() {
    for extent in 3_usize..10 {
        let torus = format!("torus:{extent}x{extent}");
        for window in 2..extent {
            let how = format!("how:{extent},{window},2");
            let straight = measures(&torus, &how, "straight");
            assert_eq!(straight.dilation, (extent - 1).div_ceil(window));
            // A link round a row takes the longest jumps. The rest shares a channel if it is 1.
            let shares = extent - 1 > window && (extent - 1) % window == 1;
            assert_eq!(straight.congestion, 1 + usize::from(shares), "{torus} in {how}");
            let fold = measures(&torus, &how, "fold");
            assert_eq!((fold.dilation, fold.congestion, fold.expansion()), (1, 1, 1.0), "{how}");
            let mesh = measures(&format!("mesh:{extent}x{extent}"), &how, "straight");
            assert_eq!((mesh.dilation, mesh.congestion), (1, 1));
        }
    }
    // Figure 4.3: congestion 1.
    let found = measures("torus:6x6", "how:6,3,2", "straight");
    assert_eq!((found.dilation, found.congestion, found.longest), (2, 1, 12));
    // Folded rings and tori in meshes have dilation 2.
    assert_eq!(measures("torus:5x6", "mesh:5x6", "fold").dilation, 2);
    assert_eq!(measures("ring:9", "line:9", "fold").dilation, 2);
}

/// Section 4.3: dilation 1 for three, four and six levels and 2 for five, with a window of 2, where 1
/// is possible, as a search finds. It cannot stay 1: in the square of eight levels, the two nodes on
/// some corners are farther apart than in the tree.
#[test]
fn binary_trees_in_windows_of_two_dimensions() {
    for (levels, how, dilation, longest) in
        [(3, "how:3,2,2", 1, 6), (4, "how:4,2,2", 1, 14), (5, "how:6,2,2", 2, 1), (6, "how:8,2,2", 1, 62)]
    {
        let found = measures(&format!("binary-tree:{levels}"), how, "blocks");
        assert_eq!((found.load, found.dilation, found.longest), (1, dilation, longest), "{levels} levels");
        assert_eq!(found.congestion, 1);
    }
    let five = measures("binary-tree:5", "how:6,2,2", "search");
    assert_eq!((five.load, five.dilation, five.congestion), (1, 1, 1));
    let [tree, how] = ["binary-tree:8", "how:16,2,2"].map(|text| parse(text).unwrap());
    let (corner, opposite) = (Node::new(0), Node::new(16 * 16 - 1));
    let diameter = (0..tree.nodes()).map(|node| tree.distance(Node::new(node), Node::new(tree.nodes() - 1))).max();
    // One corner may be free; the three others are 16 and 8 links apart.
    assert_eq!((diameter, how.distance(corner, opposite)), (Some(14), 16));
    for levels in 7..12 {
        let side = if levels % 2 == 0 { 1 << (levels / 2) } else { 3 << ((levels - 3) / 2) };
        let found = measures(&format!("binary-tree:{levels}"), &format!("how:{side},4,2"), "blocks");
        assert_eq!(found.load, 1);
        assert!(found.length < 3 * (1 << levels) / 2, "{levels} levels: {found:?}");
    }
}

/// Section 3.4 and method one of section 4.4: the dilation is ceil(2^(b - 1) / w) with b bits along
/// a dimension. The congestion is not that of proposition 1 (1), nor that before it (1 unless w is
/// a power of two, then b - v).
#[test]
fn hypercubes_in_natural_order() {
    for dimensions in 1_usize..8 {
        let cube = format!("hypercube:{dimensions}");
        for window in 1..1 << dimensions {
            let how = format!("how:{},{window},1", 1 << dimensions);
            assert_eq!(measures(&cube, &how, "natural").dilation, (1_usize << (dimensions - 1)).div_ceil(window));
        }
        let bits = dimensions.div_ceil(2);
        for window in 1..1 << bits {
            let how = format!("how:{},{window},2", 1 << bits);
            assert_eq!(measures(&cube, &how, "natural").dilation, (1_usize << (bits - 1)).div_ceil(window));
        }
    }
    let congestion = |window| measures("hypercube:8", &format!("how:16,{window},2"), "natural").congestion;
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(congestion), [10, 5, 3, 2, 1, 2, 2, 1]);
    // Figure 4.8.
    assert_eq!(measures("hypercube:4", "how:4,2,2", "natural").dilation, 1);
}

/// A ring of four nodes is a square, so a torus of such rings is a cube.
#[test]
fn hypercubes_are_tori_of_squares() {
    for (cube, torus) in [
        ("hypercube:2", "ring:4"),
        ("hypercube:4", "how-wrap:4,1,2"),
        ("hypercube:6", "torus:4x4x4"),
        ("hypercube:5", "torus:4x2x4"),
        ("hypercube:3", "torus:4x3"),
    ] {
        let [guest, host] = [cube, torus].map(|text| parse(text).unwrap());
        let best = Embedding::best(guest, host).unwrap();
        assert_eq!(
            (best.name(), best.measures().dilation, best.measures().congestion),
            (Some("gray"), 1, 1),
            "{torus}"
        );
    }
    // The ends of a line are not neighbours.
    assert_eq!(measures("hypercube:4", "mesh:4x4", "gray").dilation, 3);
    let best = Embedding::best(parse("hypercube:4").unwrap(), parse("mesh:4x4").unwrap()).unwrap();
    assert_eq!((best.name(), best.measures().dilation), (Some("natural"), 2));
}

/// Method two of section 4.4, errata 5.6 and 5.7: two links of dilation 2 in a block of three bits,
/// and max(2, ceil(3 2^((d - 5) / 2) / w)) for d bits.
#[test]
fn hypercubes_in_blocks_of_three_bits() {
    let block = measures("hypercube:3", "how:3,2,2", "blocks");
    assert_eq!((block.dilation, block.longest, block.congestion), (2, 2, 2));
    for half in 1_usize..4 {
        let (dimensions, side) = (3 + 2 * half, 3 << half);
        for window in 2..side {
            let found = measures(&format!("hypercube:{dimensions}"), &format!("how:{side},{window},2"), "blocks");
            let between = (3_usize << (half - 1)).div_ceil(window);
            assert_eq!(found.dilation, between.max(2), "{dimensions} bits, window {window}");
            // Proposition 2 has 2 for every number of bits.
            if let Some(&congestion) = [[3, 2, 2], [5, 2, 3], [9, 5, 3]][half - 1].get(window - 2) {
                assert_eq!(found.congestion, congestion, "{dimensions} bits, window {window}");
            }
            assert_eq!(found.host_nodes - found.guest_nodes, 1 << (dimensions - 3));
            if between == 1 {
                assert_eq!(found.longest, 2 << (dimensions - 3));
            }
        }
    }
}

#[test]
fn named_embeddings_put_nodes_on_different_nodes() {
    let hosts =
        ["line:30", "how:32,3,1", "how-wrap:32,5,1", "mesh:5x7", "how:6,2,2", "torus:4x8", "hypercube:5", "ghc:6,2"];
    let guests =
        ["ring:30", "line:17", "mesh:5x6", "torus:4x7", "torus:3x3x3", "binary-tree:4", "hypercube:4", "complete:5"];
    let names = [
        "straight",
        "fold",
        "express",
        "diagonals",
        "snake",
        "gray",
        "natural",
        "inorder",
        "blocks",
        "identity",
        "search:3",
    ];
    let mut fitting = 0;
    for (guest, host) in guests.into_iter().flat_map(|guest| hosts.map(|host| (guest, host))) {
        let [guest, host] = [guest, host].map(|text| parse(text).unwrap());
        for name in names {
            match Embedding::named(Arc::clone(&guest), Arc::clone(&host), name) {
                Ok(embedding) => {
                    assert_eq!(counted(&embedding).load, 1, "{embedding:?}");
                    assert_eq!(embedding.name(), Some(name));
                    let text = Embedded::new(embedding.clone()).unwrap().text();
                    assert_eq!(parse(&text).unwrap().embedding().unwrap().nodes(), embedding.nodes(), "{text}");
                    fitting += 1;
                }
                Err(error) => assert!(matches!(error, EmbeddingError::Unknown { .. }), "{error}"),
            }
        }
    }
    assert!(fitting > 180, "{fitting}");
}

/// A guest that is a part of its host is embedded as such.
#[test]
fn best_embedding_of_a_part_of_the_host_has_dilation_1() {
    for (guest, host) in [
        ("how:8,2,2", "how-wrap:8,2,2"),
        ("how:4,2,3", "how:4,3,3"),
        ("how:8,3,2", "how:16,3,2"),
        ("how-wrap:9,2,1", "how:12,4,1"),
        ("ghc:3x2", "ghc:4,2"),
        ("damaged:hypercube:6,0-1", "hypercube:6"),
        ("damaged:torus:8x8,0-1", "torus:8x8"),
        ("mesh:3x4x5", "torus:3x4x5"),
    ] {
        let [guest, host] = [guest, host].map(|text| parse(text).unwrap());
        let best = Embedding::best(guest, host).unwrap();
        let found = counted(&best);
        assert_eq!((found.dilation, found.congestion), (1, 1), "{best:?}");
    }
}

/// A ring of odd length needs an odd cycle in the host: in a torus, one round an odd dimension.
#[test]
fn rings_go_round_dimensions_of_odd_extent() {
    for (host, shortest) in [
        ("torus:3x3", 3),
        ("torus:3x4", 3),
        ("torus:4x5", 5),
        ("torus:5x5", 5),
        ("torus:7x5", 5),
        ("torus:3x3x3", 3),
        ("torus:2x7", 7),
        ("how-wrap:5,1,2", 5),
        ("torus:4x4", usize::MAX),
        ("mesh:5x5", usize::MAX),
    ] {
        for nodes in 3..=parse(host).unwrap().nodes() {
            let found = measures(&format!("ring:{nodes}"), host, "snake");
            let is_short = nodes % 2 == 0 || nodes >= shortest;
            assert_eq!(found.dilation, if is_short { 1 } else { 2 }, "ring:{nodes} in {host}");
            assert!(!is_short || found.congestion == 1);
        }
    }
}

#[test]
fn lines_follow_the_rows() {
    for host in ["mesh:3x3x3", "torus:4x7", "how:6,2,2", "hypercube:5"] {
        for nodes in 2..=parse(host).unwrap().nodes() {
            let found = measures(&format!("line:{nodes}"), host, "snake");
            assert_eq!((found.dilation, found.congestion), (1, 1), "line:{nodes} in {host}");
        }
    }
}

/// Dilations that annealing of many seconds, apart from the library, finds as well.
#[test]
fn search_finds_short_embeddings() {
    for (guest, host, dilation) in [
        ("binary-tree:7", "how:127,4,1", 3),
        ("binary-tree:6", "how:63,2,1", 4),
        ("binary-tree:8", "how:16,2,2", 2),
        ("mesh:7x9", "hypercube:6", 2),
        ("torus:3x3x7", "torus:8x8", 3),
        ("hypercube:5", "torus:6x6", 2),
        ("mesh:5x5", "torus:5x5", 1),
    ] {
        let dilations = [0, 1, 2].map(|seed| measures(guest, host, &format!("search:{seed}")).dilation);
        assert!(dilations.contains(&dilation) && dilations.iter().all(|&d| d >= dilation), "{guest}: {dilations:?}");
    }
}

/// Where no construction is near, a search may have a smaller dilation.
#[test]
fn best_embedding_of_a_small_guest_is_as_short_as_a_search() {
    let hosts = ["line:40", "how:32,3,1", "how-wrap:36,5,1", "mesh:5x8", "how:6,2,2", "torus:6x6", "hypercube:5"];
    let guests = ["ring:31", "mesh:4x8", "torus:4x8", "torus:3x3x3", "binary-tree:5", "hypercube:5", "how:4,2,2"];
    let mut by_search = 0;
    for (guest, host) in guests.into_iter().flat_map(|guest| hosts.map(|host| (guest, host))) {
        let [guest, host] = [guest, host].map(|text| parse(text).unwrap());
        let best = Embedding::best(Arc::clone(&guest), Arc::clone(&host)).unwrap();
        let search = Embedding::search(guest, host, 0).unwrap();
        assert!(best.measures().dilation <= search.measures().dilation, "{best:?}");
        by_search += usize::from(best.name() == Some("search"));
    }
    assert!((10..40).contains(&by_search), "{by_search}");
    let [tree, how] = ["binary-tree:10", "how:32,2,2"].map(|text| parse(text).unwrap());
    let best = Embedding::best(Arc::clone(&tree), Arc::clone(&how)).unwrap();
    let blocks = named("binary-tree:10", "how:32,2,2", "blocks");
    assert!(2 * best.measures().dilation < blocks.measures().dilation, "{}", best.measures());
}

#[test]
fn search_improves_on_a_bad_start_and_depends_on_the_seed_alone() {
    let [torus, how] = ["torus:6x6", "how:6,2,2"].map(|text| parse(text).unwrap());
    let of = |seed| Embedding::search(Arc::clone(&torus), Arc::clone(&how), seed).unwrap();
    let cube = |seed: u64| named("hypercube:5", "how:6,2,2", &format!("search:{seed}"));
    assert_eq!(cube(5).nodes(), cube(5).nodes());
    assert_ne!(cube(5).nodes(), cube(6).nodes());
    let identity = named("torus:6x6", "how:6,2,2", "identity");
    assert!(of(0).measures().length < identity.measures().length);
    // Where an embedding without longer paths is known, the search comes near.
    assert!(of(0).measures().dilation <= 2);
    for (guest, host) in [("complete:1", "ring:5"), ("complete:2", "complete:2"), ("ring:3", "complete:3")] {
        assert!(measures(guest, host, "search").dilation <= 1);
    }
}

#[test]
fn paths_may_be_chosen() {
    let [ring, how] = ["ring:4", "how:4,2,1"].map(|text| parse(text).unwrap());
    let nodes: Vec<Node> = [0, 1, 2, 3].map(Node::new).to_vec();
    let embedding = Embedding::new(Arc::clone(&ring), Arc::clone(&how), nodes.clone()).unwrap();
    assert_eq!(embedding.path(Node::new(0), Node::new(3)), [0, 2, 3].map(Node::new));
    let other = embedding.clone().with_path(Node::new(3), Node::new(0), [3, 1, 0].map(Node::new).to_vec()).unwrap();
    assert_eq!(other.path(Node::new(0), Node::new(3)), [0, 1, 3].map(Node::new));
    assert_eq!(counted(&other).dilation, 2);
    // Loops that paths make together are left out.
    assert_eq!(other.carry(&[1, 0, 3].map(Node::new)), [1, 3].map(Node::new));
    assert_eq!(Embedded::new(other).unwrap().text(), "embedded ring:4@how:4,2,1");
    for path in [vec![3, 0], vec![3, 1], vec![], vec![0, 2, 3], vec![3, 2, 3, 1, 0], vec![3, 9, 0]] {
        let path: Vec<Node> = path.into_iter().map(Node::new).collect();
        let error = embedding.clone().with_path(Node::new(3), Node::new(0), path).unwrap_err();
        assert!(error.to_string().starts_with("link 3-0: expected a link of ring:4 and a path"), "{error}");
    }
    assert!(embedding.with_path(Node::new(0), Node::new(2), nodes).is_err());
}

#[test]
fn what_cannot_be_embedded_is_an_error_that_names_the_numbers() {
    let error = |text: &str| parse(text).err().unwrap_or_else(|| panic!("{text} is accepted")).to_string();
    let fit = "topology \"torus:5x5@how:16,3,1\": the guest torus:5x5 has 25 nodes, expected at most 16, as the host how:16,3,1 has";
    assert_eq!(error("torus:5x5@how:16,3,1"), fit);
    let known = "topology \"torus:4x4@how:16,3,1:gray\": there is no embedding \"gray\" of torus:4x4 in how:16,3,1, \
                 expected one of straight, fold, identity, search, search:SEED";
    assert_eq!(error("torus:4x4@how:16,3,1:gray"), known);
    for text in ["torus:4x4@how:16,3,1:search:01", "torus:4x4@how:16,3,1:search:", "torus:4x4@how:16,3,1:"] {
        assert!(error(text).contains("there is no embedding"), "{text}");
    }
    let large = "the guest ring:16385 has 16385 nodes and 32770 channels, expected at most 16384 and 524288";
    assert!(error("ring:16385@ring:20000").ends_with(large));
    assert!(
        error("complete:1000@ring:1000").ends_with("1000 nodes and 999000 channels, expected at most 16384 and 524288")
    );
    let large = "the host ring:262145 has 262145 nodes and 524290 channels, expected at most 262144 and 8388608";
    assert!(error("ring:4@ring:262145").ends_with(large));
    let large = "the host complete:2898 has 2898 nodes and 8395506 channels, expected at most 262144 and 8388608";
    assert!(error("ring:4@complete:2898").ends_with(large));
    assert!(error("ring:4@complete:2000000000").contains("the host complete:2000000000 has 2000000000 nodes"));
    for (text, column, found) in [
        ("torus:4x@how:16,3,1", 9, "\"@\""),
        ("torus:4x4@", 11, "the end"),
        ("torus:4x4@how:16,16,1", 18, "\"16\""),
        ("torus:4x4@how:16,3,1@ring:16", 21, "\"@\""),
        ("@how:16,3,1", 1, "\"@\""),
        ("torus:4x4@how:16,3:fold", 19, "\":\""),
    ] {
        let expected = format!("column {column}: found {found}, expected ");
        assert!(error(text).contains(&expected), "{}", error(text));
    }
    let [ring, line] = ["ring:3", "line:3"].map(|text| parse(text).unwrap());
    let new = |nodes: &[usize]| {
        let nodes: Vec<Node> = nodes.iter().copied().map(Node::new).collect();
        Embedding::new(Arc::clone(&ring), Arc::clone(&line), nodes)
    };
    let length = "the map has 2 nodes, expected 3, one for each node of ring:3";
    assert_eq!(new(&[0, 1]).unwrap_err().to_string(), length);
    let node = "node 1 of the guest is on node 3, expected 0 to 2, as line:3 has";
    assert_eq!(new(&[0, 3, 1]).unwrap_err().to_string(), node);
    let shared = Embedded::new(new(&[0, 1, 0]).unwrap()).unwrap_err();
    assert_eq!(shared.to_string(), "nodes 0 and 2 of the guest are both on node 0, expected different nodes");
    assert_eq!(new(&[0, 1, 0]).unwrap().measures().load, 2);
}

/// Random guests and hosts, and a random map.
#[derive(Clone, Debug)]
struct AnyMap(&'static str, &'static str, Vec<usize>);

impl Arbitrary for AnyMap {
    fn arbitrary(g: &mut Gen) -> Self {
        let guest =
            *g.choose(&["ring:6", "torus:3x3", "hypercube:3", "binary-tree:3", "complete:5", "how:7,2,1"]).unwrap();
        let host = *g.choose(&["line:9", "how:10,3,1", "how:3,2,2", "torus:3x4", "hypercube:4", "complete:9"]).unwrap();
        let (count, most) = (parse(guest).unwrap().nodes(), parse(host).unwrap().nodes());
        Self(guest, host, (0..count).map(|_| usize::arbitrary(g) % most).collect())
    }
}

#[test]
fn measures_of_any_map_are_counted() {
    fn holds(AnyMap(guest, host, nodes): AnyMap) -> bool {
        let [guest, host] = [guest, host].map(|text| parse(text).unwrap());
        let embedding = Embedding::new(guest, host, nodes.into_iter().map(Node::new).collect::<Vec<_>>()).unwrap();
        counted(&embedding) == *embedding.measures()
    }
    QuickCheck::new().tests(500).quickcheck(holds as fn(AnyMap) -> bool);
}
