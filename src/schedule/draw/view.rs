//! The options and the errors of a picture.

use std::ops::Range;

use crate::ids::Rank;
use crate::quote::debug_as_text;
use crate::vocabulary::BuildError;

/// The maximum number of nodes of a network.
pub(super) const MAX_NODES: usize = 4096;
/// The maximum number of frames of a picture.
pub(super) const MAX_FRAMES: usize = 64;
/// The maximum number of arrows of a picture, in all frames together.
pub(super) const MAX_ARROWS: usize = 20_000;
/// The maximum number of nodes on the routes of all arrows of a picture together.
pub(super) const MAX_HOPS: usize = 500_000;

/// The part of a schedule that a picture shows. Needs the feature `draw`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// The frames.
    pub frames: Frames,
    /// The rank whose transfers are shown. By default all transfers are; but with [`Frames::Auto`],
    /// if the arrows would be too dense, only those of one rank, and the picture says so.
    pub focus: Option<Rank>,
    /// The title. By default the collective, the network and the algorithm.
    pub title: Option<String>,
}

impl View {
    /// Chooses the frames.
    #[must_use]
    pub fn with_frames(self, frames: Frames) -> Self {
        Self { frames, ..self }
    }

    /// Shows only what one rank sends and receives.
    #[must_use]
    pub fn with_focus(self, rank: Rank) -> Self {
        Self { focus: Some(rank), ..self }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }
}

/// The frames of a picture. Rounds without arrows have no frame, unless they are given by number.
/// Needs the feature `draw`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frames {
    /// Each round if there are at most twelve; otherwise each phase if these are fewer and not too
    /// dense; otherwise the first six rounds.
    #[default]
    Auto,
    /// Each round.
    Rounds,
    /// Each phase. Equal transfers of several rounds are one arrow.
    Phases,
    /// Each round of a range.
    Range(Range<usize>),
}

/// The reason why a schedule cannot be drawn. Needs the feature `draw`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The network is too large.
    #[error("{topology} has {found} nodes, at most {MAX_NODES} can be drawn")]
    #[non_exhaustive]
    Nodes {
        /// The network.
        topology: String,
        /// The number of its nodes.
        found: usize,
    },
    /// A tree is one of another network.
    #[error("the tree has {found} nodes, and {topology} has {nodes}")]
    #[non_exhaustive]
    Tree {
        /// The network.
        topology: String,
        /// The number of its nodes.
        nodes: usize,
        /// The number of nodes of the tree.
        found: usize,
    },
    /// The picture exceeds a limit.
    #[error(
        "{found} {what} are too many for a picture, at most {limit} are drawn: show fewer rounds, or one rank's own transfers"
    )]
    #[non_exhaustive]
    Large {
        /// The things that exceed the limit.
        what: &'static str,
        /// The number found, at least.
        found: usize,
        /// The maximum number.
        limit: usize,
    },
    /// The given rounds do not exist.
    #[error("the schedule has no rounds {} to {}: {}", range.start, range.end.saturating_sub(1), match rounds {
        0 => "it has none".to_owned(),
        1 => "it has round 0 only".to_owned(),
        _ => format!("it has rounds 0 to {}", rounds - 1),
    })]
    #[non_exhaustive]
    Range {
        /// The given rounds.
        range: Range<usize>,
        /// The number of rounds.
        rounds: usize,
    },
    /// A rank does not exist: the focus, a sender or a receiver.
    #[error("rank {rank} is out of range: there are {ranks} ranks, 0 to {}", ranks - 1)]
    #[non_exhaustive]
    Rank {
        /// The rank.
        rank: Rank,
        /// The number of ranks.
        ranks: usize,
    },
    /// A route is invalid.
    #[error("round {round}, {sender} to {receiver}: the route is empty or leaves the {nodes} nodes")]
    #[non_exhaustive]
    Route {
        /// The round.
        round: usize,
        /// The sender.
        sender: Rank,
        /// The receiver.
        receiver: Rank,
        /// The number of nodes.
        nodes: usize,
    },
    /// The ranks' shares do not match.
    #[error(transparent)]
    Build(#[from] BuildError),
}

debug_as_text!(DrawError);
