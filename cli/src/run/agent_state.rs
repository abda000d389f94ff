//! An agent, and how far it has come.

use std::time::{Duration, Instant};

use super::agent::Agent;
use crate::agent::protocol::Order;

/// Maximum time for an agent to answer whose ranks have all ended, and whose output has arrived.
const ENDED: Duration = Duration::from_secs(10);

/// An agent and its progress.
pub(super) struct AgentState {
    pub(super) agent: Agent,
    pub(super) here: bool,
    pub(super) described: bool,
    /// Number of its ranks that have started.
    pub(super) started: usize,
    /// Number of its ranks that have ended.
    pub(super) ended: usize,
    /// Whether all output of its ranks has arrived.
    pub(super) complete: bool,
    pub(super) over: bool,
    /// Number of ticks since it was asked whether it is alive, until it answers. Ticks are counted instead of time,
    /// because a launcher that was itself stopped has not waited.
    pub(super) asked: Option<u32>,
    /// When it last progressed, or could from then on.
    pub(super) since: Instant,
}

impl AgentState {
    pub(super) fn of(agent: Agent) -> Self {
        Self {
            agent,
            here: false,
            described: false,
            started: 0,
            ended: 0,
            complete: false,
            over: false,
            asked: None,
            since: Instant::now(),
        }
    }

    /// Returns until when the agent is awaited, if it is: to answer, or to start its ranks. An agent that has
    /// answered before the ranks' meeting point is known has nothing to report.
    pub(super) fn awaited(&self, patience: Duration) -> Option<Instant> {
        let awaited = !self.here || self.described && self.started < self.agent.ranks.len();
        if awaited && !self.over { self.since.checked_add(patience) } else { None }
    }

    pub(super) fn has_started(&self) -> bool {
        self.started == self.agent.ranks.len()
    }

    /// Whether all ranks have ended and all of their output has arrived, so that the agent has nothing left to report.
    pub(super) fn has_reported(&self) -> bool {
        self.has_ended() && self.complete
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended == self.agent.ranks.len()
    }

    /// Asks whether the agent is alive. Returns whether it has not answered for that long, in ticks of that length.
    pub(super) fn ask(&mut self, patience: Duration, tick: Duration) -> bool {
        if self.over || !self.has_started() {
            return false;
        }
        let patience = if self.has_reported() { patience.min(ENDED) } else { patience };
        match &mut self.asked {
            Some(ticks) => {
                *ticks += 1;
                tick * *ticks >= patience
            }
            None => {
                self.asked = Some(0);
                self.agent.tell(&Order::Answer);
                false
            }
        }
    }
}
