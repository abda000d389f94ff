//! Newtypes for ranks, nodes and channels, so that they cannot be mixed up.

use std::fmt;

/// A member of a communicator, numbered from 0.
///
/// A [placement](crate::schedule::Placement) puts each rank on a [`Node`] of a topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

/// A vertex of a topology, numbered from 0. Grids number their nodes row-major, the last dimension
/// fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The node where the channel starts.
    pub from: Node,
    /// The node where the channel ends.
    pub to: Node,
}

/// The largest number of ranks or nodes that this crate supports.
pub const MAX_NODES: usize = i32::MAX as usize;

macro_rules! index {
    ($name:ident) => {
        impl $name {
            /// Wraps a number. Numbers above [`MAX_NODES`] become `MAX_NODES`, which is always out
            /// of range.
            #[must_use]
            pub const fn new(index: usize) -> Self {
                if index < MAX_NODES { Self(index as u32) } else { Self(MAX_NODES as u32) }
            }

            /// Returns the number.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index!(Rank);
index!(Node);

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}
