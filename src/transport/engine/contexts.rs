//! Opens, closes and compares contexts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::codec::MAX_CONTEXTS;
use super::connection::ConnectionState;
use super::context::{Context, Presence};
use super::frame::{Header, Kind};
use super::lane::Left;
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::{ContextId, Disagreement, Failure};

/// Maximum number of contexts that each other process may open before this one does.
const MAX_EXPECTED: usize = 1024;

impl Engine {
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
        let maybe_failed = context.agreement.maybe_failed();
        self.active.reserve(self.contexts.len());
        Some(maybe_failed)
    }

    /// Returns the contexts that this process has open.
    pub(crate) fn still_open(&self) -> Vec<ContextId> {
        let open = self.contexts.values().filter(|context| context.presence == Presence::Open);
        open.map(|context| context.id).collect()
    }

    /// Tells all other processes that this one opens no more contexts.
    pub(crate) fn open_no_more(&mut self) {
        let mut open = self.still_open();
        open.truncate(MAX_CONTEXTS);
        let open = encode(&open);
        let me = self.me;
        for process in (0..self.connections.len()).filter(|process| *process != me) {
            self.enqueue(process, Header::new(Kind::Goodbye, ContextId::WORLD), &open);
            self.pump_out(process);
        }
    }

    /// Leaves a context. If a panic is the reason, the members learn of it once the supervisor has
    /// given its message, if there is a supervisor.
    pub(crate) fn leave(&mut self, id: ContextId, panicking: bool) {
        let me = self.me;
        let Some(context) = self.contexts.get_mut(&id) else { return };
        context.presence = Presence::Left;
        let surplus = context.surplus(me);
        context.lanes.iter_mut().for_each(|lane| lane.into.unexpected = Default::default());
        self.record_surplus(id, surplus);
        if !panicking {
            self.broadcast_leave(id, "");
        } else if self.panics.drop_context(id) {
            self.report.fail();
            self.broadcast_leave(id, "panicked");
        }
    }

    /// Tells the members of a context that this process has left it, and why, unless it simply
    /// returned. If the context has failed, they get the decision first: they may not reach the
    /// process that decided.
    pub(crate) fn broadcast_leave(&mut self, id: ContextId, how: &str) {
        if let Some(failure) = self.failure(id) {
            let text = encode(failure);
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
        let sound = how.is_empty() && context.agreement.is_sound();
        let history = context.history.filter(|_| sound);
        let changes = if history.is_some() { context.changes() } else { Vec::new() };
        let left = Left { call, how: (!how.is_empty()).then(|| how.into()), signature, history, changes };
        self.broadcast(id, Header::new(Kind::Leave, id), &encode(&left));
        if history.is_some() {
            self.compare(id, None);
        }
        self.forget();
    }

    /// Reports the panic that dropped some contexts to their members.
    pub(crate) fn report_panics(&mut self, how: &str) {
        for id in self.panics.explain() {
            self.report.fail();
            self.broadcast_leave(id, how);
        }
    }

    /// Compares the calls of this process, in a context that it has left, with those of one other
    /// member that has left, or of all.
    pub(crate) fn compare(&mut self, id: ContextId, with: Option<usize>) {
        let Self { contexts, report, me, .. } = self;
        let Some(context) = contexts.get(&id).filter(|context| context.presence == Presence::Left) else { return };
        let Some(rank) = context.rank_of(*me) else { return };
        report.add_disagreement(|| {
            let found = match with {
                Some(process) => context.disagreement(rank, context.rank_of(process)?),
                None => (0..context.members.len()).find_map(|other| context.disagreement(rank, Rank::new(other))),
            };
            Some(found_late(context, found?))
        });
    }

    /// Records a message that no call of this process has awaited in a context that it leaves, or
    /// has left.
    pub(crate) fn record_surplus(&mut self, id: ContextId, found: Option<Failure>) {
        let Self { contexts, report, .. } = self;
        report.add_surplus(|| Some(found_late(contexts.get(&id)?, found?)));
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
}

fn found_late(context: &Context, failure: Failure) -> Disagreement {
    let members: Arc<[Rank]> = (&*context.members).into();
    log::warn!("in context {}: {}", context.id, failure.named(&members));
    Disagreement { rank: failure.observer, failure, members }
}
