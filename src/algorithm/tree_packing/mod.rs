//! A spanning tree from every node of any network, packed into rounds in which channels carry about
//! the same.
//!
//! Every node gets every block once, from a neighbour that has it, so the ways of each block are a
//! spanning tree. The packing goes round by round. It decides how many blocks a channel may carry
//! in the round, and then, for every node, which of the blocks that its neighbours hold come to it
//! over which channel, by a [`matching`]. Those that have the farthest to go come first, and of
//! these the rarest.
//!
//! A node with c channels gets N - 1 blocks, so the busiest channel carries (N - 1) / c or more in
//! all. The nodes with the fewest channels, such as the corners of a mesh, decide. So a channel may
//! carry as many blocks in a round as these nodes can get over each of their channels at once: with
//! more, some of their channels would idle while others work. On all meshes of up to 16 x 16 this
//! takes no more rounds than the diameter, and no more blocks than the bound.
//!
//! Elsewhere it may take more rounds. If these are more than allowed, two packings are made in
//! which a block is urgent at a node once the rounds that are left are as many as the hops that it
//! may have to go on to and from there. Channels may carry as many blocks as the urgent ones need,
//! and more by the rule above, or as many as are left divided by the rounds that are left. Then
//! nodes first get what their neighbours do not get in the same round.
//!
//! Every rank computes the packing, from the network alone. Ranks of one process share those that
//! were made last.

mod matching;
mod packing;
mod plan;

pub(super) use plan::{Plan, ROUNDS};
