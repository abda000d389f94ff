//! The other ranks' side of the meeting.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::super::error::JoinError;
use super::super::hall::{Event, Hall, Id};
use super::super::handshake::Trouble;
use super::super::hello::{Build, Hello, Role};
use super::super::notice::{Notice, Place};
use super::super::{Join, host as machine, root};
use super::attempts::Attempts;
use super::reaching::reach;
use super::times::{LINGER, REPORT, after, grace, identity, rounded};
use crate::transport::tcp::mesh::Mesh;

/// How long a rank tries to reach another, which listens already.
const REACH: Duration = Duration::from_secs(60);
/// How many ranks it calls at a time.
const CALLS: usize = 32;

/// Another rank meets rank 0, and then the others.
pub(super) fn attend(join: &Join) -> Result<Mesh, JoinError> {
    if let Some(ip) = join.address.filter(|ip| !ip.is_unspecified()) {
        root::permitted(join, ip)?;
    }
    let need = machine::descriptors(join.rank, join.size);
    let wanted = need.clone().unwrap_or(join.size);
    let mut hall = Hall::new(identity(join, 0), Role::Mesh, wanted)?;
    let (root, hello, peer) = reach(join, &mut hall)?;
    let ids = vec![None; join.size];
    let calls = BTreeMap::new();
    let mut guest = Guest { join, hall, root, peer, told: false, ids, joined: 0, callers: HashMap::new(), calls };
    // What fails from here on, rank 0 can be told.
    match need.and_then(|_| guest.meet(&hello)) {
        Ok(places) => guest.mesh(&places),
        Err(error) => {
            guest.leave(&error);
            Err(error)
        }
    }
}

/// Another rank, while it meets.
struct Guest<'a> {
    join: &'a Join,
    hall: Hall,
    /// The connection to rank 0, and where that is.
    root: Id,
    peer: SocketAddr,
    /// Whether rank 0 knows that it comes to nothing.
    told: bool,
    /// The connections to the others, by rank.
    ids: Vec<Option<Id>>,
    /// How many there are of them.
    joined: usize,
    /// Who has called and proved to be of the job.
    callers: HashMap<Id, usize>,
    /// Whom to call.
    calls: BTreeMap<usize, Call>,
}

/// A rank that is to be called.
struct Call {
    address: SocketAddr,
    attempts: Attempts,
    /// When it was called first.
    since: Option<Instant>,
    /// What became of the last attempt that came to nothing.
    last: String,
}

impl Call {
    fn unreachable(&self, rank: usize, other: usize, tried: Duration) -> JoinError {
        let (address, why) = (self.address.to_string(), self.last.clone());
        JoinError::Unreachable { rank, other, address, why, waited: rounded(tried) }
    }
}

impl Guest<'_> {
    /// Goes to rank 0, and on to the others. Where everybody is.
    fn meet(&mut self, hello: &Hello) -> Result<Vec<Place>, JoinError> {
        let Join { rank, size, timeout, .. } = *self.join;
        let own = Build::own();
        if let Some((what, ones, others)) = hello.build.differs(&own) {
            // As rank 0 finds by itself.
            self.told = true;
            return Err(JoinError::Differs { what: what.to_owned(), one: 0, ones, other: rank, others });
        }
        self.hall.identity.job = hello.job;
        let Some(local) = self.hall.local(self.root) else {
            // Rank 0 has closed it already: it has said why, or died.
            let last = self.hear(Duration::ZERO, |_| Ok(Instant::now()))?;
            return Err(self.nonsense(&format!("{last:?} as the last word")));
        };
        let (listener, address, why) = root::own(self.join, local)?;
        log::info!("rank {rank} of {size} listens on {address}, the address {why}; rank 0 is at {}", self.peer);
        self.hall.listen(listener)?;
        let place = Place { address, host: machine::identity(address.ip()) };
        self.hall.say(self.root, &Notice::Here(place));

        let patience = timeout.saturating_add(grace(timeout));
        let Notice::Table(places) = self.hear(patience, |_| Ok(after(Instant::now(), REPORT)))? else {
            return Err(self.nonsense("something out of turn"));
        };
        log::debug!("rank {rank} knows where all {size} ranks are");
        let now = Instant::now();
        for (other, place) in places.iter().enumerate().take(rank).skip(1) {
            let mut address = place.address;
            // Which interface an address of one link is on is each host's own affair.
            if let (SocketAddr::V6(to), SocketAddr::V6(local)) = (&mut address, local)
                && to.ip().is_unicast_link_local()
            {
                to.set_scope_id(local.scope_id());
            }
            let (attempts, last) = (Attempts::new(now), "no answer".to_owned());
            self.calls.insert(other, Call { address, attempts, since: None, last });
        }
        if size == 2 {
            self.ready();
        }
        let patience = timeout.saturating_add(2 * grace(timeout));
        match self.hear(patience, Self::connect)? {
            Notice::Go => Ok(places),
            _ => Err(self.nonsense("something out of turn")),
        }
    }

    /// What rank 0 says next. Meanwhile the others are connected to.
    fn hear(
        &mut self,
        patience: Duration,
        mut meanwhile: impl FnMut(&mut Self) -> Result<Instant, JoinError>,
    ) -> Result<Notice, JoinError> {
        let until = after(Instant::now(), patience);
        loop {
            let wake = meanwhile(self)?.min(until);
            match self.hall.next(wake)? {
                Some(event) => {
                    if let Some(notice) = self.happens(event)? {
                        return Ok(notice);
                    }
                }
                None if Instant::now() >= until => {
                    return Err(JoinError::Silent { address: self.peer, waited: rounded(patience) });
                }
                None => {}
            }
        }
    }

    /// Calls those who are to be called now; says when that is next.
    fn connect(&mut self) -> Result<Instant, JoinError> {
        let now = Instant::now();
        // Whom nobody reaches rank 0 names first, unless it waits for long.
        let Join { timeout, .. } = *self.join;
        let limit = timeout.saturating_add(2 * grace(timeout)).min(REACH);
        let mut wake = after(now, REPORT);
        let mut busy = self.calls.values().filter(|call| call.since.is_some()).count();
        for (&other, call) in &mut self.calls {
            if call.since.is_none() && busy >= CALLS {
                continue;
            }
            let since = *call.since.get_or_insert_with(|| {
                busy += 1;
                now
            });
            let tried = now.saturating_duration_since(since);
            if tried >= limit {
                return Err(call.unreachable(self.join.rank, other, tried));
            }
            if call.attempts.next() <= now {
                let id = self.hall.call(call.address, Role::Mesh, other)?;
                if let Some(oldest) = call.attempts.made(id, call.address, now)? {
                    self.hall.close(oldest);
                }
            }
            wake = wake.min(call.attempts.next()).min(after(since, limit));
        }
        Ok(wake)
    }

    /// What follows from an event; what rank 0 says is for the caller.
    fn happens(&mut self, event: Event) -> Result<Option<Notice>, JoinError> {
        match event {
            Event::Said(id, Notice::Over(error)) if id == self.root => {
                self.told = true;
                return Err(error);
            }
            Event::Said(id, Notice::Lacking) if id == self.root => {
                let lacks = (self.join.size - 2).saturating_sub(self.joined);
                self.hall.say(id, &Notice::Lacks(lacks));
            }
            Event::Said(id, notice) if id == self.root => return Ok(Some(notice)),
            Event::Gone(id) if id == self.root => {
                self.told = true;
                return Err(JoinError::Lost { rank: 0, address: self.peer });
            }
            Event::Garbage(id, what) if id == self.root => return Err(self.nonsense(what)),
            Event::Proved(id, hello, _) => self.proved(id, &hello),
            Event::Said(id, notice) => match self.callers.remove(&id) {
                Some(rank) if notice == Notice::Joined && self.ids[rank].is_none() => self.join(rank, id),
                _ => self.hall.close(id),
            },
            Event::Failed(id, trouble) => self.failed(id, &trouble)?,
            Event::Gone(id) | Event::Garbage(id, _) => {
                self.callers.remove(&id);
                self.hall.close(id);
            }
        }
        Ok(None)
    }

    fn nonsense(&self, what: &str) -> JoinError {
        JoinError::Garbage { rank: 0, address: self.peer, what: what.to_owned() }
    }

    /// A rank has called, or been called, and is who it says.
    fn proved(&mut self, id: Id, hello: &Hello) {
        let Join { rank, size, .. } = *self.join;
        let called = self.calls.get(&hello.rank).is_some_and(|call| call.attempts.has(id));
        if let Some(call) = called.then(|| self.calls.remove(&hello.rank)).flatten() {
            call.attempts.besides(Some(id)).for_each(|other| self.hall.close(other));
            self.hall.say(id, &Notice::Joined);
            self.join(hello.rank, id);
        } else if hello.size == size && hello.rank > rank && hello.rank < size {
            self.callers.insert(id, hello.rank);
        } else {
            self.hall.close(id);
        }
    }

    fn join(&mut self, rank: usize, id: Id) {
        self.ids[rank] = Some(id);
        self.joined += 1;
        log::debug!("rank {} is connected to rank {rank}", self.join.rank);
        if self.joined + 2 == self.join.size {
            self.ready();
        }
    }

    /// All others are connected to: nobody else is to come.
    fn ready(&mut self) {
        self.hall.deaf();
        self.hall.say(self.root, &Notice::Ready);
    }

    fn failed(&mut self, id: Id, trouble: &Trouble) -> Result<(), JoinError> {
        for (&other, call) in &mut self.calls {
            let Some(address) = call.attempts.failed(id) else { continue };
            if !matches!(trouble, Trouble::Io(_)) {
                return Err(JoinError::Stranger { address, other, why: trouble.words() });
            }
            call.last = trouble.words();
            let now = Instant::now();
            let tried = call.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
            if tried >= self.join.timeout.min(REACH) {
                return Err(call.unreachable(self.join.rank, other, tried));
            }
            return call.attempts.pause(now);
        }
        Ok(())
    }

    /// Tells rank 0 why this rank goes.
    fn leave(&mut self, error: &JoinError) {
        if self.told {
            return;
        }
        self.hall.deaf();
        self.hall.dismiss(self.root, &Notice::over(self.join.rank, error));
        let until = after(Instant::now(), LINGER);
        while self.hall.dismissing() {
            match self.hall.next(until) {
                Ok(Some(_)) => {}
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn mesh(mut self, places: &[Place]) -> Result<Mesh, JoinError> {
        let rank = self.join.rank;
        let own = places.get(rank).map(|place| place.host);
        let neighbours = places.iter().filter(|place| Some(place.host) == own).count();
        self.ids[0] = Some(self.root);
        let hall = &mut self.hall;
        let streams = self.ids.iter().map(|id| id.map(|id| hall.take(id)).transpose()).collect::<Result<_, _>>()?;
        Ok(Mesh { rank, streams, neighbours })
    }
}
