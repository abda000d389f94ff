//! Argument errors are found before anything moves, give the values, and leave the communicator
//! usable.

use std::borrow::Cow;
use std::fmt::Debug;

use necklace::collective::Collective;
use necklace::error::{ArgumentError, BuildError};
use necklace::op::{Op, Operation, Predefined, Primitive, Sum};
use necklace::plan::PlanError;
use necklace::{Communicator, Error, Rank, Strided};

use super::failures::POISON;
use crate::jobs::{self, on, watched};

/// Runs the closure on every rank, and then checks that the communicator still works.
fn on_each(topology: &'static str, body: impl Fn(&mut Communicator) + Send + Sync + 'static) {
    watched(topology, move || {
        on(topology)
            .run(|mut comm| {
                body(&mut comm);
                let mut sum = [0];
                comm.allreduce(&[comm.rank()], &mut sum, Sum).unwrap();
                assert_eq!(sum[0], comm.size() * (comm.size() - 1) / 2);
            })
            .unwrap();
    });
}

#[track_caller]
fn says<T: Debug>(outcome: Result<T, Error>, variant: impl Fn(&Error) -> bool, words: &[&str]) {
    let error = outcome.expect_err("it should be refused");
    let text = error.to_string();
    assert!(variant(&error), "{error:?}");
    // An argument error names the call, and its place in the program.
    assert!(text.contains(&format!(" ({}:", file!())), "{text:?}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

fn is_length(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Length { .. }))
}

fn is_operation(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Operation { .. }))
}

fn is_own(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::SelfBlock { .. }))
}

fn is_overlap(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Overlap { .. }))
}

fn is_interlocked(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Interlocked { .. }))
}

fn is_collective(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Collective { .. }))
}

fn is_block(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Block { .. }))
}

fn is_overflow(error: &Error) -> bool {
    matches!(error.argument(), Some(ArgumentError::Plan(PlanError::Overflow { .. })))
}

pub(super) fn buffers_of_wrong_lengths_are_refused() {
    on_each("ring:3", |comm| {
        let mut receive = [POISON; 7];
        says(
            comm.alltoall(&[1; 4], &mut receive[..4]),
            is_length,
            &["alltoall (", "send buffer", "4", "multiple of 3"],
        );
        says(comm.alltoall(&[1; 6], &mut receive[..3]), is_length, &["alltoall (", "receive buffer", "3", "6"]);
        says(comm.alltoall(&[1; 3], &mut receive[..6]), is_length, &["alltoall (", "receive buffer", "6", "3"]);
        says(comm.alltoall_in_place(&mut receive), is_length, &["alltoall_in_place (", "buffer", "7", "multiple of 3"]);
        says(comm.allgather(&[1; 2], &mut receive), is_length, &["allgather (", "receive buffer", "7", "6"]);
        says(comm.allgather::<u64>(&[], &mut receive[..1]), is_length, &["allgather (", "receive buffer", "1", "0"]);
        says(comm.allreduce(&[1; 2], &mut receive[..3], Sum), is_length, &["allreduce (", "receive buffer", "3", "2"]);
        says(comm.scan(&[1; 2], &mut receive[..1], Sum), is_length, &["scan (", "receive buffer", "1", "2"]);
        assert_eq!(receive, [POISON; 7]);
    });
}

/// Says to be a sum of numbers that are longer, or more aligned, than its elements.
struct Pretender;

impl<const BYTES: usize> Op<[u8; BYTES]> for Pretender {
    fn name(&self) -> Cow<'static, str> {
        "pretender".into()
    }

    fn combine(&self, left: [u8; BYTES], _: [u8; BYTES]) -> [u8; BYTES] {
        left
    }

    fn predefined(&self) -> Option<Predefined> {
        Some(Predefined::new(Operation::Sum, Primitive::F64))
    }
}

pub(super) fn predefined_operation_with_another_layout_is_refused() {
    on_each("ring:3", |comm| {
        let mut receive = [[0xaa; 3]; 2];
        let words = ["pretender", "[u8; 3]", "size 3 and alignment 1", "F64"];
        says(comm.allreduce(&[[1; 3]; 2], &mut receive, Pretender), is_operation, &words);
        says(comm.scan(&[[1; 3]; 2], &mut receive, Pretender), is_operation, &words);
        assert_eq!(receive, [[0xaa; 3]; 2]);
        let words = ["[u8; 8]", "size 8 and alignment 1"];
        says(comm.allreduce(&[[1; 8]; 2], &mut [[0xaa; 8]; 2], Pretender), is_operation, &words);
    });
}

pub(super) fn short_forms_name_the_method_that_was_called() {
    on_each("ring:3", |comm| {
        let is_root = |error: &Error| matches!(error.argument(), Some(ArgumentError::Root { root: 3, .. }));
        let odd = [1_u8; 3];
        says(comm.allreduce_one(odd, Pretender), is_operation, &["allreduce_one ("]);
        says(comm.scan_one(odd, Pretender), is_operation, &["scan_one ("]);
        says(comm.exscan_one(odd, Pretender), is_operation, &["exscan_one ("]);
        says(comm.allreduce_vec(&[odd], Pretender), is_operation, &["allreduce_vec ("]);
        says(comm.reduce_scatter_vec(&[odd; 3], Pretender), is_operation, &["reduce_scatter_vec ("]);
        says(comm.reduce_one(1, 3, Sum), is_root, &["reduce_one ("]);
        says(comm.broadcast_one(Some(1), 3), is_root, &["broadcast_one ("]);
        says(comm.broadcast_vec(Some(&[1]), 3), is_root, &["broadcast_vec ("]);
        says(comm.gather_one(1, 3), is_root, &["gather_one ("]);
        says(comm.gather_vec(&[1], 3), is_root, &["gather_vec ("]);
        says(comm.gatherv_vec(&[1], 3), is_root, &["gatherv_vec ("]);
        says(comm.scatter_one::<u8>(None, 3), is_root, &["scatter_one ("]);
        says(comm.scatter_vec::<u8>(None, 3), is_root, &["scatter_vec ("]);
        says(comm.reduce_scatter_vec(&[1; 4], Sum), is_length, &["reduce_scatter_vec ("]);
        says(comm.alltoall_vec(&[1; 2]), is_length, &["alltoall_vec ("]);
        says(comm.alltoallv_vec(&[1; 2], &[1; 3]), is_length, &["alltoallv_vec ("]);
        says(comm.allgather_vec(&[(); usize::MAX]), is_overflow, &["allgather_vec ("]);
    });
}

pub(super) fn root_out_of_range_is_refused() {
    on_each("ring:3", |comm| {
        let is_root = |error: &Error| matches!(error.argument(), Some(ArgumentError::Root { ranks: 3, .. }));
        let is_rank = |error: &Error| matches!(error.argument(), Some(ArgumentError::Build(BuildError::Rank { .. })));
        let mut buffer = [POISON; 2];
        says(comm.broadcast(&mut buffer, 3), is_root, &["broadcast (", "root 3", "3 ranks", "0 to 2"]);
        says(comm.broadcast(&mut buffer, usize::MAX), is_root, &["broadcast (", &usize::MAX.to_string(), "3 ranks"]);
        assert_eq!(buffer, [POISON; 2]);
        for root in [3, usize::MAX] {
            let broadcast = Collective::Broadcast { root: Rank::new(root) };
            says(comm.explain(&broadcast, 8).map(|choice| choice.to_string()), is_rank, &["explain (", "out of range"]);
            says(comm.prove(&broadcast, 8).map(|proof| proof.startups), is_rank, &["prove (", "out of range"]);
        }
    });
}

pub(super) fn missing_or_wrong_buffer_of_the_root_is_refused() {
    on_each("ring:3", |comm| {
        let is_missing = |error: &Error| matches!(error.argument(), Some(ArgumentError::RootBuffer { root: 1, .. }));
        let (block, mut all, mut part) = ([1, 2], [POISON; 6], [POISON; 2]);
        if comm.rank() == 1 {
            says(comm.reduce(&block, None, 1, Sum), is_missing, &["reduce (", "rank 1 is the root", "receive buffer"]);
            says(
                comm.gather(&block, None, 1),
                is_missing,
                &["gather (", "rank 1 is the root", "receive buffer", "Some"],
            );
            says(
                comm.scatter(None, &mut part, 1),
                is_missing,
                &["scatter (", "rank 1 is the root", "send buffer", "Some"],
            );
            let few = Some(&mut all[..5]);
            says(
                comm.gather(&block, few, 1),
                is_length,
                &["gather (", "the receive buffer has 5 elements; expected 6"],
            );
            for length in [0, 5] {
                let words = format!("the send buffer has {length} elements; expected 6");
                says(comm.scatter(Some(&[1; 6][..length]), &mut part, 1), is_length, &["scatter (", &words]);
            }
        }
        assert_eq!((all, part), ([POISON; 6], [POISON; 2]));
        let words = "the send buffer has 7 elements; expected 6";
        says(comm.reduce_scatter(&[1; 7], &mut part, Sum), is_length, &["reduce_scatter (", words]);
    });
}

pub(super) fn sizes_that_overflow_are_refused() {
    for topology in ["complete:1", "complete:3", "torus:4x4"] {
        on_each(topology, |comm| {
            let size = comm.size();
            let algorithms: &[&str] =
                if size == 16 { &["direct", "ring", "torus-exchange"] } else { &["direct", "ring"] };
            for algorithm in algorithms {
                comm.choose("alltoall", *algorithm).unwrap();
                comm.choose("alltoallv", *algorithm).unwrap();
                for elements in [usize::MAX, usize::MAX / 2, 1 << 60] {
                    let most = elements.to_string();
                    says(comm.alltoall_init::<u64>(elements), is_overflow, &["alltoall_init (", &most, "2^63"]);
                    says(comm.allgather_init::<u128>(elements), is_overflow, &["allgather_init (", &most]);
                    // Nothing of no bytes is too much, unless it cannot be counted.
                    assert_eq!(comm.alltoall_init::<()>(elements).is_ok(), elements.checked_mul(size).is_some());
                }
                let mut counts = vec![0; size];
                counts[size - 1] = 2;
                let huge = vec![usize::MAX - 1; size];
                let zeros = vec![0; size];
                says(
                    comm.alltoallv_init::<u8>((&counts, &huge), (&counts, &zeros)),
                    is_block,
                    &["alltoallv_init (", "send block", "2 elements"],
                );
                says(
                    comm.alltoallv_init::<u8>((&counts, &zeros), (&counts, &huge)),
                    is_block,
                    &["alltoallv_init (", "receive block"],
                );
                counts[size - 1] = 1;
                says(
                    comm.alltoallv_init::<u8>((&counts, &huge), (&counts, &zeros)),
                    is_overflow,
                    &["alltoallv_init (", "2^63"],
                );
                says(
                    comm.alltoallv_init::<u64>((&counts, &zeros), (&counts, &vec![1 << 61; size])),
                    is_overflow,
                    &["alltoallv_init (", "2^63"],
                );
            }
            let nothings = [(); usize::MAX];
            if size > 1 {
                says(comm.allgather(&nothings, &mut []), is_overflow, &["allgather ("]);
            }
        });
    }
}

pub(super) fn scratch_larger_than_memory_is_an_error() {
    on_each("torus:4x4", |comm| {
        comm.choose("alltoall", "torus-exchange").unwrap();
        // 2^61 bytes of the user's buffers may be valid, but as many cannot be allocated for
        // relaying.
        says(
            comm.alltoall_init::<u8>(1 << 57),
            |e| matches!(e.argument(), Some(ArgumentError::Memory { .. })),
            &["alltoall_init (", "bytes"],
        );
        says(comm.allgather_init::<u8>(1 << 60), is_overflow, &["allgather_init ("]);
    });
}

pub(super) fn counts_and_displacements_are_checked_together() {
    on_each("ring:3", |comm| {
        let me = comm.rank();
        let (one, places) = ([1; 3], [0, 1, 2]);
        let send = [7_u64; 3];
        let mut receive = [POISON; 3];
        for algorithm in ["direct", "ring"] {
            comm.choose("alltoallv", algorithm).unwrap();
            let mut call = |sc: &[usize], sd: &[usize], rc: &[usize], rd: &[usize]| {
                comm.alltoallv(&send, (sc, sd), &mut receive, (rc, rd))
            };
            for (what, outcome) in [
                ("send counts", call(&[1; 2], &places, &one, &places)),
                ("send displacements", call(&one, &[0; 4], &one, &places)),
                ("receive counts", call(&one, &places, &[], &places)),
                ("receive displacements", call(&one, &places, &one, &[0; 2])),
            ] {
                says(outcome, is_length, &[what, "3"]);
            }
            // Receive blocks must not overlap; the error names both, and the place.
            says(call(&one, &places, &one, &[2, 0, 2]), is_overlap, &["receive blocks 0 and 2 overlap", "element 2"]);
            says(call(&[2; 3], &[0; 3], &[2, 1, 2], &[0, 1, 0]), is_overlap, &["overlap"]);
            // Blocks lie inside their buffers.
            says(call(&[1, 1, 4], &[0; 3], &one, &places), is_block, &["send block 2", "4 elements from 0", "of 3"]);
            says(call(&one, &places, &one, &[0, 1, 3]), is_block, &["receive block 2", "1 elements from 3", "of 3"]);
            let far = [usize::MAX, 1, 2];
            says(call(&one, &far, &one, &places), is_block, &["send block 0", &usize::MAX.to_string()]);
            says(call(&one, &places, &one, &far), is_block, &["receive block 0", &usize::MAX.to_string()]);
            // The lengths that a rank sends to itself and expects from itself are equal.
            let mut own = one;
            own[me] = 0;
            let own_words = format!("rank {me} sends itself 0 and expects 1 elements");
            says(call(&own, &places, &one, &places), is_own, &[&own_words]);
            assert_eq!(receive, [POISON; 3]);
            // Planning finds the same errors where it needs no buffer.
            let planned = comm.alltoallv_init::<u64>((&[1; 2], &places), (&one, &places));
            says(planned, is_length, &["send counts", "3"]);
            let planned = comm.alltoallv_init::<u64>((&one, &places), (&one, &[2, 0, 2]));
            says(planned, is_overlap, &["receive blocks 0 and 2 overlap", "element 2"]);
            says(
                comm.alltoallv_init::<u64>((&own, &places), (&one, &places)),
                is_own,
                &["alltoallv_init (", &own_words],
            );
        }
    });
}

pub(super) fn strided_blocks_are_checked_before_anything_moves() {
    on_each("ring:3", |comm| {
        let me = comm.rank();
        let run = Strided::run;
        let one = [run(0, 1), run(1, 1), run(2, 1)];
        let send = [7_u64; 3];
        let mut receive = [POISON; 3];
        for algorithm in ["direct", "ring"] {
            comm.choose("alltoallv", algorithm).unwrap();
            let mut call = |from: &[Strided], into: &[Strided]| comm.alltoallw(&send, from, &mut receive, into);
            says(call(&one[..2], &one), is_length, &["send blocks", "3", "2"]);
            says(call(&one, &[]), is_length, &["receive blocks", "3", "0"]);
            // Blocks lie inside their buffers.
            let outside = [run(0, 1), run(1, 1).repeated(2, 2), run(2, 1)];
            says(call(&outside, &one), is_block, &["send block 1", "2 elements from 1 on, 2 apart", "of 3"]);
            says(call(&one, &outside), is_block, &["receive block 1", "2 elements from 1 on, 2 apart", "of 3"]);
            for far in [
                run(usize::MAX, 1),
                run(1, usize::MAX),
                run(0, 2).repeated(2, usize::MAX),
                run(0, 1).repeated(3, usize::MAX / 2),
            ] {
                let far = [run(0, 1), run(1, 1), far];
                says(call(&far, &one), is_block, &["send block 2", "of 3"]);
                says(call(&one, &far), is_block, &["receive block 2", "of 3"]);
            }
            // No element is named twice, by one block or by two.
            let again = [run(0, 1).repeated(2, 0), run(1, 1), run(2, 1)];
            says(call(&again, &one), is_block, &["send block 0", "occurs twice"]);
            says(call(&one, &again), is_block, &["receive block 0", "occurs twice"]);
            let endless = [run(0, 1).repeated(1 << 50, 0), run(1, 1), run(2, 1)];
            says(call(&endless, &one), is_block, &["send block 0", "occurs twice"]);
            let both = [run(1, 1).repeated(2, 1), run(0, 1), run(2, 1)];
            says(call(&one, &both), is_overlap, &["receive blocks 0 and 2 overlap", "element 2"]);
            // The lengths that a rank sends to itself and expects from itself are equal.
            let mut own = one.clone();
            own[me] = run(0, 0);
            let own_words = format!("rank {me} sends itself 0 and expects 1 elements");
            says(call(&own, &one), is_own, &[&own_words]);
            let twice = [vec![run(0, 1), run(0, 1)], vec![run(1, 1)], vec![run(2, 1)]];
            says(
                comm.alltoallw(&send, &one, &mut receive, &twice),
                is_overlap,
                &["alltoallw (", "receive block 0", "element 0 twice"],
            );
            assert_eq!(receive, [POISON; 3]);
            // Planning finds the same errors where it needs no buffer.
            says(comm.alltoallw_init::<u64>(&one[..2], &one), is_length, &["alltoallw_init (", "send blocks", "3"]);
            says(
                comm.alltoallw_init::<u64>(&one, &both),
                is_overlap,
                &["alltoallw_init (", "receive blocks 0 and 2 overlap", "element 2"],
            );
            says(
                comm.alltoallw_init::<u64>(&again, &one),
                is_block,
                &["alltoallw_init (", "send block 0", "occurs twice"],
            );
            let far = [run(0, 1), run(1, 1), run(2, usize::MAX)];
            says(comm.alltoallw_init::<u64>(&far, &one), is_block, &["alltoallw_init (", "send block 2"]);
            let long = [run(0, 1), run(1, 1), run(1 << 61, 1)];
            says(comm.alltoallw_init::<u64>(&one, &long), is_overflow, &["alltoallw_init ("]);
        }
    });
}

pub(super) fn blocks_of_too_many_runs_are_refused() {
    let is_runs = |error: &Error| matches!(error.argument(), Some(ArgumentError::Plan(PlanError::Runs { .. })));
    on_each("complete:1", move |comm| {
        // 2^50 runs, in four pairs of numbers.
        let absurd = [Strided::run(0, 1).repeated(2, 2).repeated(1 << 20, 8).repeated(1 << 30, 1 << 30)];
        let words = ["1073741824 x 1048576 x 2 elements from 0 on", "1125899906842624 runs", "16777216"];
        let nothings = vec![(); 1 << 62];
        for algorithm in ["direct", "ring"] {
            comm.choose("alltoallv", algorithm).unwrap();
            says(comm.alltoallw_init::<u8>(&absurd, &absurd), is_runs, &words);
            says(comm.alltoallw(&nothings, &absurd, &mut nothings.clone(), &absurd), is_runs, &words);
            // As many in several parts.
            let parts = [vec![Strided::run(0, 1).repeated(2, 2).repeated(1 << 12, 8).repeated(1 << 11, 1 << 30); 3]];
            says(comm.alltoallw_init::<u8>(&parts, &parts), is_runs, &["alltoallw_init (", "8388608 runs"]);
            // Few runs, but of pieces that lie between each other, in 2^40 places.
            let tangled = [vec![Strided::run(0, 1).repeated(1 << 39, 4), Strided::run(1, 1).repeated(1 << 38, 6)]];
            says(
                comm.alltoallw_init::<u8>(&tangled, &tangled),
                is_interlocked,
                &["alltoallw_init (", "receive blocks", "274877906944 pieces"],
            );
            // An overlap of long blocks is found at once.
            let half = [vec![Strided::run(0, 1 << 50), Strided::run(1 << 49, 1 << 50)]];
            says(
                comm.alltoallw_init::<u8>(&half, &half),
                is_overlap,
                &["alltoallw_init (", "block 0", &(1_u64 << 49).to_string()],
            );
            // A large block with few runs is planned.
            let plain = [Strided::matrix(0, 1 << 16, 1 << 20, 1 << 21).repeated(8, 1 << 42)];
            assert!(comm.alltoallw_init::<u8>(&plain, &plain).is_ok());
        }
    });
}

pub(super) fn unusable_algorithms_are_refused_by_name() {
    on_each("torus:4x6", |comm| {
        let is_unfit = |error: &Error| matches!(error.argument(), Some(ArgumentError::Build(BuildError::Unfit { .. })));
        let is_unknown =
            |error: &Error| matches!(error.argument(), Some(ArgumentError::Build(BuildError::Unknown { .. })));
        let is_parameters =
            |error: &Error| matches!(error.argument(), Some(ArgumentError::Build(BuildError::Parameters { .. })));
        says(
            comm.choose("alltoall", "mesh-exchange"),
            is_unfit,
            &["choose (", "mesh-exchange", "torus:4x6", "needs a mesh"],
        );
        says(comm.choose("alltoallv", "mesh-exchange"), is_unfit, &["choose (", "mesh-exchange", "torus:4x6"]);
        says(comm.choose("alltoall", "direct-xor"), is_unfit, &["choose (", "power of two", "24"]);
        says(
            comm.choose("alltoall", "Direct"),
            is_unknown,
            &["choose (", "\"Direct\"", "alltoall", "direct-rotated", "torus-exchange"],
        );
        says(comm.choose("alltoall", ""), is_unknown, &["choose (", "\"\"", "direct"]);
        says(
            comm.choose("allgather", "torus-exchange"),
            is_unknown,
            &["choose (", "\"torus-exchange\" for allgather; expected one of auto, ", "ring", "recursive-doubling"],
        );
        says(comm.choose("gather", "ring"), is_unknown, &["choose (", "gather"]);
        says(comm.choose("alltoall", "ring:chunks=4"), is_parameters, &["choose (", "ring", "chunks=4"]);
        says(comm.choose("alltoall", "ring:"), is_parameters, &["choose (", "ring"]);
        says(
            comm.choose("all-to-all", "ring"),
            is_collective,
            &["choose (", "\"all-to-all\"", "alltoall", "alltoallv", "allgather"],
        );
        says(comm.choose("custom", "auto"), is_collective, &["choose (", "\"custom\""]);
        // A refused choice leaves the one before.
        assert!(!comm.explain(&Collective::Alltoall, 8).unwrap().named);
        comm.choose("alltoall", "ring").unwrap();
        says(comm.choose("alltoall", "rung"), is_unknown, &["choose (", "rung"]);
        assert_eq!(comm.explain(&Collective::Alltoall, 8).unwrap().algorithm.name(), "ring");
        // A collective for which there is no algorithm.
        let nothing = Collective::Custom(std::sync::Arc::new(necklace::collective::Custom::new(vec![], vec![])));
        says(comm.prove(&nothing, 8), is_unfit, &["prove (", "custom"]);
    });
}

pub(super) fn argument_error_in_a_part_names_its_rank() {
    on_each("complete:4", |comm| {
        let me = comm.rank();
        let mut part = comm.split(me as u32 % 2, 0).unwrap();
        let rank = me / 2;
        let name = if rank == me { format!("rank {rank}: ") } else { format!("rank {rank} (rank {me} of the job): ") };
        let mut receive = [POISON; 3];
        for error in [
            part.broadcast(&mut receive, 2).unwrap_err(),
            part.alltoallv(&[1], &[1, 1, 1], &mut receive, &[1, 1]).unwrap_err(),
            part.choose("alltoall", "rung").unwrap_err(),
            part.alltoall_init::<u64>(2).unwrap().execute(&mut part, &[1], &mut receive).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(error.argument().is_some() && text.starts_with(&name), "{text}");
        }
        let text = comm.broadcast(&mut receive, 4).unwrap_err().to_string();
        assert!(text.starts_with("broadcast ("), "{text}");
    });
}

pub(super) fn argument_error_concerns_one_rank_only() {
    // The others wait; the rank that was refused may call again with valid arguments.
    watched("second try", || {
        jobs::run(3, |mut comm| {
            let mut receive = [POISON; 3];
            if comm.rank() == 1 {
                says(comm.alltoall(&[1; 2], &mut receive[..2]), is_length, &["alltoall (", "2"]);
                says(
                    comm.broadcast(&mut receive, 9),
                    |e| matches!(e.argument(), Some(ArgumentError::Root { root: 9, ranks: 3, .. })),
                    &["broadcast (", "9"],
                );
            }
            comm.alltoall(&[comm.rank() as u64; 3], &mut receive).unwrap();
            assert_eq!(receive, [0, 1, 2]);
        })
        .unwrap();
    });
}
