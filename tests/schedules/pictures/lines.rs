//! Arrows that lie side by side, or wrap.

use super::reading::Arrow;
use super::single;
use crate::fixtures::send;

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
