//! Waiting ends, and afterwards everybody's memory is its own.

use std::thread;
use std::time::Duration;

use super::Fixture;
use super::crew::{Act, all_equal, play};
use super::draw::{Dice, sketch};
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Deadline, Timeouts};

/// Ranks that wait for each other, and in the end for one that says nothing, fail at their
/// deadline, all alike, and name it; when that one calls at last, it learns the same.
///
/// # Errors
///
/// What is not so.
pub(super) fn silence_ends_at_the_deadline(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 4, |part| {
        // Each passes on what it gets from the next one, and that one says nothing.
        let program = match part.rank {
            3 => sketch(&[(0, &[(2, 8)], &[]), (3, &[], &[(0, 8)])])?,
            2 => sketch(&[(0, &[], &[(3, 8)]), (1, &[(1, 8)], &[])])?,
            1 => sketch(&[(1, &[], &[(2, 8)]), (2, &[(0, 8)], &[])])?,
            _ => sketch(&[(2, &[], &[(1, 8)]), (3, &[(3, 8)], &[])])?,
        };
        let mut act = part.act(&program)?;
        act.timeouts = part.deadline.into();
        if part.rank == 3 {
            part.cue.wait(3, part.patience)?;
        }
        let failure = act.must_fail()?;
        part.cue.give();
        Ok(failure)
    })?;
    let failure = all_equal(&failures)?;
    let named = failure.culprit == Some(Rank::new(3)) || !fixture.abilities().follows_chains;
    match failure.cause {
        Cause::Deadline { .. } if named => Ok(()),
        _ => Err(format!("the silence of rank 3 is reported as: {failure}")),
    }
}

/// A rank that computes for longer than the timeout for silence is waited for, and one that never
/// comes is found by the arrival timeout though that for silence is off.
///
/// # Errors
///
/// What is not so.
pub(super) fn busy_rank_is_not_a_silent_one(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        let (next, last) = ([((part.rank + 1) % 3, 8)], [((part.rank + 2) % 3, 8)]);
        let mut act = part.act(&sketch(&[(0, &next, &last)])?)?;
        act.timeouts = Timeouts::new(part.deadline, part.patience);
        if part.rank == 1 {
            thread::sleep(part.deadline * 3);
        }
        act.must()?;
        act.must()
    })?;
    let failures = play(fixture, 2, |part| {
        let peer = [(1 - part.rank, 8)];
        let mut act = part.act(&sketch(&[(0, &peer, &peer)])?)?;
        act.timeouts = Timeouts::new(Duration::MAX, part.deadline);
        if part.rank == 1 {
            part.cue.wait(1, part.patience)?;
        }
        let failure = act.must_fail()?;
        part.cue.give();
        Ok(failure)
    })?;
    let failure = all_equal(&failures)?;
    let named = failure.culprit == Some(Rank::new(1)) || !fixture.abilities().follows_chains;
    match failure.cause {
        Cause::Deadline { deadline: Deadline::Arrival, .. } if named => Ok(()),
        _ => Err(format!("rank 1 does not come, which is reported as: {failure}")),
    }
}

/// A rank that waits for one that gets on, round by round, waits longer than its deadline.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_rank_that_gets_on_is_waited_for(fixture: &dyn Fixture) -> Result<(), String> {
    if !fixture.abilities().follows_chains {
        return Ok(());
    }
    play(fixture, 3, |part| {
        let (peer, end) = ([(3 - part.rank.max(1), 8)], [(0, 8)]);
        let mut rounds: Vec<_> = (0..15).map(|number| (number, &peer[..], &peer[..])).collect();
        match part.rank {
            0 => rounds = vec![(15, &[], &[(1, 8)])],
            1 => rounds.push((15, &end, &[])),
            _ => {}
        }
        let mut act = part.act(&sketch(&rounds)?)?;
        act.timeouts = part.deadline.into();
        for round in 0..rounds.len() {
            if part.rank == 2 {
                thread::sleep(part.deadline / 6);
            }
            act.round(round).map_err(|failure| format!("rank {}: {failure}", part.rank))?;
        }
        Ok(())
    })
    .map(drop)
}

/// Whether a round ends well or not, nobody touches its buffers any more: messages whose receiver
/// comes when the sender gives up arrive whole, as they were, or not at all.
///
/// # Errors
///
/// What is not so.
pub(super) fn memory_is_the_callers_after_a_round(fixture: &dyn Fixture) -> Result<(), String> {
    // So many that copying them takes a good part of the time by which the two miss each other.
    const BYTES: u64 = 3_000_000;
    play(fixture, 2, |part| {
        let (peer, mut dice) = ([(1 - part.rank, BYTES)], Dice::new(5));
        let programs = [sketch(&[(0, &peer, &[])])?, sketch(&[(0, &[], &peer)])?];
        let deadline = part.deadline / 30;
        for trial in 0..60 {
            // The one comes at once and gives up early, the other comes when that is due.
            let late = deadline.mul_f64(0.94 + dice.below(80) as f64 / 1000.0);
            let program = &programs[(trial as usize + part.rank) % 2];
            let context = ContextId::WORLD.child(trial, 0);
            let mut act = Act::new(part.open(context, &[0, 1])?, program, part.patience);
            act.memory.input.fill(1);
            act.memory.output.fill(2);
            let met = 3 * trial;
            part.cue.give();
            part.cue.wait(2 * (met + 1), part.patience)?;
            if part.rank == 0 {
                act.timeouts = deadline.into();
            } else {
                thread::sleep(late);
            }
            let outcome = act.run();
            let received: Vec<u8> = act.memory.output.iter().take(BYTES as usize).copied().collect();
            act.memory.input.fill(3);
            act.memory.output.fill(4);
            part.cue.give();
            part.cue.wait(2 * (met + 2), part.patience)?;
            let rank = part.rank;
            if outcome.is_ok() && received.iter().any(|byte| *byte != 1) {
                return Err(format!("trial {trial}: rank {rank} has not received what was sent"));
            }
            if received.contains(&3) {
                return Err(format!("trial {trial}: rank {rank} has received what was written after the round"));
            }
            if act.memory.output.iter().any(|byte| *byte != 4) || act.memory.input.iter().any(|byte| *byte != 3) {
                return Err(format!("trial {trial}: the memory of rank {rank} has changed after its round"));
            }
            part.cue.give();
            part.cue.wait(2 * (met + 3), part.patience)?;
        }
        Ok(())
    })
    .map(drop)
}
