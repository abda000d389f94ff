//! Ranks that are processes: a connection between every two of them, over TCP.

mod error;
mod hall;
mod handshake;
mod hello;
mod host;
mod join;
mod key;
mod meeting;
mod mesh;
mod notice;
mod proof;
mod root;

pub use self::join::{Join, JoinError, Key, Root};

/// The engine.
struct Tcp;
impl Tcp {
    fn start(_: mesh::Mesh) -> Result<std::sync::Arc<dyn crate::transport::Endpoint>, JoinError> {
        Err(JoinError::Os { what: "the engine".to_owned(), why: "is not there yet".to_owned() })
    }
}
