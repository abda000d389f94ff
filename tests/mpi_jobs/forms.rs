//! Every collective by the library's own, in every form: with two buffers, in place, planned, with
//! blocks of equal and of different lengths.

use std::time::Duration;

use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::op::{Sum, by};
use necklace::{Communicator, Rank as Member};
use necklace_tests::suites::definitions::performs_in_every_form;
use necklace_tests::suites::lengths::{gathers_and_scatters, reduces_and_scatters};
use necklace_tests::suites::reductions::check_numbers;

use crate::failing::communicator;
use crate::job::{Job, together};
use crate::rank::Rank;

pub(crate) fn forms(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "native", Duration::from_secs(20));
    for collective in Collective::names() {
        let is_in_libraries = |found: &Collective| find(found, "native").is_ok();
        if !Collective::named(collective, Member::new(0)).is_some_and(|found| is_in_libraries(&found)) {
            continue;
        }
        comm.choose(collective, "native").unwrap();
        for root in 0..comm.size() {
            let collective = Collective::named(collective, Member::new(root)).unwrap();
            if root > 0 && collective.root().is_none() {
                break;
            }
            let plan = comm.perform_init::<u64>(&collective, 3, necklace::op::Sum).unwrap();
            assert!(plan.description().contains(" by native"), "{}", plan.description());
            [0, 1, 5, 4000].into_iter().for_each(|elements| performs_in_every_form(&mut comm, &collective, elements));
        }
    }
    check_numbers(&mut comm);
    varying_forms(&mut comm);
    0
}

/// The calls with blocks of different lengths, and the collective that each is a form of.
const VARYING: [&str; 5] = ["gatherv", "scatterv", "allgatherv", "reduce_scatterv", "alltoallv"];

fn varying_forms(comm: &mut Communicator) {
    for how in ["native", "auto"] {
        for name in VARYING {
            comm.choose(name, how).unwrap();
        }
        let (one, me) = (vec![1; comm.size()], comm.rank());
        let counts = |root: usize| if me == root { &one[..] } else { &[] };
        let plans = [
            comm.gatherv_init::<u64>(1, counts(0), 0).unwrap(),
            comm.scatterv_init::<u64>(counts(0), 1, 0).unwrap(),
            comm.allgatherv_init::<u64>(&one).unwrap(),
            comm.reduce_scatterv_init::<u64>(&one, Sum).unwrap(),
            comm.alltoallv_init::<u64>(&one, &one).unwrap(),
            comm.reduce_scatterv_init::<u64>(&one, by("add", u64::wrapping_add)).unwrap(),
        ];
        for plan in plans {
            assert!(plan.description().contains(" by native"), "{}", plan.description());
        }
        for seed in 0..6 {
            gathers_and_scatters::<u64>(comm, seed);
            gathers_and_scatters::<u8>(comm, seed + 100);
            gathers_and_scatters::<[f32; 3]>(comm, seed + 200);
            gathers_and_scatters::<()>(comm, seed + 300);
            reduces_and_scatters(comm, seed + 400);
        }
    }
}

#[test]
fn every_form_of_every_collective_is_the_librarys_own() {
    together([1, 2, 3, 4], |ranks| drop(Job::of(ranks, "forms").run().with(0)));
}
