//! Rounds: one rank's part, and the whole.

use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};

/// The way in which an arriving block, or the source of a local step, is merged with the block of
/// that name that the rank already holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Combine {
    /// The new block replaces the held one.
    #[default]
    Replace,
    /// The new block is combined with the held one, as the left operand.
    Left,
    /// The new block is combined with the held one, as the right operand.
    Right,
}

impl Combine {
    /// Returns the way in which a receiver merges what a sender has, so that the contributions of lower
    /// ranks are on the left.
    pub(crate) fn in_rank_order<R: Ord>(sender: R, receiver: R) -> Self {
        if sender < receiver { Self::Left } else { Self::Right }
    }
}

/// The route of a transfer through the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// The topology's default route from the sender's node to the receiver's.
    #[default]
    Default,
    /// These nodes, both ends included.
    Via(Vec<Node>),
}

/// One rank's end of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The rank at the other end.
    pub peer: Rank,
    /// The blocks of the message. Both ends list them in the same order.
    pub blocks: Vec<Block>,
    /// The receiver's way to merge the blocks. Both ends must agree.
    pub combine: Combine,
    /// The route. The sender's counts; the receiver's is ignored.
    pub route: Route,
}

impl End {
    /// Returns one end of a transfer that replaces blocks and takes the default route.
    #[must_use]
    pub fn new(peer: Rank, blocks: Vec<Block>) -> Self {
        Self { peer, blocks, combine: Combine::Replace, route: Route::Default }
    }

    /// Sets how the receiver merges the blocks.
    #[must_use]
    pub fn combined(self, combine: Combine) -> Self {
        Self { combine, ..self }
    }

    /// Sets the route: all its nodes, both ends included.
    #[must_use]
    pub fn via(self, route: Vec<Node>) -> Self {
        Self { route: Route::Via(route), ..self }
    }
}

/// A copy or a combination that a rank performs on its own blocks at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LocalStep {
    /// The block that is read.
    pub from: Block,
    /// The block that is written. It has as many chunks as `from`.
    pub into: Block,
    /// The way to merge `from` into `into`.
    pub combine: Combine,
}

impl LocalStep {
    /// Returns the step that merges `from` into `into`.
    #[must_use]
    pub const fn new(from: Block, into: Block, combine: Combine) -> Self {
        Self { from, into, combine }
    }
}

/// One rank's part of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankRound {
    /// The index of the round's [phase](super::Outline::phases), the same on all ranks.
    pub phase: usize,
    /// The messages that the rank sends.
    pub sends: Vec<End>,
    /// The messages that the rank receives. Arrivals take effect in this order.
    pub receives: Vec<End>,
    /// The rank's local steps after its transfers, in this order.
    pub local: Vec<LocalStep>,
}

impl RankRound {
    /// Returns a round of phase 0 with these transfers and no local steps.
    #[must_use]
    pub fn new(sends: Vec<End>, receives: Vec<End>) -> Self {
        Self { sends, receives, ..Self::default() }
    }

    /// Sets the index of the round's [phase](super::Outline::phases).
    #[must_use]
    pub fn in_phase(self, phase: usize) -> Self {
        Self { phase, ..self }
    }

    /// Sets the local steps after the transfers.
    #[must_use]
    pub fn with_local(self, local: Vec<LocalStep>) -> Self {
        Self { local, ..self }
    }

    /// Returns every block that is sent, received, or named by a local step.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        let moved = self.sends.iter().chain(&self.receives).flat_map(|end| end.blocks.iter().copied());
        moved.chain(self.local.iter().flat_map(|step| [step.from, step.into]))
    }
}

/// One rank's rounds, computed one after the other. A rank whose share ends before the others'
/// idles in the remaining rounds.
pub type Share = Box<dyn Iterator<Item = RankRound> + Send>;

/// The size and route of a message, without its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Amount {
    /// The rank that receives the message.
    pub peer: Rank,
    /// The size of the message, in blocks.
    pub volume: Volume,
    /// The route.
    pub route: Route,
}

impl Amount {
    /// Returns a message of this size that takes the default route.
    #[must_use]
    pub fn new(peer: Rank, volume: Volume) -> Self {
        Self { peer, volume, route: Route::Default }
    }
}

/// One rank's part of a round by message sizes: all that simulated time depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankAmounts {
    /// As [`RankRound::phase`].
    pub phase: usize,
    /// The messages that the rank sends, in the order of [`RankRound::sends`].
    pub sends: Vec<Amount>,
    /// The number of messages that the rank receives.
    pub receives: usize,
    /// The volume that the rank combines.
    pub combined: Volume,
}

impl RankAmounts {
    /// Returns a round of phase 0.
    #[must_use]
    pub fn new(sends: Vec<Amount>, receives: usize) -> Self {
        Self { sends, receives, ..Self::default() }
    }

    /// Sets the volume that the rank combines.
    #[must_use]
    pub fn combining(self, combined: Volume) -> Self {
        Self { combined, ..self }
    }
}

impl From<RankRound> for RankAmounts {
    fn from(RankRound { phase, sends, receives, local }: RankRound) -> Self {
        let arrived = receives.iter().filter(|end| end.combine != Combine::Replace);
        let merged = local.iter().filter(|step| step.combine != Combine::Replace);
        let combined = arrived.map(|end| Volume::of(&end.blocks)).chain(merged.map(|step| Volume::of(&[step.from])));
        let combined = combined.sum();
        let amount = |End { peer, blocks, route, .. }| Amount { peer, volume: Volume::of(&blocks), route };
        Self { phase, sends: sends.into_iter().map(amount).collect(), receives: receives.len(), combined }
    }
}

/// One rank's rounds by message sizes, computed one after the other.
pub type Amounts = Box<dyn Iterator<Item = RankAmounts> + Send>;

/// A transfer with both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfer {
    /// The sender.
    pub source: Rank,
    /// The receiver.
    pub destination: Rank,
    /// The blocks of the message, in order.
    pub blocks: Vec<Block>,
    /// The receiver's way to merge the blocks.
    pub combine: Combine,
    /// The route.
    pub route: Route,
}

impl Transfer {
    /// Returns a transfer that replaces blocks and takes the default route.
    #[must_use]
    pub fn new(source: Rank, destination: Rank, blocks: Vec<Block>) -> Self {
        Self { source, destination, blocks, combine: Combine::Replace, route: Route::Default }
    }
}

/// A round of all ranks. Transfers to one rank take effect there in the order in which they are
/// listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Round {
    /// The index of the round's [phase](super::Outline::phases).
    pub phase: usize,
    /// The transfers. All of them see the state before the round.
    pub transfers: Vec<Transfer>,
    /// The local steps after the transfers, with their ranks. A rank's steps are in order.
    pub local: Vec<(Rank, LocalStep)>,
}

impl Round {
    /// Returns a round of phase 0 with these transfers and no local steps.
    #[must_use]
    pub fn new(transfers: Vec<Transfer>) -> Self {
        Self { transfers, ..Self::default() }
    }

    /// Sets the index of the round's [phase](super::Outline::phases).
    #[must_use]
    pub fn in_phase(self, phase: usize) -> Self {
        Self { phase, ..self }
    }

    /// Sets the local steps after the transfers, with their ranks.
    #[must_use]
    pub fn with_local(self, local: Vec<(Rank, LocalStep)>) -> Self {
        Self { local, ..self }
    }
}

/// A transfer whose ends do not match, or that has one end only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The sender.
    pub source: Rank,
    /// The receiver.
    pub destination: Rank,
    /// The sender's end, if it has one.
    pub sent: Option<End>,
    /// The receiver's end, if it has one.
    pub awaited: Option<End>,
}

impl Mismatch {
    /// Returns the mismatch of these two ends.
    #[must_use]
    pub fn new(source: Rank, destination: Rank, sent: Option<End>, awaited: Option<End>) -> Self {
        Self { source, destination, sent, awaited }
    }
}
