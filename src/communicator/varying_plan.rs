//! Plans of collectives with blocks of different lengths, anywhere in the buffers.
//!
//! A rank knows the lengths of the blocks that it sends and receives. An algorithm that relays
//! blocks needs the lengths of the relayed ones too. So planning is collective, unless every rank
//! knows all lengths: the counts travel once over the same schedule, in blocks of one number for each
//! chunk, and every rank keeps those that reach it.
//!
//! For a call of the backend's own library the counts also travel, since the library does not check
//! that a rank expects the lengths that the others send. If every rank knows all lengths, they are
//! part of the call's signature instead, and so nothing travels before the call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::Communicator;
use super::collectives::key;
use super::element::Element;
use super::how::How;
use super::lengths::check;
use super::planned_call::{CombinedResult, PlanKey, PlannedCall, native_qualifier};
use super::varying_key::VaryingOp;
use crate::algorithm::{Algorithm, find};
use crate::block::Block;
use crate::collective::{Collective, Holding};
use crate::error::{ArgumentError, CallError, Error};
use crate::hash::digest;
use crate::ids::Rank;
use crate::plan::{
    BlockFault, Buffer, Layout, Lengths, Message, Place, PlanError, Run, Strided, StridedBlocks, compile,
    compile_sending, overlap_of,
};
use crate::transport::native::{Blocks, NativeCall, Varying};
use crate::transport::{Cause, Failure};
use crate::vocabulary::{End, Problem, RankRound};

/// A collective with blocks of different lengths.
#[derive(Debug)]
pub(super) struct VaryingCall<'a> {
    /// The name of the method, by which an algorithm is chosen.
    pub(super) name: &'static str,
    pub(super) collective: Collective,
    pub(super) element: Element,
    pub(super) send: BlockList<'a>,
    pub(super) receive: BlockList<'a>,
    /// Whether the blocks that the rank starts with lie in the receive buffer.
    pub(super) in_place: bool,
    pub(super) persistent: bool,
    /// If every rank knows the lengths of all blocks: the length of each rank's.
    pub(super) known: Option<Vec<usize>>,
    /// The operation of a reduction.
    pub(super) op: Option<VaryingOp>,
}

/// The name by which the algorithm of [`alltoallv`](Communicator::alltoallv) and
/// [`alltoallw`](Communicator::alltoallw) is chosen.
pub(super) const ALLTOALLV: &str = "alltoallv";

/// The name of the method whose blocks have several runs.
pub(super) const ALLTOALLW: &str = "alltoallw";

/// The algorithm unless another one is chosen, if ranks do not know all lengths. It sends every
/// block straight to its destination, all in one round: no rank needs the lengths of other ranks'
/// blocks, and ranks without blocks for each other need no message.
const DIRECT: &str = "direct";

/// The largest number of counts that a description lists.
const LISTED: usize = 16;

impl Communicator {
    /// Plans a collective with blocks of different lengths, as a persistent plan or for one call.
    ///
    /// Also returns whether the plan is the same whatever the other ranks call.
    pub(super) fn plan_varying(&mut self, mut call: VaryingCall<'_>) -> Result<(PlannedCall, bool), CallError> {
        let (rank, size) = (Rank::new(self.rank()), self.size());
        let names = |holding: Holding| holding.into_iter().map(|(block, _)| block).collect::<Vec<_>>();
        let collective = &call.collective;
        (call.send.names, call.receive.names) =
            (names(collective.before(size, rank)), names(collective.after(size, rank)));
        let (sent, expected) = (call.send.check()?, call.receive.check()?);
        let VaryingCall { name, collective, element, send, receive, in_place, known, op, .. } = &call;
        let problem = self.problem(collective.clone())?;
        let problem = if op.as_ref().is_none_or(|op| op.commutes) { problem } else { problem.ordered() };
        let from = if *in_place { Buffer::Output } else { Buffer::Input };
        let mut layout = Layout::strided(element.size, (from, send.strided()), receive.strided())?;
        receive.check_disjoint()?;
        let own = send.names.iter().zip(&sent).find_map(|(block, &sent)| {
            let at = receive.names.iter().position(|received| received == block)?;
            Some((sent, expected[at])).filter(|(sent, expected)| sent != expected)
        });
        if let Some((sent, expected)) = own {
            return Err(ArgumentError::SelfBlock { rank: rank.index(), sent, expected }.into());
        }
        let chosen = if *name == ALLTOALLW { ALLTOALLV } else { name };
        let chosen = self.how(chosen, false).filter(|how| how.as_name() != Some("auto")).cloned();
        let user = chosen.as_ref().and_then(How::as_user);
        let (algorithm, native) = match user {
            Some(user) => (Arc::clone(&user.algorithm), None),
            None => self.choose_varying(chosen.as_ref().and_then(How::as_name), &problem, &call, &layout)?,
        };
        let by = match user {
            Some(user) => user.certified(&problem)?.to_string(),
            None => algorithm.name() + native.as_ref().map_or("", native_qualifier),
        };
        let root = collective.root().map_or(String::new(), |root| format!(" with root {root}"));
        let op = op.as_ref().map_or(String::new(), |VaryingOp { name, commutes, .. }| {
            format!(" ({name}){}", if *commutes { "" } else { ", in rank order," })
        });
        let counts = known.as_deref().map_or(String::new(), described);
        let what = format!("{counts}of {}-byte elements ({}) among {size} ranks by {by}", element.size, element.name);
        let description = format!("{name}{root}{op} {what} on {}", self.topology.text());
        let result = collective.result(size, rank).map(|(_, of)| CombinedResult {
            contributions: of.len(),
            bytes: expected.first().map_or(0, |elements| elements * element.size),
        });
        if let Some(native) = native {
            if known.is_some() {
                let planned = self.plan_library_call(native, self.signature(description))?;
                return Ok((PlannedCall { result, ..planned }, true));
            }
            let planned = self.plan_native(native, &problem, (&sent, &expected), &call, description)?;
            return Ok((planned, false));
        }
        let rounds: Vec<RankRound> = match user {
            Some(user) => user.rounds(&problem, rank)?,
            None => algorithm.share(&problem, rank)?.collect(),
        };
        if user.is_none() && algorithm.name() == DIRECT && known.is_none() {
            let busy = busy_ranks(&rounds, &layout);
            let is_sent = |message: &Message| busy.contains(&message.peer);
            let plan = compile_sending(rounds, &layout, &is_sent)?;
            return Ok((PlannedCall::new(plan, self.signature(description))?, true));
        }
        if let Some(known) = known {
            // A temporary with a destination holds contributions to the result of that rank.
            let length = |block: Block| {
                let rank = if block.source() >= 0 { block.source() } else { block.destination() };
                usize::try_from(rank).ok().and_then(|rank| known.get(rank)).map_or(0, |&count| count as u64)
            };
            let moved = rounds.iter().flat_map(RankRound::blocks);
            let all = moved.chain(send.names.iter().chain(&receive.names).copied()).map(Block::whole);
            layout.lengths = Lengths::Each(all.map(|block| (block, length(block))).collect());
            check_sums(&layout, element.size)?;
            let plan = compile_sending(rounds, &layout, &|message| message.bytes > 0)?;
            let planned = PlannedCall::new(plan, self.signature(description))?;
            return Ok((PlannedCall { result, ..planned }, true));
        }
        let passing = self.exchange_counts(&rounds, (&send.names, &sent), format!("counts of {description}"))?;
        self.check_counts(&passing, (&receive.names, &expected), element.size as u64, &description)?;
        let own = send.names.iter().zip(&sent).map(|(&block, &count)| (block, count as u64));
        layout.lengths = Lengths::Each(passing.into_iter().chain(own).collect());
        // The others rely on this rank by now, so an error in its planning fails the communicator.
        let planned = check_sums(&layout, element.size)
            .and_then(|()| compile_sending(rounds, &layout, &|message| message.bytes > 0))
            .map_err(ArgumentError::from)
            .and_then(|plan| PlannedCall::new(plan, self.signature(description.clone())));
        let planned = planned.map_err(|error| -> CallError {
            let cause = Cause::Aborted { rank, reason: error.to_string().into() };
            self.fail_planning(&description, Some(rank), cause).into()
        });
        Ok((planned?, false))
    }

    /// Chooses an algorithm by name, or by price. Also returns the call of the backend's library,
    /// if that is the choice.
    fn choose_varying(
        &mut self,
        named: Option<&str>,
        problem: &Problem,
        call: &VaryingCall<'_>,
        layout: &Layout,
    ) -> Result<(Arc<dyn Algorithm>, Option<NativeCall>), CallError> {
        let bytes = call.known.as_deref().map(|known| average(known, call.element.size));
        let (collective, commutes) = (problem.collective(), problem.commutative());
        let terms = bytes.map(|bytes| self.terms(bytes));
        let field = self.field(collective, commutes)?;
        let algorithm = match (named, terms) {
            (Some(name), Some(terms)) => field.find(name, &terms)?,
            (Some(name), None) => find(collective, name)?,
            (None, Some(terms)) => field.find("auto", &terms)?,
            // For a single call, the exchange of the counts costs more than the library can save.
            (None, None) if call.persistent && self.context.native => find(collective, "native")?,
            (None, None) => find(collective, DIRECT)?,
        };
        if algorithm.priced_as().is_none() {
            return Ok((algorithm, None));
        }
        let native = native_call(call, layout)?;
        if self.offers(&native) {
            return Ok((algorithm, Some(native)));
        }
        if named.is_some() {
            return Err(self.not_offered(collective, &native).into());
        }
        Ok(match terms {
            Some(terms) => (field.find("auto", &terms.over_native(false))?, None),
            None => (find(collective, DIRECT)?, None),
        })
    }

    /// Plans a call of the backend's library, after every rank has checked the counts of the
    /// others.
    fn plan_native(
        &mut self,
        call: NativeCall,
        problem: &Problem,
        (sent, expected): (&[usize], &[usize]),
        VaryingCall { send, receive, element, .. }: &VaryingCall<'_>,
        description: String,
    ) -> Result<PlannedCall, CallError> {
        let direct = find(problem.collective(), DIRECT)?;
        let rounds: Vec<RankRound> = direct.share(problem, Rank::new(self.rank()))?.collect();
        // Plans of different counts are different calls, on each of which the members must agree.
        let description = format!("{description}, counted in call {}", self.context.history.calls);
        // Everything that can fail on this rank alone fails before the others rely on it.
        self.barrier_of_agreement()?;
        let arrived = self.exchange_counts(&rounds, (&send.names, sent), format!("counts of {description}"))?;
        self.check_counts(&arrived, (&receive.names, expected), element.size as u64, &description)?;
        let call = self.with_length(call)?;
        Ok(self.plan_library_call(call, self.signature(description))?)
    }

    /// Tells the members whether the blocks of a gather or scatter are long, which only the root
    /// knows.
    fn with_length(&mut self, call: NativeCall) -> Result<NativeCall, CallError> {
        let NativeCall::Varying(varying) = call else { return Ok(call) };
        let Some(root) = varying.collective.root() else { return Ok(NativeCall::Varying(varying)) };
        let end = varying.send.end().max(varying.receive.end()).checked_div(varying.element);
        let mut long = [u8::from(end.is_some_and(|elements| elements > Varying::MAX_SHORT))];
        let key = PlanKey {
            purpose: format!("whether blocks of {varying} are long").into(),
            in_place: true,
            ..key::<u8>(Collective::Broadcast { root })
        };
        self.regular(key, &[], &mut long, None)?;
        Ok(NativeCall::Varying(Varying { long: long != [0], ..varying }))
    }

    /// Sends the counts over the schedule; each chunk carries the count of its block. Returns the
    /// count of each block of which a chunk reaches this rank.
    fn exchange_counts(
        &mut self,
        rounds: &[RankRound],
        (held, counts): (&[Block], &[usize]),
        description: String,
    ) -> Result<HashMap<Block, u64>, CallError> {
        const WORD: u64 = size_of::<u64>() as u64;
        let named = || rounds.iter().flat_map(RankRound::blocks);
        let chunks: HashMap<Block, u64> = match named().all(|block| block.of() == 1) {
            true => HashMap::new(),
            false => named().map(|block| (block.whole(), block.of().into())).collect(),
        };
        let length = |block: &Block| chunks.get(block).copied().unwrap_or(1);
        // Of several chunks that arrive, the first one is read.
        let mut passing = BTreeMap::new();
        for block in rounds.iter().flat_map(|round| &round.receives).flat_map(|end| &end.blocks) {
            passing.entry(block.whole()).or_insert_with(|| block.units().next().unwrap_or(*block));
        }
        let mut sent = Vec::with_capacity(held.len());
        let before = held.iter().zip(counts).map(|(&block, &count)| {
            let (at, length) = (sent.len() as u64, length(&block));
            sent.extend((0..length).map(|_| count as u64));
            (block, Place::from(Run::new(Buffer::Input, at * WORD, length * WORD)))
        });
        let before = before.collect();
        let after = (0..).zip(passing.values());
        let after = after.map(|(i, &unit)| (unit, Place::from(Run::new(Buffer::Output, i * WORD, WORD)))).collect();
        let own = held.iter().map(|block| (*block, length(block)));
        let lengths = match chunks.is_empty() {
            true => Lengths::Equal(1),
            false => Lengths::Each(chunks.iter().map(|(&block, &length)| (block, length)).chain(own).collect()),
        };
        let layout = Layout {
            element: WORD,
            lengths,
            before,
            after,
            input: sent.len() as u64 * WORD,
            output: passing.len() as u64 * WORD,
        };
        let plan = compile(rounds.iter().cloned(), &layout).map_err(ArgumentError::from)?;
        let mut planned = PlannedCall::new(plan, self.signature(description))?;
        let mut arrived = vec![0_u64; passing.len()];
        self.context.execute(
            &mut planned,
            bytemuck::cast_slice(&sent),
            bytemuck::cast_slice_mut(&mut arrived),
            None,
        )?;
        Ok(passing.into_keys().zip(arrived).collect())
    }

    /// Fails the communicator on every member unless the others send the counts that this rank
    /// expects.
    fn check_counts(
        &mut self,
        sent: &HashMap<Block, u64>,
        (awaited, expected): (&[Block], &[usize]),
        element: u64,
        description: &str,
    ) -> Result<(), Error> {
        let me = Rank::new(self.rank());
        let from = |block: &Block| usize::try_from(block.source()).ok().map(Rank::new);
        for (block, &count) in awaited.iter().zip(expected) {
            let Some(from) = from(block).filter(|from| *from != me) else { continue };
            let (expected, found) = (count as u64, sent.get(block).copied().unwrap_or(0));
            if expected != found {
                let (expected, found) = (expected.saturating_mul(element), found.saturating_mul(element));
                let cause = Cause::Length { from, to: me, expected, found };
                return Err(self.fail_planning(description, None, cause));
            }
        }
        Ok(())
    }

    /// Fails the communicator for an error that the counts of other ranks have caused.
    pub(super) fn fail_planning(&mut self, description: &str, culprit: Option<Rank>, cause: Cause) -> Error {
        let (call, observer) = (self.context.history.calls.saturating_sub(1), Rank::new(self.rank()));
        let failure = Failure { call, description: description.into(), round: 0, observer, culprit, cause };
        self.context.transport.abort(failure.clone());
        self.context.failed(self.context.transport.failure().unwrap_or(failure))
    }
}

/// The blocks of one buffer, in the order of the collective's definition.
#[derive(Debug)]
pub(super) struct BlockList<'a> {
    /// `send` or `receive`.
    side: &'static str,
    /// Known once the call is planned.
    names: Vec<Block>,
    blocks: Vec<&'a [Strided]>,
    /// The length of the buffer in elements.
    pub(super) length: usize,
}

impl<'a> BlockList<'a> {
    /// Lists the blocks of a buffer of this length, or of the shortest one that has them all.
    pub(super) fn new(side: &'static str, blocks: &'a [impl AsRef<[Strided]>], length: Option<usize>) -> Self {
        let blocks: Vec<&[Strided]> = blocks.iter().map(AsRef::as_ref).collect();
        let ends = || blocks.iter().flat_map(|parts| parts.iter()).map(|part| part.end().unwrap_or(usize::MAX));
        let length = length.unwrap_or_else(|| ends().max().unwrap_or(0));
        Self { side, names: vec![], blocks, length }
    }

    /// Returns the parts of each block.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a [Strided]> {
        self.blocks.iter().copied()
    }

    pub(super) fn strided(&self) -> StridedBlocks<'_> {
        StridedBlocks { names: &self.names, blocks: &self.blocks, elements: self.length }
    }

    /// Returns the lengths of the blocks. Fails unless there are as many as the collective has,
    /// inside the buffer.
    fn check(&self) -> Result<Vec<usize>, ArgumentError> {
        self.check_for(self.names.len())
    }

    /// Does the same for a number of blocks.
    pub(super) fn check_for(&self, count: usize) -> Result<Vec<usize>, ArgumentError> {
        let Self { side, blocks, length, .. } = self;
        let what = if *side == "send" { "list of send blocks" } else { "list of receive blocks" };
        check(what, blocks.len(), count)?;
        let count = |(i, parts): (usize, &&[Strided])| {
            let refuse = |fault| ArgumentError::Block { side, block: i, fault };
            parts.iter().try_fold(0_usize, |sum, part| {
                part.fault(*length).map_or(Ok(()), |fault| Err(refuse(fault)))?;
                let sum = part.elements().and_then(|elements| sum.checked_add(elements));
                sum.ok_or_else(|| refuse(BlockFault::Overflow))
            })
        };
        blocks.iter().enumerate().map(count).collect()
    }

    /// Fails if an element belongs to two blocks, or twice to one. The elements of each part must
    /// differ.
    pub(super) fn check_disjoint(&self) -> Result<(), ArgumentError> {
        // Only elements without bytes can be this many, and they cannot overlap.
        if isize::try_from(self.length).is_err() {
            return Ok(());
        }
        let found = overlap_of(self.blocks.iter().flat_map(|parts| parts.iter()), Layout::MOST_RUNS);
        let interlocked = |pieces| ArgumentError::Interlocked { side: self.side, pieces, most: Layout::MOST_RUNS };
        let Some(index) = found.map_err(interlocked)? else { return Ok(()) };
        let holders = self.blocks.iter().enumerate().flat_map(|(i, parts)| parts.iter().map(move |part| (i, part)));
        let mut holders = holders.filter(|(_, part)| part.has(index)).map(|(i, _)| i);
        let (i, j) = (holders.next().unwrap_or(0), holders.next().unwrap_or(0));
        Err(ArgumentError::Overlap { side: self.side, blocks: (i, j), element: index })
    }
}

/// Makes the call of a library for the blocks of a layout.
fn native_call(call: &VaryingCall<'_>, layout: &Layout) -> Result<NativeCall, CallError> {
    let blocks = |side: &[(Block, Place)]| {
        let blocks = Blocks::new(side.iter().map(|(_, place)| place.clone()).collect());
        blocks.ok_or(Error::Internal("blocks that are in no buffer".into()))
    };
    let all = call.known.as_deref().map_or(0, |known| known.iter().map(|&count| count as u128).sum());
    Ok(NativeCall::Varying(Varying {
        collective: call.collective.clone(),
        element: layout.element,
        send: blocks(&layout.before)?,
        receive: blocks(&layout.after)?,
        strided: call.name == ALLTOALLW,
        in_place: call.in_place,
        long: layout.element > 0 && all > u128::from(Varying::MAX_SHORT),
        predefined: call.op.as_ref().and_then(|op| op.predefined),
    }))
}

/// Returns the average length of a block in bytes.
fn average(counts: &[usize], element: usize) -> u64 {
    let elements = counts.iter().map(|&count| count as u128).sum::<u128>() / counts.len().max(1) as u128;
    u64::try_from(elements.saturating_mul(element as u128)).unwrap_or(u64::MAX)
}

/// Returns the ranks that this one has a block for, or expects one from. It exchanges no message
/// with the others: if they agree, they know that too.
pub(super) fn busy_ranks(rounds: &[RankRound], layout: &Layout) -> HashSet<Rank> {
    let has_bytes = |end: &&End| end.blocks.iter().any(|&block| layout.lengths.of(block) > 0);
    let ends = rounds.iter().flat_map(|round| round.sends.iter().chain(&round.receives));
    ends.filter(has_bytes).map(|end| end.peer).collect()
}

/// Fails if the bytes of all blocks that a rank sends, receives or relays overflow together.
fn check_sums(layout: &Layout, element: usize) -> Result<(), PlanError> {
    let Lengths::Each(table) = &layout.lengths else { return Ok(()) };
    let elements = table.values().map(|&elements| u128::from(elements)).sum::<u128>();
    if elements.saturating_mul(element as u128) > i64::MAX as u128 {
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        return Err(PlanError::Overflow { blocks: 1, elements, element });
    }
    Ok(())
}

/// Describes the counts that every rank knows.
fn described(counts: &[usize]) -> String {
    if counts.len() <= LISTED {
        return format!("of counts {counts:?} ");
    }
    let digest = digest(0, counts.iter().map(|&count| count as u64));
    format!("of {} counts [{digest:016x}] ", counts.len())
}
