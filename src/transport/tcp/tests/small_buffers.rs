//! Sockets with small buffers: frames are cut anywhere, and wait for each other.

use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::call::{Item, call, drive, open};
use super::harness::Harness;
use super::{OVERSUBSCRIBED, Streams, endpoint, streams};
use crate::ids::Rank;
use crate::plan::{Message, Program};
use crate::transport::conformance::{self, Fixture};
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::{ContextId, Endpoint};

/// Connects ranks with send and receive buffers of these sizes.
fn narrow(size: usize, (sent, received): (usize, usize)) -> std::io::Result<Streams> {
    let streams = streams(size)?;
    for stream in streams.iter().flatten().flatten() {
        SockRef::from(stream).set_send_buffer_size(sent)?;
        SockRef::from(stream).set_recv_buffer_size(received)?;
    }
    Ok(streams)
}

fn narrow_mesh(size: usize, room: (usize, usize)) -> std::io::Result<Vec<Arc<dyn Endpoint>>> {
    let ranks = narrow(size, room)?.into_iter().enumerate();
    ranks.map(|(rank, streams)| endpoint(rank, streams, OVERSUBSCRIBED)).collect()
}

#[derive(Debug)]
struct Narrow;

impl Fixture for Narrow {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        narrow_mesh(size, (20_000, 30_000)).map_err(|error| error.to_string())
    }

    fn short_timeout(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn jobs_at_once(&self) -> usize {
        4
    }
}

#[test]
fn transport_with_small_buffers_passes_conformance() {
    conformance::run_all(&Narrow).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn long_message_waits_for_short_ones_before_it() {
    let mut harness = Harness::on(0, narrow(2, (10_000, 30_000)).unwrap());
    // So many short messages that the socket does not accept all that are written together with the
    // long one.
    let lengths: Vec<u64> = (0..45).map(|i| 500 + 20 * i).chain([60_000, 9]).collect();
    let items: Vec<Item> = lengths.iter().map(|bytes| (1, *bytes, false)).collect();
    harness.send_from(1, Header::new(Kind::ClearToSend, ContextId::WORLD), &[]);
    assert!(harness.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].out.window.is_clear()));
    let mut other = harness.others[1].take().unwrap();
    harness.during(ContextId::WORLD, &call(&items, &[]), |harness| {
        assert!(harness.connection(1).blocked && harness.connection(1).queue.len() > 1000, "it does not have to wait");
        let reader = thread::spawn(move || {
            for (index, bytes) in lengths.into_iter().enumerate() {
                let mut head = [0; Header::BYTES];
                other.read_exact(&mut head).unwrap();
                let header = Header::decode(&head).unwrap();
                assert_eq!((header.kind, header.message_id.index as usize), (Kind::Message, index));
                assert_eq!((header.bytes, u64::from(header.text)), (bytes, bytes));
                let mut text = vec![0; bytes as usize];
                other.read_exact(&mut text).unwrap();
                assert!(text.iter().all(|byte| *byte == 7), "message {index}");
            }
        });
        harness.listen_until(|engine| engine.is_done(ContextId::WORLD) || reader.is_finished());
        reader.join().unwrap();
    });
}

#[test]
fn written_message_does_not_wait_for_other_contexts() {
    let mut harness = Harness::on(0, narrow(2, (10_000, 30_000)).unwrap());
    let long = ContextId::of(5);
    harness.engine.open(long, &[Rank::new(0), Rank::new(1)]).unwrap();
    harness.send_from(1, Header::new(Kind::ClearToSend, long), &[]);
    assert!(harness.read_until(1, |engine| engine.contexts[&long].lanes[1].out.window.is_clear()));
    let mut other = harness.others[1].take().unwrap();
    // The long message has several frames, so that the short one goes between two of them.
    harness.during(long, &call(&[(1, 3_000_000, false)], &[]), |harness| {
        harness.during(ContextId::WORLD, &call(&[(1, 100, false)], &[]), |harness| {
            let reader = thread::spawn(move || {
                loop {
                    let mut head = [0; Header::BYTES];
                    other.read_exact(&mut head).unwrap();
                    let header = Header::decode(&head).unwrap();
                    other.read_exact(&mut vec![0; header.text as usize]).unwrap();
                    if header.context == ContextId::WORLD {
                        // It reads no further.
                        return other;
                    }
                }
            });
            harness.listen_until(|_| reader.is_finished());
            let _other = reader.join().unwrap();
            assert!(harness.listen_until(|engine| engine.is_done(ContextId::WORLD)));
            assert!(!harness.engine.is_done(long));
        });
    });
}

const CONTEXTS: u64 = 2;
const CALLS: u64 = 60;

/// Hashes these numbers.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(1, |all, number| {
        let all = (all ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let all = (all ^ (all >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let all = (all ^ (all >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        all ^ (all >> 31)
    })
}

/// Returns the messages between two ranks in a call: their lengths, and whether they are scattered
/// at the sender.
fn messages(context: u64, call: u64, from: usize, to: usize) -> Vec<(u64, bool)> {
    // At the boundaries of what is copied, sent eagerly, written at once, and put into one frame.
    const EDGES: [u64; 12] = [0, 1, 56, 4095, 4097, 9000, 65_535, 65_536, 65_537, 131_073, 589_825, 900_000];
    let seed = mixed(&[context, call, from as u64, to as u64]);
    let count = [0, 1, 2, 4, 30][seed as usize % 5];
    // If there are many messages, all but the last are short.
    let message = |i: u64| {
        let (draw, most) = (mixed(&[seed, i]), if count < 5 || i + 1 == count { EDGES.len() } else { 6 });
        (EDGES[draw as usize % most], draw >> 40 & 1 == 1)
    };
    (0..count).map(message).collect()
}

/// Returns the contents of a message.
fn content(context: u64, call: u64, (from, to): (usize, usize), index: u32) -> impl Iterator<Item = u8> {
    let first = mixed(&[context, call, from as u64, to as u64, u64::from(index)]);
    (first % 251..).map(|at| (at % 251) as u8)
}

/// Returns the places of a message's bytes.
fn places<'p>(program: &'p Program, message: &'p Message) -> impl Iterator<Item = usize> + 'p {
    let runs = program.runs(message).iter();
    runs.flat_map(|run| {
        (0..run.count).flat_map(move |piece| {
            let begin = run.offset + piece * run.stride;
            (begin..begin + run.len).map(|at| at as usize)
        })
    })
}

#[test]
fn mixed_messages_of_two_contexts_arrive_through_small_buffers() {
    const RANKS: usize = 3;
    /// Marks the bytes that nothing may write to.
    const UNTOUCHED: u8 = 255;
    for room in [(10_000, 30_000), (60_000, 30_000)] {
        let endpoints = narrow_mesh(RANKS, room).unwrap();
        thread::scope(|scope| {
            for (endpoint, context) in endpoints.iter().flat_map(|endpoint| (0..CONTEXTS).map(move |id| (endpoint, id)))
            {
                scope.spawn(move || {
                    let mut transport = open(&**endpoint, ContextId::of(context));
                    let me = endpoint.rank().index();
                    for number in 0..CALLS {
                        let others = || (0..RANKS).filter(|peer| *peer != me);
                        let item = |peer, (bytes, scattered)| -> Item { (peer, bytes, scattered) };
                        let sends: Vec<Item> = others()
                            .flat_map(|to| messages(context, number, me, to).into_iter().map(move |it| item(to, it)))
                            .collect();
                        // A message in one piece at its sender is scattered at its receiver.
                        let receives: Vec<Item> = others()
                            .flat_map(|from| {
                                messages(context, number, from, me).into_iter().map(move |(n, it)| item(from, (n, !it)))
                            })
                            .collect();
                        let program = call(&sends, &receives);
                        let mut input = vec![0; program.sizes().input as usize];
                        let mut output = vec![UNTOUCHED; program.sizes().output as usize];
                        let mut expected = output.clone();
                        let round = &program.rounds()[0];
                        for message in &round.sends {
                            let bytes = content(context, number, (me, message.peer.index()), message.index);
                            places(&program, message).zip(bytes).for_each(|(at, byte)| input[at] = byte);
                        }
                        for message in &round.receives {
                            let bytes = content(context, number, (message.peer.index(), me), message.index);
                            places(&program, message).zip(bytes).for_each(|(at, byte)| expected[at] = byte);
                        }
                        let timeout = Duration::from_secs(20);
                        drive(&mut *transport, number, &program, (&input, &mut output), timeout).unwrap();
                        assert!(output == expected, "rank {me}, context {context}, call {number}");
                    }
                });
            }
        });
    }
}
