//! Replaces pictures if the feature `draw` is off: no option requests one.

use std::path::Path;

use clap::Args;
use necklace::schedule::{Outline, Round};

use crate::output::Failure;

pub(crate) const EXAMPLES: &str = "";

#[derive(Args, Debug)]
pub(crate) struct Wanted {}

impl Wanted {
    pub(crate) fn path(&self) -> Option<&Path> {
        None
    }

    pub(crate) fn is_standard(&self) -> bool {
        false
    }

    pub(crate) fn start(&self, _: &Outline) -> Result<Option<Picture>, Failure> {
        Ok(None)
    }
}

/// A picture that is being drawn. The type has no values without the feature `draw`.
pub(crate) enum Picture {}

impl Picture {
    pub(crate) fn round(&mut self, _: &Round) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn keep(self) -> Result<(), Failure> {
        match self {}
    }
}
