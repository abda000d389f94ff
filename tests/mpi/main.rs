//! The suites of transports and communicators once more, over ranks that are processes: see `tests/proxy`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../jobs/proxied.rs"]
mod jobs;
#[path = "../mpirun/mod.rs"]
mod mpirun;
#[path = "../proxy/mod.rs"]
mod proxy;

mod promises;

#[path = "../tcp/contexts.rs"]
mod contexts;
#[path = "../promises/mod.rs"]
mod every_backend;

#[path = "../communicator/choice.rs"]
mod choice;
#[path = "../communicator/cubes.rs"]
mod cubes;
#[path = "../communicator/definitions.rs"]
mod definitions;
#[path = "../communicator/persistent.rs"]
mod persistent;
#[path = "../communicator/reductions.rs"]
mod reductions;
#[path = "../communicator/regular.rs"]
mod regular;
#[path = "../communicator/split.rs"]
mod split;
#[path = "../communicator/strided.rs"]
mod strided;
#[path = "../communicator/varying.rs"]
mod varying;

#[path = "../bad_input/absent.rs"]
mod absent;
#[path = "../bad_input/arguments.rs"]
mod arguments;
#[path = "../bad_input/counts.rs"]
mod counts;
#[path = "../bad_input/disagreement.rs"]
mod disagreement;
#[path = "../bad_input/failures.rs"]
mod failures;
#[path = "../bad_input/networks.rs"]
mod networks;
#[path = "../bad_input/plans.rs"]
mod plans;

/// The workers are this program, started again: for them this is no test.
#[test]
fn worker() {
    proxy::run_if_told();
}
