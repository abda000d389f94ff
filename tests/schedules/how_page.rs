//! The tables of `doc/notes/how.md`, counted again, and its pictures. The first is that of the example
//! `network_table`.

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::draw::{Frames, View, draw_shares};
use necklace::schedule::{Problem, verify_shares};
use necklace::topology::{Embedding, parse};

use crate::fixtures::alltoall_proof;

/// Returns the rows of the tables with so many columns, without their heads.
fn rows(columns: usize) -> impl Iterator<Item = Vec<String>> {
    let cells = include_str!("../../doc/notes/how.md").lines().filter(|line| line.starts_with("| ")).map(|line| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
    });
    cells.filter(move |cells| cells.len() == columns).skip(1)
}

#[test]
fn exchanges_take_the_counted_rounds() {
    for row in rows(6).filter(|row| row[0].parse::<u64>().is_ok()) {
        let [p, w, formula, cut, greedy, balanced] = [0, 1, 2, 3, 4, 5].map(|cell| row[cell].parse::<u64>().unwrap());
        let text = format!("how:{p},{w},1");
        let rounds = |name: &str| alltoall_proof(&text, name).startups;
        assert_eq!((formula, cut), (2 * (p - 1).div_ceil(w), (p * p / 4).div_ceil(w * (w + 1) / 2)), "{text}");
        assert_eq!((rounds("how-greedy"), rounds("window-exchange:load=1")), (greedy, balanced), "{text}");
    }
}

#[test]
fn guests_have_the_counted_measures() {
    for row in rows(6).filter(|row| row[0].contains(':')) {
        let [guest, host] = [0, 1].map(|cell| parse(&row[cell]).unwrap());
        let measures = *Embedding::named(guest, host, &row[2]).unwrap().measures();
        assert_eq!([measures.dilation.to_string(), measures.congestion.to_string()], row[3..5], "{row:?}");
    }
}

#[test]
fn port_models_take_the_counted_rounds() {
    for row in rows(7) {
        let startups = |collective: Collective, name: &str| {
            let problem = Problem::new(parse(&row[0]).unwrap(), collective.clone()).unwrap();
            let shares = find(&collective, name).unwrap().shares(&problem).unwrap();
            verify_shares(shares).unwrap().startups.to_string()
        };
        let broadcast = |name| startups(Collective::Broadcast { root: Rank::new(0) }, name);
        let allgather = |name| startups(Collective::Allgather, name);
        let counted = [
            broadcast("sliding-windows:ports=one"),
            broadcast("farthest-first"),
            broadcast("sliding-windows"),
            allgather("by-dimension"),
            allgather("sliding-windows:ports=same-value"),
            allgather("sliding-windows:parts=1"),
        ];
        assert_eq!(row[1..], counted, "{}", row[0]);
    }
}

/// The pictures of `doc/notes/how.md`: `necklace plan --svg` writes them, with these topologies and
/// algorithms, and `--frames 0-1` for the first.
#[test]
fn pictures_are_drawn() {
    let two_rounds = View::default().with_frames(Frames::Range(0..2));
    for (text, algorithm, view, committed) in [
        ("how:12,3,1", "window-exchange:load=1", two_rounds, include_str!("../../doc/notes/how-windows.svg")),
        ("torus:4x4@how:16,3,1", "torus-exchange", View::default(), include_str!("../../doc/notes/how-guest.svg")),
    ] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let shares = find(&Collective::Alltoall, algorithm).unwrap().shares(&problem).unwrap();
        assert!(draw_shares(shares, &view).unwrap() == committed, "the picture of {text} differs");
    }
}
