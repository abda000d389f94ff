//! The messages that rank 0 awaits, and the valid frames that rank 1 sends.

use crate::ids::Rank;
use crate::plan::{Buffer, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind, MessageId};

/// The lengths that rank 0 receives in each round. In the marked rounds it sends as much as it
/// receives.
pub(super) const ROUNDS: [(&[u64], bool); 4] = [(&[100], true), (&[600, 0, 30], false), (&[2000], false), (&[9], true)];
pub(super) const CALLS: u64 = 2;
pub(super) const FINGERPRINT: u64 = 77;

/// Bytes of the output after everything that is received; nothing may write to them.
pub(super) const GUARD: usize = 64;

pub(super) fn program() -> Program {
    let (mut runs, mut rounds, mut sizes) = (Vec::new(), Vec::new(), Sizes::default());
    for (number, (lengths, answers)) in ROUNDS.into_iter().enumerate() {
        let mut messages = |buffer, size: &mut u64| -> Vec<Message> {
            let message = |(index, &bytes): (usize, &u64)| {
                let first = runs.len() as u32;
                runs.extend((bytes > 0).then(|| Run::new(buffer, *size, bytes)));
                *size += bytes;
                Message { peer: Rank::new(1), index: index as u32, bytes, runs: first..runs.len() as u32 }
            };
            lengths.iter().enumerate().map(message).collect()
        };
        let receives = messages(Buffer::Output, &mut sizes.output);
        let sends = if answers { messages(Buffer::Input, &mut sizes.input) } else { Vec::new() };
        rounds.push(ProgramRound { number: number as u32, sends, receives });
    }
    sizes.output += GUARD as u64;
    Program::new(runs, rounds, sizes).unwrap()
}

/// Returns the contents of rank 1's messages. No byte of them begins a frame. They are equal in
/// every call, since a message with the id of another call cannot be told from that call's. All
/// messages of a call differ in length.
pub(super) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| 0x80 | (at * 7 + (at >> 7)) as u8).collect()
}

pub(super) fn header(kind: Kind, message_id: MessageId, bytes: u64) -> Header {
    Header { message_id, bytes, fingerprint: FINGERPRINT, ..Header::new(kind, ContextId::WORLD) }
}

/// A frame: its header and its text.
pub(super) type Frame = (Vec<u8>, Vec<u8>);

pub(super) fn frame(header: Header, text: &[u8]) -> Frame {
    (Header { text: text.len() as u32, ..header }.encode().to_vec(), text.to_vec())
}

/// Returns all frames of a correct rank 1.
pub(super) fn frames() -> Vec<Frame> {
    let mut frames = Vec::new();
    for call in 0..CALLS {
        let all: u64 = ROUNDS.iter().flat_map(|(lengths, _)| *lengths).sum();
        let (content, mut at) = (content(all as usize), 0);
        for (round, (lengths, answers)) in ROUNDS.into_iter().enumerate() {
            for (index, &bytes) in lengths.iter().enumerate() {
                let message_id = MessageId { call, round: round as u32, index: index as u32 };
                let text = &content[at..at + bytes as usize];
                at += text.len();
                if bytes <= 1000 {
                    frames.push(frame(Header { eager: true, ..header(Kind::Message, message_id, bytes) }, text));
                    continue;
                }
                let mut received = 0;
                for part in text.chunks(700) {
                    let (kind, of) =
                        if received == 0 { (Kind::Message, bytes) } else { (Kind::Continuation, received) };
                    frames.push(frame(header(kind, message_id, of), part));
                    received += part.len() as u64;
                }
            }
            if answers {
                frames
                    .push(frame(header(Kind::ClearToSend, MessageId { call, round: round as u32, index: 0 }, 0), &[]));
            }
        }
    }
    frames
}

pub(super) fn flat(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|(head, text)| [&head[..], &text[..]].concat()).collect()
}
