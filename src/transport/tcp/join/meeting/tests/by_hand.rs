//! A rank that a test plays by hand.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use super::super::super::hall::{Event, Hall, Id};
use super::super::super::hello::{Build, Hello, Role};
use super::super::super::notice::{Notice, Place};
use super::super::super::{Join, host as machine};
use super::super::reaching::reach;
use super::super::times::{GLANCE, after, identity};
use super::Port;

/// Waits as rank 0 of a build.
pub(super) fn root(port: &Port, size: usize, build: Build) -> Hall {
    let mut hall = Hall::new(identity(&port.join(0, size), 5), Role::Meeting, 0).unwrap();
    hall.identity.build = build;
    hall.listen(machine::listen(port.address(), size, true).unwrap()).unwrap();
    hall
}

/// Comes as rank `rank` of a build, and stays until all is over. What it hears.
pub(super) fn guest(join: &Join, build: Build, here: bool) -> (Hall, Id, Hello) {
    let mut hall = Hall::new(identity(join, 0), Role::Mesh, 0).unwrap();
    hall.identity.build = build;
    let (id, hello, _) = reach(join, &mut hall).unwrap();
    if here {
        listens(&mut hall, id, "127.0.0.1:1".parse().unwrap());
    }
    (hall, id, hello)
}

/// Comes as that rank, and says that it listens there.
pub(super) fn guest_at(join: &Join, address: SocketAddr) -> (Hall, Id, Hello) {
    let (mut hall, id, hello) = guest(join, Build::own(), false);
    listens(&mut hall, id, address);
    (hall, id, hello)
}

fn listens(hall: &mut Hall, id: Id, address: SocketAddr) {
    let place = Place { address, host: machine::identity(Ipv4Addr::LOCALHOST.into()) };
    hall.say(id, &Notice::Here(place));
    // It is on its way.
    while !hall.flushed([id]) {
        hall.next(after(Instant::now(), GLANCE)).unwrap();
    }
}

pub(super) fn heard(hall: &mut Hall) -> Event {
    hall.next(after(Instant::now(), Duration::from_secs(120))).unwrap().unwrap()
}
