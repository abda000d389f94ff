//! Which rounds have a frame, what is left out, and captions.

use necklace::algorithm::Algorithm;
use necklace::collective::Collective;
use necklace::schedule::draw::{DrawError, Frames, View, draw, draw_shares};
use necklace::schedule::{Block, Ports, Problem, Schedule};
use necklace::topology::parse;

use super::reading::read;
use super::rounds::drawn_by_rounds;
use super::{MAX_ARROWS, by_rounds, picture, single};
use crate::fixtures::{OneWay, direct_alltoall, rank, ring_allgather, round, scan, schedule, send};

#[test]
fn empty_rounds_have_a_frame_only_on_request() {
    let scan = scan(4);
    assert!(scan.rounds[0].transfers.is_empty());
    assert_eq!(read(&draw(&scan, &by_rounds()).unwrap()).len(), 2);
    let asked = View::default().with_frames(Frames::Range(0..2));
    let frames = read(&draw(&scan, &asked).unwrap());
    assert_eq!(frames.iter().map(|frame| frame.arrows.len()).collect::<Vec<_>>(), [0, 3]);
    assert!(frames[0].caption.contains("nothing is sent"), "{}", frames[0].caption);

    let idle = schedule("ring:4", Collective::Barrier, Ports::One, true, vec![]);
    drawn_by_rounds(&idle);
}

#[test]
fn many_rounds_are_drawn_by_phase_or_in_part() {
    let frames = |schedule: &Schedule| read(&draw(schedule, &View::default()).unwrap());
    let (few, many) = (frames(&ring_allgather(13)), frames(&ring_allgather(14)));
    assert_eq!((few.len(), many.len()), (12, 1));
    // The same transfers in all rounds are one arrow each.
    assert_eq!(many[0].arrows.len(), 14);
    assert!(many[0].arrows.iter().all(|arrow| arrow.transfers == 13));
    assert!(many[0].caption.starts_with("rounds 0 to 12 182 transfers of 1 block, 1 hop"), "{}", many[0].caption);
    // However many rounds that takes.
    let mut long = ring_allgather(14);
    long.rounds = long.rounds.iter().cycle().take(80_000).cloned().collect();
    assert_eq!(frames(&long)[0].arrows.len(), 14);
    // A round that has no room ends the frames before it.
    let crowd = |rounds: &[usize]| {
        let round = |&many: &usize| round(vec![send(0, 1, vec![]); many]);
        schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, rounds.iter().map(round).collect())
    };
    assert_eq!(frames(&crowd(&[1, 2, MAX_ARROWS + 1, 1])).len(), 2);
    assert_eq!(frames(&crowd(&[1, MAX_ARROWS, 1])).len(), 1);
    // Others would cover each other.
    let picture = draw(&direct_alltoall(14), &View::default()).unwrap();
    assert_eq!(read(&picture).len(), 6);
    assert!(picture.contains("rounds 0 to 5 of 13"));
}

#[test]
fn captions_count_the_drawn_transfers() {
    let (block, other) = (Block::from(rank(0)), Block::from(rank(1)));
    let transfers = vec![send(0, 3, vec![block, other]), send(1, 2, vec![other])];
    let two = schedule("line:4", Collective::Allgather, Ports::Unlimited, false, vec![round(transfers)]);
    let frames = read(&draw(&two, &View::default()).unwrap());
    assert_eq!(frames[0].caption, "round 0 2 transfers of up to 2 blocks, up to 3 hops; up to 2 share a channel");
    assert_eq!(frames[0].marks, 1);
}

#[test]
fn partial_picture_says_which_rounds_it_shows() {
    let range = |range| View::default().with_frames(Frames::Range(range));
    let shown = |asked| draw(&ring_allgather(12), &range(asked)).unwrap();
    assert!(shown(0..3).contains("Shown are rounds 0 to 2 of 11."));
    assert_eq!(shown(0..3).matches("rounds 0 to 2 of 11").count(), 2, "description and legend");
    assert!(shown(4..5).contains("Shown are round 4 of 11."));
    assert!(!shown(0..11).contains("of 11"));
}

#[test]
fn dense_arrows_are_reduced_to_one_rank() {
    let note = "Shown are 126 of 4032 transfers, too many to show; these are of rank 0";
    let automatic = picture("torus:8x8", Collective::Alltoall, "direct", &View::default());
    assert!(automatic.contains(note), "{}", &automatic[..900]);
    let frames = read(&automatic);
    assert_eq!((frames.len(), frames[0].arrows.len()), (1, 126));
    assert!(frames[0].arrows.iter().all(|arrow| arrow.source == 0 || arrow.destination == 0));
    // The caption counts sharing among all transfers that are sent.
    let most = |caption: &str| {
        caption
            .split_once("up to ")
            .and_then(|(_, rest)| rest.split_once("hops; up to "))
            .map(|(_, most)| most.to_owned())
    };
    let all = picture("torus:8x8", Collective::Alltoall, "direct", &by_rounds());
    let every = read(&all);
    assert_eq!((every[0].arrows.len(), most(&every[0].caption)), (4032, most(&frames[0].caption)));
    // An explicit choice is always shown.
    let focus = View::default().with_focus(rank(9));
    let chosen = picture("torus:8x8", Collective::Alltoall, "direct", &focus);
    assert!(![all, chosen].iter().any(|picture| picture.contains("told apart")));
    // Arrows that can be told apart are shown.
    for network in ["torus:2x2", "hypercube:2", "complete:8"] {
        assert!(
            !picture(network, Collective::Alltoall, "direct", &View::default()).contains("told apart"),
            "{network}"
        );
    }
    // One rank's arrows are no fewer where it sends them all.
    let star = (1..64).map(|to| send(0, to, vec![])).collect::<Vec<_>>();
    assert_eq!(single("line:64", star).arrows.len(), 63);
}

#[test]
fn shares_are_drawn_like_the_schedule() {
    let problem = Problem::new(parse("torus:4x4").unwrap(), Collective::Alltoall).unwrap();
    let algorithm = necklace::algorithm::alltoall::TorusExchange;
    let shares = || algorithm.shares(&problem).unwrap();
    let whole = draw(&shares().collect().unwrap(), &View::default()).unwrap();
    assert_eq!(draw_shares(shares(), &View::default()).unwrap(), whole);

    let problem = Problem::new(parse("ring:4").unwrap(), Collective::Allgather).unwrap();
    let faulty = OneWay { faulty: Some(rank(2)) };
    let shares = faulty.shares(&problem).unwrap();
    assert!(matches!(draw_shares(shares, &View::default()), Err(DrawError::Build(_))));
}
