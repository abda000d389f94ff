//! Algorithms: they make schedules for problems.
//!
//! An [`Algorithm`] returns, for a problem and a rank, that rank's share of a schedule. It names
//! blocks and peers, never bytes. [`registry()`] lists the built-in algorithms, [`find`] finds one
//! by its text, such as `bruck:radix=4`. The modules have their types, one module per collective.
//!
//! To write your own, see [the guide](crate::guide::own_algorithm).

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
mod arborescences;
pub mod barrier;
mod black_white;
mod bridgeheads;
pub mod broadcast;
mod colouring;
mod counted;
mod counts;
mod course;
pub mod cube;
pub mod custom;
mod definition;
pub mod exscan;
mod fixed;
mod fold;
pub mod gather;
mod group;
mod halving;
mod hop_rounds;
pub(crate) mod kept;
mod levels;
mod loads;
mod native;
mod neighbours;
mod on_guest;
mod pairs;
mod parameters;
mod parts;
mod pipeline;
mod prefix;
pub mod reduce;
pub mod reduce_scatter;
mod registry;
mod row_exchange;
mod row_loads;
mod rows;
pub mod scan;
pub mod scatter;
mod shape;
pub mod shift;
pub mod spanning_trees;
mod star;
mod translated_tree;
mod tree;
mod tree_packing;
mod window_row;

pub(crate) use definition::scheduled;
pub use definition::{About, Algorithm};
pub(crate) use fixed::Fixed;
pub use native::Native;
pub use on_guest::OnGuest;
pub use parameters::{Parameter, Settings, Values};
pub use registry::{candidates, find, registry};
use shape::{cube_digits, doublings, is_complete, is_cube, no_free_order, no_power_of_two};

pub use crate::vocabulary::Claims;
