//! The network as numbers: the number of each channel, and the next channel to a destination.

use std::sync::Arc;

use super::SimulateError;
use crate::ids::Node;
use crate::topology::{Axis, Kind, Neighbours, Topology, axes};
use crate::vocabulary::Problem;

/// The maximum number of channels of a network whose neighbours are listed: they take 4 bytes each,
/// and 16 for their use.
const CHANNELS: usize = 1 << 28;

/// The maximum number of ranks: they take some 300 bytes each, and their shares.
const RANKS: usize = 1 << 22;

/// A network as numbers.
pub(super) enum Network {
    /// A product, whose default routes are computed, and the number of channels of a node.
    Product(Vec<Leg>, usize),
    /// Any other network: for each node the number of its first channel, and its neighbours.
    Any(Arc<dyn Topology>, Vec<(usize, Neighbours)>),
}

/// A dimension: the difference of the numbers of neighbours, and its first channel among those of a
/// node.
pub(super) struct Leg {
    axis: Axis,
    stride: usize,
    first: usize,
}

impl Network {
    pub(super) fn new(problem: &Problem) -> Result<Self, SimulateError> {
        let topology = problem.topology();
        let nodes = topology.nodes();
        let too_large = |what, found, limit| SimulateError::TooLarge { what, found, limit, topology: topology.text() };
        if problem.ranks() > RANKS {
            return Err(too_large("ranks", problem.ranks(), RANKS));
        }
        if let Some(axes) = axes(&**topology) {
            let (mut stride, mut first, mut legs) = (1, 0, Vec::new());
            for axis in axes.into_iter().rev() {
                legs.push(Leg { axis, stride, first });
                let extent = axis.extent as usize;
                stride *= extent;
                first += if axis.kind == Kind::Complete { extent } else { 2 };
            }
            return Ok(Self::Product(legs, first));
        }
        let channels = topology.channels();
        if channels.max(nodes) > CHANNELS {
            return Err(too_large("channels", channels, CHANNELS));
        }
        let mut first = 0;
        let ends = (0..nodes).map(|node| {
            let ends = topology.neighbours(Node::new(node));
            let at = first;
            first += ends.len();
            (at, ends)
        });
        Ok(Self::Any(Arc::clone(topology), ends.collect()))
    }

    /// Returns the number of channel numbers, including those of channels that are missing at the
    /// borders.
    pub(super) fn places(&self, nodes: usize) -> usize {
        match self {
            Self::Product(_, of_a_node) => nodes.saturating_mul(*of_a_node),
            Self::Any(_, ends) => ends.last().map_or(0, |(first, ends)| first + ends.len()),
        }
    }

    /// Returns the maximum number of channels of a default route.
    pub(super) fn diameter(&self) -> u128 {
        match self {
            Self::Product(legs, _) => legs.iter().map(|leg| u128::from(leg.axis.diameter())).sum(),
            Self::Any(_, ends) => ends.len() as u128,
        }
    }

    /// Returns the next node and channel on the default route to another node. `None` if routes are
    /// stored.
    pub(super) fn next(&self, at: u32, to: u32) -> Option<(u32, usize)> {
        let Self::Product(legs, of_a_node) = self else { return None };
        let (at, to) = (at as usize, to as usize);
        let (leg, x, y) = legs.iter().find_map(|leg| {
            let (x, y) = (leg.coordinate(at), leg.coordinate(to));
            (x != y).then_some((leg, x, y))
        })?;
        let (next, channel) = leg.step(x, y);
        Some(((at - x * leg.stride + next * leg.stride) as u32, at * of_a_node + leg.first + channel))
    }

    /// Returns the default route, if routes are stored.
    pub(super) fn route(&self, from: Node, to: Node) -> Option<Box<[Node]>> {
        match self {
            Self::Product(..) => None,
            Self::Any(topology, _) => Some(topology.route(from, to).into_boxed_slice()),
        }
    }

    /// Returns the channel from one node to another, if there is one.
    pub(super) fn channel(&self, from: Node, to: Node) -> Option<usize> {
        match self {
            Self::Product(legs, of_a_node) => {
                let (at, end) = (from.index(), to.index());
                let leg = legs.iter().find(|leg| leg.coordinate(at) != leg.coordinate(end))?;
                let (next, channel) = leg.step(leg.coordinate(at), leg.coordinate(end));
                let x = leg.coordinate(at);
                (at - x * leg.stride + next * leg.stride == end).then_some(at * of_a_node + leg.first + channel)
            }
            Self::Any(_, ends) => {
                let (first, ends) = ends.get(from.index())?;
                Some(first + ends.binary_search(&to).ok()?)
            }
        }
    }
}

impl Leg {
    fn coordinate(&self, node: usize) -> usize {
        node / self.stride % self.axis.extent as usize
    }

    /// Returns the next coordinate on the way from one to another, and the number of the channel: 0
    /// for down, 1 for up, or the coordinate itself in a complete dimension.
    fn step(&self, x: usize, y: usize) -> (usize, usize) {
        let extent = self.axis.extent as usize;
        let up = match self.axis.kind {
            Kind::Complete => return (y, y),
            Kind::Line => y > x,
            Kind::Ring => {
                let up = (y + extent - x) % extent;
                up <= extent - up
            }
        };
        if up { ((x + 1) % extent, 1) } else { ((x + extent - 1) % extent, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Collective;
    use crate::topology::{Graph, parse};

    #[test]
    fn routes_are_the_default_ones_and_channel_numbers_unique() {
        let graph: Arc<dyn Topology> = Arc::new(Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap());
        let texts = ["line:5", "ring:2", "ring:6", "ring:7", "mesh:3x4", "torus:4x5x2", "torus:1x3", "hypercube:4"];
        let others = ["complete:6", "ghc:3x4", "ring:1"];
        let parsed = texts.into_iter().chain(others).map(|text| parse(text).unwrap());
        for topology in parsed.chain([graph]) {
            let problem = Problem::new(Arc::clone(&topology), Collective::Barrier).unwrap();
            let network = Network::new(&problem).unwrap();
            let nodes = topology.nodes();
            let mut numbers = std::collections::HashMap::new();
            for (from, to) in (0..nodes).flat_map(|u| (0..nodes).map(move |v| (Node::new(u), Node::new(v)))) {
                let route = topology.route(from, to);
                assert!(network.route(from, to).is_none_or(|found| *found == *route));
                for hop in route.windows(2) {
                    let number = network.channel(hop[0], hop[1]).unwrap();
                    assert!(number < network.places(nodes));
                    assert_eq!(*numbers.entry(number).or_insert((hop[0], hop[1])), (hop[0], hop[1]));
                    if let Network::Product(..) = network {
                        let next = network.next(hop[0].index() as u32, to.index() as u32);
                        assert_eq!(next, Some((hop[1].index() as u32, number)), "{} {from} {to}", topology.text());
                    }
                }
                if !topology.adjacent(from, to) {
                    assert_eq!(network.channel(from, to), None, "{} {from} {to}", topology.text());
                }
            }
            assert!(numbers.len() <= topology.channels());
        }
    }

    /// Claims to have more channels than it has.
    #[derive(Debug)]
    struct Many(usize);

    impl Topology for Many {
        fn nodes(&self) -> usize {
            2
        }

        fn neighbours(&self, node: Node) -> Neighbours {
            [Node::new(1 - node.index())].as_slice().into()
        }

        fn distance(&self, from: Node, to: Node) -> usize {
            from.index().abs_diff(to.index())
        }

        fn route(&self, from: Node, to: Node) -> Vec<Node> {
            if from == to { vec![from] } else { vec![from, to] }
        }

        fn text(&self) -> String {
            "many".to_owned()
        }

        fn channels(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn too_large_networks_are_refused_before_allocation() {
        let large = |topology: Arc<dyn Topology>| {
            let made = Network::new(&Problem::new(topology, Collective::Alltoall).unwrap());
            made.err().map(|error| error.to_string())
        };
        let of = |text: &str| large(parse(text).unwrap());
        let refused = |what: &str| Some(format!("{what} can be simulated"));
        // The channels of products are not listed.
        assert_eq!(of("complete:4194304"), None);
        assert_eq!(large(Arc::new(Many(1 << 28))), None);
        let channels = "268435457 channels on many, at most 268435456";
        assert_eq!(large(Arc::new(Many((1 << 28) + 1))), refused(channels));
        assert_eq!(of("ring:4194304"), None);
        let ranks = "4194305 ranks on ring:4194305, at most 4194304";
        assert_eq!(of("ring:4194305"), refused(ranks));
    }
}
