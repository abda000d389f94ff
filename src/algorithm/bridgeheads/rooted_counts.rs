//! The claims of a collective with a root, by formula: the sums over axes of the counts of one row.
//!
//! In a phase each colour goes through one axis, and no two go through the same. All rows of a
//! colour do the same. A node takes part for a colour if the axes in which it is not in line with
//! the root are among those that the colour has reached. So a node's share depends on the set of
//! these axes, and the most over all nodes is the most over these sets: the places of a node along
//! different axes are independent.

use super::axis::{AxisCounts, Ends, Figures};
use super::choice::Choice;
use super::rooted::{Rooted, RootedPlan};
use crate::algorithm::Claims;
use crate::algorithm::counts::{Counts, Most, Pair};
use crate::algorithm::course::Course;
use crate::vocabulary::Problem;

/// Returns the claims for a problem that [lacks](Rooted::lacks) nothing.
///
/// Takes time in proportion to the sum of the extents, and for d axes to 2^d.
pub(in crate::algorithm) fn rooted_claims(problem: &Problem, call: Rooted, choice: Choice) -> Claims {
    let plan = RootedPlan::new(problem, call, choice);
    let claims = counted(&plan).claims(plan.chunk(), if call.is_reversed() { Course::Up } else { Course::Down });
    let claims = if is_independent(problem, call, &plan) { claims.of_independent_messages() } else { claims };
    if call == Rooted::Scatter { Claims { combined: None, ..claims } } else { claims }
}

/// Returns whether ranks that send do so to one neighbour, in all rounds from the first on, and
/// never receive: on a line of two nodes, or of three if two send to the root between.
fn is_independent(problem: &Problem, call: Rooted, plan: &RootedPlan) -> bool {
    let (ranks, topology) = (problem.ranks(), problem.topology());
    let root = problem.placement().node(problem.collective().root().unwrap_or_default());
    let is_star = topology.channels() == 2 * (ranks - 1) && topology.neighbours(root).len() + 1 == ranks;
    let fits = is_star && (ranks == 2 || ranks == 3 && call == Rooted::Reduce);
    let never_pauses = |rank| {
        let mut sends = plan.clone().amounts(rank).map(|amounts| !amounts.sends.is_empty());
        let begins = sends.next() == Some(true);
        sends.by_ref().skip_while(|sends| begins && *sends).all(|sends| !sends)
    };
    fits && problem.all().all(never_pauses)
}

/// What a colour does in a phase.
struct Leg<'a> {
    counts: &'a AxisCounts,
    /// The bit of the axis.
    axis: usize,
    /// The axes that the colour has reached, as a set of bits.
    reached: usize,
    /// The number of blocks of a node of the row.
    blocks: u64,
}

impl Leg<'_> {
    /// Returns the share of a node that is in line with the root in all but some axes.
    fn share(&self, apart: usize, ends: Ends) -> Pair {
        let Pair { messages, chunks } = match () {
            () if apart & !self.reached != 0 => Pair::default(),
            () if apart & self.axis != 0 => ends.other,
            () => ends.root,
        };
        Pair { messages, chunks: chunks * self.blocks }
    }
}

fn counted(plan: &RootedPlan) -> Counts {
    let axes: Vec<AxisCounts> = (0..plan.axes()).map(|axis| plan.counts(axis)).collect();
    // The bits of axes of more than one node, of which there are few.
    let mut bits = vec![0; axes.len()];
    let long = (0..axes.len()).filter(|&axis| plan.extent(axis) > 1);
    let sets = long.fold(1, |bit, axis| {
        bits[axis] = bit;
        2 * bit
    });
    let mut counts = Counts::default();
    let mut in_all = vec![[Pair::default(); 3]; sets];
    for phase in 0..axes.len() {
        let legs = (0..plan.colours()).map(|colour| {
            let axis = plan.axis(phase, colour);
            let reached = plan.reached(phase, colour).map(|axis| bits[axis]).sum();
            Leg { counts: &axes[axis], axis: bits[axis], reached, blocks: plan.blocks_of_node(phase, colour) as u64 }
        });
        let legs: Vec<Leg<'_>> = legs.collect();
        for (apart, in_all) in in_all.iter_mut().enumerate() {
            for leg in &legs {
                for (sum, ends) in in_all.iter_mut().zip(leg.counts.in_all) {
                    *sum = sum.plus(leg.share(apart, ends));
                }
            }
        }
        add_phase(&mut counts, &legs, sets);
    }
    let busiest = in_all.into_iter().fold([Pair::default(); 3], |most, sums| {
        let [both, sent, received] = most;
        [both.most(sums[0]), sent.most(sums[1]), received.most(sums[2])]
    });
    counts.with_busiest(busiest)
}

/// Adds the rounds of a phase, which all colours begin at once.
fn add_phase(counts: &mut Counts, legs: &[Leg<'_>], sets: usize) {
    // Each leg's runs, and the steps that have passed of the first.
    let mut rest: Vec<_> = legs.iter().map(|leg| (leg, &leg.counts.runs[..], 0)).collect();
    loop {
        rest.retain(|(_, runs, _)| !runs.is_empty());
        let Some(steps) = rest.iter().map(|(_, runs, passed)| runs[0].0 - passed).min() else { return };
        let current: Vec<(&Leg<'_>, Figures)> = rest.iter().map(|&(leg, runs, _)| (leg, runs[0].1)).collect();
        counts.add(steps as u64, most(&current, sets));
        for (_, runs, passed) in &mut rest {
            *passed += steps;
            if *passed == runs[0].0 {
                (*runs, *passed) = (&runs[1..], 0);
            }
        }
    }
}

/// Returns the most in a round in which these legs are under way.
fn most(legs: &[(&Leg<'_>, Figures)], sets: usize) -> Most {
    let busiest = |of: fn(&Figures) -> Ends| {
        let share =
            |apart| legs.iter().fold(Pair::default(), |sum, (leg, figures)| sum.plus(leg.share(apart, of(figures))));
        (0..sets).map(share).fold(Pair::default(), Pair::most)
    };
    let ends = Most {
        sent: busiest(|figures| figures.sent),
        received: busiest(|figures| figures.received),
        ..Most::default()
    };
    legs.iter().fold(ends, |most, (leg, figures)| {
        let Most { largest, longest, forwarded: (forwarded, last), .. } = figures.most;
        let times = leg.blocks;
        Most {
            largest: most.largest.max(times * largest),
            longest: most.longest.max(longest),
            forwarded: most.forwarded.max((times * forwarded, times * last)),
            ..most
        }
    })
}
