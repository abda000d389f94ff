//! Small programs, and one rank's run of them.

#![allow(dead_code, clippy::unwrap_used)]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use necklace::Rank;
use necklace::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use necklace::transport::{CallInfo, ContextId, Endpoint, Failure, RoundIo, Signature, Transport};

/// The messages sent and the messages received, each as (peer, bytes).
pub(crate) type Round<'a> = (&'a [(u32, u64)], &'a [(u32, u64)]);

/// A program of these rounds, the messages side by side in the input and in the output.
pub(crate) fn program(rounds: &[Round<'_>]) -> Program {
    let (mut runs, mut sizes) = (Vec::new(), Sizes::default());
    let mut lay = |messages: &[(u32, u64)], buffer| {
        let (mut at, mut laid) = (0, Vec::<Message>::new());
        for (peer, bytes) in messages {
            let index =
                laid.last().filter(|last| last.peer == Rank::new(*peer as usize)).map_or(0, |last| last.index + 1);
            let first = runs.len() as u32;
            // An empty message has no runs.
            runs.extend((*bytes > 0).then(|| Run::new(buffer, at, *bytes)));
            laid.push(Message {
                peer: Rank::new(*peer as usize),
                index,
                bytes: *bytes,
                runs: first..runs.len() as u32,
            });
            at += bytes;
        }
        let size = if buffer == Buffer::Input { &mut sizes.input } else { &mut sizes.output };
        *size = at.max(*size);
        laid
    };
    let rounds = rounds.iter().enumerate().map(|(number, (sends, receives))| ProgramRound {
        number: number as u32,
        sends: lay(sends, Buffer::Input),
        receives: lay(receives, Buffer::Output),
    });
    let rounds = rounds.collect();
    Program::new(runs, rounds, sizes).unwrap()
}

/// Every rank exchanges this many bytes with every other rank, in one round.
pub(crate) fn alltoall(rank: usize, size: usize, bytes: u64) -> Program {
    let peers: Vec<_> = (0..size).filter(|peer| *peer != rank).map(|peer| (peer as u32, bytes)).collect();
    program(&[(&peers, &peers)])
}

/// A rank at work in a context.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) program: Program,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) signature: Signature,
    pub(crate) timeout: Duration,
    pub(crate) call: u64,
}

impl Work {
    pub(crate) fn new(transport: Box<dyn Transport>, program: Program) -> Self {
        let Sizes { input, output, .. } = program.sizes();
        Self {
            transport,
            input: vec![1; input as usize],
            output: vec![0; output as usize],
            program,
            signature: Signature::new(1, "a test"),
            timeout: Duration::from_secs(60),
            call: 0,
        }
    }

    /// Within these milliseconds.
    pub(crate) fn within(self, timeout: u64) -> Self {
        Self { timeout: Duration::from_millis(timeout), ..self }
    }

    pub(crate) fn round(&mut self, round: usize) -> Result<(), Failure> {
        let Self { program, input, output, signature, .. } = self;
        let buffers = Buffers { input, output, scratch: &mut [] };
        self.transport
            .round(RoundIo::new(program, round, buffers, CallInfo::new(self.call, signature, self.timeout)).unwrap())
    }

    pub(crate) fn call(&mut self) -> Result<(), Failure> {
        (0..self.program.rounds().len()).try_for_each(|round| self.round(round))?;
        self.call += 1;
        Ok(())
    }
}

pub(crate) fn ranks(ranks: impl IntoIterator<Item = usize>) -> Vec<Rank> {
    ranks.into_iter().map(Rank::new).collect()
}

/// The context of all.
pub(crate) fn world(endpoint: &dyn Endpoint) -> Box<dyn Transport> {
    endpoint.open(ContextId::WORLD, &ranks(0..endpoint.size())).unwrap()
}

/// Runs a closure on each endpoint, each in a thread; what they return, in order.
pub(crate) fn on_each<E, R>(endpoints: Vec<E>, body: impl Fn(Arc<dyn Endpoint>) -> R + Sync) -> Vec<R>
where
    E: Endpoint + 'static,
    R: Send,
{
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> =
            endpoints.into_iter().map(|endpoint| scope.spawn(move || body(Arc::new(endpoint)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
