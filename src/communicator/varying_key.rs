//! Calls with blocks of different lengths as the program makes them, and the keys by which their
//! plans are cached.

use std::borrow::Cow;

use super::Counts;
use super::element::Element;
use crate::collective::Collective;
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
    pub(super) send: Side<'a>,
    pub(super) receive: Side<'a>,
    /// The lengths of the buffers in elements, if they are known.
    pub(super) lengths: (Option<usize>, Option<usize>),
    /// Whether the blocks that the rank starts with lie in the receive buffer.
    pub(super) in_place: bool,
    /// If every rank knows the lengths of all blocks: the length of each rank's.
    pub(super) known: Option<&'a [usize]>,
    /// The operation of a reduction.
    pub(super) op: Option<VaryingOp>,
}

/// The operation of a reduction, as ranks compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VaryingOp {
    pub(super) name: Cow<'static, str>,
    pub(super) commutes: bool,
    /// The operation as libraries know it.
    pub(super) predefined: Option<Predefined>,
}

/// The blocks of one buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side<'a> {
    /// None.
    Nothing,
    /// One block, by its position and its length.
    One(usize, usize),
    /// Blocks of equal lengths, one after the other: their number and their length.
    Equal(usize, usize),
    /// The same elements, from the first one on, as every block: their number and their length.
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

impl Side<'_> {
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

/// The key of a cached plan.
#[derive(Debug)]
pub(super) struct VaryingKey {
    name: &'static str,
    collective: Collective,
    element: Element,
    lengths: (Option<usize>, Option<usize>),
    in_place: bool,
    op: Option<VaryingOp>,
    send: ListedBlocks,
    receive: ListedBlocks,
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
}
