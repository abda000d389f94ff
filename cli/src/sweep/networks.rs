//! Lists the networks and machines of the sweep.

use std::sync::Arc;

use necklace::Node;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::machine::Machine;
use necklace::schedule::{Placement, Problem};
use necklace::topology::{Graph, GraphError, Topology, parse};

use crate::output::Failure;

/// A rule that places ranks on nodes.
#[derive(Clone, Copy)]
enum PlacementRule {
    /// Rank i on node i.
    All,
    /// Rank i on node `i * step mod nodes`, with a step and a number of ranks.
    Every(usize, usize),
    /// Rank i on the node with the bits of `i` in reverse order.
    Reversed,
}

/// Networks and the placement of their ranks.
const NETWORKS: [(&str, PlacementRule); 37] = [
    ("line:5", PlacementRule::All),
    ("line:16", PlacementRule::All),
    ("line:64", PlacementRule::All),
    ("ring:6", PlacementRule::All),
    ("ring:15", PlacementRule::All),
    ("ring:32", PlacementRule::All),
    ("mesh:2x2", PlacementRule::All),
    ("mesh:3x5", PlacementRule::All),
    ("mesh:4x8", PlacementRule::All),
    ("mesh:8x8", PlacementRule::All),
    ("mesh:3x4x5", PlacementRule::All),
    ("torus:4x4", PlacementRule::All),
    ("torus:5x7", PlacementRule::All),
    ("torus:2x16", PlacementRule::All),
    ("torus:8x8", PlacementRule::All),
    ("torus:4x4x4", PlacementRule::All),
    ("torus:12x12", PlacementRule::All),
    ("hypercube:3", PlacementRule::All),
    ("hypercube:5", PlacementRule::All),
    ("hypercube:8", PlacementRule::All),
    ("ghc:3x4x2", PlacementRule::All),
    ("ghc:8x8", PlacementRule::All),
    ("how:16,3,1", PlacementRule::All),
    ("how:5,3,2", PlacementRule::All),
    ("how-wrap:6,2,2", PlacementRule::All),
    ("complete:4", PlacementRule::All),
    ("complete:11", PlacementRule::All),
    ("complete:64", PlacementRule::All),
    ("tree:15", PlacementRule::All),
    ("chords:32", PlacementRule::All),
    ("star:9", PlacementRule::All),
    ("line:9", PlacementRule::Every(4, 9)),
    ("ring:16", PlacementRule::Reversed),
    ("torus:8x8", PlacementRule::Every(2, 32)),
    ("mesh:6x6", PlacementRule::Every(5, 36)),
    ("hypercube:6", PlacementRule::Every(5, 20)),
    ("torus:4x8", PlacementRule::Reversed),
];

const MACHINES: [&str; 15] = [
    "threads",
    "tcp",
    "mpi",
    "paragon",
    "paragon:switching=store-and-forward",
    "paragon:byte=0",
    "unit",
    "unit:switching=cut-through",
    "unit:byte=0",
    "mpi:channel=0.15ns",
    "mpi:channel=0.6ns,hop=0.5us",
    "tcp:channel=1ns,hop=20us,switching=store-and-forward",
    "threads:channel=0.05ns,rearrangement=0.25ns",
    "free:startup=100us,byte=1ns,channel=1ns,hop=5us",
    "free:startup=10us,message=1us,byte=1ns,channel=10ns,hop=1us,switching=store-and-forward",
];

/// Block sizes in bytes.
pub(super) const SIZES: [u64; 8] = [1, 16, 128, 512, 2 << 10, 8 << 10, 64 << 10, 1 << 20];

/// The collectives that have several competing algorithms.
pub(super) const COLLECTIVES: [Collective; 2] = [Collective::Alltoall, Collective::Allgather];

/// A network and the placement of its ranks.
pub(super) struct Network {
    pub(super) name: String,
    topology: Arc<dyn Topology>,
    placement: Placement,
}

impl Network {
    pub(super) fn problem(&self, collective: &Collective) -> Result<Problem, BuildError> {
        Problem::placed(Arc::clone(&self.topology), self.placement.clone(), collective.clone())
    }

    pub(super) fn ranks(&self) -> usize {
        self.placement.ranks()
    }
}

/// Returns all networks.
pub(super) fn networks() -> Result<Vec<Network>, Failure> {
    NETWORKS.into_iter().map(|(text, rule)| network(text, rule)).collect()
}

fn network(text: &str, rule: PlacementRule) -> Result<Network, Failure> {
    let graph = |graph: Result<Graph, GraphError>| {
        graph.map(|graph| Arc::new(graph) as Arc<dyn Topology>).map_err(|error| Failure::of(text, &error))
    };
    let count = |number: &str| number.parse::<usize>().map_err(|error| Failure::of(text, &error));
    let topology = match text.split_once(':') {
        Some(("tree", nodes)) => graph(Graph::from_edges((1..count(nodes)?).map(|v| ((v - 1) / 2, v))))?,
        Some(("star", nodes)) => graph(Graph::from_edges((1..count(nodes)?).map(|v| (0, v))))?,
        Some(("chords", nodes)) => {
            let nodes = count(nodes)?;
            graph(Graph::from_edges(
                (0..nodes).flat_map(|v| [(v, (v + 1) % nodes), (v, (7 * v + 3) % nodes)]).filter(|(u, v)| u != v),
            ))?
        }
        _ => parse(text).map_err(BuildError::from)?,
    };
    let nodes = topology.nodes();
    let on = |nodes_of_ranks: Vec<usize>| Placement::new(nodes_of_ranks.into_iter().map(Node::new).collect(), nodes);
    let bits = nodes.next_power_of_two().trailing_zeros();
    let reversed = |rank: usize| (0..bits).fold(0, |sum, bit| 2 * sum + (rank >> bit & 1));
    let (placement, name) = match rule {
        PlacementRule::All => (Placement::identity(nodes), text.to_owned()),
        PlacementRule::Every(step, ranks) => (
            on((0..ranks).map(|rank| rank * step % nodes).collect())?,
            format!("{text}, {ranks} ranks on every {step}th"),
        ),
        PlacementRule::Reversed => (on((0..nodes).map(reversed).collect())?, format!("{text}, ranks by reversed bits")),
    };
    Ok(Network { name, topology, placement })
}

/// Returns all machines, each with its text.
pub(super) fn machines() -> Result<Vec<(&'static str, Machine)>, Failure> {
    let machine = |text: &'static str| Ok((text, text.parse().map_err(|error| Failure::of(text, &error))?));
    MACHINES.into_iter().map(machine).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_machines_are_distinct() {
        let (networks, machines) = (networks().unwrap(), machines().unwrap());
        let distinct = |names: Vec<String>| names.iter().collect::<std::collections::HashSet<_>>().len();
        assert_eq!(distinct(networks.iter().map(|network| network.name.clone()).collect()), 37);
        assert_eq!(distinct(machines.iter().map(|(_, machine)| machine.to_string()).collect()), 15);
        assert!(networks.iter().all(|network| (4..=256).contains(&network.ranks())));
    }
}
