//! The lengths of buffers: those that calls pass, and those that they must have.

use crate::error::ArgumentError;
use crate::plan::PlanError;

/// Returns the length of a buffer of `blocks` blocks, in elements. Fails if it overflows.
pub(super) fn total(elements: usize, blocks: usize, element: usize) -> Result<usize, PlanError> {
    elements.checked_mul(blocks).ok_or(PlanError::Overflow { blocks, elements, element })
}

/// Fails unless a buffer or a list has the expected number of elements.
#[inline]
pub(super) fn check(what: &'static str, found: usize, expected: usize) -> Result<(), ArgumentError> {
    if found == expected { Ok(()) } else { Err(ArgumentError::Length { what, expected: expected.to_string(), found }) }
}

/// The lengths of the send and the receive buffer in elements, if they are known.
pub(super) type BufferLengths = (Option<usize>, Option<usize>);

/// The length that a buffer must have, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum BufferLength {
    Exactly(usize),
    AtLeast(usize),
}

impl BufferLength {
    /// Fails if a buffer has another length.
    pub(super) fn check(self, what: &'static str, found: usize) -> Result<(), ArgumentError> {
        match self {
            Self::Exactly(expected) => check(what, found, expected),
            Self::AtLeast(expected) if found >= expected => Ok(()),
            Self::AtLeast(expected) => {
                Err(ArgumentError::Length { what, expected: format!("at least {expected}"), found })
            }
        }
    }
}
