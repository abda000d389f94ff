//! Sockets that take little at once: frames are cut anywhere, and wait for each other.

use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::alone::Alone;
use super::call::{Item, call, drive, open};
use super::{CROWD, Streams, endpoint, streams};
use crate::ids::Rank;
use crate::plan::{Message, Program};
use crate::transport::conformance::{self, Fixture};
use crate::transport::engine::frame::{Header, Kind};
use crate::transport::{ContextId, Endpoint};

/// Connections with so many bytes of room where they are sent, and where they are received.
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
    ranks.map(|(rank, streams)| endpoint(rank, streams, CROWD)).collect()
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
}

#[test]
fn processes_with_small_buffers_keep_every_promise() {
    conformance::run_all(&Narrow).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn a_long_message_waits_for_the_rest_of_the_short_ones_before_it() {
    let mut alone = Alone::on(0, narrow(2, (10_000, 30_000)).unwrap());
    // So many short ones that the socket does not take all of those that are written together with
    // the long one.
    let lengths: Vec<u64> = (0..45).map(|i| 500 + 20 * i).chain([60_000, 9]).collect();
    let items: Vec<Item> = lengths.iter().map(|bytes| (1, *bytes, false)).collect();
    alone.hear(1, Header::new(Kind::Ready, ContextId::WORLD), &[]);
    assert!(alone.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].out.ready.is_some()));
    let mut other = alone.others[1].take().unwrap();
    alone.during(ContextId::WORLD, &call(&items, &[]), |alone| {
        assert!(alone.connection(1).blocked && alone.connection(1).queue.len() > 1000, "it has not to wait");
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
        alone.listen_until(|engine| engine.is_done(ContextId::WORLD) || reader.is_finished());
        reader.join().unwrap();
    });
}

#[test]
fn a_message_that_has_gone_does_not_wait_for_those_of_another_context_that_follow_it() {
    let mut alone = Alone::on(0, narrow(2, (10_000, 30_000)).unwrap());
    let long = ContextId::of(5);
    alone.engine.open(long, &[Rank::new(0), Rank::new(1)]).unwrap();
    alone.hear(1, Header::new(Kind::Ready, long), &[]);
    assert!(alone.read_until(1, |engine| engine.contexts[&long].lanes[1].out.ready.is_some()));
    let mut other = alone.others[1].take().unwrap();
    // Of several frames, so that the short message comes between two of them.
    alone.during(long, &call(&[(1, 3_000_000, false)], &[]), |alone| {
        alone.during(ContextId::WORLD, &call(&[(1, 100, false)], &[]), |alone| {
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
            alone.listen_until(|_| reader.is_finished());
            let _other = reader.join().unwrap();
            assert!(alone.listen_until(|engine| engine.is_done(ContextId::WORLD)));
            assert!(!alone.engine.is_done(long));
        });
    });
}

const CONTEXTS: u64 = 2;
const CALLS: u64 = 60;

/// A number that depends on all of these.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(1, |all, number| {
        let all = (all ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let all = (all ^ (all >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let all = (all ^ (all >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        all ^ (all >> 31)
    })
}

/// What goes from one to another in a call of a context: how long each is, and whether it is
/// scattered for its sender.
fn messages(context: u64, call: u64, from: usize, to: usize) -> Vec<(u64, bool)> {
    // At the edges of what is copied, sent without being asked for, written at once, and in one
    // frame.
    const EDGES: [u64; 12] = [0, 1, 56, 4095, 4097, 9000, 65_535, 65_536, 65_537, 131_073, 589_825, 900_000];
    let seed = mixed(&[context, call, from as u64, to as u64]);
    let count = [0, 1, 2, 4, 30][seed as usize % 5];
    // Where there are many, they are short, but for the last.
    let message = |i: u64| {
        let (draw, most) = (mixed(&[seed, i]), if count < 5 || i + 1 == count { EDGES.len() } else { 6 });
        (EDGES[draw as usize % most], draw >> 40 & 1 == 1)
    };
    (0..count).map(message).collect()
}

/// What a message is made of, byte by byte.
fn content(context: u64, call: u64, (from, to): (usize, usize), index: u32) -> impl Iterator<Item = u8> {
    let first = mixed(&[context, call, from as u64, to as u64, u64::from(index)]);
    (first % 251..).map(|at| (at % 251) as u8)
}

/// Where its bytes lie, one after the other.
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
fn long_short_and_scattered_messages_of_two_contexts_arrive_through_small_buffers() {
    const RANKS: usize = 3;
    /// What nobody may write.
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
                        // What lies in one piece for its sender is scattered for its receiver.
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
