//! Rank 0's side of the meeting.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::super::error::JoinError;
use super::super::hall::{Event, Hall, Id, canonical};
use super::super::hello::{Hello, Role};
use super::super::key::random;
use super::super::notice::{Notice, Place};
use super::super::root::{self, Posted};
use super::super::{Join, host as machine};
use super::times::{AGAIN, GLANCE, LINGER, REPORT, after, grace, identity, rounded};
use crate::transport::tcp::mesh::Mesh;

/// Rank 0 meets the others.
pub(super) fn host(join: &Join) -> Result<Mesh, JoinError> {
    let mut job = [0; 8];
    random(&mut job)?;
    let need = machine::descriptors(0, join.size);
    // What keeps it from hosting the others it can tell them only if it listens.
    let ((listeners, posted), need, refusal) = match (root::listen(join), need) {
        (Ok(listening), Ok(need)) => (listening, need, None),
        (Ok(listening), Err(refusal)) => (listening, join.size, Some(refusal)),
        (Err(error), need) => {
            let refusal = need.err().unwrap_or(error);
            let Some(listening) = root::elsewhere(join) else { return Err(refusal) };
            (listening, join.size, Some(refusal))
        }
    };
    let mut addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let address = addresses.next().map_or(SocketAddr::from(([0; 4], 0)), canonical);
    let mut hall = Hall::new(identity(join, u64::from_le_bytes(job)), Role::Meeting, need)?;
    for listener in listeners {
        hall.listen(listener)?;
    }
    let place = Place { address, host: machine::identity(address.ip()) };
    let mut host = Host {
        join,
        hall,
        posted,
        place,
        who: HashMap::new(),
        members: (0..join.size).map(|_| None).collect(),
        ready: 0,
    };
    // Those who are started by hand come one after the other.
    let (met, patience) = match refusal {
        Some(refusal) => {
            log::error!("rank 0 tells those who come within {:?}: {refusal}", grace(join.timeout));
            (Err(refusal), grace(join.timeout))
        }
        None => (host.meet(), LINGER),
    };
    match met {
        Ok(()) => host.mesh(),
        Err(error) => {
            host.dismiss(&error, patience);
            Err(error)
        }
    }
}

/// Rank 0, while it meets the others.
struct Host<'a> {
    join: &'a Join,
    hall: Hall,
    posted: Option<Posted>,
    /// Where it is itself.
    place: Place,
    /// Who has proved to hold the key, and says to be which rank.
    who: HashMap<Id, (usize, SocketAddr)>,
    /// Who is there, by rank.
    members: Vec<Option<Member>>,
    /// How many are connected to all others.
    ready: usize,
}

/// A rank that is there.
struct Member {
    id: Id,
    peer: SocketAddr,
    place: Place,
    ready: bool,
    /// How many others it is not connected to, if it has been asked and has answered.
    lacks: Option<usize>,
}

impl Host<'_> {
    fn meet(&mut self) -> Result<(), JoinError> {
        let (size, timeout) = (self.join.size, self.join.timeout);
        let waited = rounded(timeout);
        self.wait("here", timeout, |host| host.members.iter().flatten().count() + 1 == size).map_err(|late| {
            late.unwrap_or_else(|| {
                let missing = (1..size).filter(|rank| self.members[*rank].is_none()).collect();
                JoinError::Missing { size, missing, waited, turned_away: self.hall.turned_away() }
            })
        })?;
        self.reachable()?;
        let places = self.members.iter().map(|member| member.as_ref().map_or(self.place, |member| member.place));
        let table = Notice::Table(places.collect());
        self.tell(&table);
        self.connected()?;
        self.hall.deaf();
        // What they say from now on is for the engine.
        let ids: Vec<Id> = self.members.iter().flatten().map(|member| member.id).collect();
        ids.iter().for_each(|id| self.hall.quiet(*id));
        self.tell(&Notice::Go);
        let until = after(Instant::now(), grace(timeout));
        while !self.hall.flushed(ids.iter().copied()) {
            let now = Instant::now();
            if now >= until {
                break;
            }
            // That it is gone is no event.
            self.hall.next(until.min(after(now, AGAIN)))?;
        }
        Ok(())
    }

    /// Waits until all are connected to all. Where one does not answer the others, none of these is
    /// ready; so before time is up all are asked, and who answers nothing is the one that is late.
    fn connected(&mut self) -> Result<(), JoinError> {
        let (size, timeout) = (self.join.size, self.join.timeout);
        let done = |host: &Self| host.ready + 1 == size;
        let what = "connected to all";
        match self.wait(what, timeout, done) {
            Err(None) => {}
            early => return early.map_err(|error| error.unwrap_or_else(|| self.late())),
        }
        let unready = self.members.iter().flatten().filter(|member| !member.ready);
        unready.for_each(|member| self.hall.say(member.id, &Notice::Lacking));
        self.wait(what, grace(timeout), done).map_err(|error| error.unwrap_or_else(|| self.late()))
    }

    /// Who keeps the others waiting: those that do not answer; if all do, those that lack the most
    /// others.
    fn late(&self) -> JoinError {
        let members = || self.members.iter().enumerate().filter_map(|(rank, member)| Some((rank, member.as_ref()?)));
        let unready = || members().filter(|(_, member)| !member.ready);
        let lacks = |member: &Member| member.lacks.unwrap_or(usize::MAX);
        let most = unready().map(|(_, member)| lacks(member)).max();
        let late = unready().filter(|(_, member)| Some(lacks(member)) == most).map(|(rank, _)| rank).collect();
        let timeout = self.join.timeout;
        JoinError::Late { late, waited: rounded(timeout.saturating_add(grace(timeout))) }
    }

    /// Tells every rank that is there.
    fn tell(&mut self, notice: &Notice) {
        for member in self.members.iter().flatten() {
            self.hall.say(member.id, notice);
        }
    }

    /// Goes on until all of that is done; fails without an error of its own where it takes too
    /// long.
    fn wait(&mut self, what: &str, patience: Duration, done: impl Fn(&Self) -> bool) -> Result<(), Option<JoinError>> {
        let began = Instant::now();
        let until = after(began, patience);
        let mut report = after(began, REPORT);
        while !done(self) {
            let now = Instant::now();
            if now >= until {
                return Err(None);
            }
            if now >= report {
                log::info!("{}", self.progress(what));
                report = after(now, REPORT);
            }
            let mut wake = until.min(report);
            if let Some(posted) = &self.posted {
                posted.check()?;
                wake = wake.min(after(now, GLANCE));
            }
            if let Some(event) = self.hall.next(wake)? {
                self.happens(event)?;
                log::debug!("{}", self.progress(what));
            }
        }
        log::info!("{}", self.progress(what));
        Ok(())
    }

    /// How far the meeting is.
    fn progress(&self, what: &str) -> String {
        let size = self.join.size;
        let count = if self.ready > 0 { self.ready } else { self.members.iter().flatten().count() };
        format!("{} of {size} ranks are {what}", count + 1)
    }

    fn happens(&mut self, event: Event) -> Result<(), JoinError> {
        match event {
            Event::Proved(id, hello, peer) => self.proved(id, &hello, peer),
            Event::Said(id, notice) => self.said(id, notice),
            Event::Gone(id) => {
                let here = self.member(id).is_some();
                match self.who.remove(&id) {
                    Some((rank, address)) if here => Err(JoinError::Lost { rank, address }),
                    // It went before it was here, and may come again.
                    _ => Ok(()),
                }
            }
            Event::Garbage(id, what) => self.garbage(id, what),
            Event::Failed(..) => Ok(()),
        }
    }

    /// The rank that has this connection.
    fn member(&self, id: Id) -> Option<&Member> {
        let (rank, _) = self.who.get(&id)?;
        self.members.get(*rank)?.as_ref().filter(|member| member.id == id)
    }

    fn garbage(&mut self, id: Id, what: &str) -> Result<(), JoinError> {
        let Some(&(rank, address)) = self.who.get(&id) else { return Ok(()) };
        self.hall.close(id);
        Err(JoinError::Garbage { rank, address, what: what.to_owned() })
    }

    /// Somebody is of this job, and says to be a rank of it.
    fn proved(&mut self, id: Id, hello: &Hello, address: SocketAddr) -> Result<(), JoinError> {
        let (rank, size) = (hello.rank, self.join.size);
        self.who.insert(id, (rank, address));
        if let Some((what, ones, others)) = self.hall.identity.build.differs(&hello.build) {
            return Err(JoinError::Differs { what: what.to_owned(), one: 0, ones, other: rank, others });
        }
        if hello.size != size {
            return Err(JoinError::Sizes { size, rank, address, sizes: hello.size });
        }
        if rank == 0 {
            return Err(JoinError::Twice { rank, one: self.place.address, other: address });
        }
        Ok(())
    }

    fn said(&mut self, id: Id, notice: Notice) -> Result<(), JoinError> {
        let Some(&(rank, peer)) = self.who.get(&id) else { return Ok(()) };
        let Some(member) = self.members.get_mut(rank) else { return Ok(()) };
        match (notice, member) {
            (Notice::Over(error), _) => {
                self.hall.close(id);
                Err(error)
            }
            (Notice::Here(place), member @ None) => {
                log::debug!("rank {rank} is here from {peer}, and listens on {}", place.address);
                *member = Some(Member { id, peer, place, ready: false, lacks: None });
                Ok(())
            }
            (Notice::Here(_), Some(first)) if first.id != id => {
                Err(JoinError::Twice { rank, one: first.peer, other: peer })
            }
            (Notice::Ready, Some(member)) if member.id == id && !member.ready => {
                member.ready = true;
                self.ready += 1;
                Ok(())
            }
            (Notice::Lacks(count), Some(member)) if member.id == id => {
                member.lacks = Some(count);
                Ok(())
            }
            _ => self.garbage(id, "something out of turn"),
        }
    }

    /// That nobody is to be reached by an address that means another host there.
    fn reachable(&self) -> Result<(), JoinError> {
        let members = || self.members.iter().enumerate().filter_map(|(rank, member)| Some((rank, member.as_ref()?)));
        for (rank, member) in members().filter(|(_, member)| member.place.address.ip().is_loopback()) {
            let elsewhere = members().find(|(other, one)| *other > rank && one.place.host != member.place.host);
            if let Some((other, _)) = elsewhere {
                return Err(JoinError::Loopback { rank, address: member.place.address, other });
            }
        }
        Ok(())
    }

    /// Tells all who are there, and for that long those who come, that it comes to nothing.
    fn dismiss(&mut self, error: &JoinError, patience: Duration) {
        let notice = Notice::over(0, error);
        let mut told = vec![false; self.join.size];
        told[0] = true;
        // These know already, or never will.
        if let JoinError::Lost { rank, .. } | JoinError::Abandoned { rank, .. } = error
            && let Some(told) = told.get_mut(*rank)
        {
            *told = true;
        }
        for id in self.hall.open() {
            if let Some(told) = self.who.get(&id).and_then(|(rank, _)| told.get_mut(*rank)) {
                *told = true;
            }
            self.hall.dismiss(id, &notice);
        }
        let until = after(Instant::now(), patience);
        while self.hall.dismissing() || told.contains(&false) {
            match self.hall.next(until) {
                Ok(Some(Event::Proved(id, hello, _))) => {
                    if let Some(told) = told.get_mut(hello.rank) {
                        *told = true;
                    }
                    self.hall.dismiss(id, &notice);
                }
                Ok(Some(_)) => {}
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn mesh(mut self) -> Result<Mesh, JoinError> {
        let own = self.place.host;
        let neighbours = self.members.iter().flatten().filter(|member| member.place.host == own).count() + 1;
        let hall = &mut self.hall;
        let taken = self.members.iter().map(|member| member.as_ref().map(|member| hall.take(member.id)).transpose());
        let streams: Vec<Option<TcpStream>> = taken.collect::<Result<_, _>>()?;
        Ok(Mesh { rank: 0, streams, neighbours })
    }
}
