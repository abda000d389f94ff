//! The wait-for graph: from a rank that has waited too long to the rank that all others on the way
//! wait for.
//!
//! A waiting rank names one of the ranks that it waits for. Any of them will do: in a correct
//! program each of them is in an earlier round, or outside of any, so the chain ends at a rank that
//! does not wait. Where a chain leaves its context, it continues where the same thread of the same
//! process waits. A chain without an end is a cycle, such as two contexts driven in opposite
//! orders.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::group::{Group, Member};
use crate::ids::Rank;
use crate::transport::{ChainEnd, ContextId, Deadline, WaitEdge, describe};

/// A path in the wait-for graph. See the [module](self).
#[derive(Debug)]
pub(super) struct WaitChain {
    edges: Vec<WaitEdge>,
    end: ChainEnd,
    /// The process that holds up the others; none for a cycle.
    culprit: Option<Rank>,
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

/// A member of a group, which waits.
struct Waiting {
    group: Arc<Group>,
    rank: usize,
    edge: WaitEdge,
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
        let (mut waiting, mut progress) = (Vec::<Waiting>::new(), 0_u64);
        let (end, idle) = loop {
            if let Some(met) = waiting.iter().position(|one| Arc::ptr_eq(&one.group, &group) && one.rank == rank) {
                let crosses_home = waiting[met..].iter().any(|one| Arc::ptr_eq(&one.group, home));
                break (if crosses_home { ChainEnd::Cycle } else { ChainEnd::CycleElsewhere }, None);
            }
            let status = &group.member(rank).status;
            if Arc::ptr_eq(&group, home) {
                progress = progress.wrapping_add(status.progress());
                last = rank;
            }
            if let Some(peer) = status.awaits() {
                let [from, to] = [rank, peer].map(|rank| group.processes[rank]);
                let edge = WaitEdge { context: group.context, from, to };
                waiting.push(Waiting { group: group.clone(), rank, edge });
                rank = peer;
            } else if let Some(elsewhere) = elsewhere(&group, rank, groups) {
                (group, rank) = elsewhere;
            } else {
                break (end_at(&group, rank, waiting.last()), Some(group.processes[rank]));
            }
        };
        let culprit = match end {
            ChainEnd::Cycle => None,
            // The ranks of that cycle may be busy with each other. The culprit is the rank of this
            // context that waits for them.
            ChainEnd::CycleElsewhere => Some(home.processes[last]),
            _ => idle,
        };
        let has_failed = |group: &&Arc<Group>, process| group.failure().is_some() && group.rank_of(process).is_some();
        let failed = idle.and_then(|process| groups.iter().find(|group| has_failed(group, process)));
        let failed = failed.map(|group| group.context);
        let edges = waiting.into_iter().map(|one| one.edge).collect();
        Self { edges, end, culprit, last, progress, failed }
    }

    /// Returns what a later sample is compared with.
    pub(super) fn state(&self) -> ChainState {
        ChainState { last: self.last, progress: self.progress }
    }

    /// Returns the culprit, by its rank in `group`.
    pub(super) fn culprit(&self, group: &Group) -> Option<Rank> {
        group.rank_of(self.culprit?).map(Rank::new)
    }

    /// Returns the deadline that applies to the end of the chain.
    pub(super) fn deadline(&self) -> Deadline {
        self.end.deadline()
    }

    /// Describes the chain; see [`describe`].
    pub(super) fn description(&self, home: &Group) -> String {
        describe(&self.edges, &self.end, (home.context, &home.processes), self.failed)
    }
}

/// Returns the end of a chain at a rank that does not wait, after the member that waits for it.
fn end_at(group: &Group, rank: usize, last: Option<&Waiting>) -> ChainEnd {
    let member = group.member(rank);
    let call = |member: &Member| member.status.word.read().map(|(call, _)| call);
    let left = member.left().is_some();
    let at = call(member).map(|call| (call, member.status.round.load(Ordering::Relaxed)));
    let awaited = last.and_then(|one| call(one.group.member(one.rank)));
    ChainEnd::of_idle(left, at, awaited)
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
