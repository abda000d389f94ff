//! The head of a long message, which is sent eagerly.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use super::call::call;
use super::harness::Harness;
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind};

const LONG: u64 = 300_000;

fn head(harness: &Harness) -> u64 {
    harness.engine.credit.head(LONG)
}

/// Reads the next frame.
fn frame(from: &mut TcpStream) -> (Header, Vec<u8>) {
    let mut header = [0; Header::BYTES];
    from.read_exact(&mut header).unwrap();
    let header = Header::decode(&header).unwrap();
    let mut text = vec![0; header.text as usize];
    from.read_exact(&mut text).unwrap();
    (header, text)
}

#[test]
fn head_is_sent_at_once_and_the_rest_after_cts() {
    let mut harness = Harness::new(0, 2);
    let head = head(&harness);
    assert!(head < LONG);
    let mut other = harness.others[1].take().unwrap();
    other.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    harness.during(ContextId::WORLD, &call(&[(1, LONG, false)], &[]), |harness| {
        let (first, text) = frame(&mut other);
        assert_eq!((first.kind, first.eager, first.bytes, text.len() as u64), (Kind::Message, true, LONG, head));
        let nothing = other.read(&mut [0]).unwrap_err();
        assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
        harness.others[1] = Some(other.try_clone().unwrap());
        harness.send_from(1, Header::new(Kind::ClearToSend, ContextId::WORLD), &[]);
        assert!(harness.listen_until(|engine| engine.is_done(ContextId::WORLD)));
        let mut received = head;
        while received < LONG {
            let (more, text) = frame(&mut other);
            assert_eq!((more.kind, more.eager, more.bytes), (Kind::Continuation, false, received));
            assert!(text.iter().all(|byte| *byte == 7));
            received += text.len() as u64;
        }
        assert_eq!(received, LONG);
    });
}

/// Returns the frame that begins a message to rank 0.
fn beginning(text: u64) -> (Header, Vec<u8>) {
    let header = Header { eager: true, bytes: LONG, fingerprint: 1, ..Header::new(Kind::Message, ContextId::WORLD) };
    (header, vec![9; text as usize])
}

#[test]
fn unexpected_head_is_queued_and_the_rest_follows() {
    let mut harness = Harness::new(0, 2);
    let head = head(&harness);
    let (first, text) = beginning(head);
    harness.send_from(1, first, &text);
    let kept = Header::BYTES + head as usize;
    assert!(harness.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].into.unexpected.len() == kept));
    let mut other = harness.others[1].as_ref().unwrap().try_clone().unwrap();
    harness.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |harness| {
        let (ready, _) = frame(&mut other);
        assert_eq!(ready.kind, Kind::ClearToSend);
        let into = &harness.engine.contexts[&ContextId::WORLD].lanes[1].into;
        assert!(into.unexpected.is_empty() && into.received() == head);
        let rest = vec![9; (LONG - head) as usize];
        harness.send_from(1, Header { eager: false, kind: Kind::Continuation, bytes: head, ..first }, &rest);
        assert!(harness.listen_until(|engine| engine.is_done(ContextId::WORLD)));
    });
}

#[test]
fn head_of_another_length_ends_the_connection() {
    for text in [0, 1, 1000] {
        let mut harness = Harness::new(0, 2);
        let (first, text) = beginning(text);
        harness.send_from(1, first, &text);
        assert!(harness.read_until(1, |engine| engine.connections[1].as_ref().is_some_and(|other| !other.is_open())));
    }
    // Nor may the head be longer, whether it is awaited or not.
    let mut harness = Harness::new(0, 2);
    let (first, text) = beginning(head(&harness) + 1);
    harness.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |harness| {
        harness.send_from(1, first, &text);
        assert!(harness.read_until(1, |engine| engine.connections[1].as_ref().is_some_and(|other| !other.is_open())));
    });
}

#[test]
fn repeated_head_ends_the_connection() {
    let mut harness = Harness::new(0, 2);
    let (first, text) = beginning(head(&harness));
    let kept = 2 * (Header::BYTES + text.len());
    harness.send_from(1, first, &text);
    harness.send_from(1, first, &text);
    assert!(harness.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].into.unexpected.len() == kept));
    harness.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |harness| {
        assert!(!harness.connection(1).is_open());
    });
}
