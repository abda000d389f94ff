//! Violations: what is wrong with a schedule, and where.

use std::fmt;

use crate::block::Block;

use super::{Contributors, Figures};

use crate::ids::{Channel, Node, Rank};
use crate::quote::debug_as_text;
use crate::vocabulary::{Mismatch, Ports};

/// The location of a violation in a schedule. Parts that do not apply are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The round, counted from 0. `None` for the definition of the collective and for the state
    /// after the last round.
    pub round: Option<usize>,
    /// The sender and the receiver.
    pub transfer: Option<(Rank, Rank)>,
    /// The rank that is affected.
    pub rank: Option<Rank>,
    /// The block, or some of its chunks.
    pub block: Option<Block>,
}

impl Location {
    pub(super) fn round(round: usize) -> Self {
        Self { round: Some(round), ..Self::default() }
    }

    pub(super) fn transfer(self, source: Rank, destination: Rank) -> Self {
        Self { transfer: Some((source, destination)), ..self }
    }

    pub(super) fn rank(self, rank: Rank) -> Self {
        Self { rank: Some(rank), ..self }
    }

    pub(super) fn block(self, block: Block) -> Self {
        Self { block: Some(block), ..self }
    }
}

/// A violation: a place where a schedule is wrong.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}{kind}")]
#[non_exhaustive]
pub struct Violation {
    /// The location in the schedule.
    pub location: Location,
    /// The kind of the violation.
    pub kind: ViolationKind,
}

debug_as_text!(Violation);

/// The kind of a [`Violation`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViolationKind {
    /// The schedule exceeds a limit of the verifier. Nothing after this point was examined.
    #[error("too large to verify: {found} {what}, at most {limit} are allowed")]
    TooLarge {
        /// The quantity that exceeds the limit.
        what: &'static str,
        /// The amount.
        found: u128,
        /// The maximum amount.
        limit: u64,
    },
    /// A custom collective is defined for another number of ranks.
    #[error("the collective is defined for {found} ranks, expected {expected}")]
    ConditionRanks {
        /// The number of ranks.
        expected: usize,
        /// The number of ranks that it is defined for.
        found: usize,
    },
    /// A custom collective lists a block twice for one rank, at the beginning or at the end.
    #[error("the collective lists it twice for one rank")]
    StatedTwice,
    /// A custom collective names a contributor that does not exist.
    #[error("the collective names contributor {contributor}, expected 0 to {}", ranks.saturating_sub(1))]
    ContributorRange {
        /// The contributor.
        contributor: Rank,
        /// The number of ranks.
        ranks: usize,
    },
    /// A custom collective names a contributor twice.
    #[error("the collective names contributor {contributor} twice")]
    ContributorTwice {
        /// The contributor.
        contributor: Rank,
    },
    /// A round belongs to a phase that the outline does not name.
    #[error("phase {found}, expected 0 to {}", phases.saturating_sub(1))]
    PhaseRange {
        /// The phase.
        found: usize,
        /// The number of phases.
        phases: usize,
    },
    /// A round belongs to an earlier phase than its predecessor.
    #[error("phase {found} comes after phase {before}")]
    PhaseOrder {
        /// The phase.
        found: usize,
        /// The phase of the preceding round.
        before: usize,
    },
    /// The two ends of a transfer differ, or one of them is missing.
    #[error("{}", describe(.0))]
    Unmatched(Box<Mismatch>),
    /// A rank does not exist.
    #[error("rank {found}, expected 0 to {}", ranks.saturating_sub(1))]
    RankRange {
        /// The number.
        found: Rank,
        /// The number of ranks.
        ranks: usize,
    },
    /// A transfer's sender is its receiver.
    #[error("a rank sends to itself")]
    ToItself,
    /// A route does not lead from the sender's node to the receiver's.
    #[error("the route {}, expected from node {} to node {}", match found {
        Some((from, to)) => format!("leads from node {from} to node {to}"),
        None => "is empty".to_owned(),
    }, expected.0, expected.1)]
    RouteEnds {
        /// The nodes of sender and receiver.
        expected: (Node, Node),
        /// The ends of the route; `None` if it is empty.
        found: Option<(Node, Node)>,
    },
    /// A route leads over a node that does not exist.
    #[error("the route passes node {found}, expected 0 to {}", nodes.saturating_sub(1))]
    RouteNode {
        /// The number.
        found: Node,
        /// The number of nodes.
        nodes: usize,
    },
    /// A route uses a channel that the network does not have.
    #[error("the route uses channel {found}, which the network does not have")]
    NoChannel {
        /// The channel.
        found: Channel,
    },
    /// A block's source or destination does not exist.
    #[error("names rank {found}, expected less than {ranks}")]
    BlockRange {
        /// The number.
        found: i32,
        /// The number of ranks.
        ranks: usize,
    },
    /// A block is cut into different numbers of chunks.
    #[error("cut into {found} chunks, expected {expected} as elsewhere")]
    Cut {
        /// The number of chunks in an earlier transfer.
        expected: u32,
        /// The number of chunks here.
        found: u32,
    },
    /// A transfer carries a block twice.
    #[error("carried twice in one transfer")]
    CarriedTwice,
    /// A rank sends, or reads in a local step, a block that it does not hold or has given up.
    #[error("not held")]
    NotHeld,
    /// The receiver already has the block, from the same contributors.
    #[error("redundant: the rank already holds it from {held}")]
    Redundant {
        /// The contributors of the block that it holds.
        held: Contributors,
    },
    /// Two arrivals of a round replace the same block of a rank, so that one of them is lost.
    #[error("replaced twice in one round, also by the transfer from rank {}", other.0)]
    ReplacedTwice {
        /// The sender and the receiver of the earlier transfer.
        other: (Rank, Rank),
    },
    /// A contribution would count twice in a result.
    #[error("counts the contribution of rank {contributor} twice: {found} is combined with {held}")]
    CountedTwice {
        /// The rank whose contribution it is.
        contributor: Rank,
        /// The contributors of the block that arrives.
        found: Contributors,
        /// The contributors of the block that the rank holds.
        held: Contributors,
    },
    /// A rank sends more in a round than its ports allow.
    #[error("{found} sends in one round, expected at most {allowed} with ports {ports}")]
    Sends {
        /// The port model.
        ports: Ports,
        /// The number of sends so far.
        found: u64,
        /// The maximum number.
        allowed: u64,
    },
    /// A rank receives more in a round than its ports allow.
    #[error("{found} receives in one round, expected at most {allowed} with ports {ports}")]
    Receives {
        /// The port model.
        ports: Ports,
        /// The number of receives so far.
        found: u64,
        /// The maximum number.
        allowed: u64,
    },
    /// With ports `same-value`, a rank sends different blocks in one round.
    #[error("blocks differ from those sent to rank {other} in the same round, expected the same with ports same-value")]
    OtherValue {
        /// The receiver of the other blocks.
        other: Rank,
    },
    /// With ports `same-value`, two sends of a rank leave over the same channel.
    #[error("leaves over channel {channel}, as does the transfer to rank {other} in the same round")]
    SameChannel {
        /// The channel.
        channel: Channel,
        /// The receiver of the other transfer.
        other: Rank,
    },
    /// Two transfers of a round use the same channel, although the ports are `all` or the outline
    /// promises no contention.
    #[error("channel {channel} also carries the transfer from rank {} to rank {} in the same round", other.0, other.1)]
    ChannelShared {
        /// The channel.
        channel: Channel,
        /// The sender and the receiver of the first transfer over it.
        other: (Rank, Rank),
    },
    /// A local step reads and writes different numbers of chunks.
    #[error("a local step reads {from} and writes {into}, expected the same number of chunks in both")]
    LocalSize {
        /// The block that is read.
        from: Block,
        /// The block that is written.
        into: Block,
    },
    /// A local step writes chunks that it reads.
    #[error("a local step reads {from} and writes {into}, expected no overlap")]
    LocalOverlap {
        /// The block that is read.
        from: Block,
        /// The block that is written.
        into: Block,
    },
    /// At the end a rank lacks a block.
    #[error("not delivered, expected from {expected}")]
    NotDelivered {
        /// The contributors that it should have.
        expected: Contributors,
    },
    /// At the end a rank has a block from the wrong contributors.
    #[error("at the end it has the contributions of {found}, expected {expected}")]
    WrongContributors {
        /// The contributors that it should have.
        expected: Contributors,
        /// The contributors that it has.
        found: Contributors,
    },
    /// At the end a rank has a result of the right contributions in the wrong order, and the
    /// operation does not commute.
    #[error("at the end combined in the order {found}, expected {expected}")]
    WrongOrder {
        /// The right order.
        expected: Contributors,
        /// The order in which they were combined.
        found: Contributors,
    },
}

/// All violations of a schedule.
///
/// All are counted, and the first 100,000 are kept.
#[derive(Clone, Default)]
pub struct Violations {
    kept: Vec<Violation>,
    count: u64,
    figures: Box<Figures>,
}

debug_as_text!(Violations);

impl Violations {
    /// The number of violations that are kept. Without it, a large schedule in which every block is
    /// wrong would exhaust memory.
    const KEPT: usize = 100_000;

    const SHOWN: usize = 10;

    pub(super) fn report(&mut self, location: Location, kind: ViolationKind) {
        self.count += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(Violation { location, kind });
        }
    }

    pub(super) fn with_figures(self, figures: Figures) -> Self {
        Self { figures: Box::new(figures), ..self }
    }

    /// Returns the violations that were kept, round by round; those of the final state come last.
    #[must_use]
    pub fn all(&self) -> &[Violation] {
        &self.kept
    }

    /// Returns the number of all violations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the figures of the invalid schedule. Transfers between ranks that do not exist are
    /// left out, and invalid routes count no hops and no channels.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}

impl std::error::Error for Violations {}

/// Writes the number of violations and the first ten.
impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} violation{plural}", self.count)?;
        for violation in self.kept.iter().take(Self::SHOWN) {
            write!(f, "\n  {violation}")?;
        }
        match self.count.saturating_sub(Self::SHOWN as u64) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// Writes the known parts, as in `round 3, 4 to 7, block [0, 5]: `.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.round.map(|round| format!("round {round}")),
            self.transfer.map(|(source, destination)| format!("{source} to {destination}")),
            self.rank.map(|rank| format!("rank {rank}")),
            self.block.map(|block| format!("block {block}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { Ok(()) } else { write!(f, "{}: ", parts.join(", ")) }
    }
}

fn describe(mismatch: &Mismatch) -> String {
    let blocks = |blocks: &[Block]| match blocks {
        [] => "no blocks".to_owned(),
        [one] => format!("block {one}"),
        [first, rest @ ..] => format!("block {first} and {} more", rest.len()),
    };
    match (&mismatch.sent, &mismatch.awaited) {
        (Some(sent), Some(awaited)) if sent.combine != awaited.combine => {
            format!("sent with {:?}, awaited with {:?}", sent.combine, awaited.combine)
        }
        (Some(sent), Some(awaited)) => {
            let same = sent.blocks.iter().zip(&awaited.blocks).take_while(|(a, b)| a == b).count();
            let rest = |end: &[Block]| blocks(end.get(same..).unwrap_or_default());
            format!("after {same} equal blocks, sent {}, awaited {}", rest(&sent.blocks), rest(&awaited.blocks))
        }
        (Some(sent), None) => format!("sent {}, nothing awaited", blocks(&sent.blocks)),
        (None, Some(awaited)) => format!("awaited {}, nothing sent", blocks(&awaited.blocks)),
        (None, None) => "neither sent nor awaited".to_owned(),
    }
}
