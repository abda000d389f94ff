//! Jobs that mpirun starts, of real ranks of Open MPI or MPICH: how they begin, beside a program's
//! own use of MPI and in unusual environments; how they fail; and how they end.
//!
//! | variable | says |
//! |---|---|
//! | `NECKLACE_MPIRUN` | the launcher; unless set, the `mpirun` of the library that this program is linked with |
//! | `NECKLACE_MPI_SEED` | which calls of the library's own are drawn; 1 unless set |
//! | `NECKLACE_LONG` | if set, what takes long is done as well |
//! | `NECKLACE_REQUIRE_MEMORY` | if set, what lacks memory fails, instead of saying that it is skipped |
//! | `NECKLACE_MPI_JOBS_LOUD` | if set, what came of each job is shown |

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod beside;
mod called_back;
mod calls;
mod environment;
mod failing;
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

/// What a rank may be told to do; it returns the status of its process.
type Deed = fn(&Rank) -> i32;

/// All of these, by the first word.
const DEEDS: &[(&str, Deed)] = &[
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
];

/// The ranks are this program, started again: for them this is no test.
#[test]
fn rank() {
    let Some(rank) = Rank::told() else { return };
    let (_, deed) = DEEDS.iter().find(|(name, _)| *name == rank.word(0)).unwrap();
    let status = deed(&rank);
    rank.say(format!("ends {status}"));
    std::process::exit(status);
}
