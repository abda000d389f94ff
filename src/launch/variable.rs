//! Reads variables of the environment.

use std::env;
use std::time::Duration;

use crate::error::{JobCause, JobError};
use crate::quote::quoted;

/// Looks a variable up.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns a variable of this process. Bytes that are not Unicode are replaced, so that such a
/// value is refused as invalid.
pub(super) fn system(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The environment of a launch that reads none.
pub(super) fn nothing(_: &str) -> Option<String> {
    None
}

/// A number of at least 1.
pub(super) fn number(variable: Variable<'_>, name: &str) -> Result<Option<usize>, JobError> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(wrong(format!("{name} is {}, it must be a number of at least 1", quoted(&text)))),
    }
}

/// A timeout in seconds; `Some(None)` if it is off.
pub(super) fn timeout(variable: Variable<'_>, name: &str) -> Result<Option<Option<Duration>>, JobError> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(Some(Some(Duration::from_secs(seconds)))),
        _ if text == "off" => Ok(Some(None)),
        _ => Err(wrong(format!("{name} is {}, it must be a number of seconds of at least 1, or off", quoted(&text)))),
    }
}

pub(super) fn wrong(words: impl Into<String>) -> JobError {
    JobCause::Environment(words.into()).into()
}

/// The same error, with more words at its end.
pub(super) fn with(error: JobError, more: &str) -> JobError {
    match error.cause() {
        JobCause::Environment(words) => wrong(words.clone() + more),
        _ => error,
    }
}
