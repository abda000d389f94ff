//! Words too long for a frame.

use std::time::Duration;

use super::call::{exchange, open};
use super::mesh;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure};

#[test]
fn a_failure_of_many_words_is_the_same_for_who_found_it_and_who_heard_of_it() {
    // The first decides itself; what the second finds is decided by the first.
    for observer in 0..2 {
        let endpoints = mesh(2).unwrap();
        let mut worlds: Vec<_> = endpoints.iter().map(|endpoint| open(&**endpoint, ContextId::WORLD)).collect();
        let rank = Rank::new(observer);
        let cause = Cause::Aborted { rank, reason: "ä".repeat(10_000).into() };
        let description = "o".repeat(10_000).into();
        worlds[observer].abort(Failure { call: 0, description, round: 0, observer: rank, culprit: None, cause });
        let found = worlds[observer].failure();
        let other = 1 - observer;
        let heard = exchange(&mut *worlds[other], 0, &[], &[(observer, 8)], Duration::from_secs(30));
        assert!(heard.as_ref().err() == found.as_ref(), "rank {observer} found it");
        assert!(found.is_some() && worlds[other].failure() == found);
    }
}
