//! The wait-for graph: from a rank that has waited too long to the rank that all others on the way
//! wait for.
//!
//! A waiting rank names one of the ranks that it waits for. Any of them will do: in a correct
//! program each of them is in an earlier round, or outside of any, so the chain ends at a rank that
//! does not wait. Where a chain leaves its context, it continues where the same thread of the same
//! process waits. A chain without an end is a cycle, such as two contexts driven in opposite
//! orders.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::group::Group;
use crate::ids::Rank;
use crate::transport::{ContextId, Deadline, rank_name};

/// A path in the wait-for graph. See the [module](self).
#[derive(Debug)]
pub(super) struct WaitChain {
    edges: Vec<WaitEdge>,
    end: ChainEnd,
    /// The last rank of the first context: the end of the chain, or where it continues in another
    /// context.
    last: usize,
    /// Sum of the progress of all ranks on the chain within the first context. Elsewhere they may
    /// be busy for ever.
    progress: u64,
    /// A failed context of which the process at the end is a member. That may be why the process
    /// does not come.
    failed: Option<ContextId>,
}

/// `rank` of a group waits for `peer`.
#[derive(Debug)]
struct WaitEdge {
    group: Arc<Group>,
    rank: usize,
    peer: usize,
}

/// The end of a chain.
#[derive(Debug)]
enum ChainEnd {
    /// A member of this group that does not wait.
    Rank(Arc<Group>, usize, EndState),
    /// A cycle through the context where the chain begins.
    Cycle,
    /// A cycle of ranks in other contexts, which may be busy with each other. The culprit is this
    /// rank of the context where the chain begins, which waits for them.
    Elsewhere(usize),
}

/// The position of the rank at the end, compared with the call that the rank before it waits in.
#[derive(Clone, Copy, Debug)]
enum EndState {
    Left,
    NotCalled,
    /// It is in the call, and does not wait. With the round that it was in last.
    Busy(u32),
    /// It is in this later call.
    GoneOn(u64),
}

/// The state that has to stay equal for a deadline to pass: the last rank in the context where the
/// chain begins, and the progress of the ranks there. Progress in other contexts does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainState {
    last: usize,
    progress: u64,
}

impl WaitChain {
    /// Follows the wait-for graph from a member of `group`. `groups` are all groups of the job.
    pub(super) fn follow(group: &Arc<Group>, from: usize, groups: &[Arc<Group>]) -> Self {
        let (home, mut last) = (group, from);
        let (mut group, mut rank) = (home.clone(), from);
        let (mut edges, mut progress) = (Vec::<WaitEdge>::new(), 0_u64);
        let end = loop {
            if let Some(met) = edges.iter().position(|edge| Arc::ptr_eq(&edge.group, &group) && edge.rank == rank) {
                let crosses_home = edges[met..].iter().any(|edge| Arc::ptr_eq(&edge.group, home));
                break if crosses_home { ChainEnd::Cycle } else { ChainEnd::Elsewhere(last) };
            }
            let status = &group.member(rank).status;
            if Arc::ptr_eq(&group, home) {
                progress = progress.wrapping_add(status.progress());
                last = rank;
            }
            if let Some(peer) = status.awaits() {
                edges.push(WaitEdge { group: group.clone(), rank, peer });
                rank = peer;
            } else if let Some(elsewhere) = elsewhere(&group, rank, groups) {
                (group, rank) = elsewhere;
            } else {
                let state = end_state(&group, rank, edges.last());
                break ChainEnd::Rank(group, rank, state);
            }
        };
        let failed = match &end {
            ChainEnd::Rank(group, rank, _) => {
                let process = group.processes[*rank];
                let failed = groups.iter().find(|other| other.failure().is_some() && other.rank_of(process).is_some());
                failed.map(|other| other.context)
            }
            ChainEnd::Cycle | ChainEnd::Elsewhere(_) => None,
        };
        Self { edges, end, last, progress, failed }
    }

    /// Returns what a later sample is compared with.
    pub(super) fn state(&self) -> ChainState {
        ChainState { last: self.last, progress: self.progress }
    }

    /// Returns the culprit, by its rank in `group`.
    pub(super) fn culprit(&self, group: &Group) -> Option<Rank> {
        match &self.end {
            ChainEnd::Rank(at, rank, _) => group.rank_of(at.processes[*rank]).map(Rank::new),
            ChainEnd::Elsewhere(last) => Some(Rank::new(*last)),
            ChainEnd::Cycle => None,
        }
    }

    /// Returns the deadline that applies to the end of the chain.
    pub(super) fn deadline(&self) -> Deadline {
        match &self.end {
            ChainEnd::Rank(_, _, EndState::NotCalled | EndState::Busy(_)) | ChainEnd::Elsewhere(_) => Deadline::Arrival,
            ChainEnd::Rank(_, _, EndState::Left | EndState::GoneOn(_)) | ChainEnd::Cycle => Deadline::Silence,
        }
    }

    /// Describes the chain. Ranks are numbered as in `home`, wherever they wait, and also as in the
    /// job if that number differs.
    pub(super) fn description(&self, home: &Group) -> String {
        let name = |group: &Group, rank: usize| {
            let process = group.processes[rank];
            match home.rank_of(process) {
                Some(rank) => rank_name(Rank::new(rank), &home.processes),
                None => format!("rank {process} of the job"),
            }
        };
        let one_context = self.edges.iter().all(|edge| edge.group.context == home.context);
        let mut text = String::new();
        for (i, WaitEdge { group, rank, peer }) in self.edges.iter().enumerate() {
            let subject = if i == 0 { name(group, *rank) } else { ", which".to_owned() };
            let place = if one_context { String::new() } else { format!(" in context {}", group.context) };
            // Writing to a string does not fail.
            let _ = write!(text, "{subject} waits{place} for {}", name(group, *peer));
        }
        text.push_str(&self.ending());
        if let Some(context) = self.failed {
            let _ = write!(text, "; context {context}, of which it is a member too, has failed");
        }
        text
    }

    fn ending(&self) -> String {
        match &self.end {
            ChainEnd::Cycle => ", which closes a cycle".to_owned(),
            ChainEnd::Elsewhere(_) => ", and so on".to_owned(),
            ChainEnd::Rank(_, _, EndState::Left) => ", which has left".to_owned(),
            ChainEnd::Rank(_, _, EndState::NotCalled) => ", which has not called".to_owned(),
            ChainEnd::Rank(_, _, EndState::Busy(round)) => format!(", which is busy elsewhere after round {round}"),
            ChainEnd::Rank(_, _, EndState::GoneOn(call)) => format!(", which has gone on to call {call}"),
        }
    }
}

/// Returns where a rank is, compared with the call in which the last edge's rank waits.
fn end_state(group: &Group, rank: usize, last: Option<&WaitEdge>) -> EndState {
    let member = group.member(rank);
    let awaited = last.and_then(|edge| edge.group.member(edge.rank).status.word.read());
    match (member.left(), member.status.word.read(), awaited) {
        (Some(_), ..) => EndState::Left,
        (None, None, _) => EndState::NotCalled,
        (None, Some((at, _)), Some((call, _))) if at < call => EndState::NotCalled,
        (None, Some((at, _)), Some((call, _))) if at == call => {
            EndState::Busy(member.status.round.load(Ordering::Relaxed))
        }
        (None, Some((at, _)), _) => EndState::GoneOn(at),
    }
}

/// Returns where else the process of a member waits: a member of another group, driven by the same
/// thread, if the thread is known.
fn elsewhere(group: &Arc<Group>, rank: usize, groups: &[Arc<Group>]) -> Option<(Arc<Group>, usize)> {
    let driver = group.member(rank).status.thread.load(Ordering::Relaxed);
    groups.iter().filter(|other| !Arc::ptr_eq(other, group)).find_map(|other| {
        let rank = other.rank_of(group.processes[rank])?;
        let status = &other.member(rank).status;
        let same = driver == 0 || driver == status.thread.load(Ordering::Relaxed);
        (same && status.awaits().is_some()).then(|| (other.clone(), rank))
    })
}
