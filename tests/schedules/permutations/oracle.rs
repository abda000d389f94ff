//! Where elements should go and what that should cost, by counting, compared with proofs.

use std::collections::BTreeMap;

use necklace::algorithm::Algorithm;
use necklace::collective::Collective;
use necklace::communicator::PermuteReport;
use necklace::permutation::{BitMap, Method, Permutation};
use necklace::schedule::{Placement, verify_shares};
use necklace::topology::{Topology, parse};
use necklace::{Communicator, Node, local};

/// The value of an element: its old address, thrice.
fn part(rank: usize, each: usize) -> Vec<[u64; 3]> {
    (0..each).map(|place| [(rank * each + place) as u64; 3]).collect()
}

/// Permutes an array on a network, and looks at every element. Returns what it cost rank 0.
pub(crate) fn permuted(network: &str, map: &BitMap) -> PermuteReport {
    permuted_to(network, map, &|address| map.apply(address))
}

/// The same where it is known otherwise to which address each element should go.
pub(crate) fn permuted_to(network: &str, map: &BitMap, goes: &(dyn Fn(u64) -> u64 + Sync)) -> PermuteReport {
    let topology = parse(network).unwrap();
    let ranks = topology.nodes();
    let each = (1 << map.bits()) / ranks;
    let leaving = Leaving::of(ranks, each, goes);
    let motions = local::run_on(network, |mut comm: Communicator| {
        // By exchanges where possible; prices would choose direct messages for threads.
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
        assert_eq!(motion.method, way, "{map} on {network}");
        let found = (motion.rounds, motion.messages, motion.sent, motion.transmission);
        assert_eq!(found, leaving.cost(rank, way), "{map} on {network}, rank {rank}");
        if way != Method::Straight {
            assert_eq!(motion.channel, Some(motion.transmission), "{map} on {network}");
        }
    }
    motions[0]
}

/// Counts the elements that go from each rank to each other rank.
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

    /// An exchange if every rank's go to all that differ from it in some of these bits, which sit
    /// on cubes; two if not, and there are as many elements as such ranks.
    fn way(&self, topology: &dyn Topology) -> Method {
        let Self(leaving) = self;
        let differ = |(rank, to): (usize, &BTreeMap<usize, u64>)| to.keys().fold(0, |all, to| all | rank ^ to);
        let bits = leaving.iter().enumerate().map(differ).fold(0, |all, it| all | it);
        if bits == 0 {
            return Method::Local;
        }
        let is_whole = leaving.iter().all(|to| to.len() == 1 << bits.count_ones());
        let near = |one: usize, other: usize| topology.neighbours(Node::new(one)).contains(&Node::new(other));
        let by = |count: u32| (1..leaving.len()).filter(move |by| by & !bits == 0 && by.count_ones() == count);
        let on_cubes = (0..leaving.len())
            .all(|rank| by(1).all(|by| near(rank, rank ^ by)) && !by(2).any(|by| near(rank, rank ^ by)));
        let each: u64 = leaving[0].values().sum();
        match (on_cubes, is_whole) {
            (true, true) => Method::Exchange(bits as u64),
            (true, false) if each >> bits.count_ones() > 0 => Method::Exchanges(bits as u64),
            _ => Method::Straight,
        }
    }

    /// Rounds, messages, elements sent, transmission.
    fn cost(&self, rank: usize, way: Method) -> (usize, usize, u64, u64) {
        let others = || self.0[rank].iter().filter(|(to, _)| **to != rank).map(|(_, count)| *count);
        match way {
            Method::Exchange(bits) => {
                let (d, block) = (bits.count_ones() as usize, self.0[rank][&rank]);
                let half = block << (d - 1);
                (d, d * d, d as u64 * half, half)
            }
            Method::Exchanges(bits) => {
                let (d, each) = (bits.count_ones() as usize, self.0[rank].values().sum());
                (2 * d, 2 * d * d, d as u64 * each, each)
            }
            Method::Straight => (1, others().count(), others().sum(), others().max().unwrap_or(0)),
            _ => (0, 0, 0, 0),
        }
    }
}

/// Its claims, without moving anything.
pub(crate) fn proved(network: &str, map: &BitMap) -> Permutation {
    let topology = parse(network).unwrap();
    let placement = Placement::identity(topology.nodes());
    let permutation = Permutation::new(map.clone(), topology, placement).unwrap();
    for permutation in [permutation.clone(), permutation.clone().straight()] {
        let problem = permutation.problem().unwrap();
        let proof = verify_shares(permutation.shares(&problem).unwrap());
        let proof = proof.unwrap_or_else(|violations| panic!("{} on {network}: {violations}", permutation.name()));
        let claims = permutation.claims(&problem).completed(permutation.about().ports);
        assert_eq!(proof.contradicts(&claims), [], "{} on {network}", permutation.name());
        assert!(claims.startups.is_some() && claims.messages.is_some() && claims.volume.is_some());
        assert!(proof.keeps(permutation.about().ports));
        // A rank's data for others is cut into at most as many parts as there are ranks in between.
        let Collective::Custom(custom) = problem.collective() else { panic!("{}", permutation.name()) };
        let chunks: u64 = custom.pre[0].iter().map(|(block, _)| u64::from(block.of())).sum();
        match permutation.method() {
            Method::Exchanges(bits) => {
                assert_eq!(chunks, 1 << bits.count_ones(), "{} on {network}", permutation.name())
            }
            _ => assert_eq!(chunks, custom.pre[0].len() as u64),
        }
    }
    permutation
}
