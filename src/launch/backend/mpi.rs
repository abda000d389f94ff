//! Ranks that MPI has started.

use super::row::{Answer, Environment, Row};
use crate::error::JobError;
use crate::launch::claim::{self, Claim};
use crate::launch::variable::{with, wrong};
use crate::machine::Machine;
use crate::quote::quoted;

pub(super) static ROW: Row = Row {
    name: "mpi",
    built: cfg!(feature = "mpi"),
    ranks: "ranks of MPI",
    threads: false,
    machine: Machine::MPI,
    variables: &[],
    command: "`mpirun -n N PROGRAM` (for one rank with NECKLACE_BACKEND=mpi)",
    by_hand: "",
    takes: Claim::may_be_mpi,
    asks,
    #[cfg(feature = "mpi")]
    enter: Some(entry::enter),
    #[cfg(not(feature = "mpi"))]
    enter: None,
};

/// Added to errors where MPI itself could be asked.
const ASK_MPI: &str = "; or set NECKLACE_BACKEND=mpi, where what MPI itself says counts";

/// Whoever is started by MPI, with no variable that means another backend, means MPI.
fn asks(environment: &Environment<'_>) -> Result<Answer, JobError> {
    let another = environment.means_another(&ROW);
    if environment.names(&ROW) {
        return match another {
            None => Ok(Answer::Yes(None)),
            Some((other, name, value)) => Err(wrong(format!(
                "NECKLACE_BACKEND is \"mpi\", but {name} is {}, which is for {}: unset one of them",
                quoted(&value),
                other.ranks
            ))),
        };
    }
    if environment.names_another(&ROW) || another.is_some() || !(environment.built)(&ROW) {
        return Ok(Answer::No);
    }
    let claim = claim::of_all(environment.variable, false, environment.connects);
    let claim = claim.map_err(|error| with(error, ASK_MPI))?;
    Ok(if claim.is_some_and(|claim| claim.may_be_mpi()) { Answer::Yes(None) } else { Answer::No })
}

#[cfg(feature = "mpi")]
mod entry {
    use std::time::Duration;

    use super::{Claim, Environment, JobError, Row, claim, wrong};
    use crate::launch::backend::row::{Entry, Joined, Size, Supervise};
    use crate::transport::mpi::Join;

    /// MPI knows the size only once it is initialized.
    pub(super) fn enter(
        _: &Row,
        environment: &Environment<'_>,
        _: Option<Claim>,
        timeout: Duration,
    ) -> Result<Box<dyn Entry>, JobError> {
        let join = Join::world_within(timeout)?;
        let size = join.size()?;
        if let Some(words) = claim::several(environment.variable).filter(|_| size == 1) {
            return Err(wrong(format!(
                "{words}, but for MPI this process is the only one: start it with the launcher of the MPI library that it is \
                 built with (`srun --mpi=list` names those of Slurm), or over TCP with NECKLACE_ROOT=host:port, where rank 0 is \
                 to listen"
            )));
        }
        Ok(Box::new(World { join, size }))
    }

    struct World {
        join: Join<'static>,
        size: usize,
    }

    impl Entry for World {
        fn size(&self) -> Option<Size> {
            Some(Size { ranks: self.size, words: format!("MPI has started {}", self.size) })
        }

        fn join(self: Box<Self>, _: usize, supervised: bool) -> Result<Joined, JobError> {
            if !supervised {
                return Ok(Joined { endpoints: vec![self.join.endpoint()?], supervisor: None });
            }
            let (supervisor, endpoint) = self.join.supervised()?;
            let supervisor: Box<dyn Supervise> = Box::new(supervisor);
            Ok(Joined { endpoints: vec![endpoint], supervisor: Some(supervisor) })
        }

        /// Joins all the same and leaves: the others hear that it has left, and do not wait for it.
        fn decline(self: Box<Self>) -> Result<(), JobError> {
            drop(self.join.endpoint()?);
            Ok(())
        }
    }
}
