//! Who waits for whom: from a rank that has waited too long to the one that everybody waits for.
//!
//! A rank that waits names one of those it waits for. Any will do: while a program is sound, each
//! of them is in an earlier round, or outside of any, so that the chain ends at a rank that does
//! not wait. A chain that leaves its context goes on where the same thread of the same process
//! waits. One that ends nowhere is a circle: two contexts driven in opposite orders, say.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::group::Group;
use crate::ids::Rank;
use crate::transport::{ContextId, Deadline, rank_words};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Chain {
    hops: Vec<Hop>,
    end: End,
    /// The last rank of the context where it begins: the end, or where it goes on in another
    /// context.
    last: usize,
    /// What all ranks on the chain have got done in the context where it begins; elsewhere they may
    /// be busy for ever.
    progress: u64,
    /// A context that has failed, if the process at the end is a member of one: that may be why it
    /// does not come.
    failed: Option<ContextId>,
}

/// `rank` of a group waits for `peer`.
#[derive(Debug)]
struct Hop {
    group: Arc<Group>,
    rank: usize,
    peer: usize,
}

/// What is at the end.
#[derive(Debug)]
enum End {
    /// This process, which waits for nobody, as a member of that group.
    Rank(Arc<Group>, usize, Progress),
    /// A rank that was met before, on a circle through the context where the chain begins.
    Circle,
    /// A circle of ranks in other contexts. They may be busy with each other; the rank of the
    /// context where the chain begins that waits for them is the one that does not come.
    Elsewhere(usize),
}

/// How far the rank at the end has come, compared with the call that the rank before it waits in.
#[derive(Clone, Copy, Debug)]
enum Progress {
    Left,
    NotCalled,
    /// It is in the call, and waits for nobody after that round.
    Busy(u32),
    GoneOn(u64),
}

/// What has to stay the same for a deadline to hold: who is the last in the context where the chain
/// begins, and that nobody there got anything done. What goes on in other contexts does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    last: usize,
    progress: u64,
}

impl Chain {
    /// Follows who waits for whom from a member of the first of `groups`, which are all those of
    /// the job.
    pub(super) fn follow(group: &Arc<Group>, from: usize, groups: &[Arc<Group>]) -> Self {
        let (home, mut last) = (group, from);
        let (mut group, mut rank) = (home.clone(), from);
        let (mut hops, mut progress) = (Vec::<Hop>::new(), 0_u64);
        let end = loop {
            if let Some(met) = hops.iter().position(|hop| Arc::ptr_eq(&hop.group, &group) && hop.rank == rank) {
                let is_here = hops[met..].iter().any(|hop| Arc::ptr_eq(&hop.group, home));
                break if is_here { End::Circle } else { End::Elsewhere(last) };
            }
            let status = &group.member(rank).status;
            if Arc::ptr_eq(&group, home) {
                progress = progress.wrapping_add(status.progress());
                last = rank;
            }
            if let Some(peer) = status.awaits() {
                hops.push(Hop { group: group.clone(), rank, peer });
                rank = peer;
            } else if let Some(elsewhere) = elsewhere(&group, rank, groups) {
                (group, rank) = elsewhere;
            } else {
                let progress = progress_of(&group, rank, hops.last());
                break End::Rank(group, rank, progress);
            }
        };
        let failed = match &end {
            End::Rank(group, rank, _) => {
                let process = group.processes[*rank];
                let failed = groups.iter().find(|other| other.failure().is_some() && other.rank_of(process).is_some());
                failed.map(|other| other.context)
            }
            End::Circle | End::Elsewhere(_) => None,
        };
        Self { hops, end, last, progress, failed }
    }

    pub(super) fn look(&self) -> Look {
        Look { last: self.last, progress: self.progress }
    }

    /// Whose fault it is, by its number in `group`.
    pub(super) fn culprit(&self, group: &Group) -> Option<Rank> {
        match &self.end {
            End::Rank(at, rank, _) => group.rank_of(at.processes[*rank]).map(Rank::new),
            End::Elsewhere(last) => Some(Rank::new(*last)),
            End::Circle => None,
        }
    }

    /// Returns the deadline that counts for what is at the end.
    pub(super) fn deadline(&self) -> Deadline {
        match &self.end {
            End::Rank(_, _, Progress::NotCalled | Progress::Busy(_)) | End::Elsewhere(_) => Deadline::Arrival,
            End::Rank(_, _, Progress::Left | Progress::GoneOn(_)) | End::Circle => Deadline::Silence,
        }
    }

    /// The chain in words. Ranks are numbered as in `home`, wherever they wait, and as in the job
    /// if that is another number.
    pub(super) fn words(&self, home: &Group) -> String {
        let name = |group: &Group, rank: usize| {
            let process = group.processes[rank];
            match home.rank_of(process) {
                Some(rank) => rank_words(Rank::new(rank), &home.processes),
                None => format!("rank {process} of the job"),
            }
        };
        let one_context = self.hops.iter().all(|hop| hop.group.context == home.context);
        let mut words = String::new();
        for (i, Hop { group, rank, peer }) in self.hops.iter().enumerate() {
            let subject = if i == 0 { name(group, *rank) } else { ", which".to_owned() };
            let place = if one_context { String::new() } else { format!(" in context {}", group.context) };
            // Writing to a string does not fail.
            let _ = write!(words, "{subject} waits{place} for {}", name(group, *peer));
        }
        words.push_str(&self.ending());
        if let Some(context) = self.failed {
            let _ = write!(words, "; context {context}, of which it is a member too, has failed");
        }
        words
    }

    fn ending(&self) -> String {
        match &self.end {
            End::Circle => ", and so in a circle".to_owned(),
            End::Elsewhere(_) => ", and so on".to_owned(),
            End::Rank(_, _, Progress::Left) => ", which has left".to_owned(),
            End::Rank(_, _, Progress::NotCalled) => ", which has not called".to_owned(),
            End::Rank(_, _, Progress::Busy(round)) => format!(", which is busy elsewhere after round {round}"),
            End::Rank(_, _, Progress::GoneOn(call)) => format!(", which has gone on to call {call}"),
        }
    }
}

/// Returns how far a rank has come, compared with the call that the last hop waits in.
fn progress_of(group: &Group, rank: usize, last: Option<&Hop>) -> Progress {
    let member = group.member(rank);
    let awaited = last.and_then(|hop| hop.group.member(hop.rank).status.post.read());
    match (member.left(), member.status.post.read(), awaited) {
        (Some(_), ..) => Progress::Left,
        (None, None, _) => Progress::NotCalled,
        (None, Some((at, _)), Some((call, _))) if at < call => Progress::NotCalled,
        (None, Some((at, _)), Some((call, _))) if at == call => {
            Progress::Busy(member.status.round.load(Ordering::Relaxed))
        }
        (None, Some((at, _)), _) => Progress::GoneOn(at),
    }
}

/// Where else the process of a member waits: in another group, by the thread that drives the
/// member, if that is known.
fn elsewhere(group: &Arc<Group>, rank: usize, groups: &[Arc<Group>]) -> Option<(Arc<Group>, usize)> {
    let driver = group.member(rank).status.thread.load(Ordering::Relaxed);
    groups.iter().filter(|other| !Arc::ptr_eq(other, group)).find_map(|other| {
        let rank = other.rank_of(group.processes[rank])?;
        let status = &other.member(rank).status;
        let same = driver == 0 || driver == status.thread.load(Ordering::Relaxed);
        (same && status.awaits().is_some()).then(|| (other.clone(), rank))
    })
}
