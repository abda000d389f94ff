//! The ranks of a job meet.
//!
//! ```text
//! rank k                                  rank 0
//!   connects, proves                ──►
//!   here, listening there           ──►   waits for all
//!                                   ◄──   the table of all
//!   connects to every 0 < j < k, is connected to by every j > k
//!   ready                           ──►   waits for all
//!                                   ◄──   go
//! ```
//!
//! Every rank keeps its connection to rank 0, so that rank 0 sees when one is gone, and can say so to all. Who fails says why
//! before it goes; rank 0 tells the others, and waits a moment for those who come late to hear it, too.

use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::error::JoinError;
use super::hall::{Event, Hall, Id, canonical};
use super::handshake::{Identity, Trouble};
use super::hello::{Build, Hello, Role};
use super::host as machine;
use super::join::{Join, Key, Root};
use super::key::random;
use super::mesh::Mesh;
use super::notice::{Notice, Place};
use super::root::{self, Posted};

/// How long the last word may take.
const LINGER: Duration = Duration::from_secs(2);
/// How often a file is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// How often the log says who is there, while nobody comes.
const REPORT: Duration = Duration::from_secs(10);
/// How long a rank tries to reach another, which listens already.
const REACH: Duration = Duration::from_secs(60);
/// How long it waits at first before it tries again, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// How many ranks it calls at a time.
const CALLS: usize = 32;
/// A time that does not come.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How much longer than rank 0 the others wait for what it has to say.
fn grace(timeout: Duration) -> Duration {
    (timeout / 4).clamp(LINGER, Duration::from_secs(20))
}

/// So much later; never, if that is no time that the clock has.
fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration.min(NEVER)).unwrap_or(now)
}

/// As errors say it, and as it goes over the wire.
fn rounded(duration: Duration) -> Duration {
    Duration::from_millis(duration.as_millis().min(u128::from(u32::MAX)) as u64)
}

fn identity(join: &Join, job: u64) -> Identity {
    let key = join.key.clone().unwrap_or_else(Key::none);
    Identity { key, build: Build::own(), rank: join.rank, size: join.size, job }
}

/// Rank 0 meets the others.
pub(super) fn host(join: &Join) -> Result<Mesh, JoinError> {
    let need = machine::descriptors(0, join.size)?;
    let mut job = [0; 8];
    random(&mut job)?;
    let (listeners, posted) = root::listen(join)?;
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
    match host.meet() {
        Ok(()) => host.mesh(),
        Err(error) => {
            host.dismiss(&error);
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
        let patience = timeout.saturating_add(grace(timeout));
        self.wait("connected to all", patience, |host| host.ready + 1 == size).map_err(|late| {
            late.unwrap_or_else(|| {
                let unready = |rank: &usize| self.members[*rank].as_ref().is_some_and(|member| !member.ready);
                JoinError::Late { late: (1..size).filter(unready).collect(), waited: rounded(patience) }
            })
        })?;
        self.hall.deaf();
        // What they say from now on is for the engine.
        let ids: Vec<Id> = self.members.iter().flatten().map(|member| member.id).collect();
        ids.iter().for_each(|id| self.hall.quiet(*id));
        self.tell(&Notice::Go);
        let until = after(Instant::now(), grace(timeout));
        while !self.hall.flushed(ids.iter().copied()) {
            if self.hall.next(until)?.is_none() && Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Tells every rank that is there.
    fn tell(&mut self, notice: &Notice) {
        for member in self.members.iter().flatten() {
            self.hall.say(member.id, notice);
        }
    }

    /// Goes on until all of that is done; fails without an error of its own where it takes too long.
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
                *member = Some(Member { id, peer, place, ready: false });
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

    /// Tells all who are there, and for a moment those who come, that it comes to nothing.
    fn dismiss(&mut self, error: &JoinError) {
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
        let until = after(Instant::now(), LINGER);
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

/// Connects to rank 0, as often as it takes.
fn reach(join: &Join, hall: &mut Hall) -> Result<(Id, Hello, SocketAddr), JoinError> {
    let began = Instant::now();
    let until = after(began, join.timeout);
    let mut report = after(began, REPORT);
    let mut pause = AGAIN.0;
    let known = match &join.root {
        Root::Address(text) => {
            let (host, port) = root::split(text)?;
            let addresses = root::resolve(host, port)?;
            addresses.iter().try_for_each(|address| allowed(join, *address))?;
            addresses
        }
        Root::File(_) => Vec::new(),
    };
    let mut last = String::new();
    loop {
        let line = match &join.root {
            Root::File(path) => root::posted(path)?,
            Root::Address(_) => None,
        };
        let found = line.as_deref().map_or_else(|| Ok(known.clone()), |line| addresses_of(join, line));
        for address in found.unwrap_or_else(|error| {
            last = error.to_string();
            Vec::new()
        }) {
            let trouble = match call(join, hall, address, line.as_deref(), until)? {
                Ok(reached) => return Ok(reached),
                Err(trouble) => trouble,
            };
            // What cuts the last try short tells less than the one before.
            if last.is_empty() || Instant::now() < until {
                last = trouble.words();
            }
            // An address means one meeting point, and this is none. A file may be of an earlier job.
            if line.is_none() {
                match trouble {
                    Trouble::Io(_) => {}
                    Trouble::Key => return Err(JoinError::Proof { address, rank: join.rank }),
                    _ => return Err(JoinError::Stranger { address, other: 0, why: trouble.words() }),
                }
            }
        }
        let now = Instant::now();
        if now >= until {
            let waited = rounded(join.timeout);
            return Err(match (&join.root, line) {
                (Root::File(path), None) => {
                    let problem = format!("rank 0 has not written it within {waited:?}");
                    JoinError::File { path: path.clone(), problem }
                }
                (Root::File(path), Some(line)) => {
                    let address = format!("{line}, as {} says", path.display());
                    JoinError::Unreachable { rank: join.rank, other: 0, address, why: last, waited }
                }
                (Root::Address(text), _) => {
                    JoinError::Unreachable { rank: join.rank, other: 0, address: text.clone(), why: last, waited }
                }
            });
        }
        if now >= report {
            log::info!("rank {} has not reached rank 0 for {:?}: {last}", join.rank, rounded(now - began));
            report = after(now, REPORT);
        }
        std::thread::sleep(pause.min(until - now));
        pause = (pause * 2).min(AGAIN.1);
    }
}

/// The addresses that a file's line stands for.
fn addresses_of(join: &Join, line: &str) -> Result<Vec<SocketAddr>, JoinError> {
    let (host, port) = root::split(line)?;
    let addresses = root::resolve(host, port)?;
    addresses.iter().try_for_each(|address| allowed(join, *address))?;
    Ok(addresses)
}

/// That this rank may listen where it would if it reached rank 0 there.
fn allowed(join: &Join, address: SocketAddr) -> Result<(), JoinError> {
    if address.ip().is_loopback() || join.address.is_some_and(|ip| !ip.is_unspecified()) {
        return Ok(());
    }
    root::permitted(join, machine::toward(address).unwrap_or(address.ip()))
}

/// Calls rank 0 once. Gives up where the file that says where it is has come to say something else.
fn call(
    join: &Join,
    hall: &mut Hall,
    address: SocketAddr,
    line: Option<&str>,
    until: Instant,
) -> Result<Result<(Id, Hello, SocketAddr), Trouble>, JoinError> {
    let id = hall.call(address, Role::Meeting, 0)?;
    loop {
        let wake = if line.is_some() { until.min(after(Instant::now(), GLANCE)) } else { until };
        match hall.next(wake)? {
            Some(Event::Proved(proved, hello, peer)) if proved == id => return Ok(Ok((id, hello, peer))),
            Some(Event::Failed(failed, trouble)) if failed == id => return Ok(Err(trouble)),
            Some(_) => continue,
            None => {}
        }
        let stale = match &join.root {
            Root::File(path) => root::posted(path)?.as_deref() != line,
            Root::Address(_) => false,
        };
        if stale || Instant::now() >= until {
            hall.close(id);
            return Ok(Err(Trouble::Io("no answer".to_owned())));
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
    /// The call that is under way.
    id: Option<Id>,
    /// When it was called first.
    since: Option<Instant>,
    /// When to call again, and how long to wait after that.
    next: Instant,
    pause: Duration,
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
            self.calls.insert(other, Call { address, id: None, since: None, next: now, pause: AGAIN.0 });
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
        let mut wake = after(now, REPORT);
        let mut busy = self.calls.values().filter(|call| call.id.is_some()).count();
        for (&other, call) in self.calls.iter_mut().filter(|(_, call)| call.id.is_none()) {
            if call.next > now {
                wake = wake.min(call.next);
            } else if busy < CALLS {
                call.since.get_or_insert(now);
                call.id = Some(self.hall.call(call.address, Role::Mesh, other)?);
                busy += 1;
            }
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
        if self.calls.get(&hello.rank).is_some_and(|call| call.id == Some(id)) {
            self.calls.remove(&hello.rank);
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
        let Some((&other, call)) = self.calls.iter_mut().find(|(_, call)| call.id == Some(id)) else { return Ok(()) };
        let address = call.address;
        if !matches!(trouble, Trouble::Io(_)) {
            return Err(JoinError::Stranger { address, other, why: trouble.words() });
        }
        let now = Instant::now();
        let tried = call.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        if tried >= self.join.timeout.min(REACH) {
            return Err(JoinError::Unreachable {
                rank: self.join.rank,
                other,
                address: address.to_string(),
                why: trouble.words(),
                waited: rounded(tried),
            });
        }
        call.id = None;
        call.next = after(now, call.pause);
        call.pause = (call.pause * 2).min(AGAIN.1);
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

#[cfg(test)]
mod tests;
