//! Channel loads of direct messages on a cube.
//!
//! A message from s to t crosses the dimensions in which they differ, in an order that is the same
//! for all messages. When it crosses dimension j, it is at a node that agrees with t in the
//! dimensions before j, and with s in j and the dimensions after j. For the element at address x,
//! the bits of s and t are sums of bits of x. So the elements that a channel carries are the
//! solutions of linear equations: none, or the same number for every channel of that dimension that
//! carries any.

use super::basis::Basis;
use super::map::BitMap;
use crate::ids::Node;
use crate::topology::Topology;

/// The loads of messages that all start at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loads {
    /// The elements over the busiest channel.
    pub(super) channel: u64,
    /// The channels of the longest route.
    pub(super) hops: u64,
}

/// Returns the loads when every element moves to its new rank directly, on a cube without further
/// links, with rank i on node i.
pub(super) fn of(map: &BitMap, place_bits: usize, topology: &dyn Topology) -> Loads {
    let (bits, fixed) = (map.bits(), map.apply(0));
    let here = |bit: usize| 1_u64 << (place_bits + bit);
    let there = |bit: usize| map.row(place_bits + bit);
    let order = order(topology);
    let carries = |at: usize| {
        let bit = order[at];
        let before = order[..=at].iter().map(|&bit| there(bit));
        let known: Basis = before.chain(order[at..].iter().map(|&bit| here(bit))).collect();
        let stays = there(bit) == here(bit) && fixed & here(bit) == 0;
        if stays { 0 } else { 1_u64 << (bits - known.rank()) }
    };
    // All differences between the new rank and the old rank of an element.
    let moved = |bit: usize| (map.linear_part(1 << bit) ^ 1 << bit) >> place_bits;
    let mut differ = vec![fixed >> place_bits];
    let mut known = Basis::new(u64::BITS as usize);
    for word in (0..bits).map(moved) {
        if known.insert(word, 0).is_ok() {
            differ.extend_from_within(..);
            let half = differ.len() / 2;
            differ[half..].iter_mut().for_each(|other| *other ^= word);
        }
    }
    let hops = differ.into_iter().map(u64::count_ones).max().unwrap_or(0);
    Loads { channel: (0..order.len()).map(carries).max().unwrap_or(0), hops: hops.into() }
}

/// Returns the dimensions in the order in which messages cross them.
fn order(topology: &dyn Topology) -> Vec<usize> {
    let last = topology.nodes().saturating_sub(1);
    let way = topology.route(Node::new(0), Node::new(last));
    way.windows(2).map(|two| (two[0].index() ^ two[1].index()).ilog2() as usize).collect()
}
