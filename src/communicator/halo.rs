//! Neighbours in a process grid, and the halos of its arrays.

use bytemuck::Pod;

use super::cartesian::Halo;
use super::lengths::check;
use super::neighbour_key::NeighbourCall;
use super::neighbourhood::{Direction, Neighbourhood};
use super::varying_key::{GivenBlocks, Listed};
use super::{Cartesian, Persistent};
use crate::error::{ArgumentError, CallError, Error};
use crate::plan::Strided;
use crate::topology::Topology;

/// The most halos that a grid keeps.
const MOST_HALOS: usize = 32;

impl Cartesian {
    /// Returns the neighbours of this rank in the process grid. Local.
    ///
    /// There are two for each axis, the one behind and the one ahead, in the order of the axes, as
    /// in MPI. Blocks are matched by direction: what a rank sends ahead is received as coming from
    /// behind, also where both neighbours are one rank, on an axis of two, or this rank itself, on
    /// an axis of one. At the border of a mesh, the neighbour outside is missing.
    #[must_use]
    pub fn neighbourhood(&self) -> Neighbourhood {
        let axes = 0..self.grid().extents().len();
        let sides = axes.flat_map(|axis| [(axis, -1), (axis, 1)]);
        let (destinations, sources) = sides
            .map(|(axis, by)| {
                let rank = self.shift(axis, by).1;
                let number = |ahead: bool| 2 * axis + usize::from(ahead);
                let direction = |number| rank.map(|rank| Direction { rank, number });
                (direction(number(by > 0)), direction(number(by < 0)))
            })
            .unzip();
        let name = format!("the grid {}", self.grid().text());
        let owner = self.context.communicator();
        Neighbourhood { destinations, sources, name, owner, is_for_one_call: false }
    }

    /// Exchanges the halo of an array with the neighbours in the process grid, in place.
    ///
    /// The array has these extents, one for each axis of the grid, the last axis fastest; they
    /// include a halo of `width` elements on each side. The outermost elements of the interior go
    /// to the neighbours, and theirs arrive in the halo. Edges and corners of the halo, where two
    /// axes end, do not change. Beyond the border of a mesh, the halo does not change.
    ///
    /// The width is the same on all ranks. Along an axis, the extents may differ from rank to rank;
    /// neighbours along that axis have the same extents along the others. Ranks find it if the
    /// widths differ, or the numbers of elements of a side; not if a side has another shape with as
    /// many elements.
    ///
    /// ```
    /// use necklace::topology::Grid;
    /// // A row of three ranks, each with two elements and a halo of one.
    /// let rows = necklace::local::run(3, |mut comm| {
    ///     let mut grid = comm.on_grid(Grid::torus(&[3]).unwrap()).unwrap();
    ///     let me = grid.rank();
    ///     let mut row = [99, 10 * me, 10 * me + 1, 99];
    ///     grid.exchange_halo(&mut row, &[4], 1).unwrap();
    ///     row
    /// });
    /// assert_eq!(rows.unwrap()[0], [21, 0, 1, 10]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ArgumentError::Halo`] unless there is an extent for each axis of the grid, each at least
    /// three times the width; [`ArgumentError::Length`] unless the buffer has as many elements as
    /// the array; otherwise see [`Communicator`](super::Communicator).
    #[track_caller]
    pub fn exchange_halo<T: Pod>(&mut self, buffer: &mut [T], extents: &[usize], width: usize) -> Result<(), Error> {
        self.exchange_sides(buffer, extents, width).map_err(self.context.error_of("exchange_halo"))
    }

    fn exchange_sides<T: Pod>(&mut self, buffer: &mut [T], extents: &[usize], width: usize) -> Result<(), CallError> {
        let known = self.halos.iter().position(|halo| halo.extents == extents && halo.width == width);
        let halo = match known {
            Some(at) => self.halos.remove(at),
            None => self.halo_of(extents, width)?,
        };
        let elements = extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        check("buffer", buffer.len(), elements.unwrap_or(usize::MAX))?;
        let (from, into) = (Listed(&halo.from), Listed(&halo.into));
        let call =
            NeighbourCall::of::<T>("exchange_halo", &halo.near, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into));
        self.call_neighbours(call.in_place(), &[], buffer)?;
        if self.halos.len() == MOST_HALOS {
            self.halos.remove(0);
        }
        self.halos.push(halo);
        Ok(())
    }

    /// Plans an [`exchange_halo`](Self::exchange_halo) of an array of these extents, for
    /// [`execute_in_place`](Persistent::execute_in_place). Local.
    ///
    /// # Errors
    ///
    /// Those of [`exchange_halo`](Self::exchange_halo).
    #[track_caller]
    pub fn halo_init<T: Pod>(&mut self, extents: &[usize], width: usize) -> Result<Persistent<T>, Error> {
        let Halo { near, from, into, .. } = self.halo_of(extents, width).map_err(self.context.error_of("halo_init"))?;
        let (from, into) = (Listed(&from), Listed(&into));
        let call =
            NeighbourCall::of::<T>("exchange_halo", &near, GivenBlocks::Listed(&from), GivenBlocks::Listed(&into));
        self.neighbour_init(&call.in_place()).map_err(self.context.error_of("halo_init"))
    }

    /// Returns the halo of an array: the elements to send and those to receive.
    fn halo_of(&self, extents: &[usize], width: usize) -> Result<Halo, ArgumentError> {
        let axes = self.grid().extents().len();
        let refused = || ArgumentError::Halo { extents: extents.to_vec(), axes, width };
        let least = width.checked_mul(3).ok_or_else(refused)?;
        if extents.len() != axes || extents.iter().any(|&extent| extent < least) {
            return Err(refused());
        }
        let interior: Vec<usize> = extents.iter().map(|extent| extent - 2 * width).collect();
        let side = |axis: usize, start: usize| {
            let (mut starts, mut lengths) = (vec![width; axes], interior.clone());
            (starts[axis], lengths[axis]) = (start, width);
            Strided::part(extents, &starts, &lengths).ok_or_else(refused)
        };
        let (mut from, mut into) = (Vec::new(), Vec::new());
        for (axis, &extent) in extents.iter().enumerate() {
            from.extend([side(axis, width)?, side(axis, extent - 2 * width)?]);
            into.extend([side(axis, 0)?, side(axis, extent - width)?]);
        }
        // Ranks compare the name, and so the width: their extents may differ along an axis.
        let near = self.neighbourhood();
        let near = Neighbourhood { name: format!("{}, with a halo of {width}", near.name), ..near };
        Ok(Halo { extents: extents.to_vec(), width, near, from, into })
    }
}
