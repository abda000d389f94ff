//! A round of a context, from when it is posted until it has ended. A [driver](super::driver) polls
//! it and sleeps in between; nothing here waits.

use super::context::ActiveRound;
use super::state::Engine;
use super::watch::{RoundInfo, Watch};
use crate::plan::Message;
use crate::transport::{Cause, Failure};

/// A round under way; see the [module](self).
#[derive(Debug)]
pub(crate) struct Round<'a> {
    info: RoundInfo<'a>,
    watch: Watch,
    /// Whether it is posted. Until it is withdrawn, the engine accesses its buffers.
    pub(crate) posted: bool,
}

impl<'a> Round<'a> {
    /// Begins to wait for a round, which is not posted yet.
    pub(crate) fn begin(engine: &Engine, info: RoundInfo<'a>) -> Self {
        Self { info, watch: Watch::begin(engine.now), posted: false }
    }

    /// Posts the round, unless the context has failed or is about to.
    ///
    /// `messages` are those that the active round sends and receives.
    pub(crate) fn post(&mut self, engine: &mut Engine, active: ActiveRound, messages: (&[Message], &[Message])) {
        let RoundInfo { id, signature, .. } = self.info;
        if engine.failure(id).is_none() && !engine.is_undecided(id) {
            engine.post(id, active, signature, messages);
            self.posted = true;
        }
    }

    /// Fails the context instead of posting the round.
    pub(crate) fn refuse(&self, engine: &mut Engine, reason: String) {
        let RoundInfo { id, rank, .. } = self.info;
        let cause = Cause::Aborted { rank, reason: reason.into() };
        engine.propose(id, self.info.failure((Some(rank), cause)));
    }

    /// Looks for faults, and returns the result if the round has ended. The caller then withdraws
    /// it, if it is posted.
    pub(crate) fn poll(&mut self, engine: &mut Engine) -> Option<Result<(), Failure>> {
        let RoundInfo { id, call, .. } = self.info;
        let done = self.posted && !engine.is_undecided(id) && engine.is_done(id);
        // A failure in a later call does not concern a round that is done.
        let failure = engine.failure(id).filter(|failure| !done || failure.call <= call);
        if done || failure.is_some() {
            return Some(failure.cloned().map_or(Ok(()), Err));
        }
        if let Some(fault) = self.watch.fault(engine, &self.info) {
            engine.propose(id, self.info.failure(fault));
        }
        None
    }

    /// Returns how it waits.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }
}
