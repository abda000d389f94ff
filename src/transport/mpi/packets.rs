//! The wire of MPI: the streams of bytes between processes, cut into packets, each an MPI message.
//!
//! Receives from any source are posted beforehand, so that one test tells whether a packet has come
//! from any process. Outgoing bytes are copied first: MPI holds no memory of a round.
//!
//! A packet that has begun to arrive occupies a posted receive. If its sender is stopped then, the
//! receive is lost for good, so packets that complete behind it are looked for as well. Packets
//! carry sequence numbers, since two packets of one sender may complete in another order than they
//! began.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::io::{IoSlice, IoSliceMut};
use std::mem;
use std::time::Instant;

use mpi::ffi;

use super::duplicate::DuplicatedComm;
use super::error::MpiError;
use super::finalization::{self, FinalizeBlocker};
use super::library::rest;
use super::library::{call, is_alive};
use super::rendezvous::RendezvousMessages;
use crate::machine::Machine;
use crate::transport::Failure;
use crate::transport::engine::limits::LINGER;
use crate::transport::engine::limits::STAGE;
use crate::transport::out_of_band::{Library, OutOfBand};
use crate::transport::wire::{Transferred, Wire, WireEvent};

/// Maximum size of a packet: what the progress engine sends at once, and a little more.
const PACKET: usize = STAGE + (4 << 10);

/// Number of posted receives.
const POSTED_RECEIVES: usize = 8;

/// Maximum number of packets under way to one process.
const MAX_IN_FLIGHT: usize = 4;

/// From this many packets under way on, sends are tested even if there is something to read.
const SEND_POLL_THRESHOLD: usize = 16;

/// Length of the sequence number at the start of a packet.
const SEQUENCE: usize = size_of::<u32>();

/// After this many packets to one process, the next waits until all of them have left.
const WINDOW: u32 = 32;

/// After this many polls of only the first posted receive without a packet, all are tested.
const FULL_SCAN_INTERVAL: u32 = 8;

/// MPI tag of packets.
const TAG: c_int = 1;

/// The wire of MPI; see the [module](self).
#[derive(Debug)]
pub(super) struct PacketWire {
    group: DuplicatedComm,
    /// Posted receives, in the order in which MPI begins to fill them.
    posted: VecDeque<Packet>,
    /// Packets that were read, to be posted again.
    spare_packets: Vec<Packet>,
    /// Polls since a packet last came, or since all receives were tested.
    idle_polls: u32,
    /// The state of each peer, by process.
    peers: Box<[PeerPackets]>,
    /// Processes with a packet that has come and is not read.
    unread: Vec<usize>,
    /// The sends under way: destination and bytes.
    in_flight: Vec<(usize, Vec<u8>)>,
    /// MPI's handles of these sends, by the same index.
    requests: Vec<ffi::MPI_Request>,
    /// Indices of completed sends, as MPI reports them.
    done: Vec<c_int>,
    /// Buffers for further sends.
    spare_buffers: Vec<Vec<u8>>,
    rendezvous: Option<RendezvousMessages>,
    /// The reason why MPI can no longer be used, if there is one.
    broken: Option<String>,
}

/// The buffer of a posted receive. MPI owns it until its request is complete.
#[derive(Debug)]
struct Packet {
    bytes: Vec<u8>,
    request: ffi::MPI_Request,
    /// The length, once the packet has come.
    length: usize,
}

// SAFETY: MPI is initialized with `MPI_THREAD_MULTIPLE`, so any thread may use the handle. The
// bytes may be used by any thread.
unsafe impl Send for Packet {}
// SAFETY: as for `Packet`.
unsafe impl Send for PacketWire {}

/// The packets between this process and another.
#[derive(Debug, Default)]
struct PeerPackets {
    /// Payloads that have come and were copied, to free their receives for other processes.
    set_aside: VecDeque<Vec<u8>>,
    /// The packet that has come last, not copied.
    packet: Option<Packet>,
    /// Bytes that were read of the first unread payload.
    read: usize,
    /// The sequence number of the next packet to read.
    next: u32,
    /// Packets that have come before that one; fewer than [`WINDOW`].
    early: Vec<Packet>,
    /// The sequence number of the next packet to send.
    number: u32,
    /// Number of packets under way to the process.
    in_flight: usize,
    /// Whether a write waits for one of them to leave.
    write_waits: bool,
}

impl Packet {
    fn new() -> Self {
        // SAFETY: reads a constant of the library.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { bytes: vec![0; PACKET], request: none, length: 0 }
    }

    /// Cancels the receive. Returns whether MPI has given the buffer back.
    fn cancel(&mut self) -> Result<bool, MpiError> {
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

    /// Returns the sequence number.
    fn number(&self) -> u32 {
        let mut number = [0; SEQUENCE];
        number.copy_from_slice(&self.bytes[..SEQUENCE]);
        u32::from_le_bytes(number)
    }

    /// Returns the bytes after the sequence number.
    fn payload(&self) -> &[u8] {
        &self.bytes[SEQUENCE..self.length.max(SEQUENCE)]
    }
}

impl PeerPackets {
    /// Copies the unread part of a packet.
    fn set_aside(&mut self, packet: &Packet) {
        let begin = if self.set_aside.is_empty() { mem::take(&mut self.read) } else { 0 };
        self.set_aside.push_back(packet.payload()[begin..].to_vec());
    }
}

impl PacketWire {
    pub(super) fn new(group: DuplicatedComm, lends: bool) -> Self {
        let (size, rendezvous) = (group.size, lends.then(|| RendezvousMessages::new(group.comm, group.size)));
        let mut packets = Self {
            group,
            posted: VecDeque::with_capacity(POSTED_RECEIVES),
            spare_packets: (0..POSTED_RECEIVES).map(|_| Packet::new()).collect(),
            idle_polls: 0,
            peers: (0..size).map(|_| PeerPackets::default()).collect(),
            unread: Vec::with_capacity(POSTED_RECEIVES),
            in_flight: Vec::new(),
            requests: Vec::new(),
            done: Vec::new(),
            spare_buffers: Vec::new(),
            rendezvous,
            broken: None,
        };
        packets.post_receives();
        packets
    }

    /// Posts receives in place of the packets that were read.
    fn post_receives(&mut self) {
        while self.posted.len() < POSTED_RECEIVES && self.broken.is_none() {
            let Some(packet) = self.spare_packets.pop() else { break };
            let comm = self.group.comm;
            self.post(packet, |into, byte, request| {
                call!(MPI_Irecv(into, PACKET as c_int, byte, ffi::RSMPI_ANY_SOURCE, TAG, comm, request))
            });
        }
        // More packets were needed only while some receives did not complete.
        self.spare_packets.truncate(POSTED_RECEIVES);
    }

    /// Posts a receive into a packet.
    fn post(
        &mut self,
        mut packet: Packet,
        start: impl FnOnce(*mut c_void, ffi::MPI_Datatype, &mut ffi::MPI_Request) -> Result<(), MpiError>,
    ) {
        // SAFETY: reads a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        let into = packet.bytes.as_mut_ptr().cast();
        match start(into, byte, &mut packet.request) {
            Ok(()) => self.posted.push_back(packet),
            Err(error) => {
                // MPI may still own the buffer.
                mem::forget(packet);
                self.broken = Some(error.to_string());
            }
        }
    }

    /// Copies the packets that have come and were not read, and posts their receives again.
    fn set_aside(&mut self) {
        for process in mem::take(&mut self.unread) {
            let peer = &mut self.peers[process];
            if let Some(packet) = peer.packet.take() {
                peer.set_aside(&packet);
                self.spare_packets.push(packet);
            }
        }
        self.post_receives();
    }

    /// Collects the packets that have come.
    fn receive(&mut self, events: &mut Vec<WireEvent>) -> Result<(), MpiError> {
        while !self.posted.is_empty() && self.test_receive(0, events)? {
            self.idle_polls = 0;
        }
        self.idle_polls += 1;
        if self.idle_polls < FULL_SCAN_INTERVAL {
            return Ok(());
        }
        self.idle_polls = 0;
        let mut at = 1;
        while at < self.posted.len() {
            at += usize::from(!self.test_receive(at, events)?);
        }
        // A message without a matching receive means that all posted receives have begun to be
        // filled.
        let mut found: c_int = 0;
        // SAFETY: zeroed values of these C types are valid. MPI overwrites them.
        let (mut message, mut status): (ffi::MPI_Message, ffi::MPI_Status) = unsafe { mem::zeroed() };
        call!(MPI_Improbe(ffi::RSMPI_ANY_SOURCE, TAG, self.group.comm, &mut found, &mut message, &mut status))?;
        if found != 0 {
            let packet = self.spare_packets.pop().unwrap_or_else(Packet::new);
            self.post(packet, |into, byte, request| {
                call!(MPI_Imrecv(into, PACKET as c_int, byte, &mut message, request))
            });
        }
        Ok(())
    }

    /// Tests one of the posted receives, and delivers its packet. Returns whether it has come.
    fn test_receive(&mut self, at: usize, events: &mut Vec<WireEvent>) -> Result<bool, MpiError> {
        let packet = &mut self.posted[at];
        // SAFETY: a zeroed status is valid.
        let (mut done, mut status): (c_int, ffi::MPI_Status) = (0, unsafe { mem::zeroed() });
        call!(MPI_Test(&mut packet.request, &mut done, &mut status))?;
        if done == 0 {
            return Ok(false);
        }
        let mut length: c_int = 0;
        // SAFETY: reads a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        call!(MPI_Get_count(&status, byte, &mut length))?;
        packet.length = length as usize;
        let from = status.MPI_SOURCE as usize;
        if let Some(packet) = self.posted.remove(at) {
            let peer = &mut self.peers[from];
            if packet.number() == peer.next {
                self.deliver(from, packet, events);
            } else {
                peer.early.push(packet);
            }
        }
        Ok(true)
    }

    /// Delivers the next packet of a process, and the early ones that follow it.
    fn deliver(&mut self, from: usize, packet: Packet, events: &mut Vec<WireEvent>) {
        let peer = &mut self.peers[from];
        let mut next = Some(packet);
        while let Some(packet) = next {
            peer.next = peer.next.wrapping_add(1);
            // Of two unread packets of one process, the first is copied.
            if let Some(before) = peer.packet.replace(packet) {
                peer.set_aside(&before);
                self.spare_packets.push(before);
            }
            let found = peer.early.iter().position(|packet| packet.number() == peer.next);
            next = found.map(|at| peer.early.swap_remove(at));
        }
        if !self.unread.contains(&from) {
            self.unread.push(from);
            events.push(WireEvent { process: from, readable: true, urgent: true, ..WireEvent::default() });
        }
    }

    /// Recycles the buffers of completed sends.
    fn complete_sends(&mut self, events: &mut Vec<WireEvent>) {
        let Self { in_flight, requests, done, .. } = self;
        let (all, mut count): (c_int, c_int) = (requests.len() as c_int, 0);
        done.resize(requests.len(), 0);
        let (from, into) = (requests.as_mut_ptr(), done.as_mut_ptr());
        if let Err(error) = call!(MPI_Testsome(all, from, &mut count, into, ffi::RSMPI_STATUSES_IGNORE)) {
            return self.broken = Some(error.to_string());
        }
        done.truncate(usize::try_from(count).unwrap_or(0));
        // From the last to the first, so that the indices of those before stay valid.
        done.sort_unstable();
        for at in done.drain(..).rev() {
            let (to, bytes) = in_flight.swap_remove(at as usize);
            requests.swap_remove(at as usize);
            self.spare_buffers.push(bytes);
            let PeerPackets { in_flight, write_waits, .. } = &mut self.peers[to];
            *in_flight -= 1;
            if mem::take(write_waits) {
                events.push(WireEvent { process: to, writable: true, ..WireEvent::default() });
            }
        }
    }
}

impl Wire for PacketWire {
    fn read(&mut self, from: usize, into: &mut [IoSliceMut<'_>]) -> Transferred {
        let PeerPackets { set_aside, packet, read, .. } = &mut self.peers[from];
        let (rest, from_set_aside) = match (set_aside.front(), &*packet) {
            (Some(bytes), _) => (&bytes[*read..], true),
            (None, Some(packet)) => (&packet.payload()[*read..], false),
            (None, None) => {
                return self
                    .broken
                    .as_ref()
                    .map_or(Transferred::Blocked(0), |why| Transferred::Closed(why.as_str().into()));
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
            return Transferred::More(count);
        }
        *read = 0;
        if from_set_aside {
            set_aside.pop_front();
        } else if let Some(packet) = packet.take() {
            self.unread.retain(|process| *process != from);
            self.spare_packets.push(packet);
        }
        let PeerPackets { set_aside, packet, .. } = &self.peers[from];
        let more = !set_aside.is_empty() || packet.is_some();
        self.post_receives();
        if more { Transferred::More(count) } else { Transferred::Blocked(count) }
    }

    fn write(&mut self, to: usize, from: &[IoSlice<'_>]) -> Transferred {
        let Self { group, peers, in_flight, requests, spare_buffers, broken, .. } = self;
        if let Some(why) = broken {
            return Transferred::Closed(why.as_str().into());
        }
        let peer = &mut peers[to];
        if peer.in_flight == MAX_IN_FLIGHT || peer.in_flight > 0 && peer.number.is_multiple_of(WINDOW) {
            peer.write_waits = true;
            return Transferred::Blocked(0);
        }
        let mut packet = spare_buffers.pop().unwrap_or_else(|| vec![0; PACKET]);
        packet[..SEQUENCE].copy_from_slice(&peer.number.to_le_bytes());
        let mut count = SEQUENCE;
        for slice in from {
            let here = slice.len().min(PACKET - count);
            packet[count..count + here].copy_from_slice(&slice[..here]);
            count += here;
        }
        // SAFETY: reads constants of the library.
        let (byte, mut request) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_REQUEST_NULL) };
        let bytes = packet.as_ptr().cast();
        match call!(MPI_Isend(bytes, count as c_int, byte, to as c_int, TAG, group.comm, &mut request)) {
            Ok(()) => {
                (peer.number, peer.in_flight) = (peer.number.wrapping_add(1), peer.in_flight + 1);
                in_flight.push((to, packet));
                requests.push(request);
                Transferred::More(count - SEQUENCE)
            }
            Err(error) => {
                // MPI may still own the buffer.
                mem::forget(packet);
                Transferred::Closed(error.to_string().into())
            }
        }
    }

    fn out_of_band(&mut self) -> Option<&mut dyn OutOfBand> {
        self.rendezvous.as_mut().map(|rendezvous| rendezvous as _)
    }

    fn poll(&mut self, events: &mut Vec<WireEvent>) {
        if self.broken.is_some() {
            return;
        }
        self.set_aside();
        if let Err(error) = self.receive(events) {
            self.broken = Some(error.to_string());
        }
        // Sends are tested only when nothing is to be read, or when many are under way.
        if !self.in_flight.is_empty() && (self.unread.is_empty() || self.in_flight.len() >= SEND_POLL_THRESHOLD) {
            self.complete_sends(events);
        }
        if let Some(rendezvous) = &mut self.rendezvous
            && let Err(error) = rendezvous.poll(events)
        {
            self.broken = Some(error.to_string());
        }
        if self.broken.is_some() {
            // Every connection reports the error when it is read.
            events.extend((0..self.peers.len()).map(|process| WireEvent {
                process,
                readable: true,
                urgent: true,
                ..WireEvent::default()
            }));
        }
    }

    fn under_way(&self) -> usize {
        self.in_flight.len() + self.rendezvous.as_ref().map_or(0, RendezvousMessages::under_way)
    }

    fn close(&mut self, _: usize) {}

    fn end(&mut self, well: bool) {
        if well && is_alive() {
            // No process sends any more, so the posted receives are never filled.
            for mut packet in self.posted.drain(..) {
                if !packet.cancel().unwrap_or(false) {
                    // MPI still owns the buffer.
                    mem::forget(packet);
                }
            }
            if finalization::depart(self.group.comm).is_err() {
                finalization::forbid(FinalizeBlocker::Unfinished);
            }
        }
        if !well {
            finalization::forbid(FinalizeBlocker::Silent);
        }
        self.broken = Some("MPI was finalized".to_owned());
    }

    fn library(&mut self) -> Option<&mut dyn Library> {
        Some(self)
    }

    fn machine(&self) -> Machine {
        Machine::MPI
    }
}

impl Library for PacketWire {
    fn abort(&mut self, why: &Failure) {
        finalization::abort(
            self.group.comm,
            &format_args!("{why}; MPI cannot give back what this rank has lent to it"),
        );
    }
}

impl Drop for PacketWire {
    /// Leaks the buffers that MPI still owns.
    fn drop(&mut self) {
        self.posted.drain(..).for_each(mem::forget);
        self.in_flight.drain(..).for_each(mem::forget);
    }
}
