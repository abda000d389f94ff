//! What straight messages do to the channels of a cube.
//!
//! A message from s to t crosses the dimensions in which these differ, in one order, the same for
//! all. When it crosses dimension j it is at a node that agrees with t in the dimensions before j,
//! with s in j and those after it. For the elements at address x both s and t are sums of bits of
//! x, so those that a channel carries are the solutions of linear equations: none, or as many as of
//! any other channel of that dimension which carries any.

use super::basis::Basis;
use super::map::BitMap;
use crate::ids::Node;
use crate::topology::Topology;

/// What messages that all start at once do to a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loads {
    /// The most elements over a channel.
    pub(super) channel: u64,
    /// The most channels of a message.
    pub(super) hops: u64,
}

/// Of elements that go where a map says, on a cube that is nothing else, each rank on the node of
/// its number.
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
    // By how new ranks differ from old ones: one of them, and what is added for each bit of an
    // address.
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

/// The dimensions in the order in which messages cross them.
fn order(topology: &dyn Topology) -> Vec<usize> {
    let last = topology.nodes().saturating_sub(1);
    let way = topology.route(Node::new(0), Node::new(last));
    way.windows(2).map(|two| (two[0].index() ^ two[1].index()).ilog2() as usize).collect()
}
