//! Why a rank has no place among those of MPI.

use std::time::Duration;

/// Why a process cannot take part in a job over MPI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI is over in this process: it cannot begin again.
    #[error(
        "MPI was finalized in this process, and it cannot be initialized a second time: make communicators before that"
    )]
    Finalized,
    /// MPI was initialized for fewer threads than may call it here.
    #[error(
        "MPI gives this process the thread level {provided}, but {needed} is needed: initialize it by MPI_Init_thread with \
         {needed}, or leave it to this crate"
    )]
    Threads {
        /// What it gives.
        provided: &'static str,
        /// What is needed.
        needed: &'static str,
    },
    /// The communicator connects two groups.
    #[error("the communicator is an intercommunicator: ranks of one group are needed")]
    Inter,
    /// Not all ranks of the communicator came.
    #[error("after {waited:?} not all {size} ranks of the communicator have called, as each must")]
    Late {
        /// How long this rank has waited.
        waited: Duration,
        /// How many there are.
        size: usize,
    },
    /// More ranks than there can be.
    #[error("the communicator has {size} ranks, there may be at most {most}")]
    Size {
        /// How many it has.
        size: usize,
        /// How many there may be.
        most: usize,
    },
    /// MPI refuses something.
    #[error("{call} failed: {words}")]
    Refused {
        /// Which of its functions.
        call: &'static str,
        /// What it says.
        words: String,
    },
    /// The system refuses something.
    #[error("no thread for MPI: {0}")]
    Thread(String),
}
