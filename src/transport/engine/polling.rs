//! Decides which connections are read and written next.

use std::time::Instant;

use super::state::Engine;
use crate::plan::Message;
use crate::transport::ContextId;
use crate::transport::wire::WireEvent;

/// Maximum number of sweeps by which unread bytes delay a decision.
const MAX_DEFERRALS: u32 = 8;

impl Engine {
    /// Handles the events of the wire, and reads what a round awaits.
    pub(crate) fn handle_events(&mut self, now: Instant) {
        self.tick(now);
        self.looked = now;
        let mut events = std::mem::take(&mut self.events);
        self.wire.poll(&mut events);
        for event in events.drain(..) {
            let WireEvent { process: from, readable, writable, ended, sent, received, urgent } = event;
            let Some(connection) = self.connections.get_mut(from).and_then(Option::as_mut) else { continue };
            connection.blocked &= !writable;
            connection.closing |= ended;
            connection.readable |= readable;
            if sent {
                self.out_of_band_sent(from);
            }
            if writable {
                self.pump_out(from);
            }
            if received {
                self.out_of_band_received(from);
            }
            // A frame that no round awaits stays in the wire for a while. It may be awaited soon,
            // and is then copied only once.
            if urgent || self.is_wanted(from) {
                self.pump_in(from);
            }
        }
        self.events = events;
    }

    /// Records that something may be sent to a process that could not be before.
    pub(crate) fn mark_due(&mut self, to: usize) {
        if !self.due.contains(&to) {
            self.due.push(to);
        }
    }

    /// Records that a connection has used up its budget and may have more to do.
    pub(crate) fn defer(&mut self, process: usize) {
        if !self.unfinished.contains(&process) {
            self.unfinished.push(process);
        }
    }

    /// Continues with the connections that had used up their budget, as far as a round awaits
    /// something from them.
    pub(crate) fn resume(&mut self) {
        for _ in 0..self.unfinished.len() {
            let process = self.unfinished.remove(0);
            let wanted = self.is_wanted(process);
            if wanted || self.has_queued(process) {
                self.pump_out(process);
            }
            if wanted {
                self.pump_in(process);
            }
        }
    }

    pub(super) fn is_wanted(&self, from: usize) -> bool {
        self.active.iter().filter_map(|id| self.contexts.get(id)).any(|context| {
            let lane = &context.lanes[from];
            let asked = context.inquiry.as_ref().is_some_and(|inquiry| inquiry.is_to(from));
            // Decisions and votes may come behind messages that no round awaits.
            let fails = context.agreement.is_pending();
            asked || fails || lane.into.is_awaited() || lane.out.is_waiting()
        })
    }

    /// Reads everything that has arrived, awaited or not, and decides on failures.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.tick(now);
        for from in 0..self.connections.len() {
            let broken = self.connections[from].as_ref().and_then(|connection| connection.broken.clone());
            if broken.is_some() || self.connections[from].as_ref().is_some_and(|connection| connection.readable) {
                #[cfg(test)]
                (self.overlooked += u64::from(self.is_wanted(from)));
                self.pump_in(from);
            }
            // Everything that has arrived is read first.
            if let Some(why) = broken
                && !self.unfinished.contains(&from)
            {
                self.lose(from, why);
            }
            if self.has_queued(from) {
                self.pump_out(from);
            }
        }
        // A process decides only after it has read everything, unless some peer keeps sending.
        self.deferrals = if self.unfinished.is_empty() { 0 } else { self.deferrals.wrapping_add(1) };
        if self.deferrals.is_multiple_of(MAX_DEFERRALS) {
            self.decide();
        }
    }

    /// Reads from and writes to the peers that a round still waits for, without waiting for an
    /// event.
    pub(crate) fn poll_peers(&mut self, id: ContextId, (sends, receives): (&[Message], &[Message])) {
        if self.polled {
            return self.handle_events(self.now);
        }
        for message in receives.iter().chain(sends) {
            let peer = self.process(id, message.peer.index());
            let Some(lane) = self.contexts.get(&id).map(|context| &context.lanes[peer]) else { return };
            let (awaits, goes) = (lane.into.is_awaited(), lane.out.is_pending());
            if goes && let Some(connection) = self.connections[peer].as_mut().filter(|open| open.blocked) {
                connection.blocked = false;
                self.pump_out(peer);
            }
            if awaits || goes {
                self.pump_in(peer);
            }
        }
    }
}
