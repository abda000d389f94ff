//! A user-defined transport, which implements [`Endpoint`] and [`Transport`]: threads that share
//! mailboxes under one lock.
//!
//! This is the contract of [`necklace::transport`] in its simplest form, including the details that
//! are easy to forget. Lengths and fingerprints are compared before data is copied. A lost member
//! is detected. An expired deadline names the rank at the end of the wait-for chain. Every member
//! gets the same failure. The conformance suite for transports checks all of this.
//!
//! The transport is slow: each message is copied twice, each round allocates (which the contract
//! discourages and the suite does not check), and all threads wait on one condition variable.
//! [`necklace::transport::local`] is a fast one.
//!
//! ```text
//! cargo run --release --example custom_transport
//! ```
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use necklace::plan::{Buffer, Buffers, Run};
use necklace::topology::Grid;
use necklace::transport::conformance::{self, Fixture};
use necklace::transport::{
    Cause, ContextId, Deadline, Endpoint, Failure, OpenError, RoundIo, Signature, Transport, position,
};
use necklace::{Communicator, Rank};

/// The state that the ranks of a job share.
#[derive(Debug)]
struct Shared {
    size: usize,
    state: Mutex<State>,
    /// Notified after every change that a thread may wait for.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    contexts: HashMap<ContextId, Context>,
    /// The processes without an endpoint, which open no more contexts.
    gone: Vec<Rank>,
}

#[derive(Debug)]
struct Context {
    /// The members, by rank in the job.
    processes: Vec<Rank>,
    members: Vec<Member>,
    /// The messages of one round from one member to another, until they are fetched. A round does
    /// not end before, so messages do not accumulate for an absent member.
    batches: HashMap<(usize, usize), Batch>,
    failure: Option<Failure>,
}

#[derive(Clone, Debug, Default)]
struct Member {
    presence: Presence,
    /// The current or last call.
    call: Option<(u64, Signature)>,
    round: u32,
    /// The member that it waits for.
    awaits: Option<usize>,
    /// Progress counter. While it rises, other members continue to wait for this one.
    progress: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Presence {
    #[default]
    Expected,
    Here,
    Left,
}

#[derive(Debug)]
struct Batch {
    call: u64,
    round: u32,
    signature: Signature,
    /// The messages, by index.
    payloads: Vec<Vec<u8>>,
}

impl Shared {
    /// Returns the endpoints of a new job.
    fn job(size: usize) -> Vec<Arc<dyn Endpoint>> {
        let shared = Arc::new(Self { size, state: Mutex::default(), changed: Condvar::new() });
        let endpoint = |rank| {
            Arc::new(MailboxEndpoint { shared: Arc::clone(&shared), rank: Rank::new(rank) }) as Arc<dyn Endpoint>
        };
        (0..size).map(endpoint).collect()
    }

    /// Locks the state. A poisoned lock is fine, because no panic leaves the state half written.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The endpoint of a process.
#[derive(Debug)]
struct MailboxEndpoint {
    shared: Arc<Shared>,
    rank: Rank,
}

impl Endpoint for MailboxEndpoint {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn open(&self, id: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let me = position(self.rank, self.shared.size, members)?;
        let mut state = self.shared.state();
        let context = state.contexts.entry(id).or_insert_with(|| Context {
            processes: members.to_vec(),
            members: vec![Member::default(); members.len()],
            batches: HashMap::new(),
            failure: None,
        });
        if context.processes != members || context.members[me].presence != Presence::Expected {
            return Err(OpenError::InUse(id));
        }
        context.members[me].presence = Presence::Here;
        Ok(Box::new(MailboxTransport { shared: Arc::clone(&self.shared), id, me, size: members.len() }))
    }
}

impl Drop for MailboxEndpoint {
    fn drop(&mut self) {
        self.shared.state().gone.push(self.rank);
        self.shared.changed.notify_all();
    }
}

/// The transport of a member in a context.
#[derive(Debug)]
struct MailboxTransport {
    shared: Arc<Shared>,
    id: ContextId,
    me: usize,
    size: usize,
}

/// A cause, and the rank at fault.
type Fault = (Option<Rank>, Cause);

impl Transport for MailboxTransport {
    fn rank(&self) -> Rank {
        Rank::new(self.me)
    }

    fn size(&self) -> usize {
        self.size
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        let (program, round) = (io.program(), io.round());
        let (me, call, timeouts, signature) = (self.me, io.call, io.timeouts, io.signature);
        let fail = |context: &mut Context, (culprit, cause): Fault| {
            let observer = Rank::new(me);
            let mut failure = Failure::new(call, signature.description.clone(), observer, cause);
            (failure.round, failure.culprit) = (round.number, culprit);
            self.shared.changed.notify_all();
            context.failure.get_or_insert(failure).clone()
        };

        // First copy all outgoing messages, in the order of their peers.
        let buffers = io.buffers();
        let outgoing = round.sends.chunk_by(|a, b| a.peer == b.peer).map(|messages| {
            let payloads = messages.iter().map(|message| read(&buffers, program.runs(message))).collect();
            let signature = signature.clone();
            (messages[0].peer.index(), Batch { call, round: round.number, signature, payloads })
        });
        let outgoing: Vec<(usize, Batch)> = outgoing.collect();
        let mut awaited: Vec<_> = round.receives.chunk_by(|a, b| a.peer == b.peer).collect();
        let mut arrived = Vec::new();

        let mut state = self.shared.state();
        {
            let context = state.context(self.id);
            if let Some(failure) = &context.failure {
                return Err(failure.clone());
            }
            let peers = || round.sends.iter().chain(&round.receives).map(|message| message.peer.index());
            if let Some(peer) = peers().find(|&peer| peer == me || peer >= self.size) {
                let cause = Cause::aborted(self.rank(), format!("a message with rank {peer}"));
                return Err(fail(context, (Some(self.rank()), cause)));
            }
            let member = &mut context.members[me];
            (member.call, member.round) = (Some((call, signature.clone())), round.number);
            context.batches.extend(outgoing.into_iter().map(|(to, batches)| ((me, to), batches)));
            self.shared.changed.notify_all();
        }
        let mut seen = (None, Instant::now());
        loop {
            let gone = state.gone.clone();
            let context = state.context(self.id);
            if let Some(failure) = &context.failure {
                return Err(failure.clone());
            }
            // Fetch messages that have arrived, if they match the call.
            let (before, mut i) = (awaited.len(), 0);
            while let Some(messages) = awaited.get(i).copied() {
                let from = messages[0].peer.index();
                let Some(batches) = context.batches.get(&(from, me)) else {
                    i += 1;
                    continue;
                };
                let lengths: Vec<u64> = messages.iter().map(|message| message.bytes).collect();
                if let Some(cause) = mismatch((from, batches), (me, call, round.number, signature), &lengths) {
                    return Err(fail(context, (None, cause)));
                }
                arrived.extend(
                    messages.iter().zip(context.batches.remove(&(from, me)).into_iter().flat_map(|l| l.payloads)),
                );
                awaited.swap_remove(i);
            }
            let mut receivers = round.sends.iter().map(|message| message.peer.index());
            let unfetched = receivers.find(|to| context.batches.contains_key(&(me, *to)));
            if awaited.len() < before {
                context.members[me].progress += 1;
                self.shared.changed.notify_all();
            }
            let Some(whom) = awaited.first().map(|messages| messages[0].peer.index()).or(unfetched) else { break };
            context.members[me].awaits = Some(whom);

            let senders = awaited.iter().map(|messages| messages[0].peer.index());
            let needed: Vec<usize> = senders.chain(unfetched).collect();
            if let Some(fault) = context.fault(me, &needed, &gone) {
                return Err(fail(context, fault));
            }
            // The deadline counts from the last progress of any rank in the wait-for chain.
            let (last, progress, words) = context.chain(me);
            if seen.0 != Some((last, progress)) {
                seen = (Some((last, progress)), Instant::now());
            }
            let waited = seen.1.elapsed();
            // Threads do not fall silent by themselves: if the last one waits too, they wait in a
            // circle.
            let is_circle = context.members[last].awaits.is_some();
            let deadline = if is_circle { Deadline::Silence } else { Deadline::Arrival };
            let timeout = timeouts.of(deadline);
            if waited >= timeout {
                let cause = Cause::deadline(deadline, timeout, words);
                return Err(fail(context, (Some(Rank::new(last)), cause)));
            }
            let rest = timeout - waited;
            state = self.shared.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        let member = &mut state.context(self.id).members[me];
        member.awaits = None;
        member.progress += 1;
        self.shared.changed.notify_all();
        drop(state);

        let mut buffers = io.buffers();
        arrived.iter().for_each(|(message, text)| write(&mut buffers, program.runs(message), text));
        Ok(())
    }

    fn abort(&mut self, failure: Failure) {
        self.shared.state().context(self.id).failure.get_or_insert(failure);
        self.shared.changed.notify_all();
    }

    fn failure(&self) -> Option<Failure> {
        self.shared.state().context(self.id).failure.clone()
    }
}

impl Drop for MailboxTransport {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let context = state.context(self.id);
        context.members[self.me].presence = Presence::Left;
        // A member that opens the context later must learn about the earlier ones.
        if context.members.iter().all(|member| member.presence == Presence::Left) {
            state.contexts.remove(&self.id);
        }
        self.shared.changed.notify_all();
    }
}

impl State {
    /// Returns an open context.
    fn context(&mut self, id: ContextId) -> &mut Context {
        self.contexts.get_mut(&id).unwrap_or_else(|| unreachable!("context {id} is closed while it is open"))
    }
}

impl Context {
    /// Returns the reason why a member's round cannot end: another member calls something else, or
    /// an awaited one is lost.
    fn fault(&self, me: usize, needed: &[usize], gone: &[Rank]) -> Option<Fault> {
        let (call, mine) = self.members[me].call.as_ref()?;
        for (rank, member) in self.members.iter().enumerate() {
            if let Some((theirs, other)) = &member.call
                && theirs == call
                && other.fingerprint != mine.fingerprint
            {
                let (call_a, call_b) = (mine.description.clone(), other.description.clone());
                return Some((None, Cause::disagree((Rank::new(me), call_a), (Rank::new(rank), call_b))));
            }
        }
        let has_left = |rank: usize| match self.members[rank].presence {
            Presence::Expected => gone.contains(&self.processes[rank]),
            Presence::Here => false,
            Presence::Left => true,
        };
        let left = Rank::new(needed.iter().copied().find(|&rank| has_left(rank))?);
        Some((Some(left), Cause::gone(left, "has left")))
    }

    /// Follows the wait-for chain from a member. Returns its last member, the total progress, and a
    /// description.
    fn chain(&self, from: usize) -> (usize, u64, String) {
        let (mut last, mut progress) = (from, self.members[from].progress);
        let mut words = format!("rank {from}");
        // A longer chain would be a cycle.
        for _ in 0..self.members.len() {
            let Some(next) = self.members[last].awaits else { break };
            words += &format!("{} waits for rank {next}", if last == from { "" } else { ", which" });
            last = next;
            progress += self.members[last].progress;
        }
        (last, progress, words)
    }
}

/// Returns the reason why a message does not match the call.
fn mismatch(
    (from, batches): (usize, &Batch),
    (me, call, round, signature): (usize, u64, u32, &Signature),
    lengths: &[u64],
) -> Option<Cause> {
    let same = (batches.call, batches.round, batches.signature.fingerprint) == (call, round, signature.fingerprint);
    if !same || batches.payloads.len() != lengths.len() {
        let (call_a, call_b) = (signature.description.clone(), batches.signature.description.clone());
        return Some(Cause::disagree((Rank::new(me), call_a), (Rank::new(from), call_b)));
    }
    let found = batches.payloads.iter().map(|text| text.len() as u64);
    let (&expected, found) = lengths.iter().zip(found).find(|(expected, found)| *expected != found)?;
    Some(Cause::length(Rank::new(from), Rank::new(me), expected, found))
}

/// Returns the bytes of a message. (A program keeps its runs within its buffers, and `RoundIo` has
/// checked their lengths.)
fn read(buffers: &Buffers<'_>, runs: &[Run]) -> Vec<u8> {
    let mut text = Vec::new();
    for run in runs {
        let buffer = match run.buffer {
            Buffer::Input => buffers.input,
            Buffer::Output => &buffers.output[..],
            Buffer::Scratch => &buffers.scratch[..],
        };
        run.pieces().for_each(|(at, len)| text.extend_from_slice(&buffer[at as usize..][..len as usize]));
    }
    text
}

fn write(buffers: &mut Buffers<'_>, runs: &[Run], mut text: &[u8]) {
    for run in runs {
        let buffer = match run.buffer {
            Buffer::Input => return, // no program receives into its input
            Buffer::Output => &mut *buffers.output,
            Buffer::Scratch => &mut *buffers.scratch,
        };
        for (at, len) in run.pieces() {
            let (piece, rest) = text.split_at(len as usize);
            buffer[at as usize..][..len as usize].copy_from_slice(piece);
            text = rest;
        }
    }
}

/// Creates jobs for the conformance suite.
#[derive(Debug)]
struct PostOffice;

impl Fixture for PostOffice {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        Ok(Shared::job(size))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    conformance::run_all(&PostOffice)?;
    println!("The mailbox transport keeps the {} promises of a transport", conformance::CHECKS.len());

    let torus = Arc::new(Grid::torus(&[4, 4]).ok_or("a torus of 16 nodes")?);
    let outcomes: Vec<Result<bool, necklace::Error>> = thread::scope(|scope| {
        let exchange = |endpoint| {
            let torus = Arc::clone(&torus);
            scope.spawn(move || {
                let mut comm = Communicator::new(endpoint, torus)?;
                comm.choose("alltoall", "torus-exchange")?;
                let (rank, ranks) = (comm.rank(), comm.size());
                let send: Vec<usize> = (0..ranks).map(|to| 100 * rank + to).collect();
                let mut receive = vec![0; ranks];
                comm.alltoall(&send, &mut receive)?;
                Ok(receive.into_iter().eq((0..ranks).map(|from| 100 * from + rank)))
            })
        };
        let threads: Vec<_> = Shared::job(16).into_iter().map(exchange).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let right = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    if right != [true; 16] {
        return Err(format!("which ranks received what they should: {right:?}").into());
    }
    println!("An alltoall by torus-exchange among 16 ranks came over it as it should");
    Ok(())
}
