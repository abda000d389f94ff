//! Jobs that mpirun starts, with real ranks of Open MPI or MPICH: how they start, alone, beside a
//! program's own use of MPI and in unusual environments; how they fail; and how they end.
//!
//! | variable | meaning |
//! |---|---|
//! | `NECKLACE_MPIRUN` | the launcher; unless set, the `mpirun` of the library that this program is linked with |
//! | `NECKLACE_MPI_SEED` | the seed of the random calls of the library; 1 unless set |
//! | `NECKLACE_LONG` | if set, tests that take long run as well |
//! | `NECKLACE_REQUIRE_MEMORY` | if set, tests that lack memory fail instead of being skipped |
//! | `NECKLACE_MPI_JOBS_LOUD` | if set, the result of each job is shown |

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod arrays;
mod beside;
mod called_back;
mod calls;
mod environment;
mod failing;
mod forms;
mod halfway;
mod job;
mod long;
mod many;
mod native;
mod rank;
mod sending;
mod signals;
mod starting;
mod values;

use rank::Rank;

/// A task of a rank. Returns the exit status of its process.
type Task = fn(&Rank) -> i32;

/// All tasks, by their first word.
const TASKS: &[(&str, Task)] = &[
    ("launch", starting::launch),
    ("connect", starting::connect),
    ("network", starting::network),
    ("beside", beside::beside),
    ("parts", beside::parts),
    ("finalized", beside::finalized),
    ("level", beside::level),
    ("late", beside::late),
    ("second", beside::second),
    ("threads", beside::threads),
    ("odd", starting::odd),
    ("fail", failing::fail),
    ("go", signals::go_on),
    ("part", native::part),
    ("busy", native::busy),
    ("differ", native::differ),
    ("calls", calls::calls),
    ("called", called_back::called_back),
    ("long", long::long),
    ("halfway", halfway::halfway),
    ("forms", forms::forms),
    ("arrays", arrays::arrays),
];

/// The entry point of the ranks, which are this program started again. Not a test by itself.
#[test]
fn rank() {
    let Some(rank) = Rank::told() else { return };
    let (_, task) = TASKS.iter().find(|(name, _)| *name == rank.word(0)).unwrap();
    let status = task(&rank);
    rank.say(format!("ends {status}"));
    std::process::exit(status);
}
