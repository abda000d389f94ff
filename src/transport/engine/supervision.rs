//! Renews proposals, and supervises the calls of libraries, at every tick.

use super::context::Context;
use super::frame::{Header, Kind, MessageId};
use super::library::{ContextView, Verdict};
use super::state::Engine;
use crate::transport::{ContextId, Failure, RankStatus};

impl Engine {
    /// Does what is due when no thread waits. Ends the job if a library's call cannot end.
    pub(crate) fn supervise(&mut self) {
        self.retry_proposals();
        if let Some(failure) = self.watch_library_calls()
            && let Some(library) = self.wire.library()
        {
            library.abort(&failure);
        }
    }

    /// Supervises all calls that a library executes. Returns why the job has to end, if it has to.
    pub(crate) fn watch_library_calls(&mut self) -> Option<Failure> {
        let contexts = self.contexts.values().filter(|context| context.library.is_some());
        let supervised: Vec<ContextId> = contexts.map(|context| context.id).collect();
        supervised.into_iter().find_map(|id| match self.watch_library_call(id)? {
            Verdict::Nothing => None,
            Verdict::Ask(call) => {
                self.status_requests += 1;
                let message_id = MessageId { call, ..MessageId::default() };
                let header = Header { message_id, bytes: self.status_requests, ..Header::new(Kind::StatusRequest, id) };
                self.broadcast(id, header, &[]);
                None
            }
            Verdict::Failed(failure) => {
                self.propose(id, failure);
                None
            }
            Verdict::Stuck(failure) => Some(failure),
        })
    }

    fn watch_library_call(&mut self, id: ContextId) -> Option<Verdict> {
        // Taken out, since it examines the context.
        let mut library = self.contexts.get_mut(&id)?.library.take()?;
        let found = self.contexts.get(&id).and_then(|context| {
            Some(library.watch(&ContextView {
                now: self.now,
                me: context.rank_of(self.me)?,
                members: &context.members,
                failure: context.agreement.failure(),
                left: &|rank| context.lanes[context.process(rank)].left.as_ref(),
                gone: &|rank, call| self.gone(context, context.process(rank), call),
                next_request: self.status_requests + 1,
            }))
        });
        self.contexts.get_mut(&id)?.library = Some(library);
        found
    }
}

impl Context {
    /// Passes a status reply to the library that may have asked.
    pub(super) fn answered(&mut self, from: usize, request: u64, status: &RankStatus) {
        if let Some(rank) = self.rank_of(from)
            && let Some(library) = &mut self.library
        {
            library.answered(rank, request, status);
        }
    }
}
