//! Messages and calls that do not fit are refused.

use super::Fixture;
use super::scenario::program_of;
use super::test_group::{all_equal, run_ranks, signature};
use crate::transport::{Cause, Failure};

/// A message whose peer is the rank itself is a failure, whether sent or awaited.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn message_to_itself_is_refused(fixture: &dyn Fixture) -> Result<(), String> {
    for send in [true, false] {
        let failures = run_ranks(fixture, 2, move |test| {
            let (me, none) = ([(test.rank, 8)], []);
            let (sends, receives) = if send { (&me[..], &none[..]) } else { (&none[..], &me[..]) };
            test.runner(&program_of(&[(0, sends, receives)])?)?.run_err()
        })?;
        all_equal(&failures)?;
    }
    Ok(())
}

/// A message longer or shorter than awaited is a failure, equal on both sides. It says both
/// lengths, and nothing of the message is written.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn wrong_length_is_refused_before_any_write(fixture: &dyn Fixture) -> Result<(), String> {
    for (sent, awaited) in [(10, 12), (12, 10), (0, 1), (1, 0), (1 << 20, (1 << 20) - 1), (3, 1 << 21)] {
        let failures = run_ranks(fixture, 2, move |test| {
            let program = match test.rank {
                0 => program_of(&[(0, &[(1, sent)], &[]), (1, &[], &[(1, 4)])])?,
                _ => program_of(&[(0, &[], &[(0, awaited)]), (1, &[(0, 4)], &[])])?,
            };
            let mut runner = test.runner(&program)?;
            let before = runner.memory.clone();
            let failure = runner.run_err()?;
            if runner.memory == before {
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

/// Two ranks that make different calls find that by each other's messages.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn different_fingerprints_of_two_peers_are_found(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 2, |test| {
        let peer = [(1 - test.rank, 64)];
        let mut runner = test.runner(&program_of(&[(0, &peer, &peer)])?)?;
        runner.signature = signature(test.rank as u64, &format!("call of rank {}", test.rank));
        let before = runner.memory.clone();
        let failure = runner.run_err()?;
        if runner.memory == before { Ok(failure) } else { Err("a message of another call is written".to_owned()) }
    })?;
    names_both(all_equal(&failures)?, ["call of rank 0", "call of rank 1"])
}

/// A rank finds that another makes a different call though it awaits nothing from it. Any message
/// of that rank is enough.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn different_fingerprint_of_an_unawaited_rank_is_found(fixture: &dyn Fixture) -> Result<(), String> {
    let failures = run_ranks(fixture, 3, |test| {
        // Ranks 0 and 1 wait for each other. Only rank 2, which makes another call, sends, to a
        // rank that awaits nothing from it. It waits too, because its message may be in transit
        // after its round.
        let (sends, receives): (&[_], &[_]) = match test.rank {
            0 => (&[], &[(1, 8)]),
            1 => (&[], &[(0, 8)]),
            _ => (&[(0, 8)], &[(0, 8)]),
        };
        let mut runner = test.runner(&program_of(&[(0, sends, receives)])?)?;
        if test.rank == 2 {
            runner.signature = signature(2, "another call");
        }
        runner.run_err()
    })?;
    names_both(all_equal(&failures)?, ["the suite's call", "another call"])
}

fn names_both(failure: &Failure, calls: [&str; 2]) -> Result<(), String> {
    match &failure.cause {
        Cause::Disagree { call_a, call_b, .. }
            if calls.iter().all(|call| [call_a, call_b].iter().any(|named| named.contains(call))) =>
        {
            Ok(())
        }
        _ => Err(format!("a disagreement is reported as: {failure}")),
    }
}
