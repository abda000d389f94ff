//! Newtypes for the two kinds of number that must never be mixed: ranks and nodes.

use std::fmt;

/// A member of a communicator, counted from 0.
///
/// A rank sits on a [`Node`] of a topology by a [placement](crate::schedule::Placement).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

/// A vertex of a topology, counted from 0. Grids number their nodes row-major, the last dimension
/// fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Where it starts.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
}

/// How many ranks or nodes anything in this crate may have.
pub const MAX_NODES: usize = i32::MAX as usize;

macro_rules! index {
    ($name:ident) => {
        impl $name {
            /// The one with this number. Numbers past [`MAX_NODES`] are not representable and
            /// become `MAX_NODES`, which every check of range refuses.
            #[must_use]
            pub const fn new(index: usize) -> Self {
                if index < MAX_NODES { Self(index as u32) } else { Self(MAX_NODES as u32) }
            }

            /// Its number.
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
