//! Frames that have arrived are handled without waiting for another event.

use std::thread;
use std::time::Duration;

use super::call::{call, drive, open};
use super::harness::Harness;
use super::unable::aborted;
use super::{OVERSUBSCRIBED, streams};
use crate::transport::ContextId;
use crate::transport::codec::encode;
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::engine::state::Engine;
use crate::transport::tcp::mesh::Mesh;

/// A message long enough to need a CTS.
const LONG: u64 = 100_000;

#[test]
fn message_after_an_early_cts_is_sent_at_once() {
    let mut harness = Harness::new(0, 2);
    // Nothing has arrived.
    harness.engine.pump_in(1);
    harness.send_from(1, Header::new(Kind::ClearToSend, ContextId::WORLD), &[]);
    let readable = |engine: &Engine| engine.connections[1].as_ref().is_some_and(|connection| connection.readable);
    assert!(harness.listen_until(readable));
    let program = call(&[(1, LONG, false)], &[]);
    let written = harness.during(ContextId::WORLD, &program, |harness| {
        let out = &harness.engine.contexts[&ContextId::WORLD].lanes[1].out;
        out.written() > 0 || !out.is_waiting()
    });
    assert!(written, "it waits for another event");
}

#[test]
fn decision_of_a_rank_that_sends_nothing_is_read_at_once() {
    let mut harness = Harness::new(2, 3);
    // Nothing has arrived.
    harness.engine.pump_in(0);
    let decided = harness.during(ContextId::WORLD, &call(&[], &[(1, 10, false)]), |harness| {
        harness.engine.propose(ContextId::WORLD, aborted(2));
        harness.send_from(0, Header::new(Kind::Decision, ContextId::WORLD), &encode(&aborted(1)));
        harness.listen_until(|engine| engine.failure(ContextId::WORLD) == Some(&aborted(1)))
    });
    assert!(decided, "it waits for a sweep");
}

#[test]
fn awaited_frames_in_a_ring_are_never_left_to_a_sweep() {
    const RANKS: usize = 4;
    let ranks: Vec<_> = streams(RANKS)
        .unwrap()
        .into_iter()
        .enumerate()
        .map(|(rank, streams)| {
            thread::spawn(move || {
                let member = Mesh { rank, streams, neighbours: OVERSUBSCRIBED, hosts: None }.start().unwrap();
                let mut world = open(&*member, ContextId::WORLD);
                let program = call(&[((rank + 1) % RANKS, LONG, false)], &[((rank + RANKS - 1) % RANKS, LONG, false)]);
                let (input, mut output) = (vec![7; LONG as usize + 8], vec![0; LONG as usize + 8]);
                for number in 0..400 {
                    drive(&mut *world, number, &program, (&input, &mut output), Duration::from_secs(30)).unwrap();
                }
                member.process.lock().overlooked
            })
        })
        .collect();
    let overlooked: Vec<u64> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    assert_eq!(overlooked, [0; RANKS]);
}
