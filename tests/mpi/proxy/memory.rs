//! A worker's copy of a transport's buffers.
//!
//! It is filled with poison. A round writes its bytes, takes them out, and puts poison in their
//! place. A byte that is not poison then was written by mistake. A read by mistake finds poison,
//! which the suites detect.

use std::ops::Range;
use std::{array, mem};

use necklace::plan::{Buffer, Buffers, Message, Program, Sizes};

const POISON: u8 = 0xDB;

/// The places of the messages' bytes, in order.
pub(crate) fn places(program: &Program, messages: &[Message]) -> impl Iterator<Item = (Buffer, Range<usize>)> {
    messages.iter().flat_map(|message| program.runs(message)).flat_map(|run| {
        let buffer = run.buffer;
        run.pieces().map(move |(offset, length)| (buffer, offset as usize..(offset + length) as usize))
    })
}

/// The three buffers of a transport, as long as its longest program has needed yet.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Input, output and scratch.
    pub(super) buffers: [Vec<u8>; 3],
    /// Buffers that became too short. The endpoint might still hold them.
    pub(super) outgrown: Vec<Vec<u8>>,
    /// How much of each the last round had.
    last: [usize; 3],
}

impl Memory {
    /// Lays in the bytes of a round; what `moves` returns, and the bytes of what was received. A
    /// complaint where anything was written but that, before, meanwhile or after the last round.
    pub(crate) fn lend<R>(
        &mut self,
        program: &Program,
        index: usize,
        bytes: &[u8],
        moves: impl FnOnce(Buffers<'_>) -> R,
    ) -> Result<(R, Vec<u8>), String> {
        let Sizes { input, output, scratch } = program.sizes();
        let lengths = [input, output, scratch].map(|length| length as usize);
        self.reach(lengths);
        let last = mem::replace(&mut self.last, lengths);
        // No more than either of the two has: long buffers take their time. All of it is looked at
        // in the end.
        let both: [usize; 3] = array::from_fn(|i| last[i].max(lengths[i]));
        self.untouched(both).map_err(|place| format!("after its last round, {place}"))?;
        let round = &program.rounds()[index];
        let mut rest = bytes;
        for (buffer, place) in places(program, &round.sends).chain(places(program, &round.receives)) {
            let piece = rest.split_off(..place.len()).ok_or("a round without its bytes")?;
            self.buffers[buffer as usize][place].copy_from_slice(piece);
        }
        let [input, output, scratch] = &mut self.buffers;
        let result = moves(Buffers {
            input: &input[..lengths[0]],
            output: &mut output[..lengths[1]],
            scratch: &mut scratch[..lengths[2]],
        });
        let sent = self.take(program, &round.sends);
        let received = self.take(program, &round.receives);
        for (buffer, place) in places(program, &round.sends).chain(places(program, &round.receives)) {
            self.buffers[buffer as usize][place].fill(POISON);
        }
        self.untouched(lengths).map_err(|place| format!("within a round, {place}"))?;
        if !bytes.starts_with(&sent) {
            return Err("within a round, what it sends was overwritten".to_owned());
        }
        Ok((result, received))
    }

    fn take(&self, program: &Program, messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (buffer, place) in places(program, messages) {
            bytes.extend_from_slice(&self.buffers[buffer as usize][place]);
        }
        bytes
    }

    /// Makes the buffers at least so long.
    fn reach(&mut self, lengths: [usize; 3]) {
        for ((buffer, length), last) in self.buffers.iter_mut().zip(lengths).zip(&mut self.last) {
            if buffer.len() < length {
                let longer = vec![POISON; length.next_power_of_two()];
                self.outgrown.push(mem::replace(buffer, longer));
                *last = 0;
            }
        }
    }

    /// Checks that everything is poison after the last round. Fails with the place otherwise.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.outgrown.iter().try_for_each(|buffer| poisoned(buffer, "an outgrown buffer"))?;
        self.untouched(self.buffers.each_ref().map(Vec::len))
    }

    /// The same of the first bytes of the buffers.
    fn untouched(&self, lengths: [usize; 3]) -> Result<(), String> {
        let parts = self.buffers.iter().zip(lengths).zip(["the input", "the output", "the scratch"]);
        parts.into_iter().try_for_each(|((buffer, length), name)| poisoned(&buffer[..length], name))
    }
}

fn poisoned(buffer: &[u8], name: &str) -> Result<(), String> {
    // A chunk at a time is compared much faster than a byte is.
    const CHUNK: usize = 4096;
    let Some(chunk) = buffer.chunks(CHUNK).position(|chunk| chunk != &[POISON; CHUNK][..chunk.len()]) else {
        return Ok(());
    };
    let at = chunk * CHUNK + buffer[chunk * CHUNK..].iter().position(|byte| *byte != POISON).unwrap();
    Err(format!("byte {at} of {name} was written, which none of its messages has"))
}
