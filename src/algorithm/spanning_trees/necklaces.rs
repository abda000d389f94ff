//! Necklaces of the nodes of a generalized hypercube.

use std::iter::successors;

use crate::algorithm::cube::necklace::Words;
use crate::ids::Node;

/// The nodes of the generalized hypercube GH(k, n), as words of n digits in radix k, and their
/// classes under rotation, the *necklaces*.
///
/// Digit i has the weight k^i: it is the coordinate of dimension n - 1 - i. A rotation moves digit
/// i to i + 1, and the last digit to 0, where it is *turned*: 0 stays 0, and the others take turns,
/// 1 after k - 1. So n (k - 1) rotations return the node, and the necklace of node 0 has no other.
///
/// The *generator* of a necklace is the largest of its nodes, first by which digits are not 0, and
/// then by value. The *displacement* of a node is the number of rotations to the generator, and its
/// *period* the number of nodes of its necklace.
///
/// Source: Q. Wang's dissertation, 1999, definitions 10.3 to 10.8. With k = 2 the rotation is that
/// of bit strings. Methods take a node by its number, modulo [`nodes`](Self::nodes).
///
/// ```
/// use necklace::Node;
/// use necklace::algorithm::spanning_trees::Necklaces;
///
/// let necklaces = Necklaces::new(5, 2).unwrap();
/// // 04, 10, 01, 20, 02, 30, 03, 40, and 04 again.
/// assert_eq!(necklaces.rotated(Node::new(4), 1), Node::new(20));
/// assert_eq!((necklaces.period(Node::new(4)), necklaces.displacement(Node::new(4))), (8, 1));
/// assert_eq!(necklaces.generator(Node::new(4)), Node::new(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Necklaces {
    words: Words,
    radix: usize,
}

impl Necklaces {
    /// Returns the necklaces of GH(`radix`, `digits`). `None` for a radix below 2, without digits,
    /// and for more than [`MAX_NODES`](crate::ids::MAX_NODES) nodes.
    #[must_use]
    pub fn new(radix: usize, digits: usize) -> Option<Self> {
        Some(Self { words: Words::new(radix, digits)?, radix })
    }

    /// Returns the number of nodes, k^n.
    #[must_use]
    pub fn nodes(self) -> usize {
        self.words.count()
    }

    /// Returns the number of digits, n.
    #[must_use]
    pub fn digits(self) -> usize {
        self.words.length()
    }

    /// Returns the number of rotations that return every node, n (k - 1). It is the number of
    /// channels of a node of the generalized hypercube.
    #[must_use]
    pub fn rotations(self) -> usize {
        self.words.length() * (self.radix - 1)
    }

    /// Rotates a node `times` times.
    #[must_use]
    pub fn rotated(self, node: Node, times: usize) -> Node {
        let start = node.index() % self.nodes();
        let once = |word: usize| {
            let rotated = self.words.rotated(word, 1);
            let digit = rotated % self.radix;
            rotated - digit + self.turned(digit)
        };
        Node::new((0..times % self.rotations()).fold(start, |word, _| once(word)))
    }

    /// Returns the function r of definition 10.3.
    fn turned(self, digit: usize) -> usize {
        if digit == 0 { 0 } else { digit % (self.radix - 1) + 1 }
    }

    /// Returns the nodes of a necklace: `node`, then its rotations by one, two, ..
    pub fn necklace(self, node: Node) -> impl Iterator<Item = Node> {
        let first = self.rotated(node, 0);
        let next = move |&node: &Node| Some(self.rotated(node, 1)).filter(|&next| next != first);
        successors(Some(first), next)
    }

    /// Returns the number of nodes of a node's necklace. It divides n (k - 1).
    #[must_use]
    pub fn period(self, node: Node) -> usize {
        self.necklace(node).count()
    }

    /// Returns the generator of a node's necklace.
    #[must_use]
    pub fn generator(self, node: Node) -> Node {
        self.to_generator(node).1
    }

    /// Returns the least number of rotations of a node that give the generator.
    #[must_use]
    pub fn displacement(self, node: Node) -> usize {
        self.to_generator(node).0
    }

    fn to_generator(self, node: Node) -> (usize, Node) {
        let order = |node: Node| (self.binary(node), node);
        // Of equal nodes there is one, within a period.
        let all = self.necklace(node).enumerate();
        all.max_by_key(|&(_, node)| order(node)).unwrap_or((0, node))
    }

    /// Returns the binary correspondent of a node: bit i tells whether digit i is not 0.
    #[must_use]
    pub fn binary(self, node: Node) -> usize {
        self.places(node.index()).enumerate().fold(0, |bits, (place, digit)| bits | usize::from(digit > 0) << place)
    }

    /// Returns a digit of a node.
    pub(super) fn digit(self, node: usize, place: usize) -> usize {
        node / self.radix.pow(place as u32) % self.radix
    }

    fn places(self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.digits()).map(move |place| self.digit(node, place))
    }

    /// Returns the node with this digit replaced.
    pub(super) fn with_digit(self, node: usize, place: usize, digit: usize) -> usize {
        let weight = self.radix.pow(place as u32);
        node - self.digit(node, place) * weight + digit * weight
    }

    /// Returns T_s(v) of definition 10.2: the sum of two nodes, digit by digit, modulo k.
    #[must_use]
    pub fn translated(self, node: Node, by: Node) -> Node {
        Node::new(self.combined(node.index(), by.index(), |a, b| a + b))
    }

    /// Returns the inverse translation: the difference of two nodes, digit by digit, modulo k.
    #[must_use]
    pub fn relative(self, node: Node, to: Node) -> Node {
        Node::new(self.combined(node.index(), to.index(), |a, b| a + self.radix - b))
    }

    fn combined(self, one: usize, other: usize, of: impl Fn(usize, usize) -> usize) -> usize {
        let digits = self.places(one).zip(self.places(other)).enumerate();
        digits.map(|(place, (a, b))| of(a, b) % self.radix * self.radix.pow(place as u32)).sum()
    }

    /// Returns the place of the digit that a node's parent in the tree of displacement i does not
    /// have: the first that is not 0, cyclically to the left of place n - 1 - i. `None` for node 0.
    pub(super) fn cleared(self, node: usize, displacement: usize) -> Option<usize> {
        let n = self.digits();
        let start = n - 1 - displacement % n;
        (1..=n).map(|left| (start + left) % n).find(|&place| self.digit(node, place) > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all() -> impl Iterator<Item = Necklaces> {
        let most = [(2, 8), (3, 5), (4, 4), (5, 4), (6, 3), (9, 2), (16, 1)];
        most.into_iter().flat_map(|(k, most)| (1..=most).map(move |n| Necklaces::new(k, n).unwrap()))
    }

    fn nodes(necklaces: Necklaces) -> impl Iterator<Item = Node> {
        (0..necklaces.nodes()).map(Node::new)
    }

    #[test]
    fn rotation_turns_the_digit_that_comes_round() {
        let five = Necklaces::new(5, 3).unwrap();
        let of = |[a, b, c]: [usize; 3]| Node::new(25 * a + 5 * b + c);
        assert_eq!(five.rotated(of([4, 0, 2]), 1), of([0, 2, 1]));
        assert_eq!(five.rotated(of([0, 2, 1]), 1), of([2, 1, 0]));
        assert_eq!(five.rotated(of([2, 1, 0]), 1), of([1, 0, 3]));
        // Johnsson and Ho's rotation of bit strings.
        let bits = Necklaces::new(2, 4).unwrap();
        assert!(nodes(bits).all(|node| bits.rotated(node, 1).index() == node.index() * 2 % 16 + node.index() / 8));
    }

    #[test]
    fn necklaces_partition_the_nodes() {
        for all in all() {
            let mut seen = BTreeSet::new();
            for node in nodes(all) {
                let necklace: Vec<Node> = all.necklace(node).collect();
                assert_eq!((all.rotated(node, all.rotations()), necklace.len()), (node, all.period(node)));
                assert!(all.rotations().is_multiple_of(necklace.len()));
                let (generator, away) = (all.generator(node), all.displacement(node));
                assert_eq!((necklace[away], away < necklace.len()), (generator, true), "{all:?} {node}");
                assert!(necklace.iter().all(|&other| all.generator(other) == generator));
                // No larger node, by places that are not 0, then by value.
                let order = |node: Node| (all.binary(node), node);
                assert!(necklace.iter().all(|&other| order(other) <= order(generator)));
                assert_eq!(seen.insert(generator), node <= *necklace.iter().min().unwrap(), "the first is new");
            }
        }
    }

    /// The parent of a generator in the balanced spanning tree is a generator: its lowest digit other
    /// than 0 is cleared.
    #[test]
    fn generator_without_its_lowest_digit_is_a_generator() {
        for all in all() {
            for node in nodes(all).skip(1).filter(|&node| all.generator(node) == node) {
                let place = all.cleared(node.index(), 0).unwrap();
                assert!((0..place).all(|lower| all.digit(node.index(), lower) == 0));
                let parent = Node::new(all.with_digit(node.index(), place, 0));
                assert_eq!(all.generator(parent), parent, "{all:?} {node}");
            }
        }
    }

    #[test]
    fn translations_are_inverse_and_keep_distances() {
        let all = Necklaces::new(3, 3).unwrap();
        let apart = |a: Node, b: Node| (0..3).filter(|&i| all.digit(a.index(), i) != all.digit(b.index(), i)).count();
        for (node, by) in nodes(all).flat_map(|node| nodes(all).map(move |by| (node, by))) {
            let there = all.translated(node, by);
            assert_eq!(all.relative(there, by), node);
            assert_eq!(apart(there, by), apart(node, Node::new(0)));
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(
            [(0, 2), (1, 2), (2, 0), (2, 40), (usize::MAX, 1)].iter().all(|&(k, n)| Necklaces::new(k, n).is_none())
        );
    }
}
