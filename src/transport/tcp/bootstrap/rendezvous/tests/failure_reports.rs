//! A rank that fails reports why, and rank 0 tells the others.

use std::net::IpAddr;
use std::time::Duration;

use super::super::super::Join;
use super::super::super::error::JoinError;
use super::super::super::hello::Build;
use super::super::super::message::BootstrapMessage;
use super::scripted::client;
use super::{Port, error_of, errors, start};

#[test]
fn error_of_one_rank_is_reported_to_all() {
    let port = Port::new();
    // An address for documentation, which this machine does not have.
    let errors = errors(vec![port.join(0, 3), port.join(1, 3), port.join(2, 3).address([203, 0, 113, 7].into())]);
    let JoinError::Listen { rank: 2, address, .. } = &errors[2] else { panic!("{}", errors[2]) };
    assert_eq!(address.ip(), IpAddr::from([203, 0, 113, 7]));
    let expected = JoinError::Abandoned { rank: 2, reason: errors[2].to_string() };
    assert_eq!(errors[..2], [expected.clone(), expected]);
}

#[test]
fn late_rank_is_told_why_the_others_failed() {
    let port = Port::new();
    let root = start(port.join(0, 4));
    let duplicate = |error: &JoinError| matches!(error, JoinError::DuplicateRank { rank: 1, .. });
    assert!(errors(vec![port.join(1, 4), port.join(1, 4)]).iter().all(duplicate));
    // Rank 0 waits a moment for late ranks. On a busy machine the moment may be over.
    let late = Join { timeout: Duration::from_millis(500), ..port.join(2, 4) }.mesh().unwrap_err();
    assert!(duplicate(&late) || matches!(late, JoinError::Unreachable { .. }), "{late}");
    assert!(duplicate(&error_of(root)));
}

#[test]
fn protocol_violation_of_a_rank_is_an_error_for_all() {
    let port = Port::new();
    let others = [0, 1].map(|rank| start(port.join(rank, 3)));
    let rank = client(&port.join(2, 3), Build::own(), true);
    rank.send(&BootstrapMessage::Go);
    let errors = others.map(error_of);
    assert!(matches!(&errors[0], JoinError::ProtocolViolation { rank: 2, .. }), "{}", errors[0]);
    assert_eq!(errors[1], JoinError::Abandoned { rank: 0, reason: errors[0].to_string() });
}

#[test]
fn rank_that_arrives_while_others_are_told_is_told_too() {
    let port = Port::new();
    let root = start(port.join(0, 4));
    let (arrives, violates) =
        (client(&port.join(1, 4), Build::own(), false), client(&port.join(2, 4), Build::own(), true));
    violates.send(&BootstrapMessage::Go);
    arrives.announce("127.0.0.1:1".parse().unwrap());
    let BootstrapMessage::Failed(JoinError::Abandoned { rank: 0, reason }) = arrives.receive() else {
        panic!("told something else")
    };
    drop((arrives, violates));
    assert_eq!(error_of(root).to_string(), reason);
}

#[test]
fn failing_process_hides_no_failure_of_another_of_its_rank() {
    let port = Port::new();
    let root = start(port.join(0, 3));
    let (first, second) = (client(&port.join(1, 3), Build::own(), true), client(&port.join(1, 3), Build::own(), false));
    let failure = JoinError::Abandoned { rank: 1, reason: "it has no address".to_owned() };
    second.send(&BootstrapMessage::Failed(failure.clone()));
    assert_eq!(first.receive(), BootstrapMessage::Failed(failure.clone()));
    drop((first, second));
    assert_eq!(error_of(root), failure);
}
