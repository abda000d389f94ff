//! A panic in the middle of a round.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use log::{LevelFilter, Log, Metadata, Record};

use super::call::{exchange, open};
use super::{OVERSUBSCRIBED, streams};
use crate::transport::ContextId;
use crate::transport::tcp::mesh::Mesh;

thread_local!(static PANICS: Cell<bool> = const { Cell::new(false) });

/// A user's logger that panics when the test wants it.
struct Logger;

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        PANICS.get()
    }

    fn log(&self, record: &Record<'_>) {
        assert!(!PANICS.get(), "{}", record.args());
    }

    fn flush(&self) {}
}

#[test]
fn panicking_round_is_withdrawn_from_the_engine() {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let mut streams = streams(2).unwrap();
    let member =
        Mesh { rank: 0, streams: streams.swap_remove(0), neighbours: OVERSUBSCRIBED, hosts: None }.start().unwrap();
    let mut world = open(&*member, ContextId::WORLD);
    PANICS.set(true);
    // The peer sends nothing, and the timeout is logged.
    let round = || exchange(&mut *world, 0, &[], &[(1, 8)], Duration::from_millis(200));
    let panicked = catch_unwind(AssertUnwindSafe(round)).is_err();
    PANICS.set(false);
    assert!(panicked);
    let engine = member.process.lock();
    assert!(engine.active.is_empty() && engine.contexts[&ContextId::WORLD].active.is_none());
    drop(engine);
    // Nobody waits for the acknowledgement of this rank's FIN.
    drop(streams);
}
