//! Prints Tables 1.1 and 1.2 of a dissertation on networks of overlapping windows: how many
//! channels they have and how far their nodes are apart, compared with cubes, tori and generalized
//! hypercubes of as many nodes.
//!
//! Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
//! Evaluation*, dissertation, New Jersey Institute of Technology, 1999, sections 1.1.2 and 1.2. Its
//! channel is a link. HOW is its word for these networks, GH for the generalized hypercube.
//!
//! Beside the values of the formulas stands what the networks of this crate have, counted. Where
//! they differ, the row has a star and a remark. Two formulas do not hold for all sizes:
//!
//! - The torus has n N channels for p > 2. With p = 2, two neighbours have one link, and it is the
//!   m-cube with n N / 2.
//! - Windows that wrap round give n w N channels for 2w < p. Otherwise rows are complete, with
//!   n (p - 1) N / 2 channels.
//!
//! The formula for the diameter where windows wrap round, n ceil((p - 1) / 2w), is right for all p
//! and w: it equals n ceil(floor(p / 2) / w). Section 1.2 calls it half of the diameter without. It
//! is half, rounded up in each dimension.
//!
//! ```text
//! cargo run --release -p necklace-examples --example how_tables -- 128 16 2
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use lexopt::{Arg, ValueExt};
use necklace::Node;
use necklace::topology::{Topology, parse};

/// The most nodes of a network: the diameter is found by measuring.
const MOST: usize = 1 << 20;

/// A network of a table: its name, its text, and the formulas of the dissertation for it.
struct Row {
    name: String,
    text: String,
    channels: usize,
    diameter: usize,
}

/// Returns the rows of Table 1.1, or of Table 1.2 with the networks that wrap round, for p^n nodes
/// and windows of w. Networks that do not exist are left out: cubes of a number of nodes that is no
/// power of two, and planes of one that is no square or is too small for the window.
fn rows(p: usize, w: usize, n: usize, wrapping: bool) -> Vec<Row> {
    let nodes = p.pow(n as u32);
    let (m, root) = (nodes.ilog2() as usize, nodes.isqrt());
    let row = |name: &str, text: String, channels, diameter| Row { name: name.to_owned(), text, channels, diameter };
    let mut rows = Vec::new();
    if nodes.is_power_of_two() {
        rows.push(row("m-cube", format!("hypercube:{m}"), nodes / 2 * m, m));
    }
    let extents = vec![p.to_string(); n].join("x");
    rows.push(row("p-ary n-cube", format!("torus:{extents}"), n * nodes, n * (p / 2)));
    rows.push(row("GH(p, n)", format!("ghc:{p},{n}"), (p - 1) * n * nodes / 2, n));
    if root * root == nodes && w < root {
        let diameter = 2 * (root - 1).div_ceil(w);
        rows.push(row("HOW(sqrt N, w, 2)", format!("how:{root},{w},2"), root * w * (2 * root - w - 1), diameter));
        if wrapping {
            let diameter = 2 * (root - 1).div_ceil(2 * w);
            rows.push(row("wrap-around HOW(sqrt N, w, 2)", format!("how-wrap:{root},{w},2"), 2 * w * nodes, diameter));
        }
    }
    let channels = n * (nodes / p) * w * (2 * p - w - 1) / 2;
    rows.push(row("HOW(p, w, n)", format!("how:{p},{w},{n}"), channels, n * (p - 1).div_ceil(w)));
    if wrapping {
        let diameter = n * (p - 1).div_ceil(2 * w);
        rows.push(row("wrap-around HOW(p, w, n)", format!("how-wrap:{p},{w},{n}"), n * w * nodes, diameter));
    }
    rows
}

/// Returns the number of links of a network and its diameter.
fn counted(text: &str) -> Result<(usize, usize), Box<dyn Error>> {
    let network = parse(text)?;
    // In all of these networks, node 0 is at a corner or all nodes are alike: no distance exceeds
    // the farthest from it.
    let farthest = (0..network.nodes()).map(|to| network.distance(Node::new(0), Node::new(to))).max();
    Ok((network.channels() / 2, farthest.unwrap_or(0)))
}

/// Returns the wires of channels of this many bits in each direction (section 1.1.2).
fn wires(channels: usize, bits: usize) -> usize {
    channels.saturating_mul(bits).saturating_mul(2)
}

fn print(title: &str, rows: &[Row], bits: usize) -> Result<(), Box<dyn Error>> {
    let head = ["network", "text", "channels", "counted", "diameter", "counted", "wires"].map(str::to_owned);
    let (mut lines, mut remarks) = (vec![head], Vec::new());
    for Row { name, text, channels, diameter } in rows {
        let (links, farthest) = counted(text)?;
        let mark = |differs| if differs { "*" } else { "" };
        lines.push([
            format!("{name}{}", mark(links != *channels || farthest != *diameter)),
            text.clone(),
            channels.to_string(),
            links.to_string(),
            diameter.to_string(),
            farthest.to_string(),
            wires(links, bits).to_string(),
        ]);
        if links != *channels {
            let why =
                if text.starts_with("torus") { "with p = 2, neighbours have one link" } else { "rows are complete" };
            let remark = format!("* {text}: {links} channels, not {channels}: {why}");
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    println!("{title}\n");
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    for line in &lines {
        let cell = |column: usize| match column {
            0 | 1 => format!("{:<1$}", line[column], widths[column]),
            _ => format!("{:>1$}", line[column], widths[column]),
        };
        println!("{}", std::array::from_fn::<String, 7, _>(cell).join("  "));
    }
    println!();
    if !remarks.is_empty() {
        println!("{}\n", remarks.join("\n"));
    }
    Ok(())
}

const USAGE: &str = "\
Prints how many channels networks of p^n nodes have, and their diameters.

Usage: how_tables [P W N] [--bits BITS]

P is the extent, W the window and N the number of dimensions: 128 16 2 unless given. BITS is the width
of a channel, 64 unless given.";

/// Checks the three numbers.
fn checked(numbers: &[usize]) -> Result<(usize, usize, usize), String> {
    let (p, w, n) = match *numbers {
        [] => (128, 16, 2),
        [p, w, n] => (p, w, n),
        _ => return Err(format!("expected P W N, found {} numbers", numbers.len())),
    };
    let nodes = u32::try_from(n).ok().and_then(|n| p.checked_pow(n));
    match nodes {
        _ if n == 0 => Err("no dimensions; N is at least 1".to_owned()),
        _ if w == 0 || w >= p => Err(format!("a window of {w} for an extent of {p}; W is from 1 to P - 1")),
        Some(..=MOST) => Ok((p, w, n)),
        _ => Err(format!("{p}^{n} nodes; there may be {MOST}")),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut numbers, mut bits) = (Vec::new(), 64);
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => {
                println!("{USAGE}");
                return Ok(());
            }
            Arg::Long("bits") => bits = arguments.value()?.parse()?,
            Arg::Value(number) => numbers.push(number.parse()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let (p, w, n) = checked(&numbers)?;
    let of = format!("networks of {p}^{n} nodes, windows of {w}");
    print(&format!("Table 1.1: {of}"), &rows(p, w, n, false), bits)?;
    print(&format!("Table 1.2: {of}, also wrapping round"), &rows(p, w, n, true), bits)?;
    println!(
        "Channels and diameters are those of the formulas, then counted. A channel is a link; its wires are those\n\
         of {bits} bits in each direction, for the counted channels."
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 1.1.2, N = 16,384 and channels of 64 bits: the channels times 64, the wires, and the
    /// diameter.
    #[test]
    fn wires_are_those_of_section_1_1_2() {
        let printed = [
            ("hypercube:14", 7_340_032, 14_680_064, 14),
            ("torus:128x128", 2_097_152, 4_194_304, 128),
            ("ghc:128,2", 133_169_152, 266_338_304, 2),
            ("how:128,32,2", 58_458_112, 116_916_224, 8),
            ("how:128,16,2", 31_326_208, 62_652_416, 16),
            ("how:128,8,2", 16_187_392, 32_374_784, 32),
        ];
        for (text, single, both, diameter) in printed {
            let (links, farthest) = counted(text).expect("a network");
            assert_eq!((64 * links, wires(links, 64), farthest), (single, both, diameter), "{text}");
            let rows = [8, 16, 32].into_iter().flat_map(|w| rows(128, w, 2, true));
            let row = rows.into_iter().find(|row| row.text == text).expect("a row of the table");
            assert_eq!((wires(row.channels, 64), row.diameter), (both, diameter), "{text}");
        }
    }

    #[test]
    fn formulas_equal_the_counts_but_for_the_stars() {
        let (mut plain, mut starred) = (0, 0);
        for (p, n) in [(2, 1), (2, 4), (2, 6), (3, 2), (4, 2), (4, 3), (5, 1), (5, 2), (6, 2), (9, 2), (16, 1), (40, 1)]
        {
            for row in (1..p).flat_map(|w| rows(p, w, n, true)) {
                let (links, farthest) = counted(&row.text).expect("a network");
                let numbers = row.text.split([':', ',', 'x']).filter_map(|number| number.parse().ok());
                let numbers: Vec<usize> = numbers.collect();
                assert_eq!(farthest, row.diameter, "{}", row.text);
                let corrected = match row.text.split(':').next() {
                    Some("torus") if numbers[0] == 2 => Some(row.channels / 2),
                    Some("how-wrap") if 2 * numbers[1] >= numbers[0] => {
                        Some(row.channels / numbers[1] * (numbers[0] - 1) / 2)
                    }
                    _ => None,
                };
                assert_eq!(links, corrected.unwrap_or(row.channels), "{}", row.text);
                assert_eq!(links != row.channels, corrected.is_some(), "{}", row.text);
                *(if corrected.is_some() { &mut starred } else { &mut plain }) += 1;
            }
        }
        assert!(plain > 300 && starred > 50, "{plain} {starred}");
    }

    #[test]
    fn no_distance_exceeds_the_farthest_from_node_0() {
        for row in
            [(2, 5), (3, 3), (4, 2), (7, 2), (30, 1)].into_iter().flat_map(|(p, n)| rows(p, (p / 3).max(1), n, true))
        {
            let network = parse(&row.text).expect("a network");
            let all = || (0..network.nodes()).map(Node::new);
            let diameter = all().flat_map(|u| all().map(move |v| (u, v))).map(|(u, v)| network.distance(u, v)).max();
            assert_eq!(diameter, counted(&row.text).ok().map(|(_, farthest)| farthest), "{}", row.text);
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for numbers in [&[4][..], &[4, 0, 2], &[4, 4, 2], &[0, 0, 0], &[4, 2, 0], &[1025, 2, 2], &[2, 1, usize::MAX]] {
            assert!(checked(numbers).is_err(), "{numbers:?}");
        }
        assert_eq!(checked(&[1024, 2, 2]), Ok((1024, 2, 2)));
    }
}
