//! The choice of a process grid by price.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use super::ArrayError;
use super::error::joined;
use crate::algorithm::alltoall::Direct;
use crate::block::Volume;
use crate::collective::Collective;
use crate::cost::{Demand, Price};
use crate::ids::{Node, Rank};
use crate::machine::Machine;
use crate::topology::{Complete, Grid, Part, Topology};
use crate::vocabulary::{Placement, Problem, Work};

/// The most axes of a grid that are compared: as many as an array of four axes needs.
const MOST_AXES: usize = 3;

/// The process grid that is chosen for an array, and the candidates. Its text explains the choice.
///
/// Made by [`Communicator::grid_for`](crate::Communicator::grid_for), or for any network by
/// [`new`](Self::new).
#[derive(Clone)]
#[non_exhaustive]
pub struct GridChoice {
    /// The grid.
    pub grid: Grid,
    /// All candidates: those of fewer axes first, then those whose extents are closest to each other.
    pub candidates: Vec<GridCandidate>,
    shape: Vec<usize>,
    element_bytes: usize,
    network: String,
    machine: Machine,
}

/// A process grid, and the price of making each axis of the array whole in turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GridCandidate {
    /// The grid.
    pub grid: Grid,
    /// The price of each exchange, in their order.
    pub exchanges: Vec<Price>,
    /// The ranks that have no elements between some two exchanges.
    pub idle: usize,
    /// Whether the ranks of each row of the grid, along each axis, are a part of the network, as those
    /// of the network's own rows are. If so, rows share no channels.
    pub rows_are_parts: bool,
    /// Whether the price is a lower bound, on a machine that charges for the network: rows may share
    /// channels, or the loads of channels are not known.
    pub is_bound: bool,
}

impl GridCandidate {
    /// Returns the price of all exchanges, in picoseconds.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.exchanges.iter().fold(0, |sum: u128, price| sum.saturating_add(price.total))
    }
}

impl GridChoice {
    /// Chooses the process grid on which it is cheapest to make each axis of an array whole in turn,
    /// as a transform along each axis needs. Takes the ranks, their network and their hosts from a
    /// problem of any collective.
    ///
    /// At first the last axes are whole, as many as the grid leaves; the others are divided in ranges,
    /// axis i over axis i of the grid. From the last of these to the first, an exchange makes it whole
    /// and divides the next axis instead. A grid of one axis takes one exchange among all ranks, one of
    /// several axes takes more exchanges among fewer ranks.
    ///
    /// Compares all grids of up to three axes longer than 1, fewer than the array has. The price is that
    /// of a [direct](crate::algorithm::alltoall::Direct) exchange of the largest blocks, within all rows
    /// of the grid at the same time. Prefers, in this order, grids that leave fewer ranks idle; whose
    /// price is known, as on the network's own rows and columns; that are cheaper; whose rows are parts
    /// of the network. Prices are integers, so equal inputs give equal grids on all ranks. Takes time in proportion to the ranks, times the
    /// pairs of divisors of their number.
    ///
    /// ```
    /// use necklace::array::GridChoice;
    /// use necklace::collective::Collective;
    /// use necklace::machine::Machine;
    /// use necklace::schedule::Problem;
    /// use necklace::topology::parse;
    ///
    /// let grid = |extent| {
    ///     let problem = Problem::new(parse("torus:8x4").unwrap(), Collective::Alltoall)?;
    ///     let choice = GridChoice::new(&problem, &[extent; 3], 16, &Machine::PARAGON)?;
    ///     Ok::<_, Box<dyn std::error::Error>>(choice.grid.extents().to_vec())
    /// };
    /// // Of a small array, each message is short; of a large one, channels carry the fewest bytes if
    /// // all ranks exchange at once.
    /// assert_eq!(grid(32)?, [8, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArrayError::NoAxes`] if the shape has no axis, [`ArrayError::Size`] if the array has more than
    /// 2^63 - 1 bytes.
    pub fn new(
        problem: &Problem,
        shape: &[usize],
        element_bytes: usize,
        machine: &Machine,
    ) -> Result<Self, ArrayError> {
        if shape.is_empty() {
            return Err(ArrayError::NoAxes);
        }
        let bytes = shape
            .iter()
            .filter(|&&extent| extent > 0)
            .try_fold(element_bytes.max(1) as u128, |bytes, &extent| bytes.checked_mul(extent as u128));
        if bytes.is_none_or(|bytes| bytes >= 1 << 63) {
            let shape = shape.iter().copied().chain([element_bytes]).collect();
            return Err(ArrayError::Size { shape, padding: None });
        }
        let mut rows = Rows { problem, known: HashMap::new() };
        let candidates: Vec<GridCandidate> = grids(problem.ranks(), (shape.len() - 1).clamp(1, MOST_AXES))
            .into_iter()
            .map(|grid| candidate(grid, shape, element_bytes, machine, &mut rows))
            .collect();
        let key = |of: &&GridCandidate| (of.idle, of.is_bound, of.total(), !of.rows_are_parts);
        let cheapest = candidates.iter().min_by_key(key);
        let grid = cheapest.map(|candidate| candidate.grid.clone());
        let grid = grid.ok_or(ArrayError::Grid { ranks: problem.ranks() })?;
        let (shape, network, machine) = (shape.to_vec(), problem.topology().text(), *machine);
        Ok(Self { grid, candidates, shape, element_bytes, network, machine })
    }
}

/// Returns the grids of up to `axes` axes longer than 1, in the order of the candidates.
fn grids(ranks: usize, axes: usize) -> Vec<Grid> {
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
    let mut found = Vec::new();
    (1..=axes).for_each(|axes| further(ranks, axes, &mut Vec::new(), &mut found));
    let longest = |extents: &[usize]| extents.iter().copied().max();
    found.sort_by(|a, b| (a.len(), longest(a), b).cmp(&(b.len(), longest(b), a)));
    found.iter().filter_map(|extents| Grid::mesh(extents)).collect()
}

fn candidate(
    grid: Grid,
    shape: &[usize],
    element_bytes: usize,
    machine: &Machine,
    rows: &mut Rows<'_>,
) -> GridCandidate {
    let over = grid.extents();
    let divided = over.len().min(shape.len());
    let strides: Vec<usize> = (0..over.len()).map(|axis| over[axis + 1..].iter().product()).collect();
    // The extent of the grid over which each axis of the array is divided.
    let mut divisions: Vec<usize> = over[..divided].to_vec();
    divisions.resize(shape.len(), 1);
    let idle = |divisions: &[usize]| {
        let busy: usize = divisions.iter().zip(shape).map(|(&of, &extent)| of.min(extent)).product();
        over.iter().product::<usize>() - busy
    };
    let mut most_idle = idle(&divisions);
    let (mut exchanges, mut rows_are_parts, mut is_bound) = (Vec::new(), true, false);
    for axis in (0..divided.min(shape.len() - 1)).rev() {
        let pieces = divisions.iter().zip(shape).enumerate().map(|(other, (&of, &extent))| match other == axis + 1 {
            true => extent.div_ceil(over[axis]),
            false => extent.div_ceil(of),
        });
        let block = pieces.product::<usize>() * element_bytes;
        let row = rows.of(strides[axis], over[axis]);
        rows_are_parts &= row.are_parts;
        is_bound |= !row.are_parts && machine.charges_for_network();
        is_bound |= row.demands.iter().any(|demand| !demand.uncertain(machine).is_empty());
        let prices = row.demands.iter().map(|demand| demand.price(machine, block as u64));
        exchanges.extend(prices.max_by_key(|price| price.total));
        divisions.swap(axis, axis + 1);
        most_idle = most_idle.max(idle(&divisions));
    }
    GridCandidate { grid, exchanges, idle: most_idle, rows_are_parts, is_bound }
}

/// The rows of all grids on a network: groups of ranks that are a stride apart.
struct Rows<'a> {
    problem: &'a Problem,
    /// By stride and extent.
    known: HashMap<(usize, usize), Row>,
}

struct Row {
    /// The demand of the exchanges in all rows at once: one for each of their networks.
    demands: Vec<Demand>,
    /// Whether each row is a part of the network, as [`split`](crate::Communicator::split) finds it.
    /// Otherwise the demand is that of rows which share no channel.
    are_parts: bool,
}

impl Rows<'_> {
    fn of(&mut self, stride: usize, extent: usize) -> &Row {
        if !self.known.contains_key(&(stride, extent)) {
            let row = self.count(stride, extent);
            self.known.insert((stride, extent), row);
        }
        &self.known[&(stride, extent)]
    }

    fn count(&self, stride: usize, extent: usize) -> Row {
        let parts = self.parts(stride, extent);
        let are_parts = parts.is_some();
        let apart = || {
            let network: Arc<dyn Topology> = Arc::new(Complete::new(extent)?);
            alltoall(network, Placement::identity(extent))
        };
        let networks = parts.or_else(|| Some(vec![apart()?])).unwrap_or_default();
        let (host, work) = self.at_hosts(stride, extent);
        let claimed = networks.iter().filter_map(|network| Demand::claimed(&Direct, network).ok());
        Row { demands: claimed.map(|demand| Demand { host, work, ..demand }).collect(), are_parts }
    }

    /// Returns the different networks of the rows. `None` if some row is no part of the network.
    fn parts(&self, stride: usize, extent: usize) -> Option<Vec<Problem>> {
        let (topology, placement) = (self.problem.topology(), self.problem.placement());
        if extent == self.problem.ranks() {
            return Some(vec![alltoall(Arc::clone(topology), placement.clone())?]);
        }
        let mut parts: HashMap<(String, Vec<Node>), Problem> = HashMap::new();
        for first in self.firsts(stride, extent) {
            let nodes: Vec<Node> = row(first, stride, extent).map(|rank| placement.node(rank)).collect();
            let Part { topology, numbers, .. } = topology.part(&nodes)?;
            let placement = Placement::new(numbers.clone(), topology.nodes()).ok()?;
            if let Entry::Vacant(entry) = parts.entry((topology.text(), numbers)) {
                entry.insert(alltoall(topology, placement)?);
            }
        }
        Some(parts.into_values().collect())
    }

    /// Returns the first rank of each row.
    fn firsts(&self, stride: usize, extent: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.problem.ranks()).filter(move |rank| rank / stride % extent == 0)
    }

    /// Returns the most blocks that leave a host, and the work of its ranks, in all rows at once.
    fn at_hosts(&self, stride: usize, extent: usize) -> (Volume, Work) {
        let Some(hosts) = self.problem.hosts() else { return (Volume::ZERO, Work::default()) };
        let mut leaving = vec![0; hosts.count()];
        for first in self.firsts(stride, extent) {
            let mut here: HashMap<usize, u64> = HashMap::new();
            let of_row = row(first, stride, extent).filter_map(|rank| hosts.host(rank));
            of_row.for_each(|host| *here.entry(host).or_default() += 1);
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
fn row(first: usize, stride: usize, extent: usize) -> impl Iterator<Item = Rank> {
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
        for (text, candidate) in texts.iter().zip(candidates) {
            write!(f, "\n  {text:width$} {:.2} us", candidate.total() as f64 / 1e6)?;
            let mut separator = " = ";
            for price in candidate.exchanges.iter().filter(|_| candidate.exchanges.len() > 1) {
                write!(f, "{separator}{:.2}", price.total as f64 / 1e6)?;
                separator = " + ";
            }
            if candidate.is_bound {
                f.write_str(" or more")?;
            }
            if candidate.idle > 0 {
                write!(f, ", {} ranks idle", candidate.idle)?;
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
