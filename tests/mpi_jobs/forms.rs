//! Every collective by the library's own, in every form: with two buffers, in place, planned.

use std::time::Duration;

use necklace::Rank as Member;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace_tests::suites::definitions::performs_in_every_form;
use necklace_tests::suites::reductions::check_numbers;

use crate::failing::communicator;
use crate::job::Job;
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
    0
}

#[test]
fn every_form_of_every_collective_is_the_librarys_own() {
    for ranks in [1, 2, 3, 4] {
        Job::of(ranks, "forms").run().with(0);
    }
}
