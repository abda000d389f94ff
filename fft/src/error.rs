//! Errors of transforms.

use std::fmt;
use std::panic::Location;

use necklace::array::{ArrayError, Distribution};

/// The reason why a transform cannot be planned or executed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request or a buffer is invalid.
    #[error("{call} ({at}): {source}")]
    #[non_exhaustive]
    Transform {
        /// The method.
        call: &'static str,
        /// The place of the call in the program.
        at: &'static Location<'static>,
        /// The mistake.
        source: FftError,
    },
    /// The array cannot be divided in this way.
    #[error("{call} ({at}): {source}")]
    #[non_exhaustive]
    Array {
        /// The method.
        call: &'static str,
        /// The place of the call in the program.
        at: &'static Location<'static>,
        /// The mistake.
        source: ArrayError,
    },
    /// An exchange failed or could not be planned, or ranks plan different transforms.
    #[error(transparent)]
    Exchange(#[from] necklace::Error),
}

/// Prints the text of the error, which `main` and `unwrap` show.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error before it has the name of the public method.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Transform(#[from] FftError),
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Exchange(#[from] necklace::Error),
}

impl CallError {
    /// Returns a function that makes the public error of a method. The place is that of the
    /// method's caller.
    #[track_caller]
    pub(crate) fn of(call: &'static str) -> impl Fn(Self) -> Error {
        let at = Location::caller();
        move |error| match error {
            Self::Transform(source) => Error::Transform { call, at, source },
            Self::Array(source) => Error::Array { call, at, source },
            Self::Exchange(error) => Error::Exchange(error),
        }
    }
}

/// An invalid option or buffer of a transform.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FftError {
    /// There is no axis to transform.
    #[error("no axis to transform; expected one or more")]
    NoAxes,
    /// The array does not have an axis.
    #[error("no axis {axis}; expected 0 to {}", axes.saturating_sub(1))]
    #[non_exhaustive]
    Axis {
        /// The number that was given.
        axis: usize,
        /// The number of axes.
        axes: usize,
    },
    /// An axis is named twice.
    #[error("axis {axis} is to be transformed twice; name each axis once")]
    #[non_exhaustive]
    AxisTwice {
        /// The axis.
        axis: usize,
    },
    /// The grid has another number of nodes than there are ranks.
    #[error("a grid of {found} nodes for {ranks} ranks; expected {ranks} nodes")]
    #[non_exhaustive]
    Grid {
        /// The nodes of the grid.
        found: usize,
        /// The ranks of the communicator.
        ranks: usize,
    },
    /// The grid has too many axes, so that no axis of the array is whole.
    #[error(
        "a grid with {found} axes of several nodes for an array of {axes} axes, one of which must be whole; \
         expected at most {}", axes.saturating_sub(1)
    )]
    #[non_exhaustive]
    GridAxes {
        /// The axes of the grid that have several nodes.
        found: usize,
        /// The axes of the array.
        axes: usize,
    },
    /// The number of modes is not given for each axis.
    #[error("modes of {found} axes given, for an array of {axes}; expected a number for each axis")]
    #[non_exhaustive]
    Modes {
        /// The numbers that were given.
        found: usize,
        /// The axes of the array.
        axes: usize,
    },
    /// An axis has no modes, or more than points, or is not transformed.
    #[error("{found} modes of axis {axis}, which has {extent} points; expected {}", match (transformed, extent) {
        (true, 0) => "0".to_owned(),
        (true, _) => format!("1 to {extent}"),
        (false, _) => format!("{extent}, because it is not transformed"),
    })]
    #[non_exhaustive]
    ModesOfAxis {
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: usize,
        /// The number of modes that was given.
        found: usize,
        /// Whether the axis is transformed.
        transformed: bool,
    },
    /// The transform cannot be cyclic.
    #[error("{extents:?} points on {ranks} ranks cannot be divided cyclically; expected one axis, whose extent is a multiple of {}", ranks * ranks)]
    #[non_exhaustive]
    Cyclic {
        /// The extents of the array.
        extents: Vec<usize>,
        /// The ranks of the communicator.
        ranks: usize,
    },
    /// An option does not apply to a transform of one divided axis.
    #[error("{what} cannot be set for a transform of one axis that is divided among {ranks} ranks")]
    #[non_exhaustive]
    OneAxis {
        /// The option.
        what: &'static str,
        /// The ranks of the communicator.
        ranks: usize,
    },
    /// A rank's part does not fit in memory.
    #[error("{elements} elements of {bytes} bytes on one rank; expected at most {}", MOST_BYTES / bytes)]
    #[non_exhaustive]
    Memory {
        /// The elements of the part.
        elements: usize,
        /// The size of each.
        bytes: usize,
    },
    /// A buffer has another length.
    #[error("{buffer} has {found} elements; expected {}{expected}", if *at_least { "at least " } else { "" })]
    #[non_exhaustive]
    Length {
        /// The name of the buffer.
        buffer: &'static str,
        /// Its length in elements.
        found: usize,
        /// The length that is right.
        expected: usize,
        /// Whether a longer one is right too.
        at_least: bool,
    },
}

/// Prints the text of the error, which `main` and `unwrap` show.
impl fmt::Debug for FftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The most bytes of a part: 2^47 - 1 with 64-bit addresses, more than machines have.
const MOST_BYTES: usize = isize::MAX as usize >> if usize::BITS == 64 { 16 } else { 0 };

impl FftError {
    /// Checks that the largest part, that of rank 0, is no larger than a process can address. All ranks check the same part,
    /// so they agree.
    pub(crate) fn check_memory(distribution: &Distribution, bytes: usize) -> Result<(), Self> {
        let elements = distribution.local_len(0);
        match elements <= MOST_BYTES / bytes {
            true => Ok(()),
            false => Err(Self::Memory { elements, bytes }),
        }
    }

    /// Checks that a buffer has a length.
    pub(crate) fn check(buffer: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        match found == expected {
            true => Ok(()),
            false => Err(Self::Length { buffer, found, expected, at_least: false }),
        }
    }

    /// Checks that a buffer has at least a length.
    pub(crate) fn check_least(buffer: &'static str, found: usize, least: usize) -> Result<(), Self> {
        match found >= least {
            true => Ok(()),
            false => Err(Self::Length { buffer, found, expected: least, at_least: true }),
        }
    }
}
