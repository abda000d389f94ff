//! The suites of communicators once more, over TCP: the same modules, on jobs whose ranks meet over sockets.

#[path = "../jobs/tcp.rs"]
pub(crate) mod jobs;
#[path = "../suites/mod.rs"]
mod suites;
