//! Communicators with a process grid.

use std::ops::{Deref, DerefMut};

use super::Communicator;
use super::neighbourhood::Neighbourhood;
use crate::error::{BuildError, CallError, Error};
use crate::ids::Node;
use crate::plan::Strided;
use crate::topology::{Coordinates, Grid, Topology};

/// A communicator whose ranks have coordinates in a process grid, as one of `MPI_Cart_create`.
///
/// Made by [`on_grid`](Communicator::on_grid). Rank r is node r of the grid: ranks are numbered
/// row-major, the last axis fastest. The grid says how the program divides its data. It is
/// independent of the [network](Communicator::topology), which the algorithms use.
///
/// The methods of [`Communicator`] are available on it.
#[derive(Debug)]
pub struct Cartesian {
    comm: Communicator,
    grid: Grid,
    /// The halos that were exchanged, the latest last.
    pub(super) halos: Vec<Halo>,
}

/// The halo of an array. A grid keeps the last ones, so that repeated exchanges allocate nothing.
#[derive(Debug)]
pub(super) struct Halo {
    pub(super) extents: Vec<usize>,
    pub(super) width: usize,
    pub(super) near: Neighbourhood,
    /// The elements to send, in the order of the neighbours.
    pub(super) from: Vec<Strided>,
    /// The elements to receive, in that order.
    pub(super) into: Vec<Strided>,
}

impl Communicator {
    /// Makes a communicator of the same members whose ranks have coordinates in a process grid.
    ///
    /// Collective, as [`dup`](Self::dup). The ranks check that they agree on the grid.
    ///
    /// ```
    /// use necklace::topology::Grid;
    /// // Six ranks, on any network, as 3 x 2.
    /// let sums = necklace::local::run(6, |mut comm| {
    ///     let mut grid = comm.on_grid(Grid::balanced(6, 2).unwrap())?;
    ///     let mut row = grid.axis(1)?;
    ///     let mut sum = [0];
    ///     row.allreduce(&[grid.rank()], &mut sum, necklace::op::Sum)?;
    ///     Ok::<_, necklace::Error>((grid.coordinates(grid.rank()).to_vec(), sum[0]))
    /// })?;
    /// assert_eq!(sums[3].as_ref().unwrap(), &(vec![1, 1], 5));
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError::Ranks`] unless the grid has as many nodes as the communicator has ranks;
    /// otherwise see [`Communicator`].
    #[track_caller]
    pub fn on_grid(&mut self, grid: Grid) -> Result<Cartesian, Error> {
        self.placed_on(grid).map_err(self.context.error_of("on_grid"))
    }

    fn placed_on(&mut self, grid: Grid) -> Result<Cartesian, CallError> {
        let (ranks, nodes) = (self.size(), grid.nodes());
        if ranks != nodes {
            return Err(BuildError::Ranks { ranks, topology: grid.text(), nodes }.into());
        }
        self.barrier_for(self.local_parts.said_in(format!("on_grid of {}", grid.text()).into()))?;
        Ok(Cartesian::new(self.duplicate_agreed()?, grid))
    }
}

impl Cartesian {
    fn new(comm: Communicator, grid: Grid) -> Self {
        Self { comm, grid, halos: Vec::new() }
    }

    /// Returns the process grid.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the coordinates of a rank. For a rank out of range, they are some coordinates of the
    /// grid.
    #[must_use]
    pub fn coordinates(&self, rank: usize) -> Coordinates {
        self.grid.coordinates(Node::new(rank))
    }

    /// Returns the rank at these coordinates. On a torus they wrap around. `None` if the number of
    /// coordinates differs from that of the axes, or if they are outside a mesh.
    #[must_use]
    pub fn rank_at(&self, coordinates: &[isize]) -> Option<usize> {
        let extents = self.grid.extents();
        let inside = |(&x, &extent): (&isize, &usize)| match self.grid.wraps() {
            true => Some(x.rem_euclid(extent as isize) as usize),
            false => usize::try_from(x).ok().filter(|x| *x < extent),
        };
        let at: Option<Vec<usize>> = coordinates.iter().zip(extents).map(inside).collect();
        let node = self.grid.node(&at.filter(|at| at.len() == coordinates.len())?).index();
        (node < self.size()).then_some(node)
    }

    /// Returns the ranks that are `by` behind and `by` ahead of this one along an axis, as
    /// `MPI_Cart_shift`: the rank that data comes from if all ranks send theirs that far, and the
    /// rank that it goes to. `None` outside a mesh, and if there is no such axis.
    ///
    /// ```
    /// use necklace::topology::Grid;
    /// let neighbours = necklace::local::run(6, |mut comm| {
    ///     let grid = comm.on_grid(Grid::mesh(&[2, 3]).unwrap())?;
    ///     Ok::<_, necklace::Error>((grid.shift(0, 1), grid.shift(1, -1)))
    /// })?;
    /// assert_eq!(neighbours[0].as_ref().unwrap(), &((None, Some(3)), (Some(1), None)));
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    #[must_use]
    pub fn shift(&self, axis: usize, by: isize) -> (Option<usize>, Option<usize>) {
        let at = self.coordinates(self.rank());
        // Round a ring, only the remainder counts, so no sum overflows.
        let by = match self.grid.extents().get(axis) {
            Some(&extent) if self.grid.wraps() => by % extent as isize,
            _ => by,
        };
        let moved = |by: Option<isize>| {
            let mut to: Vec<isize> = at.iter().map(|&x| x as isize).collect();
            let x = to.get_mut(axis)?;
            *x = x.checked_add(by?)?;
            self.rank_at(&to)
        };
        (moved(by.checked_neg()), moved(Some(by)))
    }

    /// Returns when all members have called it, and checks that all have made the same calls, as
    /// [`Communicator::close`].
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::close`].
    #[track_caller]
    pub fn close(self) -> Result<(), Error> {
        self.comm.close()
    }

    /// Makes a communicator of the same members with the same process grid, as
    /// [`Communicator::dup`].
    ///
    /// ```
    /// use necklace::topology::Grid;
    /// let extents = necklace::local::run(6, |mut comm| {
    ///     let mut grid = comm.on_grid(Grid::balanced(6, 2).unwrap())?;
    ///     let twin = grid.dup()?;
    ///     Ok::<_, necklace::Error>(twin.grid().extents().to_vec())
    /// })?;
    /// assert_eq!(extents[0].as_ref().unwrap(), &[3, 2]);
    /// # Ok::<(), necklace::JobError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn dup(&mut self) -> Result<Self, Error> {
        self.comm.dup().map(|comm| Self::new(comm, self.grid.clone()))
    }

    /// Makes a communicator with the same process grid for each of `threads` threads of this
    /// process, as [`Communicator::for_threads`].
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    #[track_caller]
    pub fn for_threads(&mut self, threads: usize) -> Result<Vec<Self>, Error> {
        let comms = self.comm.for_threads(threads)?.into_iter();
        Ok(comms.map(|comm| Self::new(comm, self.grid.clone())).collect())
    }

    /// Returns the communicator of the ranks that differ from this one only along an axis, in the
    /// order of that axis, as `MPI_Cart_sub`.
    ///
    /// Every member calls it, in the same order among calls that make communicators. No message is
    /// sent: if the members make parts along different axes, the next [`dup`](Self::dup),
    /// [`for_threads`](Self::for_threads), [`split`](Communicator::split) or
    /// [`on_grid`](Communicator::on_grid) fails. If the parts are used before that, their calls wait
    /// until a deadline.
    ///
    /// Its algorithms use the part of the network that these ranks are on: the row of a torus is a
    /// ring.
    ///
    /// # Errors
    ///
    /// Those of [`plane`](Self::plane).
    #[track_caller]
    pub fn axis(&mut self, axis: usize) -> Result<Self, Error> {
        self.part_along(&[axis]).map_err(self.comm.context.error_of("axis"))
    }

    /// Returns the communicator of the ranks that differ from this one only along some axes, with
    /// the grid of these axes, in the order given, as `MPI_Cart_sub`. Like [`axis`](Self::axis),
    /// every member calls it and no message is sent.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Axes`](crate::error::ArgumentError::Axes) if there is no axis, or one is
    /// given twice or is not an axis of the grid.
    #[track_caller]
    pub fn plane(&mut self, axes: &[usize]) -> Result<Self, Error> {
        self.part_along(axes).map_err(self.comm.context.error_of("plane"))
    }

    fn part_along(&mut self, axes: &[usize]) -> Result<Self, CallError> {
        let extents = self.grid.extents();
        let is_wrong = |(i, axis): (usize, &usize)| *axis >= extents.len() || axes[..i].contains(axis);
        let kept: Vec<usize> = axes.iter().filter_map(|&axis| extents.get(axis).copied()).collect();
        let grid = if self.grid.wraps() { Grid::torus(&kept) } else { Grid::mesh(&kept) };
        let Some(grid) = grid.ok().filter(|_| !axes.iter().enumerate().any(is_wrong)) else {
            return Err(crate::error::ArgumentError::Axes { axes: axes.to_vec(), dimensions: extents.len() }.into());
        };
        let mut at = self.coordinates(self.rank());
        let rank_of = |node: usize| {
            for (&axis, &x) in axes.iter().zip(&grid.coordinates(Node::new(node))) {
                at[axis] = x;
            }
            self.grid.node(&at).index()
        };
        let ranks: Vec<usize> = (0..grid.nodes()).map(rank_of).collect();
        // Parts along other axes differ in the number of their axes, or in this one.
        let order = axes.iter().fold(1_u64, |order, &axis| order.wrapping_mul(31).wrapping_add(axis as u64 + 1));
        let lowest = ranks.iter().min().copied().unwrap_or(0) as u64;
        let context = self.comm.next_context(order << 32 | lowest);
        self.comm.local_parts.add(axes);
        Ok(Self::new(self.comm.part_with(context, &ranks)?, grid))
    }
}

impl Deref for Cartesian {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.comm
    }
}

impl DerefMut for Cartesian {
    fn deref_mut(&mut self) -> &mut Communicator {
        &mut self.comm
    }
}
