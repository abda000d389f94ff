//! The status of processes: asks others for theirs, one after another along the wait-for graph, and
//! replies to their requests.

use std::time::Duration;

use super::connection::Connection;
use super::context::{Context, Presence};
use super::frame::{Header, Kind, MessageId};
use super::inquiry::Inquiry;
use super::state::Engine;
use crate::ids::Rank;
use crate::transport::codec::encode;
use crate::transport::{ChainEnd, ContextId, RankStatus, Traversal, WaitingIn};

/// Maximum number of queued bytes; a peer that leaves more unread gets no further replies.
const MAX_QUEUED: usize = 1 << 20;

/// The result of a status request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The reply may still arrive.
    Pending,
    Status(RankStatus),
    /// No reply arrived in time.
    Missing,
}

impl Engine {
    /// Asks a process for its status in the context `about`, and what it called there in a given
    /// call. The request belongs to the context `id`.
    pub(crate) fn ask(&mut self, id: ContextId, asked: usize, about: ContextId, call: u64) {
        self.status_requests += 1;
        let number = self.status_requests;
        let (since, status) = (self.now, (asked == self.me).then(|| self.status(about, call)));
        if let Some(context) = self.contexts.get_mut(&id) {
            context.inquiry = Some(Inquiry { number, asked, since, status });
        }
        if asked != self.me {
            let message_id = MessageId { call, ..MessageId::default() };
            self.enqueue(asked, Header { message_id, bytes: number, ..Header::new(Kind::StatusRequest, about) }, &[]);
            self.pump_out(asked);
        }
    }

    /// Returns the result of a context's status request. The request is over unless it is pending.
    pub(crate) fn reply(&mut self, id: ContextId, grace: Duration) -> Reply {
        let Some(context) = self.contexts.get_mut(&id) else { return Reply::Missing };
        let Some(inquiry) = &mut context.inquiry else { return Reply::Missing };
        // A process that is gone will not reply.
        let open = self.connections[inquiry.asked].as_ref().is_some_and(Connection::is_open);
        let reply = match inquiry.status.take() {
            Some(status) => Reply::Status(status),
            None if open && self.now.duration_since(inquiry.since) < grace => return Reply::Pending,
            None => Reply::Missing,
        };
        context.inquiry = None;
        reply
    }

    /// Returns whether too many bytes are queued for a process to send it more replies.
    pub(crate) fn is_full(&self, to: usize) -> bool {
        self.connections[to].as_ref().is_none_or(|connection| connection.queue.len() > MAX_QUEUED)
    }

    /// Answers a status request, unless so many replies are queued that the peer cannot need them
    /// all.
    pub(crate) fn answer(&mut self, from: usize, question: Header) {
        if self.is_full(from) {
            return;
        }
        let status = encode(&self.status(question.context, question.message_id.call));
        self.enqueue(
            from,
            Header { bytes: question.bytes, ..Header::new(Kind::StatusReply, question.context) },
            &status,
        );
        self.mark_due(from);
    }

    /// Records a status reply.
    pub(crate) fn answered(&mut self, from: usize, number: u64, status: RankStatus) {
        self.contexts.values_mut().for_each(|context| context.answered(from, number, &status));
        let inquiries = self.contexts.values_mut().filter_map(|context| context.inquiry.as_mut());
        for inquiry in inquiries.filter(|inquiry| (inquiry.asked, inquiry.number) == (from, number)) {
            inquiry.status = Some(status.clone());
        }
    }

    fn status(&self, about: ContextId, call: u64) -> RankStatus {
        let Some(context) = self.contexts.get(&about) else {
            return RankStatus { failed: self.failed(), ..RankStatus::default() };
        };
        RankStatus {
            posted: context.at(),
            awaits: context.waits().or_else(|| self.elsewhere(context)),
            progress: context.progress,
            left: context.presence == Presence::Left,
            failed: self.failed(),
            signature: context.called(call).map(|signature| (signature.fingerprint, signature.description)),
        }
    }

    /// Returns how this process waits in another context, on the thread that drives this context, if
    /// that is known.
    fn elsewhere(&self, context: &Context) -> Option<WaitingIn> {
        let others = self.active.iter().filter_map(|id| self.contexts.get(id));
        let same = |other: &&Context| context.driver == 0 || context.driver == other.driver;
        others.filter(same).find_map(Context::waits)
    }

    fn failed(&self) -> Option<ContextId> {
        self.contexts.values().find(|context| context.agreement.failure().is_some()).map(|context| context.id)
    }

    /// Begins to follow the wait-for graph from this process, if it waits in the context.
    pub(crate) fn traverse(&mut self, home: ContextId) -> Option<Traversal> {
        let context = self.contexts.get(&home)?;
        let (call, to) = (context.active.as_ref()?.call, context.awaits()?);
        let traversal = Traversal::begin(home, (Rank::new(self.me), Rank::new(to)), call, context.progress);
        self.ask(home, to, home, call);
        Some(traversal)
    }

    /// Continues a traversal as far as replies have arrived. Returns whether it has ended. Each rank
    /// has the time `grace` to reply.
    pub(crate) fn advance(&mut self, home: ContextId, traversal: &mut Traversal, grace: Duration) -> bool {
        while let Some((to, about)) = traversal.next() {
            let Some(context) = self.contexts.get(&home) else { return false };
            let Some(call) = context.active.as_ref().map(|active| active.call) else { return false };
            let gone = self.gone(context, to.index(), call);
            if let Some(how) = gone.filter(|_| about == home) {
                traversal.end_at(ChainEnd::Gone(how));
                break;
            }
            match self.reply(home, grace) {
                Reply::Pending => return false,
                Reply::Missing => traversal.end_at(ChainEnd::Unresponsive),
                Reply::Status(status) => traversal.follow(&status, self.connections.len()),
            }
            if let Some((next, about)) = traversal.next() {
                self.ask(home, next.index(), about, call);
            }
        }
        true
    }
}
