//! The suites of communicators once more, over TCP: the same modules, on jobs whose ranks meet over sockets.

#![allow(clippy::unwrap_used)]

#[path = "../jobs/tcp.rs"]
mod jobs;

mod contexts;

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
