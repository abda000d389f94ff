//! What a choice of algorithm applies to: one call, later calls, plans, parts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::error::{ArgumentError, BuildError};
use necklace::permutation::BitMap;
use necklace::{Communicator, Error, Options, Rank};

use super::custom::{Mine, NETWORKS, Pairs, Twist, fitting, schedule, varying};
use super::definitions::{Dice, alltoall, block, everything, performs, poisoned, same};
use super::failures::POISON;
use crate::jobs::{Job, on, topology, watched};

fn explained(comm: &Communicator) -> String {
    comm.explain(&Collective::Alltoall, 8).unwrap().algorithm.name()
}

pub(super) fn using_applies_to_one_call_only() {
    watched("one call", || {
        let run = on("hypercube:4").choose("alltoall", "ring").run(|mut comm| {
            let own = How::from(Arc::new(Pairs { shift: 0 }));
            assert_eq!(explained(&comm.using(&own)), "pairs");
            assert_eq!(explained(&comm), "ring");
            {
                let mut outer = comm.using("bruck:radix=4");
                assert_eq!(explained(&outer), "bruck:radix=4");
                assert_eq!(explained(&outer.using(&own)), "pairs");
                assert_eq!(explained(&outer), "bruck:radix=4");
                alltoall::<u64>(&mut outer, 2);
                // A choice that is made meanwhile applies afterwards.
                outer.choose("alltoall", "direct").unwrap();
                assert_eq!(explained(&outer), "bruck:radix=4");
                // Calls that a communicator makes by itself are its own affair.
                let part = outer.split(0, 0).unwrap();
                assert_eq!(explained(&part), "direct");
            }
            assert_eq!(explained(&comm), "direct");
            let map = BitMap::consecutive_to_cyclic(8, 4).unwrap();
            let (send, mut receive) = ([1_u8; 16], [0; 16]);
            for way in ["exchange", "straight"] {
                let report = comm.using(way).permute(&map, &send, &mut receive).unwrap();
                assert_eq!(report.method.to_string().contains("straight"), way == "straight", "{report}");
            }
            alltoall::<u64>(&mut comm, 2);
        });
        run.unwrap();
    });
}

pub(super) fn refused_call_keeps_the_earlier_choice() {
    watched("failing", || {
        let run = on("ring:6").choose("alltoall", "ring").run(|mut comm| {
            let (send, mut receive) = ([1_u64; 6], [POISON; 6]);
            let unfit = comm.using("direct-xor").alltoall(&send, &mut receive);
            assert!(
                matches!(
                    unfit.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unfit { .. }))
                ),
                "{unfit:?}"
            );
            let unknown = comm.using("brick").alltoall(&send, &mut receive);
            assert!(
                matches!(
                    unknown.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unknown { .. }))
                ),
                "{unknown:?}"
            );
            let other = comm.using("torus-exchange").barrier();
            assert!(
                matches!(
                    other.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unknown { .. }))
                ),
                "{other:?}"
            );
            let length = comm.using("bruck").alltoall(&send, &mut receive[1..]);
            assert!(
                matches!(length.as_ref().err().and_then(Error::argument), Some(ArgumentError::Length { .. })),
                "{length:?}"
            );
            let pairs = How::from(Arc::new(Pairs { shift: 0 }));
            let way = comm.using(&pairs).permute(&BitMap::bit_reversal(4).unwrap(), &[0_u8; 4], &mut [0; 4]);
            assert!(way.is_err());
            let way = comm.choose("permute", &pairs);
            assert!(
                matches!(
                    way.as_ref().err().and_then(Error::argument),
                    Some(ArgumentError::Build(BuildError::Unfit { .. }))
                ),
                "{way:?}"
            );
            let kind = comm.using(&pairs).allgather(&[1_u64], &mut receive);
            assert!(kind.unwrap_err().to_string().contains("it is for alltoall"));
            assert!(receive.iter().all(|&element| element == POISON), "{receive:x?}");
            assert_eq!(explained(&comm), "ring");
            everything::<u64>(&mut comm, 2);
            // Nothing remains of a choice that is kept in a variable and dropped.
            let mut using = comm.using("brick");
            using.barrier().unwrap_err();
            drop(using);
            everything::<u64>(&mut comm, 2);
        });
        run.unwrap();
    });
}

pub(super) fn plans_of_different_algorithms_are_cached_separately() {
    watched("plans", || {
        let run = on("complete:4").run(|mut comm| {
            // Algorithms of this rank alone.
            let mine = Mine::like(&Collective::Alltoall, "ring", Twist::None);
            let chosen = Mine::like(&Collective::Alltoall, "direct", Twist::None);
            comm.choose("alltoall", Arc::clone(&chosen)).unwrap();
            let made = || [&mine, &chosen].map(|one| one.made.load(Ordering::Relaxed));
            alltoall::<u64>(&mut comm, 2);
            alltoall::<u64>(&mut comm.using(Arc::clone(&mine)), 2);
            let before = made();
            assert!(before.iter().all(|&made| made > 0), "{before:?}");
            for _ in 0..3 {
                alltoall::<u64>(&mut comm, 2);
                alltoall::<u64>(&mut comm.using(Arc::clone(&mine)), 2);
                alltoall::<u64>(&mut comm.using("bruck"), 2);
                comm.choose("allgather", "ring").unwrap();
            }
            assert_eq!(made(), before);
            // For another length there is another plan, but what was proved stays proved.
            let how = How::from(Arc::clone(&mine));
            alltoall::<u64>(&mut comm.using(&how), 3);
            let once = made()[0];
            alltoall::<u64>(&mut comm.using(&how), 4);
            let (first, second) = (once - before[0], made()[0] - once);
            assert!(second < first, "{first} shares were made, then {second}");
            comm.choose("alltoall", "auto").unwrap();
            alltoall::<u64>(&mut comm, 2);
            assert_eq!(made()[1], before[1]);
        });
        run.unwrap();
    });
}

pub(super) fn persistent_plan_keeps_its_algorithm() {
    watched("persistent", || {
        let run = on("ring:6").run(|mut comm| {
            let (me, size) = (comm.rank(), comm.size());
            let how = How::from(schedule(comm.topology(), &Collective::Alltoall, "ring"));
            let hows = [Arc::new(Pairs { shift: 1 }).into(), how, "bruck:radix=3".into()];
            let mut plans = hows.map(|how| comm.using(how).alltoall_init::<u64>(2).unwrap());
            let words: Vec<&str> = plans.iter().map(|plan| plan.description()).collect();
            assert!(words[0].contains("by pairs [") && words[0].contains("] on ring:6"), "{words:?}");
            assert!(
                words[1].contains("by schedule \"ring\" [") && words[2].contains("by bruck:radix=3 on"),
                "{words:?}"
            );
            comm.choose("alltoall", "direct").unwrap();
            let send: Vec<u64> = (0..size).flat_map(|to| block(me, to, 2)).collect();
            let wanted: Vec<u64> = (0..size).flat_map(|from| block(from, me, 2)).collect();
            for plan in &mut plans {
                let mut receive = poisoned(wanted.len());
                plan.execute(&mut comm, &send, &mut receive).unwrap();
                same(&comm, "planned alltoall", &receive, &wanted);
            }
        });
        run.unwrap();
    });
}

pub(super) fn parts_inherit_fitting_choices() {
    watched("parts", || {
        let run = on("torus:4x6").run(|mut comm| {
            let (row, column) = (comm.rank() as u32 / 6, comm.rank() as u32 % 6);
            let whole = How::from(schedule(comm.topology(), &Collective::Allgather, "ring"));
            comm.choose("alltoall", "torus-exchange").unwrap();
            comm.choose("alltoallv", Mine::like(&Collective::Alltoall, "direct", Twist::IsEven)).unwrap();
            comm.choose("allgather", &whole).unwrap();
            comm.choose("broadcast", Mine::like(&at_zero(), "binomial", Twist::IsEven)).unwrap();
            let chosen = |comm: &Communicator| {
                [Collective::Alltoall, Collective::Allgather, at_zero()].map(|collective| {
                    let choice = comm.explain(&collective, 8).unwrap();
                    choice.named.then(|| choice.algorithm.name())
                })
            };
            let (exchange, mine) = (Some("torus-exchange".to_owned()), Some("mine".to_owned()));
            // All ranks on all nodes: the same problem.
            let mut all = comm.split(0, 0).unwrap();
            assert_eq!(chosen(&all), [exchange.clone(), Some("schedule \"ring\"".to_owned()), mine.clone()]);
            // A ring of 6, and a ring of 4, to parts of which nothing is known.
            let mut along = comm.split(row, 0).unwrap();
            assert_eq!(chosen(&along), [exchange.clone(), None, mine.clone()]);
            let mut third = along.split(column % 2, 0).unwrap();
            assert_eq!((third.topology().text().as_str(), chosen(&third)), ("complete:3", [None, None, None]));
            // Those of another order sit elsewhere.
            let mut back = comm.split(0, -(comm.rank() as i64)).unwrap();
            assert_eq!(chosen(&back)[1], None);
            for part in [&mut all, &mut along, &mut third, &mut back, &mut comm] {
                everything::<u64>(part, 2);
                varying(part);
            }
        });
        run.unwrap();
    });
}

fn at_zero() -> Collective {
    Collective::Broadcast { root: Rank::new(0) }
}

pub(super) fn random_choices_have_correct_results() {
    for seed in 0..6 {
        let text = NETWORKS[1 + seed as usize];
        watched(&format!("{text}, seed {seed}"), move || {
            let network = topology(text);
            let hows: Vec<(Collective, [How; 3])> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| {
                    let own = Mine::new(&row, Twist::None).into();
                    let read = schedule(&network, &collective, &row.name()).into();
                    (collective, [row.name().into(), own, read])
                })
                .collect();
            let run = Job::on(network).options(Options::default().cache(4, 1 << 16)).run(|comm| {
                let (mut dice, mut comms) = (Dice(seed), vec![comm]);
                for _ in 0..60 {
                    let (collective, hows) = &hows[dice.below(hows.len())];
                    let (how, elements) = (&hows[dice.below(3)], dice.below(4));
                    let which = dice.below(comms.len());
                    match dice.below(4) {
                        0 => comms[which].choose(collective.name(), how).unwrap(),
                        1 => comms[which].choose(collective.name(), "auto").unwrap(),
                        2 if comms.len() < 4 => {
                            let part = comms[which].split(0, 0).unwrap();
                            comms.push(part);
                        }
                        _ => performs(&mut comms[which].using(how), collective, elements),
                    }
                    performs(&mut comms[which], collective, elements);
                }
            });
            run.unwrap();
        });
    }
}
