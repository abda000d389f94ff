//! Alltoall by dimension: within rows, then within columns, and so on.
//!
//! Source: Grama et al., §4.5.2 (equation 4.8). Needs: a product of lines, rings, windows and complete
//! networks (a grid, a cube, a generalized hypercube), a rank on every node. Model: one-port;
//! `within=direct` sends to all nodes of a row at once; the network queues messages that share a
//! channel.
//!
//! The sum over the dimensions, for extents k and N nodes, by the algorithm within a row
//! (`within`):
//!
//! | term | `ring` | `ring-both` | `direct-rotated` | `direct` |
//! |---|---|---|---|---|
//! | startups | k - 1 | k - 1 | k - 1 | 1 |
//! | blocks sent | (k - 1) N/2 | floor(k^2/4) N/k | (k - 1) N/k | N/k, the largest message |
//! | messages a rank | k - 1 | k - 1 | k - 1 | k - 1 |
//! | hops, in a complete row | k - 1 | k - 1 | k - 1 | 1 |
//! | hops, in a ring | k - 1 | k - 1 | floor(k^2/4) | floor(k/2) |
//! | hops, in a line | (k - 1)^2 | (k - 1)^2 | k (k - 1) - floor(k^2/4) | k - 1 |
//! | contention-free in | lines, rings, complete rows | the same | complete rows | complete rows |
//!
//! In windows, `ring` and `ring-both` go round a ring of neighbours, and cost what they do there: up
//! over the even coordinates and down over the odd ones, or over all where windows wrap round. That is
//! the exchange for one port of Wang's dissertation (sections 5.5.1 and 6.5.1).
//!
//! Rearrangements: one less than the number of extents above 1; extents of 1 do not count. The
//! default, `within=kind`, is `direct-rotated` in complete rows and `ring` in others.
//! Equation 4.8 is `ring` in two dimensions of sqrt(N) each: 2 (sqrt(N) - 1) start-ups and N
//! (sqrt(N) - 1) blocks. A rank takes time and memory in proportion to the blocks that it sends.
//!
//! # Idea
//!
//! Within each row, the blocks for one column form one message: after the exchange in rows, every
//! block is in its column. Columns follow in the same way. The last dimension comes first.
//!
//! # Why it is correct
//!
//! All nodes [correct their digits](super::digits), which are whole coordinates, in the same order.
//! Default routes between two nodes of a row stay in the row, since they are shortest paths.

use std::sync::Arc;

use super::cells::no_rank_on_every_node;
use super::digits::{Digit, Digits, Slot, Walk, Way};
use crate::algorithm::row_loads::{load_at_once, load_in_windows};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Amounts, Ports, Problem, Share};

/// An exchange within rows, then within columns, and so on.
#[derive(Clone, Debug, Default)]
pub struct ByDimension(Settings);

static ONE_PORT: About = About {
    collective: "alltoall",
    name: "by-dimension",
    summary: "exchange within rows, then within columns, and so on",
    source: "Grama et al., 4.5.2",
    needs: "a product of lines, rings, windows and complete networks, with a rank on every node",
    claims: "the sum over extents k: k - 1 start-ups (direct 1); ring (k - 1) N/2 blocks, ring-both floor(k^2/4) N/k, direct-rotated \
             (k - 1) N/k, direct N/k; contention-free with ring and ring-both, and in complete rows",
    ports: Ports::One,
};

static AT_ONCE: About = About { ports: Ports::Unlimited, ..ONE_PORT };

static WITHIN: Parameter = Parameter {
    key: "within",
    summary: "the algorithm within a row; by default direct-rotated in complete dimensions and ring in others",
    values: Values::Words(&["kind", "ring", "ring-both", "direct-rotated", "direct"]),
    default: 0,
};

/// The walks of the words; `None` if it depends on the kind of the row.
const WALKS: [Option<Walk>; 5] =
    [None, Some(Walk::OneWay), Some(Walk::BothWays), Some(Walk::Rotated), Some(Walk::AtOnce)];

impl ByDimension {
    fn walk(&self, factor: Factor) -> Walk {
        let by_kind = if factor.is_complete() { Walk::Rotated } else { Walk::OneWay };
        WALKS.get(self.0.of(&WITHIN)).copied().flatten().unwrap_or(by_kind)
    }
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        if WALKS.get(self.0.of(&WITHIN)) == Some(&Some(Walk::AtOnce)) { &AT_ONCE } else { &ONE_PORT }
    }

    fn parameters(&self) -> &'static [Parameter] {
        std::slice::from_ref(&WITHIN)
    }

    fn settings(&self) -> Settings {
        self.0.clone()
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        Some(Arc::new(Self(settings.clone())))
    }

    /// The values of `within` that differ from the default here: rows of two have one schedule.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let rows = rows(problem);
        let differs =
            |within: &Self| rows.iter().any(|&(_, row)| row.extent() > 2 && within.walk(row) != self.walk(row));
        let all = (1..WALKS.len()).map(|value| Self(Settings::default().with(&WITHIN, value)));
        all.filter(differs).map(|within| Arc::new(within) as Arc<dyn Algorithm>).collect()
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let product = problem.topology().factors().is_some();
        let needs = "it needs a product of lines, rings, windows and complete networks";
        no_rank_on_every_node(problem).or_else(|| (!product).then(|| needs.to_owned()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let nodes = problem.topology().nodes() as u64;
        let rows = rows(problem);
        let all = || rows.iter().map(|&(_, row)| (walked(row, self.walk(row)), self.walk(row), row.extent()));
        let volume = all().map(|(_, walk, k)| walk.volume(k, nodes)).sum::<Volume>();
        let messages = all().map(|(_, _, k)| k as u64 - 1).sum();
        let at_once = self.about().ports != Ports::One;
        let channels = || all().map(|(row, walk, _)| channels(row, walk, nodes)).sum::<Option<_>>();
        // Along a single dimension it is a ring of all ranks.
        let chained = match rows[..] {
            [(_, row)] => chained(row, self.walk(row), nodes),
            _ => None,
        };
        Claims {
            port_transmission: at_once.then_some(volume),
            handled: at_once.then_some(2 * messages),
            channel_transmission: channels(),
            forwarded_transmission: all().map(|(row, walk, _)| forwarded(row, walk, nodes)).sum(),
            end_transmission: all().map(|(row, walk, _)| at_ends(row, walk, nodes)).sum(),
            startups: Some(all().map(|(_, walk, k)| walk.rounds(k) as u64).sum()),
            transmission: Some(all().map(|(_, walk, k)| walk.transmission(k, nodes)).sum()),
            hops: all().map(|(row, walk, _)| hops(row, walk)).sum(),
            rearrangements: Some((rows.len() as u64).saturating_sub(1)),
            messages: Some(messages),
            volume: Some(volume),
            chained_hops: chained.map(|(hops, _)| hops),
            chained_forwarded: chained.map(|(_, forwarded)| forwarded),
            contention_free: all().all(|(row, walk, _)| is_contention_free(row, walk)),
            ..Claims::default()
        }
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        rows(problem).into_iter().map(|(dimension, _)| format!("within dimension {dimension}")).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        self.digits(problem).share(problem.placement(), rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        self.digits(problem).amounts(problem.placement(), rank)
    }
}

impl ByDimension {
    fn digits(&self, problem: &Problem) -> Digits<impl Fn(&[usize]) -> Vec<Digit> + Send + use<>> {
        let extents: Vec<usize> = problem.topology().factors().iter().flatten().map(|row| row.extent()).collect();
        let digit = |&(dimension, row): &(usize, Factor)| Digit {
            dimension,
            unit: 1,
            base: row.extent(),
            walk: self.walk(row),
            way: way(row, self.walk(row)),
            up: true,
        };
        let order: Vec<Digit> = rows(problem).iter().map(digit).collect();
        let slot = |(phase, digit): (usize, &Digit)| Slot { phase, rounds: digit.walk.rounds(digit.base) };
        let slots = order.iter().enumerate().map(slot).collect();
        Digits::new(&extents, slots, move |_| order.clone())
    }
}

/// Returns the dimensions of more than one node, the last first, and their factors.
fn rows(problem: &Problem) -> Vec<(usize, Factor)> {
    let factors = problem.topology().factors().unwrap_or_default();
    factors.into_iter().enumerate().rev().filter(|(_, row)| row.extent() > 1).collect()
}

fn goes_round(walk: Walk) -> bool {
    matches!(walk, Walk::OneWay | Walk::BothWays)
}

/// Returns the way of a walk. A circle in windows is folded, so that all its steps are between
/// neighbours (Wang 1999, 3.1 and 5.5.1).
fn way(row: Factor, walk: Walk) -> Way {
    match row {
        Factor::Windows { wraps: false, .. } if goes_round(walk) => Way::FoldedInWindows,
        _ => Way::Default,
    }
}

/// Returns the row as a walk uses it: windows as a ring.
fn walked(row: Factor, walk: Walk) -> Factor {
    match row {
        Factor::Windows { extent, .. } if goes_round(walk) => Factor::Ring(extent),
        _ => row,
    }
}

/// Returns whether no two messages share a channel. The last node of a line reaches the first over
/// channels that no other message uses.
fn is_contention_free(row: Factor, walk: Walk) -> bool {
    row.is_complete() || goes_round(walk)
}

/// Returns the sum over rounds of the load of the busiest channel, if blocks that travel half a
/// ring all take the same direction.
fn channels(row: Factor, walk: Walk, nodes: u64) -> Option<Volume> {
    let k = row.extent() as u64;
    let each = Volume::from(nodes / k);
    Some(match walk {
        Walk::OneWay | Walk::BothWays => walk.transmission(row.extent(), nodes),
        Walk::Ahead | Walk::Back => return None,
        Walk::AtOnce => each * load_at_once(row),
        Walk::Rotated if row.is_complete() => each * (k - 1),
        Walk::Rotated if matches!(row, Factor::Windows { .. }) => {
            let n = row.extent();
            let shift = |by: usize| load_in_windows(row, (0..n).map(move |from| (from, (from + by) % n)));
            each * (1..n).map(shift).sum::<Option<u64>>()?
        }
        Walk::Rotated => each * (k * k / 4),
    })
}

/// Returns the sum over rounds of the largest product of a message's size and hops. Messages of a
/// round have one size.
fn forwarded(row: Factor, walk: Walk, nodes: u64) -> Option<Volume> {
    let (hops, rounds) = (hops(row, walk)?, walk.rounds(row.extent()) as u64);
    Some(match walk {
        Walk::OneWay | Walk::BothWays => walk.transmission(row.extent(), nodes) * (hops / rounds.max(1)),
        Walk::Ahead | Walk::Back => return None,
        Walk::Rotated | Walk::AtOnce => Volume::from(nodes / row.extent() as u64) * hops,
    })
}

/// Returns the hops of the longest chain of messages along a line, and the sum of size times hops:
/// every message goes to the next node except one that goes back, at worst the first and largest.
fn chained(row: Factor, walk: Walk, nodes: u64) -> Option<(u64, Volume)> {
    let k = row.extent() as u64;
    let first = Volume::ratio(u128::from(nodes) * u128::from(k - 1), k.into());
    let back = row.distance(0, row.extent() - 1) as u64;
    let forwarded = || walk.transmission(row.extent(), nodes) + first * (back - 1);
    (matches!(row, Factor::Line(2..)) && walk == Walk::OneWay).then(|| (k - 2 + back, forwarded()))
}

/// Returns the sum over rounds of the largest message, counted twice if it takes more than one hop.
fn at_ends(row: Factor, walk: Walk, nodes: u64) -> Option<Volume> {
    let (hops, rounds) = (hops(row, walk)?, walk.rounds(row.extent()) as u64);
    let sent = walk.transmission(row.extent(), nodes);
    Some(match (row, walk) {
        // In a ring of more than three, only the next and the previous node are neighbours.
        (Factor::Ring(4..), Walk::Rotated) => Volume::from(nodes / row.extent() as u64) * (2 * rounds - 2),
        (Factor::Windows { .. }, Walk::Rotated) => {
            Volume::from(nodes / row.extent() as u64) * rotated(row).map(|hops| hops.min(2)).sum::<u64>()
        }
        _ if hops > rounds => sent * 2,
        _ => sent,
    })
}

/// Returns the sum over rounds of the longest route.
fn hops(row: Factor, walk: Walk) -> Option<u64> {
    let k = row.extent() as u64;
    Some(match (row, walk) {
        _ if row.is_complete() => walk.rounds(row.extent()) as u64,
        (Factor::Ring(_), Walk::OneWay | Walk::BothWays) => k - 1,
        (Factor::Ring(_), Walk::Rotated) => k * k / 4,
        (Factor::Ring(_), Walk::AtOnce) => k / 2,
        (Factor::Line(_), Walk::OneWay | Walk::BothWays) => (k - 1) * (k - 1),
        (Factor::Line(_), Walk::Rotated) => k * (k - 1) - k * k / 4,
        (Factor::Line(_), Walk::AtOnce) => k - 1,
        (Factor::Windows { .. }, Walk::Rotated) if row.extent() > MOST_SHIFTS => return None,
        (Factor::Windows { .. }, Walk::Rotated) => rotated(row).sum(),
        (Factor::Windows { wraps, .. }, Walk::AtOnce) => {
            row.distance(0, if wraps { row.extent() / 2 } else { row.extent() - 1 }) as u64
        }
        (Factor::Complete(_) | Factor::Windows { .. }, _) | (_, Walk::Ahead | Walk::Back) => return None,
    })
}

/// The most shifts along windows whose routes are looked at for claims.
const MOST_SHIFTS: usize = 1 << 16;

/// Returns the longest route of each shift along a row.
fn rotated(row: Factor) -> impl Iterator<Item = u64> {
    let k = row.extent();
    (1..k).map(move |shift| row.distance(0, shift).max(row.distance(0, k - shift)) as u64)
}
