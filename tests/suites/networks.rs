//! Ranks that begin on networks which do not fit, or on different ones.

use std::sync::Arc;
use std::thread;

use necklace::error::{ArgumentError, BuildError};
use necklace::schedule::Placement;
use necklace::topology::{Embedded, Embedding, Graph, Topology};
use necklace::transport::{Cause, OpenError};
use necklace::{Communicator, Error, Node, Options};

use super::definitions::everything;
use super::failures::one_failure;
use crate::jobs::{endpoints, on, topology, watched};

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

pub(super) fn ranks_of_an_embedded_network_are_the_nodes_of_its_guest() {
    for (text, exchange) in [
        ("torus:4x4@how:16,3,1", "torus-exchange"),
        ("hypercube:3@how:3,2,2", "necklace-exchange"),
        ("ring:7@mesh:3x4:search:2", "ring-both"),
    ] {
        watched(text, move || {
            let run = on(text).run(move |mut comm| {
                let embedding = comm.topology().embedding().unwrap().clone();
                let ranks = embedding.guest().nodes();
                assert_eq!(comm.size(), ranks);
                everything::<u64>(&mut comm, 3);
                comm.choose("alltoall", exchange).unwrap();
                everything::<u64>(&mut comm, 3);
                // Neighbours are those of the guest, in the order of their nodes.
                let near = embedding.guest().neighbours(Node::new(comm.rank()));
                let mut expected: Vec<usize> = near.iter().map(|node| node.index()).collect();
                expected.sort_by_key(|&rank| embedding.node(Node::new(rank)));
                let found: Vec<usize> = comm.neighbourhood().destinations().flatten().collect();
                expected.sort_unstable();
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, expected);
                // A part is that of the host.
                let mut half = comm.split(u32::from(comm.rank() % 2 == 0), 0).unwrap();
                everything::<u64>(&mut half, 2);
            });
            run.unwrap();
        });
    }
    watched("too few ranks", || {
        for outcome in start(told(&["hypercube:3@how:3,2,2"; 9])) {
            let error = outcome.unwrap_err();
            let Some(ArgumentError::Build(BuildError::Ranks { ranks: 9, nodes: 8, .. })) = error.argument() else {
                panic!("{error}")
            };
        }
    });
}

pub(super) fn different_embeddings_are_found_at_the_start() {
    watched("embeddings", || {
        let embedded = |detour: &[usize]| {
            let embedding =
                Embedding::new(topology("ring:4"), topology("how:4,2,1"), (0..4).map(Node::new).collect::<Vec<_>>());
            let path = detour.iter().copied().map(Node::new).collect();
            let embedding = embedding.unwrap().with_path(Node::new(0), Node::new(3), path).unwrap();
            let network: Arc<dyn Topology> = Arc::new(Embedded::new(embedding).unwrap());
            (network, Options::default())
        };
        let [one, other] = [&[0, 1, 3], &[0, 2, 3]];
        let failure = one_failure(&start(vec![embedded(one), embedded(other), embedded(one), embedded(one)]));
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
        let well = start(vec![embedded(one), embedded(one), embedded(one), embedded(one)]);
        assert!(well.iter().all(Result::is_ok), "{well:?}");
        let failure = one_failure(&start(told(&[
            "ring:4@how:4,2,1:fold",
            "ring:4@how:4,2,1:fold",
            "ring:4@how:4,2,1:straight",
            "ring:4@how:4,2,1:fold",
        ])));
        assert!(matches!(failure.cause, Cause::Disagree { .. }), "{failure}");
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
