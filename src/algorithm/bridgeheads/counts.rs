//! The claims of a gossip, which are counted once for all ranks of a process.

use super::choice::{Choice, Order, row_axes};
use super::plan::Plan;
use crate::algorithm::Claims;
use crate::algorithm::counts::{Counts, Sent};
use crate::algorithm::course::Course;
use crate::algorithm::kept::Kept;
use crate::vocabulary::Problem;

/// What counts depend on: also the extents, and whether they are rings.
type Key = (Order, Vec<(usize, bool)>, Choice);

/// Returns the claims for a problem that [lacks](Choice::lacks) nothing.
pub(in crate::algorithm) fn claims(problem: &Problem, order: Order, choice: Choice, course: Course) -> Claims {
    static COUNTED: Kept<Key, Counts> = Kept::new(256);
    let plan = Plan::new(problem, order, choice);
    let key = (order, row_axes(problem).unwrap_or_default(), choice);
    COUNTED.get(key, || counted(&plan)).claims(plan.chunk(course), course)
}

fn counted(plan: &Plan) -> Counts {
    Counts::of(plan.representatives(), plan.rounds(), |nodes, round| {
        let sent = |from: usize| {
            let sent = plan.sends(from, round).into_iter();
            sent.map(move |transfer| Sent {
                from,
                to: plan.representative(transfer.peer),
                hops: transfer.distance,
                chunks: transfer.count(),
            })
        };
        nodes.iter().flat_map(|&from| sent(from)).collect::<Vec<_>>()
    })
}
