//! Short lists that are kept without an allocation.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::ids::Node;

/// Defines a list of `$item`s, up to `$inline` of which take no allocation, and its iterator.
macro_rules! short_list {
    ($(#[$doc:meta])* $list:ident, $items:ident, $item:ty, $inline:literal) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, Hash)]
        pub struct $list(SmallVec<[$item; $inline]>);

        impl Deref for $list {
            type Target = [$item];

            fn deref(&self) -> &[$item] {
                &self.0
            }
        }

        impl DerefMut for $list {
            fn deref_mut(&mut self) -> &mut [$item] {
                &mut self.0
            }
        }

        impl fmt::Debug for $list {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<&[$item]> for $list {
            fn from(elements: &[$item]) -> Self {
                Self(elements.into())
            }
        }

        impl FromIterator<$item> for $list {
            fn from_iter<I: IntoIterator<Item = $item>>(elements: I) -> Self {
                Self(elements.into_iter().collect())
            }
        }

        impl Extend<$item> for $list {
            fn extend<I: IntoIterator<Item = $item>>(&mut self, elements: I) {
                self.0.extend(elements);
            }
        }

        impl IntoIterator for $list {
            type Item = $item;
            type IntoIter = $items;

            fn into_iter(self) -> $items {
                $items(self.0.into_iter())
            }
        }

        impl<'a> IntoIterator for &'a $list {
            type Item = &'a $item;
            type IntoIter = std::slice::Iter<'a, $item>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }

        #[doc = concat!("The elements of [`", stringify!($list), "`], by value.")]
        #[derive(Clone, Debug)]
        pub struct $items(smallvec::IntoIter<[$item; $inline]>);

        impl Iterator for $items {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.0.next()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl DoubleEndedIterator for $items {
            fn next_back(&mut self) -> Option<$item> {
                self.0.next_back()
            }
        }

        impl ExactSizeIterator for $items {}

        impl FusedIterator for $items {}
    };
}

short_list! {
    /// The neighbours of a node, in ascending order. Up to eight take no allocation.
    ///
    /// A `Neighbours` is a slice of nodes, collected from an iterator or filled by
    /// [`push`](Self::push).
    Neighbours, NeighboursIter, Node, 8
}

short_list! {
    /// A position in a grid, one coordinate per dimension. Up to four take no allocation.
    Coordinates, CoordinatesIter, usize, 4
}

impl Neighbours {
    /// Appends a node.
    pub fn push(&mut self, node: Node) {
        self.0.push(node);
    }

    /// Removes repetitions from a sorted list.
    pub(super) fn dedup(&mut self) {
        self.0.dedup();
    }
}
