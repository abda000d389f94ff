//! Errors of a call before it is known which call.

use std::panic::Location;

use super::{ArgumentError, Error};
use crate::permutation::BitMapError;
use crate::plan::PlanError;
use crate::transport::OpenError;
use crate::vocabulary::BuildError;

/// An error within a call. The public method says which call it is, and where the program calls it.
#[derive(Debug)]
pub(crate) enum CallError {
    Argument(ArgumentError),
    Other(Error),
}

impl CallError {
    /// Returns what makes the error of a call to this method, at the place that calls the method.
    #[track_caller]
    pub(crate) fn of<E: Into<Self>>(call: &'static str) -> impl Fn(E) -> Error {
        let at = Location::caller();
        move |error| match error.into() {
            Self::Argument(source) => Error::Argument { call, at, source: Box::new(source) },
            Self::Other(error) => error,
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<OpenError> for CallError {
    fn from(error: OpenError) -> Self {
        Self::Other(Error::Open(error))
    }
}

impl From<ArgumentError> for CallError {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(error)
    }
}

macro_rules! arguments {
    ($($error:ty),*) => {$(
        impl From<$error> for CallError {
            fn from(error: $error) -> Self {
                Self::Argument(error.into())
            }
        }
    )*};
}
arguments!(BitMapError, BuildError, PlanError);
