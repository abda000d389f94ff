//! The head of a long message, which is sent without being asked for.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use super::alone::Alone;
use super::call::call;
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind};

const LONG: u64 = 300_000;

fn head(alone: &Alone) -> u64 {
    alone.engine.credit.head(LONG)
}

/// The next frame: its header, and its text.
fn frame(from: &mut TcpStream) -> (Header, Vec<u8>) {
    let mut header = [0; Header::BYTES];
    from.read_exact(&mut header).unwrap();
    let header = Header::decode(&header).unwrap();
    let mut text = vec![0; header.text as usize];
    from.read_exact(&mut text).unwrap();
    (header, text)
}

#[test]
fn the_head_goes_at_once_and_the_rest_when_the_receiver_is_ready() {
    let mut alone = Alone::new(0, 2);
    let head = head(&alone);
    assert!(head < LONG);
    let mut other = alone.others[1].take().unwrap();
    other.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    alone.during(ContextId::WORLD, &call(&[(1, LONG, false)], &[]), |alone| {
        let (first, text) = frame(&mut other);
        assert_eq!((first.kind, first.eager, first.bytes, text.len() as u64), (Kind::Message, true, LONG, head));
        let nothing = other.read(&mut [0]).unwrap_err();
        assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
        alone.others[1] = Some(other.try_clone().unwrap());
        alone.hear(1, Header::new(Kind::Ready, ContextId::WORLD), &[]);
        assert!(alone.listen_until(|engine| engine.is_done(ContextId::WORLD)));
        let mut came = head;
        while came < LONG {
            let (more, text) = frame(&mut other);
            assert_eq!((more.kind, more.eager, more.bytes), (Kind::More, false, came));
            assert!(text.iter().all(|byte| *byte == 7));
            came += text.len() as u64;
        }
        assert_eq!(came, LONG);
    });
}

/// What begins a message for rank 0.
fn beginning(text: u64) -> (Header, Vec<u8>) {
    let header = Header { eager: true, bytes: LONG, fingerprint: 1, ..Header::new(Kind::Message, ContextId::WORLD) };
    (header, vec![9; text as usize])
}

#[test]
fn a_head_that_comes_early_is_kept_and_the_rest_follows_it() {
    let mut alone = Alone::new(0, 2);
    let head = head(&alone);
    let (first, text) = beginning(head);
    alone.hear(1, first, &text);
    let kept = Header::BYTES + head as usize;
    assert!(alone.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].into.stash.len() == kept));
    let mut other = alone.others[1].as_ref().unwrap().try_clone().unwrap();
    alone.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |alone| {
        let (ready, _) = frame(&mut other);
        assert_eq!(ready.kind, Kind::Ready);
        let into = &alone.engine.contexts[&ContextId::WORLD].lanes[1].into;
        assert!(into.stash.is_empty() && into.came == head);
        let rest = vec![9; (LONG - head) as usize];
        alone.hear(1, Header { eager: false, kind: Kind::More, bytes: head, ..first }, &rest);
        assert!(alone.listen_until(|engine| engine.is_done(ContextId::WORLD)));
    });
}

#[test]
fn a_head_of_another_length_ends_the_connection() {
    for text in [0, 1, 1000] {
        let mut alone = Alone::new(0, 2);
        let (first, text) = beginning(text);
        alone.hear(1, first, &text);
        assert!(alone.read_until(1, |engine| engine.connections[1].as_ref().is_some_and(|other| !other.is_open())));
    }
    // Nor may it be longer, awaited or not.
    let mut alone = Alone::new(0, 2);
    let (first, text) = beginning(head(&alone) + 1);
    alone.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |alone| {
        alone.hear(1, first, &text);
        assert!(alone.read_until(1, |engine| engine.connections[1].as_ref().is_some_and(|other| !other.is_open())));
    });
}

#[test]
fn a_head_that_comes_twice_ends_the_connection() {
    let mut alone = Alone::new(0, 2);
    let (first, text) = beginning(head(&alone));
    let kept = 2 * (Header::BYTES + text.len());
    alone.hear(1, first, &text);
    alone.hear(1, first, &text);
    assert!(alone.read_until(1, |engine| engine.contexts[&ContextId::WORLD].lanes[1].into.stash.len() == kept));
    alone.during(ContextId::WORLD, &call(&[], &[(1, LONG, false)]), |alone| {
        assert!(!alone.connection(1).is_open());
    });
}
