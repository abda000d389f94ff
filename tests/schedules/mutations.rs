//! The verifier is tested by mutation: whatever is done to a good schedule, it objects, and says
//! where.
use crate::fixtures::*;
use crate::replay::is_correct;
use necklace::Channel;
use necklace::collective::Collective;
use necklace::schedule::{
    Block, Combine, LocalStep, Ports, Route, Schedule, Transfer, Violation, ViolationKind, Violations, verify,
};
use necklace::{Node, Rank};

/// Whether a fault is the one that is looked for.
type Is = fn(&ViolationKind) -> bool;

/// Every fixture, every transfer of it, changed by `mutate`; `None` where that does not apply.
fn each(mutate: impl Fn(&Fixture, &mut Schedule, usize, usize) -> Option<()>, check: impl Fn(&Transfer, Case<'_>)) {
    let mut cases = 0;
    for fixture in all() {
        for r in 0..fixture.schedule.rounds.len() {
            for t in 0..fixture.schedule.rounds[r].transfers.len() {
                let mut schedule = fixture.schedule.clone();
                if mutate(&fixture, &mut schedule, r, t).is_none() {
                    continue;
                }
                cases += 1;
                let original = &fixture.schedule.rounds[r].transfers[t];
                let name = format!("{}, round {r}, transfer {t} ({original:?})", fixture.name);
                let violations = verify(&schedule).err().unwrap_or_else(|| panic!("{name}: not noticed"));
                check(original, Case { name, round: r, violations, schedule: &schedule });
            }
        }
    }
    assert!(cases > 20, "only {cases} cases");
}

struct Case<'a> {
    name: String,
    round: usize,
    violations: Violations,
    schedule: &'a Schedule,
}

impl Case<'_> {
    /// A violation in this round, of this transfer, with this kind.
    fn names(&self, round: usize, ends: (Rank, Rank), is: impl Fn(&Violation) -> bool) {
        let here = |v: &&Violation| v.location.round == Some(round) && v.location.transfer == Some(ends);
        let found = self.violations.all().iter().filter(here).any(is);
        assert!(found, "{}: round {round}, {} to {} is not named: {}", self.name, ends.0, ends.1, self.violations);
    }

    /// A violation that follows from what this rank did not get, or got wrongly: later, at the rank
    /// or at one that hears of it from there.
    fn follows(&self, from: Rank) {
        let mut reached = vec![from];
        for round in &self.schedule.rounds[self.round..] {
            let next = round.transfers.iter().filter(|t| reached.contains(&t.source)).map(|t| t.destination);
            let next: Vec<Rank> = next.collect();
            reached.extend(next);
        }
        let concerned = |rank: Rank| reached.contains(&rank);
        let here = |v: &Violation| {
            let later = v.location.round.is_none_or(|round| round >= self.round);
            let at = v.location.rank.into_iter().chain(v.location.transfer.into_iter().flat_map(|(s, d)| [s, d]));
            later && at.into_iter().any(concerned)
        };
        assert!(
            self.violations.all().iter().any(here),
            "{}: nothing about rank {from}: {}",
            self.name,
            self.violations
        );
    }
}

fn ends(transfer: &Transfer) -> (Rank, Rank) {
    (transfer.source, transfer.destination)
}

#[test]
fn dropped_transfer_is_detected() {
    each(
        |_, schedule, r, t| {
            schedule.rounds[r].transfers.remove(t);
            Some(())
        },
        |original, case| case.follows(original.destination),
    );
}

#[test]
fn repeated_transfer_in_a_round_is_named() {
    each(
        |_, schedule, r, t| {
            let transfer = schedule.rounds[r].transfers[t].clone();
            schedule.rounds[r].transfers.push(transfer);
            Some(())
        },
        |original, case| {
            case.names(case.round, ends(original), |v| {
                let fault = &v.kind;
                matches!(
                    fault,
                    ViolationKind::NotHeld | ViolationKind::ReplacedTwice { .. } | ViolationKind::CountedTwice { .. }
                )
            });
            // They share every channel.
            if case.schedule.outline.contention_free {
                case.names(case.round, ends(original), |v| matches!(v.kind, ViolationKind::ChannelShared { .. }));
            }
        },
    );
}

#[test]
fn transfer_repeated_in_the_next_round_is_detected() {
    each(
        |fixture, schedule, r, t| {
            let transfer = schedule.rounds[r].transfers[t].clone();
            schedule.rounds.insert(r + 1, round(vec![transfer]).in_phase(schedule.rounds[r].phase));
            // A temporary may hold something else by now, which is then overwritten once more, to
            // no effect.
            (!fixture.name.starts_with("scan") && !fixture.name.starts_with("exscan")).then_some(())
        },
        |original, case| {
            case.names(case.round + 1, ends(original), |v| {
                matches!(
                    v.kind,
                    ViolationKind::NotHeld | ViolationKind::Redundant { .. } | ViolationKind::CountedTwice { .. }
                )
            });
        },
    );
}

#[test]
fn misdirected_transfer_is_detected() {
    for step in 1..4 {
        each(
            |fixture, schedule, r, t| {
                let n = fixture.schedule.outline.problem.ranks();
                let transfer = &mut schedule.rounds[r].transfers[t];
                let other = rank((transfer.destination.index() + step) % n);
                // In a reduction another rank may pass it on.
                let changed = step < n && other != transfer.source && !fixture.name.starts_with("binomial reduce");
                (transfer.destination, transfer.route) = (other, Route::Default);
                changed.then_some(())
            },
            |original, case| case.follows(original.destination),
        );
    }
}

#[test]
fn transfer_to_itself_or_out_of_range_is_named() {
    each(
        |_, schedule, r, t| {
            let transfer = &mut schedule.rounds[r].transfers[t];
            transfer.destination = transfer.source;
            Some(())
        },
        |original, case| {
            case.names(case.round, (original.source, original.source), |v| v.kind == ViolationKind::ToItself)
        },
    );
    let nobody = rank(1000);
    each(
        |_, schedule, r, t| {
            schedule.rounds[r].transfers[t].source = nobody;
            Some(())
        },
        |original, case| {
            case.names(
                case.round,
                (nobody, original.destination),
                |v| matches!(v.kind, ViolationKind::RankRange { found, .. } if found == nobody),
            );
        },
    );
}

#[test]
fn early_transfer_is_named() {
    each(
        |fixture, schedule, r, t| {
            let transfer = schedule.rounds[r].transfers.remove(t);
            schedule.rounds.get_mut(r.checked_sub(1)?)?.transfers.push(transfer);
            fixture.chained.then_some(())
        },
        |original, case| {
            // It is not held yet; or, if it is, it is one too many for the ports, or comes before
            // what it must follow.
            let round = case.round - 1;
            let named = case
                .violations
                .all()
                .iter()
                .any(|v| v.location.round == Some(round) && v.location.transfer == Some(ends(original)));
            if !named {
                Case { round, ..case }.follows(original.destination);
            }
        },
    );
}

#[test]
fn rounds_in_the_wrong_order_are_detected() {
    for fixture in all().into_iter().filter(|fixture| fixture.chained) {
        for r in 1..fixture.schedule.rounds.len() {
            let mut schedule = fixture.schedule.clone();
            schedule.rounds.swap(r - 1, r);
            let violations = verify(&schedule).err().unwrap_or_else(|| panic!("{}, {r}: not noticed", fixture.name));
            let first = violations.all()[0].location.round;
            assert!(first.is_none_or(|round| round >= r - 1), "{}: {violations}", fixture.name);
        }
    }
}

#[test]
fn route_to_another_node_is_named() {
    type Reroute = fn(Vec<Node>, usize) -> Vec<Node>;
    let reroutes: [(Reroute, Is); 6] = [
        (|_, _| vec![], |fault| matches!(fault, ViolationKind::RouteEnds { found: None, .. })),
        (|route, _| route[..route.len() - 1].to_vec(), |fault| matches!(fault, ViolationKind::RouteEnds { .. })),
        (|route, _| route[1..].to_vec(), |fault| matches!(fault, ViolationKind::RouteEnds { .. })),
        (|route, _| route.into_iter().rev().collect(), |fault| matches!(fault, ViolationKind::RouteEnds { .. })),
        // A node twice in a row: no channel leads from a node to itself.
        (
            |route, _| [&route[..1], &route].concat(),
            |fault| matches!(fault, ViolationKind::NoChannel { found } if found.from == found.to),
        ),
        (
            |route, nodes| [&route[..1], &[Node::new(nodes)], &route[1..]].concat(),
            |fault| matches!(fault, ViolationKind::RouteNode { .. }),
        ),
    ];
    for (reroute, is) in reroutes {
        each(
            |_, schedule, r, t| {
                let problem = schedule.outline.problem.clone();
                let transfer = &mut schedule.rounds[r].transfers[t];
                let [from, to] = [transfer.source, transfer.destination].map(|end| problem.placement().node(end));
                let route = problem.topology().route(from, to);
                transfer.route = Route::Via(reroute(route, problem.topology().nodes()));
                Some(())
            },
            |original, case| case.names(case.round, ends(original), |v| is(&v.kind)),
        );
    }
}

#[test]
fn route_over_a_missing_channel_is_named() {
    let mut schedule = direct_gather(5, 4);
    schedule.rounds[0].transfers[1].route = Route::Via(vec![Node::new(1), Node::new(4)]);
    let violations = verify(&schedule).unwrap_err();
    let found = Channel { from: Node::new(1), to: Node::new(4) };
    assert_eq!(violations.all().iter().map(|v| &v.kind).collect::<Vec<_>>(), [&ViolationKind::NoChannel { found }]);
    // The long way round is one, but it may be in others' way.
    schedule.rounds[0].transfers[1].route = Route::Via([1, 2, 3, 4].map(Node::new).to_vec());
    assert_eq!(verify(&schedule).unwrap().hops, 3);
    schedule.outline.contention_free = true;
    let violations = verify(&schedule).unwrap_err();
    let named: Vec<_> = violations.all().iter().map(|v| (v.location.transfer, v.kind.clone())).collect();
    let channel = |from, to| Channel { from: Node::new(from), to: Node::new(to) };
    let shared =
        |from, to, other| ViolationKind::ChannelShared { channel: channel(from, to), other: (rank(other), rank(4)) };
    let expected = [
        (Some((rank(2), rank(4))), shared(2, 3, 1)),
        (Some((rank(2), rank(4))), shared(3, 4, 1)),
        (Some((rank(3), rank(4))), shared(3, 4, 1)),
    ];
    assert_eq!(named, expected);
}

#[test]
fn wrong_combination_is_detected() {
    let reductions = ["doubling allreduce", "ring allreduce", "ring reduce-scatter", "binomial reduce"];
    let is_reduction = |fixture: &Fixture| reductions.iter().any(|name| fixture.name.starts_with(name));
    // A replacement in place of a combination.
    each(
        |fixture, schedule, r, t| {
            let combine = &mut schedule.rounds[r].transfers[t].combine;
            let changed = *combine != Combine::Replace && is_reduction(fixture);
            *combine = Combine::Replace;
            changed.then_some(())
        },
        |original, case| case.follows(original.destination),
    );
    // A combination in place of a replacement.
    each(
        |fixture, schedule, r, t| {
            let combine = &mut schedule.rounds[r].transfers[t].combine;
            let changed = *combine == Combine::Replace && fixture.name.starts_with("ring allreduce");
            *combine = Combine::Right;
            changed.then_some(())
        },
        |original, case| {
            case.names(case.round, ends(original), |v| matches!(v.kind, ViolationKind::CountedTwice { .. }))
        },
    );
    // Before and after are exchanged, which matters if the operation does not commute.
    each(
        |_, schedule, r, t| {
            let ordered = !schedule.outline.problem.commutative();
            let combine = &mut schedule.rounds[r].transfers[t].combine;
            let changed = ordered && *combine != Combine::Replace;
            *combine = if *combine == Combine::Left { Combine::Right } else { Combine::Left };
            changed.then_some(())
        },
        |original, case| {
            case.follows(original.destination);
            assert!(case.violations.all().iter().any(|v| matches!(v.kind, ViolationKind::WrongOrder { .. })));
        },
    );
}

#[test]
fn wrong_blocks_are_detected() {
    // One less.
    each(
        |_, schedule, r, t| schedule.rounds[r].transfers[t].blocks.pop().map(drop),
        |original, case| case.follows(original.destination),
    );
    // One twice.
    each(
        |_, schedule, r, t| {
            let blocks = &mut schedule.rounds[r].transfers[t].blocks;
            blocks.push(blocks[0]);
            Some(())
        },
        |original, case| {
            case.names(case.round, ends(original), |v| {
                (v.location.block, &v.kind) == (original.blocks.first().copied(), &ViolationKind::CarriedTwice)
            });
        },
    );
    // A block that no rank holds, one out of range, and one with another number of chunks.
    type Extra = fn(Block) -> Block;
    let more: [(Extra, Is); 3] = [
        (|_| Block::temporary(77), |fault| *fault == ViolationKind::NotHeld),
        (|_| Block::raw(0, 1000), |fault| matches!(fault, ViolationKind::BlockRange { found: 1000, .. })),
        (
            |block| part(block.whole(), 0, block.of() as usize + 1, 1),
            |fault| matches!(fault, ViolationKind::Cut { .. }),
        ),
    ];
    for (extra, is) in more {
        each(
            |_, schedule, r, t| {
                let blocks = &mut schedule.rounds[r].transfers[t].blocks;
                blocks.push(extra(blocks[0]));
                Some(())
            },
            |original, case| {
                let block = Some(extra(original.blocks[0]));
                case.names(case.round, ends(original), |v| v.location.block == block && is(&v.kind));
            },
        );
    }
}

#[test]
fn order_of_blocks_in_a_transfer_does_not_matter() {
    for Fixture { name, mut schedule, .. } in all() {
        schedule.rounds.iter_mut().flat_map(|round| &mut round.transfers).for_each(|t| t.blocks.reverse());
        assert!(verify(&schedule).is_ok(), "{name}");
    }
}

#[test]
fn port_model_is_checked() {
    let faults = |mut schedule: Schedule, ports| {
        (schedule.outline.ports, schedule.outline.contention_free) = (ports, false);
        let violations = verify(&schedule).err();
        violations.map_or(vec![], |violations| violations.all().iter().map(|v| v.kind.clone()).collect())
    };
    // Four transfers to one rank, two over each of its channels.
    let gather = || direct_gather(5, 4);
    let receives = |found| ViolationKind::Receives { ports: Ports::One, found, allowed: 1 };
    assert_eq!(faults(gather(), Ports::One), [2, 3, 4].map(receives));
    assert_eq!(faults(gather(), Ports::OneSend), []);
    assert_eq!(faults(gather(), Ports::SameValue), []);
    assert!(faults(gather(), Ports::All).iter().all(|fault| matches!(fault, ViolationKind::ChannelShared { .. })));
    assert_eq!(faults(gather(), Ports::All).len(), 2);
    assert_eq!(faults(gather(), Ports::Unlimited), []);
    // Two different halves, one each way, from each of 3 ranks in 2 rounds.
    let two_way = || two_way_allgather(3);
    assert_eq!(faults(two_way(), Ports::One).len(), 12);
    assert_eq!(faults(two_way(), Ports::OneSend).len(), 6);
    let other = |fault: &ViolationKind| matches!(fault, ViolationKind::OtherValue { .. });
    assert!(faults(two_way(), Ports::SameValue).iter().all(other));
    assert_eq!(faults(two_way(), Ports::SameValue).len(), 6);
    assert_eq!(faults(two_way(), Ports::All), []);
    // The same block to both, but the long way to one of them.
    let block = vec![Block::from(rank(0))];
    let rounds = vec![round(vec![send(0, 1, block.clone()), via(send(0, 2, block), &[0, 1, 2])])];
    let same = schedule("ring:3", Collective::Broadcast { root: rank(0) }, Ports::SameValue, false, rounds);
    let channel = Channel { from: Node::new(0), to: Node::new(1) };
    assert_eq!(faults(same, Ports::SameValue), [ViolationKind::SameChannel { channel, other: rank(1) }]);
}

#[test]
fn differently_grouped_chunks_are_the_same_value() {
    let block = Block::from(rank(0));
    let pieces = vec![part(block, 0, 4, 1), part(block, 1, 4, 3)];
    let rounds = vec![round(vec![send(0, 1, vec![part(block, 0, 4, 4)]), send(0, 2, pieces)])];
    let same = schedule("ring:3", Collective::Broadcast { root: rank(0) }, Ports::SameValue, true, rounds);
    assert_eq!(verify(&same).unwrap().transmission.to_string(), "1");
}

#[test]
fn double_replacement_is_named() {
    let block = vec![Block::from(rank(0))];
    let first = round(vec![send(0, 1, block.clone())]);
    let both = round(vec![send(0, 2, block.clone()), send(1, 2, block)]);
    let broadcast = Collective::Broadcast { root: rank(0) };
    let violations = verify(&schedule("ring:3", broadcast, Ports::Unlimited, true, vec![first, both])).unwrap_err();
    assert_eq!(violations.count(), 1);
    assert_eq!(violations.all()[0].location.transfer, Some((rank(1), rank(2))));
    assert_eq!(violations.all()[0].kind, ViolationKind::ReplacedTwice { other: (rank(0), rank(2)) });
}

#[test]
fn sending_a_personalised_block_gives_it_up() {
    let mut schedule = direct_alltoall(3);
    let again = schedule.rounds[0].transfers[0].blocks.clone();
    schedule.rounds[1].transfers[0].blocks.extend(again.clone());
    let violations = verify(&schedule).unwrap_err();
    let place = violations.all()[0].location;
    assert_eq!(
        (place.round, place.block, &violations.all()[0].kind),
        (Some(1), Some(again[0]), &ViolationKind::NotHeld)
    );
    assert_eq!(violations.count(), 1);
}

#[test]
fn phases_must_be_named_and_in_order() {
    let phases = |found: [usize; 4]| {
        let mut schedule = ring_allreduce(3);
        schedule.rounds.iter_mut().zip(found).for_each(|(round, phase)| round.phase = phase);
        let violations = verify(&schedule).err();
        violations.map_or(vec![], |v| v.all().iter().map(|v| (v.location.round, v.kind.clone())).collect())
    };
    assert_eq!(phases([0, 1, 1, 1]), []);
    assert_eq!(phases([0, 1, 0, 1]), [(Some(2), ViolationKind::PhaseOrder { found: 0, before: 1 })]);
    assert_eq!(phases([0, 0, 1, 2]), [(Some(3), ViolationKind::PhaseRange { found: 2, phases: 2 })]);
}

#[test]
fn local_steps_are_checked() {
    let n = 3;
    let faults = |r: usize, changed: &dyn Fn(&mut (Rank, LocalStep))| {
        let mut schedule = scan(n);
        changed(&mut schedule.rounds[r].local[0]);
        let violations = verify(&schedule).unwrap_err();
        let first = &violations.all()[0];
        (first.location.round, first.location.rank, first.kind.clone())
    };
    let own = Block::result(rank(0));
    let aside = Block::temporary(0);
    let at = |fault| (Some(0), Some(rank(0)), fault);
    assert_eq!(faults(0, &|(_, step)| step.from = Block::temporary(9)), at(ViolationKind::NotHeld));
    let into = part(aside, 0, 2, 2);
    assert_eq!(faults(0, &|(_, step)| step.into = into), at(ViolationKind::LocalSize { from: own, into }));
    assert_eq!(faults(0, &|(_, step)| step.into = own), at(ViolationKind::LocalOverlap { from: own, into: own }));
    let range = ViolationKind::RankRange { found: rank(n), ranks: n };
    assert_eq!(faults(0, &|(at, _)| *at = rank(n)), (Some(0), Some(rank(n)), range));
    let counted = faults(0, &|(_, step)| (step.from, step.into) = (aside, own));
    assert_eq!(counted, at(ViolationKind::NotHeld));
    // Rank 1 in round 1: what has arrived takes the place of its own, or comes after it.
    let (_, at, fault) = faults(1, &|(_, step)| step.combine = Combine::Replace);
    assert!(matches!(fault, ViolationKind::WrongContributors { .. }), "{fault}");
    assert_eq!(at, Some(rank(1)));
    let (_, at, fault) = faults(1, &|(_, step)| step.combine = Combine::Right);
    assert!(matches!(fault, ViolationKind::WrongOrder { .. }), "{fault}");
    assert_eq!(at, Some(rank(1)));
}

#[test]
fn dropped_local_step_is_detected_if_it_is_needed() {
    // The scan has seven copies that no rank needs: in its four rounds, 1, 2, 3 and 1 ranks copy
    // what they never send. In the exscan, the last rank combines what it never sends.
    for (fixture, idle) in [(scan(5), 7), (exscan(5), 1)] {
        let mut needless = 0;
        for r in 0..fixture.rounds.len() {
            for l in 0..fixture.rounds[r].local.len() {
                let mut schedule = fixture.clone();
                let (at, step) = schedule.rounds[r].local.remove(l);
                let correct = is_correct(&schedule);
                assert_eq!(verify(&schedule).is_ok(), correct, "round {r}, rank {at}: {step:?}");
                needless += usize::from(correct);
            }
        }
        assert_eq!(needless, idle);
    }
}

#[test]
fn all_violations_are_counted_and_the_first_shown() {
    let mut schedule = direct_alltoall(8);
    schedule.rounds.clear();
    let violations = verify(&schedule).unwrap_err();
    assert_eq!((violations.count(), violations.all().len()), (56, 56));
    let text = violations.to_string();
    assert!(text.starts_with("56 violations\n  rank 0, block [1, 0]: not delivered, expected from {1}\n"), "{text}");
    assert!(text.ends_with("\n  and 46 more"), "{text}");
    assert_eq!(violations.figures().rounds, 0);
}
