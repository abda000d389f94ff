//! Johnsson & Ho's exchanges within a cube, element by element.
//!
//! Source: TR-16-92, §2 to §6. On a cube of d dimensions, every node has one element for every
//! node: K = 2^d elements per node, one of them for itself. All channels of a node can be used at
//! once. The schedules are *homogeneous*: the path of an element depends on its relative address,
//! source xor destination, alone. Its route from node i is the route from node 0, xor i at every
//! node. So a schedule says which relative address crosses which dimension in which step. No
//! channel carries two elements at a time if and only if no dimension is crossed by two relative
//! addresses at a time.
//!
//! An exchange consists of groups of relative addresses that are scheduled together. One after the
//! other, the groups are the paper's schedule, with one element per channel and step. Side by side,
//! in a table, they are sent in the fewest blocks, or over wide channels.
//!
//! [`NecklaceExchange`](super::alltoall::NecklaceExchange) has a parameter `scheme`:
//!
//! | `scheme` | steps | span | how |
//! |---|---|---|---|
//! | 1: pairs, Algorithm 1 | d ceil(K/2d) | d | d complement pairs together, each a dimension ahead of the next |
//! | 2: wrapped, Algorithm 2 | K/2 | K/2 | all complement pairs, one beginning in each step; late ones wrap around |
//! | 3: mixed, Algorithm 3 | K/2 | d + K/2 mod d | the second for d + K/2 mod d pairs, the first for the others |
//! | 4: necklaces, Algorithm 4 | K/2 | d | the members of a full necklace together; cyclic addresses by pairs |
//!
//! (For Algorithms 1 to 3 the span is that of a complement pair, as in the paper's Table 6, and no
//! element has a longer span. For Algorithm 4 it is that of an element.)
//!
//! K/2 steps are the minimum, and so is a span of d, since the address 11..1 crosses d dimensions.
//! All routes are shortest.
//!
//! # Differs from the paper
//!
//! - Algorithm 3 is Algorithm 1 if no pairs are left over.
//! - Every full necklace that is not joined by pairs is scheduled separately. For even d, some are
//!   their own complements, which complement pairs cannot schedule.
//! - Of the two systems of lines in Figure 3 (`lines.rs`), the left one differs from the text, and
//!   does not exist for all d.
//! - Over wide channels Algorithm 4 takes ceil(K/2b) steps, fewer than Lemma 5 allows.
//! - Table 4's labels do not match its data, and Table 5 is for four dimensions, not five.
//!
//! # Why every channel is busy
//!
//! Exactly one address of a complement pair crosses a given dimension. A pair that takes the
//! dimensions in turn uses one per step, and d pairs, each one dimension ahead of the next, use
//! all. But 2d does not divide K unless d is a power of two. The members of a full necklace of
//! weight q are rotations of each other, and so are their i-th bits: in q steps, its d members use
//! all d dimensions. Cyclic addresses, whose necklaces are degenerate, have cyclic complements, and
//! are scheduled by pairs, d at a time. The c pairs that are left over join a necklace of weight
//! d - c (see `lines.rs`).

mod embedded;
mod group;
mod lines;
pub(super) mod necklace;
mod schemes;
mod share;
mod succession;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use embedded::{apart, are_cubes, is_cube};
pub(crate) use group::Scheme;
use group::{AddressGroup, Crossing};
pub(crate) use share::Within;
pub use succession::Succession;
use table::Table;

use crate::topology::Hypercube;

/// An exchange within a cube.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exchange {
    /// The groups, in the order in which they are scheduled.
    groups: Vec<AddressGroup>,
}

impl Exchange {
    /// Returns the exchange within a cube of this many dimensions. `None` for more than
    /// [`Hypercube::MAX_DIMENSIONS`].
    ///
    /// Takes time and memory in proportion to d K/2, the number of elements that a node sends.
    fn new(scheme: Scheme, dimensions: usize) -> Option<Self> {
        let groups = match dimensions {
            0 => vec![],
            1..=Hypercube::MAX_DIMENSIONS => schemes::groups(scheme, dimensions),
            _ => return None,
        };
        Some(Self { groups })
    }

    /// Returns the schedule of single elements: the groups one after the other.
    fn steps(&self) -> impl Iterator<Item = &[Crossing]> {
        self.groups.iter().flat_map(|group| &group.steps).map(Vec::as_slice)
    }

    /// Returns the groups side by side, for blocks.
    fn table(&self) -> Table<'_> {
        Table::of(&self.groups)
    }

    /// Returns the schedule for channels that carry `width` elements per step, or any number if
    /// `width` is 0. For one element these are the [steps](Self::steps), for wide channels the rows
    /// of the [table](Self::table), and otherwise [pieces](Table::pieces) of the table. In each
    /// step a channel carries one element per crossing of its dimension.
    fn wide(&self, width: usize) -> Vec<Vec<Crossing>> {
        match width {
            0 => self.wide(usize::MAX),
            1 => self.steps().map(<[Crossing]>::to_vec).collect(),
            _ => self.table().pieces(width),
        }
    }
}
