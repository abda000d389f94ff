//! Ranks that are processes: a connection between every two of them, over TCP.

mod connection;
mod context;
mod cursor;
mod engine;
mod frame;
mod inbound;
mod join;
mod lane;
mod mesh;
mod outbound;
mod process;
mod round;
mod verdict;
mod walk;
mod words;

pub use self::join::{Join, JoinError, Key, Root};

#[cfg(test)]
mod tests;
