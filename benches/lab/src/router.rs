//! Computes the routes of the lab's packets.
//!
//! Routes on a torus correct the last dimension first, in the shorter direction of each ring. If
//! both directions are equally long, the **source** decides for the whole route, by the sum of its
//! coordinates modulo 4: 0 or 1 goes up, 2 or 3 down. In the torus exchange of Suh & Shin, nodes
//! with equal sums modulo 4 take the same direction, so its hops of half a ring do not conflict.
//! The library's default routes always go up in this case.
//!
//! Nodes on the route must know the decision of the source. Therefore addresses have two classes of
//! nodes, and every node has a routing table for each class.

use std::net::Ipv4Addr;
use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::Algorithm;
use necklace::error::BuildError;
use necklace::schedule::{Problem, Volume};
use necklace::topology::{Grid, Topology};

use crate::{Link, Loads};

/// The routes of a network.
#[derive(Clone, Debug)]
pub struct Router {
    topology: Arc<dyn Topology>,
    /// The torus, whose rings may have two routes of equal length.
    torus: Option<Grid>,
}

impl Router {
    /// Returns the routes of a network: as above on a torus, otherwise the topology's default
    /// routes.
    #[must_use]
    pub fn new(topology: Arc<dyn Topology>) -> Self {
        let torus = Grid::of(&*topology).filter(Grid::wraps);
        Self { topology, torus }
    }

    /// Returns the network.
    #[must_use]
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// Returns whether packets from this node go up if both directions are equally long.
    #[must_use]
    pub fn goes_up(&self, source: Node) -> bool {
        self.torus.as_ref().is_none_or(|torus| torus.coordinates(source).iter().sum::<usize>() % 4 < 2)
    }

    /// Returns the route from one node to another, both included.
    #[must_use]
    pub fn path(&self, from: Node, to: Node) -> Vec<Node> {
        self.way(self.goes_up(from), from, to)
    }

    /// Returns the next node on the route, for packets from a source that [goes up](Self::goes_up)
    /// or not. Returns `None` at the destination.
    #[must_use]
    pub fn next(&self, up: bool, at: Node, to: Node) -> Option<Node> {
        self.way(up, at, to).get(1).copied()
    }

    fn way(&self, up: bool, from: Node, to: Node) -> Vec<Node> {
        let Some(torus) = &self.torus else { return self.topology.route(from, to) };
        let (here, there) = (torus.coordinates(from), torus.coordinates(to));
        let mut path = vec![from];
        for (dimension, &extent) in torus.extents().iter().enumerate().rev() {
            let ahead = (there[dimension] + extent - here[dimension]) % extent;
            let behind = (extent - ahead) % extent;
            let up = ahead < behind || ahead == behind && up;
            let corner = path[path.len() - 1];
            path.extend_from_slice(&torus.walk(corner, dimension, up, ahead.min(behind))[1..]);
        }
        path
    }

    /// Returns the address of a node.
    pub(crate) fn address(&self, node: Node) -> Ipv4Addr {
        let (hi, lo) = (node.index() / 250, node.index() % 250 + 1);
        let class = if self.goes_up(node) { 0 } else { 128 };
        Ipv4Addr::new(10, 77, class + hi as u8, lo as u8)
    }

    /// Returns the addresses of all nodes of a class.
    pub(crate) fn addresses(up: bool) -> &'static str {
        if up { "10.77.0.0/17" } else { "10.77.128.0/17" }
    }

    /// Returns the bytes of an algorithm on each link, without headers, for a block size. Each
    /// transfer takes the lab's route.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if there is no such schedule.
    pub fn loads(&self, algorithm: &dyn Algorithm, problem: &Problem, block_bytes: u64) -> Result<Loads, BuildError> {
        let mut loads: Loads = self.links().map(|link| (link, 0)).collect();
        for round in algorithm.shares(problem)?.collect()?.rounds {
            for transfer in round.transfers {
                let placement = problem.placement();
                let bytes = Volume::of(&transfer.blocks).bytes(block_bytes) as u64;
                let path = self.path(placement.node(transfer.source), placement.node(transfer.destination));
                for link in links(&path) {
                    *loads.entry(link).or_default() += bytes;
                }
            }
        }
        Ok(loads)
    }

    /// Returns all directed links.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        let edges = self.topology.edges().into_iter();
        edges.flat_map(|(u, v)| [(u.index(), v.index()), (v.index(), u.index())])
    }
}

/// Returns the directed links of a route.
pub(crate) fn links(path: &[Node]) -> impl Iterator<Item = Link> {
    path.windows(2).map(|pair| (pair[0].index(), pair[1].index()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use necklace::algorithm::find;
    use necklace::collective::Collective;
    use necklace::schedule::Route;
    use necklace::topology::parse;

    use super::*;

    fn router(text: &str) -> Router {
        Router::new(parse(text).unwrap())
    }

    fn path(router: &Router, from: usize, to: usize) -> Vec<usize> {
        router.path(Node::new(from), Node::new(to)).into_iter().map(Node::index).collect()
    }

    #[test]
    fn routes_are_shortest_and_consistent_at_every_node() {
        let texts = [
            "line:5",
            "ring:2",
            "ring:8",
            "mesh:3x4",
            "torus:4x4",
            "torus:8x8",
            "torus:3x5",
            "torus:2x4",
            "torus:4x2x6",
        ];
        for text in texts.into_iter().chain(["hypercube:4", "ghc:3,2", "complete:5", "torus:1x4"]) {
            let router = router(text);
            let nodes = || (0..router.topology.nodes()).map(Node::new);
            for (from, to) in nodes().flat_map(|from| nodes().map(move |to| (from, to))) {
                let path = router.path(from, to);
                assert_eq!(path.len() - 1, router.topology.distance(from, to), "{text}: {path:?}");
                assert!(path.windows(2).all(|pair| router.topology.adjacent(pair[0], pair[1])), "{text}: {path:?}");
                let forwarded: Vec<Node> =
                    std::iter::successors(Some(from), |&at| router.next(router.goes_up(from), at, to)).collect();
                assert_eq!(forwarded, path, "{text}");
            }
        }
    }

    #[test]
    fn source_chooses_between_routes_of_equal_length() {
        let router = router("torus:8x8");
        // By the sum of the coordinates modulo 4: 0 and 1 up, 2 and 3 down.
        for (row, column, next) in [(0, 0, 1), (0, 1, 2), (0, 2, 1), (0, 3, 2), (1, 3, 4), (1, 1, 0)] {
            assert_eq!(path(&router, row * 8 + column, row * 8 + (column + 4) % 8)[1] % 8, next, "({row}, {column})");
        }
        // After a turn, at (0, 2), which itself would go down.
        assert_eq!(path(&router, 0, 34), [0, 1, 2, 10, 18, 26, 34]);
        assert_eq!(path(&router, 2, 36), [2, 3, 4, 60, 52, 44, 36]);
    }

    #[test]
    fn torus_exchange_on_8x8_gets_its_requested_routes() {
        for text in ["torus:8x8", "torus:8x12", "torus:12x8"] {
            let (router, problem) = (router(text), Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap());
            let exchange = find(problem.collective(), "torus-exchange").unwrap();
            for transfer in exchange.shares(&problem).unwrap().flat_map(|joined| joined.round.transfers) {
                let (from, to) = (Node::new(transfer.source.index()), Node::new(transfer.destination.index()));
                let asked = match transfer.route {
                    Route::Via(nodes) => nodes,
                    _ => router.topology.route(from, to),
                };
                assert_eq!(router.path(from, to), asked, "{text}");
            }
        }
    }

    #[test]
    fn torus_exchange_uses_each_link_once_per_round() {
        for text in ["torus:4x4", "torus:8x8", "torus:4x8", "torus:4x4x4"] {
            let (router, problem) = (router(text), Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap());
            let exchange = find(problem.collective(), "torus-exchange").unwrap();
            for (number, joined) in exchange.shares(&problem).unwrap().enumerate() {
                let mut taken = BTreeMap::new();
                for transfer in joined.round.transfers {
                    let (from, to) = (Node::new(transfer.source.index()), Node::new(transfer.destination.index()));
                    for link in links(&router.path(from, to)) {
                        let other = taken.insert(link, (from, to));
                        assert_eq!(other, None, "{text}, round {number}: {link:?} for {from} to {to} too");
                    }
                }
            }
        }
    }

    #[test]
    fn load_of_a_channel_is_the_bytes_routed_over_it() {
        let (router, problem) =
            (router("ring:4"), Problem::new(parse("ring:4").unwrap(), Collective::Alltoall).unwrap());
        let direct = find(problem.collective(), "direct").unwrap();
        let loads = router.loads(&*direct, &problem, 10).unwrap();
        // To the neighbours one block over each link; to the opposite 0 and 1 go up, 2 and 3 down.
        let opposite = [(0, 1), (1, 2), (1, 2), (2, 3), (2, 1), (1, 0), (3, 2), (2, 1)];
        let mut expected: Loads = (0..4).flat_map(|u| [((u, (u + 1) % 4), 10), (((u + 1) % 4, u), 10)]).collect();
        opposite.into_iter().for_each(|link| *expected.get_mut(&link).unwrap() += 10);
        assert_eq!(loads, expected);
    }
}
