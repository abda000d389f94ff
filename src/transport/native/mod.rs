//! Native collectives: those of the library below a backend, such as MPI.
//!
//! A transport offers them by [`Transport::native`](super::Transport::native). A communicator then
//! passes whole calls to the library, under the algorithm `native`, in place of a schedule.
//!
//! # The contract of a native call
//!
//! - **Same decision on every member.** What it [offers](NativeCollectives::offers), and which
//!   routine it uses, depend only on what all members share: the context and the call's kind,
//!   sizes, root, element and predefined operation. For [`Varying`], they do not depend on the
//!   blocks, since layouts are local; [`Varying::long`] says what members know of them.
//! - **Calls** have rising numbers, like those of rounds. All members make the same calls in the
//!   same order. Members compare a call before a communicator makes it for the first time, by
//!   rounds with its number and [`Signature`]. Later they do not. A backend that can detect a
//!   later disagreement should; it has the signature.
//! - **Memory.** When the call returns, also with an error, the library no longer accesses it.
//! - **Failure** is as for a round: the first failure of the context is common to all members. An
//!   error of the library becomes a failure of round 0 of the call.
//! - **Deadlines** of [`NativeIo::timeouts`] apply as far as the library reports progress. A
//!   backend documents what its library cannot do.
//! - **Results** follow the collective's definition. Contributions combine in rank order unless
//!   the operation is predefined or commutes; the library chooses the grouping. For a
//!   [`Predefined`] operation the library's own is allowed only if it gives the documented result.
//! - **Panics.** A [`Reduction`](crate::plan::Reduction) may panic. If the library cannot be unwound through, the backend
//!   catches the panic, lets the library finish, and resumes it afterwards. If any member may have
//!   a wrong result, the call fails on every member ([`Cause::Aborted`]).
//! - **Lengths** have 64 bits. They may be 0, and so may the element size: all members still call.
//! - **Allocation** is allowed in the backend. The layers above it allocate nothing.

pub(super) mod blocks;
mod io;

use std::fmt;

pub use self::blocks::Blocks;
pub(crate) use self::io::NativeData;
pub use self::io::NativeIo;
use super::Failure;
use crate::collective::Collective;
use crate::ids::Rank;
pub use crate::op::{Operation, Predefined, Primitive};
use crate::plan::Run;

/// The native collectives of one context. The [module](self) has the contract.
pub trait NativeCollectives {
    /// Whether the library executes such a call. The answer is the same on every member and never
    /// changes.
    fn offers(&mut self, what: &NativeCall) -> bool;

    /// Executes this member's part of a call that it offers. Blocks until that part is complete or
    /// the context has failed.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member. [`Cause::Aborted`] for a call that it
    /// does not offer.
    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure>;
}

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
    /// and the buffers have their alignment. For any other operation, see [`NativeIo::reduction`]
    /// and [whether it commutes](crate::plan::Reduction::is_commutative).
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
        match self.collective {
            Collective::Gather { root } if rank != root => &[],
            Collective::Gather { .. } | Collective::Allgather => self.send.of(Rank::default()),
            _ => self.send.of(rank),
        }
    }

    /// Returns the runs where the block from a rank belongs, in a reduction those of the result.
    /// Empty if that rank sends nothing.
    #[must_use]
    pub fn from(&self, rank: Rank) -> &[Run] {
        match self.collective {
            Collective::Scatter { root } if rank != root => &[],
            Collective::Scatter { .. } | Collective::ReduceScatter => self.receive.of(Rank::default()),
            _ => self.receive.of(rank),
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
    fn lengths(&self, rank: Rank, ranks: usize) -> Option<(u64, u64)> {
        match self {
            Self::Regular(regular) => regular.lengths(rank, ranks),
            Self::Varying(varying) => varying.lengths(rank, ranks),
        }
    }

    /// Returns the alignment that the buffers must have, in bytes.
    #[inline]
    fn alignment(&self) -> usize {
        self.predefined().map_or(1, |of| of.number.layout().align())
    }

    /// Whether the call combines contributions, and so needs a [`Reduction`](crate::plan::Reduction).
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

    /// Whether the call is in place.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Buffer, Place, Reduction};
    use crate::transport::{CallInfo, Signature};

    fn place(run: Run) -> Place {
        Place::from(run)
    }

    fn regular(collective: Collective, element: u64, count: u64) -> NativeCall {
        NativeCall::Regular(Regular { collective, element, count, in_place: false, predefined: None })
    }

    fn varying(collective: Collective, send: &Blocks, receive: &Blocks) -> NativeCall {
        NativeCall::Varying(Varying {
            collective,
            element: 1,
            send: send.clone(),
            receive: receive.clone(),
            strided: false,
            in_place: false,
            long: false,
            predefined: None,
        })
    }

    fn fits(what: &NativeCall, input: usize, output: usize) -> bool {
        fits_at(what, (0, input), (0, output))
    }

    /// `before` and `into` are the offsets of the buffers from a multiple of 16.
    fn fits_at(what: &NativeCall, (before, input): (usize, usize), (into, output): (usize, usize)) -> bool {
        struct Nothing;
        impl Reduction for Nothing {
            fn merge(&self, _: &mut [u8], _: &[u8], _: &[u8]) {}
            fn prepend(&self, _: &mut [u8], _: &[u8]) {}
            fn append(&self, _: &mut [u8], _: &[u8]) {}
        }
        let signature = Signature { fingerprint: 0, description: "".into() };
        let (from, mut to) = (vec![0_u128; input / 16 + 2], vec![0_u128; output / 16 + 2]);
        let from = &bytemuck::cast_slice(&from)[before..before + input];
        let buffers = (from, &mut bytemuck::cast_slice_mut(&mut to)[into..into + output]);
        {
            let data = NativeData { input: buffers.0, output: buffers.1, reduction: Some(&Nothing) };
            NativeIo::new(what, (Rank::new(1), 3), data, CallInfo::new(0, &signature, Duration::ZERO)).is_some()
        }
    }

    #[test]
    fn call_needs_buffers_that_are_long_enough() {
        let send = Blocks::new([0, 9, 4].map(|at| place(Run::new(Buffer::Input, at, 2))).to_vec()).unwrap();
        let columns = Run { buffer: Buffer::Output, offset: 3, len: 2, stride: 5, count: 3 };
        let receive = Blocks::new(vec![Place::new(), place(columns), Place::new()]).unwrap();
        assert_eq!((send.end(), receive.end()), (11, 15));
        assert_eq!((send.piece(Rank::new(1)), receive.piece(Rank::new(1))), (Some((9, 2)), None));
        assert_eq!(receive.piece(Rank::new(2)), Some((0, 0)));
        let root = |root| Rank::new(root);
        let in_place = |what: NativeCall| match what {
            NativeCall::Regular(regular) => NativeCall::Regular(Regular { in_place: true, ..regular }),
            NativeCall::Varying(varying) => NativeCall::Varying(Varying { in_place: true, ..varying }),
        };
        let strided = |what: NativeCall| match what {
            NativeCall::Varying(varying) => NativeCall::Varying(Varying { strided: true, ..varying }),
            other => other,
        };
        let one = Blocks::new(vec![place(Run::new(Buffer::Output, 1, 3))]).unwrap();
        let cases = [
            (regular(Collective::Alltoall, 4, 1), Some((12, 12))),
            (in_place(regular(Collective::Alltoall, 4, 1)), Some((0, 12))),
            (in_place(regular(Collective::Alltoall, 2, u64::MAX / 4)), None),
            (varying(Collective::Alltoall, &send, &send), Some((11, 11))),
            // Not contiguous, or not for the same number of ranks.
            (varying(Collective::Alltoall, &send, &receive), None),
            (strided(varying(Collective::Alltoall, &send, &Blocks::default())), None),
            (strided(varying(Collective::Alltoall, &send, &receive)), Some((11, 15))),
            (varying(Collective::Gather { root: root(1) }, &one, &send), Some((4, 11))),
            (in_place(varying(Collective::Gather { root: root(1) }, &one, &send)), Some((0, 11))),
            (varying(Collective::Gather { root: root(1) }, &one, &Blocks::default()), None),
            (varying(Collective::Gather { root: root(2) }, &one, &Blocks::default()), Some((4, 0))),
            (varying(Collective::Gather { root: root(2) }, &one, &send), None),
            (varying(Collective::Gather { root: root(3) }, &one, &Blocks::default()), None),
            (varying(Collective::Scatter { root: root(1) }, &send, &one), Some((11, 4))),
            (in_place(varying(Collective::Scatter { root: root(0) }, &Blocks::default(), &one)), Some((0, 4))),
            (varying(Collective::Allgather, &one, &send), Some((4, 11))),
            (varying(Collective::Allgather, &send, &one), None),
            (varying(Collective::ReduceScatter, &send, &one), Some((11, 4))),
            (regular(Collective::Allgather, 4, 1), Some((4, 12))),
            (regular(Collective::Allreduce, 4, 5), Some((20, 20))),
            (regular(Collective::Scan, 4, u64::MAX), None),
            (regular(Collective::ReduceScatter, 4, 5), Some((60, 20))),
            (in_place(regular(Collective::Broadcast { root: root(2) }, 1, 7)), Some((0, 7))),
            (in_place(regular(Collective::Broadcast { root: root(3) }, 1, 7)), None),
            (regular(Collective::Gather { root: root(1) }, 1, 7), Some((7, 21))),
            (regular(Collective::Gather { root: root(2) }, 1, 7), Some((7, 0))),
            (regular(Collective::Scatter { root: root(1) }, 1, 7), Some((21, 7))),
            (regular(Collective::Scatter { root: root(0) }, 1, 7), Some((0, 7))),
            (regular(Collective::Barrier, 1, 0), Some((0, 0))),
        ];
        for (what, lengths) in cases {
            let Some((input, output)) = lengths else {
                assert!(!fits(&what, 1000, 1000), "{what}");
                continue;
            };
            assert!(fits(&what, input, output) && fits(&what, input + 1, output + 1), "{what}");
            assert!(input == 0 || !fits(&what, input - 1, output), "{what}");
            assert!(output == 0 || !fits(&what, input, output - 1), "{what}");
        }
    }

    #[test]
    fn blocks_with_invalid_runs_are_refused() {
        let run = |offset, len, stride, count| Run { buffer: Buffer::Output, offset, len, stride, count };
        for bad in [run(0, 0, 0, 1), run(0, 1, 1, 0), run(0, 4, 3, 2), run(u64::MAX, 1, 1, 1), run(1 << 63, 1, 1, 1)] {
            assert_eq!(Blocks::new(vec![place(bad)]), None, "{bad:?}");
        }
        assert_eq!(Blocks::new(vec![place(run((1 << 63) - 2, 1, 1, 1))]).unwrap().end(), (1 << 63) - 1);
    }

    #[test]
    fn reduction_without_an_operation_is_refused() {
        let signature = Signature { fingerprint: 0, description: "".into() };
        let (what, barrier) = (regular(Collective::Scan, 1, 0), regular(Collective::Barrier, 1, 0));
        let is_made = |what| {
            let data = NativeData { input: &[], output: &mut [], reduction: None };
            NativeIo::new(what, (Rank::new(1), 3), data, CallInfo::new(0, &signature, Duration::ZERO)).is_some()
        };
        assert!(!is_made(&what) && is_made(&barrier));
    }

    #[test]
    fn predefined_operation_needs_size_and_alignment_of_its_number() {
        let predefined = Some(Predefined { operation: Operation::Sum, number: Primitive::F64 });
        for element in [0, 1, 7, 8, 9, 16] {
            let collective = Collective::Allreduce;
            let what = NativeCall::Regular(Regular { collective, element, count: 2, in_place: false, predefined });
            assert_eq!(fits(&what, 100, 100), element == 8, "{element}");
        }
        let of = |count, predefined| {
            let collective = Collective::Scan;
            NativeCall::Regular(Regular { collective, element: 8, count, in_place: false, predefined })
        };
        for (from, to) in [(0, 0), (8, 8), (1, 0), (0, 4)] {
            let aligned = from % 8 == 0 && to % 8 == 0;
            assert_eq!(fits_at(&of(2, predefined), (from, 16), (to, 16)), aligned, "{from} {to}");
            assert!(fits_at(&of(2, None), (from, 16), (to, 16)) && fits_at(&of(0, predefined), (from, 0), (to, 0)));
        }
    }
}
