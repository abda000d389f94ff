//! Parts of a communicator.

use std::sync::Arc;

use super::Communicator;
use crate::error::Error;
use crate::ids::{Node, Rank};
use crate::topology::{Complete, Topology};
use crate::vocabulary::Placement;

impl Communicator {
    /// Splits the communicator: members of one colour form a new one, ranked by key, then by rank.
    ///
    /// Collective. A member with the colour `None` takes part in the call but in no new communicator.
    ///
    /// A part knows its part of the network: a row of a torus is a ring, a face of a cube is a cube. If the
    /// members are not linked among themselves, or not as a network of a known kind, the part takes its
    /// network for complete; messages between members then pass through other nodes.
    ///
    /// A part has the options of this communicator. It inherits the [chosen](Self::choose) algorithms that
    /// fit its network, by name or of your own, and a schedule if it is the problem that the schedule was
    /// made for. For the other collectives it has `auto`. What calls are [using](Self::using) is not
    /// inherited.
    ///
    /// ```
    /// // Rows of a 3 x 4 torus.
    /// let rows = necklace::local::run_on("torus:3x4", |mut comm| {
    ///     let row = comm.split(Some(comm.rank() as u32 / 4), 0).unwrap().unwrap();
    ///     row.topology().text()
    /// });
    /// assert_eq!(rows.unwrap(), ["ring:4"; 12]);
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Communicator`].
    pub fn split(&mut self, colour: Option<u32>, key: i64) -> Result<Option<Self>, Error> {
        let mine = [i64::from(colour.is_some()), i64::from(colour.unwrap_or(0)), key];
        let mut all = vec![0; 3 * self.size()];
        self.allgather_for(&mine, &mut all, "split".into())?;
        let sequence = self.splits;
        self.splits += 1;
        let Some(colour) = colour else { return Ok(None) };
        let with_keys = all.chunks_exact(3).enumerate();
        let mut part: Vec<(i64, usize)> = with_keys
            .filter(|(_, member)| member[0] == 1 && member[1] == i64::from(colour))
            .map(|(rank, member)| (member[2], rank))
            .collect();
        part.sort_unstable();
        let nodes: Vec<Node> = part.iter().map(|&(_, rank)| self.placement.node(Rank::new(rank))).collect();
        let (topology, placement) = match self.topology.part(&nodes) {
            Some((topology, numbers)) => {
                let placement = Placement::new(numbers, topology.nodes())?;
                (topology, placement)
            }
            None => {
                let complete = Complete::new(part.len()).ok_or_else(|| Error::Argument("an empty part".to_owned()))?;
                (Arc::new(complete) as Arc<dyn Topology>, Placement::identity(part.len()))
            }
        };
        let members = part.into_iter().map(|(_, rank)| self.wire.members[rank]).collect();
        let context = self.wire.context.child(sequence, colour.into());
        let options = self.options.clone().machine(self.machine);
        let mut part = Self::open(Arc::clone(&self.endpoint), context, members, topology, placement, options)?;
        part.inherit(self);
        Ok(Some(part))
    }
}
