//! The papers' own tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::{Algorithm, alltoall::TorusExchange};
use necklace::collective::Collective;
use necklace::schedule::{Block, Problem};
use necklace::topology::Grid;

type Blocks = BTreeSet<String>;

/// The steps of the figure: the blocks sent in each, and held after it.
fn figure_4() -> Vec<(Blocks, Blocks)> {
    let text = include_str!("../../testdata/suh-shin-figure-4.txt");
    let stage = |stage: &str| {
        let mut found: BTreeMap<&str, Blocks> = BTreeMap::new();
        let mut kind = "";
        for line in stage.lines().skip(1) {
            match line {
                "sent" | "held" => kind = line,
                blocks => found.entry(kind).or_default().extend(blocks.split(' ').map(str::to_owned)),
            }
        }
        (found.remove("sent").unwrap_or_default(), found.remove("held").unwrap_or_default())
    };
    text.split("## ").skip(1).map(stage).collect()
}

/// As the figure writes it: rows and columns in base 12.
fn written(block: Block) -> String {
    let digits = |node: i32| format!("{:X}{:X}", node / 12, node % 12);
    digits(block.source()) + &digits(block.destination())
}

#[test]
fn node_0_0_of_torus_12x12_sends_and_holds_as_in_figure_4() {
    let problem = Problem::new(Arc::new(Grid::torus(&[12, 12]).unwrap()), Collective::Alltoall).unwrap();
    let rounds = TorusExchange.share(&problem, Rank::new(0)).unwrap();
    let figure = figure_4();
    let own = (0..144).map(|to| Block::new(Rank::new(0), Rank::new(to)));
    let mut held: Blocks = own.map(written).collect();
    assert_eq!(held, figure[0].1, "initial state");
    let mut steps = 0;
    for (round, (sent, after)) in rounds.zip(&figure[1..]) {
        let of = |ends: &[necklace::schedule::End]| -> Blocks {
            ends.iter().flat_map(|end| end.blocks.iter().copied().map(written)).collect()
        };
        assert_eq!(&of(&round.sends), sent, "sent in step {steps}");
        held = held.difference(sent).cloned().chain(of(&round.receives)).collect();
        assert_eq!(&held, after, "held after step {steps}");
        steps += 1;
    }
    assert_eq!((steps, figure.len()), (8, 9));
}
