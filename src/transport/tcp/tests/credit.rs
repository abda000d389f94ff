//! What a receiver has taken, its sender hears of.

use std::thread;
use std::time::Duration;

use super::mesh;
use crate::ids::Rank;
use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::{ContextId, RoundIo, Signature};

#[test]
fn short_messages_always_get_through_beside_long_ones_of_the_other_direction() {
    // What rank 0 sends in each round, and rank 1; more of the short ones together than there is credit for.
    const SHORT: u64 = 60 << 10;
    let rounds: [[&[u64]; 2]; 4] =
        [[&[8 << 20], &[SHORT, SHORT]], [&[], &[SHORT, SHORT]], [&[], &[SHORT]], [&[], &[SHORT, 9, SHORT]]];
    let ranks: Vec<_> = mesh(2)
        .unwrap()
        .into_iter()
        .enumerate()
        .map(|(me, endpoint)| {
            thread::spawn(move || {
                let (mut runs, mut sizes) = (Vec::new(), Sizes::default());
                // All of one direction lie over each other: only whether they come matters here.
                let mut messages = |lengths: &[u64], from, buffer| -> Vec<Message> {
                    let mut at = 0;
                    let message = |(index, &bytes): (usize, &u64)| {
                        let first = runs.len() as u32;
                        runs.push(Run::new(buffer, at, bytes));
                        at += bytes;
                        Message { peer: Rank::new(from), index: index as u32, bytes, runs: first..first + 1 }
                    };
                    let messages = lengths.iter().enumerate().map(message).collect();
                    let size = if buffer == Buffer::Input { &mut sizes.input } else { &mut sizes.output };
                    *size = at.max(*size);
                    messages
                };
                let rounds: Vec<ProgramRound> = rounds
                    .iter()
                    .enumerate()
                    .map(|(number, lengths)| ProgramRound {
                        number: number as u32,
                        sends: messages(lengths[me], 1 - me, Buffer::Input),
                        receives: messages(lengths[1 - me], 1 - me, Buffer::Output),
                    })
                    .collect();
                let program = Program::new(runs, rounds, sizes).unwrap();
                let mut world = endpoint.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
                let (input, mut output) = (vec![1; sizes.input as usize], vec![0; sizes.output as usize]);
                let signature = Signature { fingerprint: 1, words: "a call".into() };
                for call in 0..40 {
                    for round in 0..program.rounds().len() {
                        let buffers = Buffers { input: &input, output: &mut output, scratch: &mut [] };
                        let timeout = Duration::from_secs(5);
                        let io = RoundIo::new(&program, round, buffers, call, &signature, timeout).unwrap();
                        world.round(io).unwrap();
                    }
                }
            })
        })
        .collect();
    ranks.into_iter().for_each(|rank| rank.join().unwrap());
}
