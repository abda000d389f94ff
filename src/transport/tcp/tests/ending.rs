//! The end of a connection, of a context, and of a process.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::call::{exchange, open};
use super::harness::Harness;
use super::unable::aborted;
use super::{OVERSUBSCRIBED, endpoint, half, streams};
use crate::ids::Rank;
use crate::transport::codec::{decode, encode};
use crate::transport::engine::connection::Connection;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::member::{Member, Supervisor};
use crate::transport::engine::state::Engine;
use crate::transport::tcp::mesh::Mesh;
use crate::transport::{Cause, ContextId, Failure, History, Transport};

#[test]
fn end_that_comes_with_the_last_bytes_is_seen() {
    let mut harness = Harness::new(0, 2);
    let message = Header { eager: true, bytes: 8, ..Header::new(Kind::Message, ContextId::WORLD) };
    harness.send_from(1, Header { message_id: MessageId::default(), ..message }, &[7; 8]);
    // The kernel has both before the engine polls, and reports them once.
    harness.others[1] = None;
    let gone = |engine: &Engine| !engine.connections[1].as_ref().is_some_and(Connection::is_open);
    assert!(harness.listen_until(gone), "the end was not seen");
    assert!(!harness.engine.contexts[&ContextId::WORLD].lanes[1].into.unexpected.is_empty(), "the message is lost");
}

#[test]
fn sender_that_ends_waits_until_all_is_read() {
    let mut streams = streams(2).unwrap();
    // So little room that most of it stays with the sender.
    SockRef::from(streams[1][0].as_ref().unwrap()).set_recv_buffer_size(20_000).unwrap();
    let (calls, timeout) = (4, Duration::from_secs(20));
    let first = endpoint(0, streams.remove(0), OVERSUBSCRIBED).unwrap();
    let sender = thread::spawn(move || {
        let mut world = open(&*first, ContextId::WORLD);
        (0..calls).for_each(|call| exchange(&mut *world, call, &[(1, 60_000)], &[], timeout).unwrap());
    });
    // The sender has returned by now, but its peer is not there to acknowledge it.
    thread::sleep(2 * LINGER);
    let last = endpoint(1, streams.remove(0), OVERSUBSCRIBED).unwrap();
    let mut world = open(&*last, ContextId::WORLD);
    (0..calls).for_each(|call| exchange(&mut *world, call, &[], &[(0, 60_000)], timeout).unwrap());
    drop((world, last));
    sender.join().unwrap();
}

#[test]
fn leaving_a_failed_context_forwards_the_decision() {
    let mut harness = Harness::new(1, 3);
    let failure = aborted(0);
    harness.send_from(0, Header::new(Kind::Decision, ContextId::WORLD), &encode(&failure));
    assert!(harness.read_until(0, |engine| engine.failure(ContextId::WORLD) == Some(&failure)));
    let mut other = harness.others[2].take().unwrap();
    other.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut kinds = Vec::new();
    let mut receive = || {
        let mut bytes = [0; Header::BYTES];
        other.read_exact(&mut bytes).unwrap();
        let header = Header::decode(&bytes).unwrap();
        let mut text = vec![0; header.text as usize];
        other.read_exact(&mut text).unwrap();
        kinds.push(header.kind);
        (header.kind, text)
    };
    harness.engine.broadcast_leave(ContextId::WORLD, "");
    // Rank 2 may have got the decision before, but not the leave.
    let mut frame = receive();
    while frame.0 != Kind::Leave {
        assert!(frame.0 != Kind::Decision || decode::<Failure>(&frame.1).unwrap() == failure);
        frame = receive();
    }
    assert!(kinds.contains(&Kind::Decision), "{kinds:?}");
}

#[test]
fn context_that_all_have_left_is_dropped() {
    let member = |(rank, streams)| Mesh { rank, streams, neighbours: OVERSUBSCRIBED, hosts: None }.start().unwrap();
    let members: Vec<Arc<Member>> = streams(2).unwrap().into_iter().enumerate().map(member).collect();
    for i in 0..3000 {
        let opened: Vec<_> = members.iter().map(|member| open(&**member, ContextId::WORLD.child(i, 0))).collect();
        drop(opened);
    }
    let begin = Instant::now();
    let known = |member: &Arc<Member>| member.process.lock().contexts.len();
    while members.iter().any(|member| known(member) > 0) && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(members.iter().map(known).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn panicked_rank_ends_without_waiting_for_a_deadline() {
    let (member, other) = half();
    let timeout = Duration::from_secs(600);
    let begin = Instant::now();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut world = open(&*member, ContextId::WORLD);
        exchange(&mut *world, 0, &[(1, 8)], &[], timeout).unwrap();
        panic!("on purpose");
    }));
    drop(member);
    // The peer never acknowledges the FIN. Without the panic, it would have half a minute to do so.
    assert!(panicked.is_err() && begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    drop(other);
}

#[test]
fn end_is_not_delayed_by_others_that_leave() {
    let mut streams = streams(14).unwrap();
    let mesh = Mesh { rank: 0, streams: streams.remove(0), neighbours: OVERSUBSCRIBED, hosts: None };
    let member = mesh.start().unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let _world = open(&*member, ContextId::WORLD);
        panic!("on purpose");
    }));
    assert!(failed.is_err());
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    // One of the others is suspended. The rest leave one by one, at intervals shorter than the wait
    // at the end.
    let leaving = thread::spawn(move || {
        let _stopped = streams.pop();
        let mut left = 0;
        while streams.pop().is_some() && !seen.load(Ordering::SeqCst) {
            left += 1;
            thread::sleep(LINGER / 2);
        }
        left
    });
    drop(member);
    ended.store(true, Ordering::SeqCst);
    // Allows twice the time that it may take.
    let left = leaving.join().unwrap();
    assert!(left <= 5, "{left} others had left when it ended");
}

/// Starts the members of a job, with their supervisors.
fn supervised(size: usize) -> Vec<(Box<dyn Transport>, Supervisor)> {
    let member = |(rank, streams)| {
        let member = Mesh { rank, streams, neighbours: OVERSUBSCRIBED, hosts: None }.start().unwrap();
        (open(&*member, ContextId::WORLD), Supervisor::new(member))
    };
    streams(size).unwrap().into_iter().enumerate().map(member).collect()
}

/// Returns what each member finds at its end, if it leaves after these calls.
fn ended(histories: &[History], in_order: bool) -> Vec<Option<Failure>> {
    let members = supervised(histories.len());
    let end = |(mut world, supervisor): (Box<dyn Transport>, Supervisor), history: History| {
        thread::spawn(move || {
            world.conclude(history);
            drop(world);
            supervisor.end().map(|disagreement| disagreement.failure)
        })
    };
    let mut threads = Vec::new();
    for (member, history) in members.into_iter().zip(histories) {
        threads.push(end(member, *history));
        if in_order {
            // Later members reply meanwhile, and leave when it has ended.
            while !threads.last().is_some_and(thread::JoinHandle::is_finished) && threads.len() < histories.len() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn disagreement_on_leaving_is_found_in_any_order() {
    let same = History { calls: 3, digest: 7 };
    for in_order in [false, true] {
        assert_eq!(ended(&[same; 3], in_order), [const { None }; 3]);
        for odd in 0..3 {
            let mut histories = [same; 3];
            histories[odd] = History { digest: 8, ..same };
            let found: Vec<Failure> = ended(&histories, in_order).into_iter().flatten().collect();
            assert!(!found.is_empty(), "rank {odd} differs, and no rank finds it");
            for failure in found {
                let Cause::Disagree { rank_a, rank_b, .. } = failure.cause else { panic!("{failure}") };
                assert!([rank_a, rank_b].iter().any(|rank| rank.index() == odd), "{failure}");
            }
        }
    }
}

#[test]
fn message_that_nobody_awaits_is_found_by_its_receiver() {
    for receiver_leaves_first in [false, true] {
        let mut members = supervised(2);
        let (mut receiver, mut sender) = (members.pop().unwrap(), members.pop().unwrap());
        let timeout = Duration::from_secs(20);
        // Both make a call; rank 1 does not know that it is sent 9 bytes in it.
        exchange(&mut *receiver.0, 0, &[], &[], timeout).unwrap();
        let leave = |(mut world, supervisor): (Box<dyn Transport>, Supervisor)| {
            world.conclude(History { calls: 1, digest: 7 });
            drop(world);
            thread::spawn(move || supervisor.end().map(|disagreement| disagreement.failure))
        };
        let send = |world: &mut dyn Transport| exchange(world, 0, &[(1, 9)], &[], timeout).unwrap();
        send(&mut *sender.0);
        let (receiver, sender) = if receiver_leaves_first {
            let receiver = leave(receiver);
            (receiver, leave(sender))
        } else {
            let sender = leave(sender);
            (leave(receiver), sender)
        };
        let (found, other) = (receiver.join().unwrap().unwrap(), sender.join().unwrap());
        let cause = Cause::Length { from: Rank::new(0), to: Rank::new(1), expected: 0, found: 9 };
        assert_eq!((found.call, found.cause, other), (0, cause, None));
    }
}

#[test]
fn failed_context_reports_no_disagreement() {
    let mut members = supervised(2);
    members[1].0.abort(aborted(1));
    while members[0].0.failure().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    let end = |((mut world, supervisor), calls): ((Box<dyn Transport>, Supervisor), u64)| {
        world.conclude(History { calls, digest: 0 });
        drop(world);
        thread::spawn(move || supervisor.end().is_some())
    };
    let found: Vec<_> = members.into_iter().zip(0..).map(end).collect();
    assert!(found.into_iter().all(|thread| !thread.join().unwrap()));
}
