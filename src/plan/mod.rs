//! Plans: one rank's share of a schedule, compiled to byte ranges.
//!
//! This module is of the [lower tier](crate#stability) of stability, except [`Strided`].
//!
//! | type | role |
//! |---|---|
//! | [`Layout`] | the places of a collective's blocks in the user's buffers |
//! | [`compile()`] | turns a share and a layout into a plan |
//! | [`Plan`] | the rounds as byte ranges ([`Program`]), and the local work between them |
//! | [`Execution`] | steps through a plan: does local work, and returns the next round |
//!
//! Nothing here does I/O. The driver of an execution passes each round to a transport and calls
//! [`Execution::advance`] again.
//!
//! [`Run`], [`Message`], [`ProgramRound`], [`Sizes`] and [`Buffers`] are plain data with public
//! fields, so that authors of transports can build rounds in tests.

mod buffers;
mod compile;
mod error;
mod execute;
mod folds;
mod layout;
mod local_work;
mod overlap;
mod program;
mod reduction;
mod runs;
mod scratch;
mod strided;
mod values;

pub use buffers::{Buffer, Buffers};
pub use compile::compile;
pub(crate) use compile::compile_sending;
pub use error::PlanError;
pub use execute::{Execution, Plan};
pub(crate) use folds::Fold;
pub(crate) use layout::StridedBlocks;
pub use layout::{Layout, Lengths};
#[cfg(feature = "mpi")]
pub(crate) use local_work::copy_runs;
pub use program::{Message, Program, ProgramError, ProgramRound, Sizes};
#[cfg(feature = "local")]
pub(crate) use program::{Piece, Pieces};
pub use reduction::Reduction;
#[cfg(feature = "local")]
pub(crate) use runs::tiles;
pub use runs::{Place, Run};
pub use strided::{BlockFault, Strided};
pub(crate) use strided::{even_range, overlap as overlap_of};
