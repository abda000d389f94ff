//! What a process does about another that does not speak as it should, whether it cannot or does not want to.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mio::{Events, Poll};

use super::super::connection::{Connection, Receiving, State};
use super::super::context::Turn;
use super::super::engine::{Engine, Poller};
use super::super::frame::{Header, Kind, MOST_TEXT, MOST_WORDS, Stamp};
use super::super::lane::Credit;
use super::super::mesh::Mesh;
use super::super::process::Member;
use super::super::words::{Standing, write_contexts, write_failure, write_standing};
use crate::ids::Rank;
use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::bases::Bases;
use crate::transport::{Cause, ContextId, Endpoint, Failure, RoundIo, Signature, Transport};

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    /// A number that may be at some edge.
    fn number(&mut self) -> u64 {
        let some = self.roll();
        [0, 1, 2, some % 64, 600, u64::from(MOST_TEXT), 1 << 31, 1 << 63, u64::MAX - 1, u64::MAX, some][self.below(11)]
    }
}

/// What rank 0 receives, round by round; it sends as much as it receives in the rounds that are marked.
const ROUNDS: [(&[u64], bool); 4] = [(&[100], true), (&[600, 0, 30], false), (&[2000], false), (&[9], true)];
const CALLS: u64 = 2;
const FINGERPRINT: u64 = 77;

/// Bytes of the output behind everything that is received: nobody may touch them.
const GUARD: usize = 64;

fn program() -> Program {
    let (mut runs, mut rounds, mut sizes) = (Vec::new(), Vec::new(), Sizes::default());
    for (number, (lengths, answers)) in ROUNDS.into_iter().enumerate() {
        let mut messages = |buffer, size: &mut u64| -> Vec<Message> {
            let message = |(index, &bytes): (usize, &u64)| {
                let first = runs.len() as u32;
                runs.extend((bytes > 0).then(|| Run::new(buffer, *size, bytes)));
                *size += bytes;
                Message { peer: Rank::new(1), index: index as u32, bytes, runs: first..runs.len() as u32 }
            };
            lengths.iter().enumerate().map(message).collect()
        };
        let receives = messages(Buffer::Output, &mut sizes.output);
        let sends = if answers { messages(Buffer::Input, &mut sizes.input) } else { Vec::new() };
        rounds.push(ProgramRound { number: number as u32, sends, receives });
    }
    sizes.output += GUARD as u64;
    Program::new(runs, rounds, sizes).unwrap()
}

/// What rank 1 sends in a call. No byte of it begins a frame. It is the same in every call: a message that passes for one of
/// another call cannot be told from that. All messages of a call have lengths of their own.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| 0x80 | (at * 7 + (at >> 7)) as u8).collect()
}

fn header(kind: Kind, stamp: Stamp, bytes: u64) -> Header {
    Header { stamp, bytes, fingerprint: FINGERPRINT, ..Header::new(kind, ContextId::WORLD) }
}

/// A frame: its header, and what follows it.
type Frame = (Vec<u8>, Vec<u8>);

fn frame(header: Header, text: &[u8]) -> Frame {
    (Header { text: text.len() as u32, ..header }.encode().to_vec(), text.to_vec())
}

/// All that rank 1 sends, as it should.
fn frames() -> Vec<Frame> {
    let mut frames = Vec::new();
    for call in 0..CALLS {
        let all: u64 = ROUNDS.iter().flat_map(|(lengths, _)| *lengths).sum();
        let (content, mut at) = (content(all as usize), 0);
        for (round, (lengths, answers)) in ROUNDS.into_iter().enumerate() {
            for (index, &bytes) in lengths.iter().enumerate() {
                let stamp = Stamp { call, round: round as u32, index: index as u32 };
                let text = &content[at..at + bytes as usize];
                at += text.len();
                if bytes <= 1000 {
                    frames.push(frame(Header { eager: true, ..header(Kind::Message, stamp, bytes) }, text));
                    continue;
                }
                let mut came = 0;
                for part in text.chunks(700) {
                    let (kind, of) = if came == 0 { (Kind::Message, bytes) } else { (Kind::More, came) };
                    frames.push(frame(header(kind, stamp, of), part));
                    came += part.len() as u64;
                }
            }
            if answers {
                frames.push(frame(header(Kind::Ready, Stamp { call, round: round as u32, index: 0 }, 0), &[]));
            }
        }
    }
    frames
}

/// Something that may be said at some time, with sense or without.
fn word(dice: &mut Dice) -> Frame {
    let kinds = [
        Kind::Message,
        Kind::More,
        Kind::Void,
        Kind::Offer,
        Kind::Ready,
        Kind::Credit,
        Kind::Proposal,
        Kind::Verdict,
        Kind::Question,
        Kind::Answer,
        Kind::Leave,
        Kind::Goodbye,
        Kind::Farewell,
        Kind::Heard,
    ];
    let kind = kinds[dice.below(kinds.len())];
    let context = if dice.below(3) > 0 { ContextId::WORLD } else { ContextId::of(dice.number()) };
    let stamp = Stamp { call: dice.number(), round: dice.number() as u32, index: dice.number() as u32 };
    let rank = |dice: &mut Dice| Rank::new(dice.number() as u32 as usize % (1 << 31));
    let mut words = match kind {
        Kind::Proposal | Kind::Verdict => {
            let (one, other) = (rank(dice), rank(dice));
            let cause = match dice.below(3) {
                0 => Cause::Gone { rank: one, how: "is away".into() },
                1 => Cause::Deadline { waited: Duration::MAX, chain: "some".into() },
                _ => Cause::Length { from: one, to: other, expected: dice.number(), found: dice.number() },
            };
            let culprit = (dice.below(2) == 0).then_some(other);
            let (call, round) = (stamp.call, stamp.round);
            write_failure(&Failure { call, words: "some call".into(), round, observer: one, culprit, cause })
        }
        Kind::Answer => write_standing(&Standing {
            posted: Some((dice.number(), dice.number() as u32)),
            awaits: (dice.below(2) == 0).then(|| (context, dice.number() as u32)),
            progress: dice.number(),
            left: dice.below(2) == 0,
            failed: None,
            said: Some((dice.number(), "something".into())),
        }),
        Kind::Goodbye => write_contexts([ContextId::WORLD, context].into_iter().take(dice.below(3))),
        Kind::Leave => b"panicked: \xff\xfe".to_vec(),
        _ => Vec::new(),
    };
    if dice.below(4) == 0 {
        words.truncate(dice.below(words.len()));
    }
    if dice.below(4) == 0
        && let Some(byte) = {
            let at = dice.below(words.len());
            words.get_mut(at)
        }
    {
        *byte = dice.roll() as u8;
    }
    let eager = kind == Kind::Message && dice.below(2) == 0;
    let bytes = if eager { 0 } else { dice.number() };
    frame(Header { eager, taken: dice.number(), context, ..header(kind, stamp, bytes) }, &words)
}

/// Spoils frames, but for the bytes of the messages themselves, in which no receiver can see that anything is wrong.
fn spoil(frames: &mut Vec<Frame>, dice: &mut Dice) {
    let at = dice.below(frames.len());
    let Some((head, _)) = frames.get_mut(at) else { return };
    match dice.below(8) {
        0 | 1 => {
            let byte = dice.below(head.len());
            if let Some(byte) = head.get_mut(byte) {
                *byte ^= 1 << dice.below(8);
            }
        }
        // A field of the header is something else.
        2 => {
            let field = dice.below(head.len() / 8) * 8;
            if let Some(field) = head.get_mut(field..field + 8) {
                field.copy_from_slice(&dice.number().to_le_bytes());
            }
        }
        3 => drop(frames.remove(at)),
        4 => frames.insert(at, frames[at].clone()),
        5 => {
            let other = dice.below(frames.len());
            frames.swap(at, other);
        }
        6 => frames.insert(at, word(dice)),
        _ => frames.truncate(at + 1),
    }
}

/// Both ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// The engine of rank 0 of 2, whose socket takes nothing and tells nothing: what comes is put in by hand.
struct Bench {
    engine: Engine,
    program: Program,
    input: Vec<u8>,
    output: Vec<u8>,
    _other: TcpStream,
}

impl Bench {
    fn is_failing(&self) -> bool {
        self.engine.failure(ContextId::WORLD).is_some() || self.engine.is_undecided(ContextId::WORLD)
    }

    fn new() -> Self {
        let poll = Poll::new().unwrap();
        let registry = poll.registry().try_clone().unwrap();
        let (stream, other) = pair();
        let connection = Connection::new(stream, 1, &registry).unwrap();
        let poller = Poller { poll, events: Events::with_capacity(4) };
        let program = program();
        let Sizes { input, output, .. } = program.sizes();
        Self {
            engine: Engine::new(0, [None, Some(connection)].into(), poller, registry),
            program,
            input: vec![1; input as usize],
            output: vec![0; output as usize],
            _other: other,
        }
    }

    fn connection(&mut self) -> &mut Connection {
        self.engine.connections[1].as_mut().unwrap()
    }

    /// As if nothing had been.
    fn reset(&mut self) {
        let engine = &mut self.engine;
        engine.contexts.clear();
        engine.active.clear();
        engine.due.clear();
        engine.undecided = false;
        let connection = self.connection();
        (connection.state, connection.receiving) = (State::Open, Receiving::Header);
        (connection.part.len, connection.sending, connection.goodbye) = (0, None, None);
        (connection.farewell, connection.heard, connection.blocked, connection.readable) = (false, false, true, false);
        connection.queue.clear();
        self.engine.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
    }

    fn post(&mut self, call: u64, round: usize) {
        let Self { engine, program, input, output, .. } = self;
        let signature = Signature { fingerprint: FINGERPRINT, words: "a call".into() };
        let bases = Bases::of(&mut Buffers { input, output, scratch: &mut [] });
        // SAFETY: program and buffers stay where they are, and are touched again only when the turn has been withdrawn.
        let turn = unsafe { Turn::new((program, round), bases, call, &signature, Duration::from_secs(1)) };
        let messages = (&program.rounds()[round].sends[..], &program.rounds()[round].receives[..]);
        engine.post(ContextId::WORLD, turn, &signature, messages);
    }

    /// Puts bytes in, part by part, and goes from round to round; returns how many ended well.
    fn play(&mut self, frames: &[Frame], dice: &mut Dice) -> usize {
        let (bytes, mut breaks, mut end) = (flat(frames), Vec::new(), 0);
        for (head, text) in frames {
            if head.first() == Some(&(Kind::Message as u8)) && head.get(1) == Some(&0) {
                breaks.push(end);
            }
            end += head.len() + text.len();
        }
        self.reset();
        let mut well = 0;
        let (mut at, rounds) = (0, CALLS as usize * ROUNDS.len());
        // Sometimes messages are there before somebody awaits them.
        let mut posted = dice.below(4) > 0;
        self.output.fill(0);
        if posted {
            self.post(0, 0);
        }
        loop {
            let here = match dice.below(3) {
                0 => 1 + dice.below(100),
                1 => 1 + dice.below(1000),
                _ => 1 + dice.below(10_000),
            };
            // Who should have waited until it is awaited has done so, as far as that can be seen.
            let next = breaks.iter().copied().find(|next| *next > at).unwrap_or(bytes.len());
            let part = &bytes[at..next.min(at + here)];
            at += part.len();
            // As a read leaves it.
            let held = self.connection().part;
            let mut all = held.bytes[..held.len].to_vec();
            all.extend_from_slice(part);
            if let Err(why) = self.engine.take(1, &all) {
                self.engine.lose(1, why);
            }
            self.connection().blocked = true;
            self.engine.decide();
            self.bounds();
            if !posted && well < rounds {
                self.post((well / ROUNDS.len()) as u64, well % ROUNDS.len());
                posted = true;
            }
            while posted && self.is_over() {
                self.engine.withdraw(ContextId::WORLD);
                self.is_right(well);
                (well, posted) = (well + 1, well + 1 < rounds);
                if well % ROUNDS.len() == 0 {
                    self.output.fill(0);
                }
                if posted {
                    self.post((well / ROUNDS.len()) as u64, well % ROUNDS.len());
                }
            }
            if at == bytes.len() || self.is_failing() {
                break;
            }
        }
        self.engine.patrol(ContextId::WORLD);
        self.engine.withdraw(ContextId::WORLD);
        assert!(self.output[self.output.len() - GUARD..].iter().all(|byte| *byte == 0), "beyond what is received");
        well
    }

    /// Whether the round under way has all it needs. Nothing goes, so what is to go is taken for gone.
    fn is_over(&mut self) -> bool {
        if self.is_failing() {
            return false;
        }
        let context = self.engine.contexts.get_mut(&ContextId::WORLD).unwrap();
        let over = context.turn.as_ref().is_some_and(|turn| turn.incoming == 0 && turn.doubt.is_none());
        if over {
            context.lanes[1].out.waiting = 0..0;
            context.turn.as_mut().unwrap().outgoing = 0;
        }
        over
    }

    /// That what was received up to the end of that round is right.
    fn is_right(&self, well: usize) {
        let round = well % ROUNDS.len();
        let end: u64 = ROUNDS[..=round].iter().flat_map(|(lengths, _)| *lengths).sum();
        let expected = content(end as usize);
        assert!(self.output[..end as usize] == expected, "round {well} ended well with wrong bytes");
    }

    /// That nothing grows beyond its bounds.
    fn bounds(&mut self) {
        let queued = self.connection().queue.len();
        assert!(queued <= (1 << 20) + 8 * MOST_WORDS as usize, "{queued} bytes wait to be read");
        let credit = Credit::among(2);
        assert!(self.engine.contexts.len() <= 1025);
        for context in self.engine.contexts.values() {
            let kept = context.lanes[1].into.stash.len() as u64;
            assert!(kept <= credit.lane, "{kept} bytes are kept");
        }
    }
}

fn flat(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|(head, text)| [&head[..], &text[..]].concat()).collect()
}

#[test]
fn what_is_as_it_should_be_is_received_in_parts_of_any_length() {
    let (mut bench, frames) = (Bench::new(), frames());
    for seed in 0..300 {
        assert_eq!(bench.play(&frames, &mut Dice(seed)), CALLS as usize * ROUNDS.len(), "seed {seed}");
    }
}

#[test]
fn what_is_garbled_harms_nobody_but_those_who_wait_for_it() {
    let (mut bench, good, mut dice) = (Bench::new(), frames(), Dice(4));
    let (mut mutations, mut ended, mut well) = (0, [0; 2], 0);
    while mutations < 100_000 {
        let mut frames = good.clone();
        // Short sequences too, in which more is reached.
        frames.truncate(1 + dice.below(frames.len()));
        let count = 1 + dice.below(4);
        (0..count).for_each(|_| spoil(&mut frames, &mut dice));
        mutations += count;
        // It may end in the middle.
        if dice.below(4) == 0
            && let Some((_, text)) = frames.last_mut()
        {
            text.truncate(dice.below(text.len() + 1));
        }
        let seed = dice.roll();
        well += bench.play(&frames, &mut Dice(seed));
        ended[usize::from(bench.connection().is_open())] += 1;
    }
    // Both that a connection is ended for what came over it, and that it goes on.
    assert!(ended.iter().all(|count| *count > 1000) && well > 1000, "{ended:?} ended or not, {well} rounds ended well");
}

#[test]
fn random_words_in_any_number_stay_within_bounds() {
    let mut bench = Bench::new();
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let frames: Vec<Frame> = (0..300).map(|_| word(&mut dice)).collect();
        bench.play(&frames, &mut dice);
    }
    // One kind alone, many times, each of which might be answered.
    for seed in 0..100 {
        let one = word(&mut Dice(seed));
        let frames = vec![one; 20_000];
        bench.play(&frames, &mut Dice(seed));
    }
}

/// Rank 0 of 2, and the other end of its connection.
pub(super) fn half() -> (std::sync::Arc<Member>, TcpStream) {
    let (one, other) = pair();
    let mesh = Mesh { rank: 0, streams: vec![None, Some(one)], neighbours: 2 };
    (Member::start(mesh).unwrap(), other)
}

/// Calls until something fails, and once more; how many rounds ended well.
fn calls(world: &mut dyn Transport, timeout: Duration) -> (usize, Option<Failure>) {
    let program = program();
    let Sizes { input, output, .. } = program.sizes();
    let (input, mut output) = (vec![1; input as usize], vec![0; output as usize]);
    let signature = Signature { fingerprint: FINGERPRINT, words: "a call".into() };
    let mut well = 0;
    for call in 0..=CALLS {
        for round in 0..ROUNDS.len() {
            let buffers = Buffers { input: &input, output: &mut output, scratch: &mut [] };
            let io = RoundIo::new(&program, round, buffers, call, &signature, timeout).unwrap();
            if let Err(failure) = world.round(io) {
                return (well, Some(failure));
            }
            let end: u64 = ROUNDS[..=round].iter().flat_map(|(lengths, _)| *lengths).sum();
            assert!(output[..end as usize] == content(end as usize), "call {call}, round {round}");
            well += 1;
        }
    }
    (well, None)
}

/// What the other end does after it has said its piece.
#[derive(Clone, Copy, Debug)]
enum After {
    Closes,
    IsSilent,
    Resets,
}

#[test]
fn whatever_comes_over_a_socket_a_round_ends_by_its_deadline_and_the_process_in_good_time() {
    // By hand what a mutation seldom finds.
    let stamp = Stamp::default();
    let message = |bytes: u64| header(Kind::Message, stamp, bytes);
    let eager = |bytes: u64| Header { eager: true, ..message(bytes) };
    let oversized = Header { text: MOST_TEXT + 1, ..message(1 << 40) };
    let overlong = Header { text: u32::MAX, ..header(Kind::Leave, stamp, 0) };
    let elsewhere = Header { context: ContextId::of(5), ..eager(60_000) };
    let mut pieces: Vec<Vec<Frame>> = vec![
        vec![],
        vec![(vec![0; Header::BYTES], vec![])],
        vec![(vec![0xff; 1000], vec![])],
        vec![(oversized.encode().to_vec(), vec![1; 1000])],
        vec![(overlong.encode().to_vec(), vec![1; 1000])],
        // More than there is credit for, in a context that nobody has opened; and of a message that nobody is ready for.
        (0..10).map(|_| frame(elsewhere, &[1; 60_000])).collect(),
        vec![frame(Header { context: ContextId::of(5), ..message(60_000) }, &[1; 60_000])],
        vec![frame(Header { stamp: Stamp { round: 2, ..stamp }, ..message(2000) }, &[1; 700])],
        vec![frame(Header { bytes: 10, ..header(Kind::More, stamp, 0) }, &[1; 10])],
        vec![frame(Header { taken: 1 << 40, ..header(Kind::Credit, stamp, 0) }, &[])],
        vec![frame(header(Kind::Verdict, stamp, 0), &[])],
        vec![frame(header(Kind::Goodbye, stamp, 0), &[1; 7])],
        vec![frame(header(Kind::Farewell, stamp, 0), &[])],
        vec![frame(header(Kind::Leave, stamp, 0), b"panicked: \xff")],
        (0..2000)
            .map(|at| frame(Header { context: ContextId::of(at + 9), ..header(Kind::Ready, stamp, 0) }, &[]))
            .collect(),
    ];
    let good = frames();
    pieces.push(good.clone());
    let mut dice = Dice(77);
    for _ in 0..400 {
        let mut frames = good.clone();
        (0..1 + dice.below(3)).for_each(|_| spoil(&mut frames, &mut dice));
        pieces.push(frames);
    }
    let cases: Vec<(usize, Vec<u8>, After)> = pieces
        .iter()
        .enumerate()
        .map(|(case, frames)| {
            let mut bytes = flat(frames);
            if dice.below(4) == 0 {
                bytes.truncate(dice.below(bytes.len()));
            }
            (case, bytes, [After::Closes, After::IsSilent, After::Resets][dice.below(3)])
        })
        .collect();
    let timeout = Duration::from_millis(300);
    let (sender, results) = mpsc::channel();
    let count = cases.len();
    // Sixteen at a time.
    let cases = std::sync::Arc::new(std::sync::Mutex::new(cases));
    for _ in 0..16 {
        let (cases, sender) = (cases.clone(), sender.clone());
        thread::spawn(move || {
            loop {
                let Some((case, bytes, after)) = cases.lock().unwrap().pop() else { return };
                let outcome = std::panic::catch_unwind(|| abused(&bytes, after, timeout));
                sender.send((case, after, outcome.map_err(drop))).unwrap();
            }
        });
    }
    for _ in 0..count {
        // Far longer than all of it takes.
        let (case, after, outcome) = results.recv_timeout(Duration::from_secs(60)).expect("a case hangs");
        let (well, failure) = outcome.unwrap_or_else(|()| panic!("case {case}, which {after:?}, panicked"));
        assert!(
            well < (CALLS as usize + 1) * ROUNDS.len() && failure.is_some(),
            "case {case}: {well} rounds, no failure"
        );
    }
}

/// One rank against these bytes.
fn abused(bytes: &[u8], after: After, timeout: Duration) -> (usize, Option<Failure>) {
    let (member, mut other) = half();
    let mut world = member.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
    let said = bytes.to_vec();
    let (end, ended) = mpsc::channel::<()>();
    let peer = thread::spawn(move || {
        let mut reader = other.try_clone().unwrap();
        let reading = thread::spawn(move || {
            let mut all = [0; 4096];
            // What it says is of no interest; until it ends.
            if !matches!(after, After::Resets) {
                while reader.read(&mut all).is_ok_and(|count| count > 0) {}
            }
        });
        // It may have closed the connection already.
        let _ = other.write_all(&said);
        if matches!(after, After::IsSilent) {
            let _ = ended.recv();
        }
        // With something unread, that is a reset.
        let _ = other.shutdown(std::net::Shutdown::Both);
        reading.join().unwrap();
    });
    let (well, failure) = calls(&mut *world, timeout);
    // It stays what it was; nothing is poisoned.
    let again = world.failure();
    assert!(failure.is_none() || again == failure, "{failure:?}, then {again:?}");
    let _ = end.send(());
    peer.join().unwrap();
    drop(world);
    drop(member);
    (well, failure)
}

#[test]
fn a_peer_that_floods_and_never_reads_costs_bounded_memory() {
    // Each of these may be answered.
    let stamp = Stamp::default();
    let failure = Failure {
        call: 0,
        words: "w".repeat(8000).into(),
        round: 0,
        observer: Rank::new(1),
        culprit: None,
        cause: Cause::Aborted { rank: Rank::new(1), reason: "r".repeat(8000).into() },
    };
    let words = write_failure(&failure);
    let floods = [
        frame(header(Kind::Question, stamp, 0), &[]),
        frame(header(Kind::Farewell, stamp, 0), &[]),
        frame(header(Kind::Proposal, stamp, 0), &words),
    ];
    let mut bench = Bench::new();
    let elsewhere = Header { context: ContextId::of(5), ..header(Kind::Proposal, stamp, 0) };
    for flood in floods.into_iter().chain([frame(elsewhere, &words)]) {
        bench.reset();
        bench.engine.fail(ContextId::WORLD, failure.clone());
        let bytes = flat(&[flood]);
        for _ in 0..40_000 {
            bench.engine.take(1, &bytes).unwrap();
            bench.connection().blocked = true;
        }
        bench.bounds();
    }
}

#[test]
fn a_sender_that_is_always_ahead_does_not_fill_the_memory() {
    // So many messages that what is kept of them is never empty.
    let (mut bench, mut next) = (Bench::new(), 0);
    bench.reset();
    let message = |call: u64| {
        let stamp = Stamp { call, ..Stamp::default() };
        flat(&[frame(Header { eager: true, ..header(Kind::Message, stamp, 100) }, &content(100))])
    };
    for call in 0..20_000 {
        while next < call + 500 {
            bench.engine.take(1, &message(next)).unwrap();
            next += 1;
        }
        bench.output.fill(0);
        bench.post(call, 0);
        assert!(bench.is_over());
        bench.engine.withdraw(ContextId::WORLD);
        assert!(bench.output[..100] == content(100));
        bench.connection().queue.clear();
        let capacity = bench.engine.contexts[&ContextId::WORLD].lanes[1].into.stash.capacity();
        assert!(capacity <= 4 * Credit::among(2).lane as usize, "{capacity} bytes in call {call}");
    }
}
