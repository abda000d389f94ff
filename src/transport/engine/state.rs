//! The state of the engine: its connections, its contexts, and the rounds that its threads drive.
//!
//! It is behind one lock. A thread in a round makes progress on all contexts, its own and those of
//! other threads, and sleeps without the lock. So any thread may receive any byte.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::codec::{write_failure, write_left};
use super::connection::{BufferOwner, Connection, ConnectionState, Receiving};
use super::context::{ActiveRound, Context, Mismatch, Presence};
use super::frame::{Header, Kind, MessageId};
use super::lane::{Credit, Lane, Left};
use super::limits::STAGE;
use super::wire::{Sleeper, Wire, WireEvent};
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::{ContextId, Disagreement, Failure, Signature};

/// The state of the engine; see the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) me: usize,
    /// The connection to each process; `None` for this one.
    pub(crate) connections: Box<[Option<Connection>]>,
    pub(crate) contexts: BTreeMap<ContextId, Context>,
    /// The contexts with a round under way.
    pub(crate) active: Vec<ContextId>,
    pub(crate) credit: Credit,
    pub(crate) wire: Box<dyn Wire>,
    /// Whether the wire reports no events and has to be polled.
    pub(crate) polled: bool,
    /// What a thread sleeps on otherwise. The sleeping thread takes it away.
    pub(crate) sleeper: Option<Box<dyn Sleeper>>,
    /// The events that it has reported.
    pub(crate) events: Vec<WireEvent>,
    /// Where bytes are read whose place is not known yet, and where short frames are gathered for
    /// one write.
    pub(crate) bounce_buffer: Box<[u8]>,
    pub(crate) stage: Vec<u8>,
    /// Selects which of the active contexts sends first.
    pub(crate) rotation: usize,
    /// Connections on which something may be sent that could not be before.
    pub(crate) due: Vec<usize>,
    /// Connections that have used up their budget, and may have more to read or write.
    pub(crate) unfinished: Vec<usize>,
    /// Number of consecutive sweeps that left something unread.
    pub(crate) deferrals: u32,
    /// Whether some proposal may be ready for a decision.
    pub(crate) undecided: bool,
    /// Number of processes that have left or were lost.
    pub(crate) departures: u64,
    /// The number of the last status request.
    pub(crate) status_requests: u64,
    /// Number of threads that sleep until another has moved something for them.
    pub(crate) sleepers: usize,
    /// Whether a supervisor will give the reason of a panic; and the contexts that wait for it.
    pub(crate) supervised: bool,
    pub(crate) panicked_contexts: Vec<ContextId>,
    /// When the engine last checked all connections.
    pub(crate) looked: Instant,
    /// Whether a thread has panicked that had a context open.
    pub(crate) panicked: bool,
    /// Whether a context has failed; and a disagreement with members that left a context after
    /// other calls.
    pub(crate) any_failed: bool,
    disagreement: Option<Disagreement>,
    /// The first failures of contexts that this process has seen.
    pub(crate) failures: Vec<Disagreement>,
    /// The longest silence timeout of any round so far.
    pub(crate) longest_silence: Duration,
    /// Whether the process has sent FIN: it sends nothing more but FIN acknowledgements.
    pub(crate) fin_sent: bool,
    /// Whether the process has ended; and whether all others have acknowledged its FIN.
    pub(crate) ended: bool,
    pub(crate) ended_well: bool,
    /// Number of times that a sweep found something unread that a round awaits.
    #[cfg(test)]
    pub(crate) overlooked: u64,
}

/// Maximum number of bytes read at once without a known place.
const BOUNCE_BUFFER: usize = 128 << 10;

/// Maximum number of sweeps by which unread bytes delay a decision.
const MAX_DEFERRALS: u32 = 8;

/// Maximum number of contexts that each other process may open before this one does.
const MAX_EXPECTED: usize = 1024;

impl Engine {
    /// Creates the engine of process `me` of a job of `processes`.
    pub(crate) fn new(me: usize, processes: usize, wire: Box<dyn Wire>, sleeper: Option<Box<dyn Sleeper>>) -> Self {
        let connections = (0..processes).map(|process| (process != me).then(Connection::default)).collect();
        let credit = Credit::among(processes);
        Self {
            me,
            connections,
            contexts: BTreeMap::new(),
            active: Vec::new(),
            credit,
            wire,
            polled: sleeper.is_none(),
            sleeper,
            events: Vec::with_capacity(processes.clamp(16, 1024)),
            bounce_buffer: vec![0; BOUNCE_BUFFER].into(),
            stage: Vec::with_capacity(2 * STAGE),
            rotation: 0,
            due: Vec::with_capacity(processes),
            unfinished: Vec::with_capacity(processes),
            deferrals: 0,
            undecided: false,
            departures: 0,
            status_requests: 0,
            sleepers: 0,
            supervised: false,
            panicked_contexts: Vec::new(),
            looked: Instant::now(),
            panicked: false,
            any_failed: false,
            disagreement: None,
            failures: Vec::new(),
            longest_silence: Duration::ZERO,
            fin_sent: false,
            ended: false,
            ended_well: false,
            #[cfg(test)]
            overlooked: 0,
        }
    }

    /// Returns a context, and creates it if it does not exist, on a first frame from process
    /// `from`. Returns `None` if that process has opened too many contexts that this one has not.
    pub(crate) fn expect(&mut self, from: usize, id: ContextId) -> Option<&mut Context> {
        if !self.contexts.contains_key(&id) {
            let expected = |context: &&Context| context.presence == Presence::Expected && context.first == from;
            if self.contexts.values().filter(expected).count() >= MAX_EXPECTED {
                return None;
            }
            self.contexts.insert(id, Context::new(id, self.connections.len(), from));
        }
        self.contexts.get_mut(&id)
    }

    /// Opens a context, and returns the flag that says whether it may have failed. Returns `None`
    /// if this process has it open, or has left it while others have not.
    pub(crate) fn open(&mut self, id: ContextId, members: &[Rank]) -> Option<Arc<AtomicBool>> {
        let (processes, me) = (self.connections.len(), self.me);
        let context = self.contexts.entry(id).or_insert_with(|| Context::new(id, processes, me));
        if context.presence != Presence::Expected {
            return None;
        }
        (context.members, context.presence) = (members.into(), Presence::Open);
        let maybe_failed = Arc::clone(&context.maybe_failed);
        self.active.reserve(self.contexts.len());
        Some(maybe_failed)
    }

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
        (context.timeouts, context.driver) = (active.timeouts, this_thread());
        let mut first = 0;
        for part in receives.chunk_by(|a, b| a.peer == b.peer) {
            let into = &mut context.lanes[context.members[part[0].peer.index()].index()].into;
            into.unexpected.make_room(self.credit);
            (into.awaited, into.received, into.to) = (first..first + part.len() as u32, 0, Default::default());
            (first, active.incoming) = (into.awaited.end, active.incoming + 1);
        }
        first = 0;
        for part in sends.chunk_by(|a, b| a.peer == b.peer) {
            let out = &mut context.lanes[context.members[part[0].peer.index()].index()].out;
            (out.waiting, out.written, out.from) = (first..first + part.len() as u32, 0, Default::default());
            (first, active.outgoing) = (out.waiting.end, active.outgoing + 1);
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

    fn process(&self, id: ContextId, rank: usize) -> usize {
        self.contexts.get(&id).map_or(self.me, |context| context.members[rank].index())
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
                    if let Receiving::Placed(_, left) = connection.receiving {
                        connection.receiving = Receiving::Discarded(left);
                    }
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
        let done = self.is_done(id);
        self.active.retain(|active| *active != id);
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = context.active.take() else { return };
        context.inquiry = None;
        if done {
            return;
        }
        for (to, connection) in self.connections.iter_mut().enumerate() {
            let (Some(connection), lane) = (connection, &mut context.lanes[to]) else { continue };
            let mut cut = lane.out.written > 0;
            if let Some(sending) = connection.sending.take_if(|sending| sending.context == id) {
                // A frame that has begun is completed from a copy; otherwise it is not sent.
                let begun = sending.header_written > 0;
                if begun && let Some(message) = active.next_out(&lane.out) {
                    let mut rest = sending.header[sending.header_written..].to_vec();
                    // SAFETY: the memory still belongs to the round, which waits for this function
                    // to return.
                    #[allow(unsafe_code)]
                    unsafe {
                        lane.out.from.take(active.runs(message), &active.bases, sending.left, &mut rest);
                    }
                    rest.append(&mut connection.queue);
                    connection.queue = rest;
                }
                cut |= begun;
            }
            if cut && !connection.fin_received && !self.fin_sent {
                connection.queue.extend(Header::new(Kind::Cancel, id).encode());
            }
            if let Receiving::Placed(context, left) = connection.receiving
                && context == id
            {
                connection.receiving = Receiving::Discarded(left);
            }
            (lane.into.awaited, lane.out.waiting, lane.out.settling, lane.out.written) = (0..0, 0..0, false, 0);
        }
    }

    /// Queues a control frame. The next [`pump_out`](Self::pump_out) sends it. Peers that have sent
    /// FIN get no more.
    pub(crate) fn enqueue(&mut self, to: usize, header: Header, text: &[u8]) {
        if self.fin_sent && header.kind != Kind::FinAck {
            return;
        }
        if let Some(connection) = self.connections[to].as_mut().filter(|connection| connection.accepts_frames()) {
            connection.queue.extend(Header { text: text.len() as u32, ..header }.encode());
            connection.queue.extend_from_slice(text);
        }
    }

    /// Returns whether something is queued for a process.
    fn has_queued(&self, to: usize) -> bool {
        self.connections[to].as_ref().is_some_and(|connection| !connection.queue.is_empty())
    }

    /// Records that something may be sent to a process that could not be before.
    pub(crate) fn mark_due(&mut self, to: usize) {
        if !self.due.contains(&to) {
            self.due.push(to);
        }
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

    /// Tells the members of a context that this process has left it, and why, unless it simply
    /// returned. If the context has failed, they get the decision first: they may not reach the
    /// process that decided.
    pub(crate) fn broadcast_leave(&mut self, id: ContextId, how: &str) {
        if let Some(failure) = self.failure(id) {
            let text = write_failure(failure);
            self.broadcast(id, Header::new(Kind::Decision, id), &text);
        }
        let Some(context) = self.contexts.get(&id) else { return };
        // A process that leaves in the middle of a library call, as one that exits, has not done
        // that call.
        let current = context.library.as_ref().and_then(|library| library.current());
        let call = match (context.at(), current) {
            (Some((call, _)), Some(current)) if call == current => call.checked_sub(1),
            (at, _) => at.map(|(call, _)| call),
        };
        let signature =
            call.and_then(|call| context.called(call)).map(|signature| (signature.fingerprint, signature.description));
        let sound = how.is_empty() && context.failure.is_none() && context.proposal.is_none();
        let history = context.history.filter(|_| sound);
        let changes = if history.is_some() { context.changes() } else { Vec::new() };
        let left = Left { call, how: (!how.is_empty()).then(|| how.into()), signature, history, changes };
        self.broadcast(id, Header::new(Kind::Leave, id), &write_left(&left));
        if history.is_some() {
            self.compare(id, None);
        }
        self.forget();
    }

    /// Compares the calls of this process, in a context that it has left, with those of one other
    /// member that has left, or of all.
    pub(crate) fn compare(&mut self, id: ContextId, with: Option<usize>) {
        let Some(context) = self.contexts.get(&id).filter(|context| context.presence == Presence::Left) else { return };
        let Some(rank) = context.rank_of(self.me).filter(|_| self.disagreement.is_none()) else { return };
        let found = match with {
            Some(process) => context.rank_of(process).and_then(|other| context.disagreement(rank, other)),
            None => (0..context.members.len()).find_map(|other| context.disagreement(rank, Rank::new(other))),
        };
        if let Some(failure) = found {
            let members: Arc<[Rank]> = (&*context.members).into();
            log::warn!("process {}: in context {id}: {}", self.me, failure.named(&members));
            self.disagreement = Some(Disagreement { failure, rank, members });
        }
    }

    /// Returns a disagreement with members that left a context after other calls, unless a failure
    /// explains it.
    pub(crate) fn disagreement(&self) -> Option<Disagreement> {
        self.disagreement.clone().filter(|_| !self.any_failed && !self.panicked)
    }

    /// Returns the contexts that this process has open.
    pub(crate) fn still_open(&self) -> Vec<ContextId> {
        let open = self.contexts.values().filter(|context| context.presence == Presence::Open);
        open.map(|context| context.id).collect()
    }

    /// Reports the panic that dropped some contexts to their members.
    pub(crate) fn report_panics(&mut self, how: &str) {
        self.supervised = false;
        self.panicked |= !self.panicked_contexts.is_empty();
        for id in std::mem::take(&mut self.panicked_contexts) {
            self.broadcast_leave(id, how);
        }
    }

    /// Handles the events of the wire, and reads what a round awaits.
    pub(crate) fn handle_events(&mut self) {
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
            } else if writable {
                self.pump_out(from);
            }
            if received {
                self.out_of_band_received(from);
            }
            // What no round awaits stays in the wire for a while. It may be awaited soon, and is
            // then copied only once.
            if urgent || self.is_wanted(from) {
                self.pump_in(from);
            }
        }
        self.events = events;
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

    fn is_wanted(&self, from: usize) -> bool {
        self.active.iter().filter_map(|id| self.contexts.get(id)).any(|context| {
            let lane = &context.lanes[from];
            let asked = context.inquiry.as_ref().is_some_and(|inquiry| inquiry.is_to(from));
            asked || !lane.into.awaited.is_empty() || !lane.out.waiting.is_empty()
        })
    }

    /// Reads everything that has arrived, awaited or not, and decides on failures.
    pub(crate) fn sweep(&mut self) {
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
            return self.handle_events();
        }
        for message in receives.iter().chain(sends) {
            let peer = self.process(id, message.peer.index());
            let Some(lane) = self.contexts.get(&id).map(|context| &context.lanes[peer]) else { return };
            let (awaits, goes) = (!lane.into.awaited.is_empty(), !lane.out.waiting.is_empty() || lane.out.settling);
            if goes && let Some(connection) = self.connections[peer].as_mut().filter(|open| open.blocked) {
                connection.blocked = false;
                self.pump_out(peer);
            }
            if awaits || goes {
                self.pump_in(peer);
            }
        }
    }

    /// Checks that early messages are those that the round will await. Sends an RTS to peers that
    /// have not sent a CTS, so that they can check it likewise.
    pub(crate) fn check_early_messages(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(mut active) = context.active.take() else { return };
        let me = context.rank_of(self.me).unwrap_or_default();
        for rank in (0..context.members.len()).map(Rank::new) {
            let process = context.process(rank);
            let Lane { into, out, .. } = &mut context.lanes[process];
            let awaited = active.next_in(into);
            let early = into.unexpected.first().map(|(header, _)| header).or(into.rts);
            let mismatch = early.and_then(|early| match awaited {
                Some(message) if into.received == 0 => active.mismatch((rank, me), &early, message),
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
                && out.written == 0
                && begun.is_none_or(|sending| sending.context != id)
                && out.may_go(active.message_id(message), message.bytes, self.credit).is_none()
                && out.rts_sent.replace(active.message_id(message)) != Some(active.message_id(message))
                && !self.fin_sent
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

    /// Returns whether a failure of a context is proposed and not decided yet.
    pub(crate) fn is_undecided(&self, id: ContextId) -> bool {
        self.contexts.get(&id).is_some_and(|context| context.failure.is_none() && context.proposal.is_some())
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
        self.undecided = true;
        self.forget();
    }

    /// Returns how a process has left a context, if it has, for a member in that call.
    pub(crate) fn gone(&self, context: &Context, process: usize, call: u64) -> Option<Arc<str>> {
        if let Some(left) = &context.lanes[process].left {
            return Some(left.describe(call));
        }
        let connection = self.connections[process].as_ref()?;
        match &connection.state {
            ConnectionState::Lost(why) => Some(format!("is gone: {why}").into()),
            ConnectionState::Ended => Some("has ended".into()),
            ConnectionState::Open if connection.fin_received => Some("has ended".into()),
            ConnectionState::Open => {
                let open = connection.goodbye.as_ref()?;
                (!open.contains(&context.id)).then(|| "returned before the call".into())
            }
        }
    }

    /// Returns whether frames can still reach a process.
    pub(crate) fn is_reachable(&self, process: usize) -> bool {
        let is_writable = |connection: &Connection| connection.accepts_frames() && connection.broken.is_none();
        process == self.me || self.connections[process].as_ref().is_some_and(is_writable)
    }

    /// Drops the contexts that this process has left, once no other process can have them open.
    pub(crate) fn forget(&mut self) {
        let Self { contexts, connections, me, .. } = self;
        contexts.retain(|id, context| {
            let is_there = |process: usize| {
                process != *me
                    && context.lanes[process].left.is_none()
                    && connections[process].as_ref().is_some_and(|connection| {
                        connection.is_open()
                            && !connection.fin_received
                            && connection.goodbye.as_ref().is_none_or(|open| open.contains(id))
                    })
            };
            context.presence != Presence::Left || context.members.iter().any(|member| is_there(member.index()))
        });
    }

    /// Returns the failure of a context.
    pub(crate) fn failure(&self, id: ContextId) -> Option<&Failure> {
        self.contexts.get(&id)?.failure.as_ref()
    }
}

/// Returns a number for the current thread, from 1.
pub(crate) fn this_thread() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.try_with(|mine| *mine).unwrap_or(0)
}
