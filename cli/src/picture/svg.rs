//! `necklace plan --svg`: draws a schedule.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use necklace::MAX_NODES;
use necklace::Rank;
use necklace::schedule::draw::{DrawError, Drawing, Frames, View};
use necklace::schedule::{Outline, Round};

use crate::output::{Document, Failure, is_standard};

pub(crate) const EXAMPLES: &str = "  necklace plan --topology hypercube:4 --collective allgather --svg picture.svg
  necklace plan --topology torus:9x9 --collective allgather --algorithm torgos --svg picture.svg
  necklace plan --topology torus:16x16 --collective alltoall --algorithm torus-exchange --svg picture.svg --frames 0-2 --focus 17
";

#[derive(Args, Debug)]
pub(crate) struct Wanted {
    /// Draw the schedule as SVG to FILE; with -, write only that to standard output
    ///
    /// The file appears only when the schedule is verified and the picture is complete.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["list", "verify_sample"])]
    svg: Option<PathBuf>,

    /// Draw these frames: auto, rounds, phases, a round such as 3, or a range such as 0-5
    #[arg(long, value_name = "F", requires = "svg", default_value = "auto", value_parser = frames)]
    frames: Frames,

    /// Draw only what rank R sends and receives
    #[arg(long, value_name = "R", requires = "svg", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(..MAX_NODES as i64))]
    focus: Option<u32>,
}

impl Wanted {
    /// Returns the file of the picture, if one is requested.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.svg.as_deref()
    }

    /// Returns whether standard output receives only the picture.
    pub(crate) fn is_standard(&self) -> bool {
        self.svg.as_deref().is_some_and(is_standard)
    }

    /// Begins the picture, if one is requested.
    pub(crate) fn start(&self, outline: &Outline) -> Result<Option<Picture>, Failure> {
        let Some(path) = &self.svg else { return Ok(None) };
        let focus = self.focus.map(|rank| Rank::new(rank as usize));
        let view = View::default().with_frames(self.frames.clone());
        let view = focus.map_or(view.clone(), |rank| view.with_focus(rank));
        let drawing = Drawing::new(outline, &view).map_err(refused)?;
        Ok(Some(Picture { drawing, document: Document::create(path)? }))
    }
}

/// A picture that is being drawn.
pub(crate) struct Picture {
    drawing: Drawing,
    document: Document,
}

impl Picture {
    pub(crate) fn round(&mut self, round: &Round) -> Result<(), Failure> {
        self.drawing.round(round).map_err(refused)
    }

    /// Writes the complete picture.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { drawing, document } = self;
        let text = drawing.finish().map_err(refused)?;
        document.fill(|out| out.write_all(text.as_bytes()))
    }
}

/// Returns a usage error for a schedule that cannot be drawn.
fn refused(error: DrawError) -> Failure {
    Failure::Usage(format!("cannot draw the schedule: {error}"))
}

fn frames(text: &str) -> Result<Frames, String> {
    let wrong = || "expected auto, rounds, phases, a round such as 3, or a range such as 0-5".to_owned();
    let number = |text: &str| text.parse::<u32>().map(|number| number as usize).map_err(|_| wrong());
    match text {
        "auto" => Ok(Frames::Auto),
        "rounds" => Ok(Frames::Rounds),
        "phases" => Ok(Frames::Phases),
        _ => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (number(first)?, number(last)?);
            if first <= last { Ok(Frames::Range(first..last + 1)) } else { Err(wrong()) }
        }
    }
}
