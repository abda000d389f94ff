//! The groups of the four schemes.

use super::lines::greedy;
use super::necklace::{Necklace, Words};
use super::{AddressGroup, Crossing, Scheme};

/// Returns the groups of a scheme for at least one dimension.
pub(super) fn groups(scheme: Scheme, d: usize) -> Vec<AddressGroup> {
    let pairs: Vec<usize> = (0..1 << (d - 1)).collect();
    let odd = pairs.len() % d;
    match scheme {
        Scheme::Wrapped => vec![wrapped(d, &pairs)],
        Scheme::Mixed if odd > 0 => {
            let (wrapping, others) = pairs.split_at(d + odd);
            std::iter::once(wrapped(d, wrapping)).chain(by_pairs(d, others)).collect()
        }
        Scheme::Pairs | Scheme::Mixed => by_pairs(d, &pairs).collect(),
        Scheme::Necklaces => by_necklaces(d),
    }
}

/// Returns the crossing of a dimension by a complement pair.
pub(super) fn of_pair(d: usize, pair: usize, dimension: usize) -> Crossing {
    let address = if pair >> dimension & 1 == 1 { pair } else { pair ^ ((1 << d) - 1) };
    Crossing { address, dimension }
}

/// Algorithm 1: d pairs at a time; the u-th pair crosses dimension u + r in step r.
fn by_pairs(d: usize, pairs: &[usize]) -> impl Iterator<Item = AddressGroup> {
    pairs.chunks(d).map(move |pairs| {
        let step = |r: usize| pairs.iter().enumerate().map(move |(u, &pair)| of_pair(d, pair, (u + r) % d)).collect();
        AddressGroup { steps: (0..d).map(step).collect() }
    })
}

/// Algorithm 2: the u-th pair crosses dimension r in step u + r, modulo the number of pairs, which
/// is at least d.
fn wrapped(d: usize, pairs: &[usize]) -> AddressGroup {
    let all = pairs.len();
    let step = |t: usize| (0..d).map(move |r| of_pair(d, pairs[(t + all - r) % all], r)).collect();
    AddressGroup { steps: (0..all).map(step).collect() }
}

/// Algorithm 4: cyclic addresses by d pairs at a time; the left-over pairs with a necklace; every
/// other full necklace separately. A necklace is followed by that of its complements; together they
/// take d steps.
fn by_necklaces(d: usize) -> Vec<AddressGroup> {
    let Some(words) = Words::binary(d) else { return vec![] };
    let cyclic: Vec<usize> = (0..words.count() / 2).filter(|&word| words.is_cyclic(word)).collect();
    let (blocks, left) = cyclic.split_at(cyclic.len() / d * d);
    let mut groups: Vec<AddressGroup> = by_pairs(d, blocks).collect();
    let joins = (!left.is_empty()).then(|| (1 << (d - left.len())) - 1);
    if joins.is_some() {
        groups.push(joint(words, left));
    }
    let joined = |necklace: &Necklace| joins == Some(necklace.distinguished());
    let is_left = |necklace: &Necklace| joined(&necklace.complement());
    let full: Vec<Necklace> = words.necklaces().filter(|necklace| necklace.is_full() && !joined(necklace)).collect();
    let is_own = |necklace: &Necklace| necklace.complement() == *necklace;
    // Of two complementary necklaces, the lighter one is first; of equal weights, the one with the
    // smaller word.
    let is_first = |necklace: &Necklace| {
        let key = |necklace: Necklace| (necklace.weight(), necklace.distinguished());
        key(*necklace) < key(necklace.complement())
    };
    let in_pairs = full.iter().filter(|necklace| !is_left(necklace) && is_first(necklace));
    groups.extend(in_pairs.flat_map(|necklace| [*necklace, necklace.complement()].map(|it| by_bits(d, it))));
    groups.extend(full.iter().filter(|necklace| is_own(necklace)).map(|necklace| by_bits(d, *necklace)));
    groups.extend(full.iter().filter(|necklace| is_left(necklace)).map(|necklace| by_bits(d, *necklace)));
    groups
}

/// Returns the group of a full necklace: the i-th bits of all members in one step.
fn by_bits(d: usize, necklace: Necklace) -> AddressGroup {
    let bits = (0..d).filter(|bit| necklace.distinguished() >> bit & 1 == 1);
    let crossing = |bit: usize| move |(r, address): (usize, usize)| Crossing { address, dimension: (bit + r) % d };
    let step = |bit| necklace.members().enumerate().map(crossing(bit)).collect();
    AddressGroup { steps: bits.map(step).collect() }
}

/// Returns the group of the left-over pairs of cyclic addresses, fewer than d, with the necklace of
/// 0^c 1^(d-c).
fn joint(words: Words, left: &[usize]) -> AddressGroup {
    let d = words.length();
    let (c, q) = (left.len(), d - left.len());
    let members: Vec<usize> = (0..d).map(|j| words.rotated((1 << q) - 1, j)).collect();
    let mut steps = vec![Vec::with_capacity(d); d];
    for i in 0..q {
        for (j, &address) in members.iter().enumerate() {
            if let Some(entry) = greedy(d, c, i, j) {
                steps[entry.step].push(Crossing { address, dimension: entry.dimension });
            }
        }
    }
    for (r, &pair) in left.iter().enumerate() {
        for (t, step) in steps.iter_mut().enumerate() {
            step.push(of_pair(d, pair, (q + r + t) % d));
        }
    }
    AddressGroup { steps }
}
