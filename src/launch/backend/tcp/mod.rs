//! Ranks that are processes and talk over TCP.

#[cfg(feature = "tcp")]
mod entry;
#[cfg(all(unix, feature = "tcp"))]
mod launcher;
mod rendezvous;
#[cfg(feature = "tcp")]
mod seat;

use super::row::{Answer, Environment, Row};
use crate::error::JobError;
use crate::launch::claim;
use crate::launch::variable::{with, wrong};
use crate::machine::Machine;
#[cfg(all(test, feature = "tcp"))]
pub(in crate::launch) use {rendezvous::Point, seat::Seat};

pub(super) static ROW: Row = Row {
    name: "tcp",
    built: cfg!(feature = "tcp"),
    ranks: "ranks over TCP, such as `necklace run` starts",
    threads: false,
    machine: Machine::TCP,
    variables: &["NECKLACE_ROOT", "NECKLACE_RENDEZVOUS", "NECKLACE_RANK", "NECKLACE_SIZE"],
    command: "`necklace run -n N -- PROGRAM`",
    by_hand: "NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT",
    takes: |_| true,
    asks,
    #[cfg(feature = "tcp")]
    enter: Some(entry::enter),
    #[cfg(not(feature = "tcp"))]
    enter: None,
};

/// Whoever is a rank by any launcher, and of no other backend, is one over TCP.
fn asks(environment: &Environment<'_>) -> Result<Answer, JobError> {
    if environment.names_another(&ROW) {
        return Ok(Answer::No);
    }
    let (variable, named) = (environment.variable, environment.names(&ROW));
    let point = rendezvous::own(variable)?;
    let Some(claim) = claim::of_all(variable, named || point.is_some(), environment.connects)? else {
        return match (point, named) {
            (Some((_, said)), _) => Err(wrong(format!(
                "{said}, but nothing says which rank this process is: set NECKLACE_RANK and NECKLACE_SIZE, as `necklace run` does"
            ))),
            (None, true) => Err(wrong(
                "NECKLACE_BACKEND is \"tcp\", but nothing says which rank this process is: start it with `necklace run`, or \
                 set NECKLACE_RANK, NECKLACE_SIZE and NECKLACE_ROOT",
            )),
            (None, false) => Ok(Answer::No),
        };
    };
    if (environment.built)(&ROW) {
        claim.whole().map_err(|error| with(error, &environment.not_built(&ROW, &claim)))?;
        return Ok(Answer::Yes(Some(claim)));
    }
    if let (Some((_, said)), Some(_)) = (&point, environment.taker(&ROW, &claim)) {
        return Err(wrong(format!(
            "{said}, for ranks that meet over TCP, but this program was built without the feature `tcp` of necklace: unset it, \
             and {} counts for MPI",
            claim.words()
        )));
    }
    let threads = environment.rows.iter().find(|row| row.threads && (environment.built)(row) && !environment.connects);
    let threads = threads.map(|row| format!("; NECKLACE_BACKEND={} starts a job of threads in each process", row.name));
    Err(wrong(format!(
        "{}: this process is a rank of a job, but this program was built without the feature `tcp` of necklace{}{}",
        claim.words(),
        environment.not_built(&ROW, &claim),
        threads.unwrap_or_default()
    )))
}
