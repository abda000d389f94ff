//! The second half of compiling: finds a place for every value, and byte ranges for every
//! instruction.
//!
//! One pass serves all algorithms. A block that the rank starts with is sent from the user's
//! buffer. A value that the user wants is stored in its final place, its *home*, as soon as it is
//! made. If that place still holds a value that is needed (in place), the value waits in scratch
//! and is copied home at the end. All other values live in scratch from their creation to their
//! last read; those of one message lie in one piece. A place is reused only after the instruction
//! that reads it last, so in a round no byte is received into memory that is sent. [`Program::new`]
//! checks that.

use super::execute::PlanStep;
use super::local_work::Local;
use super::overlap;
use super::runs::{Access, Place, joined, side_by_side};
use super::scratch::Scratch;
use super::values::{Instruction, MessageValues, Spot, ValueId, Values};
use super::{Buffer, Layout, Message, Plan, PlanError, Program, ProgramRound, Run, Sizes};
use crate::block::Block;
use crate::vocabulary::RankRound;

/// Compiles one rank's rounds for one layout.
///
/// Takes time and memory in proportion to the blocks of the rounds: some 80 bytes and a quarter to
/// a third of a microsecond each time that the rank sends a block. If the rank holds some 250,000
/// blocks or more at once, their names no longer fit the processor's caches, and a block takes
/// about 1.5 times as long (measurements: `doc/notes/plans.md`).
///
/// # Errors
///
/// [`PlanError`] if the rounds use a block that the rank does not hold, or the layout does not
/// match them.
pub fn compile(rounds: impl IntoIterator<Item = RankRound>, layout: &Layout) -> Result<Plan, PlanError> {
    compile_sending(rounds, layout, &|_| true)
}

/// Does the same, and leaves out the messages for which `is_sent` is false. They have no bytes, and
/// both ends leave them out.
pub(crate) fn compile_sending(
    rounds: impl IntoIterator<Item = RankRound>,
    layout: &Layout,
    is_sent: &dyn Fn(&Message) -> bool,
) -> Result<Plan, PlanError> {
    check(layout)?;
    let rounds: Vec<RankRound> = rounds.into_iter().collect();
    let values = Values::of(rounds, layout)?;
    Compiler::new(values, is_sent).compile(layout)
}

/// Checks that all blocks lie inside the user's buffers and that received blocks do not overlap.
fn check(layout: &Layout) -> Result<(), PlanError> {
    let Layout { input, output, .. } = *layout;
    let runs = |places: &[(Block, Place)]| -> Vec<(Block, Run)> {
        let all = places.iter().flat_map(|(block, place)| place.iter().map(|&run| (*block, run)));
        all.filter(|(_, run)| run.bytes() > 0).collect()
    };
    let wanted = runs(&layout.after);
    for (block, run) in runs(&layout.before).into_iter().chain(wanted.iter().copied()) {
        let size = match run.buffer {
            Buffer::Input => input,
            Buffer::Output => output,
            Buffer::Scratch => 0,
        };
        if run.end().is_none_or(|end| end > size) {
            return Err(PlanError::Place { block, run, input, output });
        }
    }
    if let Some(&(block, run)) = wanted.iter().find(|(_, run)| run.buffer != Buffer::Output) {
        return Err(PlanError::Place { block, run, input, output });
    }
    let shared = overlap::find(wanted.into_iter().map(|(_, run)| Access { run, write: true }).collect());
    shared.map_or(Ok(()), |shared| Err(PlanError::Shared { offset: shared.offset }))
}

struct Compiler<'a> {
    all: Values,
    is_sent: &'a dyn Fn(&Message) -> bool,
    scratch: Scratch,
    /// The values that start in the output, by their first byte.
    tenants: Vec<Tenant>,
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    locals: Vec<Local>,
    /// For each of these, whether it is the last to read its left and right operand.
    last_reads: Vec<[bool; 2]>,
    /// The result of the last combination.
    merged: Option<ValueId>,
    steps: Vec<PlanStep>,
}

/// A value that is in the output from the start.
#[derive(Debug)]
struct Tenant {
    value: ValueId,
    begin: u64,
    end: u64,
    /// The largest `end` up to and including this one.
    reach: u64,
}

impl<'a> Compiler<'a> {
    fn new(all: Values, is_sent: &'a dyn Fn(&Message) -> bool) -> Self {
        let mut compiler = Self {
            all,
            is_sent,
            scratch: Scratch::default(),
            tenants: vec![],
            runs: vec![],
            rounds: vec![],
            locals: vec![],
            last_reads: vec![],
            merged: None,
            steps: vec![],
        };
        compiler.settle();
        compiler
    }

    /// Moves values that start in the output and are wanted elsewhere in it to scratch, so that
    /// copies home cannot overwrite each other. The others become tenants.
    fn settle(&mut self) {
        for value in self.all.values.ids() {
            let Some(place) = self.all.values[value].place() else { continue };
            if !place.iter().any(|run| run.buffer == Buffer::Output) {
                continue;
            }
            let wanted = self.all.values[value].home.as_deref();
            let moves =
                wanted.is_some_and(|home| *home != place) || self.all.copies.iter().any(|(copied, _)| *copied == value);
            if moves {
                let at = self.take(self.all.values[value].bytes);
                self.all.values[value].spot = Spot::Scratch(at);
                let into = self.all.values[value].place().unwrap_or_default();
                self.copy(&place, &into);
                continue;
            }
            let (begin, end) = span(&place);
            self.tenants.push(Tenant { value, begin, end, reach: end });
        }
        self.tenants.sort_by_key(|tenant| tenant.begin);
        let mut reach = 0;
        for tenant in &mut self.tenants {
            reach = tenant.end.max(reach);
            tenant.reach = reach;
        }
    }

    fn compile(mut self, layout: &Layout) -> Result<Plan, PlanError> {
        let instructions = std::mem::take(&mut self.all.instructions);
        for (now, instruction) in (0_u32..).zip(&instructions) {
            match instruction {
                Instruction::Round { number, sends, receives } => {
                    self.round(now, *number, sends, receives)?;
                    let touched = sends.iter().chain(receives).flat_map(|message| &message.values);
                    self.end(touched.copied(), now);
                }
                Instruction::Merge { left, right, into } => {
                    self.merge(now, *left, *right, *into);
                    self.end([*left, *right, *into], now);
                }
            }
        }
        self.bring_home();
        let sizes = Sizes { input: layout.input, output: layout.output, scratch: self.scratch.len() };
        let program = Program::new(self.runs, self.rounds, sizes)?;
        Ok(Plan::new(program, self.steps, self.locals, &self.last_reads))
    }

    fn round(
        &mut self,
        now: u32,
        number: u32,
        sends: &[MessageValues],
        receives: &[MessageValues],
    ) -> Result<(), PlanError> {
        for message in receives {
            self.receive(now, message);
        }
        let is_sent = self.is_sent;
        let mut messages = |all: &[MessageValues]| {
            let all = all.iter().map(|message| self.message(message));
            all.filter(|message| message.as_ref().map_or(true, is_sent)).collect::<Result<_, _>>()
        };
        let (sends, receives) = (messages(sends)?, messages(receives)?);
        self.steps.push(PlanStep::Round(self.rounds.len()));
        self.rounds.push(ProgramRound { number, sends, receives });
        Ok(())
    }

    /// Places the values of an arriving message: at home if that is free, the others in one piece
    /// of scratch.
    fn receive(&mut self, now: u32, message: &MessageValues) {
        let (home, stay): (Vec<ValueId>, Vec<ValueId>) =
            message.values.iter().partition(|&&value| self.is_home_free(value, now, &[]));
        for value in home {
            self.all.values[value].spot = Spot::Home;
        }
        let total = stay.iter().map(|&value| self.all.values[value].bytes).sum();
        let mut at = self.take(total);
        for value in stay {
            self.all.values[value].spot = Spot::Scratch(at);
            at += self.all.values[value].bytes;
        }
    }

    fn message(&mut self, message: &MessageValues) -> Result<Message, PlanError> {
        let places = message.values.iter().filter_map(|&value| self.all.values[value].place());
        let runs = joined(places.flat_map(Place::into_runs));
        let bytes = runs.iter().map(Run::bytes).sum();
        let position = |len: usize| u32::try_from(len).map_err(|_| PlanError::Rounds);
        let start = position(self.runs.len())?;
        self.runs.extend(runs);
        Ok(Message { peer: message.peer, index: message.index, bytes, runs: start..position(self.runs.len())? })
    }

    /// Places the result of a combination: at home if that is free, in place of an operand that is
    /// read for the last time, or in new scratch.
    fn merge(&mut self, now: u32, left: ValueId, right: ValueId, into: ValueId) {
        // A value that is combined with itself cannot be overwritten meanwhile. The result of the
        // last combination is the best place: it is in the caches, and a transport may combine what
        // arrives with it.
        let operands: &[ValueId] = match left == right {
            true => &[],
            false if Some(right) == self.merged => &[right, left],
            false => &[left, right],
        };
        let is_last = |operand: ValueId| {
            let about = &self.all.values[operand];
            about.read == Some(now) && about.home.is_none() && matches!(about.spot, Spot::Scratch(_))
        };
        let heir = operands.iter().copied().find(|&operand| is_last(operand));
        let last_reads = [left, right].map(|operand| left != right && is_last(operand));
        let spot = if self.is_home_free(into, now, operands) {
            Spot::Home
        } else if let Some(operand) = heir {
            std::mem::replace(&mut self.all.values[operand].spot, Spot::Nowhere)
        } else {
            Spot::Scratch(self.take(self.all.values[into].bytes))
        };
        self.all.values[into].spot = spot;
        let place = self.all.values[into].place().unwrap_or_default();
        // An operand without a place has just passed it to the result.
        let operand = |value: ValueId| self.all.values[value].place().unwrap_or_else(|| place.clone());
        let (first, second) = (operand(left), operand(right));
        let merges = side_by_side([&place, &first, &second]);
        let merges = merges.flat_map(|[into, left, right]| {
            let piece = |run: Run, i: u64| Run::new(run.buffer, run.offset + i * run.stride, run.len);
            let merge = move |i| Local::Merge { into: piece(into, i), left: piece(left, i), right: piece(right, i) };
            (0..into.count).map(merge)
        });
        self.local(merges, last_reads);
        self.merged = Some(into);
    }

    /// Returns whether a value's home is free when instruction `now` makes the value: each tenant
    /// there was read for the last time before, or is one of `operands`, which this instruction
    /// reads for the last time, and has exactly this place.
    fn is_home_free(&self, value: ValueId, now: u32, operands: &[ValueId]) -> bool {
        let Some(home) = self.all.values[value].home.as_deref() else { return false };
        let (begin, end) = span(home);
        let candidates = &self.tenants[..self.tenants.partition_point(|tenant| tenant.begin < end)];
        let mut overlapping = candidates.iter().rev().take_while(|tenant| tenant.reach > begin);
        overlapping.all(|tenant| {
            let about = &self.all.values[tenant.value];
            let overwritten = operands.contains(&tenant.value) && about.place().as_ref() == Some(home);
            let done = about.read.is_none_or(|read| read < now || read == now && overwritten);
            tenant.end <= begin || about.home.is_none() && done
        })
    }

    /// Frees the scratch of the values that are not needed after instruction `now`, which reads or
    /// makes them.
    fn end(&mut self, values: impl IntoIterator<Item = ValueId>, now: u32) {
        let mut piece = 0..0;
        for value in values {
            let about = &mut self.all.values[value];
            let Spot::Scratch(at) = about.spot else { continue };
            // A value that is neither read nor wanted is freed at once.
            if about.home.is_none() && about.read.is_none_or(|read| read == now) {
                about.spot = Spot::Nowhere;
                // The values of a message mostly lie in one piece.
                if piece.end != at {
                    self.scratch.give(piece.start, piece.end - piece.start);
                    piece = at..at;
                }
                piece.end += about.bytes;
            }
        }
        self.scratch.give(piece.start, piece.end - piece.start);
    }

    /// Copies the values home that are not there yet.
    fn bring_home(&mut self) {
        let homes = self.all.values.iter().filter_map(|about| Some((about.place()?, about.home.as_deref().cloned()?)));
        let copies =
            self.all.copies.iter().filter_map(|(value, to)| Some((self.all.values[*value].place()?, to.clone())));
        let wanted: Vec<(Place, Place)> = homes.chain(copies).filter(|(from, to)| from != to).collect();
        for (from, to) in wanted {
            self.copy(&from, &to);
        }
    }

    /// Takes a place in scratch. No bytes take no place.
    fn take(&mut self, bytes: u64) -> u64 {
        if bytes > 0 { self.scratch.take(bytes) } else { 0 }
    }

    fn copy(&mut self, from: &Place, into: &Place) {
        let [into, from] = [into, from].map(|place| Place::from(joined(place.iter().copied())));
        self.local((!into.is_empty()).then_some(Local::Copy { into, from }).into_iter(), [false; 2]);
    }

    /// Appends local work, merged with the preceding one if both are one piece.
    fn local(&mut self, work: impl Iterator<Item = Local>, last_reads: [bool; 2]) {
        let start = self.locals.len();
        for local in work {
            match self.locals[start..].last_mut().and_then(|last| last.followed_by(&local).map(|l| (last, l))) {
                Some((last, longer)) => *last = longer,
                None => self.locals.push(local),
            }
        }
        self.last_reads.resize(self.locals.len(), last_reads);
        match self.steps.last_mut() {
            Some(PlanStep::Local(range)) => range.end = self.locals.len(),
            _ => self.steps.push(PlanStep::Local(start..self.locals.len())),
        }
    }
}

/// Returns the first byte of a place and one past its last byte.
fn span(place: &Place) -> (u64, u64) {
    let end = |run: &Run| run.offset + run.stride * (run.count - 1) + run.len;
    (place.iter().map(|run| run.offset).min().unwrap_or(0), place.iter().map(end).max().unwrap_or(0))
}
