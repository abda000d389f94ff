//! Contexts keep apart.

use std::sync::Arc;

use super::Fixture;
use super::crew::{Act, Part, Task, play, together};
use super::delivery::arrives;
use super::draw::{Scene, sketch};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure, OpenError};

/// What [`Endpoint::open`](crate::transport::Endpoint::open) refuses: a member that there is not,
/// one named twice, a context without the process itself, one that is open already.
///
/// # Errors
///
/// What is not so.
pub(super) fn what_cannot_be_opened_is_refused(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        let others: Vec<usize> = (0..3).filter(|rank| *rank != part.rank).collect();
        let open = |context: u64, members: &[usize]| {
            let members: Vec<Rank> = members.iter().copied().map(Rank::new).collect();
            part.endpoint.open(ContextId::WORLD.child(context, 0), &members)
        };
        let me = Rank::new(part.rank);
        let refused = [
            (open(1, &[0, 1, 2, 3]).err(), OpenError::Member { member: Rank::new(3), size: 3 }),
            (open(2, &[0, 1, 2, 1]).err(), OpenError::Twice(Rank::new(1))),
            (open(3, &others).err(), OpenError::Outside(me)),
            (open(4, &[]).err(), OpenError::Outside(me)),
        ];
        let held = open(5, &[0, 1, 2]).map_err(|error| error.to_string())?;
        let again = (open(5, &[0, 1, 2]).err(), OpenError::InUse(ContextId::WORLD.child(5, 0)));
        for (found, expected) in refused.into_iter().chain([again]) {
            if found.as_ref() != Some(&expected) {
                return Err(format!("opening meets {found:?}, not {expected:?}"));
            }
        }
        part.cue.give();
        part.cue.wait(3, part.patience)?;
        drop(held);
        Ok(())
    })
    .map(drop)
}

/// Contexts of some of the ranks, in orders of their own, deliver to the right ones.
///
/// # Errors
///
/// What is not so.
pub(super) fn members_are_numbered_as_they_are_named(fixture: &dyn Fixture) -> Result<(), String> {
    let scenes: Vec<_> = [(3, 11), (5, 12), (2, 13)]
        .into_iter()
        .map(|(size, seed)| Scene::random(size, 4, seed))
        .collect::<Result<_, _>>()?;
    play(fixture, 5, move |part| {
        let groups: [&[usize]; 3] = [&[3, 1, 4], &[4, 2, 0, 1, 3], &[2, 0]];
        for (i, (members, scene)) in groups.into_iter().zip(&scenes).enumerate() {
            if let Some(rank) = members.iter().position(|member| *member == part.rank) {
                let transport = part.open(ContextId::WORLD.child(0, i as u64), members)?;
                if (transport.rank().index(), transport.size()) != (rank, members.len()) {
                    return Err(format!("process {} is rank {} of {members:?}", part.rank, transport.rank()));
                }
                arrives(scene, transport, part)?;
            }
        }
        Ok(())
    })
    .map(drop)
}

/// When a context fails, others of the same ranks, open before or opened after, go on.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_failed_context_leaves_the_others_alone(fixture: &dyn Fixture) -> Result<(), String> {
    let scene = Arc::new(Scene::random(3, 4, 21)?);
    play(fixture, 3, move |part| {
        let before = part.open(ContextId::WORLD.child(1, 0), &[0, 1, 2])?;
        let others: Vec<(usize, u64)> = (0..3).filter(|peer| *peer != part.rank).map(|peer| (peer, 8)).collect();
        let mut failing = part.act(&sketch(&[(0, &others, &others)])?)?;
        if part.rank == 1 {
            let cause = Cause::Aborted { rank: Rank::new(1), reason: "the suite aborts".into() };
            let description = "the suite's call".into();
            failing.transport.abort(Failure {
                call: 0,
                description,
                round: 0,
                observer: Rank::new(1),
                culprit: None,
                cause,
            });
        }
        failing.must_fail()?;
        arrives(&scene, before, part)?;
        arrives(&scene, part.open(ContextId::WORLD.child(2, 0), &[0, 1, 2])?, part)
    })
    .map(drop)
}

/// What was sent for a context that its receiver does not drive yet waits there, while another
/// context of the two goes on.
///
/// # Errors
///
/// What is not so.
pub(super) fn messages_for_a_context_that_nobody_drives_block_no_other(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 2, |part| {
        let open = |which: u64| part.open(ContextId::WORLD.child(7, which), &[0, 1]);
        let peer = [(1 - part.rank, 100)];
        let mut lively = Act::new(open(0)?, &sketch(&[(0, &peer, &peer)])?, part.patience);
        let large = [(1 - part.rank, 4 << 20)];
        let program = match part.rank {
            0 => sketch(&[(0, &large, &[])])?,
            _ => sketch(&[(0, &[], &large)])?,
        };
        let mut idle = Act::new(open(1)?, &program, part.patience);
        idle.memory.input.fill(9);
        let (cue, patience, pause) = (part.cue.clone(), part.patience, part.deadline / 30);
        let mut lively = move || {
            // The idle context has its message under way before.
            cue.wait(1, patience)?;
            std::thread::sleep(pause);
            (0..200).try_for_each(|_| lively.must())
        };
        if part.rank == 0 {
            let cue = part.cue.clone();
            let idle = move || {
                cue.give();
                idle.must()
            };
            let tasks: Vec<Task<()>> = vec![Box::new(idle), Box::new(lively)];
            return together(tasks, part.patience).map(drop);
        }
        lively()?;
        idle.must()?;
        if idle.memory.output[..4 << 20].iter().all(|byte| *byte == 9) { Ok(()) } else { Err("it came garbled".into()) }
    })
    .map(drop)
}

/// Two contexts of the same ranks, each driven by a thread of its own, begun in opposite orders,
/// both go on.
///
/// # Errors
///
/// What is not so.
pub(super) fn contexts_are_driven_in_opposite_orders_by_threads(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 2, |part| {
        let mut tasks = vec![exchange(part, 0)?, exchange(part, 1)?];
        if part.rank == 1 {
            tasks.reverse();
        }
        together(tasks, part.patience).map(drop)
    })
    .map(drop)
}

fn exchange(part: &Part, which: u64) -> Result<Task<()>, String> {
    let transport = part.open(ContextId::WORLD.child(8, which), &[which as usize, 1 - which as usize])?;
    let peer = [(1 - transport.rank().index(), 5000)];
    let mut act = Act::new(transport, &sketch(&[(0, &peer, &peer), (1, &peer, &peer)])?, part.patience);
    act.memory.input.fill(which as u8);
    Ok(Box::new(move || {
        (0..100).try_for_each(|_| act.must())?;
        let right = act.memory.output[..5000].iter().all(|byte| *byte == which as u8);
        if right { Ok(()) } else { Err("what was sent in one context came in another".to_owned()) }
    }))
}

/// Two contexts of the same ranks, driven by one thread a rank in opposite orders, wait for each
/// other: that ends at the deadline.
///
/// # Errors
///
/// What is not so.
pub(super) fn contexts_driven_in_opposite_orders_by_one_thread_end(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 2, |part| {
        let peer = [(1 - part.rank, 8)];
        let program = sketch(&[(0, &peer, &peer)])?;
        let open = |which: usize| part.open(ContextId::WORLD.child(9, which as u64), &[0, 1]);
        let act = |which| open(which).map(|transport| Act::new(transport, &program, part.deadline));
        let mut acts = [act(part.rank)?, act(1 - part.rank)?];
        let failure = acts.iter_mut().find_map(|act| act.run().err());
        failure.ok_or_else(|| format!("rank {} went through both contexts", part.rank))
    })?;
    if failures.iter().any(|failure| matches!(failure.cause, Cause::Deadline { .. })) {
        Ok(())
    } else {
        Err(format!("contexts that wait for each other end by: {failures:?}"))
    }
}
