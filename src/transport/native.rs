//! Collectives of a backend's own: what a library beneath it, such as MPI, has ready.
//!
//! A transport that has some says so by [`Transport::native`](super::Transport::native). A communicator over it may then hand a
//! whole call to it, by the algorithm that is called `native`, in place of the rounds of a schedule.
//!
//! # The contract of a native call
//!
//! - **Alike everywhere.** Whether there is a [`Native`], what it [offers](Native::offers) and which routine of a library it takes
//!   for a call depend on nothing but what all members are known to have in common: the context and the call's kind, sizes,
//!   root, element and predefined operation. For [`Alltoallv`](NativeCall::Alltoallv) and
//!   [`Alltoallw`](NativeCall::Alltoallw) that is the kind alone: where blocks lie and how long they are is each member's own.
//! - **Calls** come with numbers that rise, as those of rounds do, and each number is either that of a native call or of
//!   rounds. All members call the same, in the same order; the communicator has them agree through rounds before it makes a call
//!   for the first time, but not again. A backend that can find a disagreement later should; it has the
//!   [`Signature`] for that.
//! - **Memory** is the caller's alone when the call returns, also with an error.
//! - **Failure** is as of a round: the first of the context is everybody's, and the same on every member. What a library reports
//!   is made one. Failures of a native call are those of its round 0.
//! - **Deadline.** A call that makes no progress for [`NativeIo::timeout`] fails, counted from the last progress, as far as the library
//!   tells of any. A backend says what its library cannot do here.
//! - **Results** are those of the collective's definition. Contributions are combined in rank order unless the operation is
//!   predefined; how they are put into brackets is the library's affair. A [`Predefined`] operation may be done by the
//!   library's own only if that gives what its documentation here says.
//! - **Panics.** A [`Reduction`] may panic. Where a library cannot be unwound through, the backend catches it, has the library come to
//!   its end, and lets it go on from there. If the library has given results that are of no meaning then, to whomever, the
//!   call fails on every member ([`Cause::Aborted`]).
//! - **Lengths** are 64-bit, and may be 0, as may be the size of an element: the members call all the same.
//! - **Allocation** is the backend's affair; what stands above it allocates nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Cause, Failure, Signature};
use crate::ids::Rank;
pub use crate::op::{Operation, Predefined, Primitive};
use crate::plan::{Place, Reduction, Run};

/// The collectives of a transport's own. See the [module](self) for what they promise.
pub trait Native {
    /// Whether it does such a call. The same on every member, and at any time.
    fn offers(&mut self, what: &NativeCall) -> bool;

    /// Does a call that it offers: this member's part of it.
    ///
    /// # Errors
    ///
    /// The context's first failure, the same on every member; [`Cause::Aborted`] for a call that it
    /// does not offer.
    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure>;
}

/// What a backend's library is to do, but for the buffers. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeCall {
    /// Block j of the input goes to rank j; block i of the output comes from rank i.
    Alltoall {
        /// The length of a block.
        block: u64,
        /// Whether there is no input: what goes out lies in the output, where what comes in its stead will.
        in_place: bool,
    },
    /// The same with blocks of any length, each in one piece: at most one run, with a count of 1.
    Alltoallv {
        /// What goes to each rank: in the input.
        send: Blocks,
        /// What comes from each rank: in the output, none overlapping another.
        receive: Blocks,
    },
    /// The same with blocks that are in many pieces.
    Alltoallw {
        /// What goes to each rank: in the input.
        send: Blocks,
        /// What comes from each rank: in the output, none overlapping another.
        receive: Blocks,
    },
    /// Block i of the output is rank i's input.
    Allgather {
        /// The length of a block.
        block: u64,
    },
    /// The output is all ranks' inputs combined, element by element.
    Allreduce(Contributions),
    /// The output of rank i is the inputs of ranks 0 to i combined, element by element.
    Scan(Contributions),
    /// The output becomes the root's; there is no input.
    Broadcast {
        /// Whose.
        root: Rank,
        /// Its length.
        bytes: u64,
    },
    /// Nobody is through before everybody has come.
    Barrier,
}

/// What the members of a reduction contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contributions {
    /// The size of an element.
    pub element: u64,
    /// How many elements each member has.
    pub count: u64,
    /// The operation, if libraries have it, on numbers that are as long as an element, and no more aligned. Otherwise [`NativeIo::reduction`] alone knows it, and it may not commute.
    pub predefined: Option<Predefined>,
}

impl Contributions {
    /// Their length; `None` where that is no number.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.element.checked_mul(self.count)
    }
}

/// Where one member's blocks for all members, or from all, lie in a buffer: for each rank some runs, in order, as one string of
/// bytes. Those of a member for itself are among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    places: Vec<Place>,
    end: u64,
}

impl Blocks {
    /// Those, by rank. `None` where a run has no bytes, its pieces overlap, or it reaches past 2^63 bytes.
    #[must_use]
    pub fn new(places: Vec<Place>) -> Option<Self> {
        let mut ends = places.iter().flatten().map(|run| run.end().filter(|end| i64::try_from(*end).is_ok()));
        let end = ends.try_fold(0, |most, end| Some(end?.max(most)))?;
        Some(Self { places, end })
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.places.len()
    }

    /// The runs of the block for or from a rank; none where it is empty.
    #[must_use]
    pub fn of(&self, rank: Rank) -> &[Run] {
        self.places.get(rank.index()).map_or(&[], |place| place)
    }

    /// Where the block for or from a rank begins, and how long it is, if it is in one piece; an empty one is at 0.
    #[must_use]
    pub fn piece(&self, rank: Rank) -> Option<(u64, u64)> {
        match self.of(rank) {
            [] => Some((0, 0)),
            [run] if run.count == 1 => Some((run.offset, run.len)),
            _ => None,
        }
    }

    /// How long the buffer must be.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }
}

impl NativeCall {
    /// How long the input and the output must be among so many ranks; `None` where there is no such call.
    #[inline]
    fn lengths(&self, ranks: usize) -> Option<(u64, u64)> {
        let of_all = |block: u64| block.checked_mul(ranks as u64);
        Some(match self {
            Self::Alltoall { block, in_place } => (if *in_place { 0 } else { of_all(*block)? }, of_all(*block)?),
            Self::Alltoallv { send, receive } => {
                let plain = |blocks: &Blocks| (0..ranks).all(|rank| blocks.piece(Rank::new(rank)).is_some());
                (send.ranks() == ranks && receive.ranks() == ranks && plain(send) && plain(receive))
                    .then_some((send.end, receive.end))?
            }
            Self::Alltoallw { send, receive } => {
                (send.ranks() == ranks && receive.ranks() == ranks).then_some((send.end, receive.end))?
            }
            Self::Allgather { block } => (*block, of_all(*block)?),
            Self::Allreduce(contributions) | Self::Scan(contributions) => {
                let bytes = contributions.bytes()?;
                let known = contributions.predefined;
                known
                    .is_none_or(|of| of.number.layout().size() as u64 == contributions.element)
                    .then_some((bytes, bytes))?
            }
            Self::Broadcast { root, bytes } => (root.index() < ranks).then_some((0, *bytes))?,
            Self::Barrier => (0, 0),
        })
    }

    /// At multiples of which address its buffers must be.
    #[inline]
    fn alignment(&self) -> usize {
        match self {
            Self::Allreduce(Contributions { predefined: Some(of), .. })
            | Self::Scan(Contributions { predefined: Some(of), .. }) => of.number.layout().align(),
            _ => 1,
        }
    }

    /// Whether something is combined, so that it needs a [`Reduction`].
    #[must_use]
    pub fn reduces(&self) -> bool {
        matches!(self, Self::Allreduce(_) | Self::Scan(_))
    }
}

/// The collective with what members have in common.
impl fmt::Display for NativeCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reduction = |f: &mut fmt::Formatter<'_>, name: &str, of: &Contributions| {
            write!(f, "{name} of {} elements of {} bytes", of.count, of.element)?;
            match of.predefined {
                Some(Predefined { operation, number }) => write!(f, " by the predefined {operation:?} of {number:?}"),
                None => f.write_str(" by an operation of one's own"),
            }
        };
        match self {
            Self::Alltoall { block, in_place } => {
                write!(f, "alltoall of {block} bytes{}", if *in_place { " in place" } else { "" })
            }
            Self::Alltoallv { .. } => f.write_str("alltoallv"),
            Self::Alltoallw { .. } => f.write_str("alltoallw"),
            Self::Allgather { block } => write!(f, "allgather of {block} bytes"),
            Self::Allreduce(of) => reduction(f, "allreduce", of),
            Self::Scan(of) => reduction(f, "scan", of),
            Self::Broadcast { root, bytes } => write!(f, "broadcast of {bytes} bytes from root {root}"),
            Self::Barrier => f.write_str("barrier"),
        }
    }
}

/// A native call, as a transport is given it.
pub struct NativeIo<'a> {
    what: &'a NativeCall,
    ranks: usize,
    input: &'a [u8],
    output: &'a mut [u8],
    reduction: Option<&'a dyn Reduction>,
    /// The how-manieth call of the context, from 0.
    pub call: u64,
    /// What all members must agree on.
    pub signature: &'a Signature,
    /// How long nothing may happen.
    pub timeout: Duration,
}

impl<'a> NativeIo<'a> {
    /// This call on these buffers, among so many ranks; `None` if there is no such call among them, a buffer is shorter than
    /// it needs or not as aligned, or it combines and there is no reduction.
    #[must_use]
    #[inline]
    pub fn new(
        what: &'a NativeCall,
        ranks: usize,
        (input, output): (&'a [u8], &'a mut [u8]),
        reduction: Option<&'a dyn Reduction>,
        call: u64,
        signature: &'a Signature,
        timeout: Duration,
    ) -> Option<Self> {
        let (sent, received) = what.lengths(ranks)?;
        let fits = input.len() as u64 >= sent && output.len() as u64 >= received;
        let fits = fits && reduction.is_some() >= what.reduces();
        // What has no bytes may be anywhere.
        let align = if sent > 0 { what.alignment() } else { 1 };
        let fits = fits && input.as_ptr().addr().is_multiple_of(align) && output.as_ptr().addr().is_multiple_of(align);
        // No `then_some`, for which it would be put together elsewhere first.
        if fits { Some(Self { what, ranks, input, output, reduction, call, signature, timeout }) } else { None }
    }

    /// What is to be done.
    #[must_use]
    pub fn what(&self) -> &'a NativeCall {
        self.what
    }

    /// Among how many ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The input, empty in place, and the output: as long as the call needs, or longer, and aligned as what is predefined of it is.
    pub fn buffers(&mut self) -> (&'a [u8], &mut [u8]) {
        (self.input, &mut *self.output)
    }

    /// How contributions are combined, also by a [`Predefined`] operation. Always there for a reduction.
    #[must_use]
    pub fn reduction(&self) -> Option<&'a dyn Reduction> {
        self.reduction
    }

    /// The failure of a rank that gives up in this call.
    pub(super) fn gave_up(&self, rank: Rank, reason: Arc<str>) -> Failure {
        Failure {
            call: self.call,
            words: self.signature.words.clone(),
            round: 0,
            observer: rank,
            culprit: Some(rank),
            cause: Cause::Aborted { rank, reason },
        }
    }

    /// How many bytes that rank gives to the call.
    pub(super) fn given(&self, rank: Rank) -> u64 {
        let sum = |blocks: &Blocks| (0..blocks.ranks()).flat_map(|j| blocks.of(Rank::new(j))).map(Run::bytes).sum();
        match self.what {
            NativeCall::Alltoall { in_place: true, .. } => self.output.len() as u64,
            NativeCall::Alltoallv { send, .. } | NativeCall::Alltoallw { send, .. } => sum(send),
            NativeCall::Broadcast { root, bytes } => {
                if *root == rank {
                    *bytes
                } else {
                    0
                }
            }
            _ => self.input.len() as u64,
        }
    }
}

impl fmt::Debug for NativeIo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, input, output, call, signature, timeout, .. } = self;
        f.debug_struct("NativeIo")
            .field("what", what)
            .field("input", &input.len())
            .field("output", &output.len())
            .field("call", call)
            .field("signature", signature)
            .field("timeout", timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Buffer;

    fn place(run: Run) -> Place {
        Place::from_elem(run, 1)
    }

    fn fits(what: &NativeCall, input: usize, output: usize) -> bool {
        fits_at(what, (0, input), (0, output))
    }

    /// Where the buffers begin, beyond a multiple of 16.
    fn fits_at(what: &NativeCall, (before, input): (usize, usize), (into, output): (usize, usize)) -> bool {
        struct Nothing;
        impl Reduction for Nothing {
            fn merge(&self, _: &mut [u8], _: &[u8], _: &[u8]) {}
            fn prepend(&self, _: &mut [u8], _: &[u8]) {}
            fn append(&self, _: &mut [u8], _: &[u8]) {}
        }
        let signature = Signature { fingerprint: 0, words: "".into() };
        let (from, mut to) = (vec![0_u128; input / 16 + 2], vec![0_u128; output / 16 + 2]);
        let from = &bytemuck::cast_slice(&from)[before..before + input];
        let buffers = (from, &mut bytemuck::cast_slice_mut(&mut to)[into..into + output]);
        NativeIo::new(what, 3, buffers, Some(&Nothing), 0, &signature, Duration::ZERO).is_some()
    }

    #[test]
    fn a_call_is_of_buffers_that_are_long_enough() {
        let send = Blocks::new([0, 9, 4].map(|at| place(Run::new(Buffer::Input, at, 2))).to_vec()).unwrap();
        let columns = Run { buffer: Buffer::Output, offset: 3, len: 2, stride: 5, count: 3 };
        let receive = Blocks::new(vec![Place::new(), place(columns), Place::new()]).unwrap();
        assert_eq!((send.end(), receive.end()), (11, 15));
        assert_eq!((send.piece(Rank::new(1)), receive.piece(Rank::new(1))), (Some((9, 2)), None));
        assert_eq!(receive.piece(Rank::new(2)), Some((0, 0)));
        let each = Contributions { element: 4, count: 5, predefined: None };
        let cases = [
            (NativeCall::Alltoall { block: 4, in_place: false }, Some((12, 12))),
            (NativeCall::Alltoall { block: 4, in_place: true }, Some((0, 12))),
            (NativeCall::Alltoall { block: u64::MAX / 2, in_place: true }, None),
            (NativeCall::Alltoallv { send: send.clone(), receive: send.clone() }, Some((11, 11))),
            // Not in one piece, or not for as many.
            (NativeCall::Alltoallv { send: send.clone(), receive: receive.clone() }, None),
            (NativeCall::Alltoallw { send: send.clone(), receive: Blocks::default() }, None),
            (NativeCall::Alltoallw { send, receive }, Some((11, 15))),
            (NativeCall::Allgather { block: 4 }, Some((4, 12))),
            (NativeCall::Allreduce(each), Some((20, 20))),
            (NativeCall::Scan(Contributions { count: u64::MAX, ..each }), None),
            (NativeCall::Broadcast { root: Rank::new(2), bytes: 7 }, Some((0, 7))),
            (NativeCall::Broadcast { root: Rank::new(3), bytes: 7 }, None),
            (NativeCall::Barrier, Some((0, 0))),
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
    fn blocks_are_where_bytes_can_be() {
        let run = |offset, len, stride, count| Run { buffer: Buffer::Output, offset, len, stride, count };
        for bad in [run(0, 0, 0, 1), run(0, 1, 1, 0), run(0, 4, 3, 2), run(u64::MAX, 1, 1, 1), run(1 << 63, 1, 1, 1)] {
            assert_eq!(Blocks::new(vec![place(bad)]), None, "{bad:?}");
        }
        assert_eq!(Blocks::new(vec![place(run((1 << 63) - 2, 1, 1, 1))]).unwrap().end(), (1 << 63) - 1);
    }

    #[test]
    fn a_reduction_needs_an_operation() {
        let signature = Signature { fingerprint: 0, words: "".into() };
        let what = NativeCall::Scan(Contributions { element: 1, count: 0, predefined: None });
        assert!(NativeIo::new(&what, 3, (&[], &mut []), None, 0, &signature, Duration::ZERO).is_none());
        assert!(NativeIo::new(&NativeCall::Barrier, 3, (&[], &mut []), None, 0, &signature, Duration::ZERO).is_some());
    }

    #[test]
    fn predefined_operations_are_on_numbers_as_long_as_an_element() {
        let predefined = Some(Predefined { operation: Operation::Sum, number: Primitive::F64 });
        for element in [0, 1, 7, 8, 9, 16] {
            let what = NativeCall::Allreduce(Contributions { element, count: 2, predefined });
            assert_eq!(fits(&what, 100, 100), element == 8, "{element}");
        }
        let of = |count, predefined| NativeCall::Scan(Contributions { element: 8, count, predefined });
        for (from, to) in [(0, 0), (8, 8), (1, 0), (0, 4)] {
            let aligned = from % 8 == 0 && to % 8 == 0;
            assert_eq!(fits_at(&of(2, predefined), (from, 16), (to, 16)), aligned, "{from} {to}");
            assert!(fits_at(&of(2, None), (from, 16), (to, 16)) && fits_at(&of(0, predefined), (from, 0), (to, 0)));
        }
    }
}
