//! Schedules of a program's own: they execute their problem, and others are refused.

use std::sync::Arc;

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::communicator::How;
use necklace::error::{ArgumentError, BuildError};
use necklace::schedule::{Block, Placement, Problem, Schedule, from_json, to_json};
use necklace::{Node, Options, Rank};

use super::custom::{NETWORKS, differs, fitting, is_wrong, schedule};
use super::definitions::{Dice, alltoall, everything, performs};
use super::failures::POISON;
use crate::jobs::{Job, on, topology, watched};

pub(super) fn schedules_read_from_json_execute_every_collective() {
    for text in NETWORKS {
        watched(text, move || {
            let network = topology(text);
            let all: Vec<_> = fitting(&network)
                .into_iter()
                .map(|(collective, row)| (schedule(&network, &collective, &row.name()).into(), collective))
                .collect::<Vec<(How, _)>>();
            let run = Job::on(network).run(|mut comm| {
                for (how, collective) in &all {
                    performs(&mut comm.using(how), collective, 3);
                    comm.choose(collective.name(), how).unwrap();
                    performs(&mut comm, collective, 2);
                    assert!(comm.explain(collective, 16).unwrap().to_string().contains("schedule \""));
                    if comm.rank() == 0 {
                        comm.prove(collective, 16).unwrap();
                    }
                    comm.choose(collective.name(), "auto").unwrap();
                }
            });
            run.unwrap();
        });
    }
}

pub(super) fn schedule_of_another_problem_is_refused() {
    watched("something else", || {
        let ring = topology("ring:6");
        let rotated = Placement::new((0..6).map(|i| Node::new((i + 1) % 6)).collect(), 6).unwrap();
        let placed = Problem::placed(Arc::clone(&ring), rotated, Collective::Alltoall).unwrap();
        let placed = find(&Collective::Alltoall, "ring").unwrap().shares(&placed).unwrap().collect().unwrap();
        let at = |root| Collective::Broadcast { root: Rank::new(root) };
        let cases = [
            (schedule(&ring, &Collective::Allgather, "ring"), "it is for allgather"),
            (schedule(&topology("ring:5"), &Collective::Alltoall, "ring"), "alltoall among 5 ranks on ring:5"),
            (schedule(&topology("line:6"), &Collective::Alltoall, "direct"), "alltoall among 6 ranks on line:6"),
            (placed, "alltoall among 6 ranks placed on it on ring:6, which are placed otherwise here"),
        ]
        .map(|(schedule, words)| (How::from(schedule), words));
        let broadcast = How::from(schedule(&ring, &at(2), "binomial"));
        let run = Job::on(ring).run(|mut comm| {
            for (how, words) in &cases {
                let outcomes = [
                    comm.choose("alltoall", how),
                    comm.choose("alltoallv", how),
                    comm.using(how).alltoall(&[1_u64; 6], &mut [0; 6]),
                ];
                for outcome in outcomes {
                    let error = outcome.unwrap_err();
                    assert!(
                        matches!(error.argument(), Some(ArgumentError::Build(BuildError::Unfit { .. }))),
                        "{error}"
                    );
                    let said = error.to_string();
                    assert!(said.contains("does not fit alltoall on ring:6") && said.contains(words), "{said}");
                }
            }
            comm.choose("broadcast", &broadcast).unwrap();
            performs(&mut comm, &at(2), 3);
            let said = comm.broadcast(&mut [0_u64], 1).unwrap_err().to_string();
            assert!(said.contains("broadcast from root 1") && said.contains("broadcast from root 2"), "{said}");
            assert!(comm.choose("custom", &broadcast).is_err());
            comm.choose("broadcast", "auto").unwrap();
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
    watched("the same by another name", || {
        // A graph's text says nothing; its links are compared. Where ranks sit is theirs.
        let options = |seed| {
            let order: Vec<Node> = Dice(seed).order(6).into_iter().map(Node::new).collect();
            Placement::new(order, 6).unwrap()
        };
        let network = topology("ring:6");
        let placed = Problem::placed(network, options(1), Collective::Alltoall).unwrap();
        let made = find(&Collective::Alltoall, "ring").unwrap().shares(&placed).unwrap().collect().unwrap();
        let text = to_json(&made).replace("\"ring:6\"", "\"graph\"");
        let edges = "\"edges\":[[0,1],[1,2],[2,3],[3,4],[4,5],[0,5]],\"rounds\"";
        let how = How::from(from_json(&text.replace("\"rounds\"", edges)).unwrap());
        let job = on("ring:6").options(Options::default().placement(options(1)));
        job.run(|mut comm| {
            alltoall::<u64>(&mut comm.using(&how), 3);
            comm.using(&how).prove(&Collective::Alltoall, 8).unwrap();
        })
        .unwrap();
    });
}

pub(super) fn wrong_schedule_is_refused_before_anything_moves() {
    watched("wrong schedules", || {
        let ring = topology("ring:4");
        let right = schedule(&ring, &Collective::Alltoall, "ring");
        let spoilt = |spoil: fn(&mut Schedule)| {
            let mut schedule = right.clone();
            spoil(&mut schedule);
            How::from(schedule)
        };
        let wrong = [
            (spoilt(|all| drop(all.rounds.pop())), "not delivered"),
            (spoilt(|all| drop(all.rounds[0].transfers.remove(1))), "not held"),
            (spoilt(|all| all.rounds.swap(0, 2)), "not held"),
            (spoilt(|all| all.rounds[0].transfers[0].blocks.push(Block::raw(0, 99))), "99"),
            (spoilt(|all| all.rounds[0].transfers[0].destination = all.rounds[0].transfers[0].source), "itself"),
        ];
        let stray = [
            spoilt(|all| all.rounds[1].transfers[0].destination = Rank::new(4)),
            spoilt(|all| {
                let mut far = all.rounds[0].transfers[0].clone();
                (far.source, far.destination) = (Rank::new(17), Rank::new(18));
                all.rounds[0].transfers.push(far);
            }),
        ];
        // Right where the operation commutes, and only there.
        let mut unordered = schedule(&ring, &Collective::Scan, "recursive-doubling");
        for transfer in unordered.rounds.iter_mut().flat_map(|round| &mut round.transfers) {
            transfer.combine = necklace::schedule::Combine::Right;
        }
        let unordered = How::from(unordered);
        let run = Job::on(ring).run(|mut comm| {
            let (send, mut receive) = ([1_u64; 4], [POISON; 4]);
            for (how, words) in &wrong {
                is_wrong(comm.using(how).alltoall(&send, &mut receive), &receive, &["on ring:4", words]);
            }
            for how in &stray {
                let said = comm.using(how).alltoall(&send, &mut receive).unwrap_err().to_string();
                assert!(said.contains("it has ranks 0 to 3"), "{said}");
                assert!(comm.choose("alltoall", how).is_err());
            }
            let last = necklace::op::by("last", |_, right| right);
            is_wrong(comm.using(&unordered).scan(&send, &mut receive, last), &receive, &["scan"]);
            comm.using(&unordered).scan(&send, &mut receive, necklace::op::Sum).unwrap();
            assert_eq!(receive, [comm.rank() as u64 + 1; 4]);
            everything::<u64>(&mut comm, 3);
        });
        run.unwrap();
    });
}

pub(super) fn different_schedules_of_one_name_are_found() {
    for (ranks, dissenter) in [(2, 1), (5, 2)] {
        watched(&format!("rank {dissenter} of {ranks}"), move || {
            let network = topology(&format!("complete:{ranks}"));
            let most = schedule(&network, &Collective::Alltoall, "direct-rotated");
            // The same messages, and an empty round.
            let mut odd = most.clone();
            odd.rounds.insert(0, odd.rounds[0].clone());
            odd.rounds[0].transfers.clear();
            differs(ranks, dissenter, &most.into(), &odd.into());
        });
    }
}
