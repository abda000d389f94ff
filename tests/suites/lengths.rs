//! Alltoall, gather, scatter, allgather and reduce-scatter of blocks of different lengths.

use std::collections::BTreeSet;
use std::sync::Arc;

use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::communicator::Counts;
use necklace::op::{Op, Sum, by};
use necklace::schedule::Problem;
use necklace::topology::Topology;
use necklace::{Communicator, Error, Rank};

use super::definitions::{Dice, Element, RandomExchange, block, compose, poisoned, same};
use super::failures::{one_failure, run};
use super::varying::Displaced;
use crate::jobs::{self, on, topology, watched};

/// Counts and displacements of all ranks, with gaps, in random order.
struct Places {
    counts: Vec<usize>,
    begins: Vec<usize>,
    end: usize,
}

impl Places {
    fn random(ranks: usize, dice: &mut Dice) -> Self {
        let counts: Vec<usize> = (0..ranks).map(|_| [0, 1, dice.below(9)][dice.below(3)]).collect();
        let (mut begins, mut end) = (vec![0; ranks], 0);
        for rank in dice.order(ranks) {
            end += dice.below(3);
            begins[rank] = end;
            end += counts[rank];
        }
        Self { counts, begins, end: end + 1 }
    }

    fn of(&self) -> Counts<'_> {
        Counts::at(&self.counts, &self.begins)
    }

    /// A buffer with these blocks, and values that no rank sends elsewhere.
    fn filled<T: Element>(&self, of: impl Fn(usize) -> Vec<T>) -> Vec<T> {
        let mut all = poisoned(self.end);
        for (rank, (&count, &begin)) in self.counts.iter().zip(&self.begins).enumerate() {
            all[begin..begin + count].copy_from_slice(&of(rank)[..count]);
        }
        all
    }
}

/// Every form of the calls that move blocks, against their definitions.
pub fn gathers_and_scatters<T: Element>(comm: &mut Communicator, seed: u64) {
    let (me, size) = (comm.rank(), comm.size());
    let mut dice = Dice(seed);
    let places = Places::random(size, &mut dice);
    let (own, root) = (places.counts[me], dice.below(size));
    let all = places.filled(|from| block::<T>(from, 4, 9));
    let none = poisoned::<T>(places.end);
    let send = block::<T>(me, 4, own);

    let mut receive = none.clone();
    let counts = if me == root { places.of() } else { Counts::from(&[]) };
    comm.gatherv(&send, (me == root).then_some(&mut receive[..]), counts, root).unwrap();
    same(comm, &format!("gatherv to {root}"), &receive, if me == root { &all } else { &none });
    let mut plan = comm.gatherv_init(own, counts, root).unwrap();
    receive.copy_from_slice(&none);
    for _ in 0..2 {
        plan.execute(comm, &send, &mut receive).unwrap();
        same(comm, "planned gatherv", &receive, if me == root { &all } else { &none });
    }
    // The root has its own block in its place.
    let mut buffer = send.clone();
    if me == root {
        buffer = none.clone();
        buffer[places.begins[me]..][..own].copy_from_slice(&send);
    }
    comm.gatherv_in_place(&mut buffer, counts, root).unwrap();
    same(comm, "gatherv in place", &buffer, if me == root { &all } else { &send });

    let mut part = poisoned::<T>(own);
    comm.scatterv((me == root).then_some(&all[..]), counts, &mut part, root).unwrap();
    same(comm, &format!("scatterv from {root}"), &part, &send);
    let mut plan = comm.scatterv_init(counts, own, root).unwrap();
    part.copy_from_slice(&poisoned(own));
    plan.execute(comm, if me == root { &all } else { &[] }, &mut part).unwrap();
    same(comm, "planned scatterv", &part, &send);
    let mut buffer = if me == root { all.clone() } else { poisoned(own) };
    comm.scatterv_in_place(&mut buffer, counts, root).unwrap();
    same(comm, "scatterv in place", &buffer, if me == root { &all } else { &send });

    let mut receive = none.clone();
    comm.allgatherv(&send, &mut receive, places.of()).unwrap();
    same(comm, "allgatherv", &receive, &all);
    let mut plan = comm.allgatherv_init(places.of()).unwrap();
    receive.copy_from_slice(&none);
    plan.execute(comm, &send, &mut receive).unwrap();
    same(comm, "planned allgatherv", &receive, &all);
    receive.copy_from_slice(&none);
    receive[places.begins[me]..][..own].copy_from_slice(&send);
    comm.allgatherv_in_place(&mut receive, places.of()).unwrap();
    same(comm, "allgatherv in place", &receive, &all);

    // Blocks of one length, so that those to and from a rank are equally long.
    let mut exchanged: Vec<T> = places.filled(|to| block(me, to, 9));
    let lengths = Places { counts: vec![own.min(2); size], begins: (0..size).map(|i| 2 * i).collect(), end: 2 * size };
    let lengths = Places { counts: vec![2; size], ..lengths };
    exchanged.resize(2 * size, T::of(0));
    exchanged.copy_from_slice(&lengths.filled(|to| block(me, to, 2)));
    comm.alltoallv_in_place(&mut exchanged, lengths.of()).unwrap();
    same(comm, "alltoallv in place", &exchanged, &lengths.filled(|from| block(from, me, 2)));
}

/// Every form of `reduce_scatterv`, by an operation that does not commute, one that commutes, and
/// one that libraries have.
pub fn reduces_and_scatters(comm: &mut Communicator, seed: u64) {
    reduces_by(comm, seed, by("compose", compose), compose);
    reduces_by(comm, seed + 1, by("add", u64::wrapping_add).commutative(), u64::wrapping_add);
    reduces_by(comm, seed + 2, Sum, u64::wrapping_add);
}

fn reduces_by(comm: &mut Communicator, seed: u64, op: impl Op<u64> + Copy + 'static, combine: fn(u64, u64) -> u64) {
    let (me, size) = (comm.rank(), comm.size());
    let counts = Places::random(size, &mut Dice(seed)).counts;
    let of = |from: usize| (0..size).flat_map(move |to| block::<u64>(from, to, 9));
    let send_of = |from: usize| -> Vec<u64> {
        let all: Vec<u64> = of(from).collect();
        (0..size).flat_map(|to| all[9 * to..][..counts[to]].to_vec()).collect()
    };
    let begin: usize = counts[..me].iter().sum();
    let wanted: Vec<u64> =
        (begin..begin + counts[me]).map(|i| (0..size).map(|from| send_of(from)[i]).reduce(combine).unwrap()).collect();
    let send = send_of(me);
    let mut receive = poisoned(counts[me]);
    comm.reduce_scatterv(&send, &counts, &mut receive, op).unwrap();
    same(comm, "reduce_scatterv", &receive, &wanted);
    let mut plan = comm.reduce_scatterv_init(&counts, op).unwrap();
    for _ in 0..2 {
        receive.copy_from_slice(&poisoned(counts[me]));
        plan.execute(comm, &send, &mut receive).unwrap();
        same(comm, "planned reduce_scatterv", &receive, &wanted);
    }
    let mut buffer = send;
    comm.reduce_scatterv_in_place(&mut buffer, &counts, op).unwrap();
    same(comm, "reduce_scatterv in place", &buffer[..counts[me]], &wanted);
}

pub(super) fn blocks_of_any_lengths_are_collected_and_distributed() {
    const NATIVE: [(&str, &str); 5] = [
        ("gatherv", "native"),
        ("scatterv", "native"),
        ("allgatherv", "native"),
        ("reduce_scatterv", "native"),
        ("alltoallv", "native"),
    ];
    let native: &[(&str, &[(&str, &str)])] = if jobs::is_native() {
        &[("complete:1", &NATIVE), ("complete:2", &NATIVE), ("ring:3", &NATIVE), ("torus:4x3", &NATIVE)]
    } else {
        &[]
    };
    let choices: [(&str, &[(&str, &str)]); 6] = [
        ("complete:1", &[]),
        ("complete:2", &[("gatherv", "binomial"), ("reduce_scatterv", "recursive-halving")]),
        ("ring:5", &[("allgatherv", "ring"), ("scatterv", "binomial"), ("reduce_scatterv", "pairwise")]),
        ("line:7", &[("gatherv", "direct"), ("alltoallv", "bruck")]),
        ("hypercube:3", &[("allgatherv", "recursive-doubling"), ("reduce_scatterv", "recursive-halving")]),
        ("torus:4x3", &[("gatherv", "binomial"), ("scatterv", "binomial"), ("alltoallv", "torus-exchange")]),
    ];
    for (topology, chosen) in choices.into_iter().chain(native.iter().copied()) {
        watched(&format!("{topology} by {chosen:?}"), move || {
            let job = chosen.iter().fold(on(topology), |job, (call, algorithm)| job.choose(call, *algorithm));
            let run = job.run(|mut comm| {
                for seed in 0..6 {
                    gathers_and_scatters::<u64>(&mut comm, seed);
                    gathers_and_scatters::<[f32; 3]>(&mut comm, seed + 100);
                    gathers_and_scatters::<()>(&mut comm, seed + 200);
                    reduces_and_scatters(&mut comm, seed + 300);
                }
            });
            run.unwrap();
        });
    }
}

/// The names of all algorithms for a collective that fit and keep the order of ranks, and of their
/// variants.
fn fitting(network: &Arc<dyn Topology>, collective: &str) -> Vec<String> {
    let collective = Collective::named(collective, Rank::new(0)).unwrap();
    let problem = Problem::new(Arc::clone(network), collective).unwrap().ordered();
    let all = registry().iter().filter(|one| one.about().collective == problem.collective().name());
    let fitting = all.filter(|one| one.priced_as().is_none() && one.fits(&problem).is_ok());
    let names = fitting.flat_map(|one| {
        let variants = one.variants(&problem).into_iter().filter(|variant| variant.fits(&problem).is_ok());
        variants.map(|variant| variant.name()).chain([one.name()])
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Exchanges long blocks among empty ones. Chunks of a block differ in length.
fn exchanges_few_long_blocks(comm: &mut Communicator, seed: usize) {
    let (me, size) = (comm.rank(), comm.size());
    let is_long = |from: usize, to: usize| (7 * from + 3 * to + seed).is_multiple_of(5);
    let count = |from: usize, to: usize| if is_long(from, to) { 257 + 10 * from + to } else { 0 };
    let [from, into] = [false, true].map(|into| {
        let counts = (0..size).map(|peer| if into { count(peer, me) } else { count(me, peer) });
        counts.collect::<Vec<_>>()
    });
    let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, from[to])).collect();
    let wanted: Vec<u64> = (0..size).flat_map(|peer| block(peer, me, into[peer])).collect();
    let mut receive = poisoned(wanted.len());
    comm.alltoallv(&send, &from, &mut receive, &into).unwrap();
    same(comm, "alltoallv of few long blocks", &receive, &wanted);
}

/// Each algorithm cuts and relays blocks in its own way.
pub(super) fn every_algorithm_moves_blocks_of_any_lengths() {
    const CALLS: [(&str, &str); 5] = [
        ("alltoallv", "alltoall"),
        ("gatherv", "gather"),
        ("scatterv", "scatter"),
        ("allgatherv", "allgather"),
        ("reduce_scatterv", "reduce_scatter"),
    ];
    for text in ["ring:5", "hypercube:3", "mesh:3x3", "torus:4x4"] {
        let network = topology(text);
        let names = CALLS.map(|(_, collective)| fitting(&network, collective));
        for turn in 0..names.iter().map(Vec::len).max().unwrap() {
            let chosen = names.each_ref().map(|names| names[turn % names.len()].clone());
            watched(&format!("{text} by {chosen:?}"), move || {
                let choices = CALLS.into_iter().zip(chosen);
                let job = choices.fold(on(text), |job, ((call, _), name)| job.choose(call, name));
                let run = job.run(move |mut comm| {
                    Displaced::exchange::<u64>(&mut comm, turn as u64);
                    exchanges_few_long_blocks(&mut comm, turn);
                    gathers_and_scatters::<u64>(&mut comm, turn as u64);
                    reduces_and_scatters(&mut comm, turn as u64);
                });
                run.unwrap();
            });
        }
    }
}

pub(super) fn ranks_with_different_counts_are_told_both() {
    for ranks in [2, 5] {
        type Call = fn(&mut Communicator, &[usize]) -> Result<(), Error>;
        let calls: [(&str, Call); 2] = [
            ("allgatherv", |comm, counts| {
                let mut receive = vec![0; counts.iter().sum()];
                comm.allgatherv(&vec![1; counts[comm.rank()]], &mut receive, counts)
            }),
            ("reduce_scatterv", |comm, counts| {
                let mut receive = vec![0; counts[comm.rank()]];
                comm.reduce_scatterv(&vec![1; counts.iter().sum()], counts, &mut receive, necklace::op::Sum)
            }),
        ];
        for (name, call) in calls {
            watched(&format!("{name} among {ranks}"), move || {
                let outcomes = run(on(&format!("complete:{ranks}")), |mut comm| {
                    let mut counts = vec![2; comm.size()];
                    if comm.rank() == 1 {
                        counts[0] = 3;
                    }
                    call(&mut comm, &counts).and_then(|()| comm.barrier())
                });
                let words = one_failure(&outcomes).to_string();
                let (one, other) =
                    (format!("{:?}", vec![2; ranks]), format!("[3{}", &format!("{:?}", vec![2; ranks])[2..]));
                assert!(words.contains(&one) && words.contains(&other) && words.contains("rank 1"), "{words}");
            });
        }
    }
}

pub(super) fn wrong_length_of_one_rank_is_found_by_all() {
    type Call = fn(&mut Communicator) -> Result<(), Error>;
    // Rank 2 passes 4 elements in place of 2.
    let calls: [(&str, Call); 3] = [
        ("gatherv", |comm| {
            let (me, mut all) = (comm.rank(), [0_u64; 9]);
            let receive = (me == 1).then_some(&mut all[..]);
            comm.gatherv(&vec![7; if me == 2 { 4 } else { 2 }], receive, &[2; 3], 1)
        }),
        ("scatterv", |comm| {
            let (me, all) = (comm.rank(), [7_u64; 6]);
            comm.scatterv((me == 1).then_some(&all[..]), &[2; 3], &mut vec![0; if me == 2 { 4 } else { 2 }], 1)
        }),
        ("planned gatherv", |comm| {
            let (me, mut all) = (comm.rank(), [0_u64; 9]);
            let mut plan = comm.gatherv_init(if me == 2 { 4 } else { 2 }, &[2; 3], 1)?;
            plan.execute(comm, &vec![7; if me == 2 { 4 } else { 2 }], if me == 1 { &mut all } else { &mut [] })
        }),
    ];
    for (name, call) in calls {
        for algorithm in ["direct"].into_iter().chain(jobs::is_native().then_some("native")) {
            watched(&format!("{name} by {algorithm}"), move || {
                let job = on("complete:3").choose("gatherv", algorithm).choose("scatterv", algorithm);
                let outcomes = run(job, |mut comm| call(&mut comm).and_then(|()| comm.barrier()));
                let words = one_failure(&outcomes).to_string();
                assert!(words.contains("rank 2") && words.contains("32") && words.contains("16"), "{words}");
            });
        }
    }
}

pub(super) fn mistakes_in_lengths_are_refused() {
    watched("refused", || {
        jobs::run(2, |mut comm| {
            let (me, mut all) = (comm.rank(), [0_u8; 4]);
            let refused = |outcome: Result<(), Error>, words: &str| {
                let found = outcome.unwrap_err().to_string();
                assert!(found.contains(words), "{found} instead of {words}");
            };
            if me == 0 {
                refused(comm.gatherv(&[1, 2], None, &[2, 2], 0), "receive buffer");
                refused(comm.gatherv(&[1, 2], Some(&mut all), &[2], 0), "list of receive counts");
                refused(comm.gatherv(&[1, 2], Some(&mut all), &[2, 3], 0), "receive block 1");
                refused(comm.gatherv(&[1, 2], Some(&mut all), &[1, 2], 0), "2");
                refused(comm.scatterv(Some(&[1, 2]), &[1, 2], &mut all, 0), "send block 1");
                refused(comm.scatterv(None, &[1, 2], &mut all, 0), "send buffer");
            }
            refused(comm.gatherv(&[1, 2], Some(&mut all), &[2, 2], 2), "2");
            refused(comm.allgatherv(&[1], &mut all, &[2, 2]), "1");
            refused(comm.allgatherv(&[1], &mut all, &[1; 3]), "list of receive counts");
            refused(comm.reduce_scatterv(&[1; 4], &[2, 3], &mut all, necklace::op::Sum), "send buffer");
            refused(comm.reduce_scatterv(&[1; 5], &[2, 3], &mut all, necklace::op::Sum), "receive buffer");
            refused(comm.reduce_scatterv(&[1; 5], &[5], &mut all, necklace::op::Sum), "list of send counts");
            let huge = [usize::MAX / 2, usize::MAX / 2 + 3];
            refused(comm.reduce_scatterv(&[1; 5], &huge, &mut all, necklace::op::Sum), "");
            comm.barrier().unwrap();
        })
        .unwrap();
    });
}
