//! Distributed arrays and their transforms, by the library's own exchange.

use std::time::Duration;

use necklace::array::Distribution;
use necklace_tests::suites::redistribution::goes_there_and_back;
use necklace_tests::suites::transforms::is_that_of_the_definition;

use crate::failing::communicator;
use crate::job::{Job, together};
use crate::rank::Rank;

pub(crate) fn arrays(rank: &Rank) -> i32 {
    let (_supervisor, mut comm) = communicator(rank, "native", Duration::from_secs(20));
    let [rows, columns] = [0, 1].map(|axis| Distribution::slabs(&[5, 7], axis, comm.size()).unwrap());
    let plan = comm.redistribute_init::<u64>(&rows, &columns).unwrap();
    assert!(plan.description().contains(" by native"), "{}", plan.description());
    for seed in 400_000..400_012 {
        goes_there_and_back::<u64>(&mut comm, seed);
        goes_there_and_back::<[f32; 3]>(&mut comm, seed + 1000);
        is_that_of_the_definition(&mut comm, seed);
    }
    0
}

#[test]
fn arrays_are_transformed_by_the_librarys_exchange() {
    // Ranks of MPI poll while they wait, and so do the threads that move portions.
    let patience = Duration::from_secs(120);
    together([1, 2, 3, 5], |ranks| drop(Job::of(ranks, "arrays").within(patience).run().with(0)));
}
