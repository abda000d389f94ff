//! Jobs and communicators that cannot be.

use necklace::error::BuildError;
use necklace::launch::Launch;
use necklace::local::{self, Job};
use necklace::schedule::Placement;
use necklace::{Error, Node, Options};

use crate::threads::jobs::{on, topology, watched};

#[test]
fn a_job_has_ranks_but_not_too_many() {
    for ranks in [0, 4097, 1 << 31, usize::MAX] {
        let error = local::run(ranks, |_| ()).unwrap_err();
        assert!(matches!(error, Error::Argument(_)) && error.to_string().contains(&ranks.to_string()), "{error}");
    }
    for (text, nodes) in [("complete:5000", "5000"), ("torus:70x70", "4900"), ("hypercube:13", "8192")] {
        let error = local::run_on(text, |_| ()).unwrap_err();
        assert!(matches!(error, Error::Argument(_)) && error.to_string().contains(nodes), "{error}");
    }
    let error = Launch::default().ranks(0).run(|_| ()).unwrap_err();
    assert!(error.to_string().contains('0'), "{error}");
    let error = Launch::default().ranks(3).topology("ring:4").run(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Build(BuildError::Ranks { ranks: 3, nodes: 4, .. })), "{error:?}");
}

#[test]
fn malformed_topology_text_is_an_error_that_repeats_it() {
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
        "how:4,2,2",
    ];
    for text in texts {
        for error in
            [local::run_on(text, |_| ()).unwrap_err(), Launch::default().topology(text).run(|_| ()).unwrap_err()]
        {
            assert!(matches!(error, Error::Build(BuildError::Topology(_))), "{text:?}: {error:?}");
            let (words, shown) = (error.to_string(), format!("{text:?}"));
            assert!(words.contains(&shown) || words.contains("/no/such/file"), "{text:?}: {words}");
        }
    }
}

#[test]
fn a_placement_puts_every_rank_somewhere_else() {
    let nodes = |numbers: &[usize]| numbers.iter().copied().map(Node::new).collect::<Vec<_>>();
    let twice = Placement::new(nodes(&[0, 2, 2]), 4).unwrap_err();
    assert!(twice.to_string().contains("rank 2") && twice.to_string().contains("node 2"), "{twice}");
    let beyond = Placement::new(nodes(&[0, 4]), 4).unwrap_err();
    assert!(beyond.to_string().contains("node 4") && beyond.to_string().contains("4 nodes"), "{beyond}");
    watched("too few", || {
        let few = Options::default().placement(Placement::identity(3));
        let error = on("ring:4").options(few).run(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Build(BuildError::Ranks { ranks: 3, nodes: 4, .. })), "{error:?}");
    });
}

#[test]
fn a_job_with_an_algorithm_that_cannot_be_does_not_start() {
    watched("unknown", || {
        let error = on("ring:4").choose("alltoall", "wheel").run(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Build(BuildError::Unknown { .. })), "{error:?}");
        let error = Job::on(topology("ring:4")).choose("alltoall", "mesh-exchange").run(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Build(BuildError::Unfit { .. })), "{error:?}");
        let error = on("ring:4").choose("alltonone", "ring").run(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Argument(_)), "{error:?}");
    });
}
