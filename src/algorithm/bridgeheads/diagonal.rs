//! Generalized diagonals: nodes of a cube of which every line along an axis holds exactly one.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 6.1, equation 4. The diagonal of an n x ... x n
//! cube consists of the nodes whose coordinates have a sum that n divides. Seen along any axis, its
//! nodes cover the side of the cube, and none hides another.
//!
//! A torus of any side is cut into cubes of side s. The last ones along an axis are cut off if s
//! does not divide the side. The nodes on the diagonals are those whose coordinates have a sum that
//! s divides: in each row along each axis, every s-th node from a first one below s.
//!
//! So rows whose other coordinates have equal remainders by s have bridgeheads at equal places, and
//! those of a row hold equal blocks after an exchange in their columns, which a spread needs. That
//! is why bridgeheads are not at k n / m, rounded down, as on rings, with arcs that differ by one:
//! if m does not divide n, each row would have bridgeheads at other places.

/// Returns the first place of a diagonal in a row, from the sum of the coordinates along the other
/// axes, in cubes of this side. The others are at the multiples of the side from it.
pub(super) fn place(side: usize, others: usize) -> usize {
    (side - others % side) % side
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All vectors of d coordinates below n.
    fn cube(n: usize, d: u32) -> impl Iterator<Item = Vec<usize>> {
        (0..n.pow(d)).map(move |node| (0..d).map(|axis| node / n.pow(axis) % n).collect())
    }

    /// Lemma 8. The diagonal is that of the rows along the first axis.
    #[test]
    fn projections_along_every_axis_are_bijective() {
        for (d, most) in [(1, 12), (2, 12), (3, 7), (4, 5)] {
            for n in 1..=most {
                let is_on_it = |node: &Vec<usize>| node[0] == place(n, node[1..].iter().sum());
                let diagonal: Vec<Vec<usize>> = cube(n, d).filter(is_on_it).collect();
                assert_eq!(diagonal.len(), n.pow(d - 1), "{n}^{d}");
                for axis in 0..d as usize {
                    let mut seen = BTreeSet::new();
                    for mut node in diagonal.clone() {
                        let at = node.remove(axis);
                        assert_eq!(at, place(n, node.iter().sum()), "{n}^{d} along axis {axis}");
                        assert!(seen.insert(node), "{n}^{d} along axis {axis}");
                    }
                }
            }
        }
    }

    #[test]
    fn diagonals_of_the_parts_are_equally_spaced_in_every_row() {
        for (n, side) in [(8, 4), (8, 2), (9, 3), (12, 3), (7, 2), (11, 5)] {
            for node in cube(n, 3) {
                let other: usize = node[1..].iter().sum();
                assert_eq!(
                    (node[0] + side - place(side, other)).is_multiple_of(side),
                    (node[0] + other).is_multiple_of(side),
                    "{node:?}, {side} apart in a row of {n}"
                );
            }
        }
    }
}
