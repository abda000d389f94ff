//! A transport of your own: a post office, by implementing [`Endpoint`] and [`Transport`].
//!
//! Ranks are threads, and all they share is one office under one lock: pigeon-holes with letters, who is there, and what each
//! waits for. It is the contract of [`necklace::transport`] in its plainest form, the parts that one forgets included: lengths
//! and fingerprints are compared before a byte lands, whoever leaves is missed, a deadline names the rank at the end of the
//! chain of who waits for whom, and a failure is the same for everybody. The suite for transports checks it.
//!
//! What it does not do is hurry: every letter is copied twice, in memory that each round allocates (the contract wants none,
//! the suite does not look), and all wait at one counter. [`necklace::transport::local`] shows how that is done better.
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

/// What the ranks of a job share.
#[derive(Debug)]
struct Office {
    size: usize,
    desk: Mutex<Desk>,
    /// Rung whenever something changes that somebody may wait for.
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Desk {
    contexts: HashMap<ContextId, Context>,
    /// The processes whose endpoint is gone: they open nothing any more.
    gone: Vec<Rank>,
}

#[derive(Debug)]
struct Context {
    /// The members by their ranks in the job.
    processes: Vec<Rank>,
    members: Vec<Member>,
    /// The letters of one round from one member to another, until they are fetched: never more, for a round does not end
    /// before. So nothing piles up for a member that does not come.
    letters: HashMap<(usize, usize), Letters>,
    failure: Option<Failure>,
}

#[derive(Clone, Debug, Default)]
struct Member {
    presence: Presence,
    /// The call that it is in, or was in last.
    call: Option<(u64, Signature)>,
    round: u32,
    /// Whom it waits for.
    awaits: Option<usize>,
    /// Counts what it gets done: as long as it rises, whoever waits for it goes on waiting.
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
struct Letters {
    call: u64,
    round: u32,
    signature: Signature,
    /// One a message, by index.
    texts: Vec<Vec<u8>>,
}

impl Office {
    /// The endpoints of a new job.
    fn job(size: usize) -> Vec<Arc<dyn Endpoint>> {
        let office = Arc::new(Self { size, desk: Mutex::default(), bell: Condvar::new() });
        let clerk = |rank| Arc::new(Clerk { office: Arc::clone(&office), rank: Rank::new(rank) }) as Arc<dyn Endpoint>;
        (0..size).map(clerk).collect()
    }

    /// Nobody panics while holding the lock in a way that leaves the desk half written, so a poisoned one is as good.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process's hold on the office.
#[derive(Debug)]
struct Clerk {
    office: Arc<Office>,
    rank: Rank,
}

impl Endpoint for Clerk {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.office.size
    }

    fn open(&self, id: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let me = position(self.rank, self.office.size, members)?;
        let mut desk = self.office.desk();
        let context = desk.contexts.entry(id).or_insert_with(|| Context {
            processes: members.to_vec(),
            members: vec![Member::default(); members.len()],
            letters: HashMap::new(),
            failure: None,
        });
        if context.processes != members || context.members[me].presence != Presence::Expected {
            return Err(OpenError::InUse(id));
        }
        context.members[me].presence = Presence::Here;
        Ok(Box::new(Counter { office: Arc::clone(&self.office), id, me, size: members.len() }))
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        self.office.desk().gone.push(self.rank);
        self.office.bell.notify_all();
    }
}

/// A member's place in a context.
#[derive(Debug)]
struct Counter {
    office: Arc<Office>,
    id: ContextId,
    me: usize,
    size: usize,
}

/// A cause, and whose fault it is.
type Fault = (Option<Rank>, Cause);

impl Transport for Counter {
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
            let failure =
                Failure { call, words: signature.words.clone(), round: round.number, observer, culprit, cause };
            self.office.bell.notify_all();
            context.failure.get_or_insert(failure).clone()
        };

        // What is sent leaves this rank's memory first; messages are in order of their peers.
        let buffers = io.buffers();
        let parcels = round.sends.chunk_by(|a, b| a.peer == b.peer).map(|messages| {
            let texts = messages.iter().map(|message| read(&buffers, program.runs(message))).collect();
            let signature = signature.clone();
            (messages[0].peer.index(), Letters { call, round: round.number, signature, texts })
        });
        let parcels: Vec<(usize, Letters)> = parcels.collect();
        let mut awaited: Vec<_> = round.receives.chunk_by(|a, b| a.peer == b.peer).collect();
        let mut arrived = Vec::new();

        let mut desk = self.office.desk();
        {
            let context = desk.context(self.id);
            if let Some(failure) = &context.failure {
                return Err(failure.clone());
            }
            let peers = || round.sends.iter().chain(&round.receives).map(|message| message.peer.index());
            if let Some(peer) = peers().find(|&peer| peer == me || peer >= self.size) {
                let cause = Cause::Aborted { rank: self.rank(), reason: format!("a message with rank {peer}").into() };
                return Err(fail(context, (Some(self.rank()), cause)));
            }
            let member = &mut context.members[me];
            (member.call, member.round) = (Some((call, signature.clone())), round.number);
            context.letters.extend(parcels.into_iter().map(|(to, letters)| ((me, to), letters)));
            self.office.bell.notify_all();
        }
        let mut seen = (None, Instant::now());
        loop {
            let gone = desk.gone.clone();
            let context = desk.context(self.id);
            if let Some(failure) = &context.failure {
                return Err(failure.clone());
            }
            // What is there is fetched, if it is what is awaited.
            let (before, mut i) = (awaited.len(), 0);
            while let Some(messages) = awaited.get(i).copied() {
                let from = messages[0].peer.index();
                let Some(letters) = context.letters.get(&(from, me)) else {
                    i += 1;
                    continue;
                };
                let lengths: Vec<u64> = messages.iter().map(|message| message.bytes).collect();
                if let Some(cause) = mismatch((from, letters), (me, call, round.number, signature), &lengths) {
                    return Err(fail(context, (None, cause)));
                }
                arrived
                    .extend(messages.iter().zip(context.letters.remove(&(from, me)).into_iter().flat_map(|l| l.texts)));
                awaited.swap_remove(i);
            }
            let mut receivers = round.sends.iter().map(|message| message.peer.index());
            let unfetched = receivers.find(|to| context.letters.contains_key(&(me, *to)));
            if awaited.len() < before {
                context.members[me].progress += 1;
                self.office.bell.notify_all();
            }
            let Some(whom) = awaited.first().map(|messages| messages[0].peer.index()).or(unfetched) else { break };
            context.members[me].awaits = Some(whom);

            let senders = awaited.iter().map(|messages| messages[0].peer.index());
            let needed: Vec<usize> = senders.chain(unfetched).collect();
            if let Some(fault) = context.fault(me, &needed, &gone) {
                return Err(fail(context, fault));
            }
            // The deadline counts from when anybody on the chain last got something done.
            let (last, progress, words) = context.chain(me);
            if seen.0 != Some((last, progress)) {
                seen = (Some((last, progress)), Instant::now());
            }
            let waited = seen.1.elapsed();
            // Threads do not fall silent by themselves: if the last one waits too, they wait in a circle.
            let is_circle = context.members[last].awaits.is_some();
            let deadline = if is_circle { Deadline::Silence } else { Deadline::Arrival };
            let timeout = timeouts.of(deadline);
            if waited >= timeout {
                let cause = Cause::Deadline { deadline, waited: timeout, chain: words.into() };
                return Err(fail(context, (Some(Rank::new(last)), cause)));
            }
            let rest = timeout - waited;
            desk = self.office.bell.wait_timeout(desk, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        let member = &mut desk.context(self.id).members[me];
        member.awaits = None;
        member.progress += 1;
        self.office.bell.notify_all();
        drop(desk);

        let mut buffers = io.buffers();
        arrived.iter().for_each(|(message, text)| write(&mut buffers, program.runs(message), text));
        Ok(())
    }

    fn abort(&mut self, failure: Failure) {
        self.office.desk().context(self.id).failure.get_or_insert(failure);
        self.office.bell.notify_all();
    }

    fn failure(&self) -> Option<Failure> {
        self.office.desk().context(self.id).failure.clone()
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let mut desk = self.office.desk();
        let context = desk.context(self.id);
        context.members[self.me].presence = Presence::Left;
        // One that comes late must learn that others have been there.
        if context.members.iter().all(|member| member.presence == Presence::Left) {
            desk.contexts.remove(&self.id);
        }
        self.office.bell.notify_all();
    }
}

impl Desk {
    /// A context that somebody has open.
    fn context(&mut self, id: ContextId) -> &mut Context {
        self.contexts.get_mut(&id).unwrap_or_else(|| unreachable!("context {id} is closed while it is open"))
    }
}

impl Context {
    /// Why a member's round cannot end: somebody in the same call does something else, or one it waits for is not there.
    fn fault(&self, me: usize, needed: &[usize], gone: &[Rank]) -> Option<Fault> {
        let (call, mine) = self.members[me].call.as_ref()?;
        for (rank, member) in self.members.iter().enumerate() {
            if let Some((theirs, other)) = &member.call
                && theirs == call
                && other.fingerprint != mine.fingerprint
            {
                let (one, ones) = (Rank::new(me), mine.words.clone());
                return Some((
                    None,
                    Cause::Disagree { one, ones, other: Rank::new(rank), others: other.words.clone() },
                ));
            }
        }
        let has_left = |rank: usize| match self.members[rank].presence {
            Presence::Expected => gone.contains(&self.processes[rank]),
            Presence::Here => false,
            Presence::Left => true,
        };
        let left = Rank::new(needed.iter().copied().find(|&rank| has_left(rank))?);
        Some((Some(left), Cause::Gone { rank: left, how: "has left".into() }))
    }

    /// Who waits for whom, from a member on: the last one, what all of them have got done, and the chain in words.
    fn chain(&self, from: usize) -> (usize, u64, String) {
        let (mut last, mut progress) = (from, self.members[from].progress);
        let mut words = format!("rank {from}");
        // No chain is longer, unless it is a circle.
        for _ in 0..self.members.len() {
            let Some(next) = self.members[last].awaits else { break };
            words += &format!("{} waits for rank {next}", if last == from { "" } else { ", which" });
            last = next;
            progress += self.members[last].progress;
        }
        (last, progress, words)
    }
}

/// Why what is sent is not what is awaited.
fn mismatch(
    (from, letters): (usize, &Letters),
    (me, call, round, signature): (usize, u64, u32, &Signature),
    lengths: &[u64],
) -> Option<Cause> {
    let same = (letters.call, letters.round, letters.signature.fingerprint) == (call, round, signature.fingerprint);
    if !same || letters.texts.len() != lengths.len() {
        let (one, other) = (Rank::new(me), Rank::new(from));
        return Some(Cause::Disagree {
            one,
            ones: signature.words.clone(),
            other,
            others: letters.signature.words.clone(),
        });
    }
    let found = letters.texts.iter().map(|text| text.len() as u64);
    let (&expected, found) = lengths.iter().zip(found).find(|(expected, found)| *expected != found)?;
    Some(Cause::Length { from: Rank::new(from), to: Rank::new(me), expected, found })
}

/// The bytes of a message. (A program has its runs inside its buffers, and `RoundIo` has seen that these are long enough.)
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

/// Makes jobs for the suite.
#[derive(Debug)]
struct PostOffice;

impl Fixture for PostOffice {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        Ok(Office::job(size))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    conformance::run_all(&PostOffice)?;
    println!("The post office keeps the {} promises of a transport", conformance::CHECKS.len());

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
        let threads: Vec<_> = Office::job(16).into_iter().map(exchange).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let right = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    if right != [true; 16] {
        return Err(format!("which ranks received what they should: {right:?}").into());
    }
    println!("An alltoall by torus-exchange among 16 ranks came over it as it should");
    Ok(())
}
