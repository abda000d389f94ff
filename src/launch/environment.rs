//! Whose rank this process is, by its environment: a function of the variables, without processes
//! or sockets.
//!
//! A launcher that has started several processes must not end up with as many jobs of one rank. So
//! variables that are incomplete, or contradict each other, are an error; only `NECKLACE_*`
//! decides.

use super::backend::{Answer, Environment, ROWS, Row};
use super::claim::Claim;
use super::variable::{Variable, wrong};
use crate::error::JobError;
use crate::quote::quoted;

impl<'a> Environment<'a> {
    /// The environment of a program that is built with some backends, and either connects or may
    /// run threads.
    pub(super) fn new(
        variable: Variable<'a>,
        connects: bool,
        built: &'a dyn Fn(&Row) -> bool,
    ) -> Result<Self, JobError> {
        let named = variable("NECKLACE_BACKEND").map(|name| named(&name, connects, built)).transpose()?;
        Ok(Self { variable, connects, named, rows: &ROWS, built })
    }

    /// The backend of this process, and the claim by which it is.
    pub(super) fn backend(&self) -> Result<(&'static Row, Option<Claim>), JobError> {
        for row in ROWS {
            if let Answer::Yes(claim) = (row.asks)(self)? {
                return Ok((row, claim));
            }
        }
        Err(wrong("no backend runs this process as a rank"))
    }
}

/// The backend that `NECKLACE_BACKEND` names.
fn named(name: &str, connects: bool, built: &dyn Fn(&Row) -> bool) -> Result<&'static Row, JobError> {
    let Some(row) = ROWS.into_iter().find(|row| row.name == name) else {
        let names = ROWS.map(|row| format!("{:?}", row.name)).join(" or ");
        return Err(wrong(format!("NECKLACE_BACKEND is {}, it must be {names}", quoted(name))));
    };
    if connects && row.threads {
        return Err(wrong(format!(
            "NECKLACE_BACKEND is {name:?}, but this program connects, as a process that is a rank of a job: it is `launch` \
             that runs ranks as threads"
        )));
    }
    if !built(row) {
        return Err(wrong(format!("NECKLACE_BACKEND is {name:?}, but {}", row.not_built())));
    }
    Ok(row)
}

#[cfg(test)]
mod tests;
