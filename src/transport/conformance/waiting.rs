//! Waiting ends by a deadline, and the backend does not access buffers after a round.

use std::thread;
use std::time::Duration;

use super::Fixture;
use super::scenario::{Random, program_of};
use super::test_group::{Runner, all_equal, run_ranks};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Deadline, Timeouts};

/// Ranks that wait for each other, and at the end of the chain for a rank that does not call, fail
/// at their deadline. Their failures are equal and name that rank. When it calls at last, it gets
/// the same failure.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn silent_rank_fails_all_at_the_deadline(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 4, |test| {
        // Each rank forwards what it gets from the next one, and the last one does not call.
        let program = match test.rank {
            3 => program_of(&[(0, &[(2, 8)], &[]), (3, &[], &[(0, 8)])])?,
            2 => program_of(&[(0, &[], &[(3, 8)]), (1, &[(1, 8)], &[])])?,
            1 => program_of(&[(1, &[], &[(2, 8)]), (2, &[(0, 8)], &[])])?,
            _ => program_of(&[(2, &[], &[(1, 8)]), (3, &[(3, 8)], &[])])?,
        };
        let mut runner = test.runner(&program)?;
        runner.timeouts = test.short_timeout.into();
        if test.rank == 3 {
            test.events.wait_for(3, test.timeout)?;
        }
        let failure = runner.run_err()?;
        test.events.advance();
        Ok(failure)
    })?;
    let failure = all_equal(&failures)?;
    let named = failure.culprit == Some(Rank::new(3)) || !fixture.abilities().follows_wait_chains;
    match failure.cause {
        Cause::Deadline { .. } if named => Ok(()),
        _ => Err(format!("the silence of rank 3 is reported as: {failure}")),
    }
}

/// A rank that computes for longer than the silence timeout is awaited. A rank that never calls is
/// found by the arrival timeout, though the silence timeout is off.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn busy_rank_is_awaited_until_the_arrival_timeout(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        let (next, last) = ([((test.rank + 1) % 3, 8)], [((test.rank + 2) % 3, 8)]);
        let mut runner = test.runner(&program_of(&[(0, &next, &last)])?)?;
        runner.timeouts = Timeouts::new(test.short_timeout, test.timeout);
        if test.rank == 1 {
            thread::sleep(test.short_timeout * 3);
        }
        runner.run_ok()?;
        runner.run_ok()
    })?;
    let failures = run_ranks(fixture, 2, |test| {
        let peer = [(1 - test.rank, 8)];
        let mut runner = test.runner(&program_of(&[(0, &peer, &peer)])?)?;
        runner.timeouts = Timeouts::new(Duration::MAX, test.short_timeout);
        if test.rank == 1 {
            test.events.wait_for(1, test.timeout)?;
            // Rank 0 has sent its message before it failed, so one call may complete before the
            // failure arrives.
            if let Err(failure) = runner.run() {
                return Ok(failure);
            }
        }
        let failure = runner.run_err()?;
        test.events.advance();
        Ok(failure)
    })?;
    let failure = all_equal(&failures)?;
    let named = failure.culprit == Some(Rank::new(1)) || !fixture.abilities().follows_wait_chains;
    match failure.cause {
        Cause::Deadline { deadline: Deadline::Arrival, .. } if named => Ok(()),
        _ => Err(format!("rank 1 does not come, which is reported as: {failure}")),
    }
}

/// A rank waits past its deadline for a rank that makes progress, round by round.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn progressing_rank_is_awaited_past_the_deadline(fixture: &dyn Fixture) -> Result<(), String> {
    if !fixture.abilities().follows_wait_chains {
        return Ok(());
    }
    run_ranks(fixture, 3, |test| {
        let (peer, end) = ([(3 - test.rank.max(1), 8)], [(0, 8)]);
        let mut rounds: Vec<_> = (0..15).map(|number| (number, &peer[..], &peer[..])).collect();
        match test.rank {
            0 => rounds = vec![(15, &[], &[(1, 8)])],
            1 => rounds.push((15, &end, &[])),
            _ => {}
        }
        let mut runner = test.runner(&program_of(&rounds)?)?;
        runner.timeouts = test.short_timeout.into();
        for round in 0..rounds.len() {
            if test.rank == 2 {
                thread::sleep(test.short_timeout / 6);
            }
            runner.round(round).map_err(|failure| format!("rank {}: {failure}", test.rank))?;
        }
        Ok(())
    })
    .map(drop)
}

/// After a round, successful or not, the backend does not access its buffers. If the receiver of a
/// message comes while the sender gives up, the message arrives whole and unchanged, or not at all.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn buffers_are_not_accessed_after_a_round(fixture: &dyn Fixture) -> Result<(), String> {
    // A copy of this size takes a good part of the time by which the two ranks miss each other.
    const BYTES: u64 = 3_000_000;
    run_ranks(fixture, 2, |test| {
        let (peer, mut random) = ([(1 - test.rank, BYTES)], Random::new(5));
        let programs = [program_of(&[(0, &peer, &[])])?, program_of(&[(0, &[], &peer)])?];
        let deadline = test.short_timeout / 30;
        for trial in 0..60 {
            // Rank 0 comes at once and gives up early. Rank 1 comes when that is due.
            let late = deadline.mul_f64(0.94 + random.below(80) as f64 / 1000.0);
            let program = &programs[(trial as usize + test.rank) % 2];
            let context = ContextId::WORLD.child(trial, 0);
            let mut runner = Runner::new(test.open(context, &[0, 1])?, program, test.timeout);
            runner.memory.input.fill(1);
            runner.memory.output.fill(2);
            let step = 3 * trial;
            test.events.advance();
            test.events.wait_for(2 * (step + 1), test.timeout)?;
            if test.rank == 0 {
                runner.timeouts = deadline.into();
            } else {
                thread::sleep(late);
            }
            let outcome = runner.run();
            let received: Vec<u8> = runner.memory.output.iter().take(BYTES as usize).copied().collect();
            runner.memory.input.fill(3);
            runner.memory.output.fill(4);
            test.events.advance();
            test.events.wait_for(2 * (step + 2), test.timeout)?;
            let rank = test.rank;
            if outcome.is_ok() && received.iter().any(|byte| *byte != 1) {
                return Err(format!("trial {trial}: rank {rank} has not received what was sent"));
            }
            if received.contains(&3) {
                return Err(format!("trial {trial}: rank {rank} has received what was written after the round"));
            }
            if runner.memory.output.iter().any(|byte| *byte != 4) || runner.memory.input.iter().any(|byte| *byte != 3) {
                return Err(format!("trial {trial}: the memory of rank {rank} has changed after its round"));
            }
            test.events.advance();
            test.events.wait_for(2 * (step + 3), test.timeout)?;
        }
        Ok(())
    })
    .map(drop)
}
