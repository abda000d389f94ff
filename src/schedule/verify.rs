//! Verification: replays a schedule from the definition of its collective.
//!
//! The verifier keeps the blocks that every rank holds, with their contributors, applies the rounds
//! one by one, and compares the end with what the collective promises. It uses nothing of the
//! algorithm that made the schedule.

use std::collections::BTreeSet;
use std::ops::Range;

use smallvec::SmallVec;

use super::conditions::{self, Ranks};
use super::holdings::{Cuts, Holdings, name, span};
use super::traffic::Traffic;
use super::{Contributors, Location, Proof, ViolationKind, Violations};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, LocalStep, Mismatch, Outline, Round, Schedule, Shares, Transfer};

/// Verifies a schedule round by round, and counts its [`Figures`](super::Figures).
///
/// # Checks
///
/// - The sender holds the blocks that it sends. Ranks and nodes exist. Each route is a path from
///   sender to receiver. Both ends list the same transfer.
/// - The transfers of a round read the state before the round. Arrivals take effect in listed
///   order, then local steps in theirs. In a
///   [personalised](crate::collective::Collective::is_personalised) collective a block is in one
///   place at a time: sending it gives it up.
/// - No transfer is redundant: no block is carried twice in a transfer, replaced twice in a round,
///   or sent to a rank that already has it from the same contributors.
/// - No contribution is counted twice. A block that is combined with a block that the rank does not
///   hold is stored as it is.
/// - All transfers cut a block into the same number of chunks.
/// - The schedule keeps to the outline's [port model](Outline::ports), its promise of [no
///   contention](Outline::contention_free) and its phases. An outline without names of phases has
///   one phase.
/// - At the end every rank holds the blocks that the collective promises, from the right
///   contributors, and combined in rank order if the operation does not commute.
///
/// All violations are counted, and the first 100,000 are reported. A violation has no effect on the
/// state: a block that is not held does not arrive, and a contribution that would count twice is
/// left out. Only an invalid route still delivers.
///
/// # Cost
///
/// Time is proportional to the blocks that are moved, to the channels that they cross, and for each
/// block that is combined to the runs of consecutive ranks among its contributors. Memory is about
/// 100 bytes for each block that a rank holds, plus the largest round. A block of many chunks
/// counts once until its chunks are moved apart.
pub struct Verifier {
    outline: Outline,
    /// The number of ranks, less than `usize::MAX`.
    size: usize,
    /// Whether sending a block gives it up.
    gives_up: bool,
    /// Whether the schedule is too large, so that no further rounds are examined.
    refused: bool,
    /// The ranks that are checked, if not all: others are assumed to hold what they send.
    sampled: Option<BTreeSet<Rank>>,
    rounds: usize,
    phase: usize,
    cuts: Cuts,
    ranks: Ranks,
    traffic: Traffic,
    violations: Violations,
}

/// Chunks that arrive: their transfer, the position of their block in it, and their contributors.
struct Arrival {
    transfer: u32,
    block: u32,
    span: Range<u32>,
    who: Contributors,
}

/// Verifies a schedule. See [`Verifier`] for the checks and the cost.
///
/// # Errors
///
/// All violations of the schedule.
pub fn verify(schedule: &Schedule) -> Result<Proof, Violations> {
    let mut verifier = Verifier::new(&schedule.outline);
    for round in &schedule.rounds {
        verifier.round(round);
    }
    verifier.finish()
}

/// Verifies the shares of all ranks, with one round in memory at a time. See [`Verifier`] for the
/// checks and the cost. Shares that never end are read up to the
/// [maximum number of rounds](super::Problem::max_rounds).
///
/// # Errors
///
/// All violations, among them transfers that only one of their ends lists.
pub fn verify_shares(mut shares: Shares) -> Result<Proof, Violations> {
    let mut verifier = Verifier::new(shares.outline());
    while !verifier.refused
        && let Some(joined) = shares.next()
    {
        for mismatch in joined.mismatches {
            verifier.mismatch(mismatch);
        }
        verifier.round(&joined.round);
    }
    verifier.finish()
}

/// The limit of [`Verifier::new`].
const LIMIT: u64 = 1 << 27;

impl Verifier {
    /// Returns a verifier for a schedule with this outline. Its [limit](Self::with_limit) is 2^27,
    /// which an alltoall of 8191 ranks does not exceed.
    #[must_use]
    pub fn new(outline: &Outline) -> Self {
        Self::with_limit(outline, LIMIT)
    }

    /// Returns a verifier with a limit, for untrusted schedules or machines with little memory: the
    /// maximum number of ranks plus blocks that all ranks hold at the beginning and at the end.
    /// Larger schedules are refused with [`ViolationKind::TooLarge`], as are those of more rounds
    /// than [`Problem::max_rounds`](super::Problem::max_rounds).
    ///
    /// [`memory_to_verify`](super::memory_to_verify) estimates the bytes that a schedule takes.
    #[must_use]
    pub fn with_limit(outline: &Outline, limit: u64) -> Self {
        let problem = &outline.problem;
        let (mut cuts, mut violations) = (Cuts::default(), Violations::default());
        let found = conditions::amount(problem);
        let refused = found > limit.into();
        if refused {
            violations.report(Location::default(), ViolationKind::TooLarge { what: "ranks and blocks", found, limit });
        } else {
            conditions::inspect(problem, &mut cuts, &mut violations);
        }
        Self {
            size: problem.ranks(),
            gives_up: problem.collective().is_personalised(),
            refused,
            sampled: None,
            rounds: 0,
            phase: 0,
            cuts,
            ranks: Ranks::new(problem),
            traffic: Traffic::new(outline),
            violations,
            outline: outline.clone(),
        }
    }

    /// Returns a verifier for the parts of some ranks of a schedule of any size without reductions.
    pub(super) fn for_sample(outline: &Outline, some: BTreeSet<Rank>) -> Self {
        Self { sampled: Some(some), ..Self::with_limit(outline, u64::MAX) }
    }

    /// Applies and checks the next round.
    pub fn round(&mut self, round: &Round) {
        let number = self.rounds;
        self.rounds += 1;
        if self.refused {
            return;
        }
        let limit = self.outline.problem.max_rounds();
        if number == limit {
            let (what, found, limit) = ("rounds or more", self.rounds as u128, limit as u64);
            self.violations.report(Location::round(number), ViolationKind::TooLarge { what, found, limit });
            self.refused = true;
            return;
        }
        self.phase(number, round.phase);
        let sound = self.sound(number, round);
        self.traffic.round(number, round, &sound, &mut self.violations);
        let arrivals = self.departures(number, round, &sound);
        self.arrivals(number, round, arrivals);
        for (rank, step) in &round.local {
            self.local(number, *rank, step);
        }
    }

    /// Reports a transfer of the next round whose ends differ, or of which one end is missing.
    pub fn mismatch(&mut self, mismatch: Mismatch) {
        self.mismatch_in(self.rounds, mismatch);
    }

    /// Like [`mismatch`](Self::mismatch), for a round given by its number.
    pub(super) fn mismatch_in(&mut self, round: usize, mismatch: Mismatch) {
        let place = Location::round(round).transfer(mismatch.source, mismatch.destination);
        self.violations.report(place, ViolationKind::Unmatched(Box::new(mismatch)));
    }

    /// Checks the state after the last round, and returns the proof.
    ///
    /// # Errors
    ///
    /// All violations, among them blocks that ranks lack at the end.
    pub fn finish(mut self) -> Result<Proof, Violations> {
        if !self.refused {
            let sampled = self.sampled.take();
            let all =
                self.outline.problem.all().filter(|rank| sampled.as_ref().is_none_or(|sampled| sampled.contains(rank)));
            for rank in all {
                self.end(rank);
            }
        }
        let figures = self.traffic.finish();
        if self.violations.count() == 0 { Ok(Proof::new(figures)) } else { Err(self.violations.with_figures(figures)) }
    }

    fn phase(&mut self, number: usize, found: usize) {
        let phases = self.outline.phases.len().max(1);
        if found >= phases {
            self.violations.report(Location::round(number), ViolationKind::PhaseRange { found, phases });
        }
        if found < self.phase {
            self.violations.report(Location::round(number), ViolationKind::PhaseOrder { found, before: self.phase });
        }
        self.phase = found;
    }

    /// Returns the indices of the transfers between two different ranks that exist.
    fn sound(&mut self, number: usize, round: &Round) -> Vec<usize> {
        let mut sound = Vec::with_capacity(round.transfers.len());
        for (index, &Transfer { source, destination, .. }) in round.transfers.iter().enumerate() {
            let place = Location::round(number).transfer(source, destination);
            let before = self.violations.count();
            for rank in [source, destination].into_iter().filter(|rank| rank.index() >= self.size) {
                self.violations.report(place, ViolationKind::RankRange { found: rank, ranks: self.size });
            }
            if source == destination {
                self.violations.report(place, ViolationKind::ToItself);
            }
            if self.violations.count() == before {
                sound.push(index);
            }
        }
        sound
    }

    /// Returns the chunks that the transfers carry, read from the state before the round, in the
    /// order of the transfers.
    fn departures(&mut self, number: usize, round: &Round, sound: &[usize]) -> Vec<Arrival> {
        let mut arrivals = Vec::with_capacity(sound.iter().map(|&index| round.transfers[index].blocks.len()).sum());
        let mut carried = Vec::new();
        for &index in sound {
            let transfer = &round.transfers[index];
            let place = Location::round(number).transfer(transfer.source, transfer.destination);
            carried.clear();
            for (position, &block) in transfer.blocks.iter().enumerate() {
                if self.usable(place, block) {
                    carried.push((name(block), block.first(), position));
                }
            }
            let mut twice = overlaps(&mut carried, &transfer.blocks);
            twice.sort_unstable();
            carried.sort_unstable_by_key(|&(_, _, position)| position);
            let Self { ranks, cuts, violations, sampled, .. } = self;
            if sampled.as_ref().is_some_and(|sampled| !sampled.contains(&transfer.source)) {
                arrivals.extend(
                    carried.iter().map(|&(_, _, position)| assumed_arrival(index, position, transfer.blocks[position])),
                );
                continue;
            }
            let holdings = ranks.of(transfer.source, cuts);
            for &(name, _, position) in &carried {
                let block = transfer.blocks[position];
                if twice.binary_search(&position).is_ok() {
                    violations.report(place.block(block), ViolationKind::CarriedTwice);
                    continue;
                }
                holdings.read(name, span(block), |part, who| match who {
                    Some(who) => {
                        let (transfer, block, who) = (index as u32, position as u32, who.clone());
                        arrivals.push(Arrival { transfer, block, span: part, who });
                    }
                    None => violations.report(place.block(chunks_of(block, part)), ViolationKind::NotHeld),
                });
                if self.gives_up {
                    holdings.give_up(name, span(block), block.of());
                }
            }
        }
        arrivals
    }

    /// Applies the arrivals, rank by rank, on each rank in listed order. Ranks do not change each
    /// other's holdings, so the order of the ranks does not matter.
    fn arrivals(&mut self, number: usize, round: &Round, mut arrivals: Vec<Arrival>) {
        let destination = |arrival: &Arrival| round.transfers[arrival.transfer as usize].destination;
        if !arrivals.is_sorted_by_key(destination) {
            arrivals.sort_by_cached_key(destination);
        }
        let Self { ranks, cuts, violations, sampled, .. } = self;
        for group in arrivals.chunk_by_mut(|a, b| destination(a) == destination(b)) {
            let rank = destination(&group[0]);
            if sampled.as_ref().is_some_and(|sampled| !sampled.contains(&rank)) {
                continue;
            }
            let holdings = ranks.of(rank, cuts);
            let lost = replaced_twice(round, group);
            let mut lost = lost.iter().peekable();
            for (position, arrival) in group.iter().enumerate() {
                let transfer = &round.transfers[arrival.transfer as usize];
                let place = Location::round(number).transfer(transfer.source, transfer.destination);
                let block = transfer.blocks[arrival.block as usize];
                let mut report = |part, fault| violations.report(place.block(chunks_of(block, part)), fault);
                let Arrival { span, who, .. } = arrival;
                if let Some(&(_, other)) = lost.next_if(|(at, _)| *at == position) {
                    let other = &round.transfers[other as usize];
                    let other = (other.source, other.destination);
                    report(span.clone(), ViolationKind::ReplacedTwice { other });
                } else if transfer.combine == Combine::Replace {
                    holdings.read(name(block), span.clone(), |part, held| {
                        if let Some(held) = held.filter(|&held| held == who) {
                            report(part, ViolationKind::Redundant { held: held.clone() });
                        }
                    });
                }
                let ordered = !self.outline.problem.commutative();
                let merge = Merge { block, span: span.clone(), who, combine: transfer.combine, ordered };
                merge.into(holdings, &mut report);
            }
        }
    }

    fn local(&mut self, number: usize, rank: Rank, step: &LocalStep) {
        let LocalStep { from, into, combine } = *step;
        let place = Location::round(number).rank(rank);
        if rank.index() >= self.size {
            self.violations.report(place, ViolationKind::RankRange { found: rank, ranks: self.size });
            return;
        }
        if !(self.usable(place, from) & self.usable(place, into)) {
            return;
        }
        if (from.count(), from.of()) != (into.count(), into.of()) {
            self.violations.report(place, ViolationKind::LocalSize { from, into });
            return;
        }
        if name(from) == name(into) && span(from).start < span(into).end && span(into).start < span(from).end {
            self.violations.report(place, ViolationKind::LocalOverlap { from, into });
            return;
        }
        let Self { ranks, cuts, violations, .. } = self;
        let holdings = ranks.of(rank, cuts);
        let mut read: SmallVec<[(Range<u32>, Contributors); 1]> = SmallVec::new();
        holdings.read(name(from), span(from), |part, who| match who {
            Some(who) => read.push((part, who.clone())),
            None => violations.report(place.block(chunks_of(from, part)), ViolationKind::NotHeld),
        });
        let ordered = !self.outline.problem.commutative();
        for (part, who) in read {
            let at = part.start - from.first() + into.first();
            let span = at..at + part.end - part.start;
            Merge { block: into, span, who: &who, combine, ordered }.into(holdings, &mut |part, fault| {
                violations.report(place.block(chunks_of(into, part)), fault);
            });
        }
    }

    /// Checks that a block names ranks that exist and is cut as in earlier transfers.
    fn usable(&mut self, place: Location, block: Block) -> bool {
        let fault = conditions::out_of_range(block, self.size).or_else(|| {
            let cut = self.cuts.note(block);
            cut.err().map(|expected| ViolationKind::Cut { expected, found: block.of() })
        });
        let usable = fault.is_none();
        if let Some(fault) = fault {
            self.violations.report(place.block(block), fault);
        }
        usable
    }

    /// Compares what a rank holds at the end with what it must hold.
    fn end(&mut self, rank: Rank) {
        let holdings = self.ranks.last(rank, &self.cuts);
        for wanted in self.ranks.wanted(rank, &self.cuts) {
            let expected = || wanted.who.clone();
            holdings.read(wanted.name, wanted.span, |part, found| {
                let fault = match found {
                    None => ViolationKind::NotDelivered { expected: expected() },
                    Some(found) if *found == wanted.who => return,
                    Some(found) if found.same_ranks(&wanted.who) => {
                        ViolationKind::WrongOrder { expected: expected(), found: found.clone() }
                    }
                    Some(found) => ViolationKind::WrongContributors { expected: expected(), found: found.clone() },
                };
                let all = part == (0..wanted.of) && wanted.block.of() == 1;
                let chunks = wanted.block.whole().chunks(part.start, wanted.of, part.end - part.start);
                let block = if all { wanted.block } else { chunks.unwrap_or(wanted.block) };
                self.violations.report(Location::default().rank(rank).block(block), fault);
            });
        }
    }
}

/// Returns an arrival from a rank outside the sample, which is assumed to hold the block: the only
/// contributor is its source.
fn assumed_arrival(transfer: usize, position: usize, block: Block) -> Arrival {
    let source = Rank::new(block.source().unsigned_abs() as usize);
    Arrival {
        transfer: transfer as u32,
        block: position as u32,
        span: span(block),
        who: Contributors::of(&[source], false),
    }
}

/// Returns some chunks of a block.
fn chunks_of(block: Block, part: Range<u32>) -> Block {
    block.chunks(part.start, block.of(), part.end - part.start).unwrap_or(block)
}

/// Contributions to chunks `span` of a block, which are combined with what a rank holds, or replace
/// it.
struct Merge<'a> {
    block: Block,
    span: Range<u32>,
    who: &'a Contributors,
    combine: Combine,
    /// Whether contributions keep the order in which they are combined.
    ordered: bool,
}

impl Merge<'_> {
    fn into(self, holdings: &mut Holdings, report: &mut impl FnMut(Range<u32>, ViolationKind)) {
        let Self { block, span, who, combine, ordered } = self;
        let (name, of) = (name(block), block.of());
        if combine == Combine::Replace {
            holdings.put(name, span, of, who.clone());
            return;
        }
        let mut met: SmallVec<[(Range<u32>, Option<Contributors>); 1]> = SmallVec::new();
        holdings.read(name, span, |part, held| met.push((part, held.cloned())));
        for (part, held) in met {
            let together = match (&held, combine) {
                (None, _) => Ok(who.clone()),
                (Some(held), Combine::Left) => who.then(held, ordered),
                (Some(held), _) => held.then(who, ordered),
            };
            match (together, held) {
                (Ok(together), _) => holdings.put(name, part, of, together),
                (Err(contributor), Some(held)) => {
                    report(part, ViolationKind::CountedTwice { contributor, found: who.clone(), held });
                }
                (Err(_), None) => {}
            }
        }
    }
}

/// Returns the positions of blocks that overlap an earlier block of the list. `carried` has
/// `(name, first chunk, position)`.
fn overlaps(carried: &mut [(u64, u32, usize)], blocks: &[Block]) -> Vec<usize> {
    let mut found = Vec::new();
    if carried.is_sorted_by(|a, b| a.0 < b.0) {
        return found;
    }
    carried.sort_unstable();
    let mut last: Option<(u64, u32, usize)> = None;
    for &(name, first, position) in carried.iter() {
        let end = first + blocks[position].count();
        last = match last {
            Some((other, other_end, at)) if other == name && other_end > first => {
                found.push(position.max(at));
                Some(if position < at { (name, end, position) } else { (other, other_end, at) })
            }
            _ => Some((name, end, position)),
        };
    }
    found
}

/// Returns the positions of arrivals at one rank that replace an earlier arrival, with the transfer
/// of the earlier one.
fn replaced_twice(round: &Round, group: &[Arrival]) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    let several = group.iter().any(|arrival| arrival.transfer != group[0].transfer);
    if !several {
        return found;
    }
    let mut replacing: Vec<(u64, u32, usize)> = Vec::with_capacity(group.len());
    for (position, arrival) in group.iter().enumerate() {
        let transfer = &round.transfers[arrival.transfer as usize];
        if transfer.combine == Combine::Replace {
            replacing.push((name(transfer.blocks[arrival.block as usize]), arrival.span.start, position));
        }
    }
    replacing.sort_unstable();
    let mut last: Option<(u64, u32, usize)> = None;
    for (name, first, position) in replacing {
        let end = group[position].span.end;
        last = match last {
            Some((other, other_end, at)) if other == name && other_end > first => {
                found.push((position.max(at), group[position.min(at)].transfer));
                Some(if end > other_end { (name, end, position) } else { (other, other_end, at) })
            }
            _ => Some((name, end, position)),
        };
    }
    found.sort_unstable();
    found.dedup_by_key(|(position, _)| *position);
    found
}
