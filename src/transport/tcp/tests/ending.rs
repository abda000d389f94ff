//! The end of a connection.

use super::super::connection::Connection;
use super::super::engine::Engine;
use super::super::frame::{Header, Kind, Stamp};
use super::alone::Alone;
use crate::transport::ContextId;

#[test]
fn an_end_that_comes_with_the_last_bytes_is_seen_as_they_are() {
    let mut alone = Alone::new(0, 2);
    let message = Header { eager: true, bytes: 8, ..Header::new(Kind::Message, ContextId::WORLD) };
    alone.hear(1, Header { stamp: Stamp::default(), ..message }, &[7; 8]);
    // Both are with the kernel before anybody looks; it tells of them once.
    alone.others[1] = None;
    let gone = |engine: &Engine| !engine.connections[1].as_ref().is_some_and(Connection::is_open);
    assert!(alone.listen_until(gone), "nobody has seen the end");
    assert!(!alone.engine.contexts[&ContextId::WORLD].lanes[1].into.stash.is_empty(), "the message is lost");
}
