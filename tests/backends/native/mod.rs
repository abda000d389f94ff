//! The suites of communicators once more, over a backend that has collectives of its own; and what is special there.

#[path = "../../jobs/native.rs"]
mod jobs;
#[path = "../../suites/mod.rs"]
mod suites;

mod agreement;
mod choosing;
mod wrapped;
