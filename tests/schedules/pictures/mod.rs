//! Pictures are sound documents that show what the schedule says: an arrow a transfer, along its
//! route, inside the page.
mod reading;

mod documents;
mod frames;
mod lines;
mod refused;
mod rounds;
mod trees;

use crate::fixtures::{round, schedule};
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::draw::{Frames, View, draw, draw_shares};
use necklace::schedule::{Ports, Problem, Transfer};
use necklace::topology::parse;
use reading::{Frame, read};

/// The maximum number of arrows of a picture.
const MAX_ARROWS: usize = 20_000;

fn by_rounds() -> View {
    View::default().with_frames(Frames::Rounds)
}

/// The only frame of these transfers.
fn single(network: &str, transfers: Vec<Transfer>) -> Frame {
    let schedule = schedule(network, Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    let mut frames = read(&draw(&schedule, &View::default()).unwrap());
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

/// The plain picture of a registered algorithm, if it can do that.
fn picture(network: &str, collective: Collective, algorithm: &str, view: &View) -> String {
    let algorithm = find(&collective, algorithm).unwrap();
    let problem = Problem::new(parse(network).unwrap(), collective).unwrap();
    draw_shares(algorithm.shares(&problem).unwrap(), view).unwrap()
}
