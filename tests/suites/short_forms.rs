//! Collectives of one value, and with results in vectors.

use necklace::Error;
use necklace::op::{Max, Sum, by};

use super::definitions::{block, compose};
use crate::jobs::{self, watched};

pub(super) fn short_forms_have_the_results_of_the_long_ones() {
    for ranks in [1, 2, 5, 8] {
        watched(&format!("{ranks} ranks"), move || {
            jobs::run(ranks, |mut comm| {
                let (me, op) = (comm.rank(), by("compose", compose));
                let value = |rank: usize| block::<u64>(rank, 7, 1)[0];
                let upto = |end: usize| (0..end).map(value).reduce(compose);
                assert_eq!(comm.allreduce_one(value(me), op).unwrap(), upto(ranks).unwrap());
                assert_eq!(comm.scan_one(value(me), op).unwrap(), upto(me + 1).unwrap());
                assert_eq!(comm.exscan_one(value(me), op).unwrap(), upto(me));
                assert_eq!(comm.allgather_one(value(me)).unwrap(), (0..ranks).map(value).collect::<Vec<_>>());
                for root in 0..ranks {
                    let is_root = root == me;
                    assert_eq!(comm.reduce_one(value(me), root, op).unwrap(), upto(ranks).filter(|_| is_root));
                    assert_eq!(comm.broadcast_one(is_root.then(|| value(me)), root).unwrap(), value(root));
                    let sent = block::<[f32; 3]>(root, 1, root + 2);
                    assert_eq!(comm.broadcast_vec(is_root.then_some(&sent[..]), root).unwrap(), sent);
                    let all: Vec<u64> = (0..ranks).map(value).collect();
                    assert_eq!(comm.gather_one(value(me), root).unwrap(), is_root.then(|| all.clone()));
                    assert_eq!(comm.scatter_one(is_root.then_some(&all[..]), root).unwrap(), value(me));
                    let pairs: Vec<u64> = (0..ranks).flat_map(|rank| block(rank, 2, 2)).collect();
                    assert_eq!(comm.gather_vec(&block(me, 2, 2), root).unwrap(), is_root.then(|| pairs.clone()));
                    assert_eq!(comm.scatter_vec(is_root.then_some(&pairs[..]), root).unwrap(), block::<u64>(me, 2, 2));
                    let (counts, own): (Vec<usize>, Vec<u8>) = ((0..ranks).collect(), block(me, 3, me));
                    let all: Vec<u8> = (0..ranks).flat_map(|rank| block(rank, 3, rank)).collect();
                    let found = comm.gatherv_vec(&own, root).unwrap();
                    assert_eq!(found, is_root.then(|| (all.clone(), counts.clone())));
                    assert_eq!(comm.allgatherv_vec(&own).unwrap(), (all.clone(), counts.clone()));
                    let sent = is_root.then_some((&all[..], &counts[..]));
                    assert_eq!(comm.scatterv_vec(sent, root).unwrap(), own);
                    let sums = comm.reduce_vec(&[me, 1], root, Sum).unwrap();
                    assert_eq!(sums, is_root.then(|| vec![ranks * (ranks - 1) / 2, ranks]));
                }
                assert_eq!(
                    comm.allgather_vec(&block::<f64>(me, 2, 3)).unwrap(),
                    (0..ranks).flat_map(|rank| block::<f64>(rank, 2, 3)).collect::<Vec<_>>()
                );
                let to_all: Vec<u64> = (0..ranks).flat_map(|to| block(me, to, 2)).collect();
                let from_all: Vec<u64> = (0..ranks).flat_map(|from| block(from, me, 2)).collect();
                assert_eq!(comm.alltoall_vec(&to_all).unwrap(), from_all);
                let length = |from: usize, to: usize| (3 * from + to) % 4;
                let lengths = |of: &dyn Fn(usize) -> usize| (0..ranks).map(of).collect::<Vec<_>>();
                let (to, from) = (lengths(&|to| length(me, to)), lengths(&|from| length(from, me)));
                let sent: Vec<u64> = (0..ranks).flat_map(|to| block(me, to, length(me, to))).collect();
                let wanted: Vec<u64> = (0..ranks).flat_map(|from| block(from, me, length(from, me))).collect();
                assert_eq!(comm.alltoallv_vec(&sent, &to).unwrap(), (wanted, from));
                assert_eq!(comm.allreduce_vec(&[me, 1], Sum).unwrap(), [ranks * (ranks - 1) / 2, ranks]);
                let places: Vec<usize> = (0..ranks).map(|to| 10 * to + me).collect();
                assert_eq!(comm.reduce_scatter_vec(&places, Max).unwrap(), [10 * me + ranks - 1]);
                // Block i has i elements.
                let counts: Vec<usize> = (0..ranks).collect();
                let blocks: Vec<usize> = (0..ranks).flat_map(|to| vec![10 * to + me; to]).collect();
                assert_eq!(comm.reduce_scatterv_vec(&blocks, &counts, Max).unwrap(), vec![10 * me + ranks - 1; me]);
                assert_eq!(comm.scan_vec(&[value(me), 1], op).unwrap()[0], upto(me + 1).unwrap());
                let before = comm.exscan_vec(&[value(me), 1], op).unwrap();
                assert_eq!(before.map(|before| (before.len(), before[0])), upto(me).map(|first| (2, first)));
                assert!(comm.alltoall_vec::<u8>(&[]).unwrap().is_empty());
            })
            .unwrap();
        });
    }
}

pub(super) fn mistakes_in_short_forms_are_refused_on_their_own_rank() {
    watched("refused", || {
        jobs::run(3, |mut comm| {
            let refused = |words: Error, wanted: &str| assert!(words.to_string().contains(wanted), "{words}: {wanted}");
            refused(comm.alltoallv_vec(&[1, 2, 3], &[1, 1, 2]).unwrap_err(), "4, the sum of the counts");
            refused(comm.alltoallv_vec(&[1, 2, 3], &[1, 2]).unwrap_err(), "list of send counts");
            refused(comm.alltoallv_vec(&[1, 2, 3], &[usize::MAX, 1, 4]).unwrap_err(), "send buffer");
            refused(comm.alltoall_vec(&[1, 2]).unwrap_err(), "multiple of 3");
            refused(comm.reduce_scatter_vec(&[1, 2], Sum).unwrap_err(), "send buffer");
            refused(comm.reduce_scatterv_vec(&[1, 2], &[1, 2, 1], Sum).unwrap_err(), "4, the sum of the counts");
            refused(comm.reduce_scatterv_vec(&[1, 2], &[1, 1], Sum).unwrap_err(), "list of counts");
            if comm.rank() == 0 {
                refused(comm.scatterv_vec::<u8>(None, 0).unwrap_err(), "rank 0 is the root");
                refused(comm.scatterv_vec(Some((&[1, 2], &[1, 2, 0])), 0).unwrap_err(), "3, the sum of the counts");
                refused(comm.scatterv_vec(Some((&[1, 2], &[1, 1])), 0).unwrap_err(), "list of counts");
                refused(comm.broadcast_one::<u8>(None, 0).unwrap_err(), "rank 0 is the root");
                refused(comm.broadcast_vec::<u8>(None, 0).unwrap_err(), "rank 0 is the root");
                refused(comm.scatter_vec::<u8>(None, 0).unwrap_err(), "rank 0 is the root");
                refused(comm.scatter_vec(Some(&[1, 2]), 0).unwrap_err(), "multiple of 3");
            }
            refused(comm.gather_vec(&[1], 3).unwrap_err(), "root 3");
            refused(comm.reduce_vec(&[1], 3, Sum).unwrap_err(), "root 3");
            refused(comm.scatterv_vec::<u8>(None, 3).unwrap_err(), "root 3");
            comm.barrier().unwrap();
        })
        .unwrap();
    });
}
