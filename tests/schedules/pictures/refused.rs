//! What cannot be drawn.

use necklace::collective::Collective;
use necklace::schedule::draw::{DrawError, Frames, View, draw};
use necklace::schedule::{Ports, Schedule};

use super::reading::read;
use super::{MAX_ARROWS, by_rounds};
use crate::fixtures::{rank, round, schedule, send, via};

const MAX_NODES: usize = 4096;
const MAX_FRAMES: usize = 64;

#[test]
fn too_large_pictures_are_refused_with_advice() {
    let error = |schedule: &Schedule, view: &View| draw(schedule, view).unwrap_err();
    let empty = |text: &str| schedule(text, Collective::Alltoall, Ports::One, true, vec![]);
    let large = error(&empty(&format!("complete:{}", MAX_NODES + 1)), &View::default());
    assert!(matches!(large, DrawError::Nodes { found, .. } if found == MAX_NODES + 1));
    assert!(large.to_string().contains("at most 4096"), "{large}");
    read(&draw(&empty(&format!("complete:{MAX_NODES}")), &View::default()).unwrap());

    let once = || round(vec![send(0, 1, vec![])]);
    let long = |rounds| schedule("ring:4", Collective::Allgather, Ports::One, true, vec![once(); rounds]);
    let full = read(&draw(&long(MAX_FRAMES), &by_rounds()).unwrap());
    assert_eq!(full.len(), MAX_FRAMES);
    let many = error(&long(MAX_FRAMES + 1), &by_rounds());
    assert!(matches!(many, DrawError::Large { what: "frames", limit: MAX_FRAMES, .. }));
    assert!(many.to_string().contains("show fewer rounds"), "{many}");

    let range = |range| View::default().with_frames(Frames::Range(range));
    assert_eq!(read(&draw(&long(100), &range(70..75)).unwrap()).len(), 5);
    assert!(matches!(error(&long(100), &range(0..100)), DrawError::Large { what: "frames", .. }));
    assert!(matches!(error(&long(3), &range(1..4)), DrawError::Range { rounds: 3, .. }));
    assert!(matches!(error(&long(3), &range(2..2)), DrawError::Range { rounds: 3, .. }));
    assert!(matches!(error(&long(0), &range(0..1)), DrawError::Range { rounds: 0, .. }));

    let crowd = vec![round(vec![send(0, 1, vec![]); MAX_ARROWS + 1])];
    let crowd = schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, crowd);
    for frames in [Frames::Auto, Frames::Rounds, Frames::Phases] {
        let view = View::default().with_frames(frames);
        assert!(matches!(error(&crowd, &view), DrawError::Large { what: "arrows", found, .. } if found > MAX_ARROWS));
    }
    let walk: Vec<usize> = (0..200_000).map(|i| i % 4).collect();
    let far = |times| {
        let rounds = vec![round(vec![via(send(0, 3, vec![]), &walk); times])];
        schedule("ring:4", Collective::Allgather, Ports::Unlimited, false, rounds)
    };
    assert!(draw(&far(2), &View::default()).unwrap().len() < 25_000_000);
    let more = error(&far(3), &View::default());
    assert!(matches!(more, DrawError::Large { what: "nodes on the routes of arrows", .. }));
}

#[test]
fn missing_ranks_rounds_and_nodes_are_refused() {
    let one = |transfer| schedule("ring:4", Collective::Allgather, Ports::One, true, vec![round(vec![transfer])]);
    let error = |transfer| draw(&one(transfer), &View::default()).unwrap_err();
    assert!(matches!(error(send(0, 4, vec![])), DrawError::Rank { ranks: 4, .. }));
    assert!(matches!(error(send(9, 0, vec![])), DrawError::Rank { ranks: 4, .. }));
    assert!(matches!(error(via(send(0, 1, vec![]), &[])), DrawError::Route { round: 0, nodes: 4, .. }));
    assert!(matches!(error(via(send(0, 1, vec![]), &[0, 4, 1])), DrawError::Route { round: 0, nodes: 4, .. }));
    let view = View::default().with_focus(rank(4));
    assert!(matches!(draw(&one(send(0, 1, vec![])), &view), Err(DrawError::Rank { ranks: 4, .. })));
    // An invalid route on this network is still drawn, because the schedule contains it.
    read(&draw(&one(via(send(0, 1, vec![]), &[2, 0, 3])), &View::default()).unwrap());
}
