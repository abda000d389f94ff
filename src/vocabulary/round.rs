//! Rounds, as one rank sees them and as a whole.

use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};

/// How an arriving block, or the source of a local step, meets what is held under that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// It takes its place.
    #[default]
    Replace,
    /// It is combined with it, what comes before what is held.
    Left,
    /// It is combined with it, what comes after what is held.
    Right,
}

/// The way a transfer takes through the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Route {
    /// The topology's own, from the sender's node to the receiver's.
    #[default]
    Default,
    /// These nodes, both ends included.
    Via(Vec<Node>),
}

/// One rank's end of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The rank at the other end.
    pub peer: Rank,
    /// What travels, in the order both ends agree on.
    pub blocks: Vec<Block>,
    /// How it meets what the receiver holds. Both ends say the same.
    pub combine: Combine,
    /// The way; the sender decides, the receiver's is not looked at.
    pub route: Route,
}

impl End {
    /// A plain transfer: replaces, by the default route.
    #[must_use]
    pub fn new(peer: Rank, blocks: Vec<Block>) -> Self {
        Self { peer, blocks, combine: Combine::Replace, route: Route::Default }
    }

    /// The same, combined so.
    #[must_use]
    pub fn combined(self, combine: Combine) -> Self {
        Self { combine, ..self }
    }

    /// The same, by this route.
    #[must_use]
    pub fn via(self, route: Vec<Node>) -> Self {
        Self { route: Route::Via(route), ..self }
    }
}

/// Something a rank does by itself at the end of a round: `into` becomes `from`, or is combined
/// with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalStep {
    /// What is read.
    pub from: Block,
    /// What is written; of the same number of chunks.
    pub into: Block,
    /// How.
    pub combine: Combine,
}

/// What one rank does in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankRound {
    /// Which of the schedule's [phases](super::Outline::phases) the round belongs to. All ranks say
    /// the same.
    pub phase: usize,
    /// What it sends.
    pub sends: Vec<End>,
    /// What it receives; arrivals take effect in this order.
    pub receives: Vec<End>,
    /// What it does afterwards, in this order.
    pub local: Vec<LocalStep>,
}

/// One rank's rounds, made one after the other. Ranks whose share ends early idle for the rest.
pub type Share = Box<dyn Iterator<Item = RankRound> + Send>;

/// A message by how much it is, not by what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The rank that receives it.
    pub peer: Rank,
    /// How many blocks.
    pub volume: Volume,
    /// The way.
    pub route: Route,
}

/// What one rank does in one round, without the blocks: all that the time of a schedule depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankAmounts {
    /// As [`RankRound::phase`].
    pub phase: usize,
    /// What it sends, in the order of [`RankRound::sends`].
    pub sends: Vec<Amount>,
    /// How many messages it receives.
    pub receives: usize,
}

impl From<RankRound> for RankAmounts {
    fn from(RankRound { phase, sends, receives, .. }: RankRound) -> Self {
        let amount = |End { peer, blocks, route, .. }| Amount { peer, volume: Volume::of(&blocks), route };
        Self { phase, sends: sends.into_iter().map(amount).collect(), receives: receives.len() }
    }
}

/// One rank's rounds by amounts, made one after the other.
pub type Amounts = Box<dyn Iterator<Item = RankAmounts> + Send>;

/// A transfer with both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Who sends.
    pub source: Rank,
    /// Who receives.
    pub destination: Rank,
    /// What travels.
    pub blocks: Vec<Block>,
    /// How it meets what the receiver holds.
    pub combine: Combine,
    /// The way.
    pub route: Route,
}

/// One round of everybody. The order of the transfers to one rank is the order in which they take
/// effect there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Which of the schedule's [phases](super::Outline::phases) it belongs to.
    pub phase: usize,
    /// What moves.
    pub transfers: Vec<Transfer>,
    /// What ranks do afterwards; a rank's steps in order.
    pub local: Vec<(Rank, LocalStep)>,
}

/// An end of a transfer whose other end is missing or different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Who sends.
    pub source: Rank,
    /// Who receives.
    pub destination: Rank,
    /// What the sender says, if anything.
    pub sent: Option<End>,
    /// What the receiver says, if anything.
    pub awaited: Option<End>,
}
