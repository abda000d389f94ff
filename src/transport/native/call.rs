//! Calls for a backend's library.

use std::fmt;

use super::blocks::Blocks;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::op::Predefined;
use crate::plan::Run;

/// A call for a backend's library, without its buffers. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeCall {
    /// A collective of blocks of equal length.
    Regular(Regular),
    /// A collective of blocks of any lengths.
    Varying(Varying),
}

/// A collective of blocks of equal length. The blocks that a rank has before the call lie in the
/// input, those that it has after it in the output, contiguous and in order of rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Regular {
    /// The collective, with its root. Not a [custom](Collective::Custom) one.
    pub collective: Collective,
    /// Size of an element, in bytes.
    pub element: u64,
    /// Number of elements of a block.
    pub count: u64,
    /// Whether the call is in place: the input is empty, and the blocks that the rank starts with
    /// lie in the output. A broadcast is always in place.
    ///
    /// If the rank starts with as many blocks as it ends with, the new ones replace them. If it
    /// ends with more, its own block lies where it is at the end. If it starts with more, they lie
    /// one after the other; a result goes to the start of the buffer, and the block of a scatter's
    /// root stays where it is.
    pub in_place: bool,
    /// The operation of a reduction, if libraries have it. Its numbers have the size of an element,
    /// and the buffers have their alignment. For any other operation, see
    /// [`NativeIo::reduction`](super::NativeIo::reduction) and [whether it
    /// commutes](crate::plan::Reduction::is_commutative).
    pub predefined: Option<Predefined>,
}

impl Regular {
    /// Returns the length of a block in bytes, or `None` if that overflows.
    #[must_use]
    pub fn block(&self) -> Option<u64> {
        self.element.checked_mul(if self.collective.has_bytes() { self.count } else { 0 })
    }

    /// Returns the lengths that a rank's input and output must have, among `ranks` ranks, or `None`
    /// if the call is invalid.
    #[inline]
    fn lengths(&self, rank: Rank, ranks: usize) -> Option<(u64, u64)> {
        let block = self.block()?;
        let root = self.collective.root();
        let number = self.predefined.map(|of| of.number.layout().size() as u64);
        if root.is_some_and(|root| root.index() >= ranks) || number.is_some_and(|size| size != self.element) {
            return None;
        }
        let (before, after) = self.collective.buffers();
        let role = self.collective.role(ranks, rank);
        let (before, after) = (before.at(role) as u64, after.at(role) as u64);
        let (input, output) = if self.in_place { (0, before.max(after)) } else { (before, after) };
        Some((input.checked_mul(block)?, block.checked_mul(output)?))
    }
}

impl fmt::Display for Regular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { collective, element, count, in_place, predefined } = self;
        write!(f, "{collective}")?;
        if collective.has_bytes() {
            write!(f, " of {count} elements of {element} bytes")?;
        }
        if *in_place && collective.root().is_none() {
            f.write_str(" in place")?;
        }
        by(f, collective, *predefined)
    }
}

/// A collective of blocks of any lengths, anywhere in the buffers: an alltoall, gather, scatter,
/// allgather or reduce_scatter.
///
/// Each block is contiguous, at most one run with a count of 1, unless the call is
/// [strided](Self::strided).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Varying {
    /// The collective, with its root.
    pub collective: Collective,
    /// Size of an element, in bytes. Lengths and offsets are multiples of it.
    pub element: u64,
    /// The blocks that the rank starts with, in the input, or in the output if the call is in
    /// place. Those of a reduce_scatter lie one after the other.
    pub send: Blocks,
    /// The blocks that the rank ends with, in the output. They do not overlap.
    pub receive: Blocks,
    /// Whether blocks may have several runs, as in `alltoallw`.
    pub strided: bool,
    /// Whether the input is empty, and the blocks of `send` lie in the output. Blocks of `receive`
    /// may lie in their places.
    pub in_place: bool,
    /// Whether the blocks that one rank has for all others, or from them, need more than 31 bits:
    /// in an allgather and a reduce_scatter their lengths together, in a gather and a scatter the
    /// end of the root's last block, in elements. Equal on all members. False for an alltoall,
    /// where members do not know it.
    pub long: bool,
    /// The operation of a reduction, as in [`Regular::predefined`].
    pub predefined: Option<Predefined>,
}

impl Varying {
    /// The largest number of elements of blocks that are not [`long`](Self::long).
    pub const MAX_SHORT: u64 = i32::MAX as u64;

    /// Returns the runs of the block that this member has for a rank. Empty if it has none.
    #[must_use]
    pub fn to(&self, rank: Rank) -> &[Run] {
        self.block(&self.send, rank)
    }

    /// Returns the runs where the block from a rank belongs, in a reduction those of the result.
    /// Empty if that rank sends nothing.
    #[must_use]
    pub fn from(&self, rank: Rank) -> &[Run] {
        self.block(&self.receive, rank)
    }

    /// Returns the runs of the block for a rank, or from it. A member with one block has it for the
    /// root, or from the root, or, if the collective has no root, for all or from all.
    fn block<'a>(&self, blocks: &'a Blocks, rank: Rank) -> &'a [Run] {
        match (blocks.ranks(), self.collective.root()) {
            (1, Some(root)) if rank != root => &[],
            (1, _) => blocks.of(Rank::default()),
            _ => blocks.of(rank),
        }
    }

    /// Returns the lengths that a rank's input and output must have, among `ranks` ranks, or `None`
    /// if the call is invalid.
    #[inline]
    fn lengths(&self, rank: Rank, ranks: usize) -> Option<(u64, u64)> {
        let Self { collective, element, send, receive, strided, in_place, predefined, .. } = self;
        let (before, after) = collective.buffers();
        let role = collective.role(ranks, rank);
        let number = predefined.map(|of| of.number.layout().size() as u64);
        let fits = send.ranks() == before.at(role)
            && receive.ranks() == after.at(role)
            && (*strided || send.are_contiguous() && receive.are_contiguous())
            && collective.root().is_none_or(|root| root.index() < ranks)
            && number.is_none_or(|size| size == *element);
        let ends = if *in_place { (0, send.end().max(receive.end())) } else { (send.end(), receive.end()) };
        fits.then_some(ends)
    }
}

/// Displays the name of the method, the root and the operation.
impl fmt::Display for Varying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { collective, strided, predefined, .. } = self;
        write!(f, "{}{}", collective.name(), if *strided { "w" } else { "v" })?;
        collective.root().map_or(Ok(()), |root| write!(f, " with root {root}"))?;
        by(f, collective, *predefined)
    }
}

/// Writes the operation of a reduction.
fn by(f: &mut fmt::Formatter<'_>, collective: &Collective, predefined: Option<Predefined>) -> fmt::Result {
    match predefined {
        Some(Predefined { operation, number }) => write!(f, " by the predefined {operation:?} of {number:?}"),
        None if collective.is_reduction() => f.write_str(" by an operation of the program"),
        None => Ok(()),
    }
}

impl NativeCall {
    /// Returns the lengths that a rank's input and output must have, among `ranks` ranks, or `None`
    /// if the call is invalid.
    #[inline]
    pub(super) fn lengths(&self, rank: Rank, ranks: usize) -> Option<(u64, u64)> {
        match self {
            Self::Regular(regular) => regular.lengths(rank, ranks),
            Self::Varying(varying) => varying.lengths(rank, ranks),
        }
    }

    /// Returns the alignment that the buffers must have, in bytes.
    #[inline]
    pub(super) fn alignment(&self) -> usize {
        self.predefined().map_or(1, |of| of.number.layout().align())
    }

    /// Returns whether the call combines contributions, and so needs a
    /// [`Reduction`](crate::plan::Reduction).
    #[must_use]
    pub fn reduces(&self) -> bool {
        self.collective().is_reduction()
    }

    /// Returns the collective.
    #[must_use]
    pub fn collective(&self) -> &Collective {
        match self {
            Self::Regular(Regular { collective, .. }) | Self::Varying(Varying { collective, .. }) => collective,
        }
    }

    /// Returns the operation of a reduction, if libraries have it.
    #[must_use]
    pub fn predefined(&self) -> Option<Predefined> {
        match self {
            Self::Regular(Regular { predefined, .. }) | Self::Varying(Varying { predefined, .. }) => *predefined,
        }
    }

    /// Returns whether the call is in place.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        match self {
            Self::Regular(Regular { in_place, .. }) | Self::Varying(Varying { in_place, .. }) => *in_place,
        }
    }
}

/// Displays the collective and its arguments that are equal on all members.
impl fmt::Display for NativeCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regular(regular) => regular.fmt(f),
            Self::Varying(varying) => varying.fmt(f),
        }
    }
}
