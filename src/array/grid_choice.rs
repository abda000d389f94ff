//! The choice of a process grid by price.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::ArrayError;
use super::distribution::is_possible;
use super::error::joined;
use crate::algorithm::find;
use crate::block::Volume;
use crate::collective::Collective;
use crate::cost::{Demand, MOST_COUNTED, Price};
use crate::ids::{Node, Rank};
use crate::machine::Machine;
use crate::select::Terms;
use crate::topology::{Complete, Grid, Part, Topology, same};
use crate::vocabulary::{Placement, Problem, Work};

/// The most axes of a grid that are compared: as many as an array of four axes needs.
const MOST_AXES: usize = 3;

/// The most ranks for which all grids are compared.
const MOST_RANKS: usize = 1 << 12;

/// A process grid, and why it was chosen. Its text shows the candidates with their prices.
///
/// Made by [`Communicator::grid_for`](crate::Communicator::grid_for), or for any network by
/// [`new`](Self::new).
#[derive(Clone)]
#[non_exhaustive]
pub struct GridChoice {
    /// The grid.
    pub grid: Grid,
    /// All candidates. Those of fewer axes come first, then those whose longest axis is shorter.
    pub candidates: Vec<GridCandidate>,
    shape: Vec<usize>,
    element_bytes: u64,
    network: String,
    machine: Machine,
}

/// A process grid, and the price of making the axes of an array whole in turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GridCandidate {
    /// The grid.
    pub grid: Grid,
    /// The price of each exchange, in order.
    pub exchanges: Vec<Price>,
    /// The most elements that a rank has at any time.
    pub largest: u64,
    /// Whether the price is a lower bound. It is one if the machine charges for the network and the
    /// loads of channels are unknown. Rows that are no parts of the network may share channels.
    pub is_bound: bool,
}

impl GridCandidate {
    /// Returns the price of all exchanges, in picoseconds.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.exchanges.iter().fold(0, |sum: u128, price| sum.saturating_add(price.total))
    }

    /// Returns whether no rank has over 1/4 more elements than `least`.
    fn is_even(&self, least: u64) -> bool {
        self.largest <= least.saturating_add(least / 4)
    }
}

impl GridChoice {
    /// Chooses the process grid on which it is cheapest to make some axes of an array whole in turn, as
    /// a transform along these axes needs.
    ///
    /// The ranks, their network and their hosts are those of a problem of any collective. The terms
    /// give the machine and the bytes of an element as those of a block.
    ///
    /// The grid divides the axes that need not be whole, then those of `axes` from the first. The last
    /// ones of `axes` are whole at first. Then, from last to first, an exchange makes each other axis
    /// whole and divides one that has been whole instead. So slabs (a grid of one axis) need one
    /// exchange among all ranks, and pencils two exchanges, each among fewer ranks.
    ///
    /// Compares all grids of up to three axes; for more than 4096 ranks only slabs, the squarest grids
    /// and the extents of the network. Does not choose a grid on which a rank has over 1/4 more
    /// elements than on the most even candidate. Prefers a known price to a lower bound, then the lower
    /// price, then a grid whose rows are parts of the network. The price is that of a
    /// [direct](crate::algorithm::alltoall::Direct) exchange of the largest blocks, in all rows of the
    /// grid at once. Equal inputs give equal choices on all ranks. Takes milliseconds; up to seconds
    /// for thousands of ranks.
    ///
    /// ```
    /// use necklace::array::GridChoice;
    /// use necklace::collective::Collective;
    /// use necklace::machine::Machine;
    /// use necklace::schedule::Problem;
    /// use necklace::select::Terms;
    /// use necklace::topology::parse;
    ///
    /// // Complex numbers of 16 bytes on 64 ranks.
    /// let problem = Problem::new(parse("complete:64").unwrap(), Collective::Alltoall)?;
    /// let grid = |extent| GridChoice::new(&problem, &[extent; 3], &[0, 1, 2], &Terms::new(16, &Machine::TCP));
    /// // In a small array messages are short, so fewer messages are cheaper. In a large array bytes
    /// // cost more, and one exchange moves the fewest.
    /// assert_eq!(grid(64)?.grid.extents(), [8, 8]);
    /// assert_eq!(grid(1024)?.grid.extents(), [64]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArrayError::NoAxes`] if the shape has no axis, [`ArrayError::Size`] if the product of the
    /// extents other than 0 exceeds 2^63 - 1, [`ArrayError::Axis`] and [`ArrayError::AxisTwice`] unless
    /// `axes` are axes of the array, each at most once.
    pub fn new(problem: &Problem, shape: &[usize], axes: &[usize], terms: &Terms) -> Result<Self, ArrayError> {
        let all = shape.len();
        if all == 0 {
            return Err(ArrayError::NoAxes);
        }
        for (at, &axis) in axes.iter().enumerate() {
            match axis {
                _ if axis >= all => return Err(ArrayError::Axis { axis, axes: all }),
                _ if axes[..at].contains(&axis) => return Err(ArrayError::AxisTwice { axis }),
                _ => {}
            }
        }
        if !is_possible(shape.iter().copied().filter(|&extent| extent > 0)) {
            return Err(ArrayError::Size { shape: shape.to_vec(), padding: None });
        }
        let mut rows = Rows { problem, machine: terms.machine(), known: HashMap::new() };
        let array = Array { shape, axes, element_bytes: terms.block_bytes() };
        let divisible = all - usize::from(!axes.is_empty());
        let candidates: Vec<GridCandidate> = grids(problem, divisible.clamp(1, MOST_AXES))
            .into_iter()
            .filter_map(|grid| array.candidate(grid, &mut rows))
            .collect();
        let least = candidates.iter().map(|candidate| candidate.largest).min().unwrap_or(0);
        let is_even = |candidate: &&GridCandidate| candidate.is_even(least);
        let key = |candidate: &GridCandidate| (candidate.is_bound, candidate.total());
        let cheapest = candidates.iter().filter(is_even).map(key).min();
        let equal = || candidates.iter().filter(is_even).filter(|&candidate| Some(key(candidate)) == cheapest);
        let chosen = equal().find(|candidate| rows.are_parts(&candidate.grid)).or_else(|| equal().next());
        let grid = chosen.expect("a direct exchange among all ranks has a price").grid.clone();
        Ok(Self {
            grid,
            candidates,
            shape: shape.to_vec(),
            element_bytes: terms.block_bytes(),
            network: problem.topology().text(),
            machine: *terms.machine(),
        })
    }
}

/// Returns the grids of up to `axes` axes, each of several nodes, in the order of the candidates.
fn grids(problem: &Problem, axes: usize) -> Vec<Grid> {
    fn further(rest: usize, axes: usize, extents: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        if axes == 1 {
            found.push(extents.iter().copied().chain([rest]).collect());
            return;
        }
        for extent in (2..=rest / 2).filter(|extent| rest.is_multiple_of(*extent)) {
            extents.push(extent);
            further(rest / extent, axes - 1, extents, found);
            extents.pop();
        }
    }
    let ranks = problem.ranks();
    let mut found = Vec::new();
    if ranks <= MOST_RANKS {
        (1..=axes).for_each(|axes| further(ranks, axes, &mut Vec::new(), &mut found));
    } else {
        let squarest =
            (1..=axes).filter_map(|axes| Grid::balanced(ranks, axes).ok()).map(|grid| grid.extents().to_vec());
        let factors = problem.topology().factors().unwrap_or_default();
        let own = factors.iter().map(|factor| factor.extent()).collect();
        found = squarest.chain([own]).collect();
        found.iter_mut().for_each(|extents| extents.retain(|&extent| extent > 1));
        found.retain(|extents| (1..=axes).contains(&extents.len()) && extents.iter().product::<usize>() == ranks);
    }
    found.sort_by_cached_key(|extents| (extents.len(), extents.iter().copied().max(), Reverse(extents.clone())));
    found.dedup();
    found.iter().filter_map(|extents| Grid::mesh(extents).ok()).collect()
}

/// The ranks between neighbours along each axis of a grid.
fn strides(grid: &Grid) -> impl Iterator<Item = (usize, usize)> {
    let extents = grid.extents();
    (0..extents.len()).map(|axis| (extents[axis + 1..].iter().product(), extents[axis]))
}

/// An array, and the axes that are made whole in turn.
struct Array<'a> {
    shape: &'a [usize],
    axes: &'a [usize],
    element_bytes: u64,
}

impl Array<'_> {
    /// Returns a grid with its prices. `None` if it has more axes than the array can give up.
    fn candidate(&self, grid: Grid, rows: &mut Rows<'_>) -> Option<GridCandidate> {
        let Self { shape, axes, element_bytes } = *self;
        let machine = rows.machine;
        let strides: Vec<(usize, usize)> = strides(&grid).collect();
        // The axis of the grid over which each axis of the array is divided.
        let mut over = vec![None; shape.len()];
        let divisible = (0..shape.len()).filter(|axis| !axes.contains(axis));
        let mut divisible = divisible.chain(axes.iter().copied().take(axes.len().saturating_sub(1)));
        for dimension in 0..strides.len() {
            match divisible.next() {
                Some(axis) => over[axis] = Some(dimension),
                // An array of one axis, which has to be whole.
                None if strides.len() == 1 => {}
                None => return None,
            }
        }
        let longest = |axis: usize, over: Option<usize>| {
            (shape[axis].div_ceil(over.map_or(1, |dimension| strides[dimension].1))) as u64
        };
        let part = |over: &[Option<usize>]| (0..shape.len()).map(|axis| longest(axis, over[axis])).product::<u64>();
        let mut largest = part(&over);
        let (mut exchanges, mut is_bound) = (Vec::new(), false);
        let mut pending = axes.to_vec();
        loop {
            while pending.last().is_some_and(|&axis| over[axis].is_none()) {
                pending.pop();
            }
            let Some(&next) = pending.last() else { break };
            let done = |axis: &usize| over[*axis].is_none() && !pending.contains(axis);
            let given_up = (next + 1..shape.len()).find(done).or_else(|| (0..next).rev().find(done))?;
            let dimension = over[next]?;
            // A block has the indices that the sender has of one axis, and the receiver of the other.
            let mut both = over.clone();
            both[given_up] = Some(dimension);
            let block = part(&both).saturating_mul(element_bytes);
            let row = rows.of(strides[dimension])?;
            is_bound |= row.is_bound;
            let prices = row.demands.iter().map(|demand| demand.price(machine, block));
            exchanges.push(prices.max_by_key(by_total)?);
            over.swap(next, given_up);
            largest = largest.max(part(&over));
        }
        Some(GridCandidate { grid, exchanges, largest, is_bound })
    }
}

fn by_total(price: &Price) -> (u128, Price) {
    (price.total, *price)
}

/// The rows of all grids on a network: groups of ranks that are a stride apart.
struct Rows<'a> {
    problem: &'a Problem,
    machine: &'a Machine,
    /// By stride and extent.
    known: HashMap<(usize, usize), Option<Row>>,
}

struct Row {
    /// The demand of the exchanges in all rows at once, for each different network of a row.
    demands: Vec<Demand>,
    is_bound: bool,
}

impl<'a> Rows<'a> {
    /// Returns the demand of rows of a stride and an extent. `None` if it cannot be found.
    fn of(&mut self, row: (usize, usize)) -> Option<&Row> {
        if !self.known.contains_key(&row) {
            let counted = self.count(row);
            self.known.insert(row, counted);
        }
        self.known[&row].as_ref()
    }

    fn count(&self, (stride, extent): (usize, usize)) -> Option<Row> {
        let is_charged = self.machine.charges_for_network();
        let parts = if is_charged { self.parts((stride, extent)) } else { None };
        let are_known = parts.is_some();
        let complete = || alltoall(Arc::new(Complete::new(extent).ok()?), Placement::identity(extent));
        let networks = match parts {
            Some(parts) => parts,
            None => vec![complete()?],
        };
        let (host, work) = self.at_hosts((stride, extent));
        let mut row = Row { demands: Vec::with_capacity(networks.len()), is_bound: is_charged && !are_known };
        for network in &networks {
            let direct = find(&Collective::Alltoall, "direct").ok()?;
            let demand = Demand::claimed(&*direct, network).ok()?;
            row.is_bound |= !demand.uncertain(self.machine).is_empty();
            row.demands.push(Demand { host, work, ..demand });
        }
        Some(row)
    }

    /// Returns whether the rows of a grid are parts of the network.
    fn are_parts(&self, grid: &Grid) -> bool {
        strides(grid).all(|row| self.each_part(row, |_, _| true).is_some())
    }

    /// Returns the different networks of the rows. `None` if a row is no part of the network, or if its
    /// network is so irregular and large that the loads of its channels are not counted.
    fn parts(&self, row: (usize, usize)) -> Option<Vec<Problem>> {
        if row.1 == self.problem.ranks() {
            let (topology, placement) = (self.problem.topology(), self.problem.placement());
            return Some(vec![alltoall(Arc::clone(topology), placement.clone())?]);
        }
        let mut parts: Vec<Problem> = Vec::new();
        self.each_part(row, |topology, placement| {
            let is_known = |part: &Problem| part.placement() == &placement && same(part.topology(), &topology);
            if parts.iter().any(is_known) {
                return true;
            }
            let counts = topology.factors().is_some() || row.1 <= MOST_COUNTED;
            let part = alltoall(topology, placement).filter(|_| counts);
            parts.extend(part.clone());
            part.is_some()
        })?;
        Some(parts)
    }

    /// Calls the function on the part of the network of each row. `None` if a row is no part of it, or
    /// if the function returns `false`.
    fn each_part(
        &self,
        (stride, extent): (usize, usize),
        mut each: impl FnMut(Arc<dyn Topology>, Placement) -> bool,
    ) -> Option<()> {
        let (topology, placement) = (self.problem.topology(), self.problem.placement());
        for first in self.firsts((stride, extent)) {
            let nodes: Vec<Node> = ranks(first, stride, extent).map(|rank| placement.node(rank)).collect();
            let Part { topology, numbers, .. } = topology.part(&nodes)?;
            let placement = Placement::new(numbers, topology.nodes()).ok()?;
            each(topology, placement).then_some(())?;
        }
        Some(())
    }

    /// Returns the first rank of each row.
    fn firsts(&self, (stride, extent): (usize, usize)) -> impl Iterator<Item = usize> + use<> {
        (0..self.problem.ranks()).filter(move |rank| rank / stride % extent == 0)
    }

    /// Returns the most blocks that leave a host, and the work of its ranks, in all rows at once.
    fn at_hosts(&self, (stride, extent): (usize, usize)) -> (Volume, Work) {
        let Some(hosts) = self.problem.hosts() else { return (Volume::ZERO, Work::default()) };
        let mut leaving = vec![0; hosts.count()];
        for first in self.firsts((stride, extent)) {
            let mut here: HashMap<usize, u64> = HashMap::new();
            for host in ranks(first, stride, extent).filter_map(|rank| hosts.host(rank)) {
                *here.entry(host).or_default() += 1;
            }
            here.into_iter().for_each(|(host, ranks)| leaving[host] += ranks * (extent as u64 - ranks));
        }
        let ranks = (0..hosts.count()).map(|host| hosts.ranks_on(host).len() as u64).max().unwrap_or(0);
        let messages = ranks * (extent as u64 - 1);
        let waits = if extent > 1 { ranks } else { 0 };
        let work = Work { waits, handled: 2 * messages, received: messages.into(), combined: Volume::ZERO };
        (leaving.into_iter().max().unwrap_or(0).into(), work)
    }
}

/// Returns the ranks of a row.
fn ranks(first: usize, stride: usize, extent: usize) -> impl Iterator<Item = Rank> {
    (0..extent).map(move |i| Rank::new(first + i * stride))
}

fn alltoall(topology: Arc<dyn Topology>, placement: Placement) -> Option<Problem> {
    Problem::placed(topology, placement, Collective::Alltoall).ok()
}

impl fmt::Display for GridChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { grid, candidates, shape, element_bytes, network, machine } = self;
        let texts: Vec<String> = candidates.iter().map(|candidate| joined(candidate.grid.extents(), "x")).collect();
        let (shape, grid) = (joined(shape, "x"), joined(grid.extents(), "x"));
        write!(f, "{shape} elements of {element_bytes} bytes on {network}: grid {grid}, by the prices of {machine}")?;
        let width = texts.iter().map(String::len).max().unwrap_or(0);
        let least = candidates.iter().map(|candidate| candidate.largest).min().unwrap_or(0);
        for (text, candidate) in texts.iter().zip(candidates) {
            write!(f, "\n  {text:width$} {:.2} us", candidate.total() as f64 / 1e6)?;
            let mut separator = " = ";
            for price in candidate.exchanges.iter().filter(|_| candidate.exchanges.len() > 1) {
                write!(f, "{separator}{:.2}", price.total as f64 / 1e6)?;
                separator = " + ";
            }
            let or_more = if candidate.is_bound { " or more" } else { "" };
            write!(f, "{or_more}, at most {} elements on a rank", candidate.largest)?;
            if !candidate.is_even(least) {
                f.write_str(", too uneven")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for GridChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
