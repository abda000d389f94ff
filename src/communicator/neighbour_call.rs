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
use crate::plan::{Buffer, Layout, Message, Strided, compile_sending};
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
        let sends = by_rank(("send", me), &from, &near.destinations, (sent, |rank| Block::new(me, rank)));
        let receives = by_rank(("receive", me), &into, &near.sources, (received, |rank| Block::new(rank, me)));
        let (sends, receives) = (sends.list(), receives.list());
        let buffer = if in_place { Buffer::Output } else { Buffer::Input };
        let layout = Layout::strided(element.size, (buffer, sends.strided()), receives.strided())?;
        let own = Block::new(me, me);
        let of_own = |list: &BlockList<'_>| list.elements_of(own).unwrap_or(0);
        let (to_itself, from_itself) = (of_own(&sends), of_own(&receives));
        if to_itself != from_itself {
            let (sent, expected) = (to_itself, from_itself);
            return Err(ArgumentError::SelfBlock { rank: me.index(), sent, expected }.into());
        }
        // Each rank begins with the ranks above it, so that they do not all send to one.
        let ends = |list: &BlockList<'_>, peer: &dyn Fn(Block) -> i32| {
            let mut ends: Vec<End> = list
                .names()
                .iter()
                .filter(|block| **block != own)
                .map(|&block| End::new(Rank::new(peer(block) as usize), vec![block]))
                .collect();
            ends.sort_by_key(|end| (end.peer.index() + size - me.index()) % size);
            ends
        };
        let round = RankRound::new(ends(&sends, &Block::destination), ends(&receives, &Block::source));
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

/// The blocks for each rank, joined: their parts follow each other in the order of the directions.
struct ByRank {
    side: &'static str,
    names: Vec<Block>,
    parts: Vec<Vec<Strided>>,
    length: usize,
}

impl ByRank {
    fn list(&self) -> BlockList<'_> {
        BlockList::of(self.side, self.names.clone(), &self.parts, self.length)
    }
}

fn by_rank(
    (side, me): (&'static str, Rank),
    blocks: &BlockList<'_>,
    directions: &[Option<Direction>],
    (length, name): (usize, impl Fn(Rank) -> Block),
) -> ByRank {
    let mut joined: BTreeMap<usize, Vec<(usize, &[Strided])>> = BTreeMap::new();
    for (direction, parts) in directions.iter().zip(blocks.parts()) {
        if let Some(Direction { rank, number }) = *direction {
            joined.entry(rank).or_default().push((number, parts));
        }
    }
    // A rank may be its own neighbour on one side only, if it has nothing for itself.
    let is_empty = |parts: &[(usize, &[Strided])]| {
        parts.iter().flat_map(|(_, parts)| parts.iter()).all(|part| part.elements() == Some(0))
    };
    joined.retain(|&rank, parts| rank != me.index() || !is_empty(parts));
    let names = joined.keys().map(|&rank| name(Rank::new(rank))).collect();
    let in_order = |mut parts: Vec<(usize, &[Strided])>| {
        parts.sort_by_key(|(number, _)| *number);
        parts.into_iter().flat_map(|(_, parts)| parts.to_vec()).collect()
    };
    ByRank { side, names, parts: joined.into_values().map(in_order).collect(), length }
}
