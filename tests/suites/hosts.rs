//! Ranks that share hosts: algorithms on two levels, and parts by host.

use std::sync::Arc;
use std::thread;

use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::error::ArgumentError;
use necklace::machine::Machine;
use necklace::schedule::{Hosts, Problem};
use necklace::transport::{Cause, ContextId, Endpoint, OpenError, Transport};
use necklace::{Communicator, Error, Rank};

use super::definitions::{everything, performs_in_any_order, performs_in_every_form};
use super::failures::one_failure;
use super::lengths::gathers_and_scatters;
use crate::jobs::{self, topology, watched};

/// An endpoint on other hosts than its backend says.
#[derive(Debug)]
struct OnHosts {
    inner: Arc<dyn Endpoint>,
    hosts: Hosts,
}

impl Endpoint for OnHosts {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        self.inner.open(context, members)
    }

    fn machine(&self) -> Machine {
        self.inner.machine()
    }

    fn hosts(&self) -> Option<Hosts> {
        Some(self.hosts.clone())
    }
}

/// Runs a closure on each rank of a complete network, where rank i is on `hosts(i)`.
fn start<R: Send>(
    ranks: usize,
    hosts: impl Fn(usize) -> Hosts,
    body: impl Fn(Communicator) -> R + Sync,
) -> Vec<Result<R, Error>> {
    let network = topology(&format!("complete:{ranks}"));
    thread::scope(|scope| {
        let start = |inner: Arc<dyn Endpoint>| {
            let endpoint = Arc::new(OnHosts { hosts: hosts(inner.rank().index()), inner });
            let (network, body) = (Arc::clone(&network), &body);
            scope.spawn(move || Communicator::new(endpoint, network).map(body))
        };
        let threads: Vec<_> = jobs::endpoints(ranks).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Equal, unequal, interleaved, with a host of one rank.
const PARTITIONS: [&[usize]; 6] = [
    &[0, 0, 1, 1],
    &[0, 1, 1],
    &[0, 1, 2, 0, 1, 2],
    &[0, 0, 0, 1, 2, 2, 2],
    &[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    &[0, 1, 2, 3, 3, 2, 1, 0, 0],
];

pub(super) fn two_level_algorithms_have_the_defined_results() {
    for partition in PARTITIONS {
        watched(&format!("{partition:?}"), move || {
            let hosts = Hosts::of_names(partition);
            let done = start(
                partition.len(),
                |_| hosts.clone(),
                |mut comm| {
                    for algorithm in registry().iter().filter(|algorithm| algorithm.about().name == "two-level") {
                        let kind = algorithm.about().collective;
                        comm.choose(kind, "two-level").unwrap();
                        for root in 0..comm.size() {
                            let collective = Collective::named(kind, Rank::new(root)).unwrap();
                            let problem = Problem::new(Arc::clone(comm.topology()), collective.clone()).unwrap();
                            let problem = problem.on_hosts(hosts.clone()).unwrap().ordered();
                            let in_order = algorithm.fits(&problem).is_ok();
                            let perform = if in_order { performs_in_every_form } else { performs_in_any_order };
                            for elements in [0, 3] {
                                perform(&mut comm, &collective, elements);
                            }
                            if collective.root().is_none() {
                                break;
                            }
                        }
                        comm.prove(&Collective::named(kind, Rank::new(1)).unwrap(), 24).unwrap();
                    }
                    ["allreduce", "reduce"].iter().for_each(|kind| comm.choose(kind, "auto").unwrap());
                    ["gatherv", "scatterv", "allgatherv"]
                        .iter()
                        .for_each(|kind| comm.choose(kind, "two-level").unwrap());
                    (0..4).for_each(|seed| gathers_and_scatters::<u64>(&mut comm, seed));
                    everything::<u64>(&mut comm, 2);
                },
            );
            done.into_iter().for_each(|rank| rank.unwrap());
        });
    }
}

pub(super) fn communicators_are_split_by_host() {
    for partition in PARTITIONS {
        watched(&format!("{partition:?}"), move || {
            let hosts = Hosts::of_names(partition);
            let done = start(
                partition.len(),
                |_| hosts.clone(),
                |mut comm| {
                    let me = comm.rank();
                    assert_eq!(comm.hosts(), Some(&hosts));
                    let own = hosts.ranks_on(hosts.host(Rank::new(me)).unwrap());
                    let mut part = comm.split_by_host(0).unwrap();
                    let mut members = vec![0; own.len()];
                    part.allgather(&[me], &mut members).unwrap();
                    assert!(members.iter().eq(own.iter().map(|rank| rank.index()).collect::<Vec<_>>().iter()));
                    assert_eq!(part.hosts().map(Hosts::count), Some(1));
                    everything::<u64>(&mut part, 2);
                    let back = comm.split_by_host(-(me as i64)).unwrap();
                    assert_eq!(back.rank(), own.len() - 1 - part.rank());
                    // A part of ranks of several hosts, in reverse order.
                    let half = comm.split(me as u32 % 2, -(me as i64)).unwrap();
                    let ranks = (0..comm.size()).rev().filter(|rank| rank % 2 == me % 2).map(Rank::new);
                    assert_eq!(half.hosts(), Some(&hosts.part(ranks)));
                    assert_eq!(comm.dup().unwrap().hosts(), Some(&hosts));
                    everything::<u64>(&mut comm, 2);
                },
            );
            done.into_iter().for_each(|rank| rank.unwrap());
        });
    }
}

pub(super) fn different_hosts_are_found_at_the_start() {
    watched("hosts", || {
        let hosts = |rank| Hosts::of_consecutive(4, if rank == 2 { 1 } else { 2 });
        let results = start(4, hosts, |comm| comm.rank());
        let failure = one_failure(&results);
        let Cause::Disagree { rank_a, rank_b, .. } = &failure.cause else { panic!("{failure}") };
        assert!(rank_a.index() == 2 || rank_b.index() == 2, "{failure}");
        assert!(failure.to_string().contains("on hosts [0, 0, 1, 1]"), "{failure}");
        let few = start(3, |_| Hosts::of_consecutive(4, 2), |comm| comm.rank());
        assert!(
            few.iter().all(|rank| rank
                .as_ref()
                .unwrap_err()
                .to_string()
                .contains("hosts are given for 4 ranks; expected 3")),
            "{few:?}"
        );
    });
}

pub(super) fn ranks_of_one_host_are_not_split_apart() {
    watched("one host", || {
        jobs::run(4, |mut comm| {
            let known = comm.hosts().map(Hosts::count);
            match comm.split_by_host(0) {
                Ok(part) => assert_eq!((part.size(), known), (4, Some(1))),
                // A backend of others need not know.
                Err(error) => {
                    assert!(matches!(error.argument(), Some(ArgumentError::Hosts)), "{error}");
                    assert_eq!(known, None);
                }
            }
            assert!(comm.choose("broadcast", "two-level").is_err());
            everything::<u64>(&mut comm, 2);
        })
        .unwrap();
    });
}
