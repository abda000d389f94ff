//! A network of your own: a dragonfly, by implementing [`Topology`].
//!
//! A small dragonfly has groups of `a` routers. Within a group every router has a link to every other, and there are `a + 1`
//! groups so that each router's one long link makes a link between every two groups:
//!
//! ```text
//!   group 0      group 1      group 2        a = 2: node = 2 group + router
//!   0 ── 1       2 ── 3       4 ── 5         long links 0-3, 1-4, 2-5
//!   │    └───────│────│───────┘    │
//!   └────────────│────┘            │
//!                └─────────────────┘
//! ```
//!
//! What follows is all that the crate needs to know: how many nodes, who is linked to whom, how far, by which way. The suite
//! for topologies checks it, the algorithms that need no special network run on it, and their schedules are proved on its
//! channels before a byte moves.
//!
//! ```text
//! cargo run --release --example custom_topology
//! necklace run -n 12 -- target/release/examples/custom_topology
//! ```
//!
//! (Where no closed form is at hand, a [`Graph`] of the links does the same, with tables.)
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use necklace::collective::Collective;
use necklace::error::{ArgumentError, BuildError};
use necklace::launch::Launch;
use necklace::topology::{Graph, Neighbours, Part, Topology, conformance};
use necklace::{Communicator, Node};

/// Groups of so many routers.
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

    /// The router of one group that has the link to another.
    fn gate(&self, from: usize, to: usize) -> Node {
        // Router r has the link to the r + 1-th group after its own.
        let router = (to + self.groups() - 1 - from % self.groups()) % self.groups();
        Node::new(from * self.routers + router)
    }

    /// Where a router's long link ends.
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

    /// Within the group to the router that has the long link, over it, and within the other group to the end. No way is
    /// shorter: two groups have one link, and a way through a third one takes two long links and a short one at least.
    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let (here, there) = (self.group(from), self.group(to));
        let mut route =
            if here == there { vec![from, to] } else { vec![from, self.gate(here, there), self.gate(there, here), to] };
        route.dedup();
        route
    }

    /// Text that is none of the crate's own. Ranks compare it, and the links, when they meet.
    fn text(&self) -> String {
        format!("dragonfly:{}", self.routers)
    }

    /// What a communicator that is split knows of its part; whoever leaves this out has parts that are taken for complete.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        Graph::induced(self, nodes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for routers in 1..=6 {
        let network = Dragonfly { routers };
        // All that does not hold, not the first alone.
        conformance::run_all(&network).map_err(|findings| format!("{findings:#?}"))?;
    }
    // Twelve threads, or processes of a launcher: these compare the links when they meet.
    let launch = Launch::from_env().topology(Arc::new(Dragonfly { routers: 3 }));
    let exchanges = |mut comm: Communicator| ["auto", "ring"].map(|algorithm| exchange(&mut comm, algorithm));
    let reports = launch.run(exchanges)?.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    // Of processes the one that is rank 0 has some.
    let mut reports = reports.into_iter().flatten().peekable();
    if reports.peek().is_some() {
        println!("Dragonflies of 2 to 42 nodes keep the {} promises of a topology", conformance::CHECKS.len());
    }
    reports.for_each(|report| println!("\n{report}"));
    Ok(())
}

/// Every rank gives every other a number that says from whom to whom. Rank 0 reports.
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
        // Over MPI, `auto` may leave the call to the library.
        Err(error) => match error.argument() {
            Some(ArgumentError::Build(BuildError::Unscheduled { .. })) => format!("Run, not proved: {error}"),
            _ => return Err(error),
        },
    };
    Ok(Some(format!("{choice}\n{proof}")))
}
