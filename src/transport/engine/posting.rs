//! Posts and withdraws rounds.

use super::connection::BufferOwner;
use super::context::{ActiveRound, Mismatch};
use super::frame::{Header, Kind, MessageId};
use super::lane::Lane;
use super::state::Engine;
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::{ContextId, Signature};

impl Engine {
    /// Posts a round: delivers unexpected messages to it, sends CTS for long receives, and sends
    /// what may be sent.
    ///
    /// `sends` and `receives` are those of the active round.
    pub(crate) fn post(
        &mut self,
        id: ContextId,
        mut active: ActiveRound,
        signature: &Signature,
        (sends, receives): (&[Message], &[Message]),
    ) {
        self.longest_silence = self.longest_silence.max(active.timeouts.silence);
        let Some(context) = self.contexts.get_mut(&id) else { return };
        context.record_call(active.call, signature);
        context.posted = Some((active.call, active.number));
        (context.timeouts, context.driver) = (active.timeouts, active.driver);
        let mut first = 0;
        for part in receives.chunk_by(|a, b| a.peer == b.peer) {
            let into = &mut context.lanes[context.members[part[0].peer.index()].index()].into;
            let end = first + part.len() as u32;
            into.begin(first..end, self.credit);
            (first, active.incoming) = (end, active.incoming + 1);
        }
        first = 0;
        for part in sends.chunk_by(|a, b| a.peer == b.peer) {
            let out = &mut context.lanes[context.members[part[0].peer.index()].index()].out;
            let end = first + part.len() as u32;
            out.begin(first..end);
            (first, active.outgoing) = (end, active.outgoing + 1);
        }
        let message_id = MessageId { call: active.call, round: active.number, index: 0 };
        context.active = Some(active);
        self.active.push(id);
        let long = self.credit.message;
        for part in receives.chunk_by(|a, b| a.peer == b.peer) {
            let from = self.process(id, part[0].peer.index());
            self.deliver_unexpected(id, from);
            if part.iter().any(|message| message.bytes > long) {
                self.enqueue(from, Header { message_id, ..Header::new(Kind::ClearToSend, id) }, &[]);
            }
        }
        // Starts with the rank after this one, so that ranks do not all start with the same
        // receiver.
        let me = self.contexts.get(&id).and_then(|context| context.rank_of(self.me));
        let (before, after) = sends.split_at(sends.partition_point(|message| Some(message.peer) < me));
        for message in after.iter().chain(before) {
            self.pump_out(self.process(id, message.peer.index()));
        }
        // Events that came before a round awaited them are not reported again: messages, and CTS.
        for message in receives.iter().chain(sends) {
            let from = self.process(id, message.peer.index());
            if self.has_queued(from) {
                self.pump_out(from);
            }
            if self.connections[from].as_ref().is_some_and(|connection| connection.readable) {
                self.pump_in(from);
            }
        }
    }

    /// Returns whether all messages of the round under way are complete.
    pub(crate) fn is_done(&self, id: ContextId) -> bool {
        let active = self.contexts.get(&id).and_then(|context| context.active.as_ref());
        active.is_none_or(|active| active.incoming == 0 && active.outgoing == 0 && active.mismatch.is_none())
    }

    /// Reclaims the memory that a round has lent. Returns whether all of it is back.
    pub(crate) fn call_back(&mut self, id: ContextId) -> bool {
        let Self { connections, wire, .. } = self;
        let Some(out_of_band) = wire.out_of_band() else { return true };
        let mut back = true;
        for (process, connection) in connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            if connection.oob_receive == Some(BufferOwner::Round(id)) {
                if out_of_band.call_back(process) {
                    connection.oob_receive = Some(BufferOwner::Engine);
                    connection.reader.discard_placed();
                } else {
                    back = false;
                }
            }
            back &= connection.oob_send != Some(BufferOwner::Round(id));
        }
        back
    }

    /// Withdraws a round that has no memory lent. From here on, nothing accesses its buffers.
    pub(crate) fn withdraw(&mut self, id: ContextId) {
        let (done, fin_sent) = (self.is_done(id), self.fin_sent());
        self.active.retain(|active| *active != id);
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = context.active.take() else { return };
        context.inquiry = None;
        if done {
            return;
        }
        for (to, connection) in self.connections.iter_mut().enumerate() {
            let (Some(connection), lane) = (connection, &mut context.lanes[to]) else { continue };
            let mut begun = false;
            if let Some(sending) = connection.sending.take_if(|sending| sending.context == id) {
                // A frame that has begun is completed from a copy; otherwise it is not sent.
                begun = sending.header_written > 0;
                if begun && let Some(message) = active.next_out(&lane.out) {
                    let mut rest = sending.header[sending.header_written..].to_vec();
                    // SAFETY: the memory still belongs to the round, which waits for this function
                    // to return.
                    #[allow(unsafe_code)]
                    unsafe {
                        lane.out.take(active.runs(message), &active.bases, sending.left, &mut rest);
                    }
                    rest.append(&mut connection.queue);
                    connection.queue = rest;
                }
            }
            lane.into.withdraw();
            if (lane.out.withdraw() || begun) && !connection.fin_received && !fin_sent {
                connection.queue.extend(Header::new(Kind::Cancel, id).encode());
            }
            if connection.reader.placed().is_some_and(|(context, _)| context == id) {
                connection.reader.discard_placed();
            }
        }
    }

    /// Checks that early messages are those that the round will await. Sends an RTS to peers that
    /// have not sent a CTS, so that they can check it likewise.
    pub(crate) fn check_early_messages(&mut self, id: ContextId) {
        let fin_sent = self.fin_sent();
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(mut active) = context.active.take() else { return };
        let me = context.rank_of(self.me).unwrap_or_default();
        for rank in (0..context.members.len()).map(Rank::new) {
            let process = context.process(rank);
            let Lane { into, out, .. } = &mut context.lanes[process];
            let awaited = active.next_in(into);
            let early = into.unexpected.first().map(|(header, _)| header).or(into.window.announced());
            let mismatch = early.and_then(|early| match awaited {
                Some(message) if into.received() == 0 => active.mismatch((rank, me), &early, message),
                _ => {
                    let differs = early.message_id.call == active.call && early.fingerprint != active.fingerprint;
                    let before = (early.message_id.call, early.message_id.round) < (active.call, active.number);
                    (differs || before).then_some(Mismatch::OtherCall(rank, early))
                }
            });
            if active.mismatch.is_none() {
                active.mismatch = mismatch;
            }
            // A message that has begun needs no RTS: its header may be on its way.
            let begun = self.connections[process].as_ref().and_then(|connection| connection.sending.as_ref());
            if let Some(message) = active.next_out(out)
                && out.written() == 0
                && begun.is_none_or(|sending| sending.context != id)
                && let message_id = active.message_id(message)
                && out.window.permit(message_id, message.bytes, false, self.credit).is_none()
                && out.window.request(message_id)
                && !fin_sent
                && let Some(connection) = self.connections[process].as_mut().filter(|open| open.accepts_frames())
            {
                connection.queue.extend(active.header(Kind::RequestToSend, id, message).encode());
            }
        }
        context.active = Some(active);
        for to in 0..self.connections.len() {
            if self.has_queued(to) {
                self.pump_out(to);
            }
        }
    }
}
