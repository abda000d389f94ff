//! Tests of `necklace plan --svg`: the picture equals the library's, and misuse is refused.

use std::sync::Arc;

use crate::support::{directory, necklace, printed, refused};
use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::Problem;
use necklace::schedule::draw::{Frames, View, draw_shares};
use necklace::topology::{Topology, parse};

const PLAN: [&str; 7] =
    ["plan", "--topology", "torus:4x4", "--collective", "alltoall", "--algorithm", "torus-exchange"];

fn plan(more: &[&'static str]) -> Vec<&'static str> {
    [&PLAN, more].concat()
}

fn picture(view: &View) -> String {
    let topology: Arc<dyn Topology> = parse("torus:4x4").unwrap();
    let problem = Problem::new(topology, Collective::Alltoall).unwrap();
    let algorithm = find(&Collective::Alltoall, "torus-exchange").unwrap();
    draw_shares(algorithm.shares(&problem).unwrap(), view).unwrap()
}

#[test]
fn dash_writes_only_the_picture_to_standard_output() {
    assert_eq!(printed(&plan(&["--svg", "-"])), picture(&View::default()));
}

#[test]
fn frames_and_focus_select_what_is_drawn() {
    let view = |frames| View::default().with_frames(frames);
    let cases = [
        (&["--frames", "auto"][..], View::default()),
        (&["--frames", "rounds"], view(Frames::Rounds)),
        (&["--frames", "phases"], view(Frames::Phases)),
        (&["--frames", "2"], view(Frames::Range(2..3))),
        (&["--frames", "1-3"], view(Frames::Range(1..4))),
        (&["--focus", "5"], View::default().with_focus(Rank::new(5))),
    ];
    let mut pictures = std::collections::BTreeSet::new();
    for (more, view) in cases {
        let drawn = printed(&[&plan(&["--svg", "-"]), more].concat());
        assert_eq!(drawn, picture(&view), "{more:?}");
        pictures.insert(drawn);
    }
    // With four rounds, `auto` selects rounds.
    assert_eq!(pictures.len(), 5);
}

#[test]
fn picture_file_is_written_beside_text_and_json() {
    let directory = directory("a_file_gets_the_picture");
    let (svg, json) = (directory.join("picture.svg"), directory.join("schedule.json"));
    let more = ["--svg", svg.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let text = printed(&[&PLAN[..], &more].concat());
    assert!(text.contains("start-ups") && !text.contains("<svg"), "{text}");
    assert_eq!(std::fs::read_to_string(&svg).unwrap(), picture(&View::default()));
    assert!(std::fs::read_to_string(&json).unwrap().contains("necklace-schedule/1"));
    let document = printed(&[&PLAN[..], &["--json", "-", "--svg", svg.to_str().unwrap()]].concat());
    assert!(document.starts_with('{'), "{document}");
}

#[test]
fn refused_picture_exits_with_2_and_keeps_the_old_file() {
    let directory = directory("what_cannot_be_drawn");
    let path = directory.join("picture.svg");
    let name = path.to_str().unwrap();
    std::fs::write(&path, "what was there before").unwrap();
    let large = ["plan", "--topology", "complete:5000", "--collective", "broadcast"];
    let cases = [
        ([&PLAN[..], &["--frames", "rounds"]].concat(), "--svg"),
        ([&PLAN[..], &["--focus", "1"]].concat(), "--svg"),
        ([&PLAN[..], &["--svg", name, "--frames", "all"]].concat(), "such as 0-5"),
        ([&PLAN[..], &["--svg", name, "--frames", "3-1"]].concat(), "such as 0-5"),
        (
            [&PLAN[..], &["--svg", name, "--frames", "3-4"]].concat(),
            "the schedule has no rounds 3 to 4: it has rounds 0 to 3",
        ),
        ([&PLAN[..], &["--svg", name, "--frames", "0-64"]].concat(), "at most 64"),
        ([&PLAN[..], &["--svg", name, "--focus", "16"]].concat(), "0 to 15"),
        ([&large[..], &["--svg", name]].concat(), "at most 4096"),
        (vec!["plan", "--list", "--svg", "-"], "--svg"),
    ];
    for (arguments, expected) in cases {
        refused(&necklace(&arguments), &[expected]);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there before");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "something else was left there");
}
