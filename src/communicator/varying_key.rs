//! Calls with blocks of different lengths as the program makes them, and as their plans are made
//! and cached.

use std::borrow::Cow;

use bytemuck::Pod;

use super::Counts;
use super::element::Element;
use super::lengths::BufferLengths;
use crate::collective::{BlockCount, Collective};
use crate::error::ArgumentError;
use crate::plan::Strided;
use crate::transport::native::Predefined;

/// A call, before anything about it is checked or listed.
#[derive(Clone, Debug)]
pub(super) struct VaryingForm<'a> {
    /// The name of the method, by which an algorithm is chosen.
    pub(super) name: &'static str,
    pub(super) collective: Collective,
    pub(super) element: Element,
    pub(super) send: GivenBlocks<'a>,
    pub(super) receive: GivenBlocks<'a>,
    pub(super) lengths: BufferLengths,
    /// Whether the blocks that the rank starts with lie in the receive buffer.
    pub(super) in_place: bool,
    /// The operation of a reduction.
    pub(super) op: Option<VaryingOp>,
}

impl<'a> VaryingForm<'a> {
    /// Describes a call on elements of a type, in two buffers and without an operation.
    pub(super) fn of<T: Pod>(
        name: &'static str,
        collective: Collective,
        send: GivenBlocks<'a>,
        receive: GivenBlocks<'a>,
        lengths: BufferLengths,
    ) -> Self {
        Self { name, collective, element: Element::of::<T>(), send, receive, lengths, in_place: false, op: None }
    }

    /// Describes an alltoall of these blocks.
    pub(super) fn exchange<T: Pod>(
        name: &'static str,
        send: GivenBlocks<'a>,
        receive: GivenBlocks<'a>,
        lengths: BufferLengths,
    ) -> Self {
        Self::of::<T>(name, Collective::Alltoall, send, receive, lengths)
    }

    /// Describes an allgather of blocks of lengths that every rank knows.
    pub(super) fn allgather<T: Pod>(send: GivenBlocks<'a>, counts: &'a Counts<'a>, lengths: BufferLengths) -> Self {
        Self::of::<T>("allgatherv", Collective::Allgather, send, GivenBlocks::Counted(counts), lengths)
    }

    /// Sets that the blocks that the rank starts with lie in the receive buffer.
    pub(super) fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }
}

/// The operation of a reduction, as ranks compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VaryingOp {
    pub(super) name: Cow<'static, str>,
    pub(super) commutes: bool,
    /// The operation as libraries know it.
    pub(super) predefined: Option<Predefined>,
}

/// The blocks of one buffer, as the caller gives them.
#[derive(Clone, Copy, Debug)]
pub(super) enum GivenBlocks<'a> {
    /// None.
    Nothing,
    /// One block, by its position and its length.
    One(usize, usize),
    /// Blocks of equal lengths, one after the other: their number and their length.
    Equal(usize, usize),
    /// Blocks that are all the same elements, at the start of the buffer: their number and length.
    Repeated(usize, usize),
    /// One for each count.
    Counted(&'a Counts<'a>),
    /// The parts of each.
    Listed(&'a dyn List),
}

/// A list of blocks, each of several parts.
pub(super) trait List: std::fmt::Debug {
    fn blocks(&self) -> usize;

    fn parts(&self, block: usize) -> &[Strided];
}

/// A list as programs pass it.
pub(super) struct Listed<'a, S>(pub(super) &'a [S]);

impl<S> std::fmt::Debug for Listed<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} blocks", self.0.len())
    }
}

impl<S: AsRef<[Strided]>> List for Listed<'_, S> {
    fn blocks(&self) -> usize {
        self.0.len()
    }

    fn parts(&self, block: usize) -> &[Strided] {
        self.0[block].as_ref()
    }
}

impl GivenBlocks<'_> {
    /// Lists the blocks. Fails unless there is a count for each of `ranks` ranks.
    pub(super) fn list(&self, side: &'static str, ranks: usize) -> Result<ListedBlocks, ArgumentError> {
        Ok(match *self {
            Self::Nothing => vec![],
            Self::One(at, elements) => vec![vec![Strided::run(at, elements)]],
            Self::Equal(blocks, elements) => {
                (0..blocks).map(|i| vec![Strided::run(i.saturating_mul(elements), elements)]).collect()
            }
            Self::Repeated(blocks, elements) => vec![vec![Strided::run(0, elements)]; blocks],
            Self::Counted(counts) => counts.blocks(side, ranks)?.into_iter().map(|block| vec![block]).collect(),
            Self::Listed(list) => (0..list.blocks()).map(|block| list.parts(block).to_vec()).collect(),
        })
    }

    /// Returns whether these are the listed blocks. Allocates nothing.
    pub(super) fn is(&self, listed: &[Vec<Strided>]) -> bool {
        let is_run = |parts: &[Strided], at, elements| parts.len() == 1 && parts[0] == Strided::run(at, elements);
        match *self {
            Self::Nothing => listed.is_empty(),
            Self::One(at, elements) => listed.len() == 1 && is_run(&listed[0], at, elements),
            Self::Equal(blocks, elements) => {
                let begin = |i: usize| i.saturating_mul(elements);
                listed.len() == blocks && (0..).zip(listed).all(|(i, parts)| is_run(parts, begin(i), elements))
            }
            Self::Repeated(blocks, elements) => {
                listed.len() == blocks && listed.iter().all(|parts| is_run(parts, 0, elements))
            }
            Self::Counted(counts) => {
                counts.has(listed.len())
                    && counts.runs().zip(listed).all(|((at, elements), parts)| is_run(parts, at, elements))
            }
            Self::Listed(list) => {
                list.blocks() == listed.len() && (0..).zip(listed).all(|(block, parts)| list.parts(block) == parts)
            }
        }
    }
}

/// The parts of each block.
pub(super) type ListedBlocks = Vec<Vec<Strided>>;

/// A call whose blocks are listed: the key of a cached plan, and what a persistent one is planned
/// from.
#[derive(Debug)]
pub(super) struct VaryingKey {
    pub(super) name: &'static str,
    pub(super) collective: Collective,
    pub(super) element: Element,
    pub(super) lengths: BufferLengths,
    pub(super) in_place: bool,
    pub(super) op: Option<VaryingOp>,
    pub(super) send: ListedBlocks,
    pub(super) receive: ListedBlocks,
}

impl VaryingKey {
    /// Returns the key of a call with these blocks.
    pub(super) fn of(form: &VaryingForm<'_>, send: ListedBlocks, receive: ListedBlocks) -> Self {
        let VaryingForm { name, ref collective, element, lengths, in_place, ref op, .. } = *form;
        Self { name, collective: collective.clone(), element, lengths, in_place, op: op.clone(), send, receive }
    }

    /// Returns whether a call has this key.
    pub(super) fn is(&self, form: &VaryingForm<'_>) -> bool {
        self.name == form.name
            && self.lengths == form.lengths
            && self.element == form.element
            && self.in_place == form.in_place
            && self.collective == form.collective
            && self.op == form.op
            && form.send.is(&self.send)
            && form.receive.is(&self.receive)
    }

    /// Returns the length of each rank's block, if every rank knows the lengths of all.
    pub(super) fn known(&self) -> Option<Vec<usize>> {
        // If only one buffer has a block for each rank, its blocks are as long on every rank.
        let all = match self.collective.buffers() {
            (BlockCount::One, BlockCount::Each) => &self.receive,
            (BlockCount::Each, BlockCount::One) => &self.send,
            _ => return None,
        };
        // What overflows is refused before these lengths are used.
        Some(all.iter().map(|parts| elements(parts).unwrap_or(usize::MAX)).collect())
    }

    /// Returns the same call in one buffer, as the methods `.._in_place` make it on this rank.
    ///
    /// Fails with the reason if a received block has another length than the one whose place it
    /// takes.
    pub(super) fn in_one_buffer(self, rank: usize) -> Result<Self, String> {
        let Self { collective, send, receive, .. } = self;
        let own = |all: &ListedBlocks| all.get(rank).cloned().into_iter().collect();
        let is_root = collective.root().is_some_and(|root| root.index() == rank);
        let (send, receive) = match collective.buffers() {
            (BlockCount::Each, BlockCount::Each) => {
                let lengths = send.iter().zip(&receive).map(|(send, receive)| (elements(send), elements(receive)));
                if let Some((peer, (sent, received))) =
                    (0..).zip(lengths).find(|(_, (sent, received))| sent != received)
                {
                    let [sent, received] = [sent, received].map(Option::unwrap_or_default);
                    return Err(format!(
                        "{sent} elements go to rank {peer} and {received} come from it; expected as many both ways"
                    ));
                }
                (receive.clone(), receive)
            }
            (BlockCount::One, BlockCount::Each) => (own(&receive), receive),
            (BlockCount::One, BlockCount::EachAtRoot) if is_root => (own(&receive), receive),
            (BlockCount::EachAtRoot, BlockCount::One) if is_root => {
                let own = own(&send);
                (send, own)
            }
            // The buffer of a rank that is not the root is its block. That of a reduction has the
            // contributions, and then the result at its start.
            _ => (send, receive),
        };
        Ok(Self { collective, send, receive, in_place: true, ..self })
    }
}

/// Returns the number of elements of a block, or `None` if it overflows.
fn elements(parts: &[Strided]) -> Option<usize> {
    parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.elements()?))
}
