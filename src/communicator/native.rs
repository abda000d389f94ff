//! Calls that the backend's own library does.
//!
//! A library does not look whether all members call the same: it hangs, or mixes things up. So
//! before the members make a call for the first time, they meet in a barrier of ours that goes by
//! the call's own signature; it finds who calls something else, and who does not come. What they
//! have agreed on is remembered by the communicator and not by the plan, for a plan may be made
//! anew on one member (which let go of it, or makes persistent ones) and be there on another.

use std::sync::Arc;

use super::Communicator;
use super::prepared::{Native, Prepared, Way};
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{ArgumentError, BuildError};
use crate::ids::Rank;
use crate::plan::{Layout, Plan, compile};
use crate::transport::Signature;
use crate::transport::native::NativeCall;

impl Communicator {
    /// Whether the backend does such a call itself.
    pub(super) fn offers(&mut self, call: &NativeCall) -> bool {
        self.wire.transport.native().is_some_and(|native| native.offers(call))
    }

    /// That the backend does not do a call which was chosen to be native.
    pub(super) fn not_offered(&self, collective: &Collective, call: &NativeCall) -> BuildError {
        BuildError::Unfit {
            algorithm: "native".to_owned(),
            collective: collective.to_string(),
            topology: self.topology.text(),
            needs: format!("the backend does not offer: {call}"),
        }
    }

    /// A native call, ready to be made.
    pub(super) fn prepare_native(&mut self, call: NativeCall, signature: Signature) -> Result<Prepared, ArgumentError> {
        let barrier = self.barrier_of_agreement()?;
        Ok(Prepared { signature, way: Way::Native(Native { call, barrier, agreed: None }) })
    }

    /// A barrier by messages, planned when it is first needed.
    pub(super) fn barrier_of_agreement(&mut self) -> Result<Arc<Plan>, ArgumentError> {
        if let Some(plan) = &self.barrier {
            return Ok(Arc::clone(plan));
        }
        let (rank, problem) = (Rank::new(self.rank()), self.problem(Collective::Barrier)?);
        let all: Vec<Block> = problem.all().map(Block::from).collect();
        let layout = Layout::consecutive(1, 0, &[Block::from(rank)], &all)?;
        let share = crate::algorithm::find(&Collective::Barrier, "dissemination")?.share(&problem, rank)?;
        let plan = Arc::new(compile(share, &layout)?);
        self.barrier = Some(Arc::clone(&plan));
        Ok(plan)
    }
}
