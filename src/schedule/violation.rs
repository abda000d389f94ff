//! What can be wrong with a schedule, and where.

use std::fmt;

use crate::block::Block;

use super::{Contributors, Figures};

use crate::ids::{Channel, Node, Rank};
use crate::vocabulary::{Mismatch, Ports};

/// Where in a schedule something is wrong. What is not concerned is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The round, counted from 0. `None` for what concerns the collective, or the state after the last round.
    pub round: Option<usize>,
    /// Who sends, and who receives.
    pub transfer: Option<(Rank, Rank)>,
    /// The rank at which it shows.
    pub rank: Option<Rank>,
    /// The block, or those of its chunks.
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

/// Something wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}{kind}")]
#[non_exhaustive]
pub struct Violation {
    /// Where.
    pub location: Location,
    /// What.
    pub kind: ViolationKind,
}

/// What is wrong. The [`Location`] beside it says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViolationKind {
    /// There is more to keep track of than is allowed; nothing was looked at from here on.
    #[error("too large to verify: {found} {what}, at most {limit} are allowed")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u128,
        /// How much is allowed.
        limit: u64,
    },
    /// A custom collective says what another number of ranks hold.
    #[error("the collective is given for {found} ranks, expected {expected}")]
    ConditionRanks {
        /// How many ranks there are.
        expected: usize,
        /// For how many it is given.
        found: usize,
    },
    /// A custom collective states a block twice for one rank and moment.
    #[error("the collective states it twice for one rank")]
    StatedTwice,
    /// A custom collective names a contributor that is no rank.
    #[error("the collective names contributor {contributor}, expected 0 to {}", ranks.saturating_sub(1))]
    ContributorRange {
        /// The contributor.
        contributor: Rank,
        /// How many ranks there are.
        ranks: usize,
    },
    /// A custom collective names a contributor twice.
    #[error("the collective names contributor {contributor} twice")]
    ContributorTwice {
        /// The contributor.
        contributor: Rank,
    },
    /// A round belongs to a phase that the outline has no name for.
    #[error("phase {found}, expected 0 to {}", phases.saturating_sub(1))]
    PhaseRange {
        /// The phase.
        found: usize,
        /// How many there are.
        phases: usize,
    },
    /// A round belongs to an earlier phase than the one before it.
    #[error("phase {found} comes after phase {before}")]
    PhaseOrder {
        /// The phase.
        found: usize,
        /// That of the round before.
        before: usize,
    },
    /// The two ends of a transfer do not say the same, or one is missing.
    #[error("{}", describe(.0))]
    Unmatched(Box<Mismatch>),
    /// There is no such rank.
    #[error("rank {found}, expected 0 to {}", ranks.saturating_sub(1))]
    RankRange {
        /// The number.
        found: Rank,
        /// How many ranks there are.
        ranks: usize,
    },
    /// A rank sends to itself.
    #[error("a rank sends to itself")]
    ToItself,
    /// A route does not lead from the sender's node to the receiver's.
    #[error("the route leads {}, expected from node {} to node {}", match found {
        Some((from, to)) => format!("from node {from} to node {to}"),
        None => "nowhere".to_owned(),
    }, expected.0, expected.1)]
    RouteEnds {
        /// The nodes of sender and receiver.
        expected: (Node, Node),
        /// The ends of the route; `None` if it is empty.
        found: Option<(Node, Node)>,
    },
    /// A route leads over a node that does not exist.
    #[error("the route leads over node {found}, expected 0 to {}", nodes.saturating_sub(1))]
    RouteNode {
        /// The number.
        found: Node,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A route goes where there is no channel.
    #[error("the route leads over {found}, which is no channel of the network")]
    NoChannel {
        /// From where to where.
        found: Channel,
    },
    /// A block's source or destination is no rank.
    #[error("it names rank {found}, expected less than {ranks}")]
    BlockRange {
        /// The number.
        found: i32,
        /// How many ranks there are.
        ranks: usize,
    },
    /// A block is cut into different numbers of chunks.
    #[error("cut into {found} chunks, expected {expected} as elsewhere")]
    Cut {
        /// How many chunks it was cut into elsewhere.
        expected: u32,
        /// How many it is cut into here.
        found: u32,
    },
    /// A transfer carries a block twice.
    #[error("carried twice in one transfer")]
    CarriedTwice,
    /// A rank sends, or reads in a local step, what it does not hold; or, of a personalised collective, no more holds.
    #[error("not held")]
    NotHeld,
    /// What arrives is what the rank has already, from the same contributors.
    #[error("redundant: the rank holds it from {held} already")]
    Redundant {
        /// Whose contributions it holds.
        held: Contributors,
    },
    /// Two arrivals of one round at one rank replace the same block, so that one of them is lost.
    #[error("replaced twice in one round, also by what rank {} sends", other.0)]
    ReplacedTwice {
        /// The transfer before.
        other: (Rank, Rank),
    },
    /// A contribution would be in a result twice.
    #[error("counts the contribution of rank {contributor} twice: {found} meets {held}")]
    CountedTwice {
        /// Whose.
        contributor: Rank,
        /// What comes.
        found: Contributors,
        /// What was there.
        held: Contributors,
    },
    /// A rank sends more in a round than its ports allow.
    #[error("{found} sends in one round, expected at most {allowed} with ports {ports}")]
    Sends {
        /// The port model.
        ports: Ports,
        /// How many it sends up to here.
        found: u64,
        /// How many it may.
        allowed: u64,
    },
    /// A rank receives more in a round than its ports allow.
    #[error("{found} receives in one round, expected at most {allowed} with ports {ports}")]
    Receives {
        /// The port model.
        ports: Ports,
        /// How many it receives up to here.
        found: u64,
        /// How many it may.
        allowed: u64,
    },
    /// With ports `same-value`, a rank sends different blocks in one round.
    #[error("other blocks than to rank {other} in the same round, expected the same with ports same-value")]
    OtherValue {
        /// Who is sent the other blocks.
        other: Rank,
    },
    /// With ports `same-value`, two sends of a rank leave over the same channel.
    #[error("leaves over channel {channel}, as what rank {other} is sent in the same round")]
    SameChannel {
        /// The channel.
        channel: Channel,
        /// Who is sent the other transfer.
        other: Rank,
    },
    /// Two transfers of one round use a channel, against ports `all` or the promise that none do.
    #[error("channel {channel} also carries what rank {} sends rank {} in the same round", other.0, other.1)]
    ChannelShared {
        /// The channel.
        channel: Channel,
        /// The first transfer over it.
        other: (Rank, Rank),
    },
    /// A local step reads and writes different amounts.
    #[error("a local step reads {from} and writes {into}, expected as many chunks of as many")]
    LocalSize {
        /// What is read.
        from: Block,
        /// What is written.
        into: Block,
    },
    /// A local step reads what it writes.
    #[error("a local step reads {from} and writes {into}, expected no overlap")]
    LocalOverlap {
        /// What is read.
        from: Block,
        /// What is written.
        into: Block,
    },
    /// At the end a rank lacks what it shall have.
    #[error("not delivered, expected from {expected}")]
    NotDelivered {
        /// Whose contributions it should hold.
        expected: Contributors,
    },
    /// At the end a rank has a result of the wrong contributions.
    #[error("at the end from {found}, expected from {expected}")]
    WrongContributors {
        /// Whose contributions it should hold.
        expected: Contributors,
        /// Whose it holds.
        found: Contributors,
    },
    /// At the end a rank has a result of the right contributions, in the wrong order for an operation that does not
    /// commute.
    #[error("at the end combined in the order {found}, expected {expected}")]
    WrongOrder {
        /// The right order.
        expected: Contributors,
        /// The order it is in.
        found: Contributors,
    },
}

/// Everything that is wrong with a schedule.
///
/// All are counted; the first [`Violations::KEPT`] are kept.
#[derive(Clone, Debug, Default)]
pub struct Violations {
    kept: Vec<Violation>,
    count: u64,
    figures: Box<Figures>,
}

impl Violations {
    /// How many are kept, so that a schedule with every block of a large machine amiss does not exhaust memory.
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

    /// The violations, round by round; those of the end last.
    #[must_use]
    pub fn all(&self) -> &[Violation] {
        &self.kept
    }

    /// How many there are, those included that were not kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What was counted all the same. Transfers between ranks that do not exist are left out, and routes that are no
    /// paths count no hops and no channels.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}

impl std::error::Error for Violations {}

/// How many, and the first of them.
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

/// `round 3, 4 to 7, block [0, 5]: `, as far as it is known.
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
            format!("sent to {:?}, awaited to {:?}", sent.combine, awaited.combine)
        }
        (Some(sent), Some(awaited)) => {
            let same = sent.blocks.iter().zip(&awaited.blocks).take_while(|(a, b)| a == b).count();
            let rest = |end: &[Block]| blocks(end.get(same..).unwrap_or_default());
            format!("after {same} blocks alike, sent {}, awaited {}", rest(&sent.blocks), rest(&awaited.blocks))
        }
        (Some(sent), None) => format!("sent {}, nothing awaited", blocks(&sent.blocks)),
        (None, Some(awaited)) => format!("awaited {}, nothing sent", blocks(&awaited.blocks)),
        (None, None) => "neither sent nor awaited".to_owned(),
    }
}
