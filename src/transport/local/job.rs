//! A job of threads: which contexts there are, and where its ranks are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::group::{Group, Leave};
use crate::ids::Rank;
use crate::transport::{ContextId, Disagreement, OpenError};

/// How many ranks a job may have. A context takes memory in proportion to the square of its ranks:
/// for this many 700 MB.
pub const MAX_RANKS: usize = 4096;

/// How many failures of each rank are kept.
const FAILURES: usize = 16;

/// A job of threads cannot have this number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job of {size} threads: it may have 1 to {MAX_RANKS}")]
pub struct SizeError {
    /// How many ranks were asked for.
    pub size: usize,
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) size: usize,
    cores: usize,
    registry: Mutex<Registry>,
}

impl Job {
    pub(super) fn start(size: usize, supervised: bool) -> Result<Arc<Self>, SizeError> {
        if !(1..=MAX_RANKS).contains(&size) {
            return Err(SizeError { size });
        }
        let ranks = (0..size).map(|_| Presence::Here).collect();
        Ok(Arc::new(Self {
            size,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            registry: Mutex::new(Registry {
                supervised,
                contexts: HashMap::new(),
                ranks,
                marred: false,
                disagreement: None,
                failures: Vec::new(),
            }),
        }))
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a rank that spins takes nobody's core.
    pub(super) fn has_core_each(&self) -> bool {
        self.size <= self.cores
    }

    /// The contexts that somebody has opened and not everybody left.
    pub(super) fn groups(&self) -> Vec<Arc<Group>> {
        self.registry().contexts.values().map(|context| context.group.clone()).collect()
    }

    /// A member's transport is dropped.
    pub(super) fn close(&self, group: &Group, me: usize) {
        self.registry().close(group.context, me);
    }
}

/// Which contexts there are, and which ranks.
#[derive(Debug)]
pub(super) struct Registry {
    /// Whether somebody will say why a thread panicked.
    pub(super) supervised: bool,
    contexts: HashMap<ContextId, Context>,
    ranks: Box<[Presence]>,
    /// Whether a context has failed, or a rank panicked; and that members of a context have left it
    /// after other calls.
    pub(super) marred: bool,
    pub(super) disagreement: Option<Disagreement>,
    /// Failures that members knew of as they left a context, with their ranks in the job. For a
    /// supervisor.
    pub(super) failures: Vec<(Rank, Disagreement)>,
}

/// A context, until all its members have left: one that comes late must learn that others have been
/// there.
#[derive(Debug)]
struct Context {
    group: Arc<Group>,
    members: Box<[Presence]>,
}

/// Where a rank is, in the job or in a context.
#[derive(Debug)]
enum Presence {
    /// A rank that may open contexts; a member that has not opened this one.
    Here,
    /// A member that has it open.
    Open,
    /// Dropped in a panic, of which nobody knows more yet.
    Falling,
    /// Over.
    Left(Leave),
}

impl Registry {
    pub(super) fn open(&mut self, id: ContextId, members: &[Rank], me: usize) -> Result<Arc<Group>, OpenError> {
        let ranks = &self.ranks;
        let context = self.contexts.entry(id).or_insert_with(|| {
            let group = Arc::new(Group::new(id, members));
            // A rank whose endpoint is gone will not come any more.
            for (i, member) in members.iter().enumerate() {
                if let Presence::Left(leave) = &ranks[member.index()] {
                    group.depart(i, leave.clone());
                }
            }
            Context { group, members: members.iter().map(|_| Presence::Here).collect() }
        });
        if *context.group.processes != *members || !matches!(context.members[me], Presence::Here) {
            return Err(OpenError::InUse(id));
        }
        context.members[me] = Presence::Open;
        Ok(context.group.clone())
    }

    /// How what is dropped now leaves; `None` if that is still to be said.
    fn leaving(&self) -> Presence {
        match (std::thread::panicking(), self.supervised) {
            (false, _) => Presence::Left(Leave::Returned),
            (true, false) => Presence::Left(Leave::Panicked(None)),
            (true, true) => Presence::Falling,
        }
    }

    /// A member's transport is dropped.
    pub(super) fn close(&mut self, id: ContextId, me: usize) {
        let leaving = self.leaving();
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if let Some(failure) = context.group.failure().filter(|_| self.supervised) {
            let (rank, members) = (context.group.processes[me], (&*context.group.processes).into());
            if self.failures.iter().filter(|(known, _)| *known == rank).count() < FAILURES {
                self.failures.push((rank, Disagreement { failure: failure.clone(), rank: Rank::new(me), members }));
            }
        }
        if let Presence::Left(leave) = &leaving {
            context.group.depart(me, leave.clone());
        }
        if let Presence::Left(Leave::Returned) = &leaving
            && context.group.failure().is_none()
        {
            self.disagreement = self.disagreement.take().or_else(|| context.group.disagreement(me));
        } else {
            self.marred = true;
        }
        context.members[me] = leaving;
        self.sweep();
    }

    /// A rank's endpoint is dropped: what it has not opened, it never will.
    pub(super) fn leave(&mut self, rank: Rank) {
        let leaving = self.leaving();
        if let Presence::Left(leave) = &leaving {
            self.miss(rank, leave);
        }
        self.ranks[rank.index()] = leaving;
        self.sweep();
    }

    /// A rank has panicked: those that wait for it where it fell hear of it.
    pub(super) fn announce(&mut self, rank: Rank, message: Option<Arc<str>>) {
        let Some(presence) = self.ranks.get_mut(rank.index()) else { return };
        let leave = Leave::Panicked(message);
        for context in self.contexts.values_mut() {
            let Some(me) = context.group.rank_of(rank) else { continue };
            if matches!(context.members[me], Presence::Falling) {
                context.group.depart(me, leave.clone());
                context.members[me] = Presence::Left(leave.clone());
            }
        }
        if matches!(presence, Presence::Falling) {
            *presence = Presence::Left(leave.clone());
            self.miss(rank, &leave);
        }
        self.sweep();
    }

    /// A rank will not open what it has not opened.
    pub(super) fn miss(&mut self, rank: Rank, leave: &Leave) {
        for context in self.contexts.values() {
            if let Some(me) = context.group.rank_of(rank)
                && matches!(context.members[me], Presence::Here)
            {
                context.group.depart(me, leave.clone());
            }
        }
    }

    /// Forgets the contexts that everybody has left.
    pub(super) fn sweep(&mut self) {
        self.contexts.retain(|_, context| !context.group.is_deserted());
    }
}
