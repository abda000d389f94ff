//! Distributed arrays: how an array is divided among ranks.
//!
//! A [`Distribution`] says which rank has which elements of an array, and where in its memory.
//! [`Communicator::redistribute_init`](crate::Communicator::redistribute_init) takes an array from
//! one distribution to another.

mod boxes;
mod distribution;
mod error;
mod exchange;
mod grid_choice;
mod index_set;
mod portion;
mod split;
#[cfg(feature = "ndarray")]
mod views;

pub use distribution::Distribution;
pub use error::ArrayError;
pub(crate) use exchange::{Exchange, together};
pub use grid_choice::{GridCandidate, GridChoice};
/// The crate `ndarray`, in the version that the views use.
#[cfg(feature = "ndarray")]
pub use ndarray;
pub(crate) use portion::{Portion, Portions};
pub use split::Split;
