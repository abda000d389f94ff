//! A rank that does not come, or does not stay, is named.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::super::super::error::JoinError;
use super::super::super::hall::Event;
use super::super::super::hello::Build;
use super::super::super::notice::Notice;
use super::super::super::{Join, Root};
use super::super::times::{GLANCE, after, grace};
use super::by_hand::{guest, guest_at, heard, root};
use super::{Port, enter, errors, failed, key, start};

#[test]
fn missing_ranks_are_named_on_every_rank_that_came() {
    let port = Port::new();
    let timeout = Duration::from_millis(1500);
    let late = |rank| Join { timeout, ..port.join(rank, 6) };
    // Those who come have time, so that on a busy machine they all do.
    let errors = errors(vec![late(0), port.join(1, 6), port.join(4, 6)]);
    let expected = JoinError::Missing { size: 6, missing: vec![2, 3, 5], waited: timeout, turned_away: String::new() };
    assert_eq!(errors, [expected.clone(), expected.clone(), expected.clone()]);
    assert!(expected.to_string().contains("3 of 6 ranks came within 1.5s; missing: ranks 2, 3, 5"), "{expected}");
}

#[test]
fn rank_0_that_does_not_come_is_named_with_its_address() {
    let port = Port::new();
    let timeout = Duration::from_millis(300);
    let error = Join { timeout, ..port.join(1, 2) }.mesh().unwrap_err();
    let JoinError::Unreachable { rank: 1, other: 0, address, why, waited } = &error else { panic!("{error}") };
    assert!(*address == port.address().to_string() && *waited == timeout && why.contains("refused"), "{error}");
}

#[test]
fn rank_0_that_says_nothing_is_named_too() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let join = Join::new(1, 2, Root::Address(address.clone())).key(key()).timeout(Duration::from_millis(300));
    let error = enter(&join).unwrap_err();
    assert!(matches!(&error, JoinError::Unreachable { address: at, .. } if *at == address), "{error}");
}

#[test]
fn a_rank_that_dies_while_they_meet_is_named_to_all() {
    let port = Port::new();
    let others = [0, 1, 3].map(|rank| start(port.join(rank, 4)));
    let (hall, id, _) = guest(&port.join(2, 4), Build::own(), true);
    let address = hall.local(id).unwrap();
    drop(hall);
    for other in others {
        assert_eq!(failed(other), JoinError::Lost { rank: 2, address });
    }
}

#[test]
fn rank_0_that_dies_while_they_meet_is_named() {
    let port = Port::new();
    let mut root = root(&port, 3, Build::own());
    let rank = start(port.join(1, 3));
    while !matches!(heard(&mut root), Event::Said(_, Notice::Here(_))) {}
    drop(root);
    assert_eq!(failed(rank), JoinError::Lost { rank: 0, address: port.address() });
}

#[test]
fn rank_0_that_falls_silent_is_named() {
    let port = Port::new();
    let mut root = root(&port, 3, Build::own());
    let rank = start(Join { timeout: Duration::from_millis(100), ..port.join(1, 3) });
    while !rank.is_finished() {
        let _ = root.next(after(Instant::now(), GLANCE)).unwrap();
    }
    let error = failed(rank);
    assert!(matches!(error, JoinError::Silent { address, .. } if address == port.address()), "{error}");
}

#[test]
fn a_rank_that_cannot_be_reached_is_named_to_all() {
    let port = Port::new();
    // Rank 1 says that it listens where it does not; rank 2 has half a second to find out.
    let timeout = Duration::from_millis(1500);
    let others = [port.join(0, 3), Join { timeout, ..port.join(2, 3) }].map(start);
    let (mut hall, ..) = guest(&port.join(1, 3), Build::own(), true);
    let told = loop {
        if let Event::Said(_, Notice::Over(told)) = heard(&mut hall) {
            break told;
        }
    };
    drop(hall);
    let errors = others.map(failed);
    let JoinError::Unreachable { rank: 2, other: 1, address, .. } = &errors[1] else { panic!("{}", errors[1]) };
    assert_eq!(address, "127.0.0.1:1");
    let expected = JoinError::Abandoned { rank: 2, reason: errors[1].to_string() };
    assert_eq!((&errors[0], &told), (&expected, &expected));
}

#[test]
fn rank_silent_after_it_came_is_the_only_late_one() {
    // In the place of rank 1, which all call, of rank 3, which calls all, and of one between them.
    for silent in 1..4 {
        let port = Port::new();
        let timeout = Duration::from_secs(1);
        let others: Vec<_> = (0..4)
            .filter(|rank| *rank != silent)
            .map(|rank| start(Join { timeout: if rank == 0 { timeout } else { 60 * timeout }, ..port.join(rank, 4) }))
            .collect();
        // As a process that is stopped: its kernel takes calls, and it says nothing.
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let (hall, _, _) = guest_at(&port.join(silent, 4), deaf.local_addr().unwrap());
        let expected = JoinError::Late { late: vec![silent], waited: timeout + grace(timeout) };
        for other in others {
            assert_eq!(failed(other), expected, "{silent} is silent");
        }
        drop(hall);
    }
}
