//! The wait-for graph: from a rank that has waited too long to the rank that holds up the others.
//!
//! A waiting rank names one of the ranks that it waits for. Any will do: in a correct program, each
//! of them is in an earlier round or in none, so the chain ends at a rank that does not wait. A
//! chain that leaves its context continues where the same thread of the same process waits. A chain
//! without an end is a cycle, for example of two contexts that are driven in opposite orders.
//!
//! A backend gets the status of one process after the other, by a message or from shared memory,
//! and the [`Traversal`] says which is next.

use std::fmt::{self, Write};
use std::sync::Arc;

use super::failure::rank_name;
use super::{ContextId, Deadline};
use crate::ids::Rank;

/// An edge of the wait-for graph: a process waits for another in a context. Both are ranks of the
/// job.
#[derive(Clone, Copy, Debug)]
struct WaitEdge {
    context: ContextId,
    from: Rank,
    to: Rank,
}

/// The end of a chain: why its last process does not wait for another, or is not followed.
#[derive(Clone, Debug)]
pub(crate) enum ChainEnd {
    /// The connection to it has ended, in this way.
    Gone(Arc<str>),
    Left,
    NotCalled,
    /// It is in the call, and does not wait. With the round that it was in last.
    Busy(u32),
    /// It is in this later call.
    MovedOn(u64),
    Cycle,
    /// A cycle of other processes or in another context, or one that changes while it is followed.
    CycleElsewhere,
    Unresponsive,
}

impl ChainEnd {
    /// Returns the end at a process that does not wait. `at` is its call and round, `awaited` the
    /// call in which the process before it waits.
    fn of_idle(left: bool, at: Option<(u64, u32)>, awaited: u64) -> Self {
        match at {
            _ if left => Self::Left,
            Some((at, _)) if at > awaited => Self::MovedOn(at),
            Some((at, round)) if at == awaited => Self::Busy(round),
            _ => Self::NotCalled,
        }
    }

    /// Returns the deadline that applies.
    fn deadline(&self) -> Deadline {
        match self {
            Self::NotCalled | Self::Busy(_) | Self::CycleElsewhere => Deadline::Arrival,
            Self::Gone(_) | Self::Left | Self::MovedOn(_) | Self::Cycle | Self::Unresponsive => Deadline::Silence,
        }
    }
}

/// Writes the end of the sentence.
impl fmt::Display for ChainEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(how) => write!(f, ", which {how}"),
            Self::Left => f.write_str(", which has left"),
            Self::NotCalled => f.write_str(", which has not called"),
            Self::Busy(round) => write!(f, ", which is busy elsewhere after round {round}"),
            Self::MovedOn(call) => write!(f, ", which has gone on to call {call}"),
            Self::Cycle => f.write_str(", which closes a cycle"),
            Self::CycleElsewhere => f.write_str(", and so on"),
            Self::Unresponsive => f.write_str(", which does not answer"),
        }
    }
}

/// The status of a process in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankStatus {
    /// The call and the round that it is in, or was in last.
    pub(crate) posted: Option<(u64, u32)>,
    /// The context in which it waits, the process that it waits for and the call there, if the
    /// thread that drives this context waits.
    pub(crate) awaits: Option<WaitingIn>,
    /// Counts progress in the context.
    pub(crate) progress: u64,
    pub(crate) left: bool,
    /// A failed context of this process.
    pub(crate) failed: Option<ContextId>,
    /// Fingerprint and description of the call in question.
    pub(crate) signature: Option<(u64, Arc<str>)>,
}

/// Where a process waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingIn {
    pub(crate) context: ContextId,
    /// The process that it waits for, and the call.
    pub(crate) process: u32,
    pub(crate) call: u64,
    /// Counts its progress in that context.
    pub(crate) progress: u64,
}

/// A traversal of the wait-for graph; see the [module](self).
#[derive(Debug)]
pub(crate) struct Traversal {
    home: ContextId,
    edges: Vec<WaitEdge>,
    /// The call that the last edge waits in.
    call: u64,
    snapshot: Snapshot,
    end: Option<ChainEnd>,
    /// A failed context of which the last process is a member. That may be why it does not come.
    failed: Option<ContextId>,
}

/// Minimum number of edges that are followed. The limit is two per process if that is more, so that
/// made-up replies cannot extend a traversal for ever.
const MAX_EDGES: usize = 1024;

/// The state that must stay the same for a deadline to hold: the last process in the context where
/// the chain begins, and the progress of those before it. Other contexts do not count: there they
/// may be busy for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    last: Rank,
    /// The progress of all but the last.
    progress: u64,
    /// The progress of the last, if its status is known.
    own: Option<u64>,
}

impl Snapshot {
    /// Returns whether no process made progress between two snapshots. A process without a status
    /// makes none.
    pub(crate) fn is_still(&self, other: &Self) -> bool {
        let own = self.own.is_none() || other.own.is_none() || self.own == other.own;
        (self.last, self.progress) == (other.last, other.progress) && own
    }
}

impl Traversal {
    /// Begins at the process `from`, which waits for `to` in the context `home` in a call, after
    /// this progress.
    pub(crate) fn begin(home: ContextId, (from, to): (Rank, Rank), call: u64, progress: u64) -> Self {
        let snapshot = Snapshot { last: to, progress, own: None };
        Self { home, edges: vec![WaitEdge { context: home, from, to }], call, snapshot, end: None, failed: None }
    }

    /// Returns the process whose status is needed next, and the context that it is about. `None` if
    /// the traversal has ended.
    pub(crate) fn next(&self) -> Option<(Rank, ContextId)> {
        let last = self.edges.last().filter(|_| self.end.is_none())?;
        Some((last.to, last.context))
    }

    /// Continues by the status of the [next](Self::next) process, in a job of `processes`.
    pub(crate) fn follow(&mut self, status: &RankStatus, processes: usize) {
        let Some((last, context)) = self.next() else { return };
        if context == self.home {
            self.snapshot.own = Some(status.progress);
        }
        let Some(WaitingIn { context: next, process, call, progress }) = status.awaits else {
            self.failed = status.failed;
            self.end = Some(ChainEnd::of_idle(status.left, status.posted, self.call));
            return;
        };
        let peer = Rank::new(process as usize);
        let met = self.edges.iter().position(|other| (other.context, other.from) == (next, last));
        let too_long = self.edges.len() >= MAX_EDGES.max(2 * processes);
        if too_long || met.is_some() || peer.index() >= processes {
            let is_here = self.edges[met.unwrap_or(0)..].iter().any(|edge| edge.context == self.home);
            self.end = Some(if is_here && met.is_some() { ChainEnd::Cycle } else { ChainEnd::CycleElsewhere });
            return;
        }
        self.edges.push(WaitEdge { context: next, from: last, to: peer });
        self.call = call;
        if next == self.home {
            let own = self.snapshot.own.take().unwrap_or(0);
            let returns = if context == self.home { 0 } else { progress };
            let progress = self.snapshot.progress.wrapping_add(own).wrapping_add(returns);
            self.snapshot = Snapshot { last: peer, progress, own: None };
        }
    }

    /// Ends at the [next](Self::next) process, which gives no status.
    pub(crate) fn end_at(&mut self, end: ChainEnd) {
        self.end = Some(end);
    }

    /// Returns the state to compare with that of another traversal.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Returns whether the chain has led back to a rank on it.
    pub(crate) fn is_cycle(&self) -> bool {
        matches!(self.end, Some(ChainEnd::Cycle | ChainEnd::CycleElsewhere))
    }

    /// Returns the deadline that applies to the end of the chain; `None` if the traversal has not
    /// ended.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.end.as_ref().map(ChainEnd::deadline)
    }

    /// Returns the process that holds up the others; `None` for a cycle.
    pub(crate) fn culprit(&self) -> Option<Rank> {
        let last = match self.end {
            Some(ChainEnd::Cycle) => return None,
            // The statuses do not all describe the same moment, so the processes of that cycle may
            // be well. The process that the first context waits for is the culprit here.
            Some(ChainEnd::CycleElsewhere) => self.edges.iter().rfind(|edge| edge.context == self.home),
            _ => self.edges.last(),
        };
        last.map(|edge| edge.to)
    }

    /// Describes the chain, in a context with these members.
    pub(crate) fn describe(&self, members: &[Rank]) -> String {
        let end = self.end.as_ref().unwrap_or(&ChainEnd::Unresponsive);
        describe(&self.edges, end, (self.home, members), self.failed)
    }
}

/// Describes a chain that begins in the context `home` with these members. `failed` is a failed
/// context of which the last process is a member: that may be why the process does not come.
///
/// Ranks have their numbers in `home`, wherever they wait, and also their numbers in the job if
/// those differ.
fn describe(
    edges: &[WaitEdge],
    end: &ChainEnd,
    (home, members): (ContextId, &[Rank]),
    failed: Option<ContextId>,
) -> String {
    let name = |process: Rank| match members.iter().position(|member| *member == process) {
        Some(rank) => rank_name(Rank::new(rank), members),
        None => format!("rank {process} of the job"),
    };
    let one_context = edges.iter().all(|edge| edge.context == home);
    let mut text = String::new();
    for (i, WaitEdge { context, from, to }) in edges.iter().enumerate() {
        let subject = if i == 0 { name(*from) } else { ", which".to_owned() };
        let place = if one_context { String::new() } else { format!(" in context {context}") };
        // Writing to a string does not fail.
        let _ = write!(text, "{subject} waits{place} for {}", name(*to));
    }
    let _ = write!(text, "{end}");
    if let Some(context) = failed {
        let _ = write!(text, "; context {context}, of which it is a member too, has failed");
    }
    text
}

#[cfg(test)]
mod tests {
    use quickcheck::QuickCheck;

    use super::*;

    /// Processes in two contexts: for each process and context, which it waits for there, if any,
    /// and its progress. It waits in one context at a time.
    #[derive(Debug)]
    struct Processes(Vec<[(Option<usize>, u64); 2]>);

    const CALL: u64 = 3;

    fn context(number: usize) -> ContextId {
        ContextId::of(number as u64)
    }

    impl Processes {
        fn of(seeds: &[(u8, bool, u64)]) -> Self {
            let size = seeds.len();
            let process = |(i, &(to, other, progress)): (usize, &(u8, bool, u64))| {
                // One in eight does not wait.
                let to = (to % 8 > 0).then(|| (i + 1 + usize::from(to) % (size - 1).max(1)) % size);
                let waits = [to.filter(|_| !other), to.filter(|_| other)];
                waits.map(|to| (to.filter(|to| *to != i), progress))
            };
            Self(seeds.iter().enumerate().map(process).collect())
        }

        /// Returns the context in which a process waits, and for which other.
        fn awaits(&self, process: usize) -> Option<(usize, usize)> {
            (0..2).find_map(|context| Some((context, self.0[process][context].0?)))
        }

        fn status(&self, process: usize, about: usize) -> RankStatus {
            let waiting = |(at, to): (usize, usize)| {
                let progress = self.0[process][at].1;
                WaitingIn { context: context(at), process: to as u32, call: CALL, progress }
            };
            let awaits = self.awaits(process).map(waiting);
            RankStatus { posted: Some((CALL, 7)), awaits, progress: self.0[process][about].1, ..RankStatus::default() }
        }

        fn traverse(&self) -> Option<Traversal> {
            let (home, to) = self.awaits(0)?;
            let edge = (Rank::new(0), Rank::new(to));
            let mut traversal = Traversal::begin(context(home), edge, CALL, self.0[0][home].1);
            while let Some((process, about)) = traversal.next() {
                let about = (0..2).find(|number| context(*number) == about).unwrap();
                traversal.follow(&self.status(process.index(), about), self.0.len());
            }
            Some(traversal)
        }
    }

    #[test]
    fn traversal_ends_at_the_rank_that_holds_up_the_others() {
        let check = |seeds: Vec<(u8, bool, u64)>| {
            let processes = Processes::of(&seeds);
            let Some((home, _)) = (!seeds.is_empty()).then(|| processes.awaits(0)).flatten() else { return true };
            let traversal = processes.traverse().unwrap();
            // The path, without a limit of its length: until a process comes again.
            let mut path = vec![0];
            let end = loop {
                match processes.awaits(*path.last().unwrap()) {
                    None => break None,
                    Some((_, next)) if path.contains(&next) => break Some(next),
                    Some((_, next)) => path.push(next),
                }
            };
            let cycle = end.map(|met| path[path.iter().position(|one| *one == met).unwrap()..].to_vec());
            let is_at_home = |process: &usize| processes.awaits(*process).is_some_and(|(at, _)| at == home);
            let culprit = match &cycle {
                Some(cycle) if cycle.iter().any(is_at_home) => None,
                // The last that is waited for in the first context.
                Some(_) => {
                    path.iter().rfind(|process| is_at_home(process)).map(|last| processes.awaits(*last).unwrap().1)
                }
                None => path.last().copied(),
            };
            let deadline = if culprit.is_some() { Deadline::Arrival } else { Deadline::Silence };
            assert_eq!(traversal.culprit(), culprit.map(Rank::new), "{processes:?}");
            assert_eq!(
                (traversal.deadline(), traversal.is_cycle()),
                (Some(deadline), cycle.is_some()),
                "{processes:?}"
            );
            true
        };
        QuickCheck::new().tests(10_000).quickcheck(check as fn(Vec<(u8, bool, u64)>) -> bool);
    }

    #[test]
    fn progress_in_the_first_context_counts() {
        // 0 waits for 1, which waits for 2 there, which waits for 3 elsewhere.
        let mut processes = Processes(vec![
            [(Some(1), 10), (None, 0)],
            [(Some(2), 20), (None, 0)],
            [(None, 30), (Some(3), 0)],
            [(None, 40), (None, 0)],
        ]);
        let before = processes.traverse().unwrap().snapshot();
        assert!(before.is_still(&processes.traverse().unwrap().snapshot()));
        for (process, at, counts) in
            [(0, 0, true), (1, 0, true), (2, 0, true), (2, 1, false), (3, 0, false), (3, 1, false)]
        {
            processes.0[process][at].1 += 1;
            let after = processes.traverse().unwrap().snapshot();
            assert_eq!(!before.is_still(&after), counts, "process {process} in context {at}");
            processes.0[process][at].1 -= 1;
        }
    }

    #[test]
    fn progress_counts_where_the_chain_returns() {
        // 0 waits for 1 there, which waits for 2 elsewhere, which waits for 3 there.
        let mut processes = Processes(vec![
            [(Some(1), 10), (None, 0)],
            [(None, 20), (Some(2), 0)],
            [(Some(3), 30), (None, 0)],
            [(None, 40), (None, 0)],
        ]);
        let before = processes.traverse().unwrap().snapshot();
        for (process, at, counts) in [(1, 0, true), (1, 1, false), (2, 0, true), (2, 1, false), (3, 0, true)] {
            processes.0[process][at].1 += 1;
            let after = processes.traverse().unwrap().snapshot();
            assert_eq!(!before.is_still(&after), counts, "process {process} in context {at}");
            processes.0[process][at].1 -= 1;
        }
    }

    #[test]
    fn made_up_statuses_do_not_extend_a_traversal_for_ever() {
        let (home, processes) = (context(0), 4);
        let mut traversal = Traversal::begin(home, (Rank::new(0), Rank::new(1)), CALL, 0);
        let mut number = 0;
        while traversal.next().is_some() {
            number += 1;
            let process = number as u32 % processes;
            let awaits = Some(WaitingIn { context: context(number), process, call: CALL, progress: 0 });
            traversal.follow(&RankStatus { awaits, ..RankStatus::default() }, processes as usize);
        }
        assert_eq!((number, traversal.is_cycle()), (MAX_EDGES, true));
        let mut traversal = Traversal::begin(home, (Rank::new(0), Rank::new(1)), CALL, 0);
        let awaits = Some(WaitingIn { context: home, process: u32::MAX, call: CALL, progress: 0 });
        traversal.follow(&RankStatus { awaits, ..RankStatus::default() }, 4);
        assert!(traversal.next().is_none() && traversal.is_cycle());
    }
}
