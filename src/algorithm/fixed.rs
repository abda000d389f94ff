//! A given schedule as an algorithm for its one problem.

use std::sync::Arc;

use super::definition::{About, Algorithm};
use crate::ids::Rank;
use crate::quote::quoted;
use crate::topology::same_links;
use crate::vocabulary::{BuildError, Claims, End, Problem, RankRound, Round, Route, Schedule, Share, Shares, Transfer};

/// A schedule in memory. It fits only the problem that it was made for.
pub(crate) struct Fixed {
    schedule: Arc<Schedule>,
    /// For each rank, its actions, in the schedule's order.
    parts: Vec<Arc<[Action]>>,
    /// The first round that names a rank out of range, and that rank.
    stray: Option<(usize, Rank)>,
    about: About,
}

/// A transfer or local step of a rank: its round, and its index there.
#[derive(Clone, Copy)]
struct Action {
    round: usize,
    index: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Send,
    Receive,
    Local,
}

impl Fixed {
    /// Wraps a schedule. Takes time and memory in proportion to its transfers; blocks are not
    /// copied.
    pub(crate) fn new(schedule: Schedule) -> Self {
        let ranks = schedule.outline.problem.ranks();
        let mut parts = vec![Vec::new(); ranks];
        let mut stray = None;
        let mut add = |rank: Rank, action: Action| match parts.get_mut(rank.index()) {
            Some(part) => part.push(action),
            None => drop(stray.get_or_insert((action.round, rank))),
        };
        for (round, Round { transfers, local, .. }) in schedule.rounds.iter().enumerate() {
            for (index, transfer) in transfers.iter().enumerate() {
                add(transfer.source, Action { round, index, kind: Kind::Send });
                add(transfer.destination, Action { round, index, kind: Kind::Receive });
            }
            for (index, (rank, _)) in local.iter().enumerate() {
                add(*rank, Action { round, index, kind: Kind::Local });
            }
        }
        let about = About {
            collective: schedule.outline.problem.collective().name(),
            name: "schedule",
            summary: "a schedule that was made elsewhere",
            source: "its author",
            needs: "the problem for which it was made",
            claims: "its port model; freedom from contention if the schedule promises it",
            ports: schedule.outline.ports,
        };
        Self { schedule: Arc::new(schedule), parts: parts.into_iter().map(Arc::from).collect(), stray, about }
    }
}

impl Algorithm for Fixed {
    fn about(&self) -> &About {
        &self.about
    }

    fn name(&self) -> String {
        match &*self.schedule.outline.algorithm {
            "" => "schedule".to_owned(),
            author => format!("schedule {}", quoted(author)),
        }
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let own = &self.schedule.outline.problem;
        let ranks = own.ranks();
        if let Some((round, rank)) = self.stray {
            return Some(format!("its round {round} names rank {rank}; it has ranks 0 to {}", ranks - 1));
        }
        let fits = own.collective() == problem.collective()
            && own.placement() == problem.placement()
            && same_links(own.topology(), problem.topology());
        let placed = if own.placement().is_identity() { "" } else { " placed on it" };
        let of = || format!("{} among {ranks} ranks{placed} on {}", own.collective(), own.topology().text());
        let other = || match own.placement() == problem.placement() {
            true => String::new(),
            false if ranks != problem.ranks() => format!("; there are {} ranks", problem.ranks()),
            false => ", which are placed otherwise here".to_owned(),
        };
        (!fits).then(|| format!("it is a schedule of {}{}", of(), other()))
    }

    fn claims(&self, _: &Problem) -> Claims {
        Claims { contention_free: self.schedule.outline.contention_free, ..Claims::default() }
    }

    /// The schedule's phases. Without names, there is one phase.
    fn phases(&self, _: &Problem) -> Vec<String> {
        let names = &self.schedule.outline.phases;
        if names.is_empty() { vec![self.name()] } else { names.clone() }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let schedule = Arc::clone(&self.schedule);
        let part = self.parts.get(rank.index()).cloned().unwrap_or_default();
        // Default routes are those of the schedule's own network. Another network with the same
        // links may have other default routes.
        let routed = schedule.outline.problem.topology().text() != problem.topology().text();
        let mut next = 0;
        Box::new((0..schedule.rounds.len()).map(move |number| {
            let Round { phase, transfers, local } = &schedule.rounds[number];
            let mut round = RankRound { phase: *phase, ..RankRound::default() };
            while let Some(Action { index, kind, .. }) = part.get(next).filter(|action| action.round == number) {
                match kind {
                    Kind::Send => round.sends.push(sent(&schedule, &transfers[*index], routed)),
                    Kind::Receive => {
                        let Transfer { source, blocks, combine, .. } = &transfers[*index];
                        round.receives.push(End::new(*source, blocks.clone()).combined(*combine));
                    }
                    Kind::Local => round.local.push(local[*index].1),
                }
                next += 1;
            }
            round
        }))
    }

    /// Compares the problems once, not for each rank.
    fn shares(&self, problem: &Problem) -> Result<Shares, BuildError> {
        let outline = self.outline(problem)?;
        Ok(Shares::new(outline, problem.all().map(|rank| self.rounds(problem, rank)).collect()))
    }
}

/// Returns the sender's end of a transfer, with its full route if `routed`.
fn sent(schedule: &Schedule, transfer: &Transfer, routed: bool) -> End {
    let Transfer { source, destination, blocks, combine, route } = transfer;
    let problem = &schedule.outline.problem;
    let route = match route {
        Route::Default if routed => {
            let [from, to] = [*source, *destination].map(|rank| problem.placement().node(rank));
            Route::Via(problem.topology().route(from, to))
        }
        route => route.clone(),
    };
    End { peer: *destination, blocks: blocks.clone(), combine: *combine, route }
}
