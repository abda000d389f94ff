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
//!   rounds with its number and [`Signature`](super::Signature). Later they do not. A backend that
//!   can detect a later disagreement should; it has the signature.
//! - **Memory.** When the call returns, also with an error, the library no longer accesses it.
//! - **Failure** is as for a round: the first failure of the context is common to all members. An
//!   error of the library becomes a failure of round 0 of the call.
//! - **Deadlines** of [`NativeIo::timeouts`] apply as far as the library reports progress. A
//!   backend documents what its library cannot do.
//! - **Results** follow the collective's definition. Contributions combine in rank order unless
//!   the operation is predefined or commutes; the library chooses the grouping. For a
//!   [`Predefined`] operation the library's own is allowed only if it gives the documented result.
//! - **Panics.** A [`Reduction`](crate::plan::Reduction) may panic. If the library cannot be
//!   unwound through, the backend catches the panic, lets the library finish, and resumes it
//!   afterwards. If any member may have a wrong result, the call fails on every member
//!   ([`Cause::Aborted`](super::Cause::Aborted)).
//! - **Lengths** have 64 bits. They may be 0, and so may the element size: all members still call.
//! - **Allocation** is allowed in the backend. The layers above it allocate nothing.

pub(super) mod blocks;
mod call;
mod io;

pub use self::blocks::Blocks;
pub use self::call::{NativeCall, Regular, Varying};
pub(crate) use self::io::NativeData;
pub use self::io::NativeIo;
use super::Failure;
pub use crate::op::{Operation, Predefined, Primitive};

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
    /// The context's first failure, the same on every member.
    /// [`Cause::Aborted`](super::Cause::Aborted) for a call that it does not offer.
    fn call(&mut self, io: NativeIo<'_>) -> Result<(), Failure>;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::collective::Collective;
    use crate::ids::Rank;
    use crate::plan::{Buffer, Place, Reduction, Run};
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
        let signature = Signature::new(0, "");
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
        let signature = Signature::new(0, "");
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
