//! The text of a picture: title, captions, description, legend.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::View;

use super::frames::{Arrow, Frame, Shown, Sizes};
use super::layout::Layout;
use super::looks::{Looks, SHARED, phase_name, sample};
use crate::block::Volume;
use crate::topology::Embedding;
use crate::vocabulary::{Outline, Placement};

/// Returns a title such as `alltoall on torus:12x12, 144 ranks: torus-exchange`.
pub(super) fn title(outline: &Outline) -> String {
    let Outline { problem, algorithm, .. } = outline;
    let (topology, ranks) = (problem.topology().text(), many(problem.ranks() as u64, "rank"));
    let by = if algorithm.is_empty() { String::new() } else { format!(": {algorithm}") };
    format!("{} on {topology}, {ranks}{by}", problem.collective())
}

/// Returns the round and phase of a frame, and a summary of its transfers.
pub(super) fn caption(outline: &Outline, frame: &Frame) -> (String, String) {
    let rounds = match frame.rounds {
        0 => "no rounds".to_owned(),
        1 => format!("round {}", frame.first),
        n if n == frame.last - frame.first + 1 => format!("rounds {} to {}", frame.first, frame.last),
        n => format!("{n} rounds from {} to {}", frame.first, frame.last),
    };
    let several = outline.phases.len() > 1 && frame.rounds > 0;
    let which = if several { format!("{rounds}: {}", phase_name(outline, frame.phase)) } else { rounds };
    if frame.arrows.is_empty() {
        return (which, "nothing is sent".to_owned());
    }
    let Sizes { least, most } = frame.sizes();
    let hops = frame.arrows.iter().map(Arrow::hops);
    let (nearest, farthest) = (hops.clone().min().unwrap_or(0), hops.max().unwrap_or(0));
    let up_to = |alike| if alike { "" } else { "up to " };
    let mut what = match frame.of {
        Some(all) => format!("{} of {}", frame.transfers, many(all, "transfer")),
        None => many(frame.transfers, "transfer"),
    };
    let _ = write!(what, " of {}{}", up_to(least == most), blocks(most));
    let _ = write!(what, ", {}{}", up_to(nearest == farthest), many(farthest as u64, "hop"));
    if let Some(most) = frame.shared.values().max() {
        let _ = write!(what, "; up to {most} share a channel");
    }
    (which, what)
}

/// Returns a description such as `0 to 4: 32 blocks, 4 hops`.
pub(super) fn arrow(arrow: &Arrow) -> String {
    let several = if arrow.transfers == 1 { String::new() } else { format!("{} transfers of up to ", arrow.transfers) };
    let (size, hops) = (blocks(arrow.volume), many(arrow.hops() as u64, "hop"));
    format!("{} to {}: {several}{size}, {hops}", arrow.source, arrow.destination)
}

/// Returns a description of the picture for screen readers.
pub(super) fn description(outline: &Outline, frames: &[Frame], title: &str, note: Option<&str>) -> String {
    let mut description = format!("{title}.");
    if let Some(note) = note {
        let _ = write!(description, " Shown are {note}.");
    }
    for frame in frames {
        let (which, what) = caption(outline, frame);
        let _ = write!(description, " {which}: {what}.");
    }
    description
}

/// The legend: what in a picture needs an explanation.
pub(super) struct Legend<'a> {
    pub(super) outline: &'a Outline,
    pub(super) view: &'a View,
    pub(super) layout: &'a Layout,
    pub(super) looks: &'a Looks,
    pub(super) shown: &'a Shown,
}

impl Legend<'_> {
    /// Returns the entries: a sign, if any, and its meaning.
    pub(super) fn entries(&self) -> Vec<(String, String)> {
        let Self { outline, view, layout, looks, shown } = *self;
        let Shown { frames, note, .. } = shown;
        let busy = frames.iter().filter(|frame| !frame.arrows.is_empty());
        let phases: BTreeSet<usize> = busy.map(|frame| frame.phase).collect();
        let arrows = || frames.iter().flat_map(|frame| &frame.arrows);
        let sizes = Sizes::of(frames);
        let mut items: Vec<(String, String)> = Vec::new();
        if outline.phases.len() > 1 {
            items.extend(
                phases.iter().map(|&number| (sample(looks.of(outline, number), false), phase_name(outline, number))),
            );
        }
        if arrows().any(|arrow| arrow.combined) {
            let look = looks.of(outline, phases.first().copied().unwrap_or(0));
            items.push((sample(look, true), "combined with what is held".to_owned()));
        }
        if frames.iter().any(|frame| !frame.shared.is_empty()) {
            let band = format!("<path d=\"M0 -3.5L24 -3.5\" stroke=\"{SHARED}\" stroke-width=\"9\"/>");
            items.push((band, "channel that several transfers share in one round".to_owned()));
        }
        let mut say = |words: String| items.push((String::new(), words));
        if sizes.differ() {
            say(format!("the more blocks, the thicker ({} to {})", sizes.least, sizes.most));
        }
        if arrows().any(|arrow| arrow.transfers > 1) {
            say("transfers of several rounds that are alike are one arrow".to_owned());
        }
        if shown.marks_senders(outline) {
            say("coloured nodes send".to_owned());
        }
        if let Some(rank) = view.focus {
            say(format!("only what rank {rank} sends and receives"));
        }
        if layout.wraps() {
            say("links that leave the picture come back on the other side".to_owned());
        }
        if layout.has_arcs() {
            say("the longer a jump, the farther from its row, on the right of its direction".to_owned());
        }
        let embedding = outline.problem.topology().embedding();
        if layout.scale.labelled {
            let guests = |embedding: &Embedding| format!(", thus nodes of {}", embedding.guest().text());
            let own = embedding.filter(|_| {
                Placement::of(outline.problem.topology()).is_ok_and(|own| own == *outline.problem.placement())
            });
            say(format!("numbers are ranks{}", own.map_or(String::new(), guests)));
        }
        if outline.problem.ranks() < outline.problem.topology().nodes() {
            say("nodes without a rank are pale".to_owned());
        }
        if let Some(embedding) = embedding {
            let (guest, host) = (embedding.guest().text(), embedding.host().text());
            say(format!("{guest} in {host}: {}", embedding.measures()));
            let most = embedding.measures().congestion;
            say(format!(
                "links that the guest's links take: the more of them (up to {most}), the thicker; others are pale"
            ));
        }
        layout.unseen.clone().into_iter().for_each(&mut say);
        note.iter().cloned().for_each(&mut say);
        items
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn blocks(volume: Volume) -> String {
    format!("{volume} block{}", if volume == Volume::from(1) { "" } else { "s" })
}
