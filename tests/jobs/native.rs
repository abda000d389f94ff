//! Jobs of threads for tests, over a backend that has collectives of its own: a library that takes
//! all members at their word, and that sees to it that they deserve it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::Rank;
use necklace::collective::Collective;
use necklace::launch::Launch;
use necklace::machine::Machine;
use necklace::op::{Number, Ordered};
use necklace::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use necklace::schedule::Block;
use necklace::topology::Topology;
use necklace::transport::native::{NativeCall, NativeCollectives, NativeIo, Operation, Predefined, Primitive};
use necklace::transport::{CallInfo, ContextId, Endpoint, Failure, OpenError, RoundIo, Transport, local as threads};

use super::{Backend, Job};

/// The backend of threads with a library on top that offers all calls.
#[derive(Debug)]
pub struct WithLibrary;

impl Backend for WithLibrary {
    fn is_native(&self) -> bool {
        true
    }

    fn seeds(&self) -> Range<u64> {
        200_000..200_016
    }

    fn soon(&self) -> Duration {
        Duration::from_millis(300)
    }

    fn endpoints(&self, size: usize) -> Vec<Arc<dyn Endpoint>> {
        let calls = Calls::default();
        let wrap = |endpoint| Library::over(endpoint, &calls, |_| true);
        threads::job(size).unwrap().into_iter().map(wrap).collect()
    }

    fn job(&self, topology: Arc<dyn Topology>) -> Job {
        offering(topology, &Calls::default(), |_| true)
    }
}

/// A job whose library offers these calls alone, and which tells of those that were made.
#[must_use]
pub fn offering(topology: Arc<dyn Topology>, calls: &Calls, offers: fn(&NativeCall) -> bool) -> Job {
    let calls = calls.clone();
    Job::of(Launch::threads().topology(topology).wrap(move |endpoint| Library::over(endpoint, &calls, offers)))
}

/// The native calls of a job: context, number and the members' descriptions of each.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<Made>>);

#[derive(Debug, Default)]
struct Made {
    native: HashMap<(ContextId, u64), Arc<str>>,
    /// Calls that have rounds: those by messages, and those that members agreed on.
    rounds: HashSet<(ContextId, u64)>,
}

impl Calls {
    /// Notes that a member makes a call; panics where another makes a different one, as a library
    /// would mix them up.
    fn note(&self, context: ContextId, io: &NativeIo<'_>) {
        let words = Arc::clone(&io.signature.description);
        let first =
            self.0.lock().unwrap().native.entry((context, io.call)).or_insert_with(|| Arc::clone(&words)).clone();
        assert_eq!(first, words, "members make different calls, and the library is not told");
    }

    /// The numbers and words of those in the context of the whole job, in order.
    #[must_use]
    pub fn of_all(&self) -> Vec<(u64, Arc<str>)> {
        let calls = self.0.lock().unwrap();
        let of_all = calls.native.iter().filter(|((context, _), _)| *context == ContextId::WORLD);
        let mut of_all: Vec<_> = of_all.map(|((_, call), words)| (*call, Arc::clone(words))).collect();
        of_all.sort();
        of_all
    }

    /// The numbers of those in the context of the whole job that members agreed on first, in order.
    #[must_use]
    pub fn agreed(&self) -> Vec<u64> {
        let numbers = self.of_all().into_iter().map(|(number, _)| number);
        let calls = self.0.lock().unwrap();
        numbers.filter(|number| calls.rounds.contains(&(ContextId::WORLD, *number))).collect()
    }
}

/// An endpoint with a library on top.
#[derive(Debug)]
pub struct Library {
    inner: Arc<dyn Endpoint>,
    calls: Calls,
    offers: fn(&NativeCall) -> bool,
}

impl Library {
    /// An endpoint whose library offers these calls.
    pub fn over(inner: Arc<dyn Endpoint>, calls: &Calls, offers: fn(&NativeCall) -> bool) -> Arc<dyn Endpoint> {
        Arc::new(Self { inner, calls: calls.clone(), offers })
    }
}

impl Endpoint for Library {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let inner = self.inner.open(context, members)?;
        Ok(Box::new(Member { inner, context, calls: self.calls.clone(), offers: self.offers }))
    }

    fn machine(&self) -> Machine {
        self.inner.machine()
    }
}

#[derive(Debug)]
struct Member {
    inner: Box<dyn Transport>,
    context: ContextId,
    calls: Calls,
    offers: fn(&NativeCall) -> bool,
}

impl Transport for Member {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
        self.calls.0.lock().unwrap().rounds.insert((self.context, io.call));
        self.inner.round(io)
    }

    fn abort(&mut self, failure: Failure) {
        self.inner.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.inner.failure()
    }

    fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
        Some(self)
    }
}

/// The data to or from a rank; `None` if there is no message.
type Part = Option<Vec<Run>>;

/// Every call is one round in which all ranks exchange, with local work before and after it. It
/// follows the rounds of an agreement with the same number.
impl NativeCollectives for Member {
    fn offers(&mut self, what: &NativeCall) -> bool {
        (self.offers)(what)
    }

    fn call(&mut self, mut io: NativeIo<'_>) -> Result<(), Failure> {
        assert!((self.offers)(io.what()), "what is not offered is called");
        self.calls.note(self.context, &io);
        let (me, size) = (self.rank().index(), self.size());
        let (what, reduction) = (io.what(), io.reduction());
        let (call, signature, timeouts) = (io.call, io.signature, io.timeouts);
        let (given, buffer) = io.buffers();
        // In place, as with two buffers.
        let (own, mut result) = apart(what, (me, size), buffer).unwrap_or_default();
        let is_apart = !result.is_empty() || !own.is_empty();
        let (input, output) = if is_apart { (&own[..], &mut result[..]) } else { (given, &mut *buffer) };
        let mut scratch = vec![];
        let run = |buffer, block: usize, bytes: u64| Run::new(buffer, block as u64 * bytes, bytes);
        let for_all = |part: &dyn Fn(usize) -> Part| (0..size).map(part).collect::<Vec<Part>>();
        let (sends, receives) = match what {
            NativeCall::Varying(varying) => {
                let is_sent = |to: usize| match varying.collective {
                    Collective::Gather { root } => to == root.index(),
                    Collective::Scatter { root } => me == root.index(),
                    _ => true,
                };
                let is_received = |from: usize| match varying.collective {
                    Collective::Gather { root } => me == root.index(),
                    Collective::Scatter { root } => from == root.index(),
                    _ => true,
                };
                let moved = |run: &Run| Run { buffer: Buffer::Input, ..*run };
                let send = |to: usize| varying.to(Rank::new(to)).iter().map(moved).collect();
                let (own, reduces) = (varying.receive.bytes(), what.reduces());
                scratch = vec![0; if reduces { size * own as usize } else { 0 }];
                let receive = |from: usize| match reduces {
                    true => Some(vec![run(Buffer::Scratch, from, own)]),
                    false => Some(varying.from(Rank::new(from)).to_vec()),
                };
                (
                    for_all(&|to| is_sent(to).then(|| send(to))),
                    for_all(&|from| if is_received(from) { receive(from) } else { None }),
                )
            }
            NativeCall::Regular(regular) => {
                let (collective, block) = (&regular.collective, regular.block().unwrap());
                let held = collective.before(size, Rank::new(me));
                let wanted = |rank: usize| collective.after(size, Rank::new(rank));
                let combines = collective.is_reduction();
                scratch = vec![0; if combines && !wanted(me).is_empty() { size * block as usize } else { 0 }];
                // A rank that holds one block under another name contributes that, as in a scan.
                let place = |name: Block| held.iter().position(|(block, _)| *block == name || held.len() == 1).unwrap();
                let send = |to: usize| {
                    let own = wanted(to).into_iter().filter(|(_, of)| of.contains(&Rank::new(me)));
                    some(own.map(|(name, _)| run(Buffer::Input, place(name), block)))
                };
                let receive = |from: usize| {
                    let (wanted, from_it) = (wanted(me), |of: &[Rank]| of.contains(&Rank::new(from)));
                    let parts = wanted.iter().enumerate().filter(|(_, (_, of))| from_it(of));
                    some(parts.map(|(at, _)| match combines {
                        true => run(Buffer::Scratch, from, block),
                        false => run(Buffer::Output, at, block),
                    }))
                };
                (for_all(&send), for_all(&receive))
            }
            other => panic!("what is {other}?"),
        };
        let mut buffers = Buffers { input, output, scratch: &mut scratch };
        let program = program(me, &sends, &receives, &buffers);
        let round = RoundIo::new(&program, 0, buffers.reborrow(), CallInfo::new(call, signature, timeouts)).unwrap();
        self.inner.round(round)?;
        if let (Some(from), Some(into)) = (&sends[me], &receives[me]) {
            copy(from, into, &mut buffers);
        }
        if what.reduces() {
            let all = || (0..size).map(Rank::new).collect();
            let (bytes, contributors): (usize, Vec<Rank>) = match what {
                NativeCall::Regular(regular) => {
                    // A reduction leaves one block at most.
                    let results = regular.collective.after(size, Rank::new(me));
                    (regular.block().unwrap() as usize, results.into_iter().flat_map(|(_, of)| of).collect())
                }
                NativeCall::Varying(varying) => (varying.receive.bytes() as usize, all()),
                other => panic!("what is {other}?"),
            };
            let contribution = |rank: Rank| &scratch[rank.index() * bytes..][..bytes];
            if let Some((first, more)) = contributors.split_first() {
                output[..bytes].copy_from_slice(contribution(*first));
                for &rank in more {
                    match what.predefined() {
                        Some(predefined) => combine(predefined, &mut output[..bytes], contribution(rank)),
                        None => reduction.unwrap().append(&mut output[..bytes], contribution(rank)),
                    }
                }
            }
        }
        if is_apart {
            // One of several blocks stays where it is, as that of a scatter's root.
            if what.reduces() || own.len() <= result.len() {
                buffer[..result.len()].copy_from_slice(&result);
            }
        }
        Ok(())
    }
}

/// For a call in place: what the rank starts with, and room for what it ends with.
fn apart(what: &NativeCall, (me, size): (usize, usize), buffer: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let regular = match what {
        NativeCall::Regular(regular) => regular,
        // Blocks are received beside what lies in the buffer.
        NativeCall::Varying(_) if what.is_in_place() => return Some((buffer.to_vec(), buffer.to_vec())),
        _ => return None,
    };
    let (collective, rank, block) = (&regular.collective, Rank::new(me), regular.block()? as usize);
    if !regular.in_place {
        return None;
    }
    let (before, after) = (collective.before(size, rank).len(), collective.after(size, rank).len());
    let from = if (1..after).contains(&before) { me * block } else { 0 };
    Some((buffer[from..][..before * block].to_vec(), vec![0; after * block]))
}

/// The message of these runs, if there are any.
fn some(runs: impl Iterator<Item = Run>) -> Part {
    let runs: Vec<Run> = runs.collect();
    (!runs.is_empty()).then_some(runs)
}

fn program(me: usize, sends: &[Part], receives: &[Part], buffers: &Buffers<'_>) -> Program {
    let mut runs = vec![];
    let mut messages = |parts: &[Part]| -> Vec<Message> {
        let parts = parts.iter().enumerate().filter(|(peer, _)| *peer != me);
        let message = |(peer, part): (usize, &Part)| {
            let first = runs.len() as u32;
            runs.extend(part.as_ref()?.iter().copied().filter(|run| run.bytes() > 0));
            let own = first..runs.len() as u32;
            let bytes = part.as_ref()?.iter().map(Run::bytes).sum();
            Some(Message { peer: Rank::new(peer), index: 0, bytes, runs: own })
        };
        parts.filter_map(message).collect()
    };
    let (sends, receives) = (messages(sends), messages(receives));
    let [input, output, scratch] = [buffers.input.len(), buffers.output.len(), buffers.scratch.len()].map(|n| n as u64);
    Program::new(runs, vec![ProgramRound { number: u32::MAX, sends, receives }], Sizes { input, output, scratch })
        .unwrap()
}

/// Puts what a member has for itself where it wants it.
fn copy(from: &[Run], into: &[Run], buffers: &mut Buffers<'_>) {
    let places = |runs: &[Run]| -> Vec<(Buffer, Range<usize>)> {
        let pieces = |run: &Run| {
            let buffer = run.buffer;
            run.pieces().map(move |(at, len)| (buffer, at as usize..(at + len) as usize))
        };
        runs.iter().flat_map(pieces).collect()
    };
    let mut bytes = Vec::new();
    for (buffer, piece) in places(from) {
        bytes.extend_from_slice(match buffer {
            Buffer::Input => &buffers.input[piece],
            Buffer::Output => &buffers.output[piece],
            Buffer::Scratch => &buffers.scratch[piece],
        });
    }
    let into = places(into);
    let room = into.iter().map(|(_, piece)| piece.len()).sum::<usize>();
    assert_eq!(bytes.len(), room, "what a rank has for itself is as long as what it awaits");
    let mut rest = &bytes[..];
    for (buffer, piece) in into {
        let here;
        (here, rest) = rest.split_at(piece.len());
        match buffer {
            Buffer::Output => buffers.output[piece].copy_from_slice(here),
            _ => buffers.scratch[piece].copy_from_slice(here),
        }
    }
}

/// A predefined operation, as a library has it: from its name alone.
fn combine(Predefined { operation, number, .. }: Predefined, into: &mut [u8], right: &[u8]) {
    fn each<T: Number + Ordered>(operation: Operation, into: &mut [u8], right: &[u8]) {
        let size = size_of::<T>();
        for (into, right) in into.chunks_exact_mut(size).zip(right.chunks_exact(size)) {
            let (a, b): (T, T) = (bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(right));
            let combined = match operation {
                Operation::Sum => a.plus(b),
                Operation::Product => a.times(b),
                Operation::Min => a.least(b),
                Operation::Max => a.greatest(b),
                other => panic!("{other:?}"),
            };
            into.copy_from_slice(bytemuck::bytes_of(&combined));
        }
    }
    let each = match number {
        Primitive::I8 => each::<i8>,
        Primitive::I16 => each::<i16>,
        Primitive::I32 => each::<i32>,
        Primitive::I64 => each::<i64>,
        Primitive::U8 => each::<u8>,
        Primitive::U16 => each::<u16>,
        Primitive::U32 => each::<u32>,
        Primitive::U64 => each::<u64>,
        Primitive::F32 => each::<f32>,
        Primitive::F64 => each::<f64>,
        other => panic!("{other:?}"),
    };
    each(operation, into, right);
}
