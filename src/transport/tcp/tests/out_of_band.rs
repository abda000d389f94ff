//! Texts announced out of band, on a wire that has no such path.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use super::call::{call, exchange, open};
use super::harness::Harness;
use super::{OVERSUBSCRIBED, endpoint, streams};
use crate::ids::Rank;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::{Cause, ContextId};

const LENGTH: u32 = 20_000;

/// Returns the header of a message whose text is announced out of band.
fn beginning(eager: bool) -> Header {
    let bytes = LENGTH.into();
    Header {
        eager,
        out_of_band: true,
        text: LENGTH,
        bytes,
        fingerprint: 1,
        ..Header::new(Kind::Message, ContextId::WORLD)
    }
}

#[test]
fn out_of_band_text_is_refused_on_a_plain_wire() {
    let refused = |harness: &mut Harness, header: Header| {
        let why = harness.engine.parse(1, &header.encode()).unwrap_err();
        assert!(why.contains("out-of-band"), "{header:?}: {why}");
    };
    // The text is awaited, on credit or after a CTS; it is the rest of a message; it is early, in a
    // context that is open or not; or it belongs to another call.
    for eager in [true, false] {
        let mut harness = Harness::new(0, 2);
        let program = call(&[], &[(1, LENGTH.into(), false)]);
        harness.during(ContextId::WORLD, &program, |harness| refused(harness, beginning(eager)));
    }
    let mut harness = Harness::new(0, 2);
    harness.during(ContextId::WORLD, &call(&[], &[(1, LENGTH.into(), false)]), |harness| {
        let first = Header { eager: false, out_of_band: false, text: 1000, ..beginning(false) };
        harness.engine.parse(1, &first.encode()).unwrap();
        harness.engine.parse(1, &[5; 1000]).unwrap();
        let rest = Header { kind: Kind::Continuation, text: LENGTH - 1000, bytes: 1000, ..beginning(false) };
        refused(harness, rest);
    });
    refused(&mut Harness::new(0, 2), beginning(true));
    refused(&mut Harness::new(0, 2), Header { context: ContextId::of(5), ..beginning(true) });
    let mut harness = Harness::new(0, 2);
    let late = Header { message_id: MessageId { call: 3, ..MessageId::default() }, ..beginning(true) };
    harness.during(ContextId::WORLD, &call(&[], &[(1, LENGTH.into(), false)]), |harness| refused(harness, late));
}

#[test]
fn out_of_band_sender_alone_is_disconnected() {
    let timeout = Duration::from_secs(10);
    let mut streams = streams(3).unwrap();
    let mut violator: Vec<Option<TcpStream>> = std::mem::take(&mut streams[1]);
    let mut member = |rank: usize| endpoint(rank, std::mem::take(&mut streams[rank]), OVERSUBSCRIBED).unwrap();
    let (one, other) = (member(0), member(2));
    let id = ContextId::WORLD.child(1, 1);
    let (mut transport_a, mut transport_b) =
        (one.open(id, &[Rank::new(0), Rank::new(2)]).unwrap(), other.open(id, &[Rank::new(0), Rank::new(2)]).unwrap());
    let mut world = open(&*one, ContextId::WORLD);
    let to_one = violator[0].as_mut().unwrap();
    to_one.write_all(&beginning(true).encode()).unwrap();
    // The bytes that follow are ignored.
    to_one.write_all(&[9; LENGTH as usize]).unwrap();
    let failure = exchange(&mut *world, 0, &[], &[(1, LENGTH.into())], timeout).unwrap_err();
    assert_eq!(failure.culprit, Some(Rank::new(1)));
    assert!(matches!(&failure.cause, Cause::Gone { how, .. } if how.contains("out-of-band")), "{failure:?}");
    for call in 0..3 {
        std::thread::scope(|scope| {
            scope.spawn(|| exchange(&mut *transport_a, call, &[(1, 50_000)], &[(1, 50_000)], timeout).unwrap());
            exchange(&mut *transport_b, call, &[(0, 50_000)], &[(0, 50_000)], timeout).unwrap();
        });
    }
}
