//! How long buffers must be.

use crate::error::ArgumentError;
use crate::plan::PlanError;

/// Elements that a buffer of `blocks` blocks has, or that there are too many.
pub(super) fn total(elements: usize, blocks: usize, element: usize) -> Result<usize, PlanError> {
    elements.checked_mul(blocks).ok_or(PlanError::Overflow { blocks, elements, element })
}

/// That a buffer has so many elements.
#[inline]
pub(super) fn check(what: &'static str, found: usize, expected: usize) -> Result<(), ArgumentError> {
    if found == expected { Ok(()) } else { Err(ArgumentError::Length { what, expected: expected.to_string(), found }) }
}

/// How many elements a buffer must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    Exactly(usize),
    AtLeast(usize),
}

impl Need {
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
