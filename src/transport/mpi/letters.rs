//! The wire of MPI: the streams of bytes between processes, cut into letters, each a message of
//! MPI's.
//!
//! Receives for letters from anybody are posted beforehand, so that one test tells whether
//! something has come, from whomever. What goes is copied first: nothing of a round's memory is
//! with MPI.
//!
//! A letter that has begun to come takes one of these, and if its sender is stopped then, for good;
//! those that come meanwhile are found behind it. They are numbered, since what two of one sender
//! have begun they may end in another order.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::io::{IoSlice, IoSliceMut};
use std::mem;
use std::time::Instant;

use mpi::ffi;

use super::ending::{self, Unwell};
use super::error::MpiError;
use super::group::Group;
use super::library::rest;
use super::library::{call, is_alive};
use super::parcels::Parcels;
use crate::machine::Machine;
use crate::transport::Failure;
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::limits::STAGE;
use crate::transport::engine::wire::{OutOfBand, Went, Wire, WireEvent};

/// The most bytes of a letter: what an engine puts together at once, and a little more.
const LETTER: usize = STAGE + (4 << 10);

/// Letters that are awaited at the same time.
const AWAITED: usize = 8;

/// Letters that may be under way to one process.
const UNDER_WAY: usize = 4;

/// So many letters under way are looked at even if there is more to do.
const MANY: usize = 16;

/// A letter begins with its number.
const NUMBER: usize = size_of::<u32>();

/// So many letters go to one process before all of them have gone.
const TOGETHER: u32 = 32;

/// So often in vain only the first of what is awaited is looked at, then all.
const VAIN: u32 = 8;

/// What letters are tagged with.
const TAG: c_int = 1;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Letters {
    group: Group,
    /// Those awaited, in the order in which MPI begins to fill them; and those that were read.
    awaited: VecDeque<Letter>,
    spent: Vec<Letter>,
    /// How often the first was looked at in vain.
    vain: u32,
    /// By process.
    boxes: Box<[Letterbox]>,
    /// Processes whose letter has come and is not read.
    unread: Vec<usize>,
    /// What is under way, and to whom; MPI's handles of that; which of them are done; and room for
    /// more.
    going: Vec<(usize, Vec<u8>)>,
    requests: Vec<ffi::MPI_Request>,
    done: Vec<c_int>,
    blank: Vec<Vec<u8>>,
    parcels: Option<Parcels>,
    /// That MPI does not do what it is asked for any more, and why.
    broken: Option<String>,
}

/// Bytes that are with MPI until its request is done.
#[derive(Debug)]
struct Letter {
    bytes: Vec<u8>,
    request: ffi::MPI_Request,
    /// How long it is, once it has come.
    length: usize,
}

// SAFETY: a handle may be used by any thread, and so may the bytes that it is for: MPI is
// initialized for that.
unsafe impl Send for Letter {}
// SAFETY: as before.
unsafe impl Send for Letters {}

/// What is between this process and another.
#[derive(Debug, Default)]
struct Letterbox {
    /// What has come and was put aside, for others to have their turn.
    aside: VecDeque<Vec<u8>>,
    /// What has come last.
    letter: Option<Letter>,
    /// How much of the first of these was read.
    read: usize,
    /// The number of the next letter that comes; and those that have come before it, fewer than go
    /// together.
    next: u32,
    early: Vec<Letter>,
    /// The number of the next letter that goes; how many are under way; and whether more wait.
    number: u32,
    going: usize,
    waits: bool,
}

impl Letter {
    fn new() -> Self {
        // SAFETY: a constant of the library.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { bytes: vec![0; LETTER], request: none, length: 0 }
    }

    /// Awaits it no more. Whether MPI has given it back.
    fn call_off(&mut self) -> Result<bool, MpiError> {
        call!(MPI_Cancel(&mut self.request))?;
        let begin = Instant::now();
        while begin.elapsed() < LINGER {
            let mut done: c_int = 0;
            call!(MPI_Test(&mut self.request, &mut done, ffi::RSMPI_STATUS_IGNORE))?;
            if done != 0 {
                return Ok(true);
            }
            rest(begin.elapsed());
        }
        Ok(false)
    }

    fn number(&self) -> u32 {
        let mut number = [0; NUMBER];
        number.copy_from_slice(&self.bytes[..NUMBER]);
        u32::from_le_bytes(number)
    }

    /// What it says.
    fn text(&self) -> &[u8] {
        &self.bytes[NUMBER..self.length.max(NUMBER)]
    }
}

impl Letterbox {
    /// Puts aside a letter that is not read to its end.
    fn put_aside(&mut self, letter: &Letter) {
        let begin = if self.aside.is_empty() { mem::take(&mut self.read) } else { 0 };
        self.aside.push_back(letter.text()[begin..].to_vec());
    }
}

impl Letters {
    pub(super) fn new(group: Group, lends: bool) -> Self {
        let (size, parcels) = (group.size, lends.then(|| Parcels::new(group.comm, group.size)));
        let mut letters = Self {
            group,
            awaited: VecDeque::with_capacity(AWAITED),
            spent: (0..AWAITED).map(|_| Letter::new()).collect(),
            vain: 0,
            boxes: (0..size).map(|_| Letterbox::default()).collect(),
            unread: Vec::with_capacity(AWAITED),
            going: Vec::new(),
            requests: Vec::new(),
            done: Vec::new(),
            blank: Vec::new(),
            parcels,
            broken: None,
        };
        letters.await_more();
        letters
    }

    /// Awaits letters in place of those that were read.
    fn await_more(&mut self) {
        while self.awaited.len() < AWAITED && self.broken.is_none() {
            let Some(letter) = self.spent.pop() else { break };
            let comm = self.group.comm;
            self.hand_over(letter, |into, byte, request| {
                call!(MPI_Irecv(into, LETTER as c_int, byte, ffi::RSMPI_ANY_SOURCE, TAG, comm, request))
            });
        }
        // More than these were needed only while some did not end.
        self.spent.truncate(AWAITED);
    }

    /// Hands a letter to MPI, to be filled.
    fn hand_over(
        &mut self,
        mut letter: Letter,
        post: impl FnOnce(*mut c_void, ffi::MPI_Datatype, &mut ffi::MPI_Request) -> Result<(), MpiError>,
    ) {
        // SAFETY: a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        let into = letter.bytes.as_mut_ptr().cast();
        match post(into, byte, &mut letter.request) {
            Ok(()) => self.awaited.push_back(letter),
            Err(error) => {
                // Whether MPI has it, nobody knows.
                mem::forget(letter);
                self.broken = Some(error.to_string());
            }
        }
    }

    /// Puts aside what has come and was not read.
    fn put_aside(&mut self) {
        for process in mem::take(&mut self.unread) {
            let room = &mut self.boxes[process];
            if let Some(letter) = room.letter.take() {
                room.put_aside(&letter);
                self.spent.push(letter);
            }
        }
        self.await_more();
    }

    /// Takes in what has come.
    fn take_in(&mut self, events: &mut Vec<WireEvent>) -> Result<(), MpiError> {
        while !self.awaited.is_empty() && self.has_come(0, events)? {
            self.vain = 0;
        }
        self.vain += 1;
        if self.vain < VAIN {
            return Ok(());
        }
        self.vain = 0;
        let mut at = 1;
        while at < self.awaited.len() {
            at += usize::from(!self.has_come(at, events)?);
        }
        // If something comes for which nothing is posted, all that is has begun to come.
        let mut found: c_int = 0;
        // SAFETY: a null pointer or a number, and a status, before MPI writes them.
        let (mut message, mut status): (ffi::MPI_Message, ffi::MPI_Status) = unsafe { mem::zeroed() };
        call!(MPI_Improbe(ffi::RSMPI_ANY_SOURCE, TAG, self.group.comm, &mut found, &mut message, &mut status))?;
        if found != 0 {
            let letter = self.spent.pop().unwrap_or_else(Letter::new);
            self.hand_over(letter, |into, byte, request| {
                call!(MPI_Imrecv(into, LETTER as c_int, byte, &mut message, request))
            });
        }
        Ok(())
    }

    /// Whether that one of the letters awaited has come; then it is taken in.
    fn has_come(&mut self, at: usize, events: &mut Vec<WireEvent>) -> Result<bool, MpiError> {
        let letter = &mut self.awaited[at];
        // SAFETY: all of a status may be zero.
        let (mut done, mut status): (c_int, ffi::MPI_Status) = (0, unsafe { mem::zeroed() });
        call!(MPI_Test(&mut letter.request, &mut done, &mut status))?;
        if done == 0 {
            return Ok(false);
        }
        let mut length: c_int = 0;
        // SAFETY: a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        call!(MPI_Get_count(&status, byte, &mut length))?;
        letter.length = length as usize;
        let from = status.MPI_SOURCE as usize;
        if let Some(letter) = self.awaited.remove(at) {
            let room = &mut self.boxes[from];
            if letter.number() == room.next {
                self.deliver(from, letter, events);
            } else {
                room.early.push(letter);
            }
        }
        Ok(true)
    }

    /// The next letter of a process is there; and perhaps more.
    fn deliver(&mut self, from: usize, letter: Letter, events: &mut Vec<WireEvent>) {
        let room = &mut self.boxes[from];
        let mut next = Some(letter);
        while let Some(letter) = next {
            room.next = room.next.wrapping_add(1);
            // Two of one process at once: the first makes room.
            if let Some(before) = room.letter.replace(letter) {
                room.put_aside(&before);
                self.spent.push(before);
            }
            let found = room.early.iter().position(|letter| letter.number() == room.next);
            next = found.map(|at| room.early.swap_remove(at));
        }
        if !self.unread.contains(&from) {
            self.unread.push(from);
            events.push(WireEvent { process: from, readable: true, urgent: true, ..WireEvent::default() });
        }
    }

    /// Takes back what MPI is through with.
    fn take_back(&mut self, events: &mut Vec<WireEvent>) {
        let Self { going, requests, done, .. } = self;
        let (all, mut count): (c_int, c_int) = (requests.len() as c_int, 0);
        done.resize(requests.len(), 0);
        let (from, into) = (requests.as_mut_ptr(), done.as_mut_ptr());
        if let Err(error) = call!(MPI_Testsome(all, from, &mut count, into, ffi::RSMPI_STATUSES_IGNORE)) {
            return self.broken = Some(error.to_string());
        }
        done.truncate(usize::try_from(count).unwrap_or(0));
        // From the last on, so that those before stay where they are.
        done.sort_unstable();
        for at in done.drain(..).rev() {
            let (to, bytes) = going.swap_remove(at as usize);
            requests.swap_remove(at as usize);
            self.blank.push(bytes);
            let Letterbox { going, waits, .. } = &mut self.boxes[to];
            *going -= 1;
            if mem::take(waits) {
                events.push(WireEvent { process: to, writable: true, ..WireEvent::default() });
            }
        }
    }
}

impl Wire for Letters {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Went {
        let Letterbox { aside, letter, read, .. } = &mut self.boxes[from];
        let (rest, is_aside) = match (aside.front(), &*letter) {
            (Some(bytes), _) => (&bytes[*read..], true),
            (None, Some(letter)) => (&letter.text()[*read..], false),
            (None, None) => {
                return self.broken.as_ref().map_or(Went::Stuck(0), |why| Went::Ended(why.as_str().into()));
            }
        };
        let mut count = 0;
        for slice in into {
            let here = slice.len().min(rest.len() - count);
            slice[..here].copy_from_slice(&rest[count..count + here]);
            count += here;
        }
        if count < rest.len() {
            *read += count;
            return Went::On(count);
        }
        *read = 0;
        if is_aside {
            aside.pop_front();
        } else if let Some(letter) = letter.take() {
            self.unread.retain(|process| *process != from);
            self.spent.push(letter);
        }
        let Letterbox { aside, letter, .. } = &self.boxes[from];
        let more = !aside.is_empty() || letter.is_some();
        self.await_more();
        if more { Went::On(count) } else { Went::Stuck(count) }
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Went {
        let Self { group, boxes, going, requests, blank, broken, .. } = self;
        if let Some(why) = broken {
            return Went::Ended(why.as_str().into());
        }
        let room = &mut boxes[to];
        if room.going == UNDER_WAY || room.going > 0 && room.number.is_multiple_of(TOGETHER) {
            room.waits = true;
            return Went::Stuck(0);
        }
        let mut letter = blank.pop().unwrap_or_else(|| vec![0; LETTER]);
        letter[..NUMBER].copy_from_slice(&room.number.to_le_bytes());
        let mut count = NUMBER;
        for slice in from {
            let here = slice.len().min(LETTER - count);
            letter[count..count + here].copy_from_slice(&slice[..here]);
            count += here;
        }
        // SAFETY: constants of the library.
        let (byte, mut request) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_REQUEST_NULL) };
        let bytes = letter.as_ptr().cast();
        match call!(MPI_Isend(bytes, count as c_int, byte, to as c_int, TAG, group.comm, &mut request)) {
            Ok(()) => {
                (room.number, room.going) = (room.number.wrapping_add(1), room.going + 1);
                going.push((to, letter));
                requests.push(request);
                Went::On(count - NUMBER)
            }
            Err(error) => {
                // Whether MPI has it, nobody knows.
                mem::forget(letter);
                Went::Ended(error.to_string().into())
            }
        }
    }

    fn out_of_band(&mut self) -> Option<&mut dyn OutOfBand> {
        self.parcels.as_mut().map(|parcels| parcels as _)
    }

    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        if self.broken.is_some() {
            return;
        }
        self.put_aside();
        if let Err(error) = self.take_in(events) {
            self.broken = Some(error.to_string());
        }
        // While nothing comes there is time.
        if !self.going.is_empty() && (self.unread.is_empty() || self.going.len() >= MANY) {
            self.take_back(events);
        }
        if let Some(parcels) = &mut self.parcels
            && let Err(error) = parcels.poll(events)
        {
            self.broken = Some(error.to_string());
        }
        if self.broken.is_some() {
            // Everybody who waits for somebody hears of it.
            events.extend((0..self.boxes.len()).map(|process| WireEvent {
                process,
                readable: true,
                urgent: true,
                ..WireEvent::default()
            }));
        }
    }

    fn under_way(&self) -> usize {
        self.going.len() + self.parcels.as_ref().map_or(0, Parcels::under_way)
    }

    fn close(&mut self, _: usize) {}

    fn end(&mut self, well: bool) {
        if well && is_alive() {
            // Nobody sends any more: what is awaited does not come.
            for mut letter in self.awaited.drain(..) {
                if !letter.call_off().unwrap_or(false) {
                    // It stays with MPI.
                    mem::forget(letter);
                }
            }
            if ending::depart(self.group.comm).is_err() {
                ending::forbid(Unwell::Begun);
            }
        }
        if !well {
            ending::forbid(Unwell::Silent);
        }
        self.broken = Some("MPI was finalized".to_owned());
    }

    fn abort(&mut self, why: &Failure) {
        ending::abort(self.group.comm, &format_args!("{why}; MPI cannot give back what this rank has lent to it"));
    }

    fn machine(&self) -> Machine {
        Machine::MPI
    }
}

impl Drop for Letters {
    /// What is still with MPI stays there.
    fn drop(&mut self) {
        self.awaited.drain(..).for_each(mem::forget);
        self.going.drain(..).for_each(mem::forget);
    }
}
