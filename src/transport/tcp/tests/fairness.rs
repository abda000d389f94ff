//! No peer holds the engine for as long as it keeps sending or reading.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::call::{call, drive, open};
use super::harness::Harness;
use super::{OVERSUBSCRIBED, streams};
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind, MAX_TEXT};
use crate::transport::engine::limits::BUDGET;
use crate::transport::tcp::mesh::Mesh;

#[test]
fn sender_without_pause_is_deferred_after_its_budget() {
    let mut harness = Harness::new(0, 2);
    let mut flood = harness.others[1].take().unwrap();
    let end = flood.try_clone().unwrap();
    let flood = thread::spawn(move || {
        let frames = Header::new(Kind::Cancel, ContextId::WORLD).encode().repeat(20_000);
        while flood.write_all(&frames).is_ok() {}
    });
    harness.during(ContextId::WORLD, &call(&[], &[(1, 10, false)]), |harness| {
        // At some point it finds the socket never empty, and returns all the same.
        let begin = Instant::now();
        let mut times = std::iter::from_fn(|| (begin.elapsed() < Duration::from_secs(20)).then_some(()));
        let deferred = times.any(|()| {
            let before = harness.connection(1).reads;
            harness.engine.pump_in(1);
            assert!(harness.connection(1).reads <= before + u64::from(BUDGET));
            harness.engine.unfinished == [1]
        });
        assert!(deferred, "the flood is too slow to tell");
        harness.engine.resume();
    });
    end.shutdown(std::net::Shutdown::Both).unwrap();
    flood.join().unwrap();
}

#[test]
fn reader_without_pause_is_deferred_after_its_budget() {
    const LONG: u64 = 200 << 20;
    let mut harness = Harness::new(0, 2);
    harness.send_from(1, Header::new(Kind::ClearToSend, ContextId::WORLD), &[]);
    assert!(harness.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].out.window.is_clear()));
    let mut other = harness.others[1].take().unwrap();
    let reader = thread::spawn(move || {
        let (mut part, mut received) = (vec![0; 1 << 20], 0);
        while received < LONG {
            received += other.read(&mut part).unwrap() as u64;
        }
    });
    harness.during(ContextId::WORLD, &call(&[(1, LONG, false)], &[]), |harness| {
        let most = u64::from(BUDGET) * u64::from(MAX_TEXT);
        while !harness.engine.is_done(ContextId::WORLD) {
            let before = harness.connection(1).bytes_written;
            harness.connection(1).blocked = false;
            harness.engine.pump_out(1);
            assert!(harness.connection(1).bytes_written <= before + most + most / 100);
        }
    });
    reader.join().unwrap();
}

#[test]
fn long_message_is_read_in_long_pieces() {
    const LONG: u64 = 8 << 20;
    for scattered in [false, true] {
        let ranks = streams(2).unwrap().into_iter().enumerate();
        let ranks: Vec<_> = ranks
            .map(|(rank, streams)| {
                thread::spawn(move || {
                    let member = Mesh { rank, streams, neighbours: OVERSUBSCRIBED, hosts: None }.start().unwrap();
                    let mut world = open(&*member, ContextId::WORLD);
                    let (sends, receives) = ([(1, LONG, false)], [(0, LONG, scattered)]);
                    let program = if rank == 0 { call(&sends, &[]) } else { call(&[], &receives) };
                    let (input, mut output) =
                        (vec![7; program.sizes().input as usize], vec![0; program.sizes().output as usize]);
                    drive(&mut *world, 0, &program, (&input, &mut output), Duration::from_secs(30)).unwrap();
                    assert_eq!(output.iter().filter(|byte| **byte == 7).count() as u64, LONG * rank as u64);
                    member.process.lock().connections[1 - rank].as_ref().unwrap().reads
                })
            })
            .collect();
        let reads: Vec<u64> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(reads[1] < 4000, "{} reads, scattered: {scattered}", reads[1]);
    }
}
