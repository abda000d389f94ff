//! Nobody holds the engine for as long as it keeps sending, or reading.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::alone::Alone;
use super::call::{call, drive, open};
use super::{CROWD, streams};
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind, MOST_TEXT};
use crate::transport::engine::limits::TURN;
use crate::transport::tcp::mesh::Mesh;

#[test]
fn who_keeps_sending_is_read_from_a_few_times_and_put_off() {
    let mut alone = Alone::new(0, 2);
    let mut flood = alone.others[1].take().unwrap();
    let end = flood.try_clone().unwrap();
    let flood = thread::spawn(move || {
        let frames = Header::new(Kind::Void, ContextId::WORLD).encode().repeat(20_000);
        while flood.write_all(&frames).is_ok() {}
    });
    alone.during(ContextId::WORLD, &call(&[], &[(1, 10, false)]), |alone| {
        // Some time it finds the socket never empty; it returns all the same.
        let begin = Instant::now();
        let mut times = std::iter::from_fn(|| (begin.elapsed() < Duration::from_secs(20)).then_some(()));
        let put_off = times.any(|()| {
            let before = alone.connection(1).reads;
            alone.engine.pump_in(1);
            assert!(alone.connection(1).reads <= before + u64::from(TURN));
            alone.engine.unfinished == [1]
        });
        assert!(put_off, "the flood is too slow to tell");
        alone.engine.resume();
    });
    end.shutdown(std::net::Shutdown::Both).unwrap();
    flood.join().unwrap();
}

#[test]
fn who_keeps_reading_is_written_to_a_few_times_and_put_off() {
    const LONG: u64 = 200 << 20;
    let mut alone = Alone::new(0, 2);
    alone.hear(1, Header::new(Kind::Ready, ContextId::WORLD), &[]);
    assert!(alone.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].out.ready.is_some()));
    let mut other = alone.others[1].take().unwrap();
    let reader = thread::spawn(move || {
        let (mut part, mut came) = (vec![0; 1 << 20], 0);
        while came < LONG {
            came += other.read(&mut part).unwrap() as u64;
        }
    });
    alone.during(ContextId::WORLD, &call(&[(1, LONG, false)], &[]), |alone| {
        let most = u64::from(TURN) * u64::from(MOST_TEXT);
        while !alone.engine.is_done(ContextId::WORLD) {
            let before = alone.connection(1).gone;
            alone.connection(1).blocked = false;
            alone.engine.pump_out(1);
            assert!(alone.connection(1).gone <= before + most + most / 100);
        }
    });
    reader.join().unwrap();
}

#[test]
fn a_long_message_is_read_in_long_pieces_wherever_it_goes() {
    const LONG: u64 = 8 << 20;
    for scattered in [false, true] {
        let ranks = streams(2).unwrap().into_iter().enumerate();
        let ranks: Vec<_> = ranks
            .map(|(rank, streams)| {
                thread::spawn(move || {
                    let member = Mesh { rank, streams, neighbours: CROWD }.start().unwrap();
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
