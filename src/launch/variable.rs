//! Reads environment variables.

use std::env;
use std::fmt;
use std::time::Duration;

use crate::error::{JobCause, JobError};
use crate::quote::quoted;

/// All variables of this library. [`launch`](super::launch()) documents them, except those that only
/// launchers set.
const NAMES: [&str; 18] = [
    "NECKLACE_ADDRESS",
    "NECKLACE_ALGORITHM",
    "NECKLACE_ARRIVAL_TIMEOUT",
    "NECKLACE_BACKEND",
    "NECKLACE_HOST",
    "NECKLACE_INSECURE",
    "NECKLACE_KEY_FILE",
    "NECKLACE_KEY_LOCKED",
    "NECKLACE_MACHINE",
    "NECKLACE_RANK",
    "NECKLACE_RANKS",
    "NECKLACE_RENDEZVOUS",
    "NECKLACE_ROOT",
    "NECKLACE_ROOT_HELD",
    "NECKLACE_SIZE",
    "NECKLACE_STARTED_AT",
    "NECKLACE_TIMEOUT",
    "NECKLACE_TOPOLOGY",
];

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

/// Checks the names of the variables of this process: one that differs in a letter or two from one of
/// those of [`launch`](super::launch()) is a mistake. For launchers, which can refuse it before they
/// start ranks.
///
/// # Errors
///
/// [`JobCause::Misspelt`].
pub fn check_spelling() -> Result<(), JobError> {
    env::vars_os().try_for_each(|(name, _)| match name.to_str().and_then(meant) {
        Some(meant) => Err(JobCause::Misspelt { name: name.to_string_lossy().into_owned(), meant }.into()),
        None => Ok(()),
    })
}

/// Returns the variable that is meant by one that begins like those of this library and differs from
/// one of them in one or two letters.
fn meant(name: &str) -> Option<&'static str> {
    if !name.starts_with("NECKLACE_") || NAMES.contains(&name) {
        return None;
    }
    let distance = |known: &&str| strsim::osa_distance(name, known);
    NAMES.into_iter().min_by_key(distance).filter(|nearest| distance(nearest) <= 2)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_variables_are_known_and_others_like_them_refused() {
        let page = include_str!("start.rs");
        let words = page.split('`').filter(|word| word.starts_with("NECKLACE_") && !word.contains('*'));
        let documented: Vec<&str> = words.collect();
        assert!(documented.len() > 14, "{documented:?}");
        for name in documented {
            assert!(NAMES.contains(&name), "{name}");
        }
        assert!(NAMES.iter().all(|name| meant(name).is_none()));
        for (name, known) in [
            ("NECKLACE_TIMEOT", "NECKLACE_TIMEOUT"),
            ("NECKLACE_TOPLOGY", "NECKLACE_TOPOLOGY"),
            ("NECKLACE_ALGORITHMS", "NECKLACE_ALGORITHM"),
            ("NECKLACE_BAKCEDN", "NECKLACE_BACKEND"),
            ("NECKLACE_HOSTS", "NECKLACE_HOST"),
        ] {
            assert_eq!(meant(name), Some(known), "{name}");
        }
        for of_others in
            ["NECKLACE_FAULTS", "NECKLACE_CLUSTERS", "NECKLACE_REWRITE", "NECKLACE_REQUIRE_CHECKER", "PATH"]
        {
            assert_eq!(meant(of_others), None, "{of_others}");
        }
    }
}
