//! Bootstraps that succeed, in any order and by any address.

use std::io::Read;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use super::super::super::hello::Build;
use super::super::super::message::BootstrapMessage;
use super::super::super::{Join, Root};
use super::scripted::root;
use super::{Port, check_meshes, join_all, join_and_greet, start};

#[test]
fn every_rank_is_connected_to_every_other() {
    for size in [1, 2, 3, 5, 17] {
        let port = Port::new();
        check_meshes(join_all((0..size).map(|rank| port.join(rank, size)).collect()));
    }
}

#[test]
fn ranks_join_over_ipv6() {
    // A machine may have no IPv6.
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let port = Port::on(Ipv6Addr::LOCALHOST.into());
        assert!(port.host.starts_with('['));
        check_meshes(join_all((0..4).map(|rank| port.join(rank, 4)).collect()));
    }
}

#[test]
fn ranks_join_by_a_name_with_ipv4_and_ipv6_addresses() {
    let port = Port::new();
    let join = |rank| Join { root: Root::Address(format!("localhost:{}", port.number)), ..port.join(rank, 3) };
    check_meshes(join_all((0..3).map(join).collect()));
}

#[test]
fn ranks_without_a_key_join_on_the_loopback_interface() {
    let port = Port::new();
    check_meshes(join_all((0..3).map(|rank| Join { key: None, ..port.join(rank, 3) }).collect()));
}

#[test]
fn rank_0_may_come_last() {
    let port = Port::new();
    let first = [1, 2, 3].map(|rank| start(port.join(rank, 4)));
    thread::sleep(Duration::from_millis(300));
    let mut meshes = vec![join_and_greet(&port.join(0, 4))];
    meshes.extend(first.map(|rank| rank.join().unwrap()));
    check_meshes(meshes);
}

#[test]
fn ranks_listen_on_the_configured_addresses() {
    let port = Port::new();
    let join = |rank: usize| match rank {
        0 => port.join(0, 4),
        1 => port.join(1, 4).address([0, 0, 0, 0].into()),
        _ => port.join(rank, 4).address([127, 0, 0, 1 + rank as u8].into()),
    };
    let meshes = join_all((0..4).map(join).collect());
    let stream = meshes[3].as_ref().unwrap().streams[2].as_ref().unwrap();
    assert_eq!(stream.peer_addr().unwrap().ip(), IpAddr::from([127, 0, 0, 3]));
    check_meshes(meshes);
}

#[test]
fn rank_that_is_ready_sends_nothing_before_it_may_go() {
    let port = Port::new();
    let root = root(&port, 2, Build::own());
    let rank = start(port.join(1, 2));
    let connection = root.accept();
    let BootstrapMessage::Arrived(location) = connection.receive() else { panic!("it did not arrive") };
    connection.send(&BootstrapMessage::Table(vec![location; 2]));
    assert_eq!(connection.receive(), BootstrapMessage::Ready);
    // Rank 0 asks while that is under way.
    connection.send(&BootstrapMessage::CountUnconnected);
    connection.send(&BootstrapMessage::Go);
    let mut received = [0; 2];
    connection.connection.until(Instant::now() + Duration::from_secs(60)).read_exact(&mut received).unwrap();
    assert_eq!(received, [1, 0], "the greeting of `start`");
    drop(rank.join().unwrap().unwrap());
}
