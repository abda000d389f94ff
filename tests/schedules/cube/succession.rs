//! Exchanges in succession.

use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::Algorithm;
use necklace::algorithm::cube::Succession;
use necklace::error::BuildError;
use necklace::schedule::{Placement, Problem, Proof, verify_shares};

/// All arrive where they should, no channel carries two at a time, and the claims are true.
fn proved(succession: &Succession) -> Proof {
    let problem = succession.problem().unwrap();
    let proof = verify_shares(succession.shares(&problem).unwrap());
    let proof = proof.unwrap_or_else(|violations| panic!("{}: {violations}", succession.name()));
    let claims = succession.claims(&problem).completed(succession.about().ports);
    assert_eq!(proof.contradicts(&claims), [], "{}", succession.name());
    assert!(proof.keeps(succession.about().ports));
    proof
}

#[test]
fn pipelined_exchanges_take_half_the_elements_and_delays() {
    for (axes, d, places) in [
        (1, 1, 1),
        (2, 1, 1),
        (4, 1, 2),
        (1, 2, 2),
        (2, 2, 2),
        (3, 2, 3),
        (1, 3, 3),
        (2, 3, 3),
        (2, 3, 4),
        (2, 3, 5),
        (3, 3, 3),
        (2, 4, 4),
        (1, 5, 5),
        (1, 6, 6),
        (1, 7, 7),
    ] {
        let succession = Succession::pipelined(axes, d, places).unwrap();
        assert_eq!(succession.steps(), (1 << (places - 1)) + (axes - 1) * d, "{}", succession.name());
        proved(&succession);
    }
}

#[test]
fn concurrent_exchanges_take_half_the_elements_and_2_delays() {
    for (axes, d, places) in [
        (3, 1, 2),
        (3, 1, 3),
        (3, 1, 5),
        (4, 1, 3),
        (4, 1, 4),
        (5, 1, 4),
        (6, 1, 4),
        (7, 1, 4),
        (7, 1, 5),
        (9, 1, 5),
        (12, 1, 5),
        (3, 2, 4),
        (3, 2, 5),
        (4, 2, 4),
        (4, 2, 5),
        (5, 2, 5),
        (3, 3, 6),
    ] {
        let Ok(succession) = Succession::concurrent(axes, d, places) else {
            assert_eq!((axes, d, places), (3, 1, 2), "there is time for some");
            continue;
        };
        let half = 1 << (places - 1);
        match axes {
            3 => assert_eq!(succession.steps(), half + d + d % 2, "{}", succession.name()),
            _ if half >= axes * d => assert_eq!(succession.steps(), half + 2 * d, "{}", succession.name()),
            _ => assert!(succession.steps() <= (axes + 3) * d, "{}", succession.name()),
        }
        proved(&succession);
    }
}

#[test]
fn theorem_2_holds_with_half_of_the_elements_at_least() {
    for axes in 1..=12 {
        for d in (1..=6).filter(|d| axes * d <= 30) {
            for places in 2 * d..2 * d + 6 {
                let half = 1 << (places - 1);
                let pipelined = Succession::pipelined(axes, d, places).unwrap().steps();
                let concurrent = Succession::concurrent(axes, d, places);
                let best = concurrent.map_or(pipelined, |succession| succession.steps().min(pipelined));
                let theorem = (half + (axes - 1) * d).min(((axes + 3) * d).max(half + 2 * d));
                assert!(
                    best <= theorem,
                    "{axes} axes of {d} bits, 2^{places} elements: {best} steps instead of {theorem}"
                );
                // An axis must carry half of the elements; the last to cross, all the others.
                assert!(best >= half);
            }
        }
    }
}

#[test]
fn invalid_succession_is_refused_with_the_reason() {
    let refused = |succession: Result<Succession, BuildError>, shape: [usize; 3], words: &str| {
        let error = succession.unwrap_err();
        assert!(matches!(&error, BuildError::Parameters { algorithm, .. } if algorithm == "succession"), "{error}");
        let [axes, d, places] = shape;
        let error = error.to_string();
        assert!(error.contains(&format!("axes {axes}, bits of an axis {d}, bits of a place {places}")), "{error}");
        assert!(error.contains(words), "{error}, instead of {words}");
    };
    for (axes, d, places, words) in [
        (0, 1, 1, "1 to 30 bits of all axes"),
        (1, 0, 1, "1 to 30 bits of all axes"),
        (31, 1, 1, "1 to 30 bits of all axes"),
        (2, 16, 16, "1 to 30 bits of all axes"),
        (usize::MAX, 2, 2, "1 to 30 bits of all axes"),
        (1, 30, 30, "bits of an axis up to 20"),
        (1, 3, 2, "from 3, those of an axis, to 20"),
        (1, 1, 21, "from 1, those of an axis, to 20"),
        (1, 17, 17, "divide the 65536 complement pairs, or 15 at most"),
    ] {
        refused(Succession::pipelined(axes, d, places), [axes, d, places], words);
        let words = if words.contains("divide") { "3 axes at least" } else { words };
        refused(Succession::concurrent(axes, d, places), [axes, d, places], words);
    }
    for (axes, d, places, words) in [
        (2, 2, 8, "3 axes at least"),
        (3, 2, 3, "from 4, those of two axes"),
        (3, 1, 1, "from 2, those of two axes"),
        (3, 1, 2, "some of the 2 complement pairs"),
        (5, 1, 2, "some of the 2 complement pairs"),
    ] {
        refused(Succession::concurrent(axes, d, places), [axes, d, places], words);
    }
    // It can be made, but what all ranks hold cannot be listed.
    let error = Succession::pipelined(30, 1, 20).unwrap().problem().unwrap_err();
    assert!(
        matches!(error, BuildError::Blocks { found, limit, .. } if (found, limit) == (1 << 50, 1 << 24)),
        "{error}"
    );
    let succession = Succession::pipelined(3, 2, 4).unwrap();
    assert!(Succession::pipelined(30, 1, 20).unwrap().fits(&succession.problem().unwrap()).is_err());
}

/// A channel is busy in all steps but those in which nothing has come to its axis yet, or
/// everything is through.
#[test]
fn an_axis_idles_before_it_is_reached_and_after_only() {
    for (axes, d, places) in [(3, 2, 3), (2, 3, 4), (4, 1, 3), (2, 3, 3)] {
        let succession = Succession::pipelined(axes, d, places).unwrap();
        let problem = succession.problem().unwrap();
        let half = 1 << (places - 1);
        for (t, joined) in succession.shares(&problem).unwrap().enumerate() {
            let mut of_axis = vec![0; axes];
            for transfer in &joined.round.transfers {
                let dimension = (transfer.source.index() ^ transfer.destination.index()).ilog2() as usize;
                of_axis[dimension / d] += 1;
            }
            let busy = |x: usize| if (x * d..x * d + half).contains(&t) { d << (axes * d) } else { 0 };
            assert_eq!(of_axis, (0..axes).map(busy).collect::<Vec<_>>(), "{} step {t}", succession.name());
        }
    }
}

#[test]
fn documented_steps_on_cubes_are_current() {
    let page = include_str!("../../../doc/notes/cubes.md");
    for (axes, d, places) in [(2, 3, 6), (3, 2, 4), (3, 3, 6), (4, 2, 4), (5, 2, 6), (7, 1, 5), (6, 4, 8)] {
        let half = 1 << (places - 1);
        let pipelined = Succession::pipelined(axes, d, places).unwrap().steps();
        let concurrent = Succession::concurrent(axes, d, places);
        let concurrent = concurrent.map_or_else(|_| "-".to_owned(), |succession| succession.steps().to_string());
        let theorem = (half + (axes - 1) * d).min(((axes + 3) * d).max(half + 2 * d));
        let single = axes * Succession::pipelined(1, d, places).unwrap().steps();
        let elements = 2 * half;
        let row = format!("| {axes} | {d} | {elements} | {single} | {pipelined} | {concurrent} | {theorem} |");
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn succession_is_refused_for_another_problem() {
    let of = |axes, d, places| Succession::pipelined(axes, d, places).unwrap();
    let one = of(2, 2, 2);
    assert!(one.fits(&of(2, 2, 2).problem().unwrap()).is_ok());
    for other in [of(1, 2, 2), of(2, 2, 3), of(4, 1, 2), of(1, 4, 4)] {
        assert!(one.fits(&other.problem().unwrap()).is_err(), "{}", other.name());
    }
    // The same, of ranks in another order.
    let problem = one.problem().unwrap();
    let nodes = (0..16).rev().map(Node::new).collect();
    let turned = Problem::placed(
        Arc::clone(problem.topology()),
        Placement::new(nodes, 16).unwrap(),
        problem.collective().clone(),
    );
    assert!(one.fits(&turned.unwrap()).is_err());
}
