//! Collectives whose windows slide along rows, under Wang's three port models.

use std::collections::BTreeSet;

use necklace::Rank;
use necklace::algorithm::find;
use necklace::collective::Collective;
use necklace::schedule::{Ports, Problem, Proof, Schedule, to_json, verify};
use necklace::topology::parse;
use necklace_tests::checker::check_schedule;
use quickcheck::{QuickCheck, TestResult};

fn schedule(text: &str, collective: &Collective, algorithm: &str) -> Schedule {
    let problem = Problem::new(parse(text).unwrap(), collective.clone()).unwrap();
    find(collective, algorithm).unwrap().shares(&problem).unwrap().collect().unwrap()
}

/// Verifies a schedule, its port model and its claims, and has the independent checker replay it.
fn proof(text: &str, collective: &Collective, algorithm: &str) -> Proof {
    let problem = Problem::new(parse(text).unwrap(), collective.clone()).unwrap();
    let schedule = schedule(text, collective, algorithm);
    let algorithm = find(collective, algorithm).unwrap();
    let proof = verify(&schedule).unwrap_or_else(|faults| panic!("{} on {text}: {faults}", algorithm.name()));
    assert_eq!(proof.contradicts(&algorithm.claims(&problem)), [], "{} on {text}", algorithm.name());
    assert!(proof.contention_free && proof.keeps(algorithm.ports(&problem)), "{} on {text}", algorithm.name());
    let accepted = check_schedule(&to_json(&schedule), &[]).is_none_or(|checked| checked.is_ok());
    assert!(accepted, "{} on {text}", algorithm.name());
    proof
}

fn broadcast(root: usize) -> Collective {
    Collective::Broadcast { root: Rank::new(root) }
}

/// Returns what each rank receives in each round: the sources of the blocks.
fn received(schedule: &Schedule) -> Vec<Vec<BTreeSet<i32>>> {
    let in_round = |transfers: &[necklace::schedule::Transfer]| {
        let mut received = vec![BTreeSet::new(); schedule.outline.problem.ranks()];
        for transfer in transfers {
            received[transfer.destination.index()].extend(transfer.blocks.iter().map(|block| block.source()));
        }
        received
    };
    schedule.rounds.iter().map(|round| in_round(&round.transfers)).collect()
}

/// Reads a row of a table: what each processor receives in a step.
fn row(text: &str) -> Vec<BTreeSet<i32>> {
    text.split('|').map(|cell| cell.split_whitespace().map(|source| source.parse().unwrap()).collect()).collect()
}

/// Table 5.2: model-2 takes five steps for 12 nodes and windows of 3.
#[test]
fn table_5_2_is_reproduced() {
    let steps = [
        "1 2 3|0 2 3 4|0 1 3 4 5|0 1 2 4 5 6|1 2 3 5 6 7|2 3 4 6 7 8|3 4 5 7 8 9|4 5 6 8 9 10|5 6 7 9 10 11|6 7 8 10 11|7 8 9 11|8 9 10",
        "||||0|0 1|0 1 2|1 2 3|2 3 4|3 4 5|4 5 6|5 6 7",
        "4 5 6|5 6 7|6 7 8|7 8 9|8 9 10|9 10 11|10 11|11||||",
        "7 8 9|8 9 10|9 10 11|10 11|11|||0|0 1|0 1 2|1 2 3|2 3 4",
        "10 11|11|||||||||0|0 1",
    ];
    let schedule = schedule("how:12,3,1", &Collective::Allgather, "sliding-windows:ports=same-value");
    assert_eq!(received(&schedule), steps.map(row));
    // Figure 5.7: model-3 does what goes up and down at once.
    let at_once = self::schedule("how:12,3,1", &Collective::Allgather, "sliding-windows:parts=1");
    let both = |up: usize, down: usize| -> Vec<BTreeSet<i32>> {
        row(steps[up]).into_iter().zip(row(steps[down])).map(|(up, down)| &up | &down).collect()
    };
    assert_eq!(received(&at_once), [row(steps[0]), both(1, 2), row(steps[3]), row(steps[4])]);
}

/// Tables 5.3 to 5.6, whose columns are the first one shifted. With model-2 and the first step both
/// ways, one step fewer than in tables 5.3 and 5.4 suffices.
#[test]
fn tables_5_3_to_5_6_are_reproduced() {
    let shifted = |nodes: i32, first: &str| -> Vec<BTreeSet<i32>> {
        let [first] = &row(first)[..] else { panic!("one column") };
        (0..nodes).map(|by| first.iter().map(|source| (source + by) % nodes).collect()).collect()
    };
    for (nodes, up_first, steps) in [
        (16, &["15 14 13", "1 2 3", "12 11 10", "4 5 6", "9 8 7"][..], ["15 14 13 1 2 3", "12 11 10 4 5 6", "9 8 7"]),
        (
            17,
            &["16 15 14", "1 2 3", "13 12 11", "4 5 6", "10 9 8", "7"][..],
            ["16 15 14 1 2 3", "13 12 11 4 5 6", "10 9 8 7"],
        ),
    ] {
        let text = format!("how-wrap:{nodes},3,1");
        let of_the_source = schedule(&text, &Collective::Allgather, "sliding-windows:ports=same-value,first=up");
        let expected: Vec<_> = up_first.iter().map(|step| shifted(nodes, step)).collect();
        assert_eq!(received(&of_the_source), expected);
        let at_once = schedule(&text, &Collective::Allgather, "sliding-windows:parts=1");
        assert_eq!(received(&at_once), steps.map(|step| shifted(nodes, step)));
        let same_value = schedule(&text, &Collective::Allgather, "sliding-windows:ports=same-value");
        assert_eq!(received(&same_value)[0], shifted(nodes, steps[0]));
        assert_eq!(same_value.rounds.len(), (nodes as usize - 1).div_ceil(3) - 1);
    }
}

/// Table 6.2: within the rows of HOW(5, 3, 2), the middle nodes have all after the first step
/// (errata 5.17).
#[test]
fn table_6_2_is_reproduced() {
    let schedule = schedule("how:5,3,2", &Collective::Allgather, "sliding-windows:parts=1");
    let received = received(&schedule);
    for y in 0..5 {
        let expected = [["1 2 3", "0 2 3 4", "0 1 3 4", "0 1 2 4", "1 2 3"], ["4", "", "", "", "0"]];
        for (step, columns) in expected.iter().enumerate() {
            let sources = |column: &str| row(column)[0].iter().map(|x| 5 * y + x).collect::<BTreeSet<i32>>();
            let own = &received[step][5 * y as usize..][..5];
            assert_eq!(own, columns.map(sources), "row {y}, step {}", step + 1);
        }
    }
}

/// Section 5.3 with errata 5.11, for all p < 40: the steps of model-3 are the least, and those of
/// model-2 have one more for each stage that is split.
#[test]
fn allgather_takes_the_steps_of_section_5_3() {
    for (p, w) in (3..40_u64).flat_map(|p| (1..p - 1).map(move |w| (p, w))).filter(|(p, w)| (p + w) % 6 == 0 || *p < 10)
    {
        let text = format!("how:{p},{w},1");
        let all = proof(&text, &Collective::Allgather, "sliding-windows:parts=1");
        assert_eq!((all.startups, all.hops), ((p - 1).div_ceil(w), (p - 1).div_ceil(w)), "{text}");
        let same = proof(&text, &Collective::Allgather, "sliding-windows:ports=same-value");
        assert_eq!(same.startups, (p - 1).div_ceil(w) + (p - 1) / (2 * w), "{text}");
        if p > 2 * w + 1 {
            let text = format!("how-wrap:{p},{w},1");
            let all = proof(&text, &Collective::Allgather, "sliding-windows:parts=1");
            assert_eq!(all.startups, (p - 1).div_ceil(2 * w), "{text}");
            let same = proof(&text, &Collective::Allgather, "sliding-windows:ports=same-value");
            assert_eq!(same.startups, (p - 1 - 2 * w).div_ceil(w) + 1, "{text}");
            assert!(same.startups <= (p - 1).div_ceil(w));
            let of_the_source = proof(&text, &Collective::Allgather, "sliding-windows:ports=same-value,first=up");
            assert_eq!(of_the_source.startups, (p - 1).div_ceil(w), "{text}");
        }
    }
}

/// Section 6.3: (1 + sqrt(p)) steps of blocks for each of one dimension. In two parts, blocks take
/// both dimensions at once, and half of the time.
#[test]
fn allgather_goes_along_both_dimensions_at_once() {
    for (extent, window) in [(5_u64, 3), (8, 3), (6, 2), (9, 2)] {
        let text = format!("how:{extent},{window},2");
        let steps = (extent - 1).div_ceil(window);
        let single = proof(&text, &Collective::Allgather, "sliding-windows:parts=1");
        assert_eq!((single.startups, single.transmission), (2 * steps, ((1 + extent) * steps).into()), "{text}");
        let parts = proof(&text, &Collective::Allgather, "sliding-windows:parts=2");
        assert_eq!(parts.startups, 2 * steps);
        assert_eq!(parts.transmission * 2, single.transmission, "{text}");
        let same = proof(&text, &Collective::Allgather, "sliding-windows:ports=same-value");
        assert_eq!(same.transmission, ((1 + extent) * (steps + (extent - 1) / (2 * window))).into());
    }
    // A generalized hypercube takes two steps, with any ports but one.
    for ports in ["parts=1", "ports=same-value"] {
        let proof = proof("ghc:5,2", &Collective::Allgather, &format!("sliding-windows:{ports}"));
        assert_eq!((proof.startups, proof.transmission), (2, 6.into()));
    }
}

/// Table 5.1 and section 5.2.1: the nodes with the block double until they fill a window, then a
/// window is added in each step; with more ports, it is so from the beginning (section 5.2.2).
#[test]
fn broadcast_takes_the_steps_of_section_5_2() {
    for (p, w) in (3..40_u64).flat_map(|p| (1..p - 1).map(move |w| (p, w))).filter(|(p, w)| (p + w) % 6 == 0 || *p < 10)
    {
        let text = format!("how:{p},{w},1");
        let filling = u64::from((w + 1).next_power_of_two().trailing_zeros());
        let one = proof(&text, &broadcast(0), "sliding-windows:ports=one");
        assert_eq!(one.startups, filling + p.saturating_sub(1 << filling).div_ceil(w), "{text}");
        assert!(one.keeps(Ports::One));
        let doubling = schedule(&text, &broadcast(0), "sliding-windows:ports=one");
        for (step, round) in doubling.rounds.iter().enumerate().take(filling as usize) {
            assert_eq!(round.transfers.len(), (1 << step).min(p as usize - (1 << step)), "{text}");
        }
        let farthest = proof(&text, &broadcast(0), "farthest-first");
        assert!(farthest.startups <= one.startups && farthest.keeps(Ports::One), "{text}");
        let same = proof(&text, &broadcast(0), "sliding-windows");
        assert_eq!((same.startups, same.transmission), ((p - 1).div_ceil(w), (p - 1).div_ceil(w).into()), "{text}");
        if p > 2 * w + 1 {
            let text = format!("how-wrap:{p},{w},1");
            let same = proof(&text, &broadcast(3), "sliding-windows");
            assert_eq!(same.startups, (p - 1).div_ceil(2 * w), "{text}");
        }
    }
    // Figures 5.3, 5.4 and 6.2.
    for (text, algorithm, steps) in [
        ("how:12,3,1", "sliding-windows:ports=one", 5),
        ("how:12,3,1", "sliding-windows", 4),
        ("how:5,3,2", "sliding-windows", 4),
        ("how:5,3,2", "sliding-windows:ports=one", 6),
        ("ghc:5,2", "sliding-windows", 2),
    ] {
        assert_eq!(proof(text, &broadcast(0), algorithm).startups, steps, "{text} {algorithm}");
    }
}

/// Section 5.5.1 with errata 5.12: a ring both ways takes fl(p^2 / 4) steps of one block, which here
/// are p - 1 messages.
#[test]
fn alltoall_around_a_ring_sends_as_many_blocks_as_section_5_5_1() {
    for p in 5..20_u64 {
        let text = format!("how:{p},3,1");
        let proof = proof(&text, &Collective::Alltoall, "by-dimension:within=ring-both");
        assert_eq!(proof.transmission, (p * p / 4).into(), "{text}");
        assert_eq!((proof.startups, proof.hops), (p - 1, p - 1), "{text}");
    }
    // Section 6.5.1, by erratum 5.14: along rows and columns, as many exchanges as nodes in a row.
    for (text, p) in [("how:5,3,2", 5_u64), ("how:6,2,2", 6), ("how-wrap:7,2,2", 7)] {
        let proof = proof(text, &Collective::Alltoall, "by-dimension:within=ring-both");
        assert_eq!(proof.transmission, (2 * p * (p * p / 4)).into(), "{text}");
        assert_eq!((proof.startups, proof.hops), (2 * (p - 1), 2 * (p - 1)), "{text}");
    }
}

#[test]
fn any_product_is_served_from_any_root() {
    fn holds(kind: u8, extents: (u8, u8, u8), window: u8, root: usize) -> TestResult {
        let extents = [extents.0, extents.1, extents.2].map(|extent| 2 + usize::from(extent % 6));
        let [a, b, c] = extents;
        let window = 1 + usize::from(window) % (a - 1);
        let text = match kind % 7 {
            0 => format!("how:{a},{window},{}", 1 + b % 2),
            1 => format!("how-wrap:{a},{window},{}", 1 + b % 2),
            2 => format!("torus:{a}x{b}x{c}"),
            3 => format!("mesh:{a}x{b}"),
            4 => format!("ghc:{a}x{b}"),
            5 => format!("hypercube:{}", 1 + b % 5),
            _ => format!("line:{}", a * b),
        };
        let problem = Problem::new(parse(&text).unwrap(), broadcast(0)).unwrap();
        if find(problem.collective(), "farthest-first").unwrap().fits(&problem).is_err() {
            return TestResult::discard();
        }
        let root = root % problem.ranks();
        let distances = problem.topology().clone();
        let farthest = (0..problem.ranks())
            .map(|node| distances.distance(necklace::Node::new(root), necklace::Node::new(node)) as u64)
            .max()
            .unwrap();
        assert_eq!(proof(&text, &broadcast(root), "sliding-windows").startups, farthest, "{text}, root {root}");
        let one = proof(&text, &broadcast(root), "sliding-windows:ports=one").startups;
        assert!(proof(&text, &broadcast(root), "farthest-first").startups <= one, "{text}, root {root}");
        proof(&text, &Collective::Allgather, "sliding-windows:ports=same-value");
        for parts in [1, problem.topology().factors().unwrap().iter().filter(|row| row.extent() > 1).count()] {
            proof(&text, &Collective::Allgather, &format!("sliding-windows:parts={parts}"));
        }
        TestResult::passed()
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u8, (u8, u8, u8), u8, usize) -> TestResult);
}

#[test]
fn other_networks_and_parameters_are_refused() {
    let error = |text: &str, collective: &Collective, algorithm: &str| {
        let problem = Problem::new(parse(text).unwrap(), collective.clone()).unwrap();
        find(collective, algorithm).unwrap().fits(&problem).unwrap_err().to_string()
    };
    for text in ["complete:8", "how:8,7,1", "binary-tree:3", "line:5000"] {
        for algorithm in ["farthest-first", "sliding-windows", "sliding-windows:ports=one"] {
            let error = error(text, &broadcast(0), algorithm);
            assert!(error.contains("at most 4096 nodes each, not complete") && error.contains(text), "{error}");
        }
    }
    let unfit = error("how:300,7,1", &Collective::Allgather, "sliding-windows");
    assert!(unfit.contains("at most 256 nodes each, not complete") && unfit.contains("how:300,7,1"), "{unfit}");
    let parts = error("how:5,2,2", &Collective::Allgather, "sliding-windows:parts=3");
    assert!(parts.contains("parts=3: it needs 1 or 2, the number of dimensions"), "{parts}");
    let both = error("how:5,2,2", &Collective::Allgather, "sliding-windows:ports=same-value,parts=2");
    assert!(both.contains("parts=2: it needs 1 with ports=same-value"), "{both}");
    for (text, settings, needs) in [
        ("how-wrap:9,2,1", "first=up", "ports=same-value"),
        ("how:9,2,2", "ports=same-value,first=up", "windows that wrap round; this is how:9,2,2"),
    ] {
        let first = error(text, &Collective::Allgather, &format!("sliding-windows:{settings}"));
        assert!(first.contains(&format!("first=up: it needs {needs}")), "{first}");
    }
}

/// Tables 6.1, 6.3, 6.4 and 6.5: what the nodes of HOW(5, 3, 2) have before and after, with the node
/// in row x and column y as (x, y).
#[test]
fn states_are_those_of_tables_6_1_and_6_3_to_6_5() {
    let nodes = || (0..25).map(|node| (node / 5, node % 5));
    let number = |(x, y): (i32, i32)| 5 * x + y;
    let pairs = |held: necklace::collective::Holding| -> BTreeSet<(i32, i32)> {
        held.iter().map(|(block, _)| (block.source(), block.destination())).collect()
    };
    for node in nodes() {
        let rank = Rank::new(number(node) as usize);
        let states = |collective: Collective| [collective.before(25, rank), collective.after(25, rank)].map(pairs);
        // Table 6.1: a node's own message, and then those of all.
        let [before, after] = states(Collective::Allgather);
        assert!(before.iter().map(|(from, _)| *from).eq([number(node)]));
        assert!(after.iter().map(|(from, _)| *from).eq(nodes().map(number)));
        // Table 6.3: all messages at node (0, 0), and then one at each.
        let [before, after] = states(Collective::Scatter { root: Rank::new(0) });
        let all: BTreeSet<(i32, i32)> = nodes().map(|to| (0, number(to))).collect();
        assert_eq!(before, if node == (0, 0) { all } else { BTreeSet::new() });
        assert_eq!(after, BTreeSet::from([(0, number(node))]));
        // Tables 6.4 and 6.5: the messages from a node to all, and then those from all to it.
        let [before, after] = states(Collective::Alltoall);
        assert_eq!(before, nodes().map(|to| (number(node), number(to))).collect());
        assert_eq!(after, nodes().map(|from| (number(from), number(node))).collect());
    }
    // Verified schedules lead from the one to the other.
    for (collective, algorithm) in [
        (Collective::Allgather, "sliding-windows"),
        (Collective::Scatter { root: Rank::new(0) }, "subtrees"),
        (Collective::Alltoall, "how-greedy"),
    ] {
        proof("how:5,3,2", &collective, algorithm);
    }
}

/// Table 5.7: the root sends the messages for the three farthest nodes, then those for the next
/// three, and all have theirs after four steps. Which of its neighbours a message goes through is not
/// that of the table.
#[test]
fn table_5_7_is_reproduced_by_steps() {
    let collective = Collective::Scatter { root: Rank::new(0) };
    let schedule = schedule("how:12,3,1", &collective, "subtrees:load=1");
    let sent = |round: &necklace::schedule::Round| -> BTreeSet<i32> {
        let by_root = round.transfers.iter().filter(|transfer| transfer.source == Rank::new(0));
        by_root.flat_map(|transfer| &transfer.blocks).map(|block| block.destination()).collect()
    };
    let steps: Vec<BTreeSet<i32>> = schedule.rounds.iter().map(sent).collect();
    assert_eq!(steps, [vec![9, 10, 11], vec![6, 7, 8], vec![3, 4, 5], vec![1, 2]].map(BTreeSet::from_iter));
    proof("how:12,3,1", &collective, "subtrees:load=1");
}
