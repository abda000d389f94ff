//! Exchanges with neighbours as the program calls them, and the keys by which their plans are
//! cached.

use bytemuck::Pod;

use super::element::Element;
use super::lengths::BufferLengths;
use super::neighbourhood::Neighbourhood;
use super::varying_key::{GivenBlocks, ListedBlocks};

/// The name of the exchange that a program may also make in one buffer.
pub(super) const NEIGHBOUR_ALLTOALLW: &str = "neighbour_alltoallw";

/// A call, before anything about it is checked or listed.
#[derive(Clone, Debug)]
pub(super) struct NeighbourCall<'a> {
    /// The name of the method.
    pub(super) name: &'static str,
    pub(super) near: Near<'a>,
    pub(super) element: Element,
    pub(super) send: GivenBlocks<'a>,
    pub(super) receive: GivenBlocks<'a>,
    /// Whether both buffers are one.
    pub(super) in_place: bool,
}

/// The neighbours of the call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Near<'a> {
    /// A neighbourhood that the program has.
    Given(&'a Neighbourhood),
    /// The partners of one call.
    Partners {
        /// The receiver.
        to: Option<usize>,
        /// The sender.
        from: Option<usize>,
    },
}

impl<'a> From<&'a Neighbourhood> for Near<'a> {
    fn from(near: &'a Neighbourhood) -> Self {
        Self::Given(near)
    }
}

impl Near<'_> {
    /// Returns whether this is that neighbourhood. Allocates nothing.
    fn is(&self, near: &Neighbourhood) -> bool {
        match *self {
            Self::Given(given) => given.is(near),
            Self::Partners { to, from } => {
                near.is_for_one_call && near.destinations().eq([to]) && near.sources().eq([from])
            }
        }
    }
}

impl<'a> NeighbourCall<'a> {
    /// Describes an exchange of elements of a type.
    pub(super) fn of<T: Pod>(
        name: &'static str,
        near: impl Into<Near<'a>>,
        send: GivenBlocks<'a>,
        receive: GivenBlocks<'a>,
    ) -> Self {
        Self { name, near: near.into(), element: Element::of::<T>(), send, receive, in_place: false }
    }

    /// Sets that both buffers are one.
    pub(super) fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }
}

/// A call whose blocks are listed: the key of a cached plan, and what a persistent one is planned
/// from.
#[derive(Debug)]
pub(super) struct NeighbourKey {
    pub(super) name: &'static str,
    pub(super) near: Neighbourhood,
    pub(super) element: Element,
    pub(super) send: ListedBlocks,
    pub(super) receive: ListedBlocks,
    pub(super) lengths: BufferLengths,
    pub(super) in_place: bool,
}

impl NeighbourKey {
    /// Returns whether a call has this key.
    pub(super) fn is(&self, call: &NeighbourCall<'_>, lengths: BufferLengths) -> bool {
        self.name == call.name
            && self.lengths == lengths
            && self.element == call.element
            && self.in_place == call.in_place
            && call.near.is(&self.near)
            && call.send.is(&self.send)
            && call.receive.is(&self.receive)
    }

    /// Returns the same call in one buffer, or `None` if there is no such form.
    pub(super) fn in_one_buffer(self) -> Option<Self> {
        (self.in_place || self.name == NEIGHBOUR_ALLTOALLW).then_some(Self { in_place: true, ..self })
    }
}
