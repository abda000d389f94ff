//! What comes in: frames, taken out_of_band, and put where they belong.
#![allow(unsafe_code)]

use std::io::IoSliceMut;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::codec::{read_contexts, read_failure, read_left, read_status};
use super::connection::{Lent, Receiving};
use super::context::{Context, Presence};
use super::cursor::is_scattered;
use super::frame::{Header, Kind};
use super::lane::Credit;
use super::limits::TURN;
use super::state::Engine;
use super::wire::Went;
use crate::transport::ContextId;

/// From here on what is left of a message is read straight to where it belongs.
const DIRECT: usize = 4 << 10;

/// Where at least so much is to come of a message, its next header is read alone, so that nothing
/// of it is copied twice.
const LONG: u64 = 32 << 10;

/// Pieces that one call to the system fills.
const PIECES: usize = 16;

/// Why a connection cannot go on.
type Fault = Arc<str>;

impl Engine {
    /// Reads what has come from a process, until there is no more for now, or it has had its turn.
    pub(crate) fn pump_in(&mut self, from: usize) {
        let mut desk = std::mem::take(&mut self.desk);
        let mut active = TURN;
        while self.connections[from].as_ref().is_some_and(|open| open.is_open() && open.coming.is_none()) {
            let flow = self.read(from, &mut desk);
            // Before more is read: whoever has said that it is ready waits.
            while let Some(to) = self.due.pop() {
                self.pump_out(to);
            }
            match flow {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(why) => self.lose(from, why),
            }
            active -= 1;
            if active == 0 {
                self.put_off(from);
                break;
            }
        }
        self.desk = desk;
    }

    /// Reads once.
    fn read(&mut self, from: usize, desk: &mut [u8]) -> Result<ControlFlow<()>, Fault> {
        let expects_long = self.expects_long(from);
        let Self { connections, contexts, wire, .. } = self;
        let Some(connection) = connections[from].as_mut() else { return Ok(ControlFlow::Break(())) };
        let mut slices: [IoSliceMut<'_>; PIECES] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (mut direct, mut pieces) = (0, 0);
        if let Receiving::Placed(id, left) = connection.receiving
            && left >= DIRECT
            && let Some(context) = contexts.get_mut(&id)
            && let Some(active) = &context.active
            && let into = &context.lanes[from].into
            && let Some(message) = active.next_in(into)
        {
            let runs = active.runs(message);
            if !is_scattered(runs, message.bytes) {
                // SAFETY: the active round's runs lie inside of its buffers, which are there as long as it
                // is, and what is received is for this alone.
                (pieces, direct) = unsafe {
                    into.to.slices((runs, &active.bases), left, &mut slices[..PIECES - 1], |at, len| {
                        IoSliceMut::new(std::slice::from_raw_parts_mut(at, len))
                    })
                };
            }
        }
        // What is not read straight to where it belongs comes over the desk, all that is there of
        // it.
        let is_next = match connection.receiving {
            Receiving::Header => true,
            Receiving::Placed(_, left) => left == direct,
            _ => false,
        };
        let room = if expects_long && is_next { Header::BYTES } else { desk.len() };
        let held = connection.part.len;
        desk[..held].copy_from_slice(&connection.part.bytes[..held]);
        slices[pieces] = IoSliceMut::new(&mut desk[held..room]);
        let (count, flow) = match wire.read(from, &mut slices[..=pieces]) {
            // An end that came with the bytes is not told again.
            Went::Stuck(count) if count > 0 && connection.closing => (count, ControlFlow::Continue(())),
            Went::On(count) => (count, ControlFlow::Continue(())),
            Went::Stuck(count) => {
                connection.readable = false;
                (count, ControlFlow::Break(()))
            }
            Went::Ended(why) => return Err(why),
        };
        connection.reads += u64::from(count > 0);
        let placed = count.min(direct);
        if placed > 0 {
            self.placed(from, placed, None);
        }
        if count > placed {
            self.take(from, &desk[..held + count - placed])?;
        }
        Ok(flow)
    }

    /// Whether the next frame, after the one under way, may be of a message of which much is to
    /// come.
    fn expects_long(&self, from: usize) -> bool {
        let Some(connection) = &self.connections[from] else { return false };
        self.active.iter().filter_map(|id| self.contexts.get(id)).any(|context| {
            let under_way = match connection.receiving {
                Receiving::Placed(id, left) if id == context.id => left as u64,
                _ => 0,
            };
            let into = &context.lanes[from].into;
            let message = context.active.as_ref().and_then(|active| active.next_in(into));
            message.is_some_and(|message| message.bytes.saturating_sub(into.came + under_way) >= LONG)
        })
    }

    /// Takes apart what was read.
    pub(crate) fn take(&mut self, from: usize, mut bytes: &[u8]) -> Result<(), Fault> {
        loop {
            let Some(connection) = self.connections[from].as_mut().filter(|open| open.is_open()) else { return Ok(()) };
            match &mut connection.receiving {
                Receiving::Header => {
                    let Some((header, rest)) = bytes.split_first_chunk() else {
                        connection.part.len = bytes.len();
                        connection.part.bytes[..bytes.len()].copy_from_slice(bytes);
                        return Ok(());
                    };
                    connection.part.len = 0;
                    bytes = rest;
                    let header = Header::decode(header).map_err(|fault| babble(&fault.to_string()))?;
                    self.begin(from, header)?;
                }
                _ if bytes.is_empty() => {
                    connection.part.len = 0;
                    return Ok(());
                }
                Receiving::Placed(_, left) => {
                    let (here, rest) = bytes.split_at(bytes.len().min(*left));
                    bytes = rest;
                    self.placed(from, here.len(), Some(here));
                }
                Receiving::Kept(id, left) => {
                    let (here, rest) = bytes.split_at(bytes.len().min(*left));
                    (bytes, *left) = (rest, *left - here.len());
                    let id = *id;
                    if *left == 0 {
                        connection.receiving = Receiving::Header;
                    }
                    if let Some(context) = self.contexts.get_mut(&id) {
                        context.lanes[from].into.stash.keep(here);
                    }
                }
                Receiving::Dropped(left) => {
                    let here = bytes.len().min(*left);
                    (bytes, *left) = (&bytes[here..], *left - here);
                    if *left == 0 {
                        connection.receiving = Receiving::Header;
                    }
                }
                Receiving::Said(header, words, left) => {
                    let (here, rest) = bytes.split_at(bytes.len().min(*left));
                    words.extend_from_slice(here);
                    (bytes, *left) = (rest, *left - here.len());
                    if *left == 0 {
                        let (header, words) = (*header, std::mem::take(words));
                        connection.receiving = Receiving::Header;
                        self.hear(from, header, &words)?;
                    }
                }
            }
        }
    }

    /// So many bytes more of a message are where they belong, or, if they are given, are put there.
    fn placed(&mut self, from: usize, count: usize, bytes: Option<&[u8]>) {
        let Some(connection) = self.connections[from].as_mut() else { return };
        let Receiving::Placed(id, left) = &mut connection.receiving else { return };
        let id = *id;
        *left -= count;
        let whole = *left == 0;
        if whole {
            connection.receiving = Receiving::Header;
        }
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = &context.active else { return };
        let into = &mut context.lanes[from].into;
        let Some(message) = active.next_in(into) else { return };
        match bytes {
            // SAFETY: the active round's runs lie inside of its buffers, which are there as long as it is,
            // and what is received is for this alone.
            Some(bytes) => unsafe { into.to.put(active.runs(message), &active.bases, bytes) },
            None => into.to.advance(active.runs(message), count),
        }
        into.came += count as u64;
        context.progress += 1;
        if whole && into.came == message.bytes {
            self.arrived(id, from);
        }
    }

    /// The first of the awaited messages is there.
    fn arrived(&mut self, id: ContextId, from: usize) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let Some(active) = &mut context.active else { return };
        let into = &mut context.lanes[from].into;
        into.awaited.start += 1;
        (into.came, into.to) = (0, Default::default());
        context.progress += 1;
        if into.awaited.is_empty() {
            active.incoming -= 1;
        }
    }

    /// What came without being asked for is taken; its sender hears of it in time.
    fn taken(&mut self, id: ContextId, from: usize, bytes: u64) {
        let Some(context) = self.contexts.get_mut(&id) else { return };
        let into = &mut context.lanes[from].into;
        into.taken += Credit::cost(bytes);
        if into.taken - into.told >= self.credit.lane / 2 {
            into.told = into.taken;
            let header = Header { taken: into.taken, ..Header::new(Kind::Credit, id) };
            self.say(from, header, &[]);
            self.owe(from);
        }
    }

    /// Takes what was kept for the round that has begun.
    pub(crate) fn unpack(&mut self, id: ContextId, from: usize) {
        loop {
            let Some(context) = self.contexts.get_mut(&id) else { return };
            let me = context.rank_of(self.me).zip(context.rank_of(from));
            let (Some(active), Some((me, sender))) = (&mut context.active, me) else { return };
            let into = &mut context.lanes[from].into;
            let (Some((header, text)), Some(message)) = (into.stash.first(), active.next_in(into)) else { return };
            if let Some(doubt) = active.doubt((sender, me), &header, message) {
                active.doubt.get_or_insert(doubt);
                return;
            }
            let count = text.len();
            if into.came > 0 {
                // The rest of a head goes on where that stops; nobody begins it again.
                return self.lose(from, babble("a message in the middle of another"));
            }
            // SAFETY: as for what comes; the stash is no buffer of the round's.
            unsafe { into.to.put(active.runs(message), &active.bases, text) };
            into.came = count as u64;
            into.stash.pop(count);
            if count as u64 == header.bytes {
                self.arrived(id, from);
            } else if count < header.text as usize
                && let Some(connection) = &mut self.connections[from]
            {
                // The rest of the frame has not come yet; it goes where it belongs.
                connection.receiving = Receiving::Placed(id, header.text as usize - count);
            }
            self.taken(id, from, header.text.into());
        }
    }

    /// Begins a frame.
    fn begin(&mut self, from: usize, header: Header) -> Result<(), Fault> {
        let text = header.text as usize;
        let receiving = match header.kind {
            Kind::Message => self.message(from, header)?,
            Kind::More => self.more(from, header)?,
            Kind::Proposal | Kind::Ask | Kind::Decision | Kind::Answer | Kind::Leave | Kind::Goodbye => {
                Receiving::Said(header, Vec::new(), text)
            }
            _ => return self.hear(from, header, &[]),
        };
        if header.out_of_band {
            return self.meet(from, receiving, text);
        }
        match receiving {
            Receiving::Placed(_, 0) => {
                self.set(from, receiving);
                self.placed(from, 0, None);
            }
            Receiving::Said(_, _, 0) => return self.hear(from, header, &[]),
            Receiving::Kept(_, 0) | Receiving::Dropped(0) => {}
            receiving => self.set(from, receiving),
        }
        Ok(())
    }

    /// Receives a text apart from the stream: straight to where it belongs if that is one piece,
    /// and otherwise by way of a desk.
    fn meet(&mut self, from: usize, receiving: Receiving, text: usize) -> Result<(), Fault> {
        let Self { connections, contexts, wire, .. } = self;
        let (Some(connection), Some(out_of_band)) = (connections[from].as_mut(), wire.out_of_band()) else {
            return Err(babble("a text apart from where all is said"));
        };
        let mut place = None;
        if let Receiving::Placed(id, _) = receiving
            && let Some(context) = contexts.get(&id)
            && let Some(active) = &context.active
            && let into = &context.lanes[from].into
            && let Some(message) = active.next_in(into)
        {
            // SAFETY: the active round's runs lie inside of its buffers, which are there as long as it is.
            let piece = unsafe { into.to.piece(active.runs(message), &active.bases) };
            place = piece.filter(|(_, length)| *length >= text).map(|(at, _)| (id, at));
        }
        connection.receiving = receiving;
        connection.coming = Some(place.map_or(Lent::Own, |(id, _)| Lent::Round(id)));
        // SAFETY: there is room for as much; what is received is for this alone, and the active round is
        // withdrawn only once what is lent has come back.
        unsafe { out_of_band.receive(from, place.map(|(_, at)| at), text) }
    }

    /// What comes apart from the stream has come.
    pub(crate) fn met(&mut self, from: usize) {
        let desk = self.wire.out_of_band().and_then(|out_of_band| out_of_band.desk(from));
        let Some(connection) = self.connections[from].as_mut() else { return };
        connection.coming = None;
        match (&desk, &connection.receiving) {
            (Some(bytes), _) => {
                if let Err(why) = self.take(from, bytes) {
                    self.lose(from, why);
                }
            }
            (None, &Receiving::Placed(_, left)) => self.placed(from, left, None),
            // It came to its place, where nobody wanted it any more.
            (None, _) => connection.receiving = Receiving::Header,
        }
        if let (Some(desk), Some(out_of_band)) = (desk, self.wire.out_of_band()) {
            out_of_band.put_back(desk);
        }
        self.pump_in(from);
    }

    fn set(&mut self, from: usize, receiving: Receiving) {
        if let Some(connection) = &mut self.connections[from] {
            connection.receiving = receiving;
        }
    }

    /// The beginning of a message.
    fn message(&mut self, from: usize, header: Header) -> Result<Receiving, Fault> {
        let (me, credit, id, text) = (self.me, self.credit, header.context, header.text as usize);
        let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
        if context.failure.is_some() || context.presence == Presence::Left {
            return Ok(Receiving::Dropped(text));
        }
        let more = credit_to(context, from, header.taken)?;
        let ranks = context.rank_of(from).zip(context.rank_of(me));
        if context.presence == Presence::Open && ranks.is_none() {
            return Err(babble("a message in a context that it is no member of"));
        }
        if more {
            self.owe(from);
        }
        let Some(context) = self.contexts.get_mut(&id) else { return Ok(Receiving::Dropped(text)) };
        let into = &mut context.lanes[from].into;
        into.offer = None;
        if header.eager {
            into.arrived += Credit::cost(header.text.into());
            if into.arrived - into.taken > credit.lane || u64::from(header.text) != credit.head(header.bytes) {
                return Err(babble("more than it was given credit for"));
            }
        }
        if let (Some(active), Some((sender, receiver))) = (&mut context.active, ranks)
            && let Some(message) = active.next_in(into)
            && into.stash.is_empty()
        {
            let Some(doubt) = active.doubt((sender, receiver), &header, message) else {
                if into.came > 0 {
                    return Err(babble("a message in the middle of another"));
                }
                if header.eager {
                    self.taken(id, from, header.text.into());
                }
                return Ok(Receiving::Placed(id, text));
            };
            active.doubt.get_or_insert(doubt);
            return Ok(Receiving::Dropped(text));
        }
        if !header.eager {
            return Err(babble("a message that this rank has not said to be ready for"));
        }
        into.stash.keep(&header.encode());
        Ok(Receiving::Kept(id, text))
    }

    /// The next part of a message.
    fn more(&mut self, from: usize, header: Header) -> Result<Receiving, Fault> {
        let (id, text) = (header.context, header.text as usize);
        let Some(context) = self.contexts.get(&id) else {
            return Err(babble("the rest of a message that has not begun"));
        };
        let into = &context.lanes[from].into;
        let Some(active) = context.active.as_ref().filter(|active| context.failure.is_none() && active.doubt.is_none())
        else {
            return Ok(Receiving::Dropped(text));
        };
        let message = active.next_in(into);
        let goes_on = message.is_some_and(|message| {
            let place = into.came > 0 && into.came == header.bytes && active.message_id(message) == header.message_id;
            place && into.came + u64::from(header.text) <= message.bytes
        });
        if goes_on { Ok(Receiving::Placed(id, text)) } else { Err(babble("the rest of another message")) }
    }

    /// Hears something that is no message.
    fn hear(&mut self, from: usize, header: Header, words: &[u8]) -> Result<(), Fault> {
        let id = header.context;
        let garbled = |_| babble("words that mean nothing");
        match header.kind {
            Kind::Message | Kind::More => {}
            Kind::Void => {}
            Kind::Offer => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].into.offer = Some(header);
            }
            Kind::Ready => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].out.ready = Some((header.message_id.call, header.message_id.round));
                self.owe(from);
            }
            Kind::Credit => {
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                if credit_to(context, from, header.taken)? {
                    self.owe(from);
                }
            }
            Kind::Proposal | Kind::Ask => {
                let failure = read_failure(words).map_err(garbled)?;
                self.consider(from, id, failure, header.kind).ok_or_else(too_many_contexts)?;
            }
            Kind::Decision => {
                let failure = read_failure(words).map_err(garbled)?;
                self.expect(from, id).ok_or_else(too_many_contexts)?;
                self.decided(from, id, failure);
            }
            Kind::Question => self.answer(from, header),
            Kind::Answer => self.answered(from, header.bytes, read_status(words).map_err(garbled)?),
            Kind::Leave => {
                let left = read_left(words).map_err(garbled)?;
                let context = self.expect(from, id).ok_or_else(too_many_contexts)?;
                context.lanes[from].left.get_or_insert(left);
                self.compare(id, Some(from));
                self.departures += 1;
                self.undecided = true;
                self.forget();
            }
            Kind::Goodbye => {
                let open = read_contexts(words).map_err(garbled)?;
                if let Some(connection) = &mut self.connections[from] {
                    connection.goodbye = Some(open);
                }
                self.departures += 1;
                self.undecided = true;
                self.forget();
            }
            Kind::Fin => {
                // It is answered once, and that is the last it hears; what has not begun does not.
                if let Some(connection) = &mut self.connections[from] {
                    connection.sending.take_if(|sending| sending.headed == 0);
                }
                self.say(from, Header::new(Kind::FinAck, ContextId::WORLD), &[]);
                if let Some(connection) = &mut self.connections[from] {
                    connection.farewell = true;
                }
                self.pump_out(from);
                self.departures += 1;
                self.undecided = true;
                self.forget();
            }
            Kind::Unable => self.unable(from, id),
            Kind::Retract => {
                if let Some(context) = self.contexts.get_mut(&id) {
                    context.turned.retain(|process| *process != from);
                }
            }
            Kind::FinAck => {
                if let Some(connection) = &mut self.connections[from] {
                    connection.heard = true;
                }
            }
        }
        Ok(())
    }
}

/// Takes note of how much of what was sent without being asked for the receiver has taken. Returns
/// whether something waited for that.
fn credit_to(context: &mut Context, from: usize, taken: u64) -> Result<bool, Fault> {
    let out = &mut context.lanes[from].out;
    if taken > out.sent {
        return Err(babble("that it has taken more than it was sent"));
    }
    let more = taken > out.taken && !out.waiting.is_empty();
    out.taken = out.taken.max(taken);
    Ok(more)
}

/// That the other does not speak as it should.
fn babble(what: &str) -> Fault {
    format!("it sent what it should not: {what}").into()
}

fn too_many_contexts() -> Fault {
    babble("word of more contexts than this rank can expect")
}
