//! The search for the best number of bridgeheads `a` and of steps in a round `b`.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), sections 4 to 6: more bridgeheads take more start-ups and
//! less transmission, and the price of a start-up decides which are best. The search leaves out
//! parameters if others take neither more start-ups nor more transmission.

use std::iter::{once, successors};

use super::choice::{Choice, Order, row_axes};
use super::plan::Plan;
use super::rows::Form;
use crate::algorithm::course::Course;
use crate::algorithm::kept::Kept;
use crate::vocabulary::Problem;

/// The most bridgeheads of a row times ranks, which is about the time to count the claims. By name,
/// as many bridgeheads as nodes are considered too.
const MAX_WORK: usize = 1 << 18;

/// A choice that is best for some price of a start-up.
#[derive(Clone, Copy, Debug)]
struct Found {
    transmission: usize,
    choice: Choice,
}

/// Returns the choices for a form that agree with a given one, of which each is the best for some
/// price of a start-up. Returns nothing if the given one has all parameters. Among 64 ranks and
/// more, whose messages take long to count, leaves out those with nearly the transmission of
/// another: a sixty-fourth more for each 64 ranks, up to a quarter.
pub(in crate::algorithm) fn best(problem: &Problem, form: Form, course: Course, given: Choice) -> Vec<Choice> {
    let sixty_fourths = (problem.ranks() / 64).min(16);
    choices(sparse(found(problem, form, course, given), sixty_fourths))
}

/// Returns a few of the [best] choices.
pub(in crate::algorithm) fn few(problem: &Problem, form: Form, course: Course) -> Vec<Choice> {
    let mut found = found(problem, form, course, Choice::default());
    found.retain(|found| found.choice.a * problem.ranks() <= MAX_WORK);
    choices(sparse(found, 16))
}

fn choices(found: Vec<Found>) -> Vec<Choice> {
    found.into_iter().map(|found| found.choice).collect()
}

/// Keeps those of which each has less transmission than the one before, by this share at least, and
/// the one of the least.
fn sparse(mut found: Vec<Found>, sixty_fourths: usize) -> Vec<Found> {
    let (mut least, least_of_all) = (usize::MAX, found.iter().map(|found| found.transmission).min());
    found.retain(|found| {
        let much_less = found.transmission < least - least / 64 * sixty_fourths;
        let kept = much_less || found.transmission < least && Some(found.transmission) == least_of_all;
        least = if kept { found.transmission } else { least };
        kept
    });
    found
}

/// What a search depends on: also the extents, and whether they are rings.
type Key = (Order, Vec<(usize, bool)>, Choice);

fn found(problem: &Problem, form: Form, course: Course, given: Choice) -> Vec<Found> {
    static FOUND: Kept<Key, Vec<Found>> = Kept::new(16);
    match row_axes(problem) {
        Some(axes) if form.lacks(problem, course).is_none() => {
            FOUND.get((form.order, axes.clone(), given), || search(problem, form.order, &axes, given))
        }
        _ => vec![],
    }
}

fn search(problem: &Problem, order: Order, axes: &[(usize, bool)], given: Choice) -> Vec<Found> {
    let longest = axes.iter().map(|(extent, _)| *extent).max().unwrap_or(1);
    let is_cheap = |choice: &Choice| choice.a >= longest || choice.a * problem.ranks() <= MAX_WORK;
    let fits = |choice: &Choice| is_cheap(choice) && choice.lacks(problem, order).is_none();
    let measured = |choice: Choice| {
        let plan = Plan::new(problem, order, choice);
        (plan.rounds(), Found { transmission: plan.estimate(), choice })
    };
    let mut all: Vec<(usize, Found)> = open(given, longest).filter(fits).map(measured).collect();
    all.sort_by_key(|(startups, found)| (*startups, found.transmission));
    sparse(all.into_iter().map(|(_, found)| found).collect(), 0)
}

/// Returns the choices that agree with a given one, for rows of up to this many nodes.
fn open(given: Choice, nodes: usize) -> impl Iterator<Item = Choice> {
    let heads = if given.a == 0 { numbers(1, nodes) } else { vec![given.a] };
    let choices = move |a: usize| {
        let steps = match given {
            Choice { a: 1.., b: 1.., .. } => vec![],
            // Without rounds, there are no steps to choose.
            _ if a >= nodes => vec![0; usize::from(given.a == 0)],
            _ => {
                let factor = given.with(a, 0).factor();
                let least = given.least_steps(factor);
                numbers(least, least + (3 * factor).div_ceil(2))
            }
        };
        steps.into_iter().map(move |b| given.with(a, b))
    };
    heads.into_iter().flat_map(choices)
}

/// Returns all numbers up to 32, then about every thirtieth more, and the last.
fn numbers(first: usize, last: usize) -> Vec<usize> {
    let next = |at: &usize| Some(at + (at / 32).max(1));
    successors(Some(first), next).take_while(|at| *at < last).chain(once(last)).collect()
}
