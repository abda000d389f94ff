//! Plans: a schedule compiled for one rank, as byte ranges.
//!
//! [`Layout`] says where the blocks of a collective lie in the user's buffers, [`compile`] finds the byte ranges of
//! everything that a rank's share of a schedule moves, [`Plan`] holds them, and [`Execution`] walks through them. None of
//! it does I/O: an execution hands out rounds, and whoever drives it has a transport move them.

mod buffers;
mod compile;
mod error;
mod execute;
mod layout;
mod overlap;
mod program;
mod runs;
mod scratch;
mod strided;
mod values;

pub use buffers::{Buffer, Buffers};
pub use compile::compile;
pub use error::PlanError;
pub use execute::{Execution, Plan, Reduction};
pub(crate) use layout::StridedBlocks;
pub use layout::{Layout, Lengths};
pub use program::{Message, Program, ProgramError, ProgramRound, Sizes};
#[cfg(feature = "local")]
pub(crate) use program::{Piece, Pieces};
pub use runs::{Place, Run};
pub use strided::Strided;
pub(crate) use strided::overlap as overlap_of;
