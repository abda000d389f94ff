//! A failure is everybody's, and a departure is one for those who still need something.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Fixture;
use super::crew::{all_equal, play};
use super::draw::sketch;
use crate::ids::Rank;
use crate::transport::{Cause, Failure};

/// One rank's abort fails all that wait, and every later round of every member, with the same
/// failure; no second one takes its place.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_failure_is_everybodys_and_stays(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 4, |part| {
        let program = match part.rank {
            3 => sketch(&[(0, &[(0, 8), (1, 8), (2, 8)], &[])])?,
            _ => sketch(&[(0, &[], &[(3, 8)])])?,
        };
        let mut act = part.act(&program)?;
        let reason = |reason: &str| Failure {
            call: 0,
            description: "the suite's call".into(),
            round: 0,
            observer: Rank::new(part.rank),
            culprit: None,
            cause: Cause::Aborted { rank: Rank::new(part.rank), reason: reason.into() },
        };
        if part.rank == 3 {
            part.cue.wait(3, part.patience)?;
            // Some of the others wait by then, and others not yet.
            thread::sleep(part.deadline / 30);
            act.transport.abort(reason("the suite aborts"));
        }
        part.cue.give();
        let mut failures = vec![act.must_fail()?, act.must_fail()?];
        act.transport.abort(reason("a second abort"));
        failures.push(act.must_fail()?);
        failures.extend(act.transport.failure());
        if failures.len() < 4 { Err("a failed context knows of no failure".to_owned()) } else { Ok(failures) }
    })?;
    let failure = all_equal(&failures.concat())?.clone();
    match &failure.cause {
        Cause::Aborted { reason, .. } if **reason == *"the suite aborts" => Ok(()),
        _ => Err(format!("an abort is reported as: {failure}")),
    }
}

/// Who awaits something from a rank that has left fails, whether it left before or while it was
/// waited for; so does who has much to send to it.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_departure_fails_those_who_wait(fixture: &dyn Fixture) -> Result<(), String> {
    for (send, late) in [(false, false), (false, true), (true, false), (true, true)] {
        let failures = play(fixture, 3, move |part| {
            let large = [(2, 8 << 20)];
            let program = match (part.rank, send) {
                (0, true) => sketch(&[(0, &large, &[]), (1, &[], &large)])?,
                (0, false) => sketch(&[(0, &[], &[(2, 8)])])?,
                // And somebody who waits for one who waits.
                _ => sketch(&[(0, &[], &[(0, 8)])])?,
            };
            let mut act = part.act(&program)?;
            if part.rank == 2 {
                if late {
                    part.cue.wait(2, part.patience)?;
                    thread::sleep(part.deadline / 10);
                }
                drop(act);
                part.cue.give();
                return Ok(vec![]);
            }
            part.cue.give();
            if !late {
                part.cue.wait(3, part.patience)?;
            }
            act.must_fail().map(|failure| vec![failure])
        })?;
        gone(all_equal(&failures.concat())?, 2)?;
    }
    Ok(())
}

/// What a rank has finished before it left counts: who needs no more of it goes on as if nothing
/// were.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_departure_harms_nobody_who_has_all(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        // Rank 0 takes part in the first round of the first call only.
        let program = match part.rank {
            0 => sketch(&[(0, &[(1, 8), (2, 8)], &[(1, 8)])])?,
            1 => sketch(&[(0, &[(0, 8)], &[(0, 8)]), (1, &[(2, 8)], &[(2, 8)]), (2, &[(2, 8)], &[(2, 8)])])?,
            _ => sketch(&[(0, &[], &[(0, 8)]), (1, &[(1, 8)], &[(1, 8)]), (2, &[(1, 8)], &[(1, 8)])])?,
        };
        let mut act = part.act(&program)?;
        if part.rank == 0 {
            act.must()?;
            drop(act);
            part.cue.give();
            return Ok(());
        }
        for round in 0..3 {
            if round == 1 {
                part.cue.wait(1, part.patience)?;
            }
            act.round(round).map_err(|failure| failure.to_string())?;
        }
        match act.transport.failure() {
            None => Ok(()),
            Some(failure) => Err(format!("somebody left who was not needed any more, and: {failure}")),
        }
    })
    .map(drop)
}

/// Who waits for a rank that panics, which drops its transport, fails like for any that left.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_panic_fails_those_who_wait(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 2, |part| {
        let peer = [(1 - part.rank, 8)];
        let mut act = part.act(&sketch(&[(0, &peer, &peer)])?)?;
        if part.rank == 0 {
            return act.must_fail().map(Some);
        }
        let panic = catch_unwind(AssertUnwindSafe(move || {
            let _dropped_by_it = act;
            // A panic without the hook that would print it.
            resume_unwind(Box::new("the suite panics"));
        }));
        if panic.is_ok() { Err("a panic was caught by somebody else".to_owned()) } else { Ok(None) }
    })?;
    gone(all_equal(&failures.into_iter().flatten().collect::<Vec<_>>())?, 1)
}

/// Who waits for a rank that is over without having opened the context fails like for any that
/// left.
///
/// # Errors
///
/// What is not so.
pub(super) fn a_rank_that_never_opened_fails_those_who_wait(fixture: &dyn Fixture) -> Result<(), String> {
    if !fixture.abilities().knows_who_never_opened {
        return Ok(());
    }
    let failures = play(fixture, 3, |part| {
        if part.rank == 2 {
            return Ok(None);
        }
        part.act(&sketch(&[(0, &[], &[(2, 8)])])?)?.must_fail().map(Some)
    })?;
    gone(all_equal(&failures.into_iter().flatten().collect::<Vec<_>>())?, 2)
}

fn gone(failure: &Failure, who: usize) -> Result<(), String> {
    match &failure.cause {
        Cause::Gone { rank, .. } if rank.index() == who && failure.culprit == Some(*rank) => Ok(()),
        _ => Err(format!("that rank {who} is gone is reported as: {failure}")),
    }
}
