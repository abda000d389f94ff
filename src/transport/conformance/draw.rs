//! Random programs, and what they must leave in memory: the oracle, which knows runs and nothing of
//! transports.

use crate::ids::Rank;
use crate::plan::{Buffer, Message, Program, ProgramRound, Run, Sizes};

/// SplitMix64: enough to draw with, and the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of 0 to `sides - 1`.
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides.max(1)
    }
}

/// One rank's buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
    pub(super) scratch: Vec<u8>,
}

impl Memory {
    /// Buffers of these sizes, full of bytes that tell the places apart.
    pub(super) fn filled(sizes: Sizes, dice: &mut Dice) -> Self {
        let mut fill = |bytes: u64| (0..bytes).map(|_| dice.roll() as u8).collect();
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

/// Programs that fit together, one a rank, with what the ranks' memory is before and after.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) programs: Vec<Program>,
    pub(super) before: Vec<Memory>,
    pub(super) after: Vec<Memory>,
}

/// How runs are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A message is one run; sends come from the input, receives go to the output.
    Plain,
    /// Anything goes: strides, interleaved runs, sends from what an earlier round has received.
    Wild,
}

impl Scene {
    /// The rounds of `traffic[round][from]`; a rank skips the rounds in which it has nothing to do.
    pub(super) fn new(traffic: &[Vec<Row>], layout: Layout, seed: u64) -> Result<Self, String> {
        let mut dice = Dice::new(seed);
        let ranks = traffic.first().map_or(0, Vec::len);
        let mut drafts: Vec<Draft> = (0..ranks).map(|_| Draft::default()).collect();
        for (round, rows) in traffic.iter().enumerate() {
            // Round numbers have gaps: a transport may not count for itself.
            let number = 3 * round as u32 + 1;
            for (rank, draft) in drafts.iter_mut().enumerate() {
                draft.begin(number, &mut dice);
                for (peer, lengths) in rows[rank].iter().enumerate() {
                    draft.add(true, peer, lengths, layout, &mut dice);
                }
                for (peer, row) in rows.iter().enumerate() {
                    draft.add(false, peer, &row[rank], layout, &mut dice);
                }
                draft.end();
            }
        }
        let programs = drafts.into_iter().map(Draft::finish).collect::<Result<Vec<_>, _>>()?;
        let before: Vec<_> = programs.iter().map(|program| Memory::filled(program.sizes(), &mut dice)).collect();
        let after = play(&programs, before.clone());
        Ok(Self { programs, before, after })
    }

    /// Random traffic in so many rounds.
    pub(super) fn random(ranks: usize, rounds: usize, seed: u64) -> Result<Self, String> {
        let mut dice = Dice::new(seed ^ 0xd1ce);
        let traffic: Vec<_> = (0..rounds)
            .map(|_| {
                // Now and then everybody with everybody, mostly few with few.
                let odds = [1, 2, ranks as u64][dice.below(3) as usize];
                let mut cell = |from: usize, to: usize| match from != to && dice.below(odds) == 0 {
                    true => (0..=dice.below(8).saturating_sub(5)).map(|_| length(&mut dice)).collect(),
                    false => vec![],
                };
                (0..ranks).map(|from| (0..ranks).map(|to| cell(from, to)).collect()).collect()
            })
            .collect();
        Self::new(&traffic, Layout::Wild, seed)
    }
}

/// A round by hand: its number, what is sent, what is received; each message by its peer and
/// length, in order of peers.
pub(super) type Sketch<'a> = (u32, &'a [(usize, u64)], &'a [(usize, u64)]);

/// One rank's program by hand, messages laid side by side.
pub(super) fn sketch(rounds: &[Sketch<'_>]) -> Result<Program, String> {
    let (mut draft, mut dice) = (Draft::default(), Dice::new(0));
    for (number, sends, receives) in rounds {
        draft.begin(*number, &mut dice);
        for (send, messages) in [(true, sends), (false, receives)] {
            for part in messages.chunk_by(|a, b| a.0 == b.0) {
                let lengths: Vec<u64> = part.iter().map(|(_, bytes)| *bytes).collect();
                draft.add(send, part[0].0, &lengths, Layout::Plain, &mut dice);
            }
        }
    }
    draft.finish()
}

/// What one rank sends in a round: by receiver, the lengths of messages.
pub(super) type Row = Vec<Vec<u64>>;

/// From nothing to large, mostly small.
fn length(dice: &mut Dice) -> u64 {
    match dice.below(16) {
        0 | 1 => 0,
        2..=7 => dice.below(17),
        8..=12 => dice.below(300),
        13 | 14 => 1000 + dice.below(5000),
        _ => dice.below(70_000),
    }
}

/// What programs do to memory, one round after another.
fn play(programs: &[Program], mut memory: Vec<Memory>) -> Vec<Memory> {
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

/// A program in the making.
#[derive(Debug, Default)]
struct Draft {
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    sizes: Sizes,
    /// Where the next run of the round goes, by buffer.
    next: [u64; 3],
}

impl Draft {
    fn begin(&mut self, number: u32, dice: &mut Dice) {
        self.rounds.push(ProgramRound { number, ..ProgramRound::default() });
        self.next = [dice.below(50), 0, 0];
    }

    fn add(&mut self, send: bool, peer: usize, lengths: &[u64], layout: Layout, dice: &mut Dice) {
        for (index, bytes) in lengths.iter().enumerate() {
            let first = self.runs.len() as u32;
            let buffer = match (layout, send, dice.below(3)) {
                (Layout::Plain, true, _) | (Layout::Wild, true, 0) => Buffer::Input,
                (Layout::Plain, false, _) | (Layout::Wild, _, 0 | 1) => Buffer::Output,
                _ => Buffer::Scratch,
            };
            match layout {
                Layout::Plain => self.lay(buffer, *bytes, 0, 1, 0),
                Layout::Wild => self.scatter(buffer, *bytes, dice),
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

    /// So many bytes as runs of all kinds.
    fn scatter(&mut self, buffer: Buffer, mut bytes: u64, dice: &mut Dice) {
        while bytes > 0 {
            let longest = [3, 40, u64::MAX][dice.below(3) as usize];
            let len = 1 + dice.below(bytes.min(longest));
            let most = bytes / len;
            match dice.below(4) {
                0 => {
                    self.lay(buffer, len, 0, 1, dice.below(4));
                    bytes -= len;
                }
                // Two runs, one in the holes of the other.
                1 if most >= 4 => {
                    let count = (1 + dice.below(most / 2)).min(200);
                    let hole = self.next[buffer as usize] + len;
                    self.lay(buffer, len, len, count, 0);
                    self.runs.push(Run { buffer, offset: hole, len, stride: 2 * len, count });
                    bytes -= 2 * len * count;
                }
                _ => {
                    let count = (1 + dice.below(most)).min(200);
                    self.lay(buffer, len, dice.below(9), count, dice.below(4));
                    bytes -= len * count;
                }
            }
        }
    }

    /// One run of pieces `gap` out_of_band, `before` bytes after the last one.
    fn lay(&mut self, buffer: Buffer, len: u64, gap: u64, count: u64, before: u64) {
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
        // A few bytes more, which must stay as they are.
        *size = (*size).max(end + 5);
    }

    fn end(&mut self) {
        self.rounds.pop_if(|round| round.sends.is_empty() && round.receives.is_empty());
    }

    fn finish(self) -> Result<Program, String> {
        Program::new(self.runs, self.rounds, self.sizes).map_err(|error| format!("the suite drew no program: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_moves_what_is_sent_and_nothing_else() {
        let traffic = [vec![vec![vec![], vec![2, 3]], vec![vec![0], vec![]]]];
        let scene = Scene::new(&traffic, Layout::Plain, 1).unwrap();
        let [before, after] = [&scene.before, &scene.after];
        let sent: Vec<u8> =
            before[0].clone().gather(&[scene.programs[0].runs(&scene.programs[0].rounds()[0].sends[0])[0]]);
        assert_eq!(before[0], after[0]);
        assert_eq!((sent.len(), &after[1].output[..2]), (2, &sent[..]));
        assert_eq!(after[1].output[5..], before[1].output[5..]);
    }

    #[test]
    fn drawn_scenes_are_programs_of_every_kind() {
        let scenes: Vec<_> = (0..40).map(|seed| Scene::random(4, 5, seed).unwrap()).collect();
        let messages = || {
            let rounds = scenes.iter().flat_map(|scene| &scene.programs).flat_map(Program::rounds);
            rounds.flat_map(|round| &round.sends)
        };
        assert!(messages().any(|message| message.bytes == 0));
        assert!(messages().any(|message| message.index > 1));
        assert!(messages().any(|message| message.bytes > 60_000));
        let runs = || {
            scenes.iter().flat_map(|scene| &scene.programs).flat_map(|program| {
                program.rounds().iter().flat_map(|round| &round.sends).flat_map(|message| program.runs(message))
            })
        };
        assert!(runs().any(|run| run.buffer == Buffer::Scratch && run.count > 1 && run.stride > run.len));
        assert!(scenes.iter().all(|scene| scene.before != scene.after));
    }
}
