//! The ranks of a job meet, however they come.

use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::thread;
use std::time::Duration;

use super::super::super::{Join, Root};
use super::{Port, enter, meet, start, talk};

#[test]
fn every_rank_gets_a_connection_to_every_other() {
    for size in [1, 2, 3, 5, 17] {
        let port = Port::new();
        talk(meet((0..size).map(|rank| port.join(rank, size)).collect()));
    }
}

#[test]
fn they_meet_over_ipv6() {
    // A machine may have none.
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let port = Port::on(Ipv6Addr::LOCALHOST.into());
        assert!(port.host.starts_with('['));
        talk(meet((0..4).map(|rank| port.join(rank, 4)).collect()));
    }
}

#[test]
fn they_meet_by_a_name_that_stands_for_either_family() {
    let port = Port::new();
    let join = |rank| Join { root: Root::Address(format!("localhost:{}", port.number)), ..port.join(rank, 3) };
    talk(meet((0..3).map(join).collect()));
}

#[test]
fn without_a_key_they_meet_on_the_loopback_interface() {
    let port = Port::new();
    talk(meet((0..3).map(|rank| Join { key: None, ..port.join(rank, 3) }).collect()));
}

#[test]
fn rank_0_may_come_last() {
    let port = Port::new();
    let first = [1, 2, 3].map(|rank| start(port.join(rank, 4)));
    thread::sleep(Duration::from_millis(300));
    let mut meshes = vec![enter(&port.join(0, 4))];
    meshes.extend(first.map(|rank| rank.join().unwrap()));
    talk(meshes);
}

#[test]
fn they_listen_where_they_are_told() {
    let port = Port::new();
    let join = |rank: usize| match rank {
        0 => port.join(0, 4),
        1 => port.join(1, 4).address([0, 0, 0, 0].into()),
        _ => port.join(rank, 4).address([127, 0, 0, 1 + rank as u8].into()),
    };
    let meshes = meet((0..4).map(join).collect());
    let stream = meshes[3].as_ref().unwrap().streams[2].as_ref().unwrap();
    assert_eq!(stream.peer_addr().unwrap().ip(), IpAddr::from([127, 0, 0, 3]));
    talk(meshes);
}
