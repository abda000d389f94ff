//! A whole machine inside a test: every rank's plan, and messages moved by hand.

use std::collections::BTreeMap;

use necklace::algorithm::Algorithm;
use necklace::plan::{Buffer, Buffers, Execution, Layout, Message, Plan, Reduction, Run, compile};
use necklace::schedule::Problem;

/// A value that no rank writes.
pub(crate) const POISON: u8 = 0xA5;

/// One rank's memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
}

/// Every rank's plan for an algorithm, each made from that rank's share alone.
pub(crate) fn plans(algorithm: &dyn Algorithm, problem: &Problem, layout: impl Fn(usize) -> Layout) -> Vec<Plan> {
    let share = |rank| algorithm.share(problem, rank).unwrap();
    problem.all().map(|rank| compile(share(rank), &layout(rank.index())).unwrap()).collect()
}

/// Executes all plans side by side and returns the outputs. Panics where a message finds no
/// partner.
pub(crate) fn execute(plans: &[Plan], memory: Vec<Memory>, reduction: Option<&dyn Reduction>) -> Vec<Vec<u8>> {
    let mut memory = memory;
    let mut scratch: Vec<Vec<u8>> =
        plans.iter().map(|plan| vec![POISON; plan.program().sizes().scratch as usize]).collect();
    let mut executions: Vec<Execution<'_>> = plans.iter().map(Execution::new).collect();
    let mut at: Vec<Option<usize>> = vec![None; plans.len()];
    let mut advance = |rank: usize, memory: &mut Vec<Memory>, scratch: &mut Vec<Vec<u8>>| {
        let Memory { input, output } = &mut memory[rank];
        let mut buffers = Buffers { input, output, scratch: &mut scratch[rank] };
        executions[rank].advance(&mut buffers, reduction)
    };
    for (rank, at) in at.iter_mut().enumerate() {
        *at = advance(rank, &mut memory, &mut scratch);
    }
    loop {
        let number = |rank: usize| at[rank].map(|i| plans[rank].program().rounds()[i].number);
        let Some(now) = (0..plans.len()).filter_map(number).min() else { break };
        let busy: Vec<usize> = (0..plans.len()).filter(|&rank| number(rank) == Some(now)).collect();
        let mut sent: BTreeMap<(usize, usize, u32), Vec<u8>> = BTreeMap::new();
        for &rank in &busy {
            let program = plans[rank].program();
            for message in &program.rounds()[at[rank].unwrap()].sends {
                let mut bytes = Vec::new();
                program.runs(message).iter().for_each(|run| read(run, &memory[rank], &scratch[rank], &mut bytes));
                assert!(sent.insert((rank, message.peer.index(), message.index), bytes).is_none());
            }
        }
        for &rank in &busy {
            let program = plans[rank].program();
            for message in &program.rounds()[at[rank].unwrap()].receives {
                let Message { peer, index, .. } = *message;
                let bytes = sent.remove(&(peer.index(), rank, index)).expect("nobody sends what is awaited");
                assert_eq!(bytes.len() as u64, message.bytes, "round {now}: {peer} to {rank}");
                let mut rest = &bytes[..];
                for (run, (offset, len)) in program.runs(message).iter().flat_map(|r| r.pieces().map(move |p| (r, p))) {
                    let (piece, more) = rest.split_at(len as usize);
                    let target = match run.buffer {
                        Buffer::Input => panic!("the input is written"),
                        Buffer::Output => &mut memory[rank].output,
                        Buffer::Scratch => &mut scratch[rank],
                    };
                    target[offset as usize..(offset + len) as usize].copy_from_slice(piece);
                    rest = more;
                }
            }
        }
        assert!(sent.is_empty(), "round {now}: nobody awaits {:?}", sent.keys());
        for rank in busy {
            at[rank] = advance(rank, &mut memory, &mut scratch);
        }
    }
    memory.into_iter().map(|memory| memory.output).collect()
}

fn read(run: &Run, memory: &Memory, scratch: &[u8], into: &mut Vec<u8>) {
    let source = match run.buffer {
        Buffer::Input => &memory.input[..],
        Buffer::Output => &memory.output,
        Buffer::Scratch => scratch,
    };
    for (offset, len) in run.pieces() {
        into.extend_from_slice(&source[offset as usize..(offset + len) as usize]);
    }
}
