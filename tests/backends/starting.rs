//! Invalid jobs, and jobs that fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use necklace::error::{ArgumentError, BuildError, JobCause};
use necklace::launch::Launch;
use necklace::local;
use necklace::schedule::Placement;
use necklace::transport::{Cause, Failure};
use necklace::{Communicator, Error, JobError, Node, Options, Rank};

use necklace_tests::{topology, watched};

#[test]
fn job_with_too_few_or_too_many_ranks_is_refused() {
    for ranks in [0, 4097, 1 << 31, usize::MAX] {
        let error = local::run(ranks, |_| ()).unwrap_err();
        assert!(matches!(error.cause(), JobCause::Ranks { ranks: asked, .. } if *asked == ranks), "{error}");
        assert_eq!(error.rank(), None);
        let words = format!("a job cannot have {ranks} ranks; expected 1 to 4096");
        assert!(error.to_string().starts_with(concat!("local::run (", file!())), "{error}");
        assert!(error.to_string().ends_with(&words), "{error}");
    }
    for (text, nodes) in [("complete:5000", "5000"), ("torus:70x70", "4900"), ("hypercube:13", "8192")] {
        let error = local::run_on(text, |_| ()).unwrap_err();
        assert!(matches!(error.cause(), JobCause::Ranks { most: 4096, .. }), "{error}");
        assert!(error.to_string().starts_with("local::run_on (") && error.to_string().contains(nodes), "{error}");
    }
    let error = Launch::from_env().ranks(0).run(|_| ()).unwrap_err();
    assert!(error.to_string().contains('0'), "{error}");
    let error = Launch::from_env().ranks(3).topology("ring:4").run(|_| ()).unwrap_err();
    assert!(
        matches!(error.cause(), JobCause::Network { source: BuildError::Ranks { ranks: 3, nodes: 4, .. }, .. }),
        "{error:?}"
    );
}

#[test]
fn malformed_topology_is_quoted_in_the_error() {
    let texts = [
        "",
        "torus",
        "torus:",
        "torus:4x",
        "torus:x4",
        "torus:4x0",
        "torus:4xfour",
        "torus:4X4",
        "torus:-4x4",
        "torus: 4x4",
        "torus:4x4 ",
        "torus:04x4",
        "torus:4x4x",
        "ring:0",
        "ring:4x4",
        "line:",
        "hypercube:31",
        "hypercube:-1",
        "complete:0",
        "complete:99999999999999999999",
        "mesh:65536x65536",
        "banana:3",
        "graph:",
        "graph:x",
        "graph:@/no/such/file",
        "TORUS:4x4",
        "torus:4×4",
        "ring:١",
        "how:4,4,2",
        "how-wrap:4,0,2",
    ];
    for text in texts {
        for error in
            [local::run_on(text, |_| ()).unwrap_err(), Launch::from_env().topology(text).run(|_| ()).unwrap_err()]
        {
            assert!(
                matches!(error.cause(), JobCause::Network { source: BuildError::Topology(_), .. }),
                "{text:?}: {error:?}"
            );
            let (words, shown) = (error.to_string(), format!("{text:?}"));
            assert!(words.contains(&shown) || words.contains("/no/such/file"), "{text:?}: {words}");
            let places = ["local::run_on", "Launch::topology"].map(|call| format!("{call} ({}:", file!()));
            assert!(places.iter().any(|place| words.starts_with(place.as_str())), "{text:?}: {words}");
        }
    }
}

#[test]
fn invalid_placement_is_refused() {
    let nodes = |numbers: &[usize]| numbers.iter().copied().map(Node::new).collect::<Vec<_>>();
    let twice = Placement::new(nodes(&[0, 2, 2]), 4).unwrap_err();
    assert!(twice.to_string().contains("rank 2") && twice.to_string().contains("node 2"), "{twice}");
    let beyond = Placement::new(nodes(&[0, 4]), 4).unwrap_err();
    assert!(beyond.to_string().contains("node 4") && beyond.to_string().contains("4 nodes"), "{beyond}");
    watched("too few", || {
        let few = Options::default().placement(Placement::identity(3));
        let job_error = Launch::threads().topology(topology("ring:4")).options(few).run(|_| ()).unwrap_err();
        let JobCause::Argument { source: ArgumentError::Build(error), .. } = job_error.cause() else {
            panic!("{job_error:?}")
        };
        assert!(matches!(error, BuildError::Ranks { ranks: 3, nodes: 4, .. }), "{error:?}");
        assert!(job_error.to_string().starts_with(concat!("Launch::options (", file!())), "{job_error}");
    });
}

#[test]
fn job_with_an_unusable_algorithm_does_not_start() {
    watched("unknown", || {
        let error = Launch::threads().topology(topology("ring:4")).choose("alltoall", "wheel").run(|_| ()).unwrap_err();
        assert!(
            matches!(
                error.cause(),
                JobCause::Argument { source: ArgumentError::Build(BuildError::Unknown { .. }), .. }
            ),
            "{error:?}"
        );
        let error =
            Launch::threads().topology(topology("ring:4")).choose("alltoall", "mesh-exchange").run(|_| ()).unwrap_err();
        assert!(
            matches!(error.cause(), JobCause::Argument { source: ArgumentError::Build(BuildError::Unfit { .. }), .. }),
            "{error:?}"
        );
        let error = Launch::threads().topology(topology("ring:4")).choose("alltonone", "ring").run(|_| ()).unwrap_err();
        assert!(
            matches!(error.cause(), JobCause::Argument { source: ArgumentError::Collective { .. }, .. }),
            "{error:?}"
        );
        let place = concat!("Launch::choose (", file!());
        assert!(error.to_string().starts_with(place), "{error}");
    });
}

/// A broadcast that the root sends even if no rank receives it.
fn broadcast(comm: &mut Communicator, root: usize) {
    comm.choose("broadcast", "binomial").unwrap();
    comm.broadcast(&mut [1_u64], root).unwrap();
}

/// Returns the failure of a job whose ranks have all returned without an error.
fn discord<R: std::fmt::Debug>(outcome: Result<R, JobError>) -> Failure {
    let error = outcome.unwrap_err();
    let JobCause::Call(Error::Failed { failure, .. }) = error.cause() else { panic!("{error}") };
    assert_eq!(error.rank(), failure.culprit.or(Some(failure.observer)));
    (**failure).clone()
}

#[test]
fn conflicting_broadcasts_fail_the_job_at_its_end() {
    watched("roots", || {
        let failure = discord(local::run(2, |mut comm| {
            let root = comm.rank();
            broadcast(&mut comm, root);
        }));
        let Cause::Disagree { call_a, call_b, .. } = &failure.cause else { panic!("{failure}") };
        let one_says = |what| [call_a, call_b].iter().any(|words| words.contains(what));
        assert!(one_says("broadcast from root 0") && one_says("broadcast from root 1"), "{failure}");
    });
}

#[test]
fn rank_that_leaves_before_an_outstanding_send_is_named() {
    watched("early", || {
        let sent = AtomicBool::new(false);
        let failure = discord(local::run(2, |mut comm| {
            broadcast(&mut comm, 1);
            if comm.rank() == 0 {
                broadcast(&mut comm, 0);
                sent.store(true, Ordering::SeqCst);
            }
            while !sent.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }));
        let cause = Cause::gone(Rank::new(1), "returned before the call");
        assert_eq!((failure.culprit, failure.cause), (Some(Rank::new(1)), cause));
        assert!(failure.description.contains("broadcast from root 0"), "{}", failure.description);
    });
}

#[test]
fn message_that_no_partner_awaits_fails_the_job_at_its_end() {
    for late in [0, 1] {
        watched(&format!("rank {late} leaves last"), move || {
            let [sent, left] = [const { AtomicUsize::new(0) }; 2];
            let wait = |count: &AtomicUsize, most| {
                while count.load(Ordering::SeqCst) < most {
                    thread::yield_now();
                }
            };
            let failure = discord(local::run(2, |mut comm| {
                let me = comm.rank();
                comm.sendrecv(&[7_u64, 8], (me == 0).then_some(1), &mut [], None).unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
                wait(&sent, 2);
                wait(&left, usize::from(me == late));
                drop(comm);
                left.fetch_add(1, Ordering::SeqCst);
            }));
            let Cause::Length { from, to, expected, found, .. } = failure.cause else { panic!("{failure}") };
            assert_eq!((from.index(), to.index(), expected, found), (0, 1, 0, 16), "{failure}");
            assert!(failure.description.contains("sendrecv"), "{failure}");
        });
    }
}

#[test]
fn disagreeing_ranks_of_a_part_are_named_as_in_the_job() {
    watched("part", || {
        let outcome = local::run(4, |mut comm| {
            let mut part = comm.split(comm.rank() as u32 / 2, 0).unwrap();
            let root = if comm.rank() < 2 { 0 } else { part.rank() };
            broadcast(&mut part, root);
        });
        let words = outcome.unwrap_err().to_string();
        assert!(words.contains("rank 0 (rank 2 of the job) calls broadcast from root 0"), "{words}");
        assert!(words.contains("rank 1 (rank 3 of the job) calls broadcast from root 1"), "{words}");
    });
}

#[test]
fn panicking_rank_is_named_not_ranks_that_unwrap_the_error() {
    watched("panics", || {
        for _ in 0..20 {
            let outcome = local::run(4, |mut comm| {
                assert!(comm.rank() != 2, "enough");
                comm.barrier().unwrap();
            });
            let error = outcome.unwrap_err();
            assert_eq!((error.rank(), error.to_string().as_str()), (Some(Rank::new(2)), "rank 2 panicked: enough"));
            assert!(matches!(error.cause(), JobCause::Panicked(message) if message == "enough"));
        }
    });
}

#[test]
fn leaving_rank_is_named_not_ranks_that_unwrap_the_error() {
    watched("leaves", || {
        let outcome = local::run(3, |mut comm| {
            if comm.rank() != 1 {
                comm.barrier().unwrap()
            }
        });
        let error = outcome.unwrap_err();
        let JobCause::Call(Error::Failed { failure, .. }) = error.cause() else { panic!("{error}") };
        assert_eq!((error.rank(), failure.culprit), (Some(Rank::new(1)), Some(Rank::new(1))));
        let words = error.to_string();
        assert!(words.starts_with("rank ") && words.ends_with(": rank 1 returned before the call"), "{words}");
    });
}

#[test]
fn unrelated_panic_after_a_failure_names_its_rank() {
    watched("own reason", || {
        let outcome = local::run(2, |mut comm| {
            assert!(comm.rank() == 1 || comm.barrier().is_ok(), "no barrier");
        });
        assert_eq!(outcome.unwrap_err().to_string(), "rank 0 panicked: no barrier");
    });
}
