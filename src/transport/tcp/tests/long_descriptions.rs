//! Descriptions that are too long for a frame.

use std::time::Duration;

use super::call::{exchange, open};
use super::mesh;
use crate::ids::Rank;
use crate::transport::{Cause, ContextId, Failure};

#[test]
fn long_description_is_truncated_equally_on_all_ranks() {
    // Rank 0 decides on its own fault, and on that of rank 1.
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
