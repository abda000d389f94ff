//! The reason why a process cannot take part in a job over MPI.

use std::time::Duration;

use crate::quote::debug_as_text;

/// The reason why a process cannot take part in a job over MPI.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI was finalized in this process, and cannot be initialized again.
    #[error(
        "MPI was finalized in this process, and it cannot be initialized a second time: make communicators before that"
    )]
    Finalized,
    /// MPI was initialized with a lower thread level than this crate needs.
    #[error(
        "MPI gives this process the thread level {provided}, but {needed} is needed: initialize it by MPI_Init_thread with \
         {needed}, or leave it to this crate"
    )]
    #[non_exhaustive]
    Threads {
        /// The level that MPI provides.
        provided: &'static str,
        /// The level that is needed.
        needed: &'static str,
    },
    /// The communicator connects two groups.
    #[error("the communicator is an intercommunicator: ranks of one group are needed")]
    Inter,
    /// Not all ranks of the communicator have called in time.
    #[error(
        "after {waited:?}, not all {size} ranks of the communicator have made this collective call; every rank must make it"
    )]
    #[non_exhaustive]
    Late {
        /// The time for which this rank has waited.
        waited: Duration,
        /// The number of ranks.
        size: usize,
    },
    /// The communicator has too many ranks.
    #[error("the communicator has {size} ranks, there may be at most {most}")]
    #[non_exhaustive]
    Size {
        /// The number of ranks.
        size: usize,
        /// The maximum number of ranks.
        most: usize,
    },
    /// A function of MPI has failed.
    #[error("{call} failed: {description}")]
    #[non_exhaustive]
    Refused {
        /// The function.
        call: &'static str,
        /// MPI's description of the error.
        description: String,
    },
    /// The system could not start a thread.
    #[error("cannot start the thread for MPI: {0}")]
    Thread(String),
}

debug_as_text!(MpiError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_problem_and_its_numbers() {
        let threads = MpiError::Threads { provided: "MPI_THREAD_SINGLE", needed: "MPI_THREAD_MULTIPLE" };
        let late = MpiError::Late { waited: Duration::from_millis(1500), size: 12 };
        let refused =
            MpiError::Refused { call: "MPI_Bcast", description: "MPI_ERR_COMM: invalid communicator".to_owned() };
        let cases: [(MpiError, &[&str]); 7] = [
            (MpiError::Finalized, &["finalized", "cannot be initialized a second time"]),
            (threads, &["gives this process the thread level MPI_THREAD_SINGLE", "MPI_THREAD_MULTIPLE is needed"]),
            (MpiError::Inter, &["intercommunicator"]),
            (late, &["after 1.5s", "not all 12 ranks"]),
            (MpiError::Size { size: 1 << 24, most: 1 << 20 }, &["has 16777216 ranks", "at most 1048576"]),
            (refused, &["MPI_Bcast failed: MPI_ERR_COMM: invalid communicator"]),
            (MpiError::Thread("too many".to_owned()), &["cannot start the thread for MPI: too many"]),
        ];
        for (error, parts) in cases {
            let text = error.to_string();
            assert!(parts.iter().all(|part| text.contains(part)) && !text.contains("  "), "{text}");
            assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
        }
    }
}
