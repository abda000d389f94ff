//! A rank that fails says why, and rank 0 tells the others.

use std::net::IpAddr;
use std::time::Duration;

use super::super::super::Join;
use super::super::super::error::JoinError;
use super::super::super::hello::Build;
use super::super::super::notice::Notice;
use super::by_hand::guest;
use super::{Port, errors, failed, start};

#[test]
fn a_rank_with_a_reason_of_its_own_says_it_to_all() {
    let port = Port::new();
    // An address for documentation, which this machine does not have.
    let errors = errors(vec![port.join(0, 3), port.join(1, 3), port.join(2, 3).address([203, 0, 113, 7].into())]);
    let JoinError::Listen { rank: 2, address, .. } = &errors[2] else { panic!("{}", errors[2]) };
    assert_eq!(address.ip(), IpAddr::from([203, 0, 113, 7]));
    let expected = JoinError::Abandoned { rank: 2, reason: errors[2].to_string() };
    assert_eq!(errors[..2], [expected.clone(), expected]);
}

#[test]
fn a_rank_that_comes_late_hears_why_the_others_have_gone() {
    let port = Port::new();
    let root = start(port.join(0, 4));
    let twice = |error: &JoinError| matches!(error, JoinError::Twice { rank: 1, .. });
    assert!(errors(vec![port.join(1, 4), port.join(1, 4)]).iter().all(twice));
    // Rank 0 waits a moment for it; on a busy machine the moment may be over.
    let late = Join { timeout: Duration::from_millis(500), ..port.join(2, 4) }.mesh().unwrap_err();
    assert!(twice(&late) || matches!(late, JoinError::Unreachable { .. }), "{late}");
    assert!(twice(&failed(root)));
}

#[test]
fn what_makes_no_sense_from_a_rank_is_an_error_for_all() {
    let port = Port::new();
    let others = [0, 1].map(|rank| start(port.join(rank, 3)));
    let (mut hall, id, _) = guest(&port.join(2, 3), Build::own(), true);
    hall.say(id, &Notice::Go);
    let errors = others.map(failed);
    assert!(matches!(&errors[0], JoinError::Garbage { rank: 2, .. }), "{}", errors[0]);
    assert_eq!(errors[1], JoinError::Abandoned { rank: 0, reason: errors[0].to_string() });
}
