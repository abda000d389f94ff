//! Routes on networks of overlapping windows that use links of all lengths equally.
// With jumps as long as possible, the links of length w carry almost everything and the others
// almost nothing. But the bound on the load of a channel supposes that a channel of length 1 is as
// busy as one of length w. It is reached if each length is used in equally many hops: a length l
// has as many channels as any other where windows wrap round, and across a cut of a regular network
// it has l channels, and l times the chance to be the hop that crosses.

use super::round_routes::{self, alternating, spread};
use super::row_routes::{self, Lengths};
use super::{OverlappingWindows, SizeError, Topology};
use crate::ids::Node;

/// Routes on an [`OverlappingWindows`] network whose hops have all lengths from 1 to w equally
/// often, for alltoalls of long messages.
///
/// The default routes of the network are shortest paths: jumps of w, then one of the rest. They
/// leave the short links idle. These routes have about twice the hops at most, and the busiest channel
/// carries less. In an alltoall in one dimension with one unit for each pair of nodes:
///
/// | network | busiest channel, default routes | these routes | [bound](Self::least_load) |
/// |---|---|---|---|
/// | `how-wrap:16,3,1` | 9 | 6 | 6 |
/// | `how-wrap:40,3,1` | 63 | 34 | 34 |
/// | `how-wrap:64,4,1` | 120 | 52 | 52 |
/// | `how:40,3,1` | 133 | 67 | 67 |
/// | `how:64,4,1` | 256 | 104 | 103 |
///
/// Coordinates are corrected from the last dimension to the first, each on the shorter way and
/// without steps back. The hops depend on the displacement alone, with one exception: half round an
/// even extent, routes go up from even coordinates and down from odd ones. In n dimensions, an
/// alltoall loads channels p^(n-1) times as much as in one.
///
/// Where windows wrap round, the busiest channel carries the bound or one unit more: the bound on
/// 789 of the 812 networks below 60 nodes whose rows are not complete. On regular networks of
/// 20 to 128 nodes it carries at most 1.02 times the bound if p >= 16 w, and 1.07 times if p >= 6 w.
/// Wider windows have few units for a channel: there it may carry twice the bound. In
/// [chunks](Self::in_chunks) with a route each, all windows of these sizes keep to 1.05 times the bound:
/// 24 chunks if p < 6 w, and 4 if p < 24 w. In rows of more than 256 nodes the search may end 1/24
/// above the bound, and windows with p < 3 w need 64 chunks to come near it.
///
/// Source: Q. Wang, dissertation, New Jersey Institute of Technology, 1999, section 1.1, for the
/// network; the routes are not in it.
///
/// # Cost
///
/// Where windows wrap round, a value stores a number for each displacement and length. It is made in
/// about p w^2 time, and somewhat more where the first choice has to be mended. In regular networks, it
/// stores the hops of each displacement and chunk, and is made in about p^2 time for each chunk, some
/// passes over, with a factor of up to 30 for the window: in some 10 ms for 100 nodes, up to five
/// seconds for 1000 nodes in 64 chunks, and up to a minute for 4096; in some ten seconds for longer
/// rows, which have narrow windows. A route takes time in proportion to its hops, up to a logarithm.
///
/// ```
/// use necklace::Node;
/// use necklace::topology::{LengthBalanced, OverlappingWindows};
///
/// let how = OverlappingWindows::wrapping(40, 3, 1).expect("40 nodes");
/// let routes = LengthBalanced::new(&how).expect("a small network");
/// assert_eq!((routes.loads().into_iter().max(), routes.least_load()), (Some(34), 34));
/// let route = routes.route(Node::new(0), Node::new(38), 0);
/// assert_eq!(route, [0, 38].map(Node::new));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LengthBalanced {
    network: OverlappingWindows,
    chunks: usize,
    hops: Hops,
}

/// The hops by which a coordinate is corrected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Hops {
    /// One hop: rows are complete.
    One,
    /// The number of hops of each length for each displacement, where windows wrap round. Lengths and
    /// displacements count from 1.
    Counts(Vec<u32>),
    /// The lengths of the hops for each chunk of each displacement, from 1, in regular networks.
    Lengths(Vec<Lengths>),
}

/// The largest extent, and the largest product of the extent and the square of the window, where
/// windows wrap round.
const MOST_ROUND: (usize, usize) = (1 << 16, 1 << 24);

/// The largest extent, and about the most hops of the routes of all displacements and chunks, in regular
/// networks.
const MOST: (usize, usize) = (1 << 13, 1 << 24);

/// The extent above which p w is limited in regular networks, and the limit: the search takes up to a
/// minute below it, and up to some ten seconds above.
const WIDE: (usize, usize) = (1 << 12, 1 << 20);

/// The most chunks.
const MOST_CHUNKS: usize = 1 << 6;

impl LengthBalanced {
    /// Chooses routes for whole units, one for each pair of nodes. As
    /// [`in_chunks`](Self::in_chunks) with one chunk.
    ///
    /// # Errors
    ///
    /// As for [`in_chunks`](Self::in_chunks).
    pub fn new(network: &OverlappingWindows) -> Result<Self, SizeError> {
        Self::in_chunks(network, 1)
    }

    /// Chooses the routes of units that are cut into a number of chunks.
    ///
    /// # Errors
    ///
    /// [`SizeError`] unless there are 1 to 64 chunks, or if the network is large: its extent is above
    /// 2^16, or, if rows are not complete, p w^2 is above 2^24 where windows wrap round; where they do
    /// not, p is above 2^13, or above 2^12 with p w above 2^20, or p^2 / w for each chunk above 2^24.
    pub fn in_chunks(network: &OverlappingWindows, chunks: usize) -> Result<Self, SizeError> {
        Self::check(network, chunks)?;
        let (extent, window) = (network.extent(), network.window());
        let mut routes = Self { network: network.clone(), chunks, hops: Hops::One };
        routes.hops = match (network.is_complete(), network.wraps()) {
            (true, _) => Hops::One,
            (false, true) => Hops::Counts(round_routes::balanced(extent, window, 2 * routes.least(1))),
            (false, false) => Hops::Lengths(row_routes::balanced(extent, window, chunks, routes.least_load())),
        };
        Ok(routes)
    }

    /// Checks the limits of [`in_chunks`](Self::in_chunks).
    fn check(network: &OverlappingWindows, chunks: usize) -> Result<(), SizeError> {
        let (extent, window) = (network.extent(), network.window());
        SizeError::check("the number of chunks", chunks, 1, MOST_CHUNKS)?;
        SizeError::check("P", extent, 2, MOST_ROUND.0)?;
        if network.is_complete() {
            return Ok(());
        }
        if network.wraps() {
            return SizeError::check("P W^2", extent.saturating_mul(window * window), 1, MOST_ROUND.1);
        }
        SizeError::check("P", extent, 2, MOST.0)?;
        if extent > WIDE.0 {
            SizeError::check("P W", extent * window, 1, WIDE.1)?;
        }
        SizeError::check("P^2 / W times the number of chunks", extent * extent / window * chunks, 1, MOST.1)
    }

    /// Returns the network.
    #[must_use]
    pub fn network(&self) -> &OverlappingWindows {
        &self.network
    }

    /// Returns the number of chunks into which units are cut.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Returns the lengths of the hops by which a coordinate is corrected, in their order, for a chunk
    /// from 0; above the last one they begin again. It is empty for a displacement of 0, and for one
    /// above the longest that the shorter way may have.
    ///
    /// The sum is the displacement. There are at most twice as many hops as on a shortest path, and two
    /// more in regular rows of more than 256 nodes.
    #[must_use]
    pub fn lengths(&self, displacement: usize, chunk: usize) -> Vec<usize> {
        if !(1..=self.farthest()).contains(&displacement) {
            return Vec::new();
        }
        match &self.hops {
            Hops::One => vec![displacement],
            Hops::Counts(counts) => {
                let counts = self.counts(counts, displacement);
                if self.is_half_round(displacement) { alternating(counts) } else { spread(counts, displacement) }
            }
            Hops::Lengths(routes) => {
                self.route_in(routes, displacement, chunk).iter().map(|&length| length as usize).collect()
            }
        }
    }

    /// Returns the number of hops by which a coordinate is corrected: of [`lengths`](Self::lengths).
    #[must_use]
    pub fn hops(&self, displacement: usize, chunk: usize) -> usize {
        if !(1..=self.farthest()).contains(&displacement) {
            return 0;
        }
        match &self.hops {
            Hops::One => 1,
            Hops::Counts(counts) => self.counts(counts, displacement).iter().map(|&count| count as usize).sum(),
            Hops::Lengths(routes) => self.route_in(routes, displacement, chunk).len(),
        }
    }

    /// Returns the path of a chunk from one node to another, both ends included. From a node to itself
    /// it is `[from]`. For a node out of range it is unspecified.
    #[must_use]
    pub fn route(&self, from: Node, to: Node, chunk: usize) -> Vec<Node> {
        let mut path = vec![from];
        let (extent, mut stride, mut here) = (self.network.extent(), 1, from.index());
        for _ in 0..self.network.dimensions() {
            let (mut x, y) = (here / stride % extent, to.index() / stride % extent);
            let origin = here - x * stride;
            let (displacement, up) = self.way(x, y);
            for length in self.lengths(displacement, chunk) {
                x = (if up { x + length } else { x + extent - length }) % extent;
                here = origin + x * stride;
                path.push(Node::new(here));
            }
            stride *= extent;
        }
        path
    }

    /// Returns the load of the busiest channel of each length, from length 1, in an alltoall in one
    /// dimension: the number of chunks whose route has the channel.
    ///
    /// Takes time in proportion to p w and the hops of the routes of all displacements.
    #[must_use]
    pub fn loads(&self) -> Vec<usize> {
        let (extent, window) = (self.network.extent(), self.network.window().min(self.farthest()));
        if self.network.is_complete() {
            return vec![self.chunks; window];
        }
        if !self.network.wraps() {
            return self.regular_loads();
        }
        // Half round, the routes up are those from even coordinates. All others load each channel
        // of a length equally.
        let mut loads = [vec![0; window], vec![0; window]];
        for displacement in 1..=self.farthest() {
            let mut x = 0;
            for length in self.lengths(displacement, 0) {
                for (parity, loads) in loads.iter_mut().enumerate() {
                    loads[length - 1] += usize::from(!self.is_half_round(displacement) || x % 2 == parity);
                }
                x = (x + length) % extent;
            }
        }
        let [even, odd] = loads;
        even.into_iter().zip(odd).map(|(even, odd)| self.chunks * even.max(odd)).collect()
    }

    /// Returns a lower bound on the load of the busiest channel in an alltoall in one dimension, by
    /// any routes: the number of chunks from the nodes on one side of a cut of a row to those on the
    /// other side, divided by the channels and rounded up. Of all cuts in a regular network, the one
    /// with the highest bound; of those where windows wrap round, that into two halves.
    #[must_use]
    pub fn least_load(&self) -> usize {
        self.least(self.chunks)
    }

    fn least(&self, chunks: usize) -> usize {
        let (extent, window) = (self.network.extent(), self.network.window());
        if self.network.wraps() || self.network.is_complete() {
            let rows = self.network.nodes() / extent;
            return (chunks * (extent / 2) * extent.div_ceil(2)).div_ceil(self.network.bisection() / rows);
        }
        let across = |below: usize| {
            let channels: usize = (1..=window).map(|jump| jump.min(below).min(extent - jump)).sum();
            (chunks * below * (extent - below)).div_ceil(channels.max(1))
        };
        (1..=extent / 2).map(across).max().unwrap_or_default()
    }

    /// Returns the load of the busiest channel of each length on a regular network, upwards. Downwards
    /// it is the same.
    fn regular_loads(&self) -> Vec<usize> {
        let extent = self.network.extent();
        // The changes of the load from one channel of a length to the next. A hop that begins at the
        // coordinate x of a route from 0 begins from x on, once for each coordinate at which such a
        // route may begin.
        let mut changes = vec![0_i32; self.network.window() * extent];
        for (displacement, chunk) in (1..extent).flat_map(|by| (0..self.chunks).map(move |chunk| (by, chunk))) {
            let mut x = 0;
            for length in self.lengths(displacement, chunk) {
                let first = (length - 1) * extent + x;
                changes[first] += 1;
                changes[first + extent - displacement] -= 1;
                x += length;
            }
        }
        let busiest = |changes: &[i32]| {
            let loads = changes.iter().scan(0_u32, |load, &change| {
                *load = load.saturating_add_signed(change);
                Some(*load)
            });
            loads.max().unwrap_or(0) as usize
        };
        changes.chunks(extent).map(busiest).collect()
    }

    /// Returns the longest displacement on the shorter way.
    fn farthest(&self) -> usize {
        let extent = self.network.extent();
        if self.network.wraps() { extent / 2 } else { extent - 1 }
    }

    fn is_half_round(&self, displacement: usize) -> bool {
        self.network.wraps() && 2 * displacement == self.network.extent()
    }

    /// Returns the displacement from one coordinate to another, and whether the route goes up.
    fn way(&self, from: usize, to: usize) -> (usize, bool) {
        let (displacement, up) = self.network.way(from, to);
        (displacement, if self.is_half_round(displacement) { from.is_multiple_of(2) } else { up })
    }

    fn counts<'a>(&self, counts: &'a [u32], displacement: usize) -> &'a [u32] {
        let window = self.network.window();
        &counts[(displacement - 1) * window..][..window]
    }

    fn route_in<'a>(&self, routes: &'a [Lengths], displacement: usize, chunk: usize) -> &'a Lengths {
        &routes[(displacement - 1) * self.chunks + chunk % self.chunks]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn networks(most: usize) -> impl Iterator<Item = OverlappingWindows> {
        let new = [OverlappingWindows::new, OverlappingWindows::wrapping];
        (2..most).flat_map(move |p| (1..p).flat_map(move |w| new.into_iter().flat_map(move |new| new(p, w, 1))))
    }

    fn routes(how: Result<OverlappingWindows, SizeError>) -> LengthBalanced {
        LengthBalanced::new(&how.unwrap()).unwrap()
    }

    fn all(how: &OverlappingWindows) -> impl Iterator<Item = Node> + use<> {
        (0..how.nodes()).map(Node::new)
    }

    /// Returns how many routes each channel has, by its ends.
    fn carried(how: &OverlappingWindows, route: impl Fn(Node, Node) -> Vec<Node>) -> BTreeMap<(Node, Node), usize> {
        let mut loads = BTreeMap::new();
        for (from, to) in all(how).flat_map(|from| all(how).map(move |to| (from, to))) {
            for hop in route(from, to).windows(2) {
                *loads.entry((hop[0], hop[1])).or_insert(0) += 1;
            }
        }
        loads
    }

    #[test]
    fn routes_are_paths_of_at_most_twice_the_distance() {
        let how = [OverlappingWindows::new, OverlappingWindows::wrapping];
        let planes = (2..7).flat_map(|p| (1..p).flat_map(move |w| how.into_iter().flat_map(move |new| new(p, w, 2))));
        for how in networks(24).chain(planes).chain(OverlappingWindows::wrapping(6, 2, 3)) {
            let routes = LengthBalanced::in_chunks(&how, 2).unwrap();
            for (from, to) in all(&how).flat_map(|from| all(&how).map(move |to| (from, to))) {
                let [route, other] = [0, 1].map(|chunk| routes.route(from, to, chunk));
                assert_eq!([routes.route(from, to, 2), routes.route(from, to, 5)], [route.clone(), other.clone()]);
                for route in [route, other] {
                    assert_eq!((route[0], route[route.len() - 1]), (from, to), "{how:?}");
                    assert!(route.windows(2).all(|hop| how.adjacent(hop[0], hop[1])), "{how:?}: {route:?}");
                    assert!(route.len() - 1 <= 2 * how.distance(from, to), "{how:?}: {route:?}");
                }
            }
        }
    }

    #[test]
    fn lengths_sum_to_the_displacement() {
        for (how, chunks) in networks(40).zip([1, 3, 2].into_iter().cycle()) {
            let routes = LengthBalanced::in_chunks(&how, chunks).unwrap();
            let farthest = routes.farthest();
            for (displacement, chunk) in (0..=farthest).flat_map(|by| (0..chunks).map(move |chunk| (by, chunk))) {
                let lengths = routes.lengths(displacement, chunk);
                assert_eq!(lengths.iter().sum::<usize>(), displacement, "{how:?}");
                assert!(lengths.iter().all(|length| (1..=how.window()).contains(length)), "{how:?}: {lengths:?}");
                assert_eq!(routes.hops(displacement, chunk), lengths.len(), "{how:?}");
            }
            assert_eq!((routes.lengths(farthest + 1, 0), routes.hops(farthest + 1, 0)), (vec![], 0));
        }
    }

    #[test]
    fn loads_equal_the_counts() {
        for (how, chunks) in networks(32).zip([1, 2, 5].into_iter().cycle()) {
            let routes = LengthBalanced::in_chunks(&how, chunks).unwrap();
            let mut carried_in_chunks = BTreeMap::new();
            for chunk in 0..chunks {
                for (channel, load) in carried(&how, |from, to| routes.route(from, to, chunk)) {
                    *carried_in_chunks.entry(channel).or_insert(0) += load;
                }
            }
            let mut counted = vec![0; how.window().min(routes.farthest())];
            for ((from, to), load) in carried_in_chunks {
                let (length, _) = how.way(from.index(), to.index());
                counted[length - 1] = load.max(counted[length - 1]);
            }
            assert_eq!(routes.loads(), counted, "{how:?} in {chunks}");
            assert!(counted.into_iter().max() >= Some(routes.least_load()), "{how:?} in {chunks}");
        }
    }

    /// The table of the type.
    #[test]
    fn busiest_channels_carry_what_the_table_says() {
        for (how, [default, balanced, bound]) in [
            (OverlappingWindows::wrapping(16, 3, 1), [9, 6, 6]),
            (OverlappingWindows::wrapping(40, 3, 1), [63, 34, 34]),
            (OverlappingWindows::wrapping(64, 4, 1), [120, 52, 52]),
            (OverlappingWindows::new(40, 3, 1), [133, 67, 67]),
            (OverlappingWindows::new(64, 4, 1), [256, 104, 103]),
        ] {
            let how = how.unwrap();
            let routes = routes(Ok(how.clone()));
            let busiest = |loads: BTreeMap<_, usize>| loads.into_values().max();
            assert_eq!(busiest(carried(&how, |from, to| how.route(from, to))), Some(default), "{how:?}");
            assert_eq!(busiest(carried(&how, |from, to| routes.route(from, to, 0))), Some(balanced), "{how:?}");
            assert_eq!((routes.loads().into_iter().max(), routes.least_load()), (Some(balanced), bound), "{how:?}");
        }
    }

    #[test]
    fn loads_where_windows_wrap_round_are_within_1_of_the_bound() {
        let (mut equal, mut more) = (0, 0);
        for how in networks(60).filter(|how| how.wraps() && !how.is_complete()) {
            let routes = routes(Ok(how.clone()));
            let load = routes.loads().into_iter().max().unwrap();
            assert!(load <= routes.least_load() + 1, "{how:?}: {load}");
            *(if load == routes.least_load() { &mut equal } else { &mut more }) += 1;
        }
        assert_eq!((equal, more), (789, 23));
    }

    /// Returns what the busiest channel carries, as a multiple of the bound.
    fn multiple(extent: usize, window: usize, chunks: usize) -> f64 {
        let how = OverlappingWindows::new(extent, window, 1).unwrap();
        let routes = LengthBalanced::in_chunks(&how, chunks).unwrap();
        routes.loads().into_iter().max().unwrap() as f64 / routes.least_load() as f64
    }

    #[test]
    fn whole_units_load_narrow_windows_as_the_bound() {
        for (p, w) in (20..64).flat_map(|p| (2..=p / 10).map(move |w| (p, w))) {
            let most = if p >= 20 * w { 1.02 } else { 1.1 };
            assert!(multiple(p, w, 1) <= most, "{p} {w}: {}", multiple(p, w, 1));
        }
    }

    #[test]
    fn chunks_load_all_windows_as_the_bound() {
        for (p, w) in [20, 41].into_iter().flat_map(|p| (2..p - 1).map(move |w| (p, w))).chain([(64, 30), (120, 20)]) {
            assert!(multiple(p, w, 24) <= 1.03, "{p} {w}: {}", multiple(p, w, 24));
        }
    }

    /// The cut before the last node decides, not that in the middle.
    #[test]
    fn the_bound_is_that_of_the_worst_cut() {
        let least = |w, chunks| {
            let how = OverlappingWindows::new(20, w, 1).unwrap();
            LengthBalanced::in_chunks(&how, chunks).unwrap().least_load()
        };
        assert_eq!([least(3, 1), least(3, 6), least(17, 1), least(17, 17)], [17, 100, 2, 19]);
    }

    #[test]
    fn loads_in_two_dimensions_are_those_of_a_row_times_the_column() {
        for (p, w) in [(8, 2), (9, 3), (7, 2)] {
            let plane = OverlappingWindows::wrapping(p, w, 2).unwrap();
            let row = routes(OverlappingWindows::wrapping(p, w, 1));
            let routes = routes(Ok(plane.clone()));
            assert_eq!((routes.loads(), routes.least_load()), (row.loads(), row.least_load()));
            let busiest = carried(&plane, |from, to| routes.route(from, to, 0)).into_values().max();
            assert_eq!(busiest, row.loads().into_iter().max().map(|load| load * p));
        }
    }

    #[test]
    fn large_networks_and_nodes_out_of_range_do_not_panic() {
        let new = |p, w, n| OverlappingWindows::new(p, w, n).and_then(|how| LengthBalanced::new(&how));
        let large =
            [(8193, 20, 1), (4097, 256, 1), ((1 << 16) + 1, 1, 1), (1 << 30, 1, 1), (1 << 30, (1 << 30) - 1, 1)];
        assert!(large.into_iter().all(|(p, w, n)| new(p, w, n).is_err()));
        let round = |p, w| OverlappingWindows::wrapping(p, w, 1).and_then(|how| LengthBalanced::new(&how));
        assert!(round(1 << 16, 17).is_err() && round(1 << 16, 2).is_ok());
        assert_eq!(new(1 << 16, (1 << 16) - 1, 1).map(|routes| routes.loads().len()), Ok((1 << 16) - 1));
        let how = OverlappingWindows::new(9, 2, 1).unwrap();
        let long = OverlappingWindows::new(4096, 2, 1).unwrap();
        let error = LengthBalanced::in_chunks(&long, 3).unwrap_err().to_string();
        assert_eq!(error, "P^2 / W times the number of chunks is 25165824; expected 1 to 16777216");
        assert!([0, 65, usize::MAX].into_iter().all(|chunks| LengthBalanced::in_chunks(&how, chunks).is_err()));
        assert_eq!(LengthBalanced::in_chunks(&how, 64).map(|routes| routes.chunks()), Ok(64));
        for how in [OverlappingWindows::new(5, 2, 2), OverlappingWindows::wrapping(6, 2, 2)] {
            let routes = routes(how);
            for node in [routes.network().nodes(), crate::ids::MAX_NODES].map(Node::new) {
                let _ = (
                    routes.route(node, Node::new(0), 0),
                    routes.route(Node::new(0), node, 0),
                    routes.route(node, node, 0),
                );
            }
        }
    }
}
