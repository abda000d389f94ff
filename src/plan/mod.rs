//! Plans: a schedule compiled for one rank, as byte ranges.

mod program;

pub use program::{Buffer, Message, Program, ProgramError, ProgramRound, Run, Sizes};
