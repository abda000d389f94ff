//! Ranks that are processes: a connection between every two of them, over TCP.

mod join;
mod mesh;

pub use self::join::{Join, JoinError, Key, Root};
