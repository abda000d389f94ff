//! Exchanges within a cube, element by element: what Johnsson & Ho schedule.
//!
//! Source: TR-16-92, §2 to §6. On a cube of d dimensions every node owes every node one element, so
//! a node has K = 2^d, one of itself; all channels of a node can be used at once. The schedules are
//! *homogeneous*: what an element does depends on its relative address alone, source xor
//! destination. Its way from node i is the way from node 0 with i added to every node. So it is
//! enough to say which relative address crosses which dimension when, and no channel carries two
//! elements at a time exactly where no dimension is crossed by two relative addresses at a time.
//!
//! An [`Exchange`] is made of [`Group`]s of relative addresses that are scheduled together. One
//! after the other they are the schedule of the paper, an element a channel and
//! [step](Exchange::steps). Side by side, in a [table](Exchange::table), they are sent in blocks,
//! as few as there can be, or over [wide](Exchange::wide) channels.
//!
//! | [`Scheme`] | steps | span | how |
//! |---|---|---|---|
//! | [`Pairs`](Scheme::Pairs), Algorithm 1 | d ceil(K/2d) | d | d complement pairs together, each a dimension ahead of the next |
//! | [`Wrapped`](Scheme::Wrapped), Algorithm 2 | K/2 | K/2 | all complement pairs, one beginning in each step; late ones wrap around |
//! | [`Mixed`](Scheme::Mixed), Algorithm 3 | K/2 | d + K/2 mod d | the second for d + K/2 mod d pairs, the first for the others |
//! | [`Necklaces`](Scheme::Necklaces), Algorithm 4 | K/2 | d | the members of a full necklace together; cyclic addresses by pairs |
//!
//! (Of Algorithms 1 to 3 the span is that of a complement pair, as in the paper's Table 6, and no
//! element's is longer; of Algorithm 4 it is an element's.)
//!
//! K/2 steps are the least there can be, and so is a span of d (the address 11..1 crosses d
//! dimensions). All ways are as short as can be.
//!
//! # Differs from the paper
//!
//! - Algorithm 3 is Algorithm 1 where no pairs are left over.
//! - Every full necklace that is not joined by pairs is scheduled by itself: for even d there are
//!   such as are their own complements, which cannot be taken by complement pairs.
//! - Of the two systems of [`lines`] the left one is not what the text says, and does not exist for
//!   all d.
//! - Over wide channels Algorithm 4 takes ceil(K/2b) steps, fewer than Lemma 5 allows.
//! - Table 4's labels are not those of its data, and Table 5 is of four dimensions, not five.
//!
//! # Why every channel is busy
//!
//! Of a complement pair exactly one address crosses a given dimension; a pair that takes the
//! dimensions in turn uses one a step, and d of them, each a dimension ahead of the next, use all.
//! But 2d does not divide K unless d is a power of two. Of a full necklace of weight q the members
//! are rotations of each other, so that their i-th bits are rotations too: in q steps its d members
//! use all d dimensions. Cyclic addresses, whose necklaces are degenerate, have complements that
//! are cyclic; they are scheduled by pairs. What is left of these by d, c pairs, joins a necklace
//! of weight d - c (see [`lines`]).

mod group;
pub mod lines;
mod schemes;
mod seats;
mod share;
mod succession;
mod table;

pub use group::{Crossing, Group, Scheme};
pub(crate) use seats::{apart, are_cubes, is_cube};
pub(crate) use share::Within;
pub use succession::Succession;
pub use table::Table;

use std::ops::RangeInclusive;

use crate::topology::Hypercube;

/// An exchange within a cube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    dimensions: usize,
    groups: Vec<Group>,
}

impl Exchange {
    /// That of a cube of so many dimensions. `None` where there are more than
    /// [`Hypercube::MAX_DIMENSIONS`].
    ///
    /// Takes time and memory in proportion to d K/2, what a node sends.
    #[must_use]
    pub fn new(scheme: Scheme, dimensions: usize) -> Option<Self> {
        let groups = match dimensions {
            0 => vec![],
            1..=Hypercube::MAX_DIMENSIONS => schemes::groups(scheme, dimensions),
            _ => return None,
        };
        Some(Self { dimensions, groups })
    }

    /// How many dimensions the cube has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The groups, in the order in which they are scheduled.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The schedule of single elements: the groups one after the other.
    pub fn steps(&self) -> impl Iterator<Item = &[Crossing]> {
        self.groups.iter().flat_map(Group::steps).map(Vec::as_slice)
    }

    /// For how many steps an address is under way: from its first crossing to its last, both
    /// counted. That which crosses nothing is left out. `None` where nothing crosses.
    #[must_use]
    pub fn spans(&self) -> Option<RangeInclusive<usize>> {
        let mut first_and_last = vec![None; 1 << self.dimensions];
        for (step, crossings) in self.steps().enumerate() {
            for crossing in crossings {
                let (first, _) = first_and_last[crossing.address].unwrap_or((step, step));
                first_and_last[crossing.address] = Some((first, step));
            }
        }
        let spans = || first_and_last.iter().flatten().map(|(first, last)| last - first + 1);
        Some(spans().min()?..=spans().max()?)
    }

    /// The groups side by side, for blocks.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        Table::of(&self.groups)
    }

    /// The schedule for channels that carry `width` elements in a step, or any number if it is 0:
    /// the [steps](Self::steps) for one, the rows of the [table](Self::table) for so many that
    /// nothing is gained by more, and [in between](Table::pieces) pieces of the table. In each step
    /// a channel carries as many elements as there are crossings of its dimension.
    #[must_use]
    pub fn wide(&self, width: usize) -> Vec<Vec<Crossing>> {
        match width {
            0 => self.wide(usize::MAX),
            1 => self.steps().map(<[Crossing]>::to_vec).collect(),
            _ => self.table().pieces(width),
        }
    }
}
