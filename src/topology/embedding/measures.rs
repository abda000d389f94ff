//! The measures of an embedding, as data.

use std::fmt;

/// The measures of an [`Embedding`](super::Embedding).
///
/// Source: Q. Wang, dissertation, 1999, chapter 3. Differs from it: congestion is counted on a
/// link, for each direction alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measures {
    /// The most nodes of the guest on one node of the host.
    pub load: usize,
    /// The longest path of a link of the guest, in links of the host.
    pub dilation: usize,
    /// The most links of the guest whose paths share a link of the host.
    pub congestion: usize,
    /// The number of links of the guest whose path has the length [`dilation`](Self::dilation).
    pub longest: usize,
    /// The length of all paths together.
    pub length: usize,
    /// The number of nodes of the guest.
    pub guest_nodes: usize,
    /// The number of nodes of the host.
    pub host_nodes: usize,
}

impl Measures {
    /// Returns the number of nodes of the host for each node of the guest.
    #[must_use]
    pub fn expansion(&self) -> f64 {
        self.host_nodes as f64 / self.guest_nodes.max(1) as f64
    }
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { load, dilation, congestion, .. } = self;
        let expansion = (self.expansion() * 1000.0).round() / 1000.0;
        write!(f, "load {load}, dilation {dilation}, congestion {congestion}, expansion {expansion}")
    }
}
