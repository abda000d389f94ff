//! Algorithms of a program's own: they work in every collective, and wrong ones are refused.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::custom::{KToAllBroadcast, KToAllParts, KToAllPersonalised};
use necklace::algorithm::{Algorithm, alltoall::Direct, find};
use necklace::collective::{Collective, Custom};
use necklace::communicator::How;
use necklace::communicator::Persistent;
use necklace::error::{ArgumentError, BuildError};
use necklace::op::Max;

use super::custom::{Mine, NETWORKS, Pairs, Twist, differs, fitting, is_wrong, schedule, varying};
use super::definitions::{alltoall, everything, performs};
use super::failures::POISON;
use crate::jobs::{Job, on, topology, watched};

/// Grama et al., problems 4.16, 4.18 and 4.20.
pub(super) fn k_to_all_collectives_are_performed() {
    for (bits, sources) in [(1, vec![0]), (2, vec![0, 3]), (3, vec![1, 6]), (3, vec![4, 1, 2, 7]), (3, vec![5])] {
        watched(&format!("{sources:?} of {}", 1 << bits), move || {
            let (ranks, sources) = (1 << bits, sources.iter().copied().map(Rank::new).collect::<Vec<_>>());
            let parts = (ranks / sources.len()) as u32;
            let kinds: [(Custom, How); 3] = [
                (Custom::k_to_all_broadcast(ranks, &sources), How::from(Arc::new(KToAllBroadcast))),
                (
                    Custom::k_to_all_broadcast_in_parts(ranks, &sources, parts).unwrap(),
                    How::from(Arc::new(KToAllParts)),
                ),
                (Custom::k_to_all_personalised(ranks, &sources), How::from(Arc::new(KToAllPersonalised))),
            ];
            let kinds = kinds.map(|(custom, how)| (Collective::Custom(Arc::new(custom)), how));
            let run = on(&format!("hypercube:{bits}")).run(|mut comm| {
                for (collective, how) in &kinds {
                    for elements in [0, 1, 5, 8] {
                        performs(&mut comm.using(how), collective, elements);
                    }
                    let unfit = comm.perform(collective, &[0_u64; 0], &mut [], Max).unwrap_err();
                    assert!(unfit.to_string().contains("there is no algorithm for it"), "{unfit}");
                    let placed = comm.using(how).perform_in_place(collective, &mut [0_u64], Max).unwrap_err();
                    assert!(matches!(placed.argument(), Some(ArgumentError::Custom)), "{placed}");
                    let plan = comm.using(how).perform_init(collective, 3, Max).map(|plan: Persistent<u64>| plan);
                    let placed = plan.unwrap().in_place(&mut comm).map(drop).unwrap_err();
                    assert!(matches!(placed.argument(), Some(ArgumentError::Custom)), "{placed}");
                }
            });
            run.unwrap();
        });
    }
}

pub(super) fn custom_algorithm_executes_every_collective() {
    for text in NETWORKS {
        watched(text, move || {
            let network = topology(text);
            let all: Vec<_> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| (collective, How::from(Mine::new(&row, Twist::None))))
                .collect();
            let run = Job::on(network).run(|mut comm| {
                for (collective, how) in &all {
                    for elements in [0, 3] {
                        performs(&mut comm.using(how), collective, elements);
                    }
                    comm.choose(collective.name(), how).unwrap();
                    performs(&mut comm, collective, 2);
                    let choice = comm.explain(collective, 16).unwrap();
                    assert!(choice.named && choice.algorithm.name().starts_with("mine"), "{choice}");
                    assert_eq!(choice.candidates.last().unwrap().algorithm.name(), choice.algorithm.name());
                    if comm.rank() == 0 {
                        comm.prove(collective, 16).unwrap();
                    }
                }
                everything::<u64>(&mut comm, 2);
            });
            run.unwrap();
        });
    }
}

pub(super) fn custom_pairwise_algorithm_exchanges_any_lengths() {
    for text in ["complete:1", "ring:2", "complete:7", "torus:3x4"] {
        watched(text, move || {
            let run = on(text).run(|mut comm| {
                let pairs: Arc<dyn Algorithm> = Arc::new(Pairs { shift: 3 });
                let by_schedule = How::from(schedule(comm.topology(), &Collective::Alltoall, "bruck"));
                alltoall::<[f32; 3]>(&mut comm.using(Arc::clone(&pairs)), 3);
                for how in [How::from("bruck"), pairs.into(), by_schedule] {
                    varying(&mut comm.using(&how));
                    varying(&mut comm);
                    comm.choose("alltoallv", &how).unwrap();
                    varying(&mut comm);
                    comm.choose("alltoallv", "auto").unwrap();
                }
            });
            run.unwrap();
        });
    }
}

pub(super) fn wrong_algorithm_is_refused_before_anything_moves() {
    watched("wrong", || {
        let run = on("ring:5").run(|mut comm| {
            let (send, mut receive) = ([1_u64; 5], [POISON; 5]);
            for (twist, words) in [
                (Twist::LosesRound, "not delivered"),
                (Twist::SendsLess, "awaited"),
                (Twist::SendsForeign, "block [-9, 0]"),
                (Twist::SendsTwice, "nothing awaited"),
            ] {
                let how = How::from(Mine::like(&Collective::Alltoall, "ring", twist));
                let outcome = comm.using(&how).alltoall(&send, &mut receive);
                is_wrong(outcome, &receive, &["mine is not a valid schedule of alltoall on ring:5", words]);
                // It does not become right by being asked again, planned, chosen, or for other
                // lengths.
                is_wrong(comm.using(&how).alltoall(&send, &mut receive), &receive, &[words]);
                is_wrong(comm.using(&how).alltoall_init::<u64>(3).map(drop), &receive, &[words]);
                let (one, places) = ([1; 5], [0, 1, 2, 3, 4]);
                let outcome = comm.using(&how).alltoallv(&send, (&one, &places), &mut receive, (&one, &places));
                is_wrong(outcome, &receive, &[words]);
                comm.choose("alltoall", &how).unwrap();
                is_wrong(comm.alltoall(&send, &mut receive), &receive, &[words]);
                assert!(comm.prove(&Collective::Alltoall, 8).unwrap_err().to_string().contains(words));
                comm.choose("alltoall", "auto").unwrap();
            }
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn endless_algorithm_is_refused_before_anything_moves() {
    watched("endless", || {
        // Verified once by the ranks of this process.
        let how = How::from(Mine::like(&Collective::Alltoall, "direct", Twist::NeverEnds));
        let run = on("complete:3").run(|mut comm| {
            let mut receive = [POISON; 3];
            let outcome = comm.using(&how).alltoall(&[1_u64; 3], &mut receive);
            let words = ["mine is not a valid schedule of alltoall on complete:3", "at most 1048582 are allowed"];
            is_wrong(outcome, &receive, &words);
            is_wrong(comm.using(&how).alltoall_init::<u64>(3).map(drop), &receive, &words);
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn algorithm_is_not_chosen_for_a_network_it_refuses() {
    watched("refusal", || {
        let run = on("ring:5").choose("alltoall", "ring").run(|mut comm| {
            let even = How::from(Mine::like(&Collective::Alltoall, "direct", Twist::IsEven));
            let mut outcomes = vec![comm.choose("alltoall", &even), comm.choose("alltoallv", &even)];
            let mut using = comm.using(&even);
            outcomes.push(using.alltoall(&[1_u64; 5], &mut [0; 5]));
            outcomes.push(using.explain(&Collective::Alltoall, 8).map(drop));
            outcomes.push(using.prove(&Collective::Alltoall, 8).map(drop));
            drop(using);
            for outcome in outcomes {
                let error = outcome.unwrap_err();
                let Some(ArgumentError::Build(BuildError::Unfit { algorithm, needs, .. })) = error.argument() else {
                    panic!("{error}")
                };
                assert_eq!((algorithm.as_str(), needs.as_str()), ("mine", "an even number of ranks"));
            }
            // An algorithm of the registry can be brought as a value, too; what the backend does
            // itself is but a name.
            comm.choose("alltoall", Arc::new(Direct)).unwrap();
            let native = find(&Collective::Alltoall, "native").unwrap();
            assert_eq!(comm.choose("alltoall", native).is_ok(), crate::jobs::is_native());
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn different_algorithms_of_one_name_are_found() {
    for (ranks, dissenter) in [(2, 0), (2, 1), (3, 1), (5, 4)] {
        watched(&format!("rank {dissenter} of {ranks}"), move || {
            differs(ranks, dissenter, &Arc::new(Pairs { shift: 0 }).into(), &Arc::new(Pairs { shift: 1 }).into());
        });
    }
}
