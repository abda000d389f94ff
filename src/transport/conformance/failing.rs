//! Failures are common to all members. A departure fails the ranks that still need something.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Fixture;
use super::scenario::program_of;
use super::test_group::{all_equal, run_ranks};
use crate::ids::Rank;
use crate::transport::{Cause, Failure};

/// One rank's abort fails all waiting ranks, and every later round of every member, with the same
/// failure. No second failure replaces it.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn first_failure_is_common_and_permanent(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 4, |test| {
        let program = match test.rank {
            3 => program_of(&[(0, &[(0, 8), (1, 8), (2, 8)], &[])])?,
            _ => program_of(&[(0, &[], &[(3, 8)])])?,
        };
        let mut runner = test.runner(&program)?;
        let reason = |reason: &str| Failure {
            call: 0,
            description: "the suite's call".into(),
            round: 0,
            observer: Rank::new(test.rank),
            culprit: None,
            cause: Cause::aborted(Rank::new(test.rank), reason),
        };
        if test.rank == 3 {
            test.events.wait_for(3, test.timeout)?;
            // By then some of the other ranks wait, and others do not yet.
            thread::sleep(test.short_timeout / 30);
            runner.transport.abort(reason("the suite aborts"));
        }
        test.events.advance();
        let mut failures = vec![runner.run_err()?, runner.run_err()?];
        runner.transport.abort(reason("a second abort"));
        failures.push(runner.run_err()?);
        failures.extend(runner.transport.failure());
        if failures.len() < 4 { Err("a failed context returns no failure".to_owned()) } else { Ok(failures) }
    })?;
    let failure = all_equal(&failures.concat())?.clone();
    match &failure.cause {
        Cause::Aborted { reason, .. } if **reason == *"the suite aborts" => Ok(()),
        _ => Err(format!("an abort is reported as: {failure}")),
    }
}

/// A rank that awaits a message from a rank that has left fails, whether that rank left before or
/// during the wait. So does a rank that has a large message to send to it.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn departure_fails_waiting_ranks(fixture: &dyn Fixture) -> Result<(), String> {
    for (send, late) in [(false, false), (false, true), (true, false), (true, true)] {
        let failures = run_ranks(fixture, 3, move |test| {
            let large = [(2, 8 << 20)];
            let program = match (test.rank, send) {
                (0, true) => program_of(&[(0, &large, &[]), (1, &[], &large)])?,
                (0, false) => program_of(&[(0, &[], &[(2, 8)])])?,
                // Another rank waits for a waiting rank.
                _ => program_of(&[(0, &[], &[(0, 8)])])?,
            };
            let mut runner = test.runner(&program)?;
            if test.rank == 2 {
                if late {
                    test.events.wait_for(2, test.timeout)?;
                    thread::sleep(test.short_timeout / 10);
                }
                drop(runner);
                test.events.advance();
                return Ok(vec![]);
            }
            test.events.advance();
            if !late {
                test.events.wait_for(3, test.timeout)?;
            }
            runner.run_err().map(|failure| vec![failure])
        })?;
        gone(all_equal(&failures.concat())?, 2)?;
    }
    Ok(())
}

/// The rounds of a rank before it left count: ranks that need nothing more from it continue without
/// a failure.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn departure_spares_ranks_that_need_nothing_more(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        // Rank 0 takes part in the first round of the first call only.
        let program = match test.rank {
            0 => program_of(&[(0, &[(1, 8), (2, 8)], &[(1, 8)])])?,
            1 => program_of(&[(0, &[(0, 8)], &[(0, 8)]), (1, &[(2, 8)], &[(2, 8)]), (2, &[(2, 8)], &[(2, 8)])])?,
            _ => program_of(&[(0, &[], &[(0, 8)]), (1, &[(1, 8)], &[(1, 8)]), (2, &[(1, 8)], &[(1, 8)])])?,
        };
        let mut runner = test.runner(&program)?;
        if test.rank == 0 {
            runner.run_ok()?;
            drop(runner);
            test.events.advance();
            return Ok(());
        }
        for round in 0..3 {
            if round == 1 {
                test.events.wait_for(1, test.timeout)?;
            }
            runner.round(round).map_err(|failure| failure.to_string())?;
        }
        match runner.transport.failure() {
            None => Ok(()),
            Some(failure) => Err(format!("a rank left that was no longer needed, and: {failure}")),
        }
    })
    .map(drop)
}

/// A rank that waits for one that panics, which drops its transport, fails as for any that left.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn panic_fails_waiting_ranks(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 2, |test| {
        let peer = [(1 - test.rank, 8)];
        let mut runner = test.runner(&program_of(&[(0, &peer, &peer)])?)?;
        if test.rank == 0 {
            return runner.run_err().map(Some);
        }
        let panic = catch_unwind(AssertUnwindSafe(move || {
            let _dropped_by_it = runner;
            // This panic does not call the hook, which would print it.
            resume_unwind(Box::new("the suite panics"));
        }));
        if panic.is_ok() { Err("the panic was caught elsewhere".to_owned()) } else { Ok(None) }
    })?;
    gone(all_equal(&failures.into_iter().flatten().collect::<Vec<_>>())?, 1)
}

/// A rank that waits for one that has ended without opening the context fails as for any that left.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn rank_that_never_opened_fails_waiting_ranks(fixture: &dyn Fixture) -> Result<(), String> {
    if !fixture.abilities().detects_unopened {
        return Ok(());
    }
    let failures = run_ranks(fixture, 3, |test| {
        if test.rank == 2 {
            return Ok(None);
        }
        test.runner(&program_of(&[(0, &[], &[(2, 8)])])?)?.run_err().map(Some)
    })?;
    gone(all_equal(&failures.into_iter().flatten().collect::<Vec<_>>())?, 2)
}

fn gone(failure: &Failure, culprit: usize) -> Result<(), String> {
    match &failure.cause {
        Cause::Gone { rank, .. } if rank.index() == culprit && failure.culprit == Some(*rank) => Ok(()),
        _ => Err(format!("the departure of rank {culprit} is reported as: {failure}")),
    }
}
