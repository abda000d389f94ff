//! An engine that no thread drives: the test determines what happens, and in which order.
#![allow(unsafe_code)]

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Streams, streams};
use crate::ids::Rank;
use crate::plan::{Buffers, Program};
use crate::transport::bases::Bases;
use crate::transport::engine::connection::Connection;
use crate::transport::engine::context::ActiveRound;
use crate::transport::engine::frame::Header;
use crate::transport::engine::state::Engine;
use crate::transport::tcp::sockets::{Poller, Sockets};
use crate::transport::wire::Sleeper;
use crate::transport::{ContextId, Signature};

/// An engine that a test drives; see the [module](self).
pub(super) struct Harness {
    pub(super) engine: Engine,
    pub(super) poller: Poller,
    /// The other ends of its connections, by rank.
    pub(super) others: Vec<Option<TcpStream>>,
}

impl Harness {
    /// Creates a rank of a job that has opened the world context.
    pub(super) fn new(me: usize, size: usize) -> Self {
        Self::on(me, streams(size).unwrap())
    }

    /// Creates a rank on given connections that has opened the world context.
    pub(super) fn on(me: usize, mut streams: Streams) -> Self {
        let size = streams.len();
        let (sockets, poller) = Sockets::new(std::mem::take(&mut streams[me])).unwrap();
        let mut engine = Engine::new((me, size), Box::new(sockets), false, Instant::now());
        engine.open(ContextId::WORLD, &(0..size).map(Rank::new).collect::<Vec<_>>()).unwrap();
        let others = streams.into_iter().map(|mut ends| ends.get_mut(me).and_then(Option::take)).collect();
        Self { engine, poller, others }
    }

    /// Sends a frame from another rank.
    pub(super) fn send_from(&mut self, from: usize, header: Header, text: &[u8]) {
        let mut bytes = Header { text: text.len() as u32, ..header }.encode().to_vec();
        bytes.extend_from_slice(text);
        self.others[from].as_mut().unwrap().write_all(&bytes).unwrap();
    }

    /// Handles events of the sockets until a condition holds, for ten seconds at most. Returns
    /// whether it holds.
    pub(super) fn listen_until(&mut self, done: impl Fn(&Engine) -> bool) -> bool {
        let begin = Instant::now();
        while !done(&self.engine) && begin.elapsed() < Duration::from_secs(10) {
            self.poller.sleep(Duration::from_millis(10), &mut self.engine.events);
            self.engine.handle_events(Instant::now());
        }
        done(&self.engine)
    }

    /// Reads from another rank, awaited or not, until a condition holds, for ten seconds at most.
    /// Returns whether it holds.
    pub(super) fn read_until(&mut self, from: usize, done: impl Fn(&Engine) -> bool) -> bool {
        let begin = Instant::now();
        while !done(&self.engine) && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
            self.engine.pump_in(from);
        }
        done(&self.engine)
    }

    pub(super) fn connection(&mut self, process: usize) -> &mut Connection {
        self.engine.connections[process].as_mut().unwrap()
    }

    /// Runs `script` while a call is under way in a context.
    pub(super) fn during<T>(&mut self, id: ContextId, program: &Program, script: impl FnOnce(&mut Self) -> T) -> T {
        let sizes = program.sizes();
        let (input, mut output) = (vec![7; sizes.input as usize], vec![0; sizes.output as usize]);
        let signature = Signature::new(1, "a call");
        let bases = Bases::of(&mut Buffers { input: &input, output: &mut output, scratch: &mut [] });
        // SAFETY: program and buffers stay in place until the active round is withdrawn. If
        // `script` panics, nothing accesses them.
        let active = unsafe { ActiveRound::new((program, 0), bases, 0, &signature, Duration::from_secs(10).into()) };
        let round = &program.rounds()[0];
        self.engine.post(id, active, &signature, (&round.sends, &round.receives));
        let result = script(self);
        self.engine.withdraw(id);
        result
    }
}
