//! Contexts are separate.

use std::sync::Arc;

use super::Fixture;
use super::delivery::arrives;
use super::scenario::{Scenario, program_of};
use super::test_group::{Runner, Task, TestRank, run_ranks, run_threads};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure, OpenError};

/// [`Endpoint::open`](crate::transport::Endpoint::open) refuses a member that does not exist, a
/// member named twice, a context without the process itself, and a context that is already open.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn invalid_or_repeated_open_is_refused(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        let others: Vec<usize> = (0..3).filter(|rank| *rank != test.rank).collect();
        let open = |context: u64, members: &[usize]| {
            let members: Vec<Rank> = members.iter().copied().map(Rank::new).collect();
            test.endpoint.open(ContextId::WORLD.child(context, 0), &members)
        };
        let me = Rank::new(test.rank);
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
                return Err(format!("open returns {found:?}, not {expected:?}"));
            }
        }
        test.events.advance();
        test.events.wait_for(3, test.timeout)?;
        drop(held);
        Ok(())
    })
    .map(drop)
}

/// Contexts of some of the ranks, in different orders, deliver to the right ranks.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn members_are_ranked_in_the_order_given(fixture: &dyn Fixture) -> Result<(), String> {
    let scenarios: Vec<_> = [(3, 11), (5, 12), (2, 13)]
        .into_iter()
        .map(|(size, seed)| Scenario::random(size, 4, seed))
        .collect::<Result<_, _>>()?;
    run_ranks(fixture, 5, move |test| {
        let groups: [&[usize]; 3] = [&[3, 1, 4], &[4, 2, 0, 1, 3], &[2, 0]];
        for (i, (members, scenario)) in groups.into_iter().zip(&scenarios).enumerate() {
            if let Some(rank) = members.iter().position(|member| *member == test.rank) {
                let transport = test.open(ContextId::WORLD.child(0, i as u64), members)?;
                if (transport.rank().index(), transport.size()) != (rank, members.len()) {
                    return Err(format!("process {} is rank {} of {members:?}", test.rank, transport.rank()));
                }
                arrives(scenario, transport, test)?;
            }
        }
        Ok(())
    })
    .map(drop)
}

/// Other contexts of the same ranks continue after a context fails, whether opened before or after.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn failed_context_leaves_other_contexts_intact(fixture: &dyn Fixture) -> Result<(), String> {
    let scenario = Arc::new(Scenario::random(3, 4, 21)?);
    run_ranks(fixture, 3, move |test| {
        let before = test.open(ContextId::WORLD.child(1, 0), &[0, 1, 2])?;
        let others: Vec<(usize, u64)> = (0..3).filter(|peer| *peer != test.rank).map(|peer| (peer, 8)).collect();
        let mut failing = test.runner(&program_of(&[(0, &others, &others)])?)?;
        if test.rank == 1 {
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
        failing.run_err()?;
        arrives(&scenario, before, test)?;
        arrives(&scenario, test.open(ContextId::WORLD.child(2, 0), &[0, 1, 2])?, test)
    })
    .map(drop)
}

/// A message for a context that its receiver does not drive yet waits, while another context of the
/// two ranks continues.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn idle_context_does_not_block_another(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 2, |test| {
        let open = |which: u64| test.open(ContextId::WORLD.child(7, which), &[0, 1]);
        let peer = [(1 - test.rank, 100)];
        let mut active = Runner::new(open(0)?, &program_of(&[(0, &peer, &peer)])?, test.timeout);
        let large = [(1 - test.rank, 4 << 20)];
        let program = match test.rank {
            0 => program_of(&[(0, &large, &[])])?,
            _ => program_of(&[(0, &[], &large)])?,
        };
        let mut idle = Runner::new(open(1)?, &program, test.timeout);
        idle.memory.input.fill(9);
        let (events, timeout, pause) = (test.events.clone(), test.timeout, test.short_timeout / 30);
        let mut active = move || {
            // By then the message of the idle context is in transit.
            events.wait_for(1, timeout)?;
            std::thread::sleep(pause);
            (0..200).try_for_each(|_| active.run_ok())
        };
        if test.rank == 0 {
            let events = test.events.clone();
            let idle = move || {
                events.advance();
                idle.run_ok()
            };
            let tasks: Vec<Task<()>> = vec![Box::new(idle), Box::new(active)];
            return run_threads(tasks, test.timeout).map(drop);
        }
        active()?;
        idle.run_ok()?;
        if idle.memory.output[..4 << 20].iter().all(|byte| *byte == 9) {
            Ok(())
        } else {
            Err("the message of the idle context was changed".into())
        }
    })
    .map(drop)
}

/// Two contexts of the same ranks complete, if each is driven by its own thread, though the ranks
/// begin them in opposite orders.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn contexts_in_opposite_orders_by_two_threads_complete(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 2, |test| {
        let mut tasks = vec![exchange(test, 0)?, exchange(test, 1)?];
        if test.rank == 1 {
            tasks.reverse();
        }
        run_threads(tasks, test.timeout).map(drop)
    })
    .map(drop)
}

fn exchange(test: &TestRank, which: u64) -> Result<Task<()>, String> {
    let transport = test.open(ContextId::WORLD.child(8, which), &[which as usize, 1 - which as usize])?;
    let peer = [(1 - transport.rank().index(), 5000)];
    let mut runner = Runner::new(transport, &program_of(&[(0, &peer, &peer), (1, &peer, &peer)])?, test.timeout);
    runner.memory.input.fill(which as u8);
    Ok(Box::new(move || {
        (0..100).try_for_each(|_| runner.run_ok())?;
        let right = runner.memory.output[..5000].iter().all(|byte| *byte == which as u8);
        if right { Ok(()) } else { Err("what was sent in one context came in another".to_owned()) }
    }))
}

/// Two contexts of the same ranks wait for each other, if one thread of each rank drives them in
/// opposite orders. That ends at the deadline.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn contexts_in_opposite_orders_by_one_thread_time_out(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 2, |test| {
        let peer = [(1 - test.rank, 8)];
        let program = program_of(&[(0, &peer, &peer)])?;
        let open = |which: usize| test.open(ContextId::WORLD.child(9, which as u64), &[0, 1]);
        let runner = |which| open(which).map(|transport| Runner::new(transport, &program, test.short_timeout));
        let mut runners = [runner(test.rank)?, runner(1 - test.rank)?];
        let failure = runners.iter_mut().find_map(|runner| runner.run().err());
        failure.ok_or_else(|| format!("rank {} went through both contexts", test.rank))
    })?;
    if failures.iter().any(|failure| matches!(failure.cause, Cause::Deadline { .. })) {
        Ok(())
    } else {
        Err(format!("contexts that wait for each other end by: {failures:?}"))
    }
}
