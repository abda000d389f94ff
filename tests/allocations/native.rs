//! Repeated calls of a backend's own collectives.

use std::sync::Arc;

use necklace::launch::Launch;
use necklace::op::{Sum, by};
use necklace::topology::Grid;
use necklace::transport::native::{NativeCall, NativeCollectives, NativeIo};
use necklace::transport::{ContextId, Endpoint, Failure, OpenError, RoundIo, Transport};
use necklace::{Rank, Strided};

use crate::calls::IN_PLACE;
use crate::plans::plans_settle;
use crate::settling::settles;

/// A backend whose collectives do nothing, so that only the layers above are counted.
#[derive(Debug)]
struct Hollow<T>(T);

impl Endpoint for Hollow<Arc<dyn Endpoint>> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        Ok(Box::new(Hollow(self.0.open(context, members)?)))
    }
}

impl Transport for Hollow<Box<dyn Transport>> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        self.0.round(io)
    }

    fn abort(&mut self, failure: Failure) {
        self.0.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        Some(self)
    }
}

impl NativeCollectives for Hollow<Box<dyn Transport>> {
    fn offers(&mut self, _: &NativeCall) -> bool {
        true
    }

    fn call(&mut self, mut io: NativeIo<'_>) -> Result<(), Failure> {
        io.buffers().1.fill(7);
        Ok(())
    }
}

#[test]
fn repeated_native_calls_allocate_nothing() {
    let network = Arc::new(Grid::torus(&[4, 4]).unwrap());
    let mut job = Launch::threads().topology(network).wrap(|endpoint| Arc::new(Hollow(endpoint)));
    for kind in [
        "alltoall",
        "alltoallv",
        "allgather",
        "allgatherv",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "broadcast",
        "reduce",
        "allreduce",
        "reduce_scatter",
        "reduce_scatterv",
        "scan",
        "exscan",
        "barrier",
    ] {
        job = job.choose(kind, "native");
    }
    job.run(|mut comm| {
        let (send, mut receive) = ([1_u64; 48], [0_u64; 48]);
        settles(&mut comm, "alltoall", |comm| comm.alltoall(&send, &mut receive).unwrap());
        assert_eq!(receive, [0x0707_0707_0707_0707; 48]);
        settles(&mut comm, "in place", |comm| comm.alltoall_in_place(&mut receive).unwrap());
        settles(&mut comm, "allgather", |comm| comm.allgather(&send[..3], &mut receive).unwrap());
        settles(&mut comm, "allreduce", |comm| comm.allreduce(&send, &mut receive, Sum).unwrap());
        settles(&mut comm, "scan", |comm| comm.scan(&send, &mut receive, by("least", u64::min)).unwrap());
        settles(&mut comm, "broadcast", |comm| comm.broadcast(&mut receive, 7).unwrap());
        settles(&mut comm, "allgatherv", |comm| comm.allgatherv(&send[..3], &mut receive, &[3; 16]).unwrap());
        settles(&mut comm, "reduce_scatterv", |comm| {
            comm.reduce_scatterv(&send, &[3; 16], &mut receive[..3], Sum).unwrap();
        });
        settles(&mut comm, "barrier", |comm| comm.barrier().unwrap());
        let mut plan = comm.alltoall_init::<u64>(3).unwrap();
        settles(&mut comm, "a plan", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        let places: Vec<usize> = (0..16).map(|peer| 3 * peer).collect();
        let mut plan = comm.alltoallv_init::<u64>((&[2; 16], &places), (&[2; 16], &places)).unwrap();
        settles(&mut comm, "alltoallv", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        let columns: Vec<Strided> = (0..16).map(|peer| Strided::matrix(peer, 2, 1, 16)).collect();
        let mut plan = comm.alltoallw_init::<u64>(&columns, &columns).unwrap();
        settles(&mut comm, "alltoallw", |comm| plan.execute(comm, &send, &mut receive).unwrap());
        plans_settle(&mut comm, 7);
        // Without a plan, these exchange their counts in every native call.
        for kind in ["alltoallv", "gatherv", "scatterv"] {
            comm.choose(kind, "auto").unwrap();
        }
        let mut buffer = [1.5; 64];
        for (what, call) in IN_PLACE {
            settles(&mut comm, &format!("{what} in place"), |comm| call(comm, 7, &mut buffer).unwrap());
        }
    })
    .unwrap();
}
