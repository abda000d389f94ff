//! Failures over messages: the same error on every rank, in time, and the processes exit normally.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use necklace::op::by;
use necklace::topology::Complete;
use necklace::transport::Timeouts;
use necklace::transport::mpi::MpiJoin;
use necklace::{Communicator, Options};

use crate::job::{Ended, Job, together};
use crate::rank::Rank;

/// The rank that causes the failure.
const CULPRIT: usize = 1;

/// The timeout of calls.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// Joins the job. The algorithms use messages or, if `way` is `native`, the library's collectives.
pub(crate) fn communicator(
    rank: &Rank,
    way: &str,
    timeouts: impl Into<Timeouts>,
) -> (necklace::transport::mpi::Supervisor, Communicator) {
    let join = MpiJoin::world().unwrap().timeout(Duration::from_secs(30)).staged(way == "staged");
    let (supervisor, endpoint) = join.supervised().unwrap();
    let network = Arc::new(Complete::new(rank.size).unwrap());
    let timeouts = timeouts.into();
    let options = Options::default().timeout(timeouts.silence).arrival_timeout(timeouts.arrival);
    let mut comm = Communicator::with_options(endpoint, network, options).unwrap();
    let messages = [
        ("alltoall", "direct"),
        ("allreduce", "recursive-doubling"),
        ("broadcast", "binomial"),
        ("barrier", "dissemination"),
    ];
    let native = messages.map(|(collective, _)| (collective, "native"));
    for (collective, algorithm) in if way == "native" { native } else { messages } {
        comm.choose(collective, algorithm).unwrap();
    }
    (supervisor, comm)
}

/// All ranks call alltoall, or broadcast, and the culprit does something else.
pub(crate) fn fail(rank: &Rank) -> i32 {
    let (how, elements) = (rank.word(1), rank.word(3).parse::<usize>().unwrap());
    let (supervisor, mut comm) = communicator(rank, rank.word(2), TIMEOUT);
    let (send, mut receive) = (vec![rank.rank as u64; elements * rank.size], vec![0_u64; elements * rank.size]);
    for _ in 0..3 {
        rank.check(&mut comm).unwrap();
        comm.alltoall(&send, &mut receive).unwrap();
    }
    rank.say("ready");
    // The others may fail the next call while a rank is still in this one, which then fails too.
    std::thread::sleep(Duration::from_millis(100));
    if rank.rank == CULPRIT {
        match how {
            "panics" => {
                let panic = catch_unwind(AssertUnwindSafe(|| {
                    let _held = comm;
                    panic!("by plan");
                }));
                panic.unwrap_err();
                supervisor.panicked("by plan");
                return 3;
            }
            "falls" => {
                drop(supervisor);
                panic!("by plan");
            }
            "returns" => return 0,
            "exits" => std::process::exit(0),
            "absent" => {
                rank.hear_all("failed");
                rank.report(comm.barrier());
                return 0;
            }
            _ => {}
        }
    }
    let odd = rank.rank == CULPRIT;
    let result = match how {
        "collective" if odd => comm.allgather(&send[..elements], &mut receive),
        "known" if odd => comm.allreduce(&[1_u64], &mut receive[..1], necklace::op::Sum),
        "operation" | "scattered" => {
            // On every rank that combines the culprit's operand, the operation panics.
            let wary = by("wary", |left: u64, right: u64| {
                assert!(left != 7 && right != 7, "this operation wants no 7");
                left + right
            });
            let value = if odd { 7 } else { rank.rank as u64 };
            let mut reduce = || match how {
                "operation" => comm.allreduce(&vec![value; elements], &mut receive[..elements], wary),
                _ => {
                    let counts: Vec<usize> = (0..rank.size).map(|to| elements + to).collect();
                    let all = vec![value; counts.iter().sum()];
                    comm.reduce_scatterv(&all, &counts, &mut receive[..counts[rank.rank]], wary)
                }
            };
            catch_unwind(AssertUnwindSafe(&mut reduce)).unwrap_or_else(|_| {
                rank.say("panicked");
                Ok(())
            })
        }
        "size" if odd => comm.alltoall(&send[rank.size..], &mut receive[rank.size..]),
        "root" => comm.broadcast(&mut receive, usize::from(odd)),
        "counts" => {
            let counts = vec![elements; rank.size];
            let mut expected = counts.clone();
            expected[0] -= usize::from(odd);
            let at: Vec<usize> = (0..rank.size).map(|i| i * elements).collect();
            comm.alltoallv(&send, (&counts, &at), &mut receive, (&expected, &at))
        }
        "gathered" => {
            comm.choose("gatherv", "native").unwrap();
            let counts = if rank.rank == 0 { vec![elements; rank.size] } else { vec![] };
            let own = &send[..elements - usize::from(odd)];
            comm.gatherv(own, (rank.rank == 0).then_some(&mut receive[..]), &counts, 0)
        }
        "listed" => {
            let mut counts = vec![elements; rank.size];
            counts[0] -= usize::from(odd);
            comm.allgatherv(&send[..elements], &mut receive, &counts)
        }
        _ => comm.alltoall(&send, &mut receive),
    };
    // A rank that has finished the call fails in the next one.
    rank.report(result.and_then(|()| comm.barrier()));
    rank.report(comm.barrier());
    0
}

/// Checks that these ranks have the same failure, and that their communicators take no more calls.
/// Returns the failure.
pub(crate) fn same(ended: &Ended, ranks: &[usize]) -> String {
    let (failed, dead) = (ended.heard("failed "), ended.heard("dead "));
    let first = failed[ranks[0]].unwrap_or_else(|| panic!("{ended}"));
    for &rank in ranks {
        assert_eq!((failed[rank], dead[rank]), (Some(first), Some(first)), "{ended}");
    }
    first.to_owned()
}

/// Runs each of these over short and long messages, with and without memory lent to MPI.
fn each(hows: &[&str], look: impl Fn(&str, Ended) + Sync) {
    let ways = [("plain", 16), ("plain", 1 << 17), ("staged", 16), ("staged", 1 << 17)];
    let cases = ways.into_iter().flat_map(|way| hows.iter().map(move |how| (way, *how)));
    together(cases, |((way, elements), how)| look(how, Job::of(3, &format!("fail {how} {way} {elements}")).run()));
}

#[test]
fn rank_that_ends_is_named_by_the_others() {
    each(&["panics", "falls", "returns", "exits"], |how, ended| {
        let (words, status) = match how {
            "panics" => ("panicked: by plan", 3),
            "falls" => ("panicked", 101),
            "returns" => ("returned before the call", 0),
            _ => ("has ended", 0),
        };
        let failure = same(&ended, &[0, 2]);
        assert!(failure.starts_with("gone 1 ") && failure.contains(words), "{ended}");
        ended.with(status);
    });
}

#[test]
fn absent_rank_is_named_by_all() {
    each(&["absent"], |_, ended| {
        let failure = same(&ended, &[0, 2]);
        assert_eq!(ended.heard("failed ")[1], Some(&*failure), "{ended}");
        assert!(failure.starts_with("deadline 1 "), "{ended}");
        ended.with(0);
    });
}

#[test]
fn different_calls_are_the_same_error_on_all_ranks() {
    each(&["collective", "size", "root", "counts"], |how, ended| {
        let failure = same(&ended, &[0, 1, 2]);
        let kind = if how == "counts" { "length - " } else { "disagree - " };
        assert!(failure.starts_with(kind) && failure.contains("Rank(1)"), "{ended}");
        ended.with(0);
    });
}
