//! The send path: gathers short messages into one write, and writes long ones straight from the
//! memory of their rounds.
#![allow(unsafe_code)]

use std::io::IoSlice;

use super::connection::{BufferOwner, Connection, Sending};
use super::context::Context;
use super::cursor::is_scattered;
use super::flow_control::{Credit, Permit};
use super::frame::{Header, Kind, MAX_TEXT};
use super::limits::{BUDGET, STAGE};
use super::state::Engine;
use crate::transport::ContextId;
use crate::transport::wire::{Transferred, Wire};

/// Up to this length, copying a message to those that are written with it is cheaper than listing
/// it beside them.
const SHORT: u64 = 2 << 10;

/// Maximum number of pieces in one write.
const PIECES: usize = 64;

impl Engine {
    /// Sends to a process until nothing may be sent, the wire accepts no more, or its budget is
    /// used up.
    pub(crate) fn pump_out(&mut self, to: usize) {
        for _ in 0..BUDGET {
            let fin_sent = self.fin_sent();
            let Self { connections, contexts, active, stage, credit, wire, rotation, .. } = self;
            let ready = |open: &&mut Connection| {
                open.is_open() && !open.blocked && open.broken.is_none() && open.oob_send.is_none()
            };
            let Some(connection) = connections[to].as_mut().filter(ready) else { return };
            let least = wire.out_of_band().map(|out_of_band| out_of_band.least());
            stage.clear();
            if connection.sending.as_ref().is_some_and(|sending| sending.header_written == 0) {
                // The frame has not begun, so everything queued goes before it.
                std::mem::swap(stage, &mut connection.queue);
            } else if connection.sending.is_none() {
                if connection.queue.len() < STAGE {
                    stage.append(&mut connection.queue);
                    // The contexts take turns, one frame at a time.
                    *rotation = rotation.wrapping_add(1);
                    let (last, first) = active.split_at(*rotation % active.len().max(1));
                    // After FIN, the peer accepts nothing and this process sends nothing.
                    let takes = |_: &&ContextId| !connection.fin_received && !fin_sent;
                    connection.sending = first.iter().chain(last).filter(takes).find_map(|id| {
                        let context = contexts.get_mut(id)?;
                        compose(context, to, (*credit, least), (connection.bytes_written, stage))
                    });
                } else {
                    std::mem::swap(stage, &mut connection.queue);
                }
            }
            if stage.is_empty() && connection.sending.is_none() {
                connection.broken = wire.flush(to).err();
                return;
            }
            let context = contexts.get_mut(&sending_context(connection));
            let (count, on) = match write(connection, context, to, stage, &mut **wire) {
                Transferred::More(count) => (count, true),
                Transferred::Blocked(count) => {
                    connection.blocked = true;
                    (count, false)
                }
                Transferred::Closed(why) => {
                    connection.broken = Some(why);
                    return;
                }
            };
            connection.bytes_written += count as u64;
            let staged = count.min(stage.len());
            if staged < stage.len() {
                // The rest of the gathered bytes goes before anything else.
                connection.queue.splice(0..0, stage.drain(staged..));
            }
            self.record_written(to, count - staged);
            self.begin_out_of_band_send(to);
            if !on {
                return;
            }
        }
        self.defer(to);
    }

    /// Begins to send the text of the current frame out of band, if it goes that way and its header
    /// is written.
    fn begin_out_of_band_send(&mut self, to: usize) {
        let Self { connections, contexts, wire, .. } = self;
        let Some(connection) = connections[to].as_mut() else { return };
        if let Some(sending) = connection.sending.as_ref().filter(|sending| sending.out_of_band)
            && sending.header_written == Header::BYTES
            && let Some(context) = contexts.get(&sending.context)
            && let Some(active) = &context.active
            && let out = &context.lanes[to].out
            && let Some(message) = active.next_out(out)
            && let Some(out_of_band) = wire.out_of_band()
        {
            // SAFETY: the active round's runs lie inside its buffers, and the piece is as long as
            // when the frame was composed. The round is withdrawn only once it has got back all
            // memory that it lent. Nothing writes to memory that is being sent.
            let begun = unsafe {
                let Some((from, _)) = out.place().piece(active.runs(message), &active.bases) else { return };
                out_of_band.send(to, from, sending.left)
            };
            match begun {
                Ok(()) => connection.oob_send = Some(BufferOwner::Round(sending.context)),
                Err(why) => connection.broken = Some(why),
            }
        }
    }

    /// Handles the end of an out-of-band send.
    pub(crate) fn out_of_band_sent(&mut self, to: usize) {
        let Some(connection) = self.connections[to].as_mut() else { return };
        if connection.oob_send.take().is_none() {
            return;
        }
        if let Some(left) = connection.sending.as_ref().map(|sending| sending.left) {
            connection.bytes_written += left as u64;
            self.record_written(to, left);
        }
        self.pump_out(to);
    }

    /// Records that `count` bytes of the current frame are written, and completes the sends that
    /// the connection has written in full. A message that is written does not wait for later ones
    /// of other contexts: its receiver may finish with it and leave.
    fn record_written(&mut self, to: usize, mut count: usize) {
        let Self { connections, contexts, active, .. } = self;
        let Some(connection) = connections[to].as_mut() else { return };
        if let Some(sending) = &mut connection.sending
            && let Some(context) = contexts.get_mut(&sending.context)
            && let Some(active) = &context.active
            && let out = &mut context.lanes[to].out
            && let Some(message) = active.next_out(out)
        {
            let header_written = count.min(Header::BYTES - sending.header_written);
            sending.header_written += header_written;
            count -= header_written;
            sending.left -= count;
            out.advance(active.runs(message), count);
            context.progress += 1;
            if sending.left == 0 && sending.header_written == Header::BYTES {
                connection.sending = None;
                if out.written() == message.bytes {
                    out.complete(connection.bytes_written);
                }
            }
        }
        for id in active {
            let Some(context) = contexts.get_mut(id) else { continue };
            let out = &mut context.lanes[to].out;
            if let Some(active) = &mut context.active
                && out.settle(connection.bytes_written)
            {
                active.outgoing -= 1;
                context.progress += 1;
            }
        }
    }
}

fn sending_context(connection: &Connection) -> ContextId {
    connection.sending.as_ref().map_or(ContextId::WORLD, |sending| sending.context)
}

/// Gathers what a context may send to a process, once the connection has written what precedes it.
/// Returns the next frame, if it is to be written straight from its memory.
fn compose(
    context: &mut Context,
    to: usize,
    (credit, least): (Credit, Option<usize>),
    (before, stage): (u64, &mut Vec<u8>),
) -> Option<Sending> {
    let (active, lane) = (context.active.as_ref()?, &mut context.lanes[to]);
    let (out, into) = (&mut lane.out, &mut lane.into);
    while let Some(message) = active.next_out(out)
        && stage.len() < STAGE
    {
        let runs = active.runs(message);
        let permit = out.window.permit(active.message_id(message), message.bytes, out.written() > 0, credit)?;
        let kind = if out.written() == 0 { Kind::Message } else { Kind::Continuation };
        let left = message.bytes - out.written();
        let short = message.bytes <= SHORT || is_scattered(runs, message.bytes);
        let text = match (permit, short) {
            (Permit::Eager, _) => credit.head(left),
            (Permit::Clear, true) => left.min(STAGE as u64),
            (Permit::Clear, false) => left.min(MAX_TEXT.into()),
        };
        // SAFETY: the active round's runs lie inside its buffers, which live as long as it does.
        let piece = unsafe { out.place().piece(runs, &active.bases) }.map_or(0, |(_, length)| length);
        let out_of_band = least.is_some_and(|least| !short && text >= least as u64 && piece as u64 >= text);
        let mut header = Header {
            eager: permit == Permit::Eager,
            out_of_band,
            text: text as u32,
            ..active.header(kind, context.id, message)
        };
        if kind == Kind::Message {
            header.consumed = into.window.report();
        } else {
            header.bytes = out.written();
        }
        if permit == Permit::Eager {
            out.window.spend(text);
        }
        if !short {
            return Some(Sending {
                context: context.id,
                header: header.encode(),
                header_written: 0,
                left: text as usize,
                out_of_band,
            });
        }
        stage.extend(header.encode());
        // SAFETY: the active round's runs lie inside its buffers, which live as long as it does.
        // Nothing writes to memory that is being sent.
        unsafe { out.take(runs, &active.bases, text as usize, stage) };
        if out.written() == message.bytes {
            out.complete(before + stage.len() as u64);
        }
    }
    None
}

/// Writes once: the gathered bytes, then the rest of the current frame.
fn write(
    connection: &Connection,
    context: Option<&mut Context>,
    to: usize,
    stage: &[u8],
    wire: &mut dyn Wire,
) -> Transferred {
    let mut slices = [IoSlice::new(&[]); PIECES];
    slices[0] = IoSlice::new(stage);
    let mut count = 1;
    // A copy that outlives the borrow of the connection.
    let header;
    if let Some(sending) = &connection.sending
        && let Some(context) = context
        && let Some(active) = &context.active
        && let out = &context.lanes[to].out
        && let Some(message) = active.next_out(out)
    {
        if sending.out_of_band && stage.len() > STAGE {
            // Its header goes in one piece, or not yet.
            return wire.write(to, &slices[..1]).within(stage.len());
        }
        header = sending.header;
        slices[1] = IoSlice::new(&header[sending.header_written..]);
        let memory = (active.runs(message), &active.bases);
        let left = if sending.out_of_band { 0 } else { sending.left };
        // SAFETY: the active round's runs lie inside its buffers, which live as long as it does.
        // Nothing writes to memory that is being sent.
        let (pieces, _) = unsafe {
            out.place()
                .slices(memory, left, &mut slices[2..], |at, len| IoSlice::new(std::slice::from_raw_parts(at, len)))
        };
        count = 2 + pieces;
    }
    let slices = &slices[..count];
    wire.write(to, slices).within(slices.iter().map(|slice| slice.len()).sum())
}
