//! Grama et al., chapter 4: equations 4.1 to 4.14, Table 4.1 and the problems that are algorithms,
//! counted from verified schedules. Equations 4.7 to 4.10 are in the files above and of
//! `by-dimension`.
//!
//! The time of a schedule on which nothing contends is t_s times its start-ups plus t_w m times its
//! transmission; by store-and-forward, plus t_w m times the transmission forwarded in its place.

use std::sync::Arc;

use necklace::algorithm::custom::{KToAllBroadcast, KToAllParts, KToAllPersonalised};
use necklace::algorithm::{Algorithm, find};
use necklace::collective::{Collective, Custom};
use necklace::schedule::{Placement, Ports, Problem, Proof, Volume, verify_shares};
use necklace::topology::{Graph, Topology, parse};
use necklace::{Node, Rank};

fn counted(algorithm: &dyn Algorithm, problem: &Problem) -> Proof {
    let name = || format!("{} for {} on {}", algorithm.name(), problem.collective(), problem.topology().text());
    let proof = verify_shares(algorithm.shares(problem).unwrap_or_else(|error| panic!("{}: {error}", name())));
    let proof = proof.unwrap_or_else(|violations| panic!("{}: {violations}", name()));
    assert_eq!(proof.contradicts(&algorithm.claims(problem)), [], "{}", name());
    assert!(proof.keeps(Ports::One), "{}", name());
    proof
}

/// The counts of an algorithm for operations that commute.
fn shared(network: &str, collective: &Collective, algorithm: &str) -> Proof {
    let problem = Problem::new(parse(network).unwrap(), collective.clone()).unwrap();
    counted(&*find(collective, algorithm).unwrap(), &problem)
}

/// The same, of an algorithm without contention.
fn proof(network: &str, collective: &Collective, algorithm: &str) -> Proof {
    let proof = shared(network, collective, algorithm);
    assert!(proof.contention_free, "{algorithm} for {collective} on {network}: {proof}");
    proof
}

/// The factors of t_s and of t_w m.
fn terms(proof: &Proof) -> (u64, Volume) {
    (proof.startups, proof.transmission)
}

fn named(name: &str, root: usize) -> Collective {
    Collective::named(name, Rank::new(root)).unwrap()
}

fn log(p: u64) -> u64 {
    u64::from(p.next_power_of_two().ilog2())
}

/// Networks of 2^d nodes, with the sum of ceil(log n) over their extents.
const POWERS: [(&str, u64); 9] = [
    ("ring:16", 4),
    ("line:16", 4),
    ("mesh:4x4", 4),
    ("mesh:2x8", 4),
    ("torus:4x4", 4),
    ("torus:4x2x4", 5),
    ("hypercube:4", 4),
    ("ghc:4,2", 4),
    ("complete:16", 4),
];

/// T = (t_s + t_w m) log p, from any root; with other extents log p is rounded up for each.
#[test]
fn broadcast_and_reduction_cost_equation_4_1() {
    let others = [("ring:13", 4), ("line:7", 3), ("mesh:3x5", 2 + 3), ("torus:5x3", 3 + 2), ("complete:11", 4)];
    for (network, rounds) in POWERS.into_iter().chain(others) {
        for root in 0..parse(network).unwrap().nodes() {
            for name in ["broadcast", "reduce"] {
                let found = proof(network, &named(name, root), "by-dimension");
                assert_eq!(terms(&found), (rounds, rounds.into()), "{name} from {root} on {network}");
            }
        }
    }
    for d in 0..=6 {
        for root in [0, (1 << d) - 1] {
            for (name, algorithm) in [("broadcast", "binomial"), ("reduce", "binomial"), ("broadcast", "halving")] {
                let found = proof(&format!("hypercube:{d}"), &named(name, root), algorithm);
                assert_eq!((terms(&found), found.hops), ((d, d.into()), d));
            }
        }
    }
}

/// Problem 4.1: any number of processes takes ceil(log p) rounds.
#[test]
fn trees_reach_any_number_of_ranks_as_in_problem_4_1() {
    for p in 1..=33 {
        for (name, algorithms) in [("broadcast", ["binomial", "halving"]), ("reduce", ["binomial", "halving"])] {
            for algorithm in algorithms {
                let found = proof(&format!("complete:{p}"), &named(name, p as usize / 2), algorithm);
                assert_eq!(terms(&found), (log(p), log(p).into()), "{name} {algorithm} {p}");
            }
        }
    }
}

/// Figure 4.7: the ranks are the leaves of a balanced binary tree of switches. The messages of a
/// round cross different links, unless neighbours begin a broadcast.
#[test]
fn leaves_of_a_balanced_tree_broadcast_without_contention() {
    for d in 1..=5 {
        let leaves = 1 << d;
        // The children of node i are 2 i + 1 and 2 i + 2.
        let links = (1..2 * leaves - 1).map(|child: usize| ((child - 1) / 2, child));
        let tree: Arc<dyn Topology> = Arc::new(Graph::from_edges(links).unwrap());
        let places = (0..leaves).map(|leaf| Node::new(leaves - 1 + leaf)).collect();
        let placement = Placement::new(places, 2 * leaves - 1).unwrap();
        for name in ["broadcast", "reduce"] {
            for root in 0..leaves {
                let problem = Problem::placed(Arc::clone(&tree), placement.clone(), named(name, root)).unwrap();
                let of = |algorithm| counted(&*find(problem.collective(), algorithm).unwrap(), &problem);
                let (halving, d) = (of("halving"), d as u64);
                assert_eq!(terms(&halving), (d, d.into()));
                // From leaf to leaf over the root of the subtree of the round.
                assert!(halving.contention_free && halving.hops == d * (d + 1), "{halving}");
                let free = name == "reduce" || d < 2;
                assert_eq!(of("binomial").contention_free, free, "{name} among {leaves}");
            }
        }
    }
}

/// T = (t_s + t_w m)(p - 1): around a ring, and along a line by cut-through.
#[test]
fn ring_allgather_and_reduction_cost_equation_4_2() {
    for p in 1..=24 {
        for kind in ["ring", "line", "complete"] {
            for name in ["allgather", "reduce_scatter"] {
                let found = proof(&format!("{kind}:{p}"), &named(name, 0), "ring");
                assert_eq!(terms(&found), (p - 1, (p - 1).into()), "{name} on {kind}:{p}");
            }
        }
    }
}

/// T = 2 t_s (sqrt p - 1) + t_w m (p - 1): rows, then columns; the reduction is problem 4.4.
#[test]
fn mesh_allgather_and_reduction_cost_equation_4_3() {
    for side in 2..=7 {
        for kind in ["mesh", "torus"] {
            for name in ["allgather", "reduce_scatter"] {
                let found = proof(&format!("{kind}:{side}x{side}"), &named(name, 0), "by-dimension");
                assert_eq!(terms(&found), (2 * (side - 1), (side * side - 1).into()), "{name} on {kind} {side}");
            }
        }
    }
    for (network, startups) in [("mesh:3x5", 2 + 4), ("torus:2x3x4", 1 + 2 + 3), ("ghc:4x6", 2 + 3)] {
        for name in ["allgather", "reduce_scatter"] {
            let found = proof(network, &named(name, 0), "by-dimension");
            let p = parse(network).unwrap().nodes() as u64;
            assert_eq!(terms(&found), (startups, (p - 1).into()), "{name} on {network}");
        }
    }
}

/// T = t_s log p + t_w m (p - 1); the reduction is problem 4.8.
#[test]
fn cube_allgather_and_reduction_cost_equation_4_4() {
    for d in 0..=7 {
        let (cube, p) = (format!("hypercube:{d}"), 1_u64 << d);
        for (name, algorithm) in [
            ("allgather", "recursive-doubling"),
            ("allgather", "by-dimension"),
            ("reduce_scatter", "recursive-halving"),
            ("reduce_scatter", "by-dimension"),
        ] {
            let found = proof(&cube, &named(name, 0), algorithm);
            assert_eq!((terms(&found), found.hops), ((d, (p - 1).into()), d), "{name} {algorithm} on {cube}");
        }
    }
}

/// Figure 4.12 and problems 4.2 and 4.3: the forms for cubes on a ring, where k messages that share
/// a channel take k times as long.
#[test]
fn cube_forms_contend_on_a_ring() {
    for d in 2..=6 {
        let (ring, p) = (format!("ring:{}", 1 << d), 1_u64 << d);
        let found = shared(&ring, &named("allgather", 0), "recursive-doubling");
        // In step i, messages of 2^i blocks, of which 2^i share a channel.
        assert_eq!((found.startups, found.channel_transmission), (d, ((p * p - 1) / 3).into()));
        let found = shared(&ring, &named("broadcast", 0), "binomial");
        assert_eq!(found.startups, d);
        assert!(!found.contention_free && found.channel_transmission > d.into(), "{found}");
    }
}

/// T = (t_s + t_w m) log p: all-reduce, and prefix sums by Algorithm 4.9.
#[test]
fn allreduce_and_prefixes_on_a_cube_cost_equation_4_5() {
    for d in 0..=7 {
        for (name, algorithm) in [
            ("allreduce", "recursive-doubling"),
            ("allreduce", "by-dimension"),
            ("scan", "by-dimension"),
            ("exscan", "by-dimension"),
        ] {
            let found = proof(&format!("hypercube:{d}"), &named(name, 0), algorithm);
            assert_eq!((terms(&found), found.hops), ((d, d.into()), d), "{name} {algorithm} on cube {d}");
        }
    }
}

/// Problem 4.6 (ii): a reduction and a broadcast, on rings and, row after row, on meshes. Prefixes
/// take one round less.
#[test]
fn allreduce_and_prefixes_on_meshes_cost_two_trees() {
    for (network, rounds) in [("ring:16", 4), ("line:16", 4), ("mesh:4x8", 5), ("torus:8x8", 6), ("mesh:4x4x4", 6)] {
        let found = proof(network, &named("allreduce", 0), "by-dimension");
        assert_eq!(terms(&found), (2 * rounds, (2 * rounds).into()), "{network}");
        for name in ["scan", "exscan"] {
            let found = proof(network, &named(name, 0), "by-dimension");
            assert_eq!(terms(&found), (2 * rounds - 1, (2 * rounds - 1).into()), "{name} on {network}");
        }
    }
}

/// T = t_s log p + t_w m (p - 1), on lines and meshes too: problem 4.7.
#[test]
fn scatter_and_gather_cost_equation_4_6() {
    for (network, rounds) in POWERS {
        let p = parse(network).unwrap().nodes();
        for root in [0, 1, p / 2, p - 1] {
            for name in ["scatter", "gather"] {
                let found = proof(network, &named(name, root), "by-dimension");
                assert_eq!(terms(&found), (rounds, Volume::from(p as u64 - 1)), "{name} from {root} on {network}");
            }
        }
    }
}

/// Around the ring min(q, p - q) steps; on an s x s torus, with the step that compensates for the
/// end of a row, at most s of the book's s + 1.
#[test]
fn shift_on_rings_and_meshes_keeps_its_bound() {
    for p in 1..=12_usize {
        for by in 0..p {
            let steps = by.min(p - by) as u64;
            for network in [format!("ring:{p}"), format!("line:{p}")] {
                let found = proof(&network, &Collective::Shift { by }, "ring");
                assert_eq!(terms(&found), (steps, steps.into()), "{network} by {by}");
            }
        }
    }
    for side in 2..=7 {
        let steps = |kind: &str, by| {
            let found = proof(&format!("{kind}:{side}x{side}"), &Collective::Shift { by }, "by-dimension");
            assert_eq!(found.transmission, found.startups.into());
            found.startups
        };
        let all: Vec<u64> = (0..side * side).map(|by| steps("torus", by)).collect();
        assert_eq!(all.iter().max(), Some(&(2 * (side as u64 / 2))), "{all:?}");
        assert!(all.iter().all(|&steps| steps <= side as u64));
        assert_eq!(all, (0..side * side).map(|by| steps("mesh", by)).collect::<Vec<_>>());
    }
    // Figure 4.22, and the 3-shift that goes backwards.
    let on_16 = |by| proof("torus:4x4", &Collective::Shift { by }, "by-dimension").startups;
    assert_eq!((on_16(5), on_16(3)), (1 + 2, 1 + 1));
}

/// T = (t_s + t_w m)(2 log p - 1) at most, and by steps back log p at most, between neighbours.
#[test]
fn shift_by_gray_code_keeps_the_bound_of_equation_4_11() {
    for d in 0..=6_u32 {
        let p = 1_usize << d;
        let places = (0..p).map(|rank| Node::new(rank ^ rank >> 1)).collect();
        let placement = Placement::new(places, p).unwrap();
        for by in 0..p {
            let cube = parse(&format!("hypercube:{d}")).unwrap();
            let problem = Problem::placed(cube, placement.clone(), Collective::Shift { by }).unwrap();
            let found = counted(&*find(problem.collective(), "gray").unwrap(), &problem);
            assert!(found.contention_free && found.hops == found.startups, "{found}");
            assert_eq!(found.transmission, found.startups.into());
            let forwards = 2 * u64::from(by.count_ones()) - (by % 2) as u64;
            assert!(found.startups <= forwards && found.startups <= d.into(), "{by} on {p}: {found}");
            assert!(forwards < (2 * u64::from(d)).max(1));
        }
    }
    // One leap of two, two neighbours each.
    assert!(find(&Collective::Shift { by: 6 }, "gray").is_ok());
}

/// T = t_s + t_w m: E-cube routes do not contend (problem 4.22), and the longest has log p - g
/// links, with 2^g the highest power of two that divides the distance (problem 4.23).
#[test]
fn shift_by_e_cube_costs_equation_4_12() {
    for d in 1..=7 {
        let p = 1_usize << d;
        for by in 1..p {
            for algorithm in ["e-cube", "direct"] {
                let found = proof(&format!("hypercube:{d}"), &Collective::Shift { by }, algorithm);
                assert_eq!(terms(&found), (1, 1.into()));
                assert_eq!(found.hops, u64::from(d - by.trailing_zeros()), "{by} on {p}");
            }
        }
    }
}

/// The counts of a broadcast in parts.
fn split_broadcast(network: &str, root: usize) -> Proof {
    proof(network, &named("broadcast", root), "scatter-allgather")
}

/// T = 2 (t_s log p + t_w m (p - 1) / p): broadcast, its dual (problems 4.17 and 4.19), all-reduce
/// (equation 4.14).
#[test]
fn split_messages_on_a_cube_cost_equations_4_13_and_4_14() {
    for d in 0..=6_u64 {
        let (cube, p) = (format!("hypercube:{d}"), 1 << d);
        let expected = (2 * d, Volume::new(2 * (p - 1), p));
        for root in [0, (p - 1) as usize] {
            assert_eq!(terms(&split_broadcast(&cube, root)), expected, "{cube}");
            let reduced = proof(&cube, &named("reduce", root), "reduce-scatter-gather");
            assert_eq!(terms(&reduced), expected, "{cube}");
        }
        for algorithm in ["rabenseifner", "reduce-scatter-allgather"] {
            let found = proof(&cube, &named("allreduce", 0), algorithm);
            assert_eq!((terms(&found), found.hops), (expected, 2 * d), "{algorithm} on {cube}");
        }
    }
}

/// The same transmission on lines, rings and meshes, with n - 1 start-ups for a ring of n.
#[test]
fn split_messages_on_meshes_cost_as_much_transmission() {
    for (network, rings, trees) in
        [("ring:16", 15, 4), ("line:8", 7, 3), ("mesh:4x4", 6, 4), ("torus:4x8", 10, 5), ("mesh:4x4x4", 9, 6)]
    {
        let p = parse(network).unwrap().nodes() as u64;
        let twice = Volume::new(2 * (p - 1), p);
        for root in [0, 3] {
            assert_eq!(terms(&split_broadcast(network, root)), (rings + trees, twice), "{network}");
            let reduced = proof(network, &named("reduce", root), "reduce-scatter-gather");
            assert_eq!(terms(&reduced), (rings + trees, twice), "{network}");
        }
        let found = proof(network, &named("allreduce", 0), "reduce-scatter-allgather");
        assert_eq!(terms(&found), (2 * rings, twice), "{network}");
    }
}

/// Table 4.1, for every operation the algorithms and their terms on a cube.
#[test]
fn table_4_1_is_counted_on_cubes() {
    for d in 1..=6_u64 {
        let (cube, p) = (format!("hypercube:{d}"), 1_u64 << d);
        let row = |collective: &Collective, algorithm: &str| terms(&proof(&cube, collective, algorithm));
        let (whole, parts) = ((d, d.into()), (2 * d, Volume::new(2 * (p - 1), p)));
        let each = (d, Volume::from(p - 1));
        assert_eq!(row(&named("broadcast", 1), "binomial"), whole);
        assert_eq!(terms(&split_broadcast(&cube, 1)), parts);
        assert_eq!(row(&named("reduce", 1), "binomial"), whole);
        assert_eq!(row(&named("reduce", 1), "reduce-scatter-gather"), parts);
        assert_eq!(row(&named("allgather", 0), "recursive-doubling"), each);
        assert_eq!(row(&named("reduce_scatter", 0), "recursive-halving"), each);
        assert_eq!(row(&named("allreduce", 0), "recursive-doubling"), whole);
        assert_eq!(row(&named("allreduce", 0), "rabenseifner"), parts);
        assert_eq!(row(&named("scatter", 1), "binomial"), each);
        assert_eq!(row(&named("gather", 1), "binomial"), each);
        assert_eq!(row(&Collective::Alltoall, "cube-xor"), (p - 1, (p - 1).into()));
        assert_eq!(row(&Collective::Shift { by: 1 }, "e-cube"), (1, 1.into()));
    }
}

/// Problem 4.12: without the wrap-around links, trees take the same routes, and messages around
/// rings up to two channels in place of one. Only by store-and-forward does that take longer, twice
/// as long; exchanges take as long as their way back over the row.
#[test]
fn lines_and_meshes_cost_problem_4_12() {
    let networks: [(&str, &str, &[u64]); 4] = [
        ("line:8", "ring:8", &[8]),
        ("line:13", "ring:13", &[13]),
        ("mesh:4x4", "torus:4x4", &[4, 4]),
        ("mesh:5x7", "torus:5x7", &[5, 7]),
    ];
    for (open, closed, rows) in networks {
        let both = |collective: &Collective, algorithm: &str| {
            let [open, closed] = [open, closed].map(|network| proof(network, collective, algorithm));
            assert_eq!(terms(&open), terms(&closed), "{collective} on {closed:?}");
            (open.forwarded_transmission, closed.forwarded_transmission)
        };
        for name in ["broadcast", "reduce", "scatter", "gather"] {
            let (open, closed) = both(&named(name, 0), "by-dimension");
            assert!(open >= closed && open <= closed * 2, "{name}");
        }
        for name in ["allgather", "reduce_scatter"] {
            let (open, closed) = both(&named(name, 0), "by-dimension");
            assert_eq!(open, closed * 2, "{name}");
        }
        for name in ["allreduce", "scan", "exscan"] {
            let [open, closed] = [open, closed].map(|network| shared(network, &named(name, 0), "by-dimension"));
            assert_eq!(terms(&open), terms(&closed), "{name}");
            let (open, closed) = (open.forwarded_transmission, closed.forwarded_transmission);
            assert!(open >= closed && open <= closed * 2, "{name}: {open} beside {closed}");
        }
        // In every step, the message from the last rank of a row to its first crosses the whole row.
        let (open, closed) = both(&Collective::Alltoall, "by-dimension:within=ring");
        let exchange = |row: u64| row * (row - 1) / 2;
        let p: u64 = rows.iter().product();
        let over =
            |channels: fn(u64) -> u64| rows.iter().map(|&row| exchange(row) * (p / row) * channels(row)).sum::<u64>();
        assert_eq!((closed, open), (over(|_| 1).into(), over(|row| row - 1).into()), "alltoall");
    }
}

/// Problem 4.10: with n / p numbers on each of p nodes, prefix sums take n / p - 1 additions within
/// the node, an exscan of the nodes' sums, (t_s + t_w) log p, and n / p additions more.
#[test]
fn prefix_sums_of_several_numbers_cost_problem_4_10() {
    for d in 1..=6_u32 {
        let found = proof(&format!("hypercube:{d}"), &named("exscan", 0), "by-dimension");
        assert_eq!(terms(&found), (d.into(), u64::from(d).into()));
        // In each step but the last, some node adds what arrives to its sub-cube's sum and to its
        // prefix. The first that a node receives from below is its prefix.
        assert_eq!(found.combined, (2 * u64::from(d) - 2).into(), "{d}");
    }
}

/// Problem 4.13: a 3-D mesh of c^3 nodes by store-and-forward. Broadcasts cross each of the links
/// from corner to corner once. What all-to-all forms send is what each node receives, doubled by
/// folding. Exchanges send half of p in each step of each dimension.
#[test]
fn mesh_of_3_dimensions_costs_near_problem_4_13() {
    for c in [2, 4] {
        let (mesh, p) = (format!("mesh:{c}x{c}x{c}"), c * c * c);
        for name in ["broadcast", "reduce"] {
            let found = proof(&mesh, &named(name, 0), "by-dimension");
            assert_eq!((found.startups, found.forwarded_transmission), (3 * log(c), (3 * (c - 1)).into()), "{name}");
        }
        let folded = if c > 2 { 2 } else { 1 };
        for name in ["allgather", "reduce_scatter"] {
            let found = proof(&mesh, &named(name, 0), "by-dimension");
            assert_eq!(terms(&found), (3 * (c - 1), (p - 1).into()), "{name}");
            assert_eq!(found.forwarded_transmission, (folded * (p - 1)).into(), "{name}");
        }
        for name in ["scatter", "gather"] {
            let found = proof(&mesh, &named(name, 0), "by-dimension");
            assert_eq!(terms(&found), (3 * log(c), (p - 1).into()), "{name}");
            // Half of the nodes at half the distance, and so on.
            assert_eq!(found.forwarded_transmission, ((c + 1) * (p - 1) / 3).into(), "{name}");
        }
        let found = proof(&mesh, &Collective::Alltoall, "by-dimension:within=ring");
        assert_eq!(terms(&found), (3 * (c - 1), (3 * (c - 1) * p / 2).into()));
    }
}

fn custom(network: &str, custom: Custom) -> Problem {
    Problem::new(parse(network).unwrap(), Collective::Custom(Arc::new(custom))).unwrap()
}

/// Dimensions of a cube, the base-2 logarithm of the number of sources, and sources: a sub-cube,
/// ranks that are evenly apart, and a translate of each of a sub-cube.
fn sources() -> impl Iterator<Item = (u64, u64, [Vec<Rank>; 3])> {
    (0..=5_u64).flat_map(|d| (0..=d).map(move |i| (d, i))).map(|(d, i)| {
        let (p, k) = (1_usize << d, 1_usize << i);
        let of = |place: &dyn Fn(usize) -> usize| (0..k).map(|source| Rank::new(place(source))).collect();
        let translated = |source: usize| (source + k * (3 * source + 1)) % p;
        (d, i, [of(&|source| source), of(&|source| source * (p / k)), of(&translated)])
    })
}

/// T = t_s log p + t_w m (k log(p/k) + k - 1), from any k sources at most, and from a sub-cube
/// exactly.
#[test]
fn k_to_all_broadcast_costs_problem_4_16() {
    for (d, i, sets) in sources() {
        let (p, k) = (1_usize << d, 1_u64 << i);
        let book = k * (d - i) + k - 1;
        for (sub_cube, set) in std::iter::once(true).chain(std::iter::repeat(false)).zip(sets) {
            let problem = custom(&format!("hypercube:{d}"), Custom::k_to_all_broadcast(p, &set));
            let found = counted(&KToAllBroadcast, &problem);
            assert!(found.contention_free && found.startups == d && found.hops == d, "{found}");
            assert!(found.transmission <= book.into(), "{set:?} of {p}");
            assert!(!sub_cube || found.transmission == book.into(), "{set:?} of {p}: {found}");
        }
    }
}

/// Problem 4.18: in parts, T = t_s (log p + log(p/k)) + t_w m (k + 1 - 2 k/p), with less
/// transmission than whole blocks from more than one source, or in parts for more than two ranks of
/// each.
#[test]
fn k_to_all_broadcast_in_parts_costs_less() {
    for (d, i, [sub_cube, _, translated]) in sources() {
        let (p, k) = (1_u64 << d, 1_u64 << i);
        for set in [sub_cube, translated] {
            let parts = Custom::k_to_all_broadcast_in_parts(p as usize, &set, (p / k) as u32).unwrap();
            let found = counted(&KToAllParts, &custom(&format!("hypercube:{d}"), parts));
            let expected = (2 * d - i, Volume::new((k + 1) * p - 2 * k, p));
            assert_eq!(terms(&found), expected, "{set:?} of {p}");
            assert!(found.contention_free && found.hops == 2 * d - i);
            let whole = Volume::from(k * (d - i) + k - 1);
            let splits = d > i && (k > 1 || p / k > 2);
            assert!(if splits { found.transmission < whole } else { found.transmission == whole }, "{k} of {p}");
        }
    }
}

/// T = t_s (log(p/k) + k - 1) + t_w m (p - 1).
#[test]
fn k_to_all_personalised_costs_problem_4_20() {
    for (d, i, [sub_cube, _, translated]) in sources() {
        let (p, k) = (1_u64 << d, 1_u64 << i);
        for set in [sub_cube, translated] {
            let problem = custom(&format!("hypercube:{d}"), Custom::k_to_all_personalised(p as usize, &set));
            let found = counted(&KToAllPersonalised, &problem);
            assert_eq!(terms(&found), (d - i + k - 1, (p - 1).into()), "{set:?} of {p}");
            assert!(found.contention_free);
        }
    }
}

#[test]
fn k_to_all_algorithms_refuse_other_conditions() {
    let ranks = [0, 4].map(Rank::new);
    let unfit = |algorithm: &dyn Algorithm, problem: &Problem| algorithm.fits(problem).unwrap_err().to_string();
    let broadcast = custom("hypercube:3", Custom::k_to_all_broadcast(8, &ranks));
    let personalised = custom("hypercube:3", Custom::k_to_all_personalised(8, &ranks));
    assert!(unfit(&KToAllBroadcast, &personalised).contains("needs a k-to-all broadcast"));
    assert!(unfit(&KToAllPersonalised, &broadcast).contains("needs a k-to-all personalised"));
    // Both are even.
    assert!(unfit(&KToAllPersonalised, &personalised).contains("differ modulo"));
    let six = custom("ring:6", Custom::k_to_all_broadcast(6, &ranks[..1]));
    assert!(unfit(&KToAllBroadcast, &six).contains("power of two"));
    assert_eq!(Custom::k_to_all_broadcast_in_parts(8, &ranks, 0), None);
}
