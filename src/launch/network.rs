//! The network that a program names.

use std::sync::Arc;

use crate::load::load;
use crate::topology::{ParseError, Topology};

/// The network of a launch: a text such as `"torus:4x4"`, or a topology in an `Arc`, which may be
/// one of your own.
#[derive(Clone, Debug)]
pub struct Network(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Text(String),
    Topology(Arc<dyn Topology>),
}

impl Network {
    pub(super) fn load(self) -> Result<Arc<dyn Topology>, ParseError> {
        match self.0 {
            Kind::Text(text) => load(&text),
            Kind::Topology(topology) => Ok(topology),
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
        Self(Kind::Text(text))
    }
}

impl From<Arc<dyn Topology>> for Network {
    fn from(topology: Arc<dyn Topology>) -> Self {
        Self(Kind::Topology(topology))
    }
}

impl<T: Topology + 'static> From<Arc<T>> for Network {
    fn from(topology: Arc<T>) -> Self {
        Self(Kind::Topology(topology))
    }
}
