//! A process under arbitrary input from its socket.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::super::half;
use super::mutation::mutate;
use super::random::Random;
use super::traffic::{CALLS, FINGERPRINT, Frame, ROUNDS, content, flat, frame, frames, header, program};
use crate::ids::Rank;
use crate::plan::{Buffers, Sizes};
use crate::transport::engine::frame::{Header, Kind, MAX_TEXT, MessageId};
use crate::transport::{CallInfo, ContextId, Endpoint, Failure, RoundIo, Signature, Transport};

/// Makes calls until one fails. Returns how many rounds succeeded, and the failure.
fn calls(world: &mut dyn Transport, timeout: Duration) -> (usize, Option<Failure>) {
    let program = program();
    let Sizes { input, output, .. } = program.sizes();
    let (input, mut output) = (vec![1; input as usize], vec![0; output as usize]);
    let signature = Signature::new(FINGERPRINT, "a call");
    let mut well = 0;
    for call in 0..=CALLS {
        for round in 0..ROUNDS.len() {
            let buffers = Buffers { input: &input, output: &mut output, scratch: &mut [] };
            let io = RoundIo::new(&program, round, buffers, CallInfo::new(call, &signature, timeout)).unwrap();
            if let Err(failure) = world.round(io) {
                return (well, Some(failure));
            }
            let end: u64 = ROUNDS[..=round].iter().flat_map(|(lengths, _)| *lengths).sum();
            assert!(output[..end as usize] == content(end as usize), "call {call}, round {round}");
            well += 1;
        }
    }
    (well, None)
}

/// The action of the peer after it has sent its bytes.
#[derive(Clone, Copy, Debug)]
enum After {
    Closes,
    IsSilent,
    Resets,
}

#[test]
fn round_and_process_end_in_time_after_any_input() {
    // Cases that mutation seldom finds.
    let message_id = MessageId::default();
    let message = |bytes: u64| header(Kind::Message, message_id, bytes);
    let eager = |bytes: u64| Header { eager: true, ..message(bytes) };
    let oversized = Header { text: MAX_TEXT + 1, ..message(1 << 40) };
    let overlong = Header { text: u32::MAX, ..header(Kind::Leave, message_id, 0) };
    let elsewhere = Header { context: ContextId::of(5), ..eager(60_000) };
    let mut pieces: Vec<Vec<Frame>> = vec![
        vec![],
        vec![(vec![0; Header::BYTES], vec![])],
        vec![(vec![0xff; 1000], vec![])],
        vec![(oversized.encode().to_vec(), vec![1; 1000])],
        vec![(overlong.encode().to_vec(), vec![1; 1000])],
        // More than the credit, in a context that is not open; and messages without a CTS.
        (0..10).map(|_| frame(elsewhere, &[1; 60_000])).collect(),
        vec![frame(Header { context: ContextId::of(5), ..message(60_000) }, &[1; 60_000])],
        vec![frame(Header { message_id: MessageId { round: 2, ..message_id }, ..message(2000) }, &[1; 700])],
        vec![frame(Header { bytes: 10, ..header(Kind::Continuation, message_id, 0) }, &[1; 10])],
        vec![frame(Header { consumed: 1 << 40, ..header(Kind::Credit, message_id, 0) }, &[])],
        vec![frame(header(Kind::Decision, message_id, 0), &[])],
        vec![frame(header(Kind::Goodbye, message_id, 0), &[1; 7])],
        vec![frame(header(Kind::Fin, message_id, 0), &[])],
        vec![frame(header(Kind::Leave, message_id, 0), &[1; 50])],
        (0..2000)
            .map(|at| frame(Header { context: ContextId::of(at + 9), ..header(Kind::ClearToSend, message_id, 0) }, &[]))
            .collect(),
    ];
    let good = frames();
    pieces.push(good.clone());
    let mut random = Random(77);
    for _ in 0..400 {
        let mut frames = good.clone();
        (0..1 + random.below(3)).for_each(|_| mutate(&mut frames, &mut random));
        pieces.push(frames);
    }
    let cases: Vec<(usize, Vec<u8>, After)> = pieces
        .iter()
        .enumerate()
        .map(|(case, frames)| {
            let mut bytes = flat(frames);
            if random.below(4) == 0 {
                bytes.truncate(random.below(bytes.len()));
            }
            (case, bytes, [After::Closes, After::IsSilent, After::Resets][random.below(3)])
        })
        .collect();
    let timeout = Duration::from_millis(300);
    let (sender, results) = mpsc::channel();
    let count = cases.len();
    // Runs sixteen cases at a time.
    let cases = std::sync::Arc::new(std::sync::Mutex::new(cases));
    for _ in 0..16 {
        let (cases, sender) = (cases.clone(), sender.clone());
        thread::spawn(move || {
            loop {
                let Some((case, bytes, after)) = cases.lock().unwrap().pop() else { return };
                let outcome = std::panic::catch_unwind(|| abused(&bytes, after, timeout));
                sender.send((case, after, outcome.map_err(drop))).unwrap();
            }
        });
    }
    for _ in 0..count {
        // Far longer than all cases take.
        let (case, after, outcome) = results.recv_timeout(Duration::from_secs(60)).expect("a case hangs");
        let (well, failure) = outcome.unwrap_or_else(|()| panic!("case {case}, which {after:?}, panicked"));
        assert!(
            well < (CALLS as usize + 1) * ROUNDS.len() && failure.is_some(),
            "case {case}: {well} rounds, no failure"
        );
    }
}

/// Runs one rank against these bytes.
fn abused(bytes: &[u8], after: After, timeout: Duration) -> (usize, Option<Failure>) {
    let (member, mut other) = half();
    let mut world = member.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
    let output = bytes.to_vec();
    let (end, ended) = mpsc::channel::<()>();
    let peer = thread::spawn(move || {
        let mut reader = other.try_clone().unwrap();
        let reading = thread::spawn(move || {
            let mut all = [0; 4096];
            // Reads until the end of the stream, and ignores the contents.
            if !matches!(after, After::Resets) {
                while reader.read(&mut all).is_ok_and(|count| count > 0) {}
            }
        });
        // The rank may have closed the connection already.
        let _ = other.write_all(&output);
        if matches!(after, After::IsSilent) {
            let _ = ended.recv();
        }
        // With unread bytes, this resets the connection.
        let _ = other.shutdown(std::net::Shutdown::Both);
        reading.join().unwrap();
    });
    let (well, failure) = calls(&mut *world, timeout);
    // The failure stays the same; no lock is poisoned.
    let again = world.failure();
    assert!(failure.is_none() || again == failure, "{failure:?}, then {again:?}");
    let _ = end.send(());
    peer.join().unwrap();
    drop(world);
    drop(member);
    (well, failure)
}
