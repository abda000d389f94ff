//! Lower bounds on the time of an allgather, which weigh start-ups against transmission.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 3, with errata. Times are in units of the
//! transmission of one block over a channel. A rank uses all its channels at once, and a message
//! that crosses several channels has one start-up.

use std::f64::consts::E;

/// A network whose nodes are ranks, all with as many channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regular {
    /// The number of ranks.
    pub ranks: usize,
    /// The number of channels of a node.
    pub degree: usize,
    /// The most channels on a shortest route between two nodes.
    pub diameter: usize,
}

/// Returns a lower bound on the time in which one rank collects the blocks of all ranks, and so on
/// the time of an allgather.
///
/// Lemma 1: the greatest of (N - 1) / D transmissions, half the diameter in hops, and the
/// logarithm of N to base D + 1 in start-ups, for N ranks and D channels a node. `startup` is the
/// time of a start-up and `hop` that of crossing a channel. Equation 2 of the paper has N for N - 1,
/// but the rank has its own block. 0 for one rank, infinite for several without channels.
///
/// ```
/// use necklace::bounds::{Regular, collection_time};
/// // A ring of 27 nodes, whose start-ups take as long as two blocks and as ten.
/// let ring = Regular { ranks: 27, degree: 2, diameter: 13 };
/// assert_eq!(collection_time(ring, 2.0, 0.0), 13.0);
/// assert_eq!(collection_time(ring, 10.0, 0.0).round(), 30.0);
/// ```
#[must_use]
pub fn collection_time(network: Regular, startup: f64, hop: f64) -> f64 {
    let Regular { ranks, degree, diameter } = network;
    if ranks < 2 {
        return 0.0;
    }
    let [ranks, degree, diameter] = [ranks, degree, diameter].map(|number| number as f64);
    let transmission = (ranks - 1.0) / degree;
    let startups = ranks.ln() / (degree + 1.0).ln();
    transmission.max(diameter / 2.0 * hop).max(startups * startup)
}

/// Returns the least number of steps, n / r ln n / ln(n / r) up to terms of lower order, in which
/// one rank of a ring spreads n / r messages of r blocks to all, or `None` if the lemma does not cover
/// these messages.
///
/// Lemma 3, for n `ranks` and messages of r = `size` <= (n - 1) / e blocks. The ring has channels to
/// the right only, and in a step no channel carries two messages.
///
/// ```
/// use necklace::bounds::dissemination_steps;
/// assert_eq!(dissemination_steps(729, 50.0).map(f64::round), Some(36.0));
/// ```
#[must_use]
pub fn dissemination_steps(ranks: usize, size: f64) -> Option<f64> {
    let n = ranks as f64;
    let covered = size > 0.0 && size <= (n - 1.0) / E;
    covered.then(|| n / size * n.ln() / (n / size).ln())
}

/// Returns n ln n / ln(n / r), to which the time of an allgather on a ring is at least
/// proportional, or `None` if the theorem does not cover these start-ups.
///
/// Theorem 1, for n `ranks` and a `startup` of r <= (n - 1) / e transmissions. Between few
/// start-ups, for which transmission decides, and many, for which the logarithm does, it grows
/// faster than [`collection_time`].
///
/// The value is not a lower bound by itself, since the constant of proportion is not stated. It is
/// that of Lemma 3, [`dissemination_steps`], of which each takes at least r. By Lemma 2, the time of
/// an allgather is at least that time minus the time in which one rank collects all blocks. Messages
/// of other sizes and both directions change the constant.
///
/// ```
/// use necklace::bounds::ring_growth;
/// assert_eq!(ring_growth(729, 50.0).map(f64::round), Some(1793.0));
/// assert_eq!(ring_growth(27, 10.0), None);
/// ```
#[must_use]
pub fn ring_growth(ranks: usize, startup: f64) -> Option<f64> {
    // Without start-ups, the quotient of the logarithms has the limit 0, and n - 1 blocks remain.
    Some(startup * dissemination_steps(ranks, startup)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collection_takes_the_greatest_term() {
        let of = |ranks, degree, diameter| Regular { ranks, degree, diameter };
        let ring = of(27, 2, 13);
        assert_eq!(collection_time(ring, 2.0, 0.0), 13.0);
        assert_eq!(collection_time(ring, 2.0, 4.0), 26.0);
        assert!((collection_time(ring, 10.0, 4.0) - 30.0).abs() < 1e-9);
        assert_eq!([of(1, 0, 0), of(0, 2, 0)].map(|network| collection_time(network, 5.0, 5.0)), [0.0, 0.0]);
        assert_eq!([0.0, 5.0].map(|startup| collection_time(of(5, 0, 0), startup, 0.0)), [f64::INFINITY; 2]);
        // Two ranks take a start-up and a block at once: this bound takes the greater.
        assert!((collection_time(of(2, 1, 1), 3.0, 0.0) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn growth_covers_start_ups_up_to_an_eth_of_the_ring() {
        let covered = |n| [2.0, 10.0, 50.0, 250.0].map(|r| ring_growth(n, r).is_some());
        assert_eq!(covered(27), [true, false, false, false]);
        assert_eq!(covered(729), [true, true, true, true]);
        assert_eq!([ring_growth(27, 0.0), ring_growth(1, 0.0), ring_growth(0, 1.0)], [None; 3]);
    }

    /// A thousand nodes have three times the logarithm of ten messages, and 2^20 twice that of 2^10.
    #[test]
    fn dissemination_takes_the_steps_of_lemma_3() {
        let steps = |n, r| dissemination_steps(n, r).unwrap();
        assert!((steps(1000, 100.0) - 30.0).abs() < 1e-9);
        assert!((steps(1 << 20, 1024.0) - 2048.0).abs() < 1e-6);
        assert_eq!([dissemination_steps(27, 10.0), dissemination_steps(27, 0.0)], [None; 2]);
    }
}
