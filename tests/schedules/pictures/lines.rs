//! Arrows that lie side by side, or wrap.

use super::reading::Arrow;
use super::{picture, single};
use crate::fixtures::send;
use necklace::collective::Collective;
use necklace::schedule::draw::View;
use necklace::topology::parse;

#[test]
fn arrows_keep_to_the_right_and_clear_of_each_other() {
    let there_and_back = single("line:4", vec![send(0, 3, vec![]), send(3, 0, vec![]), send(0, 2, vec![])]);
    let heights = |arrow: &Arrow| arrow.pieces[0][1..arrow.pieces[0].len() - 1].iter().map(|p| p.1).collect::<Vec<_>>();
    let line = there_and_back.nodes[0].1;
    let [there, back, shorter] = &there_and_back.arrows[..] else { panic!("three arrows") };
    // The right side of an arrow to the right is below it.
    assert!(heights(there).iter().all(|&y| y > line) && heights(back).iter().all(|&y| y < line));
    let most = |arrow| heights(arrow).into_iter().fold(f64::MIN, f64::max);
    assert!(most(there) >= most(shorter) + 2.0, "{} {}", most(there), most(shorter));
    // Many of them make the frame larger.
    let peers = (0..6).flat_map(|i| (0..6).filter(move |&j| i != j).map(move |j| send(i, j, vec![])));
    single("line:6", peers.collect());
}

#[test]
fn wrapping_links_leave_on_one_side_and_enter_on_the_other() {
    let frame =
        single("torus:4x5", vec![send(4, 0, vec![]), send(0, 4, vec![]), send(15, 0, vec![]), send(5, 8, vec![])]);
    let (low, high) = (frame.nodes[0], frame.nodes[19]);
    let ends = |arrow: &Arrow| {
        assert_eq!(arrow.pieces.len(), 2);
        (*arrow.pieces[0].last().unwrap(), arrow.pieces[1][0])
    };
    let (right, left) = (ends(&frame.arrows[0]), ends(&frame.arrows[1]));
    assert!(right.0.0 > high.0 && right.1.0 < low.0, "{right:?}");
    assert!(left.0.0 < low.0 && left.1.0 > high.0, "{left:?}");
    let down = ends(&frame.arrows[2]);
    assert!(down.0.1 > high.1 && down.1.1 < low.1, "{down:?}");
    let shorter = ends(&frame.arrows[3]);
    assert!(shorter.0.0 < low.0 && shorter.1.0 > high.0, "{shorter:?}");
    // Extents of two have one link.
    assert_eq!(single("torus:2x2", vec![send(0, 1, vec![])]).arrows[0].pieces.len(), 1);
}

/// Overlapping windows: the farther a jump, the farther from the row, and each direction on its own
/// side.
#[test]
fn jumps_of_windows_are_arcs_by_length() {
    let reach = |arrow: &Arrow, node: f64| {
        let heights = arrow.pieces.iter().flatten().map(|p| p.1 - node);
        heights.fold(0.0, |most: f64, height| if height.abs() > most.abs() { height } else { most })
    };
    for network in ["how:9,4,1", "how:9,4,2"] {
        let jumps = (1..5).flat_map(|jump| [send(0, jump, vec![]), send(jump, 0, vec![])]);
        let frame = single(network, jumps.collect());
        let node = frame.nodes[0].1;
        let found: Vec<f64> = frame.arrows.iter().map(|arrow| reach(arrow, node)).collect();
        for (jump, pair) in found.chunks(2).enumerate() {
            assert!(pair[0] > 0.0 && pair[1] < 0.0 && (pair[0] + pair[1]).abs() < 0.2, "{network}: {pair:?}");
            assert!(jump == 0 || pair[0] > found[2 * jump - 2] + 4.0, "{network}: {found:?}");
        }
        if let Some(below) = frame.nodes.get(9) {
            assert!(below.1 - node >= 2.0 * found[6] - 10.0, "rows leave room for each other's arcs");
        }
    }
    // Round the ends, a jump leaves the picture beside the row.
    let frame = single("how-wrap:6,2,2", vec![send(4, 0, vec![]), send(0, 4, vec![]), send(5, 0, vec![])]);
    let (row, out) = (frame.nodes[0].1, |arrow: &Arrow| *arrow.pieces[0].last().unwrap());
    let [there, back, next] = &frame.arrows[..] else { panic!("three arrows") };
    assert!(out(there).0 > frame.nodes[5].0 && out(there).1 > out(next).1 + 4.0, "{:?}", out(there));
    assert!(out(back).0 < frame.nodes[0].0 && out(back).1 < row - 10.0, "{:?}", out(back));
}

/// A picture of an embedded guest has the links of its host, as thick as links of the guest take
/// them, and the nodes of the guest as numbers.
#[test]
fn guests_are_drawn_on_the_links_of_their_hosts() {
    let guest = picture("torus:4x4@how:16,3,1", Collective::Alltoall, "torus-exchange", &View::default());
    let host = picture("how:16,3,1", Collective::Alltoall, "direct", &View::default());
    let pairs = |of: &str| of.matches("data-guests").count();
    assert_eq!((pairs(&guest), pairs(&host)), (3, 0));
    for guests in 1..=3 {
        assert!(guest.contains(&format!("data-guests=\"{guests}\"")), "{guests}");
    }
    assert!(guest.contains("numbers are ranks, thus nodes of torus:4x4<"));
    assert!(guest.contains("torus:4x4 in how:16,3,1: load 1, dilation 3, congestion 3, expansion 1"));
    assert!(guest.contains("(up to 3)"));
    let nodes = parse("torus:4x4@how:16,3,1").unwrap().embedding().unwrap().nodes().to_vec();
    // The numbers are in the order of the nodes of the host.
    let numbers = guest.lines().filter(|line| line.contains("font-size=\"9.5\""));
    let number = |line: &str| line.split(['>', '<']).nth(2).unwrap().parse::<usize>().unwrap();
    for (node, rank) in numbers.map(number).enumerate() {
        assert_eq!(nodes[rank].index(), node);
    }
}
