//! A listener whose queue is full, as in a flood.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::super::super::Join;
use super::super::super::error::JoinError;
use super::super::super::hall::{Event, Hall};
use super::super::super::hello::Role;
use super::super::super::notice::Notice;
use super::super::times::identity;
use super::by_hand::heard;
use super::{Port, failed, start};

/// The sockets of this host that wait for an answer from that port of its own: what the system
/// knows them by.
fn asking(port: u16) -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let asks = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
        // The state 02 is that of a socket whose first packet has not been answered.
        (peer == format!("0100007F:{port:04X}") && state == "02").then(|| own.to_owned())
    };
    sockets.lines().filter_map(asks).collect()
}

#[test]
fn attempt_lost_in_a_full_queue_is_made_again() {
    let port = Port::new();
    // A queue of one, which others have filled.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&port.address().into()).unwrap();
    socket.listen(0).unwrap();
    let mut fillers = Vec::new();
    while asking(port.number).is_empty() {
        let filler = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        filler.set_nonblocking(true).unwrap();
        let _ = filler.connect(&port.address().into());
        fillers.push(filler);
    }
    let others = asking(port.number);
    // The system alone would have tried again four times by then, always from the same socket.
    let rank = start(Join { timeout: Duration::from_secs(9), ..port.join(1, 3) });
    let mut own = BTreeSet::new();
    while own.len() < 3 && !rank.is_finished() {
        own.extend(asking(port.number).into_iter().filter(|socket| !others.contains(socket)));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(own.len() >= 3, "{own:?}");
    // Once somebody accepts, it gets through.
    drop(fillers);
    let mut hall = Hall::new(identity(&port.join(0, 3), 5), Role::Meeting, 0).unwrap();
    hall.listen(socket.into()).unwrap();
    while !matches!(heard(&mut hall), Event::Said(_, Notice::Here(_))) {}
    drop(hall);
    assert_eq!(failed(rank), JoinError::Lost { rank: 0, address: port.address() });
}
