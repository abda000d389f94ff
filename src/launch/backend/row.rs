//! The description of a backend for `launch` and `connect`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, JobCause, JobError};
use crate::ids::{MAX_NODES, Rank};
use crate::launch::claim::Claim;
use crate::launch::variable::Variable;
use crate::transport::{Disagreement, Endpoint};

/// A backend, as a launch sees it.
#[derive(Debug)]
pub(in crate::launch) struct Row {
    /// The value of `NECKLACE_BACKEND`, and the name of the feature.
    pub(in crate::launch) name: &'static str,
    /// Whether this program is built with the feature.
    pub(in crate::launch) built: bool,
    /// A description of its ranks.
    pub(in crate::launch) ranks: &'static str,
    /// Whether its ranks are threads that the launch starts. Otherwise this process is a rank.
    pub(in crate::launch) threads: bool,
    /// Variables that mean this backend if `NECKLACE_BACKEND` is not set, and contradict another.
    pub(in crate::launch) variables: &'static [&'static str],
    /// The command that starts a program as processes, and the variables to set without it.
    pub(in crate::launch) command: &'static str,
    pub(in crate::launch) variables_to_set: &'static str,
    /// Whether its ranks can be those of that claim.
    pub(in crate::launch) accepts: fn(&Claim) -> bool,
    /// Whether, by the environment, this process is one of its ranks or runs them.
    pub(in crate::launch) selects: fn(&Environment<'_>) -> Result<Selection, JobError>,
    /// Begins to join the job, if the program is built with the backend. The duration is the
    /// maximum time to wait for other ranks.
    pub(in crate::launch) enter: Option<Enter>,
}

pub(in crate::launch) type Enter =
    fn(&Row, &Environment<'_>, Option<Claim>, Duration) -> Result<Box<dyn JobEntry>, JobError>;

/// Whether a backend selects this process.
#[derive(Debug)]
pub(in crate::launch) enum Selection {
    /// It does not.
    No,
    /// It does, by the claim of a launcher if there is one.
    Yes(Option<Claim>),
}

/// The environment, and what the program is able to run.
pub(in crate::launch) struct Environment<'a> {
    pub(in crate::launch) variable: Variable<'a>,
    /// Whether the process has to be a rank, since the program runs no threads.
    pub(in crate::launch) connects: bool,
    /// The backend that `NECKLACE_BACKEND` names.
    pub(in crate::launch) named: Option<&'static Row>,
    /// All backends.
    pub(in crate::launch) rows: &'a [&'static Row],
    /// Whether this program is built with a backend.
    pub(in crate::launch) built: &'a dyn Fn(&Row) -> bool,
}

impl Environment<'_> {
    /// Whether `NECKLACE_BACKEND` names this backend.
    pub(super) fn names(&self, row: &Row) -> bool {
        self.named.is_some_and(|named| named.name == row.name)
    }

    /// Whether `NECKLACE_BACKEND` names another backend.
    pub(super) fn names_another(&self, row: &Row) -> bool {
        self.named.is_some_and(|named| named.name != row.name)
    }

    /// Returns a variable that means another backend, with that backend and the variable's value.
    pub(super) fn means_another(&self, row: &Row) -> Option<(&'static Row, &'static str, String)> {
        let others = self.rows.iter().filter(|other| other.name != row.name);
        let variables = others.flat_map(|other| other.variables.iter().map(move |name| (*other, *name)));
        variables.into_iter().find_map(|(other, name)| Some((other, name, (self.variable)(name)?)))
    }

    /// Returns another backend that accepts the claim, of those with which the program is built.
    pub(super) fn accepting(&self, row: &Row, claim: &Claim) -> Option<&'static Row> {
        self.all_accepting(row, claim).find(|other| (self.built)(other))
    }

    /// Lists the features that this program lacks for other backends to accept the claim.
    pub(super) fn not_built(&self, row: &Row, claim: &Claim) -> String {
        let missing = self.all_accepting(row, claim).filter(|other| !(self.built)(other));
        missing.map(|other| format!("; for {}, {}", other.ranks, other.lacking())).collect()
    }

    fn all_accepting(&self, row: &Row, claim: &Claim) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().copied().filter(move |other| other.name != row.name && (other.accepts)(claim))
    }

    /// Returns instructions for starting this program as processes.
    pub(super) fn start_instructions(&self) -> String {
        let processes = || self.rows.iter().copied().filter(|row| !row.threads);
        let list = |rows: &mut dyn Iterator<Item = String>| rows.collect::<Vec<_>>().join(" or ");
        let built = || processes().filter(|row| (self.built)(row));
        let commands = list(&mut built().map(|row| row.command.to_owned()));
        if commands.is_empty() {
            let features = list(&mut processes().map(|row| format!("feature `{}`", row.name)));
            return format!("build this program with the {features} of necklace, for ranks that are processes");
        }
        let variables_to_set = built().filter(|row| !row.variables_to_set.is_empty());
        let variables_to_set: String =
            variables_to_set.map(|row| format!(", or set {}", row.variables_to_set)).collect();
        let missing = processes().filter(|row| !(self.built)(row));
        let missing: String = missing.map(|row| format!("; for {}, {}", row.command, row.lacking())).collect();
        format!("start it with {commands}{variables_to_set}{missing}")
    }
}

impl Row {
    /// Returns the error for a program that is built without the backend, after what asks for it.
    pub(in crate::launch) fn not_built(&self, asks: impl fmt::Display) -> JobError {
        let feature = self.name;
        let message = format!(
            "{asks}this program was built without the feature `{feature}` of necklace; build it with that feature"
        );
        JobCause::NotBuilt { feature, message }.into()
    }

    fn lacking(&self) -> String {
        format!("build this program with the feature `{}` of necklace", self.name)
    }
}

/// A job that this process is about to join.
pub(in crate::launch) trait JobEntry {
    /// The number of ranks, if the program does not choose it.
    fn size(&self) -> Option<Size>;

    /// The largest number of ranks that the backend allows.
    fn most(&self) -> usize {
        MAX_NODES
    }

    /// Joins a job of that many ranks. With `supervised`, the caller reports panics to the
    /// supervisor.
    fn join(self: Box<Self>, ranks: usize, supervised: bool) -> Result<JoinedJob, JobError>;

    /// Tells ranks that may already wait for this one that it will not join.
    fn decline(self: Box<Self>) -> Result<(), JobError> {
        Ok(())
    }
}

/// A number of ranks that a launcher has decided on.
#[derive(Debug)]
pub(in crate::launch) struct Size {
    pub(in crate::launch) ranks: usize,
    /// The launcher's variables, or another source, with the number.
    pub(in crate::launch) source: String,
}

/// The part of a joined job that runs in this process.
#[derive(Debug)]
pub(in crate::launch) struct JoinedJob {
    /// Its ranks: one if the process is a rank, all if they are threads.
    pub(in crate::launch) endpoints: Vec<Arc<dyn Endpoint>>,
    /// Present if it was requested.
    pub(in crate::launch) supervisor: Option<Box<dyn Supervise>>,
}

/// Reports how the ranks of this process end.
pub(in crate::launch) trait Supervise: Send + Sync + std::fmt::Debug {
    /// Returns the first failures that a rank has seen, in contexts that it has left.
    fn failures(&self, rank: Rank) -> Vec<Disagreement>;

    /// Tells the other ranks why a rank has panicked.
    fn panicked(&self, rank: Rank, message: &str);

    /// Ends the supervision after all ranks of this process have returned. Fails if ranks have found
    /// a disagreement by comparing their calls, or processes that this one has started have failed.
    fn end(self: Box<Self>) -> Result<(), JobError>;

    /// Ends the supervision after a rank of this process has failed. Returns the error, or one that
    /// tells more.
    fn failed(self: Box<Self>, error: JobError) -> JobError {
        error
    }
}

/// Returns the error for a disagreement that ranks have found by comparing their calls.
pub(in crate::launch) fn unless_disagreement(found: Option<Disagreement>) -> Result<(), JobError> {
    found.map_or(Ok(()), |disagreement| Err(Error::from(disagreement).into()))
}
