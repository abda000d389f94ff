//! Ranks that are threads of this process.

use super::row::{Environment, Row, Selection};
use crate::error::JobError;
use crate::launch::variable::no_launcher;

pub(super) static ROW: Row = Row {
    name: "local",
    built: cfg!(feature = "local"),
    ranks: "ranks that are threads",
    threads: true,
    variables: &[],
    command: "",
    variables_to_set: "",
    accepts: |_| false,
    selects,
    #[cfg(feature = "local")]
    enter: Some(threads::enter),
    #[cfg(not(feature = "local"))]
    enter: None,
};

/// Selects threads for a process that is not a rank of another backend, if the program runs
/// threads.
fn selects(environment: &Environment<'_>) -> Result<Selection, JobError> {
    if environment.names(&ROW) || (environment.built)(&ROW) && !environment.connects {
        return Ok(Selection::Yes(None));
    }
    let threads = match environment.connects {
        true => "",
        false => "; for ranks that are threads, build this program with the feature `local` of necklace",
    };
    Err(no_launcher(format!("{threads}: {}", environment.start_instructions())))
}

#[cfg(feature = "local")]
mod threads {
    use std::time::Duration;

    use crate::error::{JobCause, JobError};
    use crate::ids::Rank;
    use crate::launch::backend::row::{Environment, JobEntry, JoinedJob, Row, Size, Supervise, unless_disagreement};
    use crate::launch::claim::Claim;
    use crate::transport::Disagreement;
    use crate::transport::local::{self, MAX_RANKS, PanicReporter, SizeError};

    pub(super) fn enter(
        _: &Row,
        _: &Environment<'_>,
        _: Option<Claim>,
        _: Duration,
    ) -> Result<Box<dyn JobEntry>, JobError> {
        Ok(Box::new(ThreadsEntry))
    }

    struct ThreadsEntry;

    impl JobEntry for ThreadsEntry {
        fn size(&self) -> Option<Size> {
            None
        }

        fn most(&self) -> usize {
            MAX_RANKS
        }

        fn join(self: Box<Self>, ranks: usize, _: bool) -> Result<JoinedJob, JobError> {
            let too_many = |SizeError { size }| JobCause::Ranks { place: None, ranks: size, most: MAX_RANKS };
            let (supervisor, endpoints) = local::supervised(ranks).map_err(too_many)?;
            Ok(JoinedJob { endpoints, supervisor: Some(Box::new(supervisor)) })
        }
    }

    impl Supervise for PanicReporter {
        fn failures(&self, rank: Rank) -> Vec<Disagreement> {
            Self::failures(self, rank)
        }

        fn panicked(&self, rank: Rank, message: &str) {
            Self::panicked(self, rank, message);
        }

        fn end(self: Box<Self>) -> Result<(), JobError> {
            unless_disagreement(self.disagreement())
        }
    }
}
