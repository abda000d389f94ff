//! Errors inside a call, before they carry the name of the public method.

use std::panic::Location;
use std::sync::Arc;

use super::{ArgumentError, Error};
use crate::array::ArrayError;
use crate::ids::Rank;
use crate::permutation::BitMapError;
use crate::plan::PlanError;
use crate::transport::OpenError;
use crate::vocabulary::BuildError;

/// An error inside a call. The public method adds its name, and the place where the program calls
/// it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Argument(ArgumentError),
    #[error(transparent)]
    Other(Error),
}

impl CallError {
    /// Returns a function that makes the public error of a method. The place is that of the
    /// method's caller.
    #[track_caller]
    pub(crate) fn of<E: Into<Self>>(call: &'static str) -> impl Fn(E) -> Error {
        let at = Location::caller();
        move |error| error.into().at(call, at, || None)
    }

    /// Makes the public error of a method called at this place, on a communicator that may be a
    /// part.
    pub(crate) fn at(
        self,
        call: &'static str,
        at: &'static Location<'static>,
        part: impl FnOnce() -> Option<(Rank, Arc<[Rank]>)>,
    ) -> Error {
        match self {
            Self::Argument(source) => Error::Argument { call, at, part: part(), source: Box::new(source) },
            Self::Other(error) => error,
        }
    }
}

/// The error of a public method within another one: a mistake in the arguments becomes that of the
/// method that the program called.
impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        match error {
            Error::Argument { source, .. } => Self::Argument(*source),
            error => Self::Other(error),
        }
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
arguments!(ArrayError, BitMapError, BuildError);

/// An inconsistent program of a built-in algorithm is a bug of this crate. (For an algorithm of the
/// user, convert to [`ArgumentError`] first.)
impl From<PlanError> for CallError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Program(error) => Self::Other(Error::Internal(error.to_string().into())),
            error => Self::Argument(error.into()),
        }
    }
}
