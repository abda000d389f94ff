//! Ranks that are processes and communicate over TCP.

#[cfg(feature = "tcp")]
mod entry;
#[cfg(all(unix, feature = "tcp"))]
mod launcher;
#[cfg(all(unix, feature = "tcp"))]
mod processes;
mod rendezvous;
#[cfg(feature = "tcp")]
mod settings;

use super::row::{Environment, Row, Selection};
use crate::error::JobError;
use crate::launch::claim;
use crate::launch::variable::{incomplete, with_advice};
#[cfg(all(unix, feature = "tcp"))]
pub(in crate::launch) use processes::{Processes, of_others};
#[cfg(all(test, feature = "tcp"))]
pub(in crate::launch) use {rendezvous::RendezvousPoint, settings::RankSettings};

pub(super) static ROW: Row = Row {
    name: "tcp",
    built: cfg!(feature = "tcp"),
    ranks: "ranks over TCP, such as `necklace run` starts",
    threads: false,
    variables: &["NECKLACE_ROOT", "NECKLACE_RENDEZVOUS", "NECKLACE_RANK", "NECKLACE_SIZE"],
    command: "`necklace run -n N -- PROGRAM`",
    variables_to_set: "NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT",
    accepts: |_| true,
    selects,
    #[cfg(feature = "tcp")]
    enter: Some(entry::enter),
    #[cfg(not(feature = "tcp"))]
    enter: None,
};

const NO_RANK: &str = "the rank of this process is unknown";

/// Selects TCP for a process that is a rank by any launcher and of no other backend.
fn selects(environment: &Environment<'_>) -> Result<Selection, JobError> {
    if environment.names_another(&ROW) {
        return Ok(Selection::No);
    }
    let (variable, named) = (environment.variable, environment.names(&ROW));
    let point = rendezvous::own(variable)?;
    let Some(claim) = claim::effective(variable, named || point.is_some(), environment.connects)? else {
        return match (point, named) {
            (Some((_, said)), _) => {
                Err(incomplete(said, NO_RANK, "set NECKLACE_RANK and NECKLACE_SIZE, as `necklace run` does"))
            }
            (None, true) => Err(incomplete(
                "NECKLACE_BACKEND is \"tcp\"",
                NO_RANK,
                "start it with `necklace run`, or set NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT",
            )),
            (None, false) => Ok(Selection::No),
        };
    };
    if (environment.built)(&ROW) {
        claim.complete().map_err(|error| with_advice(error, &environment.not_built(&ROW, &claim)))?;
        return Ok(Selection::Yes(Some(claim)));
    }
    if let (Some((_, said)), Some(_)) = (&point, environment.accepting(&ROW, &claim)) {
        let error = ROW.not_built(format!("{said}, for ranks over TCP, but "));
        return Err(with_advice(error, &format!("; or unset it, so that MPI uses {}", claim.description())));
    }
    let threads = environment.rows.iter().find(|row| row.threads && (environment.built)(row) && !environment.connects);
    let threads = threads.map(|row| format!("; NECKLACE_BACKEND={} starts a job of threads in each process", row.name));
    let more = environment.not_built(&ROW, &claim) + &threads.unwrap_or_default();
    let asks = format!("{}: this process is a rank of a job, but ", claim.description());
    Err(with_advice(ROW.not_built(asks), &more))
}
