//! All connections of a process while its job meets, driven by one thread that waits for all of
//! them.
//!
//! Whoever connects costs one descriptor and a few hundred bytes until it has proved that it holds
//! the key, for a few seconds at most; there is room for a bounded number of such, and for a new
//! one another has to go ([`strangers`](super::strangers)). Who holds the key and was sent away so
//! tries again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream as StdStream};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::error::JoinError;
use super::handshake::{Answering, Calling, Identity, Step, Trouble};
use super::hello::{Hello, Role};
use super::host;
use super::key::random;
use super::notice::{HEADER, Notice};
pub(super) use super::strangers::Id;
use super::strangers::Strangers;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many that have proved nothing there is room for, besides one for each rank: all may come at
/// once.
const STRANGERS: usize = 512;
/// How many are accepted before the others have their turn.
const ACCEPTED: usize = 64;
/// How long nothing is accepted after the system could not.
const PAUSE: Duration = Duration::from_millis(10);
/// How many bytes are read of what nobody wants to know before the others have their turn.
const DISCARDED: usize = 16 << 10;
/// Tokens from here on are connections, those below are listeners.
const LINES: usize = 16;

/// What happens.
#[derive(Debug)]
pub(super) enum Event {
    /// The other side has proved that it holds the key, and says who it is. With where it is.
    Proved(Id, Hello, SocketAddr),
    /// It says something.
    Said(Id, Notice),
    /// A call came to nothing.
    Failed(Id, Trouble),
    /// A connection that was proved is gone, or one that was dismissed has heard it.
    Gone(Id),
    /// What comes over a connection that was proved makes no sense.
    Garbage(Id, &'static str),
}

/// All connections of a process.
pub(super) struct Hall {
    poll: Poll,
    events: Events,
    pub(super) identity: Identity,
    /// How many descriptors the meeting needs, for the error.
    need: usize,
    /// What calls are answered for.
    role: Role,
    listeners: Vec<TcpListener>,
    /// Listeners whose callers have not all been accepted yet.
    waiting: Vec<bool>,
    lines: BTreeMap<Id, Line>,
    strangers: Strangers,
    /// No handshake takes too long before then; none if there is none.
    expires: Option<Instant>,
    next: Id,
    happened: VecDeque<Event>,
    turned_away: usize,
    last_turned_away: String,
}

struct Line {
    stream: TcpStream,
    peer: SocketAddr,
    stage: Stage,
    /// What has come of what is wanted.
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// How much of it is gone.
    sent: usize,
    /// When a handshake is over.
    until: Option<Instant>,
}

enum Stage {
    /// The system connects.
    Connecting(Calling),
    Calling(Calling),
    Answering(Answering),
    /// The other side holds the key. With the header of the notice that comes.
    Open(Option<[u8; HEADER]>),
    /// Nothing is read: what comes is not for the meeting, or no longer.
    Quiet,
    /// The last word is on its way; what comes is thrown away until the other side closes.
    Closing {
        said: bool,
    },
}

/// What a line has come to.
enum ActiveRound {
    /// It waits for the other side.
    Waits,
    /// It is to be removed.
    Ends,
}

impl Hall {
    pub(super) fn new(identity: Identity, role: Role, need: usize) -> Result<Self, JoinError> {
        let failed = |error: io::Error| host::trouble(identity.rank, need, "no events can be waited for", &error);
        let poll = Poll::new().map_err(failed)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(256),
            identity,
            need,
            role,
            listeners: Vec::new(),
            waiting: Vec::new(),
            lines: BTreeMap::new(),
            strangers: Strangers::default(),
            expires: None,
            next: LINES,
            happened: VecDeque::new(),
            turned_away: 0,
            last_turned_away: String::new(),
        })
    }

    /// Answers whoever connects there.
    pub(super) fn listen(&mut self, listener: std::net::TcpListener) -> Result<(), JoinError> {
        let (rank, need) = (self.identity.rank, self.need);
        let failed = |error: io::Error| host::trouble(rank, need, "a listening socket cannot be waited for", &error);
        listener.set_nonblocking(true).map_err(failed)?;
        let mut listener = TcpListener::from_std(listener);
        self.poll
            .registry()
            .register(&mut listener, Token(self.listeners.len()), Interest::READABLE)
            .map_err(failed)?;
        self.listeners.push(listener);
        self.waiting.push(true);
        Ok(())
    }

    /// Answers nobody any more.
    pub(super) fn deaf(&mut self) {
        self.listeners.clear();
        self.waiting.clear();
        let strangers = &mut self.strangers;
        self.lines.retain(|id, line| {
            let answering = matches!(line.stage, Stage::Answering(_));
            if answering {
                strangers.remove(*id);
            }
            !answering
        });
    }

    /// Calls a rank. What becomes of it is an event.
    pub(super) fn call(&mut self, address: SocketAddr, role: Role, rank: usize) -> Result<Id, JoinError> {
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let (calling, hello) = Calling::new(&self.identity, role, rank, nonce);
        let id = self.next;
        self.next += 1;
        let connected = loop {
            let connected = TcpStream::connect(address).and_then(|mut stream| {
                let interest = Interest::READABLE | Interest::WRITABLE;
                self.poll.registry().register(&mut stream, Token(id), interest).map(|()| stream)
            });
            match connected {
                // Those who have proved nothing give way.
                Err(error) if host::exhausted(&error) && self.make_room()? => {}
                connected => break connected,
            }
        };
        match connected {
            Ok(stream) => {
                let until = self.deadline();
                let stage = Stage::Connecting(calling);
                let line = Line { stream, peer: address, stage, inbox: Vec::new(), outbox: hello, sent: 0, until };
                self.lines.insert(id, line);
            }
            Err(error) if host::exhausted(&error) => {
                return Err(self.trouble("no connection can be made", &error));
            }
            Err(error) => self.happened.push_back(Event::Failed(id, Trouble::Io(error.to_string()))),
        }
        Ok(id)
    }

    /// Says something over a connection.
    pub(super) fn say(&mut self, id: Id, notice: &Notice) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.outbox.extend(notice.encode());
        self.advance(id);
    }

    /// Says the last thing over a connection, which is closed when the other side has closed it.
    pub(super) fn dismiss(&mut self, id: Id, notice: &Notice) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.stage = Stage::Closing { said: false };
        line.until = None;
        self.say(id, notice);
    }

    /// Reads no more of a connection. Should it end, nobody hears of it.
    pub(super) fn quiet(&mut self, id: Id) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.stage = Stage::Quiet;
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, id: Id) {
        self.lines.remove(&id);
    }

    /// Takes a connection out, as one that blocks.
    pub(super) fn take(&mut self, id: Id) -> Result<StdStream, JoinError> {
        let (rank, need) = (self.identity.rank, self.need);
        let failed = |error: io::Error| host::trouble(rank, need, "a connection cannot be handed over", &error);
        let line = self.lines.remove(&id);
        let mut stream = line.map(|line| line.stream).ok_or_else(|| failed(ErrorKind::NotConnected.into()))?;
        self.poll.registry().deregister(&mut stream).map_err(failed)?;
        let stream = StdStream::from(stream);
        stream.set_nonblocking(false).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(stream)
    }

    /// Where this side of a connection is; none if it is gone.
    pub(super) fn local(&self, id: Id) -> Option<SocketAddr> {
        self.lines.get(&id).and_then(|line| line.stream.local_addr().ok()).map(canonical)
    }

    /// Whether everything said over these connections is on its way, or never will be.
    pub(super) fn flushed(&self, ids: impl IntoIterator<Item = Id>) -> bool {
        ids.into_iter().all(|id| self.lines.get(&id).is_none_or(|line| line.sent == line.outbox.len()))
    }

    /// Whether somebody who was dismissed has not heard it yet.
    pub(super) fn dismissing(&self) -> bool {
        self.lines.values().any(|line| line.until.is_none() && matches!(line.stage, Stage::Closing { .. }))
    }

    /// The connections that have been proved.
    pub(super) fn open(&self) -> Vec<Id> {
        self.lines.iter().filter(|(_, line)| matches!(line.stage, Stage::Open(_))).map(|(id, _)| *id).collect()
    }

    /// Who came and could not be let in, in words; empty if nobody.
    pub(super) fn turned_away(&self) -> String {
        match self.turned_away {
            0 => String::new(),
            1 => format!("one connection was turned away: {}", self.last_turned_away),
            many => format!("{many} connections were turned away, the last: {}", self.last_turned_away),
        }
    }

    /// What happens next; none if nothing has by then.
    pub(super) fn next(&mut self, until: Instant) -> Result<Option<Event>, JoinError> {
        loop {
            if let Some(event) = self.happened.pop_front() {
                return Ok(Some(event));
            }
            let now = Instant::now();
            let first = self.expire(now);
            if !self.happened.is_empty() {
                continue;
            }
            if now >= until {
                return Ok(None);
            }
            let wake = first.map_or(until, |first| first.min(until));
            let busy = self.waiting.iter().any(|waiting| *waiting);
            let timeout = if busy { Duration::ZERO } else { wake.saturating_duration_since(now) };
            match self.poll.poll(&mut self.events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.trouble("events cannot be waited for", &error)),
            }
            let ready: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
            for token in ready {
                if token < LINES {
                    if let Some(waiting) = self.waiting.get_mut(token) {
                        *waiting = true;
                    }
                } else {
                    self.advance(token);
                }
            }
            for listener in 0..self.listeners.len() {
                if self.waiting[listener] {
                    self.accept(listener)?;
                }
            }
        }
    }

    /// Ends the handshakes that take too long. When the next one will have.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        if self.expires.is_none_or(|first| first > now) {
            return self.expires;
        }
        let late: Vec<Id> = self
            .lines
            .iter()
            .filter(|(_, line)| line.until.is_some_and(|until| until <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let why =
                if matches!(self.lines[&id].stage, Stage::Connecting(_)) { "no answer" } else { "nothing is said" };
            self.end(id, Trouble::Io(format!("{why} within {HANDSHAKE:?}")));
            self.settle(id);
        }
        self.expires = self.lines.values().filter_map(|line| line.until).min();
        self.expires
    }

    /// When a handshake that begins now takes too long.
    fn deadline(&mut self) -> Option<Instant> {
        let until = Instant::now() + HANDSHAKE;
        // Of several, that of the first.
        self.expires.get_or_insert(until);
        Some(until)
    }

    /// Accepts some of those who wait.
    fn accept(&mut self, listener: usize) -> Result<(), JoinError> {
        for _ in 0..ACCEPTED {
            match self.listeners[listener].accept() {
                Ok((stream, peer)) => self.admit(stream, peer)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waiting[listener] = false;
                    return Ok(());
                }
                // Nothing is left to accept another: somebody who has proved nothing goes, or there
                // is no way on.
                Err(error) if host::exhausted(&error) => {
                    // What has happened already is heard first: who has proved who it is may be
                    // told to go.
                    if !self.happened.is_empty() || self.make_room()? {
                        return Ok(());
                    }
                    // Those who have heard the last word go soon.
                    if self.dismissing() {
                        std::thread::sleep(PAUSE);
                        return Ok(());
                    }
                    return Err(self.trouble("no connection can be accepted", &error));
                }
                // One that was gone before it was accepted, or for which there was no memory: the
                // next may do better.
                Err(error) => {
                    log::debug!("rank {} cannot accept a connection: {error}", self.identity.rank);
                    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
                        std::thread::sleep(PAUSE);
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), JoinError> {
        if self.strangers.len() >= STRANGERS + self.identity.size {
            self.make_room()?;
        }
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let id = self.next;
        self.next += 1;
        let stage = Stage::Answering(Answering::new(&self.identity, self.role, nonce));
        let until = self.deadline();
        let line = Line { stream, peer, stage, inbox: Vec::new(), outbox: Vec::new(), sent: 0, until };
        self.lines.insert(id, line);
        self.strangers.add(id);
        // In a flood most have gone already, or have said all that they will: the system need not
        // watch those.
        self.advance(id);
        let Some(line) = self.lines.get_mut(&id) else { return Ok(()) };
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut line.stream, Token(id), interest) {
            log::debug!("rank {} cannot wait for {peer}: {error}", self.identity.rank);
            self.lines.remove(&id);
            self.strangers.remove(id);
        }
        Ok(())
    }

    /// Drops somebody who has called and proved nothing; if there is nobody, the oldest that has
    /// proved who it is and said nothing since. Whether there was one.
    fn make_room(&mut self) -> Result<bool, JoinError> {
        let silent = || self.lines.iter().find(|(_, line)| line.silent()).map(|(id, _)| *id);
        let Some(id) = self.strangers.least()?.or_else(silent) else { return Ok(false) };
        if let Some(line) = self.lines.remove(&id) {
            self.turn_away(&line, "others came while it said nothing");
        }
        Ok(true)
    }

    /// Keeps account of one that has proved nothing, or had not until now.
    fn settle(&mut self, id: Id) {
        match self.lines.get(&id).filter(|line| line.stranger()) {
            Some(line) => self.strangers.set(id, line.greeted()),
            None => self.strangers.remove(id),
        }
    }

    fn turn_away(&mut self, line: &Line, why: &str) {
        self.turned_away += 1;
        self.last_turned_away = format!("{}, {why}", canonical(line.peer));
        log::debug!("rank {} turns away {}", self.identity.rank, self.last_turned_away);
    }

    fn trouble(&self, what: &str, error: &io::Error) -> JoinError {
        host::trouble(self.identity.rank, self.need, what, error)
    }

    /// Does what can be done for a connection now.
    fn advance(&mut self, id: Id) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let stranger = line.stranger();
        match line.turn(id, self.identity.size, &mut self.happened) {
            Ok(ActiveRound::Waits) => {}
            Ok(ActiveRound::Ends) => self.end(id, Trouble::Io("the connection was closed".to_owned())),
            Err(trouble) => self.end(id, trouble),
        }
        if stranger {
            self.settle(id);
        }
    }

    /// Ends a connection, and says so to whom it concerns.
    fn end(&mut self, id: Id, trouble: Trouble) {
        let Some(mut line) = self.lines.remove(&id) else { return };
        match line.stage {
            Stage::Connecting(_) | Stage::Calling(_) => self.happened.push_back(Event::Failed(id, trouble)),
            Stage::Open(_) => self.happened.push_back(Event::Gone(id)),
            Stage::Answering(_) => {
                self.turn_away(&line, &trouble.words());
                // It is told why, and must hear it: that is when it closes.
                if !matches!(trouble, Trouble::Io(_)) {
                    line.stage = Stage::Closing { said: false };
                    self.lines.insert(id, line);
                    self.advance(id);
                }
            }
            // What was to be said here cannot be. Whoever takes the connection will see what it is.
            Stage::Quiet => {
                line.sent = line.outbox.len();
                self.lines.insert(id, line);
            }
            Stage::Closing { .. } if line.until.is_none() => self.happened.push_back(Event::Gone(id)),
            Stage::Closing { .. } => {}
        }
    }
}

impl Line {
    /// Whether it has called, and proved nothing.
    fn stranger(&self) -> bool {
        self.until.is_some() && matches!(self.stage, Stage::Answering(_) | Stage::Closing { .. })
    }

    /// Whether it has said who it is, and proved nothing yet.
    fn greeted(&self) -> bool {
        matches!(&self.stage, Stage::Answering(answering) if answering.greeted())
    }

    /// Whether it has called and proved who it is, and said nothing since.
    fn silent(&self) -> bool {
        self.until.is_some() && matches!(self.stage, Stage::Open(_))
    }

    /// Writes what can be written, reads what is wanted and there, and does what follows from it.
    fn turn(&mut self, id: Id, size: usize, happened: &mut VecDeque<Event>) -> Result<ActiveRound, Trouble> {
        if let Stage::Connecting(_) = self.stage {
            if !self.connected()? {
                return Ok(ActiveRound::Waits);
            }
            if let Stage::Connecting(calling) = std::mem::replace(&mut self.stage, Stage::Quiet) {
                self.stage = Stage::Calling(calling);
            }
        }
        loop {
            self.flush()?;
            let wants = match &self.stage {
                Stage::Calling(calling) => calling.wants(),
                Stage::Answering(answering) => answering.wants(),
                Stage::Open(None) => HEADER,
                // Its length was believed when its header came.
                Stage::Open(Some(header)) => Notice::length(header, size).unwrap_or(0),
                Stage::Connecting(_) | Stage::Quiet => return Ok(ActiveRound::Waits),
                Stage::Closing { .. } => return self.discard(),
            };
            if !self.fill(wants)? {
                return Ok(ActiveRound::Waits);
            }
            let bytes = std::mem::take(&mut self.inbox);
            self.heard(&bytes, id, size, happened)?;
        }
    }

    /// What follows from what has come.
    fn heard(&mut self, bytes: &[u8], id: Id, size: usize, happened: &mut VecDeque<Event>) -> Result<(), Trouble> {
        let step = match &mut self.stage {
            Stage::Calling(calling) => calling.take(bytes),
            Stage::Answering(answering) => answering.take(bytes),
            Stage::Open(header) => {
                let Some(first) = header.take() else {
                    if Notice::length(bytes, size).is_none() {
                        self.garbage(id, "a notice of no kind or length that there is", happened);
                        return Ok(());
                    }
                    let mut kept = [0; HEADER];
                    kept.copy_from_slice(bytes);
                    *header = Some(kept);
                    return Ok(());
                };
                let Some(notice) = Notice::decode(&first, bytes) else {
                    self.garbage(id, "a notice that cannot be read", happened);
                    return Ok(());
                };
                self.until = None;
                // What comes after these is not for the meeting.
                if matches!(notice, Notice::Go | Notice::Joined) {
                    self.stage = Stage::Quiet;
                }
                happened.push_back(Event::Said(id, notice));
                return Ok(());
            }
            Stage::Connecting(_) | Stage::Quiet | Stage::Closing { .. } => return Ok(()),
        };
        match step {
            Step::More(bytes) => self.outbox.extend(bytes),
            Step::Proved(hello, bytes) => {
                self.outbox.extend(bytes);
                // Over a connection of the mesh the caller hears nothing more of the meeting. Who
                // has called is to say something soon.
                let caller = matches!(self.stage, Stage::Calling(_));
                self.stage = if caller && hello.role == Role::Mesh { Stage::Quiet } else { Stage::Open(None) };
                if caller {
                    self.until = None;
                }
                happened.push_back(Event::Proved(id, hello, canonical(self.peer)));
            }
            Step::Over(trouble, bytes) => {
                self.outbox.extend(bytes);
                return Err(trouble);
            }
        }
        Ok(())
    }

    fn garbage(&mut self, id: Id, what: &'static str, happened: &mut VecDeque<Event>) {
        self.stage = Stage::Quiet;
        happened.push_back(Event::Garbage(id, what));
    }

    /// Whether the system has connected.
    fn connected(&mut self) -> Result<bool, Trouble> {
        let io = |error: io::Error| Trouble::Io(error.to_string());
        if let Some(error) = self.stream.take_error().map_err(io)? {
            return Err(io(error));
        }
        match self.stream.peer_addr() {
            // A port that nobody listens on may be drawn for the very socket that calls it.
            Ok(peer) if self.stream.local_addr().is_ok_and(|local| local == peer) => {
                Err(Trouble::Io("nobody listens there".to_owned()))
            }
            Ok(_) => {
                let _ = self.stream.set_nodelay(true);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::WouldBlock) => Ok(false),
            Err(error) => Err(io(error)),
        }
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        while self.sent < self.outbox.len() {
            match self.stream.write(&self.outbox[self.sent..]) {
                Ok(0) => return Err(Trouble::Io("the connection was closed".to_owned())),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Trouble::Io(error.to_string())),
            }
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads until so many bytes are there, and not one more: whether they are.
    fn fill(&mut self, wants: usize) -> Result<bool, Trouble> {
        // As it comes: a length that is believed is not yet memory that is used.
        let mut piece = [0; 4096];
        while self.inbox.len() < wants {
            let most = (wants - self.inbox.len()).min(piece.len());
            match self.stream.read(&mut piece[..most]) {
                Ok(0) => return Err(Trouble::Io("the connection was closed".to_owned())),
                Ok(count) => self.inbox.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(Trouble::Io(error.to_string())),
            }
        }
        Ok(true)
    }

    /// Waits for the other side to close. Were this side to close while something is unread, the
    /// system would take back the last word, too.
    fn discard(&mut self) -> Result<ActiveRound, Trouble> {
        if let Stage::Closing { said: false } = self.stage
            && self.sent == self.outbox.len()
        {
            let _ = self.stream.shutdown(Shutdown::Write);
            self.stage = Stage::Closing { said: true };
        }
        let mut piece = [0; 1024];
        for _ in 0..DISCARDED / piece.len() {
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(ActiveRound::Ends),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(ActiveRound::Waits),
                Err(_) => return Ok(ActiveRound::Ends),
            }
        }
        // Who says so much has not been listening.
        Ok(ActiveRound::Ends)
    }
}

/// An address of the older kind as such, also where a socket for both kinds reports it.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some() => SocketAddr::new(v6.ip().to_canonical(), v6.port()),
        other => other,
    }
}
