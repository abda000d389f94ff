//! Calls of one round.

use crate::ids::Rank;
use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::{CallInfo, ContextId, Endpoint, Failure, RoundIo, Signature, Timeouts, Transport};

/// A message: its peer, its length, and whether it consists of pieces of four bytes with gaps
/// between them.
pub(super) type Item = (usize, u64, bool);

/// Makes a call of one round with these messages, which are sorted by peer. Gaps that nothing may
/// write to separate the bytes of different messages.
pub(super) fn call(sends: &[Item], receives: &[Item]) -> Program {
    let mut runs = Vec::new();
    let mut side = |items: &[Item], buffer: Buffer| {
        let (mut messages, mut end) = (Vec::<Message>::new(), 0);
        for &(peer, bytes, scattered) in items {
            let peer = Rank::new(peer);
            let index = messages.last().filter(|last| last.peer == peer).map_or(0, |last| last.index + 1);
            let first = runs.len() as u32;
            let pieces = if scattered { bytes / 4 } else { 0 };
            runs.extend((pieces > 0).then_some(Run { buffer, offset: end, len: 4, stride: 8, count: pieces }));
            end += 8 * pieces;
            let rest = bytes - 4 * pieces;
            runs.extend((rest > 0).then(|| Run::new(buffer, end, rest)));
            end += rest + 8;
            messages.push(Message { peer, index, bytes, runs: first..runs.len() as u32 });
        }
        (messages, end)
    };
    let ((sends, input), (receives, output)) = (side(sends, Buffer::Input), side(receives, Buffer::Output));
    Program::new(runs, vec![ProgramRound { number: 0, sends, receives }], Sizes { input, output, scratch: 0 }).unwrap()
}

/// Drives the program as a call of the context.
pub(super) fn drive(
    transport: &mut dyn Transport,
    number: u64,
    program: &Program,
    (input, output): (&[u8], &mut [u8]),
    timeouts: impl Into<Timeouts>,
) -> Result<(), Failure> {
    let signature = Signature::new(1, "a call");
    let buffers = Buffers { input, output, scratch: &mut [] };
    transport.round(RoundIo::new(program, 0, buffers, CallInfo::new(number, &signature, timeouts)).unwrap())
}

/// Makes a call with messages of any contents, given by peer and length.
pub(super) fn exchange(
    transport: &mut dyn Transport,
    number: u64,
    sends: &[(usize, u64)],
    receives: &[(usize, u64)],
    timeouts: impl Into<Timeouts>,
) -> Result<(), Failure> {
    let items = |list: &[(usize, u64)]| list.iter().map(|&(peer, bytes)| (peer, bytes, false)).collect::<Vec<Item>>();
    let program = call(&items(sends), &items(receives));
    let Sizes { input, output, .. } = program.sizes();
    drive(transport, number, &program, (&vec![7; input as usize], &mut vec![0; output as usize]), timeouts)
}

/// Opens a context of all ranks of a job.
pub(super) fn open(endpoint: &dyn Endpoint, id: ContextId) -> Box<dyn Transport> {
    let all: Vec<Rank> = (0..endpoint.size()).map(Rank::new).collect();
    endpoint.open(id, &all).unwrap()
}
