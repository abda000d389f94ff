//! Tables of the calls of 16 ranks, each in its form.

use necklace::op::{Max, Sum, by};
use necklace::{Communicator, Error, Strided};

/// The lengths of 16 ranks' blocks, where they differ.
pub(crate) const COUNTS: [usize; 16] = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0];

/// Their sum.
pub(crate) const TOTAL: usize = 15;

/// The lengths of the blocks that a rank exchanges with each of 16. What rank i sends to j is as
/// long as what j sends to i.
pub(crate) fn exchanged(rank: usize) -> [usize; 16] {
    std::array::from_fn(|peer| (peer + rank) % 3)
}

/// A call of 16 ranks, given a root and a buffer of 64 elements.
pub(crate) type InPlace = (&'static str, fn(&mut Communicator, usize, &mut [f64]) -> Result<(), Error>);

pub(crate) const IN_PLACE: [InPlace; 16] = [
    ("alltoall", |comm, _, buffer| comm.alltoall_in_place(buffer)),
    ("alltoallv", |comm, _, buffer| {
        let counts = exchanged(comm.rank());
        comm.alltoallv_in_place(&mut buffer[..counts.iter().sum()], &counts)
    }),
    ("alltoallw", |comm, _, buffer| {
        let counts = exchanged(comm.rank());
        let columns: [_; 16] = std::array::from_fn(|peer| Strided::matrix(peer, counts[peer], 1, 16));
        comm.alltoallw_in_place(buffer, &columns)
    }),
    ("allgather", |comm, _, buffer| comm.allgather_in_place(buffer)),
    ("allgatherv", |comm, _, buffer| comm.allgatherv_in_place(&mut buffer[..TOTAL], &COUNTS)),
    ("gather", |comm, root, buffer| {
        let elements = if comm.rank() == root { 48 } else { 3 };
        comm.gather_in_place(&mut buffer[..elements], root)
    }),
    ("gatherv", |comm, root, buffer| {
        let elements = if comm.rank() == root { TOTAL } else { COUNTS[comm.rank()] };
        comm.gatherv_in_place(&mut buffer[..elements], &COUNTS, root)
    }),
    ("scatter", |comm, root, buffer| {
        let elements = if comm.rank() == root { 48 } else { 3 };
        comm.scatter_in_place(&mut buffer[..elements], root)
    }),
    ("scatterv", |comm, root, buffer| {
        let elements = if comm.rank() == root { TOTAL } else { COUNTS[comm.rank()] };
        comm.scatterv_in_place(&mut buffer[..elements], &COUNTS, root)
    }),
    ("reduce", |comm, root, buffer| comm.reduce_in_place(buffer, root, Sum)),
    ("allreduce", |comm, _, buffer| comm.allreduce_in_place(buffer, Max)),
    ("reduce_scatter", |comm, _, buffer| comm.reduce_scatter_in_place(buffer, Sum)),
    ("reduce_scatterv", |comm, _, buffer| comm.reduce_scatterv_in_place(&mut buffer[..TOTAL], &COUNTS, Sum)),
    ("scan", |comm, _, buffer| comm.scan_in_place(buffer, by("least", f64::min))),
    ("exscan", |comm, _, buffer| comm.exscan_in_place(buffer, Sum)),
    ("shift", |comm, _, buffer| comm.shift_in_place(buffer, 5)),
];

/// A short form, given a root, and how many results of it are in memory of their own, at the root
/// and elsewhere.
pub(crate) type Short = (&'static str, [u64; 2], fn(&mut Communicator, usize) -> Result<(), Error>);

pub(crate) const SHORT: [Short; 22] = [
    ("allreduce_one", [0, 0], |comm, _| comm.allreduce_one(1.5, Sum).map(drop)),
    ("reduce_one", [0, 0], |comm, root| comm.reduce_one(1.5, root, Max).map(drop)),
    ("scan_one", [0, 0], |comm, _| comm.scan_one(1.5, Sum).map(drop)),
    ("exscan_one", [0, 0], |comm, _| comm.exscan_one(1.5, Sum).map(drop)),
    ("broadcast_one", [0, 0], |comm, root| comm.broadcast_one((comm.rank() == root).then_some(1.5), root).map(drop)),
    ("scatter_one", [0, 0], |comm, root| {
        comm.scatter_one((comm.rank() == root).then_some(&[1.5; 16][..]), root).map(drop)
    }),
    ("gather_one", [1, 0], |comm, root| comm.gather_one(1.5, root).map(drop)),
    ("allgather_one", [1, 1], |comm, _| comm.allgather_one(1.5).map(drop)),
    ("allreduce_vec", [1, 1], |comm, _| comm.allreduce_vec(&[1.5; 3], Sum).map(drop)),
    ("reduce_vec", [1, 0], |comm, root| comm.reduce_vec(&[1.5; 3], root, Sum).map(drop)),
    ("reduce_scatter_vec", [1, 1], |comm, _| comm.reduce_scatter_vec(&[1.5; 48], Sum).map(drop)),
    ("scan_vec", [1, 1], |comm, _| comm.scan_vec(&[1.5; 3], Sum).map(drop)),
    ("exscan_vec", [1, 1], |comm, _| comm.exscan_vec(&[1.5; 3], Sum).map(drop)),
    ("broadcast_vec", [1, 1], |comm, root| {
        comm.broadcast_vec((comm.rank() == root).then_some(&[1.5; 3][..]), root).map(drop)
    }),
    ("scatter_vec", [1, 1], |comm, root| {
        comm.scatter_vec((comm.rank() == root).then_some(&[1.5; 48][..]), root).map(drop)
    }),
    ("gather_vec", [1, 0], |comm, root| comm.gather_vec(&[1.5; 3], root).map(drop)),
    // The blocks, and their lengths.
    ("gatherv_vec", [2, 0], |comm, root| comm.gatherv_vec(&[1.5; 3], root).map(drop)),
    ("allgatherv_vec", [2, 2], |comm, _| comm.allgatherv_vec(&[1.5; 3]).map(drop)),
    ("alltoall_vec", [1, 1], |comm, _| comm.alltoall_vec(&[1.5; 48]).map(drop)),
    ("alltoallv_vec", [2, 2], |comm, _| comm.alltoallv_vec(&[1.5; 48], &[3; 16]).map(drop)),
    ("scatterv_vec", [1, 1], |comm, root| {
        comm.scatterv_vec((comm.rank() == root).then_some((&[1.5; 48][..], &[3; 16][..])), root).map(drop)
    }),
    ("reduce_scatterv_vec", [1, 1], |comm, _| comm.reduce_scatterv_vec(&[1.5; 48], &[3; 16], Sum).map(drop)),
];
