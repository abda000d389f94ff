//! Control frames: queues them for one process or for all members of a context.

use std::sync::Arc;

use super::connection::{Connection, ConnectionState};
use super::frame::{Header, Kind};
use super::state::Engine;
use crate::transport::ContextId;

impl Engine {
    /// Queues a control frame. The next [`pump_out`](Self::pump_out) sends it. Peers that have sent
    /// FIN get no more.
    pub(crate) fn enqueue(&mut self, to: usize, header: Header, text: &[u8]) {
        if self.fin_sent() && header.kind != Kind::FinAck {
            return;
        }
        if let Some(connection) = self.connections[to].as_mut().filter(|connection| connection.accepts_frames()) {
            connection.queue.extend(Header { text: text.len() as u32, ..header }.encode());
            connection.queue.extend_from_slice(text);
        }
    }

    /// Returns whether something is queued for a process.
    pub(super) fn has_queued(&self, to: usize) -> bool {
        self.connections[to].as_ref().is_some_and(|connection| !connection.queue.is_empty())
    }

    /// Sends a control frame to all other members of a context.
    pub(crate) fn broadcast(&mut self, id: ContextId, header: Header, text: &[u8]) {
        for member in 0..self.contexts.get(&id).map_or(0, |context| context.members.len()) {
            let to = self.process(id, member);
            if to != self.me {
                self.enqueue(to, header, text);
                self.pump_out(to);
            }
        }
    }

    /// Returns whether frames can still reach a process.
    pub(crate) fn is_reachable(&self, process: usize) -> bool {
        let is_writable = |connection: &Connection| connection.accepts_frames() && connection.broken.is_none();
        process == self.me || self.connections[process].as_ref().is_some_and(is_writable)
    }

    /// Closes the connection to a process that is gone.
    pub(crate) fn lose(&mut self, process: usize, why: Arc<str>) {
        let Some(connection) = self.connections[process].as_mut().filter(|connection| connection.is_open()) else {
            return;
        };
        let state = if connection.fin_received { ConnectionState::Ended } else { ConnectionState::Lost(why) };
        log::debug!("process {}: process {process} is gone: {state:?}", self.me);
        connection.close(state);
        self.wire.close(process);
        self.departures += 1;
        self.forget();
    }
}
