//! The suites of communicators, over threads.

#[path = "../jobs/threads.rs"]
pub(crate) mod jobs;
#[path = "../suites/mod.rs"]
mod suites;
