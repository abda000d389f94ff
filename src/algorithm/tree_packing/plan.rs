//! The rounds of a rank, and what they take.

use std::sync::Arc;

use super::packing::{Message, Round, bound, diameter, packed, transmission};
use crate::algorithm::counts::{Counts, Sent};
use crate::algorithm::course::Course;
use crate::algorithm::kept::Kept;
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::neighbours::{is_connected, neighbours};
use crate::algorithm::translated_tree;
use crate::algorithm::{Algorithm, Claims, Parameter, Values};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Amount, Amounts, End, Problem, RankAmounts, RankRound, Share};

/// The number of rounds.
pub(in crate::algorithm) const ROUNDS: Parameter = Parameter {
    key: "rounds",
    summary: "most rounds, at least the diameter, which 0 takes; on irregular networks more rounds send smaller messages",
    values: Values::Number { least: 0, most: 1 << 16 },
    default: 0,
};

/// The most ranks for which trees are packed.
const MAX_RANKS: usize = 1 << 10;

/// The most ranks times channels for which trees are packed.
const MAX_WORK: usize = 1 << 24;

/// The most ranks for which `auto` considers as many rounds as it takes to come near the least.
const MAX_FEW_RANKS: usize = 1 << 8;

/// Among more ranks than that, the most work for which `auto` considers twice as many rounds as the
/// diameter: the square of the ranks times the rounds and [`FIRST_ROUNDS`] more. The packing takes
/// up to 0.3 s.
const MAX_VARIANT_WORK: usize = 1 << 26;

/// The rounds that take as long as what does not depend on their number.
const FIRST_ROUNDS: usize = 1 << 6;

/// The packed trees of a network, with a rank on every node.
#[derive(Debug)]
pub(in crate::algorithm) struct Plan {
    ranks: usize,
    rounds: Vec<Round>,
    counts: Counts,
}

impl Plan {
    /// Returns what a problem lacks for a number of rounds.
    pub(in crate::algorithm) fn lacks(problem: &Problem, most_rounds: usize, course: Course) -> Option<String> {
        let (ranks, nodes) = (problem.ranks(), problem.topology().nodes());
        if ranks != nodes {
            return Some(format!("it needs a rank on every node; there are {ranks} ranks and {nodes} nodes"));
        }
        if translated_tree::lacks(problem).is_none() {
            return Some(
                "it is not for products of rings, complete networks and windows that wrap round; use balanced-trees"
                    .to_owned(),
            );
        }
        if ranks > MAX_RANKS {
            let use_instead = match factors_in_order(problem) {
                Some(rows) if rows.iter().all(|row| matches!(row, Factor::Line(_) | Factor::Ring(_))) => {
                    match rows.len() {
                        0 | 1 => "; use circgos",
                        _ => "; use high-dim-gos",
                    }
                }
                _ => "",
            };
            return Some(format!("it needs at most {MAX_RANKS} ranks; there are {ranks}{use_instead}"));
        }
        let channels = problem.topology().channels();
        if ranks * channels > MAX_WORK {
            let most = MAX_WORK / ranks;
            return Some(format!("it needs at most {most} channels for {ranks} ranks; there are {channels}"));
        }
        let Some(neighbours) = neighbours(problem).filter(|neighbours| is_connected(neighbours)) else {
            return Some("it needs a connected network".to_owned());
        };
        static FOUND: Kept<Vec<Vec<usize>>, usize> = Kept::new(4);
        let diameter = || FOUND.get(neighbours.clone(), || diameter(&neighbours));
        translated_tree::lacks_rounds(&ROUNDS, most_rounds, diameter).or_else(|| course.lacks_order(problem))
    }

    /// Returns the variants for `auto`, if more rounds than the diameter could take fewer blocks:
    /// with twice as many, and with enough to come near the least. Among many ranks, only those
    /// that do not take long to pack.
    pub(in crate::algorithm) fn variants(
        problem: &Problem,
        with: impl Fn(usize) -> Arc<dyn Algorithm>,
    ) -> Vec<Arc<dyn Algorithm>> {
        if Self::lacks(problem, 0, Course::Down).is_some() {
            return vec![];
        }
        let least = bound(&neighbours(problem).unwrap_or_default());
        let fewest = Self::of(problem, 0);
        if transmission(&fewest.rounds) <= least {
            return vec![];
        }
        let (ranks, diameter) = (problem.ranks(), fewest.rounds.len());
        let are_few = ranks <= MAX_FEW_RANKS;
        let work = |rounds: usize| ranks * ranks * (rounds + FIRST_ROUNDS);
        let twice = Some(2 * diameter).filter(|&rounds| are_few || work(rounds) <= MAX_VARIANT_WORK);
        let enough = Some(least.max(4 * diameter)).filter(|_| are_few);
        [twice, enough].into_iter().flatten().map(with).collect()
    }

    /// Returns the plan with at most this many rounds, or as many as the diameter, for a problem
    /// that [lacks](Self::lacks) nothing.
    pub(in crate::algorithm) fn of(problem: &Problem, most_rounds: usize) -> Arc<Self> {
        static MADE: Kept<(Vec<Vec<usize>>, usize), Arc<Plan>> = Kept::new(4);
        let neighbours = neighbours(problem).unwrap_or_default();
        MADE.get((neighbours.clone(), most_rounds), || Arc::new(Self::new(&neighbours, most_rounds)))
    }

    fn new(neighbours: &[Vec<usize>], most_rounds: usize) -> Self {
        let (ranks, rounds) = (neighbours.len(), packed(neighbours, most_rounds));
        let counts = Counts::of(vec![(0..ranks).collect()], rounds.len(), |_, round| {
            let round: &Round = &rounds[round];
            round.messages().iter().map(|message| Sent {
                from: message.from.into(),
                to: message.to.into(),
                hops: 1,
                chunks: round.blocks(message).len(),
            })
        });
        Self { ranks, rounds, counts }
    }

    /// Returns the claims.
    pub(in crate::algorithm) fn claims(&self, course: Course) -> Claims {
        self.counts.claims(course.size(self.ranks, 1), course)
    }

    /// Returns the messages that a rank sends and those that it receives, each with the peer.
    fn messages(&self, rank: Rank, (round, reverse): (usize, bool)) -> [Vec<(Rank, &Message)>; 2] {
        let round = &self.rounds[round];
        let peer = |rank: u16| Rank::new(rank.into());
        let sent = round.sent(rank.index()).iter().map(|message| (peer(message.to), message)).collect();
        let received = round.received(rank.index()).map(|message| (peer(message.from), message)).collect();
        if reverse { [received, sent] } else { [sent, received] }
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(self: Arc<Self>, rank: Rank, course: Course) -> Share {
        Box::new(course.rounds(self.rounds.len()).map(move |at| {
            let blocks = |message: &Message| {
                let ranks = self.rounds[at.0].blocks(message).iter().map(|&rank| Rank::new(rank.into()));
                ranks.filter_map(|rank| course.chunk(rank, self.ranks, 0, 1)).collect()
            };
            let [sent, received] = self.messages(rank, at);
            let sent = sent
                .into_iter()
                .map(|(peer, message)| End::new(peer, blocks(message)).combined(Course::combine(at.1, rank, peer)));
            let received = received
                .into_iter()
                .map(|(peer, message)| End::new(peer, blocks(message)).combined(Course::combine(at.1, peer, rank)));
            RankRound::new(sent.collect(), received.collect())
        }))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(in crate::algorithm) fn amounts(self: Arc<Self>, rank: Rank, course: Course) -> Amounts {
        let size = course.size(self.ranks, 1);
        Box::new(course.rounds(self.rounds.len()).map(move |at| {
            let count = |(_, message): &(Rank, &Message)| self.rounds[at.0].blocks(message).len() as u64;
            let [sent, received] = self.messages(rank, at);
            let amounts = sent.iter().map(|message| Amount::new(message.0, size * count(message))).collect();
            let combined = if at.1 { size * received.iter().map(count).sum::<u64>() } else { Volume::ZERO };
            RankAmounts::new(amounts, received.len()).combining(combined)
        }))
    }
}
