//! The network that a program names.

use std::sync::Arc;

use crate::load::load;
use crate::topology::{ParseError, Topology};

/// The network of a launch: a text such as `"torus:4x4"`, or a topology in an `Arc`, built in or
/// your own.
#[derive(Clone, Debug)]
pub struct Network(NetworkSource);

#[derive(Clone, Debug)]
enum NetworkSource {
    Text(String),
    Topology(Arc<dyn Topology>),
}

impl Network {
    pub(super) fn load(self) -> Result<Arc<dyn Topology>, ParseError> {
        match self.0 {
            NetworkSource::Text(text) => load(&text),
            NetworkSource::Topology(topology) => Ok(topology),
        }
    }
}

impl From<&str> for Network {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Network {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<String> for Network {
    fn from(text: String) -> Self {
        Self(NetworkSource::Text(text))
    }
}

impl From<Arc<dyn Topology>> for Network {
    fn from(topology: Arc<dyn Topology>) -> Self {
        Self(NetworkSource::Topology(topology))
    }
}

impl<T: Topology + 'static> From<Arc<T>> for Network {
    fn from(topology: Arc<T>) -> Self {
        Self(NetworkSource::Topology(topology))
    }
}
