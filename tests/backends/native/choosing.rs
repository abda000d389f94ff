//! When the backend's own collectives are chosen, and what happens if they cannot be used.

use std::sync::Arc;

use necklace::algorithm::{Algorithm, find, registry};
use necklace::collective::Collective;
use necklace::cost::Demand;
use necklace::error::{ArgumentError, BuildError};
use necklace::machine::Machine;
use necklace::op::{Sum, by};
use necklace::schedule::Problem;
use necklace::select::{Terms, select};
use necklace::simulate::Simulation;
use necklace::transport::native::NativeCall;
use necklace::{Error, Options, Rank, local};

use necklace_tests::jobs::Backend;
use necklace_tests::jobs::native::{Calls, WithLibrary, offering};
use necklace_tests::suites::definitions::{compose, everything};
use necklace_tests::{topology, watched};

const KINDS: [&str; 11] = [
    "alltoall",
    "allgather",
    "allreduce",
    "scan",
    "broadcast",
    "barrier",
    "scatter",
    "gather",
    "reduce_scatter",
    "reduce",
    "exscan",
];

/// Algorithms that libraries are assumed to have with any parameters, besides those named in the
/// algorithm.
const KNOWN: [(&str, &[&str]); 11] = [
    ("alltoall", &["direct", "direct-rotated", "direct-xor", "bruck"]),
    ("allgather", &["direct", "ring", "recursive-doubling", "bruck", "neighbour-exchange"]),
    ("allreduce", &["direct", "recursive-doubling", "rabenseifner", "ring"]),
    ("scan", &["direct", "recursive-doubling", "chain"]),
    ("broadcast", &["direct", "binomial", "chain", "binary-tree", "scatter-allgather"]),
    ("barrier", &["direct", "dissemination"]),
    ("scatter", &["direct", "binomial"]),
    ("gather", &["direct", "binomial"]),
    ("reduce_scatter", &["direct", "pairwise", "recursive-halving"]),
    ("reduce", &["direct", "binomial", "reduce-scatter-gather", "chain", "binary-tree"]),
    ("exscan", &["direct", "recursive-doubling", "chain"]),
];

fn problem(network: &str, kind: &str) -> Problem {
    let collective = Collective::named(kind, Rank::new(0)).unwrap();
    Problem::new(topology(network), collective).unwrap().ordered()
}

#[test]
fn auto_is_native_unless_a_non_mpi_algorithm_is_cheaper() {
    let (mut own, mut ours) = (vec![], vec![]);
    for network in ["complete:4", "torus:4x4", "complete:1", "mesh:3x5", "hypercube:5", "torus:3x8"] {
        for machine in [Machine::THREADS, Machine::MPI, Machine::PARAGON, Machine::UNIT] {
            let blind = machine.channel == 0;
            for (kind, known) in KNOWN {
                for bytes in [0, 1, 64, 1024, 4096, 1 << 20] {
                    // The definition: whichever would be taken without it, unless a library has it
                    // or one as cheap and as certain, or the machine knows no network.
                    let without = select(&problem(network, kind), "auto", &Terms::new(bytes, &machine)).unwrap();
                    let price = |name: &str| {
                        let all = without.candidates.iter();
                        let found = all
                            .filter(|one| one.algorithm.about().name == name)
                            .filter_map(|one| Some((one.price.as_ref().ok()?.total, !one.at_least.is_empty())));
                        found.min()
                    };
                    let cheapest = price(without.algorithm.about().name).unwrap();
                    let wanted = if blind || known.iter().any(|name| price(name) == Some(cheapest)) {
                        own.push((network, kind));
                        "native".to_owned()
                    } else {
                        ours.push((network, kind));
                        without.algorithm.name()
                    };
                    let choice =
                        select(&problem(network, kind), "auto", &Terms::new(bytes, &machine).over_native(true))
                            .unwrap();
                    assert_eq!(choice.algorithm.name(), wanted, "{choice}");
                }
            }
        }
    }
    assert!(own.contains(&("torus:4x4", "alltoall")) && ours.contains(&("torus:4x4", "alltoall")), "{ours:?}");
    // Nothing can be cheaper there than what goes straight, except for long vectors combined in
    // parts.
    let in_parts = |kind: &str| ["allreduce", "reduce"].contains(&kind);
    assert!(KINDS.iter().all(|kind| own.contains(&("complete:4", kind))));
    assert!(KINDS.iter().all(|kind| in_parts(kind) || !ours.contains(&("complete:4", kind))), "{ours:?}");
}

#[test]
fn every_member_explains_the_choice_equally() {
    for network in ["complete:4", "torus:4x4"] {
        watched(network, move || {
            let explained = WithLibrary
                .job(topology(network))
                .options(Options::default().machine(Machine::PARAGON))
                .run(|mut comm| {
                    everything::<u64>(&mut comm, 3);
                    let text = |bytes| comm.explain(&Collective::Alltoall, bytes).unwrap().to_string();
                    [1, 64, 1024, 65536].map(text)
                });
            let explained = explained.unwrap();
            assert!(explained.iter().all(|texts| *texts == explained[0]));
            let (like, words) = ("the backend's own; priced as ", "goes first where prices are equal");
            assert!(explained[0].iter().all(|text| text.contains(like) && text.contains(words)), "{}", explained[0][0]);
            let native = |text: &String| text.contains("bytes a block: native, the cheapest by the prices of paragon");
            let natives: Vec<bool> = explained[0].iter().map(native).collect();
            if network == "torus:4x4" {
                // Its own exchange is cheaper for short blocks.
                assert!(
                    natives.contains(&true) && natives.contains(&false),
                    "{natives:?}: {}",
                    explained[0].join("\n")
                );
            } else {
                assert_eq!(natives, [true; 4], "{}", explained[0].join("\n"));
            }
        });
    }
}

#[test]
fn native_is_priced_as_a_registered_algorithm() {
    for kind in KINDS {
        let native = find(problem("ring:4", kind).collective(), "native").unwrap();
        let found: Vec<String> = native.priced_as().unwrap().iter().map(|name| find_name(kind, name)).collect();
        let known = KNOWN.iter().find(|(other, _)| *other == kind).unwrap().1;
        assert_eq!(found, known);
        let is_native = |one: &&Arc<dyn Algorithm>| one.about().collective == kind && one.priced_as().is_some();
        assert_eq!(registry().iter().filter(is_native).count(), 1);
    }
}

fn find_name(kind: &str, name: &str) -> String {
    find(problem("ring:4", kind).collective(), name).unwrap().name()
}

#[test]
fn native_algorithm_has_no_schedule_to_inspect() {
    for kind in KINDS {
        let problem = problem("complete:4", kind);
        let native = find(problem.collective(), "native").unwrap();
        // Without a backend that has it, it does not fit.
        let unfit = |error: BuildError| match error {
            BuildError::Unfit { needs, .. } => assert!(needs.contains("such as MPI"), "{needs}"),
            other => panic!("{other}"),
        };
        unfit(native.fits(&problem).unwrap_err());
        let terms = Terms::new(8, &Machine::UNIT);
        unfit(select(&problem, "native", &terms).unwrap_err());
        assert_eq!(select(&problem, "native", &terms.over_native(true)).unwrap().algorithm.name(), "native");
        let unscheduled = |error: BuildError| {
            let text = error.to_string();
            assert!(matches!(error, BuildError::Unscheduled { .. }), "{text}");
            assert!(text.contains("native") && text.contains(kind) && text.contains("complete:4"), "{text}");
        };
        unscheduled(native.share(&problem, Rank::new(0)).err().unwrap());
        unscheduled(native.outline(&problem).unwrap_err());
        unscheduled(native.shares(&problem).err().unwrap());
        unscheduled(Demand::claimed(&*native, &problem).unwrap_err());
        let played = Simulation::new(&Machine::UNIT, 8).play(&*native, &problem).unwrap_err();
        assert!(played.to_string().contains("no schedule"), "{played}");
    }
}

#[test]
fn native_is_refused_on_a_backend_without_it() {
    local::run(4, |mut comm| {
        for kind in KINDS.into_iter().chain(["alltoallv"]) {
            let refused = comm.choose(kind, "native").unwrap_err();
            assert!(matches!(refused.argument(), Some(ArgumentError::Build(BuildError::Unfit { .. }))), "{refused}");
            assert!(
                refused.to_string().contains("a backend that has collectives of its own, such as MPI"),
                "{refused}"
            );
        }
        let plan = comm.alltoallv_init::<u8>((&[1; 4], &[0; 4]), (&[1; 4], &[0, 1, 2, 3])).unwrap();
        assert!(plan.description().contains("by direct"));
    })
    .unwrap();
}

/// As a library that has neither operations of its users nor exchanges of unequal blocks.
fn plain(what: &NativeCall) -> bool {
    match what {
        NativeCall::Regular(regular) => !regular.collective.is_reduction() || regular.predefined.is_some(),
        _ => false,
    }
}

#[test]
fn unsupported_native_call_uses_the_best_schedule() {
    watched("plain", || {
        let calls = Calls::default();
        let job = offering(topology("complete:4"), &calls, plain);
        job.run(|mut comm| {
            everything::<u64>(&mut comm, 3);
            let mut result = [0];
            for _ in 0..2 {
                comm.allreduce(&[1 << 32 | comm.rank() as u64], &mut result, by("compose", compose)).unwrap();
                assert_eq!(result, [1 << 32 | 6]);
                comm.allreduce(&[1_u64], &mut result, Sum).unwrap();
                assert_eq!(result, [4]);
            }
            let places = [0, 1, 2, 3];
            let plan = comm.alltoallv_init::<u64>((&[1; 4], &places), (&[1; 4], &places)).unwrap();
            assert!(plan.description().contains("by direct"), "{}", plan.description());
            let plan = comm.gatherv_init::<u64>(1, &[1; 4], comm.rank()).unwrap();
            assert!(plan.description().contains("by direct"), "{}", plan.description());
            let plan = comm.allgatherv_init::<u64>(&[1; 4]).unwrap();
            assert!(!plan.description().contains("by native"), "{}", plan.description());
            comm.allgatherv(&[1_u64], &mut [0; 4], &[1; 4]).unwrap();
            comm.reduce_scatterv(&[1_u64; 4], &[1; 4], &mut result, Sum).unwrap();
            assert_eq!(result, [4]);
        })
        .unwrap();
        let made: Vec<Arc<str>> = calls.of_all().into_iter().map(|(_, words)| words).collect();
        for kind in ["alltoall of", "allgather of", "broadcast from", "barrier among", "allreduce (sum)"] {
            assert!(made.iter().any(|words| words.starts_with(kind)), "no {kind} in {made:?}");
        }
        assert!(!made.iter().any(|words| words.contains("compose") || words.contains("(first)")), "{made:?}");
    });
}

#[test]
fn native_choice_without_support_is_refused_before_the_call() {
    watched("chosen", || {
        let calls = Calls::default();
        let mut job = offering(topology("complete:4"), &calls, plain);
        for kind in ["allreduce", "scan", "alltoallv", "gatherv", "scatterv", "allgatherv", "reduce_scatterv"] {
            job = job.choose(kind, "native");
        }
        job.run(|mut comm| {
            let refused = |outcome: Result<(), Error>, what: &str| match outcome.as_ref().unwrap_err().argument() {
                Some(ArgumentError::Build(BuildError::Unfit { algorithm, needs, .. })) => {
                    assert_eq!(algorithm, "native");
                    assert!(needs.contains("does not offer") && needs.contains(what), "{needs}");
                }
                _ => panic!("{outcome:?}"),
            };
            let (mut result, places) = ([7; 4], [0, 1, 2, 3]);
            // One alone: it concerns no other.
            if comm.rank() == 2 {
                let last = by("last", |_, right: u64| right);
                refused(comm.allreduce(&[1; 4], &mut result, last), "allreduce of 4 elements of 8 bytes");
                refused(comm.scan(&[1; 4], &mut result, last), "an operation of the program");
                refused(comm.alltoallv(&[1; 4], (&[1; 4], &places), &mut result, (&[1; 4], &places)), "alltoallv");
                let plan = comm.alltoallv_init::<u64>((&[1; 4], &places), (&[1; 4], &places));
                refused(plan.map(|_| ()), "alltoallv");
                refused(comm.gatherv(&[1], None, &[], 1), "gatherv with root 1");
                refused(comm.scatterv(None, &[], &mut result[..1], 1), "scatterv with root 1");
                refused(comm.allgatherv(&[1], &mut result, &[1; 4]), "allgatherv");
                let sum = "reduce_scatterv by the predefined Sum of U64";
                refused(comm.reduce_scatterv(&[1_u64; 4], &[1; 4], &mut [0], Sum), sum);
                refused(
                    comm.reduce_scatterv(&[1; 4], &[1; 4], &mut result[..1], last),
                    "by an operation of the program",
                );
                assert_eq!(result, [7; 4]);
            }
            comm.allreduce(&[1; 4], &mut result, Sum).unwrap();
            assert_eq!(result, [4; 4]);
        })
        .unwrap();
    });
}

/// A library does not look how much comes, so the counts must travel first, which costs more than
/// it can save in one call.
#[test]
fn planned_exchanges_of_unequal_blocks_are_native() {
    watched("unequal", || {
        let calls = Calls::default();
        let job = offering(topology("complete:4"), &calls, |_| true);
        job.run(|mut comm| {
            let places = [0, 1, 2, 3];
            let mut receive = [0; 4];
            comm.alltoallv(&[1; 4], (&[1; 4], &places), &mut receive, (&[1; 4], &places)).unwrap();
            comm.barrier().unwrap();
            let mut plan = comm.alltoallv_init::<u64>((&[1; 4], &places), (&[1; 4], &places)).unwrap();
            assert!(plan.description().contains("by native"), "{}", plan.description());
            (0..3).for_each(|_| plan.execute(&mut comm, &[1; 4], &mut receive).unwrap());
            comm.choose("alltoallv", "native").unwrap();
            comm.alltoallv(&[1; 4], (&[1; 4], &places), &mut receive, (&[1; 4], &places)).unwrap();
        })
        .unwrap();
        let made = calls.of_all();
        let varying: Vec<u64> =
            made.iter().filter(|(_, words)| words.starts_with("alltoallv")).map(|(number, _)| *number).collect();
        // 1 is direct, 2 the barrier, 3 exchanges counts, and 7 does once more.
        assert_eq!(varying, [4, 5, 6, 8]);
        assert_eq!(calls.agreed(), [2, 4, 8]);
    });
}

/// Counts that every rank knows need not travel.
#[test]
fn known_lengths_are_native_where_equal_ones_are() {
    watched("known", || {
        let calls = Calls::default();
        let job = offering(topology("complete:3"), &calls, |_| true);
        job.run(|mut comm| {
            let (me, mut all, mut own) = (comm.rank(), [0; 6], [0; 3]);
            for _ in 0..2 {
                comm.allgatherv(&vec![me; me + 1], &mut all, &[1, 2, 3]).unwrap();
                assert_eq!(all, [0, 1, 1, 2, 2, 2]);
            }
            for _ in 0..2 {
                comm.reduce_scatterv(&[me; 6], &[1, 2, 3], &mut own[..=me], Sum).unwrap();
                assert_eq!(own[..=me], [3; 3][..=me]);
            }
            comm.allgatherv(&[me; 2], &mut all, &[2; 3]).unwrap();
            // Only the root knows the lengths of these.
            let counts: &[usize] = if me == 1 { &[1, 2, 3] } else { &[] };
            comm.gatherv(&vec![me; me + 1], (me == 1).then_some(&mut all[..]), counts, 1).unwrap();
            let mut plan = comm.gatherv_init(me + 1, counts, 1).unwrap();
            (0..2).for_each(|_| plan.execute(&mut comm, &vec![me; me + 1], &mut all).unwrap());
        })
        .unwrap();
        let numbers: Vec<u64> = calls.of_all().into_iter().map(|(number, _)| number).collect();
        // 6 is direct, 7 exchanges counts, in 8 the root tells that they are not long.
        assert_eq!(numbers, [1, 2, 3, 4, 5, 9, 10]);
        assert_eq!(calls.agreed(), [1, 3, 5, 9]);
    });
    watched("prices", || {
        let job = WithLibrary.job(topology("mesh:4x4")).options(Options::default().machine(Machine::PARAGON));
        let natives = job.run(|mut comm| {
            let kinds = [Collective::Allgather, Collective::ReduceScatter];
            let cases = kinds.iter().flat_map(|kind| [1, 64, 1024, 65536].map(|bytes| (kind, bytes)));
            let is_native = |(kind, bytes): (&Collective, usize)| {
                let counts: Vec<usize> = (0..16).map(|rank| bytes - 1 + rank % 2 * 2).collect();
                let plan = match kind {
                    Collective::Allgather => comm.allgatherv_init::<u8>(&counts),
                    _ => comm.reduce_scatterv_init::<u8>(&counts, Sum),
                };
                let (plan, name) = (plan.unwrap(), comm.explain(kind, bytes).unwrap().algorithm.name());
                assert!(plan.description().contains(&format!(" by {name}")), "{name}: {}", plan.description());
                name == "native"
            };
            cases.map(is_native).collect::<Vec<bool>>()
        });
        let natives = natives.unwrap();
        assert!(natives[0].contains(&true) && natives[0].contains(&false), "{natives:?}");
    });
}
