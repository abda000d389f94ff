//! A user-defined network, which implements [`Topology`]: a dragonfly.
//!
//! A small dragonfly has groups of `a` routers. Within a group, every router has a link to every
//! other. There are `a + 1` groups, and each router has one long link, so that every two groups
//! have a link:
//!
//! ```text
//!   group 0      group 1      group 2        a = 2: node = 2 group + router
//!   0 ── 1       2 ── 3       4 ── 5         long links 0-3, 1-4, 2-5
//!   │    └───────│────│───────┘    │
//!   └────────────│────┘            │
//!                └─────────────────┘
//! ```
//!
//! The implementation defines the number of nodes, their neighbours, distances and routes. The
//! conformance suite for topologies checks it. All algorithms that need no special network run on
//! it. The example proves the schedule of one on its channels.
//!
//! ```text
//! cargo run --release --example custom_topology
//! necklace run -n 12 -- target/release/examples/custom_topology
//! ```
//!
//! Without closed formulas, a [`Graph`] of the links does the same with tables.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use necklace::collective::Collective;
use necklace::error::{ArgumentError, BuildError};
use necklace::launch::Launch;
use necklace::topology::{Graph, Neighbours, Part, Topology, conformance};
use necklace::{Communicator, Node};

/// A dragonfly with this many routers in each group.
#[derive(Clone, Debug)]
struct Dragonfly {
    routers: usize,
}

impl Dragonfly {
    fn group(&self, node: Node) -> usize {
        node.index() / self.routers
    }

    fn groups(&self) -> usize {
        self.routers + 1
    }

    /// Returns the router of one group that has the link to another group.
    fn gate(&self, from: usize, to: usize) -> Node {
        // Router r of group g has the link to group g + r + 1.
        let router = (to + self.groups() - 1 - from % self.groups()) % self.groups();
        Node::new(from * self.routers + router)
    }

    /// Returns the node at the other end of a router's long link.
    fn far_end(&self, node: Node) -> Node {
        let (group, router) = (self.group(node), node.index() % self.routers);
        self.gate((group + router + 1) % self.groups(), group)
    }
}

impl Topology for Dragonfly {
    fn nodes(&self) -> usize {
        self.routers * self.groups()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let first = self.group(node) * self.routers;
        let mut neighbours: Neighbours = (first..first + self.routers).map(Node::new).filter(|&n| n != node).collect();
        neighbours.push(self.far_end(node));
        neighbours.sort_unstable();
        neighbours
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.route(from, to).len() - 1
    }

    /// Returns the route: to the router with the long link, over this link, then to the
    /// destination. No route is shorter: two groups have one link, and a route through a third
    /// group takes at least two long links and a short one.
    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let (here, there) = (self.group(from), self.group(to));
        let mut route =
            if here == there { vec![from, to] } else { vec![from, self.gate(here, there), self.gate(there, here), to] };
        route.dedup();
        route
    }

    /// Returns a text that differs from the crate's own topologies. Ranks compare it, and the
    /// links, during the bootstrap.
    fn text(&self) -> String {
        format!("dragonfly:{}", self.routers)
    }

    /// Returns the network of a communicator after `split`. Without this method, it would be a
    /// complete network.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        Graph::induced(self, nodes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for routers in 1..=6 {
        let network = Dragonfly { routers };
        // Report all violations, not only the first.
        conformance::run_all(&network).map_err(|findings| format!("{findings:#?}"))?;
    }
    // Twelve threads, or processes of a launcher, which compare the links during the bootstrap.
    let launch = Launch::from_env().topology(Arc::new(Dragonfly { routers: 3 }));
    let exchanges = |mut comm: Communicator| ["auto", "ring"].map(|algorithm| exchange(&mut comm, algorithm));
    let reports = launch.run(exchanges)?.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    // Among processes, only rank 0 has a report.
    let mut reports = reports.into_iter().flatten().peekable();
    if reports.peek().is_some() {
        println!("Dragonflies of 2 to 42 nodes keep the {} promises of a topology", conformance::CHECKS.len());
    }
    reports.for_each(|report| println!("\n{report}"));
    Ok(())
}

/// Sends every rank a number that encodes source and destination, and checks the received ones.
/// Rank 0 prints a report.
fn exchange(comm: &mut Communicator, algorithm: &str) -> Result<Option<String>, necklace::Error> {
    comm.choose("alltoall", algorithm)?;
    let (rank, ranks) = (comm.rank(), comm.size());
    let send: Vec<usize> = (0..ranks).map(|to| 100 * rank + to).collect();
    let mut receive = vec![0; ranks];
    comm.alltoall(&send, &mut receive)?;
    assert!(receive.iter().copied().eq((0..ranks).map(|from| 100 * from + rank)), "rank {rank} received {receive:?}");
    if rank > 0 {
        return Ok(None);
    }
    let choice = comm.explain(&Collective::Alltoall, size_of::<usize>())?;
    let proof = match comm.prove(&Collective::Alltoall, size_of::<usize>()) {
        Ok(proof) => format!("Proved on the network's channels, and run:\n{proof}"),
        // Over MPI, `auto` may choose the library's own collective.
        Err(error) => match error.argument() {
            Some(ArgumentError::Build(BuildError::Unscheduled { .. })) => format!("Run, not proved: {error}"),
            _ => return Err(error),
        },
    };
    Ok(Some(format!("{choice}\n{proof}")))
}
