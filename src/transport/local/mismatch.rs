//! What is sent is not what is awaited: why, in words.

use std::sync::Arc;

use super::active_round::ActiveRound;
use super::group::MessageId;
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::Cause;

impl ActiveRound<'_> {
    /// Why what is sent is not what is awaited.
    #[inline]
    pub(super) fn mismatch(
        &self,
        from: usize,
        theirs: MessageId,
        mut sent: impl ExactSizeIterator<Item = u64>,
        received: &[Message],
        words: impl FnOnce() -> Arc<str>,
    ) -> Option<Cause> {
        if theirs != self.message_id || sent.len() != received.len() {
            return Some(self.disagreement(from, (theirs, &words(), sent.len()), received.len()));
        }
        received.iter().find_map(|message| {
            let (to, expected) = (self.seat.rank(), message.bytes);
            let found = sent.next().filter(|found| *found != expected)?;
            Some(Cause::Length { from: Rank::new(from), to, expected, found })
        })
    }

    #[cold]
    pub(super) fn disagreement(&self, from: usize, theirs: (MessageId, &Arc<str>, usize), messages: usize) -> Cause {
        let mine = (self.message_id, &self.offer.signature.description, messages);
        let cause =
            |call_a, call_b| Cause::Disagree { rank_a: self.seat.rank(), call_a, rank_b: Rank::new(from), call_b };
        if mine.0.call != theirs.0.call {
            // One of them was through with the call in which they parted, since it could send
            // without waiting.
            let call = mine.0.call.min(theirs.0.call);
            let called = |rank| self.seat.group.member(rank).called(call);
            if let (Some(mine), Some(theirs)) = (called(self.seat.me), called(from))
                && mine.fingerprint != theirs.fingerprint
            {
                return cause(mine.description, theirs.description);
            }
        }
        let equal = mine.0.call == theirs.0.call && mine.0.fingerprint != theirs.0.fingerprint;
        let describe = |(MessageId { call, round, .. }, words, messages): (MessageId, &Arc<str>, usize)| -> Arc<str> {
            if equal {
                words.clone()
            } else {
                format!("{words} (call {call}, round {round}, {messages} messages)").into()
            }
        };
        cause(describe(mine), describe(theirs))
    }
}
