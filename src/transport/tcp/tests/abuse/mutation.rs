//! Random and mutated frames.

use std::time::Duration;

use super::random::Random;
use super::traffic::{Frame, frame, header};
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::engine::lane::Left;
use crate::transport::{Cause, ContextId, Deadline, Failure, History, RankStatus, WaitingIn};

/// Returns a random frame, valid or not.
pub(super) fn random_frame(random: &mut Random) -> Frame {
    let kinds = [
        Kind::Message,
        Kind::Continuation,
        Kind::Cancel,
        Kind::RequestToSend,
        Kind::ClearToSend,
        Kind::Credit,
        Kind::Proposal,
        Kind::Decision,
        Kind::StatusRequest,
        Kind::StatusReply,
        Kind::Leave,
        Kind::Goodbye,
        Kind::Fin,
        Kind::FinAck,
        Kind::CannotDecide,
        Kind::Retract,
        Kind::VoteRequest,
    ];
    let kind = kinds[random.below(kinds.len())];
    let context = if random.below(3) > 0 { ContextId::WORLD } else { ContextId::of(random.number()) };
    let message_id = MessageId { call: random.number(), round: random.number() as u32, index: random.number() as u32 };
    let rank = |random: &mut Random| Rank::new(random.number() as u32 as usize % (1 << 31));
    let mut text = match kind {
        Kind::Proposal | Kind::VoteRequest | Kind::Decision => {
            let (one, other) = (rank(random), rank(random));
            let cause = match random.below(3) {
                0 => Cause::Gone { rank: one, how: "is away".into() },
                1 => Cause::Deadline { deadline: Deadline::Silence, waited: Duration::MAX, chain: "some".into() },
                _ => Cause::Length { from: one, to: other, expected: random.number(), found: random.number() },
            };
            let culprit = (random.below(2) == 0).then_some(other);
            let (call, round) = (message_id.call, message_id.round);
            encode(&Failure { call, description: "some call".into(), round, observer: one, culprit, cause })
        }
        Kind::StatusReply => encode(&RankStatus {
            posted: Some((random.number(), random.number() as u32)),
            awaits: (random.below(2) == 0).then(|| WaitingIn {
                context,
                process: random.number() as u32,
                call: random.number(),
                progress: random.number(),
            }),
            progress: random.number(),
            left: random.below(2) == 0,
            failed: None,
            signature: Some((random.number(), "something".into())),
        }),
        Kind::Goodbye => encode(&[ContextId::WORLD, context][..random.below(3)].to_vec()),
        Kind::Leave => encode(&Left {
            call: (random.below(2) == 0).then(|| random.number()),
            how: (random.below(2) == 0).then(|| "panicked".into()),
            signature: (random.below(2) == 0).then(|| (random.number(), "something".into())),
            history: (random.below(2) == 0).then(|| History { calls: random.number(), digest: random.number() }),
            changes: (0..random.below(9)).map(|_| (random.number(), random.number())).collect(),
        }),
        _ => Vec::new(),
    };
    if random.below(4) == 0 {
        text.truncate(random.below(text.len()));
    }
    if random.below(4) == 0
        && let Some(byte) = {
            let at = random.below(text.len());
            text.get_mut(at)
        }
    {
        *byte = random.draw() as u8;
    }
    let eager = kind == Kind::Message && random.below(2) == 0;
    let bytes = if eager { 0 } else { random.number() };
    frame(Header { eager, consumed: random.number(), context, ..header(kind, message_id, bytes) }, &text)
}

/// Mutates frames, except for the contents of messages, in which a receiver cannot see an error.
pub(super) fn mutate(frames: &mut Vec<Frame>, random: &mut Random) {
    let at = random.below(frames.len());
    let Some((head, _)) = frames.get_mut(at) else { return };
    match random.below(8) {
        0 | 1 => {
            let byte = random.below(head.len());
            if let Some(byte) = head.get_mut(byte) {
                *byte ^= 1 << random.below(8);
            }
        }
        // Replaces a field of the header.
        2 => {
            let field = random.below(head.len() / 8) * 8;
            if let Some(field) = head.get_mut(field..field + 8) {
                field.copy_from_slice(&random.number().to_le_bytes());
            }
        }
        3 => drop(frames.remove(at)),
        4 => frames.insert(at, frames[at].clone()),
        5 => {
            let other = random.below(frames.len());
            frames.swap(at, other);
        }
        6 => frames.insert(at, random_frame(random)),
        _ => frames.truncate(at + 1),
    }
}
