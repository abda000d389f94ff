//! Reads environment variables.

use std::env;
use std::fmt;
use std::time::Duration;

use crate::error::{JobCause, JobError};
use crate::quote::quoted;

/// Looks up a variable.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns a variable of this process. Bytes that are not Unicode are replaced, so that such a
/// value is refused as invalid.
pub(super) fn of_process(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns no variable, for a launch that reads no environment.
pub(super) fn none(_: &str) -> Option<String> {
    None
}

/// Returns a variable that is a number of at least 1.
pub(super) fn number(variable: Variable<'_>, name: &str) -> Result<Option<usize>, JobError> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(invalid(name, &text, "a number of at least 1")),
    }
}

/// Returns a variable that is a timeout in seconds; `Some(None)` if it is off.
pub(super) fn timeout(variable: Variable<'_>, name: &str) -> Result<Option<Option<Duration>>, JobError> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(Some(Some(Duration::from_secs(seconds)))),
        _ if text == "off" => Ok(Some(None)),
        _ => Err(invalid(name, &text, "a whole number of seconds, at least 1, or off")),
    }
}

/// Returns the name of the host that a rank counts as.
#[cfg(any(feature = "tcp", feature = "mpi"))]
pub(super) fn host(variable: Variable<'_>) -> Result<Option<String>, JobError> {
    match variable("NECKLACE_HOST") {
        Some(name) if name.is_empty() => Err(invalid("NECKLACE_HOST", &name, "a name, equal on all ranks of a host")),
        name => Ok(name),
    }
}

/// Returns the error for a variable whose value is not the expected one.
pub(super) fn invalid(name: &str, value: &str, expected: impl Into<String>) -> JobError {
    let (name, found) = (name.to_owned(), quoted(value).to_string());
    JobCause::Variable { name, found, expected: expected.into() }.into()
}

/// Returns the error for a process that no launcher has started, with advice.
pub(super) fn no_launcher(advice: impl fmt::Display) -> JobError {
    JobCause::NoLauncher(format!("no launcher has started this process as a rank of a job{advice}")).into()
}

/// Returns the error for variables that say one thing where something else says another.
pub(super) fn contradiction(found: impl Into<String>, other: impl Into<String>, advice: impl Into<String>) -> JobError {
    JobCause::Contradiction { found: found.into(), other: other.into(), advice: advice.into() }.into()
}

/// Returns the error for variables that do not suffice.
pub(super) fn incomplete(found: impl Into<String>, missing: impl Into<String>, advice: impl Into<String>) -> JobError {
    JobCause::Incomplete { found: found.into(), missing: missing.into(), advice: advice.into() }.into()
}

/// Appends advice to an error of the environment.
pub(super) fn with_advice(error: JobError, more: &str) -> JobError {
    match error.cause() {
        JobCause::Contradiction { found, other, advice } => contradiction(found, other, advice.clone() + more),
        JobCause::Incomplete { found, missing, advice } => incomplete(found, missing, advice.clone() + more),
        JobCause::NotBuilt { feature, message } => {
            JobCause::NotBuilt { feature, message: message.clone() + more }.into()
        }
        JobCause::Variable { name, found, expected } => {
            JobCause::Variable { name: name.clone(), found: found.clone(), expected: expected.clone() + more }.into()
        }
        _ => error,
    }
}
