//! Every backend keeps the promises of transports, and communicators do the same over all of them.

#![allow(clippy::unwrap_used)]

mod support;

mod native;
mod tcp;
mod threads;

mod conformance_objects;
mod folds;
mod futures;
mod launch;
mod messages;
#[cfg(unix)]
mod processes;
mod starting;
mod transport_failures;
mod transports;
mod wires;
