//! Generalized diagonals: nodes of a cube of which every line along an axis holds exactly one.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 6.1, equation 4. The diagonal of an n x ... x n
//! cube consists of the nodes whose coordinates have a sum that n divides. Seen along any axis, its
//! nodes cover the side of the cube, and none hides another.
//!
//! A torus of side n is made of cubes of side n / m, if m divides n. The nodes on their diagonals
//! are those whose coordinates have a sum that n / m divides: m in each row along each axis, n / m
//! apart.

/// Returns the place of the diagonal of the whole cube in a row, from the sum of the coordinates
/// along the other axes. The diagonals of smaller cubes are at the multiples of their side from it.
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

    /// Lemma 8.
    #[test]
    fn projections_along_every_axis_are_bijective() {
        for (d, most) in [(1, 12), (2, 12), (3, 7), (4, 5)] {
            for n in 1..=most {
                for axis in 0..d as usize {
                    let mut seen = BTreeSet::new();
                    for mut node in cube(n, d) {
                        let at = node.remove(axis);
                        if at == place(n, node.iter().sum()) {
                            assert!(seen.insert(node), "{n}^{d} along axis {axis}");
                        }
                    }
                    assert_eq!(seen.len(), n.pow(d - 1), "{n}^{d} along axis {axis}");
                }
            }
        }
    }

    #[test]
    fn diagonals_of_the_parts_are_evenly_spaced_in_every_row() {
        for (n, m) in [(8, 2), (8, 4), (9, 3), (12, 4)] {
            let side = n / m;
            for node in cube(n, 3) {
                let other: usize = node[1..].iter().sum();
                let offset = (node[0] + n - place(n, other)) % n;
                assert_eq!(
                    offset.is_multiple_of(side),
                    (node[0] + other).is_multiple_of(side),
                    "{node:?}, {m} in a row of {n}"
                );
            }
        }
    }
}
