//! Ranks whose settings or builds differ.

use std::net::TcpListener;

use super::super::super::error::JoinError;
use super::super::super::hello::Build;
use super::super::super::message::BootstrapMessage;
use super::super::super::{Join, Root};
use super::scripted::{client, root};
use super::{Port, error_of, errors, start};

#[test]
fn duplicate_rank_is_an_error_on_every_rank() {
    let port = Port::new();
    let errors = errors([0, 1, 2, 2].map(|rank| port.join(rank, 4)).into());
    let JoinError::DuplicateRank { rank: 2, first, second } = errors[0] else { panic!("{}", errors[0]) };
    assert!(first != second && errors[0].to_string().contains(&first.to_string()));
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

#[test]
fn second_rank_0_is_refused() {
    let port = Port::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let second = Join { root: Root::Address(address.to_string()), ..port.join(0, 2) }.held(false);
    let error = second.clone().mesh().unwrap_err();
    assert!(matches!(&error, JoinError::InUse { address: at, .. } if *at == address), "{error}");
    let error = second.advice(Some("take --master-port 1234".to_owned())).mesh().unwrap_err();
    assert!(error.to_string().ends_with("take --master-port 1234"), "{error}");
}

#[test]
fn different_sizes_are_an_error_on_every_rank() {
    for (one, other) in [(3, 5), (5, 3)] {
        let port = Port::new();
        let errors = errors(vec![port.join(0, one), port.join(1, one), port.join(2, other)]);
        assert!(
            matches!(errors[0], JoinError::SizeMismatch { size, rank: 2, other_size, .. } if (size, other_size) == (one, other)),
            "{}",
            errors[0]
        );
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
}

#[test]
fn different_builds_are_an_error_on_every_rank() {
    for (build, what) in [
        (Build::other(b'l', 64, "9.9.9"), "9.9.9"),
        (Build::other(b'b', 64, env!("CARGO_PKG_VERSION")), "big-endian"),
        (Build::other(b'l', 32, env!("CARGO_PKG_VERSION")), "32 bits"),
    ] {
        let port = Port::new();
        let others = [0, 1].map(|rank| start(port.join(rank, 3)));
        let rank = client(&port.join(2, 3), build.clone(), false);
        let (_, ours, theirs) = rank.hello.build.difference(&build).unwrap();
        let BootstrapMessage::Failed(told) = rank.receive() else { panic!("told something else") };
        let JoinError::BuildMismatch { rank_a: 0, value_a, rank_b: 2, value_b, .. } = &told else { panic!("{told}") };
        assert!(*value_a == ours && *value_b == theirs && theirs == what, "{told}");
        drop(rank);
        for other in others {
            assert_eq!(error_of(other), told);
        }
    }
}

#[test]
fn rank_that_finds_another_build_fails_like_rank_0() {
    let port = Port::new();
    let root = root(&port, 2, Build::other(b'l', 64, "0.0.1"));
    let rank = start(port.join(1, 2));
    let _connection = root.accept();
    let error = error_of(rank);
    let JoinError::BuildMismatch { rank_a: 0, value_a, rank_b: 1, value_b, .. } = &error else { panic!("{error}") };
    assert!(value_a == "0.0.1" && value_b == env!("CARGO_PKG_VERSION"), "{error}");
}
