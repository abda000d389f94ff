//! An engine under arbitrary input, in pieces of any length.

use super::fuzz_engine::FuzzEngine;
use super::mutation::{mutate, random_frame};
use super::random::Random;
use super::traffic::{CALLS, Frame, ROUNDS, content, flat, frame, frames, header};
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::engine::flow_control::Credit;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::{Cause, ContextId, Failure};

#[test]
fn valid_frames_are_received_in_parts_of_any_length() {
    let (mut fuzz, frames) = (FuzzEngine::new(), frames());
    for seed in 0..300 {
        assert_eq!(fuzz.play(&frames, &mut Random(seed)), CALLS as usize * ROUNDS.len(), "seed {seed}");
    }
}

#[test]
fn mutated_frames_fail_only_the_rounds_that_await_them() {
    let (mut fuzz, good, mut random) = (FuzzEngine::new(), frames(), Random(4));
    let (mut mutations, mut ended, mut well) = (0, [0; 2], 0);
    while mutations < 100_000 {
        let mut frames = good.clone();
        // Truncates some sequences, which reaches more states.
        frames.truncate(1 + random.below(frames.len()));
        let count = 1 + random.below(4);
        (0..count).for_each(|_| mutate(&mut frames, &mut random));
        mutations += count;
        // Ends some sequences within a frame.
        if random.below(4) == 0
            && let Some((_, text)) = frames.last_mut()
        {
            text.truncate(random.below(text.len() + 1));
        }
        let seed = random.draw();
        well += fuzz.play(&frames, &mut Random(seed));
        ended[usize::from(fuzz.connection().is_open())] += 1;
    }
    // Both happen often: the connection is closed for its input, and it stays open.
    assert!(ended.iter().all(|count| *count > 1000) && well > 1000, "{ended:?} ended or not, {well} rounds ended well");
}

#[test]
fn random_frames_in_any_number_stay_within_bounds() {
    let mut fuzz = FuzzEngine::new();
    for seed in 0..300 {
        let mut random = Random(seed);
        let frames: Vec<Frame> = (0..300).map(|_| random_frame(&mut random)).collect();
        fuzz.play(&frames, &mut random);
    }
    // Repeats one kind alone, each of which might be answered.
    for seed in 0..100 {
        let one = random_frame(&mut Random(seed));
        let frames = vec![one; 20_000];
        fuzz.play(&frames, &mut Random(seed));
    }
}

#[test]
fn flooding_peer_that_never_reads_costs_bounded_memory() {
    // Each of these frames may be answered.
    let message_id = MessageId::default();
    let failure = Failure {
        call: 0,
        description: "w".repeat(8000).into(),
        round: 0,
        observer: Rank::new(1),
        culprit: None,
        cause: Cause::Aborted { rank: Rank::new(1), reason: "r".repeat(8000).into() },
    };
    let text = encode(&failure);
    let floods = [
        frame(header(Kind::StatusRequest, message_id, 0), &[]),
        frame(header(Kind::Fin, message_id, 0), &[]),
        frame(header(Kind::Proposal, message_id, 0), &text),
    ];
    let mut fuzz = FuzzEngine::new();
    let elsewhere = Header { context: ContextId::of(5), ..header(Kind::Proposal, message_id, 0) };
    for flood in floods.into_iter().chain([frame(elsewhere, &text)]) {
        fuzz.reset();
        fuzz.engine.fail(ContextId::WORLD, failure.clone());
        let bytes = flat(&[flood]);
        for _ in 0..40_000 {
            fuzz.engine.parse(1, &bytes).unwrap();
            fuzz.connection().blocked = true;
        }
        fuzz.bounds();
    }
}

#[test]
fn sender_always_ahead_costs_bounded_memory() {
    // So many messages are ahead that the unexpected-message queue is never empty.
    let (mut fuzz, mut next) = (FuzzEngine::new(), 0);
    fuzz.reset();
    let message = |call: u64| {
        let message_id = MessageId { call, ..MessageId::default() };
        flat(&[frame(Header { eager: true, ..header(Kind::Message, message_id, 100) }, &content(100))])
    };
    for call in 0..20_000 {
        while next < call + 500 {
            fuzz.engine.parse(1, &message(next)).unwrap();
            next += 1;
        }
        fuzz.output.fill(0);
        fuzz.post(call, 0);
        assert!(fuzz.is_over());
        fuzz.engine.withdraw(ContextId::WORLD);
        assert!(fuzz.output[..100] == content(100));
        fuzz.connection().queue.clear();
        let capacity = fuzz.engine.contexts[&ContextId::WORLD].lanes[1].into.unexpected.capacity();
        assert!(capacity <= 4 * Credit::among(2).lane as usize, "{capacity} bytes in call {call}");
    }
}

#[test]
fn frame_beyond_its_bounds_ends_the_connection() {
    let mut fuzz = FuzzEngine::new();
    let elsewhere = |id| ContextId::of(id);
    // Sends more than the credit, in a context that no thread drives.
    fuzz.reset();
    let eager = Header { context: elsewhere(5), eager: true, ..header(Kind::Message, MessageId::default(), 60_000) };
    let (bytes, lane) = (flat(&[frame(eager, &[1; 60_000])]), Credit::among(2).lane);
    let most = lane / Credit::cost(60_000);
    (0..most).for_each(|_| fuzz.engine.parse(1, &bytes).unwrap());
    assert!(fuzz.engine.parse(1, &bytes).unwrap_err().contains("credit"));
    fuzz.bounds();
    // Sends frames for more contexts than a peer may open first.
    fuzz.reset();
    let ready = |id| {
        flat(&[frame(Header { context: elsewhere(id), ..header(Kind::ClearToSend, MessageId::default(), 0) }, &[])])
    };
    (0..1024).for_each(|id| fuzz.engine.parse(1, &ready(9 + id)).unwrap());
    assert!(fuzz.engine.parse(1, &ready(7)).unwrap_err().contains("context"));
    fuzz.bounds();
}
