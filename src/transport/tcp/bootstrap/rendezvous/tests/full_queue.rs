//! Bootstraps with a listener whose queue is full, as in a flood.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::super::super::Join;
use super::super::super::error::JoinError;
use super::super::super::hello::Build;
use super::super::super::message::BootstrapMessage;
use super::scripted::ScriptedRoot;
use super::{Port, error_of, start};

/// Returns the sockets of this host whose connection to that local port is not answered yet, as the
/// system names them.
fn unanswered(port: u16) -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_unanswered = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
        // State 02: the first packet has not been answered.
        (peer == format!("0100007F:{port:04X}") && state == "02").then(|| own.to_owned())
    };
    sockets.lines().filter_map(is_unanswered).collect()
}

#[test]
fn attempt_lost_in_a_full_queue_is_made_again() {
    let port = Port::new();
    // A queue of one, which other connections have filled.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&port.address().into()).unwrap();
    socket.listen(0).unwrap();
    let mut fillers = Vec::new();
    while unanswered(port.number).is_empty() {
        let filler = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        filler.set_nonblocking(true).unwrap();
        let _ = filler.connect(&port.address().into());
        fillers.push(filler);
    }
    let others = unanswered(port.number);
    // The system alone would have tried again three times in that time, from the same socket.
    let rank = start(Join { timeout: Duration::from_secs(9), ..port.join(1, 3) });
    let mut own = BTreeSet::new();
    while own.len() < 3 && !rank.is_finished() {
        own.extend(unanswered(port.number).into_iter().filter(|socket| !others.contains(socket)));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(own.len() >= 3, "{own:?}");
    // Once connections are accepted, the rank arrives.
    drop(fillers);
    let root = ScriptedRoot::new(&port.join(0, 3), Build::own(), socket.into());
    let connection = root.accept();
    assert!(matches!(connection.receive(), BootstrapMessage::Arrived(_)));
    drop(connection);
    assert_eq!(error_of(rank), JoinError::Lost { rank: 0, address: port.address() });
}
