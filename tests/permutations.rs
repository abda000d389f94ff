//! Permutations of distributed arrays: what they do, what they cost, what is proved of them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use necklace::algorithm::Algorithm;
use necklace::collective::Collective;
use necklace::communicator::{Motion, Options};
use necklace::error::BuildError;
use necklace::machine::Machine;
use necklace::permutation::{BitMap, Permutation, Way};
use necklace::schedule::{Placement, Shares, verify_shares};
use necklace::topology::{Graph, Topology, parse};
use necklace::{Communicator, Error, Node, local};
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// The value of an element: its old address, thrice.
fn part(rank: usize, each: usize) -> Vec<[u64; 3]> {
    (0..each).map(|place| [(rank * each + place) as u64; 3]).collect()
}

/// Permutes an array on a network, and looks at every element. Returns what it cost rank 0.
fn permuted(network: &str, map: &BitMap) -> Motion {
    permuted_to(network, map, &|address| map.apply(address))
}

/// The same where it is known otherwise to which address each element should go.
fn permuted_to(network: &str, map: &BitMap, goes: &(dyn Fn(u64) -> u64 + Sync)) -> Motion {
    let topology = parse(network).unwrap();
    let ranks = topology.nodes();
    let each = (1 << map.bits()) / ranks;
    let leaving = Leaving::of(ranks, each, goes);
    let motions = local::run_on(network, |mut comm: Communicator| {
        // Where it can be; prices would have threads go straight.
        comm.choose("permute", "exchange").unwrap();
        let own = part(comm.rank(), each);
        let (mut once, mut again) = (vec![[u64::MAX; 3]; each], vec![[u64::MAX; 3]; each]);
        let motion = comm.permute(map, &own, &mut once).unwrap();
        let (mut plan, planned) = comm.permute_init::<[u64; 3]>(map, 1).unwrap();
        plan.execute(&mut comm, &own, &mut again).unwrap();
        assert_eq!((&once, &motion), (&again, &planned));
        for (place, value) in once.iter().enumerate() {
            assert_eq!(goes(value[0]), (comm.rank() * each + place) as u64, "{map} on {network}: {value:?}");
            assert!(value.iter().all(|word| *word == value[0]));
        }
        motion
    });
    let motions = motions.unwrap();
    let way = leaving.way(&*topology);
    for (rank, motion) in motions.iter().enumerate() {
        assert_eq!(motion.way, way, "{map} on {network}");
        let found = (motion.rounds, motion.messages, motion.sent, motion.transmission);
        assert_eq!(found, leaving.cost(rank, way), "{map} on {network}, rank {rank}");
        if way != Way::Straight {
            assert_eq!(motion.channel, Some(motion.transmission), "{map} on {network}");
        }
    }
    motions[0]
}

/// How many of each rank's elements go to which ranks, counted.
struct Leaving(Vec<BTreeMap<usize, u64>>);

impl Leaving {
    fn of(ranks: usize, each: usize, goes: &(dyn Fn(u64) -> u64 + Sync)) -> Self {
        let mut leaving = vec![BTreeMap::new(); ranks];
        for address in 0..ranks * each {
            let to = goes(address as u64) as usize / each;
            *leaving[address / each].entry(to).or_insert(0) += 1;
        }
        Self(leaving)
    }

    /// An exchange if every rank's go to all that differ from it in some of these bits, which sit on cubes; two if not, and there
    /// are as many elements as such ranks.
    fn way(&self, topology: &dyn Topology) -> Way {
        let Self(leaving) = self;
        let differ = |(rank, to): (usize, &BTreeMap<usize, u64>)| to.keys().fold(0, |all, to| all | rank ^ to);
        let bits = leaving.iter().enumerate().map(differ).fold(0, |all, it| all | it);
        if bits == 0 {
            return Way::Local;
        }
        let is_whole = leaving.iter().all(|to| to.len() == 1 << bits.count_ones());
        let near = |one: usize, other: usize| topology.neighbours(Node::new(one)).contains(&Node::new(other));
        let by = |count: u32| (1..leaving.len()).filter(move |by| by & !bits == 0 && by.count_ones() == count);
        let on_cubes = (0..leaving.len())
            .all(|rank| by(1).all(|by| near(rank, rank ^ by)) && !by(2).any(|by| near(rank, rank ^ by)));
        let each: u64 = leaving[0].values().sum();
        match (on_cubes, is_whole) {
            (true, true) => Way::Exchange(bits as u64),
            (true, false) if each >> bits.count_ones() > 0 => Way::Exchanges(bits as u64),
            _ => Way::Straight,
        }
    }

    /// Rounds, messages, elements sent, transmission.
    fn cost(&self, rank: usize, way: Way) -> (usize, usize, u64, u64) {
        let others = || self.0[rank].iter().filter(|(to, _)| **to != rank).map(|(_, count)| *count);
        match way {
            Way::Exchange(bits) => {
                let (d, block) = (bits.count_ones() as usize, self.0[rank][&rank]);
                let half = block << (d - 1);
                (d, d * d, d as u64 * half, half)
            }
            Way::Exchanges(bits) => {
                let (d, each) = (bits.count_ones() as usize, self.0[rank].values().sum());
                (2 * d, 2 * d * d, d as u64 * each, each)
            }
            Way::Straight => (1, others().count(), others().sum(), others().max().unwrap_or(0)),
            _ => (0, 0, 0, 0),
        }
    }
}

/// What is known of it without moving anything.
fn proved(network: &str, map: &BitMap) -> Permutation {
    let topology = parse(network).unwrap();
    let placement = Placement::identity(topology.nodes());
    let permutation = Permutation::new(map.clone(), topology, placement).unwrap();
    for permutation in [permutation.clone(), permutation.clone().straight()] {
        let problem = permutation.problem().unwrap();
        let proof = verify_shares(Shares::new(&permutation, &problem).unwrap());
        let proof = proof.unwrap_or_else(|violations| panic!("{} on {network}: {violations}", permutation.name()));
        let claims = permutation.claims(&problem).completed(permutation.about().ports);
        assert_eq!(proof.contradicts(&claims), [], "{} on {network}", permutation.name());
        assert!(claims.startups.is_some() && claims.messages.is_some() && claims.volume.is_some());
        assert!(proof.keeps(permutation.about().ports));
        // What a rank has for others is cut into no more parts than there are ranks in between.
        let Collective::Custom(custom) = problem.collective() else { panic!("{}", permutation.name()) };
        let chunks: u64 = custom.pre[0].iter().map(|(block, _)| u64::from(block.of())).sum();
        match permutation.way() {
            Way::Exchanges(bits) => assert_eq!(chunks, 1 << bits.count_ones(), "{} on {network}", permutation.name()),
            _ => assert_eq!(chunks, custom.pre[0].len() as u64),
        }
    }
    permutation
}

type Goes = Box<dyn Fn(u64) -> u64 + Sync>;

/// All permutations that have names, with what these mean for an index.
fn named(bits: usize, rank_bits: usize) -> Vec<(&'static str, BitMap, Goes)> {
    let (size, ranks) = (1_u64 << bits, 1_u64 << rank_bits);
    let each = size / ranks;
    let axis = rank_bits.min(bits - rank_bits);
    let [low, high] = [0, bits - axis].map(|first| (first..first + axis).collect::<Vec<_>>());
    let cyclic = BitMap::consecutive_to_cyclic(bits, rank_bits).unwrap();
    let gray = BitMap::to_gray(bits, bits - rank_bits, rank_bits).unwrap();
    // Rows and columns of a matrix, and what rotates an address.
    let transposed = |rows: u64| move |x: u64| x % (size / rows) * rows + x / (size / rows);
    let times = |factor: u64| move |x: u64| if x == size - 1 { x } else { factor * x % (size - 1) };
    let dealt = move |x: u64| x % ranks * each + x / ranks;
    let coded = move |x: u64| ((x / each) ^ (x / each / 2)) * each + x % each;
    let swapped = move |x: u64| {
        let [least, most] = [1 << axis, size >> axis];
        x % least * most + x % most / least * least + x / most
    };
    let reversed = move |x: u64| (0..bits).fold(0, |sum, bit| 2 * sum + (x >> bit) % 2);
    let decoded = move |x: u64| (0..size).find(|y| y ^ (y / 2) == x).unwrap();
    vec![
        ("identity", BitMap::identity(bits).unwrap(), Box::new(|x| x)),
        ("axis exchange", BitMap::axis_exchange(bits, &low, &high).unwrap(), Box::new(swapped)),
        ("transpose", BitMap::transpose(rank_bits, bits - rank_bits).unwrap(), Box::new(transposed(ranks))),
        (
            "transpose of half",
            BitMap::transpose(bits / 2, bits - bits / 2).unwrap(),
            Box::new(transposed(1 << (bits / 2))),
        ),
        ("bit reversal", BitMap::bit_reversal(bits).unwrap(), Box::new(reversed)),
        ("vector reversal", BitMap::vector_reversal(bits).unwrap(), Box::new(move |x| size - 1 - x)),
        (
            "complement of places",
            BitMap::complement(bits, each - 1).unwrap(),
            Box::new(move |x| x / each * each + each - 1 - x % each),
        ),
        ("shuffle", BitMap::shuffle(bits).unwrap(), Box::new(times(2))),
        ("unshuffle", BitMap::unshuffle(bits).unwrap(), Box::new(move |x| x / 2 + x % 2 * (size / 2))),
        ("generalized shuffle", BitMap::generalized_shuffle(bits, 2).unwrap(), Box::new(times(4))),
        ("to cyclic", cyclic.clone(), Box::new(dealt)),
        ("to consecutive", BitMap::cyclic_to_consecutive(bits, rank_bits).unwrap(), Box::new(transposed(ranks))),
        ("to Gray", gray.clone(), Box::new(coded)),
        ("from Gray", BitMap::from_gray(bits, 0, bits).unwrap(), Box::new(decoded)),
        ("to cyclic, in Gray code", cyclic.then(&gray).unwrap(), Box::new(move |x| coded(dealt(x)))),
    ]
}

#[test]
fn named_permutations_are_what_they_say_on_every_network() {
    for (network, rank_bits) in [
        ("hypercube:3", 3),
        ("hypercube:2", 2),
        ("complete:8", 3),
        ("ring:8", 3),
        ("torus:2x4", 3),
        ("complete:1", 0),
        ("line:2", 1),
        ("torus:2x2x2", 3),
        ("ghc:2x2x2", 3),
        ("ghc:2x4", 3),
    ] {
        for bits in rank_bits..=8 {
            for (name, map, goes) in named(bits, rank_bits) {
                let motion = permuted_to(network, &map, &*goes);
                let permutation = proved(network, &map);
                assert_eq!(motion.way, permutation.way(), "{name} of 2^{bits} on {network}");
            }
        }
    }
}

#[test]
fn exchanges_within_cubes_cost_half_of_the_elements_a_channel_and_gray_code_nothing() {
    for d in 1..=4_usize {
        let network = format!("hypercube:{d}");
        for bits in 2 * d..=2 * d + 3 {
            let half = 1 << (bits - d - 1);
            let exchanged = |map: &BitMap| {
                let motion = permuted(&network, map);
                assert_eq!(motion.way, Way::Exchange((1 << d) - 1), "{map}");
                assert_eq!((motion.rounds, motion.messages, motion.transmission), (d, d * d, half), "{map}");
                assert_eq!(motion.sent, d as u64 * half);
            };
            let all: Vec<usize> = (0..bits).collect();
            let exchange = BitMap::axis_exchange(bits, &all[bits - d..], &all[..d]).unwrap();
            exchanged(&exchange);
            exchanged(&BitMap::bit_reversal(bits).unwrap());
            exchanged(&BitMap::consecutive_to_cyclic(bits, d).unwrap());
            let gray = BitMap::to_gray(bits, bits - d, d).unwrap();
            exchanged(&exchange.then(&gray).unwrap());
            exchanged(&gray.inverse().then(&exchange).unwrap());
        }
    }
    // The paper's example: (a7 a6 a5 a4 a3 | a2 a1 a0) to (a7 a6 a0 a1 a2 | a3 a4 a5), in four sub-cubes.
    let map = BitMap::moving(&[5, 4, 3, 2, 1, 0, 6, 7]).unwrap();
    let motion = permuted("hypercube:5", &map);
    assert_eq!((motion.way, motion.rounds, motion.transmission), (Way::Exchange(0b111), 3, 4));
}

#[test]
fn shuffles_and_reversals_go_straight_over_channels_that_they_hardly_share() {
    for d in 2..=6_usize {
        let network = format!("hypercube:{d}");
        for bits in d + 1..=d + 3 {
            let each = 1_u64 << (bits - d);
            // The most elements over a channel.
            let load = |map: BitMap| {
                let permutation = proved(&network, &map).straight();
                assert_eq!(permutation.way(), Way::Straight, "{map}");
                let proof = verify_shares(Shares::new(&permutation, &permutation.problem().unwrap()).unwrap()).unwrap();
                assert_eq!(proof.rounds, 1);
                let load = proof.channel_transmission.whole().unwrap() * permutation.block();
                assert_eq!(permutation.channel(), Some(load), "{map}");
                load
            };
            // No less is possible: all go over d channels, and a rank has d; or half as many, on average.
            assert_eq!(load(BitMap::vector_reversal(bits).unwrap()), each);
            for by in 1..d.min(bits - d + 1) {
                assert_eq!(load(BitMap::generalized_shuffle(bits, by).unwrap()), each / 2, "{d} {bits} {by}");
            }
            // The other way round the routes of a cube, which cross low dimensions first, meet.
            let met = if d > 2 { 2 * each } else { each };
            assert_eq!(load(BitMap::unshuffle(bits).unwrap()), met, "{d} {bits}");
        }
    }
}

#[test]
fn the_page_on_cubes_has_these_loads() {
    let page = include_str!("../doc/cubes.md");
    let reversed: Vec<usize> = (0..6).chain((6..12).rev()).collect();
    for (name, map) in [
        ("transpose of 64 x 64", BitMap::transpose(6, 6)),
        ("shuffle", BitMap::shuffle(12)),
        ("generalized shuffle by 3", BitMap::generalized_shuffle(12, 3)),
        ("unshuffle", BitMap::unshuffle(12)),
        ("vector reversal", BitMap::vector_reversal(12)),
        ("bit reversal of the ranks' numbers", BitMap::moving(&reversed)),
    ] {
        let permutation = proved("hypercube:6", &map.unwrap());
        let (way, rounds) = match permutation.way() {
            Way::Exchange(0b11_1111) => ("one", 6),
            Way::Exchanges(0b11_1111) => ("two", 12),
            other => panic!("{name}: {other}"),
        };
        let channel = permutation.channel().unwrap();
        let row =
            format!("| {name} | {} | {way} | {channel}, {rounds} rounds |", permutation.straight().channel().unwrap());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn where_ranks_are_no_cube_elements_go_straight() {
    let map = BitMap::bit_reversal(6).unwrap();
    // Of the last two, ranks that differ in two bits are neighbours too: nobody need forward.
    for network in ["ring:8", "line:8", "torus:2x4", "complete:8", "ghc:2x4"] {
        assert_eq!(permuted(network, &map).way, Way::Straight, "{network}");
    }
    for network in ["mesh:2x2x2", "ghc:2x2x2", "torus:2x2x2"] {
        assert_eq!(permuted(network, &map).way, Way::Exchange(0b111), "{network}");
    }
    // Of a network that is none two dimensions may be.
    let exchange = BitMap::axis_exchange(6, &[3, 5], &[0, 1]).unwrap();
    assert_eq!(permuted("ghc:2x4", &exchange).way, Way::Exchange(0b101));
    assert_eq!(permuted("ghc:4x2", &exchange).way, Way::Exchange(0b101));
}

#[test]
fn the_way_is_the_cheaper_one_unless_it_is_chosen() {
    let network = Machine::FREE.with_startup(1000).with_channel(10).with_byte(10);
    let slow = network.with_message(1000).with_byte(0);
    let rounds = Machine::FREE.with_startup(1_000_000).with_byte(1);
    let messages = Machine::FREE.with_message(1_000_000).with_byte(100);
    let exchange = BitMap::consecutive_to_cyclic(12, 5).unwrap();
    let on = |network: &str, machine: Machine, chosen: &'static str, map: &BitMap, bytes: usize| {
        let options = Options::default().machine(machine);
        let topology = parse(network).unwrap();
        let job = local::Job::on(topology).options(options).choose("permute", chosen);
        let ways = job.run(|mut comm| comm.permute_init::<u8>(map, bytes).unwrap().1.way).unwrap();
        assert!(ways.iter().all(|way| *way == ways[0]));
        ways[0]
    };
    let way = |machine, chosen, map: &BitMap, bytes| on("hypercube:5", machine, chosen, map, bytes);
    let cube = Way::Exchange(0b11111);
    // Either way half of the elements go over a channel. Straight is a round instead of 5, and 31 messages and blocks sent instead of
    // 25 and 80.
    for (machine, bytes, expected) in [
        (network, 8, Way::Straight),
        (slow, 8, cube),
        (rounds, 8, Way::Straight),
        (messages, 8, cube),
        (messages, 100_000, Way::Straight),
        (Machine::THREADS, 8, Way::Straight),
        (Machine::FREE, 8, Way::Straight),
    ] {
        assert_eq!(way(machine, "auto", &exchange, bytes), expected, "{machine} {bytes}");
        assert_eq!(way(machine, "exchange", &exchange, bytes), cube);
        assert_eq!(way(machine, "straight", &exchange, bytes), Way::Straight);
        for chosen in ["auto", "straight"] {
            assert_eq!(way(machine, chosen, &BitMap::shuffle(12).unwrap(), bytes), Way::Straight);
        }
        for chosen in ["auto", "exchange", "straight"] {
            assert_eq!(way(machine, chosen, &BitMap::identity(12).unwrap(), bytes), Way::Local);
        }
    }
    // As the page says of threads and of processes of one host.
    let of_all = |d: usize, machine: Machine, bytes: u64| {
        let topology = parse(&format!("hypercube:{d}")).unwrap();
        let map = BitMap::transpose(d, d).unwrap();
        Permutation::new(map, topology, Placement::identity(1 << d)).unwrap().cheaper(&machine, bytes).way()
    };
    for (machine, most) in [(Machine::THREADS, 9), (Machine::TCP, 4), (Machine::MPI, 5)] {
        assert_eq!((of_all(most, machine, 1), of_all(most + 1, machine, 1 << 20)), (Way::Straight, Way::Straight));
        assert_eq!(of_all(most + 1, machine, 1), Way::Exchange((2 << most) - 1), "{machine}");
    }
    // Where the network is no cube as a whole nobody knows which channels straight messages share.
    let part = BitMap::axis_exchange(6, &[3, 5], &[0, 1]).unwrap();
    assert_eq!(on("ghc:2x4", network, "auto", &part, 8), Way::Exchange(0b101));
    assert_eq!(on("ghc:2x4", rounds, "auto", &part, 8), Way::Straight);
    assert_eq!(on("ring:8", network, "auto", &part, 8), Way::Straight);
}

/// A map and a number of ranks.
#[derive(Clone, Debug)]
struct Case {
    rank_bits: usize,
    map: BitMap,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let rank_bits = usize::arbitrary(g) % 4;
        let bits = rank_bits + usize::arbitrary(g) % 5;
        let mut map = BitMap::identity(bits).unwrap();
        for _ in 0..usize::arbitrary(g) % 4 {
            let mut to: Vec<usize> = (0..bits).collect();
            (0..bits).for_each(|bit| to.swap(bit, usize::arbitrary(g) % bits));
            map = map.then(&BitMap::moving(&to).unwrap()).unwrap();
            if bits > 0 {
                let first = usize::arbitrary(g) % bits;
                map = map.then(&BitMap::to_gray(bits, first, bits - first).unwrap()).unwrap();
                let add = u64::arbitrary(g) & ((1 << bits) - 1);
                let columns: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
                map = map.then(&BitMap::linear(&columns, add).unwrap()).unwrap();
            }
        }
        Self { rank_bits, map }
    }
}

#[test]
fn any_map_puts_every_element_where_it_says() {
    fn holds(Case { rank_bits, map }: Case) -> bool {
        for network in [format!("hypercube:{rank_bits}"), format!("line:{}", 1 << rank_bits)] {
            let motion = permuted(&network, &map);
            assert_eq!(motion.way, proved(&network, &map).way());
        }
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(Case) -> bool);
}

/// Also of straight messages, whose channels are known without counting.
#[test]
fn what_is_claimed_of_any_map_on_any_cube_is_so() {
    fn holds(Case { rank_bits, map }: Case, more: u8) -> bool {
        let dimensions = map.bits().min(rank_bits + more as usize % 4);
        let twos = vec!["2"; dimensions].join("x");
        let networks = ["torus", "mesh", "ghc"].map(|kind| format!("{kind}:{twos}"));
        for network in networks.into_iter().filter(|_| dimensions > 1).chain([format!("hypercube:{dimensions}")]) {
            assert!(proved(&network, &map).straight().channel().is_some());
        }
        true
    }
    QuickCheck::new().tests(200).quickcheck(holds as fn(Case, u8) -> bool);
}

#[test]
fn arrays_that_cannot_be_on_the_ranks_are_refused() {
    let map = BitMap::shuffle(4).unwrap();
    let refused = local::run(3, |mut comm| comm.permute(&map, &[0_u8; 16], &mut [0; 16]).unwrap_err());
    for error in refused.unwrap() {
        assert!(matches!(error, Error::Build(BuildError::Array { bits: 4, ranks: 3 })), "{error}");
    }
    let errors = local::run(4, |mut comm| {
        let few = comm.permute(&BitMap::shuffle(1).unwrap(), &[0_u8; 1], &mut [0; 1]).unwrap_err();
        let odd = comm.permute(&map, &[0_u8; 6], &mut [0; 6]).unwrap_err();
        let short = comm.permute(&map, &[0_u8; 8], &mut [0; 4]).unwrap_err();
        let large = comm.permute_init::<u8>(&BitMap::bit_reversal(40).unwrap(), 1).unwrap_err();
        let larger = comm.permute_init::<u64>(&BitMap::bit_reversal(62).unwrap(), 100).unwrap_err();
        // None of it has done harm.
        let mut dealt = [0; 4];
        let own: Vec<usize> = (0..4).map(|place| 4 * comm.rank() + place).collect();
        comm.permute(&map, &own, &mut dealt).unwrap();
        assert_eq!(map.apply(dealt[3] as u64), 4 * comm.rank() as u64 + 3);
        let way = comm.choose("permute", "direct").unwrap_err();
        [few, odd, short, large, larger, way]
    });
    for [few, odd, short, large, larger, way] in errors.unwrap() {
        let known = "there are: auto, exchange, straight";
        assert!(matches!(way, Error::Build(BuildError::Unknown { .. })) && way.to_string().contains(known), "{way}");
        assert!(matches!(few, Error::Build(BuildError::Array { bits: 1, ranks: 4 })), "{few}");
        assert!(
            matches!(&odd, Error::Argument(words) if words.contains("6 elements") && words.contains("2^4")),
            "{odd}"
        );
        assert!(matches!(short, Error::Length { what: "receive buffer", found: 4, .. }), "{short}");
        assert!(
            matches!(&large, Error::Argument(words) if words.contains("are 274877906944 pieces of memory, of which a plan lists 16777216 at most")),
            "{large}"
        );
        assert!(matches!(larger, Error::Plan(_)), "{larger}");
    }
}

#[test]
fn elements_without_bytes_and_large_ones_that_stay_together_are_permuted_too() {
    let done = local::run_on("hypercube:2", |mut comm| {
        let map = BitMap::consecutive_to_cyclic(4, 2).unwrap();
        comm.permute::<u64>(&map, &[], &mut []).unwrap();
        // More elements than pieces may be listed, but they are four pieces a rank.
        comm.choose("permute", "exchange").unwrap();
        let rows = BitMap::axis_exchange(27, &[23, 24], &[25, 26]).unwrap();
        let (_, motion) = comm.permute_init::<u8>(&rows, 1).unwrap();
        motion
    });
    for motion in done.unwrap() {
        assert_eq!((motion.way, motion.rounds, motion.transmission), (Way::Exchange(0b11), 2, 1 << 24));
    }
}

#[test]
fn ranks_that_permute_differently_are_told() {
    let results = local::run(4, |mut comm| {
        let map = if comm.rank() == 2 { BitMap::shuffle(4) } else { BitMap::unshuffle(4) };
        // Who has nothing to do with those that differ may be told at its next call.
        // Nobody is so late that it is told before it has begun.
        let begun = comm.barrier();
        let permuted = begun.and_then(|()| comm.permute(&map.unwrap(), &[0_u8; 4], &mut [0; 4]));
        permuted.and_then(|_| comm.barrier()).unwrap_err().to_string()
    });
    assert!(results.unwrap().iter().all(|error| error.contains("permute")));
}

#[test]
fn a_permutation_is_for_its_own_problem_only() {
    let of = |network: &str, nodes: Option<[usize; 4]>, map: BitMap| {
        let topology = parse(network).unwrap();
        let placement = match nodes {
            Some(nodes) => Placement::new(nodes.map(Node::new).to_vec(), topology.nodes()).unwrap(),
            None => Placement::identity(4),
        };
        Permutation::new(map, topology, placement).unwrap()
    };
    let shuffle = || BitMap::shuffle(4).unwrap();
    let one = of("hypercube:2", None, shuffle());
    assert!(one.fits(&one.problem().unwrap()).is_ok());
    for other in [
        of("hypercube:2", None, BitMap::bit_reversal(4).unwrap()),
        of("hypercube:2", None, BitMap::identity(4).unwrap()),
        of("line:4", None, shuffle()),
        of("hypercube:2", Some([1, 0, 2, 3]), shuffle()),
    ] {
        assert!(one.fits(&other.problem().unwrap()).is_err() && other.fits(&one.problem().unwrap()).is_err());
    }
    // Graphs are alike by name.
    let [square, path] = [vec![(0, 1), (0, 2), (1, 3), (2, 3)], vec![(0, 1), (1, 2), (2, 3)]].map(|edges| {
        let graph = Arc::new(Graph::from_edges(edges).unwrap());
        Permutation::new(shuffle(), graph, Placement::identity(4)).unwrap()
    });
    assert!(square.fits(&square.problem().unwrap()).is_ok() && square.fits(&path.problem().unwrap()).is_err());
}

#[test]
fn maps_that_are_none_are_errors_of_calls_too() {
    let call = |comm: &mut Communicator| -> Result<Motion, Error> {
        comm.permute(&BitMap::moving(&[0, 0])?, &[0_u8; 2], &mut [0; 2])
    };
    for error in local::run(2, |mut comm| call(&mut comm).unwrap_err()).unwrap() {
        assert!(
            matches!(error, Error::Build(BuildError::Map(_))) && error.to_string() == "bit 0 is there twice",
            "{error}"
        );
    }
}

/// Of a cube that has more nodes than there are ranks nothing is claimed but what is counted at ranks.
#[test]
fn ranks_may_be_a_part_of_a_cube() {
    for (network, ranks, map) in [
        ("hypercube:3", 4, BitMap::vector_reversal(6)),
        ("hypercube:4", 4, BitMap::transpose(2, 2)),
        ("hypercube:6", 2, BitMap::bit_reversal(60)),
    ] {
        let made = Permutation::new(map.unwrap(), parse(network).unwrap(), Placement::identity(ranks)).unwrap();
        let straight = made.clone().straight();
        assert_eq!(straight.channel(), None);
        assert_eq!(made.clone().cheaper(&Machine::FREE.with_channel(1), 1).way(), made.way(), "{network}");
        if made.map().bits() < 10 {
            let problem = straight.problem().unwrap();
            let proof = verify_shares(Shares::new(&straight, &problem).unwrap()).unwrap();
            assert_eq!(proof.contradicts(&straight.claims(&problem).completed(straight.about().ports)), []);
        }
    }
}

#[test]
fn permutations_are_of_ranks_on_nodes() {
    let made = |ranks: Vec<usize>, nodes| {
        let placement = Placement::new(ranks.into_iter().map(Node::new).collect(), nodes).unwrap();
        Permutation::new(BitMap::shuffle(4).unwrap(), parse("hypercube:2").unwrap(), placement).unwrap_err()
    };
    assert!(matches!(made((0..8).collect(), 8), BuildError::Ranks { ranks: 8, nodes: 4, .. }));
    assert!(matches!(made(vec![], 4), BuildError::Ranks { ranks: 0, .. }));
    let far = made(vec![0, 300], 800);
    assert!(matches!(far, BuildError::Placement { nodes: 4, other: None, .. }), "{far}");
    assert!(far.to_string().contains("300"), "{far}");
}

#[test]
fn what_ranks_hold_is_not_listed_without_end() {
    let of = |bits: usize, d: usize| {
        let topology = parse(&format!("hypercube:{d}")).unwrap();
        Permutation::new(BitMap::bit_reversal(bits).unwrap(), topology, Placement::identity(1 << d)).unwrap()
    };
    let error = of(26, 13).problem().unwrap_err();
    assert!(
        matches!(error, BuildError::Blocks { found, limit, .. } if (found, limit) == (1 << 26, 1 << 24)),
        "{error}"
    );
    assert!(error.to_string().contains("permutation 0->25") && error.to_string().contains("67108864"), "{error}");
    assert!(of(26, 13).fits(&of(4, 2).problem().unwrap()).is_err());
}

#[test]
fn maps_that_are_none_are_refused() {
    let errors = [
        (BitMap::axis_exchange(4, &[0, 4], &[1, 2]), "bit 4 of addresses of 4 bits"),
        (BitMap::axis_exchange(4, &[0, 1], &[2, 9]), "bit 9 of addresses of 4 bits"),
        (BitMap::axis_exchange(4, &[0, 1], &[1, 2]), "bit 1 is there twice"),
        (BitMap::axis_exchange(4, &[0, 1], &[2]), "an axis of 2 bits cannot be exchanged with one of 1"),
        (BitMap::moving(&[0, 0, 1]), "bit 0 is there twice"),
        (BitMap::moving(&[0, 3, 1]), "bit 3 of addresses of 3 bits"),
        (BitMap::linear(&[0b01, 0b01], 0), "addresses that differ in 0b11 go to the same place"),
        (BitMap::linear(&[0b01, 0b100], 0), "bit 2 of addresses of 2 bits"),
        (BitMap::cyclic_to_consecutive(4, 5), "bit 4 of addresses of 4 bits"),
        (BitMap::consecutive_to_cyclic(4, 5), "bit 4 of addresses of 4 bits"),
        (BitMap::complement(4, 0b10010), "bit 4 of addresses of 4 bits"),
        (BitMap::to_gray(4, 3, 2), "bit 4 of addresses of 4 bits"),
        (BitMap::from_gray(4, usize::MAX, 2), "of addresses of 4 bits"),
        (BitMap::transpose(usize::MAX, 2), "62 are the most"),
        (BitMap::identity(65), "addresses of 65 bits, 62 are the most"),
    ];
    for (map, words) in errors {
        let error = map.map(|map| map.to_string()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}, instead of {words}");
    }
}

#[test]
fn maps_and_what_was_done_can_be_read() {
    let map = BitMap::transpose(2, 2).unwrap().then(&BitMap::complement(4, 0b101).unwrap()).unwrap();
    assert_eq!(map.to_string(), "0->2 1->3 2->0 3->1 +0b101 of 4 bits");
    assert_eq!(BitMap::identity(3).unwrap().to_string(), "identity of 3 bits");
    assert_eq!(BitMap::to_gray(2, 0, 2).unwrap().to_string(), "1->0+1 of 2 bits");
    let motion = permuted("hypercube:2", &map).to_string();
    let words = "by an exchange within bits [0, 1] of the ranks: 2 rounds, 4 messages, 4 elements sent, at most 2 to one rank, 2 over a channel";
    assert_eq!(motion, words);
    let alone = permuted("hypercube:1", &BitMap::vector_reversal(1).unwrap()).to_string();
    assert_eq!(alone, "straight: 1 round, 1 message, 1 element sent, at most 1 to one rank, 1 over a channel");
}

#[test]
fn maps_and_lengths_in_turn_are_not_mixed_up() {
    let done = local::run_on("hypercube:2", |mut comm| {
        let maps = [BitMap::bit_reversal(6).unwrap(), BitMap::shuffle(6).unwrap(), BitMap::transpose(3, 3).unwrap()];
        // Maps and lengths in turn; each time all elements are where they belong.
        for turn in 0..12 {
            let map = &maps[turn % 3];
            let wide = 1 + turn % 2;
            let first = comm.rank() * 16;
            let at = |place: usize| first + place;
            let own: Vec<usize> = (0..16).flat_map(|place| vec![at(place); wide]).collect();
            let mut arrived = vec![0; 16 * wide];
            comm.permute(map, &own, &mut arrived).unwrap();
            for (i, element) in arrived.into_iter().enumerate() {
                assert_eq!(map.apply(element as u64), at(i / wide) as u64, "{turn}");
            }
        }
    });
    assert_eq!(done.unwrap().len(), 4);
}
