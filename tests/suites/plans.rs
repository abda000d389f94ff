//! Persistent plans where they do not belong.

use std::sync::Mutex;

use necklace::error::ArgumentError;
use necklace::{Error, Persistent};

use super::failures::POISON;
use crate::jobs::{self, watched};

fn is_refused(outcome: Result<(), Error>) {
    let error = outcome.expect_err("a plan of another communicator");
    assert!(matches!(error.argument(), Some(ArgumentError::Persistent { .. })), "{error}");
}

pub(super) fn plan_refuses_buffers_of_other_lengths() {
    watched("lengths", || {
        jobs::run(4, |mut comm| {
            let mut exchange = comm.alltoall_init::<u64>(2).unwrap();
            let mut gather = comm.allgather_init::<u64>(2).unwrap();
            let (one, places) = ([1; 4], [0, 1, 2, 3]);
            let mut varying = comm.alltoallv_init::<u64>((&one, &places), (&one, &places)).unwrap();
            let (send, mut receive) = ([1; 16], [POISON; 16]);
            let refused = [
                (exchange.execute(&mut comm, &send[..4], &mut receive[..8]), "send buffer", "8", 4),
                (exchange.execute(&mut comm, &send, &mut receive[..8]), "send buffer", "8", 16),
                (exchange.execute(&mut comm, &send[..8], &mut receive[..7]), "receive buffer", "8", 7),
                (exchange.execute(&mut comm, &[], &mut []), "send buffer", "8", 0),
                (gather.execute(&mut comm, &send[..8], &mut receive[..8]), "send buffer", "2", 8),
                (gather.execute(&mut comm, &send[..2], &mut receive[..9]), "receive buffer", "8", 9),
                (varying.execute(&mut comm, &send[..3], &mut receive), "send buffer", "at least 4", 3),
                (varying.execute(&mut comm, &send, &mut receive[..3]), "receive buffer", "at least 4", 3),
            ];
            for (outcome, buffer, wanted, length) in refused {
                let error = outcome.unwrap_err();
                let Some(ArgumentError::Length { what, expected, found, .. }) = error.argument() else {
                    panic!("{error}")
                };
                assert_eq!((*what, expected.as_str(), *found), (buffer, wanted, length));
            }
            assert_eq!(receive, [POISON; 16]);
            varying.execute(&mut comm, &send, &mut receive).unwrap();
            exchange.execute(&mut comm, &send[..8], &mut receive[..8]).unwrap();
        })
        .unwrap();
    });
}

pub(super) fn plan_refuses_another_communicator() {
    watched("part", || {
        jobs::run(4, |mut comm| {
            let mut twin = comm.split(0, 0).unwrap();
            let mut plan = comm.alltoall_init::<u64>(1).unwrap();
            let mut receive = [POISON; 4];
            is_refused(plan.execute(&mut twin, &[1; 4], &mut receive));
            assert_eq!(receive, [POISON; 4]);
            plan.execute(&mut comm, &[1; 4], &mut receive).unwrap();
            twin.barrier().unwrap();
        })
        .unwrap();
    });
}

pub(super) fn plan_of_another_rank_or_job_is_refused() {
    // Plans may be sent to other threads, where a communicator of the same name may be.
    watched("elsewhere", || {
        let made = || jobs::run(4, |mut comm| comm.alltoall_init::<u64>(1).unwrap()).unwrap();
        let elsewhere: Mutex<Vec<Persistent<u64>>> = Mutex::new(made());
        let swapped: Mutex<Vec<(usize, Persistent<u64>)>> = Mutex::default();
        jobs::run(4, |mut comm| {
            let mut receive = [POISON; 4];
            let mut plan = elsewhere.lock().unwrap().remove(0);
            is_refused(plan.execute(&mut comm, &[1; 4], &mut receive));
            let mine = comm.alltoall_init::<u64>(1).unwrap();
            swapped.lock().unwrap().push((comm.rank(), mine));
            comm.barrier().unwrap();
            let mut plan = {
                let mut all = swapped.lock().unwrap();
                let others = all.iter().position(|(rank, _)| *rank == (comm.rank() + 1) % 4).unwrap();
                all.swap_remove(others).1
            };
            is_refused(plan.execute(&mut comm, &[1; 4], &mut receive));
            assert_eq!(receive, [POISON; 4]);
            comm.barrier().unwrap();
        })
        .unwrap();
    });
}
