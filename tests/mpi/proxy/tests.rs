//! What the proxies themselves must do right.

use std::time::Duration;

use necklace::Rank;
use necklace::machine::Machine;
use necklace::plan::{Buffer, Message, Program, ProgramRound, Run, Sizes};
use necklace::transport::{Cause, ContextId, Deadline, Failure, OpenError, Signature, Timeouts};

use super::codec::{Bytes, Code, decoded, encoded};
use super::line::{Made, Moved, Opened, Request, Round};
use super::memory::Memory;

/// Asserts that a value round-trips, and that a part of its bytes gives no value.
fn returns<T: Code + PartialEq + std::fmt::Debug>(value: T) {
    let bytes = encoded(&value);
    assert_eq!(decoded(&bytes).as_ref(), Some(&value));
    for end in 0..bytes.len() {
        assert_eq!(decoded::<T>(&bytes[..end]), None, "{end} of the {} bytes of {value:?}", bytes.len());
    }
}

fn failure(cause: Cause) -> Failure {
    let culprit = matches!(cause, Cause::Gone { .. }).then_some(Rank::new(1));
    let mut failure = Failure::new(u64::MAX, "späh", Rank::new(2), cause);
    (failure.round, failure.culprit) = (7, culprit);
    failure
}

fn causes() -> [Cause; 5] {
    let [one, other] = [3, 4].map(Rank::new);
    [
        Cause::deadline(Deadline::Arrival, Duration::MAX, "rank 0 waits"),
        Cause::gone(one, ""),
        Cause::disagree((one, "this"), (other, "that")),
        Cause::length(one, other, 1 << 40, 0),
        Cause::aborted(other, "for a reason of its own"),
    ]
}

/// A round that sends bytes 2..5 of the input and every second one of the output's first six, and
/// receives two others of that and the whole scratch; another one between them that does nothing.
fn program() -> Program {
    let strided = |offset, count| Run { buffer: Buffer::Output, offset, len: 1, stride: 2, count };
    let runs = vec![Run::new(Buffer::Input, 2, 3), strided(0, 3), strided(1, 2), Run::new(Buffer::Scratch, 0, 4)];
    let message = |peer, index, bytes, first| Message { peer: Rank::new(peer), index, bytes, runs: first..first + 1 };
    let round = ProgramRound {
        number: 9,
        sends: vec![message(0, 0, 3, 0), message(0, 1, 3, 1)],
        receives: vec![message(1, 0, 2, 2), message(3, 0, 4, 3)],
    };
    let empty = ProgramRound { number: 3, ..ProgramRound::default() };
    Program::new(runs, vec![empty, round], Sizes { input: 6, output: 9, scratch: 4 }).unwrap()
}

#[test]
fn request_of_a_proxy_round_trips() {
    causes().into_iter().for_each(|cause| returns(Request::Abort { transport: 5, failure: failure(cause) }));
    for panicking in [false, true] {
        returns(Request::Forget { job: 3, panicking });
        returns(Request::Leave { transport: u64::MAX, panicking });
        returns(Request::Make { job: 1 << 40, size: 3, supervised: panicking });
    }
    returns(Request::Panicked { job: 7, message: "the sky".to_owned() });
    returns(Request::Unsupervise { job: 7 });
    returns(Request::Failure { transport: 0 });
    let members = [2, 0, 1].map(Rank::new).to_vec();
    returns(Request::Open { job: 0, context: ContextId::WORLD.child(1, 2), members, transport: 1 });
    for program in [None, Some(program())] {
        let (signature, bytes) = (Signature::new(5, "words"), Bytes(vec![1, 2, 3]));
        let round = Round {
            program,
            index: 1,
            call: 2,
            signature,
            timeouts: Timeouts::new(Duration::from_nanos(1), Duration::MAX),
            bytes,
        };
        returns(Request::Round { transport: 9, round });
    }
}

#[test]
fn answer_of_a_worker_round_trips() {
    returns::<Made>((Rank::new(0), (5, Machine::TCP)));
    returns::<Opened>(Ok((Rank::new(0), 5)));
    let member = Rank::new(6);
    let context = ContextId::WORLD.child(8, 9);
    for refused in
        [OpenError::member(member, 5), OpenError::Twice(member), OpenError::Outside(member), OpenError::InUse(context)]
    {
        returns::<Opened>(Err(refused));
    }
    returns::<Moved>((Ok(()), Bytes(vec![0; 9])));
    for cause in causes() {
        returns::<Moved>((Err(failure(cause.clone())), Bytes(vec![])));
        returns(Some(failure(cause)));
    }
    returns::<Result<(), String>>(Err("a complaint".to_owned()));
}

/// The bytes for the program: those sent, then those received.
const LAID: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

#[test]
fn round_gets_its_bytes_and_poison() {
    let (program, mut memory) = (program(), Memory::default());
    for _ in 0..2 {
        let moved = memory.lend(&program, 1, &LAID, |buffers| {
            assert_eq!((buffers.input.len(), &buffers.input[2..5]), (6, &LAID[..3]));
            assert_eq!((buffers.output.len(), &buffers.output[..5]), (9, &[4, 7, 5, 8, 6][..]));
            assert_eq!(buffers.scratch, &LAID[8..]);
            assert!(buffers.input[5] == buffers.output[8] && buffers.output[8] == buffers.input[0]);
            buffers.output[3] = 30;
            buffers.scratch[0] = 40;
            "done"
        });
        assert_eq!(moved, Ok(("done", vec![7, 30, 40, 10, 11, 12])));
        assert_eq!(memory.check(), Ok(()));
    }
}

#[test]
fn write_outside_of_messages_is_detected() {
    let (program, mut memory) = (program(), Memory::default());
    let sent = memory.lend(&program, 1, &LAID, |buffers| buffers.output[2] = 0).unwrap_err();
    assert!(sent.contains("what it sends"), "{sent}");
    let other = memory.lend(&program, 1, &LAID, |buffers| buffers.output[8] = 0).unwrap_err();
    assert!(other.contains("within a round, byte 8 of the output"), "{other}");
}

#[test]
fn write_after_the_round_is_detected() {
    let (program, mut memory) = (program(), Memory::default());
    memory.lend(&program, 1, &LAID, |_| ()).unwrap();
    memory.buffers[1][3] = 0;
    let late = memory.check().unwrap_err();
    assert!(late.contains("byte 3 of the output"), "{late}");
    let next = memory.lend(&program, 1, &LAID, |_| panic!("a round on spoilt memory")).unwrap_err();
    assert!(next.contains("after its last round, byte 3 of the output"), "{next}");
}

#[test]
fn write_to_a_shortened_buffer_is_detected() {
    let longer = Program::new(vec![], vec![ProgramRound::default()], Sizes { input: 0, output: 5000, scratch: 0 });
    let (program, longer, mut memory) = (program(), longer.unwrap(), Memory::default());
    memory.lend(&program, 1, &LAID, |_| ()).unwrap();
    memory.lend(&longer, 0, &[], |_| ()).unwrap();
    memory.lend(&program, 1, &LAID, |_| ()).unwrap();
    assert_eq!(memory.check(), Ok(()));
    memory.buffers[1][4500] = 0;
    assert!(memory.check().unwrap_err().contains("byte 4500 of the output"));
    memory.buffers[1][4500] = memory.buffers[1][0];
    memory.outgrown.iter_mut().find(|buffer| !buffer.is_empty()).unwrap()[2] = 0;
    assert!(memory.check().unwrap_err().contains("outgrown"));
}
