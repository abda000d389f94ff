//! Pictures of schedules on their networks, as SVG. Needs the feature `draw`.
//!
//! A picture has a frame for each round or phase, and in it an arrow for each transfer, along its
//! route. A phase has a colour and a line style, which depend on its name, so that it looks the
//! same in all pictures; the styles differ in grey too. Channels that several transfers share in
//! one round are marked.
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
//! A user's network, drawn from its links (`examples/draw.rs`):
//!
#![cfg_attr(doc, doc = include_str!("../../../doc/own-graph.svg"))]
//!
//! [`draw_tree`] draws a spanning tree, level by level.
//!
//! # The picture
//!
//! Lines, meshes and tori are rows and grids; a wrap-around link leaves the picture on one side and
//! comes back on the other. Single rings and complete networks are circles. The third dimension is
//! drawn obliquely, and further ones as copies; cubes likewise. Links of overlapping windows are
//! arcs, farther from their row the longer they are, on the right-hand side of their direction:
//! below the row to the right, above it to the left. Any other network is laid out by the distances
//! between its nodes, from their [`neighbours`](crate::topology::Topology::neighbours).
//!
//! If a network is the host of an [embedded](crate::topology::Embedded) guest, the numbers are
//! ranks, thus nodes of the guest unless ranks are placed otherwise. A link of the host is the
//! thicker and darker, the more links of the guest have their paths over it.
//!
//! The document is self-contained: it has a background for dark pages, a title and a description
//! for screen readers, no script, no style sheet and no font. It has no empty line, so that it can
//! be included in Markdown or in the documentation of a crate
//! (`#![doc = include_str!("picture.svg")]`). Its bytes are the same on every machine. Each arrow
//! is a `<path class="transfer">` with its description as `<title>`; an arrow for several transfers
//! has their number as `data-transfers`.
//!
//! # Limits
//!
//! A picture has at most 4096 nodes, 64 frames, and 20,000 arrows with 500,000 nodes on their
//! routes together. Most pictures have some hundred kilobytes, the largest 25 megabytes. A larger
//! picture is an error; [`View::frames`] and [`View::focus`] select a part.

mod arrows;
mod body;
mod courses;
mod frames;
mod layout;
mod looks;
mod page;
mod point;
mod stress;
mod svg;
mod trees;
mod view;
mod words;

pub use trees::draw_tree;
pub use view::{DrawError, Frames, View};
use view::{MAX_ARROWS, MAX_FRAMES, MAX_HOPS, MAX_NODES};

use crate::vocabulary::{Outline, Round, Schedule, Shares};

/// Draws a schedule as SVG. Needs the feature `draw`.
///
/// The schedule need not be correct. Its ranks and nodes must exist.
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

/// Draws the ranks' shares as SVG, with one round in memory at a time besides the arrows. Needs the
/// feature `draw`.
///
/// # Errors
///
/// [`DrawError`]; [`DrawError::Build`] with the errors of [`Shares::collect`].
pub fn draw_shares(shares: Shares, view: &View) -> Result<String, DrawError> {
    let outline = shares.outline().clone();
    let mut drawing = Drawing::new(&outline, view)?;
    for round in shares.matched() {
        drawing.round(&round?)?;
    }
    drawing.finish()
}

/// Draws a schedule round by round. Needs the feature `draw`.
pub struct Drawing {
    outline: Outline,
    view: View,
    layout: layout::Layout,
    frames: frames::Collector,
}

impl Drawing {
    /// Starts a picture: lays out the network.
    ///
    /// # Errors
    ///
    /// [`DrawError::Nodes`], [`DrawError::Rank`], [`DrawError::Large`].
    pub fn new(outline: &Outline, view: &View) -> Result<Self, DrawError> {
        let layout = layout::Layout::new(outline.problem.topology())?;
        let frames = frames::Collector::new(&outline.problem, view)?;
        Ok(Self { outline: outline.clone(), view: view.clone(), layout, frames })
    }

    /// Adds the next round.
    ///
    /// # Errors
    ///
    /// [`DrawError::Large`], [`DrawError::Rank`], [`DrawError::Route`].
    pub fn round(&mut self, round: &Round) -> Result<(), DrawError> {
        self.frames.round(round)
    }

    /// Returns the picture.
    ///
    /// # Errors
    ///
    /// [`DrawError::Range`].
    pub fn finish(self) -> Result<String, DrawError> {
        let shown = self.frames.finish(|arrows| arrows::legible(&self.layout, arrows))?;
        Ok(page::page(&self.outline, &self.view, &self.layout, &shown))
    }
}
