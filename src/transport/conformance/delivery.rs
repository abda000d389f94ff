//! Everything sent arrives, where it shall and as it was sent.

use std::sync::Arc;

use super::Fixture;
use super::crew::{Act, Part, play};
use super::draw::{Layout, Scene, sketch};
use crate::transport::{ContextId, Transport};

/// Random programs leave every byte of every rank's memory as it shall be: on many sizes of job,
/// with strided and interleaved runs, of lengths from none to large, several messages a pair and
/// round, sent from where earlier rounds have received to.
///
/// # Errors
///
/// What is not so.
pub(super) fn random_programs_arrive(fixture: &dyn Fixture) -> Result<(), String> {
    for size in [1, 2, 3, 5, 8, 16].into_iter().filter(|size| *size <= fixture.abilities().most_ranks) {
        for seed in 0..4 {
            let scene = Arc::new(Scene::random(size, 6, seed + 100 * size as u64)?);
            play(fixture, size, move |part| arrives(&scene, part.world()?, part))
                .map_err(|words| format!("{size} ranks, seed {seed}: {words}"))?;
        }
    }
    Ok(())
}

/// Plays one rank of a scene, and looks at every byte.
pub(super) fn arrives(scene: &Scene, transport: Box<dyn Transport>, part: &Part) -> Result<(), String> {
    let rank = transport.rank().index();
    let mut act = Act::new(transport, &scene.programs[rank], part.patience);
    act.memory = scene.before[rank].clone();
    act.must()?;
    let (found, expected) = (&act.memory, &scene.after[rank]);
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
/// What is not so.
pub(super) fn large_messages_arrive(fixture: &dyn Fixture) -> Result<(), String> {
    let (one, other) = ((1 << 20) + 7, (9 << 20) + 1);
    let traffic = [vec![vec![vec![], vec![one, other]], vec![vec![other], vec![]]]];
    let scene = Arc::new(Scene::new(&traffic, Layout::Plain, 7)?);
    play(fixture, 2, move |part| arrives(&scene, part.world()?, part)).map(drop)
}

/// A message of no bytes holds up the rank that awaits it until it is sent, as a barrier needs.
///
/// # Errors
///
/// What is not so.
pub(super) fn empty_messages_are_awaited(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        let program = match part.rank {
            0 => sketch(&[(0, &[(1, 0), (2, 0)], &[])])?,
            _ => sketch(&[(0, &[], &[(0, 0)])])?,
        };
        let mut act = part.act(&program)?;
        if part.rank == 0 {
            // Long enough for a transport that does not wait to be through.
            std::thread::sleep(part.deadline / 4);
            part.cue.give();
        }
        act.must()?;
        if part.cue.given() == 0 { Err("an empty message came before it was sent".to_owned()) } else { Ok(()) }
    })
    .map(drop)
}

/// Several messages of one pair in one round arrive by their index.
///
/// # Errors
///
/// What is not so.
pub(super) fn messages_of_a_pair_keep_their_order(fixture: &dyn Fixture) -> Result<(), String> {
    let many = vec![24; 40];
    let traffic = [vec![vec![vec![], many.clone()], vec![many, vec![]]]];
    let scene = Arc::new(Scene::new(&traffic, Layout::Plain, 3)?);
    play(fixture, 2, move |part| arrives(&scene, part.world()?, part)).map(drop)
}

/// A program runs many times on one context, each call with its own data, under changing
/// fingerprints.
///
/// # Errors
///
/// What is not so.
pub(super) fn calls_follow_each_other(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        let others: Vec<(usize, u64)> = (0..3).filter(|peer| *peer != part.rank).map(|peer| (peer, 1)).collect();
        let mut act = part.act(&sketch(&[(0, &others, &others), (1, &others, &others)])?)?;
        for call in 0..100_u64 {
            act.signature.fingerprint = call / 3;
            act.memory.input.fill(part.rank as u8 + 3 * (call % 80) as u8);
            act.must()?;
            let expected = others.iter().map(|(peer, _)| *peer as u8 + 3 * (call % 80) as u8);
            if !expected.eq(act.memory.output[..2].iter().copied()) {
                return Err(format!("call {call}: rank {} has {:?}", part.rank, &act.memory.output[..2]));
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
/// What is not so.
pub(super) fn ranks_run_ahead_of_each_other(fixture: &dyn Fixture) -> Result<(), String> {
    play(fixture, 3, |part| {
        let (to, from, last) = ([(1 - part.rank % 2, 8)], [(1 - part.rank % 2, 8)], [(2, 8)]);
        let mut rounds: Vec<_> = (0..50).map(|number| (number, &to[..], &from[..])).collect();
        if part.rank == 2 {
            rounds.clear();
            rounds.push((50, &[(0, 8), (1, 8)], &[]));
        } else {
            rounds.push((50, &[], &last));
        }
        let mut act = Act::new(part.open(ContextId::WORLD, &[0, 1, 2])?, &sketch(&rounds)?, part.patience);
        if part.rank == 2 {
            part.cue.wait(2, part.patience)?;
            return act.must();
        }
        (0..50).try_for_each(|round| act.round(round)).map_err(|failure| failure.to_string())?;
        part.cue.give();
        act.round(50).map_err(|failure| failure.to_string())
    })
    .map(drop)
}
