//! What is drawn, and why something is not.

use std::ops::Range;

use crate::ids::Rank;
use crate::vocabulary::BuildError;

/// Networks of more nodes are not drawn.
pub const MAX_NODES: usize = 4096;
/// A picture has no more frames.
pub const MAX_FRAMES: usize = 64;
/// A picture has no more arrows, all frames together.
pub const MAX_ARROWS: usize = 20_000;
/// The ways of all arrows of a picture have together no more nodes.
pub const MAX_HOPS: usize = 500_000;

/// What of a schedule a picture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// What is a frame.
    pub frames: Frames,
    /// Only what this rank sends and receives. Unless given, all that is sent; but with [`Frames::Auto`], where that is too
    /// much to be told apart, only what one rank sends and receives, and the picture says so.
    pub focus: Option<Rank>,
    /// What stands above; what is scheduled, where and how, unless given.
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

/// What is a frame of a picture. Rounds in which nothing is drawn have none, unless asked for by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frames {
    /// Rounds if they are at most twelve; otherwise phases if that is fewer and not too crowded; otherwise the first six
    /// rounds.
    #[default]
    Auto,
    /// Each round.
    Rounds,
    /// Each phase. Transfers of several rounds that are alike are one arrow.
    Phases,
    /// Each of these rounds.
    Range(Range<usize>),
}

/// A schedule cannot be drawn.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The network is too large.
    #[error("{topology} has {found} nodes, at most {MAX_NODES} can be drawn")]
    Nodes {
        /// The network.
        topology: String,
        /// How many nodes it has.
        found: usize,
    },
    /// There is too much of something.
    #[error(
        "{found} {what} are too many for a picture, at most {limit} are drawn: show fewer rounds, or one rank's own transfers"
    )]
    Large {
        /// Of what.
        what: &'static str,
        /// How many there are, at least.
        found: usize,
        /// How many may be drawn.
        limit: usize,
    },
    /// Rounds are asked for that there are not.
    #[error("no rounds {} to {}: {}", range.start, range.end.saturating_sub(1), match rounds {
        0 => "the schedule has none".to_owned(),
        _ => format!("the schedule has {rounds}, 0 to {}", rounds - 1),
    })]
    Range {
        /// Those that are asked for.
        range: Range<usize>,
        /// How many there are.
        rounds: usize,
    },
    /// A rank is asked for, or sends or receives, that there is not.
    #[error("rank {rank} is out of range: there are {ranks} ranks, 0 to {}", ranks - 1)]
    Rank {
        /// The rank.
        rank: Rank,
        /// How many there are.
        ranks: usize,
    },
    /// A route is none.
    #[error("round {round}, {sender} to {receiver}: the route is empty or leaves the {nodes} nodes")]
    Route {
        /// The round.
        round: usize,
        /// Who sends.
        sender: Rank,
        /// Who receives.
        receiver: Rank,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The ranks' shares make no schedule.
    #[error(transparent)]
    Build(#[from] BuildError),
}
