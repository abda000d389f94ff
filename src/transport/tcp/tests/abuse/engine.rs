//! What an engine does, whatever comes in whatever parts.

use super::bench::Bench;
use super::dice::Dice;
use super::speech::{CALLS, Frame, ROUNDS, content, flat, frame, frames, header};
use super::spoilt::{spoil, word};
use crate::ids::Rank;
use crate::transport::engine::codec::write_failure;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::engine::lane::Credit;
use crate::transport::{Cause, ContextId, Failure};

#[test]
fn what_is_as_it_should_be_is_received_in_parts_of_any_length() {
    let (mut bench, frames) = (Bench::new(), frames());
    for seed in 0..300 {
        assert_eq!(bench.play(&frames, &mut Dice(seed)), CALLS as usize * ROUNDS.len(), "seed {seed}");
    }
}

#[test]
fn what_is_garbled_harms_nobody_but_those_who_wait_for_it() {
    let (mut bench, good, mut dice) = (Bench::new(), frames(), Dice(4));
    let (mut mutations, mut ended, mut well) = (0, [0; 2], 0);
    while mutations < 100_000 {
        let mut frames = good.clone();
        // Short sequences too, in which more is reached.
        frames.truncate(1 + dice.below(frames.len()));
        let count = 1 + dice.below(4);
        (0..count).for_each(|_| spoil(&mut frames, &mut dice));
        mutations += count;
        // It may end in the middle.
        if dice.below(4) == 0
            && let Some((_, text)) = frames.last_mut()
        {
            text.truncate(dice.below(text.len() + 1));
        }
        let seed = dice.roll();
        well += bench.play(&frames, &mut Dice(seed));
        ended[usize::from(bench.connection().is_open())] += 1;
    }
    // Both that a connection is ended for what came over it, and that it goes on.
    assert!(ended.iter().all(|count| *count > 1000) && well > 1000, "{ended:?} ended or not, {well} rounds ended well");
}

#[test]
fn random_words_in_any_number_stay_within_bounds() {
    let mut bench = Bench::new();
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let frames: Vec<Frame> = (0..300).map(|_| word(&mut dice)).collect();
        bench.play(&frames, &mut dice);
    }
    // One kind alone, many times, each of which might be answered.
    for seed in 0..100 {
        let one = word(&mut Dice(seed));
        let frames = vec![one; 20_000];
        bench.play(&frames, &mut Dice(seed));
    }
}

#[test]
fn a_peer_that_floods_and_never_reads_costs_bounded_memory() {
    // Each of these may be answered.
    let message_id = MessageId::default();
    let failure = Failure {
        call: 0,
        description: "w".repeat(8000).into(),
        round: 0,
        observer: Rank::new(1),
        culprit: None,
        cause: Cause::Aborted { rank: Rank::new(1), reason: "r".repeat(8000).into() },
    };
    let words = write_failure(&failure);
    let floods = [
        frame(header(Kind::Question, message_id, 0), &[]),
        frame(header(Kind::Fin, message_id, 0), &[]),
        frame(header(Kind::Proposal, message_id, 0), &words),
    ];
    let mut bench = Bench::new();
    let elsewhere = Header { context: ContextId::of(5), ..header(Kind::Proposal, message_id, 0) };
    for flood in floods.into_iter().chain([frame(elsewhere, &words)]) {
        bench.reset();
        bench.engine.fail(ContextId::WORLD, failure.clone());
        let bytes = flat(&[flood]);
        for _ in 0..40_000 {
            bench.engine.take(1, &bytes).unwrap();
            bench.connection().blocked = true;
        }
        bench.bounds();
    }
}

#[test]
fn a_sender_that_is_always_ahead_does_not_fill_the_memory() {
    // So many messages that what is kept of them is never empty.
    let (mut bench, mut next) = (Bench::new(), 0);
    bench.reset();
    let message = |call: u64| {
        let message_id = MessageId { call, ..MessageId::default() };
        flat(&[frame(Header { eager: true, ..header(Kind::Message, message_id, 100) }, &content(100))])
    };
    for call in 0..20_000 {
        while next < call + 500 {
            bench.engine.take(1, &message(next)).unwrap();
            next += 1;
        }
        bench.output.fill(0);
        bench.post(call, 0);
        assert!(bench.is_over());
        bench.engine.withdraw(ContextId::WORLD);
        assert!(bench.output[..100] == content(100));
        bench.connection().queue.clear();
        let capacity = bench.engine.contexts[&ContextId::WORLD].lanes[1].into.stash.capacity();
        assert!(capacity <= 4 * Credit::among(2).lane as usize, "{capacity} bytes in call {call}");
    }
}

#[test]
fn what_is_sent_beyond_its_bounds_ends_the_connection() {
    let mut bench = Bench::new();
    let elsewhere = |id| ContextId::of(id);
    // More than there is credit for, in a context that nobody drives.
    bench.reset();
    let eager = Header { context: elsewhere(5), eager: true, ..header(Kind::Message, MessageId::default(), 60_000) };
    let (bytes, lane) = (flat(&[frame(eager, &[1; 60_000])]), Credit::among(2).lane);
    let most = lane / Credit::cost(60_000);
    (0..most).for_each(|_| bench.engine.take(1, &bytes).unwrap());
    assert!(bench.engine.take(1, &bytes).unwrap_err().contains("credit"));
    bench.bounds();
    // Of more contexts than it may have opened before this process.
    bench.reset();
    let ready =
        |id| flat(&[frame(Header { context: elsewhere(id), ..header(Kind::Ready, MessageId::default(), 0) }, &[])]);
    (0..1024).for_each(|id| bench.engine.take(1, &ready(9 + id)).unwrap());
    assert!(bench.engine.take(1, &ready(7)).unwrap_err().contains("context"));
    bench.bounds();
}
