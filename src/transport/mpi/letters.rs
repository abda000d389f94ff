//! The wire of MPI: the streams of bytes between processes, cut into letters, each a message of MPI's.
//!
//! Receives for letters from anybody are posted beforehand, so that one test tells whether something has come, from
//! whomever. What goes is copied first: nothing of a round's memory is with MPI.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::io::{IoSlice, IoSliceMut};
use std::mem;

use mpi::ffi;

use super::ending::{self, Unwell};
use super::group::Group;
use super::library::{call, is_alive};
use super::parcels::Parcels;
use crate::machine::Machine;
use crate::transport::Failure;
use crate::transport::engine::outbound::STAGE;
use crate::transport::engine::wire::{Apart, Event, Went, Wire};

/// The most bytes of a letter: what an engine puts together at once, and a little more.
const LETTER: usize = STAGE + (4 << 10);

/// Letters that are awaited at the same time.
const AWAITED: usize = 8;

/// Letters that may be under way to one process.
const UNDER_WAY: usize = 4;

/// So many letters under way are looked at even if there is more to do.
const MANY: usize = 16;

/// What letters are tagged with.
const TAG: c_int = 1;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Letters {
    group: Group,
    /// Those awaited, in the order in which MPI fills them; and those that were read.
    awaited: VecDeque<Letter>,
    spent: Vec<Letter>,
    /// By process.
    boxes: Box<[Letterbox]>,
    /// Processes whose letter has come and is not read.
    unread: Vec<usize>,
    /// What is under way, and to whom; MPI's handles of that; which of them are done; and room for more.
    going: Vec<(usize, Box<[u8]>)>,
    requests: Vec<ffi::MPI_Request>,
    done: Vec<c_int>,
    blank: Vec<Box<[u8]>>,
    parcels: Option<Parcels>,
    /// That MPI does not do what it is asked for any more, and why.
    broken: Option<String>,
}

/// Bytes that are with MPI until its request is done.
#[derive(Debug)]
struct Letter {
    bytes: Box<[u8]>,
    request: ffi::MPI_Request,
}

// SAFETY: a handle may be used by any thread, and so may the bytes that it is for: MPI is initialized for that.
unsafe impl Send for Letter {}
// SAFETY: as before.
unsafe impl Send for Letters {}

/// What is between this process and another.
#[derive(Debug, Default)]
struct Letterbox {
    /// What has come and was put aside, for others to have their turn.
    aside: VecDeque<Vec<u8>>,
    /// What has come last, and how long it is.
    letter: Option<(Letter, usize)>,
    /// How much of the first of these was read.
    read: usize,
    /// How many letters are under way there, and whether more wait.
    going: usize,
    waits: bool,
}

impl Letter {
    fn new() -> Self {
        // SAFETY: a constant of the library.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { bytes: vec![0; LETTER].into(), request: none }
    }
}

impl Letters {
    pub(super) fn new(group: Group, lends: bool) -> Self {
        let (size, parcels) = (group.size, lends.then(|| Parcels::new(group.comm, group.size)));
        let mut letters = Self {
            group,
            awaited: VecDeque::with_capacity(AWAITED),
            spent: (0..AWAITED).map(|_| Letter::new()).collect(),
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
        let Self { group, awaited, spent, broken, .. } = self;
        while let Some(mut letter) = spent.pop().filter(|_| broken.is_none()) {
            let (into, request) = (letter.bytes.as_mut_ptr().cast(), &mut letter.request);
            let length = LETTER as c_int;
            let byte = unsafe { ffi::RSMPI_UINT8_T };
            let done = call!(MPI_Irecv(into, length, byte, ffi::RSMPI_ANY_SOURCE, TAG, group.comm, request));
            *broken = done.err().map(|error| error.to_string());
            awaited.push_back(letter);
        }
    }

    /// Puts aside what has come and was not read.
    fn put_aside(&mut self) {
        for process in mem::take(&mut self.unread) {
            let Letterbox { aside, letter, read, .. } = &mut self.boxes[process];
            if let Some((letter, length)) = letter.take() {
                let begin = if aside.is_empty() { mem::take(read) } else { 0 };
                aside.push_back(letter.bytes[begin..length].to_vec());
                self.spent.push(letter);
            }
        }
        self.await_more();
    }

    /// Takes in what has come.
    fn take_in(&mut self, events: &mut Vec<Event>) {
        while let Some(letter) = self.awaited.front_mut() {
            // SAFETY: all of a status may be zero.
            let (mut done, mut status): (c_int, ffi::MPI_Status) = (0, unsafe { mem::zeroed() });
            if let Err(error) = call!(MPI_Test(&mut letter.request, &mut done, &mut status)) {
                return self.broken = Some(error.to_string());
            }
            if done == 0 {
                return;
            }
            let mut length: c_int = 0;
            let byte = unsafe { ffi::RSMPI_UINT8_T };
            if let Err(error) = call!(MPI_Get_count(&status, byte, &mut length)) {
                return self.broken = Some(error.to_string());
            }
            let (from, length) = (status.MPI_SOURCE as usize, length as usize);
            let Some(letter) = self.awaited.pop_front() else { return };
            let Letterbox { aside, letter: last, read, .. } = &mut self.boxes[from];
            match last {
                None => *last = Some((letter, length)),
                Some((before, count)) => {
                    // Two of one process at once: the first makes room.
                    let begin = if aside.is_empty() { mem::take(read) } else { 0 };
                    aside.push_back(before.bytes[begin..*count].to_vec());
                    let before = mem::replace(before, letter);
                    *count = length;
                    self.spent.push(before);
                }
            }
            if !self.unread.contains(&from) {
                self.unread.push(from);
                events.push(Event { process: from, readable: true, urgent: true, ..Event::default() });
            }
        }
    }

    /// Takes back what MPI is through with.
    fn take_back(&mut self, events: &mut Vec<Event>) {
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
                events.push(Event { process: to, writable: true, ..Event::default() });
            }
        }
    }
}

impl Wire for Letters {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Went {
        let Letterbox { aside, letter, read, .. } = &mut self.boxes[from];
        let (rest, is_aside) = match (aside.front(), &*letter) {
            (Some(bytes), _) => (&bytes[*read..], true),
            (None, Some((letter, length))) => (&letter.bytes[*read..*length], false),
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
        } else if let Some((letter, _)) = letter.take() {
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
        if room.going == UNDER_WAY {
            room.waits = true;
            return Went::Stuck(0);
        }
        let mut letter = blank.pop().unwrap_or_else(|| vec![0; LETTER].into());
        let mut count = 0;
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
                room.going += 1;
                going.push((to, letter));
                requests.push(request);
                Went::On(count)
            }
            Err(error) => Went::Ended(error.to_string().into()),
        }
    }

    fn apart(&mut self) -> Option<&mut dyn Apart> {
        self.parcels.as_mut().map(|parcels| parcels as _)
    }

    fn poll(&mut self, events: &mut Vec<Event>) {
        if self.broken.is_some() {
            return;
        }
        self.put_aside();
        self.take_in(events);
        // While nothing comes there is time.
        if !self.going.is_empty() && (self.unread.is_empty() || self.going.len() >= MANY) {
            self.take_back(events);
        }
        if let Some(parcels) = &mut self.parcels {
            parcels.poll(events);
        }
        if self.broken.is_some() {
            // Everybody who waits for somebody hears of it.
            events.extend((0..self.boxes.len()).map(|process| Event {
                process,
                readable: true,
                urgent: true,
                ..Event::default()
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
            for letter in &mut self.awaited {
                let done = call!(MPI_Cancel(&mut letter.request))
                    .and_then(|()| call!(MPI_Wait(&mut letter.request, ffi::RSMPI_STATUS_IGNORE)));
                if done.is_err() {
                    self.broken = Some("cancel".to_owned());
                }
            }
            if ending::depart(self.group.comm).is_err() {
                ending::forbid(Unwell::Begun);
            }
            self.awaited.clear();
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
