//! Plans of exchanges with neighbours.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::element::Element;
use super::lengths::{BufferLength, BufferLengths};
use super::neighbour_key::{Near, NeighbourCall, NeighbourKey};
use super::neighbourhood::Direction;
use super::persistent::Origin;
use super::planned_call::PlannedCall;
use super::varying_plan::{BlockList, busy_ranks};
use super::{Communicator, Persistent};
use crate::block::Block;
use crate::error::{ArgumentError, CallError, Error};
use crate::ids::Rank;
use crate::plan::{Buffer, Layout, Message, PlanError, Strided, StridedBlocks, compile_sending};
use crate::vocabulary::{End, RankRound};

impl Communicator {
    /// Executes an exchange between neighbours. Its plan is taken from the cache, or kept there: it
    /// depends on nothing that the others call.
    pub(super) fn call_neighbours<T: Pod>(
        &mut self,
        call: NeighbourCall<'_>,
        send: &[T],
        receive: &mut [T],
    ) -> Result<(), CallError> {
        let sent = if call.in_place { receive.len() } else { send.len() };
        let lengths = (Some(sent), Some(receive.len()));
        if !self.neighbour_calls.find_by(|key| key.is(&call, lengths)) {
            let key = self.listed_neighbours(&call, lengths)?;
            let (planned, ..) = self.plan_neighbours(&key)?;
            self.neighbour_calls.insert(key, planned);
        }
        let lost = || Error::Internal("a plan just made is not in the cache".into());
        let planned = self.neighbour_calls.last().ok_or_else(lost)?;
        let (input, output) = (bytemuck::cast_slice(send), bytemuck::cast_slice_mut(receive));
        Ok(self.context.execute(planned, input, output, None)?)
    }

    /// Plans an exchange between neighbours as a persistent plan.
    pub(super) fn neighbour_init<T: Pod>(&mut self, call: &NeighbourCall<'_>) -> Result<Persistent<T>, CallError> {
        let key = self.listed_neighbours(call, (None, None))?;
        self.neighbour_persistent(key)
    }

    /// Plans an exchange whose blocks are listed as a persistent plan.
    pub(super) fn neighbour_persistent<T: Pod>(&mut self, key: NeighbourKey) -> Result<Persistent<T>, CallError> {
        let (planned, sent, received) = self.plan_neighbours(&key)?;
        Ok(Persistent {
            planned,
            owner: self.context.communicator(),
            send: BufferLength::AtLeast(if key.in_place { 0 } else { sent }),
            receive: BufferLength::AtLeast(received),
            reduction: None,
            origin: Origin::Neighbours(key),
            of: PhantomData,
        })
    }

    /// Lists the ranks and the blocks of a call.
    fn listed_neighbours(
        &self,
        call: &NeighbourCall<'_>,
        lengths: BufferLengths,
    ) -> Result<NeighbourKey, ArgumentError> {
        let NeighbourCall { name, near, element, ref send, ref receive, in_place } = *call;
        let near = match near {
            Near::Given(near) => near.clone(),
            Near::Partners { to, from } => self.partners(to, from)?,
        };
        let (made, used) = (near.owner, self.context.communicator());
        if made != used {
            return Err(ArgumentError::Persistent { made: made.to_string(), used: used.to_string() });
        }
        let send = send.list("send", near.destinations.len())?;
        let receive = receive.list("receive", near.sources.len())?;
        Ok(NeighbourKey { name, near, element, send, receive, lengths, in_place })
    }

    /// Plans an exchange between neighbours. Returns also the lengths of the buffers.
    fn plan_neighbours(&mut self, key: &NeighbourKey) -> Result<(PlannedCall, usize, usize), CallError> {
        let NeighbourKey { name, near, element, send: from, receive: into, lengths: (sent, received), in_place } = key;
        let (in_place, element) = (*in_place, *element);
        let (me, size) = (Rank::new(self.rank()), self.size());
        let (from, into) = (BlockList::new("send", from, *sent), BlockList::new("receive", into, *received));
        from.check_for(near.destinations.len())?;
        into.check_for(near.sources.len())?;
        into.check_disjoint()?;
        let length = from.length.max(into.length);
        let (sent, received) = if in_place { (length, length) } else { (from.length, into.length) };
        let (sends, receives) = (named(true, me, &from, &near.destinations), named(false, me, &into, &near.sources));
        let (sends, receives) = without_empty_own(me, sends, receives)?;
        let (names, parts) = lists(&sends);
        let before = StridedBlocks { names: &names, blocks: &parts, elements: sent };
        let (names, parts) = lists(&receives);
        let after = StridedBlocks { names: &names, blocks: &parts, elements: received };
        let buffer = if in_place { Buffer::Output } else { Buffer::Input };
        let real = |error| match error {
            PlanError::Runs { block, part, runs, most } => {
                let block =
                    sends.iter().chain(&receives).find(|named| named.name == block).map_or(block, |named| named.real);
                PlanError::Runs { block, part, runs, most }
            }
            other => other,
        };
        let layout = Layout::strided(element.size, (buffer, before), after).map_err(real)?;
        let ends = |side: &[NamedBlock<'_>]| {
            let others = side.iter().filter(|named| named.to.rank != me.index());
            // Each rank begins with the ranks above it, so that they do not all send to one.
            let mut others: Vec<_> = others.collect();
            others.sort_by_key(|named| ((named.to.rank + size - me.index()) % size, named.to.number));
            others.iter().map(|named| End::new(Rank::new(named.to.rank), vec![named.name])).collect()
        };
        let round = RankRound::new(ends(&sends), ends(&receives));
        let place = if in_place { " in place" } else { "" };
        let Element { size: bytes, name: of, .. } = element;
        let description = format!(
            "{name}{place} over {} of {bytes}-byte elements ({of}) among {size} ranks on {}",
            near.name,
            self.topology.text()
        );
        let rounds = [round];
        let busy = busy_ranks(&rounds, &layout);
        let is_sent = |message: &Message| near.is_for_one_call || busy.contains(&message.peer);
        let planned = PlannedCall::new(compile_sending(rounds, &layout, &is_sent)?, self.signature(description))?;
        Ok((planned, sent, received))
    }
}

/// A block that goes to a rank, or comes from it, in one direction.
///
/// Two directions may lead to one rank, so the ranks of a block do not name it. Blocks of one pair
/// are messages of their own, in the order of the directions: ranks find it if they expect other
/// lengths, whichever their sum.
struct NamedBlock<'a> {
    /// Its name in the plan.
    name: Block,
    /// Its name by its ranks.
    real: Block,
    to: Direction,
    parts: &'a [Strided],
}

impl NamedBlock<'_> {
    fn elements(&self) -> usize {
        self.parts.iter().map(|part| part.elements().unwrap_or(usize::MAX)).fold(0, usize::saturating_add)
    }
}

/// Names the blocks of one side, those that a rank keeps by their direction on both sides.
fn named<'a>(sends: bool, me: Rank, blocks: &BlockList<'a>, directions: &[Option<Direction>]) -> Vec<NamedBlock<'a>> {
    let of = |(at, (direction, parts)): (usize, (&Option<Direction>, &'a [Strided]))| {
        let to = (*direction)?;
        let (peer, kept) = (Rank::new(to.rank), to.rank == me.index());
        let name = match (kept, sends) {
            (true, _) => Block::new(Rank::new(0), Rank::new(to.number)),
            (false, true) => Block::new(Rank::new(1), Rank::new(at)),
            (false, false) => Block::new(Rank::new(2), Rank::new(at)),
        };
        let real = if sends { Block::new(me, peer) } else { Block::new(peer, me) };
        Some(NamedBlock { name, real, to, parts })
    };
    directions.iter().zip(blocks.parts()).enumerate().filter_map(of).collect()
}

/// Fails unless a rank expects as many elements of itself as it sends, in each direction. Leaves
/// out the empty ones: a rank may be its own neighbour on one side only.
fn without_empty_own<'a>(
    me: Rank,
    sends: Vec<NamedBlock<'a>>,
    receives: Vec<NamedBlock<'a>>,
) -> Result<(Vec<NamedBlock<'a>>, Vec<NamedBlock<'a>>), ArgumentError> {
    let is_own = |named: &NamedBlock<'_>| named.to.rank == me.index();
    let own = |side: &[NamedBlock<'_>]| -> BTreeMap<Block, usize> {
        side.iter().filter(|named| is_own(named)).map(|named| (named.name, named.elements())).collect()
    };
    let (sent, expected) = (own(&sends), own(&receives));
    for name in sent.keys().chain(expected.keys()) {
        let [sent, expected] = [&sent, &expected].map(|side| side.get(name).copied().unwrap_or(0));
        if sent != expected {
            return Err(ArgumentError::SelfBlock { rank: me.index(), sent, expected });
        }
    }
    let rest = |side: Vec<NamedBlock<'a>>| -> Vec<NamedBlock<'a>> {
        side.into_iter().filter(|named| !is_own(named) || named.elements() > 0).collect()
    };
    Ok((rest(sends), rest(receives)))
}

/// Returns the names and the parts of blocks.
fn lists<'a>(side: &[NamedBlock<'a>]) -> (Vec<Block>, Vec<&'a [Strided]>) {
    side.iter().map(|named| (named.name, named.parts)).unzip()
}
