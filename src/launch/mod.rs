//! Starts the ranks of a program, as its environment says.
//!
//! [`launch`](crate::launch()) and [`connect`](crate::connect()) read the environment; [`Launch`]
//! adds defaults of the program. The backends are rows of one table (`backend/registry.rs`).
//!
//! Needs one of the features `local`, `tcp` and `mpi`.

mod backend;
mod builder;
mod claim;
mod environment;
mod network;
mod request;
mod run;
mod start;
#[cfg(test)]
mod tests;
mod variable;

pub use builder::Launch;
pub use network::Network;
#[cfg(feature = "local")]
pub(crate) use request::SettingOrigin;
pub use request::check_settings;
pub use start::{connect, launch};
pub use variable::check_spelling;
