//! The first half of compiling: binds the blocks of a share to values.
//!
//! A block's name is bound to a *value* that never changes: the bytes that the rank starts with,
//! those of one arrival, or the result of one combination. A local copy only binds another name to
//! the same value. What remains is a list of [`Instruction`]s, each of which reads and makes
//! values. So the last read of each value is known, and with it how long the value needs its place.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::ops::{Index, IndexMut};

use super::{Buffer, Layout, Lengths, PlanError, Run};
use crate::block::Block;
use crate::hash::Mix;
use crate::ids::Rank;
use crate::plan::runs::{Place, cut};
use crate::vocabulary::{Combine, End, LocalStep, RankRound};

/// The number of a value, short because there are many values.
pub(super) type ValueId = u32;

type ByBlock<V> = HashMap<Block, V, BuildHasherDefault<Mix>>;

/// An instruction: reads values, then makes values.
#[derive(Debug)]
pub(super) enum Instruction {
    /// A round of messages.
    Round { number: u32, sends: Vec<MessageValues>, receives: Vec<MessageValues> },
    /// A combination: `into` is `left` combined with `right`.
    Merge { left: ValueId, right: ValueId, into: ValueId },
}

/// The values of one message.
#[derive(Debug)]
pub(super) struct MessageValues {
    pub(super) peer: Rank,
    pub(super) index: u32,
    pub(super) values: Vec<ValueId>,
}

/// A value. Values take most of the memory of compiling, so they are small.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) bytes: u64,
    /// Its place.
    pub(super) spot: Spot,
    /// The last instruction that reads it.
    pub(super) read: Option<u32>,
    /// The place where the user wants it. Further such places are in [`Values::copies`].
    pub(super) home: Option<Box<Place>>,
}

/// The place of a value.
#[derive(Debug)]
pub(super) enum Spot {
    /// No place yet, or no longer.
    Nowhere,
    /// In one piece of scratch, at this offset.
    Scratch(u64),
    /// The place where the user wants it.
    Home,
    /// Any other place.
    At(Box<Place>),
}

impl Value {
    /// Returns its place, if it has one.
    pub(super) fn place(&self) -> Option<Place> {
        match &self.spot {
            Spot::Nowhere => None,
            Spot::Scratch(_) if self.bytes == 0 => Some(Place::new()),
            Spot::Scratch(at) => Some(Place::from(Run::new(Buffer::Scratch, *at, self.bytes))),
            Spot::Home => self.home.as_deref().cloned(),
            Spot::At(place) => Some(Place::clone(place)),
        }
    }
}

/// All values, by number.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Value>);

impl Table {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        0..self.0.len() as ValueId
    }
}

impl Index<ValueId> for Table {
    type Output = Value;

    fn index(&self, value: ValueId) -> &Value {
        &self.0[value as usize]
    }
}

impl IndexMut<ValueId> for Table {
    fn index_mut(&mut self, value: ValueId) -> &mut Value {
        &mut self.0[value as usize]
    }
}

/// A share as values and instructions.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) values: Table,
    pub(super) instructions: Vec<Instruction>,
    /// Further places of values that the user wants in several places.
    pub(super) copies: Vec<(ValueId, Place)>,
    /// The values of the block names that are still of use.
    names: ByBlock<ValueId>,
    /// For each unit that is still to be sent, in reverse order: whether its name is of no use
    /// afterwards.
    last_sent: Vec<bool>,
    /// The number of chunks of each block that is cut.
    cuts: ByBlock<u32>,
    /// The sum of the bytes of all values.
    bytes: u64,
}

impl Values {
    pub(super) fn of(rounds: Vec<RankRound>, layout: &Layout) -> Result<Self, PlanError> {
        let mut all = Self { cuts: cuts(&rounds)?, ..Self::default() };
        let last = rounds.len();
        let received: usize = rounds.iter().flat_map(|round| &round.receives).map(|end| end.blocks.len()).sum();
        let made = layout.before.len().saturating_add(received);
        all.values.0.reserve(made);
        all.names.reserve(layout.before.len());
        for (block, place) in &layout.before {
            for (unit, place) in all.parts(*block, place, layout)? {
                let value = all.value(place.iter().map(Run::bytes).sum())?;
                all.values[value].spot = Spot::At(Box::new(place));
                all.names.insert(unit, value);
            }
        }
        all.last_sent = last_sent(&rounds, wanted(layout, &all.cuts));
        for (number, round) in rounds.into_iter().enumerate() {
            all.round(u32::try_from(number).map_err(|_| PlanError::Rounds)?, &round, layout)?;
        }
        for (block, place) in &layout.after {
            for (unit, place) in all.parts(*block, place, layout)? {
                let value = *all.names.get(&unit).ok_or(PlanError::Missing { block: unit, round: last })?;
                match &mut all.values[value].home {
                    home @ None => *home = Some(Box::new(place)),
                    Some(_) => all.copies.push((value, place)),
                }
            }
        }
        all.names = ByBlock::default();
        Ok(all)
    }

    fn value(&mut self, bytes: u64) -> Result<ValueId, PlanError> {
        self.bytes = self.bytes.checked_add(bytes).filter(|&all| i64::try_from(all).is_ok()).ok_or(PlanError::Bytes)?;
        let number = ValueId::try_from(self.values.0.len()).map_err(|_| PlanError::Rounds)?;
        self.values.0.push(Value { bytes, spot: Spot::Nowhere, read: None, home: None });
        Ok(number)
    }

    /// Returns the number of the next instruction.
    fn instruction(&self) -> Result<u32, PlanError> {
        u32::try_from(self.instructions.len()).map_err(|_| PlanError::Rounds)
    }

    /// Returns the chunks of a block, each with its part of the block's place.
    fn parts(&self, block: Block, place: &Place, layout: &Layout) -> Result<Vec<(Block, Place)>, PlanError> {
        let length = |unit| chunk(unit, layout).map(|(from, to)| to - from).ok_or(PlanError::Bytes);
        let expected = length(block)?;
        let found = place.iter().map(Run::bytes).fold(0, u64::saturating_add);
        if found != expected {
            return Err(PlanError::Length { block, expected, found });
        }
        let Some(all) = cut_into(block, &self.cuts) else { return Ok(vec![]) };
        let lengths = all.units().map(length).collect::<Result<Vec<_>, _>>()?;
        Ok(all.units().zip(cut(place, lengths)).collect())
    }

    fn round(&mut self, number: u32, round: &RankRound, layout: &Layout) -> Result<(), PlanError> {
        let instruction = self.instruction()?;
        let mut sends = Vec::with_capacity(round.sends.len());
        for end in &round.sends {
            let values = units(end).map(|unit| self.sent(unit, number)).collect::<Result<Vec<_>, _>>()?;
            values.iter().for_each(|&value| self.values[value].read = Some(instruction));
            sends.push(MessageValues { peer: end.peer, index: 0, values });
        }
        let mut receives = Vec::with_capacity(round.receives.len());
        for end in &round.receives {
            let arrivals = units(end).map(|unit| {
                let (from, to) = chunk(unit, layout).ok_or(PlanError::Bytes)?;
                self.value(to - from)
            });
            receives.push(MessageValues { peer: end.peer, index: 0, values: arrivals.collect::<Result<_, _>>()? });
        }
        let arrived: Vec<(Block, ValueId, Combine)> = round
            .receives
            .iter()
            .zip(&receives)
            .flat_map(|(end, message)| units(end).zip(&message.values).map(|(unit, &value)| (unit, value, end.combine)))
            .collect();
        if !sends.is_empty() || !receives.is_empty() {
            order(&mut sends);
            order(&mut receives);
            self.instructions.push(Instruction::Round { number, sends, receives });
        }
        for (unit, value, combine) in arrived {
            self.bind(unit, value, combine)?;
        }
        round.local.iter().try_for_each(|step| self.local(step, number, layout))
    }

    fn local(&mut self, step: &LocalStep, number: u32, layout: &Layout) -> Result<(), PlanError> {
        let (from, into) = (step.from, step.into);
        if from.count() != into.count() {
            return Err(PlanError::Step { from, into });
        }
        for (from, into) in from.units().zip(into.units()) {
            let value = self.held(from, number)?;
            let (begin, end) = chunk(into, layout).ok_or(PlanError::Bytes)?;
            let (expected, found) = (end - begin, self.values[value].bytes);
            // If blocks differ in length, a temporary has the length of the value stored in it.
            let any = into.source() < -1 && matches!(layout.lengths, Lengths::Each(_));
            if expected != found && !any {
                return Err(PlanError::Length { block: into, expected, found });
            }
            self.bind(into, value, step.combine)?;
        }
        Ok(())
    }

    fn held(&self, unit: Block, round: u32) -> Result<ValueId, PlanError> {
        self.names.get(&unit).copied().ok_or(PlanError::Missing { block: unit, round: round as usize })
    }

    /// Returns the value of a name, and removes the name if this was its last use. Most blocks are
    /// forwarded once, and the names of all blocks would exceed every cache.
    fn sent(&mut self, unit: Block, round: u32) -> Result<ValueId, PlanError> {
        let value = self.held(unit, round)?;
        if self.last_sent.pop() == Some(true) {
            self.names.remove(&unit);
        }
        Ok(value)
    }

    /// Binds `name` to `value`, or to its combination with the value that `name` was bound to.
    fn bind(&mut self, name: Block, value: ValueId, combine: Combine) -> Result<(), PlanError> {
        let held = self.names.get(&name).copied();
        let (left, right) = match (combine, held) {
            (Combine::Replace, _) | (_, None) => {
                self.names.insert(name, value);
                return Ok(());
            }
            (Combine::Left, Some(held)) => (value, held),
            (Combine::Right, Some(held)) => (held, value),
        };
        let (expected, found) = (self.values[left].bytes, self.values[right].bytes);
        if expected != found {
            return Err(PlanError::Length { block: name, expected, found });
        }
        let instruction = self.instruction()?;
        let into = self.value(expected)?;
        self.values[left].read = Some(instruction);
        self.values[right].read = Some(instruction);
        self.instructions.push(Instruction::Merge { left, right, into });
        self.names.insert(name, into);
        Ok(())
    }
}

fn units(end: &End) -> impl DoubleEndedIterator<Item = Block> {
    end.blocks.iter().flat_map(|block| block.units())
}

/// Sorts messages by peer. Those of one peer keep their order and are numbered.
fn order(messages: &mut [MessageValues]) {
    messages.sort_by_key(|message| message.peer);
    for i in 1..messages.len() {
        if messages[i].peer == messages[i - 1].peer {
            messages[i].index = messages[i - 1].index + 1;
        }
    }
}

/// Returns the units that the rank must hold at the end.
fn wanted(layout: &Layout, cuts: &ByBlock<u32>) -> impl Iterator<Item = Block> {
    layout.after.iter().flat_map(|(block, _)| cut_into(*block, cuts).into_iter().flat_map(Block::units))
}

/// Returns all chunks of a block as the rounds cut it, or the chunks that it names.
fn cut_into(block: Block, cuts: &ByBlock<u32>) -> Option<Block> {
    match block.of() {
        1 => cuts.get(&block).map_or(Some(block), |&of| block.chunks(0, of, of)),
        _ => Some(block),
    }
}

/// Returns for each unit that is sent, from the last to the first, whether its name is of no use
/// afterwards: the name is bound anew before it is read again, or never read, and is not wanted at
/// the end. Where that is expensive to find out, the name counts as used.
fn last_sent(rounds: &[RankRound], wanted: impl Iterator<Item = Block>) -> Vec<bool> {
    let mut used: HashSet<Block, BuildHasherDefault<Mix>> = wanted.collect();
    let mut last = Vec::with_capacity(rounds.iter().flat_map(|round| &round.sends).map(|end| end.blocks.len()).sum());
    for round in rounds.iter().rev() {
        for LocalStep { from, into, combine } in &round.local {
            used.extend(from.units());
            used.extend(into.units().filter(|_| *combine != Combine::Replace));
        }
        for end in round.receives.iter().rev() {
            match end.combine {
                Combine::Replace => units(end).for_each(|unit| {
                    used.remove(&unit);
                }),
                Combine::Left | Combine::Right => used.extend(units(end)),
            }
        }
        last.extend(round.sends.iter().rev().flat_map(|end| units(end).rev()).map(|unit| used.insert(unit)));
    }
    last
}

/// Returns the number of chunks of each block of a share that is cut. Most blocks are not cut.
fn cuts(rounds: &[RankRound]) -> Result<ByBlock<u32>, PlanError> {
    let mut cuts = ByBlock::default();
    for block in rounds.iter().flat_map(RankRound::blocks).filter(|block| block.of() > 1) {
        let of = *cuts.entry(block.whole()).or_insert(block.of());
        if of != block.of() {
            return Err(PlanError::Cut { block: block.whole(), one: of, other: block.of() });
        }
    }
    let whole = rounds.iter().flat_map(RankRound::blocks).filter(|block| block.of() == 1 && !cuts.is_empty());
    match whole.into_iter().find_map(|block| Some((block, *cuts.get(&block)?))) {
        Some((block, of)) => Err(PlanError::Cut { block, one: of, other: 1 }),
        None => Ok(cuts),
    }
}

/// Returns the range of bytes of a chunk in its block: cut at element boundaries, as evenly as
/// possible. `None` beyond 2^63.
fn chunk(unit: Block, layout: &Layout) -> Option<(u64, u64)> {
    let elements = layout.lengths.of(unit);
    elements.checked_mul(layout.element).filter(|&bytes| i64::try_from(bytes).is_ok())?;
    let cut = |i: u32| (u128::from(elements) * u128::from(i) / u128::from(unit.of())) as u64 * layout.element;
    Some((cut(unit.first()), cut(unit.first() + unit.count())))
}
