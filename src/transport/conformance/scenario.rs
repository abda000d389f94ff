//! Random programs, and what they must leave in memory. The expected contents come from a
//! simulation that uses the runs only, and no transport.

use crate::ids::Rank;
use crate::plan::{Buffer, Message, Program, ProgramRound, Run, Sizes};

/// Random numbers by SplitMix64, the same on every machine.
#[derive(Clone, Debug)]
pub(in crate::transport) struct Random(u64);

impl Random {
    pub(in crate::transport) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `limit - 1`.
    pub(in crate::transport) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// One rank's buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::transport) struct RankBuffers {
    pub(in crate::transport) input: Vec<u8>,
    pub(in crate::transport) output: Vec<u8>,
    pub(in crate::transport) scratch: Vec<u8>,
}

impl RankBuffers {
    /// Creates buffers of these sizes, filled with random bytes.
    pub(super) fn filled(sizes: Sizes, random: &mut Random) -> Self {
        let mut fill = |bytes: u64| (0..bytes).map(|_| random.next() as u8).collect();
        Self { input: fill(sizes.input), output: fill(sizes.output), scratch: fill(sizes.scratch) }
    }

    fn buffer(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        }
    }

    fn gather(&mut self, runs: &[Run]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for run in runs {
            let buffer = self.buffer(run.buffer);
            run.pieces().for_each(|(at, len)| bytes.extend_from_slice(&buffer[at as usize..(at + len) as usize]));
        }
        bytes
    }

    fn scatter(&mut self, runs: &[Run], mut bytes: &[u8]) {
        for run in runs {
            let buffer = self.buffer(run.buffer);
            for (at, len) in run.pieces() {
                let (piece, rest) = bytes.split_at(len as usize);
                buffer[at as usize..(at + len) as usize].copy_from_slice(piece);
                bytes = rest;
            }
        }
    }
}

/// Matching programs, one for each rank, with the ranks' memory before and after they run.
#[derive(Clone, Debug)]
pub(in crate::transport) struct Scenario {
    pub(in crate::transport) programs: Vec<Program>,
    pub(in crate::transport) before: Vec<RankBuffers>,
    pub(in crate::transport) after: Vec<RankBuffers>,
}

/// The arrangement of the runs of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunLayout {
    /// A message is one run. Sends come from the input, receives go to the output.
    Contiguous,
    /// Messages have strided and interleaved runs, and may be sent from what an earlier round has
    /// received.
    Mixed,
}

impl Scenario {
    /// Creates the rounds of `traffic[round][from]`. A rank skips the rounds in which it has
    /// nothing to do.
    pub(super) fn new(traffic: &[Vec<SendLengths>], layout: RunLayout, seed: u64) -> Result<Self, String> {
        let mut random = Random::new(seed);
        let ranks = traffic.first().map_or(0, Vec::len);
        let mut builders: Vec<ProgramBuilder> = (0..ranks).map(|_| ProgramBuilder::default()).collect();
        for (round, rows) in traffic.iter().enumerate() {
            // Round numbers have gaps, so a transport cannot count rounds itself.
            let number = 3 * round as u32 + 1;
            for (rank, builder) in builders.iter_mut().enumerate() {
                builder.begin(number, &mut random);
                for (peer, lengths) in rows[rank].iter().enumerate() {
                    builder.add(true, peer, lengths, layout, &mut random);
                }
                for (peer, row) in rows.iter().enumerate() {
                    builder.add(false, peer, &row[rank], layout, &mut random);
                }
                builder.end();
            }
        }
        let programs = builders.into_iter().map(ProgramBuilder::finish).collect::<Result<Vec<_>, _>>()?;
        let before: Vec<_> = programs.iter().map(|program| RankBuffers::filled(program.sizes(), &mut random)).collect();
        let after = simulate(&programs, before.clone());
        Ok(Self { programs, before, after })
    }

    /// Creates random traffic among `ranks` ranks in `rounds` rounds.
    pub(in crate::transport) fn random(ranks: usize, rounds: usize, seed: u64) -> Result<Self, String> {
        let mut random = Random::new(seed ^ 0xd1ce);
        let traffic: Vec<_> = (0..rounds)
            .map(|_| {
                // In some rounds every rank sends to every rank, in most rounds few do.
                let odds = [1, 2, ranks as u64][random.below(3) as usize];
                let mut cell = |from: usize, to: usize| match from != to && random.below(odds) == 0 {
                    true => (0..=random.below(8).saturating_sub(5)).map(|_| length(&mut random)).collect(),
                    false => vec![],
                };
                (0..ranks).map(|from| (0..ranks).map(|to| cell(from, to)).collect()).collect()
            })
            .collect();
        Self::new(&traffic, RunLayout::Mixed, seed)
    }
}

/// A round for [`program_of`]: its number, the messages sent, the messages received. A message is
/// (peer, length in bytes), in order of peers.
pub(super) type RoundSpec<'a> = (u32, &'a [(usize, u64)], &'a [(usize, u64)]);

/// Creates one rank's program of these rounds. Messages lie one after the other in the buffers.
pub(super) fn program_of(rounds: &[RoundSpec<'_>]) -> Result<Program, String> {
    let (mut builder, mut random) = (ProgramBuilder::default(), Random::new(0));
    for (number, sends, receives) in rounds {
        builder.begin(*number, &mut random);
        for (send, messages) in [(true, sends), (false, receives)] {
            for test in messages.chunk_by(|a, b| a.0 == b.0) {
                let lengths: Vec<u64> = test.iter().map(|(_, bytes)| *bytes).collect();
                builder.add(send, test[0].0, &lengths, RunLayout::Contiguous, &mut random);
            }
        }
    }
    builder.finish()
}

/// Lengths of the messages that one rank sends in a round, by receiver.
pub(super) type SendLengths = Vec<Vec<u64>>;

/// Returns a random message length: from 0 to large, mostly small.
fn length(random: &mut Random) -> u64 {
    match random.below(16) {
        0 | 1 => 0,
        2..=7 => random.below(17),
        8..=12 => random.below(300),
        13 | 14 => 1000 + random.below(5000),
        _ => random.below(70_000),
    }
}

/// Returns the ranks' memory after these programs, simulated round by round.
fn simulate(programs: &[Program], mut memory: Vec<RankBuffers>) -> Vec<RankBuffers> {
    let numbers = programs.iter().flat_map(|program| program.rounds().iter().map(|round| round.number));
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let round = |rank: usize| programs[rank].rounds().iter().find(|round| round.number == number);
        let mut under_way = Vec::new();
        for (from, memory) in memory.iter_mut().enumerate() {
            for message in round(from).into_iter().flat_map(|round| &round.sends) {
                let bytes = memory.gather(programs[from].runs(message));
                under_way.push(((Rank::new(from), message.peer, message.index), bytes));
            }
        }
        for (to, memory) in memory.iter_mut().enumerate() {
            for message in round(to).into_iter().flat_map(|round| &round.receives) {
                let name = (message.peer, Rank::new(to), message.index);
                if let Some((_, bytes)) = under_way.iter().find(|(other, _)| *other == name) {
                    memory.scatter(programs[to].runs(message), bytes);
                }
            }
        }
    }
    memory
}

/// Builds a program.
#[derive(Debug, Default)]
struct ProgramBuilder {
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    sizes: Sizes,
    /// Offset of the next run of the round, by buffer.
    next: [u64; 3],
}

impl ProgramBuilder {
    fn begin(&mut self, number: u32, random: &mut Random) {
        self.rounds.push(ProgramRound { number, ..ProgramRound::default() });
        self.next = [random.below(50), 0, 0];
    }

    fn add(&mut self, send: bool, peer: usize, lengths: &[u64], layout: RunLayout, random: &mut Random) {
        for (index, bytes) in lengths.iter().enumerate() {
            let first = self.runs.len() as u32;
            let buffer = match (layout, send, random.below(3)) {
                (RunLayout::Contiguous, true, _) | (RunLayout::Mixed, true, 0) => Buffer::Input,
                (RunLayout::Contiguous, false, _) | (RunLayout::Mixed, _, 0 | 1) => Buffer::Output,
                _ => Buffer::Scratch,
            };
            match layout {
                RunLayout::Contiguous => self.add_run(buffer, *bytes, 0, 1, 0),
                RunLayout::Mixed => self.scatter(buffer, *bytes, random),
            }
            let message = Message {
                peer: Rank::new(peer),
                index: index as u32,
                bytes: *bytes,
                runs: first..self.runs.len() as u32,
            };
            if let Some(round) = self.rounds.last_mut() {
                if send { round.sends.push(message) } else { round.receives.push(message) }
            }
        }
    }

    /// Adds runs of all kinds, with `bytes` bytes in all.
    fn scatter(&mut self, buffer: Buffer, mut bytes: u64, random: &mut Random) {
        while bytes > 0 {
            let longest = [3, 40, u64::MAX][random.below(3) as usize];
            let len = 1 + random.below(bytes.min(longest));
            let most = bytes / len;
            match random.below(4) {
                0 => {
                    self.add_run(buffer, len, 0, 1, random.below(4));
                    bytes -= len;
                }
                // Two interleaved runs.
                1 if most >= 4 => {
                    let count = (1 + random.below(most / 2)).min(200);
                    let hole = self.next[buffer as usize] + len;
                    self.add_run(buffer, len, len, count, 0);
                    self.runs.push(Run { buffer, offset: hole, len, stride: 2 * len, count });
                    bytes -= 2 * len * count;
                }
                _ => {
                    let count = (1 + random.below(most)).min(200);
                    self.add_run(buffer, len, random.below(9), count, random.below(4));
                    bytes -= len * count;
                }
            }
        }
    }

    /// Adds one run of `count` pieces with `gap` bytes between them, `before` bytes after the last
    /// run.
    fn add_run(&mut self, buffer: Buffer, len: u64, gap: u64, count: u64, before: u64) {
        if len == 0 {
            return;
        }
        let offset = self.next[buffer as usize] + before;
        self.runs.push(Run { buffer, offset, len, stride: len + gap, count });
        self.reach(buffer, offset + (len + gap) * count);
    }

    fn reach(&mut self, buffer: Buffer, end: u64) {
        self.next[buffer as usize] = self.next[buffer as usize].max(end);
        let Sizes { input, output, scratch } = &mut self.sizes;
        let size = match buffer {
            Buffer::Input => input,
            Buffer::Output => output,
            Buffer::Scratch => scratch,
        };
        // A few more bytes, which must not change.
        *size = (*size).max(end + 5);
    }

    fn end(&mut self) {
        self.rounds.pop_if(|round| round.sends.is_empty() && round.receives.is_empty());
    }

    fn finish(self) -> Result<Program, String> {
        Program::new(self.runs, self.rounds, self.sizes)
            .map_err(|error| format!("the suite has made an invalid program: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulation_moves_sent_bytes_only() {
        let traffic = [vec![vec![vec![], vec![2, 3]], vec![vec![0], vec![]]]];
        let scenario = Scenario::new(&traffic, RunLayout::Contiguous, 1).unwrap();
        let [before, after] = [&scenario.before, &scenario.after];
        let sent: Vec<u8> =
            before[0].clone().gather(&[scenario.programs[0].runs(&scenario.programs[0].rounds()[0].sends[0])[0]]);
        assert_eq!(before[0], after[0]);
        assert_eq!((sent.len(), &after[1].output[..2]), (2, &sent[..]));
        assert_eq!(after[1].output[5..], before[1].output[5..]);
    }

    #[test]
    fn random_scenarios_have_messages_of_every_kind() {
        let scenarios: Vec<_> = (0..40).map(|seed| Scenario::random(4, 5, seed).unwrap()).collect();
        let messages = || {
            let rounds = scenarios.iter().flat_map(|scenario| &scenario.programs).flat_map(Program::rounds);
            rounds.flat_map(|round| &round.sends)
        };
        assert!(messages().any(|message| message.bytes == 0));
        assert!(messages().any(|message| message.index > 1));
        assert!(messages().any(|message| message.bytes > 60_000));
        let runs = || {
            scenarios.iter().flat_map(|scenario| &scenario.programs).flat_map(|program| {
                program.rounds().iter().flat_map(|round| &round.sends).flat_map(|message| program.runs(message))
            })
        };
        assert!(runs().any(|run| run.buffer == Buffer::Scratch && run.count > 1 && run.stride > run.len));
        assert!(scenarios.iter().all(|scenario| scenario.before != scenario.after));
    }
}
