//! A spanning tree from every node of any network, packed into rounds in which channels carry about
//! the same.
//!
//! Every node gets every block once, from a neighbour that has it, so the ways of each block are a
//! spanning tree. The packing goes round by round. It decides how many blocks a channel may carry
//! in the round, and then, for every node, which of the blocks that its neighbours hold come to it
//! over which channel, by [`matching`]. Those that have the farthest to go come first, and of these
//! the rarest.
//!
//! A node with c channels gets N - 1 blocks, so a channel carries (N - 1) / c or more in all. The
//! nodes with the fewest channels, such as the corners of a mesh, decide. So a round has as many
//! blocks a channel as these nodes can use at once, for all of their channels: what they lack,
//! less what their neighbours could not bring them now. On meshes this takes no more rounds than
//! the diameter, and no more blocks than the bound.
//!
//! Elsewhere it may take more rounds. If these are more than allowed, a block is urgent once the
//! rounds that are left are as many as the hops of its longest shortest paths, and a round has room
//! for the urgent blocks. Either rule for the others is tried: that above, and as many as are left,
//! divided by the rounds that are left.
//!
//! Every rank computes the packing, from the network alone. Ranks of one process share those that
//! were made last.

mod matching;
mod packing;
mod plan;

pub(super) use plan::{Plan, ROUNDS};
