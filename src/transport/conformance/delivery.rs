//! Messages arrive unchanged at their places.

use std::sync::Arc;

use super::Fixture;
use super::scenario::{RunLayout, Scenario, program_of};
use super::test_group::{Runner, TestRank, run_ranks};
use crate::transport::{ContextId, Transport};

/// Random programs leave every byte of every rank's memory as expected.
///
/// They run in jobs of many sizes. They have strided and interleaved runs, lengths from 0 to large,
/// several messages of a pair in a round, and sends from what earlier rounds have received.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn random_programs_deliver_every_byte(fixture: &dyn Fixture) -> Result<(), String> {
    for size in [1, 2, 3, 5, 8, 16].into_iter().filter(|size| *size <= fixture.abilities().max_ranks) {
        for seed in 0..4 {
            let scenario = Arc::new(Scenario::random(size, 6, seed + 100 * size as u64)?);
            run_ranks(fixture, size, move |test| arrives(&scenario, test.world()?, test))
                .map_err(|error| format!("{size} ranks, seed {seed}: {error}"))?;
        }
    }
    Ok(())
}

/// Runs one rank of a scenario, and checks every byte of its memory.
pub(super) fn arrives(scenario: &Scenario, transport: Box<dyn Transport>, test: &TestRank) -> Result<(), String> {
    let rank = transport.rank().index();
    let mut runner = Runner::new(transport, &scenario.programs[rank], test.timeout);
    runner.memory = scenario.before[rank].clone();
    runner.run_ok()?;
    let (found, expected) = (&runner.memory, &scenario.after[rank]);
    for (name, found, expected) in [
        ("input", &found.input, &expected.input),
        ("output", &found.output, &expected.output),
        ("scratch", &found.scratch, &expected.scratch),
    ] {
        if let Some(at) = (0..expected.len()).find(|i| found[*i] != expected[*i]) {
            return Err(format!("rank {rank}: byte {at} of the {name} is {}, not {}", found[at], expected[at]));
        }
    }
    Ok(())
}

/// Messages of some megabytes arrive, in both directions at once.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn large_messages_arrive_in_both_directions(fixture: &dyn Fixture) -> Result<(), String> {
    let (one, other) = ((1 << 20) + 7, (9 << 20) + 1);
    let traffic = [vec![vec![vec![], vec![one, other]], vec![vec![other], vec![]]]];
    let scenario = Arc::new(Scenario::new(&traffic, RunLayout::Contiguous, 7)?);
    run_ranks(fixture, 2, move |test| arrives(&scenario, test.world()?, test)).map(drop)
}

/// An empty message delays its receiver until it is sent, as a barrier needs.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn empty_messages_are_awaited(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        let program = match test.rank {
            0 => program_of(&[(0, &[(1, 0), (2, 0)], &[])])?,
            _ => program_of(&[(0, &[], &[(0, 0)])])?,
        };
        let mut runner = test.runner(&program)?;
        if test.rank == 0 {
            // Long enough for a transport that does not wait to return.
            std::thread::sleep(test.short_timeout / 4);
            test.events.advance();
        }
        runner.run_ok()?;
        if test.events.read() == 0 { Err("an empty message came before it was sent".to_owned()) } else { Ok(()) }
    })
    .map(drop)
}

/// Several messages of one pair in one round match by their index.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn messages_of_one_pair_match_by_index(fixture: &dyn Fixture) -> Result<(), String> {
    let many = vec![24; 40];
    let traffic = [vec![vec![vec![], many.clone()], vec![many, vec![]]]];
    let scenario = Arc::new(Scenario::new(&traffic, RunLayout::Contiguous, 3)?);
    run_ranks(fixture, 2, move |test| arrives(&scenario, test.world()?, test)).map(drop)
}

/// A program runs many times in one context, each call with its own data, while fingerprints
/// change.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn repeated_calls_deliver_their_own_data(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        let others: Vec<(usize, u64)> = (0..3).filter(|peer| *peer != test.rank).map(|peer| (peer, 1)).collect();
        let mut runner = test.runner(&program_of(&[(0, &others, &others), (1, &others, &others)])?)?;
        for call in 0..100_u64 {
            runner.signature.fingerprint = call / 3;
            runner.memory.input.fill(test.rank as u8 + 3 * (call % 80) as u8);
            runner.run_ok()?;
            let expected = others.iter().map(|(peer, _)| *peer as u8 + 3 * (call % 80) as u8);
            if !expected.eq(runner.memory.output[..2].iter().copied()) {
                return Err(format!("call {call}: rank {} has {:?}", test.rank, &runner.memory.output[..2]));
            }
        }
        Ok(())
    })
    .map(drop)
}

/// Two ranks finish many rounds with each other while a third has not begun its first.
///
/// # Errors
///
/// A description of what the backend does instead.
pub(super) fn ranks_run_rounds_ahead_of_a_late_rank(fixture: &dyn Fixture) -> Result<(), String> {
    run_ranks(fixture, 3, |test| {
        let (to, from, last) = ([(1 - test.rank % 2, 8)], [(1 - test.rank % 2, 8)], [(2, 8)]);
        let mut rounds: Vec<_> = (0..50).map(|number| (number, &to[..], &from[..])).collect();
        if test.rank == 2 {
            rounds.clear();
            rounds.push((50, &[(0, 8), (1, 8)], &[]));
        } else {
            rounds.push((50, &[], &last));
        }
        let mut runner = Runner::new(test.open(ContextId::WORLD, &[0, 1, 2])?, &program_of(&rounds)?, test.timeout);
        if test.rank == 2 {
            test.events.wait_for(2, test.timeout)?;
            return runner.run_ok();
        }
        (0..50).try_for_each(|round| runner.round(round)).map_err(|failure| failure.to_string())?;
        test.events.advance();
        runner.round(50).map_err(|failure| failure.to_string())
    })
    .map(drop)
}
