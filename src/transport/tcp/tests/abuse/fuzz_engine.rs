//! An engine whose input is passed to it directly.
#![allow(unsafe_code)]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::super::pair;
use super::random::Random;
use super::traffic::{CALLS, FINGERPRINT, Frame, GUARD, ROUNDS, content, flat, program};
use crate::ids::Rank;
use crate::plan::{Buffers, Program, Sizes};
use crate::transport::bases::Bases;
use crate::transport::engine::connection::{Connection, ConnectionState};
use crate::transport::engine::context::ActiveRound;
use crate::transport::engine::flow_control::Credit;
use crate::transport::engine::frame::{Kind, MAX_CONTROL};
use crate::transport::engine::frame_reader::FrameReader;
use crate::transport::engine::state::Engine;
use crate::transport::tcp::sockets::Sockets;
use crate::transport::{ContextId, Signature};

/// The engine of rank 0 of 2. Its socket neither accepts bytes nor reports events; the test passes
/// its input directly.
pub(super) struct FuzzEngine {
    pub(super) engine: Engine,
    program: Program,
    input: Vec<u8>,
    pub(super) output: Vec<u8>,
    _other: TcpStream,
}

impl FuzzEngine {
    pub(super) fn new() -> Self {
        let (stream, other) = pair();
        let (sockets, _) = Sockets::new(vec![None, Some(stream)]).unwrap();
        let program = program();
        let Sizes { input, output, .. } = program.sizes();
        Self {
            engine: Engine::new((0, 2), Box::new(sockets), false, Instant::now()),
            program,
            input: vec![1; input as usize],
            output: vec![0; output as usize],
            _other: other,
        }
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        self.engine.connections[1].as_mut().unwrap()
    }

    /// Returns to the initial state.
    pub(super) fn reset(&mut self) {
        let engine = &mut self.engine;
        engine.contexts.clear();
        engine.active.clear();
        engine.due.clear();
        let connection = self.connection();
        (connection.state, connection.reader) = (ConnectionState::Open, FrameReader::default());
        (connection.sending, connection.goodbye) = (None, None);
        (connection.fin_received, connection.fin_acked, connection.blocked, connection.readable) =
            (false, false, true, false);
        connection.queue.clear();
        self.engine.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
    }

    pub(super) fn post(&mut self, call: u64, round: usize) {
        let Self { engine, program, input, output, .. } = self;
        let signature = Signature::new(FINGERPRINT, "a call");
        let bases = Bases::of(&mut Buffers { input, output, scratch: &mut [] });
        // SAFETY: program and buffers stay in place, and are accessed again only after the active
        // round has been withdrawn.
        let active =
            unsafe { ActiveRound::new((program, round), bases, call, &signature, Duration::from_secs(1).into()) };
        let messages = (&program.rounds()[round].sends[..], &program.rounds()[round].receives[..]);
        engine.post(ContextId::WORLD, active, &signature, messages);
    }

    /// Passes the frames in random pieces, drives one round after the other, and returns how many
    /// rounds succeeded.
    pub(super) fn play(&mut self, frames: &[Frame], random: &mut Random) -> usize {
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
        // In some runs, messages arrive before a round awaits them.
        let mut posted = random.below(4) > 0;
        self.output.fill(0);
        if posted {
            self.post(0, 0);
        }
        loop {
            let here = match random.below(3) {
                0 => 1 + random.below(100),
                1 => 1 + random.below(1000),
                _ => 1 + random.below(10_000),
            };
            // Stops before the next frame that needs a CTS, since a correct sender waits there.
            let next = breaks.iter().copied().find(|next| *next > at).unwrap_or(bytes.len());
            let part = &bytes[at..next.min(at + here)];
            at += part.len();
            // Prepends the rest that the last read left.
            let mut all = self.connection().reader.held().to_vec();
            all.extend_from_slice(part);
            if let Err(why) = self.engine.parse(1, &all) {
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
        self.engine.check_early_messages(ContextId::WORLD);
        self.engine.withdraw(ContextId::WORLD);
        assert!(self.output[self.output.len() - GUARD..].iter().all(|byte| *byte == 0), "beyond what is received");
        well
    }

    fn is_failing(&self) -> bool {
        self.engine.failure(ContextId::WORLD).is_some() || self.engine.is_undecided(ContextId::WORLD)
    }

    /// Returns whether the round under way has received everything. Nothing is really sent, so its
    /// sends count as complete.
    pub(super) fn is_over(&mut self) -> bool {
        if self.is_failing() {
            return false;
        }
        let context = self.engine.contexts.get_mut(&ContextId::WORLD).unwrap();
        let over = context.active.as_ref().is_some_and(|active| active.incoming == 0 && active.mismatch.is_none());
        if over {
            context.lanes[1].out.withdraw();
            context.active.as_mut().unwrap().outgoing = 0;
        }
        over
    }

    /// Checks everything that was received up to the end of a round.
    fn is_right(&self, well: usize) {
        let round = well % ROUNDS.len();
        let end: u64 = ROUNDS[..=round].iter().flat_map(|(lengths, _)| *lengths).sum();
        let expected = content(end as usize);
        assert!(self.output[..end as usize] == expected, "round {well} ended well with wrong bytes");
    }

    /// Checks that nothing grows beyond its bounds.
    pub(super) fn bounds(&mut self) {
        let queued = self.connection().queue.len();
        assert!(queued <= (1 << 20) + 8 * MAX_CONTROL as usize, "{queued} bytes wait to be read");
        let credit = Credit::among(2);
        assert!(self.engine.contexts.len() <= 1025);
        for context in self.engine.contexts.values() {
            let kept = context.lanes[1].into.unexpected.len() as u64;
            assert!(kept <= credit.lane, "{kept} bytes are kept");
        }
    }
}
