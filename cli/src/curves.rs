//! The curves of a plot: time against the size of a block, or against the number of ranks.

use crate::cases::{Cases, PlotBy};
use crate::plot::{COLOURS, Curve, Curves};

/// A time of a plot, in microseconds.
pub(crate) struct Point<'a> {
    pub(crate) topology: &'a str,
    pub(crate) algorithm: &'a str,
    /// The names on the command line that stand for the algorithm, or its own.
    pub(crate) asked: &'a [String],
    pub(crate) source: &'static str,
    pub(crate) ranks: usize,
    pub(crate) bytes: u64,
    pub(crate) time: f64,
}

/// Returns the plot that the command line asks for.
pub(crate) fn curves(cases: &Cases, points: &[Point<'_>]) -> Curves {
    let (collective, machine) = (cases.collective.text(), &cases.machine);
    match (cases.plot_by, &cases.bytes[..]) {
        (PlotBy::Bytes, _) => {
            let title = format!("{collective} on {machine}");
            Curves { title, x: "bytes a block", y: "us", curves: by_bytes(points) }
        }
        (PlotBy::Ranks, [bytes]) => {
            let title = format!("{collective}, {bytes} bytes a block, on {machine}");
            Curves { title, x: "ranks", y: "us", curves: by_ranks(points) }
        }
        (PlotBy::Ranks, _) => {
            let title = format!("{collective} on {machine}");
            Curves { title, x: "ranks", y: "us", curves: by_ranks(points) }
        }
    }
}

/// Returns a curve for each network, algorithm and source.
fn by_bytes(points: &[Point<'_>]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let several = points.iter().any(|point| point.source != points[0].source);
    for point in points {
        let source = if several { format!(", {}", point.source) } else { String::new() };
        let name = format!("{} {}{source}", point.topology, point.algorithm);
        let at = (point.bytes as f64, point.time);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(at),
            None => curves.push(Curve::numbered(curves.len(), name, vec![at])),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// The first source of a curve with each line. A curve of counts alone differs from the formula's.
const LINES: [&str; 4] = ["formula", "simulated", "thesis", "counted"];

/// Times in ascending order of ranks.
type Times = Vec<(f64, f64)>;

/// The curves of a family of networks under one name, which share it up to their sources.
struct Bundle {
    family: String,
    /// The family, the algorithm and, if there are several, the size of a block.
    name: String,
    /// The least times by their sources.
    times: Vec<(Vec<&'static str>, Times)>,
}

/// Returns a curve for each family of networks, each name of an algorithm and each source. Sources
/// with equal times share a curve. If a name stands for several algorithms, the least time counts.
fn by_ranks(points: &[Point<'_>]) -> Vec<Curve> {
    let several_sizes = points.iter().any(|point| point.bytes != points[0].bytes);
    let mut bundles: Vec<Bundle> = Vec::new();
    for point in points {
        let family = family(point.topology);
        for asked in point.asked {
            let size = if several_sizes { format!(", {} bytes", point.bytes) } else { String::new() };
            let name = format!("{family} {asked}{size}");
            let at = bundles.iter().position(|bundle| bundle.name == name).unwrap_or_else(|| {
                bundles.push(Bundle { family: family.clone(), name, times: Vec::new() });
                bundles.len() - 1
            });
            bundles[at].add(point);
        }
    }
    bundles.iter_mut().for_each(Bundle::merge);
    let several = bundles.iter().any(|bundle| bundle.times.len() > 1 || bundle.times[0].0 != bundles[0].times[0].0);
    let mut families: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut curves = Vec::new();
    for Bundle { family, name, times } in &bundles {
        for (sources, points) in times {
            let place = families.iter().position(|(known, _)| known == family).unwrap_or_else(|| {
                families.push((family, Vec::new()));
                families.len() - 1
            });
            let source = if several { format!(", {}", sources.join(" = ")) } else { String::new() };
            let name = format!("{name}{source}");
            let line = LINES.iter().position(|source| *source == sources[0]).unwrap_or_default();
            families[place].1.push(line);
            curves.push(Curve { name, points: points.clone(), colour: place, line });
        }
    }
    // A colour for each family, and a line for each source, if that tells all curves apart.
    let told = |(_, lines): &(&str, Vec<usize>)| (1..lines.len()).all(|i| !lines[..i].contains(&lines[i]));
    if (2..=COLOURS.len()).contains(&families.len()) && families.iter().all(told) {
        return curves;
    }
    let numbered = |(number, Curve { name, points, .. })| Curve::numbered(number, name, points);
    curves.into_iter().enumerate().map(numbered).collect()
}

impl Bundle {
    fn add(&mut self, point: &Point<'_>) {
        let at = (point.ranks as f64, point.time);
        let sources = &mut self.times;
        let Some((_, times)) = sources.iter_mut().find(|(sources, _)| sources[0] == point.source) else {
            sources.push((vec![point.source], vec![at]));
            return;
        };
        match times.binary_search_by(|(ranks, _)| ranks.total_cmp(&at.0)) {
            Ok(known) => times[known].1 = times[known].1.min(at.1),
            Err(place) => times.insert(place, at),
        }
    }

    /// Joins sources with equal times.
    fn merge(&mut self) {
        let mut merged: Vec<(Vec<&'static str>, Times)> = Vec::new();
        for (sources, times) in self.times.drain(..) {
            match merged.iter_mut().find(|(_, known)| *known == times) {
                Some((known, _)) => known.extend(sources),
                None => merged.push((sources, times)),
            }
        }
        self.times = merged;
    }
}

/// Returns the text of a network with a star for each extent: `how:8,3,2` is in the family
/// `how:*,3,2`, and `torus:4x4` in `torus:*x*`. Numbers after a comma stay, since they are no
/// extents. A graph is a family of its own.
fn family(topology: &str) -> String {
    if topology.contains("graph:") {
        return topology.to_owned();
    }
    let mut family = String::new();
    let mut before = ' ';
    for letter in topology.chars() {
        let begins_extent = letter.is_ascii_digit() && matches!(before, ':' | 'x');
        if begins_extent {
            family.push('*');
        } else if !(letter.is_ascii_digit() && family.ends_with('*')) {
            family.push(letter);
        }
        before = letter;
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_differ_in_extents_are_a_family() {
        let families = [
            ("how:8,3,2", "how:*,3,2"),
            ("how-wrap:128,16,2", "how-wrap:*,16,2"),
            ("torus:12x12", "torus:*x*"),
            ("ghc:8,2", "ghc:*,2"),
            ("hypercube:10", "hypercube:*"),
            ("torus:4x4@how:16,3,1:fold", "torus:*x*@how:*,3,1:fold"),
            ("graph:@net4x4.txt", "graph:@net4x4.txt"),
        ];
        for (text, expected) in families {
            assert_eq!(family(text), expected);
        }
    }

    #[test]
    fn curves_against_ranks_join_networks_and_equal_sources() {
        let asked = ["auto".to_owned()];
        let point = |topology, ranks, source, time| Point {
            topology,
            algorithm: "direct",
            asked: &asked,
            source,
            ranks,
            bytes: 8,
            time,
        };
        let points = [
            point("how:8,3,2", 64, "formula", 5.0),
            point("how:8,3,2", 64, "formula", 4.0),
            point("how:8,3,2", 64, "counted", 4.0),
            point("how:4,3,2", 16, "formula", 2.0),
            point("how:4,3,2", 16, "counted", 2.0),
            point("ghc:8,2", 64, "formula", 3.0),
            point("ghc:8,2", 64, "counted", 3.5),
        ];
        let found: Vec<_> = by_ranks(&points).into_iter().map(|c| (c.name, c.points, c.colour, c.line)).collect();
        let expected = [
            ("how:*,3,2 auto, formula = counted".to_owned(), vec![(16.0, 2.0), (64.0, 4.0)], 0, 0),
            ("ghc:*,2 auto, formula".to_owned(), vec![(64.0, 3.0)], 1, 0),
            ("ghc:*,2 auto, counted".to_owned(), vec![(64.0, 3.5)], 1, 3),
        ];
        assert_eq!(found, expected);
    }
}
