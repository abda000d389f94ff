//! Networks, schedules, plans, prices and pictures: all that neither moves bytes nor reads a clock.

#![allow(clippy::unwrap_used, reason = "a test that finds nothing has failed")]

mod fixtures;
mod machine;

mod balanced_trees;
mod black_white;
mod bridgehead_prices;
mod bridgehead_roots;
mod bridgehead_search;
mod bridgeheads;
mod broken_topologies;
mod by_dimension;
mod cayley_exchange;
mod claims;
mod cube;
mod damaged;
mod embeddings;
mod from_mpi;
mod golden;
mod grid_choice;
mod grids;
mod guests;
mod hosts;
mod how_page;
mod json;
mod layers;
mod mutated_inputs;
mod mutations;
mod permutations;
mod pictures;
mod pipelines;
mod plans;
mod prices;
mod readme;
mod replay;
mod rooted;
mod samples;
mod simulate;
mod sliding_windows;
mod spanning_trees;
mod textbook;
mod topologies;
mod tree_packing;
mod two_phase;
mod verifier;
mod windows;
