//! Peers that are not of the job.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
#[cfg(all(target_os = "linux", target_endian = "little"))]
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::super::super::error::JoinError;
use super::super::super::hello::{Build, HandshakeRole, Hello, Purpose};
use super::super::super::{Join, Key, Root};
use super::{Port, check_meshes, error_of, errors, join_all, key, server_that_sends, start};

/// Connects to rank 0 as fast as it can until it is stopped, without being a rank. Returns the
/// number of connections.
fn flood(address: SocketAddr, stop: &AtomicBool) -> usize {
    let mut silent = Vec::new();
    let mut count = 0;
    let (purpose, role) = (Purpose::Rendezvous, HandshakeRole::Initiator);
    let hello = Hello { build: Build::own(), purpose, role, rank: 3, size: 8, job: 0, nonce: [9; 32] }.encode();
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        count += 1;
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let _ = match count % 5 {
            0 => Ok(()),
            1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            2 => stream.write_all(&hello[..count % hello.len()]),
            // The hello alone, or with an invalid proof.
            3 => stream.write_all(&hello),
            _ => stream.write_all(&[&hello[..], &[count as u8; 4000]].concat()),
        };
        if count % 7 == 0 {
            let _ = stream.read(&mut [0; 200]);
        }
        silent.push(stream);
        if silent.len() > 400 {
            silent.drain(..100);
        }
    }
    count
}

#[test]
fn flood_of_unauthenticated_peers_does_not_prevent_the_job() {
    let port = Port::new();
    let address = port.address();
    let stop = AtomicBool::new(false);
    let came = AtomicUsize::new(0);
    let meshes = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| came.fetch_add(flood(address, &stop), Ordering::Relaxed));
        }
        let silent = start(port.join(0, 8));
        // At first only they connect to rank 0, more of them than a full set keeps.
        let mut early = Vec::new();
        while early.len() < 300 {
            early.extend(TcpStream::connect(address));
        }
        let wrong = start(port.join(5, 8).key(Key::new(&[1; 40]).unwrap()));
        assert_eq!(error_of(wrong), JoinError::WrongKey { address, rank: 5 });
        let meshes = join_all((1..8).map(|rank| port.join(rank, 8)).collect());
        let root = silent.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        std::iter::once(root).chain(meshes).collect()
    });
    check_meshes(meshes);
    assert!(came.into_inner() > 0);
}

#[test]
fn rejected_peers_are_reported_beside_missing_ranks() {
    let port = Port::new();
    let timeout = Duration::from_millis(1500);
    let errors = errors(vec![Join { timeout, ..port.join(0, 2) }, port.join(1, 2).key(Key::new(&[8; 20]).unwrap())]);
    let JoinError::Missing { missing, turned_away, .. } = &errors[0] else { panic!("{}", errors[0]) };
    assert!(*missing == [1] && turned_away.contains("does not hold the key"), "{}", errors[0]);
    assert_eq!(errors[1], JoinError::WrongKey { address: port.address(), rank: 1 });
}

#[test]
fn key_on_one_side_only_is_an_error() {
    let port = Port::new();
    for (root, rank) in [(Some(key()), None), (None, Some(key()))] {
        let timeout = Duration::from_millis(1500);
        let errors =
            errors(vec![Join { key: root, timeout, ..port.join(0, 2) }, Join { key: rank, ..port.join(1, 2) }]);
        assert_eq!(errors[1], JoinError::WrongKey { address: port.address(), rank: 1 });
    }
}

#[test]
fn other_program_at_the_rendezvous_address_is_named() {
    for (bytes, what) in [
        (&b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..], "not a rank of a Necklace job"),
        (b"necklace\x09\0\0\0 and more that another protocol has", "speaks protocol 9"),
    ] {
        let at = server_that_sends(bytes);
        let error = Join::new(1, 2, Root::Address(at.to_string())).key(key()).mesh().unwrap_err();
        let JoinError::WrongPeer { address, other: 0, why } = &error else { panic!("{error}") };
        assert!(*address == at && why.contains(what), "{error}");
    }
}

#[test]
fn peer_with_another_protocol_is_sent_this_one() {
    let port = Port::new();
    let root = start(Join { timeout: Duration::from_millis(1500), ..port.join(0, 2) });
    let mut stream = loop {
        if let Ok(stream) = TcpStream::connect(port.address()) {
            break stream;
        }
    };
    stream.write_all(b"necklace\x09\0\0\0").unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    assert_eq!(heard[..12], *b"necklace\x04\0\0\0");
    drop(stream);
    let error = error_of(root);
    assert!(error.to_string().contains("protocol 9"), "{error}");
}

/// The address of the rank with few descriptors, by which its parent finds its port.
#[cfg(all(target_os = "linux", target_endian = "little"))]
const FEW_DESCRIPTORS: &str = "127.0.0.77";

/// Not a test by itself: rank 6 of the eight ranks of the next test, a process with a limit on its
/// descriptors.
#[cfg(all(target_os = "linux", target_endian = "little"))]
#[test]
fn rank_with_few_descriptors() {
    let Ok(root) = std::env::var("NECKLACE_TEST_FEW_DESCRIPTORS") else { return };
    let join = Join::new(6, 8, Root::Address(root)).key(key()).timeout(Duration::from_secs(60));
    join.address(FEW_DESCRIPTORS.parse().unwrap()).mesh().unwrap();
}

/// Returns the port on which the rank with few descriptors listens.
#[cfg(all(target_os = "linux", target_endian = "little"))]
fn listening() -> u16 {
    // Half a minute, for very busy machines.
    for _ in 0..6000 {
        // The address is in hexadecimal, in the byte order of memory. State 0A: listening.
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let mut ports = sockets.lines().filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let port = fields.next()?.strip_prefix("4D00007F:")?;
            fields.nth(1).filter(|state| *state == "0A").and_then(|_| u16::from_str_radix(port, 16).ok())
        });
        if let Some(port) = ports.next() {
            return port;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing listens there");
}

#[cfg(all(target_os = "linux", target_endian = "little"))]
#[test]
fn rank_with_few_descriptors_connects_despite_a_flood() {
    let port = Port::new();
    let own = std::env::current_exe().unwrap();
    let test = "transport::tcp::bootstrap::rendezvous::tests::unauthenticated::rank_with_few_descriptors";
    // A few more than it requires.
    let mut limited = Command::new("sh")
        .args(["-c", "ulimit -n 40; exec \"$0\" --exact \"$1\""])
        .arg(own)
        .arg(test)
        .env("NECKLACE_TEST_FEW_DESCRIPTORS", port.address().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let others: Vec<_> = (0..6).map(|rank| start(port.join(rank, 8))).collect();
    let listener = SocketAddr::new(FEW_DESCRIPTORS.parse().unwrap(), listening());
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(listener).unwrap()).collect();
    // By then it has accepted as many as it can.
    thread::sleep(Duration::from_millis(200));
    let last = start(port.join(7, 8));
    assert!(limited.wait().unwrap().success());
    others.into_iter().chain([last]).for_each(|rank| drop(rank.join().unwrap().unwrap()));
    drop(silent);
}

/// Not a test by itself: rank 0 of the sixty ranks of the next test, a process with a limit on its
/// descriptors.
#[cfg(all(target_os = "linux", target_endian = "little"))]
#[test]
fn root_with_few_descriptors() {
    let Ok(root) = std::env::var("NECKLACE_TEST_FEW_DESCRIPTORS_ROOT") else { return };
    let join = Join::new(0, 60, Root::Address(root)).key(key()).held(true).timeout(Duration::from_secs(60));
    let error = join.mesh().unwrap_err();
    assert!(matches!(error, JoinError::Descriptors { rank: 0, .. }), "{error}");
}

#[cfg(all(target_os = "linux", target_endian = "little"))]
#[test]
fn rank_0_with_too_few_descriptors_tells_the_others() {
    let port = Port::new();
    let early = start(port.join(1, 60));
    let test = "transport::tcp::bootstrap::rendezvous::tests::unauthenticated::root_with_few_descriptors";
    // So few that not all ranks can be told at once.
    let mut root = Command::new("sh")
        .args(["-c", "ulimit -n 12; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env("NECKLACE_TEST_FEW_DESCRIPTORS_ROOT", port.address().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let told = error_of(early);
    assert!(matches!(&told, JoinError::Abandoned { rank: 0, reason } if reason.contains("descriptors")), "{told}");
    // Ranks that come later are told as well.
    for error in errors((2..60).map(|rank| port.join(rank, 60)).collect()) {
        assert_eq!(error, told);
    }
    assert!(root.wait().unwrap().success());
}
