//! How jobs start.

use std::sync::Arc;

use necklace::launch::Launch;
use necklace::topology::{Graph, Topology};
use necklace::{Communicator, Error, JobError};

use crate::job::Job;
use crate::rank::Rank;

fn introduce(rank: &Rank, mut comm: Communicator) -> Result<(usize, usize), Error> {
    rank.check(&mut comm)?;
    Ok((comm.rank(), comm.size()))
}

fn ended(rank: &Rank, result: Result<String, JobError>) -> i32 {
    match result {
        Ok(words) => rank.say(format!("is {words}")),
        Err(error) => rank.say(format!("error {error}")),
    }
    0
}

/// Launches twice, one after the other.
pub(crate) fn launch(rank: &Rank) -> i32 {
    let once = || -> Result<String, JobError> {
        let results = necklace::launch(|comm| introduce(rank, comm))?;
        Ok(format!("{:?}", results.into_iter().collect::<Result<Vec<_>, _>>()?))
    };
    ended(rank, once().and_then(|first| Ok(format!("{first} and {}", once()?))))
}

/// Launches on a network of the program's own: a path.
pub(crate) fn network(rank: &Rank) -> i32 {
    let path = Graph::from_edges((1..rank.size).map(|node| (node - 1, node))).unwrap();
    let results = Launch::from_env().topology(Arc::new(path)).run(|mut comm| {
        let links = comm.topology().edges().len();
        rank.check(&mut comm).map(|()| (comm.rank(), links))
    });
    ended(rank, results.and_then(|results| Ok(format!("{:?}", results.into_iter().collect::<Result<Vec<_>, _>>()?))))
}

pub(crate) fn connect(rank: &Rank) -> i32 {
    let result = necklace::connect().and_then(|comm| Ok(introduce(rank, comm)?));
    ended(rank, result.map(|place| format!("{place:?}")))
}

#[test]
fn launch_uses_the_programs_own_network() {
    let ended = Job::of(3, "network").run().with(0);
    assert_eq!(ended.all("is "), ["[(0, 2)]", "[(1, 2)]", "[(2, 2)]"]);
}

#[test]
fn rank_of_mpirun_runs_the_closure_once_per_launch() {
    let ended = Job::of(3, "launch").run().with(0);
    assert_eq!(ended.all("is "), ["[(0, 3)] and [(0, 3)]", "[(1, 3)] and [(1, 3)]", "[(2, 3)] and [(2, 3)]"]);
}

#[test]
fn ranks_of_mpirun_connect() {
    let ended = Job::of(4, "connect").run().with(0);
    assert_eq!(ended.all("is "), ["(0, 4)", "(1, 4)", "(2, 4)", "(3, 4)"]);
}

/// One rank has another network.
pub(crate) fn odd(rank: &Rank) -> i32 {
    let topology = if rank.rank == 1 { "ring:4" } else { "line:3" };
    let result = necklace::launch::Launch::from_env().topology(topology).connect();
    rank.report(result.and_then(|comm| Ok(introduce(rank, comm)?)));
    0
}

#[test]
fn ranks_do_not_wait_for_one_with_another_network() {
    let ended = Job::of(3, "odd").run().with(0);
    let error = ended.heard("error ")[1];
    assert!(error.is_some_and(|error| error.contains("): 3 ranks do not fit ring:4 (4 nodes); use ")), "{ended}");
    let failed = ended.heard("failed ");
    assert!(failed[0].is_some_and(|failed| failed.starts_with("gone 1 ")) && failed[0] == failed[2], "{ended}");
}

#[test]
fn job_may_have_one_rank() {
    assert_eq!(Job::of(1, "connect").run().with(0).all("is "), ["(0, 1)"]);
    for (what, says) in [("connect", "(0, 1)"), ("launch", "[(0, 1)] and [(0, 1)]")] {
        for job in [Job::alone(what), Job::of(1, what)] {
            assert_eq!(job.set("NECKLACE_BACKEND", "mpi").run().with(0).all("is "), [says]);
        }
    }
}

#[test]
fn each_process_may_launch_its_own_threads() {
    let ended = Job::of(2, "launch").set("NECKLACE_BACKEND", "local").set("NECKLACE_RANKS", "3").run().with(0);
    let threads = "[(0, 3), (1, 3), (2, 3)]";
    assert_eq!(ended.all("is "), [format!("{threads} and {threads}"), format!("{threads} and {threads}")]);
}
