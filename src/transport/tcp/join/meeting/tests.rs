//! Ranks that are threads of a test meet over real sockets.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;
use socket2::{Domain, Socket, Type};

/// A port that is kept from others, as by a launcher.
struct Port {
    _held: Socket,
    number: u16,
    host: String,
}

impl Port {
    fn on(ip: IpAddr) -> Self {
        let address = SocketAddr::new(ip, 0);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.set_reuse_port(true).unwrap();
        socket.bind(&address.into()).unwrap();
        let bound = socket.local_addr().unwrap().as_socket().unwrap();
        let host = bound.to_string().rsplit_once(':').unwrap().0.to_owned();
        Self { _held: socket, number: bound.port(), host }
    }

    fn new() -> Self {
        Self::on(Ipv4Addr::LOCALHOST.into())
    }

    fn address(&self) -> SocketAddr {
        format!("{}:{}", self.host, self.number).parse().unwrap()
    }

    fn join(&self, rank: usize, size: usize) -> Join {
        let root = Root::Address(format!("{}:{}", self.host, self.number));
        Join::new(rank, size, root).held(true).key(key()).timeout(Duration::from_secs(120))
    }
}

fn key() -> Key {
    Key::new(b"the key of the tests").unwrap()
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("necklace-meeting-{name}-{}", std::process::id()))
}

/// Joins, and says something to everybody at once: the others may not know yet that all have met.
fn enter(join: &Join) -> Result<Mesh, JoinError> {
    let mesh = join.mesh()?;
    for (other, stream) in mesh.streams.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
        let _ = (&*stream).write_all(&[mesh.rank as u8, other as u8]);
    }
    Ok(mesh)
}

/// Each joins on a thread of its own.
fn meet(joins: Vec<Join>) -> Vec<Result<Mesh, JoinError>> {
    let threads: Vec<_> = joins.into_iter().map(|join| thread::spawn(move || enter(&join))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// The error of each.
fn errors(joins: Vec<Join>) -> Vec<JoinError> {
    meet(joins).into_iter().map(Result::unwrap_err).collect()
}

/// That each connection leads to whom it should, in both directions, and that nothing is lost or said besides.
fn talk(meshes: Vec<Result<Mesh, JoinError>>) {
    let size = meshes.len();
    let meshes: Vec<Mesh> = meshes.into_iter().map(Result::unwrap).collect();
    for (rank, mesh) in meshes.iter().enumerate() {
        assert_eq!((mesh.rank, mesh.streams.len(), mesh.neighbours), (rank, size, size));
        for (other, stream) in mesh.streams.iter().enumerate() {
            assert_eq!(stream.is_none(), other == rank);
            if let Some(stream) = stream {
                assert!(stream.nodelay().unwrap());
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            }
        }
    }
    for (rank, mesh) in meshes.iter().enumerate() {
        for (other, stream) in mesh.streams.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
            let mut heard = [0; 2];
            (&*stream).read_exact(&mut heard).unwrap();
            assert_eq!(heard, [other as u8, rank as u8]);
            stream.set_nonblocking(true).unwrap();
            let more = (&*stream).read(&mut heard);
            assert_eq!(more.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        }
    }
}

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
    let first: Vec<_> = (1..4).map(|rank| port.join(rank, 4)).map(|join| thread::spawn(move || enter(&join))).collect();
    thread::sleep(Duration::from_millis(300));
    let mut meshes = vec![enter(&port.join(0, 4))];
    meshes.extend(first.into_iter().map(|thread| thread.join().unwrap()));
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

/// What comes to the meeting point and is no rank, as fast as it can, until it is told to stop. How often it came.
fn flood(address: SocketAddr, stop: &AtomicBool) -> usize {
    let mut silent = Vec::new();
    let mut came = 0;
    let identity = |bytes| Identity { key: Key::new(bytes).unwrap(), build: Build::own(), rank: 3, size: 8, job: 0 };
    let (_, hello) = super::super::handshake::Calling::new(&identity(&[7; 16]), Role::Meeting, 0, [9; 32]);
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        came += 1;
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let _ = match came % 5 {
            0 => Ok(()),
            1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            2 => stream.write_all(&hello[..came % hello.len()]),
            // Half of it, or all of it with a proof that proves nothing.
            3 => stream.write_all(&hello),
            _ => stream.write_all(&[&hello[..], &[came as u8; 4000]].concat()),
        };
        if came % 7 == 0 {
            let _ = stream.read(&mut [0; 200]);
        }
        silent.push(stream);
        if silent.len() > 400 {
            silent.drain(..100);
        }
    }
    came
}

#[test]
fn those_who_do_not_hold_the_key_do_not_keep_the_ranks_from_meeting() {
    let port = Port::new();
    let address = port.address();
    let stop = AtomicBool::new(false);
    let came = AtomicUsize::new(0);
    let meshes = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| came.fetch_add(flood(address, &stop), Ordering::Relaxed));
        }
        let silent = thread::spawn({
            let join = port.join(0, 8);
            move || enter(&join)
        });
        // They have the meeting point to themselves at first, and more of them than there is room for.
        let mut early = Vec::new();
        while early.len() < 200 {
            early.extend(TcpStream::connect(address));
        }
        let wrong = thread::spawn({
            let join = port.join(5, 8).key(Key::new(&[1; 40]).unwrap());
            move || enter(&join)
        });
        assert_eq!(wrong.join().unwrap().unwrap_err(), JoinError::Proof { address, rank: 5 });
        let meshes = meet((1..8).map(|rank| port.join(rank, 8)).collect());
        let root = silent.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        std::iter::once(root).chain(meshes).collect()
    });
    talk(meshes);
    assert!(came.into_inner() > 0);
}

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
fn who_was_turned_away_is_said_beside_who_is_missing() {
    let port = Port::new();
    let timeout = Duration::from_millis(1500);
    let errors = errors(vec![Join { timeout, ..port.join(0, 2) }, port.join(1, 2).key(Key::new(&[8; 20]).unwrap())]);
    let JoinError::Missing { missing, turned_away, .. } = &errors[0] else { panic!("{}", errors[0]) };
    assert!(*missing == [1] && turned_away.contains("does not hold the key"), "{}", errors[0]);
    assert_eq!(errors[1], JoinError::Proof { address: port.address(), rank: 1 });
}

#[test]
fn a_rank_without_the_key_is_told_so_and_so_is_one_with_a_key_too_many() {
    let port = Port::new();
    for (root, rank) in [(Some(key()), None), (None, Some(key()))] {
        let timeout = Duration::from_millis(1500);
        let errors =
            errors(vec![Join { key: root, timeout, ..port.join(0, 2) }, Join { key: rank, ..port.join(1, 2) }]);
        assert_eq!(errors[1], JoinError::Proof { address: port.address(), rank: 1 });
    }
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

/// Somebody who answers each caller with these bytes.
fn answers(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(bytes);
            let _ = stream.read(&mut [0; 1000]);
        }
    });
    address
}

#[test]
fn who_answers_and_is_no_rank_is_named_at_once() {
    for (bytes, what) in [
        (&b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..], "no rank of a job"),
        (b"necklace\x02\0\0\0 and more that another protocol has", "speaks protocol 2"),
    ] {
        let at = answers(bytes);
        let error = Join::new(1, 2, Root::Address(at.to_string())).key(key()).mesh().unwrap_err();
        let JoinError::Stranger { address, other: 0, why } = &error else { panic!("{error}") };
        assert!(*address == at && why.contains(what), "{error}");
    }
}

#[test]
fn a_caller_of_another_protocol_is_told_which_this_is() {
    let port = Port::new();
    let root = thread::spawn({
        let join = Join { timeout: Duration::from_millis(1500), ..port.join(0, 2) };
        move || enter(&join)
    });
    let mut stream = loop {
        if let Ok(stream) = TcpStream::connect(port.address()) {
            break stream;
        }
    };
    stream.write_all(b"necklace\x02\0\0\0").unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    assert_eq!(heard[..12], *b"necklace\x01\0\0\0");
    drop(stream);
    let error = root.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("protocol 2"), "{error}");
}

/// Comes as rank `rank` of a build, and stays until all is over. What it hears.
fn guest(join: &Join, build: Build, here: bool) -> (Hall, Id, Hello) {
    let mut hall = Hall::new(identity(join, 0), Role::Mesh, 0).unwrap();
    hall.identity.build = build;
    let (id, hello, _) = reach(join, &mut hall).unwrap();
    if here {
        let place =
            Place { address: "127.0.0.1:1".parse().unwrap(), host: machine::identity(Ipv4Addr::LOCALHOST.into()) };
        hall.say(id, &Notice::Here(place));
        // It is on its way.
        while !hall.flushed([id]) {
            hall.next(after(Instant::now(), GLANCE)).unwrap();
        }
    }
    (hall, id, hello)
}

fn heard(hall: &mut Hall) -> Event {
    hall.next(after(Instant::now(), Duration::from_secs(120))).unwrap().unwrap()
}

#[test]
fn builds_that_differ_are_found_by_all() {
    for (build, what) in [
        (Build::other(b'l', 64, "9.9.9"), "9.9.9"),
        (Build::other(b'b', 64, env!("CARGO_PKG_VERSION")), "big-endian"),
        (Build::other(b'l', 32, env!("CARGO_PKG_VERSION")), "32 bits"),
    ] {
        let port = Port::new();
        let others: Vec<_> =
            [0, 1].map(|rank| port.join(rank, 3)).map(|join| thread::spawn(move || enter(&join))).into();
        let (mut hall, id, hello) = guest(&port.join(2, 3), build.clone(), false);
        let (_, ones, theirs) = hello.build.differs(&build).unwrap();
        let Event::Said(at, Notice::Over(told)) = heard(&mut hall) else { panic!("told something else") };
        let JoinError::Differs { one: 0, ones: says, other: 2, others: has, .. } = &told else { panic!("{told}") };
        assert!(at == id && *says == ones && *has == theirs && theirs == what, "{told}");
        drop(hall);
        for other in others {
            assert_eq!(other.join().unwrap().unwrap_err(), told);
        }
    }
}

#[test]
fn a_rank_that_finds_another_build_says_what_rank_0_says() {
    let port = Port::new();
    let mut root = Hall::new(identity(&port.join(0, 2), 5), Role::Meeting, 0).unwrap();
    root.identity.build = Build::other(b'l', 64, "0.0.1");
    root.listen(machine::listen(port.address(), true).unwrap()).unwrap();
    let rank = thread::spawn({
        let join = port.join(1, 2);
        move || enter(&join)
    });
    assert!(matches!(heard(&mut root), Event::Proved(..)));
    let error = rank.join().unwrap().unwrap_err();
    let JoinError::Differs { one: 0, ones, other: 1, others, .. } = &error else { panic!("{error}") };
    assert!(ones == "0.0.1" && others == env!("CARGO_PKG_VERSION"), "{error}");
}

#[test]
fn a_rank_that_dies_while_they_meet_is_named_to_all() {
    let port = Port::new();
    let others: Vec<_> =
        [0, 1, 3].map(|rank| port.join(rank, 4)).map(|join| thread::spawn(move || enter(&join))).into();
    let (hall, id, _) = guest(&port.join(2, 4), Build::own(), true);
    let address = hall.local(id).unwrap();
    drop(hall);
    for other in others {
        assert_eq!(other.join().unwrap().unwrap_err(), JoinError::Lost { rank: 2, address });
    }
}

#[test]
fn rank_0_that_dies_while_they_meet_is_named() {
    let port = Port::new();
    let mut root = Hall::new(identity(&port.join(0, 3), 5), Role::Meeting, 0).unwrap();
    root.listen(machine::listen(port.address(), true).unwrap()).unwrap();
    let rank = thread::spawn({
        let join = port.join(1, 3);
        move || enter(&join)
    });
    while !matches!(heard(&mut root), Event::Said(_, Notice::Here(_))) {}
    drop(root);
    assert_eq!(rank.join().unwrap().unwrap_err(), JoinError::Lost { rank: 0, address: port.address() });
}

#[test]
fn rank_0_that_falls_silent_is_named() {
    let port = Port::new();
    let mut root = Hall::new(identity(&port.join(0, 3), 5), Role::Meeting, 0).unwrap();
    root.listen(machine::listen(port.address(), true).unwrap()).unwrap();
    let rank = thread::spawn({
        // The time that rank 0 has, and some.
        let join = Join { timeout: Duration::from_millis(100), ..port.join(1, 3) };
        move || enter(&join)
    });
    while !rank.is_finished() {
        let _ = root.next(after(Instant::now(), GLANCE)).unwrap();
    }
    let error = rank.join().unwrap().unwrap_err();
    assert!(matches!(error, JoinError::Silent { address, .. } if address == port.address()), "{error}");
}

#[test]
fn a_rank_that_cannot_be_reached_is_named_to_all() {
    let port = Port::new();
    // Rank 1 says that it listens where it does not; rank 2 has half a second to find out.
    let timeout = Duration::from_millis(1500);
    let others: Vec<_> =
        [port.join(0, 3), Join { timeout, ..port.join(2, 3) }].map(|join| thread::spawn(move || enter(&join))).into();
    let (mut hall, ..) = guest(&port.join(1, 3), Build::own(), true);
    let told = loop {
        if let Event::Said(_, Notice::Over(told)) = heard(&mut hall) {
            break told;
        }
    };
    drop(hall);
    let errors: Vec<_> = others.into_iter().map(|other| other.join().unwrap().unwrap_err()).collect();
    let JoinError::Unreachable { rank: 2, other: 1, address, .. } = &errors[1] else { panic!("{}", errors[1]) };
    assert_eq!(address, "127.0.0.1:1");
    let expected = JoinError::Abandoned { rank: 2, reason: errors[1].to_string() };
    assert_eq!((&errors[0], &told), (&expected, &expected));
}

#[test]
fn a_rank_with_a_reason_of_its_own_says_it_to_all() {
    let port = Port::new();
    // An address for documentation, which this machine does not have.
    let errors = errors(vec![port.join(0, 3), port.join(1, 3), port.join(2, 3).address([203, 0, 113, 7].into())]);
    let JoinError::Listen { rank: 2, address, .. } = &errors[2] else { panic!("{}", errors[2]) };
    assert_eq!(address.ip(), IpAddr::from([203, 0, 113, 7]));
    let expected = JoinError::Abandoned { rank: 2, reason: errors[2].to_string() };
    assert_eq!(errors[..2], [expected.clone(), expected]);
}

#[test]
fn a_rank_that_comes_late_hears_why_the_others_have_gone() {
    let port = Port::new();
    let root = thread::spawn({
        let join = port.join(0, 4);
        move || enter(&join)
    });
    let twice = |error: &JoinError| matches!(error, JoinError::Twice { rank: 1, .. });
    assert!(errors(vec![port.join(1, 4), port.join(1, 4)]).iter().all(twice));
    // Rank 0 waits a moment for it; on a busy machine the moment may be over.
    let late = Join { timeout: Duration::from_millis(500), ..port.join(2, 4) }.mesh().unwrap_err();
    assert!(twice(&late) || matches!(late, JoinError::Unreachable { .. }), "{late}");
    assert!(twice(&root.join().unwrap().unwrap_err()));
}

#[test]
fn what_makes_no_sense_from_a_rank_is_an_error_for_all() {
    let port = Port::new();
    let others: Vec<_> = [0, 1].map(|rank| port.join(rank, 3)).map(|join| thread::spawn(move || enter(&join))).into();
    let (mut hall, id, _) = guest(&port.join(2, 3), Build::own(), true);
    hall.say(id, &Notice::Go);
    let errors: Vec<_> = others.into_iter().map(|other| other.join().unwrap().unwrap_err()).collect();
    assert!(matches!(&errors[0], JoinError::Garbage { rank: 2, .. }), "{}", errors[0]);
    assert_eq!(errors[1], JoinError::Abandoned { rank: 0, reason: errors[0].to_string() });
}

#[test]
fn listening_where_others_reach_it_needs_a_key_or_to_be_meant() {
    let outside = "203.0.113.7:5000";
    for (rank, root, address) in [
        (0, outside, None),
        (0, "0.0.0.0:5000", None),
        (0, "127.0.0.1:5000", Some(IpAddr::from([0, 0, 0, 0]))),
        (1, "127.0.0.1:5000", Some(IpAddr::from([203, 0, 113, 7]))),
    ] {
        let join = Join { address, ..Join::new(rank, 2, Root::Address(root.to_owned())) };
        let error = enter(&join).unwrap_err();
        assert!(matches!(error, JoinError::Exposed { rank: at, .. } if at == rank), "{error}");
        assert!(error.to_string().contains("NECKLACE_KEY_FILE"), "{error}");
    }
    // Where there is no way to others at all, rank 1 would not listen on it.
    if machine::outward(false).is_some() {
        let error = Join::new(1, 2, Root::Address(outside.to_owned())).mesh().unwrap_err();
        assert!(matches!(error, JoinError::Exposed { rank: 1, .. }), "{error}");
    }
    let meant = Join::new(0, 2, Root::Address(outside.to_owned())).insecure(true).mesh().unwrap_err();
    assert!(matches!(meant, JoinError::Listen { rank: 0, .. }), "{meant}");
}

#[test]
fn addresses_that_cannot_be_are_refused() {
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

fn by_file(path: &std::path::Path, rank: usize, size: usize) -> Join {
    Join::new(rank, size, Root::File(path.to_owned())).key(key()).address(Ipv4Addr::LOCALHOST.into())
}

/// Three ranks, of which rank 0 comes last.
fn meet_late_by_file(path: &std::path::Path) {
    let first: Vec<_> =
        [1, 2].map(|rank| by_file(path, rank, 3)).map(|join| thread::spawn(move || enter(&join))).into();
    thread::sleep(Duration::from_millis(100));
    let mut meshes = vec![enter(&by_file(path, 0, 3))];
    meshes.extend(first.into_iter().map(|thread| thread.join().unwrap()));
    talk(meshes);
}

#[test]
fn they_meet_by_a_file_which_is_removed() {
    let path = path("file");
    meet_late_by_file(&path);
    assert!(!path.exists());
    // And with the address that it finds by itself.
    talk(meet((0..3).map(|rank| Join { address: None, ..by_file(&path, rank, 3) }).collect()));
    talk(meet((0..3).map(|rank| Join { address: None, key: None, ..by_file(&path, rank, 3) }).collect()));
    assert!(!path.exists());
}

#[test]
fn a_file_of_an_earlier_job_does_no_harm() {
    let path = path("stale");
    let closed = Port::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = Port::new();
    let elsewhere = thread::spawn({
        let join = Join { timeout: Duration::from_secs(3), ..other.join(0, 2) }.key(Key::new(&[5; 16]).unwrap());
        move || enter(&join)
    });
    let stranger = answers(b"220 mail.example ESMTP\r\n");
    for stale in [closed.address(), silent.local_addr().unwrap(), other.address(), stranger] {
        std::fs::write(&path, format!("{stale}\n")).unwrap();
        meet_late_by_file(&path);
    }
    assert!(!path.exists());
    elsewhere.join().unwrap().unwrap_err();
}

#[test]
fn a_file_that_does_not_come_and_one_that_is_taken_are_named() {
    let path = path("none");
    let timeout = Duration::from_millis(200);
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::File { path: at, .. } if *at == path), "{error}");
    std::fs::write(&path, "127.0.0.1:1\n").unwrap();
    let error = Join { timeout, ..by_file(&path, 1, 2) }.mesh().unwrap_err();
    assert!(matches!(&error, JoinError::Unreachable { address, .. } if address.starts_with("127.0.0.1:1,")), "{error}");
    // A second rank 0 takes the first one's place, which finds out.
    let first = thread::spawn({
        let join = by_file(&path, 0, 2);
        move || enter(&join)
    });
    while root::posted(&path).unwrap().is_none_or(|line| line == "127.0.0.1:1") {
        thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&path, "127.0.0.1:2\n").unwrap();
    let error = first.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:2"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let nowhere = std::path::Path::new("/no/such/folder/file");
    assert!(matches!(by_file(nowhere, 0, 2).mesh().unwrap_err(), JoinError::File { .. }));
}
