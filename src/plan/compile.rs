//! Second half of compiling: a place for every value, and byte ranges for every event.
//!
//! One pass for all algorithms. What a rank starts with is sent from where it lies. What the user wants is put where it
//! is wanted as soon as it is made, unless something that is still needed lies there (in place); then it waits in scratch
//! and goes home at the end. The rest lives in scratch, what comes in one message in one piece, from its making to its
//! last reading. A place is given to another value only after the event that reads it last, so in a round nothing is
//! received where something is sent; [`Program::new`] checks that.

use super::execute::{Local, Step};
use super::overlap;
use super::program::Access;
use super::runs::{Place, joined, side_by_side};
use super::scratch::Scratch;
use super::values::{Event, Parcel, ValueId, Values};
use super::{Buffer, Layout, Message, Plan, Program, ProgramError, ProgramRound, Run, Sizes};
use crate::schedule::{Block, RankRound};

/// A share cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A buffer would be too long.
    #[error("{blocks} blocks of {elements} elements of {element} bytes are more than 2^63 bytes")]
    Overflow {
        /// How many blocks.
        blocks: usize,
        /// Elements a block.
        elements: usize,
        /// Bytes an element.
        element: usize,
    },
    /// What the rank holds and passes on is too much to count.
    #[error("the blocks that the rank holds and passes on are more than 2^63 bytes together")]
    Bytes,
    /// A local step is of blocks of different numbers of chunks.
    #[error("a local step makes {into} of {from}: they have different numbers of chunks")]
    Step {
        /// What it reads.
        from: Block,
        /// What it writes.
        into: Block,
    },
    /// The schedule has more than 2^32 rounds or runs.
    #[error("the schedule has more than 2^32 rounds or runs")]
    Rounds,
    /// The schedule uses a block that the rank does not hold.
    #[error("round {round} needs block {block}, which is not held")]
    Missing {
        /// Which block.
        block: Block,
        /// In which round; one past the last for what is wanted in the end.
        round: usize,
    },
    /// The schedule cuts a block into different numbers of chunks.
    #[error("block {block} is cut into {one} and into {other} chunks")]
    Cut {
        /// Which block.
        block: Block,
        /// One number.
        one: u32,
        /// Another.
        other: u32,
    },
    /// The layout puts a block where it cannot be: past the end of its buffer, or what is wanted not into the output.
    #[error(
        "block {block} cannot lie at {run:?}: input and output have {input} and {output} bytes, what is wanted lies in the output"
    )]
    Place {
        /// Which block.
        block: Block,
        /// Where.
        run: Run,
        /// Bytes of the input.
        input: u64,
        /// Bytes of the output.
        output: u64,
    },
    /// The layout wants two blocks in one place.
    #[error("two of the blocks that are wanted share byte {offset} of the output")]
    Shared {
        /// The first byte of both.
        offset: u64,
    },
    /// The layout gives a block a place of another length, or a local step makes it of one of another length.
    #[error("block {block} has {expected} bytes, what is put there {found}")]
    Length {
        /// Which block.
        block: Block,
        /// Its bytes.
        expected: u64,
        /// Those of its place.
        found: u64,
    },
    /// The byte ranges are inconsistent: a bug of this pass.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// Compiles one rank's rounds for one layout. Takes time and memory in proportion to the blocks of the rounds.
///
/// # Errors
///
/// Where the rounds use what is not held, or the layout does not suit them.
pub fn compile(rounds: impl IntoIterator<Item = RankRound>, layout: &Layout) -> Result<Plan, PlanError> {
    check(layout)?;
    let rounds: Vec<RankRound> = rounds.into_iter().collect();
    let values = Values::of(&rounds, layout)?;
    drop(rounds);
    Compiler::new(values).compile(layout)
}

/// That blocks lie inside the user's buffers, and those that are wanted apart from each other.
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

struct Compiler {
    all: Values,
    scratch: Scratch,
    /// What the rank starts with in the output, by where it begins.
    tenants: Vec<Tenant>,
    runs: Vec<Run>,
    rounds: Vec<ProgramRound>,
    locals: Vec<Local>,
    steps: Vec<Step>,
}

/// Something that is in the output from the start.
#[derive(Debug)]
struct Tenant {
    value: ValueId,
    begin: u64,
    end: u64,
    /// The largest `end` of this one and those before it.
    reach: u64,
}

impl Compiler {
    fn new(all: Values) -> Self {
        let mut compiler = Self {
            all,
            scratch: Scratch::default(),
            tenants: vec![],
            runs: vec![],
            rounds: vec![],
            locals: vec![],
            steps: vec![],
        };
        compiler.settle();
        compiler
    }

    /// What starts in the output and is wanted elsewhere in it goes to scratch first, so that homecomings cannot
    /// overwrite each other; what stays is a tenant.
    fn settle(&mut self) {
        for value in 0..self.all.values.len() {
            let Some(place) = self.all.values[value].place.clone() else { continue };
            if !place.iter().any(|run| run.buffer == Buffer::Output) {
                continue;
            }
            let wanted = self.all.values[value].home.clone();
            let moves =
                wanted.is_some_and(|home| home != place) || self.all.copies.iter().any(|(copied, _)| *copied == value);
            if moves {
                let into = self.take(self.all.values[value].bytes);
                self.copy(&place, &into);
                self.all.values[value].place = Some(into);
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
        let events = std::mem::take(&mut self.all.events);
        let mut ending: Vec<Vec<ValueId>> = Vec::new();
        ending.resize_with(events.len(), Vec::new);
        for (value, about) in self.all.values.iter().enumerate() {
            // What nobody reads and nobody wants is gone as soon as it is there.
            if let (None, Some(last)) = (&about.home, about.read.or(about.made)) {
                ending[last].push(value);
            }
        }
        for (now, event) in events.iter().enumerate() {
            match event {
                Event::Round { number, sends, receives } => self.round(now, *number, sends, receives)?,
                Event::Merge { left, right, into } => self.merge(now, *left, *right, *into),
            }
            for &value in &ending[now] {
                self.end(value);
            }
        }
        self.bring_home();
        let sizes = Sizes { input: layout.input, output: layout.output, scratch: self.scratch.len() };
        let program = Program::new(self.runs, self.rounds, sizes)?;
        Ok(Plan::new(program, self.steps, self.locals))
    }

    fn round(&mut self, now: usize, number: u32, sends: &[Parcel], receives: &[Parcel]) -> Result<(), PlanError> {
        for parcel in receives {
            self.receive(now, parcel);
        }
        let sends = sends.iter().map(|parcel| self.message(parcel)).collect::<Result<_, _>>()?;
        let receives = receives.iter().map(|parcel| self.message(parcel)).collect::<Result<_, _>>()?;
        self.steps.push(Step::Round(self.rounds.len()));
        self.rounds.push(ProgramRound { number, sends, receives });
        Ok(())
    }

    /// Puts what arrives home if it can be, the rest of the message into one piece of scratch.
    fn receive(&mut self, now: usize, parcel: &Parcel) {
        let (home, stay): (Vec<ValueId>, Vec<ValueId>) =
            parcel.values.iter().partition(|&&value| self.is_home_free(value, now, &[]));
        for value in home {
            self.all.values[value].place = self.all.values[value].home.clone();
        }
        let total = stay.iter().map(|&value| self.all.values[value].bytes).sum();
        let mut at = if total > 0 { self.scratch.take(total) } else { 0 };
        for value in stay {
            let bytes = self.all.values[value].bytes;
            self.all.values[value].place = Some(place_in_scratch(at, bytes));
            at += bytes;
        }
    }

    fn message(&mut self, parcel: &Parcel) -> Result<Message, PlanError> {
        let places = parcel.values.iter().filter_map(|&value| self.all.values[value].place.as_ref());
        let runs = joined(places.flatten().copied());
        let bytes = runs.iter().map(Run::bytes).sum();
        let position = |len: usize| u32::try_from(len).map_err(|_| PlanError::Rounds);
        let start = position(self.runs.len())?;
        self.runs.extend(runs);
        Ok(Message { peer: parcel.peer, index: parcel.index, bytes, runs: start..position(self.runs.len())? })
    }

    /// The result goes home if it can, or takes the place of an operand that is not needed any more, or a new one.
    fn merge(&mut self, now: usize, left: ValueId, right: ValueId, into: ValueId) {
        // What is combined with itself cannot be overwritten meanwhile.
        let operands: &[ValueId] = if left == right { &[] } else { &[left, right] };
        let heir = operands.iter().copied().find(|&operand| {
            let about = &self.all.values[operand];
            let in_scratch =
                about.place.as_ref().is_some_and(|place| place.iter().all(|r| r.buffer == Buffer::Scratch));
            about.read == Some(now) && about.home.is_none() && in_scratch
        });
        let place = if self.is_home_free(into, now, operands) {
            self.all.values[into].home.clone().unwrap_or_default()
        } else if let Some(operand) = heir {
            self.all.values[operand].place.take().unwrap_or_default()
        } else {
            self.take(self.all.values[into].bytes)
        };
        // An operand without a place has just given it to the result.
        let operand = |value: ValueId| self.all.values[value].place.clone().unwrap_or_else(|| place.clone());
        let (first, second) = (operand(left), operand(right));
        self.local(side_by_side([&place, &first, &second]).map(|[into, left, right]| Local::Merge {
            into,
            left,
            right,
        }));
        self.all.values[into].place = Some(place);
    }

    /// Whether the place where a value is wanted is free when event `now` makes it: all that lay there was read before,
    /// or is one of `operands`, which this event reads for the last time, and lies exactly there.
    fn is_home_free(&self, value: ValueId, now: usize, operands: &[ValueId]) -> bool {
        let Some(home) = &self.all.values[value].home else { return false };
        let (begin, end) = span(home);
        let candidates = &self.tenants[..self.tenants.partition_point(|tenant| tenant.begin < end)];
        let mut overlapping = candidates.iter().rev().take_while(|tenant| tenant.reach > begin);
        overlapping.all(|tenant| {
            let about = &self.all.values[tenant.value];
            let overwritten = operands.contains(&tenant.value) && about.place.as_ref() == Some(home);
            let done = about.read.is_none_or(|read| read < now || read == now && overwritten);
            tenant.end <= begin || about.home.is_none() && done
        })
    }

    /// Gives a value's place in scratch back.
    fn end(&mut self, value: ValueId) {
        for run in self.all.values[value].place.iter().flatten().filter(|run| run.buffer == Buffer::Scratch) {
            self.scratch.give(run.offset, run.bytes());
        }
    }

    /// What is wanted and not yet where it is wanted.
    fn bring_home(&mut self) {
        let homes = self.all.values.iter().filter_map(|about| Some((about.place.clone()?, about.home.clone()?)));
        let copies =
            self.all.copies.iter().filter_map(|(value, to)| Some((self.all.values[*value].place.clone()?, to.clone())));
        let wanted: Vec<(Place, Place)> = homes.chain(copies).filter(|(from, to)| from != to).collect();
        for (from, to) in wanted {
            self.copy(&from, &to);
        }
    }

    fn take(&mut self, bytes: u64) -> Place {
        let at = if bytes > 0 { self.scratch.take(bytes) } else { 0 };
        place_in_scratch(at, bytes)
    }

    fn copy(&mut self, from: &Place, into: &Place) {
        let [into, from] = [into, from].map(|place| Place::from_vec(joined(place.iter().copied())));
        self.local((!into.is_empty()).then_some(Local::Copy { into, from }).into_iter());
    }

    /// Appends local work, joined with its neighbour where they are one piece.
    fn local(&mut self, work: impl Iterator<Item = Local>) {
        let start = self.locals.len();
        for local in work {
            match self.locals[start..].last_mut().and_then(|last| last.followed_by(&local).map(|l| (last, l))) {
                Some((last, longer)) => *last = longer,
                None => self.locals.push(local),
            }
        }
        match self.steps.last_mut() {
            Some(Step::Local(range)) => range.end = self.locals.len(),
            _ => self.steps.push(Step::Local(start..self.locals.len())),
        }
    }
}

/// From the first byte of a place to one past its last.
fn span(place: &Place) -> (u64, u64) {
    let end = |run: &Run| run.offset + run.stride * (run.count - 1) + run.len;
    (place.iter().map(|run| run.offset).min().unwrap_or(0), place.iter().map(end).max().unwrap_or(0))
}

fn place_in_scratch(at: u64, bytes: u64) -> Place {
    if bytes == 0 { Place::new() } else { Place::from_elem(Run::new(Buffer::Scratch, at, bytes), 1) }
}
