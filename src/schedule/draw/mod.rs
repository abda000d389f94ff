//! Pictures: any schedule on its network, as SVG.
//!
//! A frame a round, or a phase; an arrow a transfer, along its route; a colour and a line style a phase, by its name and so
//! the same in all pictures, and told apart in grey too. Channels that several transfers share in one round are marked.
//!
//! ```
//! use necklace::algorithm::find;
//! use necklace::collective::Collective;
//! use necklace::schedule::draw::{View, draw};
//! use necklace::schedule::{Problem, Shares};
//!
//! let problem = Problem::new(necklace::topology::parse("torus:4x4")?, Collective::Alltoall)?;
//! let shares = Shares::new(&*find(&Collective::Alltoall, "torus-exchange")?, &problem)?;
//! let picture = draw(&shares.collect()?, &View::default())?;
//! assert!(picture.starts_with("<svg ") && picture.contains("16 transfers of 8 blocks"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A network of one's own, drawn from its links (`examples/draw.rs`):
//!
#![cfg_attr(doc, doc = include_str!("../../../doc/own-graph.svg"))]
//!
//! # The picture
//!
//! Lines, meshes and tori are rows and grids, with links that leave the picture where they come back on the other side;
//! single rings and complete networks are circles; more dimensions are drawn obliquely, and from the fourth on as copies;
//! cubes likewise. Any other network is laid out by the distances in it, from what
//! [`neighbours`](crate::topology::Topology::neighbours) says.
//!
//! The document stands by itself: it has a background of its own for dark pages, a title and a description for those who
//! do not see it, no script, no style sheet and no font, and no empty line, so that it can also be included in Markdown
//! or in the documentation of a crate (`#![doc = include_str!("picture.svg")]`). Its bytes are the same on every machine.
//! Each arrow is a `<path class="transfer">` with its words as `<title>`; one that stands for several transfers has their
//! number as `data-transfers`.
//!
//! # Limits
//!
//! [`MAX_NODES`] nodes, [`MAX_FRAMES`] frames, [`MAX_ARROWS`] arrows whose ways have [`MAX_HOPS`] nodes together: mostly some
//! hundred kilobytes, 25 megabytes at the very most. What is larger is an error that says what to leave out;
//! [`View::frames`] and [`View::focus`] do that.

mod arrows;
mod body;
mod frames;
mod layout;
mod looks;
mod page;
mod point;
mod stress;
mod svg;
mod words;

use std::ops::Range;

use super::{Outline, Round, Schedule, Shares};
use crate::error::BuildError;
use crate::ids::Rank;

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
pub struct View {
    /// What is a frame.
    pub frames: Frames,
    /// Only what this rank sends and receives. Unless given, all that is sent; but with [`Frames::Auto`], where that is too
    /// much to be told apart, only what one rank sends and receives, and the picture says so.
    pub focus: Option<Rank>,
    /// What stands above; what is scheduled, where and how, unless given.
    pub title: Option<String>,
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

/// A picture of a schedule, as SVG.
///
/// The schedule need not be right: what it says is drawn, between nodes that there are.
///
/// # Errors
///
/// [`DrawError`].
pub fn draw(schedule: &Schedule, view: &View) -> Result<String, DrawError> {
    let mut drawing = Drawing::new(&schedule.outline, view)?;
    for round in &schedule.rounds {
        drawing.round(round)?;
    }
    drawing.finish()
}

/// A picture of what the ranks' shares make together, with one round in memory at a time besides what is drawn.
///
/// # Errors
///
/// [`DrawError`]; [`DrawError::Build`] with [`BuildError::Disagree`] where the shares do not fit together.
pub fn draw_shares(shares: Shares, view: &View) -> Result<String, DrawError> {
    let outline = shares.outline().clone();
    let mut drawing = Drawing::new(&outline, view)?;
    for (round, joined) in shares.enumerate() {
        if let Some(mismatch) = joined.mismatches.into_iter().next() {
            let algorithm = outline.algorithm;
            return Err(BuildError::Disagree { algorithm, round, mismatch: Box::new(mismatch) }.into());
        }
        drawing.round(&joined.round)?;
    }
    drawing.finish()
}

/// A picture under way, round by round.
pub struct Drawing {
    outline: Outline,
    view: View,
    layout: layout::Layout,
    frames: frames::Collector,
}

impl Drawing {
    /// Lays out the network.
    ///
    /// # Errors
    ///
    /// [`DrawError::Nodes`], [`DrawError::Rank`], [`DrawError::Large`].
    pub fn new(outline: &Outline, view: &View) -> Result<Self, DrawError> {
        let layout = layout::Layout::new(outline.problem.topology())?;
        let frames = frames::Collector::new(&outline.problem, view)?;
        Ok(Self { outline: outline.clone(), view: view.clone(), layout, frames })
    }

    /// The next round.
    ///
    /// # Errors
    ///
    /// [`DrawError::Large`], [`DrawError::Rank`], [`DrawError::Route`].
    pub fn round(&mut self, round: &Round) -> Result<(), DrawError> {
        self.frames.round(round)
    }

    /// The picture.
    ///
    /// # Errors
    ///
    /// [`DrawError::Range`].
    pub fn finish(self) -> Result<String, DrawError> {
        let shown = self.frames.finish(|arrows| arrows::legible(&self.layout, arrows))?;
        Ok(page::page(&self.outline, &self.view, &self.layout, &shown))
    }
}
