//! Ranks that do not come, or do not stay, are named.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::super::super::error::JoinError;
use super::super::super::hello::Build;
use super::super::super::message::BootstrapMessage;
use super::super::super::timing::grace;
use super::super::super::{Join, Root};
use super::scripted::{client, client_at, root};
use super::{Port, error_of, errors, join_and_greet, key, start};

#[test]
fn missing_ranks_are_named_on_every_rank_that_came() {
    let port = Port::new();
    let timeout = Duration::from_millis(1500);
    let late = |rank| Join { timeout, ..port.join(rank, 6) };
    // The ranks that come have time, so that on a busy machine they all do.
    let errors = errors(vec![late(0), port.join(1, 6), port.join(4, 6)]);
    let expected = JoinError::Missing { size: 6, missing: vec![2, 3, 5], waited: timeout, turned_away: String::new() };
    assert_eq!(errors, [expected.clone(), expected.clone(), expected.clone()]);
    assert!(expected.to_string().contains("3 of 6 ranks joined within 1.5s; missing: ranks 2, 3, 5"), "{expected}");
}

#[test]
fn absent_rank_0_is_named_with_its_address() {
    let port = Port::new();
    let timeout = Duration::from_millis(300);
    let error = Join { timeout, ..port.join(1, 2) }.mesh().unwrap_err();
    let JoinError::Unreachable { rank: 1, other: 0, address, why, waited } = &error else { panic!("{error}") };
    assert!(*address == port.address().to_string() && *waited == timeout && why.contains("refused"), "{error}");
}

#[test]
fn rank_0_that_sends_nothing_is_named_with_its_address() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let join = Join::new(1, 2, Root::Address(address.clone())).key(key()).timeout(Duration::from_millis(300));
    let error = join_and_greet(&join).unwrap_err();
    assert!(matches!(&error, JoinError::Unreachable { address: at, .. } if *at == address), "{error}");
}

#[test]
fn rank_lost_during_the_bootstrap_is_named_on_every_rank() {
    let port = Port::new();
    let others = [0, 1, 3].map(|rank| start(port.join(rank, 4)));
    let rank = client(&port.join(2, 4), Build::own(), true);
    let address = rank.connection.local;
    drop(rank);
    for other in others {
        assert_eq!(error_of(other), JoinError::Lost { rank: 2, address });
    }
}

#[test]
fn rank_0_lost_during_the_bootstrap_is_named() {
    let port = Port::new();
    let root = root(&port, 3, Build::own());
    let rank = start(port.join(1, 3));
    let connection = root.accept();
    assert!(matches!(connection.receive(), BootstrapMessage::Arrived(_)));
    drop(connection);
    assert_eq!(error_of(rank), JoinError::Lost { rank: 0, address: port.address() });
}

#[test]
fn silent_rank_0_is_named() {
    let port = Port::new();
    let root = root(&port, 3, Build::own());
    let rank = start(Join { timeout: Duration::from_secs(2), ..port.join(1, 3) });
    let _connection = root.accept();
    let error = error_of(rank);
    assert!(matches!(error, JoinError::Silent { address, .. } if address == port.address()), "{error}");
}

#[test]
fn unreachable_rank_is_named_on_every_rank() {
    let port = Port::new();
    // Rank 1 announces an address on which it does not listen. Rank 2 has 1.5 s to find out.
    let timeout = Duration::from_millis(1500);
    let others = [port.join(0, 3), Join { timeout, ..port.join(2, 3) }].map(start);
    let rank = client(&port.join(1, 3), Build::own(), true);
    let told = loop {
        if let BootstrapMessage::Failed(told) = rank.receive() {
            break told;
        }
    };
    drop(rank);
    let errors = others.map(error_of);
    let JoinError::Unreachable { rank: 2, other: 1, address, .. } = &errors[1] else { panic!("{}", errors[1]) };
    assert_eq!(address, "127.0.0.1:1");
    let expected = JoinError::Abandoned { rank: 2, reason: errors[1].to_string() };
    assert_eq!((&errors[0], &told), (&expected, &expected));
}

#[test]
fn rank_silent_after_it_arrived_is_the_only_late_one() {
    // As rank 1, to which all connect, as rank 3, which connects to all, and as rank 2 between
    // them.
    thread::scope(|scope| {
        for silent in 1..4 {
            scope.spawn(move || silent_after_it_arrived(silent, Duration::from_secs(2), Duration::from_secs(60)));
            // Rank 0 names it first even if the others have the same timeout.
            scope.spawn(move || silent_after_it_arrived(silent, Duration::from_secs(3), Duration::from_secs(3)));
        }
    });
}

fn silent_after_it_arrived(silent: usize, timeout: Duration, others: Duration) {
    let port = Port::new();
    let others: Vec<_> = (0..4)
        .filter(|rank| *rank != silent)
        .map(|rank| start(Join { timeout: if rank == 0 { timeout } else { others }, ..port.join(rank, 4) }))
        .collect();
    // Like a stopped process: its kernel accepts connections, and it sends nothing.
    let stopped = TcpListener::bind("127.0.0.1:0").unwrap();
    let rank = client_at(&port.join(silent, 4), stopped.local_addr().unwrap());
    let expected = JoinError::Late { late: vec![silent], waited: timeout + grace(timeout) };
    for other in others {
        assert_eq!(error_of(other), expected, "{silent} is silent");
    }
    drop(rank);
}
