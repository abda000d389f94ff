//! Ranks that begin on networks which do not fit, or on different ones.

use std::sync::Arc;
use std::thread;

use necklace::error::{ArgumentError, BuildError};
use necklace::schedule::Placement;
use necklace::topology::{Graph, Topology};
use necklace::transport::{Cause, OpenError};
use necklace::{Communicator, Error, Node, Options};

use super::failures::one_failure;
use crate::jobs::{endpoints, topology, watched};

/// Makes a communicator on every rank, each on what it is told.
fn start(told: Vec<(Arc<dyn Topology>, Options)>) -> Vec<Result<usize, Error>> {
    let threads: Vec<_> = endpoints(told.len())
        .into_iter()
        .zip(told)
        .map(|(endpoint, (topology, options))| {
            thread::spawn(move || Communicator::with_options(endpoint, topology, options).map(|comm| comm.size()))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn told(texts: &[&str]) -> Vec<(Arc<dyn Topology>, Options)> {
    texts.iter().map(|text| (topology(text), Options::default())).collect()
}

pub(super) fn network_of_another_size_than_the_job_is_refused() {
    watched("nodes", || {
        for outcome in start(told(&["torus:4x4"; 3])) {
            let error = outcome.unwrap_err();
            let Some(ArgumentError::Build(BuildError::Ranks { ranks, topology, nodes, .. })) = error.argument() else {
                panic!("{error}")
            };
            assert_eq!((*ranks, topology.as_str(), *nodes), (3, "torus:4x4", 16));
        }
    });
    watched("one rank's network alone", || {
        let outcomes = start(told(&["ring:3", "ring:4", "ring:3"]));
        assert!(
            matches!(
                outcomes[1].as_ref().err().and_then(Error::argument),
                Some(ArgumentError::Build(BuildError::Ranks { ranks: 3, nodes: 4, .. }))
            ),
            "{outcomes:?}"
        );
        for rank in [0, 2] {
            let failure = super::failures::failure(&outcomes[rank]);
            assert_eq!(failure.culprit.map(|culprit| culprit.index()), Some(1), "{failure}");
            assert!(matches!(failure.cause, Cause::Gone { .. }), "{failure}");
        }
    });
}

pub(super) fn different_networks_are_found_at_the_start() {
    for [most, odd] in [["ring:16", "torus:4x4"], ["torus:4x4", "mesh:4x4"], ["hypercube:4", "complete:16"]] {
        for dissenter in [0, 5, 15] {
            watched(&format!("{odd} on rank {dissenter} only"), move || {
                let texts: Vec<&str> = (0..16).map(|rank| if rank == dissenter { odd } else { most }).collect();
                let failure = one_failure(&start(told(&texts)));
                let Cause::Disagree { rank_a, call_a, rank_b, call_b, .. } = &failure.cause else {
                    panic!("{failure}")
                };
                assert!([rank_a, rank_b].iter().any(|rank| rank.index() == dissenter), "{failure}");
                let words = format!("{call_a}{call_b}");
                assert!(words.contains(most) && words.contains(odd), "{failure}");
            });
        }
    }
}

pub(super) fn different_unnamed_networks_are_found_at_the_start() {
    watched("graphs", || {
        let graph = |edges: &[(usize, usize)]| {
            let graph: Arc<dyn Topology> = Arc::new(Graph::from_edges(edges.iter().copied()).unwrap());
            (graph, Options::default())
        };
        let square = || graph(&[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let crossed = || graph(&[(0, 2), (2, 1), (1, 3), (3, 0)]);
        let failure = one_failure(&start(vec![square(), square(), crossed(), square()]));
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        let well = start(vec![square(), square(), square(), square()]);
        assert!(well.iter().all(Result::is_ok), "{well:?}");
    });
}

pub(super) fn different_placements_are_found_at_the_start() {
    watched("placements", || {
        let placed = |numbers: [usize; 4]| {
            let placement = Placement::new(numbers.map(Node::new).to_vec(), 4).unwrap();
            (topology("ring:4"), Options::default().placement(placement))
        };
        let all = vec![placed([0, 1, 3, 2]), placed([0, 1, 2, 3]), placed([0, 1, 3, 2]), placed([0, 1, 3, 2])];
        let failure = one_failure(&start(all));
        let Cause::Disagree { rank_a, rank_b, .. } = &failure.cause else { panic!("{failure}") };
        assert!(rank_a.index() == 1 || rank_b.index() == 1, "{failure}");
        assert!(failure.to_string().contains("[0, 1, 3, 2]"), "{failure}");
    });
}

pub(super) fn endpoint_has_one_world_communicator() {
    watched("twice", || {
        let endpoint = endpoints(1).remove(0);
        let first = Communicator::new(Arc::clone(&endpoint), topology("ring:1")).unwrap();
        let second = Communicator::new(endpoint, topology("ring:1"));
        assert!(matches!(second, Err(Error::Open(OpenError::InUse(_)))), "{second:?}");
        drop(first);
    });
}
