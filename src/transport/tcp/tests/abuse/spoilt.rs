//! What should not be said.

use std::time::Duration;

use super::dice::Dice;
use super::speech::{Frame, frame, header};
use crate::ids::Rank;
use crate::transport::engine::codec::{RankStatus, write_contexts, write_failure, write_left, write_status};
use crate::transport::engine::frame::{Header, Kind, MessageId};
use crate::transport::engine::lane::Left;
use crate::transport::{Cause, ContextId, Deadline, Failure, History};

/// Something that may be said at some time, with sense or without.
pub(super) fn word(dice: &mut Dice) -> Frame {
    let kinds = [
        Kind::Message,
        Kind::More,
        Kind::Void,
        Kind::Offer,
        Kind::Ready,
        Kind::Credit,
        Kind::Proposal,
        Kind::Decision,
        Kind::Question,
        Kind::Answer,
        Kind::Leave,
        Kind::Goodbye,
        Kind::Fin,
        Kind::FinAck,
        Kind::Unable,
        Kind::Retract,
        Kind::Ask,
    ];
    let kind = kinds[dice.below(kinds.len())];
    let context = if dice.below(3) > 0 { ContextId::WORLD } else { ContextId::of(dice.number()) };
    let message_id = MessageId { call: dice.number(), round: dice.number() as u32, index: dice.number() as u32 };
    let rank = |dice: &mut Dice| Rank::new(dice.number() as u32 as usize % (1 << 31));
    let mut words = match kind {
        Kind::Proposal | Kind::Ask | Kind::Decision => {
            let (one, other) = (rank(dice), rank(dice));
            let cause = match dice.below(3) {
                0 => Cause::Gone { rank: one, how: "is away".into() },
                1 => Cause::Deadline { deadline: Deadline::Silence, waited: Duration::MAX, chain: "some".into() },
                _ => Cause::Length { from: one, to: other, expected: dice.number(), found: dice.number() },
            };
            let culprit = (dice.below(2) == 0).then_some(other);
            let (call, round) = (message_id.call, message_id.round);
            write_failure(&Failure { call, description: "some call".into(), round, observer: one, culprit, cause })
        }
        Kind::Answer => write_status(&RankStatus {
            posted: Some((dice.number(), dice.number() as u32)),
            awaits: (dice.below(2) == 0).then(|| (context, dice.number() as u32)),
            progress: dice.number(),
            left: dice.below(2) == 0,
            failed: None,
            said: Some((dice.number(), "something".into())),
        }),
        Kind::Goodbye => write_contexts([ContextId::WORLD, context].into_iter().take(dice.below(3))),
        Kind::Leave => write_left(&Left {
            call: (dice.below(2) == 0).then(|| dice.number()),
            how: (dice.below(2) == 0).then(|| "panicked".into()),
            said: (dice.below(2) == 0).then(|| (dice.number(), "something".into())),
            history: (dice.below(2) == 0).then(|| History { calls: dice.number(), digest: dice.number() }),
            changes: (0..dice.below(9)).map(|_| (dice.number(), dice.number())).collect(),
        }),
        _ => Vec::new(),
    };
    if dice.below(4) == 0 {
        words.truncate(dice.below(words.len()));
    }
    if dice.below(4) == 0
        && let Some(byte) = {
            let at = dice.below(words.len());
            words.get_mut(at)
        }
    {
        *byte = dice.roll() as u8;
    }
    let eager = kind == Kind::Message && dice.below(2) == 0;
    let bytes = if eager { 0 } else { dice.number() };
    frame(Header { eager, taken: dice.number(), context, ..header(kind, message_id, bytes) }, &words)
}

/// Spoils frames, but for the bytes of the messages themselves, in which no receiver can see that
/// anything is wrong.
pub(super) fn spoil(frames: &mut Vec<Frame>, dice: &mut Dice) {
    let at = dice.below(frames.len());
    let Some((head, _)) = frames.get_mut(at) else { return };
    match dice.below(8) {
        0 | 1 => {
            let byte = dice.below(head.len());
            if let Some(byte) = head.get_mut(byte) {
                *byte ^= 1 << dice.below(8);
            }
        }
        // A field of the header is something else.
        2 => {
            let field = dice.below(head.len() / 8) * 8;
            if let Some(field) = head.get_mut(field..field + 8) {
                field.copy_from_slice(&dice.number().to_le_bytes());
            }
        }
        3 => drop(frames.remove(at)),
        4 => frames.insert(at, frames[at].clone()),
        5 => {
            let other = dice.below(frames.len());
            frames.swap(at, other);
        }
        6 => frames.insert(at, word(dice)),
        _ => frames.truncate(at + 1),
    }
}
