//! Bruck's alltoall, in few rounds for any number of ranks: blocks move by the digits of the
//! distance in ranks.
//!
//! Source: Bruck, Ho, Kipnis, Upfal & Weathersby, IEEE TPDS 8(11), 1997, §3 ("index", of any radix
//! and with one or more ports). Differs from the paper: no rotations, see below. Needs: nothing.
//! Model: one-port with `ports=one`; with `ports=all` a rank sends up to r - 1 messages in a round.
//!
//! In radix r, a digit position of weight w = 1, r, r^2, .. < N:
//!
//! | term | `ports=one` | `ports=all` |
//! |---|---|---|
//! | startups | sum over w of min(r - 1, (N - 1) div w) | positions: log_r N rounded up |
//! | blocks sent by a rank | digits that are not 0 in the numbers below N | the same |
//! | transmission | blocks sent by a rank | sum over w of the numbers below N with a 1 there |
//! | messages a rank | startups | startups of `ports=one` |
//! | rearrangements | positions - 1 | positions - 1 |
//!
//! Where N is a power of r these are (r - 1) log_r N startups with `ports=one`, and (r - 1) (N/r)
//! log_r N blocks.
//!
//! A rank takes time and memory in proportion to the blocks that it sends. Contention-free on
//! complete networks.
//!
//! # Idea
//!
//! A block from s to d has the offset o = (d - s) mod N. Write o in radix r. For each position of
//! weight w and each digit value z > 0, one message moves the blocks with this digit by z w ranks.
//! A block moves once for each digit that is not 0. Radix 2 has the fewest rounds; radix N sends
//! each block once, as `direct-rotated` does.
//!
//! ```text
//! N = 6, radix 2: what rank 0 sends        (source, destination)
//! to 1: o = 1, 3, 5                        (0,1) (0,3) (0,5)
//! to 2: o = 2, 3                           (5,2) (0,2)
//! to 4: o = 4, 5                           (5,4) (0,4)
//! ```
//!
//! The paper keeps the blocks in N slots by o, and so rotates them before and after. Here a block
//! is named by its source and destination and lies where the plan puts it; nothing is rotated.
//!
//! # Why it is correct
//!
//! 1. Before the position of weight w, rank u holds the block with offset o from the source u - (o
//!    mod w), for each o.
//! 2. The message of z from u to v = u + z w has the blocks whose offset has the digit z there: o =
//!    j r w + z w + (o mod w). The destination is u - (o mod w) + o = v + j r w. Hence for each j
//!    the sources are u and the w - 1 ranks behind it; fewer only for the last j, where o would
//!    pass N.
//! 3. The messages of one position have different blocks, and none forwards a block of another:
//!    they may share a round.
//!
//! # Order
//!
//! Sorted by destination, the receiver first, then by source: delivered blocks are one piece of the
//! output (two if it wraps), and blocks to be forwarded are in pieces of up to w blocks, one per
//! destination and message.

use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

use crate::algorithm::loads::{Crossing, with_loads};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings, Values, is_complete};
use crate::block::{Block, Volume};
use crate::ids::{MAX_NODES, Rank};
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Route, Share};

/// Bruck's exchange.
#[derive(Clone, Copy, Debug)]
pub struct Bruck {
    radix: usize,
    /// Whether the messages of one digit position share a round.
    all_ports: bool,
}

const RADIX: Parameter = Parameter {
    key: "radix",
    summary: "radix of the digits",
    values: Values::Number { least: 2, most: MAX_NODES },
    default: 2,
};

const PORTS: Parameter = Parameter {
    key: "ports",
    summary: "with all, the messages of one digit position share a round",
    values: Values::Words(&["one", "all"]),
    default: 0,
};

const fn about(ports: Ports) -> About {
    About {
        collective: "alltoall",
        name: "bruck",
        summary: "blocks move by the digits of their distance in ranks; those with the same digit share a message",
        source: "Bruck et al. 1997, 3",
        needs: "nothing",
        claims: "for N = r^k: k (r - 1) start-ups, k (r - 1) N/r blocks, k - 1 rearrangements, with ports=all k start-ups, k N/r blocks; for any N by counting digits; contention-free on complete networks",
        ports,
    }
}

static ONE: About = about(Ports::One);
static ALL: About = about(Ports::Unlimited);

/// A digit position.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The index of the position, from that of weight 1.
    index: usize,
    weight: usize,
}

impl Default for Bruck {
    fn default() -> Self {
        Self { radix: 2, all_ports: false }
    }
}

impl Bruck {
    /// Returns the algorithm of this radix, with one message per round. `None` for a radix below 2.
    fn new(radix: usize) -> Option<Self> {
        (radix >= 2).then_some(Self { radix, all_ports: false })
    }

    /// Puts all messages of one digit position into one round.
    fn all_ports(self) -> Self {
        Self { all_ports: true, ..self }
    }

    /// Returns the weights of the digit positions of numbers below `size`.
    fn weights(self, size: usize) -> impl Iterator<Item = usize> {
        successors(Some(1_usize), move |weight| weight.checked_mul(self.radix)).take_while(move |&weight| weight < size)
    }

    /// Returns the largest digit of this weight in numbers below `size`.
    fn largest(self, size: usize, weight: usize) -> usize {
        (self.radix - 1).min((size - 1) / weight)
    }

    /// Returns, for each round, the digit position and the values of the digit.
    fn steps(self, size: usize) -> impl Iterator<Item = (Position, Range<usize>)> {
        self.weights(size).enumerate().flat_map(move |(index, weight)| {
            let end = self.largest(size, weight) + 1;
            let together = if self.all_ports { end } else { 1 };
            let position = Position { index, weight };
            (1..end).step_by(together).map(move |first| (position, first..end.min(first + together)))
        })
    }

    /// Returns how many numbers below `size` have the digit `value` at this weight.
    fn numbers(self, size: usize, weight: usize, value: usize) -> usize {
        let all = self.radix.saturating_mul(weight);
        size / all * weight + (size % all).saturating_sub(value.saturating_mul(weight)).min(weight)
    }

    /// Returns the message of `from` to the rank `value` times the weight ahead.
    fn message(self, size: usize, from: usize, weight: usize, value: usize) -> End {
        let to = from + value * weight;
        let mut blocks = Vec::with_capacity(self.numbers(size, weight, value));
        for ahead in (0..size - value * weight).step_by(self.radix.saturating_mul(weight)) {
            let sources = weight.min(size - value * weight - ahead);
            let destination = Rank::new((to + ahead) % size);
            blocks.extend((0..sources).rev().map(|low| Block::new(Rank::new((from + size - low) % size), destination)));
        }
        End::new(Rank::new(to % size), blocks)
    }

    /// Returns a rank's round of the messages with these digit values at a position.
    fn round(self, size: usize, rank: usize, position: Position, values: Range<usize>) -> RankRound {
        let Position { index, weight } = position;
        let sends = values.clone().map(|value| self.message(size, rank, weight, value));
        let receives = values.map(|value| {
            let from = (rank + size - value * weight) % size;
            End { peer: Rank::new(from), ..self.message(size, from, weight, value) }
        });
        RankRound { phase: index, sends: sends.collect(), receives: receives.collect(), ..RankRound::default() }
    }
}

impl Algorithm for Bruck {
    fn about(&self) -> &About {
        if self.all_ports { &ALL } else { &ONE }
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[RADIX, PORTS]
    }

    fn settings(&self) -> Settings {
        Settings::default().with(&RADIX, self.radix).with(&PORTS, self.all_ports.into())
    }

    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let one_port = Self::new(settings.of(&RADIX))?;
        Some(Arc::new(Self { all_ports: settings.of(&PORTS) == 1, ..one_port }))
    }

    /// For each number of positions from 2 on, the smallest radix that suffices.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let size = problem.ranks();
        let mut radixes: Vec<usize> = (2..=size.ilog2().max(1))
            .filter_map(|positions| (2..=size).find(|radix| radix.saturating_pow(positions) >= size))
            .collect();
        radixes.dedup();
        let made = radixes.into_iter().filter_map(Self::new).flat_map(|one| [one, one.all_ports()]);
        made.filter(|made| made.radix > 2).map(|made| Arc::new(made) as Arc<dyn Algorithm>).collect()
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let size = problem.ranks();
        let sum = |of: &dyn Fn(usize) -> usize| self.weights(size).map(|weight| of(weight) as u64).sum::<u64>();
        let positions = sum(&|_| 1);
        let messages = sum(&|weight| self.largest(size, weight));
        let volume = sum(&|weight| size - self.numbers(size, weight, 0));
        let (rounds, transmission) = match self.all_ports {
            true => (positions, sum(&|weight| self.numbers(size, weight, 1))),
            false => (messages, volume),
        };
        let claims = Claims {
            transmission: Some(transmission.into()),
            rearrangements: Some(positions.saturating_sub(1)),
            messages: Some(messages),
            volume: Some(Volume::from(volume)),
            ..Claims::of_single_blocks(rounds, is_complete(problem))
        };
        let claims = match self.all_ports {
            // One message in and one out per port.
            true => Claims { port_transmission: Some(volume.into()), handled: Some(2 * messages), ..claims },
            false => claims,
        };
        // A radix close to a large size has as many messages as that size.
        if messages > 1 << 20 || !Crossing::known(problem, messages) {
            return claims;
        }
        let message = |weight, value| ((weight * value) as u64, self.numbers(size, weight, value) as u64);
        let of_a_position =
            |weight| -> Vec<_> { (1..=self.largest(size, weight)).map(|value| message(weight, value)).collect() };
        let round = |messages: &[(u64, u64)]| Crossing::rotations(problem, messages);
        let rounds: Option<Vec<_>> = match self.all_ports {
            true => self.weights(size).map(|weight| round(&of_a_position(weight))).collect(),
            false => self.weights(size).flat_map(of_a_position).map(|message| round(&[message])).collect(),
        };
        with_loads(claims, rounds)
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        self.weights(problem.ranks()).map(|weight| format!("digits of weight {weight}")).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (bruck, size, rank) = (*self, problem.ranks(), rank.index());
        Box::new(bruck.steps(size).map(move |(position, values)| bruck.round(size, rank, position, values)))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let (bruck, size, rank) = (*self, problem.ranks(), rank.index());
        Box::new(bruck.steps(size).map(move |(Position { index, weight }, values)| {
            let amount = |value: usize| Amount {
                peer: Rank::new((rank + value * weight) % size),
                volume: (bruck.numbers(size, weight, value) as u64).into(),
                route: Route::Default,
            };
            RankAmounts {
                phase: index,
                receives: values.len(),
                sends: values.map(amount).collect(),
                ..RankAmounts::default()
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(size: usize, from: usize, weight: usize, value: usize, radix: usize) -> (usize, Vec<(i32, i32)>) {
        let End { peer, blocks, .. } = Bruck::new(radix).unwrap().message(size, from, weight, value);
        (peer.index(), blocks.iter().map(|block| (block.source(), block.destination())).collect())
    }

    #[test]
    fn rank_0_of_6_sends_what_the_header_says() {
        assert_eq!(sent(6, 0, 1, 1, 2), (1, vec![(0, 1), (0, 3), (0, 5)]));
        assert_eq!(sent(6, 0, 2, 1, 2), (2, vec![(5, 2), (0, 2)]));
        assert_eq!(sent(6, 0, 4, 1, 2), (4, vec![(5, 4), (0, 4)]));
        // Radix 3: o = 1, 4, then 2, 5, then 3, 4, 5.
        assert_eq!(sent(6, 4, 1, 1, 3), (5, vec![(4, 5), (4, 2)]));
        assert_eq!(sent(6, 4, 1, 2, 3), (0, vec![(4, 0), (4, 3)]));
        assert_eq!(sent(6, 4, 3, 1, 3), (1, vec![(2, 1), (3, 1), (4, 1)]));
    }

    #[test]
    fn digits_are_counted() {
        for (size, radix) in (1..70).flat_map(|size| (2..size + 3).map(move |radix| (size, radix))) {
            let bruck = Bruck::new(radix).unwrap();
            for weight in bruck.weights(size) {
                for value in 0..radix {
                    let numbers = (0..size).filter(|o| o / weight % radix == value).count();
                    assert_eq!(bruck.numbers(size, weight, value), numbers, "{value} at {weight} below {size}");
                    assert_eq!(value <= bruck.largest(size, weight), numbers > 0 || value == 0);
                }
            }
        }
        let huge = Bruck::new(MAX_NODES).unwrap();
        assert_eq!((huge.numbers(MAX_NODES, 1, 0), huge.numbers(MAX_NODES, 1, MAX_NODES - 1)), (1, 1));
    }

    #[test]
    fn claims_of_the_largest_machines_need_no_schedule() {
        let network = crate::topology::parse("complete:2147483647").unwrap();
        let problem = Problem::new(network, crate::collective::Collective::Alltoall).unwrap();
        for radix in [2, 3, 2_147_483_647, usize::MAX] {
            let bruck = Bruck::new(radix).unwrap();
            for bruck in [bruck, bruck.all_ports()] {
                let claims = bruck.claims(&problem);
                assert!(claims.volume.unwrap() >= Volume::from(2_147_483_646) && claims.messages >= claims.startups);
            }
        }
        // 31 bits, each set in half of the numbers up to 2^31 - 1; the last number is missing.
        let claims = Bruck::default().claims(&problem);
        assert_eq!((claims.startups, claims.volume), (Some(31), Some(Volume::from(31 * (1 << 30) - 31))));
    }

    #[test]
    fn variants_are_the_smallest_radix_for_each_number_of_positions() {
        let radixes = |size: usize| {
            let problem = crate::topology::parse(&format!("complete:{size}")).unwrap();
            let problem = Problem::new(problem, crate::collective::Collective::Alltoall).unwrap();
            Bruck::default().variants(&problem).iter().map(|variant| variant.name()).collect::<Vec<_>>()
        };
        assert!(radixes(1).is_empty() && radixes(4).is_empty());
        assert_eq!(radixes(5), ["bruck:radix=3", "bruck:radix=3,ports=all"]);
        let names = |radixes: &[usize]| {
            let both = |r: &usize| [format!("bruck:radix={r}"), format!("bruck:radix={r},ports=all")];
            radixes.iter().flat_map(both).collect::<Vec<_>>()
        };
        assert_eq!(radixes(16), names(&[4, 3]));
        assert_eq!(radixes(1000), names(&[32, 10, 6, 4, 3]));
        assert_eq!(radixes(MAX_NODES)[..2], ["bruck:radix=46341", "bruck:radix=46341,ports=all"]);
    }
}
