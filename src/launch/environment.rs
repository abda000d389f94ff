//! Decides from the environment which backend runs this process as a rank. A pure function of the
//! variables, without processes or sockets.
//!
//! Several processes that a launcher has started must not become that many jobs of one rank. So
//! incomplete or contradictory variables are an error. Only `NECKLACE_*` overrides others.

use super::backend::{Environment, ROWS, Row, Selection};
use super::claim::Claim;
use super::variable::{Variable, invalid};
use crate::error::{Error, JobError};

impl<'a> Environment<'a> {
    /// Makes the environment of a program that is built with some backends. The program either
    /// connects or may run threads.
    pub(super) fn new(
        variable: Variable<'a>,
        connects: bool,
        built: &'a dyn Fn(&Row) -> bool,
    ) -> Result<Self, JobError> {
        let named = variable("NECKLACE_BACKEND").map(|name| named(&name, connects, built)).transpose()?;
        Ok(Self { variable, connects, named, rows: &ROWS, built })
    }

    /// Returns the backend of this process, and the claim that selected it.
    pub(super) fn backend(&self) -> Result<(&'static Row, Option<Claim>), JobError> {
        for row in ROWS {
            if let Selection::Yes(claim) = (row.selects)(self)? {
                return Ok((row, claim));
            }
        }
        Err(Error::Internal("no backend runs this process as a rank".into()).into())
    }
}

/// Returns the backend that `NECKLACE_BACKEND` names.
fn named(name: &str, connects: bool, built: &dyn Fn(&Row) -> bool) -> Result<&'static Row, JobError> {
    let Some(row) = ROWS.into_iter().find(|row| row.name == name) else {
        let names = ROWS.map(|row| row.name).join(", ");
        return Err(invalid("NECKLACE_BACKEND", name, format!("one of {names}")));
    };
    if connects && row.threads {
        let names: Vec<&str> = ROWS.iter().filter(|row| !row.threads).map(|row| row.name).collect();
        let expected = format!(
            "one of {}, because this program connects, as a process that is a rank of a job; only `launch` runs ranks as threads",
            names.join(", ")
        );
        return Err(invalid("NECKLACE_BACKEND", name, expected));
    }
    if !built(row) {
        return Err(row.not_built(format_args!("NECKLACE_BACKEND is {name:?}, but ")));
    }
    Ok(row)
}

#[cfg(test)]
mod tests;
