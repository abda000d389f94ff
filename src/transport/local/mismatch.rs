//! Messages that are not the awaited ones: the cause of the failure.

use std::sync::Arc;

use super::active_round::ActiveRound;
use super::group::MessageId;
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::{Cause, out_of_step};

impl ActiveRound<'_> {
    /// Returns why messages of these lengths are not the awaited ones, or `None` if they are.
    #[inline]
    pub(super) fn mismatch(
        &self,
        from: usize,
        theirs: MessageId,
        mut sent: impl ExactSizeIterator<Item = u64>,
        received: &[Message],
        description: impl FnOnce() -> Arc<str>,
    ) -> Option<Cause> {
        if theirs != self.message_id || sent.len() != received.len() {
            return Some(self.disagreement(from, (theirs, &description(), sent.len()), received.len()));
        }
        received.iter().find_map(|message| {
            let (to, expected) = (self.membership.rank(), message.bytes);
            let found = sent.next().filter(|found| *found != expected)?;
            Some(Cause::Length { from: Rank::new(from), to, expected, found })
        })
    }

    /// Returns the disagreement with a peer. `theirs` describes the messages that it sent, and
    /// `messages` is how many this rank awaits.
    #[cold]
    pub(super) fn disagreement(&self, from: usize, theirs: (MessageId, &Arc<str>, usize), messages: usize) -> Cause {
        let mine = (self.message_id, &self.descriptor.signature.description, messages);
        let cause = |call_a, call_b| Cause::Disagree {
            rank_a: self.membership.rank(),
            call_a,
            rank_b: Rank::new(from),
            call_b,
        };
        if mine.0.call != theirs.0.call {
            // One of the two had finished the call in which they disagreed, since it could send
            // without waiting.
            let call = mine.0.call.min(theirs.0.call);
            let signature = |rank| self.membership.group.member(rank).signature_of(call);
            if let (Some(mine), Some(theirs)) = (signature(self.membership.me), signature(from))
                && mine.fingerprint != theirs.fingerprint
            {
                return cause(mine.description, theirs.description);
            }
        }
        let same_call = mine.0.call == theirs.0.call && mine.0.fingerprint != theirs.0.fingerprint;
        let describe = |(MessageId { call, round, .. }, description, messages): (MessageId, &Arc<str>, usize)| {
            if same_call {
                description.clone()
            } else {
                format!("{description} (call {call}, round {round}, {messages} messages)").into()
            }
        };
        let step = out_of_step(mine.0.call, theirs.0.call);
        cause(describe(mine), format!("{}{step}", describe(theirs)).into())
    }
}
