//! Invalid or dangerous settings are errors before any connection is made.

use std::net::IpAddr;

use super::super::super::error::JoinError;
use super::super::super::{Join, Root, system};
use super::{join_and_greet, key};

#[test]
fn public_address_needs_a_key_or_insecure() {
    let outside = "203.0.113.7:5000";
    for (rank, root, address) in [
        (0, outside, None),
        (0, "0.0.0.0:5000", None),
        (0, "127.0.0.1:5000", Some(IpAddr::from([0, 0, 0, 0]))),
        (1, "127.0.0.1:5000", Some(IpAddr::from([203, 0, 113, 7]))),
    ] {
        let join = Join { address, ..Join::new(rank, 2, Root::Address(root.to_owned())) };
        let error = join_and_greet(&join).unwrap_err();
        assert!(matches!(error, JoinError::Exposed { rank: at, .. } if at == rank), "{error}");
        assert!(error.to_string().contains("NECKLACE_KEY_FILE"), "{error}");
    }
    // Without a route to other hosts, rank 1 would not listen on a public address.
    if system::outbound_address(false).is_some() {
        let error = Join::new(1, 2, Root::Address(outside.to_owned())).mesh().unwrap_err();
        assert!(matches!(error, JoinError::Exposed { rank: 1, .. }), "{error}");
    }
    let insecure = Join::new(0, 2, Root::Address(outside.to_owned())).insecure(true).mesh().unwrap_err();
    assert!(matches!(insecure, JoinError::Listen { rank: 0, .. }), "{insecure}");
}

#[test]
fn invalid_addresses_and_ranks_are_refused() {
    let error = |rank, root: &str| Join::new(rank, 2, Root::Address(root.to_owned())).key(key()).mesh().unwrap_err();
    for rank in [0, 1] {
        assert!(matches!(error(rank, "node0"), JoinError::Address { text, .. } if text == "node0"));
        assert!(
            matches!(error(rank, "no.such.host.invalid:5000"), JoinError::Resolve { host, .. } if host.contains("no.such"))
        );
    }
    for (rank, size) in [(0, 0), (2, 2), (usize::MAX, 3), (0, 1 << 17)] {
        let error = Join::new(rank, size, Root::Address("127.0.0.1:5000".to_owned())).mesh().unwrap_err();
        assert_eq!(error, JoinError::Rank { rank, size });
    }
}
