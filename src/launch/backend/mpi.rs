//! Ranks that MPI has started.

use super::row::{Environment, Row, Selection};
use crate::error::JobError;
use crate::launch::claim::{self, Claim};
use crate::launch::variable::{contradiction, with_advice};
use crate::quote::quoted;

pub(super) static ROW: Row = Row {
    name: "mpi",
    built: cfg!(feature = "mpi"),
    ranks: "ranks of MPI",
    threads: false,
    variables: &[],
    command: "`mpirun -n N PROGRAM` (for one rank with NECKLACE_BACKEND=mpi)",
    variables_to_set: "",
    accepts: Claim::may_be_mpi,
    selects,
    #[cfg(feature = "mpi")]
    enter: Some(entry::enter),
    #[cfg(not(feature = "mpi"))]
    enter: None,
};

/// Advice for errors of claims, where MPI itself could tell rank and size.
const ASK_MPI: &str = "; or set NECKLACE_BACKEND=mpi, to take rank and size from MPI";

/// Selects MPI for a process that MPI has started, unless a variable means another backend.
fn selects(environment: &Environment<'_>) -> Result<Selection, JobError> {
    let another = environment.means_another(&ROW);
    if environment.names(&ROW) {
        return match another {
            None => Ok(Selection::Yes(None)),
            Some((other, name, value)) => Err(contradiction(
                "NECKLACE_BACKEND is \"mpi\"",
                format!("{name} is {}, which is for {}", quoted(&value), other.ranks),
                "unset one of them",
            )),
        };
    }
    if environment.names_another(&ROW) || another.is_some() || !(environment.built)(&ROW) {
        return Ok(Selection::No);
    }
    let claim = claim::effective(environment.variable, false, environment.connects);
    let claim = claim.map_err(|error| with_advice(error, ASK_MPI))?;
    Ok(if claim.is_some_and(|claim| claim.may_be_mpi()) { Selection::Yes(None) } else { Selection::No })
}

#[cfg(feature = "mpi")]
mod entry {
    use std::time::Duration;

    use super::{Claim, Environment, JobError, Row, claim, contradiction};
    use crate::launch::backend::row::{JobEntry, JoinedJob, Size, Supervise};
    use crate::launch::variable::host;
    use crate::transport::mpi::MpiJoin;

    /// Initializes MPI, which knows the size only then.
    pub(super) fn enter(
        _: &Row,
        environment: &Environment<'_>,
        _: Option<Claim>,
        timeout: Duration,
    ) -> Result<Box<dyn JobEntry>, JobError> {
        let host = host(environment.variable)?;
        let join = MpiJoin::world_within(timeout)?;
        let join = host.into_iter().fold(join, MpiJoin::host);
        let size = join.size()?;
        if let Some(claim) = claim::several(environment.variable).filter(|_| size == 1) {
            return Err(contradiction(
                claim,
                "MPI reports that this process is the only one",
                "start it with the launcher of the MPI library that it is built with (`srun --mpi=list` names those of \
                 Slurm), or over TCP with NECKLACE_ROOT=host:port, where rank 0 is to listen",
            ));
        }
        Ok(Box::new(WorldEntry { join, size }))
    }

    struct WorldEntry {
        join: MpiJoin<'static>,
        size: usize,
    }

    impl JobEntry for WorldEntry {
        fn size(&self) -> Option<Size> {
            Some(Size { ranks: self.size, source: format!("MPI has started {}", self.size) })
        }

        fn join(self: Box<Self>, _: usize, supervised: bool) -> Result<JoinedJob, JobError> {
            if !supervised {
                return Ok(JoinedJob { endpoints: vec![self.join.endpoint()?], supervisor: None });
            }
            let (supervisor, endpoint) = self.join.supervised()?;
            let supervisor: Box<dyn Supervise> = Box::new(supervisor);
            Ok(JoinedJob { endpoints: vec![endpoint], supervisor: Some(supervisor) })
        }

        /// Joins nevertheless and leaves, so that the other ranks are told and do not wait for it.
        fn decline(self: Box<Self>) -> Result<(), JobError> {
            drop(self.join.endpoint()?);
            Ok(())
        }
    }
}
