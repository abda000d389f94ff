//! A job of threads: its contexts, and which of its ranks still run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::group::{Exit, Group};
use crate::ids::Rank;
use crate::quote::debug_as_text;
use crate::transport::{ContextId, Disagreement, OpenError, Report};

/// Largest number of ranks of a job. A context takes memory in proportion to the square of its
/// number of ranks: 700 MB with this many.
pub const MAX_RANKS: usize = 4096;

/// Error of starting a job of threads with a number of ranks that is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a job cannot have {size} threads; expected 1 to {MAX_RANKS}")]
#[non_exhaustive]
pub struct SizeError {
    /// The requested number of ranks.
    pub size: usize,
}

debug_as_text!(SizeError);

/// The state that the threads share.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) size: usize,
    pub(super) cores: usize,
    registry: Mutex<Registry>,
}

impl Job {
    pub(super) fn start(size: usize, supervised: bool) -> Result<Arc<Self>, SizeError> {
        if !(1..=MAX_RANKS).contains(&size) {
            return Err(SizeError { size });
        }
        let ranks = (0..size).map(|_| OpenState::NotOpened).collect();
        Ok(Arc::new(Self {
            size,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            registry: Mutex::new(Registry { supervised, contexts: HashMap::new(), ranks, report: Report::default() }),
        }))
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether each rank has a core of its own, so that a rank that spins delays no other.
    pub(super) fn has_core_each(&self) -> bool {
        self.size <= self.cores
    }

    /// Returns the contexts that a rank has opened and not all members have left.
    pub(super) fn groups(&self) -> Vec<Arc<Group>> {
        self.registry().contexts.values().map(|context| context.group.clone()).collect()
    }

    /// Closes a member's transport, which is being dropped.
    pub(super) fn close(&self, group: &Group, me: usize) {
        self.registry().close(group.context, me);
    }
}

/// The contexts and the ranks of a job.
#[derive(Debug)]
pub(super) struct Registry {
    /// Whether a launcher will report why a thread panicked.
    pub(super) supervised: bool,
    contexts: HashMap<ContextId, ContextEntry>,
    ranks: Box<[OpenState]>,
    /// The failures and disagreements of contexts that members have left. Failures are kept only if
    /// a launcher reports panics.
    pub(super) report: Report,
}

/// A context. It is kept until all its members have left, so that a late member learns that others
/// have left.
#[derive(Debug)]
struct ContextEntry {
    group: Arc<Group>,
    members: Box<[OpenState]>,
}

/// State of a rank in the job, or of a member in a context.
#[derive(Debug)]
enum OpenState {
    /// The rank may open contexts; the member has not opened this one.
    NotOpened,
    /// The member has the context open.
    Open,
    /// Dropped in a panic that the launcher has not reported yet.
    Panicking,
    /// The rank or member has left.
    Left(Exit),
}

impl Registry {
    pub(super) fn open(&mut self, id: ContextId, members: &[Rank], me: usize) -> Result<Arc<Group>, OpenError> {
        let ranks = &self.ranks;
        let context = self.contexts.entry(id).or_insert_with(|| {
            let group = Arc::new(Group::new(id, members));
            // A rank whose endpoint is dropped will not open the context.
            for (i, member) in members.iter().enumerate() {
                if let OpenState::Left(exit) = &ranks[member.index()] {
                    group.mark_left(i, exit.clone());
                }
            }
            ContextEntry { group, members: members.iter().map(|_| OpenState::NotOpened).collect() }
        });
        if *context.group.processes != *members || !matches!(context.members[me], OpenState::NotOpened) {
            return Err(OpenError::InUse(id));
        }
        context.members[me] = OpenState::Open;
        Ok(context.group.clone())
    }

    /// Returns the group of a context that is open.
    pub(super) fn group(&self, id: ContextId) -> Option<Arc<Group>> {
        self.contexts.get(&id).map(|context| Arc::clone(&context.group))
    }

    /// Returns the state of a rank or member that is being dropped now.
    fn departing_state(&self) -> OpenState {
        match (std::thread::panicking(), self.supervised) {
            (false, _) => OpenState::Left(Exit::Returned),
            (true, false) => OpenState::Left(Exit::Panicked(None)),
            (true, true) => OpenState::Panicking,
        }
    }

    /// Closes a member's transport, which is being dropped.
    pub(super) fn close(&mut self, id: ContextId, me: usize) {
        let state = self.departing_state();
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if let Some(failure) = context.group.failure().filter(|_| self.supervised) {
            let members = (&*context.group.processes).into();
            let failure = Disagreement { failure: failure.clone(), rank: Rank::new(me), members };
            self.report.add_failure(context.group.processes[me], failure);
        }
        if let OpenState::Left(exit) = &state {
            context.group.mark_left(me, exit.clone());
        }
        if let OpenState::Left(Exit::Returned) = &state
            && context.group.failure().is_none()
        {
            self.report.add_disagreement(|| context.group.disagreement(me));
            self.report.add_surplus(|| context.group.surplus());
        } else {
            self.report.fail();
        }
        context.members[me] = state;
        self.remove_deserted();
    }

    /// Closes a rank's endpoint, which is being dropped: the rank opens no more contexts.
    pub(super) fn close_endpoint(&mut self, rank: Rank) {
        let state = self.departing_state();
        if let OpenState::Left(exit) = &state {
            self.mark_unopened_as_left(rank, exit);
        }
        self.ranks[rank.index()] = state;
        self.remove_deserted();
    }

    /// Reports the panic of a rank to the members that wait for it.
    pub(super) fn report_panic(&mut self, rank: Rank, message: Option<Arc<str>>) {
        let Some(state) = self.ranks.get_mut(rank.index()) else { return };
        let exit = Exit::Panicked(message);
        for context in self.contexts.values_mut() {
            let Some(me) = context.group.rank_of(rank) else { continue };
            if matches!(context.members[me], OpenState::Panicking) {
                context.group.mark_left(me, exit.clone());
                context.members[me] = OpenState::Left(exit.clone());
            }
        }
        if matches!(state, OpenState::Panicking) {
            *state = OpenState::Left(exit.clone());
            self.mark_unopened_as_left(rank, &exit);
        }
        self.remove_deserted();
    }

    /// Marks a rank as left in the contexts that it has not opened.
    pub(super) fn mark_unopened_as_left(&mut self, rank: Rank, exit: &Exit) {
        for context in self.contexts.values() {
            if let Some(me) = context.group.rank_of(rank)
                && matches!(context.members[me], OpenState::NotOpened)
            {
                context.group.mark_left(me, exit.clone());
            }
        }
    }

    /// Removes the contexts that all members have left.
    pub(super) fn remove_deserted(&mut self) {
        self.contexts.retain(|_, context| !context.group.is_deserted());
    }
}
