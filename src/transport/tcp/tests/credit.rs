//! Credit returns to the sender.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use super::call::call;
use super::half;
use super::harness::Harness;
use crate::ids::Rank;
use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::engine::connection::Sending;
use crate::transport::engine::flow_control::Credit;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::{CallInfo, ContextId, Endpoint, RoundIo, Signature};

const LONG: u64 = 16 << 20;
const SHORT: u64 = 60 << 10;

/// Makes a program: round 0 sends a long message and receives two short ones, round 1 receives two
/// more.
fn program() -> Program {
    let runs = vec![
        Run::new(Buffer::Input, 0, LONG),
        Run::new(Buffer::Output, 0, SHORT),
        Run::new(Buffer::Output, SHORT, SHORT),
    ];
    let message = |index, bytes, run| Message { peer: Rank::new(1), index, bytes, runs: run..run + 1 };
    let receives = vec![message(0, SHORT, 1), message(1, SHORT, 2)];
    let first = ProgramRound { number: 0, sends: vec![message(0, LONG, 0)], receives: receives.clone() };
    let second = ProgramRound { number: 1, sends: vec![], receives };
    Program::new(runs, vec![first, second], Sizes { input: LONG, output: 2 * SHORT, scratch: 0 }).unwrap()
}

#[test]
fn credit_returns_while_a_long_message_is_sent() {
    let (member, mut other) = half();
    let rank = thread::spawn(move || {
        let mut world = member.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
        let (program, input, mut output) = (program(), vec![1; LONG as usize], vec![0; 2 * SHORT as usize]);
        let signature = Signature::new(1, "a call");
        for round in 0..2 {
            let buffers = Buffers { input: &input, output: &mut output, scratch: &mut [] };
            let io =
                RoundIo::new(&program, round, buffers, CallInfo::new(0, &signature, Duration::from_secs(30))).unwrap();
            world.round(io).unwrap();
        }
    });
    let header = |kind, round, index| {
        let message_id = MessageId { call: 0, round, index };
        Header { message_id, fingerprint: 1, ..Header::new(kind, ContextId::WORLD) }
    };
    let (mut writer, mut reader) = (other.try_clone().unwrap(), other.try_clone().unwrap());
    let mut short = |round| {
        for index in 0..2 {
            let message =
                Header { eager: true, text: SHORT as u32, bytes: SHORT, ..header(Kind::Message, round, index) };
            writer.write_all(&[&message.encode()[..], &[7; SHORT as usize]].concat()).unwrap();
        }
    };
    // Reads a frame as a rank would.
    let (mut reported, mut left) = (0, LONG);
    let mut next = |reported: &mut u64, left: &mut u64| {
        let mut bytes = [0; Header::BYTES];
        reader.read_exact(&mut bytes).unwrap();
        let header = Header::decode(&bytes).unwrap();
        if matches!(header.kind, Kind::Message | Kind::Credit) {
            *reported = header.consumed.max(*reported);
        }
        if header.kind == Kind::Leave {
            return false;
        }
        // Reads the long message only when the short ones have been sent, and perhaps consumed.
        if *left == LONG && header.kind == Kind::Message {
            short(0);
            thread::sleep(Duration::from_millis(100));
        } else if header.kind == Kind::Continuation && *left == u64::from(header.text) {
            short(1);
        }
        reader.read_exact(&mut vec![0; header.text as usize]).unwrap();
        if matches!(header.kind, Kind::Message | Kind::Continuation) {
            *left -= u64::from(header.text);
        }
        true
    };
    other.write_all(&header(Kind::ClearToSend, 0, 0).encode()).unwrap();
    while next(&mut reported, &mut left) {}
    // Otherwise it would wait for its FIN to be acknowledged.
    other.shutdown(Shutdown::Both).unwrap();
    rank.join().unwrap();
    assert_eq!(left, 0);
    // Everything is consumed by now. Credit that is not reported must leave room for another
    // message.
    let open = 4 * Credit::cost(SHORT) - reported;
    assert!(open + Credit::cost(SHORT) <= Credit::among(2).lane, "{reported} of {} bytes", 4 * Credit::cost(SHORT));
}

#[test]
fn begun_message_gets_no_rts() {
    for begun in [false, true] {
        let mut harness = Harness::new(0, 2);
        // The socket accepts nothing, or has accepted part of a header. The message has used up the
        // credit.
        harness.connection(1).blocked = true;
        let spent = harness.engine.credit.lane;
        harness.engine.contexts.get_mut(&ContextId::WORLD).unwrap().lanes[1].out.window.spend(spent);
        harness.during(ContextId::WORLD, &call(&[(1, 300_000, false)], &[]), |harness| {
            if begun {
                let header = Header::new(Kind::Message, ContextId::WORLD).encode();
                let sending =
                    Sending { context: ContextId::WORLD, header, header_written: 5, left: 65_536, out_of_band: false };
                harness.connection(1).sending = Some(sending);
            }
            harness.engine.check_early_messages(ContextId::WORLD);
            assert_eq!(harness.connection(1).queue.is_empty(), begun);
            // So that nothing is completed when the round is withdrawn.
            harness.connection(1).sending = None;
        });
    }
}
