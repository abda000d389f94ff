//! The receive path: reads frames and puts their contents where they belong.
#![allow(unsafe_code)]

use std::io::IoSliceMut;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::connection::BufferOwner;
use super::context::{Context, Presence};
use super::cursor::is_scattered;
use super::flow_control::Overdraft;
use super::frame::{Header, Kind};
use super::frame_reader::{Piece, Receiving};
use super::limits::BUDGET;
use super::state::Engine;
use crate::transport::ContextId;
use crate::transport::codec::decode;
use crate::transport::wire::Transferred;

/// From this length on, the rest of a message is read straight into its place.
const DIRECT: usize = 4 << 10;

/// If at least this much of a message is still to come, its next header is read alone, so that no
/// part of the text is copied twice.
const LONG: u64 = 32 << 10;

/// Maximum number of pieces that one read fills.
const PIECES: usize = 16;

/// The reason why a connection has to be closed.
type CloseReason = Arc<str>;

impl Engine {
    /// Reads from a process until nothing is left for now or its budget is used up.
    pub(crate) fn pump_in(&mut self, from: usize) {
        let mut bounce_buffer = std::mem::take(&mut self.bounce_buffer);
        let mut active = BUDGET;
        while self.connections[from].as_ref().is_some_and(|open| open.is_open() && open.oob_receive.is_none()) {
            let flow = self.read(from, &mut bounce_buffer);
            // Before reading more: receivers that have just sent a CTS are waiting.
            while let Some(to) = self.due.pop() {
                self.pump_out(to);
            }
            match flow {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(why) => self.lose(from, why),
            }
            active -= 1;
            if active == 0 {
                self.defer(from);
                break;
            }
        }
        self.bounce_buffer = bounce_buffer;
    }

    /// Reads once.
    fn read(&mut self, from: usize, bounce_buffer: &mut [u8]) -> Result<ControlFlow<()>, CloseReason> {
        let expects_long = self.expects_long(from);
        let Self { connections, contexts, wire, .. } = self;
        let Some(connection) = connections[from].as_mut() else { return Ok(ControlFlow::Break(())) };
        let mut slices: [IoSliceMut<'_>; PIECES] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (mut direct, mut pieces) = (0, 0);
        if let Some((id, left)) = connection.reader.placed()
            && left >= DIRECT
            && let Some(context) = contexts.get_mut(&id)
            && let Some(active) = &context.active
            && let into = &context.lanes[from].into
            && let Some(message) = active.next_in(into)
        {
            let runs = active.runs(message);
            if !is_scattered(runs, message.bytes) {
                // SAFETY: the active round's runs lie inside its buffers, which live as long as it
                // does. Memory for received messages is accessed through this round alone.
                (pieces, direct) = unsafe {
                    into.place().slices((runs, &active.bases), left, &mut slices[..PIECES - 1], |at, len| {
                        IoSliceMut::new(std::slice::from_raw_parts_mut(at, len))
                    })
                };
            }
        }
        // Everything that does not go straight into its place passes through the bounce buffer.
        let is_next = match connection.reader.receiving() {
            Receiving::Header => true,
            Receiving::Placed(_, left) => *left == direct,
            _ => false,
        };
        let room = if expects_long && is_next { Header::BYTES } else { bounce_buffer.len() };
        let held = connection.reader.held().len();
        bounce_buffer[..held].copy_from_slice(connection.reader.held());
        slices[pieces] = IoSliceMut::new(&mut bounce_buffer[held..room]);
        let (count, flow) = match wire.read(from, &mut slices[..=pieces]).within(direct + room - held) {
            // If the connection was closed together with these bytes, no further event reports it.
            Transferred::Blocked(count) if count > 0 && connection.closing => (count, ControlFlow::Continue(())),
            Transferred::More(count) => (count, ControlFlow::Continue(())),
            Transferred::Blocked(count) => {
                connection.readable = false;
                (count, ControlFlow::Break(()))
            }
            Transferred::Closed(why) => return Err(why),
        };
        connection.reads += u64::from(count > 0);
        let placed = count.min(direct);
        if placed > 0 {
            self.placed(from, placed);
        }
        if count > placed {
            self.parse(from, &bounce_buffer[..held + count - placed])?;
        }
        Ok(flow)
    }

    /// Returns whether the next frame may belong to a message of which much is still to come.
    fn expects_long(&self, from: usize) -> bool {
        let Some(connection) = &self.connections[from] else { return false };
        self.active.iter().filter_map(|id| self.contexts.get(id)).any(|context| {
            let placed = connection.reader.placed().filter(|(id, _)| *id == context.id);
            let under_way = placed.map_or(0, |(_, left)| left as u64);
            let into = &context.lanes[from].into;
            let message = context.active.as_ref().and_then(|active| active.next_in(into));
            message.is_some_and(|message| message.bytes.saturating_sub(into.received() + under_way) >= LONG)
        })
    }

    /// Parses bytes that were read.
    pub(crate) fn parse(&mut self, from: usize, mut bytes: &[u8]) -> Result<(), CloseReason> {
        while let Some(connection) = self.connections[from].as_mut().filter(|open| open.is_open()) {
            let piece = connection.reader.next(&mut bytes);
            match piece.map_err(|fault| protocol_violation(&fault.to_string()))? {
                None => break,
                Some(Piece::Header(header)) => self.begin_frame(from, header)?,
                Some(Piece::Placed(id, here, last)) => self.place(from, (id, last), here.len(), Some(here)),
                Some(Piece::Unexpected(id, here)) => {
                    if let Some(context) = self.contexts.get_mut(&id) {
                        context.lanes[from].into.unexpected.keep(here);
                    }
                }
                Some(Piece::Control(header, text)) => self.handle_control(from, header, &text)?,
            }
        }
        Ok(())
    }

    /// Advances the current message of a context by `count` bytes, which are in place already, or
    /// are copied from `bytes`. `last` says that they end a frame.
    fn place(&mut self, from: usize, (id, last): (ContextId, bool), count: usize, bytes: Option<&[u8]>) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = &context.active else { return };
        let into = &mut context.lanes[from].into;
        let Some(message) = active.next_in(into) else { return };
        match bytes {
            // SAFETY: the active round's runs lie inside its buffers, which live as long as it
            // does. Memory for received messages is accessed through this round alone.
            Some(bytes) => unsafe { into.put(active.runs(message), &active.bases, bytes) },
            None => into.advance(active.runs(message), count),
        }
        context.progress += 1;
        if last && into.received() == message.bytes {
            self.complete_receive(id, from);
        }
    }

    /// Advances the current message by `count` bytes that came straight to their place.
    fn placed(&mut self, from: usize, count: usize) {
        let place = self.connections[from].as_mut().and_then(|connection| connection.reader.skip(count));
        if let Some(place) = place {
            self.place(from, place, count, None);
        }
    }

    /// Completes the first of the awaited messages.
    fn complete_receive(&mut self, id: ContextId, from: usize) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = &mut context.active else { return };
        let into = &mut context.lanes[from].into;
        context.progress += 1;
        active.incoming -= usize::from(into.complete());
    }

    /// Counts eager bytes as consumed, and reports it to the sender once half of its credit is
    /// used.
    fn return_credit(&mut self, id: ContextId, from: usize, bytes: u64) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let into = &mut context.lanes[from].into;
        if into.window.consume(bytes, self.credit) {
            let header = Header { consumed: into.window.report(), ..Header::new(Kind::Credit, id) };
            self.enqueue(from, header, &[]);
            self.mark_due(from);
        }
    }

    /// Delivers messages of the unexpected-message queue to a round that has begun.
    pub(crate) fn deliver_unexpected(&mut self, id: ContextId, from: usize) {
        loop {
            let Some(context) = self.contexts.get_mut(&id) else { return };
            let me = context.rank_of(self.me).zip(context.rank_of(from));
            let (Some(active), Some((me, sender))) = (&mut context.active, me) else { return };
            let into = &mut context.lanes[from].into;
            let (Some((header, _)), Some(message)) = (into.unexpected.first(), active.next_in(into)) else { return };
            if let Some(mismatch) = active.mismatch((sender, me), &header, message) {
                active.mismatch.get_or_insert(mismatch);
                return;
            }
            if into.received() > 0 {
                // The queued frame begins a message, but the present one still lacks its rest.
                return self.lose(from, protocol_violation("a message within another one"));
            }
            // SAFETY: as in `place`; the unexpected-message queue is no buffer of the round.
            let count = unsafe { into.put_unexpected(active.runs(message), &active.bases) };
            if count as u64 == header.bytes {
                self.complete_receive(id, from);
            } else if count < header.text as usize
                && let Some(connection) = &mut self.connections[from]
            {
                // The rest of the frame has not arrived yet; it goes straight into its place.
                connection.reader.begin(Receiving::Placed(id, header.text as usize - count));
            }
            self.return_credit(id, from, header.text.into());
        }
    }

    /// Begins a frame.
    fn begin_frame(&mut self, from: usize, header: Header) -> Result<(), CloseReason> {
        let text = header.text as usize;
        let receiving = match header.kind {
            Kind::Message => self.begin_message(from, header)?,
            Kind::Continuation => self.continue_message(from, header)?,
            Kind::Proposal | Kind::VoteRequest | Kind::Decision | Kind::StatusReply | Kind::Leave | Kind::Goodbye => {
                Receiving::Control(header, Vec::new(), text)
            }
            _ => return self.handle_control(from, header, &[]),
        };
        if header.out_of_band {
            return self.begin_out_of_band_receive(from, receiving, text);
        }
        match receiving {
            Receiving::Placed(id, 0) => self.place(from, (id, true), 0, None),
            Receiving::Control(_, _, 0) => return self.handle_control(from, header, &[]),
            Receiving::Unexpected(_, 0) | Receiving::Discarded(0) => {}
            receiving => {
                if let Some(connection) = &mut self.connections[from] {
                    connection.reader.begin(receiving);
                }
            }
        }
        Ok(())
    }

    /// Receives a text out of band, straight into its place if that is one piece, and otherwise
    /// through a bounce buffer.
    fn begin_out_of_band_receive(&mut self, from: usize, receiving: Receiving, text: usize) -> Result<(), CloseReason> {
        let Self { connections, contexts, wire, .. } = self;
        let (Some(connection), Some(out_of_band)) = (connections[from].as_mut(), wire.out_of_band()) else {
            return Err(protocol_violation("an out-of-band text on a wire without that path"));
        };
        let mut place = None;
        if let Receiving::Placed(id, _) = receiving
            && let Some(context) = contexts.get(&id)
            && let Some(active) = &context.active
            && let into = &context.lanes[from].into
            && let Some(message) = active.next_in(into)
        {
            // SAFETY: the active round's runs lie inside its buffers, which live as long as it
            // does.
            let piece = unsafe { into.place().piece(active.runs(message), &active.bases) };
            place = piece.filter(|(_, length)| *length >= text).map(|(at, _)| (id, at));
        }
        connection.reader.begin(receiving);
        connection.oob_receive = Some(place.map_or(BufferOwner::Engine, |(id, _)| BufferOwner::Round(id)));
        // SAFETY: the place has room for the text and is accessed through this round alone. The
        // round is withdrawn only once it has got back all memory that it lent.
        unsafe { out_of_band.receive(from, place.map(|(_, at)| at), text) }
    }

    /// Handles the end of an out-of-band receive.
    pub(crate) fn out_of_band_received(&mut self, from: usize) {
        let Some(connection) = self.connections[from].as_mut() else { return };
        if connection.oob_receive.take().is_none() {
            return;
        }
        let bounce_buffer = self.wire.out_of_band().and_then(|out_of_band| out_of_band.bounce_buffer(from));
        match (&bounce_buffer, connection.reader.placed()) {
            (Some(bytes), _) => {
                if let Err(why) = self.parse(from, bytes) {
                    self.lose(from, why);
                }
            }
            (None, Some((_, left))) => self.placed(from, left),
            // It arrived in its place after the round no longer awaited it.
            (None, None) => connection.reader.begin(Receiving::Header),
        }
        if let (Some(bounce_buffer), Some(out_of_band)) = (bounce_buffer, self.wire.out_of_band()) {
            out_of_band.put_back(bounce_buffer);
        }
        self.pump_in(from);
    }

    /// Begins a message, and returns where its text goes.
    fn begin_message(&mut self, from: usize, header: Header) -> Result<Receiving, CloseReason> {
        let (me, credit, id, text) = (self.me, self.credit, header.context, header.text as usize);
        let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
        if context.agreement.failure().is_some() || context.presence == Presence::Left {
            let ranks = context.rank_of(from).zip(context.rank_of(me));
            let surplus = ranks.and_then(|ranks| context.surplus_message(ranks, &header));
            self.record_surplus(id, surplus);
            return Ok(Receiving::Discarded(text));
        }
        let more = update_credit(context, from, header.consumed)?;
        let ranks = context.rank_of(from).zip(context.rank_of(me));
        if context.presence == Presence::Open && ranks.is_none() {
            return Err(protocol_violation("a message in a context that the sender is no member of"));
        }
        if more {
            self.mark_due(from);
        }
        let Some(context) = self.contexts.get_mut(&id) else { return Ok(Receiving::Discarded(text)) };
        let into = &mut context.lanes[from].into;
        into.window.announce(None);
        if header.eager && into.window.arrive(&header, credit).is_err() {
            return Err(protocol_violation("more eager bytes than its credit"));
        }
        if let (Some(active), Some((sender, receiver))) = (&mut context.active, ranks)
            && let Some(message) = active.next_in(into)
            && into.unexpected.is_empty()
        {
            let Some(mismatch) = active.mismatch((sender, receiver), &header, message) else {
                if into.received() > 0 {
                    return Err(protocol_violation("a message within another one"));
                }
                if header.eager {
                    self.return_credit(id, from, header.text.into());
                }
                return Ok(Receiving::Placed(id, text));
            };
            active.mismatch.get_or_insert(mismatch);
            return Ok(Receiving::Discarded(text));
        }
        if !header.eager {
            return Err(protocol_violation("a message without credit or clear to send"));
        }
        into.unexpected.keep(&header.encode());
        Ok(Receiving::Unexpected(id, text))
    }

    /// Continues a message, and returns where its text goes.
    fn continue_message(&mut self, from: usize, header: Header) -> Result<Receiving, CloseReason> {
        let (id, text) = (header.context, header.text as usize);
        let Some(context) = self.contexts.get(&id) else {
            return Err(protocol_violation("a continuation of a message that has not begun"));
        };
        let into = &context.lanes[from].into;
        let Some(active) =
            context.active.as_ref().filter(|active| context.agreement.failure().is_none() && active.mismatch.is_none())
        else {
            return Ok(Receiving::Discarded(text));
        };
        let message = active.next_in(into);
        let goes_on = message.is_some_and(|message| {
            let place = into.received() > 0
                && into.received() == header.bytes
                && active.message_id(message) == header.message_id;
            place && into.received() + u64::from(header.text) <= message.bytes
        });
        if goes_on {
            Ok(Receiving::Placed(id, text))
        } else {
            Err(protocol_violation("a continuation of another message"))
        }
    }

    /// Handles a control frame.
    fn handle_control(&mut self, from: usize, header: Header, text: &[u8]) -> Result<(), CloseReason> {
        let id = header.context;
        let invalid = |_| protocol_violation("a text that does not decode");
        match header.kind {
            Kind::Message | Kind::Continuation => {}
            Kind::Cancel => {}
            Kind::RequestToSend => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].into.window.announce(Some(header));
            }
            Kind::ClearToSend => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].out.window.clear(header.message_id.call, header.message_id.round);
                self.mark_due(from);
            }
            Kind::Credit => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                if update_credit(context, from, header.consumed)? {
                    self.mark_due(from);
                }
            }
            Kind::Proposal | Kind::VoteRequest => {
                let failure = decode(text).map_err(invalid)?;
                self.handle_proposal(from, id, failure, header.kind).ok_or_else(too_many_contexts)?;
            }
            Kind::Decision => {
                let failure = decode(text).map_err(invalid)?;
                self.expect(from, id).ok_or_else(too_many_contexts)?;
                self.decided(from, id, failure);
            }
            Kind::StatusRequest => self.answer(from, header),
            Kind::StatusReply => self.answered(from, header.bytes, decode(text).map_err(invalid)?),
            Kind::Leave => {
                let left = decode(text).map_err(invalid)?;
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].left.get_or_insert(left);
                self.compare(id, Some(from));
                self.departures += 1;
                self.forget();
            }
            Kind::Goodbye => {
                let open = decode(text).map_err(invalid)?;
                if let Some(connection) = &mut self.connections[from] {
                    connection.goodbye = Some(open);
                }
                self.departures += 1;
                self.forget();
            }
            Kind::Fin => {
                // Acknowledges it once, as the last frame to this peer. A frame that has not begun
                // is not sent.
                if let Some(connection) = &mut self.connections[from] {
                    connection.sending.take_if(|sending| sending.header_written == 0);
                }
                self.enqueue(from, Header::new(Kind::FinAck, ContextId::WORLD), &[]);
                if let Some(connection) = &mut self.connections[from] {
                    connection.fin_received = true;
                }
                self.pump_out(from);
                self.departures += 1;
                self.forget();
            }
            Kind::CannotDecide => self.unable(from, id),
            Kind::Retract => self.retracted(from, id),
            Kind::FinAck => {
                if let Some(connection) = &mut self.connections[from] {
                    connection.fin_acked = true;
                }
            }
        }
        Ok(())
    }
}

/// Updates how many eager bytes the receiver has consumed. Returns whether a waiting message may
/// now be sent.
fn update_credit(context: &mut Context, from: usize, consumed: u64) -> Result<bool, CloseReason> {
    let out = &mut context.lanes[from].out;
    match out.window.restore(consumed) {
        Ok(more) => Ok(more && out.is_waiting()),
        Err(Overdraft) => Err(protocol_violation("more bytes consumed than were sent")),
    }
}

/// Returns the reason for closing a connection after a protocol violation.
fn protocol_violation(what: &str) -> CloseReason {
    format!("protocol violation: {what}").into()
}

fn too_many_contexts() -> CloseReason {
    protocol_violation("frames of too many contexts that are not open")
}
