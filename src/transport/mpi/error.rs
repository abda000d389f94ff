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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_is_wrong_with_the_numbers_that_matter() {
        let threads = MpiError::Threads { provided: "MPI_THREAD_SINGLE", needed: "MPI_THREAD_MULTIPLE" };
        let late = MpiError::Late { waited: Duration::from_millis(1500), size: 12 };
        let refused = MpiError::Refused { call: "MPI_Bcast", words: "MPI_ERR_COMM: invalid communicator".to_owned() };
        let cases: [(MpiError, &[&str]); 7] = [
            (MpiError::Finalized, &["finalized", "cannot be initialized a second time"]),
            (threads, &["gives this process the thread level MPI_THREAD_SINGLE", "MPI_THREAD_MULTIPLE is needed"]),
            (MpiError::Inter, &["intercommunicator"]),
            (late, &["after 1.5s", "not all 12 ranks"]),
            (MpiError::Size { size: 1 << 24, most: 1 << 20 }, &["has 16777216 ranks", "at most 1048576"]),
            (refused, &["MPI_Bcast failed: MPI_ERR_COMM: invalid communicator"]),
            (MpiError::Thread("too many".to_owned()), &["no thread for MPI: too many"]),
        ];
        for (error, words) in cases {
            let said = error.to_string();
            assert!(words.iter().all(|word| said.contains(word)) && !said.contains("  "), "{said}");
            assert!(!said.ends_with('.') && !said.contains('\n'), "{said}");
        }
    }
}
