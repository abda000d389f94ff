//! Lower bounds and prices: the tables of the papers, and that no schedule beats a bound.

use std::sync::Arc;

use crate::fixtures::beaten;
use crate::fixtures::plain::Plain;
use necklace::algorithm::find;
use necklace::bounds::{Bounds, Search};
use necklace::collective::Collective;
use necklace::cost::{Demand, Price};
use necklace::machine::{Machine, Switching};
use necklace::schedule::{Hosts, Placement, Ports, Problem, Volume, verify_shares};
use necklace::select::{Terms, select};
use necklace::topology::{Graph, OverlappingWindows, Topology, parse};
use necklace::{Node, Rank};
use quickcheck::{Gen, QuickCheck};

fn problem(topology: &str, collective: Collective) -> Problem {
    Problem::new(parse(topology).unwrap(), collective).unwrap().ordered()
}

/// The network as a graph, of which only the links are known.
fn graph(topology: &str) -> Arc<dyn Topology> {
    let topology = parse(topology).unwrap();
    let edges = topology.edges().into_iter().map(|(u, v)| (u.index(), v.index()));
    Arc::new(Graph::new(topology.nodes(), edges).unwrap())
}

fn ratio(blocks: u128, parts: u128) -> Volume {
    Volume::new(u64::try_from(blocks).unwrap(), u64::try_from(parts).unwrap())
}

/// Rounded to one decimal, as tables print.
fn rounded(volume: Volume) -> f64 {
    (volume.as_f64() * 10.0).round() / 10.0
}

#[test]
fn lower_bounds_match_the_documented_table() {
    // Average, dimension, cut; one port store-and-forward, one port wormhole; allgather all-port
    // and one-port.
    let table: [(&str, [f64; 7]); 7] = [
        ("ring:8", [8.0, 8.0, 8.0, 16.0, 8.0, 3.5, 7.0]),
        ("torus:12x12", [216.0, 216.0, 216.0, 864.0, 216.0, 35.8, 143.0]),
        ("torus:5x7", [25.5, 30.0, 30.0, 102.0, 34.0, 8.5, 34.0]),
        ("torus:6x6x6", [162.0, 162.0, 162.0, 972.0, 215.0, 35.8, 215.0]),
        ("mesh:6x6", [42.0, 42.0, 54.0, 140.0, 54.0, 17.5, 35.0]),
        ("hypercube:6", [32.0, 32.0, 32.0, 192.0, 63.0, 10.5, 63.0]),
        ("ghc:7,2", [7.0, 7.0, 7.0, 84.0, 48.0, 4.0, 48.0]),
    ];
    for (text, expected) in table {
        let topology = parse(text).unwrap();
        let alltoall = Bounds::of(&Problem::new(Arc::clone(&topology), Collective::Alltoall).unwrap());
        let allgather = Bounds::of(&Problem::new(topology, Collective::Allgather).unwrap());
        let wormhole = alltoall.port.max(alltoall.channel());
        let Bounds { average, dimension, cut, relayed, .. } = alltoall;
        let found =
            [average, dimension.unwrap_or(average), cut, relayed, wormhole, allgather.channel(), allgather.port];
        assert_eq!(found.map(rounded), expected, "{text}");
    }
}

#[test]
fn line_transmission_exceeds_the_average() {
    let bounds = Bounds::of(&problem("line:8", Collective::Alltoall));
    assert_eq!((bounds.forwarded, bounds.relayed, bounds.channel()), (21.into(), 31.into(), 16.into()));
    assert_eq!((bounds.distance, bounds.startups(Ports::One), bounds.startups(Ports::All)), (7, 3, 2));
}

/// Distances and cuts by the definitions, over all sets of nodes.
#[test]
fn formulas_and_searches_agree_with_brute_force() {
    for text in [
        "ring:2",
        "ring:3",
        "ring:7",
        "line:2",
        "line:6",
        "mesh:2x4",
        "mesh:3x3",
        "torus:3x3",
        "torus:2x3x2",
        "hypercube:3",
        "complete:5",
    ] {
        let topology = parse(text).unwrap();
        let nodes = topology.nodes();
        let node = Node::new;
        let pairs = || (0..nodes).flat_map(|u| (0..nodes).map(move |v| (node(u), node(v))));
        let far: usize = pairs().map(|(u, v)| topology.distance(u, v)).sum();
        let crossing = |set: usize| {
            let inside = |v: Node| set >> v.index() & 1 == 1;
            let links = topology.edges().into_iter().filter(|&(u, v)| inside(u) != inside(v)).count();
            (set.count_ones() as u128, links as u128)
        };
        let sets = || (1..(1_usize << nodes) - 1).map(crossing);
        for collective in [Collective::Alltoall, Collective::Allgather] {
            let alltoall = collective == Collective::Alltoall;
            let best = sets().map(|(inside, links)| {
                let outside = nodes as u128 - inside;
                ratio(if alltoall { inside * outside } else { inside.max(outside) }, links)
            });
            let best = best.max().unwrap();
            let formula = Bounds::of(&problem(text, collective.clone()));
            let searched = Bounds::of(&Problem::new(graph(text), collective).unwrap());
            assert_eq!(formula.cut, best, "{text}");
            assert!(searched.cut <= best, "{text}");
            if alltoall {
                assert_eq!(formula.average, ratio(far as u128, topology.channels() as u128), "{text}");
                assert_eq!(formula.forwarded, ratio(far as u128, nodes as u128), "{text}");
            }
            assert_eq!((searched.average, searched.forwarded), (formula.average, formula.forwarded), "{text}");
            assert_eq!((searched.distance, searched.port), (formula.distance, formula.port), "{text}");
            for ports in Ports::all() {
                assert_eq!(searched.startups(ports), formula.startups(ports), "{text}");
            }
        }
        for root in 0..nodes {
            for name in ["scatter", "gather", "broadcast", "reduce"] {
                let collective = Collective::named(name, Rank::new(root)).unwrap();
                let formula = Bounds::of(&problem(text, collective.clone()));
                let searched = Bounds::of(&Problem::new(graph(text), collective).unwrap());
                let same = |bounds: &Bounds| (bounds.average, bounds.forwarded, bounds.distance, bounds.port);
                assert_eq!(same(&formula), same(&searched), "{name} from {root} on {text}");
                let rooted = name == "scatter" || name == "gather";
                let best = (1..(1_usize << nodes) - 1).map(|set| {
                    let (inside, links) = crossing(set);
                    let across = if set >> root & 1 == 1 { nodes as u128 - inside } else { inside };
                    ratio(if rooted { across } else { 1 }, links)
                });
                let best = best.max().unwrap();
                assert!(formula.cut <= best && searched.cut <= best, "{name} from {root} on {text}");
                assert!(formula.cut >= searched.cut, "{name} from {root} on {text}: {}", formula.cut);
            }
        }
    }
}

/// Searches around nodes do not find the cut in the middle of a dimension; the order of the nodes
/// does.
#[test]
fn half_of_the_blocks_crosses_the_bisection_of_windows() {
    for (extent, window, dimensions) in [(16, 3, 1), (20, 3, 1), (8, 3, 2), (8, 2, 2), (4, 2, 3), (12, 5, 1)] {
        for new in [OverlappingWindows::new, OverlappingWindows::wrapping] {
            let how = new(extent, window, dimensions).unwrap();
            let (half, links) = (how.nodes() as u64 / 2, how.bisection() as u64);
            let bounds = Bounds::of(&Problem::new(Arc::new(how.clone()), Collective::Alltoall).unwrap());
            assert!(bounds.cut >= Volume::new(half * half, links), "{how:?}: {}", bounds.cut);
        }
    }
}

/// In a complete network, nodes outside of the search are at least one channel away, and nothing
/// else is known of them.
#[test]
fn large_networks_are_searched_in_part() {
    let nodes = 1000;
    let edges = (0..nodes).flat_map(|u| (0..u).map(move |v| (u, v)));
    let searched = Problem::new(Arc::new(Graph::new(nodes, edges).unwrap()), Collective::Alltoall).unwrap();
    let mut exact = Bounds::of(&problem("complete:1000", Collective::Alltoall));
    exact.dimension = None;
    assert_eq!(Bounds::of(&searched), exact);
    // Else it is less than there is, by less than what was left out.
    let (searched, exact) = (Problem::new(graph("ring:6000"), Collective::Alltoall).unwrap(), 6000 * 6000 / 8);
    let average = Bounds::of(&searched).average;
    assert!(average < exact.into() && Volume::from(exact) < average * 2, "{average}");
}

#[test]
fn startup_bound_follows_the_port_model() {
    let startups = |topology: &str, name: &str| {
        let problem = problem(topology, Collective::named(name, Rank::new(0)).unwrap());
        Ports::all().map(|ports| Bounds::of(&problem).startups(ports)).collect::<Vec<_>>()
    };
    // One, one-send, same-value, all, unlimited: 144 <= 2^8, 5^4.
    assert_eq!(startups("torus:12x12", "alltoall"), [8, 8, 4, 4, 1]);
    assert_eq!(startups("torus:12x12", "broadcast"), [8, 8, 4, 4, 1]);
    // Receives are free with one send, and with sends of one value.
    assert_eq!(startups("torus:12x12", "gather"), [8, 1, 1, 4, 1]);
    assert_eq!(startups("complete:9", "reduce"), [4, 1, 1, 1, 1]);
    assert_eq!(startups("hypercube:5", "scan"), [5, 5, 2, 2, 1]);
    assert_eq!(startups("ring:1", "alltoall"), [0; 5]);
}

#[test]
fn no_schedule_on_any_network_beats_its_bounds() {
    #[allow(clippy::needless_pass_by_value)]
    fn holds(edges: Vec<(u8, u8)>, nodes: u8, shuffle: Vec<u8>) {
        let nodes = usize::from(nodes % 9) + 2;
        // A path, so that all are connected, and whatever else there is.
        let path = (1..nodes).map(|v| (v - 1, v));
        let others = edges.into_iter().map(|(u, v)| (usize::from(u) % nodes, usize::from(v) % nodes));
        let graph: Arc<dyn Topology> = Arc::new(Graph::new(nodes, path.chain(others.filter(|(u, v)| u != v))).unwrap());
        let mut place: Vec<Node> = (0..nodes).map(Node::new).collect();
        for (i, by) in shuffle.iter().enumerate().take(nodes) {
            place.swap(i, usize::from(*by) % nodes);
        }
        place.truncate((nodes / 2).max(shuffle.len().min(nodes)));
        for algorithm in necklace::algorithm::registry() {
            let collective = Collective::named(algorithm.about().collective, Rank::new(place.len() / 2)).unwrap();
            let placement = Placement::new(place.clone(), nodes).unwrap();
            let problem = Problem::placed(Arc::clone(&graph), placement, collective).unwrap().ordered();
            let problem = problem.on_hosts(Hosts::of_consecutive(place.len(), 2)).unwrap();
            let Ok(shares) = algorithm.shares(&problem) else { continue };
            let proof = verify_shares(shares).unwrap();
            let name = algorithm.name();
            assert_eq!(
                beaten(&Bounds::of(&problem), &proof),
                [""; 0],
                "{name} on {:?} of {graph:?}",
                problem.placement()
            );
            let claims = algorithm.claims(&problem).completed(algorithm.about().ports);
            assert_eq!(proof.contradicts(&claims), [], "{name}");
            // A lower bound, used for a missing claim, is at most the count.
            let (claimed, counted) =
                (Demand::claimed(&**algorithm, &problem).unwrap(), Demand::counted(&proof, &problem));
            let least = Demand::least(&Search::of(&problem), algorithm.about().ports);
            for machine in [Machine::PARAGON.with_combination(5), Machine::UNIT, Machine::THREADS] {
                let price = |demand: &Demand| {
                    let price = demand.price(&machine, 100);
                    // Transmission during the work of processors is in no separate term.
                    let moved = price.startup + price.transmission + price.propagation;
                    [price.total, price.startup, moved, price.rearrangement, price.combination, price.synchronisation]
                };
                let terms = price(&least).into_iter().zip(price(&counted));
                assert!(terms.into_iter().all(|(least, found)| least <= found), "{name}: {least:?}, {counted:?}");
            }
            assert!(claimed.channel <= counted.channel && claimed.port <= counted.port, "{name}: {claimed:?}");
            assert!(claimed.hops <= counted.hops && claimed.forwarded <= counted.forwarded, "{name}: {claimed:?}");
            assert!(claimed.startups <= counted.startups && claimed.handled <= counted.handled, "{name}: {claimed:?}");
        }
    }
    QuickCheck::new().rng(Gen::new(12)).tests(40).quickcheck(holds as fn(Vec<(u8, u8)>, u8, Vec<u8>));
}

fn claimed(topology: &str, algorithm: &str) -> Option<Demand> {
    let problem = problem(topology, Collective::Alltoall);
    Demand::claimed(&*find(problem.collective(), algorithm).ok()?, &problem).ok()
}

/// The rows "Proposed" of Table 2, for blocks of `m` bytes on 2^d x 2^d nodes, in picoseconds and
/// without the total.
fn table_2(mesh: bool, d: u32, m: u64, startup: u64) -> [u64; 5] {
    let two = |exponent: u32| 1_u64 << exponent;
    let barrier = (126 * u64::from(d) - 113) * 1_000_000;
    if mesh {
        let hops = two(2 * d) + 6 - two(d + 2);
        let (blocks, moved) = (two(3 * d - 1), 2 * two(2 * d));
        return [two(d) * startup, blocks * m * 11_000, hops * 20_000, moved * m * 14_000, (two(d) - 1) * barrier];
    }
    let (rounds, blocks) = (two(d - 1) + 2, two(3 * d - 2) + two(2 * d));
    let (hops, moved) = (two(d + 1) - 2, 3 * two(2 * d));
    [rounds * startup, blocks * m * 11_000, hops * 20_000, moved * m * 14_000, (rounds - 1) * barrier]
}

#[test]
fn formulas_reproduce_table_2_of_suh_and_shin() {
    for (name, kind, mesh) in [("torus-exchange", "torus", false), ("mesh-exchange", "mesh", true)] {
        for d in 3..=10 {
            let side = 1 << d;
            let demand = claimed(&format!("{kind}:{side}x{side}"), name).unwrap();
            // Figures 13 and 14, and 15 and 16, where t_s is 20,000 t_c.
            for machine in [Machine::PARAGON, "paragon:message=110us".parse().unwrap()] {
                for m in [1, 64, 1024, 65536] {
                    let Price { startup, transmission, propagation, rearrangement, synchronisation, total, .. } =
                        demand.price(&machine, m);
                    let expected = table_2(mesh, d, m, 2 * machine.message).map(u128::from);
                    let terms = [startup, transmission, propagation, rearrangement, synchronisation];
                    assert_eq!(terms, expected, "{name}, d = {d}, m = {m}");
                    // The paper's total has the barriers too.
                    assert_eq!(total + synchronisation, expected.iter().sum::<u128>());
                }
            }
        }
    }
}

#[test]
fn counted_and_claimed_prices_agree() {
    let cases = [
        ("torus-exchange", "torus:8x12"),
        ("torus-exchange", "torus:4x8x4"),
        ("direct", "torus:5x4x2"),
        ("direct", "mesh:3x6"),
        ("direct", "hypercube:4"),
        ("direct", "complete:6"),
        ("direct", "ghc:3x4"),
        ("direct-rotated", "ghc:4x3x2"),
        ("direct-rotated", "torus:3x4"),
        ("direct-rotated", "mesh:4x3x2"),
        ("direct-rotated", "hypercube:4"),
        ("direct-xor", "hypercube:3"),
        ("direct-xor", "torus:8x4x2"),
        ("direct-xor", "mesh:4x8"),
        ("cube-log", "torus:4x16"),
        ("bruck", "torus:3x5"),
        ("bruck:radix=4", "mesh:4x5"),
        ("ring", "mesh:3x4"),
        ("ring", "ring:9"),
        ("torus-exchange", "torus:6x5"),
        ("mesh-exchange", "mesh:6x8"),
        ("mesh-exchange", "mesh:5x7"),
        ("ring-both", "torus:3x5"),
        ("by-dimension", "mesh:4x5"),
        ("by-dimension:within=direct", "torus:4x5x2"),
        ("by-dimension:within=direct-rotated", "mesh:4x5"),
        ("by-dimension:within=direct", "ghc:3x4"),
    ];
    for (name, text) in cases {
        let problem = problem(text, Collective::Alltoall);
        let algorithm = find(problem.collective(), name).unwrap();
        let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
        let claimed = Demand::claimed(&*algorithm, &problem).unwrap();
        assert!(claimed.at_least.is_empty(), "{name} on {text} claims nothing of {:?}", claimed.at_least);
        assert_eq!(claimed, Demand::counted(&proof, &problem), "{name} on {text}");
    }
}

#[test]
fn direct_on_a_torus_pays_for_its_busiest_channel() {
    // Eight by eight: half rings of 4 go up 1 + 2 + 3 + 4, eight times over.
    let demand = claimed("torus:8x8", "direct").unwrap();
    assert_eq!((demand.channel, demand.port, demand.handled), (80.into(), 63.into(), 126));
    let price = |machine: Machine| demand.price(&machine, 10).transmission;
    let machine = Machine::FREE.with_byte(3).with_channel(2);
    assert_eq!(price(machine), 63 * 10 * 3);
    assert_eq!(price(machine.with_channel(3)), 80 * 10 * 3);
    // Store-and-forward, the farthest of single blocks has 8 channels to go: 7 besides the queue of
    // 80.
    assert_eq!(price(machine.with_channel(3).with_switching(Switching::StoreAndForward)), (80 + 7) * 10 * 3);
}

/// Grama et al., 4.5.1 to 4.5.3: rings and cubes by store-and-forward, the textbook's t_s, t_w and
/// m.
#[test]
fn bytes_move_while_the_next_message_is_prepared() {
    // Seven messages out and seven in: of these two frame the transmission, and twelve go on beside
    // it.
    let direct = claimed("complete:8", "direct").unwrap();
    let machine = Machine::FREE.with_startup(1000).with_message(10).with_byte(3);
    let price = |bytes| direct.price(&machine, bytes);
    assert_eq!((price(1).startup, price(1).transmission), (1000 + 14 * 10, 0));
    assert_eq!((price(100).total, price(100).transmission), (1000 + 2 * 10 + 7 * 100 * 3, 7 * 100 * 3 - 12 * 10));
    // A message a round: nothing goes on beside it.
    let rotated = claimed("complete:8", "direct-rotated").unwrap().price(&machine, 1);
    assert_eq!((rotated.startup, rotated.transmission), (7 * 1000 + 14 * 10, 7 * 3));
}

#[test]
fn store_and_forward_pays_for_every_channel() {
    let machine = Machine::UNIT.with_startup(7);
    let exchange = claimed("torus:8x8", "torus-exchange").unwrap();
    // 2 * 64 * 7 / 2 blocks times hops.
    assert_eq!(exchange.price(&machine, 5).transmission, 448 * 5 * 1_000_000);
    let ring = claimed("ring:6", "ring").unwrap();
    assert_eq!(ring.price(&machine, 5).total, 5 * 7 + 15 * 5 * 1_000_000);
}

#[test]
fn prices_saturate_and_a_barrier_moves_no_bytes() {
    let dear: Machine = "free:byte=9999999s,startup=9999999s,hop=9999999s".parse().unwrap();
    let demand = claimed("torus:16384x16384", "torus-exchange").unwrap();
    assert!(demand.price(&dear, u64::MAX).total > u128::from(u64::MAX));
    let problem = problem("complete:8", Collective::Barrier);
    let barrier = Demand::claimed(&*find(problem.collective(), "dissemination").unwrap(), &problem).unwrap();
    assert_eq!(barrier.price(&Machine::UNIT, 1000).total, 3_000_000);
}

#[test]
fn expensive_counts_are_not_claimed() {
    let unknown = |text: &str, name: &str| claimed(text, name).unwrap().at_least;
    let least = ["transmission by channel", "transmission forwarded", "transmission at the ends", "hops"];
    assert_eq!(unknown("torus:1024x1024", "direct-rotated"), [""; 0]);
    assert_eq!(unknown("torus:1024x1025", "direct-rotated"), least);
    assert_eq!(unknown("torus:2048x4", "direct-xor"), [""; 0]);
    assert_eq!(unknown("torus:4096x4", "direct-xor"), least);
    // As many messages as ranks.
    assert_eq!(unknown("torus:1024x1024", "bruck:radix=1048576"), [""; 0]);
    assert_eq!(unknown("torus:1024x1025", "bruck:radix=1049600"), least);
}

/// So that `auto` need not take a dearer one for its certain price.
#[test]
fn exchanges_claim_all_charged_demands_on_products() {
    let texts = ["line:9", "ring:8", "ring:15", "mesh:4x6", "mesh:3x5x2", "torus:8x8", "torus:12x12", "torus:5x7"];
    let others = ["torus:4x1x6", "hypercube:6", "complete:12", "ghc:7,2", "ghc:4x3x2", "torus:128x128", "ghc:16,4"];
    for text in texts.into_iter().chain(others) {
        let problem = problem(text, Collective::Alltoall);
        for algorithm in necklace::algorithm::candidates(&problem) {
            let Ok(demand) = Demand::claimed(&*algorithm, &problem) else { continue };
            assert_eq!(demand.at_least, [""; 0], "{} on {text}", algorithm.name());
        }
    }
}

#[test]
fn one_round_claims_match_counts_on_products() {
    fn holds(kind: u8, extents: (u8, u8, u8), radix: u8) {
        let [a, b, c] = [extents.0, extents.1, extents.2].map(|extent| extent % 6 + 1);
        let text = match kind % 4 {
            0 => format!("torus:{a}x{b}x{c}"),
            1 => format!("mesh:{a}x{b}x{c}"),
            2 => format!("ghc:{a}x{b}x{c}"),
            _ => format!("torus:{}x{}", a + b, c),
        };
        let problem = problem(&text, Collective::Alltoall);
        let name = format!("bruck:radix={},ports=all", usize::from(radix) % problem.ranks().max(2) + 2);
        let algorithm = find(problem.collective(), &name).unwrap();
        let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
        let claimed = Demand::claimed(&*algorithm, &problem).unwrap();
        assert_eq!(claimed, Demand::counted(&proof, &problem), "{name} on {text}");
    }
    QuickCheck::new().rng(Gen::new(256)).tests(150).quickcheck(holds as fn(u8, (u8, u8, u8), u8));
}

#[test]
fn bounds_are_searched_once_and_on_demand() {
    // More than are counted.
    let nodes = 200;
    let network = Arc::new(Plain::new(Graph::from_edges((1..nodes).map(|v| (v / 2, v))).unwrap(), "asked"));
    let times = || network.asked();
    let place = |collective| Problem::new(Arc::clone(&network) as Arc<dyn Topology>, collective).unwrap();
    let barrier = Search::of(&place(Collective::Barrier));
    assert_eq!((times(), barrier.bounds().port), (0, 199.into()));
    assert_eq!(barrier.bounds().port, 199.into());
    assert_eq!(times(), nodes);
    let problem = place(Collective::Alltoall);
    select(&problem, "auto", &Terms::new(100, &Machine::PARAGON)).unwrap();
    assert_eq!(times(), 2 * nodes, "once for many candidates");
}

#[test]
fn auto_takes_the_lowest_price() {
    for text in ["torus:8x8", "torus:12x12", "mesh:4x6", "hypercube:5", "complete:9", "ring:7"] {
        for machine in [Machine::PARAGON, Machine::UNIT, Machine::THREADS] {
            for bytes in [1, 1 << 10, 1 << 20] {
                let problem = problem(text, Collective::Alltoall);
                let choice = select(&problem, "auto", &Terms::new(bytes, &machine)).unwrap();
                let mut prices = vec![];
                for candidate in &choice.candidates {
                    let Ok(demand) = Demand::claimed(&*candidate.algorithm, &problem) else { continue };
                    assert_eq!(candidate.at_least, demand.uncertain(&machine));
                    assert_eq!(candidate.price, Ok(demand.price(&machine, bytes)));
                    prices.push((demand.price(&machine, bytes).total, candidate.algorithm.name()));
                }
                let chosen = prices.iter().find(|(_, name)| *name == choice.algorithm.name()).unwrap();
                assert_eq!(chosen.0, prices.iter().map(|(total, _)| *total).min().unwrap(), "{text}: {choice}");
                assert!(choice.to_string().contains(&machine.to_string()), "{choice}");
            }
        }
    }
    // What a machine does not charge for need not be claimed: of this one's channels nothing is
    // known.
    let unknown = Problem::new(graph("torus:12x12"), Collective::Alltoall).unwrap();
    let on_a_graph = Demand::claimed(&*find(unknown.collective(), "direct").unwrap(), &unknown).unwrap();
    assert!(on_a_graph.uncertain(&Machine::THREADS).is_empty());
    assert_eq!(on_a_graph.uncertain(&Machine::PARAGON), ["transmission by channel", "hops"]);
    // Combining wins while blocks are small, straight sends once they are large: the papers'
    // crossover.
    let chosen = |bytes| {
        let problem = problem("torus:12x12", Collective::Alltoall);
        select(&problem, "auto", &Terms::new(bytes, &Machine::PARAGON)).unwrap().algorithm.name()
    };
    assert_ne!(chosen(16), "direct");
    assert_eq!(chosen(1 << 16), "direct");
}

/// A byte that is combined as it is moved costs the higher of the two prices.
#[test]
fn one_sided_machines_combine_while_they_move() {
    let problem = problem("complete:5", Collective::Reduce { root: Rank::new(2) });
    let (byte, block) = (7, 100);
    for (combination, one_sided, total) in
        [(3, true, 4 * 7), (9, true, 4 * 9), (3, false, 4 * (7 + 3)), (9, false, 4 * (7 + 9))]
    {
        let machine = Machine::FREE.with_byte(byte).with_combination(combination).with_one_sided(one_sided);
        let simulated = played(&problem, "direct", &machine, block);
        assert_eq!((price(&problem, "direct", &machine, block), simulated), (total * 100, total * 100), "{machine}");
    }
}

#[test]
fn prices_of_the_largest_machines_are_not_truncated() {
    let problem = problem("torus:46340x46340", Collective::Alltoall);
    let nodes = 46340_u128 * 46340;
    let ring = Demand::claimed(&*find(problem.collective(), "ring").unwrap(), &problem).unwrap();
    assert_eq!(
        ring.price(&Machine::THREADS, 1024).transmission,
        nodes * (nodes - 1) / 2 * 1024 * u128::from(Machine::THREADS.byte)
    );
}

#[test]
fn direct_is_cheaper_than_bruck_over_mpi_on_one_host() {
    for ranks in 4..=16 {
        for bytes in [8, 64, 256, 1024, 4096, 16_384, 65_536] {
            let price = |algorithm| {
                let demand = claimed(&format!("complete:{ranks}"), algorithm).unwrap();
                demand.price(&Machine::MPI, bytes).total
            };
            assert!(price("direct") < price("bruck"), "{ranks} ranks, {bytes} bytes");
        }
    }
}

fn played(problem: &Problem, name: &str, machine: &Machine, bytes: u64) -> u128 {
    let algorithm = find(problem.collective(), name).unwrap();
    necklace::simulate::Simulation::new(machine, bytes).play(&*algorithm, problem).unwrap().time.into()
}

fn price(problem: &Problem, name: &str, machine: &Machine, bytes: u64) -> u128 {
    let demand = Demand::claimed(&*find(problem.collective(), name).unwrap(), problem).unwrap();
    assert_eq!(demand.uncertain(machine), [""; 0], "{name}");
    demand.price(machine, bytes).total
}

#[test]
fn allgather_ring_price_matches_its_simulation() {
    let far: Machine = "free:startup=3us,byte=1ns,channel=1ns,hop=5us".parse().unwrap();
    for text in ["line:16", "line:2", "mesh:8x8", "mesh:3x4x5", "torus:4x4", "torus:4x4x4", "ghc:3x4"] {
        let problem = problem(text, Collective::Allgather);
        for machine in [Machine::UNIT, far] {
            let found = [price(&problem, "ring", &machine, 1024), played(&problem, "ring", &machine, 1024)];
            assert_eq!(found[0], found[1], "{text}, {machine}");
        }
    }
    let problem = problem("line:16", Collective::Allgather);
    let choice = select(&problem, "auto", &Terms::new(1024, &Machine::UNIT)).unwrap();
    // As many steps, but none from one end to the other.
    assert_eq!(choice.algorithm.name(), "circgos:a=16");
}

#[test]
fn stored_messages_pay_for_busiest_channel_and_route() {
    for (text, blocks) in [("mesh:2x2", 3), ("hypercube:3", 6), ("hypercube:5", 20)] {
        let problem = problem(text, Collective::Alltoall);
        let wires = Machine::UNIT.with_byte(0);
        let found = [price(&problem, "direct", &wires, 512), played(&problem, "direct", &wires, 512)];
        assert_eq!(found, [(1 + blocks * 512) * 1_000_000; 2], "{text}");
    }
}

#[test]
fn messages_move_while_processors_work() {
    let machine: Machine =
        "free:startup=1us,message=2.5us,byte=0.3ns,channel=1ns,hop=20us,switching=store-and-forward".parse().unwrap();
    let problem = problem("complete:11", Collective::Alltoall);
    for (name, bytes) in [("direct", 2048), ("bruck:radix=4,ports=all", 2048), ("direct-rotated", 100)] {
        assert_eq!(price(&problem, name, &machine, bytes), played(&problem, name, &machine, bytes), "{name}");
    }
}

#[test]
fn messages_of_placed_ranks_and_graphs_are_counted() {
    let place = (0..9).map(|rank| Node::new(rank * 4 % 9)).collect();
    let placement = Placement::new(place, 9).unwrap();
    let placed = Problem::placed(parse("line:9").unwrap(), placement, Collective::Alltoall).unwrap();
    let choice = select(&placed, "auto", &Terms::new(1, &Machine::PARAGON)).unwrap();
    assert_eq!(choice.algorithm.name(), "bruck:radix=3,ports=all", "{choice}");
    let on_a_graph = Problem::new(graph("torus:8x8"), Collective::Alltoall).unwrap();
    let places = (0..32).map(|rank| Node::new(2 * rank)).collect();
    let part = Placement::new(places, 64).unwrap();
    let part = Problem::placed(parse("torus:8x8").unwrap(), part, Collective::Allgather).unwrap();
    for problem in [placed, on_a_graph, part] {
        for algorithm in necklace::algorithm::candidates(&problem) {
            let Ok(demand) = Demand::claimed(&*algorithm, &problem) else { continue };
            assert_eq!(demand.at_least, [""; 0], "{}", algorithm.name());
            let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
            assert_eq!(demand, Demand::counted(&proof, &problem), "{}", algorithm.name());
        }
    }
}
