//! Communicators: the collectives, typed, on slices.

mod agreement;
mod cache;
mod collectives;
mod definition;
mod element;
mod lengths;
mod motion;
mod native;
mod options;
mod permute;
mod persistent;
mod prepared;
mod split;
mod varying;
mod wire;

pub use definition::Communicator;
pub use motion::Motion;
pub use options::Options;
pub use persistent::Persistent;
