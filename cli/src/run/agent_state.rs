//! Tracks the progress of an agent.

use std::time::{Duration, Instant};

use super::agent::Agent;
use crate::agent::protocol::Order;

/// Maximum time to wait for an answer of an agent after its ranks have ended and their output has
/// arrived.
const ENDED: Duration = Duration::from_secs(10);

/// An agent and its progress.
pub(super) struct AgentState {
    pub(super) agent: Agent,
    /// Whether the agent has sent its first report.
    pub(super) here: bool,
    /// Whether the agent has received the description of the job.
    pub(super) described: bool,
    /// Number of its ranks that have started.
    pub(super) started: usize,
    /// Number of its ranks that have ended.
    pub(super) ended: usize,
    /// Whether all output of its ranks has arrived.
    pub(super) complete: bool,
    /// Whether the agent has finished, or is lost.
    pub(super) over: bool,
    /// Number of probe intervals since an unanswered probe. Intervals are counted instead of time,
    /// so that a launcher that was stopped does not count the time of its own stop.
    pub(super) asked: Option<u32>,
    /// Time of the last progress.
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

    /// Returns the deadline for the agent to answer or to start its ranks, if either is due.
    /// Nothing is due between its first report and the description of the job.
    pub(super) fn awaited(&self, patience: Duration) -> Option<Instant> {
        let awaited = !self.here || self.described && self.started < self.agent.ranks.len();
        if awaited && !self.over { self.since.checked_add(patience) } else { None }
    }

    pub(super) fn has_started(&self) -> bool {
        self.started == self.agent.ranks.len()
    }

    /// Returns whether all ranks have ended and all of their output has arrived. The agent then
    /// only has to clean up.
    pub(super) fn has_reported(&self) -> bool {
        self.has_ended() && self.complete
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended == self.agent.ranks.len()
    }

    /// Probes whether the agent is alive. Returns true if it has not answered for `patience`,
    /// measured in `tick`s.
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
