//! The formulas of the paper, without rounding of the result.

use necklace::bounds::{Regular, collection_time};

/// The number of bridgeheads `a`, and the number of steps `b` of a round that multiplies it.
pub(super) type Parameters = (u32, u32);

/// The least time of an algorithm, and the parameters that give it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    pub(super) time: f64,
    pub(super) parameters: Parameters,
}

/// Returns the time of Approach 1 on a ring of `n` nodes with packets of length `size`.
///
/// Lemma 4: `floor(n/2) (1 + r)`. Every packet travels half the ring in both directions.
pub(super) fn approach_1(n: u32, size: f64, r: f64) -> f64 {
    half(n) * (size + r)
}

/// Returns the time of Approach 2 on a ring of `n` nodes with packets of length `size`.
///
/// Lemma 4: `log3(n) (n + 2 r)`. One node collects all packets, and then sends them to all. The
/// lemma leaves out the `n/2` that the proof has for the first half.
pub(super) fn approach_2(n: u32, size: f64, r: f64) -> f64 {
    log3(f64::from(n)) * (f64::from(n) * size + 2.0 * r)
}

/// Returns the time of CIRCGOS on a ring of `n` nodes with packets of length `size`.
///
/// Lemma 5, the sum of three phases:
///
/// 1. `n/(2 a) + log3(n/a) r`: bridgeheads collect the packets near them;
/// 2. `a/2 (n/a + r)`: bridgeheads exchange what they have;
/// 3. `(loga(n) - 1) b (n/(2 b - a + 2) + r)`: their number grows by a factor of `a` a round.
pub(super) fn circgos(n: u32, size: f64, (a, b): Parameters, r: f64) -> f64 {
    let rounds = log(a, n) - 1.0;
    let packets = packets((a, b));
    let [n, a, b] = [n, a, b].map(f64::from);
    let collect = size * n / (2.0 * a) + log3(n / a) * r;
    let exchange = a / 2.0 * (size * n / a + r);
    let multiply = rounds * b * (size * n / packets + r);
    collect + exchange + multiply
}

/// Returns the time of Approach 1-1 on an `n x n` torus.
///
/// Lemma 6: `floor(n/2) (n/2 + 1/2 + 2 r)`.
pub(super) fn approach_1_1(n: u32, r: f64) -> f64 {
    half(n) * (f64::from(n) / 2.0 + 0.5 + 2.0 * r)
}

/// Returns the time of Approach 2-1 on an `n x n` torus.
///
/// Lemma 6: `floor(n/2) (n/2 + log3(n)) + (n/2 + 2 log3(n)) r`.
pub(super) fn approach_2_1(n: u32, r: f64) -> f64 {
    let (middle, log) = (f64::from(n) / 2.0, log3(f64::from(n)));
    half(n) * (middle + log) + (middle + 2.0 * log) * r
}

/// Returns the time of Approach 2-2 on an `n x n` torus.
///
/// Lemma 6: `log3(n) (n^2/2 + n/2 + 4 r)`.
pub(super) fn approach_2_2(n: u32, r: f64) -> f64 {
    let n = f64::from(n);
    log3(n) * (n * n / 2.0 + n / 2.0 + 4.0 * r)
}

/// Returns the time of TORGOS on an `n x n` torus, with a colour for each dimension.
///
/// Lemma 7, which is Lemma 9 for two dimensions. The colours halve the transfers exactly.
pub(super) fn torgos(n: u32, parameters: Parameters, r: f64) -> f64 {
    cubgos(n, 2, 0.5, parameters, r)
}

/// Returns the time of CUBGOS' on a torus of `d` dimensions of extent `n`.
///
/// Lemma 9, the sum of three groups of phases, of which `share` is what the colours leave of
/// the transfers:
///
/// - 1: `n/(2 a) + log3(n/a) r`;
/// - 4a: `b n^d / ((a^(d-1) - 1) (2 b - a + 2)) + (loga(n) - 1) b r`;
/// - 2, 3, 4b: `a/2 (n^d/(a - 1) + ((d - 1) loga(n) + 1) r)`.
pub(super) fn cubgos(n: u32, d: u32, share: f64, (a, b): Parameters, r: f64) -> f64 {
    let log = log(a, n);
    let (all, fan_out) = (nodes(n, d), nodes(a, d - 1));
    let packets = packets((a, b));
    let [n, d, a, b] = [n, d, a, b].map(f64::from);
    let collect = share * n / (2.0 * a) + log3(n / a) * r;
    let multiply = share * b * all / ((fan_out - 1.0) * packets) + (log - 1.0) * b * r;
    let exchange = a / 2.0 * (share * all / (a - 1.0) + ((d - 1.0) * log + 1.0) * r);
    collect + multiply + exchange
}

/// Finds the parameters of the least time, the smallest of those that are equally good.
pub(super) fn search(n: u32, time: impl Fn(Parameters) -> f64) -> Best {
    let all = (2..=n).flat_map(|a| (a / 2..2 * a).map(move |b| (a, b)));
    let all = all.map(|parameters| Best { time: time(parameters), parameters });
    all.min_by(|one, other| one.time.total_cmp(&other.time)).expect("a ring has at least two nodes")
}

/// Returns the lower bound on a torus of `d` dimensions of extent `n`, where hops are free.
///
/// Equation 2, which is Lemma 1 without the time of hops.
pub(super) fn equation_2(n: u32, d: u32, r: f64) -> f64 {
    let network = Regular { ranks: nodes(n, d) as usize, degree: 2 * d as usize, diameter: (d * (n / 2)) as usize };
    collection_time(network, r, 0.0)
}

/// Returns the number of packets that a bridgehead cuts its data into: a new bridgehead has
/// received all of them after `b` steps.
fn packets((a, b): Parameters) -> f64 {
    f64::from(2 * b + 2 - a)
}

fn half(n: u32) -> f64 {
    f64::from(n / 2)
}

/// Returns the number of nodes, which may exceed 32 bits.
fn nodes(n: u32, d: u32) -> f64 {
    (0..d).map(|_| f64::from(n)).product()
}

fn log(base: u32, n: u32) -> f64 {
    f64::from(n).ln() / f64::from(base).ln()
}

/// Returns the logarithm to base 3, a little too small.
///
/// The constant is `ln(3)`, rounded up in the seventh decimal. With it, times that should be
/// whole numbers are cut to one less, as all of them are in the paper.
fn log3(n: f64) -> f64 {
    n.ln() / 1.098_612_3
}
