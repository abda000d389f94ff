//! Simulation: small cases by hand, and the closed form where nothing contends.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{Algorithm, find, registry};
use necklace::bounds::{Bounds, Search};
use necklace::collective::{Collective, Custom};
use necklace::cost::Demand;
use necklace::machine::{Machine, Switching};
use necklace::schedule::{Block, Outline, Ports, Problem, Round, Schedule, Share, Transfer, verify, verify_shares};
use necklace::simulate::{Played, SimulateError, Simulation, least};
use necklace::topology::{Graph, Topology, parse};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use crate::fixtures::via;

fn send(source: usize, destination: usize, blocks: usize) -> Transfer {
    let (source, destination) = (Rank::new(source), Rank::new(destination));
    let blocks = (0..blocks).map(|i| Block::new(source, Rank::new(i))).collect();
    Transfer::new(source, destination, blocks)
}

/// Rounds of any transfers, each in a phase of its own, with blocks of 10 bytes.
fn on(topology: &Arc<dyn Topology>, machine: Machine, rounds: &[&[Transfer]]) -> Result<Played, SimulateError> {
    let problem = Problem::new(Arc::clone(topology), Collective::Alltoall).unwrap();
    let outline = Outline::new(problem, "", Ports::Unlimited).with_phases(vec!["one".to_owned(); rounds.len()]);
    let round = |(phase, transfers): (usize, &&[Transfer])| Round::new(transfers.to_vec()).in_phase(phase);
    let rounds = rounds.iter().enumerate().map(round).collect();
    Simulation::new(&machine, 10).play_schedule(&Schedule::new(outline, rounds))
}

fn times(topology: &str, machine: Machine, rounds: &[&[Transfer]]) -> Vec<u64> {
    on(&parse(topology).unwrap(), machine, rounds).unwrap().ranks
}

/// 3 a byte over a channel, 100 a hop.
fn wires() -> Machine {
    Machine::FREE.with_channel(3).with_hop(100)
}

fn forwarding(machine: Machine) -> Machine {
    machine.with_switching(Switching::StoreAndForward)
}

#[test]
fn one_message_over_free_channels() {
    // 20 bytes over three channels: 3 * 20 on the wire, 3 * 100 on the way; the sender is done when
    // it has left.
    assert_eq!(times("line:4", wires(), &[&[send(0, 3, 2)]]), [60, 0, 0, 360]);
    assert_eq!(times("line:4", forwarding(wires()), &[&[send(0, 3, 2)]]), [60, 0, 0, 480]);
    // A port that is slower than the channels, and the processor at both ends.
    let machine = wires().with_byte(5).with_startup(1000).with_message(10_000);
    assert_eq!(times("line:4", machine, &[&[send(0, 3, 2)]]), [11_100, 0, 0, 11_400 + 10_000]);
    // One that is faster changes nothing.
    assert_eq!(times("line:4", wires().with_byte(2), &[&[send(0, 3, 2)]]), [60, 0, 0, 360]);
    // Stored, the first and the last channel are as slow as the ports beside them, those between
    // are not.
    let slow_port = forwarding(wires().with_byte(5));
    assert_eq!(times("line:4", slow_port, &[&[send(0, 1, 2)]])[..2], [100, 200]);
    assert_eq!(times("line:4", slow_port, &[&[send(0, 3, 2)]]), [100, 0, 0, 100 + 60 + 100 + 300]);
    // Nothing but a head.
    assert_eq!(times("line:4", wires().with_byte(2), &[&[send(0, 3, 0)]]), [0, 0, 0, 300]);
}

#[test]
fn messages_wait_for_a_channel_that_they_share() {
    // From 0 and from 1 to 2, over 1-2. The nearer one is there first; the other's head comes at
    // 100, in the middle of the first's 120 for 40 bytes, waits 20, and follows.
    let meeting = [send(0, 2, 4), send(1, 2, 4)];
    assert_eq!(times("line:3", wires(), &[&meeting]), [120, 120, 120 + 120 + 100]);
    let found = on(&parse("line:3").unwrap(), wires(), &[&meeting]).unwrap();
    assert_eq!((found.time, found.waiting, found.longest_wait, found.messages, found.hops), (340, 20, 20, 2, 3));
    assert_eq!((found.busiest_channel, found.carrying, found.channels), (240, 360, 4));
    assert!((found.busiest() - 240.0 / 340.0).abs() < 1e-12 && (found.utilisation() - 360.0 / 1360.0).abs() < 1e-12);
    assert_eq!((found.first(), found.mean()), (120, (120 + 120 + 340) / 3));
    // Stored first, it comes when the channel is free: at 220.
    assert_eq!(times("line:3", forwarding(wires()), &[&meeting]), [120, 120, 120 + 100 + 120 + 100]);
    // The other way round there is another channel.
    assert_eq!(times("line:3", wires(), &[&[send(0, 2, 4), send(2, 0, 4)]]), [320, 0, 320]);
}

#[test]
fn free_channels_delay_no_message() {
    // From 0 and from 1, over 1-2, to different ranks: ports are all that takes time.
    let meeting = [send(0, 2, 4), send(1, 3, 4)];
    assert_eq!(times("line:4", Machine::FREE.with_byte(7), &[&meeting]), [280; 4]);
    for name in ["bruck", "direct", "ring", "bruck:radix=4,ports=all"] {
        let played = |topology| {
            let problem = problem(topology, "alltoall");
            let algorithm = find(problem.collective(), name).unwrap();
            Simulation::new(&Machine::THREADS, 4096).play(&*algorithm, &problem).unwrap()
        };
        assert_eq!(played("line:16").ranks, played("complete:16").ranks, "{name}");
    }
    // Nor does a port that costs nothing: the short message need not wait for the tail of the long
    // one.
    let both = [send(0, 2, 4), send(1, 2, 1)];
    let star: Arc<dyn Topology> = Arc::new(Graph::from_edges([(0, 2), (1, 2), (2, 3)]).unwrap());
    let next = [send(2, 3, 1)];
    let found = on(&star, Machine::FREE.with_channel(3), &[&both, &next]).unwrap();
    assert_eq!((found.waiting, found.ranks), (0, vec![120, 30, 150, 150]));
}

#[test]
fn messages_share_a_channel_faster_than_their_ports() {
    // 40 bytes each, 200 through a port and 120 over the channel that they share: the second
    // follows 120 later.
    let meeting = [send(0, 2, 4), send(1, 3, 4)];
    let found = on(&parse("line:4").unwrap(), Machine::FREE.with_byte(5).with_channel(3), &[&meeting]).unwrap();
    assert_eq!((found.time, found.waiting, found.busiest_channel), (120 + 200, 120, 240));
}

#[test]
fn port_passes_one_message_at_a_time() {
    let star = |n: usize| Graph::from_edges((1..=n).map(|leaf| (0, leaf))).unwrap();
    let star: Arc<dyn Topology> = Arc::new(star(3));
    let machine = Machine::FREE.with_byte(7);
    let scattered = on(&star, machine, &[&[send(0, 1, 1), send(0, 2, 2), send(0, 3, 1)]]).unwrap();
    assert_eq!(scattered.ranks, [280, 70, 210, 280]);
    let gathered = on(&star, machine, &[&[send(1, 0, 1), send(2, 0, 2), send(3, 0, 1)]]).unwrap();
    assert_eq!((gathered.ranks[0], gathered.waiting), (280, 70 + 210));
    // With a port a channel all go at once.
    let channels = on(&star, Machine::FREE.with_channel(7), &[&[send(0, 1, 1), send(0, 2, 2), send(0, 3, 1)]]).unwrap();
    assert_eq!(channels.ranks, [140, 70, 140, 70]);
}

#[test]
fn processors_do_one_thing_at_a_time() {
    let machine = Machine::FREE.with_message(10).with_startup(3);
    // Three sends one after the other, then each receiver its own; the root takes in nothing.
    let sends = [send(0, 1, 1), send(0, 2, 1), send(0, 3, 1)];
    assert_eq!(times("complete:4", machine, &[&sends]), [33, 23, 33, 43]);
    let receives = [send(1, 0, 1), send(2, 0, 1), send(3, 0, 1)];
    assert_eq!(times("complete:4", machine, &[&receives]), [43, 13, 13, 13]);
}

#[test]
fn ranks_continue_after_their_own_transfers() {
    let machine = Machine::FREE.with_channel(1).with_startup(1000);
    // 1 and 2 do not wait for the long message from 0 to 3, and what arrives early is kept.
    let long = send(0, 3, 50);
    let first = [long.clone(), send(1, 2, 1)];
    assert_eq!(times("complete:4", machine, &[&first, &[send(2, 1, 1)]]), [1500, 2020, 2020, 1500]);
    assert_eq!(times("complete:4", machine, &[&first, &[send(2, 3, 1), send(3, 2, 1)]]), [1500, 1010, 2510, 2510]);
    // Rounds in which a rank has nothing to do pass it by.
    assert_eq!(times("complete:4", machine, &[&[long], &[send(1, 2, 1)]]), [1500, 1010, 1010, 1500]);
}

#[test]
fn new_phase_rearranges_all_blocks() {
    let machine = Machine::FREE.with_rearrangement(2);
    // Of four blocks of 10 bytes, at ranks that take part in both phases.
    assert_eq!(times("complete:4", machine, &[&[send(0, 1, 1)], &[send(1, 2, 1)]]), [0, 80, 80, 0]);
}

#[test]
fn given_routes_are_used() {
    let round = via(send(0, 1, 1), &[0, 3, 2, 1]);
    assert_eq!(times("ring:4", wires(), &[&[round]]), [30, 330, 0, 0]);
    // Past the end and back.
    let there_and_back = via(send(0, 1, 1), &[0, 1, 2, 1]);
    assert_eq!(times("ring:4", wires(), &[&[there_and_back]]), [30, 330, 0, 0]);
    let graph: Arc<dyn Topology> = Arc::new(Graph::from_edges([(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap());
    assert_eq!(on(&graph, wires(), &[&[via(send(0, 1, 1), &[0, 3, 2, 1])]]).unwrap().ranks, [30, 330, 0, 0]);
    for wrong in [&[0, 2, 1][..], &[0, 3], &[3, 2, 1], &[]] {
        for topology in [parse("ring:4").unwrap(), Arc::clone(&graph)] {
            let error = on(&topology, wires(), &[&[via(send(0, 1, 1), wrong)]]).unwrap_err();
            assert!(matches!(error, SimulateError::Route { .. }), "{error}");
        }
    }
}

#[test]
fn rank_waiting_for_a_missing_message_is_named() {
    let problem = Problem::new(parse("ring:3").unwrap(), Collective::Alltoall).unwrap();
    let ring = find(problem.collective(), "ring").unwrap();
    let share = |rank| ring.share(&problem, Rank::new(rank)).unwrap();
    let nothing: Share = Box::new(std::iter::empty());
    let stuck = Simulation::new(&wires(), 1).play_shares(vec![share(0), share(1), nothing], &problem).unwrap_err();
    assert_eq!(stuck.to_string(), "rank 0, round 0: 1 of 1 messages never arrive");
}

fn machines() -> [Machine; 5] {
    let all: Machine = "free:startup=9us,message=700ns,byte=5ns,channel=5ns,hop=30ns,rearrangement=2ns,combination=3ns"
        .parse()
        .unwrap();
    let slow_ports = all.with_byte(9_000);
    [Machine::PARAGON, all, forwarding(all), slow_ports, forwarding(slow_ports)]
}

fn problem(topology: &str, collective: &str) -> Problem {
    Problem::new(parse(topology).unwrap(), Collective::named(collective, Rank::new(0)).unwrap()).unwrap().ordered()
}

#[test]
fn uncontended_simulation_equals_the_price() {
    let cases = [
        ("alltoall", "torus-exchange", "torus:8x8"),
        ("alltoall", "torus-exchange", "torus:12x12"),
        ("alltoall", "torus-exchange", "torus:4x4x4"),
        ("alltoall", "ring", "ring:9"),
        ("alltoall", "ring-both", "ring:8"),
        ("alltoall", "by-dimension", "torus:5x5"),
        ("alltoall", "direct-xor", "hypercube:4"),
        ("alltoall", "direct-rotated", "complete:7"),
        ("alltoall", "cube-log", "hypercube:5"),
        ("alltoall", "cube-xor", "hypercube:5"),
        ("allgather", "ring", "ring:6"),
        ("allgather", "recursive-doubling", "hypercube:4"),
        ("allreduce", "recursive-doubling", "hypercube:3"),
        ("barrier", "dissemination", "complete:8"),
    ];
    for (collective, name, topology) in cases {
        let problem = problem(topology, collective);
        let algorithm = find(problem.collective(), name).unwrap();
        let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
        for machine in machines() {
            let price = Demand::counted(&proof, &problem).price(&machine, 100);
            let found = Simulation::new(&machine, 100).play(&*algorithm, &problem).unwrap();
            assert_eq!(u128::from(found.time), price.total, "{name} on {topology}, {machine}: {price}");
            assert_eq!((found.first(), found.waiting), (found.time, 0), "{name} on {topology}, {machine}");
        }
    }
}

#[test]
fn barriers_are_neither_priced_nor_simulated() {
    let problem = problem("torus:8x8", "alltoall");
    let exchange = find(problem.collective(), "torus-exchange").unwrap();
    let demand = Demand::claimed(&*exchange, &problem).unwrap();
    let (with, without) = (Machine::PARAGON, Machine::PARAGON.with_synchronisation(0, 0));
    assert_eq!(demand.price(&with, 64).total, demand.price(&without, 64).total);
    assert_eq!(demand.price(&with, 64).synchronisation, 5 * (3 * 126 - 113) * 1_000_000);
    assert!(demand.price(&with, 64).to_string().ends_with(", without synchronisation 1325.00"));
    let played = |machine| Simulation::new(&machine, 64).play(&*exchange, &problem).unwrap();
    assert_eq!(played(with), played(without));
    assert_eq!(u128::from(played(with).time), demand.price(&with, 64).total);
}

/// Any prices, each of them nothing now and then, and either switching.
#[derive(Clone, Debug)]
struct Prices(Machine);

impl Arbitrary for Prices {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut price =
            || if bool::arbitrary(g) { u64::from(u16::arbitrary(g)) } else { u64::from(u8::arbitrary(g) % 4) };
        let machine = Machine::FREE.with_startup(price()).with_message(price()).with_byte(price());
        let machine = machine.with_channel(price()).with_hop(price()).with_rearrangement(price());
        let machine = machine.with_combination(price());
        let switching = if bool::arbitrary(g) { Switching::CutThrough } else { Switching::StoreAndForward };
        Self(machine.with_switching(switching))
    }
}

fn takes_the_price(algorithm: &dyn Algorithm, problem: &Problem, machine: Machine, bytes: u64) {
    let name = || format!("{} on {}, {machine}, {bytes}", algorithm.name(), problem.topology().text());
    let price = Demand::claimed(algorithm, problem).unwrap();
    assert!(price.at_least.is_empty(), "{}: {:?}", name(), price.at_least);
    let price = price.price(&machine, bytes);
    let found = Simulation::new(&machine, bytes).play(algorithm, problem).unwrap();
    assert_eq!((u128::from(found.time), found.waiting), (price.total, 0), "{}: {price}", name());
}

#[test]
fn claimed_prices_equal_uncontended_simulations() {
    fn holds(a: u8, b: u8, Prices(machine): Prices, bytes: u8) {
        let (a, b, bytes) = (usize::from(a % 6) + 1, usize::from(b % 6) + 1, 2 * u64::from(bytes));
        let cases = [
            (format!("torus:{}x{}", 2 * a, 2 * a), "torus-exchange"),
            (format!("torus:{a}x{b}"), "by-dimension"),
            (format!("ghc:{a}x{b}"), "by-dimension"),
            (format!("ring:{}", a * b), "torus-exchange"),
            (format!("ring:{}", a + b), "ring"),
            (format!("ring:{}", a + b), "ring-both"),
            (format!("complete:{}", a + b), "direct-rotated"),
            (format!("complete:{}", a + b), "bruck"),
            (format!("hypercube:{}", a.min(5)), "cube-log"),
        ];
        for (topology, name) in cases {
            let problem = problem(&topology, "alltoall");
            takes_the_price(&*find(problem.collective(), name).unwrap(), &problem, machine, bytes);
        }
    }
    QuickCheck::new().rng(Gen::new(40)).tests(60).quickcheck(holds as fn(u8, u8, Prices, u8));
}

/// The digits, the number of blocks, and whether a phase begins.
type Exchanges = Vec<(u8, u8, bool)>;

/// In each round every rank exchanges this many blocks with the rank whose number is its own
/// exclusive or the round's. E-cube routes have as many channels as digits differ, and share none.
#[test]
fn counted_prices_equal_uncontended_simulations() {
    fn holds(rounds: Exchanges, cube: bool, Prices(machine): Prices, bytes: u8) {
        let topology = parse(if cube { "hypercube:4" } else { "ghc:4,2" }).unwrap();
        let own = |rank| (0..16).map(move |i| (Block::new(Rank::new(rank), Rank::new(i)), vec![Rank::new(rank)]));
        let (pre, post) = ((0..16).map(|rank| own(rank).collect()).collect(), vec![vec![]; 16]);
        let custom = Collective::Custom(Arc::new(Custom::new(pre, post)));
        // No rank gets a block twice.
        let (mut made, mut phase, mut first) = (vec![], 0, 0);
        for (mask, blocks, new) in rounds {
            let (mask, blocks) = (usize::from(mask % 15) + 1, usize::from(blocks % 6).min(16 - first));
            phase += usize::from(new && !made.is_empty());
            let sent = |rank| {
                let blocks = (first..first + blocks).map(|i| Block::new(Rank::new(rank), Rank::new(i)));
                Transfer::new(Rank::new(rank), Rank::new(rank ^ mask), blocks.collect())
            };
            made.push(Round::new((0..16).map(sent).collect()).in_phase(phase));
            first += blocks;
        }
        let outline = Outline::new(Problem::new(topology, custom).unwrap(), "", Ports::One);
        let outline = outline.contention_free().with_phases(vec![String::new(); phase + 1]);
        let schedule = Schedule::new(outline, made);
        let proof = verify(&schedule).unwrap();
        let price = Demand::counted(&proof, &schedule.outline.problem).price(&machine, bytes.into());
        let found = Simulation::new(&machine, bytes.into()).play_schedule(&schedule).unwrap();
        assert_eq!((u128::from(found.time), found.waiting), (price.total, 0), "{machine}: {price}");
    }
    QuickCheck::new().rng(Gen::new(12)).tests(300).quickcheck(holds as fn(Exchanges, bool, Prices, u8));
}

#[test]
fn nothing_is_faster_than_its_ports_and_channels_allow() {
    fn holds(edges: Vec<(u8, u8)>, nodes: u8, bytes: u16, Prices(machine): Prices) {
        let nodes = usize::from(nodes % 12) + 1;
        let path = (1..nodes).map(|v| (v - 1, v));
        let others = edges.into_iter().map(|(u, v)| (usize::from(u) % nodes, usize::from(v) % nodes));
        let graph = Graph::new(nodes, path.chain(others.filter(|(u, v)| u != v))).unwrap();
        let graph: Arc<dyn Topology> = Arc::new(graph);
        for algorithm in registry() {
            let collective = Collective::named(algorithm.about().collective, Rank::new(nodes / 2)).unwrap();
            let problem = Problem::new(Arc::clone(&graph), collective).unwrap().ordered();
            let Ok(shares) = algorithm.shares(&problem) else { continue };
            let schedule = shares.collect().unwrap();
            let bytes = u64::from(bytes);
            let found = Simulation::new(&machine, bytes).play(&**algorithm, &problem).unwrap();
            // Again, and from the whole schedule.
            assert_eq!(Simulation::new(&machine, bytes).play(&**algorithm, &problem).unwrap(), found);
            assert_eq!(Simulation::new(&machine, bytes).play_schedule(&schedule).unwrap().messages, found.messages);
            let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
            let bytes = if problem.collective().name() == "barrier" { 0 } else { bytes };
            let carrying = proof.busiest_channel_total.bytes(bytes) as u64 * machine.channel;
            assert!(found.busiest_channel >= carrying && found.time >= found.busiest_channel, "{}", algorithm.name());
            let all: u64 = proof.link_blocks.bytes(bytes) as u64 * machine.channel;
            assert!(found.carrying >= all.into(), "{}", algorithm.name());
            let ports = Bounds::of(&problem).port.max(proof.volume).bytes(bytes) as u64 * machine.byte;
            assert!(found.time >= ports, "{}: {found}", algorithm.name());
            let volume = proof.messages * machine.message;
            assert!(found.time >= volume, "{}: {found}", algorithm.name());
            let bound = least(&Search::of(&problem), algorithm.about().ports, &machine, bytes);
            assert!(u128::from(found.time) >= bound, "{}: {bound}, {found}", algorithm.name());
        }
    }
    QuickCheck::new().rng(Gen::new(12)).tests(25).quickcheck(holds as fn(Vec<(u8, u8)>, u8, u16, Prices));
}

#[test]
fn bound_is_reached_with_a_single_price() {
    let cases = [
        ("alltoall", "complete:8", "cube-xor", Ports::One, Machine::FREE.with_byte(3), 7 * 100 * 3),
        ("alltoall", "torus:8x8", "direct", Ports::Unlimited, Machine::FREE.with_startup(7), 7),
        ("alltoall", "hypercube:4", "cube-log", Ports::One, Machine::FREE.with_startup(7), 4 * 7),
        ("alltoall", "hypercube:4", "cube-log", Ports::One, Machine::FREE.with_hop(7), 4 * 7),
        // N/2 blocks over each channel; four messages in a row and one end more.
        ("alltoall", "hypercube:4", "cube-log", Ports::One, Machine::FREE.with_channel(3), 4 * 8 * 100 * 3),
        ("alltoall", "hypercube:4", "cube-log", Ports::One, Machine::FREE.with_message(5), 4 * 2 * 5),
        (
            "reduce_scatter",
            "hypercube:4",
            "recursive-halving",
            Ports::One,
            Machine::FREE.with_combination(3),
            15 * 100 * 3,
        ),
    ];
    for (collective, topology, name, ports, machine, time) in cases {
        let problem = problem(topology, collective);
        let algorithm = find(problem.collective(), name).unwrap();
        let found = Simulation::new(&machine, 100).play(&*algorithm, &problem).unwrap();
        assert_eq!(found.time, time, "{name} on {topology}, {machine}");
        let least = least(&Search::of(&problem), ports, &machine, 100);
        let expected = match (machine.channel, machine.message) {
            (0, 0) => time,
            (0, message) => 5 * message,
            (channel, _) => 8 * 100 * channel,
        };
        assert_eq!(least, expected.into(), "{topology}, {machine}");
    }
    // A rank that only receives needs no start-up: ranks that send to it do so at once.
    let gather = Problem::new(parse("complete:8").unwrap(), Collective::Gather { root: Rank::new(0) }).unwrap();
    assert_eq!(least(&Search::of(&gather), Ports::One, &Machine::FREE.with_startup(7), 100), 7);
    let alone = problem("ring:1", "alltoall");
    assert_eq!(least(&Search::of(&alone), Ports::One, &Machine::PARAGON, 100), 0);
}

#[test]
fn direct_exchange_on_a_torus_waits_for_channels() {
    let problem = problem("torus:8x8", "alltoall");
    let direct = find(problem.collective(), "direct").unwrap();
    let machine = Machine::FREE.with_channel(1000);
    let found = Simulation::new(&machine, 10).play(&*direct, &problem).unwrap();
    let price = Demand::claimed(&*direct, &problem).unwrap().price(&machine, 10);
    // The price is what the busiest channel carries: the least, and not far from what it takes.
    assert_eq!(u128::from(found.busiest_channel), price.total);
    assert!(u128::from(found.time) < 2 * price.total && found.busiest() > 0.5 && found.waiting > 0, "{found}");
}

#[test]
fn thousand_nodes_are_simulated() {
    let problem = problem("torus:32x32", "alltoall");
    let direct = find(problem.collective(), "direct").unwrap();
    let mut told = 0;
    let found =
        Simulation::new(&Machine::PARAGON, 1).with_progress(|arrived| told = arrived).play(&*direct, &problem).unwrap();
    assert_eq!((found.messages, found.hops), (1024 * 1023, 1024 * 1024 * 16));
    assert!(told > 1_000_000 && found.ranks.len() == 1024);
}

#[test]
fn too_long_simulations_are_refused() {
    let problem = Problem::new(parse("torus:4x4").unwrap(), Collective::Alltoall).unwrap();
    let direct = find(problem.collective(), "direct").unwrap();
    let played = Simulation::new(&Machine::PARAGON, u64::MAX / 2).play(&*direct, &problem);
    let message = played.unwrap_err().to_string();
    assert!(message.contains("213 days") && message.contains(&(u64::MAX / 2).to_string()), "{message}");
}

/// A place for each of its 10^10 channels would take 160 GB.
#[test]
fn large_complete_network_with_few_used_channels_runs() {
    let played = |collective: Collective, name: &str| {
        let problem = Problem::new(parse("complete:100000").unwrap(), collective).unwrap();
        let algorithm = find(problem.collective(), name).unwrap();
        Simulation::new(&Machine::PARAGON, 64).play(&*algorithm, &problem)
    };
    let root = Rank::new(7);
    for (collective, name) in [
        (Collective::Broadcast { root }, "binomial"),
        (Collective::Scatter { root }, "direct"),
        (Collective::Gather { root }, "direct"),
    ] {
        let found = played(collective, name).unwrap();
        assert_eq!((found.messages, found.hops, found.channels), (99_999, 99_999, 9_999_900_000), "{name}");
    }
    let refused = played(Collective::Alltoall, "direct-rotated").unwrap_err();
    assert!(matches!(refused, SimulateError::TooLarge { what: "channels in use", .. }), "{refused}");
}
