//! Ranks that are processes: a connection between every two of them, over TCP.

mod connection;
mod context;
mod cursor;
mod engine;
mod error;
mod frame;
mod hall;
mod handshake;
mod hello;
mod host;
mod inbound;
mod join;
mod key;
mod lane;
mod meeting;
mod mesh;
mod notice;
mod outbound;
mod process;
mod proof;
mod root;
mod round;
mod verdict;
mod walk;
mod words;

pub use self::join::{Join, JoinError, Key, Root, Supervisor};

#[cfg(test)]
mod tests;
