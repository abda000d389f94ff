//! Failure agreement: a context has one failure, the same on every member. A member that finds a
//! fault proposes it to the coordinator, which decides.
//!
//! The coordinator is the first member that is reachable, has not left, and has not been silent
//! past its deadline. It takes the first proposal that arrives and sends its decision to all
//! members. Before it decides, it reads everything that has arrived, unless some peer keeps
//! sending. So a process that was suspended for a while first learns what was decided meanwhile.
//!
//! # When members disagree about the coordinator
//!
//! If a connection is cut, each end considers the other lost, and both might decide. A coordinator
//! that is killed may have sent its decision to some members only. So a process that would decide
//! in place of a member that it has lost or given up on first sends a vote request to all others.
//!
//! - A member that knows of a failure replies with it.
//! - A member that sees the same coordinator proposes to it, and retracts what it proposed to
//!   another.
//! - A member that still reaches the earlier coordinator proposes to that one, and forwards its
//!   decision.
//!
//! Once all members have proposed to the process, no other can decide, and it does. If two
//! processes request votes from each other, the earlier member continues and the other proposes to
//! it. A process whose deadline has passed cannot tell whether it was suspended itself, so it
//! requests votes too.
//!
//! A process that has not opened the context replies that it cannot decide, and the next member
//! does. If it opens the context meanwhile, it also requests votes before it decides anything.
//!
//! # Limits
//!
//! A process that has left decides nothing more, and its last frame follows its decisions, so no
//! process needs its vote. If a member is silent for a while, agreement continues without it. In
//! that case, and if several members are lost at once, members may see different failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::frame::Kind;
use crate::ids::Rank;
use crate::transport::codec::{decode, encode};
use crate::transport::{Cause, Failure};

/// Maximum number of possible coordinators that are probed at once.
const MAX_SUCCESSORS: usize = 16;

/// Maximum number of times that a proposal goes again to a coordinator that has not decided but
/// sends other frames.
const MAX_RETRIES: u32 = 4;

/// Maximum number of times per context that a member which could not decide becomes eligible again.
/// A member that keeps changing its answer cannot delay the agreement for ever.
const MAX_REINSTATEMENTS: u32 = 32;

/// The state of the agreement on the failure of one context; see the [module](self).
///
/// A method appends the frames that follow from it to a list. Those that carry a failure carry
/// [this one](Self::subject).
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    failure: Option<Failure>,
    /// Whether there is a failure or a proposal. It can be read without the engine's lock.
    maybe_failed: Arc<AtomicBool>,
    /// The failure that this process proposes, found by itself or by others.
    proposal: Option<Proposal>,
    /// The processes that have proposed to this one and not retracted it; and those that have
    /// requested votes.
    voters: Vec<usize>,
    candidates: Vec<usize>,
    /// Number of times that a process which could not decide has requested votes after all.
    reinstatements: u32,
    /// The processes that were to decide and did not; and those that cannot decide.
    unresponsive: Vec<usize>,
    unable: Vec<usize>,
    /// Whether this process has replied that it cannot decide.
    declined: bool,
}

/// A proposed failure on its way to the coordinator.
#[derive(Debug)]
struct Proposal {
    failure: Failure,
    to: usize,
    since: Instant,
    /// The possible next coordinators, each with the number of reads from it when it was probed.
    successors: Vec<(usize, u64)>,
    /// If this process is to decide: whether votes were requested, and whether the time to answer is
    /// over.
    votes_requested: bool,
    expired: bool,
    /// Number of times that the proposal went again to the same coordinator.
    retries: u32,
}

/// The frames to send: to which process, and of which kind.
pub(crate) type Frames = Vec<(usize, Kind)>;

/// The members of a context, as this process sees them now.
pub(crate) struct Electorate<'a> {
    pub(crate) now: Instant,
    pub(crate) me: usize,
    /// The process of each rank.
    pub(crate) members: &'a [Rank],
    /// Whether this process has the context open.
    pub(crate) open: bool,
    /// The time that a process has to answer.
    pub(crate) grace: Duration,
    pub(crate) peer: &'a dyn Fn(usize) -> PeerState,
}

/// What is known of another process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerState {
    /// Whether frames can reach it.
    pub(crate) reachable: bool,
    /// Whether it has left the context; and whether it has ended.
    pub(crate) left: bool,
    pub(crate) ended: bool,
    /// Number of reads from it.
    pub(crate) reads: u64,
}

impl Electorate<'_> {
    fn processes(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|member| member.index())
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        self.processes().filter(|process| *process != self.me)
    }

    fn peer(&self, process: usize) -> PeerState {
        (self.peer)(process)
    }

    fn is(&self, rank: Option<Rank>, process: usize) -> bool {
        rank.is_some_and(|rank| self.members.get(rank.index()).is_some_and(|member| member.index() == process))
    }
}

impl Agreement {
    /// Returns the failure of the context, once it is decided.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Returns whether a failure is proposed and not decided yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.failure.is_none() && self.proposal.is_some()
    }

    /// Returns whether there is neither a failure nor a proposal.
    pub(crate) fn is_sound(&self) -> bool {
        self.failure.is_none() && self.proposal.is_none()
    }

    /// Returns the flag that says whether there is a failure or a proposal.
    pub(crate) fn maybe_failed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.maybe_failed)
    }

    /// Returns the failure that frames carry: the decided one, or else the proposed one.
    pub(crate) fn subject(&self) -> Option<&Failure> {
        self.failure.as_ref().or_else(|| self.proposal.as_ref().map(|proposal| &proposal.failure))
    }

    /// Returns the process to which this one has sent its proposal.
    #[cfg(test)]
    pub(crate) fn proposed_to(&self) -> Option<usize> {
        self.proposal.as_ref().map(|proposal| proposal.to)
    }

    /// Returns whether this process has replied that it cannot decide; and whether any other has.
    #[cfg(test)]
    pub(crate) fn inability(&self) -> (bool, bool) {
        (self.declined, !self.unable.is_empty())
    }

    /// Proposes a failure, unless there is a failure or a proposal.
    pub(crate) fn propose(&mut self, failure: Failure, members: &Electorate<'_>, frames: &mut Frames) {
        if !self.is_sound() {
            return;
        }
        // Uses the description as other members will read it, which may be truncated.
        let failure = decode(&encode(&failure)).unwrap_or(failure);
        self.maybe_failed.store(true, Ordering::Release);
        self.proposal = Some(Proposal {
            failure,
            to: usize::MAX,
            since: members.now,
            successors: Vec::new(),
            votes_requested: false,
            expired: false,
            retries: 0,
        });
        self.send_proposal(members, frames);
    }

    /// Sends the proposal to another coordinator if the present one does not decide or is gone.
    pub(crate) fn retry(&mut self, members: &Electorate<'_>, frames: &mut Frames) {
        let Some(proposal) = &mut self.proposal else { return };
        let (to, late) = (proposal.to, members.now.duration_since(proposal.since) > members.grace);
        proposal.expired |= late;
        let other = self.coordinator_of_proposal(members) != Some(to);
        if late && !other && to != members.me && !self.keeps_waiting(members, to) {
            self.give_up(members, to);
        }
        if other || late && to != members.me {
            self.send_proposal(members, frames);
        }
    }

    /// Returns whether to keep waiting for the same coordinator: it is alive, and may be waiting
    /// for others itself.
    fn keeps_waiting(&mut self, members: &Electorate<'_>, to: usize) -> bool {
        let Some(proposal) = &mut self.proposal else { return false };
        proposal.retries += 1;
        let has_answered = |(process, before): &(usize, u64)| *process == to && members.peer(to).reads > *before;
        proposal.successors.iter().any(has_answered) && proposal.retries <= MAX_RETRIES
    }

    /// Excludes a silent coordinator, and those of its successors that have sent nothing since they
    /// were probed. So if many members are silent, they are not waited for one after another.
    fn give_up(&mut self, members: &Electorate<'_>, unresponsive: usize) {
        let Some(proposal) = &self.proposal else { return };
        let is_silent = |(process, before): &&(usize, u64)| members.peer(*process).reads == *before;
        self.unresponsive.push(unresponsive);
        self.unresponsive.extend(proposal.successors.iter().filter(is_silent).map(|(process, _)| process));
    }

    fn send_proposal(&mut self, members: &Electorate<'_>, frames: &mut Frames) {
        let Some(before) = self.proposal.take() else { return };
        let to = self.coordinator(members, &before.failure);
        let next = members.others().filter(|process| self.may_decide(members, &before.failure, *process));
        let next = next.take(MAX_SUCCESSORS).map(|process| (process, members.peer(process).reads));
        let successors: Vec<(usize, u64)> = next.collect();
        // Any answer shows that the process is alive.
        frames.extend(successors.iter().map(|(process, _)| (*process, Kind::StatusRequest)));
        if ![to, members.me, usize::MAX].contains(&before.to) {
            frames.push((before.to, Kind::Retract));
        }
        if to != members.me {
            frames.push((to, Kind::Proposal));
        }
        let retries = if before.to == to { before.retries } else { 0 };
        self.proposal = Some(Proposal {
            to,
            since: members.now,
            successors,
            votes_requested: false,
            expired: false,
            retries,
            ..before
        });
    }

    /// Returns the process that should decide on a failure, as far as this process can see.
    fn coordinator(&self, members: &Electorate<'_>, failure: &Failure) -> usize {
        members.processes().find(|process| self.may_decide(members, failure, *process)).unwrap_or(members.me)
    }

    fn coordinator_of_proposal(&self, members: &Electorate<'_>) -> Option<usize> {
        self.proposal.as_ref().map(|proposal| self.coordinator(members, &proposal.failure))
    }

    fn may_decide(&self, members: &Electorate<'_>, failure: &Failure, process: usize) -> bool {
        // A member that was silent for so long is not asked.
        let silent = matches!(failure.cause, Cause::Deadline { .. }) && !self.candidates.contains(&process);
        if silent && members.is(failure.culprit, process) {
            return false;
        }
        if process == members.me {
            return members.open;
        }
        let out = self.unresponsive.contains(&process) || self.unable.contains(&process);
        let peer = members.peer(process);
        peer.reachable && !peer.left && !out
    }

    /// Returns whether no other process can decide on the failure that this process has to decide
    /// on.
    fn may_decide_now(&self, members: &Electorate<'_>, proposal: &Proposal) -> bool {
        if proposal.votes_requested && proposal.expired {
            return true;
        }
        let has_left = |process: usize| {
            let peer = members.peer(process);
            peer.ended || peer.left
        };
        let first = members.processes().take_while(|process| *process != members.me).all(has_left);
        // Others may have turned to another coordinator since they learned that this process cannot
        // decide.
        let awake = !matches!(proposal.failure.cause, Cause::Deadline { .. }) && !self.declined;
        let turned = |process: usize| process == members.me || self.voters.contains(&process);
        let mut all = members.processes();
        first && awake || all.all(|process| turned(process) || !self.may_decide(members, &proposal.failure, process))
    }

    /// Handles a proposal or a vote request. Returns the reply, if there is one: the sender gets the
    /// decision at once if there is one, and learns if this process, which does not know the members
    /// yet, cannot decide.
    pub(crate) fn proposed(
        &mut self,
        (from, kind): (usize, Kind),
        failure: Failure,
        members: &Electorate<'_>,
        frames: &mut Frames,
    ) -> Option<Kind> {
        if self.failure.is_some() {
            return Some(Kind::Decision);
        }
        if members.members.is_empty() {
            self.declined = true;
            return Some(Kind::CannotDecide);
        }
        let list = if kind == Kind::VoteRequest { &mut self.candidates } else { &mut self.voters };
        if !list.contains(&from) {
            list.push(from);
        }
        let out = self.unable.contains(&from) || self.unresponsive.contains(&from);
        if kind == Kind::VoteRequest && out && self.reinstatements < MAX_REINSTATEMENTS {
            // A process that requests votes is alive and able to decide.
            self.reinstatements += 1;
            self.unable.retain(|process| *process != from);
            self.unresponsive.retain(|process| *process != from);
        }
        self.propose(failure, members, frames);
        self.redirect(members, frames);
        None
    }

    /// Records that a process has turned to another coordinator.
    pub(crate) fn retracted(&mut self, from: usize) {
        self.voters.retain(|process| *process != from);
    }

    /// Records that a process cannot decide, so that the next member does.
    pub(crate) fn unable(&mut self, from: usize, members: &Electorate<'_>, frames: &mut Frames) {
        if self.failure.is_none() && !self.unable.contains(&from) {
            self.unable.push(from);
            self.redirect(members, frames);
        }
    }

    /// Sends the proposal to the present coordinator, if that has changed.
    fn redirect(&mut self, members: &Electorate<'_>, frames: &mut Frames) {
        if self.coordinator_of_proposal(members) != self.proposal.as_ref().map(|proposal| proposal.to) {
            self.send_proposal(members, frames);
        }
    }

    /// Returns the decision if this process has to decide and no other can; requests votes if
    /// another might. Everything that has arrived must have been read.
    pub(crate) fn decide(&mut self, members: &Electorate<'_>, frames: &mut Frames) -> Option<Failure> {
        // A process that has left while it was to decide leaves that to the next member.
        let proposal = self.proposal.as_ref().filter(|proposal| proposal.to == members.me)?;
        if self.failure.is_some() || !members.open {
            return None;
        }
        if self.may_decide_now(members, proposal) {
            return Some(proposal.failure.clone());
        }
        let proposal = self.proposal.as_mut().filter(|proposal| !proposal.votes_requested)?;
        (proposal.votes_requested, proposal.expired, proposal.since) = (true, false, members.now);
        frames.extend(members.others().map(|process| (process, Kind::VoteRequest)));
        None
    }

    /// Sets the failure of the context, and returns the processes that may not be able to reach the
    /// one that decided: this process's voters and candidates, and the culprit, if it is alive.
    pub(crate) fn settle(&mut self, failure: Failure, members: &[Rank]) -> Vec<usize> {
        let mut others = std::mem::take(&mut self.voters);
        others.append(&mut self.candidates);
        others.extend(failure.culprit.and_then(|culprit| members.get(culprit.index())).map(|process| process.index()));
        self.failure = Some(failure);
        self.proposal = None;
        self.maybe_failed.store(true, Ordering::Release);
        others.sort_unstable();
        others.dedup();
        others
    }
}

#[cfg(test)]
mod tests;
