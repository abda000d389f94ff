//! The wait-for graph among threads, whose statuses are in shared memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::group::Group;
use super::job::Job;
use crate::ids::Rank;
use crate::transport::{ContextId, RankStatus, Traversal, WaitingIn};

/// Follows the wait-for graph from a member of `group` that waits for another in a call.
pub(super) fn follow(job: &Job, group: &Group, (from, to): (usize, usize), call: u64) -> Traversal {
    let groups = job.groups();
    let edge = (group.processes[from], group.processes[to]);
    let progress = group.member(from).status.progress();
    let mut traversal = Traversal::begin(group.context, edge, call, progress);
    while let Some((process, about)) = traversal.next() {
        traversal.follow(&status(process, about, &groups), job.size);
    }
    traversal
}

/// Returns the status of a process in a context.
fn status(process: Rank, about: ContextId, groups: &[Arc<Group>]) -> RankStatus {
    let memberships = || groups.iter().filter_map(|group| Some((group, group.rank_of(process)?)));
    let failed = memberships().find(|(group, _)| group.failure().is_some()).map(|(group, _)| group.context);
    let Some((group, rank)) = memberships().find(|(group, _)| group.context == about) else {
        return RankStatus { failed, ..RankStatus::default() };
    };
    let member = group.member(rank);
    let driver = member.status.thread.load(Ordering::Relaxed);
    // Where else the process waits, on the same thread, if the thread is known.
    let elsewhere = || {
        let others = memberships().filter(|(other, _)| !Arc::ptr_eq(other, group));
        let same = |other: &u64| driver == 0 || driver == *other;
        others.filter(|(other, rank)| same(&other.member(*rank).status.thread.load(Ordering::Relaxed))).find_map(waits)
    };
    RankStatus {
        posted: member.status.word.read().map(|(call, _)| (call, member.status.round.load(Ordering::Relaxed))),
        awaits: waits((group, rank)).or_else(elsewhere),
        progress: member.status.progress(),
        left: member.left().is_some(),
        failed,
        signature: None,
    }
}

/// Returns how a member waits in its context, if it does.
fn waits((group, rank): (&Arc<Group>, usize)) -> Option<WaitingIn> {
    let status = &group.member(rank).status;
    let process = group.processes[status.awaits()?].index() as u32;
    Some(WaitingIn { context: group.context, process, call: status.word.read()?.0, progress: status.progress() })
}
