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
//! let shares = find(&Collective::Alltoall, "torus-exchange")?.shares(&problem)?;
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
mod view;
mod words;

pub use view::{DrawError, Frames, MAX_ARROWS, MAX_FRAMES, MAX_HOPS, MAX_NODES, View};

use crate::vocabulary::{BuildError, Outline, Round, Schedule, Shares};

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
