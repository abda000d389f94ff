//! Ranks that do not agree on what the job is.

use std::net::TcpListener;

use super::super::super::error::JoinError;
use super::super::super::hall::Event;
use super::super::super::hello::Build;
use super::super::super::notice::Notice;
use super::super::super::{Join, Root};
use super::by_hand::{guest, heard, root};
use super::{Port, errors, failed, start};

#[test]
fn two_that_are_the_same_rank_are_found_by_all() {
    let port = Port::new();
    let errors = errors([0, 1, 2, 2].map(|rank| port.join(rank, 4)).into());
    let JoinError::Twice { rank: 2, one, other } = errors[0] else { panic!("{}", errors[0]) };
    assert!(one != other && errors[0].to_string().contains(&one.to_string()));
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

#[test]
fn a_second_rank_0_is_found() {
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
fn sizes_that_differ_are_found_by_all() {
    for (one, other) in [(3, 5), (5, 3)] {
        let port = Port::new();
        let errors = errors(vec![port.join(0, one), port.join(1, one), port.join(2, other)]);
        assert!(
            matches!(errors[0], JoinError::Sizes { size, rank: 2, sizes, .. } if (size, sizes) == (one, other)),
            "{}",
            errors[0]
        );
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
}

#[test]
fn builds_that_differ_are_found_by_all() {
    for (build, what) in [
        (Build::other(b'l', 64, "9.9.9"), "9.9.9"),
        (Build::other(b'b', 64, env!("CARGO_PKG_VERSION")), "big-endian"),
        (Build::other(b'l', 32, env!("CARGO_PKG_VERSION")), "32 bits"),
    ] {
        let port = Port::new();
        let others = [0, 1].map(|rank| start(port.join(rank, 3)));
        let (mut hall, id, hello) = guest(&port.join(2, 3), build.clone(), false);
        let (_, ones, theirs) = hello.build.differs(&build).unwrap();
        let Event::Said(at, Notice::Over(told)) = heard(&mut hall) else { panic!("told something else") };
        let JoinError::Differs { one: 0, ones: says, other: 2, others: has, .. } = &told else { panic!("{told}") };
        assert!(at == id && *says == ones && *has == theirs && theirs == what, "{told}");
        drop(hall);
        for other in others {
            assert_eq!(failed(other), told);
        }
    }
}

#[test]
fn a_rank_that_finds_another_build_says_what_rank_0_says() {
    let port = Port::new();
    let mut root = root(&port, 2, Build::other(b'l', 64, "0.0.1"));
    let rank = start(port.join(1, 2));
    assert!(matches!(heard(&mut root), Event::Proved(..)));
    let error = failed(rank);
    let JoinError::Differs { one: 0, ones, other: 1, others, .. } = &error else { panic!("{error}") };
    assert!(ones == "0.0.1" && others == env!("CARGO_PKG_VERSION"), "{error}");
}
