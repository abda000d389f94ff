//! The choices that are worth an exact price: by estimate, each is the cheapest, or nearly, at some
//! prices.

use std::iter::once;

use super::choice::Choice;
use super::estimate::Estimate;

/// A choice, and what it takes, about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) estimate: Estimate,
    pub(super) choice: Choice,
}

impl Found {
    /// Returns what this takes with that of another for the phases from `phase` on.
    pub(super) fn then(self, phase: usize, later: Self) -> Self {
        Self { choice: self.choice.then(phase, later.choice), ..self.with(later) }
    }

    /// Returns what this and other phases of the same choice take together.
    pub(super) fn with(self, other: Self) -> Self {
        Self { estimate: self.estimate.with(other.estimate), ..self }
    }
}

/// Prices of start-ups, messages and hops in relation to each other, and what transmission is
/// limited by. How much a block costs in relation to these is left open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    startup: usize,
    message: usize,
    hop: usize,
    by_port: bool,
}

impl Scale {
    const fn by_channel(startup: usize, message: usize, hop: usize) -> Self {
        Self { startup, message, hop, by_port: false }
    }

    const fn by_port(startup: usize, message: usize, hop: usize) -> Self {
        Self { by_port: true, ..Self::by_channel(startup, message, hop) }
    }

    /// The paper's, in which only start-ups and channels have a price.
    pub(super) const OF_STARTUPS: Self = Self::by_channel(1, 0, 0);

    /// Scales between which those of machines lie. Under the first, the next choice is often much
    /// dearer, so what these take is of use for the others too.
    pub(super) const OTHERS: [Self; 12] = [
        Self::by_channel(0, 0, 1),
        Self::by_channel(1, 0, 4),
        Self::by_channel(1, 0, 1),
        Self::by_channel(4, 0, 1),
        Self::by_channel(16, 0, 1),
        Self::by_channel(0, 4, 1),
        Self::by_channel(0, 1, 0),
        Self::by_channel(1, 1, 0),
        Self::by_port(0, 1, 0),
        Self::by_port(1, 2, 0),
        Self::by_port(4, 1, 0),
        Self::by_port(1, 0, 0),
    ];

    /// Returns the time without transmission, and the transmission.
    pub(super) fn of(self, found: &Found) -> (usize, usize) {
        let Estimate { startups, messages, hops, largest, port } = found.estimate;
        let latency = self.startup * startups + self.message * messages + self.hop * hops;
        (latency, if self.by_port { port } else { largest })
    }

    /// Returns the price on this scale if a number of blocks and of start-ups cost the same.
    fn price(self, found: &Found, (block, one): (usize, usize)) -> u128 {
        let (latency, transmission) = self.of(found);
        latency as u128 * one as u128 + transmission as u128 * block as u128
    }
}

/// Returns the order among choices that are equal on a scale: by other resources, then by the
/// number of parameters.
fn among_equals(found: &Found) -> impl Ord + use<> {
    let Estimate { messages, hops, port, .. } = found.estimate;
    (port, messages, hops, found.choice.given_phases())
}

/// Returns those of which each takes less transmission than any with fewer start-ups.
pub(super) fn front(all: &[Found]) -> Vec<Found> {
    let mut all = all.to_vec();
    all.sort_by_key(|found| (Scale::OF_STARTUPS.of(found), among_equals(found)));
    sparse(all, |_| 0)
}

/// Keeps those of which each has less transmission than the one before, by this share at least, and
/// the one of the least.
pub(super) fn sparse(mut found: Vec<Found>, sixty_fourths: impl Fn(&Found) -> usize) -> Vec<Found> {
    let least_of_all = found.iter().map(|found| found.estimate.largest).min();
    let mut least = usize::MAX;
    found.retain(|found| {
        let transmission = found.estimate.largest;
        let much_less = transmission < least - least / 64 * sixty_fourths(found);
        let kept = much_less || transmission < least && Some(transmission) == least_of_all;
        least = if kept { transmission } else { least };
        kept
    });
    found
}

/// Returns those that are the best on a scale for some price of a block, in order of less
/// transmission: the corners of the convex hull on the side of the least of both.
pub(super) fn corners(all: &[Found], scale: Scale) -> Vec<Found> {
    let key = |found: &&Found| (scale.of(found), among_equals(found));
    let turned = |found: &&Found| {
        let (latency, transmission) = scale.of(found);
        ((transmission, latency), among_equals(found))
    };
    let (Some(first), Some(last)) = (all.iter().min_by_key(key), all.iter().min_by_key(turned)) else {
        return vec![];
    };
    let mut corners = vec![*first];
    if scale.of(first).1 > scale.of(last).1 {
        add_between(&mut corners, all.iter().collect(), last, scale);
        corners.push(*last);
    }
    corners
}

/// Adds the corners between the last of them and a next one.
fn add_between(corners: &mut Vec<Found>, all: Vec<&Found>, next: &Found, scale: Scale) {
    let Some(last) = corners.last() else { return };
    let prices = equal_at(scale, last, next);
    let most = scale.price(next, prices);
    let below: Vec<&Found> = all.into_iter().filter(|found| scale.price(found, prices) < most).collect();
    let Some(&corner) = below.iter().min_by_key(|found| (scale.price(found, prices), among_equals(found))) else {
        return;
    };
    add_between(corners, below.clone(), corner, scale);
    corners.push(*corner);
    add_between(corners, below, next, scale);
}

/// Returns prices of a block and of one unit of the scale at which two corners are equally dear.
fn equal_at(scale: Scale, first: &Found, second: &Found) -> (usize, usize) {
    let [(l0, t0), (l1, t1)] = [first, second].map(|found| scale.of(found));
    (l1 - l0, t0 - t1)
}

/// Adds a few [corners], so that at all prices of a block one of those kept is at most this much
/// dearer than the cheapest corner.
pub(super) fn cover(kept: &mut Vec<Found>, corners: &[Found], scale: Scale, percent: usize) {
    let between = corners.windows(2).map(|pair| equal_at(scale, &pair[0], &pair[1]));
    let prices: Vec<(usize, usize)> = once((0, 1)).chain(between).chain(once((1, 0))).collect();
    let dearer = 100 + percent as u128;
    // In each half of the prices at which a corner is the cheapest, another may be near.
    for (at, prices) in prices.windows(2).enumerate() {
        let [(low, from), (high, to)] = [prices[0], prices[1]];
        let parts = [[prices[0], (low + high, from + to)], [(low + high, from + to), prices[1]]];
        let is_near = |found: &Found, part: &[(usize, usize); 2]| {
            let dear = |prices| 100 * scale.price(found, prices) > dearer * scale.price(&corners[at], prices);
            !part.iter().any(|prices| dear(*prices))
        };
        if !parts.iter().all(|part| kept.iter().any(|found| is_near(found, part))) {
            // Of those that are near enough the last, which is near more of the next corners.
            let near = corners[at..].iter().take_while(|found| parts.iter().all(|part| is_near(found, part)));
            kept.extend(near.last());
        }
    }
}
