//! What does not fit is refused.

use super::Fixture;
use super::crew::{all_equal, play, signature};
use super::draw::sketch;
use crate::transport::{Cause, Failure};

/// A message whose peer is the rank itself is a failure, sent or awaited.
///
/// # Errors
///
/// What is not so.
pub(super) fn messages_to_itself_are_refused(fixture: &dyn Fixture) -> Result<(), String> {
    for send in [true, false] {
        let failures = play(fixture, 2, move |part| {
            let (me, none) = ([(part.rank, 8)], []);
            let (sends, receives) = if send { (&me[..], &none[..]) } else { (&none[..], &me[..]) };
            part.act(&sketch(&[(0, sends, receives)])?)?.must_fail()
        })?;
        all_equal(&failures)?;
    }
    Ok(())
}

/// A message longer or shorter than awaited is a failure, equal on both sides, that says how long
/// it is; nothing of it is written.
///
/// # Errors
///
/// What is not so.
pub(super) fn another_length_is_refused_before_a_byte_lands(fixture: &dyn Fixture) -> Result<(), String> {
    for (sent, awaited) in [(10, 12), (12, 10), (0, 1), (1, 0), (1 << 20, (1 << 20) - 1), (3, 1 << 21)] {
        let failures = play(fixture, 2, move |part| {
            let program = match part.rank {
                0 => sketch(&[(0, &[(1, sent)], &[]), (1, &[], &[(1, 4)])])?,
                _ => sketch(&[(0, &[], &[(0, awaited)]), (1, &[(0, 4)], &[])])?,
            };
            let mut act = part.act(&program)?;
            let before = act.memory.clone();
            let failure = act.must_fail()?;
            if act.memory == before {
                Ok(failure)
            } else {
                Err("some of a message of another length is written".into())
            }
        })?;
        let failure = all_equal(&failures)?;
        match failure.cause {
            Cause::Length { expected, found, .. } if (expected, found) == (awaited, sent) => {}
            _ => return Err(format!("{sent} bytes for {awaited} are reported as: {failure}")),
        }
    }
    Ok(())
}

/// Two ranks that call different things learn it from each other's messages.
///
/// # Errors
///
/// What is not so.
pub(super) fn another_fingerprint_is_found(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 2, |part| {
        let peer = [(1 - part.rank, 64)];
        let mut act = part.act(&sketch(&[(0, &peer, &peer)])?)?;
        act.signature = signature(part.rank as u64, &format!("call of rank {}", part.rank));
        let before = act.memory.clone();
        let failure = act.must_fail()?;
        if act.memory == before { Ok(failure) } else { Err("a message of another call is written".to_owned()) }
    })?;
    names_both(all_equal(&failures)?, ["call of rank 0", "call of rank 1"])
}

/// A rank finds that another calls something else though it awaits nothing from it: a message of it
/// is enough.
///
/// # Errors
///
/// What is not so.
pub(super) fn another_fingerprint_of_a_rank_not_awaited_is_found(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = play(fixture, 3, |part| {
        // Ranks 0 and 1 wait for each other; only the odd one out sends, to one that awaits nothing
        // from it. It waits, too: its message may be under way though its round is over.
        let (sends, receives): (&[_], &[_]) = match part.rank {
            0 => (&[], &[(1, 8)]),
            1 => (&[], &[(0, 8)]),
            _ => (&[(0, 8)], &[(0, 8)]),
        };
        let mut act = part.act(&sketch(&[(0, sends, receives)])?)?;
        if part.rank == 2 {
            act.signature = signature(2, "another call");
        }
        act.must_fail()
    })?;
    names_both(all_equal(&failures)?, ["the suite's call", "another call"])
}

fn names_both(failure: &Failure, words: [&str; 2]) -> Result<(), String> {
    match &failure.cause {
        Cause::Disagree { call_a, call_b, .. }
            if words.iter().all(|words| [call_a, call_b].iter().any(|said| said.contains(words))) =>
        {
            Ok(())
        }
        _ => Err(format!("a disagreement is reported as: {failure}")),
    }
}
